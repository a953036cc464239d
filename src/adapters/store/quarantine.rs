//! The rows of quarantines: versions that were rolled back, until they are released.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::change;
use super::error::{StoreError, require_changed_row};
use super::handle::Store;
use super::stored::{StoredBody, read_or_log, write_body};
use super::stored_parts::StoredQuarantine;
use super::time::to_micros;
use super::transaction::{Operation, Transaction, Wakeups};
use crate::domain::model::actor::PersonId;
use crate::domain::model::ids::ChangeId;
use crate::domain::rules::quarantine::Quarantine;

impl Store {
    /// All quarantines in force, newest first.
    pub async fn list_quarantines(&self) -> Result<Vec<Quarantine>, StoreError> {
        let rows: Vec<String> = sqlx::query_scalar(
            "SELECT body FROM quarantine WHERE released_at IS NULL ORDER BY since DESC, change_id DESC",
        )
        .fetch_all(&self.0.readers)
        .await?;
        Ok(rows.iter().filter_map(|body| read_or_log::<StoredQuarantine>("quarantine", body)).collect())
    }
}

impl StoredBody for StoredQuarantine {
    const VERSION: u32 = 1;
}

impl Transaction {
    /// Quarantines the version that was rolled back. A second row for the same rollback has no effect.
    #[must_use]
    pub fn insert_quarantine(self, quarantine: Quarantine) -> Self {
        self.with_operation(InsertQuarantine(Box::new(quarantine)))
    }

    /// The transaction fails with `Overtaken` if the quarantine was released before.
    #[must_use]
    pub fn release_quarantine(self, rollback: ChangeId, by: PersonId) -> Self {
        self.with_operation(ReleaseQuarantine { rollback, by })
    }
}

#[derive(Debug)]
struct InsertQuarantine(Box<Quarantine>);

impl Operation for InsertQuarantine {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        let quarantine = &self.0;
        sqlx::query("INSERT INTO quarantine (change_id, body, since) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
            .bind(quarantine.change.to_string())
            .bind(write_body::<StoredQuarantine>((**quarantine).clone())?)
            .bind(to_micros(quarantine.at))
            .execute(connection)
            .await?;
        Ok(())
    }
}

#[derive(Debug)]
struct ReleaseQuarantine {
    rollback: ChangeId,
    by: PersonId,
}

impl Operation for ReleaseQuarantine {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        let released = sqlx::query(
            "UPDATE quarantine SET released_at = $1, released_by = $2 WHERE change_id = $3 AND released_at IS NULL",
        )
        .bind(to_micros(now))
        .bind(self.by.as_str())
        .bind(self.rollback.to_string())
        .execute(&mut *connection)
        .await?;
        require_changed_row(&released)?;
        change::wake_waiting_changes(connection, None, now).await
    }

    fn wakes(&self, (): &()) -> Wakeups {
        Wakeups::CHANGES
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::adapters::store::Transaction;
    use crate::clock::Clock;
    use crate::domain::change::plan::Direction;
    use crate::domain::model::environment::EnvironmentName;
    use crate::domain::sample;

    #[tokio::test]
    async fn a_quarantine_lasts_until_its_release_and_a_hold_until_it_is_lifted() {
        let dir = TempDir::new().unwrap();
        let clock = Clock::new_manual(sample::quarantine().at);
        let url = format!("sqlite://{}", dir.path().join("gantry.db").display());
        let store = Store::open(&url, clock).await.unwrap();
        let mut rollback = sample::change();
        rollback.plan.direction = Direction::Rollback(sample::rollback());
        let quarantine = rollback.to_quarantine(sample::quarantine().at).unwrap();
        let hold = rollback.to_hold(quarantine.at).unwrap();
        let both = || Transaction::new().insert_quarantine(quarantine.clone()).insert_hold(hold.clone());
        store.commit(both()).await.unwrap();
        store.commit(both()).await.expect("a repetition has no effect");
        assert_eq!(store.list_quarantines().await.unwrap(), std::slice::from_ref(&quarantine));
        assert_eq!(store.list_holds(&quarantine.environment).await.unwrap(), std::slice::from_ref(&hold));
        assert_eq!(store.list_holds(&EnvironmentName::new("prod")).await.unwrap(), []);

        let release = || Transaction::new().release_quarantine(quarantine.change, PersonId::new("U0BOB"));
        store.commit(release()).await.unwrap();
        assert_eq!(store.list_quarantines().await.unwrap(), []);
        assert!(matches!(store.commit(release()).await, Err(StoreError::Overtaken)), "a second release fails");
        store.commit(both()).await.unwrap();
        assert_eq!(store.list_quarantines().await.unwrap(), [], "a released quarantine stays released");
        store.commit(Transaction::new().lift_hold(quarantine.change).lift_hold(quarantine.change)).await.unwrap();
        assert_eq!(store.list_holds(&quarantine.environment).await.unwrap(), []);
    }
}
