//! Files that go with a message.

use crate::workflow::notifications::outbox::tests::*;

const ROOM: &str = "files.getUploadURLExternal";
const SHARE: &str = "files.completeUploadExternal";

fn undelivered_file(details: LedgerDetails) -> String {
    let LedgerDetails::Undelivered { file, reason, .. } = details else { panic!("{details:?}") };
    format!("{:?}: {reason:?}", file.unwrap_or_default())
}

impl Post {
    async fn dropped_files(&self) -> Vec<String> {
        let filter = LedgerFilter { kind: Some(LedgerKind::FileDropped), ..LedgerFilter::default() };
        let entries = self.store.list_ledger_entries(&filter, 10).await.unwrap();
        entries.into_iter().map(|entry| entry.details.expect("details")).map(undelivered_file).collect()
    }

    /// The requests to Slack. A shared file has its channel, thread and comment.
    fn steps(&self) -> Vec<String> {
        let step = |heard: &crate::adapters::slack::client::fake::FakeSlackCall| match heard.method.as_str() {
            SHARE => {
                let [channel, thread, words] =
                    ["channel_id", "thread_ts", "initial_comment"].map(|field| heard.body[field].as_str().unwrap());
                format!("share {channel} {thread}: {words}")
            }
            method if heard.body["thread_ts"].is_string() => format!("{method} in a thread: {}", heard.body["text"]),
            method => method.to_owned(),
        };
        self.slack.recorded_calls().iter().map(step).collect()
    }
}

/// A post with a file, in a thread or on its own.
fn with_file(key: &str, text: &str, thread: Option<&str>) -> Message {
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
async fn a_file_goes_into_the_thread_of_a_message_that_is_still_on_its_way() {
    let house = Post::open().await;
    house.slack.script_response(POST, FakeSlackResponse::RetryAfter(3));
    house.say(post("#deploys", "card", "deployed")).await;
    house.say(with_file("more", "what differs", Some("card"))).await;
    house.settle().await;
    let expected = [POST, POST, ROOM, "upload", "share C-#deploys 2.0: what differs"];
    assert_eq!(house.steps(), expected);
    assert_eq!(house.slack.recorded_calls()[3].text, "-old\n+new\n");
    assert!(house.dropped().await.is_empty() && house.dropped_files().await.is_empty());
}

#[tokio::test]
async fn a_file_without_a_thread_follows_its_own_post() {
    let house = Post::open().await;
    house.say(with_file("diff", "2 lines", None)).await;
    house.settle().await;
    assert_eq!(house.steps(), [POST, ROOM, "upload", "share C-#deploys 1.0: checkout, all 412 lines"]);
}

#[tokio::test]
async fn a_post_that_has_blocks_keeps_them_and_its_file_follows_it() {
    let house = Post::open().await;
    house.say(post("#deploys", "card", "deployed")).await;
    house.say(Message { blocks: vec![json!({ "type": "divider" })], ..with_file("more", "x", Some("card")) }).await;
    house.settle().await;
    let shared = "share C-#deploys 1.0: checkout, all 412 lines";
    assert_eq!(house.steps(), [POST, &format!("{POST} in a thread: \"x\""), ROOM, "upload", shared]);
}

#[tokio::test]
async fn a_file_is_tried_again_without_its_post_being_said_twice_even_after_a_restart() {
    let house = Post::open().await;
    house.slack.script_response(SHARE, FakeSlackResponse::Status(503, "down"));
    house.slack.script_response("upload", FakeSlackResponse::RetryAfter(9));
    house.slack.script_response("upload", FakeSlackResponse::Status(503, "down"));
    house.say(with_file("diff", "2 lines", None)).await;
    house.at_rest().await;
    let house = house.restart().await;
    house.settle().await;
    let shared = "share C-#deploys 1.0: checkout, all 412 lines";
    let expected = [POST, ROOM, "upload", ROOM, "upload", ROOM, "upload", shared, ROOM, "upload", shared];
    assert_eq!(house.steps(), expected);
}

#[tokio::test]
async fn without_the_scope_the_text_is_said_alone_and_the_ledger_keeps_why() {
    let house = Post::open().await;
    house.say(post("#deploys", "card", "deployed")).await;
    house.slack.script_response(ROOM, FakeSlackResponse::Code("missing_scope"));
    house.say(with_file("more", "what differs", Some("card"))).await;
    house.settle().await;
    let words = "what differs\nI could not attach a&lt;b&gt;.diff: missing_scope. \
                 An administrator can give me the scope `files:write`.";
    assert_eq!(house.slack.format_calls().last(), Some(&format!("{POST} C-#deploys: {words}")));
    assert_eq!(house.slack.recorded_calls().last().unwrap().body["thread_ts"], "1.0");
    assert_eq!(house.dropped_files().await, [r#""a<b>.diff": "missing_scope""#]);
    assert!(house.dropped().await.is_empty());
}

#[tokio::test]
async fn a_file_follows_its_post_to_where_that_had_to_go() {
    let house = Post::open().await;
    house.say(post("#deploys", "card", "deployed")).await;
    house.slack.script_response(SHARE, FakeSlackResponse::Code("is_archived"));
    let mut message = with_file("more", "what differs", Some("card"));
    if let Destination::Post { asked, .. } = &mut message.to {
        *asked = Some(FallbackRecipient { person: PersonId::new("U0ALICE"), channel: None });
    }
    house.say(message).await;
    house.settle().await;
    let steps = house.steps();
    assert_eq!(steps[4..], [POST, ROOM, "upload", "share C-U0ALICE 5.0: checkout, all 412 lines"]);
    let nobody = house;
    nobody.slack.script_response(SHARE, FakeSlackResponse::Code("not_in_channel"));
    nobody.say(with_file("again", "what differs", Some("card"))).await;
    nobody.settle().await;
    assert_eq!(nobody.dropped().await, [r#""what differs": "Slack does not let us write there: not_in_channel""#]);
}

#[tokio::test]
async fn a_newer_text_keeps_the_file_that_was_to_go_with_the_older_one() {
    let house = Post::open().await;
    house.slack.script_response(POST, FakeSlackResponse::RetryAfter(5));
    house.say(with_file("diff", "2 lines", None)).await;
    house.at_rest().await;
    house.say(edit("diff", "3 lines")).await;
    house.settle().await;
    assert_eq!(house.slack.format_calls()[1], format!("{POST} #deploys: 3 lines"));
    assert!(house.steps().last().unwrap().starts_with("share C-#deploys"));
}
