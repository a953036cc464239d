//! The rows of the ledger: one for each event, never changed. Each query uses an index.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::change;
use super::change::stored::StoredStage;
use super::error::StoreError;
use super::handle::Store;
use super::plan::StoredGateOverride;
use super::stored::{StoredBody, read_or_log, stored, stored_by_name, write_body};
use super::stored_parts::{StoredCommit, StoredLock, StoredQuarantine, StoredVersion};
use super::time::{to_micros, to_timestamp};
use super::transaction::{Operation, Transaction};
use crate::domain::change::{Change, Stage};
use crate::domain::model::actor::{Actor, PersonId};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::message::MessageKey;
use crate::domain::model::version::{Sha, Version};
use crate::domain::rules::gate::GateOverride;
use crate::domain::rules::lock::Lock;
use crate::domain::rules::quarantine::Quarantine;
use crate::domain::view::history::{ArrivalDetails, LedgerPosition};
use crate::domain::view::list::ListFilter;
use crate::domain::view::page::{Cursor, Order};

/// `history` does not show reports. They are read for the last report of an environment, and at the start.
const REPORT_RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Spelled exactly as in the partial indexes; otherwise `SQLite` would not use them.
const HISTORY_KINDS: &str =
    "kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released')";
const ARTEFACT_HISTORY_KINDS: &str =
    "kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released', 'carried')";

/// The kinds that mark the start of a change's current stage.
const STAGE_KINDS: &str = "kind IN ('begun', 'retried', 'awaiting_approval', 'merging', 'deploying', 'deployed', 'failed', \
                      'stalled')";

stored_by_name! {
    /// The kind of an event. The table's indexes contain the names, so a name never changes.
    pub enum LedgerKind {
        Begun => "begun",
        Retried => "retried",
        Carried => "carried",
        Overridden => "overridden",
        Approved => "approved",
        Voided => "voided",
        CancelAsked => "cancel_asked",
        AwaitingApproval => "awaiting_approval",
        Merging => "merging",
        Deploying => "deploying",
        Deployed => "deployed",
        Failed => "failed",
        Stalled => "stalled",
        Conflicted => "conflicted",
        Errored => "errored",
        Cancelled => "cancelled",
        Rejected => "rejected",
        Expired => "expired",
        Superseded => "superseded",
        Quarantined => "quarantined",
        Released => "released",
        Locked => "locked",
        Unlocked => "unlocked",
        TakenOver => "taken_over",
        Arrived => "arrived",
        ArrivalFailed => "arrival_failed",
        Report => "report",
        Build => "build",
        MessageDropped => "message_dropped",
        FileDropped => "file_dropped",
    }
}

/// The kind of the event that a change entered a stage.
impl From<&Stage> for LedgerKind {
    fn from(stage: &Stage) -> Self {
        match stage {
            Stage::AwaitingApproval(_) => Self::AwaitingApproval,
            Stage::Merging(_) => Self::Merging,
            Stage::Deploying(_) => Self::Deploying,
            Stage::Deployed { .. } => Self::Deployed,
            Stage::Failed { .. } => Self::Failed,
            Stage::Stalled { .. } => Self::Stalled,
            Stage::Conflicted { .. } => Self::Conflicted,
            Stage::Errored { .. } => Self::Errored,
            Stage::Cancelled { .. } => Self::Cancelled,
            Stage::Rejected { .. } => Self::Rejected,
            Stage::Expired { .. } => Self::Expired,
            Stage::Superseded { .. } => Self::Superseded,
        }
    }
}

