//! The only source of time: the system's clock, or a manual clock for tests and the demo.
//! Timeouts of I/O use tokio's timers; waits that a person could notice use this clock.

pub mod ticks;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

#[derive(Clone, Debug)]
pub struct Clock(ClockMode);

#[derive(Clone, Debug)]
enum ClockMode {
    System,
    Manual(Arc<watch::Sender<Timestamp>>),
}

impl Clock {
    pub fn new_system() -> Self {
        Self(ClockMode::System)
    }

    /// A clock that stands still until [`Clock::advance`] or [`Clock::advance_to`] moves it.
    pub fn new_manual(start: Timestamp) -> Self {
        Self(ClockMode::Manual(Arc::new(watch::channel(start).0)))
    }

    pub fn now(&self) -> Timestamp {
        match &self.0 {
            #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the system for the time")]
            ClockMode::System => Timestamp::now(),
            ClockMode::Manual(time) => *time.borrow(),
        }
    }

    pub async fn sleep(&self, pause: SignedDuration) {
        self.sleep_until(self.now() + pause).await;
    }

    pub async fn sleep_until(&self, until: Timestamp) {
        match &self.0 {
            ClockMode::System => {
                // The wall clock may be set back during the sleep, so check it again afterwards.
                while let Ok(rest) = std::time::Duration::try_from(until.duration_since(self.now())) {
                    if rest.is_zero() {
                        return;
                    }
                    tokio::time::sleep(rest).await;
                }
            }
            ClockMode::Manual(time) => {
                let mut receiver = time.subscribe();
                // The sender lives as long as `self`, so the wait can only end because the time was reached.
                let _ = receiver.wait_for(|now| *now >= until).await;
            }
        }
    }

    /// Moves a manual clock. Has no effect on the system's clock.
    pub fn advance(&self, by: SignedDuration) {
        self.advance_to(self.now() + by);
    }

    /// Moves a manual clock forward only: an earlier `to` has no effect.
    pub fn advance_to(&self, to: Timestamp) {
        if let ClockMode::Manual(time) = &self.0 {
            time.send_if_modified(|now| {
                let forward = to > *now;
                if forward {
                    *now = to;
                }
                forward
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sleep_ends_only_when_the_clock_reaches_its_end() {
        let clock = Clock::new_manual(Timestamp::UNIX_EPOCH);
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep(SignedDuration::from_secs(10)).await }
        });
        // The sleeper must have begun before time moves.
        tokio::task::yield_now().await;
        clock.advance(SignedDuration::from_secs(9));
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        clock.advance(SignedDuration::from_secs(1));
        sleeper.await.expect("the sleeper ends");
    }

    #[test]
    fn a_manual_clock_never_moves_back() {
        let clock = Clock::new_manual(Timestamp::UNIX_EPOCH);
        clock.advance(SignedDuration::from_secs(5));
        clock.advance_to(Timestamp::UNIX_EPOCH);
        assert_eq!(clock.now().as_second(), 5);
    }
}
