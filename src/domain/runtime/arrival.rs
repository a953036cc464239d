//! Derives arrivals from an observation of the cluster: a version that came to run, or failed to. An arrival is
//! announced once and takes no change lock.

use jiff::{SignedDuration, Timestamp};

use super::rollout::{Rollout, RolloutState};
use super::sighting::Sighting;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::MessageKey;
use crate::domain::model::version::{Commit, Version};
use crate::domain::runtime::provenance::Provenance;

/// One observation of one artefact in one environment.
#[derive(Debug)]
pub struct Observation<'a> {
    pub artefact: &'a ArtefactName,
    pub environment: &'a EnvironmentName,
    pub rollout: &'a Rollout,
    /// The last sighting of the artefact in this environment.
    pub previous: Option<&'a Sighting>,
    /// The first observation in this environment: the running version is recorded, not announced.
    pub is_first: bool,
    pub deploy_timeout: SignedDuration,
    pub now: Timestamp,
}

/// The event to announce. The reason of a failure is read from the cluster only at the announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalEvent {
    Arrived,
    Failed,
    /// The failure was announced, and the version runs now after all.
    Recovered,
}

#[derive(Debug)]
pub struct ObservationUpdate {
    pub sighting: Sighting,
    pub event: Option<ArrivalEvent>,
}

/// The content of the announcement of an arrival.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The key of its message, which also identifies its sighting.
    pub message_key: MessageKey,
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    pub branch: String,
    pub version: Version,
    pub commit: Option<Commit>,
    /// The people to mention if the version failed. No one is mentioned if it runs.
    pub authors: Vec<Author>,
    pub provenance: Provenance,
    pub outcome: ArrivalOutcome,
    /// The next environment for the version; `None` in the last one.
    pub next_environment: Option<EnvironmentName>,
    /// Pushes feed the first environment, and also repair it.
    pub is_first_environment: bool,
}

