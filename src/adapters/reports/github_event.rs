//! GitHub webhook events that are not deployment reports: notices, and states of builds.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

/// A pull request, a review or a check has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GithubNotice {
    /// The identity of an event by its content, because the delivery's id is not signed.
    pub key: String,
    pub event: String,
    pub repository: Repository,
    /// The pull request, if the event concerns one.
    pub pull: Option<u64>,
    /// The commit, if the event concerns one.
    pub commit: Option<Sha>,
}

/// The state of a workflow run of GitHub Actions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The same for every delivery of the same state.
    pub key: String,
    pub repository: Repository,
    pub commit: Sha,
    pub branch: Option<String>,
    /// The workflow's name: a commit may have several workflows.
    pub name: String,
    pub run: u64,
    pub attempt: u64,
    pub state: BuildState,
    pub url: String,
    pub at: Option<Timestamp>,
}

impl Build {
    pub fn has_failed(&self) -> bool {
        matches!(self.state, BuildState::Failed { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildState {
    Queued,
    Running,
    Succeeded,
    /// With GitHub's conclusion: `failure`, `cancelled`, `timed_out`, ...
    Failed {
        conclusion: String,
    },
}
