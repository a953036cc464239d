//! One artefact between two environments: what runs in each, what Git has for each, and what lies between.

use jiff::Timestamp;

use crate::domain::git::commit_summary::CommitSummary;
use crate::domain::git::pending::PendingCommits;
use crate::domain::git::text_diff::LineDiff;
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::catalogue::Ladder;
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::version::{Sha, Version};
use crate::domain::runtime::rollout::RolloutState;

#[derive(Clone, Debug)]
pub struct Diff {
    pub artefact: ArtefactName,
    /// As they were named.
    pub source: DiffSide,
    pub target: DiffSide,
    pub result: DiffResult,
    /// What brings the one that is behind up to date.
    pub next_promotion: Option<NextPromotion>,
    /// The commits that were compared: the upper one's and the lower one's.
    pub compared_commits: Option<(Sha, Sha)>,
    /// How the manifest of the upper one differs from that of the lower one.
    pub manifest_diff: Option<ManifestDiff>,
}

/// The difference of a file's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestDiff {
    pub file: String,
    pub difference: LineDiff,
}

/// What is known of it in one environment.
#[derive(Clone, Debug)]
pub struct DiffSide {
    pub environment: EnvironmentName,
    pub running: Option<Version>,
    pub state: RolloutState,
    pub since: Option<Timestamp>,
    pub git: GitState,
}

/// What Git has for an environment, which need not run yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitState {
    Unknown,
    NoBranch {
        branch: String,
    },
    Branch {
        branch: String,
        head: Sha,
        undeployed: UndeployedCommits,
    },
    Manifest {
        file: String,
        specified: Version,
        is_running: bool,
    },
    /// The manifest cannot be read, and why.
    Unreadable {
        file: String,
        why: String,
    },
}

/// Merged, and not deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndeployedCommits {
    Nothing,
    Commits(u64),
    /// The branch went back, or has nothing in common with what runs.
    Diverged,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffResult {
    /// It is not meant to be there.
    NotInEnvironment(EnvironmentName),
    NotRunning(EnvironmentName),
    /// Nothing tells the commit of what runs there.
    CommitUnknown(EnvironmentName),
    /// The two have nothing in common, or GitHub has lost one of them.
    Incomparable,
    /// Nobody could be asked, and why.
    Unknown(String),
    /// All that anybody wrote is in both.
    Same,
    Different {
        /// The upper of the two, where it does not have all.
        behind: Option<EnvironmentName>,
        drift: Box<CommitSummary>,
        /// What only the upper one has came to it from below: the lower one went back.
        upper_is_newer: bool,
    },
}

/// A step up the ladder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextPromotion {
    pub environment: EnvironmentName,
    /// What would go there, as it was shown; `None`: there is a rung in between, which comes first.
    pub version: Option<Version>,
}

impl DiffResult {
    pub fn from_pending(pending: &PendingCommits, artefact: &Artefact, upper: &EnvironmentName) -> Self {
        let drift = CommitSummary::from_pending(pending, artefact);
        // What concerns none of its files is nothing new for it.
        let concerned = pending.files.may_be_relevant_to(artefact);
        if drift.is_empty() || (!concerned && drift.hotfixes_in_all == 0 && !drift.hotfixes_cut) {
            return Self::Same;
        }
        let behind = (concerned && drift.commits_in_all > 0).then(|| upper.clone());
        Self::Different { behind, upper_is_newer: pending.is_target_newer(), drift: Box::new(drift) }
    }

    pub fn is_same(&self) -> bool {
        matches!(self, Self::Same)
    }

    pub fn behind_environment(&self) -> Option<&EnvironmentName> {
        match self {
            Self::Different { behind, .. } => behind.as_ref(),
            _ => None,
        }
    }
}

impl Diff {
    /// The source stands above the target: what is asked is how far behind it is.
    pub fn is_source_above(&self, ladder: &Ladder) -> bool {
        is_above(ladder, &self.source.environment, &self.target.environment)
    }

    /// Something was merged for one of them that does not run there.
    pub fn has_undeployed(&self) -> bool {
        [&self.source, &self.target].iter().any(|side| side.git.has_undeployed())
    }
}

impl GitState {
    pub fn has_undeployed(&self) -> bool {
        match self {
            Self::Branch { undeployed, .. } => *undeployed != UndeployedCommits::Nothing,
            Self::Manifest { is_running: runs, .. } => !runs,
            Self::Unknown | Self::NoBranch { .. } | Self::Unreadable { .. } => false,
        }
    }
}

/// Does the one stand above the other?
pub fn is_above(ladder: &Ladder, one: &EnvironmentName, other: &EnvironmentName) -> bool {
    let at = |name: &EnvironmentName| ladder.environments().iter().position(|rung| rung.name == *name);
    at(one) > at(other)
}

/// What comes next where the upper one is behind: to it, or first to the rung between the two.
pub fn find_next_promotion(
    artefact: &Artefact,
    lower: &DiffSide,
    upper: &Environment,
    ladder: &Ladder,
) -> Option<NextPromotion> {
    let step = ladder.find_next_above(&lower.environment, artefact)?;
    let version = (step.name == upper.name).then(|| lower.running.clone()).flatten();
    Some(NextPromotion { environment: step.name.clone(), version })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sample;

    #[test]
    fn the_next_step_is_the_rung_between_where_there_is_one() {
        let catalogue = sample::catalogue();
        let (ladder, checkout) = (&catalogue.ladder, catalogue.find_artefact("checkout").unwrap());
        let runs = Version { tag: Some("qa-1".into()), ..Version::default() };
        let lower = DiffSide {
            environment: EnvironmentName::new("qa"),
            running: Some(runs.clone()),
            state: RolloutState::Running { ready: 1 },
            since: None,
            git: GitState::Unknown,
        };
        for (upper, direct) in [("staging", true), ("prod", false)] {
            let step = find_next_promotion(checkout, &lower, ladder.find(upper).unwrap(), ladder).unwrap();
            assert_eq!((step.environment.as_str(), step.version), ("staging", direct.then(|| runs.clone())), "{upper}");
        }
    }

    #[test]
    fn what_anybody_wrote_makes_a_difference_and_merges_make_none() {
        let catalogue = sample::catalogue();
        let checkout = catalogue.find_artefact("checkout").unwrap();
        let prod = EnvironmentName::new("prod");
        let lone = |digit, parents: &[char], only_moves| {
            let commit = crate::domain::model::version::Commit { only_moves, ..sample::commit(digit, "x") };
            crate::domain::git::comparison::ListedCommit::new(
                commit,
                parents.iter().map(|it| sample::sha(*it)).collect(),
                None,
                None,
            )
        };
        let merges = PendingCommits {
            ahead_by: 1,
            commits: vec![lone('a', &['0', '1'], true)],
            behind_by: 1,
            only_in_target: vec![lone('b', &['2', '3'], true)],
            ..PendingCommits::default()
        };
        assert!(DiffResult::from_pending(&merges, checkout, &prod).is_same());
        let ahead =
            PendingCommits { ahead_by: 1, commits: vec![lone('a', &['0'], false)], ..PendingCommits::default() };
        assert_eq!(DiffResult::from_pending(&ahead, checkout, &prod).behind_environment(), Some(&prod));
        let hotfix = PendingCommits {
            behind_by: 1,
            only_in_target: vec![lone('a', &['0'], false)],
            ..PendingCommits::default()
        };
        let between = DiffResult::from_pending(&hotfix, checkout, &prod);
        assert!(!between.is_same() && between.behind_environment().is_none());
    }
}
