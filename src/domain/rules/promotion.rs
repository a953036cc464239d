//! Facts to [`Permit`] or [`Refusal`]: the rules of a promotion, without I/O and without words for people.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::conflict::ChangeInProgress;
use super::gate::{self, GateInputs, GateOverride};
use super::lock::Lock;
use super::quarantine::Quarantine;
use crate::domain::change::plan::PromotionFacts;
use crate::domain::model::actor::MemberLabel;
use crate::domain::model::artefact::{Artefact, ArtefactName, Repository};
use crate::domain::model::catalogue::Ladder;
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::version::{Sha, Version};
use crate::domain::runtime::rollout::{Rollout, RolloutState};
use crate::domain::view::why::Obstacles;

/// The proof that the rules said yes. Nothing takes effect without one, and only [`check_promotion`] gives it.
#[derive(Debug)]
pub struct Permit {
    gate_override: Option<GateOverride>,
}

impl Permit {
    /// What would have held it back, had nobody overridden it.
    pub(in crate::domain) fn into_gate_override(self) -> Option<GateOverride> {
        self.gate_override
    }
}

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

/// May the artefact be promoted into that rung at all? Gives the rung below, where it comes from.
pub fn require_environment_below<'a>(
    artefact: &Artefact,
    target: &Environment,
    ladder: &'a Ladder,
) -> Result<&'a Environment, Refusal> {
    if !artefact.places.contains_key(&target.name) {
        let there =
            ladder.environments().iter().map(|rung| &rung.name).filter(|name| artefact.places.contains_key(*name));
        return Err(Refusal::NotInEnvironment {
            artefact: artefact.name.clone(),
            environment: target.name.clone(),
            environments: there.cloned().collect(),
        });
    }
    let Some(below) = ladder.find_next_below(&target.name, artefact) else {
        return Err(Refusal::FirstEnvironment {
            artefact: artefact.name.clone(),
            environment: target.name.clone(),
            branch: target.branch.clone(),
            next_environment: ladder.find_next_above(&target.name, artefact).map(|rung| rung.name.clone()),
        });
    };
    Ok(below)
}

/// May the artefact be rolled back in that rung at all?
pub fn check_rollback_target(artefact: &Artefact, target: &Environment, ladder: &Ladder) -> Result<(), Refusal> {
    match require_environment_below(artefact, target, ladder) {
        Ok(_) => Ok(()),
        Err(Refusal::FirstEnvironment { artefact, environment, branch, .. }) => {
            Err(Refusal::RepairByPush { artefact, environment, branch })
        }
        Err(refusal) => Err(refusal),
    }
}

/// The version that runs well below, if one does.
pub fn require_healthy_version(
    artefact: &Artefact,
    below: &Environment,
    rollout: &Rollout,
    ladder: &Ladder,
) -> Result<Version, Refusal> {
    let can_roll_back = ladder.find_next_below(&below.name, artefact).is_some();
    let (artefact, below) = (artefact.name.clone(), below.name.clone());
    match (&rollout.state, &rollout.version) {
        (RolloutState::Running { .. }, Some(version)) => Ok(version.clone()),
        (RolloutState::RollingOut { ready, wanted, .. }, Some(version)) => {
            Err(Refusal::RollingOut { artefact, below, version: version.clone(), ready: *ready, wanted: *wanted })
        }
        (RolloutState::Degraded { reason }, version) => {
            let (version, reason) = (version.clone(), reason.clone());
            Err(Refusal::Unhealthy { artefact, below, version, reason, can_roll_back })
        }
        (RolloutState::Unreadable { why, since }, _) => {
            Err(Refusal::Unreadable { below, why: why.clone(), since: *since })
        }
        _ => Err(Refusal::NotRunningBelow { artefact, below }),
    }
}

/// Would anything move? Everything that had to be asked of GitHub is known by now.
pub fn check_has_effect(facts: &PromotionFacts<'_>) -> Result<(), Refusal> {
    let PromotionFacts { artefact, target, pending, .. } = facts;
    let (name, environment) = (artefact.name.clone(), target.name.clone());
    let (version, runs) = (facts.version.clone(), facts.from.clone());
    // By manifest the image itself goes, which can be another of the same commit.
    if facts.manifest.is_some() && runs.as_ref().is_some_and(|runs| runs.is_same_image(&version)) {
        return Err(Refusal::NothingNew { artefact: name, environment, version, running: runs });
    }
    if facts.manifest.is_some() && pending.ahead_by == 0 && pending.behind_by > 0 {
        return Err(Refusal::Downgrade { artefact: name, environment, version, running: runs });
    }
    if pending.is_target_newer() && pending.ahead_by == 0 {
        return Err(Refusal::Downgrade { artefact: name, environment, version, running: runs });
    }
    if pending.ahead_by == 0 && facts.manifest.is_none() {
        return Err(Refusal::NothingNew { artefact: name, environment, version, running: runs });
    }
    if pending.ahead_by > 0 && !pending.files.may_be_relevant_to(artefact) {
        let paths = artefact.paths.clone();
        return Err(Refusal::NothingForIt { artefact: name, environment, commits: pending.ahead_by, paths });
    }
    Ok(())
}

