//! The rows of the inbox: received requests and webhooks that must be handled. A done row keeps its key, so that a
//! replay has no effect.

use crate::telemetry;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};
use tracing::{Span, field};

use super::error::StoreError;
use super::handle::Store;
use super::stored::stored_by_name;
use super::time::{to_micros, to_micros_ceil, to_timestamp};
use super::transaction::{Operation, Transaction, Wakeups};

/// By then, the retries of Slack and of all webhook senders have ended.
const DONE_RETENTION: SignedDuration = SignedDuration::from_hours(7 * 24);

stored_by_name! {
    /// The origin of an inbox row. A source and its key are unique together.
    pub enum InboxOrigin {
        SlackCommand => "slack_command",
        SlackInteraction => "slack_interaction",
        SlackEvent => "slack_event",
        Flux => "flux",
        ArgoCd => "argocd",
        GitHub => "github",
        Deployments => "deployments",
        CdEvents => "cdevents",
    }
}

impl InboxOrigin {
    pub(super) fn queue(self) -> InboxQueue {
        match self {
            Self::SlackCommand | Self::SlackInteraction | Self::SlackEvent => InboxQueue::Requests,
            Self::GitHub | Self::Flux | Self::ArgoCd | Self::Deployments | Self::CdEvents => InboxQueue::Webhooks,
        }
    }
}

/// The inbox has two queues, so that commands do not wait behind a burst of webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxQueue {
    /// Each has a task of its own, because an answer may need slow services.
    Requests,
    /// Handled in groups, without requests to other services.
    Webhooks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InboxId(pub(super) i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    New(InboxId),
    /// The same source has sent the same key, or the same id of its own, before.
    Replay,
}

/// An inbox row that is due.
#[derive(Clone, Debug)]
pub struct InboxItem {
    pub id: InboxId,
    pub origin: InboxOrigin,
    pub key: String,
    pub body: Value,
    pub received_at: Timestamp,
    /// The number of times it was postponed after a failure.
    pub attempts: u32,
}

impl InboxItem {
    /// The id of the request in the log.
    pub fn request_id(&self) -> String {
        telemetry::derive_request_id(self.origin.as_str(), &self.key)
    }

    /// The tracing span of all work on this row.
    pub fn create_span(&self) -> Span {
        let source = self.origin.as_str();
        tracing::error_span!("request", request.id = self.request_id(), source, change.id = field::Empty)
    }
}

/// Reads the index of waiting rows: at most `limit` of them, however long the queue is.
pub(super) fn build_due_query(query: &mut QueryBuilder<Sqlite>, queue: InboxQueue, now: Timestamp, limit: u32) {
    query.push("SELECT id, source, key, body, received_at, attempts FROM inbox WHERE done_at IS NULL AND due_at <= ");
    query.push_bind(to_micros(now));
    push_queue_filter(queue, query);
    query.push(" ORDER BY due_at, id LIMIT ").push_bind(i64::from(limit));
}

fn push_queue_filter(queue: InboxQueue, query: &mut QueryBuilder<Sqlite>) {
    // `|| ''` keeps SQLite from using the index on the source, which also holds all done rows.
    query.push(" AND source || '' IN (");
    let mut sources = query.separated(", ");
    for origin in InboxOrigin::ALL.iter().filter(|origin| origin.queue() == queue) {
        sources.push_bind(origin.as_str());
    }
    query.push(")");
}

type InboxRow = (i64, String, String, String, i64, i64);

impl Store {
    /// Stores a request or webhook durably, before it is acknowledged.
    pub async fn receive_inbox_item(
        &self,
        origin: InboxOrigin,
        key: &str,
        body: &Value,
    ) -> Result<Receipt, StoreError> {
        self.receive_with_sender_id(origin, key, None, body).await
    }

    /// The same for an event with an id from its sender: a repeated key and a repeated id are both replays.
    pub async fn receive_with_sender_id(
        &self,
        origin: InboxOrigin,
        key: &str,
        sender_id: Option<String>,
        body: &Value,
    ) -> Result<Receipt, StoreError> {
        self.execute(ReceiveInboxItem { origin, key: key.to_owned(), sender_id, body: body.to_string() }).await
    }

    /// Makes the row due later, and stores the reason.
    pub async fn postpone_inbox_item(&self, id: InboxId, until: Timestamp, error: &str) -> Result<(), StoreError> {
        self.commit(Transaction::new().postpone_inbox_item(id, until, error)).await
    }

