//! The outbox with a fake Slack and a manual clock: order, pace and retries.

mod files;

use std::time::Duration;

use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::*;
use crate::adapters::slack::client::fake::{FakeSlack, FakeSlackResponse};
use crate::adapters::store::{LedgerFilter, OutstandingWork};
use crate::domain::model::actor::PersonId;
use crate::domain::model::message::{Destination, FallbackRecipient, MessageFile, MessageKey, ResponseUrl};
use serde_json::json;

const POST: &str = "chat.postMessage";

struct Post {
    slack: FakeSlack,
    store: Store,
    clock: Clock,
    tables: TableSupportCache,
    cancel: CancellationToken,
    running: JoinHandle<()>,
    dir: TempDir,
}

/// The text of a dropped message, and the reason.
fn undelivered(details: LedgerDetails) -> String {
    let LedgerDetails::Undelivered { text, reason, .. } = details else { panic!("{details:?}") };
    format!("{:?}: {reason:?}", text.unwrap_or_default())
}

impl Post {
    async fn open() -> Self {
        let clock = Clock::new_manual("2026-11-16T09:00:00Z".parse().unwrap());
        Self::open_in(TempDir::new().unwrap(), FakeSlack::start().await, clock).await
    }

    async fn open_in(dir: TempDir, slack: FakeSlack, clock: Clock) -> Self {
        let url = format!("sqlite://{}", dir.path().join("gantry.db").display());
        let store = Store::open(&url, clock.clone()).await.unwrap();
        let tables = TableSupportCache::load(&store).await.unwrap();
        let cancel = CancellationToken::new();
        let running = tokio::spawn(run(store.clone(), slack.client(), clock.clone(), tables.clone(), cancel.clone()));
        Self { slack, store, clock, tables, cancel, running, dir }
    }

    async fn restart(self) -> Self {
        self.cancel.cancel();
        self.running.await.unwrap();
        self.store.close().await;
        Self::open_in(self.dir, self.slack, self.clock).await
    }

    async fn say(&self, message: Message) {
        self.store.commit(Transaction::new().enqueue_message(message)).await.unwrap();
    }

