//! Polling of a change that waits uses nearly no rate limit of GitHub, and still sees every event.

use std::collections::BTreeMap;

use gantry::sim::faults::Fault;
use gantry::sim::github::{Cost, Rules, Verdict};
use jiff::SignedDuration;

use crate::harness::production::{REPOSITORY, card, head, request_production};
use crate::harness::world::World;

/// A little more than the time between two polls.
const POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(61);

/// A world with a change that waits for prod and was polled twice. From now on all webhooks are lost.
async fn open_with_waiting_change() -> World {
    let world = World::open().await;
    request_production(&world).await;
    for _ in 0..2 {
        world.wait(POLL_INTERVAL).await;
    }
    world.sim.faults.arm(Fault::LostWebhook, 99, None, None);
    world
}

async fn measure_ten_minutes(world: &World) -> Cost {
    let before = world.github_cost();
    for _ in 0..10 {
        world.wait(POLL_INTERVAL).await;
    }
    world.github_cost() - before
}

#[tokio::test]
async fn polling_a_change_that_waits_for_approval_uses_no_rate_limit() {
    let world = open_with_waiting_change().await;
    let cost = measure_ten_minutes(&world).await;
    assert!(card(&world).contains("0 of 1 approval"), "{}", card(&world));
    assert!(cost.requests >= 30, "the change is polled once a minute: {cost:?}");
    assert_eq!(cost.counted_requests(), 0, "{:#?}", world.sim.github.costs());
}

/// The `ETag` does not show reliably whether the pull request can be merged, so one request of each poll counts.
#[tokio::test]
async fn polling_a_pull_request_that_github_blocks_uses_one_counted_request_per_poll() {
    let world = World::open().await;
    world.sim.github.protect(REPOSITORY, "prod", Rules { required_reviews: 1, ..Rules::default() }).unwrap();
    request_production(&world).await;
    world.wait(POLL_INTERVAL).await;
    let cost = measure_ten_minutes(&world).await;
    assert!((1..=11).contains(&cost.counted_requests()), "{cost:?} {:#?}", world.sim.github.costs());
}

#[tokio::test]
async fn a_review_without_a_webhook_is_seen_at_the_next_poll() {
    let world = open_with_waiting_change().await;
    world.sim.github.review(REPOSITORY, 1, "bob", Verdict::Approve, "").unwrap();
    world.wait(POLL_INTERVAL).await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn a_check_without_a_webhook_is_seen_at_the_next_poll() {
    let world = open_with_waiting_change().await;
    let frozen = crate::harness::production::pull(&world).unwrap().head_sha;
    for (conclusion, red) in [("failure", true), ("success", false)] {
        world.sim.github.set_check(REPOSITORY, &frozen, "build", conclusion).unwrap();
        world.wait(POLL_INTERVAL).await;
        assert_eq!(card(&world).contains("`build`"), red, "{}", card(&world));
    }
}

#[tokio::test]
async fn a_push_to_either_branch_without_a_webhook_is_seen_at_the_next_poll() {
    let file = |name: &str| BTreeMap::from([(name.to_owned(), Some("x".to_owned()))]);
    let world = open_with_waiting_change().await;
    let frozen = crate::harness::production::pull(&world).unwrap();
    world.sim.push("checkout", &frozen.head, "Just this one more", file("more.txt"), "alice").unwrap();
    world.wait(POLL_INTERVAL).await;
    assert!(card(&world).contains("to the frozen branch. It was not seen running below"), "{}", card(&world));

    world.sim.push("checkout", "prod", "Stop the bleeding", file("hotfix.txt"), "bob").unwrap();
    world.wait(POLL_INTERVAL).await;
    assert!(card(&world).contains("the branch moved, so the frozen branch was made anew"), "{}", card(&world));
    let parents = world.sim.github.graph(REPOSITORY, 100);
    let anew = crate::harness::production::pull(&world).unwrap().head_sha;
    let anew = parents.into_iter().find(|commit| commit.sha == anew).expect("the frozen commit");
    assert_eq!(anew.parents[0], head(&world, "prod"));
}

#[tokio::test]
async fn a_closed_pull_request_without_a_webhook_is_seen_at_the_next_poll() {
    let world = open_with_waiting_change().await;
    world.sim.github.close_pull(REPOSITORY, 1, "bob").unwrap();
    world.wait(POLL_INTERVAL).await;
    assert!(!card(&world).contains("0 of 1 approval"), "{}", card(&world));
}
