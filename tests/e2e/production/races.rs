//! The head moves between plan, approval and merge: only commits that were shown and approved are merged.

mod race;

use futures::future::join_all;
use gantry::domain::model::version::Sha;
use gantry::sim::github::{FaultTiming, RequestFault};
use gantry::sim::world::SIGNING_SECRET;
use insta::assert_snapshot;
use jiff::SignedDuration;
use race::{RaceOutcome, run_races};
use serde_json::{Value, json};

use crate::harness::series::{Series, is_long};
use crate::harness::signing;
use crate::harness::world::World;

/// The number of races in a long run.
const RACES: u64 = 500;
const RACES_PER_WORLD: usize = 25;
const THREADS: usize = 2;

/// A world in which alice's promotion of checkout to prod waits for approval.
async fn open_with_waiting_change() -> World {
    let world = World::open().await;
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    world
}

fn prod(world: &World) -> Sha {
    world.sim.github.head("acme/checkout", "prod").expect("a branch")
}

fn find_result_branch(world: &World) -> String {
    let mut branches = world.sim.github.branches("acme/checkout").into_keys();
    branches.find(|branch| branch.starts_with("gantry/")).expect("a result branch")
}

fn push(world: &World, branch: &str) -> Sha {
    world
        .sim
        .push("checkout", branch, "By hand", [("by-hand.txt".to_owned(), Some("x".to_owned()))].into(), "bob")
        .unwrap()
}

/// Pauses the next request of this kind, runs `act`, and waits until the request is paused.
async fn act_until_request_paused(world: &World, method: &str, path: &'static str, act: impl AsyncFnOnce()) {
    let faults = world.sim.github.request_faults();
    faults.inject(method, path, FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    act().await;
    world.settle_until(|| faults.has_paused_request()).await;
    assert!(faults.has_paused_request(), "there was no request {method} {path}");
}

/// The value of the card's Approve button: the change and the commit.
fn approve_button(blocks: &[Value]) -> Option<String> {
    let mut elements = blocks.iter().flat_map(|block| block["elements"].as_array().into_iter().flatten());
    let button = elements.find(|element| element["text"]["text"] == "Approve")?;
    button["value"].as_str().map(str::to_owned)
}

/// Sends a click on an Approve button with the value that the card showed earlier.
async fn click_stale_button(world: &World, person: &str, value: &str) {
    let now = world.clock.now();
    let payload = json!({
        "type": "block_actions", "team": { "id": "T0ACME" }, "user": { "id": person },
        "channel": { "id": "C0RELEASES" }, "trigger_id": format!("late-{person}-{now}"),
        "actions": [{ "action_id": "change_approve", "value": value }],
    });
    let body = form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
    let path = "/slack/interactions";
    assert_eq!(signing::send_slack_request(world, path, &body, SIGNING_SECRET, now.as_second()).await.0, 200);
}

async fn resume_and_settle(world: &World) {
    while world.bot.store.measure_outstanding_work().await.unwrap().inbox > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(4)).await;
    }
    world.sim.github.request_faults().resume();
    world.settle().await;
}

#[tokio::test]
async fn an_approval_of_an_outdated_result_does_not_count_for_its_replacement() {
    let world = open_with_waiting_change().await;
    let shown_before = approve_button(&world.last_message("bob", "releases").blocks).expect("a button");
    let hotfix = push(&world, "prod");
    act_until_request_paused(&world, "PATCH", "/git/refs", async || world.clock.advance(SignedDuration::from_secs(61)))
        .await;
    click_stale_button(&world, "U0BOB", &shown_before).await;
    resume_and_settle(&world).await;
    assert_eq!(prod(&world), hotfix, "the result on top of the hotfix is not approved");
    world.bob().clicks_in("releases", "Approve").await;
    assert_ne!(prod(&world), hotfix);
}

