//! The two loops of the background tasks: one works on stored rows, each in a task of its own; the other works in rounds.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::adapters::store::StoreError;
use crate::clock::Clock;

/// How many rows of a kind are worked on at once. A row that waits for a slow service delays no other row.
pub(crate) const MAX_CONCURRENT_ROWS: usize = 16;

/// The pause after the store could not be read or written.
pub(crate) const STORE_RETRY_DELAY: Duration = Duration::from_secs(5);

/// The pause before a row is tried again after its task panicked. It will probably panic again.
pub(crate) const PANIC_RETRY_DELAY: SignedDuration = SignedDuration::from_mins(5);

/// Rows of the store that become due. Each is worked on in a task of its own.
pub(crate) trait RowQueue {
    /// Identifies a row, or a group of rows that are worked on one after another.
    type Key: Clone;
    type Output: Send + 'static;

    /// Logged when the store fails.
    const FAILURE: &'static str;

    /// Starts a task for each row that is due and not in `tasks` yet. Returns the time at which the next row is due.
    async fn start_due_rows(
        &mut self,
        tasks: &mut RowTasks<Self::Key, Self::Output>,
    ) -> Result<Option<Timestamp>, StoreError>;

    /// Handles the end of a task. `Err`: the task panicked.
    async fn finish_row(&mut self, key: Self::Key, result: Result<Self::Output, JoinError>);

    /// Waits for an event that may have made a row due. `false`: there will be no more events.
    async fn wait_for_wakeup(&mut self) -> bool;
}

/// The tasks that work on rows at this moment.
pub(crate) struct RowTasks<K, T> {
    tasks: JoinSet<T>,
    key_by_task: HashMap<Id, K>,
}

impl<K, T: Send + 'static> RowTasks<K, T> {
    pub(crate) fn spawn_row(&mut self, key: K, work: impl Future<Output = T> + Send + 'static) {
        let task = self.tasks.spawn(work);
        self.key_by_task.insert(task.id(), key);
    }

    pub(crate) fn running_keys(&self) -> impl Iterator<Item = &K> {
        self.key_by_task.values()
    }

    pub(crate) fn count_running(&self) -> usize {
        self.key_by_task.len()
    }

    pub(crate) fn count_free(&self) -> usize {
        MAX_CONCURRENT_ROWS.saturating_sub(self.count_running())
    }

    /// Waits until a task ends; for ever while none runs.
    async fn join_next(&mut self) -> (K, Result<T, JoinError>) {
        loop {
            let (id, result) = match self.tasks.join_next_with_id().await {
                Some(Ok((id, output))) => (id, Ok(output)),
                Some(Err(error)) => (error.id(), Err(error)),
                None => std::future::pending().await,
            };
            if let Some(key) = self.key_by_task.remove(&id) {
                return (key, result);
            }
        }
    }
}

/// Works on the rows of a queue until it is cancelled, then waits for the running tasks.
pub(crate) async fn run_queue<Q: RowQueue>(mut queue: Q, clock: &Clock, cancel: &CancellationToken) {
    let mut tasks = RowTasks { tasks: JoinSet::new(), key_by_task: HashMap::new() };
    while !cancel.is_cancelled() {
        let next = match queue.start_due_rows(&mut tasks).await {
            Ok(next) => next,
            Err(StoreError::Closed) => break,
            Err(error) => {
                tracing::error!(%error, "{}", Q::FAILURE);
                pause_after_store_failure(cancel).await;
                continue;
            }
        };
        tokio::select! {
            () = cancel.cancelled() => break,
            is_alive = queue.wait_for_wakeup() => if !is_alive { break },
            (key, result) = tasks.join_next() => queue.finish_row(key, result).await,
            () = sleep_until_due(clock, next) => {}
        }
    }
    while tasks.tasks.join_next().await.is_some() {}
}

/// Work that is done in rounds: when it is woken, and when its time comes.
pub(crate) trait Rounds {
    /// Logged when the store fails.
    const FAILURE: &'static str;

    /// Does all work that can be done now.
    async fn run_round(&mut self) -> Result<NextRound, StoreError>;

    /// Waits for an event that asks for a round. `false`: there will be no more events.
    async fn wait_for_wakeup(&mut self) -> bool;
}

/// When a round follows the last one, if no event asks for it before.
pub(crate) enum NextRound {
    AtOnce,
    At(Timestamp),
    WhenWoken,
}

impl From<Option<Timestamp>> for NextRound {
    fn from(due: Option<Timestamp>) -> Self {
        due.map_or(Self::WhenWoken, Self::At)
    }
}

/// Runs rounds until it is cancelled. A round that has begun is finished.
pub(crate) async fn run_rounds<R: Rounds>(mut rounds: R, clock: &Clock, cancel: &CancellationToken) {
    while !cancel.is_cancelled() {
        let next = match rounds.run_round().await {
            Ok(NextRound::AtOnce) => continue,
            Ok(NextRound::At(due)) => Some(due),
            Ok(NextRound::WhenWoken) => None,
            Err(StoreError::Closed) => return,
            Err(error) => {
                tracing::error!(%error, "{}", R::FAILURE);
                pause_after_store_failure(cancel).await;
                continue;
            }
        };
        tokio::select! {
            () = cancel.cancelled() => return,
            is_alive = rounds.wait_for_wakeup() => if !is_alive { return },
            () = sleep_until_due(clock, next) => {}
        }
    }
}

async fn sleep_until_due(clock: &Clock, due: Option<Timestamp>) {
    match due {
        Some(due) => clock.sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Waits before the next query to a store that failed.
async fn pause_after_store_failure(cancel: &CancellationToken) {
    tokio::select! {
        () = cancel.cancelled() => {}
        () = tokio::time::sleep(STORE_RETRY_DELAY) => {}
    }
}
