//! The one task that writes: it takes what is queued, gives each its savepoint, and commits all of it at once.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::process_lock::Lock;
use super::transaction::Write;
use super::{
    Claim, InboxId, Measures, Receipt, Source, StoreError, Wakes, change, lock, micros, open, unmapped_report,
};
use crate::clock::Clock;
use crate::domain::change::ChangeId;
use crate::domain::plan;

/// How many requests may wait; more of them wait for a place, which is how a flood slows down its senders.
pub(super) const QUEUE: usize = 256;

/// 53 us of CPU a row at 64 a commit, 66 at 16, 328 alone: more would gain little and keep the first waiting.
const GROUP: usize = 64;

/// The pause between attempts to reopen the database. Requests during the pause fail at once.
const REOPEN_EVERY: Duration = Duration::from_secs(1);
/// The time limit of one attempt. Slack expects an acknowledgement within 3 s.
const REOPEN_WITHIN: Duration = Duration::from_secs(1);

const PRUNE_EVERY: SignedDuration = SignedDuration::from_hours(1);
/// Slack's and every webhook sender's retries are over long before.
const KEEP_DONE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// More than anybody looks back at what controllers said.
const KEEP_REPORTS: SignedDuration = SignedDuration::from_hours(30 * 24);
const KEEP_SAID: SignedDuration = SignedDuration::from_hours(180 * 24);

#[derive(Debug)]
pub(super) enum Job {
    Receive { source: Source, key: String, sender_id: Option<String>, body: String },
    Transaction(Vec<Write>),
    Claim(Vec<ChangeId>),
}

#[derive(Debug)]
pub(super) enum Outcome {
    Received(Receipt),
    Committed,
    Claimed(Vec<Claim>),
}

#[derive(Debug)]
pub(super) struct Request {
    pub(super) job: Job,
    pub(super) answer: oneshot::Sender<Result<Outcome, StoreError>>,
}

/// The writer's connection, which is replaced after a failed transaction.
///
/// After a `COMMIT` that failed on a full disk, `SQLite` has rolled back, but sqlx still counts one open transaction: the next
/// group becomes a savepoint. If its `RELEASE` fails too, the `ROLLBACK TO` that follows leaves the transaction open for ever,
/// and later commits only release savepoints in it. Everything acknowledged since is lost at the end of the process.
#[derive(Debug)]
pub(super) struct WriteConnection {
    options: SqliteConnectOptions,
    open: Option<SqliteConnection>,
    /// The error and time of the last failed attempt to reopen the database.
    last_failure: Option<(sqlx::Error, Instant)>,
}

impl WriteConnection {
    pub(super) fn new(connection: SqliteConnection, options: SqliteConnectOptions) -> Self {
        // A file that vanished while we run must not be replaced by an empty one.
        let options = options.create_if_missing(false);
        Self { options, open: Some(connection), last_failure: None }
    }

    async fn get(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        if self.open.is_none() {
            if let Some((error, at)) = &self.last_failure
                && at.elapsed() < REOPEN_EVERY
            {
                return Err(cannot_reopen(error));
            }
            let opened = match timeout(REOPEN_WITHIN, open::connect(&self.options)).await {
                Ok(opened) => opened,
                Err(_) => {
                    Err(sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "opening it takes too long")))
                }
            };
            match opened {
                Ok(connection) => {
                    tracing::warn!("the database was reopened after a failed transaction");
                    self.open = Some(connection);
                    self.last_failure = None;
                }
                Err(error) => {
                    let refusal = cannot_reopen(&error);
                    self.last_failure = Some((error, Instant::now()));
                    return Err(refusal);
                }
            }
        }
        self.open.as_mut().ok_or(StoreError::Closed)
    }

    /// Closes the connection, which ends a transaction that was left open in it.
    async fn discard(&mut self) {
        if let Some(connection) = self.open.take() {
            open::shut(connection).await;
        }
    }
}

fn cannot_reopen(error: &sqlx::Error) -> StoreError {
    StoreError::Failed(format!("it cannot be reopened after a failed write: {error}").into())
}

