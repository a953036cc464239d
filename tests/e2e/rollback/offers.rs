//! A failed promotion offers its rollback, or the environment's rule rolls it back. A failed rollback says so.

use gantry::sim::faults::Fault;
use gantry::sim::github::{FaultTiming, RequestFault};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::rollback::{REPOSITORY, card, head, parents, redact_commits, rollbacks, tree};
use crate::harness::world::{World, has_button, render_message};

fn enable_auto_rollback(yaml: &str) -> String {
    yaml.replace("  - name: qa\n", "  - name: qa\n    auto_rollback: true\n")
}

fn shorten_deploy_timeout(yaml: &str) -> String {
    let qa = "branch: qa\n    cluster: { namespace: qa }\n    deploy_timeout: ";
    yaml.replace(&format!("{qa}90s"), &format!("{qa}3s"))
}

fn crash(world: &World, times: u32) {
    world.sim.faults.arm(Fault::CrashLoop, times, Some("checkout".into()), Some("qa".into()));
}

fn cards(world: &World) -> Vec<String> {
    world.public_messages("deploys").into_iter().filter(|message| message.contains("asked by")).collect()
}

/// The reply in the thread at the end of a change.
fn find_thread_reply(world: &World, words: &str) -> gantry::sim::slack::Message {
    let mut messages = world.sim.slack.messages("deploys", None).into_iter();
    messages
        .find(|message| message.thread.is_some() && render_message(message).contains(words))
        .expect("a reply in the thread")
}

#[tokio::test]
async fn a_failed_promotion_offers_a_roll_back_button_that_works_once() {
    let world = World::open().await;
    let good = head(&world, "qa");
    crash(&world, 1);
    world.alice().types("/promote checkout qa").await;
    let bad = head(&world, "qa");
    let failed = card(&world, "deploys");
    let tail: Vec<_> = failed.lines().skip_while(|line| !line.starts_with("*Why:*")).collect();
    assert_snapshot!(redact_commits(&world, &tail.join("\n"), &[(&bad, "bad")]), @"
    *Why:* CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts
    Next: *Roll back*, or push a repair and promote it. It is still watched: should it come to run, this turns green.
    [Roll back] [Another version]
    asked by <@U0ALICE> · <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    let reply = find_thread_reply(&world, "failed in *qa*");
    assert_snapshot!(redact_commits(&world, &render_message(&reply), &[(&bad, "bad")]), @"
    <@U0ALICE> *checkout* `develop-d6c66c2`: failed in *qa*.
    *Why:* CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts
    [Roll back] [Another version]
    ");
    assert!(has_button(&reply, "Roll back"));

    world.sim.slack.click("carol", "deploys", &reply.id, "Roll back").await.unwrap();
    world.settle().await;
    let result = head(&world, "qa");
    assert_eq!((parents(&world, &result), tree(&world, &result)), (vec![bad.clone()], tree(&world, &good)));
    assert!(world.running_tag("checkout", "qa").ends_with(result.short()));
    let all = cards(&world);
    assert!(all[0].contains("failed in *qa*") && all[0].contains("Rolled back"), "{}", all[0]);
    assert!(!all[0].contains("[Roll back]") && !all[0].contains("should it come to run"), "{}", all[0]);
    assert!(all[1].contains("'s code, restored as") && all[1].contains("asked by <@U0CAROL>"), "{}", all[1]);

    // The reply in the thread still has its button, but the promotion is already rolled back.
    world.sim.slack.click("bob", "deploys", &reply.id, "Roll back").await.unwrap();
    world.settle().await;
    assert!(world.bob().reads().contains("is not what *qa* has any more"), "{}", world.bob().reads());
    assert_eq!(rollbacks(&world), 1);
}

#[tokio::test]
async fn a_failed_promotion_offers_the_versions_that_ran_well() {
    let world = World::open().await;
    let good = head(&world, "qa");
    crash(&world, 1);
    world.alice().types("/promote checkout qa").await;
    world.bob().clicks_in("deploys", "Another version").await;
    assert!(world.bob().reads().contains("`qa-6cff9ae`"), "{}", world.bob().reads());
    world.bob().clicks_in("deploys", "qa-6cff9ae").await;
    assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &good));
}

