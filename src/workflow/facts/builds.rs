//! The states of builds by commit, from GitHub's webhooks. They inform people who wait, and prove nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use crate::adapters::reports::github::{Build, BuildState};
use crate::adapters::store::{LedgerDetails, LedgerKind, Store, StoreError};
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

/// The most commits that are remembered. People wait only for builds of recent commits.
const MAX_COMMITS: usize = 1_000;

/// How many entries of the ledger are read at the start.
const MAX_RECALLED_ENTRIES: u32 = 1_000;

#[derive(Clone, Debug, Default)]
pub struct Builds(Arc<RwLock<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// The newest build of each workflow.
    by_commit: HashMap<BuildKey, Vec<Build>>,
    /// The oldest keys are removed first.
    insertion_order: VecDeque<BuildKey>,
}

/// The repository in lower case, because GitHub ignores case, and the commit.
type BuildKey = (String, Sha);

fn build_key(repository: &Repository, sha: &Sha) -> BuildKey {
    (repository.to_string().to_ascii_lowercase(), sha.clone())
}

impl Builds {
    /// The build of a commit. Of several workflows, the one that delays the result most: a failed one, else a running
    /// one, else a queued one.
    pub fn find_build(&self, repository: &Repository, sha: &Sha) -> Option<Build> {
        let memory = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let builds = memory.by_commit.get(&build_key(repository, sha))?;
        let weight = |build: &&Build| match build.state {
            BuildState::Failed { .. } => 3,
            BuildState::Running => 2,
            BuildState::Queued => 1,
            BuildState::Succeeded => 0,
        };
        builds.iter().max_by_key(|build| (weight(build), build.at)).cloned()
    }

    /// `false`: the same build or a newer one is known.
    pub(crate) fn record_build(&self, build: &Build) -> bool {
        let mut memory = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let memory = &mut *memory;
        let key = build_key(&build.repository, &build.commit);
        let builds = memory.by_commit.entry(key.clone()).or_insert_with(|| {
            memory.insertion_order.push_back(key);
            Vec::new()
        });
        match builds.iter_mut().find(|recorded| recorded.name == build.name) {
            Some(recorded) if !is_newer(build, recorded) => return false,
            Some(recorded) => *recorded = build.clone(),
            None => builds.push(build.clone()),
        }
        while memory.insertion_order.len() > MAX_COMMITS {
            if let Some(oldest) = memory.insertion_order.pop_front() {
                memory.by_commit.remove(&oldest);
            }
        }
        true
    }

    /// Loads the builds from the ledger, because GitHub reports each of them only once.
    pub async fn load_stored(&self, store: &Store) -> Result<(), StoreError> {
        for entry in store.list_newest_entries(LedgerKind::Build, MAX_RECALLED_ENTRIES).await?.into_iter().rev() {
            let Some(LedgerDetails::Build(build)) = entry.details else { continue };
            if let Ok(build) = serde_json::from_value::<Build>(build) {
                self.record_build(&build);
            }
        }
        Ok(())
    }
}

/// Webhooks overtake each other. A later run or attempt wins. Within one attempt the later state wins, and an ended
/// build does not begin again.
fn is_newer(build: &Build, recorded: &Build) -> bool {
    let rank = |build: &Build| {
        let stage = match build.state {
            BuildState::Queued => 0,
            BuildState::Running => 1,
            BuildState::Succeeded | BuildState::Failed { .. } => 2,
        };
        (build.run, build.attempt, stage, build.at)
    };
    rank(build) > rank(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha(digit: &str) -> Sha {
        digit.repeat(40).parse().unwrap()
    }

    fn repository() -> Repository {
        "acme/checkout".parse().unwrap()
    }

    fn build(name: &str, run: u64, attempt: u64, state: BuildState, second: i64) -> Build {
        Build {
            key: String::new(),
            repository: repository(),
            commit: sha("a"),
            branch: Some("develop".to_owned()),
            name: name.to_owned(),
            run,
            attempt,
            state,
            url: String::new(),
            at: Some(jiff::Timestamp::from_second(1_800_000_000 + second).unwrap()),
        }
    }

    fn failed() -> BuildState {
        BuildState::Failed { conclusion: "failure".to_owned() }
    }

    #[test]
    fn the_newest_state_counts_in_any_order_of_receipt() {
        use BuildState::{Queued, Running, Succeeded};
        let cases = [
            ("in order", vec![(1, 1, Queued, 0), (1, 1, Running, 1), (1, 1, Succeeded, 2)], Succeeded),
            ("the last state first", vec![(1, 1, Succeeded, 2), (1, 1, Running, 1), (1, 1, Queued, 0)], Succeeded),
            ("two states in the same second", vec![(1, 1, failed(), 1), (1, 1, Running, 1)], failed()),
            ("a second attempt", vec![(1, 1, failed(), 5), (1, 2, Running, 6)], Running),
            ("the late end of the first attempt", vec![(1, 2, Running, 6), (1, 1, failed(), 5)], Running),
            ("another run", vec![(1, 1, failed(), 5), (2, 1, Queued, 6)], Queued),
        ];
        for (name, states, expected) in cases {
            let builds = Builds::default();
            for (run, attempt, state, second) in states {
                builds.record_build(&build("ci", run, attempt, state, second));
            }
            assert_eq!(builds.find_build(&repository(), &sha("a")).unwrap().state, expected, "{name}");
        }
    }

    #[test]
    fn of_several_workflows_the_one_that_delays_most_is_shown() {
        let builds = Builds::default();
        assert!(builds.record_build(&build("lint", 1, 1, BuildState::Succeeded, 9)));
        assert!(builds.record_build(&build("image", 2, 1, BuildState::Running, 3)));
        assert!(!builds.record_build(&build("image", 2, 1, BuildState::Running, 3)), "the same state again");
        assert_eq!(builds.find_build(&"Acme/Checkout".parse().unwrap(), &sha("a")).unwrap().name, "image");
        builds.record_build(&build("test", 3, 1, failed(), 4));
        assert_eq!(builds.find_build(&repository(), &sha("a")).unwrap().name, "test");
        assert_eq!(builds.find_build(&repository(), &sha("b")), None);
        assert_eq!(builds.find_build(&"acme/shop".parse().unwrap(), &sha("a")), None);
    }

    #[test]
    fn only_the_newest_commits_are_remembered() {
        let builds = Builds::default();
        let sha_of = |n: usize| format!("{n:040x}").parse::<Sha>().unwrap();
        for n in 0..=MAX_COMMITS {
            builds.record_build(&Build { commit: sha_of(n), ..build("ci", 1, 1, BuildState::Running, 0) });
        }
        assert_eq!(builds.find_build(&repository(), &sha_of(0)), None);
        assert!(
            builds.find_build(&repository(), &sha_of(1)).is_some()
                && builds.find_build(&repository(), &sha_of(MAX_COMMITS)).is_some()
        );
        assert_eq!(builds.0.read().unwrap().by_commit.len(), MAX_COMMITS);
    }
}
