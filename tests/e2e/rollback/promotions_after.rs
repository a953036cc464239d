//! What is promoted after a rollback: the same again, something newer, what a rollback left below. Git holds all of it at
//! the end, and nobody ever sees the bad version on the branch in between.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gantry::domain::model::version::Sha;
use gantry::sim::github::{BranchMove, Rules, Verdict};
use insta::assert_snapshot;

use crate::harness::world::World;
use crate::rollback::by_branch::{REPOSITORY, card, head, parents, redact_commits, rollbacks, text, tree};

/// Every place on which the environment's branch stood.
#[derive(Clone)]
struct BranchMoves(Arc<Mutex<Vec<BranchMove>>>);

impl BranchMoves {
    fn of(town: &World, branch: &'static str) -> Self {
        let path = Self(Arc::default());
        let moves = path.0.clone();
        town.sim.github.on_move(move |moved| {
            if moved.repository == REPOSITORY && moved.branch == branch {
                moves.lock().unwrap().push(moved.clone());
            }
        });
        path
    }

    /// What it showed since, of the artefact's own file; it only ever went forward.
    fn texts(&self, town: &World) -> Vec<String> {
        let moves = self.0.lock().unwrap().clone();
        for moved in &moves {
            let before = moved.before.as_ref().expect("it was there");
            assert!(is_behind(town, before, &moved.after), "never a force push: {moved:?}");
        }
        moves.iter().map(|moved| text(town, &moved.after)).collect()
    }
}

/// Is `old` reached from `new`?
fn is_behind(town: &World, old: &Sha, new: &Sha) -> bool {
    let graph = town.sim.github.graph(REPOSITORY, 1000);
    let parents: BTreeMap<_, _> = graph.iter().map(|commit| (&commit.sha, &commit.parents)).collect();
    let mut open = vec![new];
    while let Some(sha) = open.pop() {
        if sha == old {
            return true;
        }
        open.extend(parents.get(sha).into_iter().flat_map(|parents| parents.iter()));
    }
    false
}

fn assert_no_branch_left(town: &World) {
    let branches = town.sim.github.branches(REPOSITORY);
    assert!(!branches.keys().any(|branch| branch.starts_with("gantry/")), "{branches:#?}");
}

fn files(path: &str, text: &str) -> BTreeMap<String, Option<String>> {
    BTreeMap::from([(path.to_owned(), Some(text.to_owned()))])
}

/// What bob was told last.
fn last_answer(town: &World) -> String {
    town.bob().reads()
}

/// The version in a code span of a sentence that begins with these words.
fn command(told: &str, words: &str) -> String {
    let at = told.find(words).unwrap_or_else(|| panic!("no {words}: {told}"));
    told[at..].split('`').next().unwrap_or_default().to_owned()
}

/// Promotes and rolls back; gives what the branch had before, with the bad version, and now.
async fn promote_and_roll_back(town: &World) -> [Sha; 3] {
    let good = head(town, "qa");
    town.alice().types("/promote checkout qa").await;
    let bad = head(town, "qa");
    town.bob().types("/rollback checkout qa --reason totals are wrong").await;
    let result = head(town, "qa");
    assert_eq!(tree(town, &result), tree(town, &good));
    [good, bad, result]
}

