//! The rows of settings: one text for each key.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::error::StoreError;
use super::handle::Store;
use super::transaction::{Operation, Transaction};

impl Store {
    pub async fn read_setting(&self, key: &str) -> Result<Option<String>, StoreError> {
        Ok(sqlx::query_scalar("SELECT value FROM setting WHERE key = $1")
            .bind(key)
            .fetch_optional(&self.0.readers)
            .await?)
    }

    /// Writes and commits a few bytes, as a test of the database.
    pub async fn test_write(&self) -> Result<(), StoreError> {
        self.commit(Transaction::new().write_setting("store.tried_out", &self.0.clock.now().to_string())).await
    }
}

impl Transaction {
    #[must_use]
    pub fn write_setting(self, key: &str, value: &str) -> Self {
        self.with_operation(WriteSetting { key: key.to_owned(), value: value.to_owned() })
    }
}

#[derive(Debug)]
struct WriteSetting {
    key: String,
    value: String,
}

impl Operation for WriteSetting {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        sqlx::query(
            "INSERT INTO setting (key, value) VALUES ($1, $2)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        )
        .bind(&self.key)
        .bind(&self.value)
        .execute(connection)
        .await?;
        Ok(())
    }
}