#[tokio::test]
async fn a_pull_request_retargeted_just_before_the_merge_is_not_reported_as_merged_into_prod() {
    let world = open_with_waiting_change().await;
    let before = prod(&world);
    act_until_request_paused(&world, "PUT", "/merge", async || {
        world.bob().clicks_without_waiting("releases", "Approve").await;
    })
    .await;
    world.sim.github.retarget_pull("acme/checkout", 1, "staging").unwrap();
    resume_and_settle(&world).await;
    assert_eq!(prod(&world), before);
    let card = world.public_messages("releases").into_iter().find(|message| message.contains("asked by")).unwrap();
    let reason = card.lines().find(|line| line.starts_with("*Why:*")).expect("a reason");
    let merged = world.sim.github.head("acme/checkout", "staging").unwrap();
    assert_snapshot!(reason.replace(merged.short(), "<merged>"), @"*Why:* Somebody pointed the pull request #1 at staging, and it was merged there, as <merged>. prod has nothing of it. Take it back in staging if it does not belong there.");
    assert!(!world.sim.github.tags("acme/checkout").keys().any(|tag| tag.starts_with("prod/2026.11.16")));
}

#[tokio::test]
async fn a_result_branch_moved_to_the_promoted_commit_does_not_count_as_merged_into_prod() {
    let world = World::open().await;
    world.alice().types("/promote checkout prod").await;
    act_until_request_paused(&world, "POST", "/merges", async || {
        world.alice().clicks_without_waiting("deploys", "Confirm").await;
    })
    .await;
    let staging = world.sim.github.head("acme/checkout", "staging").unwrap();
    world.sim.github.point_branch("acme/checkout", &find_result_branch(&world), &staging).unwrap();
    resume_and_settle(&world).await;
    let before = prod(&world);
    world.bob().clicks_in("releases", "Approve").await;
    assert_ne!(prod(&world), before);
}

#[tokio::test]
async fn a_result_branch_reset_before_it_is_shown_is_rebuilt() {
    let world = World::open().await;
    world.alice().types("/promote checkout prod").await;
    act_until_request_paused(&world, "POST", "/pulls", async || {
        world.alice().clicks_without_waiting("deploys", "Confirm").await;
    })
    .await;
    world.sim.github.point_branch("acme/checkout", &find_result_branch(&world), &prod(&world)).unwrap();
    resume_and_settle(&world).await;
    let before = prod(&world);
    world.bob().clicks_in("releases", "Approve").await;
    assert_ne!(prod(&world), before);
}

#[test]
fn no_random_race_merges_a_commit_that_was_not_shown_and_approved() {
    let seeds = Series::Races.seeds(RACES);
    let races_per_thread = seeds.len().div_ceil(THREADS);
    let outcomes: Vec<Result<RaceOutcome, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = seeds
            .chunks(races_per_thread)
            .map(|seeds| {
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    let raced = runtime.block_on(join_all(seeds.chunks(RACES_PER_WORLD).map(run_races)));
                    raced.into_iter().flatten().collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("the outcomes of its races")).collect()
    });
    let violations: Vec<&String> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert!(
        violations.is_empty(),
        "{} of {} races failed:\n{}",
        violations.len(),
        seeds.len(),
        violations.iter().map(|s| s.as_str()).collect::<Vec<_>>().join("\n=====\n")
    );
    assert_eq!(outcomes.len(), seeds.len());
    // If nearly all races had the same outcome, the series would prove little.
    let count = |outcome: &RaceOutcome| outcomes.iter().flatten().filter(|one| *one == outcome).count();
    assert!(count(&RaceOutcome::Merged) > seeds.len() / 4, "{} merged", count(&RaceOutcome::Merged));
    assert!(count(&RaceOutcome::MergedOntoSomethingNewer) > 0 || !is_long());
    assert!(count(&RaceOutcome::NotMerged) > seeds.len() / 20, "{} not merged", count(&RaceOutcome::NotMerged));
}
