//! The branch with the result of a change, and the pull request that shows it. The branch is frozen, so that the merged
//! commit is the one that was shown.

use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Sha;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultBranch {
    pub branch: String,
    /// The commit that is shown, checked and approved; `None` while it is being made.
    pub result: Option<ResultCommit>,
    /// The replacement of the result. It is stored before the branch moves: any other commit on the branch is foreign.
    pub replacement: Option<ResultCommit>,
    pub pull: Option<PullRequestRef>,
    /// Nothing is left to clean up: the branch is deleted and the pull request closed, or the change made no branch.
    pub is_cleaned_up: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultCommit {
    /// The head of the environment's branch on which the result was made.
    pub base: Sha,
    pub head: Sha,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestRef {
    pub number: u64,
    pub url: String,
}

impl ResultBranch {
    /// The name contains the change id, so that people see to which change the branch belongs, and a restarted process
    /// creates no second branch.
    pub fn from_change_id(change: ChangeId) -> Self {
        Self { branch: format!("gantry/{change}"), result: None, replacement: None, pull: None, is_cleaned_up: false }
    }

    /// The branch on which the replacement of a shown result is built. The pull request must never show a partial
    /// result.
    pub fn scratch_branch(&self) -> String {
        format!("{}-anew", self.branch)
    }
}
