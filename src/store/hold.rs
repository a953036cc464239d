//! The rows of holds: what a rollback leaves on its environment, until the next promotion of the same lifts it.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::error::{StoreError, unwritable};
use super::handle::Store;
use super::transaction::{Operation, Transaction};
use crate::domain::change::ChangeId;
use crate::domain::environment::EnvironmentName;
use crate::domain::quarantine::Hold;

impl Store {
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

/// A body that another version of Gantry wrote and we cannot read is left alone.
fn read(body: &str) -> Option<Hold> {
    serde_json::from_str(body).inspect_err(|error| tracing::error!(%error, "a stored hold cannot be read")).ok()
}

impl Transaction {
    #[must_use]
    pub fn hold(self, hold: Hold) -> Self {
        self.with(InsertHold(Box::new(hold)))
    }

    /// A promotion was begun in the face of what this rollback left.
    #[must_use]
    pub fn lift(self, rollback: ChangeId) -> Self {
        self.with(LiftHold(rollback))
    }
}

#[derive(Debug)]
struct InsertHold(Box<Hold>);

impl Operation for InsertHold {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        let hold = &self.0;
        sqlx::query("INSERT INTO hold (change_id, environment, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
            .bind(hold.change.to_string())
            .bind(hold.environment.as_str())
            .bind(serde_json::to_string(hold).map_err(unwritable)?)
            .execute(connection)
            .await?;
        Ok(())
    }
}

#[derive(Debug)]
struct LiftHold(ChangeId);

impl Operation for LiftHold {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        sqlx::query("DELETE FROM hold WHERE change_id = $1").bind(self.0.to_string()).execute(connection).await?;
        Ok(())
    }
}
