//! GitHub failures, a branch that moves, and a bot that is killed: a rollback ends as one commit on the branch.

use std::collections::BTreeMap;

use gantry::domain::model::version::Sha;
use gantry::sim::github::{FaultTiming, RequestFault};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::process::{KillPoint, PauseWhen, ProcessHarness, kill_in_lanes, wait_until};
use crate::harness::rollback::{REPOSITORY, card, head, parents, redact_commits, rollbacks, tree};
use crate::harness::world::{World, render_message};

/// The number of commits on the branch since `before`, along its first parents.
fn count_commits_since(world: &World, before: &Sha) -> usize {
    let (mut commit, mut count) = (head(world, "qa"), 0);
    while commit != *before {
        commit = parents(world, &commit)[0].clone();
        count += 1;
    }
    count
}

#[tokio::test]
async fn a_rollback_makes_one_commit_despite_transient_github_failures() {
    let down = || RequestFault::Reply(502, "Bad gateway", vec![]);
    let limited = || RequestFault::Reply(429, "slow down", vec![("retry-after", "30".to_owned())]);
    let secondary_limit =
        || RequestFault::Reply(403, "You have exceeded a secondary rate limit", vec![("retry-after", "60".to_owned())]);
    let requests = [
        ("GET", "/git/commits/"),
        ("GET", "/compare/"),
        ("POST", "/git/commits"),
        ("PATCH", "/git/refs/heads/qa"),
        ("POST", "/git/refs"),
    ];
    for (method, path) in requests {
        for (when, fault) in [
            (FaultTiming::BeforeEffect, down()),
            (FaultTiming::AfterEffect, down()),
            (FaultTiming::AfterEffect, RequestFault::Disconnect),
            (FaultTiming::BeforeEffect, limited()),
            (FaultTiming::BeforeEffect, secondary_limit()),
        ] {
            // A rate limit on a lookup is not waited for: the rollback is refused, as the next test shows.
            if method == "GET" && matches!(&fault, RequestFault::Reply(403 | 429, ..)) {
                continue;
            }
            let world = World::open().await;
            let good = head(&world, "qa");
            world.alice().types("/promote checkout qa").await;
            let bad = head(&world, "qa");
            world.sim.github.request_faults().inject(method, path, when, fault.clone(), 2);
            world.bob().types("/rollback checkout qa").await;
            let case = format!("{method} {path} {fault:?}");
            assert_eq!(count_commits_since(&world, &bad), 1, "{case}: {}", card(&world, "deploys"));
            let result = head(&world, "qa");
            assert_eq!(tree(&world, &result), tree(&world, &good), "{case}");
            assert!(world.running_tag("checkout", "qa").ends_with(result.short()), "{case}");
            assert!(card(&world, "deploys").contains("'s code, restored as"), "{case}: {}", card(&world, "deploys"));
            let notifications =
                world.public_messages("deploys").into_iter().filter(|message| message.contains("your commits")).count();
            assert_eq!(notifications, 1, "{case}");
        }
    }
}

#[tokio::test]
async fn a_rollback_is_refused_while_a_rate_limit_prevents_its_lookups() {
    let world = World::open().await;
    let before = head(&world, "qa");
    let limited = RequestFault::Reply(429, "slow down", vec![("retry-after", "3000".to_owned())]);
    world.sim.github.request_faults().inject("GET", "/compare/", FaultTiming::BeforeEffect, limited, 1);
    world.bob().types("/rollback checkout qa").await;
    let answer = world.bob().reads();
    assert!(answer.starts_with("Nothing was done: ") && answer.contains("Next: try again"), "{answer}");
    assert_eq!(head(&world, "qa"), before);
}

#[tokio::test]
async fn a_rollback_says_that_github_is_unavailable_and_then_ends_in_an_error() {
    let world = World::open().await;
    let down = RequestFault::Reply(502, "Bad gateway", vec![]);
    world.sim.github.request_faults().inject("POST", "/git/commits", FaultTiming::BeforeEffect, down, 99);
    world.bob().types_without_waiting("deploys", "/rollback checkout qa").await;
    world.wait_until_idle().await;
    let waiting = card(&world, "deploys");
    assert!(waiting.contains("I keep trying.") && waiting.contains("[Cancel]"), "{waiting}");
    world.settle().await;
    let given_up = card(&world, "deploys");
    assert!(given_up.contains(": could not be done") && given_up.contains("[Roll back]"), "{given_up}");
    assert_eq!(rollbacks(&world), 0);
    assert_eq!(world.bot.store.list_quarantines().await.unwrap().len(), 0, "nothing was rolled back");
}

