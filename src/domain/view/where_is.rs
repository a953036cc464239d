//! The contents of `where`: the environments that run a commit, since when, and the prerequisite for the next one.

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
    /// The commit's data, if known.
    pub commit: Option<Commit>,
    /// Sorted by name; only the first ones if there are many.
    pub artefacts: Vec<ArtefactLocations>,
    /// The counts of all artefacts, if not all are shown.
    pub tally: Option<Tally>,
}

/// The locations for one artefact, lowest environment first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtefactLocations {
    pub artefact: ArtefactName,
    pub environments: Vec<EnvironmentPresence>,
    /// The next environment for the commit, and its prerequisite.
    pub prerequisite: Option<(EnvironmentName, Prerequisite)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentPresence {
    pub environment: EnvironmentName,
    pub presence: CommitPresence,
    /// Why the cluster cannot be read. The data is then from the last sighting.
    pub unreadable: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitPresence {
    Present {
        /// When the commit came to run here, if that was observed.
        since: Option<Timestamp>,
        /// Why the running version is not healthy.
        problem: Option<String>,
    },
    RollingOut {
        ready: u32,
        wanted: u32,
    },
    Absent {
        /// Set if the commit was there before.
        removal: Option<CodeRemoval>,
    },
    /// There is no workload.
    NoWorkload,
    Unknown {
        reason: String,
    },
}

/// How a commit was removed from an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeRemoval {
    /// `None`: the environment's policy, or an unknown actor.
    pub by: Option<PersonId>,
    pub at: Option<Timestamp>,
    pub reason: Option<String>,
}

/// The event that must happen before the next environment has the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prerequisite {
    /// The first environment follows its branch.
    Push { branch: String },
    /// A change in progress, or one that did not succeed. `contains_commit` is `None` if they were not compared.
    Change { id: ChangeId, stage_text: &'static str, contains_commit: Option<bool> },
    /// A person must promote it. `problem` says why it is not healthy below.
    Promotion { below: EnvironmentName, problem: Option<String> },
    /// It was rolled back in the environment, and returns only with a repair.
    Repair { below: EnvironmentName },
    /// The commit is above this environment, but not on its branch.
    BackMerge { branch: String },
}

/// The number of artefacts with the commit in each environment, lowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    pub artefacts: usize,
    /// For each environment: the number of artefacts that have the commit, and the number of all artefacts there.
    pub environments: Vec<(EnvironmentName, usize, usize)>,
}

/// One possible meaning of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryMatch {
    Commit {
        repository: Repository,
        sha: Sha,
        commit: Option<Commit>,
    },
    /// A pull request that is not merged, so it runs nowhere.
    Unmerged {
        repository: Repository,
        pull: PullRequestRef,
        title: String,
        is_closed: bool,
    },
}

impl CommitLocations {
    /// The change that it waits for, if there is only one. The answer links to its card.
    pub fn find_single_change(&self) -> Option<ChangeId> {
        let mut changes = self.artefacts.iter().filter_map(|locations| match &locations.prerequisite {
            Some((_, Prerequisite::Change { id, .. })) => Some(*id),
            _ => None,
        });
        let first = changes.next()?;
        changes.all(|other| other == first).then_some(first)
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

/// The next environment for the commit, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextEnvironment {
    /// By a promotion.
    Upward(usize),
    /// The commit is above this environment, but not in it.
    Backward(usize),
}

/// The next environment to get the commit: the first one without it above the lowest one that has it. If there is none:
/// the lowest one without it.
pub fn find_next_environment(environments: &[EnvironmentPresence]) -> Option<NextEnvironment> {
    let is_absent = |index: &usize| environments[*index].presence.is_absent();
    let Some(lowest) = environments.iter().position(|environment| environment.presence.has_commit()) else {
        // A commit that is nowhere starts at the bottom. If any environment is unknown, there is no answer.
        let is_nowhere = environments.iter().all(|environment| environment.presence.is_absent());
        return (0..environments.len()).find(|_| is_nowhere).map(NextEnvironment::Upward);
    };
    let upward = (lowest..environments.len()).find(is_absent).map(NextEnvironment::Upward);
    upward.or_else(|| (0..lowest).find(is_absent).map(NextEnvironment::Backward))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x`: has the commit, `.`: lacks it, `?`: unknown.
    fn environments(text: &str) -> Vec<EnvironmentPresence> {
        let presence_at = |(index, mark): (usize, char)| EnvironmentPresence {
            environment: EnvironmentName::new(&format!("environment-{index}")),
            presence: match mark {
                'x' => CommitPresence::Present { since: None, problem: None },
                '.' => CommitPresence::Absent { removal: None },
                _ => CommitPresence::Unknown { reason: String::new() },
            },
            unreadable: None,
        };
        text.chars().enumerate().map(presence_at).collect()
    }

    #[test]
    fn the_next_environment_is_the_lowest_without_the_commit_above_one_with_it() {
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
            assert_eq!(find_next_environment(&environments(text)), expected, "{text}");
        }
    }
}
