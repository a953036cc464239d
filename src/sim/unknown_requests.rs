//! Requests without a route in a simulator. They are answered with 404 and recorded, so that a test can fail on them.

use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone, Debug, Default)]
pub struct UnknownRequests(Arc<Mutex<Vec<String>>>);

impl UnknownRequests {
    pub fn record(&self, service: &str, method: &str, path: &str) {
        tracing::warn!(service, method, path, "the simulator has no such route");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{service}: {method} {path}"));
    }

    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
