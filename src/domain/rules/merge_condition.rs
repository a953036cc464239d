//! The conditions besides approvals for which a change waits before its merge.

use jiff::Timestamp;

use super::lock::Lock;
use super::quarantine::Quarantine;

/// A condition that must hold before the merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeCondition {
    ChecksRunning {
        names: Vec<String>,
    },
    ChecksRed {
        names: Vec<String>,
    },
    NoCheck,
    ChangesRequested {
        logins: Vec<String>,
    },
    /// GitHub has not yet computed whether the pull request can be merged.
    Mergeability,
    /// GitHub's rules for the branch are not met. `reviews` is the required number of reviews, or 0 if unknown.
    GithubRules {
        reviews: u64,
    },
    /// The pull request was pointed at another branch.
    Retargeted {
        base: String,
    },
    Locked {
        lock: Lock,
    },
    Frozen {
        until: Timestamp,
        reason: Option<String>,
    },
    /// The version was rolled back since, in this environment or below.
    Quarantined {
        quarantine: Box<Quarantine>,
    },
    /// The requester no longer has the right to promote into the environment.
    PermissionLost,
    /// The requester's rights cannot be checked now, so the merge waits.
    PermissionUnknown {
        reason: String,
    },
}

impl MergeCondition {
    /// Whether the condition depends on GitHub and its users.
    pub fn is_decided_by_github(&self) -> bool {
        match self {
            Self::ChecksRunning { .. }
            | Self::ChecksRed { .. }
            | Self::NoCheck
            | Self::ChangesRequested { .. }
            | Self::Mergeability
            | Self::GithubRules { .. }
            | Self::Retargeted { .. } => true,
            Self::Locked { .. }
            | Self::Frozen { .. }
            | Self::Quarantined { .. }
            | Self::PermissionLost
            | Self::PermissionUnknown { .. } => false,
        }
    }
}