/// The details of an event, beside its time, place and actor.
#[derive(Clone, Debug, PartialEq)]
pub enum LedgerDetails {
    /// The change at the time of the event.
    Change {
        stage: Box<Stage>,
        pinned: Option<Sha>,
        version: Version,
    },
    Overridden(GateOverride),
    Lock {
        lock: Lock,
        taken_from: Option<PersonId>,
    },
    Quarantine(Box<Quarantine>),
    Released {
        version: Version,
    },
    Arrival(Box<ArrivalDetails>),
    /// A report as its adapter parsed it, the artefacts to which it was attributed, and the reason.
    Report {
        report: Value,
        artefacts: Option<Vec<ArtefactName>>,
        by: Option<String>,
    },
    /// A build as its adapter parsed it.
    Build(Value),
    /// A message or a file that Slack did not accept.
    Undelivered {
        queue: String,
        key: Option<MessageKey>,
        text: Option<String>,
        file: Option<String>,
        reason: String,
    },
}

/// One event; never changed afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerEntry {
    pub at: Timestamp,
    pub change: Option<String>,
    pub kind: LedgerKind,
    pub artefact: Option<ArtefactName>,
    pub environment: Option<EnvironmentName>,
    pub actor: Option<Actor>,
    /// `None` if the event has no details, or if another version of Gantry wrote them.
    pub details: Option<LedgerDetails>,
}

/// A filter for entries of the ledger; `None` matches all.
#[derive(Clone, Debug, Default)]
pub struct LedgerFilter {
    pub change: Option<String>,
    pub kind: Option<LedgerKind>,
    pub artefact: Option<ArtefactName>,
    pub environment: Option<EnvironmentName>,
}

#[derive(sqlx::FromRow)]
pub(super) struct LedgerEntryRow {
    at: i64,
    change_id: Option<String>,
    kind: String,
    artefact: Option<String>,
    environment: Option<String>,
    actor: Option<String>,
    body: Option<String>,
}

impl LedgerEntryRow {
    /// `None` for a kind that only another version of Gantry knows.
    fn into_entry(self) -> Option<LedgerEntry> {
        let Some(kind) = LedgerKind::parse(&self.kind) else {
            tracing::warn!(kind = self.kind, "skipping a ledger entry of an unknown kind");
            return None;
        };
        Some(LedgerEntry {
            at: to_timestamp(self.at),
            change: self.change_id,
            kind,
            artefact: self.artefact.as_deref().map(ArtefactName::new),
            environment: self.environment.as_deref().map(EnvironmentName::new),
            actor: self.actor.and_then(|actor| read_or_log::<StoredActor>("actor", &actor)),
            details: self.body.and_then(|body| read_or_log::<StoredLedgerDetails>("entry of the ledger", &body)),
        })
    }
}

/// An event. If a change began, or an artefact moved with a change, also that change in its current state.
#[derive(Clone, Debug)]
pub struct NumberedEntry {
    pub number: LedgerPosition,
    pub entry: LedgerEntry,
    pub change: Option<Change>,
}

#[derive(sqlx::FromRow)]
struct NumberedEntryRow {
    id: i64,
    #[sqlx(flatten)]
    entry: LedgerEntryRow,
    change: Option<String>,
}

impl Store {
    /// The newest entries of one kind, newest first. Each kind that is read this way has an index.
    pub async fn list_newest_entries(&self, kind: LedgerKind, limit: u32) -> Result<Vec<LedgerEntry>, StoreError> {
        let mut query: QueryBuilder<Sqlite> = QueryBuilder::new(
            "SELECT at, change_id, kind, artefact, environment, actor, body FROM ledger WHERE kind = '",
        );
        // A literal, as in the index.
        query.push(kind.as_str()).push("' ORDER BY id DESC LIMIT ").push_bind(i64::from(limit));
        let rows: Vec<LedgerEntryRow> = query.build_query_as().fetch_all(&self.0.readers).await?;
        Ok(rows.into_iter().filter_map(LedgerEntryRow::into_entry).collect())
    }

