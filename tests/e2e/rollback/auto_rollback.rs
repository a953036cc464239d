//! `auto_rollback` acts on the cluster's own verdict, on a report that the commit could not be built or applied, and on
//! a deadline without proof. A health report, or a condition that the cluster may still overcome, triggers nothing
//! before that.

use gantry::domain::model::version::Sha;
use gantry::domain::model::workload::{Workload, WorkloadKind};
use gantry::sim::cluster::RolloutOrder;
use gantry::sim::faults::Fault;
use gantry::sim::pace::Pace;
use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::harness::process::wait_until;
use crate::harness::rollback::{card, head, redact_commits, rollbacks};
use crate::harness::signing::send_flux_report;
use crate::harness::world::World;

const QA_SECRET: &str = "flux-secret-of-qa";

fn with_auto_rollback(yaml: &str) -> String {
    yaml.replacen("  - name: qa\n", "  - name: qa\n    auto_rollback: true\n", 1)
}

/// A promotion to qa that is merged and not built yet. Returns the commit that must run.
async fn begin_promotion(world: &World) -> Sha {
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    head(world, "qa")
}

/// Lets Gantry handle all reports, and a little time pass.
async fn pass_a_moment(world: &World) {
    for _ in 0..2 {
        world.wait_until_idle().await;
        world.clock.advance(SignedDuration::from_millis(600));
    }
    world.wait_until_idle().await;
}

/// An event of kustomize-controller 1.9.4, as notification-controller sends it.
fn flux_failure(commit: &Sha, reason: &str, message: &str) -> Value {
    json!({
        "involvedObject": { "kind": "Kustomization", "name": "checkout", "namespace": "flux-system" },
        "severity": "error", "timestamp": "2026-11-16T09:00:01Z", "message": message, "reason": reason,
        "metadata": { "revision": format!("qa@sha1:{commit}") }, "reportingController": "kustomize-controller",
    })
}

async fn send_flux(world: &World, body: &Value) {
    assert_eq!(send_flux_report(world, "qa", &body.to_string(), QA_SECRET).await, 202);
}

/// A report of Argo CD 3.5.1 through the shipped template.
async fn send_argocd(world: &World, commit: &Sha, phase: &str, health: &str, message: &str) {
    let body = json!({
        "application": "checkout-qa", "namespace": "argocd", "labels": { "gantry.dev/artefact": "checkout" },
        "repository": "https://github.com/acme/checkout.git", "phase": phase, "message": message,
        "startedAt": "2026-11-16T09:00:00Z", "finishedAt": "2026-11-16T09:00:01Z", "revision": commit, "revisions": [],
        "sync": "Synced", "syncRevision": commit, "syncRevisions": [], "health": health, "images": [],
    });
    let client = reqwest::Client::new().post(format!("{}/webhooks/argocd/qa", world.origin));
    let sent = client.bearer_auth(QA_SECRET).body(body.to_string()).send().await.unwrap();
    assert_eq!(sent.status(), 202);
}

