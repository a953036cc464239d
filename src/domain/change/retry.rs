//! The state of an attempt that failed and is repeated.

use jiff::Timestamp;

/// Why something takes longer; it is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryState {
    pub since: Timestamp,
    pub tries: u32,
    pub why: String,
}

impl RetryState {
    /// The same trouble once more, or the first of it.
    pub fn record_failure(before: Option<Self>, why: String, now: Timestamp) -> Self {
        match before {
            Some(before) => Self { tries: before.tries.saturating_add(1), why, ..before },
            None => Self { since: now, tries: 1, why },
        }
    }
}
