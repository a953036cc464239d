//! `/metrics` as Prometheus scrapes it: names and units follow its conventions, and the numbers are right.

pub(crate) mod scrape;

use std::time::{Duration, Instant};

use gantry::domain::change::Change;
use gantry::domain::model::ids::ChangeId;
use gantry::sim::faults::Fault;
use gantry::sim::world::GITHUB_WEBHOOK_SECRET;
use jiff::SignedDuration;
use scrape::Scrape;
use serde_json::json;

use crate::harness::process::ProcessHarness;
use crate::harness::signing::hex_hmac;
use crate::harness::world::World;

/// A webhook of Flux for qa, signed with `secret`.
pub(crate) async fn send_flux_webhook(world: &World, secret: &str, body: &str) -> u16 {
    let sent = reqwest::Client::new()
        .post(format!("{}/webhooks/flux/qa", world.origin))
        .header("x-signature", format!("sha256={}", hex_hmac(secret, &[body.as_bytes()])))
        .body(body.to_owned());
    sent.send().await.unwrap().status().as_u16()
}

fn kustomization(name: &str) -> String {
    json!({
        "involvedObject": { "kind": "Kustomization", "name": name, "namespace": "flux-system" },
        "severity": "info", "timestamp": "2026-11-16T08:59:50Z", "reason": "ReconciliationSucceeded",
        "message": "Reconciliation finished", "metadata": { "revision": format!("main@sha1:{}", "a".repeat(40)) },
    })
    .to_string()
}

#[tokio::test]
async fn metrics_without_changes_have_a_zero_for_every_stage_and_environment() {
    let world = World::open().await;
    let scrape = Scrape::of(&world.origin).await;
    for stage in ["awaiting_approval", "merging", "deploying", "failed", "stalled"] {
        for environment in ["development", "qa", "staging", "prod"] {
            let labels = [("stage", stage), ("environment", environment)];
            assert_eq!(scrape.sum("gantry_changes", &labels), Some(0.0), "{labels:?}");
        }
    }
    assert_eq!(scrape.sum("gantry_build_info", &[("version", env!("CARGO_PKG_VERSION"))]), Some(1.0));
    assert_eq!(scrape.sum("gantry_outbox_messages", &[]), Some(0.0));
    assert_eq!(scrape.sum("gantry_inbox_items", &[("line", "requests")]), Some(0.0));
    assert_eq!(scrape.sum("gantry_store_readable", &[]), Some(1.0));
    assert_eq!(scrape.sum("gantry_store_commit_failures_total", &[]), Some(0.0));
    assert!(scrape.count("gantry_store_commit_duration_seconds_count", &[]) > 0);
    let started = scrape.sum("process_start_time_seconds", &[]).unwrap();
    assert!((started - 1_794_819_600.0).abs() < 3600.0, "{started}");
    for kind in ["deployment", "statefulset"] {
        let labels = [("context", "default"), ("namespace", "qa"), ("kind", kind)];
        assert_eq!(scrape.sum("gantry_watch_readable", &labels), Some(1.0), "{labels:?}");
    }
    for source in ["flux", "argocd", "github", "deployments", "cdevents"] {
        assert_eq!(scrape.sum("gantry_reports_total", &[("source", source), ("result", "refused")]), Some(0.0));
    }
}

