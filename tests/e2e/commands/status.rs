//! `status`: the open changes with their stage, age, conditions and links; and one change in detail.

use gantry::adapters::store::Transaction;
use gantry::domain::change::{Change, Stage};
use gantry::domain::model::ids::ChangeId;
use gantry::sim::faults::Fault;
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::process::{ProcessHarness, wait_until};
use crate::harness::production::request_production;
use crate::harness::status::{newest_card_id, newest_short_id, permalink, redact_volatile_parts};
use crate::harness::world::{World, render_message};

async fn waiting_change(world: &World) -> Change {
    let changes = world.bot.store.find_changes_by_short(&newest_short_id(world, "releases")).await.unwrap();
    changes.into_iter().next().expect("a change")
}

/// Copies of a change with the numbers `from..to` as short ids. Lower numbers were requested earlier.
fn clone_changes(change: &Change, from: usize, to: usize) -> Vec<Change> {
    let id = change.id.to_string();
    let clone_with_number =
        |n: usize| Change { id: ChangeId::parse(&format!("{}{n:08x}", &id[..28])).unwrap(), ..change.clone() };
    (from..to).map(clone_with_number).collect()
}

fn numbers(text: &str) -> Vec<usize> {
    let digits = text.split("change `").skip(1).map(|rest| rest.split('`').next().unwrap_or_default());
    digits.map(|digits| usize::from_str_radix(digits, 16).expect("digits")).collect()
}

