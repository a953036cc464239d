//! The rows of locks: at most one in force for each environment or artefact in it, and the time of the owner's next
//! reminder.

use jiff::{SignedDuration, Timestamp};
use sqlx::SqliteConnection;

use super::change;
use super::error::{StoreError, require_changed_row};
use super::handle::Store;
use super::time::{to_micros, to_micros_ceil, to_timestamp};
use super::transaction::{Operation, Transaction, Wakeups};
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::LockId;
use crate::domain::rules::lock::Lock;

/// The interval between the reminders to the owner of a lock.
const REMIND_AFTER: SignedDuration = SignedDuration::from_hours(24);

#[derive(sqlx::FromRow)]
struct Row {
    id: String,
    environment: String,
    artefact: String,
    person: String,
    reason: String,
    since: i64,
    until: Option<i64>,
}

impl Row {
    fn into_lock(self) -> Option<Lock> {
        Some(Lock {
            id: LockId::parse(&self.id)?,
            environment: EnvironmentName::new(&self.environment),
            artefact: Some(self.artefact.as_str()).filter(|name| !name.is_empty()).map(ArtefactName::new),
            by: PersonId::new(&self.person),
            reason: self.reason,
            since: to_timestamp(self.since),
            until: self.until.map(to_timestamp),
        })
    }
}

impl Store {
    /// The locks in force now, oldest first.
    pub async fn list_locks(&self, environment: Option<&EnvironmentName>) -> Result<Vec<Lock>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT id, environment, artefact, person, reason, since, until FROM lock
             WHERE ($1 IS NULL OR environment = $1) AND (until IS NULL OR until > $2) ORDER BY since, id",
        )
        .bind(environment.map(EnvironmentName::as_str))
        .bind(to_micros(self.0.clock.now()))
        .fetch_all(&self.0.readers)
        .await?;
        Ok(rows.into_iter().filter_map(Row::into_lock).collect())
    }

    /// The lock with this id, if it is in force.
    pub async fn find_lock(&self, id: LockId) -> Result<Option<Lock>, StoreError> {
        let row: Option<Row> = sqlx::query_as(
            "SELECT id, environment, artefact, person, reason, since, until FROM lock
             WHERE id = $1 AND (until IS NULL OR until > $2)",
        )
        .bind(id.to_string())
        .bind(to_micros(self.0.clock.now()))
        .fetch_optional(&self.0.readers)
        .await?;
        Ok(row.and_then(Row::into_lock))
    }

    /// The locks with a reminder that is due.
    pub async fn list_locks_to_remind(&self) -> Result<Vec<Lock>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT id, environment, artefact, person, reason, since, until FROM lock
             WHERE nudge_at <= $1 AND (until IS NULL OR until > $1) ORDER BY nudge_at, id",
        )
        .bind(to_micros(self.0.clock.now()))
        .fetch_all(&self.0.readers)
        .await?;
        Ok(rows.into_iter().filter_map(Row::into_lock).collect())
    }

    /// The earliest reminder later than `after`. The caller reads the clock for `after` before it calls
    /// `list_locks_to_remind`.
    pub async fn find_next_reminder(&self, after: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let next: Option<i64> = sqlx::query_scalar(
            "SELECT MIN(nudge_at) FROM lock WHERE nudge_at > $1 AND (until IS NULL OR until > nudge_at)",
        )
        .bind(to_micros(after))
        .fetch_one(&self.0.readers)
        .await?;
        Ok(next.map(to_timestamp))
    }
}

impl Transaction {
    /// The transaction fails with `Overtaken` if another lock of the same scope is in force.
    #[must_use]
    pub fn insert_lock(self, lock: Lock) -> Self {
        self.with_operation(InsertLock(Box::new(lock)))
    }

    /// The transaction fails with `Overtaken` if the lock was already removed, for example by a first click.
    #[must_use]
    pub fn remove_lock(self, lock: LockId) -> Self {
        self.with_operation(RemoveLock(lock))
    }

    /// Schedules the next reminder in a day. The transaction fails with `Overtaken` if the lock was removed.
    #[must_use]
    pub fn postpone_lock_reminder(self, lock: LockId) -> Self {
        self.with_operation(PostponeLockReminder(lock))
    }
}

#[derive(Debug)]
struct InsertLock(Box<Lock>);

impl Operation for InsertLock {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        let lock = &self.0;
        let artefact = lock.artefact.as_ref().map_or("", ArtefactName::as_str);
        sqlx::query("DELETE FROM lock WHERE environment = $1 AND artefact = $2 AND until <= $3")
            .bind(lock.environment.as_str())
            .bind(artefact)
            .bind(to_micros(now))
            .execute(&mut *connection)
            .await?;
        let inserted = sqlx::query(
            "INSERT INTO lock (id, environment, artefact, person, reason, since, until, nudge_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (environment, artefact) DO NOTHING",
        )
        .bind(lock.id.to_string())
        .bind(lock.environment.as_str())
        .bind(artefact)
        .bind(lock.by.as_str())
        .bind(&lock.reason)
        .bind(to_micros(lock.since))
        .bind(lock.until.map(to_micros_ceil))
        .bind(to_micros_ceil(lock.since + REMIND_AFTER))
        .execute(connection)
        .await?;
        require_changed_row(&inserted)
    }

    fn wakes(&self, (): &()) -> Wakeups {
        Wakeups::LOCKS
    }
}

#[derive(Debug)]
struct RemoveLock(LockId);

impl Operation for RemoveLock {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        let environment: String = sqlx::query_scalar("DELETE FROM lock WHERE id = $1 RETURNING environment")
            .bind(self.0.to_string())
            .fetch_one(&mut *connection)
            .await?;
        change::wake_waiting_changes(connection, Some(&environment), now).await
    }

    fn wakes(&self, (): &()) -> Wakeups {
        Wakeups::CHANGES
    }
}

#[derive(Debug)]
struct PostponeLockReminder(LockId);

impl Operation for PostponeLockReminder {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        let postponed = sqlx::query("UPDATE lock SET nudge_at = $1 WHERE id = $2")
            .bind(to_micros_ceil(now + REMIND_AFTER))
            .bind(self.0.to_string())
            .execute(connection)
            .await?;
        require_changed_row(&postponed)
    }
}

pub(super) async fn prune(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM lock WHERE until <= $1").bind(to_micros(now)).execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
