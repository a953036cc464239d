//! Random histories of pushes, hotfixes, promotions and rollbacks in two environments, through the GitHub client. A
//! simple model knows sets of commits and nothing of Git. After each move of a branch, its files must equal those of
//! the model.

use std::collections::BTreeSet;
use std::fmt::Write;

use gantry::adapters::github::{BranchComparison, OpenRollback};
use gantry::domain::model::version::Sha;

use crate::harness::repositories::{Files, GithubHarness, PromotionResult, TestRepository, expected_tree};
use crate::harness::series::{Random, Series, is_long};

/// The number of histories in a long run.
const HISTORIES: u64 = 1000;
const STEPS: usize = 14;
const BRANCHES: [&str; 3] = ["develop", "qa", "staging"];
/// Two artefacts in one repository.
const FOLDERS: [&str; 2] = ["shop", "mail"];
/// Lines of one file that can be changed independently; pushes change the first half.
const LINES: usize = 8;

/// Commits of the model by their number, which is also their order in time.
type Applied = BTreeSet<usize>;

struct ModelCommit {
    name: String,
    folder: usize,
    /// The line of the folder's shared file that this commit overwrites.
    line: Option<usize>,
    /// A push overwrites the folder's version file as well.
    push: bool,
    /// An earlier commit; this commit deletes its file.
    removes: Option<usize>,
}

/// A commit that a branch has pointed at.
struct BranchPosition {
    commit: Sha,
    applied: Applied,
    is_rollback: bool,
}

#[derive(Default)]
struct BranchModel {
    positions: Vec<BranchPosition>,
    hotfixes: Applied,
    /// The open rollbacks, newest first.
    open: Vec<OpenRollback>,
    /// The content before the oldest open rollback.
    before: Applied,
    /// The hotfixes since the oldest open rollback.
    hotfixes_since: Applied,
    /// The highest position of the environment below that was ever merged into this branch.
    merged_up_to: usize,
}

struct History<'a> {
    repo: TestRepository<'a>,
    branches: [BranchModel; 3],
    changes: ModelCommits,
    stats: &'a mut Statistics,
}

/// Counts of the events in all histories. The test fails if too few of a kind occurred.
#[derive(Debug, Default)]
struct Statistics {
    promotions: usize,
    after_rollbacks: usize,
    after_several: usize,
    rollbacks: usize,
    conflicts: usize,
    same_again: usize,
    refused: usize,
    carried: usize,
    overcautious: usize,
}

impl std::ops::Add for Statistics {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            promotions: self.promotions + other.promotions,
            after_rollbacks: self.after_rollbacks + other.after_rollbacks,
            after_several: self.after_several + other.after_several,
            rollbacks: self.rollbacks + other.rollbacks,
            conflicts: self.conflicts + other.conflicts,
            same_again: self.same_again + other.same_again,
            refused: self.refused + other.refused,
            carried: self.carried + other.carried,
            overcautious: self.overcautious + other.overcautious,
        }
    }
}

impl ModelCommit {
    fn own_file(&self) -> String {
        format!("{}/changes/{}", FOLDERS[self.folder], self.name)
    }

    /// The text resembles that of no other commit, or Git would detect a renamed file.
    fn own_text(&self) -> String {
        let name = git2::Oid::hash_object(git2::ObjectType::Blob, self.name.as_bytes()).unwrap();
        format!("{}\n{name}\n", self.name)
    }
}

#[derive(Default)]
struct ModelCommits(Vec<ModelCommit>);

impl ModelCommits {
    /// The files of a branch with these commits.
    fn files(&self, applied: &Applied) -> Files {
        let mut files = Files::from([("README".to_owned(), "one\ntwo\n".to_owned())]);
        for (folder, name) in FOLDERS.iter().enumerate() {
            let here = || applied.iter().map(|at| &self.0[*at]).filter(|change| change.folder == folder);
            let last =
                |of: &dyn Fn(&&ModelCommit) -> bool| here().filter(of).last().map_or("none", |change| &change.name);
            files.insert(format!("{name}/version"), format!("{}\n", last(&|change| change.push)));
            let mut lines = String::new();
            for line in 0..LINES {
                let _ = writeln!(lines, "{line}: {}\n\n\n\n", last(&|change| change.line == Some(line)));
            }
            files.insert(format!("{name}/lines"), lines);
            for change in here() {
                files.insert(change.own_file(), change.own_text());
            }
        }
        for removed in applied.iter().filter_map(|at| self.0[*at].removes) {
            files.remove(&self.0[removed].own_file());
        }
        files
    }
}

