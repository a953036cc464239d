//! A no by the rules, without words for people.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::conflict::ChangeInProgress;
use super::lock::Lock;
use super::quarantine::Quarantine;
use crate::domain::model::actor::MemberLabel;
use crate::domain::model::artefact::{ArtefactName, Repository};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Sha, Version};

/// A no by the rules, with all that is needed to say why and what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The artefact is not in this environment; it is in those.
    NotInEnvironment {
        artefact: ArtefactName,
        environment: EnvironmentName,
        environments: Vec<EnvironmentName>,
    },
    /// The first rung is fed by pushes.
    FirstEnvironment {
        artefact: ArtefactName,
        environment: EnvironmentName,
        branch: String,
        next_environment: Option<EnvironmentName>,
    },
    /// The first rung is never rolled back.
    RepairByPush {
        artefact: ArtefactName,
        environment: EnvironmentName,
        branch: String,
    },
    /// What would go was rolled back from, there or below.
    Quarantined {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        quarantine: Box<Quarantine>,
        /// A rollback was to bring it, and passes no gate.
        by_rollback: bool,
    },
    /// What runs below is what a rollback made: older code than it had, whose history has the bad one in it.
    RolledBackBelow {
        artefact: ArtefactName,
        environment: EnvironmentName,
        below: EnvironmentName,
        version: Version,
        /// The environment has what was rolled back, so that it would lose it, too.
        would_revert_target: bool,
        restored: Option<String>,
    },
    /// The branch had it before a rollback, so Git would merge nothing.
    MergedBeforeRollback {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        /// As it was called there.
        ran_as: String,
    },
    /// Nobody knows of a version before the one that is there.
    NoPreviousVersion {
        artefact: ArtefactName,
        environment: EnvironmentName,
        current: Option<Version>,
    },
    /// It would be rolled back to what it is.
    SameCode {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
    },
    /// A tag of ours in Git by which a version was named is at another commit now.
    TagMoved {
        artefact: ArtefactName,
        environment: EnvironmentName,
        tag: String,
        /// As it ran there.
        version: Version,
        current_commit: Sha,
    },
    /// The change that is to be rolled back is not what is there any more.
    NoLongerDeployed {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        current: Option<Version>,
    },
    /// The registry does not have the image any more, or has another one under its tag. One before it is there.
    ImageMissing {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        /// Its tag is there, and is another image now.
        tag_moved: bool,
        alternative: Option<String>,
    },
    /// The manifest cannot be written as it should be.
    ManifestProblem {
        artefact: ArtefactName,
        repository: Repository,
        file: String,
        problem: String,
    },
    /// Not one of those who may.
    NotPermitted {
        action: RestrictedAction,
        environment: EnvironmentName,
        permitted: Vec<MemberLabel>,
    },
    /// Nothing is behind: all rungs have what the rung below runs.
    NothingToPromote {
        artefact: ArtefactName,
    },
    /// Nothing runs below.
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
        /// It is not the first rung, which is only repaired by a push.
        can_roll_back: bool,
    },
    Unreadable {
        below: EnvironmentName,
        why: Arc<str>,
        since: Timestamp,
    },
    /// The version that was named never ran well below; those did.
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
    /// New commits, but none that concerns this artefact.
    NothingForIt {
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
    /// Somebody locked what would move.
    Locked {
        lock: Lock,
        environment: EnvironmentName,
    },
    /// The calendar lets nobody change it until then.
    Frozen {
        environment: EnvironmentName,
        until: Timestamp,
        reason: Option<String>,
    },
    /// It has not run well below for long enough; it will have then, if it goes on so.
    Soaking {
        artefact: ArtefactName,
        environment: EnvironmentName,
        below: EnvironmentName,
        version: Version,
        soak: SignedDuration,
        until: Option<Timestamp>,
    },
}

/// What somebody may do in an environment, or may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestrictedAction {
    Promote,
    Approve,
    Cancel,
    Override,
    RollBack,
    Release,
}
