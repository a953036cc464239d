//! The rows of changes: the lock on what moves, claims with a fence, and the plans that may become changes.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::writer::{Job, Outcome};
use super::{Store, StoreError, micros, micros_up, timestamp, unwritable};
use crate::domain::actor::PersonId;
use crate::domain::artefact::{ArtefactName, Repository};
use crate::domain::change::{Change, ChangeId, Moves};
use crate::domain::environment::EnvironmentName;
use crate::domain::plan::Plan;

/// A change that is being worked on. Only the newest claim may write.
#[derive(Clone, Debug)]
pub struct Claim {
    pub change: Change,
    pub fence: Fence,
    /// Somebody asked to cancel it.
    pub cancel_by: Option<PersonId>,
    pub due_at: Option<Timestamp>,
    /// Another change has not ended the watch over it.
    pub open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence(i64);

/// A plan that was shown to somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub id: ChangeId,
    pub person: PersonId,
    pub plan: Plan,
    pub made_at: Timestamp,
}

impl Store {
    /// Claims those that exist, so that whoever held one before can write it no more.
    pub async fn claim(&self, ids: Vec<ChangeId>) -> Result<Vec<Claim>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        match self.request(Job::Claim(ids)).await? {
            Outcome::Claimed(claims) => Ok(claims),
            Outcome::Received(_) | Outcome::Committed => Err(StoreError::Failed("a claim was lost".into())),
        }
    }

    /// Changes whose time has come, the longest due first.
    pub async fn due_changes(&self, limit: u32) -> Result<Vec<ChangeId>, StoreError> {
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT id FROM change WHERE due_at <= $1 ORDER BY due_at, id LIMIT $2")
                .bind(micros(self.0.clock.now()))
                .bind(i64::from(limit))
                .fetch_all(&self.0.readers)
                .await?;
        Ok(rows.iter().filter_map(|id| ChangeId::parse(id)).collect())
    }

    /// The earliest due time later than `after`. The caller reads the clock for `after` before it calls `due_changes`.
    pub async fn next_change_due(&self, after: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let due: Option<i64> = sqlx::query_scalar("SELECT MIN(due_at) FROM change WHERE due_at > $1")
            .bind(micros(after))
            .fetch_one(&self.0.readers)
            .await?;
        Ok(due.map(timestamp))
    }

    /// Everything that is under way or still watched.
    pub async fn open_changes(&self) -> Result<Vec<Change>, StoreError> {
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT body FROM change WHERE open ORDER BY id").fetch_all(&self.0.readers).await?;
        Ok(rows.iter().filter_map(|body| read(body)).collect())
    }

    /// Who holds the lock on what moves.
    pub async fn holder(&self, moves: &Moves) -> Result<Option<Change>, StoreError> {
        let body: Option<String> = sqlx::query_scalar("SELECT body FROM change WHERE moves = $1 AND active")
            .bind(moves.as_str())
            .fetch_optional(&self.0.readers)
            .await?;
        Ok(body.as_deref().and_then(read))
    }

    /// The changes that people call by these last digits: one, but for chance.
    pub async fn changes_called(&self, short: &str) -> Result<Vec<Change>, StoreError> {
        let rows: Vec<String> = sqlx::query_scalar("SELECT body FROM change WHERE short = $1 ORDER BY id DESC")
            .bind(short.to_ascii_lowercase())
            .fetch_all(&self.0.readers)
            .await?;
        Ok(rows.iter().filter_map(|body| read(body)).collect())
    }

    pub async fn change(&self, id: ChangeId) -> Result<Option<Change>, StoreError> {
        let body: Option<String> = sqlx::query_scalar("SELECT body FROM change WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.0.readers)
            .await?;
        Ok(body.as_deref().and_then(read))
    }

    /// The newest change of an artefact in an environment.
    pub async fn last_change(
        &self,
        artefact: &ArtefactName,
        environment: &EnvironmentName,
    ) -> Result<Option<Change>, StoreError> {
        let body: Option<String> = sqlx::query_scalar(
            "SELECT body FROM change WHERE artefact = $1 AND environment = $2 ORDER BY asked_at DESC, id DESC LIMIT 1",
        )
        .bind(artefact.as_str())
        .bind(environment.as_str())
        .fetch_optional(&self.0.readers)
        .await?;
        Ok(body.as_deref().and_then(read))
    }

    /// The newest changes that moved the same, whatever became of them, newest first.
    pub async fn changes_of(&self, moves: &Moves, limit: u32) -> Result<Vec<Change>, StoreError> {
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT body FROM change WHERE moves = $1 ORDER BY asked_at DESC, id DESC LIMIT $2")
                .bind(moves.as_str())
                .bind(i64::from(limit))
                .fetch_all(&self.0.readers)
                .await?;
        Ok(rows.iter().filter_map(|body| read(body)).collect())
    }

    /// The names of our tags in a repository that begin so.
    pub async fn tag_names(&self, repository: &Repository, beginning: &str) -> Result<Vec<String>, StoreError> {
        // Not by LIKE, to which `_` is any letter.
        Ok(sqlx::query_scalar("SELECT name FROM tag WHERE repository = $1 AND substr(name, 1, length($2)) = $2")
            .bind(repository.to_string())
            .bind(beginning)
            .fetch_all(&self.0.readers)
            .await?)
    }

    /// A plan that was shown, unless it was used or has become old.
    pub async fn shown_plan(&self, id: ChangeId) -> Result<Option<Shown>, StoreError> {
        let row: Option<(String, String, i64)> = sqlx::query_as("SELECT person, body, made_at FROM plan WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.0.readers)
            .await?;
        Ok(row.and_then(|(person, body, made_at)| {
            let plan = serde_json::from_str(&body).ok()?;
            Some(Shown { id, person: PersonId::new(&person), plan, made_at: timestamp(made_at) })
        }))
    }
}

/// What another version of Gantry wrote and we cannot read is left alone.
pub(super) fn read(body: &str) -> Option<Change> {
    serde_json::from_str(body).inspect_err(|error| tracing::error!(%error, "a stored change cannot be read")).ok()
}

/// Fence, body, who asked to cancel it, when it is due, and whether it is open.
type ClaimRow = (i64, String, Option<String>, Option<i64>, bool);

pub(super) async fn claim(connection: &mut SqliteConnection, ids: &[ChangeId]) -> Result<Vec<Claim>, sqlx::Error> {
    let mut claims = Vec::with_capacity(ids.len());
    for id in ids {
        let row: Option<ClaimRow> = sqlx::query_as(
            "UPDATE change SET fence = fence + 1 WHERE id = $1 RETURNING fence, body, cancel_by, due_at, open",
        )
        .bind(id.to_string())
        .fetch_optional(&mut *connection)
        .await?;
        claims.extend(row.and_then(|(fence, body, cancel_by, due_at, open)| {
            let cancel_by = cancel_by.as_deref().map(PersonId::new);
            Some(Claim { change: read(&body)?, fence: Fence(fence), cancel_by, due_at: due_at.map(timestamp), open })
        }));
    }
    Ok(claims)
}

/// A new change takes the lock, and what was watched there before is watched no more.
pub(super) async fn begin(connection: &mut SqliteConnection, change: &Change) -> Result<(), sqlx::Error> {
    // What runs and only lacks its tag, or is over and has something to put away, is left to do it.
    sqlx::query(
        "UPDATE change SET open = FALSE, due_at = NULL, fence = fence + 1
         WHERE moves = $1 AND open AND stage IN ('failed', 'stalled')",
    )
    .bind(change.moves().as_str())
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "INSERT INTO change (id, short, artefact, environment, moves, stage, active, open, due_at, body, asked_at, waits)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, FALSE)",
    )
    .bind(change.id.to_string())
    .bind(change.id.short())
    .bind(change.plan.artefact.as_str())
    .bind(change.plan.environment.as_str())
    .bind(change.moves().as_str())
    .bind(change.stage.name())
    .bind(change.stage.is_active())
    .bind(change.is_open())
    .bind(micros(change.asked_at))
    .bind(serde_json::to_string(change).map_err(unwritable)?)
    .bind(micros(change.asked_at))
    .execute(connection)
    .await?;
    Ok(())
}

