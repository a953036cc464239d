//! The rows that rollbacks leave: what is quarantined until it is released, and the holds on their environments.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::{Store, StoreError, micros, unwritable};
use crate::domain::actor::PersonId;
use crate::domain::change::ChangeId;
use crate::domain::environment::EnvironmentName;
use crate::domain::quarantine::{Hold, Quarantine};

impl Store {
    /// What is quarantined now anywhere, newest first.
    pub async fn quarantines(&self) -> Result<Vec<Quarantine>, StoreError> {
        let rows: Vec<String> = sqlx::query_scalar(
            "SELECT body FROM quarantine WHERE released_at IS NULL ORDER BY since DESC, change_id DESC",
        )
        .fetch_all(&self.0.readers)
        .await?;
        Ok(rows.iter().filter_map(|body| read(body)).collect())
    }

    /// The holds on an environment, newest first.
    pub async fn holds(&self, environment: &EnvironmentName) -> Result<Vec<Hold>, StoreError> {
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT body FROM hold WHERE environment = $1 ORDER BY change_id DESC")
                .bind(environment.as_str())
                .fetch_all(&self.0.readers)
                .await?;
        Ok(rows.iter().filter_map(|body| read(body)).collect())
    }
}

/// What another version of Gantry wrote and we cannot read is left alone.
fn read<T: serde::de::DeserializeOwned>(body: &str) -> Option<T> {
    serde_json::from_str(body).inspect_err(|error| tracing::error!(%error, "what a rollback left cannot be read")).ok()
}

/// Said twice, it is the same.
pub(super) async fn quarantine(connection: &mut SqliteConnection, new: &Quarantine) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO quarantine (change_id, body, since) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
        .bind(new.change.to_string())
        .bind(serde_json::to_string(new).map_err(unwritable)?)
        .bind(micros(new.at))
        .execute(connection)
        .await?;
    Ok(())
}

/// Fails with `RowNotFound` where it was released before: two who do it are one.
pub(super) async fn release(
    connection: &mut SqliteConnection,
    change: ChangeId,
    by: &PersonId,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let released = sqlx::query(
        "UPDATE quarantine SET released_at = $1, released_by = $2 WHERE change_id = $3 AND released_at IS NULL",
    )
    .bind(micros(now))
    .bind(by.as_str())
    .bind(change.to_string())
    .execute(connection)
    .await?;
    if released.rows_affected() == 0 { Err(sqlx::Error::RowNotFound) } else { Ok(()) }
}

pub(super) async fn hold(connection: &mut SqliteConnection, new: &Hold) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO hold (change_id, environment, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
        .bind(new.change.to_string())
        .bind(new.environment.as_str())
        .bind(serde_json::to_string(new).map_err(unwritable)?)
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn lift(connection: &mut SqliteConnection, change: ChangeId) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM hold WHERE change_id = $1").bind(change.to_string()).execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::clock::Clock;
    use crate::domain::sample;
    use crate::store::Transaction;

    #[tokio::test]
    async fn what_a_rollback_left_stands_until_somebody_ends_it_once() {
        let dir = TempDir::new().unwrap();
        let clock = Clock::by_hand(sample::quarantine().at);
        let url = format!("sqlite://{}", dir.path().join("gantry.db").display());
        let store = Store::open(&url, clock).await.unwrap();
        let mut rollback = sample::change();
        rollback.plan.rollback = Some(sample::rollback());
        let left = Quarantine::of(&rollback, sample::quarantine().at).unwrap();
        let hold = Hold::of(&rollback, left.at).unwrap();
        let both = || Transaction::new().quarantine(left.clone()).hold(hold.clone());
        store.commit(both()).await.unwrap();
        store.commit(both()).await.expect("said twice, it is the same");
        assert_eq!(store.quarantines().await.unwrap(), std::slice::from_ref(&left));
        assert_eq!(store.holds(&left.environment).await.unwrap(), std::slice::from_ref(&hold));
        assert_eq!(store.holds(&EnvironmentName::new("prod")).await.unwrap(), []);

        let release = || Transaction::new().release(left.change, PersonId::new("U0BOB"));
        store.commit(release()).await.unwrap();
        assert_eq!(store.quarantines().await.unwrap(), []);
        assert!(matches!(store.commit(release()).await, Err(StoreError::Overtaken)), "two who do it are one");
        store.commit(both()).await.unwrap();
        assert_eq!(store.quarantines().await.unwrap(), [], "what was released stays so");
        store.commit(Transaction::new().lift(left.change).lift(left.change)).await.unwrap();
        assert_eq!(store.holds(&left.environment).await.unwrap(), []);
    }
}
