//! `history`: past changes, arrivals and locks with their people, results, durations and links, newest first, in pages.

use std::collections::BTreeMap;

use gantry::sim::faults::Fault;
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::production::request_production;
use crate::harness::status::{newest_card_id, permalink, redact_volatile_parts};
use crate::harness::world::{World, render_message};

/// Pushes `to - from` commits. Each is announced as an arrival.
async fn push_many(world: &World, from: usize, to: usize) {
    for n in from..to {
        world.push("checkout", &format!("Push number {n}."));
        world.settle().await;
    }
}

/// The numbers of the pushes that a message lists.
fn numbers(text: &str) -> Vec<usize> {
    let numbers_in_text = text.split("Push number ").skip(1).map(|rest| rest.split('.').next().unwrap_or_default());
    numbers_in_text.map(|number| number.parse().expect("a number")).collect()
}

#[tokio::test]
async fn history_lists_changes_locks_and_arrivals_newest_first() {
    let world = World::open().await;
    push_many(&world, 1, 2).await;
    world.alice().types("/promote checkout qa").await;
    world.bob().types("/rollback checkout qa --reason totals are <wrong>").await;
    world.bob().types("/gantry lock staging the database moves").await;
    world.carol().types("/gantry unlock staging").await;
    let bad = world.bot.store.list_quarantines().await.unwrap().remove(0).version.label().to_owned();
    world.carol().types(&format!("/gantry release checkout {bad}")).await;
    request_production(&world).await;
    let ack = world.alice().types("/gantry history").await;
    assert_snapshot!(redact_volatile_parts(&world, &ack), @"
    *What happened*
    :raised_hand: *checkout* `prod-<hex>` → `staging-<hex>` in *prod*: waiting for approval, for <n> s
    asked by <@U0ALICE> <when> · <https://acme.slack.com/archives/C0RELEASES/<message>|card> · pull request <http://world/sim/github/acme/checkout/pull/1|#1> · commit <http://world/sim/github/acme/checkout/commit/<hex>|<hex>> · change `<id>`
    :leftwards_arrow_with_hook: *checkout* `qa-<hex>` released: it may come back to *qa*
    by <@U0CAROL> <when> · <https://acme.slack.com/archives/C0DEPLOYS/<message>|message>
    :unlock: *staging* unlocked, after <n> s
    by <@U0CAROL> <when> · <https://acme.slack.com/archives/C0DEPLOYS/<message>|message>
    :lock: *staging* locked: the database moves
    by <@U0BOB> <when> · <https://acme.slack.com/archives/C0DEPLOYS/<message>|message>
    :large_green_circle: *checkout* rolled back `qa-<hex>` → `qa-<hex>` in *qa*: deployed, took <n> s
    asked by <@U0BOB> <when> · <https://acme.slack.com/archives/C0DEPLOYS/<message>|card> · commit <http://world/sim/github/acme/checkout/commit/<hex>|<hex>> · change `<id>`
    *Reason:* totals are &lt;wrong&gt;
    :large_green_circle: *checkout* `qa-<hex>` → `develop-<hex>` in *qa*: deployed, took <n> s · rolled back <when> by change `<id>`
    asked by <@U0ALICE> <when> · <https://acme.slack.com/archives/C0DEPLOYS/<message>|card> · commit <http://world/sim/github/acme/checkout/commit/<hex>|<hex>> · change `<id>`
    :inbox_tray: *checkout* `develop-<hex>` came to *development*, rolled out in <n> s
    without a change of mine <when> · <https://acme.slack.com/archives/C0DEPLOYS/<message>|message> · commit <http://world/sim/github/acme/checkout/commit/<hex>|<hex>> Push number 1. · Alice Adler
    ");
}

#[tokio::test]
async fn history_shows_how_each_change_ended_and_why() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::CrashLoop, 9, Some("checkout".into()), Some("qa".into()));
    world.alice().types("/promote checkout qa").await;
    request_production(&world).await;
    let digits = crate::harness::status::newest_short_id(&world, "releases");
    world.bob().types(&format!("/gantry reject {digits} the migration <!channel> is missing")).await;
    let ack = world.alice().types("/gantry history").await;
    assert_snapshot!(redact_volatile_parts(&world, &ack), @"
    *What happened*
    :no_entry: *checkout* `prod-<hex>` → `staging-<hex>` in *prod*: rejected by <@U0BOB> after <n> s
    asked by <@U0ALICE> <when> · <https://acme.slack.com/archives/C0RELEASES/<message>|card> · pull request <http://world/sim/github/acme/checkout/pull/1|#1> · commit <http://world/sim/github/acme/checkout/commit/<hex>|<hex>> · change `<id>`
    *Why:* the migration &lt;!channel&gt; is missing
    :red_circle: *checkout* `qa-<hex>` → `develop-<hex>` in *qa*: failed after <n> s
    asked by <@U0ALICE> <when> · <https://acme.slack.com/archives/C0DEPLOYS/<message>|card> · commit <http://world/sim/github/acme/checkout/commit/<hex>|<hex>> · change `<id>`
    *Why:* CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts
    ");
}

