//! The gates of a promotion: locks, freezes, soak, checks and quarantines. A person with the right can override them
//! and gives a reason. Approvals are no gate: they cannot be overridden.

use jiff::{SignedDuration, Timestamp};

use super::facts::{CheckedCommit, GateInputs, PromotionFacts};
use super::freeze::FreezeWindow;
use super::lock::Lock;
use super::merge_condition::MergeCondition;
use super::quarantine::Quarantine;
use super::refusal::Refusal;
use crate::domain::model::actor::PersonId;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::{ChangeId, LockId};
use crate::domain::model::version::Sha;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// This one lock. A later lock closes the gate again.
    Lock {
        id: LockId,
        by: PersonId,
    },
    Freeze,
    Soak,
    Checks,
    /// The version that this rollback put into quarantine.
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

/// The gates that a person overrode, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateOverride {
    pub by: PersonId,
    pub reason: String,
    pub gates: Vec<Gate>,
}

impl GateOverride {
    /// Whether the override opens this gate. Locks are compared by their id alone.
    fn has_closed_gate(&self, closed: &ClosedGate) -> bool {
        match closed {
            ClosedGate::Environment(EnvironmentGate::Lock(lock)) => self.has_lock(lock),
            _ => self.has_gate(&closed.to_gate()),
        }
    }

    pub fn has_lock(&self, lock: &Lock) -> bool {
        self.gates.iter().any(|gate| matches!(gate, Gate::Lock { id, .. } if *id == lock.id))
    }

    pub fn has_gate(&self, gate: &Gate) -> bool {
        self.gates.contains(gate)
    }
}

/// The moment at which gates are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateMoment {
    OnRequest,
    /// Before every attempt to merge, because the inputs change while a change waits.
    AtMerge,
}

/// Checks one gate: returns a [`ClosedGate`] for each reason why it is closed.
type GateCheck = fn(&GateInputs) -> Vec<ClosedGate>;

impl GateMoment {
    /// The gates for this moment, in the order in which they are shown.
    fn list_gates(self) -> &'static [GateCheck] {
        match self {
            Self::OnRequest => &[find_quarantines, find_locks, find_freeze, find_soak, find_check_problem],
            // The soak is checked on request only.
            Self::AtMerge => &[find_check_problem, find_locks, find_quarantines, find_freeze],
        }
    }
}

/// A closed gate and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClosedGate {
    Environment(EnvironmentGate),
    Quarantine(Box<Quarantine>),
    Soak {
        soak: SignedDuration,
        /// The end of the soak, if the version stays healthy.
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

/// A closed gate of an environment. It applies to every version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EnvironmentGate {
    Lock(Lock),
    Freeze(FreezeWindow),
}

/// All gates that are closed at that moment.
pub(super) fn find_closed_gates(inputs: &GateInputs, moment: GateMoment) -> Vec<ClosedGate> {
    moment.list_gates().iter().flat_map(|find_reasons| find_reasons(inputs)).collect()
}

/// The merge conditions of the closed gates that were not overridden. Of several quarantines, only the first is a
/// condition.
pub fn find_gate_conditions(inputs: &GateInputs, overridden: Option<&GateOverride>) -> Vec<MergeCondition> {
    let mut closed = find_closed_gates(inputs, GateMoment::AtMerge);
    closed.retain(|closed| !overridden.is_some_and(|overridden| overridden.has_closed_gate(closed)));
    closed.dedup_by(|next, kept| matches!((next, kept), (ClosedGate::Quarantine(_), ClosedGate::Quarantine(_))));
    closed.into_iter().filter_map(ClosedGate::into_merge_condition).collect()
}

/// The closed gates of the environment.
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