#[tokio::test]
async fn a_rollback_that_ended_in_an_error_can_be_retried_by_its_button() {
    let world = World::open().await;
    let good = head(&world, "qa");
    world.alice().types("/promote checkout qa").await;
    let bad = head(&world, "qa");
    let forbidden = RequestFault::Reply(403, "Resource not accessible by integration", vec![]);
    world.sim.github.request_faults().inject("POST", "/git/commits", FaultTiming::BeforeEffect, forbidden, 1);
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    let errored = card(&world, "deploys");
    let end: Vec<_> = errored.lines().skip_while(|line| !line.starts_with("*Why:*")).collect();
    assert_snapshot!(redact_commits(&world, &end.join("\n"), &[]), @"
    *Why:* GitHub refuses us: Resource not accessible by integration. Check the token, or the app's installation and permissions.
    Next: once that is repaired, `/rollback checkout qa` goes on from there.
    [Roll back]
    asked by <@U0BOB> · <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    assert_eq!(head(&world, "qa"), bad);
    let count_cards =
        || world.public_messages("deploys").into_iter().filter(|message| message.contains("asked by")).count();
    let before = count_cards();

    world.carol().clicks_in("deploys", "Roll back").await;
    let result = head(&world, "qa");
    assert_eq!((parents(&world, &result), tree(&world, &result)), (vec![bad], tree(&world, &good)));
    let green = card(&world, "deploys");
    assert!(green.contains("'s code, restored as") && green.contains("*Reason:* totals are wrong"), "{green}");
    assert_eq!(count_cards(), before, "the same change goes on");
}

#[tokio::test]
async fn a_commit_pushed_just_before_the_rollback_is_rolled_back_too_and_reported() {
    let world = World::open().await;
    let good = head(&world, "qa");
    world.alice().types("/promote checkout qa").await;
    let faults = world.sim.github.request_faults();
    faults.inject("PATCH", "/git/refs/heads/qa", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    world.bob().types_without_waiting("deploys", "/rollback checkout qa").await;
    world.settle_until(|| faults.has_paused_request()).await;
    let file = BTreeMap::from([("hotfix.txt".to_owned(), Some("x".to_owned()))]);
    let moved = world.sim.push("checkout", "qa", "At the last moment", file, "carol").unwrap();
    faults.resume();
    world.settle().await;
    let result = head(&world, "qa");
    assert_eq!((parents(&world, &result), tree(&world, &result)), (vec![moved.clone()], tree(&world, &good)));
    let card = card(&world, "deploys");
    let line = card.lines().find(|line| line.contains("last moment")).unwrap_or_else(|| panic!("{card}"));
    assert_snapshot!(redact_commits(&world, line, &[(&moved, "moved")]), @":warning: `qa` moved to <http://world/sim/github/acme/checkout/commit/<moved>|<moved>> at the last moment: what came with that is taken back as well");
    assert!(card.contains(": running in *qa*"), "{card}");
}

#[tokio::test]
async fn a_deleted_branch_ends_the_rollback_in_an_error() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    let faults = world.sim.github.request_faults();
    faults.inject("PATCH", "/git/refs/heads/qa", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    world.bob().types_without_waiting("deploys", "/rollback checkout qa").await;
    world.settle_until(|| faults.has_paused_request()).await;
    world.sim.github.delete_branch(REPOSITORY, "qa").unwrap();
    faults.resume();
    world.settle().await;
    let card = card(&world, "deploys");
    assert!(card.contains("*Why:* The branch qa is gone from acme/checkout."), "{card}");
}

#[tokio::test]
async fn a_rollback_waits_as_long_as_githubs_rate_limit_says() {
    let world = World::open().await;
    let limited = RequestFault::Reply(429, "slow down", vec![("retry-after", "2400".to_owned())]);
    world.sim.github.request_faults().inject("POST", "/git/commits", FaultTiming::BeforeEffect, limited, 1);
    let started_at = world.clock.now();
    world.bob().types("/rollback checkout qa").await;
    world.wait(SignedDuration::from_secs(2)).await;
    assert!(world.clock.now().duration_since(started_at).as_secs() >= 2400);
    assert_eq!(rollbacks(&world), 1);
    assert!(card(&world, "deploys").contains(": running in *qa*"), "{}", card(&world, "deploys"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollback_happens_once_if_the_bot_is_killed_before_any_request() {
    kill_at_every_request(PauseWhen::BeforeTheEffect).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollback_happens_once_if_the_bot_is_killed_after_any_request() {
    kill_at_every_request(PauseWhen::AfterTheEffect).await;
}

/// Runs a rollback for each of its requests: at that request the bot is killed and restarted.
async fn kill_at_every_request(pause: PauseWhen) {
    let path_suffixes =
        ["/git/commits", "/git/refs/heads/qa", "/git/tags", "POST /sim/github/repos/acme/checkout/git/refs"];
    kill_in_lanes(&path_suffixes, |points| kill_at_points(points, pause)).await;
}

async fn kill_at_points(points: Vec<KillPoint>, pause: PauseWhen) {
    let mut harness = ProcessHarness::open().await;
    let mut held_at: Vec<String> = Vec::new();
    for (round, point) in points.into_iter().enumerate() {
        let head = |harness: &ProcessHarness| harness.world.github.head(REPOSITORY, "qa").unwrap();
        let pinned =
            harness.world.push("checkout", "develop", &format!("Push {round}"), BTreeMap::new(), "alice").unwrap();
        wait_until("the push runs", async || harness.count_messages_with(&format!("Push {round} ")) > 0).await;
        harness.world.slack.type_command("alice", "deploys", "/promote checkout qa").await.unwrap();
        if !held_at.is_empty() {
            // The rollback of the previous round has left a hold.
            let find_plan = |harness: &ProcessHarness| {
                let last = harness.world.slack.messages("deploys", Some("alice")).pop().unwrap();
                (render_message(&last).contains(pinned.short()) && render_message(&last).contains("[Confirm]"))
                    .then_some(last.id)
            };
            wait_until("the plan is shown", async || find_plan(&harness).is_some()).await;
            harness.world.slack.click("alice", "deploys", &find_plan(&harness).unwrap(), "Confirm").await.unwrap();
        }
        let version = format!("`develop-{}`", pinned.short());
        let has_thread_message = |harness: &ProcessHarness, version: &str, words: &str| {
            let matches = |text: String| text.contains(version) && text.contains(words);
            harness.messages().iter().any(|message| message.thread.is_some() && matches(render_message(message)))
        };
        wait_until("the version is promoted", async || has_thread_message(&harness, &version, "running in *qa*")).await;
        let bad = head(&harness);
        // The observer compares commits in the background; these requests are not part of the rollback.
        harness.wait_until_stored("comparison WHERE head = $1", bad.as_str()).await;
        harness.wait_until_idle().await;

        harness.interceptor.pause_at(point, pause);
        let reason = format!("round {round}.");
        let typed = format!("/rollback checkout qa --reason {reason}");
        assert_eq!(harness.world.slack.type_command("bob", "deploys", &typed).await.unwrap().status, 200);
        let has_ended = |harness: &ProcessHarness| {
            let is_green =
                |text: String| text.contains(&format!("*Reason:* {reason}")) && text.contains("running in *qa*");
            harness.messages().iter().any(|message| is_green(render_message(message)))
        };
        wait_until("the rollback is paused or ends", async || {
            harness.interceptor.paused_request().is_some() || has_ended(&harness)
        })
        .await;
        let Some(request) = harness.interceptor.paused_request() else {
            pause.assert_is_beyond_last_request(point, 6, &held_at);
            return;
        };
        let request_name = &request.clone();
        held_at.push(request);
        harness.kill();
        harness.interceptor.resume();
        harness.restart().await;
        wait_until(&format!("the rollback ends, though killed at {request_name}"), async || has_ended(&harness)).await;

        let graph = harness.world.github.graph(REPOSITORY, 1000);
        let result = head(&harness);
        let commit_of_result = graph.iter().find(|commit| commit.sha == result).unwrap();
        assert_eq!(commit_of_result.parents, [bad], "one commit, though killed at {request_name}");
        let tags = harness.world.github.tags(REPOSITORY);
        assert_eq!(
            tags.values().filter(|commit| **commit == result).count(),
            1,
            "one tag, though killed at {request_name}"
        );
        let branches_left = harness
            .world
            .github
            .branches(REPOSITORY)
            .into_keys()
            .filter(|branch| branch.starts_with("gantry/"))
            .count();
        assert_eq!(branches_left, 0, "no result branch is left, though killed at {request_name}");
    }
    panic!("a rollback makes more requests than there are kill points: {held_at:#?}");
}
