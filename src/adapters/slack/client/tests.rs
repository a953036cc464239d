//! Tests of the client against a fake Slack: destinations, refusals, rate limits.

use jiff::Timestamp;

use super::fake::{FakeSlack, FakeSlackResponse};
use super::*;
use crate::domain::model::actor::Role;
use crate::domain::model::message::MessageKey;

fn message(to: Destination) -> Message {
    Message::new(to, "checkout 1.4 runs".into(), vec![json!({ "type": "divider" })])
}

fn post() -> Message {
    message(Destination::Post { channel: "#deploys".into(), key: MessageKey::new("card"), thread: None, asked: None })
}

fn person(channel: Option<&str>, response_url: Option<String>) -> Message {
    message(Destination::Person {
        person: PersonId::new("U0ALICE"),
        channel: channel.map(Into::into),
        thread: None,
        response_url: response_url.map(|url| ResponseUrl { url, until: Timestamp::MAX }),
        replace: true,
    })
}

fn place(channel: &str, ts: &str) -> MessageLocation {
    MessageLocation { channel: channel.into(), ts: ts.into() }
}

#[tokio::test]
async fn a_post_has_text_and_blocks_and_unfurls_nothing() {
    let slack = FakeSlack::start().await;
    let sent = slack.client().send_message(&post(), &PostedPlaces::default()).await.unwrap();
    assert_eq!(
        sent,
        SendOutcome { place: Some(place("C-#deploys", "1.0")), used_fallback: false, includes_file: false }
    );
    let call = &slack.recorded_calls()[0];
    assert_eq!(call.method, "chat.postMessage");
    assert_eq!(call.token.as_deref(), Some("Bearer xoxb-secret"));
    let expected = json!({
        "channel": "#deploys", "text": "checkout 1.4 runs", "blocks": [{ "type": "divider" }],
        "unfurl_links": false, "unfurl_media": false,
    });
    assert_eq!(call.body, expected);
}

#[tokio::test]
async fn a_posted_message_is_edited_and_a_reply_goes_to_the_channel_of_its_thread() {
    let slack = FakeSlack::start().await;
    let client = slack.client();
    let location = place("C0DEPLOYS", "7.0");
    let no_blocks = Message { blocks: vec![], ..post() };
    client.send_message(&no_blocks, &PostedPlaces { message: Some(location.clone()), thread: None }).await.unwrap();
    client.send_message(&post(), &PostedPlaces { message: None, thread: Some(location.clone()) }).await.unwrap();
    let (broadcast, nowhere) = (post().with_broadcast(), PostedPlaces::default());
    client.send_message(&broadcast, &PostedPlaces { message: None, thread: Some(location) }).await.unwrap();
    client.send_message(&broadcast, &nowhere).await.unwrap();
    let calls = slack.recorded_calls();
    let edit = json!({ "channel": "C0DEPLOYS", "ts": "7.0", "text": "checkout 1.4 runs", "blocks": [] });
    assert_eq!((calls[0].method.as_str(), &calls[0].body), ("chat.update", &edit));
    assert_eq!((&calls[1].body["channel"], &calls[1].body["thread_ts"]), (&json!("C0DEPLOYS"), &json!("7.0")));
    let to_all: Vec<_> = calls.iter().map(|call| call.body["reply_broadcast"] == true).collect();
    assert_eq!(to_all, [false, false, true, false], "only from a thread");
}

#[tokio::test]
async fn a_response_url_gets_no_token_and_must_have_the_hooks_origin() {
    let slack = FakeSlack::start().await;
    let client = slack.client();
    let hook = format!("{}/hook", slack.address());
    client.send_message(&person(None, Some(hook)), &PostedPlaces::default()).await.unwrap();
    let call = &slack.recorded_calls()[0];
    assert_eq!((call.method.as_str(), call.token.as_deref()), ("hook", None));
    assert_eq!(call.body["response_type"], "ephemeral");
    assert_eq!(call.body["replace_original"], true);

    let port = slack.address().rsplit(':').next().unwrap().to_owned();
    for elsewhere in [
        format!("http://localhost:{port}/hook"),
        format!("https://127.0.0.1:{port}/hook"),
        format!("http://127.0.0.1.example.com:{port}/hook"),
        format!("http://user@127.0.0.1:{port}/hook"),
        format!("http://127.0.0.1:{port}@example.com/hook"),
        "not a url".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        let refused = client.send_message(&person(None, Some(elsewhere.clone())), &PostedPlaces::default()).await;
        assert!(
            matches!(&refused, Err(SendError::Permanent(why)) if why.contains("hooks_origin")),
            "{elsewhere}: {refused:?}"
        );
    }
    assert_eq!(slack.recorded_calls().len(), 1, "no other request was sent");
}