pub(super) async fn run(
    mut connection: WriteConnection,
    lock: Lock,
    clock: Clock,
    mut queue: mpsc::Receiver<Request>,
    wake: watch::Sender<Wakes>,
    closing: CancellationToken,
    measures: Measures,
) {
    let mut group = Vec::with_capacity(GROUP);
    let mut prune_at = clock.now();
    loop {
        let taken = tokio::select! {
            taken = queue.recv_many(&mut group, GROUP) => taken,
            // Takes no more from now on, and gives us what is already there.
            () = closing.cancelled(), if !queue.is_closed() => { queue.close(); continue }
        };
        if taken == 0 {
            break;
        }
        let now = clock.now();
        let prune = now >= prune_at;
        if prune {
            prune_at = now + PRUNE_EVERY;
        }
        let (jobs, answers): (Vec<_>, Vec<_>) = group.drain(..).map(|request| (request.job, request.answer)).unzip();
        // How long the disk takes is nothing that a clock moved by hand could tell.
        let began = Instant::now();
        let committed = match connection.get().await {
            Ok(open) => commit(open, now, prune, &jobs).await.map_err(StoreError::from),
            Err(error) => Err(error),
        };
        measures.commits.took(began.elapsed().as_secs_f64());
        match committed {
            Ok((outcomes, woken)) => {
                for (answer, outcome) in answers.into_iter().zip(outcomes) {
                    // Whoever asked may have gone away; it is stored all the same.
                    let _ = answer.send(outcome);
                }
                if woken != Wakes::default() {
                    wake.send_modify(|wakes| {
                        wakes.inbox += woken.inbox;
                        wakes.outbox += woken.outbox;
                        wakes.changes += woken.changes;
                        wakes.locks += woken.locks;
                    });
                }
            }
            Err(error) => {
                measures.failed.up();
                for answer in answers {
                    let _ = answer.send(Err(error.clone()));
                }
                // Close only after the answers are sent: closing may be slow on a failing disk.
                connection.discard().await;
            }
        }
    }
    connection.discard().await;
    drop(lock);
}

type Outcomes = Vec<Result<Outcome, StoreError>>;

/// Fails as a whole only where the transaction itself does; a job that fails takes nobody with it.
async fn commit(
    connection: &mut SqliteConnection,
    now: Timestamp,
    prune: bool,
    jobs: &[Job],
) -> Result<(Outcomes, Wakes), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    let mut outcomes = Vec::with_capacity(jobs.len());
    let mut woken = Wakes::default();
    for job in jobs {
        let mut savepoint = transaction.begin().await?;
        match apply(&mut savepoint, now, job).await {
            Ok((outcome, touched)) => {
                savepoint.commit().await?;
                woken.inbox += touched.inbox;
                woken.outbox += touched.outbox;
                woken.changes += touched.changes;
                woken.locks += touched.locks;
                outcomes.push(Ok(outcome));
            }
            Err(error) => {
                savepoint.rollback().await?;
                outcomes.push(Err(error.into()));
            }
        }
    }
    if prune {
        prune_before(&mut transaction, now).await?;
    }
    transaction.commit().await?;
    Ok((outcomes, woken))
}

async fn apply(connection: &mut SqliteConnection, now: Timestamp, job: &Job) -> Result<(Outcome, Wakes), sqlx::Error> {
    let mut touched = Wakes::default();
    match job {
        Job::Receive { source, key, sender_id, body } => {
            let id: Option<i64> = sqlx::query_scalar(
                "INSERT INTO inbox (source, key, sender_id, body, received_at, due_at) VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT DO NOTHING RETURNING id",
            )
            .bind(source.as_str())
            .bind(key)
            .bind(sender_id)
            .bind(body)
            .bind(micros(now))
            .bind(micros(now))
            .fetch_optional(connection)
            .await?;
            let receipt = match id {
                Some(id) => {
                    touched.inbox = 1;
                    Receipt::New(InboxId(id))
                }
                None => Receipt::Replay,
            };
            Ok((Outcome::Received(receipt), touched))
        }
        Job::Transaction(writes) => {
            for write in writes {
                touched.outbox += u64::from(write.speaks());
                touched.changes += u64::from(write.concerns_a_change());
                touched.locks += u64::from(write.locks());
                write.apply(connection, now).await?;
            }
            Ok((Outcome::Committed, touched))
        }
        Job::Claim(ids) => Ok((Outcome::Claimed(change::claim(connection, ids).await?), touched)),
    }
}

async fn prune_before(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM inbox WHERE done_at < $1").bind(micros(now - KEEP_DONE)).execute(&mut *connection).await?;
    let old_plan = micros(now - plan::GOOD_FOR);
    sqlx::query("DELETE FROM plan WHERE made_at < $1").bind(old_plan).execute(&mut *connection).await?;
    sqlx::query("DELETE FROM said WHERE said_at < $1").bind(micros(now - KEEP_SAID)).execute(&mut *connection).await?;
    // What controllers said; what became of changes is kept for ever.
    sqlx::query("DELETE FROM ledger WHERE kind = 'report' AND at < $1")
        .bind(micros(now - KEEP_REPORTS))
        .execute(&mut *connection)
        .await?;
    unmapped_report::prune(&mut *connection, now).await?;
    lock::prune(connection, now).await
}
