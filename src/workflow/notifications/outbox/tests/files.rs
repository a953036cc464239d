//! Files that go with a message.

use crate::workflow::notifications::outbox::tests::*;

const GET_URL: &str = "files.getUploadURLExternal";
const SHARE: &str = "files.completeUploadExternal";

fn format_dropped_file(details: LedgerDetails) -> String {
    let LedgerDetails::Undelivered { file, reason, .. } = details else { panic!("{details:?}") };
    format!("{:?}: {reason:?}", file.unwrap_or_default())
}

impl TestOutbox {
    async fn list_dropped_files(&self) -> Vec<String> {
        let filter = LedgerFilter { kind: Some(LedgerKind::FileDropped), ..LedgerFilter::default() };
        let entries = self.store.list_ledger_entries(&filter, 10).await.unwrap();
        entries.into_iter().map(|entry| entry.details.expect("details")).map(format_dropped_file).collect()
    }

    /// The requests to Slack. A shared file has its channel, thread and comment.
    fn list_requests(&self) -> Vec<String> {
        let format_call = |call: &crate::adapters::slack::client::fake::FakeSlackCall| match call.method.as_str() {
            SHARE => {
                let [channel, thread, comment] =
                    ["channel_id", "thread_ts", "initial_comment"].map(|field| call.body[field].as_str().unwrap());
                format!("share {channel} {thread}: {comment}")
            }
            method if call.body["thread_ts"].is_string() => format!("{method} in a thread: {}", call.body["text"]),
            method => method.to_owned(),
        };
        self.slack.recorded_calls().iter().map(format_call).collect()
    }
}

/// A post with a file, in a thread or on its own.
fn post_with_file(key: &str, text: &str, thread: Option<&str>) -> Message {
    let to = Destination::Post {
        channel: "#deploys".into(),
        key: MessageKey::new(key),
        thread: thread.map(MessageKey::new),
        asked: None,
    };
    let file =
        MessageFile { name: "a<b>.diff".into(), title: "checkout, all 412 lines".into(), text: "-old\n+new\n".into() };
    Message { to, ..edit("", text) }.with_file(file)
}

#[tokio::test]
async fn a_file_goes_into_the_thread_of_a_message_that_is_still_queued() {
    let outbox = TestOutbox::open().await;
    outbox.slack.script_response(POST, FakeSlackResponse::RetryAfter(3));
    outbox.enqueue(post("#deploys", "card", "deployed")).await;
    outbox.enqueue(post_with_file("more", "what differs", Some("card"))).await;
    outbox.send_all().await;
    let expected = [POST, POST, GET_URL, "upload", "share C-#deploys 2.0: what differs"];
    assert_eq!(outbox.list_requests(), expected);
    assert_eq!(outbox.slack.recorded_calls()[3].text, "-old\n+new\n");
    assert!(outbox.list_dropped().await.is_empty() && outbox.list_dropped_files().await.is_empty());
}

#[tokio::test]
async fn a_file_without_a_thread_follows_its_own_post() {
    let outbox = TestOutbox::open().await;
    outbox.enqueue(post_with_file("diff", "2 lines", None)).await;
    outbox.send_all().await;
    assert_eq!(outbox.list_requests(), [POST, GET_URL, "upload", "share C-#deploys 1.0: checkout, all 412 lines"]);
}

#[tokio::test]
async fn a_post_that_has_blocks_keeps_them_and_its_file_follows_it() {
    let outbox = TestOutbox::open().await;
    outbox.enqueue(post("#deploys", "card", "deployed")).await;
    outbox
        .enqueue(Message { blocks: vec![json!({ "type": "divider" })], ..post_with_file("more", "x", Some("card")) })
        .await;
    outbox.send_all().await;
    let shared = "share C-#deploys 1.0: checkout, all 412 lines";
    assert_eq!(outbox.list_requests(), [POST, &format!("{POST} in a thread: \"x\""), GET_URL, "upload", shared]);
}

#[tokio::test]
async fn a_file_is_retried_without_a_second_post_even_after_a_restart() {
    let outbox = TestOutbox::open().await;
    outbox.slack.script_response(SHARE, FakeSlackResponse::Status(503, "down"));
    outbox.slack.script_response("upload", FakeSlackResponse::RetryAfter(9));
    outbox.slack.script_response("upload", FakeSlackResponse::Status(503, "down"));
    outbox.enqueue(post_with_file("diff", "2 lines", None)).await;
    outbox.wait_until_idle().await;
    let outbox = outbox.restart().await;
    outbox.send_all().await;
    let shared = "share C-#deploys 1.0: checkout, all 412 lines";
    let expected = [POST, GET_URL, "upload", GET_URL, "upload", GET_URL, "upload", shared, GET_URL, "upload", shared];
    assert_eq!(outbox.list_requests(), expected);
}

#[tokio::test]
async fn without_the_scope_the_text_is_posted_alone_and_the_ledger_has_the_reason() {
    let outbox = TestOutbox::open().await;
    outbox.enqueue(post("#deploys", "card", "deployed")).await;
    outbox.slack.script_response(GET_URL, FakeSlackResponse::Code("missing_scope"));
    outbox.enqueue(post_with_file("more", "what differs", Some("card"))).await;
    outbox.send_all().await;
    let text = "what differs\nI could not attach a&lt;b&gt;.diff: missing_scope. \
                 An administrator can give me the scope `files:write`.";
    assert_eq!(outbox.slack.format_calls().last(), Some(&format!("{POST} C-#deploys: {text}")));
    assert_eq!(outbox.slack.recorded_calls().last().unwrap().body["thread_ts"], "1.0");
    assert_eq!(outbox.list_dropped_files().await, [r#""a<b>.diff": "missing_scope""#]);
    assert!(outbox.list_dropped().await.is_empty());
}

#[tokio::test]
async fn a_file_follows_its_post_to_the_fallback() {
    let outbox = TestOutbox::open().await;
    outbox.enqueue(post("#deploys", "card", "deployed")).await;
    outbox.slack.script_response(SHARE, FakeSlackResponse::Code("is_archived"));
    let mut message = post_with_file("more", "what differs", Some("card"));
    if let Destination::Post { asked, .. } = &mut message.to {
        *asked = Some(FallbackRecipient { person: PersonId::new("U0ALICE"), channel: None });
    }
    outbox.enqueue(message).await;
    outbox.send_all().await;
    let requests = outbox.list_requests();
    assert_eq!(requests[4..], [POST, GET_URL, "upload", "share C-U0ALICE 5.0: checkout, all 412 lines"]);
    outbox.slack.script_response(SHARE, FakeSlackResponse::Code("not_in_channel"));
    outbox.enqueue(post_with_file("again", "what differs", Some("card"))).await;
    outbox.send_all().await;
    assert_eq!(outbox.list_dropped().await, [r#""what differs": "Slack does not let us write there: not_in_channel""#]);
}

#[tokio::test]
async fn a_newer_text_keeps_the_file_of_the_older_one() {
    let outbox = TestOutbox::open().await;
    outbox.slack.script_response(POST, FakeSlackResponse::RetryAfter(5));
    outbox.enqueue(post_with_file("diff", "2 lines", None)).await;
    outbox.wait_until_idle().await;
    outbox.enqueue(edit("diff", "3 lines")).await;
    outbox.send_all().await;
    assert_eq!(outbox.slack.format_calls()[1], format!("{POST} #deploys: 3 lines"));
    assert!(outbox.list_requests().last().unwrap().starts_with("share C-#deploys"));
}
