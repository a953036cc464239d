//! What holds a promotion back for a time, and can be overridden for a reason: a lock, a freeze, a soak, checks.
//! Approvals are no gate: nobody's reason replaces somebody else's yes.

use super::facts::{GateInputs, PromotionFacts};
use super::freeze::FreezeWindow;
use super::lock::Lock;
use crate::domain::model::actor::PersonId;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::{ChangeId, LockId};
use crate::domain::rules::refusal::Refusal;

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

/// All that are shut, each with what is said to somebody who stands before it.
pub(in crate::domain) fn closed_gates(facts: &PromotionFacts<'_>) -> Vec<(Gate, Refusal)> {
    let PromotionFacts { artefact, target, below, version, gate_inputs: watch, .. } = facts;
    let environment = &target.name;
    let mut closed: Vec<(Gate, Refusal)> = Vec::new();
    for quarantine in &watch.quarantines {
        let gate = Gate::Quarantine { change: quarantine.change };
        let (artefact, version, quarantine) = (artefact.name.clone(), version.clone(), quarantine.clone());
        let environment = environment.clone();
        let (quarantine, by_rollback) = (Box::new(quarantine), false);
        closed.push((gate, Refusal::Quarantined { artefact, environment, version, quarantine, by_rollback }));
    }
    closed.extend(environment_gates(watch, environment));
    if let Some(soak) = watch.soak {
        let ran = watch.healthy_since.map(|well| well.until.unwrap_or(watch.now).duration_since(well.since));
        if ran.is_none_or(|ran| ran < soak) {
            let until = watch.healthy_since.filter(|well| well.until.is_none()).map(|well| well.since + soak);
            let (artefact, below, version) = (artefact.name.clone(), below.name.clone(), version.clone());
            let environment = environment.clone();
            closed.push((Gate::Soak, Refusal::Soaking { artefact, environment, below, version, soak, until }));
        }
    }
    if let Some(refusal) = find_check_refusal(facts) {
        closed.push((Gate::Checks, refusal));
    }
    closed
}

/// Those that are shut around an environment, whatever would come to it.
pub(in crate::domain) fn environment_gates(inputs: &GateInputs, environment: &EnvironmentName) -> Vec<(Gate, Refusal)> {
    let lock = |lock: &Lock| {
        let gate = Gate::Lock { id: lock.id, by: lock.by.clone() };
        (gate, Refusal::Locked { lock: lock.clone(), environment: environment.clone() })
    };
    let frozen = inputs.freeze.as_ref().map(|FreezeWindow { until, reason, .. }| {
        let refusal = Refusal::Frozen { environment: environment.clone(), until: *until, reason: reason.clone() };
        (Gate::Freeze, refusal)
    });
    inputs.locks.iter().map(lock).chain(frozen).collect()
}

fn find_check_refusal(facts: &PromotionFacts<'_>) -> Option<Refusal> {
    let PromotionFacts { target, pending, checks, pinned, .. } = facts;
    let (pinned, url) = (pinned.clone()?, pending.commits.first().map(|lone| lone.commit.url.clone()));
    if !checks.red.is_empty() {
        return Some(Refusal::RedChecks { pinned, names: checks.red.clone(), url });
    }
    if !checks.running.is_empty() {
        return Some(Refusal::RunningChecks { pinned, names: checks.running.clone(), url });
    }
    (facts.checks_required && checks.green == 0).then(|| Refusal::NoChecks { environment: target.name.clone(), pinned })
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;
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
            ..watch(None, 60)
        };
        let mut facts = sample::facts(&catalogue, full());
        facts.checks.red.push("build".to_owned());
        let names: Vec<_> = closed_gates(&facts).iter().map(|(gate, _)| gate.name()).collect();
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
        facts.checks.red.clear();
        assert_eq!(
            promotion::check_promotion(&facts, &mut Obstacles::new_first_only()).unwrap().into_gate_override(),
            None,
            "where nothing is shut, nothing is overridden"
        );
    }
}
