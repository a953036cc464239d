//! The rules of a promotion: from facts to a [`Permit`] or a [`Refusal`], without I/O and without text for people.

use super::facts::{GateInputs, PromotionFacts};
use super::gate::{self, GateMoment, GateOverride};
use super::obstacles::Obstacles;
use super::permit::Permit;
use super::refusal::Refusal;
use crate::domain::model::artefact::Artefact;
use crate::domain::model::catalogue::Ladder;
use crate::domain::model::environment::Environment;
use crate::domain::model::version::Version;
use crate::domain::runtime::rollout::{Rollout, RolloutState};

/// Checks that the artefact can be promoted into the target. Returns the environment below, from which the version
/// comes.
pub fn require_environment_below<'a>(
    artefact: &Artefact,
    target: &Environment,
    ladder: &'a Ladder,
) -> Result<&'a Environment, Refusal> {
    if !artefact.places.contains_key(&target.name) {
        let environments = ladder
            .environments()
            .iter()
            .map(|environment| &environment.name)
            .filter(|name| artefact.places.contains_key(*name));
        return Err(Refusal::NotInEnvironment {
            artefact: artefact.name.clone(),
            environment: target.name.clone(),
            environments: environments.cloned().collect(),
        });
    }
    let Some(below) = ladder.find_next_below(&target.name, artefact) else {
        return Err(Refusal::FirstEnvironment {
            artefact: artefact.name.clone(),
            environment: target.name.clone(),
            branch: target.branch.clone(),
            next_environment: ladder
                .find_next_above(&target.name, artefact)
                .map(|environment| environment.name.clone()),
        });
    };
    Ok(below)
}

/// Checks that the artefact can be rolled back in the target.
pub fn check_rollback_target(artefact: &Artefact, target: &Environment, ladder: &Ladder) -> Result<(), Refusal> {
    match require_environment_below(artefact, target, ladder) {
        Ok(_) => Ok(()),
        Err(Refusal::FirstEnvironment { artefact, environment, branch, .. }) => {
            Err(Refusal::RepairByPush { artefact, environment, branch })
        }
        Err(refusal) => Err(refusal),
    }
}

/// The healthy version in the environment below.
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
        (RolloutState::Unreadable { reason: why, since }, _) => {
            Err(Refusal::Unreadable { below, reason: why.clone(), since: *since })
        }
        _ => Err(Refusal::NotRunningBelow { artefact, below }),
    }
}

/// Checks that the promotion would change something. All facts from GitHub are known by now.
pub fn check_has_effect(facts: &PromotionFacts<'_>) -> Result<(), Refusal> {
    let PromotionFacts { artefact, target, pending, .. } = facts;
    let (name, environment) = (artefact.name.clone(), target.name.clone());
    let (version, running) = (facts.version.clone(), facts.from.clone());
    // Delivery by manifest promotes the image itself. The same commit can have another image.
    if facts.manifest.is_some() && running.as_ref().is_some_and(|running| running.is_same_image(&version)) {
        return Err(Refusal::NothingNew { artefact: name, environment, version, running });
    }
    if facts.manifest.is_some() && pending.ahead_by == 0 && pending.behind_by > 0 {
        return Err(Refusal::Downgrade { artefact: name, environment, version, running });
    }
    if pending.is_target_newer() && pending.ahead_by == 0 {
        return Err(Refusal::Downgrade { artefact: name, environment, version, running });
    }
    if pending.ahead_by == 0 && facts.manifest.is_none() {
        return Err(Refusal::NothingNew { artefact: name, environment, version, running });
    }
    if pending.ahead_by > 0 && !pending.files.may_be_relevant_to(artefact) {
        let paths = artefact.paths.clone();
        return Err(Refusal::NoRelevantChanges { artefact: name, environment, commits: pending.ahead_by, paths });
    }
    Ok(())
}

