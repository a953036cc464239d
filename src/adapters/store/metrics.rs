//! The amount of waiting work in the store, for metrics and for tests.

use jiff::Timestamp;

use super::error::StoreError;
use super::handle::Store;
use super::inbox::{InboxOrigin, InboxQueue};
use super::time::{to_micros, to_timestamp};

/// The number of waiting rows, and the time of the oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueDepth {
    pub count: u64,
    pub oldest: Option<Timestamp>,
}

/// The waiting rows of the inbox's queues and of the outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    pub requests: QueueDepth,
    pub webhooks: QueueDepth,
    pub outbox: QueueDepth,
}

/// Outstanding work. Tests poll it to learn when the bot has nothing left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutstandingWork {
    pub inbox: u64,
    pub outbox: u64,
    /// Active changes, without those that wait for people.
    pub changes: u64,
    /// The next due time. It is in the past while a row is being handled or a reminder of a lock is due.
    pub next_due: Option<Timestamp>,
}

impl Store {
    pub async fn measure_outstanding_work(&self) -> Result<OutstandingWork, StoreError> {
        type Row = (i64, Option<i64>, i64, Option<i64>, i64, Option<i64>, Option<i64>);
        let (inbox, inbox_due, outbox, outbox_due, changes, changes_due, reminder_due): Row = sqlx::query_as(
            "SELECT (SELECT COUNT(*) FROM inbox WHERE done_at IS NULL),
                    (SELECT MIN(due_at) FROM inbox WHERE done_at IS NULL),
                    (SELECT COUNT(*) FROM outbox),
                    (SELECT MIN(due_at) FROM outbox
                     WHERE (patient AND due_at > $1)
                        OR id IN (SELECT MIN(id) FROM outbox WHERE NOT (patient AND due_at > $1) GROUP BY queue)),
                    (SELECT COUNT(*) FROM change WHERE active AND NOT waits),
                    (SELECT MIN(due_at) FROM change WHERE NOT waits OR due_at <= $1),
                    (SELECT MIN(nudge_at) FROM lock WHERE nudge_at <= $1 AND (until IS NULL OR until > $1))",
        )
        // A reminder of a lock that is due later than now is not outstanding work.
        .bind(to_micros(self.0.clock.now()))
        .fetch_one(&self.0.readers)
        .await?;
        Ok(OutstandingWork {
            inbox: u64::try_from(inbox).unwrap_or_default(),
            outbox: u64::try_from(outbox).unwrap_or_default(),
            changes: u64::try_from(changes).unwrap_or_default(),
            next_due: [inbox_due, outbox_due, changes_due, reminder_due].into_iter().flatten().min().map(to_timestamp),
        })
    }

    /// Reads the index of waiting rows, not the done rows.
    pub async fn measure_backlog(&self) -> Result<Backlog, StoreError> {
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(
            "SELECT source, COUNT(*), MIN(received_at) FROM inbox WHERE done_at IS NULL AND due_at >= 0 GROUP BY source || ''",
        )
        .fetch_all(&self.0.readers)
        .await?;
        let mut backlog = Backlog::default();
        for (source, count, oldest) in rows {
            let queue = match InboxOrigin::parse(&source).map(InboxOrigin::queue) {
                Some(InboxQueue::Requests) => &mut backlog.requests,
                Some(InboxQueue::Webhooks) => &mut backlog.webhooks,
                None => continue,
            };
            queue.count += u64::try_from(count).unwrap_or_default();
            let oldest = to_timestamp(oldest);
            queue.oldest = Some(queue.oldest.map_or(oldest, |before| before.min(oldest)));
        }
        // A patient edit before its due time is not late.
        let (count, oldest): (i64, Option<i64>) = sqlx::query_as(
            "SELECT COUNT(*), MIN(CASE WHEN patient AND due_at > $1 THEN NULL ELSE created_at END) FROM outbox",
        )
        .bind(to_micros(self.0.clock.now()))
        .fetch_one(&self.0.readers)
        .await?;
        backlog.outbox =
            QueueDepth { count: u64::try_from(count).unwrap_or_default(), oldest: oldest.map(to_timestamp) };
        Ok(backlog)
    }
}
