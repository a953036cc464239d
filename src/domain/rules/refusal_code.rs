//! The codes of refusals for logs and metrics. They contain no names, versions or text from people.

use crate::domain::rules::refusal::Refusal;

impl Refusal {
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotInEnvironment { .. } => "not_there",
            Self::FirstEnvironment { .. } => "first_rung",
            Self::RepairByPush { .. } => "repair_by_push",
            Self::Quarantined { .. } => "quarantined",
            Self::RolledBackBelow { .. } => "rolled_back_below",
            Self::MergedBeforeRollback { .. } => "before_rollback",
            Self::NoPreviousVersion { .. } => "no_previous",
            Self::SameCode { .. } => "same_code",
            Self::TagMoved { .. } => "tag_moved",
            Self::NoLongerDeployed { .. } => "not_there_any_more",
            Self::ImageMissing { .. } => "image_gone",
            Self::ManifestProblem { .. } => "manifest",
            Self::NotPermitted { .. } => "may_not",
            Self::NothingToPromote { .. } => "nothing_behind",
            Self::NotRunningBelow { .. } => "missing",
            Self::RollingOut { .. } => "rolling_out",
            Self::Unhealthy { .. } => "unhealthy",
            Self::Unreadable { .. } => "unreadable",
            Self::NeverRanHealthy { .. } => "never_ran",
            Self::CommitUnknown { .. } => "commit_unknown",
            Self::ChangeInProgress(_) => "under_way",
            Self::BranchMissing { .. } => "branch_missing",
            Self::NoCommonAncestor { .. } => "no_common_ancestor",
            Self::NothingNew { .. } => "nothing_new",
            Self::NoRelevantChanges { .. } => "nothing_for_it",
            Self::Downgrade { .. } => "downgrade",
            Self::RedChecks { .. } => "red_checks",
            Self::RunningChecks { .. } => "running_checks",
            Self::NoChecks { .. } => "no_checks",
            Self::Locked { .. } => "locked",
            Self::Frozen { .. } => "frozen",
            Self::Soaking { .. } => "soaking",
        }
    }
}
