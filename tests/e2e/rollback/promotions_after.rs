//! Promotions after a rollback: of the same version, of a newer one, and from the environment that was rolled back. The
//! branch moves once, and never shows the bad version in between.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gantry::domain::model::version::Sha;
use gantry::sim::github::{BranchMove, Rules, Verdict};
use insta::assert_snapshot;

use crate::harness::rollback::{REPOSITORY, card, head, parents, redact_commits, rollbacks, text, tree};
use crate::harness::world::World;

/// Every move of an environment's branch.
#[derive(Clone)]
struct BranchMoves(Arc<Mutex<Vec<BranchMove>>>);

impl BranchMoves {
    fn of(world: &World, branch: &'static str) -> Self {
        let branch_moves = Self(Arc::default());
        let moves = branch_moves.0.clone();
        world.sim.github.on_move(move |moved| {
            if moved.repository == REPOSITORY && moved.branch == branch {
                moves.lock().unwrap().push(moved.clone());
            }
        });
        branch_moves
    }

    /// The content of the artefact's file after each move. Asserts that the branch only moved forward.
    fn texts(&self, world: &World) -> Vec<String> {
        let moves = self.0.lock().unwrap().clone();
        for moved in &moves {
            let before = moved.before.as_ref().expect("the branch existed before");
            assert!(is_ancestor(world, before, &moved.after), "never a force push: {moved:?}");
        }
        moves.iter().map(|moved| text(world, &moved.after)).collect()
    }
}

