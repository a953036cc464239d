//! SIGTERM: nobody is let in any more, what is under way is finished or handed back within ten seconds, and the next start
//! goes on as if nothing had been.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use gantry::domain::model::version::Sha;
use gantry::sim::town::SIGNING_SECRET;

use crate::harness::process::{Apart, Hold, until};
use crate::harness::world::shown;
use crate::ops::receiving::hex_hmac;

const WITHIN: Duration = Duration::from_secs(10);

/// A push that runs in development, and can be promoted.
async fn pushed(apart: &Apart, message: &str) -> Sha {
    let pushed = apart.town.push("checkout", "develop", message, BTreeMap::new(), "alice").unwrap();
    until("the push runs", async || apart.says(message) > 0).await;
    pushed
}

async fn promote(apart: &Apart) {
    let ack = apart.town.slack.type_command("alice", "deploys", "/promote checkout qa").await.unwrap();
    assert_eq!(ack.status, 200);
}

fn is_green(apart: &Apart, commit: &Sha) -> bool {
    let version = format!("`develop-{}`", commit.short());
    let green = |text: String| text.contains(&version) && text.contains("running in *qa*");
    apart.messages().iter().any(|message| message.thread.is_some() && green(shown(message)))
}

async fn ends(apart: &mut Apart, begun: Instant) {
    until("the bot ends", async || apart.ended().is_some()).await;
    assert!(apart.ended().unwrap().success(), "{:?}", apart.ended());
    assert!(begun.elapsed() < WITHIN, "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_is_under_way_is_finished_and_not_done_again() {
    let mut apart = Apart::open().await;
    let commit = pushed(&apart, "A push to merge").await;
    apart.gate.close_for("POST /sim/github/repos/acme/checkout/merges", Hold::AfterTheEffect);
    promote(&apart).await;
    until("the merge is held", async || apart.gate.held().is_some()).await;

    let begun = Instant::now();
    apart.terminate();
    until("nobody is let in", async || TcpStream::connect(&apart.address).is_err()).await;
    assert_eq!(apart.ended(), None, "it waits for its merge");
    apart.gate.open();
    ends(&mut apart, begun).await;
    // Only a bot that waited for the answer can have stored that the merge is done.
    apart.until_stored("change WHERE stage = $1", "deploying").await;
    let before = apart.gate.asked("");

    apart.restart().await;
    until("the promotion ends", async || is_green(&apart, &commit)).await;
    assert_eq!(apart.gate.asked("/merges"), 1, "what was stored is not asked again");
    assert!(apart.gate.asked("") > before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_on_its_way_is_posted_once() {
    let mut apart = Apart::open().await;
    apart.gate.close_for("/chat.postMessage", Hold::AfterTheEffect);
    apart.town.push("checkout", "develop", "Told once", BTreeMap::new(), "alice").unwrap();
    until("the message is held", async || apart.gate.held().is_some()).await;
    let begun = Instant::now();
    apart.terminate();
    until("nobody is let in", async || TcpStream::connect(&apart.address).is_err()).await;
    apart.gate.open();
    ends(&mut apart, begun).await;

    apart.restart().await;
    pushed(&apart, "And then another").await;
    assert_eq!(apart.says("Told once"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_finished_in_time_is_handed_back() {
    let mut apart = Apart::open().await;
    let commit = pushed(&apart, "A push that is held up").await;
    apart.gate.close_for("POST /sim/github/repos/acme/checkout/merges", Hold::AfterTheEffect);
    promote(&apart).await;
    until("the merge is held", async || apart.gate.held().is_some()).await;
    let begun = Instant::now();
    apart.terminate();
    ends(&mut apart, begun).await;
    apart.gate.open();

    apart.restart().await;
    until("the promotion ends", async || is_green(&apart, &commit)).await;
    let merges = apart.town.github.graph("acme/checkout", 1000);
    assert_eq!(merges.iter().filter(|it| it.parents.get(1) == Some(&commit)).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_being_read_is_kept_and_answered_after_the_next_start() {
    let mut apart = Apart::open().await;
    let commit = pushed(&apart, "Asked for at the last moment").await;
    let body = "team_id=T0ACME&channel_id=C0DEPLOYS&user_id=U0ALICE&command=%2Fpromote&text=checkout+qa&trigger_id=1.1";
    let now = apart.town.clock.now().as_second().to_string();
    let signature = hex_hmac(SIGNING_SECRET, &[b"v0:", now.as_bytes(), b":", body.as_bytes()]);
    let head = format!(
        "POST /slack/commands HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\nX-Slack-Request-Timestamp: {now}\r\n\
         X-Slack-Signature: v0={signature}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    let (first, rest) = body.split_at(20);
    let mut stream = TcpStream::connect(&apart.address).unwrap();
    stream.write_all(format!("{head}{first}").as_bytes()).unwrap();
    // The server sends this when the handler starts to read the body.
    let mut interim = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");

    let begun = Instant::now();
    apart.terminate();
    until("nobody is let in", async || TcpStream::connect(&apart.address).is_err()).await;
    stream.write_all(rest.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Looking"), "{answer}");
    ends(&mut apart, begun).await;

    apart.restart().await;
    until("the promotion ends", async || is_green(&apart, &commit)).await;
}
