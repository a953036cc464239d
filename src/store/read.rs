//! Questions to the database. Readers have their own small pool and never wait for the writer.

use jiff::Timestamp;
use sqlx::{QueryBuilder, Sqlite};

use super::transaction::{Entry, ImageCommit, version};
use super::{InboxId, Line, Pending, Received, Source, Store, StoreError, micros, timestamp};
use crate::domain::artefact::ArtefactName;
use crate::domain::environment::EnvironmentName;
use crate::domain::sighting::Sighting;

/// Which entries of the ledger; `None` matches all.
#[derive(Clone, Debug, Default)]
pub struct LedgerFilter {
    pub change: Option<String>,
    pub kind: Option<String>,
    pub artefact: Option<ArtefactName>,
    pub environment: Option<EnvironmentName>,
}

#[derive(sqlx::FromRow)]
struct SightingRow {
    artefact: String,
    environment: String,
    tag: Option<String>,
    digest: Option<String>,
    commit_sha: Option<String>,
    seen_at: i64,
    running_at: Option<i64>,
    well_since: Option<i64>,
    failed: Option<String>,
    ended_at: Option<i64>,
    announced: bool,
}

impl From<SightingRow> for Sighting {
    fn from(row: SightingRow) -> Self {
        Self {
            artefact: ArtefactName::new(&row.artefact),
            environment: EnvironmentName::new(&row.environment),
            version: version(row.tag, row.digest, row.commit_sha),
            seen_at: timestamp(row.seen_at),
            running_at: row.running_at.map(timestamp),
            well_since: row.well_since.map(timestamp),
            failed: row.failed,
            ended_at: row.ended_at.map(timestamp),
            announced: row.announced,
        }
    }
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

/// Reads along the index of what waits: however long the lines are, no more of them is read than is asked for.
pub(super) fn ask_for_waiting(query: &mut QueryBuilder<Sqlite>, line: Line, now: Timestamp, limit: u32) {
    query.push("SELECT id, source, key, body, received_at, attempts FROM inbox WHERE done_at IS NULL AND due_at <= ");
    query.push_bind(micros(now));
    stands_in(line, query);
    query.push(" ORDER BY due_at, id LIMIT ").push_bind(i64::from(limit));
}

fn stands_in(line: Line, query: &mut QueryBuilder<Sqlite>) {
    // Not by the index of the sources, which also holds everything that was done.
    query.push(" AND source || '' IN (");
    let mut sources = query.separated(", ");
    for source in Source::ALL.into_iter().filter(|source| source.line() == line) {
        sources.push_bind(source.as_str());
    }
    query.push(")");
}

type ReceivedRow = (i64, String, String, String, i64, i64);

impl Store {
    /// What stands in a line of the inbox and is due, the first due first.
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

    pub async fn pending(&self) -> Result<Pending, StoreError> {
        type Row = (i64, Option<i64>, i64, Option<i64>, i64, Option<i64>, Option<i64>);
        let (inbox, inbox_due, outbox, outbox_due, changes, changes_due, nudge_due): Row = sqlx::query_as(
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
        // A reminder of tomorrow is nothing that is still to be done.
        .bind(micros(self.0.clock.now()))
        .fetch_one(&self.0.readers)
        .await?;
        Ok(Pending {
            inbox: u64::try_from(inbox).unwrap_or_default(),
            outbox: u64::try_from(outbox).unwrap_or_default(),
            changes: u64::try_from(changes).unwrap_or_default(),
            next_due: [inbox_due, outbox_due, changes_due, nudge_due].into_iter().flatten().min().map(timestamp),
        })
    }

    /// The stays that have not ended.
    pub async fn sightings_now(&self) -> Result<Vec<Sighting>, StoreError> {
        let rows: Vec<SightingRow> = sqlx::query_as(
            "SELECT artefact, environment, tag, digest, commit_sha, seen_at, running_at, well_since, failed, ended_at,
                    announced
             FROM sighting WHERE ended_at IS NULL ORDER BY artefact, environment",
        )
        .fetch_all(&self.0.readers)
        .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// The stays of one artefact in one environment, newest first.
    pub async fn sightings(
        &self,
        artefact: &ArtefactName,
        environment: &EnvironmentName,
        limit: u32,
    ) -> Result<Vec<Sighting>, StoreError> {
        let rows: Vec<SightingRow> = sqlx::query_as(
            "SELECT artefact, environment, tag, digest, commit_sha, seen_at, running_at, well_since, failed, ended_at,
                    announced
             FROM sighting WHERE artefact = $1 AND environment = $2 ORDER BY seen_at DESC, id DESC LIMIT $3",
        )
        .bind(artefact.as_str())
        .bind(environment.as_str())
        .bind(i64::from(limit))
        .fetch_all(&self.0.readers)
        .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// The newest stays of some artefacts, so many in each environment, newest first.
    pub async fn sightings_of(&self, artefacts: &[&ArtefactName], each: u32) -> Result<Vec<Sighting>, StoreError> {
        if artefacts.is_empty() {
            return Ok(Vec::new());
        }
        let mut query: QueryBuilder<Sqlite> = QueryBuilder::new(
            "SELECT artefact, environment, tag, digest, commit_sha, seen_at, running_at, well_since, failed, ended_at,
                    announced
             FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY artefact, environment ORDER BY seen_at DESC, id DESC) AS nth
                   FROM sighting WHERE artefact IN (",
        );
        let mut names = query.separated(", ");
        for artefact in artefacts {
            names.push_bind(artefact.as_str());
        }
        query.push(")) AS stay WHERE nth <= ").push_bind(i64::from(each)).push(" ORDER BY artefact, environment, nth");
        let rows: Vec<SightingRow> = query.build_query_as().fetch_all(&self.0.readers).await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    pub async fn image_commits(&self) -> Result<Vec<ImageCommit>, StoreError> {
        let rows: Vec<(String, String, Option<String>, String)> =
            sqlx::query_as("SELECT image, reference, commit_sha, proof FROM image_commit ORDER BY image, reference")
                .fetch_all(&self.0.readers)
                .await?;
        Ok(rows
            .into_iter()
            .map(|(image, reference, commit, proof)| ImageCommit {
                image,
                reference,
                commit: commit.and_then(|commit| commit.parse().ok()),
                proof,
            })
            .collect())
    }

    pub async fn setting(&self, key: &str) -> Result<Option<String>, StoreError> {
        Ok(sqlx::query_scalar("SELECT value FROM setting WHERE key = $1")
            .bind(key)
            .fetch_optional(&self.0.readers)
            .await?)
    }

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
}

/// Rows of sources that only another version of Gantry knows stand in neither line, and hold up nobody.
fn received((id, source, key, body, received_at, attempts): ReceivedRow) -> Option<Received> {
    let source = Source::parse(&source)?;
    Some(Received {
        id: InboxId(id),
        source,
        key,
        // What is no JSON is nothing to whoever works it off, and so comes to its end.
        body: serde_json::from_str(&body).unwrap_or_default(),
        received_at: timestamp(received_at),
        attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
    })
}
