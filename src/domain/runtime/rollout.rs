//! The state of a workload's rollout, in the detail that messages and rules need.

use std::sync::Arc;

use jiff::Timestamp;

use crate::domain::model::version::Version;

#[derive(Clone, Debug)]
pub struct Rollout {
    /// The version in the workload's specification; `None` if there is no workload.
    pub version: Option<Version>,
    pub state: RolloutState,
    /// When the specification got this version. While the rollout is incomplete: when it became incomplete. `None` if
    /// the cluster does not know it.
    pub since: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutState {
    Running {
        ready: u32,
    },
    RollingOut {
        ready: u32,
        wanted: u32,
        /// A condition that delays the rollout and that the cluster may still overcome, such as an exceeded quota.
        delayed_by: Option<Arc<str>>,
    },
    Degraded {
        reason: Arc<str>,
    },
    Missing,
    Unreadable {
        reason: Arc<str>,
        since: Timestamp,
    },
}

impl RolloutState {
    /// The worst state wins if an artefact has several workloads.
    fn severity_rank(&self) -> u8 {
        match self {
            Self::Running { .. } => 0,
            Self::RollingOut { .. } => 1,
            Self::Degraded { .. } => 2,
            Self::Missing => 3,
            Self::Unreadable { .. } => 4,
        }
    }
}

impl Rollout {
    pub fn new_missing() -> Self {
        Self { version: None, state: RolloutState::Missing, since: None }
    }

    /// The state of several workloads: the worst one. Replicas are added up if all workloads run or roll out.
    pub fn from_workloads(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().reduce(Self::merge_with).unwrap_or_else(Self::new_missing)
    }

    fn merge_with(self, other: Self) -> Self {
        use RolloutState::{RollingOut, Running};
        let state = match (&self.state, &other.state) {
            (Running { ready: a }, Running { ready: b }) => Running { ready: a + b },
            (
                RollingOut { ready: a, wanted: b, delayed_by: first },
                RollingOut { ready: c, wanted: d, delayed_by: second },
            ) => RollingOut { ready: a + c, wanted: b + d, delayed_by: first.clone().or_else(|| second.clone()) },
            (Running { ready: a }, RollingOut { ready: b, wanted, delayed_by })
            | (RollingOut { ready: b, wanted, delayed_by }, Running { ready: a }) => {
                RollingOut { ready: a + b, wanted: a + wanted, delayed_by: delayed_by.clone() }
            }
            (a, b) if a.severity_rank() >= b.severity_rank() => a.clone(),
            (_, b) => b.clone(),
        };
        // Workloads that specify different images are between two versions, even if each runs well.
        let state = match (&self.version, &other.version, state) {
            (Some(a), Some(b), Running { ready }) if !a.is_same_image(b) => {
                RollingOut { ready, wanted: ready, delayed_by: None }
            }
            (_, _, state) => state,
        };
        Self { version: self.version.or(other.version), state, since: self.since.max(other.since) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rollout(tag: &str, state: RolloutState) -> Rollout {
        Rollout { version: Some(Version { tag: Some(tag.into()), digest: None, commit: None }), state, since: None }
    }

    fn rolling_out(ready: u32, wanted: u32, delayed_by: Option<&str>) -> RolloutState {
        RolloutState::RollingOut { ready, wanted, delayed_by: delayed_by.map(Into::into) }
    }

    #[test]
    fn all_workloads_of_an_artefact_must_be_complete() {
        use RolloutState::*;
        let degraded = Degraded { reason: "ImagePullBackOff".into() };
        let cases = [
            (vec![Running { ready: 2 }, Running { ready: 1 }], Running { ready: 3 }),
            (vec![Running { ready: 2 }, rolling_out(0, 1, None)], rolling_out(2, 3, None)),
            (vec![rolling_out(1, 2, None), rolling_out(0, 1, Some("quota"))], rolling_out(1, 3, Some("quota"))),
            (vec![rolling_out(0, 1, Some("quota")), Running { ready: 1 }], rolling_out(1, 2, Some("quota"))),
            (vec![degraded.clone(), rolling_out(0, 1, None)], degraded.clone()),
            (vec![Missing, degraded], Missing),
            (vec![], Missing),
        ];
        for (parts, expected) in cases {
            assert_eq!(Rollout::from_workloads(parts.into_iter().map(|state| rollout("1", state))).state, expected);
        }
    }

    #[test]
    fn workloads_on_different_images_are_still_rolling_out() {
        let parts =
            [rollout("1", RolloutState::Running { ready: 1 }), rollout("2", RolloutState::Running { ready: 1 })];
        assert_eq!(Rollout::from_workloads(parts).state, rolling_out(2, 2, None));
    }
}