#[tokio::test]
async fn a_tight_quota_delays_a_rollout_and_does_not_fail_it() {
    let world = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
    world.sim.cluster.limit_pods("qa", Some(world.sim.cluster.pods_in("qa")));
    let result = begin_promotion(&world).await;
    world.settle_until(|| card(&world, "deploys").contains("exceeded quota")).await;
    let delayed = card(&world, "deploys");
    let lines: Vec<_> = delayed.lines().take(4).collect();
    assert_snapshot!(redact_commits(&world, &lines.join("\n"), &[(&result, "result")]).replace(&pod_name(&delayed), "<pod>"), @r#"
    :hourglass_flowing_sand: *checkout* `develop-d6c66c2`: deploying to *qa*, 0 of 2 ready
    :white_check_mark: merged 0 s  ›  :white_check_mark: built 2 s  ›  :hourglass_flowing_sand: rolling out 0/2  ›  :white_circle: running
    merged into `qa` as <http://world/sim/github/acme/checkout/commit/<result>|<result>> · tagged `qa/2026.11.16-1`
    :warning: the rollout is delayed: pods "<pod>" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2
    "#);
    world.bob().types_without_waiting("deploys", "/list checkout qa").await;
    world.wait_until_idle().await;
    assert!(world.bob().reads().contains("rolling out 0/2: pods"), "{}", world.bob().reads());

    world.sim.cluster.limit_pods("qa", None);
    world.settle().await;
    let green = card(&world, "deploys");
    assert!(green.contains("running in *qa*, 2 of 2 ready") && !green.contains("quota"), "{green}");
    assert_eq!((rollbacks(&world), head(&world, "qa")), (0, result));
}

fn pod_name(card: &str) -> String {
    let name = card.split("pods \"").nth(1).and_then(|rest| rest.split('"').next());
    name.expect("the refused pod is named").to_owned()
}

#[tokio::test]
async fn a_quota_that_stays_tight_fails_the_rollout_at_its_progress_deadline() {
    let world = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
    world.sim.cluster.limit_pods("qa", Some(world.sim.cluster.pods_in("qa")));
    begin_promotion(&world).await;
    let merged_at = world.clock.now();
    world.settle_until(|| rollbacks(&world) > 0).await;
    let waited = world.clock.now().duration_since(merged_at);
    assert!(waited >= Pace::default().deadline, "rolled back after {waited:#}");
    let failed = world
        .public_messages("deploys")
        .into_iter()
        .find(|message| message.contains("failed in *qa*"))
        .expect("a red card");
    assert!(failed.contains("exceeded quota"), "{failed}");
}

#[tokio::test]
async fn a_health_report_alone_rolls_nothing_back() {
    let neighbour = "health check failed after 72ms: failed early due to stalled resources: \
                     [Deployment/qa/other status: 'Failed']";
    let timeout = "health check failed after 30s: timeout waiting for: [Deployment/qa/checkout status: 'InProgress']";
    for case in ["a neighbour's workload", "Flux's timeout", "a degraded Application", "a failed sync wave"] {
        let world = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
        world.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
        let result = begin_promotion(&world).await;
        match case {
            "a neighbour's workload" => {
                send_flux(&world, &flux_failure(&result, "HealthCheckFailed", neighbour)).await;
            }
            "Flux's timeout" => send_flux(&world, &flux_failure(&result, "HealthCheckFailed", timeout)).await,
            "a degraded Application" => {
                send_argocd(&world, &result, "Succeeded", "Degraded", "successfully synced").await;
            }
            _ => {
                let unhealthy = "one or more synchronization tasks completed unsuccessfully";
                send_argocd(&world, &result, "Failed", "Degraded", unhealthy).await;
            }
        }
        pass_a_moment(&world).await;
        assert!(card(&world, "deploys").contains("failed in *qa*"), "{case}: the report was handled");
        world.settle().await;
        let green = card(&world, "deploys");
        assert!(green.contains("running in *qa*, 2 of 2 ready"), "{case}: {green}");
        assert_eq!((rollbacks(&world), head(&world, "qa")), (0, result), "{case}");
    }
}

/// Flux takes the failure back as soon as it tries again. That is no reason to roll back either.
#[tokio::test]
async fn a_withdrawn_health_report_rolls_nothing_back() {
    let world = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
    world.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
    let result = begin_promotion(&world).await;
    send_flux(&world, &flux_failure(&result, "HealthCheckFailed", "health check failed after 30s")).await;
    pass_a_moment(&world).await;
    let mut progressing = flux_failure(&result, "Progressing", "Deployment/qa/checkout configured");
    progressing["severity"] = "info".into();
    progressing["timestamp"] = "2026-11-16T09:00:02Z".into();
    send_flux(&world, &progressing).await;
    pass_a_moment(&world).await;
    world.settle().await;
    assert_eq!((rollbacks(&world), head(&world, "qa")), (0, result));
}

#[tokio::test]
async fn after_a_health_report_a_failure_in_the_cluster_triggers_the_rollback() {
    let world = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
    let result = begin_promotion(&world).await;
    send_flux(&world, &flux_failure(&result, "HealthCheckFailed", "health check failed after 30s")).await;
    pass_a_moment(&world).await;
    assert_eq!(rollbacks(&world), 0, "the report alone");
    world.settle().await;
    assert_eq!(rollbacks(&world), 1, "the crash");
    let failed = world
        .public_messages("deploys")
        .into_iter()
        .find(|message| message.contains("failed in *qa*"))
        .expect("a red card");
    assert!(failed.contains("*Why:* CrashLoopBackOff"), "{failed}");
}

/// GitHub fails while the rollback is prepared, and the workload recovers meanwhile. An old health report does not
/// count then.
#[tokio::test]
async fn a_workload_that_recovers_before_the_rollback_begins_is_not_rolled_back() {
    let world = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
    let result = begin_promotion(&world).await;
    world.settle_until(|| card(&world, "deploys").contains("tagged")).await;
    world.sim.faults.arm(Fault::Github502, 1000, None, None);
    world.settle_until(|| card(&world, "deploys").contains("failed in *qa*")).await;

    let workload = Workload { kind: WorkloadKind::Deployment, name: "checkout".into() };
    let image = world.sim.cluster.state("qa", &workload).image.expect("an image");
    let order = RolloutOrder { container: "checkout", image: &image, replicas: 2, crashes: false, slowness: 10 };
    world.sim.cluster.remove("qa", &workload);
    world.sim.cluster.roll_out("qa", &workload, &order);
    send_flux(&world, &flux_failure(&result, "HealthCheckFailed", "health check failed after 30s")).await;
    pass_a_moment(&world).await;
    while world.sim.faults.take_if_armed(Fault::Github502, None, None) {}
    world.settle().await;
    assert!(card(&world, "deploys").contains("running in *qa*, 2 of 2 ready"), "{}", card(&world, "deploys"));
    assert_eq!((rollbacks(&world), head(&world, "qa")), (0, result));
}

#[tokio::test]
async fn after_a_health_report_a_deadline_without_proof_triggers_the_rollback() {
    let qa = "branch: qa\n    cluster: { namespace: qa }\n    deploy_timeout: ";
    let world =
        World::with_config(|yaml| with_auto_rollback(&yaml.replace(&format!("{qa}90s"), &format!("{qa}6s")))).await;
    world.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
    let result = begin_promotion(&world).await;
    let merged_at = world.clock.now();
    send_flux(&world, &flux_failure(&result, "HealthCheckFailed", "health check failed after 3s")).await;
    world.settle_until(|| rollbacks(&world) > 0).await;
    let waited = world.clock.now().duration_since(merged_at);
    assert!(waited >= SignedDuration::from_secs(6), "rolled back after {waited:#}");
    assert_eq!(rollbacks(&world), 1);
}

/// The deadline does not confirm the report, because the state of the rollout was unreadable at that time.
#[tokio::test]
async fn a_health_report_is_not_confirmed_if_the_cluster_was_unreadable_at_the_deadline() {
    let world = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
    world.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
    let result = begin_promotion(&world).await;
    world.sim.cluster.set_down("qa", true);
    wait_until("the promotion is stalled", async || {
        world.clock.advance(SignedDuration::from_secs(2));
        card(&world, "deploys").contains("no proof that it runs")
    })
    .await;
    send_flux(&world, &flux_failure(&result, "HealthCheckFailed", "health check failed after 30s")).await;
    world.sim.cluster.set_down("qa", false);
    wait_until("the card is green", async || {
        world.clock.advance(SignedDuration::from_secs(1));
        card(&world, "deploys").contains("running in *qa*")
    })
    .await;
    assert_eq!((rollbacks(&world), head(&world, "qa")), (0, result));
}

#[tokio::test]
async fn a_commit_that_could_not_be_built_or_applied_is_rolled_back_at_once() {
    for case in ["BuildFailed", "ArtifactFailed", "ReconciliationFailed", "a refused apply", "a comparison error"] {
        let world = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
        let result = begin_promotion(&world).await;
        let began_at = world.clock.now();
        match case {
            "a refused apply" => {
                let refused = "one or more objects failed to apply, reason: Deployment.apps \"checkout\" is invalid";
                send_argocd(&world, &result, "Failed", "Healthy", refused).await;
            }
            "a comparison error" => {
                send_argocd(&world, &result, "Error", "Healthy", "ComparisonError: failed to generate manifest").await;
            }
            reason => send_flux(&world, &flux_failure(&result, reason, "kustomize build failed")).await,
        }
        world.settle_until(|| rollbacks(&world) > 0).await;
        let waited = world.clock.now().duration_since(began_at);
        assert!(waited < SignedDuration::from_secs(5), "{case}: rolled back after {waited:#}");
        assert_eq!(rollbacks(&world), 1, "{case}");
    }
}
