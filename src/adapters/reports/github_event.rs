//! The events of GitHub's webhooks that are no reports of deployments: something happened, or a build has a new state.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

/// Something happened there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GithubNotice {
    /// The identity of an event by its content, because the delivery's id is not signed.
    pub key: String,
    pub event: String,
    pub repository: Repository,
    /// The pull request that it is about.
    pub pull: Option<u64>,
    /// The commit that it is about.
    pub commit: Option<Sha>,
}

/// How a run of a workflow of GitHub Actions stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The same for every delivery of the same state.
    pub key: String,
    pub repository: Repository,
    pub commit: Sha,
    pub branch: Option<String>,
    /// The workflow's: a commit may have several.
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
    /// As GitHub calls it: `failure`, `cancelled`, `timed_out`, ...
    Failed {
        conclusion: String,
    },
}
