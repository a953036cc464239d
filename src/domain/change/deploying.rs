//! The state of a change after its merge: its tag, its rollout, its diagnosis and its co-deployed artefacts.

use jiff::Timestamp;

use super::retry::RetryState;
use super::stall::StallDiagnosis;
use crate::domain::change::approval::Approval;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Sha;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployState {
    /// The commit on the environment's branch. This commit or a descendant of it must run in the end.
    pub result: Sha,
    pub merged_at: Timestamp,
    pub deadline: Timestamp,
    pub tag: ResultTag,
    /// The outcome of triggering the controller; `None` before the attempt.
    pub trigger_outcome: Option<TriggerOutcome>,
    pub rollout: Option<RolloutProgress>,
    /// The state of the co-deployed artefacts.
    pub co_deployed: Vec<CoDeployedStatus>,
    /// Why it cannot be checked now whether the result runs.
    pub retry: Option<RetryState>,
    /// The approvals at the merge.
    pub approvals: Vec<Approval>,
    /// Set if Gantry did not merge the result itself: the GitHub login of the person, or empty if it is unknown.
    pub merged_by: Option<String>,
    /// The head of the branch just before the merge, if the branch moved after the plan or the pull request was shown.
    pub unexpected_base: Option<Sha>,
    /// The label of the image that runs the result.
    pub running_label: Option<String>,
    pub rolled_back: Option<RollbackStatus>,
    /// When CI reported that the result is built.
    pub built_at: Option<Timestamp>,
    /// When the rollout of the result was first seen.
    pub seen_at: Option<Timestamp>,
    /// The latest diagnosis while there is no sign of life.
    pub stall_diagnosis: Option<Box<StallDiagnosis>>,
    /// The authors who were already notified of the failure.
    pub notified_authors: Option<Vec<PersonId>>,
}

/// The rollback of a merged promotion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RollbackStatus {
    /// Git has the version before the promotion again.
    Done { by: ChangeId, at: Timestamp },
    /// The environment's `auto_rollback` began a rollback.
    Begun { by: ChangeId },
    /// The environment's `auto_rollback` could not begin one.
    Impossible { why: String },
}

/// The Git tag that marks the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultTag {
    Pending,
    /// The name is stored before the tag is created, so that a restarted process does not choose another.
    Named {
        name: String,
        tries: u32,
    },
    Created {
        name: String,
        at: Timestamp,
    },
    /// The card shows a warning; there is no other effect.
    Failed {
        reason: String,
    },
}

impl ResultTag {
    pub(super) fn is_pending(&self) -> bool {
        matches!(self, Self::Pending | Self::Named { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerOutcome {
    Done,
    Failed { why: String },
}

/// The rollout of another artefact of the same repository, which the merge deploys too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoDeployedStatus {
    pub artefact: ArtefactName,
    pub version: Option<String>,
    pub state: CoDeployedState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoDeployedState {
    Running { ready: u32 },
    RollingOut { ready: u32, wanted: u32 },
    Failed { reason: String },
    Unknown,
}

/// The progress of the result's rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutProgress {
    pub ready: u32,
    pub wanted: u32,
    /// A condition that delays the rollout and that the cluster may still overcome.
    pub delayed_by: Option<String>,
}

/// The source of the proof that the running image was built from the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    TagPattern,
    RevisionLabel,
    GitTag,
    Report,
    /// For delivery by manifest: exactly the written tag or digest runs.
    Image,
}

impl Proof {
    /// The name in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TagPattern => "tag",
            Self::RevisionLabel => "label",
            Self::GitTag => "git_tag",
            Self::Report => "report",
            Self::Image => "image",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let all = [Self::TagPattern, Self::RevisionLabel, Self::GitTag, Self::Report, Self::Image];
        all.into_iter().find(|proof| proof.as_str() == text)
    }
}
