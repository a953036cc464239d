//! The conditions besides approvals that a change waits for before it is merged.

use jiff::Timestamp;

use super::lock::Lock;
use super::quarantine::Quarantine;

/// Something that must come to hold before the merge.
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
    /// GitHub still computes whether it can be merged.
    Mergeability,
    /// The repository's own rules ask for something; for so many reviews there, as far as they tell.
    GithubRules {
        reviews: u64,
    },
    /// Somebody pointed the pull request at another branch.
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
    /// It was rolled back from since, there or below.
    Quarantined {
        quarantine: Box<Quarantine>,
    },
    /// The one who asked may not promote there any more.
    RightLost,
    /// Nobody can tell now who may: then nothing happens.
    RightsUnknown {
        why: String,
    },
}

impl MergeCondition {
    /// Is it up to GitHub and who is there?
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
            | Self::RightLost
            | Self::RightsUnknown { .. } => false,
        }
    }
}
