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
    /// Promotions that undid at least one rollback.
    after_rollbacks: usize,
    /// Promotions that undid at least two rollbacks.
    after_several: usize,
    rollbacks: usize,
    conflicts: usize,
    /// Promotions of a commit that the branch already had.
    same_again: usize,
    /// Promotions that were refused because they would restore a newer version.
    refused: usize,
    /// Promotions that were refused because they would carry a rollback along.
    carried: usize,
    /// Of `carried`, the promotions that would not have removed any commit.
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
            let commits = || applied.iter().map(|number| &self.0[*number]).filter(|commit| commit.folder == folder);
            let last = |condition: &dyn Fn(&&ModelCommit) -> bool| {
                commits().filter(condition).last().map_or("none", |commit| &commit.name)
            };
            files.insert(format!("{name}/version"), format!("{}\n", last(&|commit| commit.push)));
            let mut lines = String::new();
            for line in 0..LINES {
                let _ = writeln!(lines, "{line}: {}\n\n\n\n", last(&|commit| commit.line == Some(line)));
            }
            files.insert(format!("{name}/lines"), lines);
            for commit in commits() {
                files.insert(commit.own_file(), commit.own_text());
            }
        }
        for removed in applied.iter().filter_map(|number| self.0[*number].removes) {
            files.remove(&self.0[removed].own_file());
        }
        files
    }
}

impl History<'_> {
    fn current_position(&self, index: usize) -> &BranchPosition {
        self.branches[index].positions.last().unwrap()
    }

    fn push(&mut self, index: usize, random: &mut Random) {
        let push = index == 0;
        let number = self.changes.0.len();
        // Some hotfixes change the same lines as pushes, so that conflicts occur.
        let half = if push || random.below(8) == 0 { 0 } else { LINES / 2 };
        let line = (random.below(3) > 0).then(|| half + random.below(LINES / 2));
        let folder = random.below(2);
        let pushed = |other: &usize| self.changes.0[*other].push && self.changes.0[*other].folder == folder;
        let candidates: Vec<usize> = self.current_position(index).applied.iter().copied().filter(pushed).collect();
        let removes = (push && random.below(5) == 0 && !candidates.is_empty())
            .then(|| candidates[random.below(candidates.len())]);
        let name = format!("{}-{number}", if push { "push" } else { "hotfix" });
        self.changes.0.push(ModelCommit { name: name.clone(), folder, line, push, removes });
        let (before, mut applied) =
            (self.changes.files(&self.current_position(index).applied), self.current_position(index).applied.clone());
        applied.insert(number);
        let commit = self.repo.commit(BRANCHES[index], &name, &before, &self.changes.files(&applied));
        if !push {
            self.branches[index].hotfixes.insert(number);
            self.branches[index].hotfixes_since.insert(number);
        }
        self.branches[index].positions.push(BranchPosition { commit, applied, is_rollback: false });
    }

    async fn roll_back(&mut self, index: usize, random: &mut Random) {
        let branch = &self.branches[index];
        let now = self.current_position(index);
        let earlier: Vec<usize> = (0..branch.positions.len())
            .filter(|one| !branch.positions[*one].is_rollback && branch.positions[*one].applied != now.applied)
            .collect();
        if earlier.is_empty() {
            return;
        }
        let to = &branch.positions[earlier[random.below(earlier.len())]];
        let applied = to.applied.clone();
        let rollback = self.repo.roll_back(BRANCHES[index], &to.commit).await;
        let content = now.applied.clone();
        self.stats.rollbacks += 1;
        let branch = &mut self.branches[index];
        if branch.open.is_empty() {
            (branch.before, branch.hotfixes_since) = (content, Applied::new());
        }
        branch.positions.push(BranchPosition { commit: rollback.commit.clone(), applied, is_rollback: true });
        branch.open.insert(0, rollback);
    }

    /// Promotes one of the last four positions of the environment below.
    async fn promote(&mut self, index: usize, random: &mut Random) {
        let below = &self.branches[index - 1].positions;
        // A rollback commit of the environment below is never promoted: its content is older than the commit.
        let last: Vec<usize> = (0..below.len()).rev().take(4).filter(|one| !below[*one].is_rollback).collect();
        if last.is_empty() {
            return;
        }
        let pinned = last[random.below(last.len())];
        let (commit, promoted) = (below[pinned].commit.clone(), below[pinned].applied.clone());
        let branch_model = &self.branches[index];
        let (branch, contained) = (BRANCHES[index], pinned <= branch_model.merged_up_to);
        // Most promotions of commits that are already merged are skipped, because they prove little.
        if contained && branch_model.open.is_empty() && random.below(8) > 0 {
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
        if !contained && index > 1 {
            let carried =
                client.find_carried_rollback(repository, &self.current_position(index).commit, &commit).await.unwrap();
            let takes_back = !below[branch_model.merged_up_to].applied.is_subset(&promoted);
            assert!(carried.is_some() || !takes_back, "the rollback below is not found");
            if carried.is_some() {
                self.stats.carried += 1;
                self.stats.overcautious += usize::from(!takes_back);
                return;
            }
        }
        if random.below(4) == 0 && !contained {
            self.check_reported_hotfixes(index, &commit).await;
        }
        let branch_model = &self.branches[index];
        let before = match branch_model.open.len() {
            0 => self.current_position(index).applied.clone(),
            _ => branch_model.before.union(&branch_model.hotfixes_since).copied().collect(),
        };
        let applied: Applied = before.union(&promoted).copied().collect();
        match self.repo.promote_past_rollbacks(branch, &commit, &open).await {
            PromotionResult::Merged(result) => {
                self.stats.promotions += 1;
                self.stats.after_rollbacks += usize::from(!branch_model.open.is_empty());
                self.stats.after_several += usize::from(branch_model.open.len() > 1);
                self.stats.same_again += usize::from(contained);
                let branch_model = &mut self.branches[index];
                branch_model.open.clear();
                branch_model.merged_up_to = branch_model.merged_up_to.max(pinned);
                branch_model.positions.push(BranchPosition { commit: result, applied, is_rollback: false });
            }
            PromotionResult::AlreadyMerged => assert!(contained && branch_model.open.is_empty()),
            PromotionResult::Conflict => {
                self.stats.conflicts += 1;
                let changed_line =
                    |one: &usize| self.changes.0[*one].line.map(|line| (self.changes.0[*one].folder, line));
                let overlaps = |hotfix: &usize| {
                    let line = changed_line(hotfix);
                    line.is_some() && applied.iter().any(|other| other != hotfix && changed_line(other) == line)
                };
                assert!(
                    branch_model.hotfixes.iter().any(overlaps),
                    "no hotfix changed the same line as another commit"
                );
            }
        }
    }

    /// Checks that neither rollbacks nor the commits that undid them are listed as hotfixes.
    async fn check_reported_hotfixes(&self, index: usize, pinned: &Sha) {
        let (client, repository) = (&self.repo.harness.client, &self.repo.repository);
        let BranchComparison::Pending(pending) =
            client.compare_with_branch(repository, BRANCHES[index], pinned).await.unwrap()
        else {
            panic!("the branches have a common ancestor");
        };
        let listed: BTreeSet<&str> = pending.iter_hotfixes().map(|commit| commit.subject.as_str()).collect();
        let expected: BTreeSet<&str> =
            self.branches[index].hotfixes.iter().map(|one| self.changes.0[*one].name.as_str()).collect();
        assert_eq!(listed, expected);
        assert!(!pending.is_target_newer());
    }

    /// Checks that each branch moved as in the model, and that its files are those of the model.
    fn check(&self, positions_before: [usize; 3]) {
        let moves = self.repo.take_moves();
        for (index, branch) in BRANCHES.iter().enumerate() {
            let seen: Vec<_> = moves.iter().filter(|moved| moved.branch == *branch).collect();
            let new_positions = &self.branches[index].positions[positions_before[index]..];
            assert_eq!(
                seen.iter().map(|moved| &moved.after).collect::<Vec<_>>(),
                new_positions.iter().map(|position| &position.commit).collect::<Vec<_>>()
            );
            for position in new_positions {
                assert_eq!(
                    self.repo.tree(&position.commit),
                    expected_tree(&self.changes.files(&position.applied)),
                    "{branch}"
                );
            }
            assert_eq!(self.repo.head(branch), self.current_position(index).commit);
        }
    }

    fn count_positions(&self) -> [usize; 3] {
        [0, 1, 2].map(|index| self.branches[index].positions.len())
    }
}