#[tokio::test]
async fn history_links_to_the_card_the_arrival_and_the_pull_request() {
    let world = World::open().await;
    push_many(&world, 1, 2).await;
    let arrival = world.last_message("alice", "deploys").id;
    let pull = request_production(&world).await;
    let calls = world.sim.slack.calls();
    let ack = world.alice().types("/gantry history").await;
    assert_eq!(world.sim.slack.calls(), calls, "history sends no request to Slack");
    let card = permalink(&world.origin, "C0RELEASES", &newest_card_id(&world, "releases")).await;
    let arrival = permalink(&world.origin, "C0DEPLOYS", &arrival).await;
    assert!(ack.contains(&format!("<{card}|card>")), "{card} in {ack}");
    assert!(ack.contains(&format!("<{arrival}|message>")), "{arrival} in {ack}");
    assert!(ack.contains(&format!("/acme/checkout/pull/{}|#{}>", pull.number, pull.number)), "{ack}");
    let develop = world.sim.github.head("acme/checkout", "develop").unwrap();
    assert!(ack.contains(&format!("/acme/checkout/commit/{develop}|{}>", develop.short())), "{ack}");
}

#[tokio::test]
async fn history_can_be_limited_to_an_artefact_and_an_environment() {
    let world = World::open().await;
    push_many(&world, 1, 3).await;
    world.alice().types("/promote checkout qa").await;
    world.bob().types("/gantry lock qa load test").await;
    for (typed, arrivals, changes, locks) in [
        ("/gantry history", 2, 1, 1),
        ("/gantry history checkout", 2, 1, 1),
        ("/gantry history development", 2, 0, 0),
        ("/gantry history qa", 0, 1, 1),
        ("/gantry log checkout in qa", 0, 1, 1),
        ("/gantry history search", 0, 0, 1),
        ("/gantry history search prod", 0, 0, 0),
    ] {
        let shown = world.alice().types(typed).await;
        let counts = [" came to ", "deployed, took", ":lock:"].map(|mark| shown.matches(mark).count());
        assert_eq!(counts, [arrivals, changes, locks], "{typed}: {shown}");
    }
    for (typed, answer) in [
        ("/gantry history chekout", "There is no artefact `chekout`. Did you mean `checkout`?"),
        ("/gantry history pord", "There is no environment `pord`. Did you mean `prod`?"),
        ("/gantry history checkout search", "`search`"),
        ("/gantry history checkout 0", "`0`"),
    ] {
        let shown = world.alice().types(typed).await;
        assert!(shown.contains(answer), "{typed}: {shown}");
    }
}

