//! A change: the move of one artefact in one environment from one version to another.

use jiff::Timestamp;

use crate::domain::change::plan::{GitWrite, Plan};
use crate::domain::git::trailer::Trailers;
use crate::domain::model::actor::PersonId;
use crate::domain::model::environment::PromotionMethod;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Sha;

use super::{ChangeLockKey, ResultBranch, Stage};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub id: ChangeId,
    pub requester: PersonId,
    /// The channel of the request.
    pub requested_in: Option<String>,
    pub requested_at: Timestamp,
    /// The time of the last retry after an error.
    pub retried_at: Option<Timestamp>,
    pub plan: Plan,
    pub stage: Stage,
    /// The id of the request in the log.
    pub request: Option<String>,
    /// The result branch and its pull request; `None` if the change needs no branch of its own.
    pub result_branch: Option<ResultBranch>,
}

impl Change {
    /// One sentence on why the version does not run; `None` if it runs, or if that is not known yet.
    pub fn describe_failure(&self) -> Option<String> {
        let version = self.plan.version.label();
        match &self.stage {
            Stage::Failed { reason, .. } => Some(format!("{version} failed: {reason}")),
            Stage::Stalled { .. } => Some(format!("{version} did not come to run in time")),
            _ => None,
        }
    }

    /// Whether there is work left.
    pub fn is_open(&self) -> bool {
        self.stage.is_open() || self.needs_branch_cleanup()
    }

    /// Whether the result branch is no longer needed and has not been cleaned up.
    pub fn needs_branch_cleanup(&self) -> bool {
        !self.stage.can_cancel() && self.result_branch.as_ref().is_some_and(|frozen| !frozen.is_cleaned_up)
    }

    /// The commit to approve: the result, else the pinned commit; `None` while there is no result to show.
    pub fn commit_to_approve(&self) -> Option<&Sha> {
        match self.pull_request_branch() {
            // An approval of the old result must not count for the new one, which the person has not seen.
            Some(frozen) if frozen.replacement.is_some() => None,
            Some(frozen) => frozen.pull.as_ref().and(frozen.result.as_ref()).map(|result| &result.head),
            None => self.plan.pinned_commit(),
        }
    }

    pub fn change_lock_key(&self) -> ChangeLockKey {
        self.plan.change_lock_key()
    }

    /// The result branch, if the change goes by pull request. The pull request may not be open yet.
    pub fn pull_request_branch(&self) -> Option<&ResultBranch> {
        self.result_branch.as_ref().filter(|_| self.plan.method == PromotionMethod::PullRequest)
    }

    /// The trailer in every commit and tag of Gantry, by which a restarted process finds its own work.
    pub fn format_change_trailer(&self) -> String {
        format_change_trailer(self.id)
    }

    /// All trailers of the commit that the change makes.
    pub fn format_commit_trailers(&self) -> String {
        let plan = &self.plan;
        if !plan.is_rollback() {
            return self.format_change_trailer();
        }
        // A rollback in a manifest restores one file, not a commit of its repository.
        let restores = match &plan.write {
            GitWrite::Branch { pinned } => Some(pinned.clone()),
            GitWrite::Manifest { .. } => None,
        };
        Trailers::Rollback { change: self.id, restores }.to_string()
    }
}

pub fn format_change_trailer(id: ChangeId) -> String {
    Trailers::Change(id).to_string()
}
