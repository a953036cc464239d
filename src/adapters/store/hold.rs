//! The rows of holds. A rollback leaves a hold on its environment. The next promotion of the same artefacts asks for
//! one more confirmation and lifts it.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::error::StoreError;
use super::handle::Store;
use super::stored::{StoredBody, read_or_log, stored, write_body};
use super::stored_parts::StoredVersion;
use super::transaction::{Operation, Transaction};
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::rules::quarantine::Hold;

impl Store {
    /// The holds on an environment, newest first.
    pub async fn list_holds(&self, environment: &EnvironmentName) -> Result<Vec<Hold>, StoreError> {
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT body FROM hold WHERE environment = $1 ORDER BY change_id DESC")
                .bind(environment.as_str())
                .fetch_all(&self.0.readers)
                .await?;
        Ok(rows.iter().filter_map(|body| read_or_log::<StoredHold>("hold", body)).collect())
    }
}

impl Transaction {
    #[must_use]
    pub fn insert_hold(self, hold: Hold) -> Self {
        self.with_operation(InsertHold(Box::new(hold)))
    }

    /// Removes the hold of this rollback, because a promotion was confirmed in spite of it.
    #[must_use]
    pub fn lift_hold(self, rollback: ChangeId) -> Self {
        self.with_operation(LiftHold(rollback))
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
            .bind(write_body::<StoredHold>((**hold).clone())?)
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

impl StoredBody for StoredHold {
    const VERSION: u32 = 1;
}

stored! {
    struct StoredHold for Hold {
        change: ChangeId,
        environment: EnvironmentName,
        artefacts: Vec<ArtefactName>,
        from: Option<StoredVersion>,
        by: Option<PersonId>,
        at: Timestamp,
        reason: Option<String>,
    }
}
