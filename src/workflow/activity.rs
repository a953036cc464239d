//! Counts the work in progress, so that tests can wait for its end, and wakes the observer and the commit lookups.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;

/// The wakeups of the observer and of the commit lookups, and the count of tasks at work. Clones share them.
#[derive(Clone, Debug)]
pub struct Activity(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    observer_wakeups: watch::Sender<u64>,
    commit_lookup_wakeups: watch::Sender<u64>,
    active_count: AtomicUsize,
}

impl Default for Activity {
    fn default() -> Self {
        Self(Arc::new(Inner {
            observer_wakeups: watch::channel(0).0,
            commit_lookup_wakeups: watch::channel(0).0,
            active_count: AtomicUsize::new(0),
        }))
    }
}

impl Activity {
    pub fn wake_observer(&self) {
        self.0.observer_wakeups.send_modify(|count| *count += 1);
    }

    pub(crate) fn subscribe_observer_wakeups(&self) -> watch::Receiver<u64> {
        self.0.observer_wakeups.subscribe()
    }

    pub(crate) fn wake_commit_lookups(&self) {
        self.0.commit_lookup_wakeups.send_modify(|count| *count += 1);
    }

    pub(crate) fn subscribe_commit_lookup_wakeups(&self) -> watch::Receiver<u64> {
        self.0.commit_lookup_wakeups.subscribe()
    }

    /// Whether no task is at work.
    pub fn is_idle(&self) -> bool {
        self.0.active_count.load(Ordering::SeqCst) == 0
    }

    pub(crate) async fn track_work<T>(&self, work: impl Future<Output = T>) -> T {
        let _guard = self.begin_work();
        work.await
    }

    /// Counts a task as at work until the guard is dropped.
    pub(crate) fn begin_work(&self) -> ActivityGuard {
        self.0.active_count.fetch_add(1, Ordering::SeqCst);
        ActivityGuard(self.clone())
    }
}

pub(crate) struct ActivityGuard(Activity);

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.0.0.active_count.fetch_sub(1, Ordering::SeqCst);
    }
}
