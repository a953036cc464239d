//! The HTTP endpoints: an unsigned, too large, too old or malformed request is refused, and a replay has no effect.

use gantry::sim::world::SIGNING_SECRET;

use crate::harness::series::Random;
use crate::harness::signing::{hex_hmac, send_flux_report, send_slack_request};
use crate::harness::world::World;

fn command(text: &str, trigger: &str) -> String {
    format!(
        "team_id=T0ACME&channel_id=C0DEPLOYS&user_id=U0ALICE&command=%2Fgantry&text={text}&trigger_id={trigger}&response_url="
    )
}

#[tokio::test]
async fn a_slack_request_needs_a_valid_signature_of_the_last_five_minutes() {
    let world = World::open().await;
    let now = world.clock.now().as_second();
    let body = command("help", "1.1");
    let cases = [
        ("right", SIGNING_SECRET, now, 200),
        ("five minutes old", SIGNING_SECRET, now - 300, 200),
        ("older", SIGNING_SECRET, now - 301, 401),
        ("from the future", SIGNING_SECRET, now + 301, 401),
        ("another secret", "guess", now, 401),
        ("no time at all", SIGNING_SECRET, i64::MIN, 401),
    ];
    for (name, secret, signed_at, status) in cases {
        assert_eq!(send_slack_request(&world, "/slack/commands", &body, secret, signed_at).await.0, status, "{name}");
    }
    let unsigned =
        reqwest::Client::new().post(format!("{}/slack/commands", world.origin)).body(body).send().await.unwrap();
    assert_eq!(unsigned.status(), 401);
}

