//! What GitHub is asked while nothing happens costs it nearly nothing, and what happens is seen nevertheless.

use std::collections::BTreeMap;

use gantry::sim::faults::Fault;
use gantry::sim::github::{Cost, Rules, Verdict};
use jiff::SignedDuration;

use crate::harness::world::World;
use crate::production::pull_request::{REPOSITORY, card, head, request_production};

/// A little more than the time between two looks.
const POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(61);

/// Production is asked for, looked at twice, and nobody tells of what happens from now on.
async fn open_with_waiting_change() -> World {
    let town = World::open().await;
    request_production(&town).await;
    for _ in 0..2 {
        town.wait(POLL_INTERVAL).await;
    }
    town.sim.faults.arm(Fault::LostWebhook, 99, None, None);
    town
}

async fn measure_ten_minutes(town: &World) -> Cost {
    let before = town.github_cost();
    for _ in 0..10 {
        town.wait(POLL_INTERVAL).await;
    }
    town.github_cost() - before
}

#[tokio::test]
async fn a_change_that_waits_for_approval_costs_nothing() {
    let town = open_with_waiting_change().await;
    let cost = measure_ten_minutes(&town).await;
    assert!(card(&town).contains("0 of 1 approval"), "{}", card(&town));
    assert!(cost.requests >= 30, "it is looked at once a minute: {cost:?}");
    assert_eq!(cost.counted_requests(), 0, "{:#?}", town.sim.github.costs());
}

/// Whether it can be merged is not told by the `ETag` for certain, so one question of each look counts.
#[tokio::test]
async fn a_change_that_github_does_not_let_in_costs_one_request_a_look() {
    let town = World::open().await;
    town.sim.github.protect(REPOSITORY, "prod", Rules { required_reviews: 1, ..Rules::default() }).unwrap();
    request_production(&town).await;
    town.wait(POLL_INTERVAL).await;
    let cost = measure_ten_minutes(&town).await;
    assert!((1..=11).contains(&cost.counted_requests()), "{cost:?} {:#?}", town.sim.github.costs());
}

#[tokio::test]
async fn a_review_is_seen_at_the_next_look() {
    let town = open_with_waiting_change().await;
    town.sim.github.review(REPOSITORY, 1, "bob", Verdict::Approve, "").unwrap();
    town.wait(POLL_INTERVAL).await;
    assert!(card(&town).contains("running in *prod*"), "{}", card(&town));
}

#[tokio::test]
async fn a_check_that_turns_red_and_green_again_is_seen_at_the_next_look() {
    let town = open_with_waiting_change().await;
    let frozen = crate::production::pull_request::pull(&town).unwrap().head_sha;
    for (conclusion, red) in [("failure", true), ("success", false)] {
        town.sim.github.set_check(REPOSITORY, &frozen, "build", conclusion).unwrap();
        town.wait(POLL_INTERVAL).await;
        assert_eq!(card(&town).contains("`build`"), red, "{}", card(&town));
    }
}

#[tokio::test]
async fn a_push_to_either_branch_is_seen_at_the_next_look() {
    let file = |name: &str| BTreeMap::from([(name.to_owned(), Some("x".to_owned()))]);
    let town = open_with_waiting_change().await;
    let frozen = crate::production::pull_request::pull(&town).unwrap();
    town.sim.push("checkout", &frozen.head, "Just this one more", file("more.txt"), "alice").unwrap();
    town.wait(POLL_INTERVAL).await;
    assert!(card(&town).contains("to the frozen branch. It was not seen running below"), "{}", card(&town));

    town.sim.push("checkout", "prod", "Stop the bleeding", file("hotfix.txt"), "bob").unwrap();
    town.wait(POLL_INTERVAL).await;
    assert!(card(&town).contains("the branch moved, so the frozen branch was made anew"), "{}", card(&town));
    let parents = town.sim.github.graph(REPOSITORY, 100);
    let anew = crate::production::pull_request::pull(&town).unwrap().head_sha;
    let anew = parents.into_iter().find(|commit| commit.sha == anew).expect("the frozen commit");
    assert_eq!(anew.parents[0], head(&town, "prod"));
}

#[tokio::test]
async fn a_pull_request_that_somebody_closes_is_seen_at_the_next_look() {
    let town = open_with_waiting_change().await;
    town.sim.github.close_pull(REPOSITORY, 1, "bob").unwrap();
    town.wait(POLL_INTERVAL).await;
    assert!(!card(&town).contains("0 of 1 approval"), "{}", card(&town));
}