#[tokio::test]
async fn each_change_and_each_of_its_steps_is_counted_once() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::Github502, 1, None, None);
    world.alice().types("/promote checkout qa").await;
    let labels = [("kind", "promotion"), ("environment", "qa")];
    let scrape = Scrape::of(&world.origin).await;
    assert_eq!(scrape.count("gantry_changes_begun_total", &labels), 1);
    assert_eq!(scrape.count("gantry_changes_ended_total", &[("end", "deployed"), labels[0], labels[1]]), 1);
    assert_eq!(scrape.count("gantry_changes_ended_total", &[]), 1);
    for step in ["merge", "build", "rollout"] {
        let count = scrape.count("gantry_change_step_duration_seconds_count", &[("step", step), labels[0], labels[1]]);
        assert_eq!(count, 1, "{step}");
    }
    assert_eq!(scrape.sum("gantry_change_step_duration_seconds_count", &[("step", "approval")]), None);
    let steps = scrape.sum("gantry_change_step_duration_seconds_sum", &labels).unwrap();
    let total = scrape.sum("gantry_change_duration_seconds_sum", &labels).unwrap();
    assert!(total > 1.0 && (steps - total).abs() < 0.001, "the steps add up to the whole: {steps} of {total}");
    assert!(scrape.count("gantry_github_requests_total", &[("status", "5xx")]) >= 1);
    assert!(scrape.count("gantry_github_requests_total", &[("status", "2xx")]) >= 9);
    let remaining = scrape.sum("gantry_github_rate_remaining", &[]).unwrap();
    assert!((4_000.0..5_000.0).contains(&remaining), "{remaining}");
    assert!(scrape.sum("gantry_github_rate_reset_timestamp_seconds", &[]).unwrap() > 1_794_000_000.0);
    assert!(scrape.count("gantry_slack_calls_total", &[("method", "chat.postMessage"), ("result", "ok")]) >= 2);
    assert!(scrape.count("gantry_slack_calls_total", &[("method", "chat.update"), ("result", "ok")]) >= 1);

    // An hour of polling counts nothing twice.
    world.wait(SignedDuration::from_hours(1)).await;
    let later = Scrape::of(&world.origin).await;
    assert_eq!(later.count("gantry_changes_ended_total", &[]), 1);
    assert_eq!(later.count("gantry_change_step_duration_seconds_count", &[]), 3);

    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    let scrape = Scrape::of(&world.origin).await;
    let rollback = [("kind", "rollback"), ("environment", "qa")];
    assert_eq!(scrape.count("gantry_changes_begun_total", &rollback), 1);
    assert_eq!(scrape.count("gantry_changes_ended_total", &[("end", "deployed"), rollback[0], rollback[1]]), 1);
    assert_eq!(scrape.count("gantry_changes_ended_total", &[]), 2);

    world.push("storefront", "Larger pictures");
    world.settle().await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("storefront".into()), Some("qa".into()));
    world.alice().types("/promote storefront qa").await;
    world.alice().clicks("Confirm").await;
    let scrape = Scrape::of(&world.origin).await;
    assert_eq!(scrape.count("gantry_changes_ended_total", &[("end", "failed")]), 1);
    assert_eq!(scrape.sum("gantry_changes", &[("stage", "failed"), ("environment", "qa")]), Some(1.0));
    // The third change is merged, but never runs.
    assert_eq!(scrape.count("gantry_change_step_duration_seconds_count", &[("step", "merge")]), 3);
    assert_eq!(scrape.count("gantry_change_step_duration_seconds_count", &[("step", "rollout")]), 2);
}

#[tokio::test]
async fn metrics_show_changes_that_wait_for_approval_with_their_age() {
    let world = World::open().await;
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks("Confirm").await;
    world.wait(SignedDuration::from_mins(10)).await;
    let scrape = Scrape::of(&world.origin).await;
    let labels = [("stage", "awaiting_approval"), ("environment", "prod")];
    assert_eq!(scrape.sum("gantry_changes", &labels), Some(1.0));
    let age = scrape.sum("gantry_change_oldest_seconds", &labels).unwrap();
    assert!((600.0..700.0).contains(&age), "{age}");
    world.bob().clicks_in("releases", "Approve").await;
    let scrape = Scrape::of(&world.origin).await;
    assert_eq!(scrape.sum("gantry_changes", &labels), Some(0.0));
    assert_eq!(scrape.sum("gantry_change_oldest_seconds", &labels), Some(0.0));
    let approved = scrape.sum("gantry_change_step_duration_seconds_sum", &[("step", "approval")]).unwrap();
    assert!((600.0..700.0).contains(&approved), "{approved}");
}

