//! How fast we may write: GitHub allows 80 content-creating requests a minute and 500 an hour.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;
use crate::clock::ticks::{Instant, Ticks};

/// A full bucket and what flows into it meanwhile must stay below the limit, so each is half of it.
const A_MINUTE: NonZeroU32 = NonZeroU32::new(40).unwrap();
const AN_HOUR: NonZeroU32 = NonZeroU32::new(250).unwrap();

type Limiter = RateLimiter<NotKeyed, InMemoryState, Ticks, NoOpMiddleware<Instant>>;

pub(super) struct Pace {
    minute: Limiter,
    hour: Limiter,
    /// The last turn that was given to somebody who must wait.
    given: Mutex<Timestamp>,
}

impl Pace {
    pub(super) fn new(clock: &Clock) -> Self {
        let limiter = |quota| RateLimiter::direct_with_clock(quota, Ticks::new(clock.clone()));
        Self {
            minute: limiter(Quota::per_minute(A_MINUTE)),
            hour: limiter(Quota::per_hour(AN_HOUR)),
            given: Mutex::default(),
        }
    }

    /// May we write so often now? Yes counts; no says when to come again, and everybody gets a turn of their own: a hundred who
    /// came back at the same moment would be sent away again but for one.
    pub(super) fn check(&self, writes: NonZeroU32) -> Result<(), Timestamp> {
        // The minute first: what it refuses must not use up the hour.
        let turns =
            [(&self.minute, 60 / i64::from(A_MINUTE.get()) + 1), (&self.hour, 3600 / i64::from(AN_HOUR.get()) + 1)];
        for (limiter, seconds) in turns {
            // Never more than a bucket holds.
            let Ok(answer) = limiter.check_n(writes) else { continue };
            if let Err(not_until) = answer {
                let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
                let next = *given + SignedDuration::from_secs(seconds * i64::from(writes.get()));
                *given = not_until.earliest_possible().timestamp().max(next);
                return Err(*given);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_who_must_wait_gets_a_turn_of_their_own() {
        let clock = Clock::by_hand(Timestamp::from_second(1_800_000_000).unwrap());
        let pace = Pace::new(&clock);
        while pace.check(NonZeroU32::MIN).is_ok() {}
        let mut turns: Vec<Timestamp> = (0..50).map(|_| pace.check(NonZeroU32::MIN).unwrap_err()).collect();
        turns.sort();
        turns.dedup();
        assert_eq!(turns.len(), 50);
        for turn in turns {
            clock.advance_to(turn);
            assert_eq!(pace.check(NonZeroU32::MIN), Ok(()));
        }
    }

    /// Each of two writes alone would pass half of the time, and neither would ever be done.
    #[test]
    fn what_takes_two_writes_gets_both_or_none() {
        let clock = Clock::by_hand(Timestamp::from_second(1_800_000_000).unwrap());
        let pace = Pace::new(&clock);
        let two = NonZeroU32::new(2).unwrap();
        while pace.check(two).is_ok() {}
        let turns: Vec<Timestamp> = (0..20).map(|_| pace.check(two).unwrap_err()).collect();
        for turn in turns {
            clock.advance_to(turn);
            assert_eq!(pace.check(two), Ok(()));
        }
    }

    #[test]
    fn no_minute_and_no_hour_sees_more_than_github_allows() {
        let clock = Clock::by_hand(Timestamp::from_second(1_800_000_000).unwrap());
        let pace = Pace::new(&clock);
        let mut written: Vec<i64> = Vec::new();
        while written.len() < 1_500 {
            match pace.check(NonZeroU32::MIN) {
                Ok(()) => written.push(clock.now().as_second()),
                Err(until) => {
                    assert!(until > clock.now());
                    clock.advance_to(until);
                }
            }
        }
        for (within, most) in [(60, 80), (3600, 500)] {
            let counted = |from: i64| written.iter().filter(|at| (from..from + within).contains(*at)).count();
            let worst = written.iter().map(|from| counted(*from)).max().unwrap();
            assert!(worst <= most, "{worst} in {within} s");
        }
    }
}
