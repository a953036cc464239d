//! Slack's rate limit for messages: one per second and channel, with a short burst.
//! The limiter returns the time of the next slot. It never waits, because governor's own waits ignore Gantry's clock.

use std::num::NonZeroU32;

use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;
use crate::clock::ticks::{GovernorClock, GovernorInstant};

/// Slack documents "short bursts" without a number. In practice it accepts a few messages.
const BURST: NonZeroU32 = NonZeroU32::new(3).unwrap();

/// Above this number of channels and people, entries without recent messages are removed.
const MAX_TRACKED_CHANNELS: usize = 256;

#[derive(Debug)]
pub struct ChannelRateLimiter {
    clock: Clock,
    limiter: KeyedLimiter,
}

type KeyedLimiter = RateLimiter<
    String,
    HashMapStateStore<String>,
    GovernorClock,
    governor::middleware::NoOpMiddleware<GovernorInstant>,
>;

impl ChannelRateLimiter {
    pub fn new(clock: Clock) -> Self {
        let limiter = build_limiter(&clock);
        Self { clock, limiter }
    }

    /// Takes the next slot of `channel`. `Ok` counts as a sent message; `Err` is the time from which a message may be
    /// sent.
    pub fn try_acquire(&mut self, channel: &str) -> Result<(), Timestamp> {
        if self.limiter.len() > MAX_TRACKED_CHANNELS {
            self.limiter.retain_recent();
        }
        let channel = channel.to_owned();
        let Err(not_until) = self.limiter.check_key(&channel) else { return Ok(()) };
        let now = self.clock.now();
        let next = not_until.earliest_possible().to_timestamp();
        if next.duration_since(now) <= SignedDuration::from_secs(1) {
            return Err(next);
        }
        // No wait is longer than a second, so the system's clock was set back. The old entries are useless then.
        self.limiter = build_limiter(&self.clock);
        self.limiter.check_key(&channel).map_err(|not_until| not_until.earliest_possible().to_timestamp())
    }
}

fn build_limiter(clock: &Clock) -> KeyedLimiter {
    let quota = Quota::per_second(NonZeroU32::MIN).allow_burst(BURST);
    RateLimiter::new(quota, HashMapStateStore::default(), GovernorClock::new(clock.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Timestamp {
        "2026-11-16T09:00:00Z".parse().unwrap()
    }

    #[test]
    fn after_the_burst_one_message_per_second_is_allowed() {
        let clock = Clock::new_manual(start());
        let mut limiter = ChannelRateLimiter::new(clock.clone());
        for _ in 0..BURST.get() {
            assert_eq!(limiter.try_acquire("C0DEPLOYS"), Ok(()));
        }
        for _ in 0..3 {
            let next = limiter.try_acquire("C0DEPLOYS").expect_err("the burst is over");
            assert_eq!(next, clock.now() + SignedDuration::from_secs(1));
            clock.advance(SignedDuration::from_millis(999));
            assert_eq!(limiter.try_acquire("C0DEPLOYS"), Err(next));
            clock.advance_to(next);
            assert_eq!(limiter.try_acquire("C0DEPLOYS"), Ok(()));
        }
    }

    #[test]
    fn one_channel_does_not_slow_down_another() {
        let mut limiter = ChannelRateLimiter::new(Clock::new_manual(start()));
        while limiter.try_acquire("C0DEPLOYS").is_ok() {}
        assert_eq!(limiter.try_acquire("C0RELEASES"), Ok(()));
    }

    #[test]
    fn idle_channels_are_removed() {
        let clock = Clock::new_manual(start());
        let mut limiter = ChannelRateLimiter::new(clock.clone());
        for person in 0..=MAX_TRACKED_CHANNELS {
            assert_eq!(limiter.try_acquire(&person.to_string()), Ok(()));
        }
        clock.advance(SignedDuration::from_mins(1));
        assert_eq!(limiter.try_acquire("C0DEPLOYS"), Ok(()));
        assert!(limiter.limiter.len() < 10, "{}", limiter.limiter.len());
    }
}
