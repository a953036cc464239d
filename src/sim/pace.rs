//! The durations of the simulated world, on its [`Clock`](crate::clock::Clock).

use jiff::SignedDuration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// From the move of a branch to the image in the registry.
    pub build: SignedDuration,
    /// From a new image or manifest to the controller's reaction.
    pub controller_delay: SignedDuration,
    /// The time in which one replica becomes ready or fails.
    pub replica: SignedDuration,
    /// How long a rollout may wait for a failing replica before it counts as failed.
    pub deadline: SignedDuration,
    /// The pause before a failed webhook is sent again.
    pub retry: SignedDuration,
}

impl Default for Pace {
    /// Slow enough to watch, and fast enough not to be tedious.
    fn default() -> Self {
        Self {
            build: SignedDuration::from_millis(1500),
            controller_delay: SignedDuration::from_millis(500),
            replica: SignedDuration::from_millis(1500),
            deadline: SignedDuration::from_secs(6),
            retry: SignedDuration::from_secs(1),
        }
    }
}