async fn run_history(harness: &GithubHarness, number: u64, statistics: &mut Statistics) {
    let _guard = PrintSeedOnPanic(number);
    let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let name = format!("acme/rollbacks-{number}");
    let (repo, first) = harness.create_repository(&name, &BRANCHES, &ModelCommits::default().files(&Applied::new()));
    let mut history =
        History { repo, branches: Default::default(), changes: ModelCommits::default(), stats: statistics };
    for branch in &mut history.branches {
        branch.positions.push(BranchPosition { commit: first.clone(), applied: Applied::new(), is_rollback: false });
    }
    for step in 0..STEPS {
        let positions_before = history.count_positions();
        match if step < 4 { [0, 9, 0, 9][step] } else { random.below(16) } {
            0..3 => history.push(0, &mut random),
            3 | 4 => history.push(1 + random.below(2), &mut random),
            5..8 => history.roll_back(1, &mut random).await,
            8 => history.roll_back(2, &mut random).await,
            9..13 => history.promote(1, &mut random).await,
            _ => history.promote(2, &mut random).await,
        }
        history.check(positions_before);
    }
    for index in [1, 2].into_iter().filter(|index| !history.branches[*index].open.is_empty()) {
        assert_eq!(history.repo.open_rollbacks(BRANCHES[index]).await, history.branches[index].open);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_with_rollbacks_have_the_files_that_a_simple_model_expects() {
    let half = |first: usize| {
        tokio::spawn(async move {
            // Each half has a client and a clock of its own, so that the rate limit of one does not refuse the other.
            let harness = GithubHarness::open().await;
            let mut statistics = Statistics::default();
            for number in Series::RollbackHistories.seeds(HISTORIES).into_iter().skip(first).step_by(2) {
                run_history(&harness, number, &mut statistics).await;
            }
            statistics
        })
    };
    let (one, two) = tokio::join!(half(0), half(1));
    let statistics = one.unwrap() + two.unwrap();
    // Without these events the series would prove little. The rare ones are certain only in a long run.
    let enough = if is_long() {
        [
            statistics.promotions > 1_500,
            statistics.rollbacks > 1_000,
            statistics.after_rollbacks > 500,
            statistics.after_several > 100,
            statistics.same_again > 100,
            statistics.refused > 50,
            statistics.carried > 0 && statistics.overcautious * 4 < statistics.carried,
            statistics.conflicts > 0 && statistics.conflicts * 10 < statistics.promotions,
        ]
    } else {
        [
            statistics.promotions > 75,
            statistics.rollbacks > 50,
            statistics.after_rollbacks > 25,
            statistics.after_several > 5,
            statistics.same_again > 5,
            statistics.refused > 1,
            statistics.carried > 0,
            statistics.conflicts * 10 < statistics.promotions,
        ]
    };
    assert_eq!(enough, [true; 8], "{statistics:?}");
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
