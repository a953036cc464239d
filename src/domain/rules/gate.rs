//! What holds a promotion back for a time, and can be overridden for a reason: a lock, a freeze, a soak, checks.
//! Approvals are no gate: nobody's reason replaces somebody else's yes.

use jiff::{SignedDuration, Timestamp};

use super::facts::{CheckedCommit, GateInputs, PromotionFacts};
use super::freeze::FreezeWindow;
use super::lock::Lock;
use super::quarantine::Quarantine;
use super::refusal::Refusal;
use crate::domain::model::actor::PersonId;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::{ChangeId, LockId};
use crate::domain::model::version::Sha;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// This lock: one that comes later holds again.
    Lock {
        id: LockId,
        by: PersonId,
    },
    Freeze,
    Soak,
    Checks,
    /// What this rollback took back.
    Quarantine {
        change: ChangeId,
    },
}

impl Gate {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Lock { .. } => "lock",
            Self::Freeze => "freeze",
            Self::Soak => "soak",
            Self::Checks => "checks",
            Self::Quarantine { .. } => "quarantine",
        }
    }
}

/// Who passed which gates, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateOverride {
    pub by: PersonId,
    pub reason: String,
    pub gates: Vec<Gate>,
}

impl GateOverride {
    pub fn has_lock(&self, lock: &Lock) -> bool {
        self.gates.iter().any(|gate| matches!(gate, Gate::Lock { id, .. } if *id == lock.id))
    }

    pub fn has_gate(&self, gate: &Gate) -> bool {
        self.gates.contains(gate)
    }
}

/// When gates are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateMoment {
    OnRequest,
}

/// One gate: from its inputs to the reasons for which it is closed.
type GateCheck = fn(&GateInputs) -> Vec<ClosedGate>;

impl GateMoment {
    /// The gates that are judged at this moment, in the order in which people are told of them.
    fn list_gates(self) -> &'static [GateCheck] {
        match self {
            Self::OnRequest => &[find_quarantines, find_locks, find_freeze, find_soak, find_check_problem],
        }
    }
}

/// A gate that is closed, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClosedGate {
    Environment(EnvironmentGate),
    Quarantine(Box<Quarantine>),
    Soak {
        soak: SignedDuration,
        /// The end of the soak, if the version keeps running well.
        until: Option<Timestamp>,
    },
    RedChecks {
        commit: Sha,
        names: Vec<String>,
    },
    RunningChecks {
        commit: Sha,
        names: Vec<String>,
    },
    NoChecks {
        commit: Sha,
    },
}

/// A closed gate around an environment: it holds every version back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EnvironmentGate {
    Lock(Lock),
    Freeze(FreezeWindow),
}

/// All gates of that moment that are closed.
pub(super) fn find_closed_gates(inputs: &GateInputs, moment: GateMoment) -> Vec<ClosedGate> {
    moment.list_gates().iter().flat_map(|find_reasons| find_reasons(inputs)).collect()
}

/// The closed gates around the environment.
pub(super) fn find_closed_environment_gates(inputs: &GateInputs) -> Vec<EnvironmentGate> {
    let environment_gate = |closed| match closed {
        ClosedGate::Environment(gate) => Some(gate),
        _ => None,
    };
    find_closed_gates(inputs, GateMoment::OnRequest).into_iter().filter_map(environment_gate).collect()
}

fn find_quarantines(inputs: &GateInputs) -> Vec<ClosedGate> {
    inputs.quarantines.iter().cloned().map(|quarantine| ClosedGate::Quarantine(Box::new(quarantine))).collect()
}

fn find_locks(inputs: &GateInputs) -> Vec<ClosedGate> {
    inputs.locks.iter().cloned().map(|lock| ClosedGate::Environment(EnvironmentGate::Lock(lock))).collect()
}

fn find_freeze(inputs: &GateInputs) -> Vec<ClosedGate> {
    let freeze = inputs.freeze.iter().cloned();
    freeze.map(|window| ClosedGate::Environment(EnvironmentGate::Freeze(window))).collect()
}

fn find_soak(inputs: &GateInputs) -> Vec<ClosedGate> {
    let Some(soak) = inputs.soak else { return Vec::new() };
    let healthy = inputs.healthy_since;
    let ran = healthy.map(|healthy| healthy.until.unwrap_or(inputs.now).duration_since(healthy.since));
    if ran.is_some_and(|ran| ran >= soak) {
        return Vec::new();
    }
    let until = healthy.filter(|healthy| healthy.until.is_none()).map(|healthy| healthy.since + soak);
    vec![ClosedGate::Soak { soak, until }]
}

/// Red checks hide those that still run.
fn find_check_problem(inputs: &GateInputs) -> Vec<ClosedGate> {
    let Some(CheckedCommit { commit, checks }) = inputs.checked_commit.clone() else { return Vec::new() };
    if !checks.red.is_empty() {
        vec![ClosedGate::RedChecks { commit, names: checks.red }]
    } else if !checks.running.is_empty() {
        vec![ClosedGate::RunningChecks { commit, names: checks.running }]
    } else if inputs.checks_required && checks.green == 0 {
        vec![ClosedGate::NoChecks { commit }]
    } else {
        Vec::new()
    }
}

