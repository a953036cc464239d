//! The inputs that a change gives to the rules: a conflict, a quarantine, a hold or a restored version.

use jiff::Timestamp;

use super::{Change, Stage};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::version::Version;
use crate::domain::rules::conflict::{AskerRole, ChangeInProgress, ConflictingChange, PendingApproval};
use crate::domain::rules::quarantine::{Hold, Quarantine};
use crate::domain::rules::rollback::SourceMap;

impl Change {
    /// `None` unless the change waits for approval or is deploying.
    pub fn to_conflicting_change(&self) -> Option<ConflictingChange> {
        let (since, merged) = match &self.stage {
            Stage::AwaitingApproval(awaiting) => (awaiting.since, false),
            Stage::Deploying(deploying) => (deploying.merged_at, true),
            _ => return None,
        };
        let (id, requester) = (self.id, self.requester.clone());
        Some(ConflictingChange { id, requester, version: self.plan.version.clone(), since, merged })
    }

    /// The missing approvals and open conditions; `None` in every other stage.
    fn to_pending_approval(&self) -> Option<PendingApproval> {
        let awaiting = self.stage.awaiting()?;
        Some(PendingApproval {
            version: self.plan.version.clone(),
            commit: self.commit_to_approve().cloned(),
            branch: self.plan.write_target().1.to_owned(),
            missing: awaiting.count_missing(),
            approvers: awaiting.approvers.clone(),
            approved_by: awaiting.approvals.iter().map(|approval| approval.by.clone()).collect(),
            waits_for: awaiting.waits_for.clone(),
        })
    }

    /// The quarantine that a rollback begins; `None` if the bad version is unknown.
    pub fn to_quarantine(&self, now: Timestamp) -> Option<Quarantine> {
        let plan = &self.plan;
        let details = plan.rollback_details()?;
        Some(Quarantine {
            change: self.id,
            environment: plan.environment.clone(),
            artefacts: plan.list_artefacts(),
            version: plan.from.clone()?,
            commits: details.bad_version.commits.clone(),
            trees: details.bad_version.trees.clone(),
            by: (!details.automatic).then(|| self.requester.clone()),
            at: now,
            reason: details.reason.clone(),
        })
    }

    /// The hold that a rollback leaves on its artefacts.
    pub fn to_hold(&self, now: Timestamp) -> Option<Hold> {
        let plan = &self.plan;
        let details = plan.rollback_details()?;
        Some(Hold {
            change: self.id,
            environment: plan.environment.clone(),
            artefacts: plan.list_artefacts(),
            from: plan.from.clone(),
            by: (!details.automatic).then(|| self.requester.clone()),
            at: now,
            reason: details.reason.clone(),
        })
    }

    /// The sources of the commits that these changes made. Each change must have deployed `artefact`, alone or with
    /// others.
    pub fn build_source_map(changes: &[Self], artefact: &ArtefactName) -> SourceMap {
        let mut map = SourceMap::default();
        for change in changes {
            let Some(result) = change.stage.result_commit() else { continue };
            let plan = &change.plan;
            if let Some(pinned) = plan.pinned_commit() {
                map.record_source(result.clone(), pinned.clone());
            }
            if plan.is_rollback() {
                // For a co-deployed artefact only the commit is known: the tag belongs to another artefact.
                let own_version = |version: &Version| {
                    let commit = version.commit.clone();
                    if plan.artefact == *artefact { version.clone() } else { Version { commit, ..Version::default() } }
                };
                map.record_rollback(result.clone(), own_version(&plan.version), plan.from.as_ref().map(own_version));
            }
        }
        map
    }
}

impl From<&Change> for ChangeInProgress {
    fn from(change: &Change) -> Self {
        Self {
            id: change.id,
            artefact: change.plan.artefact.clone(),
            environment: change.plan.environment.clone(),
            requester: change.requester.clone(),
            since: change.requested_at,
            stage: change.stage.display_name(),
            can_cancel: change.stage.can_cancel(),
            is_rollback: change.plan.is_rollback(),
            awaiting_approval: change.to_pending_approval().map(Box::new),
            asker_role: AskerRole::Other,
        }
    }
}