#[tokio::test]
async fn commands_and_refusals_are_counted_by_kind() {
    let world = World::open().await;
    for text in
        ["/list", "/list checkout", "/gantry help", "/gantry staus", "/gantry status", "/promote checkout development"]
    {
        world.alice().types(text).await;
    }
    world.alice().posts("deploys", None, "@gantry list").await;
    world.carol().types("/gantry lock qa for 1h testing").await;
    world.alice().types("/promote checkout qa").await;
    let scrape = Scrape::of(&world.origin).await;
    let count_commands = |command| scrape.count("gantry_commands_total", &[("command", command)]);
    assert_eq!(
        ["list", "help", "misunderstood", "status", "promote", "lock", "rollback"].map(count_commands),
        [3, 1, 1, 1, 2, 1, 0]
    );
    let count_refusals = |refusal| scrape.count("gantry_refusals_total", &[("refusal", refusal)]);
    assert_eq!(["first_rung", "locked"].map(count_refusals), [1, 1]);
    assert_eq!(scrape.count("gantry_refusals_total", &[]), 2);
    assert_eq!(scrape.count("gantry_changes_begun_total", &[]), 0);
}

#[tokio::test]
async fn refusals_of_lock_and_unlock_are_counted() {
    let world = World::with_config(|configuration| {
        let qa = "  - name: qa\n";
        configuration.replace(qa, &format!("{qa}    promoters: [\"@release-managers\"]\n"))
    })
    .await;
    let refused = async || {
        let scrape = Scrape::of(&world.origin).await;
        let all = scrape.count("gantry_refusals_total", &[]);
        let by_name = |refusal| scrape.count("gantry_refusals_total", &[("refusal", refusal)]);
        (["may_not", "locked"].map(by_name), all)
    };
    world.alice().types("/gantry lock qa mine").await;
    assert_eq!(refused().await, ([1, 0], 1));
    world.bob().types("/gantry lock qa load test").await;
    world.alice().types("/gantry unlock qa").await;
    assert_eq!(refused().await, ([2, 0], 2));
    world.carol().types("/gantry lock qa as well").await;
    assert_eq!(refused().await, ([2, 1], 3));
    world.alice().types("/gantry lock prod mine").await;
    world.carol().types("/gantry unlock qa").await;
    // `unlock` without a lock is not a refusal by a rule.
    world.carol().types("/gantry unlock qa").await;
    assert_eq!(refused().await, ([2, 1], 3));
}

#[tokio::test]
async fn webhooks_are_counted_by_sender_and_result() {
    let world = World::open().await;
    let secret = "flux-secret-of-qa";
    assert_eq!(send_flux_webhook(&world, secret, &kustomization("nobody")).await, 202);
    world.settle().await;
    assert_eq!(send_flux_webhook(&world, secret, &kustomization("nobody")).await, 202);
    assert_eq!(send_flux_webhook(&world, secret, "nonsense").await, 400);
    assert_eq!(send_flux_webhook(&world, "not the secret", &kustomization("x")).await, 401);
    assert_eq!(send_flux_webhook(&world, "not the secret", "nonsense").await, 401);
    world.push("checkout", "Round totals");
    world.settle().await;
    let status = json!({ "repository": { "full_name": "acme/checkout" }, "sha": "a".repeat(40) }).to_string();
    let request = reqwest::Client::new()
        .post(format!("{}/webhooks/github", world.origin))
        .header("x-github-event", "status")
        .header("x-hub-signature-256", format!("sha256={}", hex_hmac(GITHUB_WEBHOOK_SECRET, &[status.as_bytes()])));
    assert_eq!(request.body(status).send().await.unwrap().status(), 202);
    world.settle().await;
    let scrape = Scrape::of(&world.origin).await;
    let flux = |result| scrape.count("gantry_reports_total", &[("source", "flux"), ("result", result)]);
    assert_eq!(["unmapped", "duplicate", "unreadable", "refused"].map(flux), [1, 1, 1, 2]);
    assert!(flux("mapped") >= 1, "the simulated controller sent a report");
    assert_eq!(scrape.count("gantry_reports_total", &[("source", "github"), ("result", "notice")]), 1);
}

