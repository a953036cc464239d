//! A change: one artefact in one environment going from one version to another, through its stages.

pub mod approval;
#[expect(clippy::module_inception, reason = "private, and re-exported here")]
mod change;
mod deploying;
mod failure;
pub mod plan;
mod pull_request;
mod stage;
mod stall;
pub mod subscription;
mod timeline;

pub use change::{Change, ChangeLockKey, format_change_trailer};
pub use deploying::{
    CoDeployedState, CoDeployedStatus, DeployState, Proof, ResultTag, RollbackStatus, RolloutProgress, TriggerOutcome,
};
pub use failure::FailureEvidence;
pub use pull_request::{PullRequestRef, ResultBranch, ResultCommit};
pub use stage::{CancelledBy, InvalidTransition, MergeState, RetryState, Stage};
pub use stall::{
    BranchFinding, BuildFinding, ControllerMessage, ImageFinding, ReportedOutcome, RunningInstead, StallDiagnosis,
};
pub use timeline::ChangePhase;
