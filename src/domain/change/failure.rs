//! The evidence for a failed change. It decides whether `auto_rollback` may act; it must not know who collected it.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureEvidence {
    /// The cluster's own verdict on the artefact's own workload.
    Workload,
    /// A controller's report that the change's commit could not be built or applied.
    NotApplied,
    /// A controller's report on health, and still no proof when the deadline passed.
    Deadline,
    /// A controller's report on health. It may concern a neighbour's workload, or a rollout that still progresses.
    #[default]
    HealthReport,
}

impl FailureEvidence {
    /// An automatic rollback writes to Git, so a report on health alone never triggers it.
    pub fn allows_auto_rollback(self) -> bool {
        match self {
            Self::Workload | Self::NotApplied | Self::Deadline => true,
            Self::HealthReport => false,
        }
    }
}
