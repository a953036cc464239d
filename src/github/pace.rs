//! How fast we may write: GitHub allows 80 content-creating requests a minute and 500 an hour.

use std::num::NonZeroU32;

use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use jiff::Timestamp;

use crate::clock::Clock;
use crate::clock::ticks::{Instant, Ticks};

/// A full bucket and what flows into it meanwhile must stay below the limit, so each is half of it.
const A_MINUTE: NonZeroU32 = NonZeroU32::new(40).unwrap();
const AN_HOUR: NonZeroU32 = NonZeroU32::new(250).unwrap();

type Limiter = RateLimiter<NotKeyed, InMemoryState, Ticks, NoOpMiddleware<Instant>>;

pub(super) struct Pace {
    minute: Limiter,
    hour: Limiter,
}

impl Pace {
    pub(super) fn new(clock: &Clock) -> Self {
        let limiter = |quota| RateLimiter::direct_with_clock(quota, Ticks::new(clock.clone()));
        Self { minute: limiter(Quota::per_minute(A_MINUTE)), hour: limiter(Quota::per_hour(AN_HOUR)) }
    }

    /// May we write now? Yes counts; no says from when on.
    pub(super) fn check(&self) -> Result<(), Timestamp> {
        for limiter in [&self.hour, &self.minute] {
            limiter.check().map_err(|not_until| not_until.earliest_possible().timestamp())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn no_minute_and_no_hour_sees_more_than_github_allows() {
        let clock = Clock::by_hand(Timestamp::from_second(1_800_000_000).unwrap());
        let pace = Pace::new(&clock);
        let mut written: Vec<i64> = Vec::new();
        while written.len() < 1_500 {
            match pace.check() {
                Ok(()) => written.push(clock.now().as_second()),
                Err(until) => clock.advance_to(until.max(clock.now() + SignedDuration::from_millis(1))),
            }
        }
        for (within, most) in [(60, 80), (3600, 500)] {
            let counted = |from: i64| written.iter().filter(|at| (from..from + within).contains(*at)).count();
            let worst = written.iter().map(|from| counted(*from)).max().unwrap();
            assert!(worst <= most, "{worst} in {within} s");
        }
    }
}
