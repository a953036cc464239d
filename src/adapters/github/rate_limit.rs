//! How fast we may ask and write. GitHub allows 900 points a minute for an endpoint, of which a question costs one; and 80
//! content-creating requests a minute, 500 an hour.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;
use crate::clock::ticks::{GovernorClock, GovernorInstant};

/// A full bucket and what flows into it meanwhile must stay below the limit, so each is half of it.
const WRITES_PER_MINUTE: NonZeroU32 = NonZeroU32::new(40).unwrap();
const WRITES_PER_HOUR: NonZeroU32 = NonZeroU32::new(250).unwrap();
/// The same for questions: whatever the endpoint, and whether or not GitHub counts those that it answers with 304.
const READS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(450).unwrap();
const READ_BURST: NonZeroU32 = NonZeroU32::new(400).unwrap();

type GithubQuotaLimiter = RateLimiter<NotKeyed, InMemoryState, GovernorClock, NoOpMiddleware<GovernorInstant>>;

pub(super) struct GithubPacer {
    writes: TurnScheduler,
    reads: TurnScheduler,
}

impl GithubPacer {
    pub(super) fn new(clock: &Clock) -> Self {
        let limit = |quota, turn| (RateLimiter::direct_with_clock(quota, GovernorClock::new(clock.clone())), turn);
        let turn = |a_minute: NonZeroU32| SignedDuration::from_millis(60_000 / i64::from(a_minute.get()) + 1);
        Self {
            // The minute first: what it refuses must not use up the hour.
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
                    turn(READS_PER_MINUTE),
                )],
                clock: clock.clone(),
                // After a minute without questions there is room for most of them at once.
                max_wait: SignedDuration::from_mins(1),
                last_turn: Mutex::default(),
            },
        }
    }

    /// May we write so often now? Yes counts; no says when to come again.
    pub(super) fn acquire_writes(&self, writes: NonZeroU32) -> Result<(), Timestamp> {
        self.writes.try_acquire(writes)
    }

    /// May we ask now? Yes counts; no says when to come again.
    pub(super) fn acquire_read(&self) -> Result<(), Timestamp> {
        self.reads.try_acquire(NonZeroU32::MIN)
    }
}

/// Limits that all must hold, each with how far apart those are sent who must wait for it: everybody gets a turn of their
/// own, as of a hundred who came back at the same moment all but one would be sent away again.
struct TurnScheduler {
    limits: Vec<(GithubQuotaLimiter, SignedDuration)>,
    clock: Clock,
    /// Not everybody comes back for their turn: those who did not must not send the others away for ever.
    max_wait: SignedDuration,
    /// The last turn that was given to somebody who must wait.
    last_turn: Mutex<Timestamp>,
}

impl TurnScheduler {
    fn try_acquire(&self, count: NonZeroU32) -> Result<(), Timestamp> {
        for (limiter, interval) in &self.limits {
            // Never more than a bucket holds.
            let Ok(answer) = limiter.check_n(count) else { continue };
            if let Err(not_until) = answer {
                let mut given = self.last_turn.lock().unwrap_or_else(PoisonError::into_inner);
                let count = i32::try_from(count.get()).unwrap_or(i32::MAX);
                let next = *given + interval.saturating_mul(count);
                let next = next.min(self.clock.now() + self.max_wait);
                *given = not_until.earliest_possible().to_timestamp().max(next);
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
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pace = GithubPacer::new(&clock);
        while pace.acquire_writes(NonZeroU32::MIN).is_ok() {}
        let mut turns: Vec<Timestamp> = (0..50).map(|_| pace.acquire_writes(NonZeroU32::MIN).unwrap_err()).collect();
        turns.sort();
        turns.dedup();
        assert_eq!(turns.len(), 50);
        for turn in turns {
            clock.advance_to(turn);
            assert_eq!(pace.acquire_writes(NonZeroU32::MIN), Ok(()));
        }
    }

    /// Each of two writes alone would pass half of the time, and neither would ever be done.
    #[test]
    fn what_takes_two_writes_gets_both_or_none() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pace = GithubPacer::new(&clock);
        let two = NonZeroU32::new(2).unwrap();
        while pace.acquire_writes(two).is_ok() {}
        let turns: Vec<Timestamp> = (0..20).map(|_| pace.acquire_writes(two).unwrap_err()).collect();
        for turn in turns {
            clock.advance_to(turn);
            assert_eq!(pace.acquire_writes(two), Ok(()));
        }
    }

    #[test]
    fn no_minute_and_no_hour_sees_more_than_github_allows() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pace = GithubPacer::new(&clock);
        let mut written: Vec<i64> = Vec::new();
        while written.len() < 1_500 {
            match pace.acquire_writes(NonZeroU32::MIN) {
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
    #[test]
    fn no_minute_sees_more_questions_than_github_allows() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pace = GithubPacer::new(&clock);
        let mut asked: Vec<i64> = Vec::new();
        while asked.len() < 3_000 {
            match pace.acquire_read() {
                Ok(()) => asked.push(clock.now().as_millisecond()),
                Err(until) => {
                    assert!(until > clock.now());
                    clock.advance_to(until);
                }
            }
        }
        let counted = |from: i64| asked.iter().filter(|at| (from..from + 60_000).contains(*at)).count();
        let worst = asked.iter().map(|from| counted(*from)).max().unwrap();
        assert!((800..900).contains(&worst), "{worst} in a minute");
    }

    #[test]
    fn those_who_must_wait_to_ask_have_their_turns_soon_and_one_after_another() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pace = GithubPacer::new(&clock);
        while pace.acquire_read().is_ok() {}
        // As many as ask at once.
        let turns: Vec<Timestamp> = (0..8).map(|_| pace.acquire_read().unwrap_err()).collect();
        assert!(turns.is_sorted() && turns[7] < clock.now() + SignedDuration::from_secs(3), "{turns:#?}");
        for turn in turns {
            clock.advance_to(turn);
            assert_eq!(pace.acquire_read(), Ok(()));
        }
    }

    #[test]
    fn those_who_never_come_back_do_not_send_the_others_far_away() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pace = GithubPacer::new(&clock);
        for _ in 0..100_000 {
            let _ = pace.acquire_read();
        }
        assert!(pace.acquire_read().unwrap_err() <= clock.now() + SignedDuration::from_mins(1));
        clock.advance(SignedDuration::from_mins(1));
        assert_eq!(pace.acquire_read(), Ok(()));
    }

    #[test]
    fn questions_and_writes_do_not_wait_for_each_other() {
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let pace = GithubPacer::new(&clock);
        while pace.acquire_read().is_ok() {}
        assert_eq!(pace.acquire_writes(NonZeroU32::MIN), Ok(()));
        while pace.acquire_writes(NonZeroU32::MIN).is_ok() {}
        clock.advance(SignedDuration::from_millis(200));
        assert_eq!(pace.acquire_read(), Ok(()));
    }
}
