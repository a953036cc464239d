//! The rows of plans that were shown and may be confirmed.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::error::{StoreError, expect_a_row, unwritable};
use super::handle::Store;
use super::time::{micros, timestamp};
use super::transaction::{Operation, Transaction};
use crate::domain::actor::PersonId;
use crate::domain::change::ChangeId;
use crate::domain::plan::{GOOD_FOR, Plan};

/// A plan that was shown to somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub id: ChangeId,
    pub person: PersonId,
    pub plan: Plan,
    pub made_at: Timestamp,
}

impl Store {
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

impl Transaction {
    /// A plan was shown, and may be confirmed.
    #[must_use]
    pub fn show(self, shown: Shown) -> Self {
        self.with(InsertPlan(Box::new(shown)))
    }

    /// A plan is confirmed or dropped. The transaction fails with `Overtaken` where it was before: two clicks are one.
    #[must_use]
    pub fn use_up(self, plan: ChangeId) -> Self {
        self.with(UsePlan(plan))
    }
}

#[derive(Debug)]
struct InsertPlan(Box<Shown>);

impl Operation for InsertPlan {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        let shown = &self.0;
        sqlx::query("INSERT INTO plan (id, person, body, made_at) VALUES ($1, $2, $3, $4)")
            .bind(shown.id.to_string())
            .bind(shown.person.as_str())
            .bind(serde_json::to_string(&shown.plan).map_err(unwritable)?)
            .bind(micros(shown.made_at))
            .execute(connection)
            .await?;
        Ok(())
    }
}

#[derive(Debug)]
struct UsePlan(ChangeId);

impl Operation for UsePlan {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        let used = sqlx::query("DELETE FROM plan WHERE id = $1").bind(self.0.to_string()).execute(connection).await?;
        expect_a_row(&used)
    }
}

pub(super) async fn prune(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM plan WHERE made_at < $1").bind(micros(now - GOOD_FOR)).execute(connection).await?;
    Ok(())
}