#[tokio::test]
async fn a_stalled_promotion_offers_its_rollback_too() {
    let world = World::with_config(|yaml| shorten_deploy_timeout(&yaml)).await;
    let good = head(&world, "qa");
    world.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    for _ in 0..4 {
        world.clock.advance(SignedDuration::from_millis(800));
        world.wait_until_idle().await;
    }
    assert!(card(&world, "deploys").contains("no proof that it runs in *qa*"), "{}", card(&world, "deploys"));
    world.bob().clicks_without_waiting("deploys", "Roll back").await;
    world.wait_until_idle().await;
    if has_button(&world.last_message("bob", "deploys"), "Confirm") {
        world.bob().clicks_without_waiting("deploys", "Confirm").await;
    }
    world.settle().await;
    let result = head(&world, "qa");
    assert_eq!(tree(&world, &result), tree(&world, &good));
    assert!(world.running_tag("checkout", "qa").ends_with(result.short()));
    // The image of the bad version has arrived meanwhile. It turns no card green.
    let all = cards(&world);
    assert!(all[0].contains("no proof that it runs in *qa*") && all[0].contains("Rolled back"), "{}", all[0]);
    assert!(!all[0].contains("running in"), "{}", all[0]);
}

#[tokio::test]
async fn auto_rollback_rolls_a_failed_promotion_back_once() {
    let world = World::with_config(|yaml| enable_auto_rollback(&yaml)).await;
    let good = head(&world, "qa");
    crash(&world, 1);
    world.alice().types("/promote checkout qa").await;
    let result = head(&world, "qa");
    let bad = parents(&world, &result)[0].clone();
    assert_eq!((rollbacks(&world), tree(&world, &result)), (1, tree(&world, &good)));
    assert!(world.running_tag("checkout", "qa").ends_with(result.short()));
    let all = cards(&world);
    assert_eq!(all.len(), 2, "{all:#?}");
    assert!(all[0].contains("failed in *qa*") && all[0].contains("Rolled back"), "{}", all[0]);
    assert_snapshot!(redact_commits(&world, &all[1], &[(&result, "result"), (&bad, "bad")]), @"
    :large_green_circle: *checkout* `qa-6cff9ae`'s code, restored as `qa-<result>`: running in *qa*, 2 of 2 ready
    :white_check_mark: restored 0 s  ›  :white_check_mark: built 2 s  ›  :white_check_mark: rolled out 3 s  ›  :white_check_mark: running after 5 s
    restored on `qa` as <http://world/sim/github/acme/checkout/commit/<result>|<result>> · tagged `qa/2026.11.16-2` · known by the image's tag
    `qa-<bad>` → `qa-6cff9ae`, commit `6cff9ae` · <http://world/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...<bad>|compare>
    I saw it run well there from <!date^1794744000^{date_short_pretty} {time}|2026-11-15 12:00 UTC> to <!date^1794819602^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, for 21 h
    *Reason:* develop-d6c66c2 failed: CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    Quarantined: `qa-<bad>` does not come back here or above before `/gantry release checkout qa-<bad>`. The next promotion asks once more.
    asked by the rule of *qa*, for <@U0ALICE> · <!date^1794819609^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    let reply = render_message(&find_thread_reply(&world, "restored as"));
    assert!(reply.starts_with("<@U0ALICE> "), "the requester of the promotion is mentioned: {reply}");

    // The quarantine says that the environment's rule rolled the version back.
    world.bob().types("/promote checkout qa").await;
    let answer = world.bob().reads();
    assert_snapshot!(redact_commits(&world, answer.lines().next().unwrap_or_default(), &[(&bad, "bad")]), @"*checkout* `develop-d6c66c2` may not come back to *qa*: I, by the rule of that environment, rolled it back in *qa* <!date^1794819609^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: develop-d6c66c2 failed: CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts.");
}

#[tokio::test]
async fn auto_rollback_rolls_a_stalled_promotion_back() {
    let world = World::with_config(|yaml| enable_auto_rollback(&shorten_deploy_timeout(&yaml))).await;
    let good = head(&world, "qa");
    world.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
    world.alice().types("/promote checkout qa").await;
    let result = head(&world, "qa");
    assert_eq!((rollbacks(&world), tree(&world, &result)), (1, tree(&world, &good)), "{:#?}", cards(&world));
    assert!(world.running_tag("checkout", "qa").ends_with(result.short()));
}

#[tokio::test]
async fn auto_rollback_does_not_roll_a_failed_rollback_back() {
    let world = World::with_config(|yaml| enable_auto_rollback(&yaml)).await;
    crash(&world, 2);
    world.alice().types("/promote checkout qa").await;
    world.wait(SignedDuration::from_mins(10)).await;
    assert_eq!((rollbacks(&world), cards(&world).len()), (1, 2));
    let result = head(&world, "qa");
    let failed = card(&world, "deploys");
    assert!(
        failed.starts_with(":red_circle: *checkout* back to `qa-6cff9ae` in *qa*: the rollback failed"),
        "{failed}"
    );
    let tail: Vec<_> = failed.lines().skip_while(|line| !line.starts_with("*Why:*")).collect();
    assert_snapshot!(redact_commits(&world, &tail.join("\n"), &[(&result, "result")]), @"
    *Why:* CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts
    *Now:* the cluster is told to run `qa-<result>`, and that does not run well.
    Next: choose *Another version*, or repair it by a push to `qa`. It is still watched: should it come to run, this turns green.
    [Another version]
    asked by the rule of *qa*, for <@U0ALICE> · <!date^1794819609^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");

    // Another version can be chosen from the card of the failed rollback.
    world.bob().clicks_in("deploys", "Another version").await;
    world.bob().clicks_in("deploys", "qa-d2aaacd").await;
    let now = head(&world, "qa");
    assert!(world.running_tag("checkout", "qa").ends_with(now.short()), "{}", world.bob().reads());
    assert_eq!(parents(&world, &now), [result]);
}

#[tokio::test]
async fn auto_rollback_ignores_a_promotion_that_was_not_merged() {
    let world = World::with_config(|yaml| enable_auto_rollback(&yaml)).await;
    let before = head(&world, "qa");
    let forbidden = RequestFault::Reply(403, "Resource not accessible by integration", vec![]);
    world.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, forbidden, 1);
    world.alice().types("/promote checkout qa").await;
    world.wait(SignedDuration::from_mins(10)).await;
    assert_eq!((head(&world, "qa"), rollbacks(&world), cards(&world).len()), (before, 0, 1));
}

#[tokio::test]
async fn auto_rollback_does_nothing_while_the_cluster_cannot_be_read() {
    let world = World::with_config(|yaml| enable_auto_rollback(&yaml)).await;
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    world.sim.cluster.set_down("qa", true);
    // The clock advances in steps: the watch asks the cluster again only when it moves, and `settle` would never end.
    for _ in 0..50 {
        world.clock.advance(SignedDuration::from_secs(2));
        tokio::time::sleep(std::time::Duration::from_millis(15)).await;
    }
    crate::harness::process::wait_until("the promotion is stalled", async || {
        card(&world, "deploys").contains("no proof that it runs")
    })
    .await;
    assert_eq!(rollbacks(&world), 0);
    assert!(card(&world, "deploys").contains("nobody can tell what"), "{}", card(&world, "deploys"));
    world.sim.cluster.set_down("qa", false);
    for _ in 0..20 {
        world.clock.advance(SignedDuration::from_secs(10));
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    crate::harness::process::wait_until("the card is green", async || {
        card(&world, "deploys").contains("running in *qa*")
    })
    .await;
    world.settle().await;
    assert_eq!(rollbacks(&world), 0);
}

#[tokio::test]
async fn the_card_says_that_a_lock_prevents_auto_rollback() {
    let world = World::with_config(|yaml| enable_auto_rollback(&yaml)).await;
    crash(&world, 1);
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    world.carol().types_without_waiting("deploys", "/gantry lock qa load test").await;
    world.settle().await;
    assert_eq!(rollbacks(&world), 0);
    let failed = card(&world, "deploys");
    let tail: Vec<_> = failed.lines().skip_while(|line| !line.starts_with("*Why:*")).collect();
    assert_snapshot!(redact_commits(&world, &tail.join("\n"), &[]), @"
    *Why:* CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts
    :warning: The environment's rule says to roll it back, but I cannot: it is locked, and only a person passes a lock. Next: *Roll back* yourself, choose *Another version*, or push a repair and promote it.
    [Roll back] [Another version]
    asked by <@U0ALICE> · <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    // A person may roll back in spite of the lock.
    world.bob().clicks_in("deploys", "Roll back").await;
    assert!(world.bob().reads().contains("is locked by <@U0CAROL>"), "{}", world.bob().reads());
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(rollbacks(&world), 1);
    assert!(card(&world, "deploys").contains("'s code, restored as"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn the_card_says_that_auto_rollback_has_no_other_code_to_restore() {
    let world = World::with_config(|yaml| enable_auto_rollback(&yaml)).await;
    world.alice().types("/promote checkout qa").await;
    let same = world.sim.github.read_file(REPOSITORY, &head(&world, "develop"), "README.md").unwrap();
    let unchanged_file = [("README.md".to_owned(), Some(same))].into();
    world.sim.push("checkout", "develop", "Build it again", unchanged_file, "alice").unwrap();
    world.settle().await;
    crash(&world, 1);
    world.alice().types("/promote checkout qa").await;
    let before = head(&world, "qa");
    let failed = card(&world, "deploys");
    let line = failed.lines().find(|line| line.contains("rule")).unwrap_or_else(|| panic!("{failed}"));
    let good = parents(&world, &before)[0].clone();
    assert_snapshot!(redact_commits(&world, line, &[(&good, "good")]), @":warning: The environment's rule says to roll it back, but I cannot: *checkout* `qa-<good>` is what *qa* has already, so there is nothing to roll back. Next: *Roll back* yourself, choose *Another version*, or push a repair and promote it.");
    assert_eq!((head(&world, "qa"), rollbacks(&world)), (before, 0));
}

#[tokio::test]
async fn a_rollback_turns_green_only_when_its_own_commit_runs() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    let bad = head(&world, "qa");
    world.bob().types_without_waiting("deploys", "/rollback checkout qa").await;
    let mut ready = Vec::new();
    for _ in 0..40 {
        world.wait_until_idle().await;
        let (card, result) = (card(&world, "deploys"), head(&world, "qa"));
        if card.contains("asked by <@U0BOB>") {
            let line = card.lines().next().unwrap_or_default();
            assert!(
                world.running_tag("checkout", "qa").ends_with(result.short()) || !line.contains("running in"),
                "{line}"
            );
            ready.extend(line.split("*qa*").nth(1).filter(|line| line.contains(" ready")).map(str::to_owned));
        }
        world.clock.advance(SignedDuration::from_millis(500));
    }
    ready.dedup();
    assert_ne!(head(&world, "qa"), bad);
    assert_eq!(ready.last().map(String::as_str), Some(", 2 of 2 ready"), "{ready:#?}");
    assert!(ready.contains(&": rolling out, 1 of 2 ready".to_owned()), "{ready:#?}");
}

#[tokio::test]
async fn a_failed_rollback_shows_the_reason_and_the_version_in_the_cluster() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    crash(&world, 1);
    world.bob().types("/rollback checkout qa").await;
    let result = head(&world, "qa");
    let failed = card(&world, "deploys");
    assert_snapshot!(redact_commits(&world, &failed, &[(&result, "result"), (&parents(&world, &result)[0], "bad")]), @"
    :red_circle: *checkout* back to `qa-6cff9ae` in *qa*: the rollback failed
    :white_check_mark: restored 0 s  ›  :white_check_mark: built 2 s  ›  :x: rollout failed after 7 s  ›  :white_circle: running
    restored on `qa` as <http://world/sim/github/acme/checkout/commit/<result>|<result>> · tagged `qa/2026.11.16-2`
    `qa-<bad>` → `qa-6cff9ae`, commit `6cff9ae` · <http://world/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...<bad>|compare>
    I saw it run well there from <!date^1794744000^{date_short_pretty} {time}|2026-11-15 12:00 UTC> to <!date^1794819602^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, for 21 h
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    *Why:* CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts
    *Now:* the cluster is told to run `qa-<result>`, and that does not run well.
    Next: choose *Another version*, or repair it by a push to `qa`. It is still watched: should it come to run, this turns green.
    [Another version]
    asked by <@U0BOB> · <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    // The reply in the thread mentions bob and gives the reason.
    let reply = render_message(&find_thread_reply(&world, "the rollback failed"));
    assert!(reply.starts_with("<@U0BOB> ") && reply.contains("*Why:* CrashLoopBackOff"), "{reply}");
    assert_eq!(world.sim.github.head(REPOSITORY, "qa"), Some(result));
}
