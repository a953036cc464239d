//! Where a commit is: which environments run code that contains it, since when, and what it waits for in the next.

use jiff::Timestamp;

use crate::domain::change::{ChangeId, Pull};
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::{ArtefactName, Repository};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Commit, Sha};

/// The answer for one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    pub repository: Repository,
    pub sha: Sha,
    /// As people know it, where anybody could tell.
    pub commit: Option<Commit>,
    /// By name; the first of them, where there are many.
    pub artefacts: Vec<Places>,
    /// Of all artefacts, where there are more than are shown.
    pub tally: Option<Tally>,
}

/// One artefact's, lowest rung first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    pub artefact: ArtefactName,
    pub rungs: Vec<Rung>,
    /// The rung that is to get it next, and what for it waits there.
    pub waits: Option<(EnvironmentName, Waits)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rung {
    pub environment: EnvironmentName,
    pub standing: Standing,
    /// Why the cluster cannot be read, so that this is what was last seen.
    pub unreadable: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    In {
        /// As far as anybody saw it.
        since: Option<Timestamp>,
        /// Why what runs there does not run as it should.
        trouble: Option<String>,
    },
    RollingOut {
        ready: u32,
        wanted: u32,
    },
    Not {
        /// It was there.
        taken_back: Option<TakenBack>,
    },
    /// There is no workload.
    Nothing,
    Unknown {
        why: String,
    },
}

/// How code that was there went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenBack {
    /// `None`: by the environment's own rule, or by a hand that nobody knows.
    pub by: Option<PersonId>,
    pub at: Option<Timestamp>,
    pub reason: Option<String>,
}

/// What has to happen before the next rung has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The first rung follows its branch.
    Push { branch: String },
    /// A change that is under way, or did not come to its end. `brings` is `None` where nobody compared them.
    Change { id: ChangeId, words: &'static str, brings: Option<bool> },
    /// Somebody must promote it, which takes that it runs well below.
    Promotion { below: EnvironmentName, trouble: Option<String> },
    /// It was rolled back there, and comes back only with what repairs it.
    Repair { below: EnvironmentName },
    /// It came past this rung, whose branch does not have it.
    Return { branch: String },
}

/// How many artefacts have it on each rung, lowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    pub artefacts: usize,
    /// With how many have it, of how many are there.
    pub rungs: Vec<(EnvironmentName, usize, usize)>,
}

/// One of the things that somebody can mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidate {
    Commit {
        repository: Repository,
        sha: Sha,
        commit: Option<Commit>,
    },
    /// A pull request that is not merged, and so nowhere.
    Unmerged {
        repository: Repository,
        pull: Pull,
        title: String,
        closed: bool,
    },
}

impl Whereabouts {
    /// The change that it waits for, where there is only one: its card can be linked to.
    pub fn card(&self) -> Option<ChangeId> {
        let mut named = self.artefacts.iter().filter_map(|places| match &places.waits {
            Some((_, Waits::Change { id, .. })) => Some(*id),
            _ => None,
        });
        let first = named.next()?;
        named.all(|other| other == first).then_some(first)
    }
}

impl Candidate {
    pub fn repository(&self) -> &Repository {
        match self {
            Self::Commit { repository, .. } | Self::Unmerged { repository, .. } => repository,
        }
    }
}

impl Standing {
    pub fn has_it(&self) -> bool {
        matches!(self, Self::In { .. } | Self::RollingOut { .. })
    }

    fn lacks_it(&self) -> bool {
        matches!(self, Self::Not { .. } | Self::Nothing)
    }
}

/// Which rung is to get it next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// By climbing.
    Up(usize),
    /// It stands above and not here.
    Back(usize),
}

/// The lowest rung without it that stands above one with it; else, where it is further up only, the lowest without it.
pub fn next(rungs: &[Rung]) -> Option<Next> {
    let lacks = |at: &usize| rungs[*at].standing.lacks_it();
    let Some(lowest) = rungs.iter().position(|rung| rung.standing.has_it()) else {
        // What is nowhere begins at the bottom; where anything is unknown nobody can tell.
        let known = rungs.iter().all(|rung| rung.standing.lacks_it());
        return (0..rungs.len()).find(|_| known).map(Next::Up);
    };
    let up = (lowest..rungs.len()).find(lacks).map(Next::Up);
    up.or_else(|| (0..lowest).find(lacks).map(Next::Back))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x` has it, `.` does not, `?` nobody knows.
    fn rungs(text: &str) -> Vec<Rung> {
        let one = |(at, mark): (usize, char)| Rung {
            environment: EnvironmentName::new(&format!("rung-{at}")),
            standing: match mark {
                'x' => Standing::In { since: None, trouble: None },
                '.' => Standing::Not { taken_back: None },
                _ => Standing::Unknown { why: String::new() },
            },
            unreadable: None,
        };
        text.chars().enumerate().map(one).collect()
    }

    #[test]
    fn the_next_rung_is_the_lowest_that_it_has_to_climb_to() {
        let cases = [
            ("xxxx", None),
            ("....", Some(Next::Up(0))),
            ("x...", Some(Next::Up(1))),
            ("xx..", Some(Next::Up(2))),
            (".x..", Some(Next::Up(2))),
            ("...x", Some(Next::Back(0))),
            ("x.x.", Some(Next::Up(1))),
            ("x?..", Some(Next::Up(2))),
            ("?...", None),
            ("????", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(next(&rungs(text)), expected, "{text}");
        }
    }
}