/// An author of the version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    Person(PersonId),
    /// An author without a Slack account.
    Named(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrivalOutcome {
    /// The duration is unknown if the rollout was over before it was first seen.
    Running {
        rollout_duration: Option<SignedDuration>,
    },
    Failed {
        reason: String,
    },
}

impl Observation<'_> {
    /// `None` if nothing changed, or if the cluster cannot be read.
    pub fn derive_update(&self) -> Option<ObservationUpdate> {
        match self.rollout.state {
            RolloutState::Unreadable { .. } => return None,
            RolloutState::Missing => return self.update_missing(),
            _ => {}
        }
        let version = self.rollout.version.as_ref()?;
        match self.previous.filter(|previous| previous.version.is_same_image(version)) {
            Some(previous) => self.update_same_version(previous),
            None => Some(self.update_new_version()),
        }
    }

    /// A missing workload is not announced, but a version that comes back starts its healthy time again.
    fn update_missing(&self) -> Option<ObservationUpdate> {
        let previous = self.previous.filter(|previous| previous.healthy_since.is_some())?;
        Some(ObservationUpdate { sighting: Sighting { healthy_since: None, ..previous.clone() }, event: None })
    }

    fn update_new_version(&self) -> ObservationUpdate {
        let is_first = self.is_first && self.previous.is_none();
        let seen_at = if is_first { self.rollout.since.unwrap_or(self.now) } else { self.now };
        let mut sighting = Sighting {
            artefact: self.artefact.clone(),
            environment: self.environment.clone(),
            version: self.rollout.version.clone().unwrap_or_default(),
            seen_at,
            running_at: None,
            healthy_since: None,
            failure: None,
            ended_at: None,
            announced: false,
        };
        let event = match &self.rollout.state {
            RolloutState::Running { .. } => {
                sighting.running_at = Some(seen_at);
                sighting.healthy_since = Some(seen_at);
                Some(ArrivalEvent::Arrived)
            }
            RolloutState::Degraded { reason } => {
                sighting.failure = Some(reason.to_string());
                Some(ArrivalEvent::Failed)
            }
            _ => None,
        };
        let event = if is_first { None } else { event };
        // A rollout that was under way at the first observation has not been announced yet. It is announced when it
        // ends.
        sighting.announced =
            event.is_some() || (is_first && !matches!(self.rollout.state, RolloutState::RollingOut { .. }));
        ObservationUpdate { sighting, event }
    }

    fn update_same_version(&self, previous: &Sighting) -> Option<ObservationUpdate> {
        let mut sighting = previous.clone();
        let event = match &self.rollout.state {
            RolloutState::Running { .. } if previous.running_at.is_none() => {
                sighting.running_at = Some(self.now);
                sighting.healthy_since = Some(self.now);
                sighting.failure = None;
                let failure_announced = previous.failure.is_some() && previous.announced;
                Some(if failure_announced { ArrivalEvent::Recovered } else { ArrivalEvent::Arrived })
            }
            RolloutState::Running { .. } if previous.healthy_since.is_none() => {
                sighting.healthy_since = Some(self.now);
                sighting.failure = None;
                None
            }
            RolloutState::Degraded { reason } if previous.failure.is_none() => {
                sighting.failure = Some(reason.to_string());
                sighting.healthy_since = None;
                // A version that ran well and broke later did not fail to arrive.
                if previous.running_at.is_none() { Some(ArrivalEvent::Failed) } else { None }
            }
            // A StatefulSet or DaemonSet has no deadline of its own, so the configured one ends the wait.
            RolloutState::RollingOut { ready, wanted, delayed_by }
                if previous.running_at.is_none()
                    && previous.failure.is_none()
                    && self.now.duration_since(previous.seen_at) > self.deploy_timeout =>
            {
                let delay = delayed_by.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                sighting.failure =
                    Some(format!("only {ready} of {wanted} ready after {:#}{delay}", self.deploy_timeout));
                Some(ArrivalEvent::Failed)
            }
            // A rollout of the running version means that a pod moves or that the replicas change: the version stays
            // healthy.
            _ => return None,
        };
        sighting.announced |= event.is_some();
        Some(ObservationUpdate { sighting, event })
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

    /// Observes the states in turn, a minute apart. Returns the events with the index of their observation.
    fn observe_states(is_first: bool, states: &[(&str, RolloutState)]) -> Vec<(usize, ArrivalEvent)> {
        let observations = observe_all(is_first, states).into_iter().enumerate();
        observations.filter_map(|(index, (event, _))| event.map(|event| (index, event))).collect()
    }

    /// The event of each observation, and the sighting after it.
    fn observe_all(is_first: bool, states: &[(&str, RolloutState)]) -> Vec<(Option<ArrivalEvent>, Option<Sighting>)> {
        let (artefact, environment) = (ArtefactName::new("checkout"), EnvironmentName::new("development"));
        let mut previous: Option<Sighting> = None;
        let mut observations = Vec::new();
        for (index, (tag, state)) in states.iter().enumerate() {
            let rollout = if tag.is_empty() {
                Rollout { state: state.clone(), ..Rollout::new_missing() }
            } else {
                rollout(tag, state.clone())
            };
            let observation = Observation {
                artefact: &artefact,
                environment: &environment,
                rollout: &rollout,
                previous: previous.as_ref(),
                is_first: is_first && index == 0,
                deploy_timeout: TIMEOUT,
                now: at(100 + 60 * i64::try_from(index).unwrap()),
            };
            let mut event = None;
            if let Some(update) = observation.derive_update() {
                event = update.event;
                previous = Some(update.sighting);
            }
            observations.push((event, previous.clone()));
        }
        observations
    }

    #[test]
    fn a_version_is_announced_once_and_only_when_the_cluster_shows_it() {
        use ArrivalEvent::*;
        let running = || RolloutState::Running { ready: 2 };
        let rolling = || RolloutState::RollingOut { ready: 0, wanted: 2, delayed_by: None };
        let degraded = || RolloutState::Degraded { reason: "CrashLoopBackOff".into() };
        let unreadable = || RolloutState::Unreadable { reason: "forbidden".into(), since: at(0) };
        let cases = [
            ("the first observation is not announced", true, vec![("1", running()), ("1", running())], vec![]),
            (
                "a push is announced when it runs",
                true,
                vec![("1", running()), ("2", rolling()), ("2", running()), ("2", running())],
                vec![(2, Arrived)],
            ),
            (
                "a failure is announced once",
                true,
                vec![("1", running()), ("2", rolling()), ("2", degraded()), ("2", degraded())],
                vec![(2, Failed)],
            ),
            (
                "a recovery is announced",
                true,
                vec![("1", running()), ("2", degraded()), ("2", running())],
                vec![(1, Failed), (2, Recovered)],
            ),
            (
                "an unobserved rollout is announced at its end",
                true,
                vec![("1", running()), ("2", running())],
                vec![(1, Arrived)],
            ),
            (
                "a rollout under way at the first observation is announced at its end",
                true,
                vec![("1", rolling()), ("1", running())],
                vec![(1, Arrived)],
            ),
            ("a new workload is an arrival", false, vec![("1", running())], vec![(0, Arrived)]),
            (
                "an unreadable cluster changes nothing",
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
        for (name, is_first, states, expected) in cases {
            assert_eq!(observe_states(is_first, &states), expected, "{name}");
        }
    }

    #[test]
    fn a_version_that_breaks_after_running_well_is_not_announced_as_failed() {
        let states = [
            ("1", RolloutState::Running { ready: 1 }),
            ("1", RolloutState::Degraded { reason: "OOMKilled".into() }),
            ("1", RolloutState::Running { ready: 1 }),
        ];
        assert_eq!(observe_states(true, &states), vec![]);
    }

    /// For each observation: since which observation the version has been healthy.
    #[test]
    fn a_version_is_healthy_until_it_is_degraded_or_missing() {
        let running = || RolloutState::Running { ready: 2 };
        let rolling = || RolloutState::RollingOut { ready: 1, wanted: 2, delayed_by: None };
        let degraded = || RolloutState::Degraded { reason: "CrashLoopBackOff".into() };
        let unreadable = || RolloutState::Unreadable { reason: "forbidden".into(), since: at(0) };
        let missing = || ("", RolloutState::Missing);
        let cases = [
            (
                "since it runs, not since its rollout began",
                vec![("1", rolling()), ("1", rolling()), ("1", running()), ("1", running())],
                vec![None, None, Some(2), Some(2)],
            ),
            (
                "at once if its rollout was not observed",
                vec![("1", running()), ("1", running())],
                vec![Some(0), Some(0)],
            ),
            (
                "a pod that moves is no interruption",
                vec![("1", running()), ("1", rolling()), ("1", running())],
                vec![Some(0), Some(0), Some(0)],
            ),
            (
                "a degraded version begins again",
                vec![("1", running()), ("1", degraded()), ("1", degraded()), ("1", rolling()), ("1", running())],
                vec![Some(0), None, None, None, Some(4)],
            ),
            (
                "a missing version begins again",
                vec![("1", running()), missing(), missing(), ("1", rolling()), ("1", running()), ("1", running())],
                vec![Some(0), None, None, None, Some(4), Some(4)],
            ),
            (
                "one of its workloads is missing",
                vec![("1", running()), ("1", RolloutState::Missing), ("1", running())],
                vec![Some(0), None, Some(2)],
            ),
            (
                "missing, then degraded",
                vec![("1", running()), missing(), ("1", degraded()), ("1", running())],
                vec![Some(0), None, None, Some(3)],
            ),
            (
                "an unreadable cluster changes nothing",
                vec![("1", running()), ("1", unreadable()), ("", unreadable()), ("1", running())],
                vec![Some(0), Some(0), Some(0), Some(0)],
            ),
            (
                "another version has its own time",
                vec![("1", running()), ("2", rolling()), ("2", running()), ("1", running())],
                vec![Some(0), None, Some(2), Some(3)],
            ),
            (
                "a version that was never healthy before",
                vec![("1", degraded()), missing(), ("1", running())],
                vec![None, None, Some(2)],
            ),
        ];
        for (name, states, expected) in cases {
            let moment = |index: i64| at(100 + 60 * index);
            let sightings = observe_all(false, &states).into_iter().map(|(_, sighting)| sighting);
            assert_eq!(
                sightings.map(|sighting| sighting.and_then(|sighting| sighting.healthy_since)).collect::<Vec<_>>(),
                expected.into_iter().map(|index| index.map(moment)).collect::<Vec<_>>(),
                "{name}"
            );
        }
    }

    #[test]
    fn at_the_first_observation_the_healthy_time_comes_from_the_cluster() {
        let [(event, sighting)] = &observe_all(true, &[("1", RolloutState::Running { ready: 1 })])[..] else {
            panic!("expected one observation")
        };
        let sighting = sighting.as_ref().unwrap();
        assert_eq!((*event, sighting.running_at, sighting.healthy_since), (None, Some(at(1)), Some(at(1))));
    }

    #[test]
    fn a_version_that_goes_missing_and_returns_is_not_announced_again() {
        let (running, missing) = (("1", RolloutState::Running { ready: 1 }), ("", RolloutState::Missing));
        let observations = observe_all(false, &[running.clone(), missing.clone(), missing, running]);
        assert_eq!(
            observations.iter().map(|(event, _)| *event).collect::<Vec<_>>(),
            [Some(ArrivalEvent::Arrived), None, None, None]
        );
        let first = observations[0].1.as_ref().unwrap();
        let last = observations[3].1.as_ref().unwrap();
        assert_eq!((last.seen_at, last.running_at, last.announced), (first.seen_at, first.running_at, true));
    }

    #[test]
    fn an_endless_rollout_fails_by_the_configured_deadline() {
        let mut states = vec![("1", RolloutState::Running { ready: 1 })];
        states
            .extend(std::iter::repeat_n(("2", RolloutState::RollingOut { ready: 0, wanted: 1, delayed_by: None }), 25));
        assert_eq!(
            observe_states(true, &states),
            vec![(22, ArrivalEvent::Failed)],
            "21 minutes after its first observation"
        );
    }
}
