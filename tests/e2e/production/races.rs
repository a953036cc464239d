//! The head moves between the plan, the approval and the merge: whatever is merged was shown and approved, each time.

mod race;

use futures::future::join_all;
use gantry::domain::model::version::Sha;
use gantry::sim::github::{FaultTiming, RequestFault};
use gantry::sim::town::SIGNING_SECRET;
use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::harness::series::{Series, is_long};
use crate::harness::world::Town;
use crate::ops::receiving;
use race::{End, races};

/// In a long run.
const RACES: u64 = 500;
const RACES_PER_WORLD: usize = 25;
const THREADS: usize = 2;

/// Alice asks for checkout in prod, confirms, and it waits for approval.
async fn waiting() -> Town {
    let town = Town::open().await;
    town.alice().types("/promote checkout prod").await;
    town.alice().presses("deploys", "Confirm").await;
    town
}

fn prod(town: &Town) -> Sha {
    town.sim.github.head("acme/checkout", "prod").expect("a branch")
}

fn frozen_branch(town: &Town) -> String {
    let mut branches = town.sim.github.branches("acme/checkout").into_keys();
    branches.find(|branch| branch.starts_with("gantry/")).expect("a frozen branch")
}

fn push(town: &Town, branch: &str) -> Sha {
    town.sim
        .push("checkout", branch, "By hand", [("by-hand.txt".to_owned(), Some("x".to_owned()))].into(), "bob")
        .unwrap()
}

/// Somebody acts while GitHub is waited for.
async fn held(town: &Town, method: &str, path: &'static str, act: impl AsyncFnOnce()) {
    let whims = town.sim.github.request_faults();
    whims.inject(method, path, FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    act().await;
    town.settle_until(|| whims.has_paused_request()).await;
    assert!(whims.has_paused_request(), "nobody asked for {method} {path}");
}

/// What the card's Approve is for: the change and the commit.
fn approve_button(blocks: &[Value]) -> Option<String> {
    let mut elements = blocks.iter().flat_map(|block| block["elements"].as_array().into_iter().flatten());
    let button = elements.find(|element| element["text"]["text"] == "Approve")?;
    button["value"].as_str().map(str::to_owned)
}

/// The press of a button as it was shown before reaches us only now.
async fn presses_late(town: &Town, person: &str, value: &str) {
    let now = town.clock.now();
    let payload = json!({
        "type": "block_actions", "team": { "id": "T0ACME" }, "user": { "id": person },
        "channel": { "id": "C0RELEASES" }, "trigger_id": format!("late-{person}-{now}"),
        "actions": [{ "action_id": "change_approve", "value": value }],
    });
    let body = form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
    let path = "/slack/interactions";
    assert_eq!(receiving::slack(town, path, &body, SIGNING_SECRET, now.as_second()).await.0, 200);
}

async fn released(town: &Town) {
    while town.bot.store.measure_outstanding_work().await.unwrap().inbox > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(4)).await;
    }
    town.sim.github.request_faults().resume();
    town.settle().await;
}

#[tokio::test]
async fn a_yes_to_what_is_being_replaced_does_not_count_for_what_takes_its_place() {
    let town = waiting().await;
    let shown_before = approve_button(&town.last_message("bob", "releases").blocks).expect("a button");
    let hotfix = push(&town, "prod");
    held(&town, "PATCH", "/git/refs", async || town.clock.advance(SignedDuration::from_secs(61))).await;
    presses_late(&town, "U0BOB", &shown_before).await;
    released(&town).await;
    assert_eq!(prod(&town), hotfix, "nobody has approved what stands on the hotfix");
    town.bob().presses("releases", "Approve").await;
    assert_ne!(prod(&town), hotfix);
}

#[tokio::test]
async fn a_pull_request_that_is_pointed_elsewhere_at_the_last_moment_is_not_said_to_be_in_prod() {
    let town = waiting().await;
    let before = prod(&town);
    held(&town, "PUT", "/merge", async || town.bob().presses_only("releases", "Approve").await).await;
    town.sim.github.retarget_pull("acme/checkout", 1, "staging").unwrap();
    released(&town).await;
    assert_eq!(prod(&town), before);
    let card = town.channel("releases").into_iter().find(|told| told.contains("asked by")).unwrap();
    let why = card.lines().find(|line| line.starts_with("*Why:*")).expect("a reason");
    let merged = town.sim.github.head("acme/checkout", "staging").unwrap();
    assert_snapshot!(why.replace(merged.short(), "<merged>"), @"*Why:* Somebody pointed the pull request #1 at staging, and it was merged there, as <merged>. prod has nothing of it. Take it back in staging if it does not belong there.");
    assert!(!town.sim.github.tags("acme/checkout").keys().any(|tag| tag.starts_with("prod/2026.11.16")));
}

#[tokio::test]
async fn a_frozen_branch_that_has_it_already_does_not_stand_for_prod() {
    let town = Town::open().await;
    town.alice().types("/promote checkout prod").await;
    held(&town, "POST", "/merges", async || town.alice().presses_only("deploys", "Confirm").await).await;
    let staging = town.sim.github.head("acme/checkout", "staging").unwrap();
    town.sim.github.point_branch("acme/checkout", &frozen_branch(&town), &staging).unwrap();
    released(&town).await;
    let before = prod(&town);
    town.bob().presses("releases", "Approve").await;
    assert_ne!(prod(&town), before);
}

#[tokio::test]
async fn a_frozen_branch_that_is_put_back_before_it_is_shown_is_made_anew() {
    let town = Town::open().await;
    town.alice().types("/promote checkout prod").await;
    held(&town, "POST", "/pulls", async || town.alice().presses_only("deploys", "Confirm").await).await;
    town.sim.github.point_branch("acme/checkout", &frozen_branch(&town), &prod(&town)).unwrap();
    released(&town).await;
    let before = prod(&town);
    town.bob().presses("releases", "Approve").await;
    assert_ne!(prod(&town), before);
}

#[test]
fn no_race_merges_what_was_not_shown_and_approved() {
    let seeds = Series::Races.seeds(RACES);
    let races_per_thread = seeds.len().div_ceil(THREADS);
    let ends: Vec<Result<End, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = seeds
            .chunks(races_per_thread)
            .map(|seeds| {
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    let raced = runtime.block_on(join_all(seeds.chunks(RACES_PER_WORLD).map(races)));
                    raced.into_iter().flatten().collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("all its races")).collect()
    });
    let lost: Vec<&String> = ends.iter().filter_map(|end| end.as_ref().err()).collect();
    assert!(
        lost.is_empty(),
        "{} of {}, as here:\n{}",
        lost.len(),
        seeds.len(),
        lost.iter().map(|s| s.as_str()).collect::<Vec<_>>().join("\n=====\n")
    );
    assert_eq!(ends.len(), seeds.len());
    // Races that nobody wins would prove nothing.
    let count = |end: &End| ends.iter().flatten().filter(|one| *one == end).count();
    assert!(count(&End::Merged) > seeds.len() / 4, "{} merged", count(&End::Merged));
    assert!(count(&End::MergedOntoSomethingNewer) > 0 || !is_long());
    assert!(count(&End::NotMerged) > seeds.len() / 20, "{} not merged", count(&End::NotMerged));
}
