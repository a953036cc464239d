//! Socket Mode: every request is answered as over HTTP. When a connection ends, no request is lost or handled twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gantry::adapters::slack::client::Client;
use gantry::adapters::slack::incoming::IncomingRequest;
use gantry::adapters::slack::receive::{Ack, RequestHandler};
use gantry::adapters::slack::socket::{ConnectionState, ConnectionWatch, Socket};
use gantry::adapters::store::Store;
use gantry::app::{App, Setup};
use gantry::config::{Config, Secrets};
use gantry::sim::world::{APP_TOKEN, BOT_TOKEN};
use jiff::SignedDuration;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::harness::process::wait_until;
use crate::harness::world::{World, redact_origin_and_ids};

/// A world in which Slack sends its requests over a socket.
async fn open_with_socket() -> World {
    let world = World::with_setup(|sim| sim.slack.use_sockets(), |yaml| yaml).await;
    wait_until_connected(&world, 1).await;
    world
}

async fn wait_until_connected(world: &World, connections: usize) {
    wait_until("the bot is connected", async || {
        world.sim.slack.socket_count() == connections
            && matches!(world.bot.socket_status.current_state(), ConnectionState::Open { .. })
    })
    .await;
}

/// Asserts that a command is received and answered.
async fn assert_answers(world: &World) {
    world.alice().types("/list checkout").await;
    assert!(world.alice().reads().contains("Where *checkout* runs"), "{}", world.alice().reads());
}

/// All messages that people see, without their random parts.
fn list_visible_messages(world: &World) -> Vec<String> {
    let mut all = [world.public_messages("deploys"), world.public_messages("releases")].concat();
    for person in ["alice", "bob"] {
        all.extend(world.ephemeral_messages(person, "deploys"));
        all.extend(world.ephemeral_messages(person, "releases"));
        all.extend(world.direct_messages(person));
    }
    all.iter().map(|text| without_digits(&redact_origin_and_ids(world, text))).collect()
}

/// Replaces each word with a digit (commits, changes, durations) by `0`.
fn without_digits(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    words
        .map(|word| {
            let name = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            let digits = name.bytes().any(|byte| byte.is_ascii_digit());
            if digits { word.replacen(name, "0", 1) } else { word.to_owned() }
        })
        .collect()
}

/// A list, help, a promotion until it runs, production with its buttons and its modal, a mention and a direct message.
async fn run_conversation(world: &World) -> Vec<String> {
    let mut answers = vec![world.alice().types("/list checkout").await, world.alice().types("/list checkout").await];
    answers.push(world.alice().types("/gantry help").await);
    answers.push(world.alice().types("/promote checkout qa").await);
    assert_eq!(answers.len(), 4);
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    world.bob().clicks_in("releases", "Reject").await;
    world.bob().submits(json!({ "reason": "not today" })).await;
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    world.bob().clicks_in("releases", "Approve").await;
    world.alice().posts("deploys", None, "@gantry list checkout").await;
    world.alice().posts("@gantry", None, "why checkout prod").await;
    assert!(
        world.direct_messages("alice").len() >= 2,
        "the direct message and its answer: {:#?}",
        world.direct_messages("alice")
    );
    answers.extend(list_visible_messages(world));
    answers.iter().map(|text| without_digits(&redact_origin_and_ids(world, text))).collect()
}

#[tokio::test]
async fn a_conversation_over_a_socket_has_the_same_answers_as_over_http() {
    let (http, socket) = (World::open().await, open_with_socket().await);
    let (by_http, by_socket) = (run_conversation(&http).await, run_conversation(&socket).await);
    let runs = |text: &&String| text.contains("Deployed") || text.contains(" runs in ");
    assert!(by_http.iter().filter(runs).count() >= 2, "qa and prod: {by_http:#?}");
    assert_eq!(by_http, by_socket);
    assert_eq!(http.sim.slack.calls().get("apps.connections.open"), None);
    assert_eq!(socket.sim.slack.calls()["apps.connections.open"], 1);
    let response = reqwest::Client::new().post(format!("{}/slack/commands", socket.origin)).send().await.unwrap();
    assert_eq!(response.status(), 401);
    assert_eq!(
        response.text().await.unwrap(),
        "Slack reaches this Gantry by Socket Mode. For requests over HTTP, set SLACK_SIGNING_SECRET.\n"
    );
}

/// Types commands at short intervals while `disturb` runs. Asserts that each command is answered once.
async fn check_answers_during(world: &World, disturb: impl AsyncFn(usize)) {
    world.alice().types("/list").await;
    let before = world.sim.slack.calls().get("response_url").copied().unwrap_or_default();
    let commands: Vec<_> = (0..24)
        .map(|number| {
            let slack = world.sim.slack.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(number * 10)).await;
                slack.type_command("alice", "deploys", "/gantry why checkout qa").await.unwrap()
            })
        })
        .collect();
    for round in 0..4 {
        // Each disturbance happens while some commands are under way.
        tokio::time::sleep(Duration::from_millis(50)).await;
        disturb(round).await;
    }
    for command in commands {
        let ack = command.await.unwrap();
        assert_eq!(ack.status, 200, "{ack:?}");
    }
    world.settle().await;
    assert_eq!(world.sim.slack.calls()["response_url"] - before, 24, "each command is answered once");
}