#[tokio::test]
async fn a_redirect_of_a_response_url_is_not_followed() {
    let slack = FakeSlack::start().await;
    slack.script_response("hook", FakeSlackResponse::Redirect("/elsewhere"));
    let hook = format!("{}/hook", slack.address());
    let refused = slack.client().send_message(&person(None, Some(hook)), &PostedPlaces::default()).await;
    assert!(matches!(refused, Err(SendError::Transient(_))), "{refused:?}");
    assert_eq!(slack.recorded_calls().len(), 1);
}

#[tokio::test]
async fn a_spent_response_url_is_not_an_outage() {
    let slack = FakeSlack::start().await;
    for (answer, spent) in [
        (FakeSlackResponse::Status(404, r#"{"ok":false,"error":"expired_url"}"#), true),
        (FakeSlackResponse::Status(404, r#"{"ok":false,"error":"used_url"}"#), true),
        (FakeSlackResponse::Code("expired_url"), true),
        (FakeSlackResponse::Status(410, ""), true),
        (FakeSlackResponse::Status(500, "<html>"), false),
        (FakeSlackResponse::Status(502, ""), false),
    ] {
        slack.script_response("hook", answer);
        let hook = format!("{}/hook", slack.address());
        let error = slack
            .client()
            .send_message(&person(None, Some(hook)), &PostedPlaces::default())
            .await
            .expect_err("refused");
        assert_eq!(error == SendError::UrlSpent, spent, "{error:?}");
        assert_eq!(matches!(error, SendError::Transient(_)), !spent, "{error:?}");
    }
}

#[tokio::test]
async fn a_private_message_is_ephemeral_in_a_channel_and_otherwise_direct() {
    let slack = FakeSlack::start().await;
    let client = slack.client();
    for (channel, expected) in [
        (Some("C0DEPLOYS"), "chat.postEphemeral C0DEPLOYS: checkout 1.4 runs"),
        (Some("D0ALICE"), "chat.postMessage D0ALICE: checkout 1.4 runs"),
        (None, "chat.postMessage U0ALICE: checkout 1.4 runs"),
    ] {
        client.send_message(&person(channel, None), &PostedPlaces::default()).await.unwrap();
        assert_eq!(slack.format_calls().last().map(String::as_str), Some(expected));
    }
    assert_eq!(slack.recorded_calls()[0].body["user"], "U0ALICE");
}

#[tokio::test]
async fn refused_blocks_fall_back_to_plain_blocks_and_then_to_text() {
    let slack = FakeSlack::start().await;
    let plain = vec![json!({ "type": "section", "text": { "type": "mrkdwn", "text": "plain" } })];
    let table = Message { blocks: vec![json!({ "type": "table", "rows": [] })], plain: Some(plain.clone()), ..post() };
    slack.script_response("chat.postMessage", FakeSlackResponse::Code("invalid_blocks"));
    assert!(slack.client().send_message(&table, &PostedPlaces::default()).await.unwrap().used_fallback);
    assert_eq!(slack.recorded_calls()[1].body["blocks"], json!(plain));

    slack.script_response("chat.postMessage", FakeSlackResponse::Code("invalid_blocks"));
    slack.script_response("chat.postMessage", FakeSlackResponse::Code("invalid_blocks"));
    assert!(slack.client().send_message(&table, &PostedPlaces::default()).await.unwrap().used_fallback);
    assert_eq!(slack.recorded_calls().last().unwrap().body["blocks"], json!([]));
}

#[tokio::test]
async fn a_rate_limit_has_a_duration_and_a_scope() {
    let slack = FakeSlack::start().await;
    let client = slack.client();
    slack.script_response("chat.postMessage", FakeSlackResponse::RetryAfter(7));
    let limited = |seconds, everywhere| SendError::RateLimited {
        retry_after: Duration::from_secs(seconds),
        is_workspace_wide: everywhere,
    };
    assert_eq!(client.send_message(&post(), &PostedPlaces::default()).await, Err(limited(7, false)));
    slack.script_response("chat.update", FakeSlackResponse::RetryAfter(9));
    let posted = PostedPlaces { message: Some(place("C0DEPLOYS", "7.0")), thread: None };
    assert_eq!(client.send_message(&post(), &posted).await, Err(limited(9, true)));
}

#[tokio::test]
async fn errors_never_show_the_token_or_the_response_url() {
    let slack = FakeSlack::start().await;
    slack.script_response("chat.postMessage", FakeSlackResponse::Status(503, "xoxb-secret was not taken"));
    let error = slack.client().send_message(&post(), &PostedPlaces::default()).await.expect_err("down");
    assert!(matches!(&error, SendError::Transient(_)), "{error:?}");
    assert!(!error.to_string().contains("secret"), "{error}");

    let closed = Client::new("http://127.0.0.1:1/api", "http://127.0.0.1:1", "xoxb-secret".to_owned().into()).unwrap();
    let error = closed.send_message(&post(), &PostedPlaces::default()).await.expect_err("no server listens");
    assert!(matches!(&error, SendError::Transient(why) if !why.contains("secret")), "{error:?}");
    let hook = person(None, Some("http://127.0.0.1:1/secret".into()));
    let error = closed.send_message(&hook, &PostedPlaces::default()).await.expect_err("no server listens");
    assert!(matches!(&error, SendError::Transient(why) if !why.contains("secret")), "{error:?}");
    assert!(!format!("{closed:?}").contains("secret"));
}

#[tokio::test]
async fn the_role_of_a_person_comes_from_slacks_flags() {
    let slack = FakeSlack::start().await;
    slack.script_response(
        "auth.test",
        FakeSlackResponse::Json(json!({ "ok": true, "team_id": "T0ACME", "user_id": "U0GANTRY" })),
    );
    let client = slack.client();
    for (user, role) in [
        (json!({ "id": "U0ALICE", "team_id": "T0ACME" }), Role::Member),
        (json!({ "id": "U0DAVE", "team_id": "T0ACME", "is_restricted": true }), Role::Guest),
        (json!({ "id": "U0DAVE", "team_id": "T0ACME", "is_ultra_restricted": true }), Role::Guest),
        (json!({ "id": "U0EVE", "team_id": "T0OTHER" }), Role::Stranger),
        (json!({ "id": "U0EVE", "team_id": "T0ACME", "is_stranger": true }), Role::Stranger),
        (json!({ "id": "W0GRID", "team_id": "T0OTHER", "enterprise_user": { "teams": ["T0ACME"] } }), Role::Member),
        (json!({ "id": "U0BOT", "team_id": "T0ACME", "is_bot": true }), Role::Bot),
        (json!({ "id": "USLACKBOT", "team_id": "T0ACME", "is_bot": false }), Role::Bot),
        (json!({ "id": "U0GONE", "team_id": "T0ACME", "deleted": true }), Role::Deactivated),
    ] {
        slack.script_response("users.info", FakeSlackResponse::Json(json!({ "ok": true, "user": user })));
        assert_eq!(client.fetch_role(&PersonId::new("U0ALICE")).await, Ok(role), "{user}");
    }
    slack.script_response("users.info", FakeSlackResponse::Code("user_not_found"));
    assert_eq!(client.fetch_role(&PersonId::new("U0NOBODY")).await, Ok(Role::Stranger));
    assert_eq!(client.fetch_identity().await.unwrap().bot, PersonId::new("U0GANTRY"));
    assert_eq!(slack.recorded_calls().iter().filter(|call| call.method == "auth.test").count(), 1);
}

#[test]
fn an_invalid_api_url_is_refused() {
    let refused = Client::new("slack.com", "https://hooks.slack.com", "x".to_owned().into()).expect_err("no URL");
    assert_eq!(refused.to_string(), "slack.api_url must be an http or https URL, not `slack.com`.");
}
