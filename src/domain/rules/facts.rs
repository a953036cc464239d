//! The facts that the rules of a promotion and its gates are applied to.

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

/// What is known when a promotion is asked for.
#[derive(Debug)]
pub struct PromotionFacts<'a> {
    pub artefact: &'a Artefact,
    pub target: &'a Environment,
    pub below: &'a Environment,
    pub version: Version,
    /// `None` only by manifest, where nothing tells it.
    pub pinned: Option<Sha>,
    pub from: Option<Version>,
    /// The file that would be written, where it goes by manifest.
    pub manifest: Option<ManifestFile>,
    /// The rollbacks that are open on the branch, newest first.
    pub undoes: Vec<ChangeId>,
    pub image: ImagePresence,
    pub pending: PendingCommits,
    pub gate_inputs: GateInputs,
    /// Who wants to pass the gates that are shut, and why; they may.
    pub overriding: Option<(PersonId, Arc<str>)>,
    pub supersedes: Option<ConflictingChange>,
}

/// What the gates look at.
#[derive(Debug, Default)]
pub struct GateInputs {
    /// Those in force that cover anything of what would move.
    pub locks: Vec<Lock>,
    /// The freeze that is in force.
    pub freeze: Option<FreezeWindow>,
    /// How long a version must have run well below.
    pub soak: Option<SignedDuration>,
    /// How it did.
    pub healthy_since: Option<HealthySince>,
    /// What was rolled back from and would come again.
    pub quarantines: Vec<Quarantine>,
    /// `None` where no commit is known, or its checks are not judged.
    pub checked_commit: Option<CheckedCommit>,
    /// A commit without any green check is held back.
    pub checks_required: bool,
    /// What rollbacks left there, of what would move.
    pub holds: Vec<Hold>,
    pub now: Timestamp,
}

/// A commit that would move, with the results of its checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedCommit {
    pub commit: Sha,
    pub checks: CiChecks,
}

/// Since when a version has run well without interruption, and until when, if it runs there no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthySince {
    pub since: Timestamp,
    pub until: Option<Timestamp>,
}
