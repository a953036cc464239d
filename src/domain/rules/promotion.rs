//! Facts to [`Permit`] or [`Refusal`]: the rules of a promotion, without I/O and without words for people.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::gate::{self, Overridden, Watch};
use super::lock::Lock;
use super::quarantine::Quarantine;
use crate::domain::change::plan::Facts;
use crate::domain::change::{Change, ChangeId};
use crate::domain::model::actor::{Called, PersonId};
use crate::domain::model::artefact::{Artefact, ArtefactName, Repository};
use crate::domain::model::environment::{Environment, EnvironmentName, Ladder};
use crate::domain::model::version::{Sha, Version};
use crate::domain::runtime::rollout::{Rollout, RolloutState};
use crate::domain::view::why::Blockers;

/// The proof that the rules said yes. Nothing takes effect without one, and only [`check`] gives it.
#[derive(Debug)]
pub struct Permit {
    overridden: Option<Overridden>,
}

impl Permit {
    /// What would have held it back, had nobody overridden it.
    pub(in crate::domain) fn into_overridden(self) -> Option<Overridden> {
        self.overridden
    }
}

/// A no by the rules, with all that is needed to say why and what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The artefact is not in this environment; it is in those.
    NotThere {
        artefact: ArtefactName,
        environment: EnvironmentName,
        there: Vec<EnvironmentName>,
    },
    /// The first rung is fed by pushes.
    FirstRung {
        artefact: ArtefactName,
        environment: EnvironmentName,
        branch: String,
        above: Option<EnvironmentName>,
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
        takes_back: bool,
        restored: Option<String>,
    },
    /// The branch had it before a rollback, so Git would merge nothing.
    BeforeRollback {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        /// As it was called there.
        ran_as: String,
    },
    /// Nobody knows of a version before the one that is there.
    NoPrevious {
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
        now: Sha,
    },
    /// The change that is to be rolled back is not what is there any more.
    NotThereAnyMore {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        current: Option<Version>,
    },
    /// The registry does not have the image any more, or has another one under its tag. One before it is there.
    ImageGone {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        /// Its tag is there, and is another image now.
        moved: bool,
        instead: Option<String>,
    },
    /// The manifest cannot be written as it should be.
    Manifest {
        artefact: ArtefactName,
        repository: Repository,
        file: String,
        problem: String,
    },
    /// Not one of those who may.
    MayNot {
        act: Act,
        environment: EnvironmentName,
        who: Vec<Called>,
    },
    /// Nothing is behind: all rungs have what the rung below runs.
    NothingBehind {
        artefact: ArtefactName,
    },
    /// Nothing runs below.
    Missing {
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
        can_go_back: bool,
    },
    Unreadable {
        below: EnvironmentName,
        why: Arc<str>,
        since: Timestamp,
    },
    /// The version that was named never ran well below; those did.
    NeverRan {
        artefact: ArtefactName,
        below: EnvironmentName,
        version: String,
        ran: Vec<String>,
    },
    CommitUnknown {
        artefact: ArtefactName,
        below: EnvironmentName,
        version: Version,
    },
    UnderWay(UnderWay),
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
        runs: Option<Version>,
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
        runs: Option<Version>,
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

/// Somebody else is moving what would move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderWay {
    pub id: ChangeId,
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    pub requester: PersonId,
    pub since: Timestamp,
    pub stage: &'static str,
    /// Not merged yet: it can be cancelled.
    pub can_cancel: bool,
    pub rolls_back: bool,
    /// The change itself, where it waits for approval.
    pub waiting: Option<Box<Change>>,
    pub asker: Asker,
}

/// What whoever asks is to a change of somebody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// Asked for it, and so can cancel it and not approve it.
    Requester,
    /// May approve there, and so can cancel it as well.
    Approver,
    Other,
}

impl From<&Change> for UnderWay {
    fn from(change: &Change) -> Self {
        Self {
            id: change.id,
            artefact: change.plan.artefact.clone(),
            environment: change.plan.environment.clone(),
            requester: change.requester.clone(),
            since: change.asked_at,
            stage: change.stage.words(),
            can_cancel: change.stage.can_cancel(),
            rolls_back: change.plan.rollback.is_some(),
            waiting: change.stage.awaiting().is_some().then(|| Box::new(change.clone())),
            asker: Asker::Other,
        }
    }
}