impl History<'_> {
    fn current_position(&self, at: usize) -> &BranchPosition {
        self.branches[at].positions.last().unwrap()
    }

    fn push(&mut self, at: usize, dice: &mut Random) {
        let push = at == 0;
        let number = self.changes.0.len();
        // Some hotfixes change the same lines as pushes, so that conflicts occur.
        let half = if push || dice.below(8) == 0 { 0 } else { LINES / 2 };
        let line = (dice.below(3) > 0).then(|| half + dice.below(LINES / 2));
        let folder = dice.below(2);
        let pushed = |other: &usize| self.changes.0[*other].push && self.changes.0[*other].folder == folder;
        let candidates: Vec<usize> = self.current_position(at).applied.iter().copied().filter(pushed).collect();
        let removes =
            (push && dice.below(5) == 0 && !candidates.is_empty()).then(|| candidates[dice.below(candidates.len())]);
        let name = format!("{}-{number}", if push { "push" } else { "hotfix" });
        self.changes.0.push(ModelCommit { name: name.clone(), folder, line, push, removes });
        let (before, mut applied) =
            (self.changes.files(&self.current_position(at).applied), self.current_position(at).applied.clone());
        applied.insert(number);
        let commit = self.repo.commit(BRANCHES[at], &name, &before, &self.changes.files(&applied));
        if !push {
            self.branches[at].hotfixes.insert(number);
            self.branches[at].hotfixes_since.insert(number);
        }
        self.branches[at].positions.push(BranchPosition { commit, applied, is_rollback: false });
    }

    async fn roll_back(&mut self, at: usize, dice: &mut Random) {
        let branch = &self.branches[at];
        let now = self.current_position(at);
        let earlier: Vec<usize> = (0..branch.positions.len())
            .filter(|one| !branch.positions[*one].is_rollback && branch.positions[*one].applied != now.applied)
            .collect();
        if earlier.is_empty() {
            return;
        }
        let to = &branch.positions[earlier[dice.below(earlier.len())]];
        let applied = to.applied.clone();
        let rollback = self.repo.roll_back(BRANCHES[at], &to.commit).await;
        let was = now.applied.clone();
        self.stats.rollbacks += 1;
        let branch = &mut self.branches[at];
        if branch.open.is_empty() {
            (branch.before, branch.hotfixes_since) = (was, Applied::new());
        }
        branch.positions.push(BranchPosition { commit: rollback.commit.clone(), applied, is_rollback: true });
        branch.open.insert(0, rollback);
    }

    /// Promotes one of the last four positions of the environment below.
    async fn promote(&mut self, at: usize, dice: &mut Random) {
        let below = &self.branches[at - 1].positions;
        // A rollback commit of the environment below is never promoted: its content is older than the commit.
        let last: Vec<usize> = (0..below.len()).rev().take(4).filter(|one| !below[*one].is_rollback).collect();
        if last.is_empty() {
            return;
        }
        let pinned = last[dice.below(last.len())];
        let (commit, brings) = (below[pinned].commit.clone(), below[pinned].applied.clone());
        let branch_model = &self.branches[at];
        let (branch, contained) = (BRANCHES[at], pinned <= branch_model.merged_up_to);
        // Most promotions of commits that are already merged are skipped, because they prove little.
        if contained && branch_model.open.is_empty() && dice.below(8) > 0 {
            return;
        }
        let open = self.repo.open_rollbacks(branch).await;
        assert_eq!(open, branch_model.open);
        let (client, repository) = (&self.repo.harness.client, &self.repo.repository);
        if contained && let Some(oldest) = branch_model.open.last() {
            let newer = match client.compare_with_branch(repository, oldest.parent.as_str(), &commit).await.unwrap() {
                BranchComparison::Pending(pending) => pending.ahead_by == 0 && pending.is_target_newer(),
                other => panic!("{other:?}"),
            };
            // The commit is already merged, so undoing the rollbacks would restore a newer version in its place.
            if newer {
                self.stats.refused += 1;
                return;
            }
        }
        if !contained && at > 1 {
            let carried =
                client.find_carried_rollback(repository, &self.current_position(at).commit, &commit).await.unwrap();
            let takes_back = !below[branch_model.merged_up_to].applied.is_subset(&brings);
            assert!(carried.is_some() || !takes_back, "the rollback below is not seen");
            if carried.is_some() {
                self.stats.carried += 1;
                self.stats.overcautious += usize::from(!takes_back);
                return;
            }
        }
        if dice.below(4) == 0 && !contained {
            self.check_reported_hotfixes(at, &commit).await;
        }
        let branch_model = &self.branches[at];
        let before = match branch_model.open.len() {
            0 => self.current_position(at).applied.clone(),
            _ => branch_model.before.union(&branch_model.hotfixes_since).copied().collect(),
        };
        let applied: Applied = before.union(&brings).copied().collect();
        match self.repo.promote_past_rollbacks(branch, &commit, &open).await {
            PromotionResult::Merged(result) => {
                self.stats.promotions += 1;
                self.stats.after_rollbacks += usize::from(!branch_model.open.is_empty());
                self.stats.after_several += usize::from(branch_model.open.len() > 1);
                self.stats.same_again += usize::from(contained);
                let branch_model = &mut self.branches[at];
                branch_model.open.clear();
                branch_model.merged_up_to = branch_model.merged_up_to.max(pinned);
                branch_model.positions.push(BranchPosition { commit: result, applied, is_rollback: false });
            }
            PromotionResult::AlreadyMerged => assert!(contained && branch_model.open.is_empty()),
            PromotionResult::Conflict => {
                self.stats.conflicts += 1;
                let touches = |one: &usize| self.changes.0[*one].line.map(|line| (self.changes.0[*one].folder, line));
                let meet = |fix: &usize| {
                    let place = touches(fix);
                    place.is_some() && applied.iter().any(|other| other != fix && touches(other) == place)
                };
                assert!(branch_model.hotfixes.iter().any(meet), "nobody changed the same line on both sides");
            }
        }
    }

    /// Checks that neither rollbacks nor the commits that undid them are listed as hotfixes.
    async fn check_reported_hotfixes(&self, at: usize, pinned: &Sha) {
        let (client, repository) = (&self.repo.harness.client, &self.repo.repository);
        let BranchComparison::Pending(pending) =
            client.compare_with_branch(repository, BRANCHES[at], pinned).await.unwrap()
        else {
            panic!("the branches have a common ancestor");
        };
        let told: BTreeSet<&str> = pending.iter_hotfixes().map(|commit| commit.subject.as_str()).collect();
        let made: BTreeSet<&str> =
            self.branches[at].hotfixes.iter().map(|one| self.changes.0[*one].name.as_str()).collect();
        assert_eq!(told, made);
        assert!(!pending.is_target_newer());
    }

    /// Checks that each branch moved as in the model, and that its files are those of the model.
    fn check(&self, stood: [usize; 3]) {
        let moves = self.repo.take_moves();
        for (at, branch) in BRANCHES.iter().enumerate() {
            let seen: Vec<_> = moves.iter().filter(|moved| moved.branch == *branch).collect();
            let new = &self.branches[at].positions[stood[at]..];
            assert_eq!(
                seen.iter().map(|moved| &moved.after).collect::<Vec<_>>(),
                new.iter().map(|new| &new.commit).collect::<Vec<_>>()
            );
            for stand in new {
                assert_eq!(
                    self.repo.tree(&stand.commit),
                    expected_tree(&self.changes.files(&stand.applied)),
                    "{branch}"
                );
            }
            assert_eq!(self.repo.head(branch), self.current_position(at).commit);
        }
    }

    fn count_positions(&self) -> [usize; 3] {
        [0, 1, 2].map(|at| self.branches[at].positions.len())
    }
}

