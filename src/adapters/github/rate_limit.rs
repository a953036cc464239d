//! Paces requests to stay below GitHub's limits: 900 points a minute for an endpoint (a read costs one), and 80
//! content-creating requests a minute or 500 an hour.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;
use crate::clock::ticks::{GovernorClock, GovernorInstant};

/// Half of GitHub's limit: a full bucket plus the refill of the same period must stay below the limit.
const WRITES_PER_MINUTE: NonZeroU32 = NonZeroU32::new(40).unwrap();
const WRITES_PER_HOUR: NonZeroU32 = NonZeroU32::new(250).unwrap();
/// Half of the read limit too. Gantry counts the requests to all endpoints together, including those that get 304.
const READS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(450).unwrap();
const READ_BURST: NonZeroU32 = NonZeroU32::new(400).unwrap();

type GithubQuotaLimiter = RateLimiter<NotKeyed, InMemoryState, GovernorClock, NoOpMiddleware<GovernorInstant>>;

pub(super) struct GithubPacer {
    writes: TurnScheduler,
    reads: TurnScheduler,
}

impl GithubPacer {
    pub(super) fn new(clock: &Clock) -> Self {
        let limit =
            |quota, interval| (RateLimiter::direct_with_clock(quota, GovernorClock::new(clock.clone())), interval);
        let interval = |per_minute: NonZeroU32| SignedDuration::from_millis(60_000 / i64::from(per_minute.get()) + 1);
        Self {
            // The limit per minute comes first: a write that it refuses must not use up the hourly limit.
            writes: TurnScheduler {
                limits: vec![
                    limit(
                        Quota::per_minute(WRITES_PER_MINUTE),
                        SignedDuration::from_secs(60 / i64::from(WRITES_PER_MINUTE.get()) + 1),
                    ),
                    limit(
                        Quota::per_hour(WRITES_PER_HOUR),
                        SignedDuration::from_secs(3600 / i64::from(WRITES_PER_HOUR.get()) + 1),
                    ),
                ],
                clock: clock.clone(),
                max_wait: SignedDuration::from_hours(24),
                last_turn: Mutex::default(),
            },
            reads: TurnScheduler {
                limits: vec![limit(
                    Quota::per_minute(READS_PER_MINUTE).allow_burst(READ_BURST),
                    interval(READS_PER_MINUTE),
                )],
                clock: clock.clone(),
                // After a minute without reads the bucket is nearly full again.
                max_wait: SignedDuration::from_mins(1),
                last_turn: Mutex::default(),
            },
        }
    }

    /// Takes this number of writes from the limits, or returns the time to retry.
    pub(super) fn acquire_writes(&self, writes: NonZeroU32) -> Result<(), Timestamp> {
        self.writes.try_acquire(writes)
    }

    /// Takes one read from the limit, or returns the time to retry.
    pub(super) fn acquire_read(&self) -> Result<(), Timestamp> {
        self.reads.try_acquire(NonZeroU32::MIN)
    }
}

/// Limits that must all hold. Beside each limit is the interval between the turns of two waiting callers. Each waiting
/// caller gets a turn of its own: if a hundred callers returned at the same time, all but one would have to wait again.
struct TurnScheduler {
    limits: Vec<(GithubQuotaLimiter, SignedDuration)>,
    clock: Clock,
    /// The longest wait. Some callers never return for their turn, and their turns must not delay the others for ever.
    max_wait: SignedDuration,
    /// The latest turn that was given to a waiting caller.
    last_turn: Mutex<Timestamp>,
}

