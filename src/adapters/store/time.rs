//! Times as the tables hold them: microseconds since 1970.

use jiff::{SignedDuration, Timestamp};

pub(super) fn to_micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

/// Rounded up: a wait that ends a fraction too early would find that the time has not come.
pub(super) fn to_micros_ceil(at: Timestamp) -> i64 {
    at.as_microsecond() + i64::from(at.as_nanosecond().rem_euclid(1000) > 0)
}

pub(super) fn duration_to_micros(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

pub(super) fn to_timestamp(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or_default()
}
