//! A disk that is full for a moment: requests are refused while it is full, and every request that is acknowledged
//! later is stored. A library that is preloaded into the bot simulates the full disk.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::Value;
use sqlx::{Connection, SqliteConnection};

use crate::harness::process::{ProcessHarness, ProcessOptions, wait_until};
use crate::harness::signing::hex_hmac;

/// Simulates a full disk for the bot's database.
struct FullDisk {
    folder: tempfile::TempDir,
}

impl FullDisk {
    /// Every machine with a build of Gantry has a C compiler, because the database engine is built with it.
    fn compile() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/ops/full_disk/full_disk.c");
        let library = folder.path().join("full_disk.so");
        let built =
            Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).args(["-ldl"]).status();
        assert!(built.unwrap().success(), "{source} does not compile");
        Self { folder }
    }

    fn control(&self) -> PathBuf {
        self.folder.path().join("full")
    }

    fn variables(&self) -> [(&'static str, String); 2] {
        let library = self.folder.path().join("full_disk.so");
        [("LD_PRELOAD", library.display().to_string()), ("FULL_DISK", self.control().display().to_string())]
    }

    fn fill(&self) {
        std::fs::write(self.control(), "").unwrap();
    }

    fn free(&self) {
        std::fs::remove_file(self.control()).unwrap();
    }
}

async fn open() -> (ProcessHarness, FullDisk) {
    let disk = FullDisk::compile();
    let options = ProcessOptions { variables: disk.variables().into(), ..ProcessOptions::default() };
    (ProcessHarness::with_options(options, |yaml, _| yaml).await, disk)
}

/// Sends a command, and returns the acknowledgement.
async fn type_command(harness: &ProcessHarness, text: &str) -> String {
    let ack = harness.world.slack.type_command("alice", "deploys", text).await.unwrap();
    assert_eq!(ack.status, 200, "{ack:?}");
    ack.body.to_string()
}

/// Sends a report as Flux would. Each number gives a different report.
async fn send_report(harness: &ProcessHarness, number: usize) -> StatusCode {
    let body = serde_json::json!({
        "involvedObject": { "kind": "Kustomization", "name": "checkout", "namespace": "flux-system" },
        "severity": "info", "timestamp": "2026-11-16T09:00:01Z", "reason": "Progressing",
        "message": format!("configured {number}"), "metadata": { "revision": format!("qa@sha1:{number:040}") },
    })
    .to_string();
    let signature = format!("sha256={}", hex_hmac("flux-secret-of-qa", &[body.as_bytes()]));
    let url = format!("http://{}/webhooks/flux/qa", harness.address);
    let sent = reqwest::Client::new().post(url).header("x-signature", signature).body(body).send().await;
    sent.unwrap().status()
}

async fn readyz(harness: &ProcessHarness) -> (StatusCode, Value) {
    let answer = reqwest::get(format!("http://{}/readyz", harness.address)).await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

/// The stored commands and reports that another connection sees. A kill would not lose them.
async fn count_stored_requests(harness: &ProcessHarness) -> (i64, i64) {
    let mut connection = SqliteConnection::connect(&harness.database_url()).await.unwrap();
    let count =
        "SELECT COUNT(*) FILTER (WHERE source = 'slack_command'), COUNT(*) FILTER (WHERE source = 'flux') FROM inbox";
    sqlx::query_as(count).fetch_one(&mut connection).await.unwrap()
}

/// Sends commands and reports, and asserts that each is refused without delay.
async fn assert_refused_at_once(harness: &ProcessHarness) {
    for number in 0..4 {
        let started = Instant::now();
        let refusal = type_command(harness, "/promote checkout qa").await;
        assert!(refusal.contains("I could not keep your request, so nothing was done"), "{refusal}");
        assert_eq!(send_report(harness, number).await, 503);
        assert!(started.elapsed() < Duration::from_secs(2), "refused only after {:?}", started.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_full_disk_every_acknowledged_request_is_stored() {
    let (mut harness, disk) = open().await;
    disk.fill();
    // Several failures in a row: after the first, sqlx miscounts its transactions; after the second, it leaves one
    // open.
    assert_refused_at_once(&harness).await;
    wait_until("the bot is not ready", async || readyz(&harness).await.0 == 503).await;
    let (_, body) = readyz(&harness).await;
    assert!(body["missing"][0].as_str().unwrap().starts_with("The store cannot be written."), "{body}");

    disk.free();
    wait_until("the bot is ready again", async || readyz(&harness).await.0 == 200).await;
    let (commands, reports) = count_stored_requests(&harness).await;
    for number in 10..15 {
        let ack = type_command(&harness, "/gantry why checkout qa").await;
        assert!(!ack.contains("could not keep"), "{ack}");
        assert_eq!(send_report(&harness, number).await, 202);
    }
    assert_eq!(count_stored_requests(&harness).await, (commands + 5, reports + 5), "acknowledged and stored");

    harness.terminate();
    wait_until("the bot ends", async || harness.exit_status().is_some()).await;
    assert_eq!(count_stored_requests(&harness).await, (commands + 5, reports + 5), "and not discarded at the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_refused_at_once_while_the_database_cannot_be_reopened() {
    let (harness, disk) = open().await;
    let file = harness.database_url().strip_prefix("sqlite://").map(PathBuf::from).unwrap();
    let aside = file.with_file_name("aside.db");
    disk.fill();
    type_command(&harness, "/promote checkout qa").await;
    // The bot closes the failed connection. The file for the next connection is missing.
    std::fs::rename(&file, &aside).unwrap();
    disk.free();
    assert_refused_at_once(&harness).await;
    wait_until("the bot is not ready", async || {
        readyz(&harness).await.1["missing"][0].as_str().is_some_and(|reason| reason.contains("it cannot be reopened"))
    })
    .await;

    std::fs::rename(&aside, &file).unwrap();
    wait_until("the bot is ready again", async || readyz(&harness).await.0 == 200).await;
    let (commands, _) = count_stored_requests(&harness).await;
    type_command(&harness, "/gantry why checkout qa").await;
    assert_eq!(count_stored_requests(&harness).await.0, commands + 1);
}
