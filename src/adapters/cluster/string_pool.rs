//! Stores each string of the cluster view once: container and image names repeat in every environment.

use std::collections::HashSet;
use std::sync::Arc;

/// Strings that many workloads share.
#[derive(Default)]
pub(super) struct StringPool {
    pub(super) strings: HashSet<Arc<str>>,
    sweep_threshold: usize,
}

impl StringPool {
    pub(super) fn intern_string(&mut self, string: &mut Arc<str>) {
        if let Some(interned) = self.strings.get(string) {
            *string = interned.clone();
            return;
        }
        if self.strings.len() >= self.sweep_threshold {
            // Strings without another owner belong to workloads that are gone.
            self.strings.retain(|string| Arc::strong_count(string) > 1);
            self.sweep_threshold = (2 * self.strings.len()).max(1024);
        }
        self.strings.insert(string.clone());
    }
}
