//! Subscriptions: further channels are notified by artefact, environment and state, with a link to the card.

use gantry::sim::faults::Fault;
use gantry::sim::slack::{Channel, Message};
use gantry::sim::world as sim;
use insta::assert_snapshot;

use crate::harness::world::{World, redact_origin_and_ids, render_message};

fn with_channels(sim: &sim::World) {
    for name in ["checkout", "alarms", "shop"] {
        let id = format!("C0{}", name.to_uppercase());
        sim.slack.add_channel(Channel { id, name: name.to_owned(), bot_is_member: true, archived: false });
    }
}

async fn open_with_subscriptions(rules: &str) -> World {
    World::with_setup(with_channels, |yaml| format!("{yaml}\nchannels:\n{rules}\n")).await
}

fn channel_messages(world: &World, channel: &str) -> Vec<Message> {
    world.sim.slack.messages(channel, None)
}

async fn push_newer(world: &World, artefact: &str) {
    world.push(artefact, "Something newer");
    world.settle().await;
}

fn fail_once(world: &World) {
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
}

#[tokio::test]
async fn a_subscribed_channel_gets_one_message_per_change_which_is_edited_as_the_change_proceeds() {
    let world = open_with_subscriptions("  - { channel: '#checkout', artefacts: [checkout] }").await;
    world.alice().types("/promote checkout qa").await;
    let [message] = &channel_messages(&world, "checkout")[..] else {
        panic!("{:#?}", channel_messages(&world, "checkout"))
    };
    let card = world.sim.slack.messages("deploys", None)[0].id.replace('.', "");
    assert_snapshot!(redact_origin_and_ids(&world, &render_message(message)).replace(&card, "<card>"), @"
    :large_green_circle: *checkout* `develop-d6c66c2`: running in *qa*, 2 of 2 ready
    <https://acme.slack.com/archives/C0DEPLOYS/p1794819600000100|The card> follows it.
    ");
    assert!(message.edited > 0, "the message was posted at the start");
    let first = message.history[0].blocks[0]["text"]["text"].as_str().unwrap();
    assert!(first.starts_with(":hourglass_flowing_sand:"), "{first}");

    push_newer(&world, "search").await;
    world.alice().types("/promote search qa").await;
    assert_eq!(channel_messages(&world, "checkout").len(), 1, "the channel has no subscription to another artefact");
}

#[tokio::test]
async fn a_subscription_to_failures_gets_the_failure_and_its_recovery_only() {
    let world = World::with_setup(with_channels, |yaml| {
        let qa = "branch: qa\n    cluster: { namespace: qa }\n    deploy_timeout: ";
        let yaml = yaml.replace(&format!("{qa}90s"), &format!("{qa}3s"));
        format!("{yaml}\nchannels:\n  - {{ channel: '#alarms', environments: [qa], states: [failed] }}\n")
    })
    .await;
    world.alice().types("/promote checkout qa").await;
    let alarms = channel_messages(&world, "alarms");
    assert!(render_message(&alarms[0]).contains("running in *qa*"), "later proof has turned it green: {alarms:#?}");
    let first = alarms[0].history[0].blocks[0]["text"]["text"].as_str().unwrap();
    assert!(first.contains("no proof that it runs in *qa*"), "{first}");
    assert_eq!((alarms[1].thread.as_ref(), alarms[1].broadcast), (Some(&alarms[0].id), true));
    assert!(render_message(&alarms[1]).contains("running in *qa*"), "{alarms:#?}");
    assert_eq!(alarms.len(), 2);
}

#[tokio::test]
async fn a_failure_is_sent_to_the_whole_subscribed_channel_without_mentions() {
    let world =
        open_with_subscriptions("  - { channel: '#checkout', artefacts: ['check*'], environments: [qa, prod] }").await;
    fail_once(&world);
    world.alice().types("/promote checkout qa").await;
    let [message, reply] = &channel_messages(&world, "checkout")[..] else {
        panic!("{:#?}", channel_messages(&world, "checkout"))
    };
    assert!(
        render_message(message).contains("failed in *qa*")
            && render_message(message).contains("*Why:* CrashLoopBackOff")
    );
    assert_eq!((reply.thread.as_ref(), reply.broadcast), (Some(&message.id), true));
    assert!(
        !render_message(message).contains("<@") && !render_message(reply).contains("<@"),
        "only the card's thread mentions people"
    );
}

#[tokio::test]
async fn a_subscription_to_deployed_gets_successful_changes_only() {
    let world = open_with_subscriptions("  - { channel: '#shop', environments: [qa], states: [deployed] }").await;
    fail_once(&world);
    world.alice().types("/promote checkout qa").await;
    assert_eq!(channel_messages(&world, "shop"), [], "a failure is not announced");
    push_newer(&world, "search").await;
    world.alice().types("/promote search qa").await;
    let [message] = &channel_messages(&world, "shop")[..] else { panic!("{:#?}", channel_messages(&world, "shop")) };
    assert!(render_message(message).contains("*search*") && message.edited == 0, "{message:#?}");
}

#[tokio::test]
async fn a_subscription_covers_artefacts_that_move_along_with_another() {
    let world = open_with_subscriptions(
        "  - { channel: '#shop', artefacts: [mailer], environments: [qa], states: [deployed] }",
    )
    .await;
    push_newer(&world, "storefront").await;
    world.alice().types("/promote storefront qa").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    let [message] = &channel_messages(&world, "shop")[..] else { panic!("{:#?}", channel_messages(&world, "shop")) };
    assert!(render_message(message).contains("Along with it moves *mailer*."), "{}", render_message(message));
}

#[tokio::test]
async fn a_subscribed_channel_is_not_notified_of_a_waiting_or_cancelled_change() {
    let world =
        open_with_subscriptions("  - { channel: '#checkout', artefacts: [checkout], environments: [production] }")
            .await;
    crate::harness::production::request_production(&world).await;
    assert_eq!(channel_messages(&world, "checkout"), [], "a change that waits for approval is not announced");
    world.alice().clicks_in("releases", "Cancel").await;
    assert_eq!(channel_messages(&world, "checkout"), [], "a cancelled change is not announced");
}

#[tokio::test]
async fn an_arrival_is_announced_in_subscribed_channels_without_mentions() {
    let world = open_with_subscriptions(
        "  - { channel: '#checkout', artefacts: [checkout] }\n  - { channel: '#alarms', states: [failed] }\n  - { channel: '#shop', artefacts: [search] }",
    )
    .await;
    push_newer(&world, "checkout").await;
    let [message] = &channel_messages(&world, "checkout")[..] else {
        panic!("{:#?}", channel_messages(&world, "checkout"))
    };
    assert!(
        render_message(message).contains("*checkout* `develop-")
            && render_message(message).contains(" runs in *development*")
    );
    assert_eq!((channel_messages(&world, "alarms").len(), channel_messages(&world, "shop").len()), (0, 0));

    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("development".into()));
    push_newer(&world, "checkout").await;
    let announcement =
        world.public_messages("deploys").into_iter().find(|message| message.contains("failed in *development*"));
    assert!(announcement.unwrap().contains("<@U0ALICE>"), "the author is mentioned in the environment's own channel");
    for channel in ["checkout", "alarms"] {
        let last = channel_messages(&world, channel).pop().unwrap();
        assert!(
            render_message(&last).contains("failed in *development*") && !render_message(&last).contains("<@"),
            "{last:#?}"
        );
    }
}

