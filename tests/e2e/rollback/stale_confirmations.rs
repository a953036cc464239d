//! A confirmation, a rule or a button that is outdated never does more than it was shown for.

use std::collections::BTreeMap;

use gantry::sim::faults::Fault;
use gantry::sim::github::{FaultTiming, RequestFault};
use jiff::SignedDuration;

use crate::harness::manifest;
use crate::harness::rollback::{REPOSITORY, card, head, rollbacks, tree};
use crate::harness::world::{World, has_button, render_message};

fn bad_gateway() -> RequestFault {
    RequestFault::Reply(502, "Bad gateway", vec![])
}

/// Advances the clock in steps while GitHub fails: `settle` would never end, and GitHub is asked again only when the
/// clock moves. Returns when the bot's watches have seen every change of the cluster.
async fn advance_by_seconds(world: &World, seconds: i64) {
    for _ in 0..seconds / 2 {
        world.clock.advance(SignedDuration::from_secs(2));
        world.wait_until_idle().await;
    }
}

#[tokio::test]
async fn a_retry_finds_the_rollback_that_happened_before_the_error_and_quarantines_the_version() {
    let world = World::open().await;
    let good = head(&world, "qa");
    world.alice().types("/promote checkout qa").await;
    let faults = world.sim.github.request_faults();
    faults.inject("PATCH", "/git/refs/heads/qa", FaultTiming::AfterEffect, bad_gateway(), 1);
    faults.inject("GET", "/repos/acme/checkout/compare/qa", FaultTiming::BeforeEffect, bad_gateway(), 999);
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    assert!(card(&world, "deploys").contains("could not be done"), "{}", card(&world, "deploys"));
    assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &good), "although the branch has the rollback");

    faults.clear();
    world.bob().clicks_in("deploys", "Roll back").await;
    assert!(card(&world, "deploys").contains("restored as"), "{}", card(&world, "deploys"));
    assert_eq!(rollbacks(&world), 1);
    assert_eq!(world.bot.store.list_quarantines().await.unwrap().len(), 1);
    world.alice().types("/promote checkout qa").await;
    assert!(world.alice().reads().contains("may not come back"), "{}", world.alice().reads());
}

#[tokio::test]
async fn a_retried_rollback_by_manifest_quarantines_the_bad_version_and_not_the_good_one() {
    let world = World::open().await;
    let bad = crate::harness::manifest::promote_newer(&world, "Find plurals").await;
    let faults = world.sim.github.request_faults();
    faults.inject("PATCH", "/git/refs/heads/main", FaultTiming::AfterEffect, bad_gateway(), 1);
    faults.inject("GET", "/repos/acme/gitops/compare", FaultTiming::BeforeEffect, bad_gateway(), 999);
    world.bob().types("/rollback search qa").await;
    assert!(card(&world, "deploys").contains("could not be done"), "{}", card(&world, "deploys"));

    faults.clear();
    world.bob().clicks_in("deploys", "Roll back").await;
    assert!(card(&world, "deploys").contains("running in *qa*"), "{}", card(&world, "deploys"));
    let quarantined = world.bot.store.list_quarantines().await.unwrap();
    assert_eq!(quarantined.iter().map(|quarantine| quarantine.version.label().to_owned()).collect::<Vec<_>>(), [bad]);
    world
        .bob()
        .types(&format!("/rollback search qa {}", manifest::running_image(&world, "qa").rsplit(':').next().unwrap()))
        .await;
    assert!(world.bob().reads().contains("has already"), "{}", world.bob().reads());
}

#[tokio::test]
async fn the_retry_button_of_an_outdated_rollback_does_not_roll_back_a_newer_version() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    let forbidden = RequestFault::Reply(403, "Resource not accessible by integration", vec![]);
    world.sim.github.request_faults().inject("POST", "/git/commits", FaultTiming::BeforeEffect, forbidden, 1);
    world.bob().types("/rollback checkout qa").await;
    let is_old = |message: &gantry::sim::slack::Message| {
        has_button(message, "Roll back") && render_message(message).contains("could not be done")
    };
    let old = world.sim.slack.messages("deploys", Some("bob")).into_iter().rfind(is_old).expect("the card");
    world.push("checkout", "Much newer");
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    let newer = head(&world, "qa");

    world.sim.slack.click("bob", "deploys", &old.id, "Roll back").await.unwrap();
    world.settle().await;
    assert!(world.bob().reads().contains("is not what *qa* has any more"), "{}", world.bob().reads());
    assert_eq!(head(&world, "qa"), newer);
}

