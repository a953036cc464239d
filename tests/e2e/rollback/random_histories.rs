//! Random histories of pushes, hotfixes, promotions and rollbacks on two rungs, through the GitHub client. A simple model knows
//! sets of changes and nothing of Git; whenever a branch has moved, its files must be what the model says.

use std::collections::BTreeSet;
use std::fmt::Write;

use gantry::adapters::github::{BranchComparison, OpenRollback};
use gantry::domain::model::version::Sha;

use crate::harness::repositories::{Files, Hub, Promoted, Rungs, tree_of};
use crate::harness::series::{Series, is_long};
use crate::ops::receiving::Random;

/// In a long run.
const HISTORIES: u64 = 1000;
const STEPS: usize = 14;
const BRANCHES: [&str; 3] = ["develop", "qa", "staging"];
/// Two artefacts in one repository.
const FOLDERS: [&str; 2] = ["shop", "mail"];
/// Lines of one file that can be changed apart from each other; pushes have the first half.
const LINES: usize = 8;

/// Changes by their number, which is also their order in time.
type Applied = BTreeSet<usize>;

struct Change {
    name: String,
    folder: usize,
    /// A line of the folder's shared file that it overwrites.
    line: Option<usize>,
    /// Pushes overwrite the folder's version as well.
    push: bool,
    /// A change before it whose file it deletes.
    removes: Option<usize>,
}

/// Somewhere a branch has stood.
struct Stand {
    commit: Sha,
    applied: Applied,
    is_rollback: bool,
}

#[derive(Default)]
struct Rung {
    stood: Vec<Stand>,
    hotfixes: Applied,
    /// Newest first, and what there was before the oldest.
    open: Vec<OpenRollback>,
    before: Applied,
    hotfixes_since: Applied,
    /// How far it has the rung below, wherever it stands itself.
    contains: usize,
}

struct History<'a> {
    rungs: Rungs<'a>,
    rung: [Rung; 3],
    changes: Changes,
    told: &'a mut Told,
}

/// What the histories came to, so that nobody is proud of a test in which nothing happened.
#[derive(Debug, Default)]
struct Told {
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

impl std::ops::Add for Told {
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

impl Change {
    fn own_file(&self) -> String {
        format!("{}/changes/{}", FOLDERS[self.folder], self.name)
    }

