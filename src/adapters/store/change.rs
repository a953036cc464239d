//! The rows of changes. An active row is the lock on the branch or file that the change moves; a claim raises its
//! fence.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::error::{StoreError, require_changed_row};
use super::handle::Store;
use super::stored::{read_or_log, write_body};
use super::time::{to_micros, to_micros_ceil, to_timestamp};
use super::transaction::{Operation, Transaction, Wakeups};
use crate::domain::change::{Change, ChangeLockKey};
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;

pub(super) mod stored;

use stored::StoredChange;

/// A change that is being worked on. Only the newest claim may write.
#[derive(Clone, Debug)]
pub struct Claim {
    pub change: Change,
    pub fence: Fence,
    /// The person who asked to cancel the change.
    pub cancel_requested_by: Option<PersonId>,
    pub due_at: Option<Timestamp>,
    /// `false` if a newer change on the same branch or file has closed this one.
    pub is_open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence(i64);

impl Store {
    /// Claims the changes that exist. An earlier claim of the same change can no longer write.
    pub async fn claim_changes(&self, ids: Vec<ChangeId>) -> Result<Vec<Claim>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.execute(ClaimChanges(ids)).await
    }

    /// The changes that are due, the longest due first.
    pub async fn list_due_changes(&self, limit: u32) -> Result<Vec<ChangeId>, StoreError> {
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT id FROM change WHERE due_at <= $1 ORDER BY due_at, id LIMIT $2")
                .bind(to_micros(self.0.clock.now()))
                .bind(i64::from(limit))
                .fetch_all(&self.0.readers)
                .await?;
        Ok(rows.iter().filter_map(|id| ChangeId::parse(id)).collect())
    }

    /// The earliest due time later than `after`. The caller reads the clock for `after` before it calls
    /// `list_due_changes`.
    pub async fn find_next_change_due(&self, after: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let due: Option<i64> = sqlx::query_scalar("SELECT MIN(due_at) FROM change WHERE due_at > $1")
            .bind(to_micros(after))
            .fetch_one(&self.0.readers)
            .await?;
        Ok(due.map(to_timestamp))
    }

    /// The changes that are active, or still watched for a late proof.
    pub async fn list_open_changes(&self) -> Result<Vec<Change>, StoreError> {
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT body FROM change WHERE open ORDER BY id").fetch_all(&self.0.readers).await?;
        Ok(rows.iter().filter_map(|body| read_change(body)).collect())
    }

    /// The active change that moves this branch or file.
    pub async fn find_active_change(&self, lock_key: &ChangeLockKey) -> Result<Option<Change>, StoreError> {
        let body: Option<String> = sqlx::query_scalar("SELECT body FROM change WHERE moves = $1 AND active")
            .bind(lock_key.as_str())
            .fetch_optional(&self.0.readers)
            .await?;
        Ok(body.as_deref().and_then(read_change))
    }

    /// The changes with this short id. More than one only by coincidence.
    pub async fn find_changes_by_short(&self, short: &str) -> Result<Vec<Change>, StoreError> {
        let rows: Vec<String> = sqlx::query_scalar("SELECT body FROM change WHERE short = $1 ORDER BY id DESC")
            .bind(short.to_ascii_lowercase())
            .fetch_all(&self.0.readers)
            .await?;
        Ok(rows.iter().filter_map(|body| read_change(body)).collect())
    }

    pub async fn find_change(&self, id: ChangeId) -> Result<Option<Change>, StoreError> {
        let body: Option<String> = sqlx::query_scalar("SELECT body FROM change WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.0.readers)
            .await?;
        Ok(body.as_deref().and_then(read_change))
    }

    /// The newest change of an artefact in an environment.
    pub async fn find_last_change(
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
        Ok(body.as_deref().and_then(read_change))
    }

    /// The newest changes of this branch or file, in any stage, newest first.
    pub async fn list_changes_of(&self, lock_key: &ChangeLockKey, limit: u32) -> Result<Vec<Change>, StoreError> {
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT body FROM change WHERE moves = $1 ORDER BY asked_at DESC, id DESC LIMIT $2")
                .bind(lock_key.as_str())
                .bind(i64::from(limit))
                .fetch_all(&self.0.readers)
                .await?;
        Ok(rows.iter().filter_map(|body| read_change(body)).collect())
    }
}

/// A change that another version of Gantry wrote and this one cannot read is skipped.
pub(super) fn read_change(body: &str) -> Option<Change> {
    read_or_log::<StoredChange>("change", body)
}

/// Fence, body, the person who asked to cancel the change, due time, and whether the change is open.
type ClaimRow = (i64, String, Option<String>, Option<i64>, bool);

impl Transaction {
    /// A new change locks the branch or file that it moves. The transaction fails with `ChangeLockHeld` if another
    /// change holds the lock.
    #[must_use]
    pub fn begin_change(self, change: Change) -> Self {
        self.with_operation(BeginChange(Box::new(change)))
    }

    /// Stores the change, and makes it due at `due_at`. The transaction fails with `Overtaken` if there is a newer
    /// claim.
    #[must_use]
    pub fn advance_change(self, change: Change, fence: Fence, due_at: Option<Timestamp>) -> Self {
        self.with_operation(AdvanceChange { change: Box::new(change), fence, due_at })
    }