async fn run_history(hub: &GithubHarness, number: u64, told: &mut Statistics) {
    let _tell = PrintSeedOnPanic(number);
    let mut dice = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let name = format!("acme/rollbacks-{number}");
    let (rungs, first) = hub.create_repository(&name, &BRANCHES, &ModelCommits::default().files(&Applied::new()));
    let mut history =
        History { repo: rungs, branches: Default::default(), changes: ModelCommits::default(), stats: told };
    for branch in &mut history.branches {
        branch.positions.push(BranchPosition { commit: first.clone(), applied: Applied::new(), is_rollback: false });
    }
    for step in 0..STEPS {
        let stood = history.count_positions();
        match if step < 4 { [0, 9, 0, 9][step] } else { dice.below(16) } {
            0..3 => history.push(0, &mut dice),
            3 | 4 => history.push(1 + dice.below(2), &mut dice),
            5..8 => history.roll_back(1, &mut dice).await,
            8 => history.roll_back(2, &mut dice).await,
            9..13 => history.promote(1, &mut dice).await,
            _ => history.promote(2, &mut dice).await,
        }
        history.check(stood);
    }
    for at in [1, 2].into_iter().filter(|at| !history.branches[*at].open.is_empty()) {
        assert_eq!(history.repo.open_rollbacks(BRANCHES[at]).await, history.branches[at].open);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_with_rollbacks_have_the_files_that_a_simple_model_expects() {
    let half = |first: usize| {
        tokio::spawn(async move {
            // Each half has a client and a clock of its own, so that the rate limit of one does not refuse the other.
            let hub = GithubHarness::open().await;
            let mut told = Statistics::default();
            for number in Series::RollbackHistories.seeds(HISTORIES).into_iter().skip(first).step_by(2) {
                run_history(&hub, number, &mut told).await;
            }
            told
        })
    };
    let (one, two) = tokio::join!(half(0), half(1));
    let told = one.unwrap() + two.unwrap();
    // Without these events the series would prove little. The rare ones are certain only in a long run.
    let enough = if is_long() {
        [
            told.promotions > 1_500,
            told.rollbacks > 1_000,
            told.after_rollbacks > 500,
            told.after_several > 100,
            told.same_again > 100,
            told.refused > 50,
            told.carried > 0 && told.overcautious * 4 < told.carried,
            told.conflicts > 0 && told.conflicts * 10 < told.promotions,
        ]
    } else {
        [
            told.promotions > 75,
            told.rollbacks > 50,
            told.after_rollbacks > 25,
            told.after_several > 5,
            told.same_again > 5,
            told.refused > 1,
            told.carried > 0,
            told.conflicts * 10 < told.promotions,
        ]
    };
    assert_eq!(enough, [true; 8], "{told:?}");
}

/// Prints the seed of a failed history, so that it can be run alone.
struct PrintSeedOnPanic(u64);

impl Drop for PrintSeedOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in history {}", self.0);
        }
    }
}