#[tokio::test]
async fn a_malformed_slack_request_is_refused_with_a_message() {
    let world = World::open().await;
    let now = world.clock.now().as_second();
    let cases = [
        ("/slack/commands", "", 400, "`team_id` is missing"),
        ("/slack/commands", "text=hi", 400, "is missing"),
        ("/slack/commands", "ssl_check=1", 200, ""),
        ("/slack/interactions", "x=1", 400, "`payload` is missing"),
        ("/slack/interactions", "payload=%7B", 400, "not JSON"),
        ("/slack/interactions", "payload=%7B%22type%22%3A%22shortcut_of_tomorrow%22%7D", 200, ""),
        ("/slack/interactions", "payload=%7B%22type%22%3A%22block_actions%22%7D", 400, "has no `user/id`"),
        ("/slack/events", "[", 400, "not JSON"),
        ("/slack/events", "{}", 400, "no `type`"),
        ("/slack/events", r#"{"type":"url_verification","challenge":"c-1"}"#, 200, "c-1"),
        ("/slack/events", r#"{"type":"event_callback","event":{"type":"reaction_added"}}"#, 200, ""),
    ];
    for (path, body, status, expected) in cases {
        let (actual, text) = send_slack_request(&world, path, body, SIGNING_SECRET, now).await;
        assert_eq!(actual, status, "{path} {body}: {text}");
        assert!(text.contains(expected), "{path} {body}: {text}");
    }
}

#[tokio::test]
async fn a_large_body_is_refused_before_it_is_read() {
    let world = World::open().await;
    let now = world.clock.now().as_second();
    let large = "a".repeat(gantry::adapters::slack::receive::BODY_LIMIT + 1);
    assert_eq!(send_slack_request(&world, "/slack/commands", &large, SIGNING_SECRET, now).await.0, 413);
    let fits = format!("{}&x={}", command("help", "1.2"), "a".repeat(100_000));
    assert_eq!(send_slack_request(&world, "/slack/commands", &fits, SIGNING_SECRET, now).await.0, 200);
}

#[tokio::test]
async fn a_replay_is_acknowledged_and_has_no_effect() {
    let world = World::open().await;
    let now = world.clock.now().as_second();
    let event = serde_json::json!({
        "type": "event_callback", "team_id": "T0ACME", "event_id": "Ev1",
        "event": { "type": "app_mention", "user": "U0ALICE", "channel": "C0DEPLOYS", "text": "<@U0GANTRY> help" },
    });
    for _ in 0..3 {
        assert_eq!(send_slack_request(&world, "/slack/events", &event.to_string(), SIGNING_SECRET, now).await.0, 200);
        world.settle().await;
    }
    assert_eq!(world.ephemeral_messages("alice", "deploys").len(), 1);
}

#[tokio::test]
async fn a_request_of_another_workspace_is_rejected() {
    let world = World::open().await;
    let now = world.clock.now().as_second();
    world.alice().types("/list").await;
    let body = command("list", "9.9").replace("T0ACME", "T0OTHER");
    let (status, text) = send_slack_request(&world, "/slack/commands", &body, SIGNING_SECRET, now).await;
    assert_eq!(status, 200);
    assert!(text.contains("you belong to another one"), "{text}");
}

#[tokio::test]
async fn a_flux_report_needs_the_secret_of_its_environment() {
    let world = World::open().await;
    let body =
        r#"{"involvedObject":{"kind":"Kustomization","name":"checkout"},"severity":"info","reason":"Progressing"}"#;
    let cases = [
        ("development", "flux-secret-of-development", 202),
        ("development", "flux-secret-of-qa", 401),
        ("nowhere", "flux-secret-of-development", 401),
        ("qa", "", 401),
    ];
    for (environment, secret, status) in cases {
        assert_eq!(send_flux_report(&world, environment, body, secret).await, status, "{environment} {secret}");
    }
    assert_eq!(send_flux_report(&world, "qa", "not json", "flux-secret-of-qa").await, 400);
    let large = "a".repeat(gantry::adapters::reports::BODY_LIMIT + 1);
    assert_eq!(send_flux_report(&world, "qa", &large, "flux-secret-of-qa").await, 413);
    let unsigned =
        reqwest::Client::new().post(format!("{}/webhooks/flux/qa", world.origin)).body(body).send().await.unwrap();
    assert_eq!(unsigned.status(), 401);
}

/// Mutates a valid request 100,000 times: each is refused, and nothing panics.
#[tokio::test]
async fn a_tampered_slack_request_is_refused() {
    use axum::body::Body;
    use axum::http::Request;
    use gantry::adapters::slack::receive::{Ack, Receiver};
    use gantry::clock::Clock;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tower::ServiceExt;

    let accepted = Arc::new(AtomicUsize::new(0));
    let counted = accepted.clone();
    let answer: gantry::adapters::slack::receive::RequestHandler = Arc::new(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ack::Empty })
    });
    let now = jiff::Timestamp::from_second(1_800_000_000).unwrap();
    let router = Receiver::new(Some(&"secret".to_owned().into()), Clock::new_manual(now), answer).into_router();
    let body = command("list", "1.1").into_bytes();
    let timestamp = now.as_second().to_string();
    let signature = format!("v0={}", hex_hmac("secret", &[b"v0:", timestamp.as_bytes(), b":", &body]));

    let send = |timestamp: Vec<u8>, signature: Vec<u8>, body: Vec<u8>| {
        let router = router.clone();
        async move {
            let request = Request::post("/slack/commands")
                .header("x-slack-request-timestamp", timestamp)
                .header("x-slack-signature", signature)
                .body(Body::from(body));
            // An HTTP client could not send this request.
            let Ok(request) = request else { return 0 };
            router.oneshot(request).await.unwrap().status().as_u16()
        }
    };
    assert_eq!(send(timestamp.clone().into(), signature.clone().into(), body.clone()).await, 200);
    assert_eq!(accepted.swap(0, Ordering::Relaxed), 1);

    let mut random = Random(42);
    for round in 0..100_000 {
        let (mut timestamp, mut signature, mut body) =
            (timestamp.clone().into_bytes(), signature.clone().into_bytes(), body.clone());
        match round % 3 {
            0 => random.mutate(&mut signature),
            1 => random.mutate(&mut body),
            _ => random.mutate(&mut timestamp),
        }
        let case = (String::from_utf8_lossy(&timestamp).into_owned(), String::from_utf8_lossy(&signature).into_owned());
        // A signature with upper-case hex digits is valid.
        if signature.eq_ignore_ascii_case(signature_of(&timestamp, &body).as_bytes()) && signature.starts_with(b"v0=") {
            continue;
        }
        let status = send(timestamp, signature, body).await;
        assert!(matches!(status, 0 | 401), "{status} {case:?}");
    }
    assert_eq!(accepted.load(Ordering::Relaxed), 0);
}

fn signature_of(timestamp: &[u8], body: &[u8]) -> String {
    format!("v0={}", hex_hmac("secret", &[b"v0:", timestamp, b":", body]))
}