/// What somebody may do in an environment, or may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Promote,
    Approve,
    Cancel,
    Override,
    RollBack,
    Release,
}

/// May the artefact be promoted into that rung at all? Gives the rung below, where it comes from.
pub fn rung<'a>(artefact: &Artefact, target: &Environment, ladder: &'a Ladder) -> Result<&'a Environment, Refusal> {
    if !artefact.places.contains_key(&target.name) {
        let there = ladder.rungs().iter().map(|rung| &rung.name).filter(|name| artefact.places.contains_key(*name));
        return Err(Refusal::NotThere {
            artefact: artefact.name.clone(),
            environment: target.name.clone(),
            there: there.cloned().collect(),
        });
    }
    let Some(below) = ladder.below(&target.name, artefact) else {
        return Err(Refusal::FirstRung {
            artefact: artefact.name.clone(),
            environment: target.name.clone(),
            branch: target.branch.clone(),
            above: ladder.above(&target.name, artefact).map(|rung| rung.name.clone()),
        });
    };
    Ok(below)
}

/// May the artefact be rolled back in that rung at all?
pub fn can_go_back(artefact: &Artefact, target: &Environment, ladder: &Ladder) -> Result<(), Refusal> {
    match rung(artefact, target, ladder) {
        Ok(_) => Ok(()),
        Err(Refusal::FirstRung { artefact, environment, branch, .. }) => {
            Err(Refusal::RepairByPush { artefact, environment, branch })
        }
        Err(refusal) => Err(refusal),
    }
}

/// The version that runs well below, if one does.
pub fn runs_well(
    artefact: &Artefact,
    below: &Environment,
    rollout: &Rollout,
    ladder: &Ladder,
) -> Result<Version, Refusal> {
    let can_go_back = ladder.below(&below.name, artefact).is_some();
    let (artefact, below) = (artefact.name.clone(), below.name.clone());
    match (&rollout.state, &rollout.version) {
        (RolloutState::Running { .. }, Some(version)) => Ok(version.clone()),
        (RolloutState::RollingOut { ready, wanted, .. }, Some(version)) => {
            Err(Refusal::RollingOut { artefact, below, version: version.clone(), ready: *ready, wanted: *wanted })
        }
        (RolloutState::Degraded { reason }, version) => {
            let (version, reason) = (version.clone(), reason.clone());
            Err(Refusal::Unhealthy { artefact, below, version, reason, can_go_back })
        }
        (RolloutState::Unreadable { why, since }, _) => {
            Err(Refusal::Unreadable { below, why: why.clone(), since: *since })
        }
        _ => Err(Refusal::Missing { artefact, below }),
    }
}

/// Would anything move? Everything that had to be asked of GitHub is known by now.
pub fn moves(facts: &Facts<'_>) -> Result<(), Refusal> {
    let Facts { artefact, target, pending, .. } = facts;
    let (name, environment) = (artefact.name.clone(), target.name.clone());
    let (version, runs) = (facts.version.clone(), facts.from.clone());
    // By manifest the image itself goes, which can be another of the same commit.
    if facts.manifest.is_some() && runs.as_ref().is_some_and(|runs| runs.is_image(&version)) {
        return Err(Refusal::NothingNew { artefact: name, environment, version, runs });
    }
    if facts.manifest.is_some() && pending.ahead_by == 0 && pending.behind_by > 0 {
        return Err(Refusal::Downgrade { artefact: name, environment, version, runs });
    }
    if pending.target_is_newer() && pending.ahead_by == 0 {
        return Err(Refusal::Downgrade { artefact: name, environment, version, runs });
    }
    if pending.ahead_by == 0 && facts.manifest.is_none() {
        return Err(Refusal::NothingNew { artefact: name, environment, version, runs });
    }
    if pending.ahead_by > 0 && !pending.files.concern(artefact) {
        let paths = artefact.paths.clone();
        return Err(Refusal::NothingForIt { artefact: name, environment, commits: pending.ahead_by, paths });
    }
    Ok(())
}

