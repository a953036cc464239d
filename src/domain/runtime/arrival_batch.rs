//! A batch of arrivals: rollouts that begin in one environment at nearly the same time are announced on one card.

use jiff::{SignedDuration, Timestamp};

use super::sighting::Sighting;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::MessageKey;
use crate::domain::model::version::{Commit, Sha, Version};
use crate::domain::runtime::provenance::Provenance;

/// The longest pause between two arrivals of the same batch.
const MAX_GAP: SignedDuration = SignedDuration::from_secs(30);
/// The longest time between the first and the last arrival of a batch. It ends batches if arrivals never pause.
const MAX_SPAN: SignedDuration = SignedDuration::from_mins(5);
/// With fewer arrivals, each gets a message of its own.
pub const MIN_BATCH_SIZE: usize = 4;

/// One artefact in a batch.
#[derive(Clone, Debug)]
pub struct BatchedArrival {
    pub artefact: ArtefactName,
    pub version: Version,
    pub commit: Option<Commit>,
    pub provenance: Provenance,
    pub state: BatchedArrivalState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchedArrivalState {
    RollingOut,
    Running,
    Failed {
        reason: String,
    },
    /// Another version replaced it before it ran or failed.
    Replaced,
}

impl BatchedArrivalState {
    pub fn from_sighting(sighting: &Sighting) -> Self {
        match (&sighting.failure, sighting.running_at, sighting.ended_at) {
            (Some(reason), None, _) => Self::Failed { reason: reason.clone() },
            (_, Some(_), _) => Self::Running,
            (None, None, None) => Self::RollingOut,
            (None, None, Some(_)) => Self::Replaced,
        }
    }
}

#[derive(Clone, Debug)]
pub struct ArrivalBatch {
    pub environment: EnvironmentName,
    pub branch: String,
    /// The time of the first sighting in the batch.
    pub began_at: Timestamp,
    /// Sorted by name; each artefact occurs once.
    pub members: Vec<BatchedArrival>,
    /// The next environment for these versions.
    pub next_environment: Option<EnvironmentName>,
    pub is_first_environment: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchCounts {
    pub running: usize,
    pub rolling_out: usize,
    pub failed: usize,
    pub replaced: usize,
}

impl ArrivalBatch {
    /// The part of the batch with these artefacts.
    #[must_use]
    pub fn filter_artefacts(&self, artefacts: &[ArtefactName]) -> Self {
        let mut part = self.clone();
        part.members.retain(|member| artefacts.contains(&member.artefact));
        part
    }

    pub fn count_by_state(&self) -> BatchCounts {
        let mut count = BatchCounts::default();
        for member in &self.members {
            match member.state {
                BatchedArrivalState::RollingOut => count.rolling_out += 1,
                BatchedArrivalState::Running => count.running += 1,
                BatchedArrivalState::Failed { .. } => count.failed += 1,
                BatchedArrivalState::Replaced => count.replaced += 1,
            }
        }
        count
    }

    pub fn is_over(&self) -> bool {
        self.count_by_state().rolling_out == 0
    }

    /// The commit that all members with a known commit have in common.
    pub fn common_commit(&self) -> Option<&Commit> {
        let mut shas = self.members.iter().filter_map(|member| member.version.commit.as_ref());
        let first: &Sha = shas.next()?;
        if shas.any(|other| other != first) {
            return None;
        }
        self.members.iter().find_map(|member| member.commit.as_ref()).filter(|commit| commit.sha == *first)
    }

    /// The order of display: failed members first, then those that roll out, then those that run.
    pub fn sort_by_urgency(&self) -> Vec<&BatchedArrival> {
        let mut all: Vec<&BatchedArrival> = self.members.iter().collect();
        all.sort_by_key(|member| match member.state {
            BatchedArrivalState::Failed { .. } => 0,
            BatchedArrivalState::RollingOut => 1,
            BatchedArrivalState::Running => 2,
            BatchedArrivalState::Replaced => 3,
        });
        all
    }

