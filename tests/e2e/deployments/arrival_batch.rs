//! Many arrivals at once share one card, which is edited. Failures are announced in its thread and in the channel.

use gantry::adapters::store::LedgerFilter;
use gantry::domain::model::workload::Workload;
use gantry::sim::cluster::RolloutOrder;
use gantry::sim::github::{Author, NewCommit};
use gantry::sim::slack::Message;
use gantry::sim::world as sim;
use jiff::SignedDuration;

use crate::harness::world::{World, render_message};

const REPOSITORY: &str = "acme/house";

fn commit_by(sim: &sim::World, login: &str, message: &str) -> String {
    let email = format!("{login}@acme.example");
    let commit = NewCommit {
        repository: REPOSITORY.to_owned(),
        branch: "develop".to_owned(),
        message: message.to_owned(),
        author: Author { name: login.to_uppercase(), email, login: Some(login.to_owned()) },
        files: [("a.txt".to_owned(), Some(message.to_owned()))].into(),
        at: sim.clock.now(),
    };
    sim.github.commit(commit).unwrap().as_str().to_owned()
}

fn artefact_name(number: usize) -> String {
    format!("room-{number:02}")
}

/// A world with one more repository, from which `count` artefacts are built.
async fn open_with_artefacts(count: usize) -> World {
    open_with_artefacts_and(count, |_| {}, |configuration| configuration).await
}

/// The same with a setup before the bot starts, and another configuration.
pub(crate) async fn open_with_artefacts_and(
    count: usize,
    prepare: impl FnOnce(&sim::World),
    edit: impl FnOnce(String) -> String,
) -> World {
    let names: Vec<String> = (0..count).map(artefact_name).collect();
    World::with_setup(
        |sim| {
            prepare(sim);
            sim.github.create_repository(REPOSITORY, "develop").unwrap();
            let first = commit_by(sim, "alice", "Begin");
            for name in &names {
                let workload: Workload = format!("deployment/{name}").parse().unwrap();
                let image = format!("ghcr.io/acme/{name}");
                sim.registry.publish(&image, &first[..12], None, sim.clock.now());
                sim.cluster.set_running("development", &workload, name, &format!("{image}:{}", &first[..12]), 1);
            }
        },
        |configuration| {
            let rooms = names.iter().map(|name| {
                format!("  - name: {name}\n    repository: {REPOSITORY}\n    paths: [\"{name}/**\"]\n    image: ghcr.io/acme/{name}\n    workload: deployment/{name}\n")
            });
            edit(configuration.replace("people:", &format!("{}people:", rooms.collect::<Vec<_>>().concat())))
        },
    )
    .await
}

/// Rolls the commit out to all artefacts at once. The first `crashing` of them crash, and the last one is slow.
fn roll_out(world: &World, count: usize, crashing: usize, sha: &str) {
    for number in 0..count {
        let name = artefact_name(number);
        let image = format!("ghcr.io/acme/{name}");
        world.sim.registry.publish(&image, &sha[..12], None, world.clock.now());
        let image = format!("{image}:{}", &sha[..12]);
        let slowness = if number + 1 == count { 3 } else { 1 };
        let order = RolloutOrder { container: &name, image: &image, replicas: 1, crashes: number < crashing, slowness };
        let workload: Workload = format!("deployment/{name}").parse().unwrap();
        world.sim.cluster.roll_out("development", &workload, &order);
    }
}

/// Pushes one commit to all artefacts, and waits for the end of their rollouts.
pub(crate) async fn push_to_all_artefacts(world: &World, count: usize, crashing: usize) {
    let sha = commit_by(&world.sim, "alice", "Paint all rooms");
    roll_out(world, count, crashing, &sha);
    world.settle().await;
    world.wait(SignedDuration::from_secs(61)).await;
}

fn split_cards_and_replies(world: &World) -> (Vec<Message>, Vec<Message>) {
    world.sim.slack.messages("deploys", None).into_iter().partition(|message| message.thread.is_none())
}

/// The number of mentions of a person in the messages.
fn count_mentions(messages: &[Message], person: &str) -> usize {
    messages.iter().map(|message| render_message(message).matches(person).count()).sum()
}

