//! The one task that writes: it takes queued jobs, applies each in a savepoint, and commits them together.

use std::time::Duration;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::connection::{close_connection, open_connection};
use super::error::StoreError;
use super::process_lock::ProcessLock;
use super::transaction::{Operation, Wakeups};
use crate::clock::Clock;
use crate::telemetry::metrics::{EventCounter, LatencyHistogram};

/// The number of jobs that may be queued. Further callers wait for a free slot, which slows down a flood at its source.
pub(super) const QUEUE_CAPACITY: usize = 256;

/// A row costs 53 us of CPU in a commit of 64 rows, 66 us in one of 16, and 328 us alone. A larger group would gain
/// little and delay its first row.
const MAX_GROUP_SIZE: usize = 64;

/// The pause between attempts to reopen the database. Requests during the pause fail at once.
const REOPEN_INTERVAL: Duration = Duration::from_secs(1);
/// The time limit of one attempt. Slack expects an acknowledgement within 3 s.
const REOPEN_TIMEOUT: Duration = Duration::from_secs(1);

const PRUNE_INTERVAL: SignedDuration = SignedDuration::from_hours(1);

/// The durations of commits, and the number of failures.
#[derive(Clone, Debug, Default)]
pub struct WriterMetrics {
    pub commit_durations: LatencyHistogram,
    pub failed_commits: EventCounter,
}

/// An operation in the writer's queue, with the channel for its result.
pub(super) trait WriteJob: std::fmt::Debug + Send {
    /// Keeps the result until [`send_result`](Self::send_result). Returns the tasks that have work once it is
    /// committed.
    fn apply<'a>(
        &'a mut self,
        connection: &'a mut SqliteConnection,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Wakeups, sqlx::Error>>;

    fn send_result(self: Box<Self>, committed: Result<(), StoreError>);
}

#[derive(Debug)]
pub(super) struct QueuedOperation<O: Operation> {
    operation: O,
    output: Option<O::Output>,
    result_sender: oneshot::Sender<Result<O::Output, StoreError>>,
}

impl<O: Operation> QueuedOperation<O> {
    pub(super) fn new(operation: O, result_sender: oneshot::Sender<Result<O::Output, StoreError>>) -> Self {
        Self { operation, output: None, result_sender }
    }
}

impl<O: Operation> WriteJob for QueuedOperation<O> {
    fn apply<'a>(
        &'a mut self,
        connection: &'a mut SqliteConnection,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Wakeups, sqlx::Error>> {
        Box::pin(async move {
            let output = self.operation.apply(connection, now).await?;
            let wakes = self.operation.wakes(&output);
            self.output = Some(output);
            Ok(wakes)
        })
    }

    fn send_result(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { output, result_sender, .. } = *self;
        // The caller may be gone; the operation is stored all the same.
        let _ = result_sender.send(committed.and_then(|()| output.ok_or(StoreError::Closed)));
    }
}

/// The writer's connection, which is replaced after a failed transaction.
///
/// After a `COMMIT` that failed on a full disk, `SQLite` has rolled back, but sqlx still counts one open transaction:
/// the next group becomes a savepoint. If its `RELEASE` fails too, the `ROLLBACK TO` that follows leaves the
/// transaction open for ever, and later commits only release savepoints in it. All writes acknowledged since then are
/// lost when the process ends.
#[derive(Debug)]
pub(super) struct WriteConnection {
    options: SqliteConnectOptions,
    connection: Option<SqliteConnection>,
    /// The error and time of the last failed attempt to reopen the database.
    last_failure: Option<(sqlx::Error, Instant)>,
    /// Keeps other processes away from the file while this one may write.
    _lock: ProcessLock,
}

impl WriteConnection {
    pub(super) fn new(connection: SqliteConnection, options: SqliteConnectOptions, lock: ProcessLock) -> Self {
        // A file that was deleted while Gantry runs must not be replaced by an empty one.
        let options = options.create_if_missing(false);
        Self { options, connection: Some(connection), last_failure: None, _lock: lock }
    }

