//! Many requests at once: a branch is moved by one change, and a hundred branches by a hundred changes.

use futures::future::join_all;

use crate::harness::parts::{roll_out, with_parts};
use crate::harness::world::World;

#[tokio::test]
async fn of_a_hundred_simultaneous_requests_one_promotes_and_the_others_are_refused() {
    let world = World::open().await;
    // The rollout is slow, so that the change is still open when the last request is handled.
    world.sim.faults.arm(gantry::sim::faults::Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
    let requests = join_all((0..100).map(|n| {
        let person = if n % 2 == 0 { "alice" } else { "bob" };
        world.sim.slack.type_command(person, "deploys", "/promote checkout qa")
    }));
    for ack in requests.await {
        assert_eq!(ack.unwrap().status, 200);
    }
    // Every request must be handled before the change is over, so the clock moves in small steps.
    for _ in 0..200 {
        world.wait_until_idle().await;
        if world.bot.store.measure_outstanding_work().await.unwrap().inbox == 0 {
            break;
        }
        world.clock.advance(jiff::SignedDuration::from_millis(20));
    }
    world.settle().await;
    let cards = world.public_messages("deploys").into_iter().filter(|message| message.contains("asked by")).count();
    assert_eq!(cards, 1);
    let answers = [world.ephemeral_messages("alice", "deploys"), world.ephemeral_messages("bob", "deploys")].concat();
    let refused = answers.iter().filter(|message| message.contains("is promoting *checkout* to *qa* since")).count();
    assert_eq!(refused, 99, "{answers:#?}");
    let graph = world.sim.github.graph("acme/checkout", 200);
    assert_eq!(graph.iter().filter(|commit| commit.subject.starts_with("Promote checkout")).count(), 1);
}

#[tokio::test]
async fn a_hundred_artefacts_are_promoted_at_once() {
    let names: Vec<String> = (0..100).map(|n| format!("part-{n:03}")).collect();
    let world = with_parts(&names).await;
    let requests = join_all(names.iter().map(|name| {
        let command = format!("/promote {name} qa");
        let slack = world.sim.slack.clone();
        async move { slack.type_command("alice", "deploys", &command).await }
    }));
    for ack in requests.await {
        assert_eq!(ack.unwrap().status, 200);
    }
    // Gantry writes to GitHub at the pace that GitHub allows, so the merges take some minutes of simulated time.
    let count_merges =
        || world.sim.github.request_faults().requests().iter().filter(|request| request.ends_with("/merges")).count();
    for _ in 0..200 {
        world.wait_until_idle().await;
        if count_merges() == names.len() {
            break;
        }
        world.clock.advance(jiff::SignedDuration::from_secs(15));
    }
    // The world's CI and controller do not know these artefacts, so the test rolls the merged commits out.
    for name in &names {
        let head = world.sim.github.head(&format!("acme/{name}"), "qa").unwrap();
        roll_out(&world, name, &head.as_str()[..12], None);
    }
    world.settle_within(std::time::Duration::from_mins(4)).await;
    let messages = world.public_messages("deploys");
    for name in &names {
        let is_green = messages.iter().any(|message| {
            message.contains("asked by")
                && message.contains(&format!("*{name}*"))
                && message.contains("running in *qa*, 1 of 1 ready")
        });
        assert!(
            is_green,
            "{name}: {:#?}",
            messages.iter().filter(|message| message.contains(name)).collect::<Vec<_>>()
        );
        assert!(world.sim.github.tags(&format!("acme/{name}")).contains_key("qa/2026.11.16-1"), "{name}");
    }
}