#[tokio::test]
async fn the_same_comes_back_once_it_is_released() {
    let town = World::open().await;
    let [_, bad, result] = promote_and_roll_back(&town).await;
    let path = BranchMoves::of(&town, "qa");
    town.bob().types("/promote checkout qa").await;
    let refused = last_answer(&town);
    assert_snapshot!(redact_commits(&town, &refused, &[(&bad, "bad")]), @"
    *checkout* `develop-d6c66c2` may not come back to *qa*: <@U0BOB> rolled it back in *qa* <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: totals are wrong.
    [Release]
    Next: promote what repairs it; or, if it was not to blame, `/gantry release checkout qa-<bad>`, or pass it with `--override reason` where you may.
    ");
    assert_eq!(head(&town, "qa"), result, "nothing moved");

    let release = command(&refused, "/gantry release");
    town.bob().types(&release).await;
    assert_snapshot!(redact_commits(&town, &last_answer(&town), &[(&bad, "bad")]), @":unlock: <@U0BOB> released *checkout* `qa-<bad>`: it may come back to *qa* and above. Before, <@U0BOB> rolled it back in *qa* <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: totals are wrong.");
    town.bob().types("/promote checkout qa").await;
    let asked = last_answer(&town);
    assert!(asked.contains(":warning: *qa* is on hold: <@U0BOB> rolled `qa-"), "{asked}");
    town.bob().clicks_in("deploys", "Confirm").await;
    let now = head(&town, "qa");
    assert_eq!(tree(&town, &now), tree(&town, &bad), "the tree as before");
    assert_eq!(path.texts(&town), [text(&town, &bad)], "in one move");
    assert!(card(&town, "deploys").contains("running in *qa*"), "{}", card(&town, "deploys"));
    assert!(town.running_tag("checkout", "qa").ends_with(now.short()));
    assert_no_branch_left(&town);
}

#[tokio::test]
async fn something_newer_brings_everything_back_in_one_move() {
    let town = World::open().await;
    let [_, bad, _] = promote_and_roll_back(&town).await;
    let path = BranchMoves::of(&town, "qa");
    let repaired = town.push("checkout", "Repair the totals");
    town.settle().await;
    town.bob().types("/promote checkout qa").await;
    town.bob().clicks_in("deploys", "Confirm").await;
    let now = head(&town, "qa");
    let repaired: Sha = repaired.parse().unwrap();
    assert_eq!(tree(&town, &now), tree(&town, &repaired), "with what was rolled back and its repair");
    assert_eq!(path.texts(&town), [text(&town, &repaired)]);
    assert_ne!(text(&town, &now), text(&town, &bad));
    assert!(card(&town, "deploys").contains("2 commits:"), "what was lost comes, too: {}", card(&town, "deploys"));
    assert!(card(&town, "deploys").contains("running in *qa*"), "{}", card(&town, "deploys"));
    assert_no_branch_left(&town);
}

#[tokio::test]
async fn hotfixes_on_the_branch_survive_a_rollback_and_what_follows() {
    let town = World::open().await;
    town.alice().types("/promote checkout qa").await;
    // One between the promotion and its rollback goes with it, and comes back.
    town.sim.push("checkout", "qa", "Between", files("between.txt", "x"), "carol").unwrap();
    town.settle().await;
    town.bob().types("/rollback checkout qa").await;
    let between = |town: &World| tree(town, &head(town, "qa")).contains_key("between.txt");
    let behind = |town: &World| tree(town, &head(town, "qa")).contains_key("behind.txt");
    assert!(!between(&town), "it was on top of what was rolled back");
    assert!(card(&town, "deploys").contains("Between"), "and that is told: {}", card(&town, "deploys"));
    town.sim.push("checkout", "qa", "Behind", files("behind.txt", "x"), "carol").unwrap();
    town.settle().await;
    let path = BranchMoves::of(&town, "qa");
    town.push("checkout", "Repair the totals");
    town.settle().await;
    town.bob().types("/promote checkout qa").await;
    let asked = last_answer(&town);
    let line = asked.lines().find(|line| line.contains("hotfix")).unwrap_or_else(|| panic!("{asked}"));
    assert_snapshot!(line, @":warning: 2 hotfixes are only in `qa`: they stay there, and are not below");
    town.bob().clicks_in("deploys", "Confirm").await;
    assert!(between(&town) && behind(&town), "{:#?}", tree(&town, &head(&town, "qa")));
    assert_eq!(path.texts(&town).len(), 1);
    assert_eq!(text(&town, &head(&town, "qa")), text(&town, &head(&town, "develop")));
}

#[tokio::test]
async fn a_second_rollback_goes_further_back_and_both_are_undone_together() {
    let town = World::open().await;
    let before = head(&town, "qa");
    let further = parents(&town, &before)[0].clone();
    let [good, bad, first] = promote_and_roll_back(&town).await;
    town.bob().types("/rollback checkout qa").await;
    let second = head(&town, "qa");
    assert_eq!(parents(&town, &second), [first]);
    assert_eq!(tree(&town, &second), tree(&town, &further), "further back, and not to the bad one");
    assert_ne!(tree(&town, &second), tree(&town, &good));
    assert_ne!(tree(&town, &second), tree(&town, &bad));
    let path = BranchMoves::of(&town, "qa");
    town.push("checkout", "Repair the totals");
    town.settle().await;
    town.bob().types("/promote checkout qa").await;
    town.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(path.texts(&town), [text(&town, &head(&town, "develop"))]);
    assert!(card(&town, "deploys").contains("running in *qa*"), "{}", card(&town, "deploys"));
}

#[tokio::test]
async fn a_version_between_is_refused_with_the_rollback_that_brings_it() {
    let town = World::open().await;
    town.alice().types("/promote checkout qa").await;
    let between = head(&town, "qa");
    town.push("checkout", "One more");
    town.settle().await;
    town.alice().types("/promote checkout qa").await;
    // Past the one between, to what ran before it.
    let good = parents(&town, &between)[0].clone();
    town.bob().types(&format!("/rollback checkout qa qa-{}", good.short())).await;
    assert_eq!(tree(&town, &head(&town, "qa")), tree(&town, &good));

    let pinned = parents(&town, &between)[1].clone();
    town.bob().types(&format!("/promote checkout qa @develop-{}", pinned.short())).await;
    let refused = last_answer(&town);
    assert_snapshot!(redact_commits(&town, &refused, &[(&between, "between")]), @"
    *qa* had *checkout* `develop-d6c66c2` before it was rolled back, so there is nothing to merge.
    Next: bring it back as what it was: `/rollback checkout qa qa-<between>`.
    ");
    let offered = command(&refused, "/rollback checkout qa");
    town.bob().types(&offered).await;
    assert_eq!(tree(&town, &head(&town, "qa")), tree(&town, &between), "{}", last_answer(&town));
    assert_eq!(rollbacks(&town), 2);
}

#[tokio::test]
async fn what_a_rollback_left_below_is_not_promoted() {
    let town = World::open().await;
    town.alice().types("/promote checkout qa").await;
    town.alice().types("/promote checkout staging").await;
    let staging = head(&town, "staging");
    // qa goes back to what is older than what staging has.
    town.bob().types("/rollback checkout qa").await;
    town.bob().types("/promote checkout staging").await;
    let refused = last_answer(&town);
    assert_snapshot!(redact_commits(&town, &refused, &[(&head(&town, "qa"), "result")]), @"
    *qa* was rolled back: `qa-<result>` is older code there, and would take *staging* back as well. A promotion never goes back.
    Next: repair it below, and promote that; or, if that is newer than what runs there, promote what was restored: `/promote checkout staging @qa-6cff9ae`.
    ");
    assert_eq!(head(&town, "staging"), staging);

    // A hotfix on top of the rollback carries it as well.
    town.sim.push("checkout", "qa", "On top", files("hotfix.txt", "x"), "carol").unwrap();
    town.settle().await;
    town.bob().types("/promote checkout staging").await;
    assert!(last_answer(&town).starts_with("*qa* was rolled back"), "{}", last_answer(&town));
    assert_eq!(head(&town, "staging"), staging);
}

#[tokio::test]
async fn what_was_restored_below_goes_as_what_it_was() {
    let town = World::open().await;
    let restored = head(&town, "qa");
    town.alice().types("/promote checkout qa").await;
    town.bob().types("/rollback checkout qa").await;
    town.bob().types("/promote checkout staging").await;
    let refused = last_answer(&town);
    // Staging never had what was rolled back: what runs below would take nothing back there.
    assert_snapshot!(redact_commits(&town, &refused, &[(&head(&town, "qa"), "result")]), @"
    *qa* was rolled back: `qa-<result>` is that rollback, with what it took back in its history. A rollback is never promoted.
    Next: repair it below, and promote that; or, if that is newer than what runs there, promote what was restored: `/promote checkout staging @qa-6cff9ae`.
    ");
    town.bob().types(&command(&refused, "/promote checkout staging")).await;
    let now = head(&town, "staging");
    assert_eq!(parents(&town, &now)[1], restored, "{}", last_answer(&town));
    assert!(town.running_tag("checkout", "staging").ends_with(now.short()));

    // Here a hotfix on top of the rollback takes nothing back: staging never had what was rolled back.
    town.sim.push("checkout", "qa", "On top", files("hotfix.txt", "x"), "carol").unwrap();
    town.settle().await;
    town.bob().types("/promote checkout staging").await;
    assert_eq!(tree(&town, &head(&town, "staging")), tree(&town, &head(&town, "qa")), "{}", last_answer(&town));
}

#[tokio::test]
async fn production_undoes_a_rollback_on_its_frozen_branch() {
    let town = World::open().await;
    let good = head(&town, "prod");
    town.alice().types("/promote checkout prod").await;
    town.alice().clicks_in("deploys", "Confirm").await;
    town.bob().clicks_in("releases", "Approve").await;
    let bad = head(&town, "prod");
    town.bob().types("/rollback checkout prod --reason people cannot pay").await;
    town.bob().clicks_in("deploys", "Confirm").await;
    let back = head(&town, "prod");
    assert_eq!(tree(&town, &back), tree(&town, &good));

    let path = BranchMoves::of(&town, "prod");
    town.alice().types("/promote checkout qa").await;
    town.alice().types("/promote checkout staging").await;
    town.wait(jiff::SignedDuration::from_secs(6)).await;
    town.alice().types("/promote checkout prod").await;
    let asked = town.alice().reads();
    assert!(asked.contains(":warning: *prod* is on hold") && asked.contains("people cannot pay"), "{asked}");
    town.alice().clicks_in("deploys", "Confirm").await;
    assert_eq!(head(&town, "prod"), back, "nothing moves before somebody approves");
    let pull = town.sim.github.pulls(REPOSITORY).pop().expect("a pull request");
    assert_eq!(tree(&town, &pull.head_sha), tree(&town, &head(&town, "staging")), "what is shown is what comes");
    town.bob().clicks_in("releases", "Approve").await;
    let now = head(&town, "prod");
    assert_eq!(tree(&town, &now), tree(&town, &head(&town, "staging")));
    assert!(is_behind(&town, &bad, &now));
    assert_eq!(path.texts(&town), [text(&town, &now)], "in one move");
    assert!(card(&town, "releases").contains("running in *prod*"), "{}", card(&town, "releases"));
    assert_no_branch_left(&town);
}

/// An environment whose rollbacks go by pull request.
fn roll_back_by_pull_request(yaml: &str) -> String {
    let qa = "  - name: qa\n";
    yaml.replace(qa, &format!("{qa}    rollback: pull_request\n"))
}

#[tokio::test]
async fn a_rollback_by_pull_request_needs_no_approval() {
    let town = World::with_config(|yaml| roll_back_by_pull_request(&yaml)).await;
    let good = head(&town, "qa");
    town.alice().types("/promote checkout qa").await;
    let bad = head(&town, "qa");
    let path = BranchMoves::of(&town, "qa");
    town.bob().types("/rollback checkout qa --reason totals are wrong").await;
    let pull = town.sim.github.pulls(REPOSITORY).pop().expect("a pull request");
    assert_eq!((pull.base.as_str(), pull.state), ("qa", "merged"));
    assert_eq!(pull.title, "Roll checkout back to qa-6cff9ae in qa");
    let body = pull.body.split("Gantry-Change: ").next().unwrap_or_default();
    assert_snapshot!(redact_commits(&town, body, &[(&bad, "bad")]), @"
    Asked for by bob in Slack. **checkout** in **qa** goes back: `qa-<bad>` → `qa-6cff9ae`.

    **Reason:** totals are wrong

    Lost by it (1):

    - d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf Retry the payment provider once · Alice Adler

    It is merged as soon as GitHub lets it be. Do not push to this branch.
    ");
    let now = head(&town, "qa");
    assert_eq!(parents(&town, &now), [bad.clone(), pull.head_sha]);
    assert_eq!(tree(&town, &now), tree(&town, &good));
    assert_eq!(path.texts(&town), [text(&town, &good)]);
    assert!(card(&town, "deploys").contains(": running in *qa*"), "{}", card(&town, "deploys"));
    assert_no_branch_left(&town);

    // What comes next undoes it as well.
    town.push("checkout", "Repair the totals");
    town.settle().await;
    town.bob().types("/promote checkout qa").await;
    town.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(tree(&town, &head(&town, "qa")), tree(&town, &head(&town, "develop")), "{}", last_answer(&town));
}

#[tokio::test]
async fn a_protected_branch_that_wants_a_review_is_waited_for() {
    let town = World::open().await;
    let good = head(&town, "qa");
    town.alice().types("/promote checkout qa").await;
    let bad = head(&town, "qa");
    let rules = Rules { required_reviews: 1, ..Rules::default() };
    town.sim.github.protect(REPOSITORY, "qa", rules).unwrap();
    town.bob().types("/rollback checkout qa").await;
    assert_eq!(head(&town, "qa"), bad);
    let waiting = card(&town, "deploys");
    assert!(waiting.contains("GitHub's own rules for `qa` want 1 approving review there"), "{waiting}");
    let pull = town.sim.github.pulls(REPOSITORY).pop().expect("a pull request");
    town.sim.github.review(REPOSITORY, pull.number, "carol", Verdict::Approve, "").unwrap();
    town.wait(jiff::SignedDuration::from_secs(61)).await;
    assert_eq!(tree(&town, &head(&town, "qa")), tree(&town, &good), "{}", card(&town, "deploys"));
    assert_no_branch_left(&town);
}

#[tokio::test]
async fn a_rollback_waits_where_github_wants_a_review() {
    let town = World::with_config(|yaml| roll_back_by_pull_request(&yaml)).await;
    let good = head(&town, "qa");
    town.alice().types("/promote checkout qa").await;
    let bad = head(&town, "qa");
    let rules = Rules { required_reviews: 1, ..Rules::default() };
    town.sim.github.protect(REPOSITORY, "qa", rules).unwrap();
    town.bob().types("/rollback checkout qa").await;
    assert_eq!(head(&town, "qa"), bad);
    let waiting = card(&town, "deploys");
    let pull = town.sim.github.pulls(REPOSITORY).pop().expect("a pull request");
    assert_snapshot!(redact_commits(&town, &waiting, &[(&bad, "bad"), (&pull.head_sha, "frozen")]), @"
    :raised_hand: *checkout* back to `qa-6cff9ae` in *qa*: waiting for GitHub
    :raised_hand: waiting for GitHub  ›  :white_circle: restored  ›  :white_circle: built  ›  :white_circle: rollout  ›  :white_circle: running
    :twisted_rightwards_arrows: pull request <http://town/sim/github/acme/checkout/pull/1|#1>, frozen at `<frozen>`
    :hourglass_flowing_sand: GitHub's own rules for `qa` want 1 approving review there: an approval in Slack is none
    `qa-<bad>` → `qa-6cff9ae`, commit `6cff9ae` · <http://town/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...<bad>|compare>
    I saw it run well there from <!date^1794744000^{date_short_pretty} {time}|2026-11-15 12:00 UTC> to <!date^1794819602^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, for 21 h
    *Lost by it:* 1 commit:
    • <http://town/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    [Cancel]
    asked by <@U0BOB> · <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    town.sim.github.review(REPOSITORY, pull.number, "carol", Verdict::Approve, "").unwrap();
    town.wait(jiff::SignedDuration::from_secs(61)).await;
    assert_eq!(tree(&town, &head(&town, "qa")), tree(&town, &good), "{}", card(&town, "deploys"));
    assert!(card(&town, "deploys").contains(": running in *qa*"), "{}", card(&town, "deploys"));
    assert_no_branch_left(&town);
}

#[tokio::test]
async fn a_protected_branch_is_rolled_back_by_a_pull_request() {
    let town = World::open().await;
    let good = head(&town, "qa");
    town.alice().types("/promote checkout qa").await;
    let bad = head(&town, "qa");
    let rules = Rules { protected_from_pushes: true, ..Rules::default() };
    town.sim.github.protect(REPOSITORY, "qa", rules).unwrap();
    town.bob().types("/rollback checkout qa").await;
    let now = head(&town, "qa");
    let pull = town.sim.github.pulls(REPOSITORY).pop().expect("a pull request");
    assert_eq!(parents(&town, &now), [bad, pull.head_sha]);
    assert_eq!(tree(&town, &now), tree(&town, &good));
    assert!(card(&town, "deploys").contains(": running in *qa*"), "{}", card(&town, "deploys"));
    assert_eq!(rollbacks(&town), 2, "the commit, and its merge");
    assert_no_branch_left(&town);
}
