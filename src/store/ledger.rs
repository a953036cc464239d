//! The ledger's rows: everything that happened, and never changed afterwards. Its questions are answered by an index.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::change;
use super::error::{StoreError, unwritable};
use super::handle::Store;
use super::time::{micros, timestamp};
use super::transaction::{Operation, Transaction};
use crate::domain::actor::Actor;
use crate::domain::artefact::ArtefactName;
use crate::domain::change::{Change, ChangeId};
use crate::domain::environment::EnvironmentName;
use crate::domain::history::Number;
use crate::domain::listing::Filter;
use crate::domain::page::{Cursor, Order};

/// More than anybody looks back at what controllers said.
const KEEP_REPORTS: SignedDuration = SignedDuration::from_hours(30 * 24);

/// As the indexes spell them: else they would not be used.
const KINDS: &str = "kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released')";
const KINDS_OF_ONE: &str =
    "kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released', 'carried')";

/// The entries by which a change came to stand where it does.
const STAGES: &str = "kind IN ('begun', 'retried', 'awaiting_approval', 'merging', 'deploying', 'deployed', 'failed', \
                      'stalled')";

/// One thing that happened; never changed afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub at: Timestamp,
    pub change: Option<String>,
    pub kind: String,
    pub artefact: Option<ArtefactName>,
    pub environment: Option<EnvironmentName>,
    pub actor: Option<Actor>,
    pub body: Value,
}

/// Which entries of the ledger; `None` matches all.
#[derive(Clone, Debug, Default)]
pub struct LedgerFilter {
    pub change: Option<String>,
    pub kind: Option<String>,
    pub artefact: Option<ArtefactName>,
    pub environment: Option<EnvironmentName>,
}

#[derive(sqlx::FromRow)]
pub(super) struct EntryRow {
    at: i64,
    change_id: Option<String>,
    kind: String,
    artefact: Option<String>,
    environment: Option<String>,
    actor: Option<String>,
    body: String,
}

impl From<EntryRow> for Entry {
    fn from(row: EntryRow) -> Self {
        Self {
            at: timestamp(row.at),
            change: row.change_id,
            kind: row.kind,
            artefact: row.artefact.as_deref().map(ArtefactName::new),
            environment: row.environment.as_deref().map(EnvironmentName::new),
            actor: row.actor.and_then(|actor| serde_json::from_str(&actor).ok()),
            body: serde_json::from_str(&row.body).unwrap_or_default(),
        }
    }
}

/// Something that happened, with the change that it began, as that stands now.
#[derive(Clone, Debug)]
pub struct Past {
    pub number: Number,
    pub entry: Entry,
    pub change: Option<Change>,
}

#[derive(sqlx::FromRow)]
struct PastRow {
    id: i64,
    #[sqlx(flatten)]
    entry: EntryRow,
    change: Option<String>,
}

