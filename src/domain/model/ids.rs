//! The ids of changes and locks, and their short form.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::{NoContext, Uuid};

/// A UUID of version 7, which sorts by the time of the request. People see and type its last eight digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeId(Uuid);

impl ChangeId {
    pub fn new(now: Timestamp) -> Self {
        Self(new_uuid_at(now))
    }

    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }

    /// The last eight digits, as people see and type them.
    pub fn to_short_id(self) -> String {
        let text = self.0.simple().to_string();
        text[text.len() - SHORT_ID_LENGTH..].to_owned()
    }
}

/// A UUID of version 7, so that ids sort by time.
fn new_uuid_at(now: Timestamp) -> Uuid {
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let nanos = u32::try_from(now.subsec_nanosecond()).unwrap_or_default();
    Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds, nanos))
}

/// The number of digits of a change's id that people see.
pub const SHORT_ID_LENGTH: usize = 8;

impl fmt::Display for ChangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// A lock with another owner gets another id, so that a button acts on the lock that its reader saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LockId(Uuid);

impl LockId {
    pub fn new(now: Timestamp) -> Self {
        Self(new_uuid_at(now))
    }

    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }
}

impl fmt::Display for LockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn ids_sort_by_time_and_end_with_their_short_id() {
        let (early, late) = (ChangeId::new(at(1_000)), ChangeId::new(at(2_000)));
        assert!(early < late);
        assert_ne!(ChangeId::new(at(1_000)), early, "two ids of the same moment differ");
        assert_eq!(early.to_short_id().len(), SHORT_ID_LENGTH);
        assert!(early.to_string().ends_with(&early.to_short_id()));
        assert_eq!(ChangeId::parse(&early.to_string()), Some(early));
    }
}