/// The final check of a promotion. It gives a permit only if there is no obstacle.
pub fn check_promotion(facts: &PromotionFacts<'_>, obstacles: &mut Obstacles) -> Result<Permit, Refusal> {
    if let Err(refusal) = check_has_effect(facts) {
        obstacles.record_refusal(refusal)?;
        // Without an effect, the other gates do not matter, but the gates of the environment are reported too.
        // This call always returns an error, because an obstacle is recorded.
        check_environment_gates(&facts.gate_inputs, facts.target, obstacles)?;
    }
    let mut overridden = Vec::new();
    for closed in gate::find_closed_gates(&facts.gate_inputs, GateMoment::OnRequest) {
        match facts.overriding {
            Some(_) => overridden.push(closed.to_gate()),
            None => obstacles.record_refusal(closed.into_refusal(facts))?,
        }
    }
    obstacles.finish_check()?;
    let overridden = facts.overriding.as_ref().filter(|_| !overridden.is_empty()).map(|(by, reason)| GateOverride {
        by: by.clone(),
        reason: reason.to_string(),
        gates: overridden,
    });
    Ok(Permit::new(overridden))
}

/// Checks only the gates of the environment, for the case that the version is unknown.
pub fn check_environment_gates(
    inputs: &GateInputs,
    target: &Environment,
    obstacles: &mut Obstacles,
) -> Result<(), Refusal> {
    for closed in gate::find_closed_environment_gates(inputs) {
        obstacles.record_refusal(closed.into_refusal(target.name.clone()))?;
    }
    obstacles.finish_check()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::git::checks::CiChecks;
    use crate::domain::git::comparison::ListedCommit;
    use crate::domain::git::pending::PendingCommits;
    use crate::domain::rules::facts::CheckedCommit;
    use crate::domain::sample;

    fn facts(
        catalogue: &crate::domain::model::catalogue::Catalogue,
        pending: PendingCommits,
        checks: CiChecks,
    ) -> PromotionFacts<'_> {
        let checked_commit = Some(CheckedCommit { commit: sample::sha('a'), checks });
        PromotionFacts { pending, ..sample::facts(catalogue, GateInputs { checked_commit, ..GateInputs::default() }) }
    }

    fn ahead(path: &str) -> PendingCommits {
        PendingCommits { ahead_by: 1, files: sample::files(&[path]), ..PendingCommits::default() }
    }

    #[test]
    fn the_final_check_names_the_obstacle() {
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
            ("permitted", ahead("mailer/a.rs"), CiChecks::default(), "permit"),
            ("nothing new", PendingCommits::default(), CiChecks::default(), "NothingNew"),
            ("the target is newer", newer, CiChecks::default(), "Downgrade"),
            ("nothing for the artefact", ahead("storefront/a.rs"), CiChecks::default(), "NoRelevantChanges"),
            ("a red check", ahead("mailer/a.rs"), red, "RedChecks"),
            ("a running check", ahead("mailer/a.rs"), running, "RunningChecks"),
        ];
        for (name, pending, checks, expected) in cases {
            let outcome = match check_promotion(&facts(&catalogue, pending, checks), &mut Obstacles::new_first_only()) {
                Ok(_) => "permit".to_owned(),
                Err(refusal) => format!("{refusal:?}"),
            };
            assert!(outcome.starts_with(expected), "{name}: {outcome}");
        }
    }

    #[test]
    fn a_commit_without_checks_passes_unless_a_check_is_required() {
        let catalogue = sample::catalogue();
        let mut facts = facts(&catalogue, ahead("mailer/a.rs"), CiChecks::default());
        assert!(check_promotion(&facts, &mut Obstacles::new_first_only()).is_ok());
        facts.gate_inputs.checks_required = true;
        assert!(matches!(check_promotion(&facts, &mut Obstacles::new_first_only()), Err(Refusal::NoChecks { .. })));
        let checks = CiChecks { green: 1, ..CiChecks::default() };
        facts.gate_inputs.checked_commit = Some(CheckedCommit { commit: sample::sha('a'), checks });
        assert!(check_promotion(&facts, &mut Obstacles::new_first_only()).is_ok());
    }

    #[test]
    fn a_truncated_list_of_files_may_affect_any_artefact() {
        let catalogue = sample::catalogue();
        let mut pending = ahead("storefront/a.rs");
        pending.files.cut = true;
        assert!(
            check_promotion(&facts(&catalogue, pending, CiChecks::default()), &mut Obstacles::new_first_only()).is_ok()
        );
    }
}