#[tokio::test]
async fn history_of_an_artefact_has_the_changes_that_deployed_it_along() {
    let world = World::open().await;
    let file = BTreeMap::from([("storefront/a.txt".to_owned(), Some("a".to_owned()))]);
    world.sim.push("storefront", "develop", "Only the shop", file, "alice").unwrap();
    world.settle().await;
    world.alice().types("/promote storefront qa").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    let answer = world.alice().types("/gantry history mailer qa").await;
    assert_snapshot!(redact_volatile_parts(&world, &answer), @"
    What happened to *mailer* in *qa*
    :large_green_circle: *storefront* `qa-<hex>` → `develop-<hex>` in *qa*: deployed, took <n> s
    asked by <@U0ALICE> <when> · <https://acme.slack.com/archives/C0DEPLOYS/<message>|card> · commit <http://world/sim/github/acme/shop/commit/<hex>|<hex>> · change `<id>`
    with it: *mailer*
    ");
    let all = world.alice().types("/gantry history qa").await;
    assert_eq!(all.matches("deployed, took").count(), 1, "{all}");
}

#[tokio::test]
async fn empty_history_is_one_line_and_the_next_step() {
    let world = World::open().await;
    world.alice().types("/list").await;
    assert_snapshot!(world.alice().types("/gantry history checkout prod").await, @"
    What happened to *checkout* in *prod*: nothing yet that I know of.
    Next: `/list checkout` shows what of it runs where.
    ");
}

#[tokio::test]
async fn pages_of_history_turn_in_place_and_stay_the_same_when_new_entries_come() {
    let world = World::open().await;
    push_many(&world, 0, 7).await;
    world.alice().types("/list").await;
    world.alice().types("/gantry history checkout 3").await;
    let message = world.last_message("alice", "deploys").id;
    let click = async |button: &str| {
        world.sim.slack.click("alice", "deploys", &message, button).await.unwrap();
        world.settle().await;
        let messages = world.sim.slack.messages("deploys", Some("alice"));
        render_message(messages.iter().find(|candidate| candidate.id == message).expect("the answer"))
    };
    let messages_before = world.ephemeral_messages("alice", "deploys").len();
    let first = world.alice().reads();
    assert!(numbers(&first) == [6, 5, 4] && first.ends_with("[Earlier]"), "{first}");
    push_many(&world, 7, 8).await;
    let second = click("Earlier").await;
    assert!(numbers(&second) == [3, 2, 1] && second.ends_with("[Earlier] [Later]"), "{second}");
    let third = click("Earlier").await;
    assert!(numbers(&third) == [0] && third.ends_with("[Later]"), "{third}");
    assert_eq!(numbers(&click("Later").await), [3, 2, 1]);
    let back = click("Later").await;
    assert!(
        numbers(&back) == [6, 5, 4] && back.ends_with("[Earlier] [Later]"),
        "newer entries are one page further: {back}"
    );
    assert_eq!(numbers(&click("Later").await), [7, 6, 5], "the first page is always full");
    assert_eq!(world.ephemeral_messages("alice", "deploys").len(), messages_before, "all pages are in one message");
}

#[tokio::test]
async fn history_in_a_thread_is_answered_there_and_its_pages_turn_for_everyone_but_guests() {
    let world = World::open().await;
    push_many(&world, 0, 5).await;
    let parent = world.last_message("alice", "deploys").id;
    world.alice().posts("deploys", Some(&parent), "@gantry history checkout 2").await;
    let answer = world.last_message("bob", "deploys");
    assert_eq!((answer.thread.as_deref(), &answer.only_to), (Some(parent.as_str()), &None));
    assert_eq!(numbers(&render_message(&answer)), [4, 3]);
    let messages = world.sim.slack.messages("deploys", None).len();
    world.sim.slack.click("bob", "deploys", &answer.id, "Earlier").await.unwrap();
    world.settle().await;
    let shown_answer = || {
        let mut messages = world.sim.slack.messages("deploys", None).into_iter();
        messages.find(|message| message.id == answer.id).expect("the answer")
    };
    let turned = shown_answer();
    assert_eq!(numbers(&render_message(&turned)), [2, 1]);
    assert_eq!((turned.edited, turned.thread.as_deref()), (1, Some(parent.as_str())));
    assert_eq!(world.sim.slack.messages("deploys", None).len(), messages, "no new message");

    world.sim.slack.click("dave", "deploys", &answer.id, "Earlier").await.unwrap();
    world.settle().await;
    assert_eq!(numbers(&render_message(&shown_answer())), [2, 1], "a guest cannot turn pages");
}

#[tokio::test]
async fn history_shows_at_most_20_entries_and_says_so() {
    let world = World::open().await;
    for n in 0..12 {
        world.bob().types(&format!("/gantry lock qa number {n}")).await;
        world.bob().types("/gantry unlock qa").await;
    }
    let usual = world.alice().types("/gantry history").await;
    assert_eq!(world.alice().types("/gantry history").await.matches("by <@U0BOB>").count(), 10, "{usual}");
    let many = world.alice().types("/gantry history 500").await;
    assert_eq!(many.matches("by <@U0BOB>").count(), 20, "{many}");
    let end = many.lines().rev().take(2).collect::<Vec<_>>().join("\n");
    assert_snapshot!(end, @"
    [Earlier]
    More than 20 do not fit into one message: *Earlier* shows the next.
    ");
}

#[tokio::test]
async fn the_first_history_waits_for_the_lookup_of_the_person_and_the_next_is_immediate() {
    let world = World::open().await;
    push_many(&world, 0, 1).await;
    assert_eq!(world.alice().types("/gantry history").await, "One moment...", "alice must be looked up first");
    assert_eq!(numbers(&world.alice().reads()), [0]);
    assert_eq!(numbers(&world.alice().types("/gantry history").await), [0]);
    world.wait(SignedDuration::from_mins(11)).await;
    assert_eq!(world.alice().types("/gantry history").await, "One moment...");
}

#[tokio::test]
async fn history_in_a_direct_message_is_answered_there() {
    let world = World::open().await;
    push_many(&world, 0, 1).await;
    world.alice().posts("@gantry", None, "history checkout").await;
    assert_eq!(numbers(&world.direct_messages("alice").pop().unwrap()), [0]);
}