    async fn ensure_open(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        if self.connection.is_none() {
            if let Some((error, at)) = &self.last_failure
                && at.elapsed() < REOPEN_INTERVAL
            {
                return Err(build_reopen_error(error));
            }
            let opened = match timeout(REOPEN_TIMEOUT, open_connection(&self.options)).await {
                Ok(opened) => opened,
                Err(_) => {
                    Err(sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "opening it takes too long")))
                }
            };
            match opened {
                Ok(connection) => {
                    tracing::warn!("the database was reopened after a failed transaction");
                    self.connection = Some(connection);
                    self.last_failure = None;
                }
                Err(error) => {
                    let refusal = build_reopen_error(&error);
                    self.last_failure = Some((error, Instant::now()));
                    return Err(refusal);
                }
            }
        }
        self.connection.as_mut().ok_or(StoreError::Closed)
    }

    /// Closes the connection, which ends a transaction that was left open in it.
    async fn discard(&mut self) {
        if let Some(connection) = self.connection.take() {
            close_connection(connection).await;
        }
    }
}

fn build_reopen_error(error: &sqlx::Error) -> StoreError {
    StoreError::Failed(format!("it cannot be reopened after a failed write: {error}").into())
}

/// Runs until the store is closed. `prune` is applied once an hour.
pub(super) async fn run(
    mut connection: WriteConnection,
    clock: Clock,
    mut queue: mpsc::Receiver<Box<dyn WriteJob>>,
    prune: impl Operation<Output = ()>,
    wakeup_sender: watch::Sender<Wakeups>,
    closing: CancellationToken,
    metrics: WriterMetrics,
) {
    let mut group = Vec::with_capacity(MAX_GROUP_SIZE);
    let mut prune_at = clock.now();
    loop {
        let taken = tokio::select! {
            taken = queue.recv_many(&mut group, MAX_GROUP_SIZE) => taken,
            // From now on the queue accepts no more jobs; those in it are still handled.
            () = closing.cancelled(), if !queue.is_closed() => { queue.close(); continue }
        };
        if taken == 0 {
            break;
        }
        let now = clock.now();
        let is_prune_due = now >= prune_at;
        if is_prune_due {
            prune_at = now + PRUNE_INTERVAL;
        }
        // Disk time is real time: the test clock cannot measure it.
        let started = Instant::now();
        let committed = match connection.ensure_open().await {
            Ok(open) => {
                commit_group(open, now, is_prune_due.then_some(&prune), &mut group).await.map_err(StoreError::from)
            }
            Err(error) => Err(error),
        };
        metrics.commit_durations.observe(started.elapsed().as_secs_f64());
        match committed {
            Ok((outcomes, woken)) => {
                for (job, outcome) in group.drain(..).zip(outcomes) {
                    job.send_result(outcome);
                }
                if woken != Wakeups::default() {
                    wakeup_sender.send_modify(|wakes| *wakes += woken);
                }
            }
            Err(error) => {
                metrics.failed_commits.increment();
                for job in group.drain(..) {
                    job.send_result(Err(error.clone()));
                }
                // Close only after the results are sent: closing may be slow on a failing disk.
                connection.discard().await;
            }
        }
    }
    connection.discard().await;
}

type Outcomes = Vec<Result<(), StoreError>>;

/// Fails as a whole only if the transaction itself fails; a failed job does not affect the others.
async fn commit_group(
    connection: &mut SqliteConnection,
    now: Timestamp,
    prune: Option<&impl Operation<Output = ()>>,
    jobs: &mut [Box<dyn WriteJob>],
) -> Result<(Outcomes, Wakeups), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    let mut outcomes = Vec::with_capacity(jobs.len());
    let mut woken = Wakeups::default();
    for job in jobs {
        let mut savepoint = transaction.begin().await?;
        match job.apply(&mut savepoint, now).await {
            Ok(wakes) => {
                savepoint.commit().await?;
                woken += wakes;
                outcomes.push(Ok(()));
            }
            Err(error) => {
                savepoint.rollback().await?;
                outcomes.push(Err(error.into()));
            }
        }
    }
    if let Some(prune) = prune {
        prune.apply(&mut transaction, now).await?;
    }
    transaction.commit().await?;
    Ok((outcomes, woken))
}
