//! The refusals of the rules, without text for people.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::conflict::ChangeInProgress;
use super::lock::Lock;
use super::quarantine::Quarantine;
use crate::domain::model::actor::MemberLabel;
use crate::domain::model::artefact::{ArtefactName, Repository};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Sha, Version};

/// A refusal, with all data for the explanation and the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The artefact is not in this environment, but in `environments`.
    NotInEnvironment {
        artefact: ArtefactName,
        environment: EnvironmentName,
        environments: Vec<EnvironmentName>,
    },
    /// The first environment gets its versions by pushes, not by promotions.
    FirstEnvironment {
        artefact: ArtefactName,
        environment: EnvironmentName,
        branch: String,
        next_environment: Option<EnvironmentName>,
    },
    /// The first environment is never rolled back.
    RepairByPush {
        artefact: ArtefactName,
        environment: EnvironmentName,
        branch: String,
    },
    /// The version was rolled back, in this environment or below.
    Quarantined {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        quarantine: Box<Quarantine>,
        /// The refused request is a rollback to this version. A rollback cannot override the quarantine.
        by_rollback: bool,
    },
    /// The version below is the result of a rollback: its code is older, and the bad version is in its history.
    RolledBackBelow {
        artefact: ArtefactName,
        environment: EnvironmentName,
        below: EnvironmentName,
        version: Version,
        /// The target still has the commits that were rolled back below, and would lose them too.
        would_revert_target: bool,
        restored: Option<String>,
    },
    /// The branch had the version before a rollback, so a merge would change nothing.
    MergedBeforeRollback {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        /// The label under which the version ran.
        ran_as: String,
    },
    /// No version before the current one is known.
    NoPreviousVersion {
        artefact: ArtefactName,
        environment: EnvironmentName,
        current: Option<Version>,
    },
    /// The version to go back to is the current one.
    SameCode {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
    },
    /// Gantry's Git tag that names the version now points at another commit.
    TagMoved {
        artefact: ArtefactName,
        environment: EnvironmentName,
        tag: String,
        /// The version as it ran in the environment.
        version: Version,
        current_commit: Sha,
    },
    /// The version of the change to roll back is no longer the current one.
    NoLongerDeployed {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        current: Option<Version>,
    },
    /// The registry no longer has the image, or has another one under its tag. `alternative` is an earlier version that
    /// it has.
    ImageMissing {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        /// The tag exists, but is another image now.
        tag_moved: bool,
        alternative: Option<String>,
    },
    /// The manifest cannot be written.
    ManifestProblem {
        artefact: ArtefactName,
        repository: Repository,
        file: String,
        problem: String,
    },
    /// The person has no right to the action.
    NotPermitted {
        action: RestrictedAction,
        environment: EnvironmentName,
        permitted: Vec<MemberLabel>,
    },
    /// Every environment already has the version of the one below.
    NothingToPromote {
        artefact: ArtefactName,
    },
    /// Nothing runs in the environment below.
    NotRunningBelow {
        artefact: ArtefactName,
        below: EnvironmentName,
    },
    RollingOut {
        artefact: ArtefactName,
        below: EnvironmentName,
        version: Version,
        ready: u32,
        wanted: u32,
    },
    Unhealthy {
        artefact: ArtefactName,
        below: EnvironmentName,
        version: Option<Version>,
        reason: Arc<str>,
        /// The environment below can be rolled back. `false`: it is the first one, which only a push can repair.
        can_roll_back: bool,
    },
    Unreadable {
        below: EnvironmentName,
        reason: Arc<str>,
        since: Timestamp,
    },
    /// The named version was never healthy below; `healthy_versions` were.
    NeverRanHealthy {
        artefact: ArtefactName,
        below: EnvironmentName,
        version: String,
        healthy_versions: Vec<String>,
    },
    CommitUnknown {
        artefact: ArtefactName,
        below: EnvironmentName,
        version: Version,
    },
    ChangeInProgress(ChangeInProgress),
    BranchMissing {
        environment: EnvironmentName,
        repository: Repository,
        branch: String,
        pinned: Sha,
    },
    NoCommonAncestor {
        repository: Repository,
        branch: String,
        pinned: Sha,
    },
    NothingNew {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        running: Option<Version>,
    },
    /// There are new commits, but none of them affects this artefact.
    NoRelevantChanges {
        artefact: ArtefactName,
        environment: EnvironmentName,
        commits: u64,
        paths: Vec<String>,
    },
    Downgrade {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        running: Option<Version>,
    },
    RedChecks {
        pinned: Sha,
        names: Vec<String>,
        url: Option<String>,
    },
    RunningChecks {
        pinned: Sha,
        names: Vec<String>,
        url: Option<String>,
    },
    NoChecks {
        environment: EnvironmentName,
        pinned: Sha,
    },
    /// A person locked the environment or an affected artefact.
    Locked {
        lock: Lock,
        environment: EnvironmentName,
    },
    /// A freeze forbids changes until then.
    Frozen {
        environment: EnvironmentName,
        until: Timestamp,
        reason: Option<String>,
    },
    /// The version has not been healthy below for long enough. `until` is the end of the soak, if the version stays
    /// healthy.
    Soaking {
        artefact: ArtefactName,
        environment: EnvironmentName,
        below: EnvironmentName,
        version: Version,
        soak: SignedDuration,
        until: Option<Timestamp>,
    },
}

/// An action for which a person needs a right in the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestrictedAction {
    Promote,
    Approve,
    Cancel,
    Override,
    RollBack,
    Release,
}