/// Red checks take precedence over running ones.
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

    /// The refusal of the requested promotion.
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

    /// The condition for which a change waits before its merge; `None` for a gate that is checked on request only.
    fn into_merge_condition(self) -> Option<MergeCondition> {
        match self {
            Self::Environment(EnvironmentGate::Lock(lock)) => Some(MergeCondition::Locked { lock }),
            Self::Environment(EnvironmentGate::Freeze(FreezeWindow { until, reason, .. })) => {
                Some(MergeCondition::Frozen { until, reason })
            }
            Self::Quarantine(quarantine) => Some(MergeCondition::Quarantined { quarantine }),
            Self::Soak { .. } => None,
            Self::RedChecks { names, .. } => Some(MergeCondition::ChecksRed { names }),
            Self::RunningChecks { names, .. } => Some(MergeCondition::ChecksRunning { names }),
            Self::NoChecks { .. } => Some(MergeCondition::NoCheck),
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

    fn gate_inputs(healthy_since: Option<HealthySince>, soak: i64) -> GateInputs {
        GateInputs {
            healthy_since,
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
            ("not healthy now", None, 600, Some(None)),
            ("healthy long enough before", Some(HealthySince { since: at(100), until: Some(at(800)) }), 600, None),
            ("healthy too short before", Some(HealthySince { since: at(300), until: Some(at(800)) }), 600, Some(None)),
        ];
        for (name, healthy_since, soak, expected) in cases {
            let facts = sample::facts(&catalogue, gate_inputs(healthy_since, soak));
            let refused = match promotion::check_promotion(&facts, &mut Obstacles::new_first_only()) {
                Ok(_) => None,
                Err(Refusal::Soaking { until, .. }) => Some(until),
                Err(other) => panic!("{name}: {other:?}"),
            };
            assert_eq!(refused, expected, "{name}");
        }
    }

    /// Every gate is closed.
    fn all_closed() -> GateInputs {
        GateInputs {
            locks: vec![sample::lock()],
            freeze: Some(FreezeWindow { from: at(0), until: at(2_000), reason: None }),
            quarantines: vec![sample::quarantine()],
            checked_commit: Some(CheckedCommit {
                commit: sample::sha('a'),
                checks: CiChecks { red: vec!["build".to_owned()], ..CiChecks::default() },
            }),
            ..gate_inputs(None, 60)
        }
    }

    #[test]
    fn the_merge_waits_for_every_gate_but_the_soak_unless_it_was_overridden() {
        let (lock, quarantine) = (sample::lock(), sample::quarantine());
        let inputs = GateInputs { quarantines: vec![quarantine.clone(); 2], ..all_closed() };
        let red = MergeCondition::ChecksRed { names: vec!["build".to_owned()] };
        let locked = MergeCondition::Locked { lock: lock.clone() };
        let quarantined = MergeCondition::Quarantined { quarantine: Box::new(quarantine.clone()) };
        let frozen = MergeCondition::Frozen { until: at(2_000), reason: None };
        assert_eq!(find_gate_conditions(&inputs, None), [red, locked.clone(), quarantined, frozen.clone()]);
        let overriding = |gates| GateOverride { by: PersonId::new("U0BOB"), reason: "it burns".to_owned(), gates };
        let gate_override = overriding(vec![Gate::Checks, Gate::Quarantine { change: quarantine.change }]);
        assert_eq!(find_gate_conditions(&inputs, Some(&gate_override)), [locked, frozen.clone()]);
        let by_another = Gate::Lock { id: lock.id, by: PersonId::new("U0ALICE") };
        let gate_override = overriding([gate_override.gates, vec![by_another]].concat());
        assert_eq!(find_gate_conditions(&inputs, Some(&gate_override)), [frozen], "a lock is compared by its id");
    }

    #[test]
    fn an_override_passes_every_gate_and_names_it() {
        let catalogue = sample::catalogue();
        let lock = sample::lock();
        let mut facts = sample::facts(&catalogue, all_closed());
        let closed = find_closed_gates(&facts.gate_inputs, GateMoment::OnRequest);
        let names: Vec<_> = closed.iter().map(|closed| closed.to_gate().name()).collect();
        assert_eq!(names, ["quarantine", "lock", "freeze", "soak", "checks"]);
        assert!(
            matches!(
                promotion::check_promotion(&facts, &mut Obstacles::new_first_only()),
                Err(Refusal::Quarantined { .. })
            ),
            "the first closed gate is the refusal"
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
            "without a closed gate nothing is overridden"
        );
    }
}
