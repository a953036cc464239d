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

pub(in crate::domain) use change::id_at;
pub use change::{Change, ChangeId, Moves, SHORT, trailer};
pub use deploying::{Deploying, Nudge, Other, OtherState, Progress, Proof, RolledBack, Tag};
pub use failure::FailureEvidence;
pub use pull_request::{Frozen, FrozenResult, Pull};
pub use stage::{By, Impossible, Merging, Stage, Trouble};
pub use stall::{BranchSeen, BuildSeen, ImageSeen, Runs, Silence, Word, WordSaid};
pub use timeline::Step;
