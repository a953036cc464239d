//! How long things take in the simulated world, on its [`Clock`](crate::clock::Clock).

use jiff::SignedDuration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// From a branch's move to its image in the registry.
    pub build: SignedDuration,
    /// From a new image or manifest to the controller's reaction.
    pub controller_delay: SignedDuration,
    /// How long one replica takes to become ready, or to fail.
    pub replica: SignedDuration,
    /// How long a failing replica is waited for, until its rollout counts as failed.
    pub deadline: SignedDuration,
    /// The pause before a webhook that failed is sent again.
    pub retry: SignedDuration,
}

impl Default for Pace {
    /// Slow enough to watch, fast enough not to wait.
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
