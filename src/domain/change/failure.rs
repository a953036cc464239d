//! The evidence for a failed change, independent of the service that it came from.

use serde::{Deserialize, Serialize};

/// The kind of evidence. It decides whether `auto_rollback` may act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureEvidence {
    /// The cluster's own verdict on the artefact's own workload.
    Workload,
    /// A controller's report that the change's commit could not be built or applied.
    NotApplied,
    /// A health report, and no proof that the version ran by the deadline.
    Deadline,
    /// A controller's health report. It may concern another artefact's workload, or a rollout that still progresses.
    #[default]
    HealthReport,
}

impl FailureEvidence {
    /// An automatic rollback writes to Git, so a health report alone never triggers it.
    pub fn can_trigger_auto_rollback(self) -> bool {
        match self {
            Self::Workload | Self::NotApplied | Self::Deadline => true,
            Self::HealthReport => false,
        }
    }
}
