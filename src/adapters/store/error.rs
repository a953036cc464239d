//! The error of every call of the store.

use std::sync::Arc;

/// The messages are sentences. Callers distinguish only these cases, not the kinds of database failures.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0}")]
    Refused(String),
    #[error("The database is closed: Gantry is shutting down.")]
    Closed,
    /// Another change holds the lock on the same branch or file.
    #[error("Another change is under way there.")]
    ChangeLockHeld,
    /// The row was claimed, used or ended in the meantime.
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
            // SQLite names the columns of a violated constraint, not the constraint itself.
            sqlx::Error::Database(error) if error.is_unique_violation() && error.message().contains("change.moves") => {
                Self::ChangeLockHeld
            }
            other => Self::Failed(other.to_string().into()),
        }
    }
}

pub(super) fn to_encode_error(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Encode(Box::new(error))
}

/// Fails with `RowNotFound`, which callers see as [`StoreError::Overtaken`], if a statement changed no row.
pub(super) fn require_changed_row(result: &sqlx::sqlite::SqliteQueryResult) -> Result<(), sqlx::Error> {
    if result.rows_affected() == 0 { Err(sqlx::Error::RowNotFound) } else { Ok(()) }
}
