//! Progress of a change: a line of steps, edited every few seconds. Each affected person is notified once at the end.

use gantry::domain::model::workload::Workload;
use gantry::sim::faults::Fault;
use gantry::sim::slack::Message;
use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};

use crate::harness::world::{World, redact_origin_and_ids, remove_durations, render_message};

fn card(world: &World) -> Message {
    let all = world.sim.slack.messages("deploys", None);
    all.into_iter().find(|message| render_message(message).contains("asked by")).expect("a card")
}

fn find_steps_line(text: &str) -> String {
    text.lines().find(|line| line.contains(" \u{203a} ")).unwrap_or_default().to_owned()
}

/// The messages in the thread about an end of the change, and whether each was sent to the channel too.
fn list_end_messages(world: &World) -> Vec<(String, bool)> {
    let all = world.sim.slack.messages("deploys", None);
    let ends = all.iter().filter(|message| message.thread.is_some() && render_message(message).starts_with("<@"));
    ends.map(|message| {
        (redact_origin_and_ids(world, render_message(message).lines().next().unwrap_or_default()), message.broadcast)
    })
    .collect()
}

/// A world in which checkout has five replicas in qa.
async fn with_five_replicas() -> World {
    let set_replicas = |sim: &gantry::sim::world::World| {
        let workload: Workload = "deployment/checkout".parse().unwrap();
        let image = sim.cluster.state("qa", &workload).image.expect("an image");
        sim.cluster.set_running("qa", &workload, "checkout", &image, 5);
    };
    World::with_setup(set_replicas, |configuration| configuration).await
}

#[tokio::test]
async fn the_card_shows_rollout_steps_every_few_seconds_and_a_new_stage_at_once() {
    let world = with_five_replicas().await;
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    let mut edits: Vec<(Timestamp, String)> = Vec::new();
    for _ in 0..80 {
        world.wait_until_idle().await;
        let card = world
            .sim
            .slack
            .messages("deploys", None)
            .into_iter()
            .find(|message| render_message(message).contains("asked by"));
        if let Some(card) = card {
            let now = render_message(&card);
            if edits.last().is_none_or(|(_, before)| *before != now) {
                edits.push((world.clock.now(), now));
            }
        }
        world.clock.advance(SignedDuration::from_millis(250));
    }
    let bars: Vec<String> = edits.iter().map(|(_, text)| find_steps_line(text)).collect();
    assert!(bars.iter().any(|bar| bar.contains("rolling out ")), "{bars:#?}");
    assert!(bars.last().unwrap().contains(":white_check_mark: running after "), "{bars:#?}");
    let stage = |text: &str| text.lines().next().unwrap_or_default().split(", ").next().unwrap_or_default().to_owned();
    let mut edits_within_stage = 0;
    for pair in edits.windows(2) {
        let ((before, old), (at, new)) = (&pair[0], &pair[1]);
        if stage(old) == stage(new) {
            edits_within_stage += 1;
            assert!(at.duration_since(*before) >= SignedDuration::from_secs(3), "{before} {at}: {bars:#?}");
        }
    }
    assert!((1..=4).contains(&edits_within_stage), "{bars:#?}");
    assert!(card(&world).edited <= edits.len() + 1, "at most one edit was not seen, if two stages began at once");
    world.settle().await;
    assert_snapshot!(find_steps_line(&render_message(&card(&world))), @":white_check_mark: merged 0 s  ›  :white_check_mark: built 2 s  ›  :white_check_mark: rolled out 7 s  ›  :white_check_mark: running after 9 s");
}

#[tokio::test]
async fn promotions_by_manifest_and_rollbacks_name_their_own_steps() {
    let world = World::open().await;
    crate::harness::manifest::push_and_settle(&world, "Find plurals").await;
    world.alice().types("/promote search qa").await;
    assert_snapshot!(find_steps_line(&crate::harness::rollback::card(&world, "deploys")), @":white_check_mark: written 0 s  ›  :white_check_mark: picked up 0 s  ›  :white_check_mark: rolled out 3 s  ›  :white_check_mark: running after 3 s");
    world.alice().types("/promote checkout qa").await;
    world.alice().types("/rollback checkout qa").await;
    assert_snapshot!(find_steps_line(&crate::harness::rollback::card(&world, "deploys")), @":white_check_mark: restored 0 s  ›  :white_check_mark: built 2 s  ›  :white_check_mark: rolled out 3 s  ›  :white_check_mark: running after 5 s");
}

#[tokio::test]
async fn a_waiting_change_shows_the_approval_as_its_first_step() {
    let world = World::open().await;
    crate::harness::production::request_production(&world).await;
    assert_snapshot!(find_steps_line(&crate::harness::rollback::card(&world, "releases")), @":raised_hand: waiting for approval  ›  :white_circle: merged  ›  :white_circle: built  ›  :white_circle: rollout  ›  :white_circle: running");
    world.wait(SignedDuration::from_secs(90)).await;
    world.bob().clicks_in("releases", "Approve").await;
    // GitHub may need a moment to compute whether it can merge, so the durations vary.
    assert_snapshot!(remove_durations(&find_steps_line(&crate::harness::rollback::card(&world, "releases"))), @":white_check_mark: approved  ›  :white_check_mark: merged  ›  :white_check_mark: built  ›  :white_check_mark: rolled out  ›  :white_check_mark: running after");
}

#[tokio::test]
async fn a_success_is_announced_to_the_requester_in_the_thread_and_not_in_the_channel() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    assert_eq!(
        list_end_messages(&world),
        [("<@U0ALICE> *checkout* `develop-d6c66c2`: running in *qa*, 2 of 2 ready.".to_owned(), false)]
    );
}

#[tokio::test]
async fn a_failure_and_its_recovery_are_announced_in_the_channel_and_mention_the_authors_once() {
    let world = World::open().await;
    world.push("checkout", "Round taxes per line");
    world.settle().await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
    world.bob().types("/promote checkout qa").await;
    let messages = list_end_messages(&world);
    assert_eq!(messages.len(), 1, "{messages:#?}");
    let (text, broadcast) = &messages[0];
    assert!(broadcast, "{messages:#?}");
    assert!(text.starts_with("<@U0BOB> *checkout*") && text.contains(": failed in *qa*. Written by"), "{text}");
    assert_eq!(text.matches("<@U0ALICE>").count(), 1, "one mention, although alice wrote two commits: {text}");
    assert_eq!(text.matches("<@U0BOB>").count(), 1, "the requester is mentioned once: {text}");

    // The cause is repaired: another image of the same commit runs.
    let head = world.sim.github.head("acme/checkout", "qa").unwrap();
    let image = format!("ghcr.io/acme/checkout:qa-{}", head.short());
    let rebuilt = format!("{image}-again");
    let tag = rebuilt.rsplit_once(':').unwrap().1.to_owned();
    world.sim.registry.publish("ghcr.io/acme/checkout", &tag, Some(&head), world.clock.now());
    world.sim.cluster.set_image("qa", &"deployment/checkout".parse().unwrap(), "checkout", &rebuilt);
    world.settle().await;
    let messages = list_end_messages(&world);
    assert_eq!(messages.len(), 2, "{messages:#?}");
    let (text, broadcast) = &messages[1];
    assert!(broadcast, "{messages:#?}");
    assert!(text.starts_with("<@U0BOB> It runs after all. *checkout*"), "{text}");
    assert!(!text.contains("U0ALICE"), "the authors are not mentioned again: {text}");
    assert_eq!(
        world.public_messages("deploys").iter().filter(|message| message.contains("asked by")).count(),
        1,
        "one card"
    );
}
