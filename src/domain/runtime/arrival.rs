//! What a look at the cluster adds to what was seen before: a version that came to run, or that failed to.
//! Told once, and locks nothing.

use jiff::{SignedDuration, Timestamp};

use super::rollout::{Rollout, RolloutState};
use super::sighting::Sighting;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::MessageKey;
use crate::domain::model::version::{Commit, Version};
use crate::domain::runtime::provenance::Provenance;

/// One look at one artefact in one environment.
#[derive(Debug)]
pub struct Observation<'a> {
    pub artefact: &'a ArtefactName,
    pub environment: &'a EnvironmentName,
    pub rollout: &'a Rollout,
    /// What we saw there last, if anything.
    pub previous: Option<&'a Sighting>,
    /// Nothing was ever looked at here: what runs is recorded, not announced.
    pub is_first: bool,
    pub deploy_timeout: SignedDuration,
    pub now: Timestamp,
}

/// What is worth telling. The reason of a failure is asked of the cluster when it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalEvent {
    Arrived,
    Failed,
    /// It failed, that was told, and now it runs after all.
    Recovered,
}

#[derive(Debug)]
pub struct ObservationUpdate {
    pub sighting: Sighting,
    pub event: Option<ArrivalEvent>,
}

/// All that is told of an arrival.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// How its message is called, and by that its stay.
    pub message_key: MessageKey,
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    pub branch: String,
    pub version: Version,
    pub commit: Option<Commit>,
    /// Whom a failure concerns; nobody is called for what runs.
    pub authors: Vec<Author>,
    pub provenance: Provenance,
    pub outcome: ArrivalOutcome,
    /// The rung it could go to next; `None` on the last.
    pub next_environment: Option<EnvironmentName>,
    /// The first rung is fed by pushes, and repaired by them.
    pub is_first_environment: bool,
}