    /// Nothing like that of another change, or Git would think that a file was moved.
    fn own_text(&self) -> String {
        let name = git2::Oid::hash_object(git2::ObjectType::Blob, self.name.as_bytes()).unwrap();
        format!("{}\n{name}\n", self.name)
    }
}

#[derive(Default)]
struct Changes(Vec<Change>);

impl Changes {
    /// What a branch with these changes holds.
    fn files(&self, applied: &Applied) -> Files {
        let mut files = Files::from([("README".to_owned(), "one\ntwo\n".to_owned())]);
        for (folder, name) in FOLDERS.iter().enumerate() {
            let here = || applied.iter().map(|at| &self.0[*at]).filter(|change| change.folder == folder);
            let last = |of: &dyn Fn(&&Change) -> bool| here().filter(of).last().map_or("none", |change| &change.name);
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
    fn now(&self, at: usize) -> &Stand {
        self.rung[at].stood.last().unwrap()
    }

    fn push(&mut self, at: usize, dice: &mut Random) {
        let push = at == 0;
        let number = self.changes.0.len();
        // Now and then a hotfix touches what pushes touch: that is where Git may have to ask.
        let half = if push || dice.below(8) == 0 { 0 } else { LINES / 2 };
        let line = (dice.below(3) > 0).then(|| half + dice.below(LINES / 2));
        let folder = dice.below(2);
        let pushed = |other: &usize| self.changes.0[*other].push && self.changes.0[*other].folder == folder;
        let candidates: Vec<usize> = self.now(at).applied.iter().copied().filter(pushed).collect();
        let removes =
            (push && dice.below(5) == 0 && !candidates.is_empty()).then(|| candidates[dice.below(candidates.len())]);
        let name = format!("{}-{number}", if push { "push" } else { "hotfix" });
        self.changes.0.push(Change { name: name.clone(), folder, line, push, removes });
        let (before, mut applied) = (self.changes.files(&self.now(at).applied), self.now(at).applied.clone());
        applied.insert(number);
        let commit = self.rungs.commit(BRANCHES[at], &name, &before, &self.changes.files(&applied));
        if !push {
            self.rung[at].hotfixes.insert(number);
            self.rung[at].hotfixes_since.insert(number);
        }
        self.rung[at].stood.push(Stand { commit, applied, is_rollback: false });
    }

    async fn roll_back(&mut self, at: usize, dice: &mut Random) {
        let rung = &self.rung[at];
        let now = self.now(at);
        let earlier: Vec<usize> = (0..rung.stood.len())
            .filter(|one| !rung.stood[*one].is_rollback && rung.stood[*one].applied != now.applied)
            .collect();
        if earlier.is_empty() {
            return;
        }
        let to = &rung.stood[earlier[dice.below(earlier.len())]];
        let applied = to.applied.clone();
        let rollback = self.rungs.roll_back(BRANCHES[at], &to.commit).await;
        let was = now.applied.clone();
        self.told.rollbacks += 1;
        let rung = &mut self.rung[at];
        if rung.open.is_empty() {
            (rung.before, rung.hotfixes_since) = (was, Applied::new());
        }
        rung.stood.push(Stand { commit: rollback.commit.clone(), applied, is_rollback: true });
        rung.open.insert(0, rollback);
    }

    /// Moves a commit on which the rung below once stood, not always the last.
    async fn promote(&mut self, at: usize, dice: &mut Random) {
        let below = &self.rung[at - 1].stood;
        // What was rolled back to below is never promoted: it is older than it looks.
        let last: Vec<usize> = (0..below.len()).rev().take(4).filter(|one| !below[*one].is_rollback).collect();
        if last.is_empty() {
            return;
        }
        let pinned = last[dice.below(last.len())];
        let (commit, brings) = (below[pinned].commit.clone(), below[pinned].applied.clone());
        let rung = &self.rung[at];
        let (branch, contained) = (BRANCHES[at], pinned <= rung.contains);
        // There is little to learn from what is there already.
        if contained && rung.open.is_empty() && dice.below(8) > 0 {
            return;
        }
        let open = self.rungs.open_rollbacks(branch).await;
        assert_eq!(open, rung.open);
        let (client, repository) = (&self.rungs.hub.client, &self.rungs.repository);
        if contained && let Some(oldest) = rung.open.last() {
            let newer = match client.compare_with_branch(repository, oldest.parent.as_str(), &commit).await.unwrap() {
                BranchComparison::Pending(pending) => pending.ahead_by == 0 && pending.is_target_newer(),
                other => panic!("{other:?}"),
            };
            // Git cannot merge it, and what was rolled back from would come in its place.
            if newer {
                self.told.refused += 1;
                return;
            }
        }
        if !contained && at > 1 {
            let carried = client.find_carried_rollback(repository, &self.now(at).commit, &commit).await.unwrap();
            let takes_back = !below[rung.contains].applied.is_subset(&brings);
            assert!(carried.is_some() || !takes_back, "the rollback below is not seen");
            if carried.is_some() {
                self.told.carried += 1;
                self.told.overcautious += usize::from(!takes_back);
                return;
            }
        }
        if dice.below(4) == 0 && !contained {
            self.only_hotfixes_are_told(at, &commit).await;
        }
        let rung = &self.rung[at];
        let before = match rung.open.len() {
            0 => self.now(at).applied.clone(),
            _ => rung.before.union(&rung.hotfixes_since).copied().collect(),
        };
        let applied: Applied = before.union(&brings).copied().collect();
        match self.rungs.promote_over(branch, &commit, &open).await {
            Promoted::To(result) => {
                self.told.promotions += 1;
                self.told.after_rollbacks += usize::from(!rung.open.is_empty());
                self.told.after_several += usize::from(rung.open.len() > 1);
                self.told.same_again += usize::from(contained);
                let rung = &mut self.rung[at];
                rung.open.clear();
                rung.contains = rung.contains.max(pinned);
                rung.stood.push(Stand { commit: result, applied, is_rollback: false });
            }
            Promoted::AlreadyThere => assert!(contained && rung.open.is_empty()),
            Promoted::Conflict => {
                self.told.conflicts += 1;
                let touches = |one: &usize| self.changes.0[*one].line.map(|line| (self.changes.0[*one].folder, line));
                let meet = |fix: &usize| {
                    let place = touches(fix);
                    place.is_some() && applied.iter().any(|other| other != fix && touches(other) == place)
                };
                assert!(rung.hotfixes.iter().any(meet), "nobody changed the same line on both sides");
            }
        }
    }

    /// Neither rollbacks nor what undid them are hotfixes.
    async fn only_hotfixes_are_told(&self, at: usize, pinned: &Sha) {
        let (client, repository) = (&self.rungs.hub.client, &self.rungs.repository);
        let BranchComparison::Pending(pending) =
            client.compare_with_branch(repository, BRANCHES[at], pinned).await.unwrap()
        else {
            panic!("the branches have a common ancestor");
        };
        let told: BTreeSet<&str> = pending.iter_hotfixes().map(|commit| commit.subject.as_str()).collect();
        let made: BTreeSet<&str> =
            self.rung[at].hotfixes.iter().map(|one| self.changes.0[*one].name.as_str()).collect();
        assert_eq!(told, made);
        assert!(!pending.is_target_newer());
    }

    /// Every branch moved at most once, to where it should stand, and holds what it should hold.
    fn check(&self, stood: [usize; 3]) {
        let moves = self.rungs.moves();
        for (at, branch) in BRANCHES.iter().enumerate() {
            let seen: Vec<_> = moves.iter().filter(|moved| moved.branch == *branch).collect();
            let new = &self.rung[at].stood[stood[at]..];
            assert_eq!(
                seen.iter().map(|moved| &moved.after).collect::<Vec<_>>(),
                new.iter().map(|new| &new.commit).collect::<Vec<_>>()
            );
            for stand in new {
                assert_eq!(self.rungs.tree(&stand.commit), tree_of(&self.changes.files(&stand.applied)), "{branch}");
            }
            assert_eq!(self.rungs.head(branch), self.now(at).commit);
        }
    }

    fn stood(&self) -> [usize; 3] {
        [0, 1, 2].map(|at| self.rung[at].stood.len())
    }
}

async fn live(hub: &Hub, number: u64, told: &mut Told) {
    let _tell = Tell(number);
    let mut dice = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let name = format!("acme/rollbacks-{number}");
    let (rungs, first) = hub.repository(&name, &BRANCHES, &Changes::default().files(&Applied::new()));
    let mut history = History { rungs, rung: Default::default(), changes: Changes::default(), told };
    for rung in &mut history.rung {
        rung.stood.push(Stand { commit: first.clone(), applied: Applied::new(), is_rollback: false });
    }
    for step in 0..STEPS {
        let stood = history.stood();
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
    for at in [1, 2].into_iter().filter(|at| !history.rung[*at].open.is_empty()) {
        assert_eq!(history.rungs.open_rollbacks(BRANCHES[at]).await, history.rung[at].open);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_with_rollbacks_hold_what_a_simple_model_says() {
    let half = |first: usize| {
        tokio::spawn(async move {
            // Each has a client and a clock of its own: the pace of one must not turn the other away.
            let hub = Hub::open().await;
            let mut told = Told::default();
            for number in Series::RollbackHistories.seeds(HISTORIES).into_iter().skip(first).step_by(2) {
                live(&hub, number, &mut told).await;
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

/// Whoever looks for what went wrong wants to live through this one alone.
struct Tell(u64);

impl Drop for Tell {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in history {}", self.0);
        }
    }
}
