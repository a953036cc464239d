//! A cache for answers of outside services, with a time to live.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};

use jiff::{SignedDuration, Timestamp};

/// Bounds the memory. A full cache is emptied, which is rare: few entries are added within one time to live.
const MAX_ENTRIES: usize = 10_000;

#[derive(Debug)]
pub(crate) struct TtlCache<K, V> {
    ttl: SignedDuration,
    entries: RwLock<HashMap<K, (V, Timestamp)>>,
}

impl<K: Eq + Hash, V: Clone> TtlCache<K, V> {
    pub(crate) fn new(ttl: SignedDuration) -> Self {
        Self { ttl, entries: RwLock::default() }
    }

    pub(crate) fn get(&self, key: &K, now: Timestamp) -> Option<V> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let (value, stored_at) = entries.get(key)?;
        (now.duration_since(*stored_at) < self.ttl).then(|| value.clone())
    }

    pub(crate) fn insert(&self, key: K, value: V, now: Timestamp) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX_ENTRIES {
            entries.clear();
        }
        entries.insert(key, (value, now));
    }
}
