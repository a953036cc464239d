//! What was last seen of a result that Git has and nobody else speaks of: where it may have got stuck.

use jiff::Timestamp;

use crate::domain::model::version::Sha;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StallDiagnosis {
    /// When the facts that others are asked for were last asked for.
    pub looked_at: Timestamp,
    pub branch: BranchFinding,
    pub build: BuildFinding,
    pub image: ImageFinding,
    /// What a controller last said of the artefact there, whatever it was about.
    pub word: Option<ControllerMessage>,
    /// What the cluster runs instead.
    pub runs: Option<RunningInstead>,
}

/// The head of the branch that the change moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchFinding {
    AsMerged,
    MovedOn { to: Sha },
    Gone,
    Unread { why: String },
}

/// What CI makes of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildFinding {
    /// By manifest the image was there before.
    NotNeeded,
    NotBegun,
    Running {
        names: Vec<String>,
    },
    Failed {
        names: Vec<String>,
        url: Option<String>,
    },
    Done,
    Unread {
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageFinding {
    There {
        tag: String,
    },
    /// None of that name, or none that is named after the commit.
    Missing {
        name: String,
    },
    /// Images there are not named after commits, so that nobody can tell.
    Untold,
    Unread {
        why: String,
    },
}

/// A controller's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerMessage {
    /// As people call who said it.
    pub by: String,
    pub said: ReportedOutcome,
    pub text: String,
    /// What it was about, as far as it said so.
    pub commit: Option<Sha>,
    pub at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportedOutcome {
    Succeeded,
    Failed,
    Progressing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningInstead {
    pub version: String,
    /// It came after the merge, and nothing tells which commit it was built from.
    pub untold: bool,
}