#[tokio::test]
async fn twenty_arrivals_of_one_push_share_one_card() {
    let world = open_with_artefacts(20).await;
    let sha = commit_by(&world.sim, "alice", "Paint all rooms");
    roll_out(&world, 20, 0, &sha);
    world.settle().await;
    let (cards, replies) = split_cards_and_replies(&world);
    assert_eq!((cards.len(), replies.len()), (1, 0), "{cards:#?} {replies:#?}");
    let card = render_message(&cards[0]);
    assert!(card.starts_with(":large_green_circle: *20* artefacts arrived in *development*: 20 run\n"), "{card}");
    assert_eq!(card.matches("Paint all rooms \u{b7} ALICE").count(), 1, "the common commit is shown once: {card}");
    for number in 0..20 {
        assert!(card.contains(&format!("*{}* `{}` runs", artefact_name(number), &sha[..12])), "{card}");
    }
    assert!(cards[0].edited > 0 && cards[0].history[0].text.contains("1 roll out"), "{:#?}", cards[0].history);
    let filter = LedgerFilter { kind: Some(gantry::adapters::store::LedgerKind::Arrived), ..LedgerFilter::default() };
    assert_eq!(
        world.bot.store.list_ledger_entries(&filter, 100).await.unwrap().len(),
        20,
        "the ledger has each arrival"
    );

    // Later rounds of the observer do not announce the arrivals again.
    for _ in 0..5 {
        world.wait(SignedDuration::from_secs(61)).await;
    }
    assert_eq!(split_cards_and_replies(&world).0, cards, "neither posted nor edited");
}

#[tokio::test]
async fn a_failure_in_a_batch_is_announced_in_the_thread_and_the_channel_and_each_author_is_mentioned_once() {
    let world = open_with_artefacts(20).await;
    commit_by(&world.sim, "bob", "Buy the paint");
    let sha = commit_by(&world.sim, "alice", "Paint all rooms");
    roll_out(&world, 20, 1, &sha);
    world.settle().await;
    world.wait(SignedDuration::from_secs(61)).await;
    let (cards, replies) = split_cards_and_replies(&world);
    assert_eq!((cards.len(), replies.len()), (1, 1), "{cards:#?} {replies:#?}");
    let card = render_message(&cards[0]);
    assert!(card.starts_with(":red_circle: *20* artefacts arrived in *development*: 19 run, 1 failed"), "{card}");
    let lines: Vec<&str> = card.lines().filter(|line| line.contains("*room-")).collect();
    assert!(lines[0].contains("*room-00*") && lines[0].contains("failed: CrashLoopBackOff"), "{card}");
    let reply = render_message(&replies[0]);
    assert_eq!((replies[0].thread.as_ref(), replies[0].broadcast), (Some(&cards[0].id), true));
    assert!(reply.contains("*room-00*") && reply.contains("CrashLoopBackOff"), "{reply}");
    let all = [cards, replies].concat();
    assert_eq!(
        (count_mentions(&all, "<@U0ALICE>"), count_mentions(&all, "<@U0BOB>")),
        (1, 1),
        "each author of a commit is mentioned once: {all:#?}"
    );
}

#[tokio::test]
async fn many_failures_in_a_batch_are_few_messages_with_one_mention() {
    let world = open_with_artefacts(12).await;
    let sha = commit_by(&world.sim, "alice", "Break all rooms");
    roll_out(&world, 12, 9, &sha);
    world.settle().await;
    world.wait(SignedDuration::from_secs(61)).await;
    let (cards, replies) = split_cards_and_replies(&world);
    assert_eq!((cards.len(), replies.len()), (1, 6), "{replies:#?}");
    assert!(
        replies.iter().any(|reply| render_message(reply).contains("4 more failed in *development*")),
        "{replies:#?}"
    );
    assert_eq!(count_mentions(&[cards, replies].concat(), "<@U0ALICE>"), 1);
}

#[tokio::test]
async fn a_recovery_in_a_batch_is_announced_once() {
    let world = open_with_artefacts(5).await;
    let sha = commit_by(&world.sim, "alice", "Paint all rooms");
    roll_out(&world, 5, 1, &sha);
    world.settle().await;
    let image = format!("ghcr.io/acme/room-00:{}", &sha[..12]);
    world.sim.cluster.set_running("development", &"deployment/room-00".parse().unwrap(), "room-00", &image, 1);
    world.settle().await;
    world.wait(SignedDuration::from_secs(61)).await;
    let (cards, replies) = split_cards_and_replies(&world);
    assert_eq!((cards.len(), replies.len()), (1, 2), "{replies:#?}");
    assert!(render_message(&cards[0]).contains("arrived in *development*: 5 run\n"), "{}", render_message(&cards[0]));
    assert!(
        replies[1].broadcast && render_message(&replies[1]).contains("runs in *development* after all."),
        "{replies:#?}"
    );
}

#[tokio::test]
async fn three_arrivals_at_once_are_three_messages() {
    let world = open_with_artefacts(3).await;
    let sha = commit_by(&world.sim, "alice", "Paint all rooms");
    roll_out(&world, 3, 0, &sha);
    world.settle().await;
    let (messages, replies) = split_cards_and_replies(&world);
    assert_eq!((messages.len(), replies.len()), (3, 0), "{messages:#?}");
    assert!(messages.iter().all(|message| render_message(message).contains("Paint all rooms")), "{messages:#?}");
}
