//! The facts for the rules of a promotion and for the gates.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::conflict::ConflictingChange;
use super::freeze::FreezeWindow;
use super::image_presence::ImagePresence;
use super::lock::Lock;
use super::quarantine::{Hold, Quarantine};
use crate::domain::git::checks::CiChecks;
use crate::domain::git::pending::PendingCommits;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::{Artefact, ManifestFile};
use crate::domain::model::environment::Environment;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Sha, Version};

/// The facts of a requested promotion.
#[derive(Debug)]
pub struct PromotionFacts<'a> {
    pub artefact: &'a Artefact,
    pub target: &'a Environment,
    pub below: &'a Environment,
    pub version: Version,
    /// `None` only for delivery by manifest, if the commit is unknown.
    pub pinned: Option<Sha>,
    pub from: Option<Version>,
    /// The file to write, for delivery by manifest.
    pub manifest: Option<ManifestFile>,
    /// The open rollbacks on the branch, newest first.
    pub rollbacks_to_undo: Vec<ChangeId>,
    pub image: ImagePresence,
    pub pending: PendingCommits,
    pub gate_inputs: GateInputs,
    /// The person who overrides closed gates, and the reason. The person has the right to do so.
    pub overriding: Option<(PersonId, Arc<str>)>,
    pub supersedes: Option<ConflictingChange>,
}

/// The inputs of the gates.
#[derive(Debug, Default)]
pub struct GateInputs {
    /// The locks in force that cover any of the affected artefacts.
    pub locks: Vec<Lock>,
    /// The freeze in force.
    pub freeze: Option<FreezeWindow>,
    /// How long a version must have been healthy in the environment below.
    pub soak: Option<SignedDuration>,
    /// The healthy time of the version in the environment below.
    pub healthy_since: Option<HealthySince>,
    /// The quarantines that cover the version.
    pub quarantines: Vec<Quarantine>,
    /// `None` if no commit is known, or if its checks are not evaluated.
    pub checked_commit: Option<CheckedCommit>,
    /// A commit without a green check is refused.
    pub checks_required: bool,
    /// The holds of earlier rollbacks on the affected artefacts.
    pub holds: Vec<Hold>,
    pub now: Timestamp,
}

/// The commit to promote, with its checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedCommit {
    pub commit: Sha,
    pub checks: CiChecks,
}

/// The healthy time of a version; `until` is set if the version no longer runs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthySince {
    pub since: Timestamp,
    pub until: Option<Timestamp>,
}