#[tokio::test]
async fn no_request_is_lost_or_doubled_when_slack_announces_a_disconnect() {
    let world = open_with_socket().await;
    let reasons = ["warning", "refresh_requested", "link_disabled", "warning"];
    check_answers_during(&world, async |round| world.sim.slack.send_disconnect(reasons[round])).await;
    assert!(world.sim.slack.calls()["apps.connections.open"] >= 2, "another connection was opened");
    assert!(world.sim.slack.socket_count() >= 2, "the old connection is still open");
}

#[tokio::test]
async fn no_request_is_lost_or_doubled_when_a_connection_breaks_or_delivers_twice() {
    let world = open_with_socket().await;
    check_answers_during(&world, async |round| match round {
        1 => world.sim.slack.break_sockets(),
        _ => world.sim.slack.resend(),
    })
    .await;
    wait_until_connected(&world, 1).await;
}

#[tokio::test]
async fn a_silent_connection_is_replaced() {
    let world = open_with_socket().await;
    // A jump of the clock alone is no silence, because Slack still answers on the connection.
    world.wait(SignedDuration::from_hours(1)).await;
    world.alice().types("/list checkout").await;
    assert_eq!(world.sim.slack.calls()["apps.connections.open"], 1);
    world.sim.slack.silence_sockets();
    world.wait(SignedDuration::from_secs(31)).await;
    wait_until("another connection is opened", async || world.sim.slack.calls()["apps.connections.open"] == 2).await;
    world.sim.slack.break_sockets();
    wait_until("another connection is opened", async || world.sim.slack.socket_count() == 1).await;
    assert_answers(&world).await;
}

#[tokio::test]
async fn a_wrong_app_token_is_reported_and_retried_slowly() {
    let world = World::with_setup(
        |sim| {
            sim.slack.use_sockets();
            sim.slack.set_app_token("xapp-another");
        },
        |yaml| yaml,
    )
    .await;
    let reason = "Slack refuses the app-level token: invalid_auth";
    wait_until(
        "the refusal is reported",
        async || matches!(world.bot.socket_status.current_state(), ConnectionState::Closed { why: shown, .. } if shown == reason),
    )
    .await;
    let ready = reqwest::get(format!("{}/readyz", world.origin)).await.unwrap().text().await.unwrap();
    assert!(ready.contains(reason), "{ready}");
    for _ in 0..10 {
        world.wait(SignedDuration::from_secs(60)).await;
    }
    let tries = world.sim.slack.calls()["apps.connections.open"];
    assert!((3..=7).contains(&tries), "{tries} in ten minutes");
    world.sim.slack.set_app_token(APP_TOKEN);
    wait_until("the socket is connected", async || {
        world.wait(SignedDuration::from_secs(60)).await;
        matches!(world.bot.socket_status.current_state(), ConnectionState::Open { .. })
    })
    .await;
    assert_answers(&world).await;
}

#[tokio::test]
async fn the_socket_reconnects_after_slack_was_down_or_limited_the_rate() {
    use gantry::sim::faults::Fault;

    let world = open_with_socket().await;
    world.sim.faults.arm(Fault::SlackDown, 2, None, None);
    world.sim.faults.arm(Fault::Slack429, 1, None, None);
    world.sim.slack.break_sockets();
    wait_until("the socket is connected again", async || {
        world.wait(SignedDuration::from_secs(1)).await;
        world.sim.slack.socket_count() == 1
            && matches!(world.bot.socket_status.current_state(), ConnectionState::Open { .. })
    })
    .await;
    assert!(world.sim.slack.calls()["apps.connections.open"] >= 4);
}

#[tokio::test]
async fn malformed_socket_messages_are_ignored() {
    let world = open_with_socket().await;
    let malformed = [
        "",
        "{",
        "[]",
        "null",
        r#"{"type":7}"#,
        r#"{"type":"slash_commands"}"#,
        r#"{"type":"slash_commands","envelope_id":"x","payload":[]}"#,
        r#"{"type":"interactive","envelope_id":"x","payload":{"type":"block_actions"}}"#,
        r#"{"type":"events_api","envelope_id":"x","payload":{"event":"no"}}"#,
        r#"{"type":"something_new","envelope_id":"x","payload":{}}"#,
        r#"{"type":"hello"}"#,
    ];
    for text in malformed {
        world.sim.slack.send_raw(text);
    }
    assert_answers(&world).await;
    assert_eq!(world.sim.slack.calls()["apps.connections.open"], 1, "on the same connection");
}