/// Who wrote what came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    Person(PersonId),
    /// Slack does not know them.
    Named(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrivalOutcome {
    /// `took` is unknown where the rollout was over before it was seen.
    Running {
        rollout_duration: Option<SignedDuration>,
    },
    Failed {
        reason: String,
    },
}

impl Observation<'_> {
    /// `None` when nothing changed, or nothing can be known now.
    pub fn derive_update(&self) -> Option<ObservationUpdate> {
        match self.rollout.state {
            RolloutState::Unreadable { .. } => return None,
            RolloutState::Missing => return self.update_missing(),
            _ => {}
        }
        let version = self.rollout.version.as_ref()?;
        match self.previous.filter(|before| before.version.is_same_image(version)) {
            Some(before) => self.update_same_version(before),
            None => Some(self.update_new_version()),
        }
    }

    /// Nobody is told, but a version that comes back must run well from the start again.
    fn update_missing(&self) -> Option<ObservationUpdate> {
        let before = self.previous.filter(|before| before.healthy_since.is_some())?;
        Some(ObservationUpdate { sighting: Sighting { healthy_since: None, ..before.clone() }, event: None })
    }

    fn update_new_version(&self) -> ObservationUpdate {
        let first = self.is_first && self.previous.is_none();
        let began = if first { self.rollout.since.unwrap_or(self.now) } else { self.now };
        let mut sighting = Sighting {
            artefact: self.artefact.clone(),
            environment: self.environment.clone(),
            version: self.rollout.version.clone().unwrap_or_default(),
            seen_at: began,
            running_at: None,
            healthy_since: None,
            failure: None,
            ended_at: None,
            announced: false,
        };
        let news = match &self.rollout.state {
            RolloutState::Running { .. } => {
                sighting.running_at = Some(began);
                sighting.healthy_since = Some(began);
                Some(ArrivalEvent::Arrived)
            }
            RolloutState::Degraded { reason } => {
                sighting.failure = Some(reason.to_string());
                Some(ArrivalEvent::Failed)
            }
            _ => None,
        };
        let news = if first { None } else { news };
        // A rollout that was under way at the first look is told when it ends: nobody has heard of it yet.
        sighting.announced =
            news.is_some() || (first && !matches!(self.rollout.state, RolloutState::RollingOut { .. }));
        ObservationUpdate { sighting, event: news }
    }

    fn update_same_version(&self, before: &Sighting) -> Option<ObservationUpdate> {
        let mut sighting = before.clone();
        let news = match &self.rollout.state {
            RolloutState::Running { .. } if before.running_at.is_none() => {
                sighting.running_at = Some(self.now);
                sighting.healthy_since = Some(self.now);
                sighting.failure = None;
                let failure_announced = before.failure.is_some() && before.announced;
                Some(if failure_announced { ArrivalEvent::Recovered } else { ArrivalEvent::Arrived })
            }
            RolloutState::Running { .. } if before.healthy_since.is_none() => {
                sighting.healthy_since = Some(self.now);
                sighting.failure = None;
                None
            }
            RolloutState::Degraded { reason } if before.failure.is_none() => {
                sighting.failure = Some(reason.to_string());
                sighting.healthy_since = None;
                // A version that has run well and broke later did not fail to arrive.
                if before.running_at.is_none() { Some(ArrivalEvent::Failed) } else { None }
            }
            // Stateful and daemon sets have no deadline of their own, so ours ends the wait.
            RolloutState::RollingOut { ready, wanted, delayed_by }
                if before.running_at.is_none()
                    && before.failure.is_none()
                    && self.now.duration_since(before.seen_at) > self.deploy_timeout =>
            {
                let delay = delayed_by.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                sighting.failure =
                    Some(format!("only {ready} of {wanted} ready after {:#}{delay}", self.deploy_timeout));
                Some(ArrivalEvent::Failed)
            }
            // A rollout of the version that runs is a pod that moves or one more of them: it goes on running well.
            _ => return None,
        };
        sighting.announced |= news.is_some();
        Some(ObservationUpdate { sighting, event: news })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: SignedDuration = SignedDuration::from_mins(20);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn rollout(tag: &str, state: RolloutState) -> Rollout {
        let version = Version { tag: Some(tag.into()), ..Version::default() };
        Rollout { version: Some(version), state, since: Some(at(1)) }
    }

    /// Looks at each state in turn, a minute apart, and says what was told at which look.
    fn observe_states(first: bool, states: &[(&str, RolloutState)]) -> Vec<(usize, ArrivalEvent)> {
        let looks = looks(first, states).into_iter().enumerate();
        looks.filter_map(|(index, (news, _))| news.map(|news| (index, news))).collect()
    }

    /// What each look told, and what was known after it.
    fn looks(first: bool, states: &[(&str, RolloutState)]) -> Vec<(Option<ArrivalEvent>, Option<Sighting>)> {
        let (artefact, environment) = (ArtefactName::new("checkout"), EnvironmentName::new("development"));
        let mut before: Option<Sighting> = None;
        let mut looks = Vec::new();
        for (index, (tag, state)) in states.iter().enumerate() {
            let rollout = if tag.is_empty() {
                Rollout { state: state.clone(), ..Rollout::new_missing() }
            } else {
                rollout(tag, state.clone())
            };
            let look = Observation {
                artefact: &artefact,
                environment: &environment,
                rollout: &rollout,
                previous: before.as_ref(),
                is_first: first && index == 0,
                deploy_timeout: TIMEOUT,
                now: at(100 + 60 * i64::try_from(index).unwrap()),
            };
            let mut news = None;
            if let Some(outcome) = look.derive_update() {
                news = outcome.event;
                before = Some(outcome.sighting);
            }
            looks.push((news, before.clone()));
        }
        looks
    }

    #[test]
    fn a_version_is_told_once_and_only_when_the_cluster_shows_it() {
        use ArrivalEvent::*;
        let running = || RolloutState::Running { ready: 2 };
        let rolling = || RolloutState::RollingOut { ready: 0, wanted: 2, delayed_by: None };
        let degraded = || RolloutState::Degraded { reason: "CrashLoopBackOff".into() };
        let unreadable = || RolloutState::Unreadable { why: "forbidden".into(), since: at(0) };
        let cases = [
            ("the first look is silent", true, vec![("1", running()), ("1", running())], vec![]),
            (
                "a push is told when it runs",
                true,
                vec![("1", running()), ("2", rolling()), ("2", running()), ("2", running())],
                vec![(2, Arrived)],
            ),
            (
                "a failure is told once",
                true,
                vec![("1", running()), ("2", rolling()), ("2", degraded()), ("2", degraded())],
                vec![(2, Failed)],
            ),
            (
                "a failure that recovers is told again",
                true,
                vec![("1", running()), ("2", degraded()), ("2", running())],
                vec![(1, Failed), (2, Recovered)],
            ),
            ("a rollout missed is told at its end", true, vec![("1", running()), ("2", running())], vec![(1, Arrived)]),
            (
                "a rollout under way at the first look is told at its end",
                true,
                vec![("1", rolling()), ("1", running())],
                vec![(1, Arrived)],
            ),
            ("a workload that was not there is an arrival", false, vec![("1", running())], vec![(0, Arrived)]),
            (
                "what cannot be read changes nothing",
                true,
                vec![("1", running()), ("1", unreadable()), ("1", running())],
                vec![],
            ),
            (
                "a return to an old version is an arrival",
                true,
                vec![("1", running()), ("2", running()), ("1", running())],
                vec![(1, Arrived), (2, Arrived)],
            ),
        ];
        for (name, first, states, expected) in cases {
            assert_eq!(observe_states(first, &states), expected, "{name}");
        }
    }

    #[test]
    fn a_version_that_broke_after_running_well_did_not_fail_to_arrive() {
        let states = [
            ("1", RolloutState::Running { ready: 1 }),
            ("1", RolloutState::Degraded { reason: "OOMKilled".into() }),
            ("1", RolloutState::Running { ready: 1 }),
        ];
        assert_eq!(observe_states(true, &states), vec![]);
    }

    /// Since which look it has run well, after each look.
    #[test]
    fn a_version_runs_well_until_it_is_seen_degraded_or_missing() {
        let running = || RolloutState::Running { ready: 2 };
        let rolling = || RolloutState::RollingOut { ready: 1, wanted: 2, delayed_by: None };
        let degraded = || RolloutState::Degraded { reason: "CrashLoopBackOff".into() };
        let unreadable = || RolloutState::Unreadable { why: "forbidden".into(), since: at(0) };
        let gone = || ("", RolloutState::Missing);
        let cases = [
            (
                "from when it runs, not from when it comes",
                vec![("1", rolling()), ("1", rolling()), ("1", running()), ("1", running())],
                vec![None, None, Some(2), Some(2)],
            ),
            ("at once where its rollout was missed", vec![("1", running()), ("1", running())], vec![Some(0), Some(0)]),
            (
                "a pod that moves is no interruption",
                vec![("1", running()), ("1", rolling()), ("1", running())],
                vec![Some(0), Some(0), Some(0)],
            ),
            (
                "a degraded one begins anew",
                vec![("1", running()), ("1", degraded()), ("1", degraded()), ("1", rolling()), ("1", running())],
                vec![Some(0), None, None, None, Some(4)],
            ),
            (
                "a missing one begins anew",
                vec![("1", running()), gone(), gone(), ("1", rolling()), ("1", running()), ("1", running())],
                vec![Some(0), None, None, None, Some(4), Some(4)],
            ),
            (
                "one of its workloads is missing",
                vec![("1", running()), ("1", RolloutState::Missing), ("1", running())],
                vec![Some(0), None, Some(2)],
            ),
            (
                "missing, then degraded",
                vec![("1", running()), gone(), ("1", degraded()), ("1", running())],
                vec![Some(0), None, None, Some(3)],
            ),
            (
                "what cannot be read tells nothing",
                vec![("1", running()), ("1", unreadable()), ("", unreadable()), ("1", running())],
                vec![Some(0), Some(0), Some(0), Some(0)],
            ),
            (
                "another version has its own time",
                vec![("1", running()), ("2", rolling()), ("2", running()), ("1", running())],
                vec![Some(0), None, Some(2), Some(3)],
            ),
            ("one that never ran well", vec![("1", degraded()), gone(), ("1", running())], vec![None, None, Some(2)]),
        ];
        for (name, states, expected) in cases {
            let moment = |index: i64| at(100 + 60 * index);
            let known = looks(false, &states).into_iter().map(|(_, known)| known.and_then(|known| known.healthy_since));
            assert_eq!(
                known.collect::<Vec<_>>(),
                expected.into_iter().map(|at| at.map(moment)).collect::<Vec<_>>(),
                "{name}"
            );
        }
    }

    #[test]
    fn what_ran_at_the_first_look_has_run_well_for_as_long_as_the_cluster_tells() {
        let [(news, known)] = &looks(true, &[("1", RolloutState::Running { ready: 1 })])[..] else {
            panic!("one look")
        };
        let known = known.as_ref().unwrap();
        assert_eq!((*news, known.running_at, known.healthy_since), (None, Some(at(1)), Some(at(1))));
    }

    #[test]
    fn nobody_is_told_of_a_version_that_went_missing_and_came_back() {
        let (running, gone) = (("1", RolloutState::Running { ready: 1 }), ("", RolloutState::Missing));
        let looks = looks(false, &[running.clone(), gone.clone(), gone, running]);
        assert_eq!(
            looks.iter().map(|(news, _)| *news).collect::<Vec<_>>(),
            [Some(ArrivalEvent::Arrived), None, None, None]
        );
        let first = looks[0].1.as_ref().unwrap();
        let last = looks[3].1.as_ref().unwrap();
        assert_eq!((last.seen_at, last.running_at, last.announced), (first.seen_at, first.running_at, true));
    }

    #[test]
    fn a_rollout_without_end_fails_by_our_own_deadline() {
        let mut states = vec![("1", RolloutState::Running { ready: 1 })];
        states
            .extend(std::iter::repeat_n(("2", RolloutState::RollingOut { ready: 0, wanted: 1, delayed_by: None }), 25));
        assert_eq!(
            observe_states(true, &states),
            vec![(22, ArrivalEvent::Failed)],
            "21 minutes after the look that first saw it"
        );
    }
}