#[tokio::test]
async fn an_environments_own_channel_can_be_limited_to_failures() {
    let world =
        open_with_subscriptions("  - { channel: '#deploys', environments: [development], states: [failed] }").await;
    push_newer(&world, "checkout").await;
    assert_eq!(world.public_messages("deploys"), Vec::<String>::new());
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("development".into()));
    push_newer(&world, "checkout").await;
    assert_eq!(world.public_messages("deploys").len(), 1);
    world.alice().types("/promote checkout qa").await;
    assert!(!world.public_messages("deploys").is_empty(), "cards of requested changes are still posted");
}

#[tokio::test]
async fn a_subscribed_channel_gets_its_part_of_a_batch_of_arrivals_on_one_card() {
    let rules =
        "channels:\n  - { channel: '#shop', artefacts: ['room-*1'] }\n  - { channel: '#alarms', states: [failed] }\n";
    let world = crate::deployments::arrival_batch::open_with_artefacts_and(12, with_channels, |yaml| {
        yaml.replace("people:", &format!("{rules}people:"))
    })
    .await;
    crate::deployments::arrival_batch::push_to_all_artefacts(&world, 12, 1).await;
    let shop = channel_messages(&world, "shop");
    let [card, ..] = &shop[..] else { panic!("{shop:#?}") };
    assert!(render_message(card).contains("*2* artefacts arrived in *development*"), "{}", render_message(card));
    assert!(
        render_message(card).contains("room-01")
            && render_message(card).contains("room-11")
            && !render_message(card).contains("room-02")
    );
    let posted = shop.iter().filter(|message| message.thread.is_none()).count();
    assert_eq!(posted, 1, "{shop:#?}");
    let alarms = channel_messages(&world, "alarms");
    assert!(!alarms.is_empty() && alarms.iter().all(|message| !render_message(message).contains("<@")), "{alarms:#?}");
}
