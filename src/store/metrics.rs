//! What the store tells of itself: how long commits take, how many failed, and what waits in it.

use jiff::Timestamp;

use super::{Line, Source, Store, StoreError, Transaction, micros, timestamp};
use crate::telemetry::metrics::{Count, Moments};

/// Kept by the writer.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    pub commits: Moments,
    pub failed: Count,
}

/// How much waits, and since when the oldest of it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    pub count: u64,
    pub oldest: Option<Timestamp>,
}

/// What is still to be worked off and said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    pub requests: Waiting,
    pub webhooks: Waiting,
    pub outbox: Waiting,
}

impl Store {
    pub fn measures(&self) -> &Measures {
        &self.0.measures
    }

    /// Writes a few bytes and commits them, as anything else would be.
    pub async fn try_out(&self) -> Result<(), StoreError> {
        self.commit(Transaction::new().setting("store.tried_out", &self.0.clock.now().to_string())).await
    }

    /// By the index of what waits: what is done is not read.
    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(
            "SELECT source, COUNT(*), MIN(received_at) FROM inbox WHERE done_at IS NULL AND due_at >= 0 GROUP BY source || ''",
        )
        .fetch_all(&self.0.readers)
        .await?;
        let mut backlog = Backlog::default();
        for (source, count, oldest) in rows {
            let line = match Source::parse(&source).map(Source::line) {
                Some(Line::Requests) => &mut backlog.requests,
                Some(Line::Webhooks) => &mut backlog.webhooks,
                None => continue,
            };
            line.count += u64::try_from(count).unwrap_or_default();
            let oldest = timestamp(oldest);
            line.oldest = Some(line.oldest.map_or(oldest, |before| before.min(oldest)));
        }
        // What nobody was told yet because the text before it is to stand for a moment waits for nobody.
        let (count, oldest): (i64, Option<i64>) = sqlx::query_as(
            "SELECT COUNT(*), MIN(CASE WHEN patient AND due_at > $1 THEN NULL ELSE created_at END) FROM outbox",
        )
        .bind(micros(self.0.clock.now()))
        .fetch_one(&self.0.readers)
        .await?;
        backlog.outbox = Waiting { count: u64::try_from(count).unwrap_or_default(), oldest: oldest.map(timestamp) };
        Ok(backlog)
    }
}
