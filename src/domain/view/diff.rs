//! One artefact between two environments: what runs in each, what Git has for each, and what lies between.

use jiff::Timestamp;

use crate::domain::change::plan::Pending;
use crate::domain::git::commit_summary::Drift;
use crate::domain::git::text_diff::Difference;
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::{Environment, EnvironmentName, Ladder};
use crate::domain::model::version::{Sha, Version};
use crate::domain::runtime::rollout::RolloutState;

#[derive(Clone, Debug)]
pub struct Diff {
    pub artefact: ArtefactName,
    /// As they were named.
    pub source: Side,
    pub target: Side,
    pub between: Between,
    /// What brings the one that is behind up to date.
    pub next: Option<Next>,
    /// The commits that were compared: the upper one's and the lower one's.
    pub compared: Option<(Sha, Sha)>,
    /// How the manifest of the upper one differs from that of the lower one.
    pub manifest: Option<Text>,
}

/// The difference of a file's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub file: String,
    pub difference: Difference,
}

/// What is known of it in one environment.
#[derive(Clone, Debug)]
pub struct Side {
    pub environment: EnvironmentName,
    pub runs: Option<Version>,
    pub state: RolloutState,
    pub since: Option<Timestamp>,
    pub git: InGit,
}

/// What Git has for an environment, which need not run yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InGit {
    Unknown,
    NoBranch {
        branch: String,
    },
    Branch {
        branch: String,
        head: Sha,
        undeployed: Undeployed,
    },
    Manifest {
        file: String,
        says: Version,
        runs: bool,
    },
    /// The manifest cannot be read, and why.
    Unreadable {
        file: String,
        why: String,
    },
}

/// Merged, and not deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undeployed {
    Nothing,
    Commits(u64),
    /// The branch went back, or has nothing in common with what runs.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Between {
    /// It is not meant to be there.
    NotThere(EnvironmentName),
    NothingRuns(EnvironmentName),
    /// Nothing tells the commit of what runs there.
    CommitUnknown(EnvironmentName),
    /// The two have nothing in common, or GitHub has lost one of them.
    NoComparison,
    /// Nobody could be asked, and why.
    Unknown(String),
    /// All that anybody wrote is in both.
    Same,
    Differs {
        /// The upper of the two, where it does not have all.
        behind: Option<EnvironmentName>,
        drift: Box<Drift>,
        /// What only the upper one has came to it from below: the lower one went back.
        newer: bool,
    },
}

/// A step up the ladder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    pub environment: EnvironmentName,
    /// What would go there, as it was shown; `None`: there is a rung in between, which comes first.
    pub version: Option<Version>,
}

impl Between {
    pub fn of(pending: &Pending, artefact: &Artefact, upper: &EnvironmentName) -> Self {
        let drift = Drift::of(pending, artefact);
        // What concerns none of its files is nothing new for it.
        let concerned = pending.files.concern(artefact);
        if drift.is_nothing() || (!concerned && drift.hotfixes_in_all == 0 && !drift.hotfixes_cut) {
            return Self::Same;
        }
        let behind = (concerned && drift.commits_in_all > 0).then(|| upper.clone());
        Self::Differs { behind, newer: pending.target_is_newer(), drift: Box::new(drift) }
    }

    pub fn is_same(&self) -> bool {
        matches!(self, Self::Same)
    }

    pub fn behind(&self) -> Option<&EnvironmentName> {
        match self {
            Self::Differs { behind, .. } => behind.as_ref(),
            _ => None,
        }
    }
}

impl Diff {
    /// The source stands above the target: what is asked is how far behind it is.
    pub fn is_turned(&self, ladder: &Ladder) -> bool {
        above(ladder, &self.source.environment, &self.target.environment)
    }

    /// Something was merged for one of them that does not run there.
    pub fn is_undeployed(&self) -> bool {
        [&self.source, &self.target].iter().any(|side| side.git.is_undeployed())
    }
}

impl InGit {
    pub fn is_undeployed(&self) -> bool {
        match self {
            Self::Branch { undeployed, .. } => *undeployed != Undeployed::Nothing,
            Self::Manifest { runs, .. } => !runs,
            Self::Unknown | Self::NoBranch { .. } | Self::Unreadable { .. } => false,
        }
    }
}

/// Does the one stand above the other?
pub fn above(ladder: &Ladder, one: &EnvironmentName, other: &EnvironmentName) -> bool {
    let at = |name: &EnvironmentName| ladder.rungs().iter().position(|rung| rung.name == *name);
    at(one) > at(other)
}

/// What comes next where the upper one is behind: to it, or first to the rung between the two.
pub fn next(artefact: &Artefact, lower: &Side, upper: &Environment, ladder: &Ladder) -> Option<Next> {
    let step = ladder.above(&lower.environment, artefact)?;
    let version = (step.name == upper.name).then(|| lower.runs.clone()).flatten();
    Some(Next { environment: step.name.clone(), version })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sample;

    #[test]
    fn the_next_step_is_the_rung_between_where_there_is_one() {
        let catalogue = sample::catalogue();
        let (ladder, checkout) = (&catalogue.ladder, catalogue.artefact("checkout").unwrap());
        let runs = Version { tag: Some("qa-1".into()), ..Version::default() };
        let lower = Side {
            environment: EnvironmentName::new("qa"),
            runs: Some(runs.clone()),
            state: RolloutState::Running { ready: 1 },
            since: None,
            git: InGit::Unknown,
        };
        for (upper, direct) in [("staging", true), ("prod", false)] {
            let step = next(checkout, &lower, ladder.find(upper).unwrap(), ladder).unwrap();
            assert_eq!((step.environment.as_str(), step.version), ("staging", direct.then(|| runs.clone())), "{upper}");
        }
    }

    #[test]
    fn what_anybody_wrote_makes_a_difference_and_merges_make_none() {
        let catalogue = sample::catalogue();
        let checkout = catalogue.artefact("checkout").unwrap();
        let prod = EnvironmentName::new("prod");
        let lone = |digit, parents: &[char], only_moves| {
            let commit = crate::domain::model::version::Commit { only_moves, ..sample::commit(digit, "x") };
            crate::domain::git::comparison::Lone::new(
                commit,
                parents.iter().map(|it| sample::sha(*it)).collect(),
                None,
                None,
            )
        };
        let merges = Pending {
            ahead_by: 1,
            commits: vec![lone('a', &['0', '1'], true)],
            behind_by: 1,
            only_there: vec![lone('b', &['2', '3'], true)],
            ..Pending::default()
        };
        assert!(Between::of(&merges, checkout, &prod).is_same());
        let ahead = Pending { ahead_by: 1, commits: vec![lone('a', &['0'], false)], ..Pending::default() };
        assert_eq!(Between::of(&ahead, checkout, &prod).behind(), Some(&prod));
        let hotfix = Pending { behind_by: 1, only_there: vec![lone('a', &['0'], false)], ..Pending::default() };
        let between = Between::of(&hotfix, checkout, &prod);
        assert!(!between.is_same() && between.behind().is_none());
    }
}
