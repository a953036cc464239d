//! The branch on which the result of a promotion is made, and the pull request that shows it: frozen, so that what is
//! merged is what was seen.

use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Sha;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultBranch {
    pub branch: String,
    /// What is shown, checked and approved; `None` while it is being made.
    pub result: Option<ResultCommit>,
    /// What takes its place, and is stored before it does: another commit there is somebody else's.
    pub making: Option<ResultCommit>,
    pub pull: Option<PullRequestRef>,
    /// Branch and pull request are gone, or closed, as they should be after the end.
    pub tidy: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultCommit {
    /// The head of the environment's branch that it was made on.
    pub base: Sha,
    pub head: Sha,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestRef {
    pub number: u64,
    pub url: String,
}

impl ResultBranch {
    /// Named after the change, so that whoever finds it knows whose it is, and a restart makes no second one.
    pub fn from_change_id(change: ChangeId) -> Self {
        Self { branch: format!("gantry/{change}"), result: None, making: None, pull: None, tidy: false }
    }

    /// Where a result is made that takes the place of one that is shown: the pull request must never see half of it.
    pub fn scratch_branch(&self) -> String {
        format!("{}-anew", self.branch)
    }
}