    /// Newest first.
    pub async fn list_ledger_entries(&self, filter: &LedgerFilter, limit: u32) -> Result<Vec<LedgerEntry>, StoreError> {
        let rows: Vec<LedgerEntryRow> = sqlx::query_as(
            "SELECT at, change_id, kind, artefact, environment, actor, body FROM ledger
             WHERE ($1 IS NULL OR change_id = $1) AND ($2 IS NULL OR kind = $2)
               AND ($3 IS NULL OR artefact = $3) AND ($4 IS NULL OR environment = $4)
             ORDER BY id DESC LIMIT $5",
        )
        .bind(&filter.change)
        .bind(filter.kind.map(LedgerKind::as_str))
        .bind(filter.artefact.as_ref().map(ArtefactName::as_str))
        .bind(filter.environment.as_ref().map(EnvironmentName::as_str))
        .bind(i64::from(limit))
        .fetch_all(&self.0.readers)
        .await?;
        Ok(rows.into_iter().filter_map(LedgerEntryRow::into_entry).collect())
    }

    /// The events of `history`: at most `limit` from the cursor on, the nearest first.
    pub async fn list_history_entries(
        &self,
        filter: &ListFilter,
        cursor: Cursor<LedgerPosition>,
        limit: u32,
    ) -> Result<Vec<NumberedEntry>, StoreError> {
        let order = if cursor.is_backward(Order::NewestFirst) { " ORDER BY id DESC" } else { " ORDER BY id" };
        let push_entries = |query: &mut QueryBuilder<Sqlite>, environment_wide: bool| {
            query.push(
                "SELECT * FROM (SELECT id, at, change_id, kind, artefact, environment, actor, body FROM ledger WHERE ",
            );
            query.push(if filter.artefact.is_some() { ARTEFACT_HISTORY_KINDS } else { HISTORY_KINDS });
            let query = match &filter.artefact {
                None => query,
                Some(_) if environment_wide => query.push(" AND artefact IS NULL"),
                Some(artefact) => query.push(" AND artefact = ").push_bind(artefact.as_str().to_owned()),
            };
            if let Some(environment) = &filter.environment {
                // With the plain column, SQLite would use the index of all entries, which includes every report.
                query.push(if environment_wide { " AND COALESCE(environment, '') = " } else { " AND environment = " });
                query.push_bind(environment.as_str().to_owned());
            }
            let query = match cursor {
                Cursor::Start => query,
                Cursor::Earlier(LedgerPosition(than)) => query.push(" AND id < ").push_bind(than),
                Cursor::Later(LedgerPosition(than)) => query.push(" AND id > ").push_bind(than),
            };
            query.push(order).push(" LIMIT ").push_bind(i64::from(limit)).push(")");
        };
        let mut query = QueryBuilder::new(
            "SELECT page.id, page.at, page.change_id, page.kind, page.artefact, page.environment, page.actor, page.body,
                    change.body AS change FROM (",
        );
        push_entries(&mut query, false);
        if filter.artefact.is_some() {
            // An event of a whole environment concerns each artefact in it.
            query.push(" UNION ALL ");
            push_entries(&mut query, true);
        }
        query.push(") AS page LEFT JOIN change ON change.id = page.change_id AND page.kind IN ('begun', 'carried')");
        query.push(order.replace(" id", " page.id")).push(" LIMIT ").push_bind(i64::from(limit));
        let rows: Vec<NumberedEntryRow> = query.build_query_as().fetch_all(&self.0.readers).await?;
        Ok(rows
            .into_iter()
            .filter_map(|row| {
                Some(NumberedEntry {
                    number: LedgerPosition(row.id),
                    entry: row.entry.into_entry()?,
                    change: row.change.as_deref().and_then(change::read_change),
                })
            })
            .collect())
    }

    /// The time at which each of these changes entered its current stage.
    pub async fn find_stage_starts(&self, changes: &[ChangeId]) -> Result<HashMap<ChangeId, Timestamp>, StoreError> {
        if changes.is_empty() {
            return Ok(HashMap::new());
        }
        let mut query = QueryBuilder::new("SELECT change_id, MAX(at) FROM ledger WHERE change_id IN (");
        let mut ids = query.separated(", ");
        for id in changes {
            ids.push_bind(id.to_string());
        }
        query.push(") AND ").push(STAGE_KINDS).push(" GROUP BY change_id");
        let rows: Vec<(String, i64)> = query.build_query_as().fetch_all(&self.0.readers).await?;
        Ok(rows.into_iter().filter_map(|(id, at)| Some((ChangeId::parse(&id)?, to_timestamp(at)))).collect())
    }
}

/// The last report for an environment.
pub(super) async fn find_last_report(
    database: impl sqlx::SqliteExecutor<'_>,
    environment: &EnvironmentName,
) -> Result<Option<LedgerEntry>, sqlx::Error> {
    // The kind is a literal, as in the index that this query uses.
    let row: Option<LedgerEntryRow> = sqlx::query_as(
        "SELECT at, change_id, kind, artefact, environment, actor, body FROM ledger
         WHERE kind = 'report' AND environment = $1 ORDER BY id DESC LIMIT 1",
    )
    .bind(environment.as_str())
    .fetch_optional(database)
    .await?;
    Ok(row.and_then(LedgerEntryRow::into_entry))
}

impl Transaction {
    #[must_use]
    pub fn append_to_ledger(self, entry: LedgerEntry) -> Self {
        self.with_operation(AppendToLedger(entry))
    }
}

#[derive(Debug)]
struct AppendToLedger(LedgerEntry);

impl Operation for AppendToLedger {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        let entry = &self.0;
        let actor = entry.actor.clone().map(write_body::<StoredActor>).transpose()?;
        let details = entry.details.clone().map(write_body::<StoredLedgerDetails>).transpose()?;
        sqlx::query(
            "INSERT INTO ledger (at, change_id, kind, artefact, environment, actor, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(to_micros(entry.at))
        .bind(&entry.change)
        .bind(entry.kind.as_str())
        .bind(entry.artefact.as_ref().map(ArtefactName::as_str))
        .bind(entry.environment.as_ref().map(EnvironmentName::as_str))
        .bind(actor)
        .bind(details)
        .execute(connection)
        .await?;
        Ok(())
    }
}

/// Deletes old reports of controllers. The events of changes are kept for ever.
pub(super) async fn prune(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM ledger WHERE kind = 'report' AND at < $1")
        .bind(to_micros(now - REPORT_RETENTION))
        .execute(connection)
        .await?;
    Ok(())
}

impl StoredBody for StoredLedgerDetails {
    const VERSION: u32 = 1;
}

impl StoredBody for StoredActor {
    const VERSION: u32 = 1;
}

stored! {
    enum StoredLedgerDetails for LedgerDetails {
        Change {
            stage: Box<StoredStage>,
            pinned: Option<Sha>,
            version: StoredVersion,
        },
        Overridden(overridden: StoredGateOverride),
        Lock {
            lock: StoredLock,
            taken_from: Option<PersonId>,
        },
        Quarantine(quarantine: Box<StoredQuarantine>),
        Released {
            version: StoredVersion,
        },
        Arrival(arrival: Box<StoredArrivalDetails>),
        Report {
            report: Value,
            artefacts: Option<Vec<ArtefactName>>,
            by: Option<String>,
        },
        Build(build: Value),
        Undelivered {
            queue: String,
            key: Option<MessageKey>,
            text: Option<String>,
            file: Option<String>,
            reason: String,
        },
    }

    struct StoredArrivalDetails for ArrivalDetails {
        version: StoredVersion,
        failed: Option<String>,
        commit: Option<StoredCommit>,
        took: Option<SignedDuration>,
        message: Option<MessageKey>,
    }

    enum StoredActor for Actor {
        Person(person: PersonId),
        Controller,
        Github(login: String),
    }
}

#[cfg(test)]
mod tests;