/// Whether `new` contains `old`.
fn is_ancestor(world: &World, old: &Sha, new: &Sha) -> bool {
    let graph = world.sim.github.graph(REPOSITORY, 1000);
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

fn assert_no_branch_left(world: &World) {
    let branches = world.sim.github.branches(REPOSITORY);
    assert!(!branches.keys().any(|branch| branch.starts_with("gantry/")), "{branches:#?}");
}

fn files(path: &str, text: &str) -> BTreeMap<String, Option<String>> {
    BTreeMap::from([(path.to_owned(), Some(text.to_owned()))])
}

/// The newest message that bob sees.
fn last_answer(world: &World) -> String {
    world.bob().reads()
}

/// The command in a message that begins with `words`, up to its closing backtick.
fn find_command(message: &str, words: &str) -> String {
    let start = message.find(words).unwrap_or_else(|| panic!("no {words}: {message}"));
    message[start..].split('`').next().unwrap_or_default().to_owned()
}

/// Promotes and rolls back. Returns the head of `qa` before, with the bad version, and afterwards.
async fn promote_and_roll_back(world: &World) -> [Sha; 3] {
    let good = head(world, "qa");
    world.alice().types("/promote checkout qa").await;
    let bad = head(world, "qa");
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    let result = head(world, "qa");
    assert_eq!(tree(world, &result), tree(world, &good));
    [good, bad, result]
}

#[tokio::test]
async fn a_released_version_is_promoted_again_in_one_move() {
    let world = World::open().await;
    let [_, bad, result] = promote_and_roll_back(&world).await;
    let moves = BranchMoves::of(&world, "qa");
    world.bob().types("/promote checkout qa").await;
    let refused = last_answer(&world);
    assert_snapshot!(redact_commits(&world, &refused, &[(&bad, "bad")]), @"
    *checkout* `develop-d6c66c2` may not come back to *qa*: <@U0BOB> rolled it back in *qa* <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: totals are wrong.
    [Release]
    Next: promote what repairs it; or, if it was not to blame, `/gantry release checkout qa-<bad>`, or pass it with `--override reason` where you may.
    ");
    assert_eq!(head(&world, "qa"), result, "nothing moved");

    let release = find_command(&refused, "/gantry release");
    world.bob().types(&release).await;
    assert_snapshot!(redact_commits(&world, &last_answer(&world), &[(&bad, "bad")]), @":unlock: <@U0BOB> released *checkout* `qa-<bad>`: it may come back to *qa* and above. Before, <@U0BOB> rolled it back in *qa* <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: totals are wrong.");
    world.bob().types("/promote checkout qa").await;
    let plan = last_answer(&world);
    assert!(plan.contains(":warning: *qa* is on hold: <@U0BOB> rolled `qa-"), "{plan}");
    world.bob().clicks_in("deploys", "Confirm").await;
    let now = head(&world, "qa");
    assert_eq!(tree(&world, &now), tree(&world, &bad), "the code of the released version");
    assert_eq!(moves.texts(&world), [text(&world, &bad)], "in one move");
    assert!(card(&world, "deploys").contains("running in *qa*"), "{}", card(&world, "deploys"));
    assert!(world.running_tag("checkout", "qa").ends_with(now.short()));
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn a_newer_version_brings_the_removed_commits_back_in_one_move() {
    let world = World::open().await;
    let [_, bad, _] = promote_and_roll_back(&world).await;
    let moves = BranchMoves::of(&world, "qa");
    let repaired = world.push("checkout", "Repair the totals");
    world.settle().await;
    world.bob().types("/promote checkout qa").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    let now = head(&world, "qa");
    let repaired: Sha = repaired.parse().unwrap();
    assert_eq!(tree(&world, &now), tree(&world, &repaired), "with the removed commit and its repair");
    assert_eq!(moves.texts(&world), [text(&world, &repaired)]);
    assert_ne!(text(&world, &now), text(&world, &bad));
    assert!(
        card(&world, "deploys").contains("2 commits:"),
        "the removed commit returns, too: {}",
        card(&world, "deploys")
    );
    assert!(card(&world, "deploys").contains("running in *qa*"), "{}", card(&world, "deploys"));
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn hotfixes_survive_a_rollback_and_the_next_promotion() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    // A hotfix between the promotion and its rollback is rolled back too, and returns with the next promotion.
    world.sim.push("checkout", "qa", "Between", files("between.txt", "x"), "carol").unwrap();
    world.settle().await;
    world.bob().types("/rollback checkout qa").await;
    let has_hotfix_between = |world: &World| tree(world, &head(world, "qa")).contains_key("between.txt");
    let has_hotfix_after = |world: &World| tree(world, &head(world, "qa")).contains_key("behind.txt");
    assert!(!has_hotfix_between(&world), "the hotfix was on top of the version that was rolled back");
    assert!(
        card(&world, "deploys").contains("Between"),
        "the card lists the removed hotfix: {}",
        card(&world, "deploys")
    );
    world.sim.push("checkout", "qa", "Behind", files("behind.txt", "x"), "carol").unwrap();
    world.settle().await;
    let moves = BranchMoves::of(&world, "qa");
    world.push("checkout", "Repair the totals");
    world.settle().await;
    world.bob().types("/promote checkout qa").await;
    let plan = last_answer(&world);
    let line = plan.lines().find(|line| line.contains("hotfix")).unwrap_or_else(|| panic!("{plan}"));
    assert_snapshot!(line, @":warning: 2 hotfixes are only in `qa`: they stay there, and are not below");
    world.bob().clicks_in("deploys", "Confirm").await;
    assert!(has_hotfix_between(&world) && has_hotfix_after(&world), "{:#?}", tree(&world, &head(&world, "qa")));
    assert_eq!(moves.texts(&world).len(), 1);
    assert_eq!(text(&world, &head(&world, "qa")), text(&world, &head(&world, "develop")));
}

#[tokio::test]
async fn a_second_rollback_goes_further_back_and_the_next_promotion_undoes_both() {
    let world = World::open().await;
    let before = head(&world, "qa");
    let further = parents(&world, &before)[0].clone();
    let [good, bad, first] = promote_and_roll_back(&world).await;
    world.bob().types("/rollback checkout qa").await;
    let second = head(&world, "qa");
    assert_eq!(parents(&world, &second), [first]);
    assert_eq!(tree(&world, &second), tree(&world, &further), "an older version than the one that was restored first");
    assert_ne!(tree(&world, &second), tree(&world, &good));
    assert_ne!(tree(&world, &second), tree(&world, &bad));
    let moves = BranchMoves::of(&world, "qa");
    world.push("checkout", "Repair the totals");
    world.settle().await;
    world.bob().types("/promote checkout qa").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(moves.texts(&world), [text(&world, &head(&world, "develop"))]);
    assert!(card(&world, "deploys").contains("running in *qa*"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn promoting_a_version_that_a_rollback_skipped_is_refused_with_the_rollback_that_restores_it() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    let between = head(&world, "qa");
    world.push("checkout", "One more");
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    // Rolls back past the version between, to the one before it.
    let good = parents(&world, &between)[0].clone();
    world.bob().types(&format!("/rollback checkout qa qa-{}", good.short())).await;
    assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &good));

    let pinned = parents(&world, &between)[1].clone();
    world.bob().types(&format!("/promote checkout qa @develop-{}", pinned.short())).await;
    let refused = last_answer(&world);
    assert_snapshot!(redact_commits(&world, &refused, &[(&between, "between")]), @"
    *qa* had *checkout* `develop-d6c66c2` before it was rolled back, so there is nothing to merge.
    Next: bring it back as what it was: `/rollback checkout qa qa-<between>`.
    ");
    let offered = find_command(&refused, "/rollback checkout qa");
    world.bob().types(&offered).await;
    assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &between), "{}", last_answer(&world));
    assert_eq!(rollbacks(&world), 2);
}

#[tokio::test]
async fn a_rollback_below_is_not_promoted_over_a_newer_version() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    world.alice().types("/promote checkout staging").await;
    let staging = head(&world, "staging");
    // qa goes back to a version that is older than that of staging.
    world.bob().types("/rollback checkout qa").await;
    world.bob().types("/promote checkout staging").await;
    let refused = last_answer(&world);
    assert_snapshot!(redact_commits(&world, &refused, &[(&head(&world, "qa"), "result")]), @"
    *qa* was rolled back: `qa-<result>` is older code there, and would take *staging* back as well. A promotion never goes back.
    Next: repair it below, and promote that; or, if that is newer than what runs there, promote what was restored: `/promote checkout staging @qa-6cff9ae`.
    ");
    assert_eq!(head(&world, "staging"), staging);

    // A hotfix on top of the rollback carries the rollback along.
    world.sim.push("checkout", "qa", "On top", files("hotfix.txt", "x"), "carol").unwrap();
    world.settle().await;
    world.bob().types("/promote checkout staging").await;
    assert!(last_answer(&world).starts_with("*qa* was rolled back"), "{}", last_answer(&world));
    assert_eq!(head(&world, "staging"), staging);
}

#[tokio::test]
async fn a_version_restored_below_is_promoted_as_its_original_commit() {
    let world = World::open().await;
    let restored = head(&world, "qa");
    world.alice().types("/promote checkout qa").await;
    world.bob().types("/rollback checkout qa").await;
    world.bob().types("/promote checkout staging").await;
    let refused = last_answer(&world);
    // Staging never had the version that was rolled back, so a promotion from qa would remove nothing there.
    assert_snapshot!(redact_commits(&world, &refused, &[(&head(&world, "qa"), "result")]), @"
    *qa* was rolled back: `qa-<result>` is that rollback, with what it took back in its history. A rollback is never promoted.
    Next: repair it below, and promote that; or, if that is newer than what runs there, promote what was restored: `/promote checkout staging @qa-6cff9ae`.
    ");
    world.bob().types(&find_command(&refused, "/promote checkout staging")).await;
    let now = head(&world, "staging");
    assert_eq!(parents(&world, &now)[1], restored, "{}", last_answer(&world));
    assert!(world.running_tag("checkout", "staging").ends_with(now.short()));

    // A hotfix on top of the rollback is promoted, because staging never had the version that was rolled back.
    world.sim.push("checkout", "qa", "On top", files("hotfix.txt", "x"), "carol").unwrap();
    world.settle().await;
    world.bob().types("/promote checkout staging").await;
    assert_eq!(tree(&world, &head(&world, "staging")), tree(&world, &head(&world, "qa")), "{}", last_answer(&world));
}

#[tokio::test]
async fn a_production_promotion_undoes_a_rollback_on_the_result_branch() {
    let world = World::open().await;
    let good = head(&world, "prod");
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    world.bob().clicks_in("releases", "Approve").await;
    let bad = head(&world, "prod");
    world.bob().types("/rollback checkout prod --reason people cannot pay").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    let back = head(&world, "prod");
    assert_eq!(tree(&world, &back), tree(&world, &good));

    let moves = BranchMoves::of(&world, "prod");
    world.alice().types("/promote checkout qa").await;
    world.alice().types("/promote checkout staging").await;
    world.wait(jiff::SignedDuration::from_secs(6)).await;
    world.alice().types("/promote checkout prod").await;
    let plan = world.alice().reads();
    assert!(plan.contains(":warning: *prod* is on hold") && plan.contains("people cannot pay"), "{plan}");
    world.alice().clicks_in("deploys", "Confirm").await;
    assert_eq!(head(&world, "prod"), back, "prod does not move before the approval");
    let pull = world.sim.github.pulls(REPOSITORY).pop().expect("a pull request");
    assert_eq!(
        tree(&world, &pull.head_sha),
        tree(&world, &head(&world, "staging")),
        "the pull request shows the code of staging"
    );
    world.bob().clicks_in("releases", "Approve").await;
    let now = head(&world, "prod");
    assert_eq!(tree(&world, &now), tree(&world, &head(&world, "staging")));
    assert!(is_ancestor(&world, &bad, &now));
    assert_eq!(moves.texts(&world), [text(&world, &now)], "in one move");
    assert!(card(&world, "releases").contains("running in *prod*"), "{}", card(&world, "releases"));
    assert_no_branch_left(&world);
}

/// Sets `rollback: pull_request` for qa.
fn roll_back_by_pull_request(yaml: &str) -> String {
    let qa = "  - name: qa\n";
    yaml.replace(qa, &format!("{qa}    rollback: pull_request\n"))
}

#[tokio::test]
async fn a_rollback_by_pull_request_needs_no_approval() {
    let world = World::with_config(|yaml| roll_back_by_pull_request(&yaml)).await;
    let good = head(&world, "qa");
    world.alice().types("/promote checkout qa").await;
    let bad = head(&world, "qa");
    let moves = BranchMoves::of(&world, "qa");
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    let pull = world.sim.github.pulls(REPOSITORY).pop().expect("a pull request");
    assert_eq!((pull.base.as_str(), pull.state), ("qa", "merged"));
    assert_eq!(pull.title, "Roll checkout back to qa-6cff9ae in qa");
    let body = pull.body.split("Gantry-Change: ").next().unwrap_or_default();
    assert_snapshot!(redact_commits(&world, body, &[(&bad, "bad")]), @"
    Asked for by bob in Slack. **checkout** in **qa** goes back: `qa-<bad>` → `qa-6cff9ae`.

    **Reason:** totals are wrong

    Lost by it (1):

    - d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf Retry the payment provider once · Alice Adler

    It is merged as soon as GitHub lets it be. Do not push to this branch.
    ");
    let now = head(&world, "qa");
    assert_eq!(parents(&world, &now), [bad.clone(), pull.head_sha]);
    assert_eq!(tree(&world, &now), tree(&world, &good));
    assert_eq!(moves.texts(&world), [text(&world, &good)]);
    assert!(card(&world, "deploys").contains(": running in *qa*"), "{}", card(&world, "deploys"));
    assert_no_branch_left(&world);

    // The next promotion undoes a rollback by pull request, too.
    world.push("checkout", "Repair the totals");
    world.settle().await;
    world.bob().types("/promote checkout qa").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &head(&world, "develop")), "{}", last_answer(&world));
}

#[tokio::test]
async fn a_rollback_waits_for_the_review_that_a_protected_branch_requires() {
    let world = World::open().await;
    let good = head(&world, "qa");
    world.alice().types("/promote checkout qa").await;
    let bad = head(&world, "qa");
    let rules = Rules { required_reviews: 1, ..Rules::default() };
    world.sim.github.protect(REPOSITORY, "qa", rules).unwrap();
    world.bob().types("/rollback checkout qa").await;
    assert_eq!(head(&world, "qa"), bad);
    let waiting = card(&world, "deploys");
    assert!(waiting.contains("GitHub's own rules for `qa` want 1 approving review there"), "{waiting}");
    let pull = world.sim.github.pulls(REPOSITORY).pop().expect("a pull request");
    world.sim.github.review(REPOSITORY, pull.number, "carol", Verdict::Approve, "").unwrap();
    world.wait(jiff::SignedDuration::from_secs(61)).await;
    assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &good), "{}", card(&world, "deploys"));
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn a_rollback_by_pull_request_waits_for_the_review_that_github_requires() {
    let world = World::with_config(|yaml| roll_back_by_pull_request(&yaml)).await;
    let good = head(&world, "qa");
    world.alice().types("/promote checkout qa").await;
    let bad = head(&world, "qa");
    let rules = Rules { required_reviews: 1, ..Rules::default() };
    world.sim.github.protect(REPOSITORY, "qa", rules).unwrap();
    world.bob().types("/rollback checkout qa").await;
    assert_eq!(head(&world, "qa"), bad);
    let waiting = card(&world, "deploys");
    let pull = world.sim.github.pulls(REPOSITORY).pop().expect("a pull request");
    assert_snapshot!(redact_commits(&world, &waiting, &[(&bad, "bad"), (&pull.head_sha, "frozen")]), @"
    :raised_hand: *checkout* back to `qa-6cff9ae` in *qa*: waiting for GitHub
    :raised_hand: waiting for GitHub  ›  :white_circle: restored  ›  :white_circle: built  ›  :white_circle: rollout  ›  :white_circle: running
    :twisted_rightwards_arrows: pull request <http://world/sim/github/acme/checkout/pull/1|#1>, frozen at `<frozen>`
    :hourglass_flowing_sand: GitHub's own rules for `qa` want 1 approving review there: an approval in Slack is none
    `qa-<bad>` → `qa-6cff9ae`, commit `6cff9ae` · <http://world/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...<bad>|compare>
    I saw it run well there from <!date^1794744000^{date_short_pretty} {time}|2026-11-15 12:00 UTC> to <!date^1794819602^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, for 21 h
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    [Cancel]
    asked by <@U0BOB> · <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    world.sim.github.review(REPOSITORY, pull.number, "carol", Verdict::Approve, "").unwrap();
    world.wait(jiff::SignedDuration::from_secs(61)).await;
    assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &good), "{}", card(&world, "deploys"));
    assert!(card(&world, "deploys").contains(": running in *qa*"), "{}", card(&world, "deploys"));
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn a_rollback_on_a_protected_branch_goes_by_pull_request() {
    let world = World::open().await;
    let good = head(&world, "qa");
    world.alice().types("/promote checkout qa").await;
    let bad = head(&world, "qa");
    let rules = Rules { protected_from_pushes: true, ..Rules::default() };
    world.sim.github.protect(REPOSITORY, "qa", rules).unwrap();
    world.bob().types("/rollback checkout qa").await;
    let now = head(&world, "qa");
    let pull = world.sim.github.pulls(REPOSITORY).pop().expect("a pull request");
    assert_eq!(parents(&world, &now), [bad, pull.head_sha]);
    assert_eq!(tree(&world, &now), tree(&world, &good));
    assert!(card(&world, "deploys").contains(": running in *qa*"), "{}", card(&world, "deploys"));
    assert_eq!(rollbacks(&world), 2, "the commit, and its merge");
    assert_no_branch_left(&world);
}