    /// The due rows of a queue, the longest due first.
    pub async fn list_due_inbox_items(&self, queue: InboxQueue, limit: u32) -> Result<Vec<InboxItem>, StoreError> {
        let mut query = QueryBuilder::default();
        build_due_query(&mut query, queue, self.0.clock.now(), limit);
        let rows: Vec<InboxRow> = query.build_query_as().fetch_all(&self.0.readers).await?;
        Ok(rows.into_iter().filter_map(parse_inbox_row).collect())
    }

    /// The earliest due time of a queue later than `after`. The caller reads the clock for `after` before it calls
    /// `list_due_inbox_items`, so that a row which becomes due between the two queries is in at least one result.
    pub async fn find_next_inbox_due(
        &self,
        queue: InboxQueue,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        let mut query = QueryBuilder::new("SELECT MIN(due_at) FROM inbox WHERE done_at IS NULL AND due_at > ");
        query.push_bind(to_micros(after));
        push_queue_filter(queue, &mut query);
        let due: Option<i64> = query.build_query_scalar().fetch_one(&self.0.readers).await?;
        Ok(due.map(to_timestamp))
    }
}

/// `None` for a source that only another version of Gantry knows. Such a row is in neither queue and blocks no other
/// row.
fn parse_inbox_row((id, origin, key, body, received_at, attempts): InboxRow) -> Option<InboxItem> {
    let origin = InboxOrigin::parse(&origin)?;
    Some(InboxItem {
        id: InboxId(id),
        origin,
        key,
        // A body that is not JSON becomes null, and its handler then finishes the row.
        body: serde_json::from_str(&body).unwrap_or_default(),
        received_at: to_timestamp(received_at),
        attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
    })
}

impl Transaction {
    /// Marks the row as done. Its key stays for a while; its body is deleted.
    #[must_use]
    pub fn finish_inbox_item(self, id: InboxId) -> Self {
        self.with_operation(FinishInboxItem(id))
    }

    #[must_use]
    pub fn postpone_inbox_item(self, id: InboxId, until: Timestamp, error: &str) -> Self {
        self.with_operation(PostponeInboxItem { id, until, error: error.to_owned(), counts_as_attempt: true })
    }

    /// The same for slow work: it does not count as a failed attempt.
    #[must_use]
    pub fn postpone_without_attempt(self, id: InboxId, until: Timestamp, why: &str) -> Self {
        self.with_operation(PostponeInboxItem { id, until, error: why.to_owned(), counts_as_attempt: false })
    }
}

#[derive(Debug)]
struct ReceiveInboxItem {
    origin: InboxOrigin,
    key: String,
    sender_id: Option<String>,
    body: String,
}

impl Operation for ReceiveInboxItem {
    type Output = Receipt;

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<Receipt, sqlx::Error> {
        let id: Option<i64> = sqlx::query_scalar(
            "INSERT INTO inbox (source, key, sender_id, body, received_at, due_at) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT DO NOTHING RETURNING id",
        )
        .bind(self.origin.as_str())
        .bind(&self.key)
        .bind(&self.sender_id)
        .bind(&self.body)
        .bind(to_micros(now))
        .bind(to_micros(now))
        .fetch_optional(connection)
        .await?;
        Ok(id.map_or(Receipt::Replay, |id| Receipt::New(InboxId(id))))
    }

    fn wakes(&self, receipt: &Receipt) -> Wakeups {
        match receipt {
            Receipt::New(_) => Wakeups::INBOX,
            Receipt::Replay => Wakeups::default(),
        }
    }
}

#[derive(Debug)]
struct FinishInboxItem(InboxId);

impl Operation for FinishInboxItem {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        sqlx::query("UPDATE inbox SET done_at = $1, body = NULL, error = NULL WHERE id = $2")
            .bind(to_micros(now))
            .bind(self.0.0)
            .execute(connection)
            .await?;
        Ok(())
    }
}

#[derive(Debug)]
struct PostponeInboxItem {
    id: InboxId,
    until: Timestamp,
    error: String,
    counts_as_attempt: bool,
}

impl Operation for PostponeInboxItem {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        sqlx::query("UPDATE inbox SET due_at = $1, attempts = attempts + $4, error = $2 WHERE id = $3")
            .bind(to_micros_ceil(self.until))
            .bind(&self.error)
            .bind(self.id.0)
            .bind(i64::from(self.counts_as_attempt))
            .execute(connection)
            .await?;
        Ok(())
    }
}

pub(super) async fn prune(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM inbox WHERE done_at < $1")
        .bind(to_micros(now - DONE_RETENTION))
        .execute(connection)
        .await?;
    Ok(())
}