impl TurnScheduler {
    fn try_acquire(&self, count: NonZeroU32) -> Result<(), Timestamp> {
        for (limiter, interval) in &self.limits {
            // An error means that the bucket is too small for `count`. Callers never ask for that many.
            let Ok(answer) = limiter.check_n(count) else { continue };
            if let Err(not_until) = answer {
                let mut last_turn = self.last_turn.lock().unwrap_or_else(PoisonError::into_inner);
                let count = i32::try_from(count.get()).unwrap_or(i32::MAX);
                let next = *last_turn + interval.saturating_mul(count);
                let next = next.min(self.clock.now() + self.max_wait);
                *last_turn = not_until.earliest_possible().to_timestamp().max(next);
                return Err(*last_turn);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_waiting_caller_gets_its_own_turn() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pacer = GithubPacer::new(&clock);
        while pacer.acquire_writes(NonZeroU32::MIN).is_ok() {}
        let mut turns: Vec<Timestamp> = (0..50).map(|_| pacer.acquire_writes(NonZeroU32::MIN).unwrap_err()).collect();
        turns.sort();
        turns.dedup();
        assert_eq!(turns.len(), 50);
        for turn in turns {
            clock.advance_to(turn);
            assert_eq!(pacer.acquire_writes(NonZeroU32::MIN), Ok(()));
        }
    }

    /// Two separate acquisitions would often get only the first one, and no pair of writes would ever be completed.
    #[test]
    fn two_writes_are_acquired_together_or_not_at_all() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pacer = GithubPacer::new(&clock);
        let two = NonZeroU32::new(2).unwrap();
        while pacer.acquire_writes(two).is_ok() {}
        let turns: Vec<Timestamp> = (0..20).map(|_| pacer.acquire_writes(two).unwrap_err()).collect();
        for turn in turns {
            clock.advance_to(turn);
            assert_eq!(pacer.acquire_writes(two), Ok(()));
        }
    }

    #[test]
    fn writes_stay_below_githubs_limits_in_every_minute_and_hour() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pacer = GithubPacer::new(&clock);
        let mut written: Vec<i64> = Vec::new();
        while written.len() < 1_500 {
            match pacer.acquire_writes(NonZeroU32::MIN) {
                Ok(()) => written.push(clock.now().as_second()),
                Err(until) => {
                    assert!(until > clock.now());
                    clock.advance_to(until);
                }
            }
        }
        for (within, limit) in [(60, 80), (3600, 500)] {
            let counted = |from: i64| written.iter().filter(|at| (from..from + within).contains(*at)).count();
            let worst = written.iter().map(|from| counted(*from)).max().unwrap();
            assert!(worst <= limit, "{worst} in {within} s");
        }
    }
    #[test]
    fn reads_stay_below_githubs_limit_in_every_minute() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pacer = GithubPacer::new(&clock);
        let mut reads: Vec<i64> = Vec::new();
        while reads.len() < 3_000 {
            match pacer.acquire_read() {
                Ok(()) => reads.push(clock.now().as_millisecond()),
                Err(until) => {
                    assert!(until > clock.now());
                    clock.advance_to(until);
                }
            }
        }
        let counted = |from: i64| reads.iter().filter(|at| (from..from + 60_000).contains(*at)).count();
        let worst = reads.iter().map(|from| counted(*from)).max().unwrap();
        assert!((800..900).contains(&worst), "{worst} in a minute");
    }

    #[test]
    fn waiting_reads_get_turns_soon_and_in_order() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pacer = GithubPacer::new(&clock);
        while pacer.acquire_read().is_ok() {}
        // The number of concurrent reads.
        let turns: Vec<Timestamp> = (0..8).map(|_| pacer.acquire_read().unwrap_err()).collect();
        assert!(turns.is_sorted() && turns[7] < clock.now() + SignedDuration::from_secs(3), "{turns:#?}");
        for turn in turns {
            clock.advance_to(turn);
            assert_eq!(pacer.acquire_read(), Ok(()));
        }
    }

    #[test]
    fn callers_that_never_return_do_not_delay_others_for_long() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pacer = GithubPacer::new(&clock);
        for _ in 0..100_000 {
            let _ = pacer.acquire_read();
        }
        assert!(pacer.acquire_read().unwrap_err() <= clock.now() + SignedDuration::from_mins(1));
        clock.advance(SignedDuration::from_mins(1));
        assert_eq!(pacer.acquire_read(), Ok(()));
    }

    #[test]
    fn reads_and_writes_have_separate_limits() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pacer = GithubPacer::new(&clock);
        while pacer.acquire_read().is_ok() {}
        assert_eq!(pacer.acquire_writes(NonZeroU32::MIN), Ok(()));
        while pacer.acquire_writes(NonZeroU32::MIN).is_ok() {}
        clock.advance(SignedDuration::from_millis(200));
        assert_eq!(pacer.acquire_read(), Ok(()));
    }
}