    /// Waits, in real time, until nothing is due before the clock is moved.
    async fn at_rest(&self) -> OutstandingWork {
        for _ in 0..1000 {
            let pending = self.store.measure_outstanding_work().await.unwrap();
            if pending.next_due.is_none_or(|due| due > self.clock.now()) {
                return pending;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the outbox does not come to rest: {:?}", self.slack.format_calls());
    }

    /// Moves the clock from one due message to the next, until the outbox is empty.
    async fn settle(&self) {
        while let Some(due) = self.at_rest().await.next_due {
            self.clock.advance_to(due);
        }
    }

    async fn dropped(&self) -> Vec<String> {
        let filter = LedgerFilter { kind: Some(LedgerKind::MessageDropped), ..LedgerFilter::default() };
        let entries = self.store.list_ledger_entries(&filter, 10).await.unwrap();
        entries.into_iter().map(|entry| entry.details.expect("details")).map(undelivered).collect()
    }

    fn passed(&self) -> i64 {
        let start: Timestamp = "2026-11-16T09:00:00Z".parse().unwrap();
        self.clock.now().duration_since(start).as_secs()
    }
}

fn post(channel: &str, key: &str, text: &str) -> Message {
    let to = Destination::Post { channel: channel.into(), key: MessageKey::new(key), thread: None, asked: None };
    Message::new(to, text.into(), vec![])
}

fn edit(key: &str, text: &str) -> Message {
    Message::new(Destination::Edit { key: MessageKey::new(key) }, text.into(), vec![])
}

#[tokio::test]
async fn messages_go_in_order_at_one_a_second_after_the_burst() {
    let house = Post::open().await;
    for n in 0..6 {
        house.say(post("#deploys", &n.to_string(), &n.to_string())).await;
    }
    let pending = house.at_rest().await;
    assert_eq!((house.slack.format_calls().len(), pending.outbox), (3, 3));
    house.settle().await;
    let expected: Vec<_> = (0..6).map(|n| format!("{POST} #deploys: {n}")).collect();
    assert_eq!(house.slack.format_calls(), expected);
    assert_eq!(house.passed(), 3);
}

#[tokio::test]
async fn a_channel_that_does_not_answer_holds_up_nobody_else() {
    let house = Post::open().await;
    let release = house.slack.hang_channel("#slow");
    house.say(post("#slow", "a", "first")).await;
    house.say(post("#slow", "b", "second")).await;
    house.say(post("#deploys", "c", "meanwhile")).await;
    while house.store.measure_outstanding_work().await.unwrap().outbox > 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut lines = house.slack.format_calls();
    lines.sort();
    assert_eq!(lines, [format!("{POST} #deploys: meanwhile"), format!("{POST} #slow: first")]);
    release.notify_one();
    while house.slack.format_calls().len() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    release.notify_one();
    house.settle().await;
    assert_eq!(house.slack.format_calls()[2], format!("{POST} #slow: second"));
}

#[tokio::test]
async fn retry_after_is_obeyed_for_its_channel_and_survives_a_restart() {
    let house = Post::open().await;
    house.slack.script_response("chat.postMessage #deploys", FakeSlackResponse::RetryAfter(17));
    house.say(post("#deploys", "a", "first")).await;
    house.say(post("#deploys", "b", "second")).await;
    house.at_rest().await;
    house.say(post("#releases", "c", "other")).await;
    house.at_rest().await;
    let before = [format!("{POST} #deploys: first"), format!("{POST} #releases: other")];
    assert_eq!(house.slack.format_calls(), before);

    let house = house.restart().await;
    house.clock.advance(SignedDuration::from_secs(16));
    house.at_rest().await;
    assert_eq!(house.slack.format_calls(), before);
    house.clock.advance(SignedDuration::from_secs(1));
    house.at_rest().await;
    let after = [format!("{POST} #deploys: first"), format!("{POST} #deploys: second")];
    assert_eq!(house.slack.format_calls()[2..], after);
}

#[tokio::test]
async fn an_edit_that_could_wait_keeps_its_turn_once_that_has_come() {
    let house = Post::open().await;
    house.say(post("#deploys", "card", "merging")).await;
    house.at_rest().await;
    house.clock.advance(SignedDuration::from_secs(10));
    let others = ["a", "b", "c"].map(|text| post("#deploys", text, text));
    let transaction = others.into_iter().fold(Transaction::new(), Transaction::enqueue_message);
    let transaction =
        transaction.enqueue_message(edit("card", "1/3").with_coalescing()).enqueue_message(post("#deploys", "d", "d"));
    house.store.commit(transaction).await.unwrap();
    house.at_rest().await;
    assert_eq!(house.slack.format_calls().len(), 4, "the burst is over");
    house.settle().await;
    let expected = ["chat.update C-#deploys: 1/3".to_owned(), format!("{POST} #deploys: d")];
    assert_eq!(house.slack.format_calls()[4..], expected);
    assert_eq!(house.passed(), 12);
}

#[tokio::test]
async fn a_limit_of_the_whole_workspace_holds_all() {
    let house = Post::open().await;
    house.say(post("#deploys", "card", "merging")).await;
    house.at_rest().await;
    house.slack.script_response("chat.update", FakeSlackResponse::RetryAfter(20));
    house.say(edit("card", "deploying")).await;
    house.at_rest().await;
    house.say(post("#releases", "other", "other")).await;
    assert_eq!(house.at_rest().await.outbox, 2);
    house.settle().await;
    assert_eq!(house.passed(), 20);
    assert_eq!(house.slack.format_calls().len(), 4);
}

#[tokio::test]
async fn an_outage_is_waited_out_with_growing_pauses() {
    let house = Post::open().await;
    for _ in 0..6 {
        house.slack.script_response(POST, FakeSlackResponse::Status(503, "down"));
    }
    house.say(post("#deploys", "a", "first")).await;
    house.say(post("#deploys", "b", "second")).await;
    house.settle().await;
    let lines = house.slack.format_calls();
    assert_eq!(lines.iter().filter(|line| line.ends_with("first")).count(), 7);
    assert_eq!(lines.last(), Some(&format!("{POST} #deploys: second")), "the order is kept");
    assert!((40..=90).contains(&house.passed()), "1+2+4+8+16+32 s, a fifth more or less: {}", house.passed());
    assert!(house.dropped().await.is_empty());
}

#[tokio::test]
async fn after_a_day_a_message_is_given_up() {
    let house = Post::open().await;
    for _ in 0..400 {
        house.slack.script_response("chat.postMessage #broken", FakeSlackResponse::Status(503, "down"));
    }
    house.say(post("#broken", "a", "first")).await;
    house.at_rest().await;
    house.clock.advance(SignedDuration::from_hours(25));
    house.settle().await;
    assert_eq!(house.dropped().await, [r#""first": "chat.postMessage was answered with HTTP status 503""#]);
}

#[tokio::test]
async fn edits_are_coalesced_while_the_channel_waits() {
    let house = Post::open().await;
    house.say(post("#deploys", "card", "merging")).await;
    house.settle().await;
    house.slack.script_response("chat.update", FakeSlackResponse::RetryAfter(10));
    house.say(edit("card", "tagged")).await;
    house.at_rest().await;
    for text in ["deploying 1/3", "deploying 2/3", "deployed"] {
        house.say(edit("card", text)).await;
    }
    house.settle().await;
    let expected = [
        format!("{POST} #deploys: merging"),
        "chat.update C-#deploys: tagged".to_owned(),
        "chat.update C-#deploys: deployed".to_owned(),
    ];
    assert_eq!(house.slack.format_calls(), expected);
}

#[tokio::test]
async fn how_far_something_has_come_is_said_every_few_seconds_and_its_end_at_once() {
    let house = Post::open().await;
    house.say(post("#deploys", "card", "merging")).await;
    house.at_rest().await;
    for n in 1..=20 {
        house.say(edit("card", &format!("{n}/20")).with_coalescing()).await;
        if n % 4 == 0 {
            house.say(post("#deploys", &format!("other {n}"), &format!("other {n}"))).await;
        }
        house.clock.advance(SignedDuration::from_millis(500));
        house.at_rest().await;
    }
    house.say(edit("card", "deployed")).await;
    house.settle().await;
    let lines = house.slack.format_calls();
    let edits: Vec<_> = lines.iter().filter_map(|line| line.strip_prefix("chat.update C-#deploys: ")).collect();
    assert!((4..=5).contains(&edits.len()), "ten seconds have three edits and the end: {edits:?}");
    assert_eq!(edits.last(), Some(&"deployed"));
    let others: Vec<_> = lines.iter().filter(|line| line.contains("other")).cloned().collect();
    let expected: Vec<_> = (1..=5).map(|n| format!("{POST} #deploys: other {}", 4 * n)).collect();
    assert_eq!(others, expected, "in their order");
}

#[tokio::test]
async fn a_message_that_somebody_deleted_is_posted_anew() {
    let house = Post::open().await;
    house.say(post("#deploys", "card", "merging")).await;
    house.settle().await;
    house.slack.script_response("chat.update", FakeSlackResponse::Code("message_not_found"));
    house.say(edit("card", "deployed")).await;
    house.settle().await;
    house.say(edit("card", "again")).await;
    house.settle().await;
    assert_eq!(house.slack.format_calls()[2], format!("{POST} C-#deploys: deployed"));
    assert_eq!(house.slack.recorded_calls()[3].body["ts"], "3.0", "the new one is edited from now on");
}

#[tokio::test]
async fn where_the_channel_cannot_be_written_the_one_who_asked_is_told_why() {
    let house = Post::open().await;
    house.slack.script_response("chat.postMessage #releases", FakeSlackResponse::Code("not_in_channel"));
    house.slack.script_response("chat.postMessage C0DEPLOYS", FakeSlackResponse::Code("is_archived"));
    let asked = Some(FallbackRecipient { person: PersonId::new("U0ALICE"), channel: Some("C0DEPLOYS".into()) });
    let to = Destination::Post { channel: "#releases".into(), key: MessageKey::new("card"), thread: None, asked };
    house.say(Message { to, ..edit("", "merging") }).await;
    house.settle().await;
    house.say(edit("card", "deployed")).await;
    house.settle().await;
    let why =
        "This is here because I cannot write to #releases (`not_in_channel`). Invite me there with `/invite @gantry`.";
    let expected = [
        format!("{POST} #releases: merging"),
        format!("{POST} C0DEPLOYS: {why}\nmerging"),
        format!("{POST} U0ALICE: {why}\nmerging"),
        format!("chat.update C-U0ALICE: {why}\ndeployed"),
    ];
    assert_eq!(house.slack.format_calls(), expected);
    assert!(house.dropped().await.is_empty());
}

#[tokio::test]
async fn what_nobody_asked_for_and_cannot_be_posted_ends_in_the_ledger() {
    let house = Post::open().await;
    house.slack.script_response(POST, FakeSlackResponse::Code("channel_not_found"));
    house.slack.script_response(POST, FakeSlackResponse::Code("no_text"));
    for n in ["first", "second", "third"] {
        house.say(post("#deploys", n, n)).await;
    }
    house.say(edit("never said", "fourth")).await;
    house.settle().await;
    let mut dropped = house.dropped().await;
    dropped.sort();
    let expected = [
        r#""first": "Slack does not let us write there: channel_not_found""#,
        r#""fourth": "there is no message never said to edit""#,
        r#""second": "no_text""#,
    ];
    assert_eq!(dropped, expected);
    assert_eq!(house.slack.format_calls().last(), Some(&format!("{POST} #deploys: third")), "the queue goes on");
}

#[tokio::test]
async fn a_private_answer_finds_its_way_when_the_response_url_is_spent() {
    let house = Post::open().await;
    let private = |minutes: i64| {
        let until = house.clock.now() + SignedDuration::from_mins(minutes);
        let response_url = Some(ResponseUrl { url: format!("{}/hook", house.slack.address()), until });
        let (person, channel) = (PersonId::new("U0ALICE"), Some("C0DEPLOYS".to_owned()));
        Message {
            to: Destination::Person { person, channel, thread: None, response_url, replace: false },
            ..edit("", "no")
        }
    };
    house.say(private(30)).await;
    house.settle().await;
    house.slack.script_response("hook", FakeSlackResponse::Status(404, r#"{"ok":false,"error":"used_url"}"#));
    house.slack.script_response("chat.postEphemeral", FakeSlackResponse::Code("user_not_in_channel"));
    house.say(private(30)).await;
    house.settle().await;
    house.say(private(0)).await;
    house.settle().await;
    let expected = [
        "hook -: no",
        "hook -: no",
        "chat.postEphemeral C0DEPLOYS: no",
        "chat.postMessage U0ALICE: no",
        "chat.postEphemeral C0DEPLOYS: no",
    ];
    assert_eq!(house.slack.format_calls(), expected);
}

#[tokio::test]
async fn a_thread_is_answered_under_its_message() {
    let house = Post::open().await;
    let thread = Destination::Post {
        channel: "#deploys".into(),
        key: MessageKey::new("end"),
        thread: Some(MessageKey::new("card")),
        asked: None,
    };
    house.say(post("#deploys", "card", "deployed")).await;
    house.say(Message { to: thread, ..edit("", "it runs") }).await;
    house.settle().await;
    assert_eq!(house.slack.recorded_calls()[1].body["thread_ts"], "1.0");
}

#[tokio::test]
async fn whether_tables_are_taken_is_learned_once_and_kept() {
    let table = |key: &str| Message {
        blocks: vec![json!({ "type": "table", "rows": [] })],
        plain: Some(vec![json!({ "type": "section", "text": { "type": "mrkdwn", "text": "plain" } })]),
        ..post("#deploys", key, "list")
    };
    let house = Post::open().await;
    assert_eq!(house.tables.support(), TableSupport::Unknown);
    house.slack.script_response(POST, FakeSlackResponse::Code("invalid_blocks"));
    house.say(table("a")).await;
    house.settle().await;
    assert_eq!(house.tables.support(), TableSupport::Refused);

    let house = house.restart().await;
    assert_eq!(house.tables.support(), TableSupport::Refused);
    house.say(table("b")).await;
    house.settle().await;
    let kinds: Vec<_> =
        house.slack.recorded_calls().iter().map(|heard| heard.body["blocks"][0]["type"].clone()).collect();
    assert_eq!(kinds, ["table", "section", "section"], "the table is not tried again");

    let taking = Post::open().await;
    taking.say(table("a")).await;
    taking.settle().await;
    assert_eq!(taking.tables.support(), TableSupport::Accepted);
}

#[tokio::test]
async fn it_stops_at_once_when_it_is_cancelled_and_keeps_what_was_not_sent() {
    let house = Post::open().await;
    for n in 0..5 {
        house.say(post("#deploys", &n.to_string(), &n.to_string())).await;
    }
    house.at_rest().await;
    let house = house.restart().await;
    house.settle().await;
    assert_eq!(house.slack.format_calls().len(), 5);
}

#[tokio::test]
async fn a_refused_rich_text_teaches_nothing_about_tables() {
    let house = Post::open().await;
    house.slack.script_response(POST, FakeSlackResponse::Code("invalid_blocks"));
    let plain = vec![json!({ "type": "section", "text": { "type": "mrkdwn", "text": "```\n+ a\n```" } })];
    let both = vec![json!({ "type": "table", "rows": [] }), json!({ "type": "rich_text", "elements": [] })];
    house.say(Message { blocks: both, plain: Some(plain.clone()), ..post("#deploys", "diff", "diff") }).await;
    house.settle().await;
    assert_eq!(house.slack.recorded_calls()[1].body["blocks"], json!(plain));
    assert_eq!(house.tables.support(), TableSupport::Unknown);
}
