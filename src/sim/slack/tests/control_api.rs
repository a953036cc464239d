//! The actions of people, and the requests that the bot receives.

use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::SignedDuration;
use slack_morphism::signature_verifier::SlackEventSignatureVerifier;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::sim::faults::Fault;
use crate::sim::scheduler::Scheduler;

#[tokio::test]
async fn a_command_arrives_signed_and_its_answer_is_private() {
    let world = world_with_clock(Clock::new_system()).await;
    world.bot.queue_reply(Reply::Json(json!({ "response_type": "ephemeral", "text": "checkout runs 1.4" })));
    let ack = world.slack.type_command("alice", "deploys", "/list checkout & @bob in #releases").await.unwrap();
    assert_eq!((ack.status, ack.body["text"].as_str()), (200, Some("checkout runs 1.4")));

    let received = world.bot.last();
    let verifier = SlackEventSignatureVerifier::new(&SECRET.to_owned().into());
    let signature = received.header("x-slack-signature");
    verifier
        .verify(signature, &received.body, received.header("x-slack-request-timestamp"))
        .expect("a valid signature");
    for (field, value) in [
        ("command", "/list"),
        ("text", "checkout &amp; <@U0BOB|bob> in <#C0RELEASES|releases>"),
        ("user_id", "U0ALICE"),
        ("user_name", "alice"),
        ("channel_id", "C0DEPLOYS"),
        ("channel_name", "deploys"),
        ("team_id", "T0ACME"),
        ("team_domain", "acme"),
        ("api_app_id", "A0GANTRY"),
    ] {
        assert_eq!(received.form(field), value, "{field}");
    }
    assert!(received.form("response_url").starts_with(&format!("{}/sim/slack/hooks/", world.origin)));
    assert_eq!(world.texts("deploys", Some("alice")), ["checkout runs 1.4"]);
    assert!(world.texts("deploys", Some("bob")).is_empty());
    assert_eq!(world.slack.messages("deploys", None)[0].only_to.as_deref(), Some("alice"));
    assert!(world.slack.calls().is_empty(), "the bot made no calls");
}

#[tokio::test]
async fn a_public_answer_shows_the_command_too_and_an_empty_one_shows_nothing() {
    let world = world().await;
    world.slack.type_command("alice", "deploys", "/list").await.unwrap();
    assert!(world.texts("deploys", None).is_empty());
    world.bot.queue_reply(Reply::Json(json!({ "response_type": "in_channel", "text": "all" })));
    world.slack.type_command("alice", "#deploys", "/list").await.unwrap();
    assert_eq!(world.texts("deploys", Some("bob")), ["/list", "all"]);
    world.bot.queue_reply(Reply::Text("plain & simple"));
    let ack = world.slack.type_command("U0BOB", "@gantry", "/list").await.unwrap();
    assert_eq!(ack.body, "plain & simple");
    assert_eq!(world.bot.last().form("channel_name"), "directmessage");
    assert_eq!(world.texts("@gantry", Some("bob")), ["plain & simple"]);
}

#[tokio::test]
async fn slackbot_reports_a_failed_command_and_it_is_not_sent_again() {
    let world = world().await;
    world.bot.queue_reply(Reply::Status(500));
    assert_eq!(world.slack.type_command("alice", "deploys", "/promote checkout").await.unwrap().status, 500);
    world.bot.queue_reply(Reply::Late);
    assert_eq!(world.slack.type_command("alice", "deploys", "/promote checkout").await.unwrap().status, 0);
    world.bot.queue_reply(Reply::Json(json!({ "text": "x", "blocks": [{ "type": "?" }] })));
    world.slack.type_command("alice", "deploys", "/promote checkout").await.unwrap();
    assert_eq!(world.bot.received_requests().len(), 3);
    world.slack.type_command("alice", "deploys", "/deploy checkout").await.unwrap();
    assert_eq!(world.bot.received_requests().len(), 3, "the app has no such command");
    world.slack.set_bot_url("http://127.0.0.1:1");
    world.slack.type_command("alice", "deploys", "/list").await.unwrap();

    let notices = world.slack.messages("deploys", None);
    assert!(notices.iter().all(|m| m.user == "slackbot" && m.only_to.as_deref() == Some("alice")));
    assert_eq!(
        world.texts("deploys", Some("alice")),
        [
            "/promote failed with the error \"dispatch_failed\"",
            "/promote failed with the error \"operation_timeout\"",
            "/promote failed with the error \"invalid_blocks\"",
            "/deploy is not a valid command. In Slack, all messages that start with the \"/\" character are \
             interpreted as commands.",
            "/list failed with the error \"dispatch_failed\"",
        ]
    );
}

