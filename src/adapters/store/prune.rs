//! The only list of tables from which old rows are deleted.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::transaction::Operation;
use super::{inbox, ledger, lock, plan, posted_message, unmapped_report};

/// Deletes rows that are too old to be used.
#[derive(Debug)]
pub(super) struct Prune;

impl Operation for Prune {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        inbox::prune(&mut *connection, now).await?;
        plan::prune(&mut *connection, now).await?;
        posted_message::prune(&mut *connection, now).await?;
        ledger::prune(&mut *connection, now).await?;
        unmapped_report::prune(&mut *connection, now).await?;
        lock::prune(connection, now).await
    }
}
