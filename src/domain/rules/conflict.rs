//! A change that conflicts with a planned one.

use jiff::Timestamp;

use super::merge_condition::MergeCondition;
use crate::domain::model::actor::{MemberLabel, PersonId};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Sha, Version};

/// A change that the planned one would replace. It waits for approval or, after its merge, for the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictingChange {
    pub id: ChangeId,
    pub requester: PersonId,
    pub version: Version,
    pub since: Timestamp,
    /// The change is merged. Only a rollback can replace it.
    pub merged: bool,
}

/// A change in progress that holds the change lock which the planned one needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeInProgress {
    pub id: ChangeId,
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    pub requester: PersonId,
    pub since: Timestamp,
    pub stage: &'static str,
    /// The change is not merged yet, so it can be cancelled.
    pub can_cancel: bool,
    pub is_rollback: bool,
    /// Set if the change waits for approval.
    pub awaiting_approval: Option<Box<PendingApproval>>,
    pub asker_role: AskerRole,
}

/// The approvals and conditions that a change still waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingApproval {
    pub version: Version,
    /// The commit to approve; `None` while there is no result to show.
    pub commit: Option<Sha>,
    /// The Git branch that the change would move.
    pub branch: String,
    /// The number of approvals that are missing.
    pub missing: u32,
    /// The members who may approve.
    pub approvers: Vec<MemberLabel>,
    pub approved_by: Vec<PersonId>,
    pub waits_for: Vec<MergeCondition>,
}

/// The relation of the person who asks to the change in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskerRole {
    /// Requested the change: may cancel it, but not approve it.
    Requester,
    /// May approve changes in this environment, and so may cancel this one too.
    Approver,
    Other,
}
