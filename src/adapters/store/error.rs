//! The error of every call of the store.

use std::sync::Arc;

/// The messages are sentences; nobody needs to tell one failure of a database from another.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0}")]
    Refused(String),
    #[error("The database is closed: Gantry is shutting down.")]
    Closed,
    /// Somebody else holds the lock on what moves.
    #[error("Another change is under way there.")]
    Held,
    /// Somebody else has claimed or used it since.
    #[error("Somebody else was faster.")]
    Overtaken,
    #[error("The database failed: {0}.")]
    Failed(Arc<str>),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolClosed => Self::Closed,
            sqlx::Error::RowNotFound => Self::Overtaken,
            // SQLite names no constraint, only what is in it.
            sqlx::Error::Database(error) if error.is_unique_violation() && error.message().contains("change.moves") => {
                Self::Held
            }
            other => Self::Failed(other.to_string().into()),
        }
    }
}

pub(super) fn unwritable(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Encode(Box::new(error))
}

/// Fails with `RowNotFound`, which callers see as [`StoreError::Overtaken`], where a statement changed no row.
pub(super) fn expect_a_row(result: &sqlx::sqlite::SqliteQueryResult) -> Result<(), sqlx::Error> {
    if result.rows_affected() == 0 { Err(sqlx::Error::RowNotFound) } else { Ok(()) }
}
