//! Adapts [`Clock`] for `governor`, so that rate limits follow the same clock. Gantry never uses governor's own waits,
//! because they would ignore this clock.

use std::ops::Add;

use governor::clock::Reference;
use governor::nanos::Nanos;
use jiff::Timestamp;

use super::Clock;

/// [`Clock`] with the interface that governor needs.
#[derive(Clone, Debug)]
pub struct GovernorClock(Clock);

impl GovernorClock {
    pub fn new(clock: Clock) -> Self {
        Self(clock)
    }
}

impl governor::clock::Clock for GovernorClock {
    type Instant = GovernorInstant;

    fn now(&self) -> GovernorInstant {
        GovernorInstant(u64::try_from(self.0.now().as_nanosecond()).unwrap_or_default())
    }
}

/// Nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GovernorInstant(u64);

impl GovernorInstant {
    pub fn to_timestamp(self) -> Timestamp {
        Timestamp::from_nanosecond(i128::from(self.0)).unwrap_or(Timestamp::MAX)
    }
}

impl Add<Nanos> for GovernorInstant {
    type Output = Self;

    fn add(self, duration: Nanos) -> Self {
        Self(self.0.saturating_add(duration.as_u64()))
    }
}

impl Reference for GovernorInstant {
    fn duration_since(&self, earlier: Self) -> Nanos {
        self.0.saturating_sub(earlier.0).into()
    }

    fn saturating_sub(&self, duration: Nanos) -> Self {
        Self(self.0.checked_sub(duration.as_u64()).unwrap_or(self.0))
    }
}
