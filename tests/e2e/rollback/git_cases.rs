//! Rollbacks and the promotions after them, case by case, on real Git: the content of the branch after each move, and a
//! check of the whole repository by the `git` command line.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use gantry::adapters::github::{BuildPromotionOutcome, FastForwardOutcome, FetchResult, PromotionMerge};
use gantry::domain::git::trailer::Trailers;
use gantry::domain::model::version::Sha;
use gantry::sim::github::{BranchMove, FaultTiming, RequestFault};

use crate::harness::repositories::{Files, GithubHarness, PromotionResult, TestRepository, expected_tree};

/// Each row: its name, the steps, and the content of `qa` after each move. `back x` restores `qa` as it was after `x`.
const CASES: [(&str, &str, &str); 12] = [
    ("the same again", "push a, promote a, push b, promote b, back a, promote b", "a | a b | a | a b"),
    ("a newer one", "push a, promote a, push b, promote b, back a, push c, promote c", "a | a b | a | a b c"),
    (
        "a hotfix after the rollback stays",
        "push a, promote a, push b, promote b, back a, hotfix h, promote b",
        "a | a b | a | a h | a b h",
    ),
    (
        "a hotfix that was rolled back comes again",
        "push a, promote a, hotfix h, push b, promote b, back a, push c, promote c",
        "a | a h | a b h | a | a b c h",
    ),
    (
        "two rollbacks in a row",
        "push a, promote a, push b, promote b, push c, promote c, back b, back a, promote c",
        "a | a b | a b c | a b | a | a b c",
    ),
    (
        "a hotfix between two rollbacks and one after",
        "push a, promote a, push b, promote b, push c, promote c, back b, hotfix h, back a, hotfix i, push d, promote d",
        "a | a b | a b c | a b | a b h | a | a i | a b c d h i",
    ),
    (
        "back too far, and forward to what lies between",
        "push a, promote a, push b, promote b, push c, promote c, back a, back b, push d, promote d",
        "a | a b | a b c | a | a b | a b c d",
    ),
    (
        "a rollback is rolled back",
        "push a, promote a, push b, promote b, back a, back b, promote b",
        "a | a b | a | a b | a b",
    ),
    (
        "rolled back again after it came again",
        "push a, promote a, push b, promote b, back a, promote b, back a, push c, promote c",
        "a | a b | a | a b | a | a b c",
    ),
    (
        "back to a hotfix",
        "push a, promote a, hotfix h, push b, promote b, back h, hotfix i, push c, promote c",
        "a | a h | a b h | a h | a h i | a b c h i",
    ),
    (
        "back to the very beginning",
        "push a, promote a, push b, promote b, back 0, hotfix h, promote b",
        "a | a b | | h | a b h",
    ),
    (
        "a straight promotion after one that undid",
        "push a, promote a, push b, promote b, back a, promote b, push c, promote c, hotfix h, push d, promote d",
        "a | a b | a | a b | a b c | a b c h | a b c d h",
    ),
];

/// The files of a branch with these commits: one per commit, one that all pushes overwrite, one with a line for each.
fn files(applied: &[&str]) -> Files {
    let mut files = Files::from([("README".to_owned(), "one\ntwo\n".to_owned())]);
    let pushes = applied.iter().filter(|name| !is_hotfix(name));
    files.insert("version".to_owned(), format!("{}\n", pushes.max().unwrap_or(&"0")));
    let line = |name: char| if applied.contains(&name.to_string().as_str()) { "there" } else { "missing" };
    let lines: Vec<String> = ('a'..='z').map(|name| format!("{name}: {}\n\n\n\n", line(name))).collect();
    files.insert("lines".to_owned(), lines.concat());
    for name in applied {
        files.insert(format!("changes/{name}"), format!("{}\n", name.repeat(20)));
    }
    files
}

fn is_hotfix(name: &str) -> bool {
    ("h".."k").contains(&name)
}

