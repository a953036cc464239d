//! Opens and closes single connections to the file.

use futures::future::BoxFuture;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

/// Boxed, because the compiler cannot prove the opaque future to be `Send` for every lifetime.
pub(super) fn open_connection(options: &SqliteConnectOptions) -> BoxFuture<'_, Result<SqliteConnection, sqlx::Error>> {
    Box::pin(options.connect())
}

/// The last connection to close folds the write-ahead log into the database file.
pub(super) async fn close_connection(connection: SqliteConnection) {
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "the database did not close cleanly; its log is read at the next start");
    }
}
