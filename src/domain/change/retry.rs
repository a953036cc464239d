//! The state of an attempt that failed and is repeated.

use jiff::Timestamp;

/// The reason for a delay, and the number of attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryState {
    pub since: Timestamp,
    pub tries: u32,
    pub why: String,
}

impl RetryState {
    /// Counts another failure, or the first one.
    pub fn record_failure(previous: Option<Self>, why: String, now: Timestamp) -> Self {
        match previous {
            Some(previous) => Self { tries: previous.tries.saturating_add(1), why, ..previous },
            None => Self { since: now, tries: 1, why },
        }
    }
}
