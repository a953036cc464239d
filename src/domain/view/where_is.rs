//! Where a commit is: which environments run code that contains it, since when, and what it waits for in the next.

use jiff::Timestamp;

use crate::domain::change::PullRequestRef;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::{ArtefactName, Repository};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Commit, Sha};

/// The answer for one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitLocations {
    pub repository: Repository,
    pub sha: Sha,
    /// As people know it, where anybody could tell.
    pub commit: Option<Commit>,
    /// By name; the first of them, where there are many.
    pub artefacts: Vec<ArtefactLocations>,
    /// Of all artefacts, where there are more than are shown.
    pub tally: Option<Tally>,
}

/// One artefact's, lowest rung first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtefactLocations {
    pub artefact: ArtefactName,
    pub environments: Vec<EnvironmentPresence>,
    /// The rung that is to get it next, and what for it waits there.
    pub prerequisite: Option<(EnvironmentName, Prerequisite)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentPresence {
    pub environment: EnvironmentName,
    pub presence: CommitPresence,
    /// Why the cluster cannot be read, so that this is what was last seen.
    pub unreadable: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitPresence {
    Present {
        /// As far as anybody saw it.
        since: Option<Timestamp>,
        /// Why what runs there does not run as it should.
        problem: Option<String>,
    },
    RollingOut {
        ready: u32,
        wanted: u32,
    },
    Absent {
        /// It was there.
        removal: Option<CodeRemoval>,
    },
    /// There is no workload.
    NoWorkload,
    Unknown {
        why: String,
    },
}

/// How code that was there went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeRemoval {
    /// `None`: by the environment's own rule, or by a hand that nobody knows.
    pub by: Option<PersonId>,
    pub at: Option<Timestamp>,
    pub reason: Option<String>,
}

/// What has to happen before the next rung has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prerequisite {
    /// The first rung follows its branch.
    Push { branch: String },
    /// A change that is under way, or did not come to its end. `brings` is `None` where nobody compared them.
    Change { id: ChangeId, stage_text: &'static str, contains_commit: Option<bool> },
    /// Somebody must promote it, which takes that it runs well below.
    Promotion { below: EnvironmentName, problem: Option<String> },
    /// It was rolled back there, and comes back only with what repairs it.
    Repair { below: EnvironmentName },
    /// It came past this rung, whose branch does not have it.
    BackMerge { branch: String },
}

/// How many artefacts have it on each rung, lowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    pub artefacts: usize,
    /// With how many have it, of how many are there.
    pub environments: Vec<(EnvironmentName, usize, usize)>,
}

/// One of the things that somebody can mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryMatch {
    Commit {
        repository: Repository,
        sha: Sha,
        commit: Option<Commit>,
    },
    /// A pull request that is not merged, and so nowhere.
    Unmerged {
        repository: Repository,
        pull: PullRequestRef,
        title: String,
        is_closed: bool,
    },
}

impl CommitLocations {
    /// The change that it waits for, where there is only one: its card can be linked to.
    pub fn find_single_change(&self) -> Option<ChangeId> {
        let mut named = self.artefacts.iter().filter_map(|places| match &places.prerequisite {
            Some((_, Prerequisite::Change { id, .. })) => Some(*id),
            _ => None,
        });
        let first = named.next()?;
        named.all(|other| other == first).then_some(first)
    }
}

impl QueryMatch {
    pub fn repository(&self) -> &Repository {
        match self {
            Self::Commit { repository, .. } | Self::Unmerged { repository, .. } => repository,
        }
    }
}

impl CommitPresence {
    pub fn has_commit(&self) -> bool {
        matches!(self, Self::Present { .. } | Self::RollingOut { .. })
    }

    fn is_absent(&self) -> bool {
        matches!(self, Self::Absent { .. } | Self::NoWorkload)
    }
}

/// Which rung is to get it next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextEnvironment {
    /// By climbing.
    Upward(usize),
    /// It stands above and not here.
    Backward(usize),
}

/// The lowest rung without it that stands above one with it; else, where it is further up only, the lowest without it.
pub fn find_next_environment(environments: &[EnvironmentPresence]) -> Option<NextEnvironment> {
    let lacks = |at: &usize| environments[*at].presence.is_absent();
    let Some(lowest) = environments.iter().position(|rung| rung.presence.has_commit()) else {
        // What is nowhere begins at the bottom; where anything is unknown nobody can tell.
        let known = environments.iter().all(|rung| rung.presence.is_absent());
        return (0..environments.len()).find(|_| known).map(NextEnvironment::Upward);
    };
    let up = (lowest..environments.len()).find(lacks).map(NextEnvironment::Upward);
    up.or_else(|| (0..lowest).find(lacks).map(NextEnvironment::Backward))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x` has it, `.` does not, `?` nobody knows.
    fn rungs(text: &str) -> Vec<EnvironmentPresence> {
        let one = |(at, mark): (usize, char)| EnvironmentPresence {
            environment: EnvironmentName::new(&format!("rung-{at}")),
            presence: match mark {
                'x' => CommitPresence::Present { since: None, problem: None },
                '.' => CommitPresence::Absent { removal: None },
                _ => CommitPresence::Unknown { why: String::new() },
            },
            unreadable: None,
        };
        text.chars().enumerate().map(one).collect()
    }

    #[test]
    fn the_next_rung_is_the_lowest_that_it_has_to_climb_to() {
        let cases = [
            ("xxxx", None),
            ("....", Some(NextEnvironment::Upward(0))),
            ("x...", Some(NextEnvironment::Upward(1))),
            ("xx..", Some(NextEnvironment::Upward(2))),
            (".x..", Some(NextEnvironment::Upward(2))),
            ("...x", Some(NextEnvironment::Backward(0))),
            ("x.x.", Some(NextEnvironment::Upward(1))),
            ("x?..", Some(NextEnvironment::Upward(2))),
            ("?...", None),
            ("????", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(find_next_environment(&rungs(text)), expected, "{text}");
        }
    }
}
