//! A change: the move of one artefact in one environment from one version to another, in stages.

pub mod approval;
#[expect(clippy::module_inception, reason = "private, and re-exported here")]
mod change;
mod deploying;
mod failure;
mod lock_key;
pub mod plan;
mod pull_request;
mod retry;
mod rule_inputs;
mod stage;
mod stall;
pub mod subscription;
mod timeline;

pub use change::{Change, format_change_trailer};
pub use deploying::{
    CoDeployedState, CoDeployedStatus, DeployState, Proof, ResultTag, RollbackStatus, RolloutProgress, TriggerOutcome,
};
pub use failure::FailureEvidence;
pub use lock_key::ChangeLockKey;
pub use pull_request::{PullRequestRef, ResultBranch, ResultCommit};
pub use retry::RetryState;
pub use stage::{CancelledBy, InvalidTransition, MergeState, Stage};
pub use stall::{
    BranchFinding, BuildFinding, ControllerMessage, ImageFinding, ReportedOutcome, RunningInstead, StallDiagnosis,
};
pub use timeline::ChangePhase;
