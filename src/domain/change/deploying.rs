//! What is known of a change once Git has it: its tag, its proof, how far it is, and what became of those that moved along.

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
    /// The commit that the environment's branch got: what must run in the end, or a descendant of it.
    pub result: Sha,
    pub merged_at: Timestamp,
    pub deadline: Timestamp,
    pub tag: ResultTag,
    /// Set when the controller was told to look, or could not be.
    pub nudge: Option<TriggerOutcome>,
    pub rollout: Option<RolloutProgress>,
    /// What the artefacts do that are carried along.
    pub others: Vec<CoDeployedStatus>,
    /// Why nobody can tell yet whether it runs.
    pub trouble: Option<RetryState>,
    /// The approvals that it was merged by.
    pub approvals: Vec<Approval>,
    /// Somebody merged the pull request by hand, before all had said yes.
    pub by_hand: Option<String>,
    /// Where the branch stood when it was merged, if that is not what was shown: it moved at the last moment.
    pub unseen: Option<Sha>,
    /// The image that the result runs as.
    pub runs_as: Option<String>,
    pub rolled_back: Option<RollbackStatus>,
    /// When CI said that the result is built.
    pub built_at: Option<Timestamp>,
    /// When the rollout of the result was first seen.
    pub seen_at: Option<Timestamp>,
    /// While there is no sign of life: what was last seen.
    pub silence: Option<Box<StallDiagnosis>>,
    /// Who wrote what did not run, and was told so: nobody is told twice.
    pub authors: Option<Vec<PersonId>>,
}

/// What became of a promotion that had been merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RollbackStatus {
    /// Git says the version before it.
    Done { by: ChangeId, at: Timestamp },
    /// The environment's rule began a rollback.
    Begun { by: ChangeId },
    /// The environment's rule would, but could not.
    Impossible { why: String },
}

/// The tag that marks the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultTag {
    NotYet,
    /// Its name is stored before it is made, so that a restart does not choose another.
    Chosen {
        name: String,
        tries: u32,
    },
    Made {
        name: String,
        at: Timestamp,
    },
    /// A warning on the card, no more.
    Missing {
        why: String,
    },
}

impl ResultTag {
    pub(super) fn is_pending(&self) -> bool {
        matches!(self, Self::NotYet | Self::Chosen { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerOutcome {
    Done,
    Failed { why: String },
}

/// Another artefact of the same repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoDeployedStatus {
    pub artefact: ArtefactName,
    pub version: Option<String>,
    pub state: CoDeployedState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoDeployedState {
    Runs { ready: u32 },
    RollsOut { ready: u32, wanted: u32 },
    Fails { reason: String },
    Unknown,
}

/// How far the rollout of the result has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutProgress {
    pub ready: u32,
    pub wanted: u32,
    /// A condition that delays the rollout and that the cluster may still overcome.
    pub delayed_by: Option<String>,
}

/// What told us which commit the running image was built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    TagPattern,
    RevisionLabel,
    GitTag,
    Report,
    /// By manifest: exactly the tag or digest that was written.
    Image,
}

impl Proof {
    /// As the store keeps it.
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
        all.into_iter().find(|it| it.as_str() == text)
    }
}