/// Fails with `RowNotFound` where somebody has claimed the change since.
pub(super) async fn advance(
    connection: &mut SqliteConnection,
    change: &Change,
    fence: Fence,
    due_at: Option<Timestamp>,
) -> Result<(), sqlx::Error> {
    // What is over is not due: nobody would take it up, and it would be claimed again and again.
    let due_at = due_at.filter(|_| change.is_open());
    let written = sqlx::query(
        "UPDATE change SET stage = $1, active = $2, open = $3, due_at = $4, body = $5, waits = $8,
             cancel_by = CASE WHEN $2 THEN cancel_by ELSE NULL END
         WHERE id = $6 AND fence = $7",
    )
    .bind(change.stage.name())
    .bind(change.stage.is_active())
    .bind(change.is_open())
    .bind(due_at.map(micros_up))
    .bind(serde_json::to_string(change).map_err(unwritable)?)
    .bind(change.id.to_string())
    .bind(fence.0)
    .bind(change.stage.awaiting().is_some_and(|awaiting| due_at.is_some_and(|due| due >= awaiting.next_word())))
    .execute(connection)
    .await?;
    if written.rows_affected() == 0 { Err(sqlx::Error::RowNotFound) } else { Ok(()) }
}

pub(super) async fn ask_to_cancel(
    connection: &mut SqliteConnection,
    id: ChangeId,
    by: &PersonId,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE change SET cancel_by = $1, due_at = $2 WHERE id = $3 AND active AND cancel_by IS NULL")
        .bind(by.as_str())
        .bind(micros(now))
        .bind(id.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

/// Something that changes of an environment, or of any, may have waited for is no more.
pub(super) async fn look_again(
    connection: &mut SqliteConnection,
    environment: Option<&str>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE change SET due_at = $1
         WHERE ($2 IS NULL OR environment = $2) AND stage = 'awaiting_approval' AND waits",
    )
    .bind(micros(now))
    .bind(environment)
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn name_tag(
    connection: &mut SqliteConnection,
    repository: &Repository,
    name: &str,
    id: ChangeId,
) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO tag (repository, name, change_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
        .bind(repository.to_string())
        .bind(name)
        .bind(id.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn show(connection: &mut SqliteConnection, shown: &Shown) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO plan (id, person, body, made_at) VALUES ($1, $2, $3, $4)")
        .bind(shown.id.to_string())
        .bind(shown.person.as_str())
        .bind(serde_json::to_string(&shown.plan).map_err(unwritable)?)
        .bind(micros(shown.made_at))
        .execute(connection)
        .await?;
    Ok(())
}

/// Fails with `RowNotFound` where the plan was used before: two clicks are one.
pub(super) async fn use_up(connection: &mut SqliteConnection, plan: ChangeId) -> Result<(), sqlx::Error> {
    let gone = sqlx::query("DELETE FROM plan WHERE id = $1").bind(plan.to_string()).execute(connection).await?;
    if gone.rows_affected() == 0 { Err(sqlx::Error::RowNotFound) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