/// Runs a socket with the test's own request handler, in a world in which the bot listens over HTTP.
async fn run_socket(world: &World, handler: RequestHandler) -> CancellationToken {
    let api = format!("{}/sim/slack/api", world.origin);
    let client = Client::new(&api, &world.origin, BOT_TOKEN.to_owned().into()).unwrap();
    let connection = ConnectionWatch::default();
    let cancel = CancellationToken::new();
    world.sim.slack.use_sockets();
    let token = APP_TOKEN.to_owned().into();
    let socket = Socket { client, token, clock: world.clock.clone(), connection, handler };
    tokio::spawn(socket.run(cancel.clone()));
    wait_until("the socket is connected", async || world.sim.slack.socket_count() == 1).await;
    cancel
}

#[tokio::test]
async fn a_slow_handler_delays_no_other_request_and_a_request_that_was_not_stored_is_sent_again() {
    let world = World::open().await;
    let (messages_received, slow_begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counters = (messages_received.clone(), slow_begun.clone());
    let handler: RequestHandler = Arc::new(move |incoming| {
        let (messages_received, slow_begun) = counters.clone();
        Box::pin(async move {
            match incoming {
                IncomingRequest::Command { text, .. } if text.contains("slow") => {
                    slow_begun.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_secs(2)).await;
                    Ack::Body(br#"{"text":"slow"}"#.to_vec())
                }
                IncomingRequest::Command { text, .. } if text.contains("panic") => panic!("a bug"),
                IncomingRequest::Command { .. } => Ack::Body(br#"{"text":"quick"}"#.to_vec()),
                IncomingRequest::Said { .. } if messages_received.fetch_add(1, Ordering::Relaxed) == 0 => {
                    Ack::NotStored
                }
                _ => Ack::Empty,
            }
        })
    });
    let cancel = run_socket(&world, handler).await;
    let slack = world.sim.slack.clone();
    let slow = tokio::spawn(async move { slack.type_command("alice", "deploys", "/gantry slow").await.unwrap() });
    wait_until("the slow answer is begun", async || slow_begun.load(Ordering::Relaxed) == 1).await;
    let started_at = std::time::Instant::now();
    let quick = world.sim.slack.type_command("bob", "deploys", "/gantry quick").await.unwrap();
    assert_eq!(quick.body["text"], "quick");
    assert!(started_at.elapsed() < Duration::from_secs(1), "{:?}", started_at.elapsed());
    assert_eq!(slow.await.unwrap().body["text"], "slow");

    world.sim.slack.set_response_timeout(Duration::from_secs(3));
    let ack = world.sim.slack.type_command("alice", "deploys", "/gantry panic").await.unwrap();
    assert_eq!(ack.body, "operation_timeout", "a panic leaves the request unacknowledged");
    let message = world.sim.slack.type_message("alice", "@gantry", None, "list").await.unwrap();
    assert_eq!(
        (message.ack.unwrap().status, messages_received.load(Ordering::Relaxed)),
        (200, 2),
        "the message was not stored, and Slack sent it again"
    );

    // A request that was read before the shutdown is answered, and none is read afterwards.
    let slack = world.sim.slack.clone();
    let slow = tokio::spawn(async move { slack.type_command("alice", "deploys", "/gantry slow").await.unwrap() });
    wait_until("another slow answer is begun", async || slow_begun.load(Ordering::Relaxed) == 2).await;
    cancel.cancel();
    assert_eq!(slow.await.unwrap().body["text"], "slow");
    wait_until("the socket is closed", async || world.sim.slack.socket_count() == 0).await;
}

#[tokio::test]
async fn a_start_without_signing_secret_and_app_token_is_refused_and_names_both() {
    let world = World::open().await;
    let directory = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", directory.path().join("gantry.db").display());
    let details = world.sim.connect_details();
    let config = Config::parse("the world", &details.write_kubeconfig(directory.path()).unwrap()).unwrap();
    let mut secrets = Secrets::read(&config, |name| details.find_variable(name)).unwrap();
    secrets.slack_signing_secret = None;
    let store = Store::open(&database, world.clock.clone()).await.unwrap();
    let refused = App::build(Setup { config, secrets, clock: world.clock.clone(), store }).await;
    let sentence = refused.err().expect("Gantry does not start").to_string();
    insta::assert_snapshot!(sentence, @"Neither `SLACK_SIGNING_SECRET` nor `SLACK_APP_TOKEN` is set, so Slack cannot reach Gantry. For requests over HTTP, set `SLACK_SIGNING_SECRET` or `SLACK_SIGNING_SECRET_FILE`. For Socket Mode, which needs no public address, set `SLACK_APP_TOKEN` or `SLACK_APP_TOKEN_FILE`.");
}
