//! A change that is in the way of another one.

use jiff::Timestamp;

use super::merge_condition::MergeCondition;
use crate::domain::model::actor::{MemberLabel, PersonId};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Sha, Version};

/// A change that waits for approval or, once Git has it, for the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictingChange {
    pub id: ChangeId,
    pub requester: PersonId,
    pub version: Version,
    pub since: Timestamp,
    /// Git has it: only a rollback takes its place.
    pub merged: bool,
}

/// Somebody else is moving what would move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeInProgress {
    pub id: ChangeId,
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    pub requester: PersonId,
    pub since: Timestamp,
    pub stage: &'static str,
    /// Not merged yet: it can be cancelled.
    pub can_cancel: bool,
    pub is_rollback: bool,
    /// Set where it waits for approval.
    pub awaiting_approval: Option<Box<PendingApproval>>,
    pub asker_role: AskerRole,
}

/// The approvals and conditions that a change still waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingApproval {
    pub version: Version,
    /// The commit that people approve. `None` while there is nothing to see.
    pub commit: Option<Sha>,
    /// The branch of Git that it would move.
    pub branch: String,
    /// How many people must still approve.
    pub missing: u32,
    /// The people who may approve.
    pub asked: Vec<MemberLabel>,
    pub approved_by: Vec<PersonId>,
    pub waits_for: Vec<MergeCondition>,
}

/// What whoever asks is to a change of somebody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskerRole {
    /// Asked for it, and so can cancel it and not approve it.
    Requester,
    /// May approve there, and so can cancel it as well.
    Approver,
    Other,
}
