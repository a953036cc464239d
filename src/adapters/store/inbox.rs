//! The inbox's rows: requests and webhooks that were received and must be worked on. A done row keeps its key, so that a
//! replay has no effect.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::error::StoreError;
use super::handle::Store;
use super::stored::stored_by_name;
use super::time::{micros, micros_up, timestamp};
use super::transaction::{Operation, Transaction, Wakes};

/// Slack's and every webhook sender's retries are over long before.
const KEEP_DONE: SignedDuration = SignedDuration::from_hours(7 * 24);

stored_by_name! {
    /// The origin of an inbox row. A source and its key are unique together.
    pub enum Source {
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

impl Source {
    pub(super) fn line(self) -> Line {
        match self {
            Self::SlackCommand | Self::SlackInteraction | Self::SlackEvent => Line::Requests,
            Self::GitHub | Self::Flux | Self::ArgoCd | Self::Deployments | Self::CdEvents => Line::Webhooks,
        }
    }
}

/// The inbox has two lines, so that commands do not wait behind a burst of webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Handled one by one, because an answer may need slow services.
    Requests,
    /// Handled in groups, without asking other services.
    Webhooks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InboxId(pub(super) i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    New(InboxId),
    /// The same source sent the same key, or the same id of its own, before.
    Replay,
}

/// An inbox row that is due.
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

/// Reads along the index of waiting rows: no more than `limit` of them, however long the line is.
pub(super) fn ask_for_waiting(query: &mut QueryBuilder<Sqlite>, line: Line, now: Timestamp, limit: u32) {
    query.push("SELECT id, source, key, body, received_at, attempts FROM inbox WHERE done_at IS NULL AND due_at <= ");
    query.push_bind(micros(now));
    stands_in(line, query);
    query.push(" ORDER BY due_at, id LIMIT ").push_bind(i64::from(limit));
}

fn stands_in(line: Line, query: &mut QueryBuilder<Sqlite>) {
    // `|| ''` avoids the index on the source, which also holds all done rows.
    query.push(" AND source || '' IN (");
    let mut sources = query.separated(", ");
    for source in Source::ALL.iter().filter(|source| source.line() == line) {
        sources.push_bind(source.as_str());
    }
    query.push(")");
}

type ReceivedRow = (i64, String, String, String, i64, i64);

impl Store {
    /// Stores a request or webhook durably, before it is acknowledged.
    pub async fn receive(&self, source: Source, key: &str, body: &Value) -> Result<Receipt, StoreError> {
        self.receive_once(source, key, None, body).await
    }

    /// The same for an event with an id of its sender: a repeated key and a repeated id are both replays.
    pub async fn receive_once(
        &self,
        source: Source,
        key: &str,
        sender_id: Option<String>,
        body: &Value,
    ) -> Result<Receipt, StoreError> {
        self.execute(ReceiveInboxItem { source, key: key.to_owned(), sender_id, body: body.to_string() }).await
    }

    /// Makes the row due later, and keeps the reason.
    pub async fn postpone(&self, id: InboxId, until: Timestamp, error: &str) -> Result<(), StoreError> {
        self.commit(Transaction::new().postpone(id, until, error)).await
    }

    /// The due rows of a line, the longest due first.
    pub async fn waiting(&self, line: Line, limit: u32) -> Result<Vec<Received>, StoreError> {
        let mut query = QueryBuilder::default();
        ask_for_waiting(&mut query, line, self.0.clock.now(), limit);
        let rows: Vec<ReceivedRow> = query.build_query_as().fetch_all(&self.0.readers).await?;
        Ok(rows.into_iter().filter_map(received).collect())
    }

    /// The earliest due time of a line later than `after`. The caller reads the clock for `after` before it calls `waiting`, so
    /// that a row which becomes due between the two queries is in at least one result.
    pub async fn next_waiting(&self, line: Line, after: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let mut query = QueryBuilder::new("SELECT MIN(due_at) FROM inbox WHERE done_at IS NULL AND due_at > ");
        query.push_bind(micros(after));
        stands_in(line, &mut query);
        let due: Option<i64> = query.build_query_scalar().fetch_one(&self.0.readers).await?;
        Ok(due.map(timestamp))
    }
}

/// A row of a source that only another version of Gantry knows is in neither line, and blocks no other row.
fn received((id, source, key, body, received_at, attempts): ReceivedRow) -> Option<Received> {
    let source = Source::parse(&source)?;
    Some(Received {
        id: InboxId(id),
        source,
        key,
        // A body that is no JSON becomes null; its handler then finishes the row.
        body: serde_json::from_str(&body).unwrap_or_default(),
        received_at: timestamp(received_at),
        attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
    })
}

impl Transaction {
    /// Marks the row as done. Its key stays for a while, its body is deleted.
    #[must_use]
    pub fn done(self, id: InboxId) -> Self {
        self.with(FinishInboxItem(id))
    }

    #[must_use]
    pub fn postpone(self, id: InboxId, until: Timestamp, error: &str) -> Self {
        self.with(PostponeInboxItem { id, until, error: error.to_owned(), counts: true })
    }

    /// The same for slow work: it does not count as a failed attempt.
    #[must_use]
    pub fn wait(self, id: InboxId, until: Timestamp, why: &str) -> Self {
        self.with(PostponeInboxItem { id, until, error: why.to_owned(), counts: false })
    }
}

#[derive(Debug)]
struct ReceiveInboxItem {
    source: Source,
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
        .bind(self.source.as_str())
        .bind(&self.key)
        .bind(&self.sender_id)
        .bind(&self.body)
        .bind(micros(now))
        .bind(micros(now))
        .fetch_optional(connection)
        .await?;
        Ok(id.map_or(Receipt::Replay, |id| Receipt::New(InboxId(id))))
    }

    fn wakes(&self, receipt: &Receipt) -> Wakes {
        match receipt {
            Receipt::New(_) => Wakes::INBOX,
            Receipt::Replay => Wakes::default(),
        }
    }
}

#[derive(Debug)]
struct FinishInboxItem(InboxId);

impl Operation for FinishInboxItem {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        sqlx::query("UPDATE inbox SET done_at = $1, body = NULL, error = NULL WHERE id = $2")
            .bind(micros(now))
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
    counts: bool,
}

impl Operation for PostponeInboxItem {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        sqlx::query("UPDATE inbox SET due_at = $1, attempts = attempts + $4, error = $2 WHERE id = $3")
            .bind(micros_up(self.until))
            .bind(&self.error)
            .bind(self.id.0)
            .bind(i64::from(self.counts))
            .execute(connection)
            .await?;
        Ok(())
    }
}

pub(super) async fn prune(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM inbox WHERE done_at < $1").bind(micros(now - KEEP_DONE)).execute(connection).await?;
    Ok(())
}
