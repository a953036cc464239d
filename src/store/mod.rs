//! What must outlive the process: inbox, outbox, ledger and what was seen running, in one database file.
//! All writes go through one task that commits them in groups; it knows nothing of Slack, GitHub or clusters.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use sqlx::SqlitePool;
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;

mod amended;
mod change;
mod comparison;
mod found_commit;
mod ledger;
mod lock;
mod metrics;
mod open;
mod outbox;
mod probe;
mod process_lock;
mod quarantine;
mod read;
mod transaction;
mod unmapped_report;
mod writer;

pub use change::{Claim, Fence, Shown};
pub use found_commit::{Home, Kept};
pub use ledger::Past;
pub use metrics::{Backlog, Measures, Waiting};
pub use outbox::{MessageId, Outgoing, Said, Turn};
pub use probe::{Looked, look, reported};
pub use read::LedgerFilter;
pub use transaction::{Entry, ImageCommit, Transaction};
pub use unmapped_report::Reported;

use writer::{Job, Outcome, Request};

/// Clones share one database. [`Store::close`] ends it for all of them.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    readers: SqlitePool,
    requests: mpsc::Sender<Request>,
    wakes: watch::Receiver<Wakes>,
    closing: CancellationToken,
    /// Cancelled when the writer ends in a panic.
    panicked: CancellationToken,
    writer: Mutex<Option<JoinHandle<()>>>,
    clock: Clock,
    measures: Measures,
}

/// The messages are sentences; nobody needs to tell one failure of a database from another.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0}")]
    Refused(String),
    #[error("The database is closed: Gantry is shutting down.")]
    Closed,
    /// Somebody else holds the lock on what moves.
    #[error("Another change is under way there.")]
    Held,
    /// Somebody else has claimed or used it since.
    #[error("Somebody else was faster.")]
    Overtaken,
    #[error("The database failed: {0}.")]
    Failed(Arc<str>),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolClosed => Self::Closed,
            sqlx::Error::RowNotFound => Self::Overtaken,
            // SQLite names no constraint, only what is in it.
            sqlx::Error::Database(error) if error.is_unique_violation() && error.message().contains("change.moves") => {
                Self::Held
            }
            other => Self::Failed(other.to_string().into()),
        }
    }
}

/// Where something in the inbox came from. With its key it is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    SlackCommand,
    SlackInteraction,
    SlackEvent,
    Flux,
    ArgoCd,
    GitHub,
    Deployments,
    CdEvents,
}

impl Source {
    const ALL: [Self; 8] = [
        Self::SlackCommand,
        Self::SlackInteraction,
        Self::SlackEvent,
        Self::Flux,
        Self::ArgoCd,
        Self::GitHub,
        Self::Deployments,
        Self::CdEvents,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::SlackCommand => "slack_command",
            Self::SlackInteraction => "slack_interaction",
            Self::SlackEvent => "slack_event",
            Self::Flux => "flux",
            Self::ArgoCd => "argocd",
            Self::GitHub => "github",
            Self::Deployments => "deployments",
            Self::CdEvents => "cdevents",
        }
    }

    fn line(self) -> Line {
        match self {
            Self::SlackCommand | Self::SlackInteraction | Self::SlackEvent => Line::Requests,
            Self::GitHub | Self::Flux | Self::ArgoCd | Self::Deployments | Self::CdEvents => Line::Webhooks,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == text)
    }
}

/// The inbox has two lines, so that a burst of webhooks keeps nobody's command waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Each may take its time: it is answered by asking others.
    Requests,
    /// Understood at once, many together.
    Webhooks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InboxId(i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    New(InboxId),
    /// The same source sent the same key or called something else by the same name before: there is nothing to do.
    Replay,
}

/// Something in the inbox whose time has come.
#[derive(Clone, Debug)]
pub struct Received {
    pub id: InboxId,
    pub source: Source,
    pub key: String,
    pub body: Value,
    pub received_at: Timestamp,
    /// How often it was postponed.
    pub attempts: u32,
}

/// What is still to be done, for whoever waits until nothing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    pub inbox: u64,
    pub outbox: u64,
    /// Changes that are under way; those that are only watched, or wait for people, are not waited for.
    pub changes: u64,
    /// When the next of them may be worked on; in the past while one is, or while the owner of a lock is to be reminded.
    pub next_due: Option<Timestamp>,
}

/// Grows whenever rows came into the inbox or the outbox, a change may be due, or something was locked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wakes {
    pub inbox: u64,
    pub outbox: u64,
    pub changes: u64,
    pub locks: u64,
}

impl Store {
    /// Stores what came from outside, durably, before it is acknowledged.
    pub async fn receive(&self, source: Source, key: &str, body: &Value) -> Result<Receipt, StoreError> {
        self.receive_once(source, key, None, body).await
    }

    /// The same for what its sender calls by a name of its own: it counts once by the one and by the other.
    pub async fn receive_once(
        &self,
        source: Source,
        key: &str,
        sender_id: Option<String>,
        body: &Value,
    ) -> Result<Receipt, StoreError> {
        let job = Job::Receive { source, key: key.to_owned(), sender_id, body: body.to_string() };
        match self.request(job).await? {
            Outcome::Received(receipt) => Ok(receipt),
            Outcome::Committed | Outcome::Claimed(_) => Err(StoreError::Failed("a receipt was lost".into())),
        }
    }

    /// All of the transaction or nothing of it, durably.
    pub async fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        if transaction.is_empty() {
            return Ok(());
        }
        self.request(Job::Transaction(transaction.into_writes())).await.map(drop)
    }

    /// Leaves something in the inbox for later, and keeps the reason.
    pub async fn postpone(&self, id: InboxId, until: Timestamp, error: &str) -> Result<(), StoreError> {
        self.commit(Transaction::new().postpone(id, until, error)).await
    }

    /// Changes when the inbox or the outbox got rows, so that nobody has to poll.
    pub fn woken(&self) -> watch::Receiver<Wakes> {
        self.0.wakes.clone()
    }

    /// Waits until the writer ends in a panic: from then on nothing can be stored.
    pub async fn writer_panicked(&self) {
        self.0.panicked.cancelled().await;
    }

    /// Finishes what was asked for, folds the log into the file and lets go of the lock.
    pub async fn close(&self) {
        self.0.readers.close().await;
        self.0.closing.cancel();
        if let Some(writer) = self.0.writer.lock().await.take()
            && let Err(error) = writer.await
        {
            tracing::error!(%error, "the writer of the database did not end as it should");
        }
    }

    async fn request(&self, job: Job) -> Result<Outcome, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.0.requests.send(Request { job, answer }).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }
}

fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

/// Rounded up: a wait that ends a fraction too early would find that its time has not come.
fn micros_up(at: Timestamp) -> i64 {
    at.as_microsecond() + i64::from(at.as_nanosecond().rem_euclid(1000) > 0)
}

fn timestamp(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or_default()
}

fn unwritable(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Encode(Box::new(error))
}

#[cfg(test)]
mod tests;
