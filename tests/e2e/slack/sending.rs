//! Sending messages while Slack limits the rate, is down, or refuses a channel.

use gantry::adapters::store::LedgerFilter;
use gantry::sim::faults::Fault;
use jiff::SignedDuration;

use crate::harness::world::World;

#[tokio::test]
async fn a_message_waits_as_long_as_slacks_rate_limit_says() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::Slack429, 2, None, None);
    world.push("checkout", "Patience");
    world.settle().await;
    let messages = world.public_messages("deploys");
    assert_eq!(messages.len(), 1, "{messages:#?}");
}

#[tokio::test]
async fn no_message_is_lost_while_slack_is_down() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::SlackDown, 5, None, None);
    world.push("checkout", "First");
    world.settle().await;
    world.push("storefront", "Second");
    world.settle().await;
    let messages = world.public_messages("deploys");
    assert_eq!(messages.iter().filter(|text| text.contains("*checkout*")).count(), 1, "{messages:#?}");
    assert_eq!(messages.iter().filter(|text| text.contains("*storefront*")).count(), 1, "{messages:#?}");
}

#[tokio::test]
async fn messages_keep_their_order_and_slacks_pace() {
    let world = World::open().await;
    for n in 0..12 {
        world.push("checkout", &format!("Change {n:02}"));
        world.clock.advance(SignedDuration::from_secs(1));
        world.wait_until_idle().await;
    }
    world.settle().await;
    let messages = world.public_messages("deploys");
    let order: Vec<_> =
        messages.iter().filter_map(|text| text.split("Change ").nth(1)).map(|rest| rest[..2].to_owned()).collect();
    let mut sorted = order.clone();
    sorted.sort();
    assert_eq!(order, sorted);
    assert_eq!(order.last().map(String::as_str), Some("11"), "the last version runs, so it is announced");
    assert_eq!(
        world.sim.slack.last_requests().iter().filter(|request| request.answer == "ratelimited").count(),
        0,
        "never faster than Slack allows"
    );
}

#[tokio::test]
async fn a_message_to_an_unwritable_channel_is_given_up_and_recorded_in_the_ledger() {
    let world = World::with_setup(
        |sim| {
            sim.slack.add_channel(gantry::sim::slack::Channel {
                id: "C0DEPLOYS".to_owned(),
                name: "deploys".to_owned(),
                bot_is_member: false,
                archived: false,
            });
        },
        |yaml| yaml,
    )
    .await;
    world.push("checkout", "Nobody hears me");
    world.settle().await;
    assert_eq!(world.public_messages("deploys"), Vec::<String>::new());
    let pending = world.bot.store.measure_outstanding_work().await.unwrap();
    assert_eq!((pending.inbox, pending.outbox), (0, 0), "the message is given up");
    let ledger = world.bot.store.list_ledger_entries(&LedgerFilter::default(), 100).await.unwrap();
    assert!(ledger.iter().any(|entry| format!("{:?}", entry.details).contains("not_in_channel")), "{ledger:#?}");
}
