//! State of read requests that all clones of a client share: the `ETag` cache, and a limit on concurrent requests.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

use super::etag_cache::EtagCache;

/// GitHub allows 100 concurrent requests for one token, and other programs may share the token.
pub(super) const MAX_CONCURRENT_READS: usize = 8;

/// State of read requests that all clones of a client share.
pub(super) struct ReadState {
    cache: Mutex<EtagCache>,
    pub(super) read_slots: Semaphore,
}

impl Default for ReadState {
    fn default() -> Self {
        Self { cache: Mutex::default(), read_slots: Semaphore::new(MAX_CONCURRENT_READS) }
    }
}

impl ReadState {
    pub(super) fn cache(&self) -> MutexGuard<'_, EtagCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