impl Store {
    /// All of one kind, newest first, by the index that it has.
    pub async fn newest(&self, kind: &'static str, limit: u32) -> Result<Vec<Entry>, StoreError> {
        let mut query: QueryBuilder<Sqlite> = QueryBuilder::new(
            "SELECT at, change_id, kind, artefact, environment, actor, body FROM ledger WHERE kind = '",
        );
        // Spelled out as in the index.
        query.push(kind).push("' ORDER BY id DESC LIMIT ").push_bind(i64::from(limit));
        let rows: Vec<EntryRow> = query.build_query_as().fetch_all(&self.0.readers).await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// Newest first.
    pub async fn ledger(&self, filter: &LedgerFilter, limit: u32) -> Result<Vec<Entry>, StoreError> {
        let rows: Vec<EntryRow> = sqlx::query_as(
            "SELECT at, change_id, kind, artefact, environment, actor, body FROM ledger
             WHERE ($1 IS NULL OR change_id = $1) AND ($2 IS NULL OR kind = $2)
               AND ($3 IS NULL OR artefact = $3) AND ($4 IS NULL OR environment = $4)
             ORDER BY id DESC LIMIT $5",
        )
        .bind(&filter.change)
        .bind(&filter.kind)
        .bind(filter.artefact.as_ref().map(ArtefactName::as_str))
        .bind(filter.environment.as_ref().map(EnvironmentName::as_str))
        .bind(i64::from(limit))
        .fetch_all(&self.0.readers)
        .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// What happened there, `limit` from the cursor on, the one next to it first.
    pub async fn past(&self, filter: &Filter, cursor: Cursor<Number>, limit: u32) -> Result<Vec<Past>, StoreError> {
        let order = if cursor.is_back(Order::NewestFirst) { " ORDER BY id DESC" } else { " ORDER BY id" };
        let part = |query: &mut QueryBuilder<Sqlite>, of_all: bool| {
            query.push(
                "SELECT * FROM (SELECT id, at, change_id, kind, artefact, environment, actor, body FROM ledger WHERE ",
            );
            query.push(if filter.artefact.is_some() { KINDS_OF_ONE } else { KINDS });
            let query = match &filter.artefact {
                None => query,
                Some(_) if of_all => query.push(" AND artefact IS NULL"),
                Some(artefact) => query.push(" AND artefact = ").push_bind(artefact.as_str().to_owned()),
            };
            if let Some(environment) = &filter.environment {
                // By the plain column SQLite would take the index of all entries, among them every report.
                query.push(if of_all { " AND COALESCE(environment, '') = " } else { " AND environment = " });
                query.push_bind(environment.as_str().to_owned());
            }
            let query = match cursor {
                Cursor::Start => query,
                Cursor::Earlier(Number(than)) => query.push(" AND id < ").push_bind(than),
                Cursor::Later(Number(than)) => query.push(" AND id > ").push_bind(than),
            };
            query.push(order).push(" LIMIT ").push_bind(i64::from(limit)).push(")");
        };
        let mut query = QueryBuilder::new(
            "SELECT page.id, page.at, page.change_id, page.kind, page.artefact, page.environment, page.actor, page.body,
                    change.body AS change FROM (",
        );
        part(&mut query, false);
        if filter.artefact.is_some() {
            // What concerns a whole environment concerns each artefact in it.
            query.push(" UNION ALL ");
            part(&mut query, true);
        }
        query.push(") AS page LEFT JOIN change ON change.id = page.change_id AND page.kind IN ('begun', 'carried')");
        query.push(order.replace(" id", " page.id")).push(" LIMIT ").push_bind(i64::from(limit));
        let rows: Vec<PastRow> = query.build_query_as().fetch_all(&self.0.readers).await?;
        Ok(rows
            .into_iter()
            .map(|row| Past {
                number: Number(row.id),
                entry: row.entry.into(),
                change: row.change.as_deref().and_then(change::read),
            })
            .collect())
    }

    /// Since when each of these changes stands where it does.
    pub async fn stages_since(&self, changes: &[ChangeId]) -> Result<HashMap<ChangeId, Timestamp>, StoreError> {
        if changes.is_empty() {
            return Ok(HashMap::new());
        }
        let mut query = QueryBuilder::new("SELECT change_id, MAX(at) FROM ledger WHERE change_id IN (");
        let mut ids = query.separated(", ");
        for id in changes {
            ids.push_bind(id.to_string());
        }
        query.push(") AND ").push(STAGES).push(" GROUP BY change_id");
        let rows: Vec<(String, i64)> = query.build_query_as().fetch_all(&self.0.readers).await?;
        Ok(rows.into_iter().filter_map(|(id, at)| Some((ChangeId::parse(&id)?, timestamp(at)))).collect())
    }
}

/// The last report that came for an environment.
pub(super) async fn last_report(
    database: impl sqlx::SqliteExecutor<'_>,
    environment: &EnvironmentName,
) -> Result<Option<Entry>, sqlx::Error> {
    // The kind is spelled out as in the index that this uses.
    let row: Option<EntryRow> = sqlx::query_as(
        "SELECT at, change_id, kind, artefact, environment, actor, body FROM ledger
         WHERE kind = 'report' AND environment = $1 ORDER BY id DESC LIMIT 1",
    )
    .bind(environment.as_str())
    .fetch_optional(database)
    .await?;
    Ok(row.map(Into::into))
}

impl Transaction {
    #[must_use]
    pub fn ledger(self, entry: Entry) -> Self {
        self.with(AppendToLedger(entry))
    }
}

#[derive(Debug)]
struct AppendToLedger(Entry);

impl Operation for AppendToLedger {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        let entry = &self.0;
        let actor = entry.actor.as_ref().map(serde_json::to_string).transpose().map_err(unwritable)?;
        sqlx::query(
            "INSERT INTO ledger (at, change_id, kind, artefact, environment, actor, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(micros(entry.at))
        .bind(&entry.change)
        .bind(&entry.kind)
        .bind(entry.artefact.as_ref().map(ArtefactName::as_str))
        .bind(entry.environment.as_ref().map(EnvironmentName::as_str))
        .bind(actor)
        .bind(entry.body.to_string())
        .execute(connection)
        .await?;
        Ok(())
    }
}

/// Deletes what controllers reported long ago; what became of changes is kept for ever.
pub(super) async fn prune(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM ledger WHERE kind = 'report' AND at < $1")
        .bind(micros(now - KEEP_REPORTS))
        .execute(connection)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests;