    #[must_use]
    pub fn request_cancel(self, id: ChangeId, by: PersonId) -> Self {
        self.with_operation(RequestCancel { id, by })
    }
}

#[derive(Debug)]
struct ClaimChanges(Vec<ChangeId>);

impl Operation for ClaimChanges {
    type Output = Vec<Claim>;

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<Vec<Claim>, sqlx::Error> {
        let mut claims = Vec::with_capacity(self.0.len());
        for id in &self.0 {
            let row: Option<ClaimRow> = sqlx::query_as(
                "UPDATE change SET fence = fence + 1 WHERE id = $1 RETURNING fence, body, cancel_by, due_at, open",
            )
            .bind(id.to_string())
            .fetch_optional(&mut *connection)
            .await?;
            claims.extend(row.and_then(|(fence, body, cancel_requested_by, due_at, open)| {
                let cancel_requested_by = cancel_requested_by.as_deref().map(PersonId::new);
                Some(Claim {
                    change: read_change(&body)?,
                    fence: Fence(fence),
                    cancel_requested_by,
                    due_at: due_at.map(to_timestamp),
                    is_open: open,
                })
            }));
        }
        Ok(claims)
    }
}

#[derive(Debug)]
struct BeginChange(Box<Change>);

impl Operation for BeginChange {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        let change = &self.0;
        // Only failed and stalled changes are closed here. A deployed change may still lack its tag, and an ended one
        // may still have a branch to delete.
        sqlx::query(
            "UPDATE change SET open = FALSE, due_at = NULL, fence = fence + 1
             WHERE moves = $1 AND open AND stage IN ('failed', 'stalled')",
        )
        .bind(change.change_lock_key().as_str())
        .execute(&mut *connection)
        .await?;
        sqlx::query(
            "INSERT INTO change (id, short, artefact, environment, moves, stage, active, open, due_at, body, asked_at, waits)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, FALSE)",
        )
        .bind(change.id.to_string())
        .bind(change.id.to_short_id())
        .bind(change.plan.artefact.as_str())
        .bind(change.plan.environment.as_str())
        .bind(change.change_lock_key().as_str())
        .bind(change.stage.name())
        .bind(change.stage.is_active())
        .bind(change.is_open())
        .bind(to_micros(change.requested_at))
        .bind(write_body::<StoredChange>((**change).clone())?)
        .bind(to_micros(change.requested_at))
        .execute(connection)
        .await?;
        Ok(())
    }

    fn wakes(&self, (): &()) -> Wakeups {
        Wakeups::CHANGES
    }

    fn set_request(&mut self, request: &str) {
        self.0.request.get_or_insert_with(|| request.to_owned());
    }
}

#[derive(Debug)]
struct AdvanceChange {
    change: Box<Change>,
    fence: Fence,
    due_at: Option<Timestamp>,
}

impl Operation for AdvanceChange {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        let change = &self.change;
        // A change that is not open must not be due: the runner would claim it again and again.
        let due_at = self.due_at.filter(|_| change.is_open());
        let written = sqlx::query(
            "UPDATE change SET stage = $1, active = $2, open = $3, due_at = $4, body = $5, waits = $8,
                 cancel_by = CASE WHEN $2 THEN cancel_by ELSE NULL END
             WHERE id = $6 AND fence = $7",
        )
        .bind(change.stage.name())
        .bind(change.stage.is_active())
        .bind(change.is_open())
        .bind(due_at.map(to_micros_ceil))
        .bind(write_body::<StoredChange>((**change).clone())?)
        .bind(change.id.to_string())
        .bind(self.fence.0)
        // `waits`: the change waits for people, and nothing is due before the next reminder to them.
        .bind(
            change
                .stage
                .awaiting()
                .is_some_and(|awaiting| due_at.is_some_and(|due| due >= awaiting.next_reminder_at())),
        )
        .execute(connection)
        .await?;
        require_changed_row(&written)
    }

    fn wakes(&self, (): &()) -> Wakeups {
        Wakeups::CHANGES
    }
}

#[derive(Debug)]
struct RequestCancel {
    id: ChangeId,
    by: PersonId,
}

impl Operation for RequestCancel {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        sqlx::query("UPDATE change SET cancel_by = $1, due_at = $2 WHERE id = $3 AND active AND cancel_by IS NULL")
            .bind(self.by.as_str())
            .bind(to_micros(now))
            .bind(self.id.to_string())
            .execute(connection)
            .await?;
        Ok(())
    }

    fn wakes(&self, (): &()) -> Wakeups {
        Wakeups::CHANGES
    }
}

/// Makes the waiting changes of an environment, or of all, due: a lock or a quarantine for which they waited has ended.
pub(super) async fn wake_waiting_changes(
    connection: &mut SqliteConnection,
    environment: Option<&str>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE change SET due_at = $1
         WHERE ($2 IS NULL OR environment = $2) AND stage = 'awaiting_approval' AND waits",
    )
    .bind(to_micros(now))
    .bind(environment)
    .execute(connection)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests;
