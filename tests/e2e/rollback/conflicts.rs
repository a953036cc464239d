//! Rollbacks while another change is under way in the environment: a promotion that is being merged, deploys or waits
//! for approval, or another rollback.

use gantry::adapters::store::InboxQueue;
use gantry::domain::model::version::Sha;
use gantry::sim::github::{FaultTiming, RequestFault};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::process::wait_until;
use crate::harness::production;
use crate::harness::rollback::{REPOSITORY, card, head, parents, redact_commits, rollbacks, text, tree};
use crate::harness::world::{World, has_button};

/// Alice's promotion to qa is paused right before its merge, and bob has requested a rollback.
async fn open_with_paused_promotion() -> (World, Sha) {
    let world = World::open().await;
    let before = head(&world, "qa");
    let faults = world.sim.github.request_faults();
    faults.inject("POST", "/merges", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.settle_until(|| faults.has_paused_request()).await;
    world.bob().types_without_waiting("deploys", "/rollback checkout qa --reason it burns").await;
    let offers_choice = || has_button(&world.last_message("bob", "deploys"), "Wait for it, then roll back");
    world.settle_until(offers_choice).await;
    assert!(offers_choice(), "{}", world.bob().reads());
    (world, before)
}

/// Waits until the bot has postponed bob's click: the request stays in the inbox and is due only when the clock moves.
async fn wait_until_postponed(world: &World) {
    let store = &world.bot.store;
    wait_until("the click is postponed", async || {
        store.list_due_inbox_items(InboxQueue::Requests, 1).await.unwrap().is_empty()
            && store.find_next_inbox_due(InboxQueue::Requests, world.clock.now()).await.unwrap().is_some()
    })
    .await;
}

/// The card of alice's promotion.
fn promotion_card(world: &World) -> String {
    let mut cards = world.public_messages("deploys").into_iter();
    cards.rfind(|message| message.contains("asked by <@U0ALICE>")).expect("a card")
}

#[tokio::test]
async fn a_rollback_during_a_merge_offers_to_cancel_the_promotion_or_to_wait_for_it() {
    let (world, before) = open_with_paused_promotion().await;
    assert_snapshot!(redact_commits(&world, &world.bob().reads(), &[]), @"
    :leftwards_arrow_with_hook: Roll *checkout* back to `qa-d2aaacd` in *qa*, by a commit on `qa`
    `qa-6cff9ae` → `qa-d2aaacd`, commit `d2aaacd` · <http://world/sim/github/acme/checkout/compare/d2aaacd210b18cccdbee38c1276c791bb18fcefc...6cff9aebe9cfa6bf18e82fa05218364d77b382eb|compare>
    I saw it run well there from <!date^1794657600^{date_short_pretty} {time}|2026-11-14 12:00 UTC> to <!date^1794744000^{date_short_pretty} {time}|2026-11-15 12:00 UTC>, for 24 h
    *Reason:* it burns
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/checkout/commit/7d03d5abcfb3c4416e40d2d99f39b9780cf28818|7d03d5a> Accept vouchers of partners · Bob Brandt
    :warning: <@U0ALICE> promotes *checkout* to *qa* since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, and it is being merged right now (change `<id>`). Should it come too late to be cancelled, it is rolled back as well.
    [Cancel it and roll back] [Wait for it, then roll back] [Cancel]
    ");
    assert_eq!(head(&world, "qa"), before);
    world.bob().clicks_without_waiting("deploys", "Cancel").await;
    world.sim.github.request_faults().resume();
    world.settle().await;
    assert!(promotion_card(&world).contains("running in *qa*"), "{}", promotion_card(&world));
    assert_eq!(rollbacks(&world), 0);
}

#[tokio::test]
async fn a_rollback_can_wait_for_the_merge_and_then_rolls_the_promotion_back_too() {
    let (world, before) = open_with_paused_promotion().await;
    let restored = parents(&world, &before)[0].clone();
    world.bob().clicks_without_waiting("deploys", "Wait for it, then roll back").await;
    wait_until_postponed(&world).await;
    assert_eq!(rollbacks(&world), 0, "no rollback before the merge");
    world.sim.github.request_faults().resume();
    world.settle().await;
    let result = head(&world, "qa");
    assert_eq!(tree(&world, &result), tree(&world, &restored));
    assert_eq!(rollbacks(&world), 1);
    let merged = parents(&world, &result)[0].clone();
    assert_eq!(parents(&world, &merged)[0], before, "the promotion was merged first");
    assert!(world.running_tag("checkout", "qa").ends_with(result.short()));
    assert!(
        promotion_card(&world).contains("rolled back in *qa* before it ran")
            || promotion_card(&world).contains("Rolled back"),
        "{}",
        promotion_card(&world)
    );
    assert!(card(&world, "deploys").contains("'s code, restored as"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn a_rollback_can_cancel_a_promotion_that_is_not_merged_yet() {
    let world = World::open().await;
    let before = head(&world, "qa");
    let restored = parents(&world, &before)[0].clone();
    let down = RequestFault::Reply(502, "Bad gateway", vec![]);
    world.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, down, 99);
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    world.bob().types_without_waiting("deploys", "/rollback checkout qa").await;
    world.wait_until_idle().await;
    world.bob().clicks_without_waiting("deploys", "Cancel it and roll back").await;
    world.settle().await;
    assert!(promotion_card(&world).contains("not promoted to *qa*, cancelled"), "{}", promotion_card(&world));
    assert!(promotion_card(&world).contains("Cancelled by <@U0BOB>"), "{}", promotion_card(&world));
    let result = head(&world, "qa");
    assert_eq!((parents(&world, &result), tree(&world, &result)), (vec![before], tree(&world, &restored)));
}

#[tokio::test]
async fn a_promotion_that_is_cancelled_too_late_is_rolled_back_too() {
    let (world, before) = open_with_paused_promotion().await;
    let restored = parents(&world, &before)[0].clone();
    world.bob().clicks_without_waiting("deploys", "Cancel it and roll back").await;
    wait_until_postponed(&world).await;
    world.sim.github.request_faults().resume();
    world.settle().await;
    let result = head(&world, "qa");
    assert_eq!(tree(&world, &result), tree(&world, &restored), "{}", world.bob().reads());
    assert_eq!(rollbacks(&world), 1);
    assert!(world.running_tag("checkout", "qa").ends_with(result.short()));
}

#[tokio::test]
async fn a_second_click_on_the_choice_to_wait_rolls_back_only_once() {
    let (world, _) = open_with_paused_promotion().await;
    let question = world.last_message("bob", "deploys").id;
    for _ in 0..2 {
        world.sim.slack.click("bob", "deploys", &question, "Wait for it, then roll back").await.unwrap();
    }
    world.sim.github.request_faults().resume();
    world.settle().await;
    assert_eq!(rollbacks(&world), 1, "{:#?}", world.public_messages("deploys"));
}

#[tokio::test]
async fn a_rollback_that_waits_for_a_merge_is_given_up_after_ten_minutes() {
    let (world, before) = open_with_paused_promotion().await;
    world.bob().clicks_without_waiting("deploys", "Wait for it, then roll back").await;
    wait_until_postponed(&world).await;
    let is_answered = || {
        world
            .ephemeral_messages("bob", "deploys")
            .into_iter()
            .any(|message| message.starts_with("Nothing was rolled back"))
    };
    // The clock must not go further, because Slack accepts an answer for half an hour only.
    let end = world.clock.now() + SignedDuration::from_secs(750);
    wait_until("bob is answered", async || {
        world.clock.advance_to(end.min(world.clock.now() + SignedDuration::from_secs(10)));
        is_answered()
    })
    .await;
    assert_snapshot!(world.ephemeral_messages("bob", "deploys").pop().unwrap(), @"
    Nothing was rolled back: another change of *qa* was still being merged after 10 minutes.
    Next: `/gantry status` shows it; then `/rollback checkout qa`
    ");
    assert_eq!(head(&world, "qa"), before);
    world.sim.github.request_faults().resume();
    world.settle().await;
    assert_eq!(rollbacks(&world), 0);
}

#[tokio::test]
async fn a_confirmed_rollback_supersedes_a_promotion_that_deploys() {
    let world = World::open().await;
    let good = head(&world, "qa");
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    let bad = head(&world, "qa");
    assert_ne!(good, bad);
    world.clock.advance(SignedDuration::from_secs(1));
    world.wait_until_idle().await;
    world.bob().types_without_waiting("deploys", "/rollback checkout qa --reason it burns").await;
    world.wait_until_idle().await;
    let plan = world.bob().reads();
    assert_snapshot!(redact_commits(&world, &plan, &[(&bad, "bad")]), @"
    :leftwards_arrow_with_hook: Roll *checkout* back to `qa-6cff9ae` in *qa*, by a commit on `qa`
    `develop-d6c66c2` → `qa-6cff9ae`, commit `6cff9ae` · <http://world/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...<bad>|compare>
    I saw it run well there from <!date^1794744000^{date_short_pretty} {time}|2026-11-15 12:00 UTC>, and it still does: what was merged since has not arrived
    *Reason:* it burns
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    :warning: This takes the place of `develop-d6c66c2`, which <@U0ALICE> promoted and which rolls out since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    [Confirm] [Another version] [Cancel]
    Nothing is done before you confirm. This is good for 30 minutes.
    ");
    assert_eq!(head(&world, "qa"), bad);
    world.bob().clicks_without_waiting("deploys", "Confirm").await;
    world.wait_until_idle().await;
    let result = head(&world, "qa");
    assert_eq!((parents(&world, &result), tree(&world, &result)), (vec![bad.clone()], tree(&world, &good)));

    // Neither the image of the bad version, which arrives first, nor the version from before proves the rollback.
    let mut seen_bad = false;
    for _ in 0..40 {
        world.clock.advance(SignedDuration::from_millis(250));
        world.wait_until_idle().await;
        let runs = world.running_tag("checkout", "qa");
        seen_bad |= runs.ends_with(bad.short());
        let card = card(&world, "deploys");
        assert!(runs.ends_with(result.short()) || !card.contains(": running in *qa*"), "{card}");
    }
    assert!(seen_bad && card(&world, "deploys").contains("'s code, restored as"), "{}", card(&world, "deploys"));
    world.settle().await;
    let promoted = promotion_card(&world);
    assert!(promoted.contains("rolled back in *qa* before it ran"), "{promoted}");
    assert!(!promoted.contains("[Roll back]") && promoted.contains("is taken back by change"), "{promoted}");
    assert_ne!(text(&world, &bad), text(&world, &result));
}

#[tokio::test]
async fn a_confirmed_rollback_supersedes_a_promotion_that_waits_for_approval() {
    let world = World::open().await;
    let before = head(&world, "prod");
    let restored = parents(&world, &before)[0].clone();
    production::request_production(&world).await;
    world.bob().types("/rollback checkout prod").await;
    let plan = world.bob().reads();
    let line = plan.lines().find(|line| line.contains("waits")).unwrap_or_else(|| panic!("{plan}"));
    let waiting = line.split('`').nth(1).unwrap_or_default().to_owned();
    assert_snapshot!(line.replace(&waiting, "<version>"), @":warning: This takes the place of `<version>`, which <@U0ALICE> asked for and which waits for approval since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>");
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(tree(&world, &head(&world, "prod")), tree(&world, &restored));
    assert_eq!(production::pull(&world).unwrap().state, "closed");
    let cards: Vec<_> =
        world.public_messages("releases").into_iter().filter(|message| message.contains("asked by")).collect();
    assert!(cards[0].contains("another change takes its place"), "{}", cards[0]);
    assert!(cards[1].contains(": running in *prod*"), "{}", cards[1]);
    assert!(!world.sim.github.branches(REPOSITORY).keys().any(|branch| branch.starts_with("gantry/")));
}

#[tokio::test]
async fn a_second_rollback_is_refused_while_the_first_moves_the_branch() {
    let world = World::open().await;
    let faults = world.sim.github.request_faults();
    faults.inject("PATCH", "/git/refs/heads/qa", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    world.bob().types_without_waiting("deploys", "/rollback checkout qa").await;
    world.settle_until(|| faults.has_paused_request()).await;
    world.carol().types_without_waiting("deploys", "/rollback checkout qa").await;
    let is_answered =
        || world.ephemeral_messages("carol", "deploys").into_iter().any(|message| message.contains("<@U0BOB>"));
    world.settle_until(is_answered).await;
    let answer = world.ephemeral_messages("carol", "deploys").pop().unwrap();
    assert!(answer.starts_with("<@U0BOB> rolls back *checkout* in *qa* since "), "{answer}");
    assert!(answer.contains("follow it here") && answer.contains("Next: wait for it, or `/gantry cancel "), "{answer}");
    faults.resume();
    world.settle().await;
    assert_eq!(rollbacks(&world), 1);
}

#[tokio::test]
async fn a_confirmed_rollback_supersedes_a_rollback_that_deploys() {
    let world = World::open().await;
    let older = parents(&world, &parents(&world, &head(&world, "qa"))[0])[0].clone();
    world.bob().types_without_waiting("deploys", "/rollback checkout qa").await;
    world.wait_until_idle().await;
    let first = head(&world, "qa");
    world.carol().types_without_waiting("deploys", "/rollback checkout qa").await;
    world.wait_until_idle().await;
    assert!(has_button(&world.last_message("carol", "deploys"), "Confirm"), "{}", world.carol().reads());
    world.carol().clicks_in("deploys", "Confirm").await;
    let second = head(&world, "qa");
    assert_eq!((parents(&world, &second), tree(&world, &second)), (vec![first], tree(&world, &older)));
    assert!(world.running_tag("checkout", "qa").ends_with(second.short()));
    let cards: Vec<_> =
        world.public_messages("deploys").into_iter().filter(|message| message.contains("asked by")).collect();
    assert!(cards[0].contains("another rollback takes its place"), "{}", cards[0]);
}

#[tokio::test]
async fn simultaneous_rollbacks_happen_once_and_the_others_name_the_first_requester() {
    let world = World::open().await;
    for person in ["bob", "carol", "bob"] {
        world.sim.slack.type_command(person, "deploys", "/rollback checkout qa").await.unwrap();
    }
    world.settle().await;
    assert_eq!(rollbacks(&world), 1, "{:#?}", world.public_messages("deploys"));
    // Either of them may be first. The answer to the other names the first.
    let (first, other) = if world.public_messages("deploys").iter().any(|message| message.contains("asked by <@U0BOB>"))
    {
        ("<@U0BOB>", "carol")
    } else {
        ("<@U0CAROL>", "bob")
    };
    let answers = world.ephemeral_messages(other, "deploys");
    assert!(answers.iter().any(|message| message.contains(first)), "{answers:#?}");
}

#[tokio::test]
async fn a_promotion_is_refused_while_a_rollback_is_under_way() {
    let world = World::open().await;
    world.bob().types_without_waiting("deploys", "/rollback checkout qa").await;
    world.wait_until_idle().await;
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    let answer = world.alice().reads();
    assert!(answer.contains("<@U0BOB>") && !answer.contains("[Confirm]"), "{answer}");
    world.settle().await;
    assert_eq!(rollbacks(&world), 1);
    assert!(card(&world, "deploys").contains(": running in *qa*"), "{}", card(&world, "deploys"));
}
