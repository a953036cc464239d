//! SIGTERM: the bot accepts no new connection, finishes or hands back its work within ten seconds, and the next process
//! continues.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use gantry::domain::model::version::Sha;
use gantry::sim::world::SIGNING_SECRET;

use crate::harness::process::{PauseWhen, ProcessHarness, wait_until};
use crate::harness::signing::hex_hmac;
use crate::harness::world::render_message;

const SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);

/// Pushes a commit, and waits until it runs in development and can be promoted.
async fn push_and_wait(harness: &ProcessHarness, message: &str) -> Sha {
    let pushed = harness.world.push("checkout", "develop", message, BTreeMap::new(), "alice").unwrap();
    wait_until("the push runs", async || harness.count_messages_with(message) > 0).await;
    pushed
}

async fn promote(harness: &ProcessHarness) {
    let ack = harness.world.slack.type_command("alice", "deploys", "/promote checkout qa").await.unwrap();
    assert_eq!(ack.status, 200);
}

fn is_running_in_qa(harness: &ProcessHarness, commit: &Sha) -> bool {
    let version = format!("`develop-{}`", commit.short());
    let is_running = |text: String| text.contains(&version) && text.contains("running in *qa*");
    harness.messages().iter().any(|message| message.thread.is_some() && is_running(render_message(message)))
}

async fn assert_ends_in_time(harness: &mut ProcessHarness, started: Instant) {
    wait_until("the bot ends", async || harness.exit_status().is_some()).await;
    assert!(harness.exit_status().unwrap().success(), "{:?}", harness.exit_status());
    assert!(started.elapsed() < SHUTDOWN_LIMIT, "{:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_in_progress_is_finished_at_shutdown_and_not_repeated() {
    let mut harness = ProcessHarness::open().await;
    let commit = push_and_wait(&harness, "A push to merge").await;
    harness.interceptor.pause_matching("POST /sim/github/repos/acme/checkout/merges", PauseWhen::AfterTheEffect);
    promote(&harness).await;
    wait_until("the merge is paused", async || harness.interceptor.paused_request().is_some()).await;

    let started = Instant::now();
    harness.terminate();
    wait_until("new connections are refused", async || TcpStream::connect(&harness.address).is_err()).await;
    assert_eq!(harness.exit_status(), None, "the bot waits for its merge");
    harness.interceptor.resume();
    assert_ends_in_time(&mut harness, started).await;
    // Only a bot that waited for GitHub's answer can have stored the merge.
    harness.wait_until_stored("change WHERE stage = $1", "deploying").await;
    let before = harness.interceptor.count_requests("");

    harness.restart().await;
    wait_until("the promotion ends", async || is_running_in_qa(&harness, &commit)).await;
    assert_eq!(harness.interceptor.count_requests("/merges"), 1, "the stored merge is not repeated");
    assert!(harness.interceptor.count_requests("") > before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_in_progress_at_shutdown_is_posted_once() {
    let mut harness = ProcessHarness::open().await;
    harness.interceptor.pause_matching("/chat.postMessage", PauseWhen::AfterTheEffect);
    harness.world.push("checkout", "develop", "Told once", BTreeMap::new(), "alice").unwrap();
    wait_until("the message is paused", async || harness.interceptor.paused_request().is_some()).await;
    let started = Instant::now();
    harness.terminate();
    wait_until("new connections are refused", async || TcpStream::connect(&harness.address).is_err()).await;
    harness.interceptor.resume();
    assert_ends_in_time(&mut harness, started).await;

    harness.restart().await;
    push_and_wait(&harness, "And then another").await;
    assert_eq!(harness.count_messages_with("Told once"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_that_cannot_be_finished_in_time_is_completed_once_after_the_next_start() {
    let mut harness = ProcessHarness::open().await;
    let commit = push_and_wait(&harness, "A push that is held up").await;
    harness.interceptor.pause_matching("POST /sim/github/repos/acme/checkout/merges", PauseWhen::AfterTheEffect);
    promote(&harness).await;
    wait_until("the merge is paused", async || harness.interceptor.paused_request().is_some()).await;
    let started = Instant::now();
    harness.terminate();
    assert_ends_in_time(&mut harness, started).await;
    harness.interceptor.resume();

    harness.restart().await;
    wait_until("the promotion ends", async || is_running_in_qa(&harness, &commit)).await;
    let merges = harness.world.github.graph("acme/checkout", 1000);
    assert_eq!(merges.iter().filter(|merge| merge.parents.get(1) == Some(&commit)).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_in_progress_at_shutdown_is_stored_and_handled_after_the_next_start() {
    let mut harness = ProcessHarness::open().await;
    let commit = push_and_wait(&harness, "Asked for at the last moment").await;
    let body = "team_id=T0ACME&channel_id=C0DEPLOYS&user_id=U0ALICE&command=%2Fpromote&text=checkout+qa&trigger_id=1.1";
    let now = harness.world.clock.now().as_second().to_string();
    let signature = hex_hmac(SIGNING_SECRET, &[b"v0:", now.as_bytes(), b":", body.as_bytes()]);
    let head = format!(
        "POST /slack/commands HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\nX-Slack-Request-Timestamp: {now}\r\n\
         X-Slack-Signature: v0={signature}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    let (first, rest) = body.split_at(20);
    let mut stream = TcpStream::connect(&harness.address).unwrap();
    stream.write_all(format!("{head}{first}").as_bytes()).unwrap();
    // The server sends this when the handler starts to read the body.
    let mut interim = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");

    let started = Instant::now();
    harness.terminate();
    wait_until("new connections are refused", async || TcpStream::connect(&harness.address).is_err()).await;
    stream.write_all(rest.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Looking"), "{answer}");
    assert_ends_in_time(&mut harness, started).await;

    harness.restart().await;
    wait_until("the promotion ends", async || is_running_in_qa(&harness, &commit)).await;
}
