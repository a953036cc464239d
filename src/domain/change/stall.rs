//! The diagnosis of a deployment without a sign of life after the merge: where it may be stuck.

use jiff::Timestamp;

use crate::domain::model::version::Sha;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StallDiagnosis {
    /// The time of the last lookup in other systems.
    pub checked_at: Timestamp,
    pub branch: BranchFinding,
    pub build: BuildFinding,
    pub image: ImageFinding,
    /// The controller's last report on the artefact in this environment, on any subject.
    pub last_report: Option<ControllerMessage>,
    /// The version that runs instead.
    pub running_instead: Option<RunningInstead>,
}

/// The head of the branch that the change moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchFinding {
    AsMerged,
    MovedOn { to: Sha },
    Gone,
    Unread { why: String },
}

/// The state of the build of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildFinding {
    /// For delivery by manifest, the image existed before.
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
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageFinding {
    Present {
        tag: String,
    },
    /// There is no image of that name, or none that is named after the commit.
    Missing {
        name: String,
    },
    /// Images are not named after commits, so the image cannot be recognised.
    Unrecognisable,
    Unread {
        reason: String,
    },
}

/// A report of a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerMessage {
    /// The name of the sender in messages.
    pub sender: String,
    pub outcome: ReportedOutcome,
    pub text: String,
    /// The commit of the report, if it has one.
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
    /// The version came after the merge, and its commit is unknown.
    pub is_commit_unknown: bool,
}