#[tokio::test]
async fn an_outdated_choice_to_wait_and_roll_back_shows_a_new_plan_with_the_new_lock() {
    let world = World::open().await;
    let faults = world.sim.github.request_faults();
    faults.inject("POST", "/merges", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.settle_until(|| faults.has_paused_request()).await;
    world.bob().types_without_waiting("deploys", "/rollback checkout qa").await;
    let label = "Wait for it, then roll back";
    world.settle_until(|| has_button(&world.last_message("bob", "deploys"), label)).await;
    let question = world.last_message("bob", "deploys").id;
    faults.resume();
    world.settle().await;
    world.push("checkout", "Much newer");
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    world.carol().types("/gantry lock qa do not touch").await;
    let newer = head(&world, "qa");

    world.sim.slack.click("bob", "deploys", &question, label).await.unwrap();
    world.settle().await;
    assert_eq!(head(&world, "qa"), newer, "nothing was done");
    let answers = world.sim.slack.messages("deploys", Some("bob"));
    let plan = answers
        .iter()
        .find(|message| message.id == question)
        .map(render_message)
        .expect("the answer in place of the question");
    assert!(plan.contains("[Confirm]") && plan.contains("do not touch"), "a new plan must be confirmed: {plan}");
}

#[tokio::test]
async fn auto_rollback_does_not_roll_back_a_version_that_recovered_meanwhile() {
    let rule = |yaml: String| yaml.replacen("  - name: qa\n", "  - name: qa\n    auto_rollback: true\n", 1);
    let world = World::with_config(rule).await;
    let faults = world.sim.github.request_faults();
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
    faults.inject("GET", "/git/ref/heads/qa", FaultTiming::BeforeEffect, bad_gateway(), 4000);
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    advance_by_seconds(&world, 60).await;
    assert!(card(&world, "deploys").contains("failed in *qa*"), "{}", card(&world, "deploys"));
    // The cause of the crash is repaired, and the same image is rolled out again.
    let workload = "deployment/checkout".parse().unwrap();
    let image = world.sim.cluster.state("qa", &workload).image.expect("an image");
    world.sim.cluster.set_image("qa", &workload, "checkout", "ghcr.io/acme/checkout:qa-6cff9ae");
    advance_by_seconds(&world, 20).await;
    world.sim.cluster.set_image("qa", &workload, "checkout", &image);
    advance_by_seconds(&world, 40).await;
    faults.clear();
    advance_by_seconds(&world, 120).await;
    world.settle().await;
    assert_eq!(rollbacks(&world), 0);
    let messages = world.public_messages("deploys");
    assert!(
        messages.iter().any(|message| message.contains("running in *qa*")),
        "later proof turns the card green: {messages:#?}"
    );
}

#[tokio::test]
async fn a_second_rollback_does_not_list_the_commits_that_the_first_removed() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    world.bob().types("/rollback checkout qa").await;
    assert!(card(&world, "deploys").contains("Retry the payment provider once"), "{}", card(&world, "deploys"));
    world.carol().types("/rollback checkout qa").await;
    let second = card(&world, "deploys");
    assert!(second.contains("*Lost by it:* 1 commit:"), "{second}");
    assert!(!second.contains("Retry the payment provider once"), "{second}");
    let notifications = world
        .public_messages("deploys")
        .into_iter()
        .filter(|message| message.contains("your commits"))
        .collect::<Vec<_>>();
    assert_eq!(notifications.len(), 2, "each author is notified of their own commits: {notifications:#?}");
    assert!(notifications[0].contains("<@U0ALICE>") && notifications[1].contains("<@U0BOB>"), "{notifications:#?}");
}

#[tokio::test]
async fn a_waiting_change_is_not_merged_if_its_version_is_rolled_back_two_environments_below() {
    let world = World::open().await;
    world.alice().types("/promote checkout staging").await;
    world.wait(SignedDuration::from_mins(2)).await;
    let before = head(&world, "prod");
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    world.bob().clicks_in("releases", "Approve").await;
    assert_eq!(head(&world, "prod"), before);
    let waiting = card(&world, "releases");
    assert!(waiting.contains("it is quarantined") && waiting.contains("totals are wrong"), "{waiting}");
}

#[tokio::test]
async fn a_hotfix_does_not_hide_that_a_version_was_rolled_back_below() {
    let world = World::open().await;
    let file = BTreeMap::from([("hotfix.txt".to_owned(), Some("x".to_owned()))]);
    world.sim.push("checkout", "staging", "Hotfix", file, "carol").unwrap();
    world.settle().await;
    world.alice().types("/promote checkout staging").await;
    world.wait(SignedDuration::from_mins(2)).await;
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    world.alice().types("/promote checkout prod").await;
    assert!(world.alice().reads().contains("may not come back to *prod*"), "{}", world.alice().reads());
}

#[tokio::test]
async fn a_conflict_after_a_rollback_leaves_no_result_branch_behind() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    world.bob().types("/rollback checkout qa").await;
    let file = BTreeMap::from([("src/checkout.txt".to_owned(), Some("other\n".to_owned()))]);
    world.sim.push("checkout", "qa", "Hotfix in the same place", file, "carol").unwrap();
    world.settle().await;
    world.push("checkout", "Newer");
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    assert!(card(&world, "deploys").contains("conflicts with *qa*"), "{}", card(&world, "deploys"));
    let branches = world.sim.github.branches(REPOSITORY);
    assert!(!branches.keys().any(|branch| branch.starts_with("gantry/")), "{branches:?}");
}
