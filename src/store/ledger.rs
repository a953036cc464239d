//! What happened, page by page, and how far changes have come: questions to the ledger that an index answers.

use std::collections::HashMap;

use jiff::Timestamp;
use sqlx::{QueryBuilder, Sqlite};

use super::change::read;
use super::read::EntryRow;
use super::transaction::Entry;
use super::{Store, StoreError, timestamp};
use crate::domain::change::{Change, ChangeId};
use crate::domain::history::Number;
use crate::domain::listing::Filter;
use crate::domain::message::{MessageKey, Place};
use crate::domain::page::{Cursor, Order};

/// As the indexes spell them: else they would not be used.
const KINDS: &str = "kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released')";
const KINDS_OF_ONE: &str =
    "kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released', 'carried')";

/// The entries by which a change came to stand where it does.
const STAGES: &str = "kind IN ('begun', 'retried', 'awaiting_approval', 'merging', 'deploying', 'deployed', 'failed', \
                      'stalled')";

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
                change: row.change.as_deref().and_then(read),
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

    /// Where those of these messages stand that Slack has.
    pub async fn places(&self, keys: &[MessageKey]) -> Result<HashMap<MessageKey, Place>, StoreError> {
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let mut query = QueryBuilder::new("SELECT key, channel, ts FROM said WHERE key IN (");
        let mut names = query.separated(", ");
        for key in keys {
            names.push_bind(key.as_str().to_owned());
        }
        query.push(")");
        let rows: Vec<(String, String, String)> = query.build_query_as().fetch_all(&self.0.readers).await?;
        Ok(rows.into_iter().map(|(key, channel, ts)| (MessageKey::new(&key), Place { channel, ts })).collect())
    }
}

#[cfg(test)]
mod tests;