#[tokio::test]
async fn impossible_actions_are_refused_with_a_sentence() {
    let world = world().await;
    let error = world.slack.type_command("mallory", "deploys", "/list").await.unwrap_err();
    assert_eq!(error.to_string(), "There is nobody called mallory in this workspace.");
    let error = world.slack.type_command("alice", "kitchen", "/list").await.unwrap_err();
    assert_eq!(error.to_string(), "There is no channel kitchen; name a channel, or @gantry.");
    assert!(world.slack.type_command("alice", "deploys", "list").await.is_err());
    assert!(world.slack.type_message("alice", "deploys", Some("1.2"), "x").await.is_err());
    assert!(world.slack.click("alice", "deploys", "1.2", "Approve").await.is_err());
    assert!(world.slack.submit("alice", "V1", &json!({})).await.is_err());
    assert!(world.slack.type_command("gantry", "deploys", "/list").await.is_err(), "a bot cannot type commands");
}

#[tokio::test]
async fn the_bot_gets_mentions_in_its_channels_and_all_direct_messages() {
    let world = world().await;
    let message = world.slack.type_message("alice", "deploys", None, "@gantry list").await.unwrap();
    let event = world.bot.last().json();
    assert_eq!(event["type"], "event_callback");
    assert!(event["event_id"].as_str().unwrap().starts_with("Ev"));
    assert_eq!(event["event"]["type"], "app_mention");
    assert_eq!(event["event"]["text"], "<@U0GANTRY> list");
    assert_eq!(
        (event["event"]["ts"].as_str(), event["event"]["channel"].as_str()),
        (Some(&*message.id), Some("C0DEPLOYS"))
    );

    let reply = world.slack.type_message("bob", "deploys", Some(&message.id), "@gantry why?").await.unwrap();
    assert_eq!(world.bot.last().json()["event"]["thread_ts"], message.id);
    let nested = world.slack.type_message("bob", "deploys", Some(&reply.id), "@gantry and?").await.unwrap();
    assert_eq!(
        world.slack.messages("deploys", None)[2].thread,
        Some(message.id),
        "a reply to a reply joins the thread"
    );
    assert!(nested.ack.is_some());

    for (channel, text) in [("deploys", "no mention"), ("secret", "@gantry are you here?")] {
        let message = world.slack.type_message("alice", channel, None, text).await.unwrap();
        assert_eq!(message.ack, None, "{channel}: {text}");
    }
    world.slack.type_message("alice", "@gantry", None, "list").await.unwrap();
    let event = world.bot.last().json();
    assert_eq!(
        (event["event"]["type"].as_str(), event["event"]["channel_type"].as_str()),
        (Some("message"), Some("im"))
    );
    assert_eq!(world.bot.received_requests().len(), 4);

    world.slack.invite("alice", "secret").await.unwrap();
    assert_eq!(world.bot.last().json()["event"]["type"], "member_joined_channel");
    assert!(world.slack.type_message("alice", "secret", None, "@gantry now?").await.unwrap().ack.is_some());
}

