//! The duration of each phase of a change, for the card and the metrics.

use jiff::{SignedDuration, Timestamp};

use super::{Change, DeployState, Stage};

/// The phases that take time. Their names are used in metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangePhase {
    Approval,
    Merge,
    Build,
    Rollout,
}

impl ChangePhase {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Merge => "merge",
            Self::Build => "build",
            Self::Rollout => "rollout",
        }
    }
}

impl DeployState {
    /// The time of the last approval before the merge.
    pub fn approved_at(&self) -> Option<Timestamp> {
        self.approvals.iter().map(|approval| approval.at).max()
    }

    /// When the result was built: the time from CI or the first sight of the rollout, the earlier of the two.
    pub fn effective_built_at(&self) -> Option<Timestamp> {
        match (self.built_at, self.seen_at) {
            (Some(built), Some(seen)) => Some(built.min(seen)),
            (built, seen) => built.or(seen),
        }
    }
}

impl Change {
    /// The start of the measured time: the last retry, else the request. Time before a retry does not count.
    pub fn began_at(&self) -> Timestamp {
        self.retried_at.unwrap_or(self.requested_at)
    }

    /// The phases that ended since `before`. Each phase is returned once, however often the change is checked.
    pub fn measure_phases_since(&self, before: &Stage) -> Vec<(ChangePhase, SignedDuration)> {
        let Some(deploying) = self.stage.deploying() else { return Vec::new() };
        let mut durations = Vec::new();
        if before.deploying().is_none() {
            let approved_at = deploying.approved_at();
            durations.extend(approved_at.map(|at| (ChangePhase::Approval, at.duration_since(self.began_at()))));
            let since = approved_at.unwrap_or(self.began_at());
            durations.push((ChangePhase::Merge, deploying.merged_at.duration_since(since)));
        }
        if let (Stage::Deployed { at, .. }, false) = (&self.stage, matches!(before, Stage::Deployed { .. })) {
            let built_at = deploying.effective_built_at();
            durations.extend(built_at.map(|built| (ChangePhase::Build, built.duration_since(deploying.merged_at))));
            durations.push((ChangePhase::Rollout, at.duration_since(built_at.unwrap_or(deploying.merged_at))));
        }
        durations
    }

    /// When the current stage began, as far as known.
    pub fn stage_entered_at(&self) -> Timestamp {
        match &self.stage {
            Stage::AwaitingApproval(_) => self.began_at(),
            Stage::Merging(merging) => {
                let approvals = merging.awaiting.iter().flat_map(|awaiting| &awaiting.approvals);
                approvals.map(|approval| approval.at).max().unwrap_or(self.began_at())
            }
            Stage::Deploying(deploying) => deploying.merged_at,
            Stage::Deployed { at, .. }
            | Stage::Failed { at, .. }
            | Stage::Stalled { at, .. }
            | Stage::Conflicted { at, .. }
            | Stage::Errored { at, .. }
            | Stage::Cancelled { at, .. }
            | Stage::Rejected { at, .. }
            | Stage::Expired { at, .. }
            | Stage::Superseded { at, .. } => *at,
        }
    }
}