/// The last word. There is a permit only where nothing at all was found to stand in the way.
pub fn check(facts: &Facts<'_>, blockers: &mut Blockers) -> Result<Permit, Refusal> {
    if let Err(nothing) = moves(facts) {
        blockers.add(nothing)?;
        // What does not move stands before no gate of its own; those around the environment are shut all the same.
        check_around(&facts.watch, facts.target, blockers)?;
    }
    let mut overridden = Vec::new();
    for (gate, refusal) in gate::shut(facts) {
        match facts.overriding {
            Some(_) => overridden.push(gate),
            None => blockers.add(refusal)?,
        }
    }
    blockers.end()?;
    let overridden = facts.overriding.as_ref().filter(|_| !overridden.is_empty()).map(|(by, reason)| Overridden {
        by: by.clone(),
        reason: reason.to_string(),
        gates: overridden,
    });
    Ok(Permit { overridden })
}

/// Nothing tells what would go: what is shut around the environment is known without that.
pub fn check_around(watch: &Watch, target: &Environment, blockers: &mut Blockers) -> Result<(), Refusal> {
    for (_, refusal) in gate::around(watch, &target.name) {
        blockers.add(refusal)?;
    }
    blockers.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::plan::{Checks, Pending};
    use crate::domain::git::comparison::Lone;
    use crate::domain::sample;

    fn facts(catalogue: &crate::domain::model::environment::Catalogue, pending: Pending, checks: Checks) -> Facts<'_> {
        Facts { pending, checks, ..sample::facts(catalogue, gate::Watch::default()) }
    }

    fn ahead(path: &str) -> Pending {
        Pending { ahead_by: 1, files: sample::files(&[path]), ..Pending::default() }
    }

    #[test]
    fn the_last_word_names_what_stands_in_the_way() {
        let catalogue = sample::catalogue();
        let newer = {
            let (sha, commit) = (sample::sha, |digit| sample::commit(digit, ""));
            let merge = Lone::new(commit('b'), vec![sha('0'), sha('c')], None, None);
            let merged = Lone::new(commit('c'), vec![sha('0')], None, None);
            Pending { head: Some(sha('b')), only_there: vec![merge, merged], ..Pending::default() }
        };
        let red = Checks { red: vec!["build".into()], ..Checks::default() };
        let running = Checks { running: vec!["build".into()], ..Checks::default() };
        let cases = [
            ("it goes", ahead("mailer/a.rs"), Checks::default(), "permit"),
            ("nothing new", Pending::default(), Checks::default(), "NothingNew"),
            ("the target is newer", newer, Checks::default(), "Downgrade"),
            ("nothing for it", ahead("storefront/a.rs"), Checks::default(), "NothingForIt"),
            ("a red check", ahead("mailer/a.rs"), red, "RedChecks"),
            ("a check that runs", ahead("mailer/a.rs"), running, "RunningChecks"),
        ];
        for (name, pending, checks, expected) in cases {
            let said = match check(&facts(&catalogue, pending, checks), &mut Blockers::first()) {
                Ok(_) => "permit".to_owned(),
                Err(refusal) => format!("{refusal:?}"),
            };
            assert!(said.starts_with(expected), "{name}: {said}");
        }
    }

    #[test]
    fn no_check_is_green_unless_one_is_required() {
        let catalogue = sample::catalogue();
        let mut facts = facts(&catalogue, ahead("mailer/a.rs"), Checks::default());
        assert!(check(&facts, &mut Blockers::first()).is_ok());
        facts.checks_required = true;
        assert!(matches!(check(&facts, &mut Blockers::first()), Err(Refusal::NoChecks { .. })));
        facts.checks.green = 1;
        assert!(check(&facts, &mut Blockers::first()).is_ok());
    }

    #[test]
    fn a_list_of_files_that_was_cut_may_concern_anybody() {
        let catalogue = sample::catalogue();
        let mut pending = ahead("storefront/a.rs");
        pending.files.cut = true;
        assert!(check(&facts(&catalogue, pending, Checks::default()), &mut Blockers::first()).is_ok());
    }
}
