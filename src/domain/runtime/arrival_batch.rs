//! A burst of arrivals: what begins to roll out in one environment at nearly the same time is told on one card.

use jiff::{SignedDuration, Timestamp};

use super::sighting::Sighting;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::MessageKey;
use crate::domain::model::version::{Commit, Sha, Version};
use crate::domain::runtime::provenance::Origin;

/// So soon after one another they belong together.
const TOGETHER: SignedDuration = SignedDuration::from_secs(30);
/// Where something always arrives, a card must end some time.
const LONGEST: SignedDuration = SignedDuration::from_mins(5);
/// Fewer have each a message of their own.
pub const FEWEST: usize = 4;

/// One artefact's part in it.
#[derive(Clone, Debug)]
pub struct Member {
    pub artefact: ArtefactName,
    pub version: Version,
    pub commit: Option<Commit>,
    pub origin: Origin,
    pub stand: Stand,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stand {
    RollsOut,
    Runs,
    Failed {
        reason: String,
    },
    /// Another version took its place before it ran or failed.
    Replaced,
}

impl Stand {
    pub fn of(sighting: &Sighting) -> Self {
        match (&sighting.failed, sighting.running_at, sighting.ended_at) {
            (Some(reason), None, _) => Self::Failed { reason: reason.clone() },
            (_, Some(_), _) => Self::Runs,
            (None, None, None) => Self::RollsOut,
            (None, None, Some(_)) => Self::Replaced,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Wave {
    pub environment: EnvironmentName,
    pub branch: String,
    /// When the first of them was first seen.
    pub began: Timestamp,
    /// By name, each artefact once.
    pub members: Vec<Member>,
    /// The rung they could go to next.
    pub above: Option<EnvironmentName>,
    pub is_first_rung: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub run: usize,
    pub roll_out: usize,
    pub failed: usize,
    pub replaced: usize,
}

impl Wave {
    /// The part of it that concerns somebody.
    #[must_use]
    pub fn only(&self, artefacts: &[ArtefactName]) -> Self {
        let mut part = self.clone();
        part.members.retain(|member| artefacts.contains(&member.artefact));
        part
    }

    pub fn count(&self) -> Count {
        let mut count = Count::default();
        for member in &self.members {
            match member.stand {
                Stand::RollsOut => count.roll_out += 1,
                Stand::Runs => count.run += 1,
                Stand::Failed { .. } => count.failed += 1,
                Stand::Replaced => count.replaced += 1,
            }
        }
        count
    }

    pub fn is_over(&self) -> bool {
        self.count().roll_out == 0
    }

    /// The commit that all are of, as far as their commits are known.
    pub fn commit(&self) -> Option<&Commit> {
        let mut shas = self.members.iter().filter_map(|member| member.version.commit.as_ref());
        let first: &Sha = shas.next()?;
        if shas.any(|other| other != first) {
            return None;
        }
        self.members.iter().find_map(|member| member.commit.as_ref()).filter(|commit| commit.sha == *first)
    }

    /// As they are shown: what failed, then what goes on, then what is well.
    pub fn by_urgency(&self) -> Vec<&Member> {
        let mut all: Vec<&Member> = self.members.iter().collect();
        all.sort_by_key(|member| match member.stand {
            Stand::Failed { .. } => 0,
            Stand::RollsOut => 1,
            Stand::Runs => 2,
            Stand::Replaced => 3,
        });
        all
    }

    pub fn key(environment: &EnvironmentName, began: Timestamp) -> MessageKey {
        MessageKey::new(&format!("wave:{environment}:{}", began.as_microsecond()))
    }
}

/// Parts moments into those that belong together, each part as the places of its first and last; `moments` are in order.
pub fn parts(moments: &[Timestamp]) -> Vec<std::ops::Range<usize>> {
    let mut parts: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, moment) in moments.iter().enumerate() {
        match parts.last_mut() {
            Some(part)
                if moment.duration_since(moments[part.end - 1]) <= TOGETHER
                    && moment.duration_since(moments[part.start]) <= LONGEST =>
            {
                part.end = at + 1;
            }
            _ => parts.push(at..at + 1),
        }
    }
    parts
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
    fn what_begins_within_half_a_minute_of_one_another_belongs_together() {
        type Parts = &'static [(usize, usize)];
        let cases: [(&str, Vec<i64>, Parts); 6] = [
            ("nothing", vec![], &[]),
            ("one", vec![0], &[(0, 1)]),
            ("at the same moment", vec![0, 0, 0], &[(0, 3)]),
            ("each soon after the one before", vec![0, 30, 60, 90], &[(0, 4)]),
            ("a pause parts them", vec![0, 30, 61, 62], &[(0, 2), (2, 4)]),
            ("nothing goes on for ever", (0..12).map(|n| n * 30).collect(), &[(0, 11), (11, 12)]),
        ];
        for (name, seconds, expected) in cases {
            let moments: Vec<_> = seconds.into_iter().map(at).collect();
            let found: Vec<_> = parts(&moments).into_iter().map(|part| (part.start, part.end)).collect();
            assert_eq!(found, expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn each_moment_is_in_one_part_and_what_comes_later_moves_no_beginning(mut seconds in prop::collection::vec(0_i64..2_000, 0..60), more in 0_i64..500) {
            seconds.sort_unstable();
            let moments: Vec<_> = seconds.iter().copied().map(at).collect();
            let known = parts(&moments);
            prop_assert_eq!(known.iter().cloned().flatten().collect::<Vec<_>>(), (0..moments.len()).collect::<Vec<_>>());
            let later = at(seconds.last().copied().unwrap_or_default() + more);
            let grown: Vec<_> = moments.iter().copied().chain([later]).collect();
            let began = |parts: &[std::ops::Range<usize>]| parts.iter().map(|part| part.start).collect::<Vec<_>>();
            prop_assert!(began(&parts(&grown)).starts_with(&began(&known)));
        }
    }

    #[test]
    fn one_commit_is_named_once_and_what_failed_stands_first() {
        let member = |name: &str, sha: Option<char>, stand: Stand| Member {
            artefact: ArtefactName::new(name),
            version: Version { commit: sha.map(sample::sha), ..Version::default() },
            commit: sha.map(|sha| sample::commit(sha, "Go on")),
            origin: Origin::Unknown,
            stand,
        };
        let failed = || Stand::Failed { reason: "CrashLoopBackOff".to_owned() };
        let mut wave = Wave {
            environment: EnvironmentName::new("qa"),
            branch: "qa".to_owned(),
            began: at(0),
            members: vec![
                member("a", Some('a'), Stand::Runs),
                member("b", None, Stand::RollsOut),
                member("c", Some('a'), failed()),
            ],
            above: None,
            is_first_rung: false,
        };
        assert_eq!(wave.commit().map(|commit| commit.sha.clone()), Some(sample::sha('a')));
        assert_eq!(wave.count(), Count { run: 1, roll_out: 1, failed: 1, replaced: 0 });
        assert!(!wave.is_over());
        let names: Vec<_> = wave.by_urgency().iter().map(|member| member.artefact.as_str().to_owned()).collect();
        assert_eq!(names, ["c", "b", "a"]);
        wave.members[1] = member("b", Some('b'), Stand::Runs);
        assert_eq!(wave.commit(), None, "they are of two commits");
        assert!(wave.is_over());
    }
}
