//! One artefact in one environment going from one version to another: what it moves, and where it stands.

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
    /// The channel in which it was asked for.
    pub asked_in: Option<String>,
    pub asked_at: Timestamp,
    /// When it was last taken up again, after it could not be done.
    pub taken_up_at: Option<Timestamp>,
    pub plan: Plan,
    pub stage: Stage,
    /// What the request that asked for it is called in the log.
    pub request: Option<String>,
    /// The branch and the pull request of a promotion that goes by one.
    pub frozen: Option<ResultBranch>,
}

impl Change {
    /// One sentence on why the version did not come to run; `None` where it did, or where that is not known yet.
    pub fn describe_failure(&self) -> Option<String> {
        let version = self.plan.version.label();
        match &self.stage {
            Stage::Failed { reason, .. } => Some(format!("{version} failed: {reason}")),
            Stage::Stalled { .. } => Some(format!("{version} did not come to run in time")),
            _ => None,
        }
    }

    /// There is something left to do.
    pub fn is_open(&self) -> bool {
        self.stage.is_open() || self.needs_branch_cleanup()
    }

    /// The frozen branch has served its time, and is still there.
    pub fn needs_branch_cleanup(&self) -> bool {
        !self.stage.can_cancel() && self.frozen.as_ref().is_some_and(|frozen| !frozen.tidy)
    }

    /// The commit that people approve: the frozen result, else what goes itself. `None` while there is nothing to see.
    pub fn commit_to_approve(&self) -> Option<&Sha> {
        match self.pull_request_branch() {
            // Whoever says yes to what is being replaced has not seen what takes its place.
            Some(frozen) if frozen.making.is_some() => None,
            Some(frozen) => frozen.pull.as_ref().and(frozen.result.as_ref()).map(|result| &result.head),
            None => self.plan.pinned_commit(),
        }
    }

    pub fn change_lock_key(&self) -> ChangeLockKey {
        self.plan.change_lock_key()
    }

    /// Is it shown by a pull request?
    pub fn pull_request_branch(&self) -> Option<&ResultBranch> {
        self.frozen.as_ref().filter(|_| self.plan.promote == PromotionMethod::PullRequest)
    }

    /// The line in the message of every commit and tag of ours, by which a restart finds its own work.
    pub fn format_change_trailer(&self) -> String {
        format_change_trailer(self.id)
    }

    /// All that the commit says of itself which Git gets by it.
    pub fn format_commit_trailers(&self) -> String {
        let plan = &self.plan;
        if !plan.is_rollback() {
            return self.format_change_trailer();
        }
        // A manifest restores one file, and no commit of its repository.
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
