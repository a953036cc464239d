//! The handle through which other parts use the store. The files of the tables add their queries and operations to it.

use std::sync::Arc;

use sqlx::SqlitePool;
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::error::StoreError;
use super::transaction::{Operation, Transaction, Wakeups};
use super::writer::{QueuedOperation, WriteJob, WriterMetrics};
use crate::clock::Clock;

/// Clones share one database. [`Store::close`] closes it for all of them.
#[derive(Clone, Debug)]
pub struct Store(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) readers: SqlitePool,
    pub(super) jobs: mpsc::Sender<Box<dyn WriteJob>>,
    pub(super) wakeups: watch::Receiver<Wakeups>,
    pub(super) closing: CancellationToken,
    /// Cancelled if the writer panics.
    pub(super) panicked: CancellationToken,
    pub(super) writer: Mutex<Option<JoinHandle<()>>>,
    pub(super) clock: Clock,
    pub(super) metrics: WriterMetrics,
}

impl Store {
    /// Stores the whole transaction or nothing of it, durably.
    pub async fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        if transaction.is_empty() {
            return Ok(());
        }
        self.execute(transaction).await
    }

    /// Applies one operation in a transaction of its own, and returns its result once it is stored.
    pub(super) async fn execute<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        let (result_sender, result) = oneshot::channel();
        self.0
            .jobs
            .send(Box::new(QueuedOperation::new(operation, result_sender)))
            .await
            .map_err(|_| StoreError::Closed)?;
        result.await.map_err(|_| StoreError::Closed)?
    }

    /// Counters that grow when there is new work, so that loops need not poll.
    pub fn subscribe_wakeups(&self) -> watch::Receiver<Wakeups> {
        self.0.wakeups.clone()
    }

    pub fn metrics(&self) -> &WriterMetrics {
        &self.0.metrics
    }

    /// Waits until the writer panics. After that, nothing can be stored.
    pub async fn wait_for_writer_panic(&self) {
        self.0.panicked.cancelled().await;
    }

    /// Finishes the queued writes, folds the write-ahead log into the database file and releases the process lock.
    pub async fn close(&self) {
        self.0.readers.close().await;
        self.0.closing.cancel();
        if let Some(writer) = self.0.writer.lock().await.take()
            && let Err(error) = writer.await
        {
            tracing::error!(%error, "the database writer ended with a panic");
        }
    }
}