fn split_names(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// The state of a case between two steps.
struct CaseState {
    develop: Vec<String>,
    pushed: BTreeMap<String, Sha>,
    /// The head of `qa` after each step.
    positions: BTreeMap<String, Sha>,
}

/// Runs the steps. `positions` has the expected content of `qa` after each step that moves it.
async fn run_case(repo: &TestRepository<'_>, first: &Sha, steps: &str, positions: &str) -> Vec<BranchMove> {
    let mut state = CaseState {
        develop: Vec::new(),
        pushed: BTreeMap::new(),
        positions: BTreeMap::from([("0".to_owned(), first.clone())]),
    };
    let mut positions = positions.split('|').map(split_names);
    let (mut content, mut moves) = (Vec::new(), Vec::new());
    for step in steps.split(',').map(str::trim) {
        let (action, name) = step.split_once(' ').unwrap();
        if action == "push" {
            let before: Vec<&str> = state.develop.iter().map(String::as_str).collect();
            let after = [before.as_slice(), &[name]].concat();
            let commit = repo.commit("develop", name, &files(&before), &files(&after));
            state.develop.push(name.to_owned());
            state.pushed.insert(name.to_owned(), commit);
            repo.take_moves();
            continue;
        }
        let next = positions.next().unwrap_or_else(|| panic!("no position is left for `{step}`"));
        match action {
            "hotfix" => drop(repo.commit("qa", name, &files(&content), &files(&next))),
            "back" => drop(repo.roll_back("qa", &state.positions[name]).await),
            "promote" => {
                let promoted = repo.promote("qa", &state.pushed[name]).await;
                assert!(matches!(promoted, PromotionResult::Merged(_)), "`{step}`: {promoted:?}");
                assert_eq!(repo.open_rollbacks("qa").await, [], "every rollback is undone");
            }
            other => panic!("there is no step {other}"),
        }
        let seen = repo.take_moves();
        assert_eq!(seen.len(), 1, "`{step}` moves the branch once");
        assert_eq!(seen[0].after, repo.head("qa"));
        assert_eq!(repo.tree(&seen[0].after), expected_tree(&files(&next)), "after `{step}`");
        state.positions.insert(name.to_owned(), seen[0].after.clone());
        moves.extend(seen);
        content = next;
    }
    assert_eq!(positions.next(), None);
    let end = repo.head("qa");
    for name in content.iter().filter(|name| !is_hotfix(name)) {
        let pushed = state.pushed[*name].as_str();
        let compared = repo.harness.client.compare_refs(&repo.repository, pushed, end.as_str()).await.unwrap();
        assert!(
            matches!(compared, FetchResult::Found(comparison) if comparison.behind_by == 0),
            "{name} is behind the branch"
        );
    }
    moves
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_promotion_after_a_rollback_brings_exactly_the_expected_commits() {
    let harness = GithubHarness::open().await;
    for (number, (name, steps, positions)) in CASES.into_iter().enumerate() {
        let (repo, first) = harness.create_repository(&format!("acme/case-{number}"), &["develop", "qa"], &files(&[]));
        eprintln!("{name}");
        let moves = run_case(&repo, &first, steps, positions).await;
        check_with_git(&repo, &moves);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_rounds_of_promotion_and_rollback_lose_no_commit() {
    let harness = GithubHarness::open().await;
    let (mut newer, mut newer_contents) = ("push a, promote a".to_owned(), "a".to_owned());
    let (mut same, mut same_contents) = ("push a, promote a, push b".to_owned(), "a".to_owned());
    let mut all = "a".to_owned();
    for next in 'l'..='u' {
        all = format!("{all} {next}");
        let _ = write!(newer, ", push {next}, promote {next}, back a");
        let _ = write!(newer_contents, "| {all} | a");
        same += ", promote b, back a";
        same_contents += "| a b | a";
    }
    newer += ", hotfix h, push v, promote v";
    let _ = write!(newer_contents, "| a h | {all} v h");
    same += ", promote b";
    same_contents += "| a b";
    for (name, steps, contents) in [("newer", newer, newer_contents), ("same", same, same_contents)] {
        let (repo, first) = harness.create_repository(&format!("acme/rounds-{name}"), &["develop", "qa"], &files(&[]));
        let moves = run_case(&repo, &first, &steps, &contents).await;
        check_with_git(&repo, &moves);
    }
}

/// Checks with `git` that every object is intact, that the branch only moved forward along its first parents, and that
/// every merge commit has the tree that `git` computes.
fn check_with_git(repo: &TestRepository<'_>, moves: &[BranchMove]) {
    let is_installed = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(is_installed || std::env::var_os("CI").is_none(), "the `git` command line must be installed where CI runs");
    if !is_installed {
        eprintln!("SKIPPED: the `git` command line is not installed, so nothing was compared with it");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    repo.harness.github.export(&repo.name(), directory.path()).unwrap();
    git(directory.path(), &["fsck", "--strict", "--full"]);
    let line = git(directory.path(), &["rev-list", "--first-parent", "qa"]);
    let line: Vec<&str> = line.lines().collect();
    let mut last = line.len();
    for moved in moves {
        let before = moved.before.as_ref().unwrap();
        git(directory.path(), &["merge-base", "--is-ancestor", before.as_str(), moved.after.as_str()]);
        let position = line.iter().position(|commit| *commit == moved.after.as_str());
        let position = position.unwrap_or_else(|| panic!("{} is not among the first parents", moved.after));
        assert!(position < last, "the positions follow each other");
        last = position;
    }
    for merge in git(directory.path(), &["rev-list", "--merges", "--parents", "qa"]).lines() {
        let [commit, one, two] = merge.split(' ').collect::<Vec<_>>()[..] else { panic!("{merge}") };
        let merged = git(directory.path(), &["merge-tree", "--write-tree", one, two]);
        let tree = git(directory.path(), &["rev-parse", &format!("{commit}^{{tree}}")]);
        assert_eq!(merged, tree, "the merge {commit}");
    }
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(directory).args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", directory);
    let output = git.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "git {arguments:?}: {stdout}{}", String::from_utf8_lossy(&output.stderr));
    stdout
}

/// A repository in which `qa` had `a` and `b` and was rolled back to `a`; and the commit `b`.
async fn set_up_rollback<'a>(harness: &'a GithubHarness, name: &str) -> (TestRepository<'a>, Sha) {
    let (repo, first) = harness.create_repository(name, &["develop", "qa", "staging"], &files(&[]));
    run_case(&repo, &first, "push a, promote a, push b, promote b, back a", "a | a b | a").await;
    let pinned = repo.head("develop");
    (repo, pinned)
}

#[tokio::test]
async fn a_push_during_the_promotion_after_a_rollback_is_not_overwritten() {
    let harness = GithubHarness::open().await;
    let (repo, pinned) = set_up_rollback(&harness, "acme/meanwhile").await;
    let (client, repository, base) = (&harness.client, &repo.repository, repo.head("qa"));
    let open = repo.open_rollbacks("qa").await;
    let change = open[0].change;
    let message = format!("Promote\n\n{}\n", Trailers::Change(change));
    let promoting = PromotionMerge { change, pinned: &pinned, message: &message };
    client.put_own_branch(repository, "gantry/1", &base).await.unwrap();
    // The response is lost after the merge. The next attempt starts from the same base.
    harness.github.request_faults().inject("POST", "/merges", FaultTiming::AfterEffect, RequestFault::Disconnect, 1);
    assert!(client.build_promotion_commit(repository, "gantry/1", &base, &open, promoting).await.is_err());
    client.put_own_branch(repository, "gantry/1", &base).await.unwrap();
    let BuildPromotionOutcome::Done(result) =
        client.build_promotion_commit(repository, "gantry/1", &base, &open, promoting).await.unwrap()
    else {
        panic!("the result could not be built");
    };
    assert_eq!(repo.head("qa"), base);
    let hotfix = repo.commit("qa", "h", &files(&["a"]), &files(&["a", "h"]));
    assert_eq!(client.fast_forward(repository, "qa", &result).await, Ok(FastForwardOutcome::BranchMoved));
    assert_eq!(repo.head("qa"), hotfix);
    assert_eq!(client.fast_forward(repository, "nowhere", &result).await, Ok(FastForwardOutcome::NoBranch));

    client.put_own_branch(repository, "gantry/1", &hotfix).await.unwrap();
    let BuildPromotionOutcome::Done(result) =
        client.build_promotion_commit(repository, "gantry/1", &hotfix, &open, promoting).await.unwrap()
    else {
        panic!("the result could not be built");
    };
    for _ in 0..2 {
        assert_eq!(
            client.fast_forward(repository, "qa", &result).await,
            Ok(FastForwardOutcome::Done),
            "a repetition succeeds too"
        );
    }
    assert_eq!(repo.tree(&repo.head("qa")), expected_tree(&files(&["a", "b", "h"])));
    assert!(harness.github.branches(&repo.name()).contains_key("gantry/1"), "the caller deletes the branch");
}

#[tokio::test]
async fn promotions_and_rollbacks_are_recognised_if_a_person_merged_their_pull_requests() {
    let harness = GithubHarness::open().await;
    let (repo, pinned) = set_up_rollback(&harness, "acme/by-hand").await;
    let (client, repository, name) = (&harness.client, &repo.repository, repo.name());
    let open = repo.open_rollbacks("qa").await;
    let merge = |branch: &str| {
        let number = harness.github.open_pull(&name, "octocat", "By hand", branch, "qa", "").unwrap();
        harness.github.merge_pull(&name, number, "octocat").unwrap()
    };

    let base = repo.head("qa");
    client.put_own_branch(repository, "gantry/1", &base).await.unwrap();
    let message = format!("Promote\n\n{}\n", Trailers::Change(open[0].change));
    let promoting = PromotionMerge { change: open[0].change, pinned: &pinned, message: &message };
    assert!(matches!(
        client.build_promotion_commit(repository, "gantry/1", &base, &open, promoting).await,
        Ok(BuildPromotionOutcome::Done(_))
    ));
    let merged = merge("gantry/1");
    assert_eq!(repo.tree(&merged), expected_tree(&files(&["a", "b"])));
    assert_eq!(repo.open_rollbacks("qa").await, []);

    let trailers = Trailers::Rollback { change: open[0].change, restores: Some(open[0].restores.clone()) };
    let message = format!("Roll back\n\n{trailers}\n");
    let rollback =
        client.create_rollback_commit(repository, &merged, &open[0].restores, &message).await.unwrap().unwrap();
    client.put_own_branch(repository, "gantry/2", &rollback).await.unwrap();
    merge("gantry/2");
    assert_eq!(repo.tree(&repo.head("qa")), expected_tree(&files(&["a"])));
    let found = repo.open_rollbacks("qa").await;
    assert_eq!(found.iter().map(|open| (&open.commit, &open.parent)).collect::<Vec<_>>(), [(&rollback, &merged)]);

    assert!(matches!(repo.promote("qa", &pinned).await, PromotionResult::Merged(_)));
    assert_eq!(repo.tree(&repo.head("qa")), expected_tree(&files(&["a", "b"])));
}

#[tokio::test]
async fn a_hotfix_on_the_same_line_is_a_conflict_and_the_branch_does_not_move() {
    let harness = GithubHarness::open().await;
    let (repo, pinned) = set_up_rollback(&harness, "acme/conflict").await;
    let mut fixed = files(&["a"]);
    fixed.insert("version".to_owned(), "by hand\n".to_owned());
    let hotfix = repo.commit("qa", "h", &files(&["a"]), &fixed);
    repo.take_moves();
    assert_eq!(repo.promote("qa", &pinned).await, PromotionResult::Conflict);
    assert_eq!((repo.head("qa"), repo.take_moves()), (hotfix, vec![]));
}

/// Staging has the commit that was rolled back in qa. Promoting a hotfix on qa would silently remove it from staging.
#[tokio::test]
async fn a_hotfix_that_would_carry_a_rollback_into_staging_is_detected() {
    let harness = GithubHarness::open().await;
    let (repo, first) = harness.create_repository("acme/carried", &["develop", "qa", "staging"], &files(&[]));
    run_case(&repo, &first, "push a, promote a", "a").await;
    let (client, repository, only_a) = (&harness.client, &repo.repository, repo.head("qa"));
    assert!(matches!(repo.promote("staging", &only_a).await, PromotionResult::Merged(_)));
    repo.commit("develop", "b", &files(&["a"]), &files(&["a", "b"]));
    assert!(matches!(repo.promote("qa", &repo.head("develop")).await, PromotionResult::Merged(_)));
    let both = repo.head("qa");
    let rollback = repo.roll_back("qa", &only_a).await;
    let hotfix = repo.commit("qa", "h", &files(&["a"]), &files(&["a", "h"]));
    let staging = repo.head("staging");
    assert_eq!(
        client.find_carried_rollback(repository, &staging, &both).await,
        Ok(None),
        "the commit contains no rollback"
    );
    assert_eq!(
        client.find_carried_rollback(repository, &staging, &hotfix).await,
        Ok(None),
        "staging never had the commit that was rolled back"
    );
    assert!(matches!(repo.promote("staging", &both).await, PromotionResult::Merged(_)));
    let carried = client.find_carried_rollback(repository, &repo.head("staging"), &hotfix).await;
    assert_eq!(carried, Ok(Some(rollback)));
}
