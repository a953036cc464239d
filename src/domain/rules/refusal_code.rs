//! What each refusal is called by machines: no name, version or word of a person is in it.

use crate::domain::rules::promotion::Refusal;

impl Refusal {
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotThere { .. } => "not_there",
            Self::FirstRung { .. } => "first_rung",
            Self::RepairByPush { .. } => "repair_by_push",
            Self::Quarantined { .. } => "quarantined",
            Self::RolledBackBelow { .. } => "rolled_back_below",
            Self::BeforeRollback { .. } => "before_rollback",
            Self::NoPrevious { .. } => "no_previous",
            Self::SameCode { .. } => "same_code",
            Self::TagMoved { .. } => "tag_moved",
            Self::NotThereAnyMore { .. } => "not_there_any_more",
            Self::ImageGone { .. } => "image_gone",
            Self::Manifest { .. } => "manifest",
            Self::MayNot { .. } => "may_not",
            Self::NothingBehind { .. } => "nothing_behind",
            Self::Missing { .. } => "missing",
            Self::RollingOut { .. } => "rolling_out",
            Self::Unhealthy { .. } => "unhealthy",
            Self::Unreadable { .. } => "unreadable",
            Self::NeverRan { .. } => "never_ran",
            Self::CommitUnknown { .. } => "commit_unknown",
            Self::UnderWay(_) => "under_way",
            Self::BranchMissing { .. } => "branch_missing",
            Self::NoCommonAncestor { .. } => "no_common_ancestor",
            Self::NothingNew { .. } => "nothing_new",
            Self::NothingForIt { .. } => "nothing_for_it",
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