impl ClosedGate {
    pub(super) fn to_gate(&self) -> Gate {
        match self {
            Self::Environment(EnvironmentGate::Lock(lock)) => Gate::Lock { id: lock.id, by: lock.by.clone() },
            Self::Environment(EnvironmentGate::Freeze(_)) => Gate::Freeze,
            Self::Quarantine(quarantine) => Gate::Quarantine { change: quarantine.change },
            Self::Soak { .. } => Gate::Soak,
            Self::RedChecks { .. } | Self::RunningChecks { .. } | Self::NoChecks { .. } => Gate::Checks,
        }
    }

    /// The refusal of a promotion that is requested.
    pub(super) fn into_refusal(self, facts: &PromotionFacts<'_>) -> Refusal {
        let (artefact, environment) = (facts.artefact.name.clone(), facts.target.name.clone());
        let (below, version) = (facts.below.name.clone(), facts.version.clone());
        let url = facts.pending.commits.first().map(|listed| listed.commit.url.clone());
        match self {
            Self::Environment(gate) => gate.into_refusal(environment),
            Self::Quarantine(quarantine) => {
                Refusal::Quarantined { artefact, environment, version, quarantine, by_rollback: false }
            }
            Self::Soak { soak, until } => Refusal::Soaking { artefact, environment, below, version, soak, until },
            Self::RedChecks { commit, names } => Refusal::RedChecks { pinned: commit, names, url },
            Self::RunningChecks { commit, names } => Refusal::RunningChecks { pinned: commit, names, url },
            Self::NoChecks { commit } => Refusal::NoChecks { environment, pinned: commit },
        }
    }
}

impl EnvironmentGate {
    pub(super) fn into_refusal(self, environment: EnvironmentName) -> Refusal {
        match self {
            Self::Lock(lock) => Refusal::Locked { lock, environment },
            Self::Freeze(FreezeWindow { until, reason, .. }) => Refusal::Frozen { environment, until, reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::git::checks::CiChecks;
    use crate::domain::rules::facts::HealthySince;
    use crate::domain::rules::obstacles::Obstacles;
    use crate::domain::rules::promotion;
    use crate::domain::sample;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn watch(well: Option<HealthySince>, soak: i64) -> GateInputs {
        GateInputs {
            healthy_since: well,
            soak: Some(SignedDuration::from_secs(soak)),
            now: at(1_000),
            ..GateInputs::default()
        }
    }

    #[test]
    fn a_soak_is_over_when_it_was_long_enough_without_interruption() {
        let catalogue = sample::catalogue();
        let since = |since: i64| Some(HealthySince { since: at(since), until: None });
        let cases = [
            ("long enough", since(400), 600, None),
            ("to the second", since(401), 600, Some(Some(at(1_001)))),
            ("it does not run well now", None, 600, Some(None)),
            ("it ran long enough before", Some(HealthySince { since: at(100), until: Some(at(800)) }), 600, None),
            ("it ran too short before", Some(HealthySince { since: at(300), until: Some(at(800)) }), 600, Some(None)),
        ];
        for (name, well, soak, shut) in cases {
            let facts = sample::facts(&catalogue, watch(well, soak));
            let refused = match promotion::check_promotion(&facts, &mut Obstacles::new_first_only()) {
                Ok(_) => None,
                Err(Refusal::Soaking { until, .. }) => Some(until),
                Err(other) => panic!("{name}: {other:?}"),
            };
            assert_eq!(refused, shut, "{name}");
        }
    }

    #[test]
    fn an_override_passes_every_gate_and_names_it() {
        let catalogue = sample::catalogue();
        let lock = sample::lock();
        let full = || GateInputs {
            locks: vec![lock.clone()],
            freeze: Some(FreezeWindow { from: at(0), until: at(2_000), reason: None }),
            quarantines: vec![sample::quarantine()],
            checked_commit: Some(CheckedCommit {
                commit: sample::sha('a'),
                checks: CiChecks { red: vec!["build".to_owned()], ..CiChecks::default() },
            }),
            ..watch(None, 60)
        };
        let mut facts = sample::facts(&catalogue, full());
        let closed = find_closed_gates(&facts.gate_inputs, GateMoment::OnRequest);
        let names: Vec<_> = closed.iter().map(|closed| closed.to_gate().name()).collect();
        assert_eq!(names, ["quarantine", "lock", "freeze", "soak", "checks"]);
        assert!(
            matches!(
                promotion::check_promotion(&facts, &mut Obstacles::new_first_only()),
                Err(Refusal::Quarantined { .. })
            ),
            "the first of them is told"
        );
        facts.overriding = Some((PersonId::new("U0BOB"), "people cannot pay".into()));
        let overridden = promotion::check_promotion(&facts, &mut Obstacles::new_first_only())
            .unwrap()
            .into_gate_override()
            .expect("something was overridden");
        assert!(overridden.has_lock(&lock) && overridden.has_gate(&Gate::Freeze) && overridden.has_gate(&Gate::Checks));
        facts.gate_inputs = GateInputs::default();
        assert_eq!(
            promotion::check_promotion(&facts, &mut Obstacles::new_first_only()).unwrap().into_gate_override(),
            None,
            "where nothing is shut, nothing is overridden"
        );
    }
}