/// The last word. There is a permit only where nothing at all was found to stand in the way.
pub fn check_promotion(facts: &PromotionFacts<'_>, obstacles: &mut Obstacles) -> Result<Permit, Refusal> {
    if let Err(nothing) = check_has_effect(facts) {
        obstacles.record_refusal(nothing)?;
        // What does not move stands before no gate of its own; those around the environment are shut all the same.
        check_environment_gates(&facts.gate_inputs, facts.target, obstacles)?;
    }
    let mut overridden = Vec::new();
    for (gate, refusal) in gate::closed_gates(facts) {
        match facts.overriding {
            Some(_) => overridden.push(gate),
            None => obstacles.record_refusal(refusal)?,
        }
    }
    obstacles.finish_check()?;
    let overridden = facts.overriding.as_ref().filter(|_| !overridden.is_empty()).map(|(by, reason)| GateOverride {
        by: by.clone(),
        reason: reason.to_string(),
        gates: overridden,
    });
    Ok(Permit { gate_override: overridden })
}

/// Nothing tells what would go: what is shut around the environment is known without that.
pub fn check_environment_gates(
    inputs: &GateInputs,
    target: &Environment,
    obstacles: &mut Obstacles,
) -> Result<(), Refusal> {
    for (_, refusal) in gate::environment_gates(inputs, &target.name) {
        obstacles.record_refusal(refusal)?;
    }
    obstacles.finish_check()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::git::checks::CiChecks;
    use crate::domain::git::comparison::ListedCommit;
    use crate::domain::git::pending::PendingCommits;
    use crate::domain::sample;

    fn facts(
        catalogue: &crate::domain::model::catalogue::Catalogue,
        pending: PendingCommits,
        checks: CiChecks,
    ) -> PromotionFacts<'_> {
        PromotionFacts { pending, checks, ..sample::facts(catalogue, gate::GateInputs::default()) }
    }

    fn ahead(path: &str) -> PendingCommits {
        PendingCommits { ahead_by: 1, files: sample::files(&[path]), ..PendingCommits::default() }
    }

    #[test]
    fn the_last_word_names_what_stands_in_the_way() {
        let catalogue = sample::catalogue();
        let newer = {
            let (sha, commit) = (sample::sha, |digit| sample::commit(digit, ""));
            let merge = ListedCommit::new(commit('b'), vec![sha('0'), sha('c')], None, None);
            let merged = ListedCommit::new(commit('c'), vec![sha('0')], None, None);
            PendingCommits { head: Some(sha('b')), only_in_target: vec![merge, merged], ..PendingCommits::default() }
        };
        let red = CiChecks { red: vec!["build".into()], ..CiChecks::default() };
        let running = CiChecks { running: vec!["build".into()], ..CiChecks::default() };
        let cases = [
            ("it goes", ahead("mailer/a.rs"), CiChecks::default(), "permit"),
            ("nothing new", PendingCommits::default(), CiChecks::default(), "NothingNew"),
            ("the target is newer", newer, CiChecks::default(), "Downgrade"),
            ("nothing for it", ahead("storefront/a.rs"), CiChecks::default(), "NothingForIt"),
            ("a red check", ahead("mailer/a.rs"), red, "RedChecks"),
            ("a check that runs", ahead("mailer/a.rs"), running, "RunningChecks"),
        ];
        for (name, pending, checks, expected) in cases {
            let said = match check_promotion(&facts(&catalogue, pending, checks), &mut Obstacles::new_first_only()) {
                Ok(_) => "permit".to_owned(),
                Err(refusal) => format!("{refusal:?}"),
            };
            assert!(said.starts_with(expected), "{name}: {said}");
        }
    }

    #[test]
    fn no_check_is_green_unless_one_is_required() {
        let catalogue = sample::catalogue();
        let mut facts = facts(&catalogue, ahead("mailer/a.rs"), CiChecks::default());
        assert!(check_promotion(&facts, &mut Obstacles::new_first_only()).is_ok());
        facts.checks_required = true;
        assert!(matches!(check_promotion(&facts, &mut Obstacles::new_first_only()), Err(Refusal::NoChecks { .. })));
        facts.checks.green = 1;
        assert!(check_promotion(&facts, &mut Obstacles::new_first_only()).is_ok());
    }

    #[test]
    fn a_list_of_files_that_was_cut_may_concern_anybody() {
        let catalogue = sample::catalogue();
        let mut pending = ahead("storefront/a.rs");
        pending.files.cut = true;
        assert!(
            check_promotion(&facts(&catalogue, pending, CiChecks::default()), &mut Obstacles::new_first_only()).is_ok()
        );
    }
}