#[tokio::test]
async fn status_shows_the_stage_age_requester_and_conditions_of_an_open_change() {
    let world = World::open().await;
    request_production(&world).await;
    world.wait(SignedDuration::from_mins(4)).await;
    let ack = world.alice().types("/gantry status").await;
    assert_snapshot!(redact_volatile_parts(&world, &ack), @"
    1 change is under way:
    :raised_hand: *checkout* `staging-<hex>` for *prod*: waiting for 1 approval
    `prod-<hex>` → `staging-<hex>` · asked by <@U0ALICE> <when>
    under way for 4 min
    :raised_hand: 0 of 1 approval; 1 missing, of @release-managers · it waits until <when>
    <https://acme.slack.com/archives/C0RELEASES/<message>|card> · pull request <http://world/sim/github/acme/checkout/pull/1|#1> · commit <http://world/sim/github/acme/checkout/commit/<hex>|<hex>> · change `<id>`
    To stop it: `/gantry cancel <hex>`
    ");
}

#[tokio::test]
async fn status_links_to_the_card_the_pull_request_and_the_commit() {
    let world = World::open().await;
    let pull = request_production(&world).await;
    let calls = world.sim.slack.calls();
    let ack = world.alice().types("/gantry status").await;
    assert_eq!(world.sim.slack.calls(), calls, "status sends no request to Slack");
    let card = permalink(&world.origin, "C0RELEASES", &newest_card_id(&world, "releases")).await;
    assert!(ack.contains(&format!("<{card}|card>")), "{card} in {ack}");
    assert!(ack.contains(&format!("/acme/checkout/pull/{}|#{}>", pull.number, pull.number)), "{ack}");
    let pinned = waiting_change(&world).await.plan.pinned_commit().cloned().expect("a commit");
    assert!(ack.contains(&format!("/acme/checkout/commit/{pinned}|{}>", pinned.short())), "{ack}");
}

#[tokio::test]
async fn status_shows_the_progress_of_a_rollout() {
    let world = World::open().await;
    world.alice().types("/list").await;
    world.sim.faults.arm(Fault::SlowRollout, 9, Some("checkout".into()), Some("qa".into()));
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    let is_rolling_out = || world.public_messages("deploys").concat().contains("1 of 2 ready");
    world.settle_until(is_rolling_out).await;
    let answer = world.alice().types_without_waiting("deploys", "/gantry status checkout").await;
    assert_snapshot!(redact_volatile_parts(&world, &answer), @"
    1 change is under way with *checkout*:
    :hourglass_flowing_sand: *checkout* `develop-<hex>`: deploying to *qa*, 1 of 2 ready
    `qa-<hex>` → `develop-<hex>` · asked by <@U0ALICE> <when>
    under way for <n> s
    :white_check_mark: merged <n> s  ›  :white_check_mark: built <n> s  ›  :hourglass_flowing_sand: rolling out 1/2  ›  :white_circle: running
    <https://acme.slack.com/archives/C0DEPLOYS/<message>|card> · commit <http://world/sim/github/acme/checkout/commit/<hex>|<hex>> · change `<id>`
    ");
    world.settle().await;
    assert!(world.alice().types("/gantry status").await.starts_with("Nothing is under way."));
}

#[tokio::test]
async fn status_of_one_change_shows_its_timeline_also_after_its_end() {
    let world = World::open().await;
    request_production(&world).await;
    let digits = newest_short_id(&world, "releases");
    let while_waiting = world.alice().types(&format!("/gantry status {digits}")).await;
    assert_snapshot!(redact_volatile_parts(&world, &while_waiting), @"
    :raised_hand: *checkout* `staging-<hex>` for *prod*: waiting for 1 approval
    `prod-<hex>` → `staging-<hex>` · asked by <@U0ALICE> <when>
    under way for <n> s
    :raised_hand: 0 of 1 approval; 1 missing, of @release-managers · it waits until <when>
    <https://acme.slack.com/archives/C0RELEASES/<message>|card> · pull request <http://world/sim/github/acme/checkout/pull/1|#1> · commit <http://world/sim/github/acme/checkout/commit/<hex>|<hex>> · change `<id>`
    To stop it: `/gantry cancel <hex>`
    • <when> asked for by <@U0ALICE>
    So far <n> s
    [Cancel]
    ");
    world.bob().clicks_in("releases", "Approve").await;
    world.wait(SignedDuration::from_hours(30)).await;
    world.alice().types("/list").await;
    let after_the_end = world.alice().types(&format!("/gantry status {}", digits.to_uppercase())).await;
    assert_snapshot!(redact_volatile_parts(&world, &after_the_end), @"
    :large_green_circle: *checkout* `staging-<hex>`: running in *prod*, 3 of 3 ready
    `prod-<hex>` → `staging-<hex>` · asked by <@U0ALICE> <when>
    <https://acme.slack.com/archives/C0RELEASES/<message>|card> · pull request <http://world/sim/github/acme/checkout/pull/1|#1> · commit <http://world/sim/github/acme/checkout/commit/<hex>|<hex>> · change `<id>`
    • <when> asked for by <@U0ALICE>
    • <when> approved by <@U0BOB> · after <n> s
    • <when> all that it waited for holds · after <n> s
    • <when> merged into `prod` · after <n> s
    • <when> seen running · after <n> s
    In all <n> s
    ");
}

#[tokio::test]
async fn a_change_can_be_cancelled_from_its_status() {
    let world = World::open().await;
    request_production(&world).await;
    world.alice().types(&format!("/gantry status {}", newest_short_id(&world, "releases"))).await;
    world.alice().clicks("Cancel").await;
    assert!(
        world.public_messages("releases").concat().contains("cancelled"),
        "{:#?}",
        world.public_messages("releases")
    );
    let answer = world.alice().types("/gantry status").await;
    assert!(answer.starts_with("Nothing is under way."), "{answer}");
}

#[tokio::test]
async fn status_shows_both_of_two_changes_with_the_same_short_id() {
    let world = World::open().await;
    request_production(&world).await;
    let change = waiting_change(&world).await;
    let id = change.id.to_string();
    let stage = Stage::new_merging()
        .into_cancelled(gantry::domain::change::CancelledBy::Person(change.requester.clone()), world.clock.now());
    let namesake = Change {
        id: ChangeId::parse(&format!("01939f3e{}", &id[8..])).unwrap(),
        stage: stage.unwrap(),
        result_branch: None,
        ..change
    };
    let store = &world.bot.store;
    store.commit(Transaction::new().begin_change(namesake.clone())).await.unwrap();
    // The runner claims the change as well while it is due, so a write can fail at first.
    wait_until("the copy of the change is stored", async || {
        let claim = store.claim_changes(vec![namesake.id]).await.unwrap().remove(0);
        store.commit(Transaction::new().advance_change(namesake.clone(), claim.fence, None)).await.is_ok()
    })
    .await;

    let answer = world.alice().types(&format!("/gantry status {}", newest_short_id(&world, "releases"))).await;
    assert!(answer.starts_with("2 changes are called the same:"), "{answer}");
    assert!(
        answer.contains("waiting for 1 approval") && answer.contains("not promoted to *prod*, cancelled"),
        "{answer}"
    );
}

#[tokio::test]
async fn status_of_an_unknown_change_says_so_and_names_the_next_step() {
    let world = World::open().await;
    world.alice().types("/list").await;
    assert_snapshot!(world.alice().types("/gantry status 0badcafe").await, @"I know no change `0badcafe`. `/gantry status` shows those that are under way, `/gantry history` those before.");
}

#[tokio::test]
async fn status_lists_a_failed_change_while_it_is_watched() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::CrashLoop, 9, Some("checkout".into()), Some("qa".into()));
    world.alice().types("/promote checkout qa").await;
    let answer = world.alice().types("/gantry status qa").await;
    assert_snapshot!(redact_volatile_parts(&world, &answer), @"
    1 change is still watched in *qa*:
    :red_circle: *checkout* `develop-<hex>`: failed in *qa*
    `qa-<hex>` → `develop-<hex>` · asked by <@U0ALICE> <when>
    still watched, for <n> s · in this stage since <when>, for <n> s
    *Why:* CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts
    <https://acme.slack.com/archives/C0DEPLOYS/<message>|card> · commit <http://world/sim/github/acme/checkout/commit/<hex>|<hex>> · change `<id>`
    ");
}

#[tokio::test]
async fn status_can_be_limited_to_an_artefact_and_an_environment() {
    let world = World::open().await;
    request_production(&world).await;
    for (typed, found) in [
        ("/gantry status", true),
        ("/gantry status checkout", true),
        ("/gantry status production", true),
        ("/gantry status checkout prod", true),
        ("/gantry status search", false),
        ("/gantry status checkout qa", false),
    ] {
        let answer = world.alice().types(typed).await;
        assert_eq!(answer.contains("waiting for 1 approval"), found, "{typed}: {answer}");
        assert_eq!(answer.starts_with("Nothing is under way"), !found, "{typed}: {answer}");
    }
    assert!(world.alice().types("/gantry status chekout").await.contains("Did you mean `checkout`?"));
    assert!(world.alice().types("/gantry status pord").await.contains("Did you mean `prod`?"));
}

#[tokio::test]
async fn status_of_many_changes_has_pages_that_turn_in_place() {
    let world = World::open().await;
    request_production(&world).await;
    let change = waiting_change(&world).await;
    world.bot.open_changes.load(clone_changes(&change, 0, 25));
    world.alice().types("/gantry status").await;
    let first = world.alice().reads();
    assert!(first.starts_with("26 changes are under way:") && first.ends_with("[Later]"), "{first}");
    let messages_before = world.ephemeral_messages("alice", "deploys").len();
    world.alice().clicks("Later").await;
    let second = world.alice().reads();
    assert!(second.ends_with("[Earlier] [Later]"), "{second}");
    let (first_numbers, second_numbers) = (numbers(&first), numbers(&second));
    assert_eq!([first_numbers.clone(), second_numbers].concat(), (0..20).collect::<Vec<_>>());
    world.alice().clicks("Earlier").await;
    assert_eq!(numbers(&world.alice().reads()), first_numbers);
    assert_eq!(
        world.ephemeral_messages("alice", "deploys").len(),
        messages_before,
        "one message turns its pages in place"
    );
    assert!(world.public_messages("deploys").iter().all(|text| !text.contains("under way")), "the answer is private");
}

#[tokio::test]
async fn status_in_a_thread_is_answered_there_and_its_pages_turn_for_everyone() {
    let world = World::open().await;
    request_production(&world).await;
    let change = waiting_change(&world).await;
    world.bot.open_changes.load(clone_changes(&change, 0, 15));
    world.push("checkout", "Something to talk about");
    world.settle().await;
    let parent = world.last_message("alice", "deploys").id;
    world.alice().posts("deploys", Some(&parent), "@gantry status").await;
    let answer = world.last_message("bob", "deploys");
    assert_eq!((answer.thread.as_deref(), &answer.only_to), (Some(parent.as_str()), &None));
    let messages = world.sim.slack.messages("deploys", None).len();
    world.sim.slack.click("bob", "deploys", &answer.id, "Later").await.unwrap();
    world.settle().await;
    let turned = world
        .sim
        .slack
        .messages("deploys", None)
        .into_iter()
        .find(|message| message.id == answer.id)
        .expect("the answer");
    assert_eq!((turned.edited, turned.thread.as_deref()), (1, Some(parent.as_str())));
    assert!(render_message(&turned).ends_with("[Earlier]"), "{}", render_message(&turned));
    assert_eq!(world.sim.slack.messages("deploys", None).len(), messages, "no new message");

    world.alice().posts("deploys", None, "@gantry status prod").await;
    assert_eq!(
        world.last_message("alice", "deploys").only_to.as_deref(),
        Some("alice"),
        "outside of a thread the answer is private"
    );
}

#[tokio::test]
async fn a_page_of_status_stays_the_same_when_changes_begin_meanwhile() {
    let world = World::open().await;
    request_production(&world).await;
    let change = waiting_change(&world).await;
    world.bot.open_changes.load(clone_changes(&change, 10, 30));
    world.alice().types("/gantry status").await;
    let first = numbers(&world.alice().reads());
    assert_eq!(first, (10..20).collect::<Vec<_>>());
    world.bot.open_changes.load(clone_changes(&change, 0, 3));
    world.alice().clicks("Later").await;
    assert_eq!(numbers(&world.alice().reads()), (20..30).collect::<Vec<_>>());
    world.alice().clicks("Earlier").await;
    assert_eq!(numbers(&world.alice().reads()), first);
}

#[tokio::test]
async fn a_forged_page_button_has_no_effect() {
    let world = World::open().await;
    request_production(&world).await;
    world.alice().types("/gantry status").await;
    let before = world.sim.slack.messages("deploys", Some("alice"));
    for (action, value) in [
        ("page:later", "status|>x||"),
        ("page:open:later", "status||<!channel>|"),
        ("page:later", "history|1|<1|nothing|"),
        ("page:nowhere", "status|||"),
    ] {
        let payload = serde_json::json!({
            "type": "block_actions", "team": { "id": "T0ACME" }, "user": { "id": "U0ALICE" },
            "channel": { "id": "C0DEPLOYS" }, "trigger_id": value, "actions": [{ "action_id": action, "value": value }],
            "response_url": format!("{}/sim/slack/hooks/none", world.origin),
        });
        let body =
            form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
        let secret = gantry::sim::world::SIGNING_SECRET;
        let now = world.clock.now().as_second();
        let (status, _) =
            crate::harness::signing::send_slack_request(&world, "/slack/interactions", &body, secret, now).await;
        assert_eq!(status, 200, "{value}");
        world.settle().await;
    }
    assert_eq!(world.sim.slack.messages("deploys", Some("alice")), before);
}

#[tokio::test]
async fn a_guest_sees_neither_status_nor_history() {
    let world = World::open().await;
    request_production(&world).await;
    let digits = newest_short_id(&world, "releases");
    for typed in ["/gantry status".to_owned(), format!("/gantry status {digits}"), "/gantry history".to_owned()] {
        world.dave().types(&typed).await;
        let answers = world.ephemeral_messages("dave", "deploys").concat();
        assert!(answers.contains("you are a guest here") && !answers.contains("checkout"), "{answers}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_and_history_are_complete_after_a_restart() {
    let mut harness = ProcessHarness::open().await;
    let slack = harness.world.slack.clone();
    let find_answer = |text: &str| {
        slack.messages("deploys", Some("alice")).iter().rev().map(render_message).find(|message| message.contains(text))
    };
    slack.type_command("alice", "deploys", "/promote checkout prod").await.unwrap();
    let plan = || {
        slack
            .messages("deploys", Some("alice"))
            .into_iter()
            .rfind(|message| crate::harness::world::has_button(message, "Confirm"))
    };
    wait_until("the plan is shown", async || plan().is_some()).await;
    slack.click("alice", "deploys", &plan().unwrap().id, "Confirm").await.unwrap();
    let card = || {
        slack
            .messages("releases", None)
            .into_iter()
            .find(|message| crate::harness::world::has_button(message, "Approve"))
    };
    wait_until("the change waits for approval", async || card().is_some()).await;
    harness.restart().await;

    let card = card().unwrap();
    let address = format!("<https://acme.slack.com/archives/C0RELEASES/p{}|card>", card.id.replace('.', ""));
    let ack = slack.type_command("alice", "deploys", "/gantry status").await.unwrap();
    assert_eq!(ack.body["text"], "One moment...", "alice must be looked up again");
    wait_until("status is answered", async || find_answer("under way:").is_some()).await;
    let answer = find_answer("under way:").unwrap();
    assert!(answer.contains("waiting for 1 approval") && answer.contains(&address), "{answer}");

    let ack = slack.type_command("alice", "deploys", "/gantry history checkout prod").await.unwrap();
    assert!(ack.body["blocks"].to_string().contains(&address), "{:?}", ack.body);
}