#[tokio::test]
async fn a_failed_event_is_redelivered_three_times() {
    let world = world().await;
    let scheduler = Scheduler::new(world.clock.clone());
    world.slack.enable_redelivery(scheduler.clone());
    let stop = CancellationToken::new();
    let running = tokio::spawn(scheduler.clone().run(stop.clone()));
    for _ in 0..4 {
        world.bot.queue_reply(Reply::Status(503));
    }
    world.slack.type_message("alice", "deploys", None, "@gantry list").await.unwrap();
    assert_eq!(world.bot.received_requests().len(), 2, "the first redelivery comes at once");
    while let Some(due) = scheduler.next_due() {
        world.clock.advance_to(due);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let received = world.bot.received_requests();
    let numbers: Vec<&str> = received.iter().map(|h| h.header("x-slack-retry-num")).collect();
    assert_eq!(numbers, ["", "1", "2", "3"]);
    assert_eq!(received[3].header("x-slack-retry-reason"), "http_error");
    assert!(received.iter().all(|h| h.json()["event_id"] == received[0].json()["event_id"]));
    let sent_at = |h: &ReceivedRequest| h.header("x-slack-request-timestamp").parse::<i64>().unwrap();
    assert_eq!(
        (sent_at(&received[2]) - sent_at(&received[1]), sent_at(&received[3]) - sent_at(&received[2])),
        (60, 300)
    );
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn a_click_names_its_button_and_can_replace_the_message() {
    let world = world().await;
    let blocks = buttons(&["Approve", "Reject"]);
    let posted =
        world.call("chat.postMessage", json!({ "channel": "deploys", "text": "card", "blocks": blocks })).await;
    let ts = posted["ts"].as_str().unwrap();
    let error = world.slack.click("bob", "deploys", ts, "Launch").await.unwrap_err();
    assert_eq!(error.to_string(), "There is no button \"Launch\"; there are Approve, Reject.");

    assert_eq!(world.slack.click("bob", "deploys", ts, "Approve").await.unwrap().status, 200);
    let received = world.bot.last();
    assert_eq!(received.path, "/slack/interactions");
    let payload = received.payload();
    assert_eq!(payload["type"], "block_actions");
    assert_eq!((payload["user"]["id"].as_str(), payload["team"]["id"].as_str()), (Some("U0BOB"), Some("T0ACME")));
    assert_eq!((payload["message"]["ts"].as_str(), payload["channel"]["id"].as_str()), (Some(ts), Some("C0DEPLOYS")));
    let action = &payload["actions"][0];
    assert_eq!((action["action_id"].as_str(), action["block_id"].as_str()), (Some("approve"), Some("b")));
    assert_eq!((action["value"].as_str(), action["type"].as_str()), (Some("opaque"), Some("button")));
    // slack-morphism can parse the payload.
    serde_json::from_value::<SlackInteractionEvent>(payload.clone()).expect("a block_actions payload");

    let url = payload["response_url"].as_str().unwrap();
    assert_eq!(world.respond(url, json!({ "text": "thank you" })).await.0, 200);
    assert_eq!(world.respond(url, json!({ "replace_original": true, "text": "approved" })).await.0, 200);
    let seen = world.slack.messages("deploys", None);
    assert_eq!((seen[0].text.as_str(), seen[0].edited, seen[0].blocks.len()), ("approved", 1, 0));
    assert_eq!((seen[1].text.as_str(), seen[1].only_to.as_deref()), ("thank you", Some("bob")));
}

#[tokio::test]
async fn only_its_owner_can_click_an_ephemeral_message_and_the_response_url_changes_it() {
    let world = world().await;
    let blocks = buttons(&["Share"]);
    world.bot.queue_reply(Reply::Json(json!({ "text": "list", "blocks": blocks })));
    world.slack.type_command("alice", "deploys", "/list").await.unwrap();
    let id = world.slack.messages("deploys", Some("alice"))[0].id.clone();
    assert!(world.slack.click("bob", "deploys", &id, "Share").await.is_err(), "bob does not see it");
    world.slack.click("alice", "deploys", &id, "Share").await.unwrap();
    let payload = world.bot.last().payload();
    assert_eq!(payload["container"]["is_ephemeral"], true);
    assert_eq!(payload.get("message"), None);
    let url = payload["response_url"].as_str().unwrap();
    world.respond(url, json!({ "replace_original": true, "text": "shared" })).await;
    assert_eq!(world.texts("deploys", Some("alice")), ["shared"]);
    world.respond(url, json!({ "delete_original": true })).await;
    assert!(world.texts("deploys", None).is_empty());
}

#[tokio::test]
async fn an_early_answer_is_shown_after_the_acknowledgement() {
    let world = world().await;
    world.bot.queue_reply(Reply::ResponseUrlFirst("looking"));
    world.slack.type_command("alice", "deploys", "/list").await.unwrap();
    let texts = || {
        let messages = world.slack.messages("deploys", Some("alice"));
        messages.into_iter().map(|message| message.text).collect::<Vec<_>>()
    };
    for _ in 0..200 {
        if texts().len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(texts(), ["looking", "the answer"]);
}

#[tokio::test]
async fn a_response_url_works_five_times_in_half_an_hour() {
    let world = world().await;
    let hook = async || {
        world.slack.type_command("alice", "deploys", "/list").await.unwrap();
        world.bot.last().form("response_url")
    };
    let used_url = hook().await;
    for n in 0..5 {
        assert_eq!(world.respond(&used_url, json!({ "text": format!("{n}") })).await.0, 200);
    }
    let (status, body) = world.respond(&used_url, json!({ "text": "6" })).await;
    assert_eq!((status, body.as_ref()), (404, br#"{"error":"used_url","ok":false}"#.as_slice()));

    let old_url = hook().await;
    world.clock.advance(SignedDuration::from_mins(30));
    assert_eq!(world.respond(&old_url, json!({ "text": "just in time", "response_type": "in_channel" })).await.0, 200);
    world.clock.advance(SignedDuration::from_secs(1));
    let (status, body) = world.respond(&old_url, json!({ "text": "late" })).await;
    assert_eq!((status, body.as_ref()), (404, br#"{"error":"expired_url","ok":false}"#.as_slice()));

    let fresh_url = hook().await;
    let (status, body) = world.respond(&fresh_url, json!({ "text": "x", "blocks": [{ "type": "?" }] })).await;
    assert_eq!((status, body.as_ref()), (400, br#"{"error":"invalid_blocks","ok":false}"#.as_slice()));
    world.faults.arm(Fault::SlackDown, 1, None, None);
    assert_eq!(world.respond(&fresh_url, json!({ "text": "x" })).await.0, 503);
    let unknown = format!("{}/sim/slack/hooks/none", world.origin);
    assert_eq!(world.respond(&unknown, json!({ "text": "x" })).await.0, 404);
    assert_eq!(world.texts("deploys", Some("bob")), ["just in time"]);
    assert_eq!(world.texts("deploys", Some("alice")).len(), 6);
}

fn modal() -> Value {
    json!({
        "type": "modal",
        "callback_id": "lock",
        "title": { "type": "plain_text", "text": "Lock" },
        "submit": { "type": "plain_text", "text": "Lock" },
        "blocks": [{
            "type": "input", "block_id": "why", "label": { "type": "plain_text", "text": "Why" },
            "element": { "type": "plain_text_input", "action_id": "reason" },
        }],
    })
}

#[tokio::test]
async fn a_modal_needs_a_fresh_trigger_that_works_once() {
    let world = world().await;
    let (client, token) = (world.client(), token());
    let session: Session<'_> = client.open_session(&token);
    let view: SlackView = serde_json::from_value(modal()).unwrap();
    let open = async |trigger: &str| {
        let request = SlackApiViewsOpenRequest::new(trigger.into(), view.clone());
        session.views_open(&request).await.map(|opened| opened.view.state_params.id.to_string())
    };
    world.slack.type_command("alice", "deploys", "/gantry lock").await.unwrap();
    let trigger = world.bot.last().form("trigger_id");
    let id = open(&trigger).await.unwrap();
    assert_eq!(world.slack.views("alice")[0]["id"], id);
    assert!(open(&trigger).await.unwrap_err().to_string().contains("exchanged_trigger_id"));
    world.slack.type_command("alice", "deploys", "/gantry lock").await.unwrap();
    world.clock.advance(SignedDuration::from_millis(3001));
    let late = open(&world.bot.last().form("trigger_id")).await.unwrap_err().to_string();
    assert!(late.contains("expired_trigger_id"), "{late}");
}

#[tokio::test]
async fn a_submitted_modal_stays_changes_or_closes_as_the_bot_answers() {
    let world = world().await;
    world.slack.type_command("alice", "deploys", "/gantry lock").await.unwrap();
    let trigger = world.bot.last().form("trigger_id");
    let opened = world.call("views.open", json!({ "trigger_id": trigger, "view": modal() })).await;
    let id = opened["view"]["id"].as_str().unwrap();

    let error = world.slack.submit("alice", id, &json!({})).await.unwrap_err().to_string();
    assert_eq!(error, "\"Why\" must be filled in; give a value for why or reason.");
    assert!(world.slack.submit("bob", id, &json!({ "why": "x" })).await.is_err(), "the modal is open for alice");

    let errors = json!({ "why": "Say more." });
    world.bot.queue_reply(Reply::Json(json!({ "response_action": "errors", "errors": errors })));
    world.slack.submit("alice", id, &json!({ "why": "x" })).await.unwrap();
    let payload = world.bot.last().payload();
    assert_eq!(payload["type"], "view_submission");
    assert_eq!(payload["view"]["state"]["values"]["why"]["reason"]["value"], "x");
    serde_json::from_value::<SlackInteractionEvent>(payload).expect("a view_submission payload");
    assert_eq!(world.slack.views("alice")[0]["errors"], errors);

    let mut second = modal();
    second["title"]["text"] = json!("Sure?");
    world.bot.queue_reply(Reply::Json(json!({ "response_action": "update", "view": second })));
    world.slack.submit("alice", id, &json!({ "reason": "release" })).await.unwrap();
    assert_eq!(world.slack.views("alice")[0]["title"]["text"], "Sure?");

    let update = json!({ "view_id": id, "hash": "old", "view": modal() });
    assert_eq!(world.call_result_code("views.update", update).await, "hash_conflict");
    assert_eq!(world.call_result_code("views.update", json!({ "view_id": id, "view": modal() })).await, "ok");

    world.slack.submit("alice", id, &json!({ "why": "release" })).await.unwrap();
    assert!(world.slack.views("alice").is_empty());
}

#[tokio::test]
async fn the_home_is_published_and_its_buttons_can_be_clicked() {
    let world = world().await;
    assert_eq!(world.slack.home("alice"), Value::Null);
    world.slack.open_home("alice").await.unwrap();
    assert_eq!(world.bot.last().json()["event"]["type"], "app_home_opened");
    let view = json!({ "type": "home", "blocks": buttons(&["Promote"]) });
    assert_eq!(world.call_result_code("views.publish", json!({ "user_id": "U0ALICE", "view": view })).await, "ok");
    assert_eq!(world.slack.home("alice")["blocks"][0]["type"], "actions");
    world.slack.click_view("alice", "home", "Promote").await.unwrap();
    let payload = world.bot.last().payload();
    assert_eq!((payload["container"]["type"].as_str(), payload.get("response_url")), (Some("view"), None));
}

#[tokio::test]
async fn listeners_are_called_after_every_visible_change() {
    let world = world().await;
    let changes = Arc::new(AtomicUsize::new(0));
    let counter = changes.clone();
    let slack = world.slack.clone();
    world.slack.on_change(move || {
        // The lock is free here, so that a listener may read.
        let _ = slack.channels();
        counter.fetch_add(1, Ordering::Relaxed);
    });
    world.call("auth.test", json!({})).await;
    assert_eq!(changes.load(Ordering::Relaxed), 0);
    let ts = world.call("chat.postMessage", json!({ "channel": "deploys", "text": "x" })).await["ts"].clone();
    assert_eq!(changes.load(Ordering::Relaxed), 1);
    world.call("chat.update", json!({ "channel": "deploys", "ts": ts, "text": "y" })).await;
    assert_eq!(changes.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn every_message_has_its_own_id_even_if_the_clock_stands_still() {
    let world = world().await;
    for _ in 0..3 {
        world.slack.type_message("alice", "deploys", None, "x").await.unwrap();
    }
    let ids: Vec<_> = world.slack.messages("deploys", None).into_iter().map(|m| m.id).collect();
    assert_eq!(ids, ["1794823200.000000", "1794823200.000100", "1794823200.000200"]);
}
