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

struct TestOutbox {
    slack: FakeSlack,
    store: Store,
    clock: Clock,
    tables: TableSupportCache,
    cancel: CancellationToken,
    running: JoinHandle<()>,
    dir: TempDir,
}

/// The text of a dropped message, and the reason.
fn format_dropped(details: LedgerDetails) -> String {
    let LedgerDetails::Undelivered { text, reason, .. } = details else { panic!("{details:?}") };
    format!("{:?}: {reason:?}", text.unwrap_or_default())
}

impl TestOutbox {
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

    async fn enqueue(&self, message: Message) {
        self.store.commit(Transaction::new().enqueue_message(message)).await.unwrap();
    }

    /// Waits, in real time, until nothing is due before the clock is moved.
    async fn wait_until_idle(&self) -> OutstandingWork {
        for _ in 0..1000 {
            let pending = self.store.measure_outstanding_work().await.unwrap();
            if pending.next_due.is_none_or(|due| due > self.clock.now()) {
                return pending;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the outbox does not become idle: {:?}", self.slack.format_calls());
    }

    /// Moves the clock from one due message to the next, until the outbox is empty.
    async fn send_all(&self) {
        while let Some(due) = self.wait_until_idle().await.next_due {
            self.clock.advance_to(due);
        }
    }

    async fn list_dropped(&self) -> Vec<String> {
        let filter = LedgerFilter { kind: Some(LedgerKind::MessageDropped), ..LedgerFilter::default() };
        let entries = self.store.list_ledger_entries(&filter, 10).await.unwrap();
        entries.into_iter().map(|entry| entry.details.expect("details")).map(format_dropped).collect()
    }

    fn elapsed_seconds(&self) -> i64 {
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
    let outbox = TestOutbox::open().await;
    for n in 0..6 {
        outbox.enqueue(post("#deploys", &n.to_string(), &n.to_string())).await;
    }
    let pending = outbox.wait_until_idle().await;
    assert_eq!((outbox.slack.format_calls().len(), pending.outbox), (3, 3));
    outbox.send_all().await;
    let expected: Vec<_> = (0..6).map(|n| format!("{POST} #deploys: {n}")).collect();
    assert_eq!(outbox.slack.format_calls(), expected);
    assert_eq!(outbox.elapsed_seconds(), 3);
}

#[tokio::test]
async fn a_channel_that_does_not_answer_delays_no_other_channel() {
    let outbox = TestOutbox::open().await;
    let release = outbox.slack.hang_channel("#slow");
    outbox.enqueue(post("#slow", "a", "first")).await;
    outbox.enqueue(post("#slow", "b", "second")).await;
    outbox.enqueue(post("#deploys", "c", "meanwhile")).await;
    while outbox.store.measure_outstanding_work().await.unwrap().outbox > 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut lines = outbox.slack.format_calls();
    lines.sort();
    assert_eq!(lines, [format!("{POST} #deploys: meanwhile"), format!("{POST} #slow: first")]);
    release.notify_one();
    while outbox.slack.format_calls().len() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    release.notify_one();
    outbox.send_all().await;
    assert_eq!(outbox.slack.format_calls()[2], format!("{POST} #slow: second"));
}

#[tokio::test]
async fn retry_after_is_obeyed_for_its_channel_and_survives_a_restart() {
    let outbox = TestOutbox::open().await;
    outbox.slack.script_response("chat.postMessage #deploys", FakeSlackResponse::RetryAfter(17));
    outbox.enqueue(post("#deploys", "a", "first")).await;
    outbox.enqueue(post("#deploys", "b", "second")).await;
    outbox.wait_until_idle().await;
    outbox.enqueue(post("#releases", "c", "other")).await;
    outbox.wait_until_idle().await;
    let before = [format!("{POST} #deploys: first"), format!("{POST} #releases: other")];
    assert_eq!(outbox.slack.format_calls(), before);

    let outbox = outbox.restart().await;
    outbox.clock.advance(SignedDuration::from_secs(16));
    outbox.wait_until_idle().await;
    assert_eq!(outbox.slack.format_calls(), before);
    outbox.clock.advance(SignedDuration::from_secs(1));
    outbox.wait_until_idle().await;
    let after = [format!("{POST} #deploys: first"), format!("{POST} #deploys: second")];
    assert_eq!(outbox.slack.format_calls()[2..], after);
}

#[tokio::test]
async fn a_coalesced_edit_keeps_its_place_in_the_queue_once_it_is_due() {
    let outbox = TestOutbox::open().await;
    outbox.enqueue(post("#deploys", "card", "merging")).await;
    outbox.wait_until_idle().await;
    outbox.clock.advance(SignedDuration::from_secs(10));
    let others = ["a", "b", "c"].map(|text| post("#deploys", text, text));
    let transaction = others.into_iter().fold(Transaction::new(), Transaction::enqueue_message);
    let transaction =
        transaction.enqueue_message(edit("card", "1/3").with_coalescing()).enqueue_message(post("#deploys", "d", "d"));
    outbox.store.commit(transaction).await.unwrap();
    outbox.wait_until_idle().await;
    assert_eq!(outbox.slack.format_calls().len(), 4, "the burst is over");
    outbox.send_all().await;
    let expected = ["chat.update C-#deploys: 1/3".to_owned(), format!("{POST} #deploys: d")];
    assert_eq!(outbox.slack.format_calls()[4..], expected);
    assert_eq!(outbox.elapsed_seconds(), 12);
}

#[tokio::test]
async fn a_workspace_wide_rate_limit_pauses_all_queues() {
    let outbox = TestOutbox::open().await;
    outbox.enqueue(post("#deploys", "card", "merging")).await;
    outbox.wait_until_idle().await;
    outbox.slack.script_response("chat.update", FakeSlackResponse::RetryAfter(20));
    outbox.enqueue(edit("card", "deploying")).await;
    outbox.wait_until_idle().await;
    outbox.enqueue(post("#releases", "other", "other")).await;
    assert_eq!(outbox.wait_until_idle().await.outbox, 2);
    outbox.send_all().await;
    assert_eq!(outbox.elapsed_seconds(), 20);
    assert_eq!(outbox.slack.format_calls().len(), 4);
}

#[tokio::test]
async fn an_outage_is_retried_with_growing_pauses() {
    let outbox = TestOutbox::open().await;
    for _ in 0..6 {
        outbox.slack.script_response(POST, FakeSlackResponse::Status(503, "down"));
    }
    outbox.enqueue(post("#deploys", "a", "first")).await;
    outbox.enqueue(post("#deploys", "b", "second")).await;
    outbox.send_all().await;
    let lines = outbox.slack.format_calls();
    assert_eq!(lines.iter().filter(|line| line.ends_with("first")).count(), 7);
    assert_eq!(lines.last(), Some(&format!("{POST} #deploys: second")), "the order is kept");
    assert!(
        (40..=90).contains(&outbox.elapsed_seconds()),
        "1+2+4+8+16+32 s, a fifth more or less: {}",
        outbox.elapsed_seconds()
    );
    assert!(outbox.list_dropped().await.is_empty());
}

#[tokio::test]
async fn a_message_is_dropped_after_a_day_of_failures() {
    let outbox = TestOutbox::open().await;
    for _ in 0..400 {
        outbox.slack.script_response("chat.postMessage #broken", FakeSlackResponse::Status(503, "down"));
    }
    outbox.enqueue(post("#broken", "a", "first")).await;
    outbox.wait_until_idle().await;
    outbox.clock.advance(SignedDuration::from_hours(25));
    outbox.send_all().await;
    assert_eq!(outbox.list_dropped().await, [r#""first": "chat.postMessage was answered with HTTP status 503""#]);
}

#[tokio::test]
async fn edits_are_coalesced_while_the_channel_waits() {
    let outbox = TestOutbox::open().await;
    outbox.enqueue(post("#deploys", "card", "merging")).await;
    outbox.send_all().await;
    outbox.slack.script_response("chat.update", FakeSlackResponse::RetryAfter(10));
    outbox.enqueue(edit("card", "tagged")).await;
    outbox.wait_until_idle().await;
    for text in ["deploying 1/3", "deploying 2/3", "deployed"] {
        outbox.enqueue(edit("card", text)).await;
    }
    outbox.send_all().await;
    let expected = [
        format!("{POST} #deploys: merging"),
        "chat.update C-#deploys: tagged".to_owned(),
        "chat.update C-#deploys: deployed".to_owned(),
    ];
    assert_eq!(outbox.slack.format_calls(), expected);
}

#[tokio::test]
async fn progress_is_edited_every_few_seconds_and_the_end_at_once() {
    let outbox = TestOutbox::open().await;
    outbox.enqueue(post("#deploys", "card", "merging")).await;
    outbox.wait_until_idle().await;
    for n in 1..=20 {
        outbox.enqueue(edit("card", &format!("{n}/20")).with_coalescing()).await;
        if n % 4 == 0 {
            outbox.enqueue(post("#deploys", &format!("other {n}"), &format!("other {n}"))).await;
        }
        outbox.clock.advance(SignedDuration::from_millis(500));
        outbox.wait_until_idle().await;
    }
    outbox.enqueue(edit("card", "deployed")).await;
    outbox.send_all().await;
    let lines = outbox.slack.format_calls();
    let edits: Vec<_> = lines.iter().filter_map(|line| line.strip_prefix("chat.update C-#deploys: ")).collect();
    assert!((4..=5).contains(&edits.len()), "ten seconds have three edits and the end: {edits:?}");
    assert_eq!(edits.last(), Some(&"deployed"));
    let others: Vec<_> = lines.iter().filter(|line| line.contains("other")).cloned().collect();
    let expected: Vec<_> = (1..=5).map(|n| format!("{POST} #deploys: other {}", 4 * n)).collect();
    assert_eq!(others, expected, "in their order");
}

#[tokio::test]
async fn a_deleted_message_is_posted_anew() {
    let outbox = TestOutbox::open().await;
    outbox.enqueue(post("#deploys", "card", "merging")).await;
    outbox.send_all().await;
    outbox.slack.script_response("chat.update", FakeSlackResponse::Code("message_not_found"));
    outbox.enqueue(edit("card", "deployed")).await;
    outbox.send_all().await;
    outbox.enqueue(edit("card", "again")).await;
    outbox.send_all().await;
    assert_eq!(outbox.slack.format_calls()[2], format!("{POST} C-#deploys: deployed"));
    assert_eq!(outbox.slack.recorded_calls()[3].body["ts"], "3.0", "the new one is edited from now on");
}

#[tokio::test]
async fn if_a_channel_is_not_writable_the_requester_gets_the_message_and_the_reason() {
    let outbox = TestOutbox::open().await;
    outbox.slack.script_response("chat.postMessage #releases", FakeSlackResponse::Code("not_in_channel"));
    outbox.slack.script_response("chat.postMessage C0DEPLOYS", FakeSlackResponse::Code("is_archived"));
    let asked = Some(FallbackRecipient { person: PersonId::new("U0ALICE"), channel: Some("C0DEPLOYS".into()) });
    let to = Destination::Post { channel: "#releases".into(), key: MessageKey::new("card"), thread: None, asked };
    outbox.enqueue(Message { to, ..edit("", "merging") }).await;
    outbox.send_all().await;
    outbox.enqueue(edit("card", "deployed")).await;
    outbox.send_all().await;
    let reason =
        "This is here because I cannot write to #releases (`not_in_channel`). Invite me there with `/invite @gantry`.";
    let expected = [
        format!("{POST} #releases: merging"),
        format!("{POST} C0DEPLOYS: {reason}\nmerging"),
        format!("{POST} U0ALICE: {reason}\nmerging"),
        format!("chat.update C-U0ALICE: {reason}\ndeployed"),
    ];
    assert_eq!(outbox.slack.format_calls(), expected);
    assert!(outbox.list_dropped().await.is_empty());
}

#[tokio::test]
async fn an_undeliverable_message_without_a_requester_is_recorded_in_the_ledger() {
    let outbox = TestOutbox::open().await;
    outbox.slack.script_response(POST, FakeSlackResponse::Code("channel_not_found"));
    outbox.slack.script_response(POST, FakeSlackResponse::Code("no_text"));
    for n in ["first", "second", "third"] {
        outbox.enqueue(post("#deploys", n, n)).await;
    }
    outbox.enqueue(edit("never said", "fourth")).await;
    outbox.send_all().await;
    let mut dropped = outbox.list_dropped().await;
    dropped.sort();
    let expected = [
        r#""first": "Slack does not let us write there: channel_not_found""#,
        r#""fourth": "there is no message never said to edit""#,
        r#""second": "no_text""#,
    ];
    assert_eq!(dropped, expected);
    assert_eq!(outbox.slack.format_calls().last(), Some(&format!("{POST} #deploys: third")), "the queue goes on");
}

#[tokio::test]
async fn a_private_answer_falls_back_when_the_response_url_is_spent() {
    let outbox = TestOutbox::open().await;
    let private = |minutes: i64| {
        let until = outbox.clock.now() + SignedDuration::from_mins(minutes);
        let response_url = Some(ResponseUrl { url: format!("{}/hook", outbox.slack.address()), until });
        let (person, channel) = (PersonId::new("U0ALICE"), Some("C0DEPLOYS".to_owned()));
        Message {
            to: Destination::Person { person, channel, thread: None, response_url, replace: false },
            ..edit("", "no")
        }
    };
    outbox.enqueue(private(30)).await;
    outbox.send_all().await;
    outbox.slack.script_response("hook", FakeSlackResponse::Status(404, r#"{"ok":false,"error":"used_url"}"#));
    outbox.slack.script_response("chat.postEphemeral", FakeSlackResponse::Code("user_not_in_channel"));
    outbox.enqueue(private(30)).await;
    outbox.send_all().await;
    outbox.enqueue(private(0)).await;
    outbox.send_all().await;
    let expected = [
        "hook -: no",
        "hook -: no",
        "chat.postEphemeral C0DEPLOYS: no",
        "chat.postMessage U0ALICE: no",
        "chat.postEphemeral C0DEPLOYS: no",
    ];
    assert_eq!(outbox.slack.format_calls(), expected);
}

#[tokio::test]
async fn a_reply_is_posted_in_the_thread_of_its_message() {
    let outbox = TestOutbox::open().await;
    let thread = Destination::Post {
        channel: "#deploys".into(),
        key: MessageKey::new("end"),
        thread: Some(MessageKey::new("card")),
        asked: None,
    };
    outbox.enqueue(post("#deploys", "card", "deployed")).await;
    outbox.enqueue(Message { to: thread, ..edit("", "it runs") }).await;
    outbox.send_all().await;
    assert_eq!(outbox.slack.recorded_calls()[1].body["thread_ts"], "1.0");
}

#[tokio::test]
async fn support_for_tables_is_learned_once_and_stored() {
    let table = |key: &str| Message {
        blocks: vec![json!({ "type": "table", "rows": [] })],
        plain: Some(vec![json!({ "type": "section", "text": { "type": "mrkdwn", "text": "plain" } })]),
        ..post("#deploys", key, "list")
    };
    let outbox = TestOutbox::open().await;
    assert_eq!(outbox.tables.support(), TableSupport::Unknown);
    outbox.slack.script_response(POST, FakeSlackResponse::Code("invalid_blocks"));
    outbox.enqueue(table("a")).await;
    outbox.send_all().await;
    assert_eq!(outbox.tables.support(), TableSupport::Refused);

    let outbox = outbox.restart().await;
    assert_eq!(outbox.tables.support(), TableSupport::Refused);
    outbox.enqueue(table("b")).await;
    outbox.send_all().await;
    let kinds: Vec<_> =
        outbox.slack.recorded_calls().iter().map(|call| call.body["blocks"][0]["type"].clone()).collect();
    assert_eq!(kinds, ["table", "section", "section"], "the table is not tried again");

    let accepting = TestOutbox::open().await;
    accepting.enqueue(table("a")).await;
    accepting.send_all().await;
    assert_eq!(accepting.tables.support(), TableSupport::Accepted);
}

#[tokio::test]
async fn a_cancelled_outbox_stops_at_once_and_keeps_unsent_messages() {
    let outbox = TestOutbox::open().await;
    for n in 0..5 {
        outbox.enqueue(post("#deploys", &n.to_string(), &n.to_string())).await;
    }
    outbox.wait_until_idle().await;
    let outbox = outbox.restart().await;
    outbox.send_all().await;
    assert_eq!(outbox.slack.format_calls().len(), 5);
}

#[tokio::test]
async fn a_refused_rich_text_does_not_count_as_refused_tables() {
    let outbox = TestOutbox::open().await;
    outbox.slack.script_response(POST, FakeSlackResponse::Code("invalid_blocks"));
    let plain = vec![json!({ "type": "section", "text": { "type": "mrkdwn", "text": "```\n+ a\n```" } })];
    let both = vec![json!({ "type": "table", "rows": [] }), json!({ "type": "rich_text", "elements": [] })];
    outbox.enqueue(Message { blocks: both, plain: Some(plain.clone()), ..post("#deploys", "diff", "diff") }).await;
    outbox.send_all().await;
    assert_eq!(outbox.slack.recorded_calls()[1].body["blocks"], json!(plain));
    assert_eq!(outbox.tables.support(), TableSupport::Unknown);
}
