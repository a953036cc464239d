//! `/readyz`, by which a cluster decides whether to send requests: it names the part that is not ready, and never
//! waits.

use std::time::{Duration, Instant};

use gantry::sim::faults::Fault;
use reqwest::StatusCode;
use serde_json::Value;

use crate::harness::process::{PauseWhen, ProcessHarness, wait_until};
use crate::harness::world::World;
use crate::ops::metrics::scrape::Scrape;

async fn readyz(origin: &str) -> (StatusCode, Value) {
    let answer = reqwest::get(format!("{origin}/readyz")).await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

#[tokio::test]
async fn the_bot_stays_ready_while_a_cluster_is_down_and_says_so() {
    let world = World::open().await;
    let (status, body) = readyz(&world.origin).await;
    assert_eq!((status.as_u16(), &body["ready"], body["missing"].as_array().unwrap().len()), (200, &true.into(), 0));
    world.sim.faults.arm(Fault::ClusterDown, 100_000, None, None);
    world.sim.cluster.end_streams();
    wait_until("the cluster is unreadable", async || {
        readyz(&world.origin).await.1.to_string().contains("unreadable since")
    })
    .await;
    let (status, body) = readyz(&world.origin).await;
    assert_eq!((status.as_u16(), &body["ready"]), (200, &true.into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bot_is_not_ready_while_the_store_cannot_be_written_and_recovers_by_itself() {
    let harness = ProcessHarness::open().await;
    let origin = format!("http://{}", harness.address);
    assert_eq!(readyz(&origin).await.0, 200);
    let write_lock = harness.block_database_writes().await;
    wait_until("the bot is not ready", async || readyz(&origin).await.0 == 503).await;
    let started = Instant::now();
    let (_, body) = readyz(&origin).await;
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(body["ready"], false);
    assert!(body["missing"][0].as_str().unwrap().starts_with("The store"), "{body}");
    let scrape = Scrape::of(&harness.metrics_url()).await;
    assert_eq!(scrape.sum("gantry_ready", &[]), Some(0.0));
    drop(write_lock);
    wait_until("the bot is ready again", async || readyz(&origin).await.0 == 200).await;
    let recovered = Scrape::of(&harness.metrics_url()).await;
    assert_eq!(recovered.sum("gantry_ready", &[]), Some(1.0));
}

/// During the shutdown the listener for requests is closed, but the metrics still say that the bot is not ready.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bot_is_not_ready_while_it_shuts_down() {
    let harness = ProcessHarness::open().await;
    let metrics = harness.metrics_url();
    // A merge is finished before the bot ends. A lookup in the background would be aborted, and the process would end
    // at once.
    harness.interceptor.pause_matching("POST /sim/github/repos/acme/checkout/merges", PauseWhen::AfterTheEffect);
    harness.world.slack.type_command("alice", "deploys", "/promote checkout qa").await.unwrap();
    wait_until("the merge is paused", async || harness.interceptor.paused_request().is_some()).await;
    assert_eq!(Scrape::of(&metrics).await.sum("gantry_ready", &[]), Some(1.0));
    harness.terminate();
    wait_until("the bot is not ready any more", async || {
        Scrape::of(&metrics).await.sum("gantry_ready", &[]) == Some(0.0)
    })
    .await;
    harness.interceptor.resume();
}
