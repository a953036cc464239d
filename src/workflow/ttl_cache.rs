//! What somebody else told, kept for as long as it may be believed.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};

use jiff::{SignedDuration, Timestamp};

/// Nobody's workspace has so many people acting within minutes; it only keeps the memory small.
const MOST: usize = 10_000;

#[derive(Debug)]
pub(crate) struct Memory<K, V> {
    fresh_for: SignedDuration,
    known: RwLock<HashMap<K, (V, Timestamp)>>,
}

impl<K: Eq + Hash, V: Clone> Memory<K, V> {
    pub(crate) fn new(fresh_for: SignedDuration) -> Self {
        Self { fresh_for, known: RwLock::default() }
    }

    pub(crate) fn recall(&self, key: &K, now: Timestamp) -> Option<V> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (value, learned) = known.get(key)?;
        (now.duration_since(*learned) < self.fresh_for).then(|| value.clone())
    }

    pub(crate) fn keep(&self, key: K, value: V, now: Timestamp) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, (value, now));
    }
}