    pub fn message_key(environment: &EnvironmentName, began_at: Timestamp) -> MessageKey {
        MessageKey::new(&format!("wave:{environment}:{}", began_at.as_microsecond()))
    }
}

/// Splits sorted moments into batches. Each batch is a range of indices.
pub fn split_into_batches(moments: &[Timestamp]) -> Vec<std::ops::Range<usize>> {
    let mut batches: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, moment) in moments.iter().enumerate() {
        match batches.last_mut() {
            Some(batch)
                if moment.duration_since(moments[batch.end - 1]) <= MAX_GAP
                    && moment.duration_since(moments[batch.start]) <= MAX_SPAN =>
            {
                batch.end = index + 1;
            }
            _ => batches.push(index..index + 1),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::sample;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    #[test]
    fn rollouts_that_begin_within_half_a_minute_form_a_batch() {
        type Ranges = &'static [(usize, usize)];
        let cases: [(&str, Vec<i64>, Ranges); 6] = [
            ("nothing", vec![], &[]),
            ("one", vec![0], &[(0, 1)]),
            ("at the same moment", vec![0, 0, 0], &[(0, 3)]),
            ("each soon after the one before", vec![0, 30, 60, 90], &[(0, 4)]),
            ("a pause separates them", vec![0, 30, 61, 62], &[(0, 2), (2, 4)]),
            ("the span is limited", (0..12).map(|n| n * 30).collect(), &[(0, 11), (11, 12)]),
        ];
        for (name, seconds, expected) in cases {
            let moments: Vec<_> = seconds.into_iter().map(at).collect();
            let found: Vec<_> =
                split_into_batches(&moments).into_iter().map(|batch| (batch.start, batch.end)).collect();
            assert_eq!(found, expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn each_moment_is_in_one_batch_and_later_moments_move_no_beginning(mut seconds in prop::collection::vec(0_i64..2_000, 0..60), more in 0_i64..500) {
            seconds.sort_unstable();
            let moments: Vec<_> = seconds.iter().copied().map(at).collect();
            let batches = split_into_batches(&moments);
            prop_assert_eq!(batches.iter().cloned().flatten().collect::<Vec<_>>(), (0..moments.len()).collect::<Vec<_>>());
            let later = at(seconds.last().copied().unwrap_or_default() + more);
            let grown: Vec<_> = moments.iter().copied().chain([later]).collect();
            let list_starts = |ranges: &[std::ops::Range<usize>]| ranges.iter().map(|range| range.start).collect::<Vec<_>>();
            prop_assert!(list_starts(&split_into_batches(&grown)).starts_with(&list_starts(&batches)));
        }
    }

    #[test]
    fn a_common_commit_is_found_and_failed_artefacts_come_first() {
        let member = |name: &str, sha: Option<char>, state: BatchedArrivalState| BatchedArrival {
            artefact: ArtefactName::new(name),
            version: Version { commit: sha.map(sample::sha), ..Version::default() },
            commit: sha.map(|sha| sample::commit(sha, "Go on")),
            provenance: Provenance::Unknown,
            state,
        };
        let failed = || BatchedArrivalState::Failed { reason: "CrashLoopBackOff".to_owned() };
        let mut batch = ArrivalBatch {
            environment: EnvironmentName::new("qa"),
            branch: "qa".to_owned(),
            began_at: at(0),
            members: vec![
                member("a", Some('a'), BatchedArrivalState::Running),
                member("b", None, BatchedArrivalState::RollingOut),
                member("c", Some('a'), failed()),
            ],
            next_environment: None,
            is_first_environment: false,
        };
        assert_eq!(batch.common_commit().map(|commit| commit.sha.clone()), Some(sample::sha('a')));
        assert_eq!(batch.count_by_state(), BatchCounts { running: 1, rolling_out: 1, failed: 1, replaced: 0 });
        assert!(!batch.is_over());
        let names: Vec<_> = batch.sort_by_urgency().iter().map(|member| member.artefact.as_str().to_owned()).collect();
        assert_eq!(names, ["c", "b", "a"]);
        batch.members[1] = member("b", Some('b'), BatchedArrivalState::Running);
        assert_eq!(batch.common_commit(), None, "the members have two commits");
        assert!(batch.is_over());
    }
}
