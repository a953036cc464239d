//! The difference of one artefact between two environments: the running versions, the state of Git, and the commits
//! between.

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
    /// The first environment of the command. `target` is the second.
    pub source: DiffSide,
    pub target: DiffSide,
    pub result: DiffResult,
    /// The promotion that brings the environment that is behind up to date.
    pub next_promotion: Option<NextPromotion>,
    /// The compared commits: that of the upper environment and that of the lower one.
    pub compared_commits: Option<(Sha, Sha)>,
    /// The difference between the manifests of the upper and the lower environment.
    pub manifest_diff: Option<ManifestDiff>,
}

/// The line diff of one file, a manifest or a file of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestDiff {
    pub file: String,
    pub difference: LineDiff,
}

/// The state of the artefact in one environment.
#[derive(Clone, Debug)]
pub struct DiffSide {
    pub environment: EnvironmentName,
    pub running: Option<Version>,
    pub state: RolloutState,
    pub since: Option<Timestamp>,
    pub git: GitState,
}

/// The state of Git for an environment, which need not be deployed yet.
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
    /// The manifest cannot be read.
    Unreadable {
        file: String,
        reason: String,
    },
}

/// Commits that are merged but not deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndeployedCommits {
    Nothing,
    Commits(u64),
    /// The branch went back, or has no common history with the running version.
    Diverged,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffResult {
    /// The artefact is not configured for this environment.
    NotInEnvironment(EnvironmentName),
    NotRunning(EnvironmentName),
    /// The commit of the running version is unknown.
    CommitUnknown(EnvironmentName),
    /// The commits have no common history, or GitHub no longer has one of them.
    Incomparable,
    /// The lookup failed, with the reason.
    Unknown(String),
    /// Neither environment lacks a commit that affects the artefact.
    Same,
    Different {
        /// The upper environment, if it lacks commits.
        behind: Option<EnvironmentName>,
        drift: Box<CommitSummary>,
        /// The commits that only the upper environment has came from below: the lower one went back.
        upper_is_newer: bool,
    },
}

/// A promotion to the next environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextPromotion {
    pub environment: EnvironmentName,
    /// The version to promote, as shown; `None`: an environment in between comes first.
    pub version: Option<Version>,
}

impl DiffResult {
    pub fn from_pending(pending: &PendingCommits, artefact: &Artefact, upper: &EnvironmentName) -> Self {
        let drift = CommitSummary::from_pending(pending, artefact);
        // Commits that touch none of the artefact's files are no difference.
        let is_relevant = pending.files.may_be_relevant_to(artefact);
        if drift.is_empty() || (!is_relevant && drift.hotfixes_in_all == 0 && !drift.hotfixes_cut) {
            return Self::Same;
        }
        let behind = (is_relevant && drift.commits_in_all > 0).then(|| upper.clone());
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
    /// Whether the source is above the target. The answer then says how far the source is behind.
    pub fn is_source_above(&self, ladder: &Ladder) -> bool {
        is_above(ladder, &self.source.environment, &self.target.environment)
    }

    /// Whether commits were merged for one of the environments but do not run there.
    pub fn has_undeployed(&self) -> bool {
        [&self.source, &self.target].iter().any(|side| side.git.has_undeployed())
    }
}

impl GitState {
    pub fn has_undeployed(&self) -> bool {
        match self {
            Self::Branch { undeployed, .. } => *undeployed != UndeployedCommits::Nothing,
            Self::Manifest { is_running, .. } => !is_running,
            Self::Unknown | Self::NoBranch { .. } | Self::Unreadable { .. } => false,
        }
    }
}

/// Whether the first environment is above the second.
pub fn is_above(ladder: &Ladder, first: &EnvironmentName, second: &EnvironmentName) -> bool {
    let position =
        |name: &EnvironmentName| ladder.environments().iter().position(|environment| environment.name == *name);
    position(first) > position(second)
}

/// The next promotion if the upper environment is behind: to it, or first to the environment in between.
pub fn find_next_promotion(
    artefact: &Artefact,
    lower: &DiffSide,
    upper: &Environment,
    ladder: &Ladder,
) -> Option<NextPromotion> {
    let next_environment = ladder.find_next_above(&lower.environment, artefact)?;
    let version = (next_environment.name == upper.name).then(|| lower.running.clone()).flatten();
    Some(NextPromotion { environment: next_environment.name.clone(), version })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sample;

    #[test]
    fn the_next_promotion_goes_to_the_environment_in_between() {
        let catalogue = sample::catalogue();
        let (ladder, checkout) = (&catalogue.ladder, catalogue.find_artefact("checkout").unwrap());
        let version = Version { tag: Some("qa-1".into()), ..Version::default() };
        let lower = DiffSide {
            environment: EnvironmentName::new("qa"),
            running: Some(version.clone()),
            state: RolloutState::Running { ready: 1 },
            since: None,
            git: GitState::Unknown,
        };
        for (upper, is_direct) in [("staging", true), ("prod", false)] {
            let promotion = find_next_promotion(checkout, &lower, ladder.find(upper).unwrap(), ladder).unwrap();
            assert_eq!(
                (promotion.environment.as_str(), promotion.version),
                ("staging", is_direct.then(|| version.clone())),
                "{upper}"
            );
        }
    }

    #[test]
    fn commits_by_people_make_a_difference_and_merges_do_not() {
        let catalogue = sample::catalogue();
        let checkout = catalogue.find_artefact("checkout").unwrap();
        let prod = EnvironmentName::new("prod");
        let listed_commit = |digit, parents: &[char], only_moves| {
            let commit = crate::domain::model::version::Commit { only_moves, ..sample::commit(digit, "x") };
            crate::domain::git::comparison::ListedCommit::new(
                commit,
                parents.iter().map(|parent| sample::sha(*parent)).collect(),
                None,
                None,
            )
        };
        let merges = PendingCommits {
            ahead_by: 1,
            commits: vec![listed_commit('a', &['0', '1'], true)],
            behind_by: 1,
            only_in_target: vec![listed_commit('b', &['2', '3'], true)],
            ..PendingCommits::default()
        };
        assert!(DiffResult::from_pending(&merges, checkout, &prod).is_same());
        let ahead = PendingCommits {
            ahead_by: 1,
            commits: vec![listed_commit('a', &['0'], false)],
            ..PendingCommits::default()
        };
        assert_eq!(DiffResult::from_pending(&ahead, checkout, &prod).behind_environment(), Some(&prod));
        let hotfix = PendingCommits {
            behind_by: 1,
            only_in_target: vec![listed_commit('a', &['0'], false)],
            ..PendingCommits::default()
        };
        let result = DiffResult::from_pending(&hotfix, checkout, &prod);
        assert!(!result.is_same() && result.behind_environment().is_none());
    }
}
