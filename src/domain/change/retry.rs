//! The state of an attempt that failed and is repeated.

use jiff::Timestamp;

/// The reason for a delay, and the number of attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryState {
    pub since: Timestamp,
    pub attempts: u32,
    pub reason: String,
}

impl RetryState {
    /// Counts another failure, or the first one.
    pub fn record_failure(previous: Option<Self>, why: String, now: Timestamp) -> Self {
        match previous {
            Some(previous) => Self { attempts: previous.attempts.saturating_add(1), reason: why, ..previous },
            None => Self { since: now, attempts: 1, reason: why },
        }
    }
}