#[tokio::test]
async fn metrics_show_messages_that_wait_while_slack_is_down() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::SlackDown, 1_000, None, None);
    world.push("checkout", "Round totals");
    let pushed_at = world.clock.now();
    let failed = [("method", "chat.postMessage"), ("result", "transient")];
    // The bot retries with growing delays.
    let while_down = loop {
        world.wait_until_idle().await;
        let scrape = Scrape::of(&world.origin).await;
        if scrape.count("gantry_slack_calls_total", &failed) >= 3 {
            break scrape;
        }
        world.clock.advance(SignedDuration::from_secs(1));
    };
    assert!(while_down.sum("gantry_outbox_messages", &[]).unwrap() >= 1.0);
    let age = while_down.sum("gantry_outbox_oldest_seconds", &[]).unwrap();
    assert!(age >= 2.0 && age < world.clock.now().duration_since(pushed_at).as_secs_f64(), "{age}");
}

#[tokio::test]
async fn the_age_of_a_watch_grows_until_the_next_event() {
    let world = World::open().await;
    let labels = [("namespace", "staging"), ("kind", "deployment")];
    world.clock.advance(SignedDuration::from_secs(400));
    let scrape = Scrape::of(&world.origin).await;
    assert!(scrape.sum("gantry_watch_age_seconds", &labels).unwrap() >= 400.0);
    world.alice().types("/promote checkout staging").await;
    let scrape = Scrape::of(&world.origin).await;
    assert!(scrape.sum("gantry_watch_age_seconds", &labels).unwrap() < 60.0);
}

#[tokio::test]
async fn a_scrape_answers_quickly_when_the_store_does_not() {
    let world = World::open().await;
    world.bot.store.close().await;
    let started = Instant::now();
    let scrape = Scrape::of(&world.origin).await;
    assert!(started.elapsed() < Duration::from_secs(3));
    assert_eq!(scrape.sum("gantry_store_readable", &[]), Some(0.0));
    assert_eq!(scrape.sum("gantry_ready", &[]), Some(0.0));
    assert_eq!(scrape.sum("gantry_outbox_messages", &[]), None, "an unknown value has no series");
    assert!(scrape.sum("gantry_changes", &[]).is_some());
}

/// `gantry serve` has a separate listener for metrics, which the ingress does not reach.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serve_has_a_separate_listener_for_metrics() {
    let harness = ProcessHarness::open().await;
    let metrics = harness.metrics_url();
    let scrape = Scrape::of(&metrics).await;
    assert_eq!(scrape.sum("gantry_store_readable", &[]), Some(1.0));
    let outside = reqwest::get(format!("http://{}/metrics", harness.address)).await.unwrap();
    assert_eq!(outside.status(), 404);
    let inside = reqwest::get(format!("{metrics}/readyz")).await.unwrap();
    assert_eq!(inside.status(), 404);
}

#[tokio::test]
async fn a_scrape_with_a_thousand_open_changes_is_fast() {
    let world = World::open().await;
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks("Confirm").await;
    let change = world.bot.store.list_open_changes().await.unwrap().pop().expect("a change that waits");
    let many = (1..1_000).map(|_| Change { id: ChangeId::new(change.requested_at), ..change.clone() }).collect();
    world.bot.open_changes.load(many);
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let started = Instant::now();
        let answer = reqwest::get(format!("{}/metrics", world.origin)).await.unwrap().bytes().await.unwrap();
        fastest = fastest.min(started.elapsed());
        println!("{} bytes for 1,000 open changes after {:?}", answer.len(), started.elapsed());
    }
    let scrape = Scrape::of(&world.origin).await;
    assert_eq!(scrape.sum("gantry_changes", &[("stage", "awaiting_approval"), ("environment", "prod")]), Some(1_000.0));
    assert!(fastest < Duration::from_millis(500), "{fastest:?}");
}
