//! `auto_rollback` acts on the cluster's own verdict, on a report that the commit could not be built or applied, and on a
//! deadline without proof. A health report, or a condition that the cluster may still overcome, triggers nothing before that.

use gantry::domain::model::artefact::{Workload, WorkloadKind};
use gantry::domain::model::version::Sha;
use gantry::sim::cluster::RolloutOrder;
use gantry::sim::faults::Fault;
use gantry::sim::pace::Pace;
use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::harness::process::wait_until;
use crate::harness::world::World;
use crate::ops::receiving::send_flux_report;
use crate::rollback::by_branch::{card, head, redact_commits, rollbacks};

const QA_SECRET: &str = "flux-secret-of-qa";

fn with_auto_rollback(yaml: &str) -> String {
    yaml.replacen("  - name: qa\n", "  - name: qa\n    auto_rollback: true\n", 1)
}

/// A promotion to qa that is merged and not built yet. Returns the commit that must run.
async fn begin_promotion(town: &World) -> Sha {
    town.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    town.wait_until_idle().await;
    head(town, "qa")
}

/// Lets Gantry handle all reports, and a little time pass.
async fn pass_a_moment(town: &World) {
    for _ in 0..2 {
        town.wait_until_idle().await;
        town.clock.advance(SignedDuration::from_millis(600));
    }
    town.wait_until_idle().await;
}

/// An event of kustomize-controller 1.9.4, as notification-controller sends it.
fn flux_failure(commit: &Sha, reason: &str, message: &str) -> Value {
    json!({
        "involvedObject": { "kind": "Kustomization", "name": "checkout", "namespace": "flux-system" },
        "severity": "error", "timestamp": "2026-11-16T09:00:01Z", "message": message, "reason": reason,
        "metadata": { "revision": format!("qa@sha1:{commit}") }, "reportingController": "kustomize-controller",
    })
}

async fn send_flux(town: &World, body: &Value) {
    assert_eq!(send_flux_report(town, "qa", &body.to_string(), QA_SECRET).await, 202);
}

/// A report of Argo CD 3.5.1 through the shipped template.
async fn send_argocd(town: &World, commit: &Sha, phase: &str, health: &str, message: &str) {
    let body = json!({
        "application": "checkout-qa", "namespace": "argocd", "labels": { "gantry.dev/artefact": "checkout" },
        "repository": "https://github.com/acme/checkout.git", "phase": phase, "message": message,
        "startedAt": "2026-11-16T09:00:00Z", "finishedAt": "2026-11-16T09:00:01Z", "revision": commit, "revisions": [],
        "sync": "Synced", "syncRevision": commit, "syncRevisions": [], "health": health, "images": [],
    });
    let client = reqwest::Client::new().post(format!("{}/webhooks/argocd/qa", town.origin));
    let sent = client.bearer_auth(QA_SECRET).body(body.to_string()).send().await.unwrap();
    assert_eq!(sent.status(), 202);
}

#[tokio::test]
async fn a_tight_quota_delays_a_rollout_and_does_not_fail_it() {
    let town = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
    town.sim.cluster.limit_pods("qa", Some(town.sim.cluster.pods_in("qa")));
    let result = begin_promotion(&town).await;
    town.settle_until(|| card(&town, "deploys").contains("exceeded quota")).await;
    let delayed = card(&town, "deploys");
    let lines: Vec<_> = delayed.lines().take(4).collect();
    assert_snapshot!(redact_commits(&town, &lines.join("\n"), &[(&result, "result")]).replace(&pod_name(&delayed), "<pod>"), @r#"
    :hourglass_flowing_sand: *checkout* `develop-d6c66c2`: deploying to *qa*, 0 of 2 ready
    :white_check_mark: merged 0 s  ›  :white_check_mark: built 2 s  ›  :hourglass_flowing_sand: rolling out 0/2  ›  :white_circle: running
    merged into `qa` as <http://town/sim/github/acme/checkout/commit/<result>|<result>> · tagged `qa/2026.11.16-1`
    :warning: the rollout is delayed: pods "<pod>" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2
    "#);
    town.bob().types_without_waiting("deploys", "/list checkout qa").await;
    town.wait_until_idle().await;
    assert!(town.bob().reads().contains("rolling out 0/2: pods"), "{}", town.bob().reads());

    town.sim.cluster.limit_pods("qa", None);
    town.settle().await;
    let green = card(&town, "deploys");
    assert!(green.contains("running in *qa*, 2 of 2 ready") && !green.contains("quota"), "{green}");
    assert_eq!((rollbacks(&town), head(&town, "qa")), (0, result));
}

fn pod_name(card: &str) -> String {
    let name = card.split("pods \"").nth(1).and_then(|rest| rest.split('"').next());
    name.expect("the refused pod is named").to_owned()
}

#[tokio::test]
async fn a_quota_that_stays_tight_fails_the_rollout_at_its_progress_deadline() {
    let town = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
    town.sim.cluster.limit_pods("qa", Some(town.sim.cluster.pods_in("qa")));
    begin_promotion(&town).await;
    let merged_at = town.clock.now();
    town.settle_until(|| rollbacks(&town) > 0).await;
    let waited = town.clock.now().duration_since(merged_at);
    assert!(waited >= Pace::default().deadline, "rolled back after {waited:#}");
    let failed =
        town.public_messages("deploys").into_iter().find(|told| told.contains("failed in *qa*")).expect("a red card");
    assert!(failed.contains("exceeded quota"), "{failed}");
}

#[tokio::test]
async fn a_health_report_alone_rolls_nothing_back() {
    let neighbour = "health check failed after 72ms: failed early due to stalled resources: \
                     [Deployment/qa/other status: 'Failed']";
    let timeout = "health check failed after 30s: timeout waiting for: [Deployment/qa/checkout status: 'InProgress']";
    for case in ["a neighbour's workload", "Flux's timeout", "a degraded Application", "a failed sync wave"] {
        let town = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
        town.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
        let result = begin_promotion(&town).await;
        match case {
            "a neighbour's workload" => {
                send_flux(&town, &flux_failure(&result, "HealthCheckFailed", neighbour)).await;
            }
            "Flux's timeout" => send_flux(&town, &flux_failure(&result, "HealthCheckFailed", timeout)).await,
            "a degraded Application" => {
                send_argocd(&town, &result, "Succeeded", "Degraded", "successfully synced").await;
            }
            _ => {
                let unhealthy = "one or more synchronization tasks completed unsuccessfully";
                send_argocd(&town, &result, "Failed", "Degraded", unhealthy).await;
            }
        }
        pass_a_moment(&town).await;
        assert!(card(&town, "deploys").contains("failed in *qa*"), "{case}: the report was handled");
        town.settle().await;
        let green = card(&town, "deploys");
        assert!(green.contains("running in *qa*, 2 of 2 ready"), "{case}: {green}");
        assert_eq!((rollbacks(&town), head(&town, "qa")), (0, result), "{case}");
    }
}

/// Flux takes the failure back as soon as it tries again. That is no reason to roll back either.
#[tokio::test]
async fn a_health_report_that_was_taken_back_rolls_nothing_back() {
    let town = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
    town.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
    let result = begin_promotion(&town).await;
    send_flux(&town, &flux_failure(&result, "HealthCheckFailed", "health check failed after 30s")).await;
    pass_a_moment(&town).await;
    let mut again = flux_failure(&result, "Progressing", "Deployment/qa/checkout configured");
    again["severity"] = "info".into();
    again["timestamp"] = "2026-11-16T09:00:02Z".into();
    send_flux(&town, &again).await;
    pass_a_moment(&town).await;
    town.settle().await;
    assert_eq!((rollbacks(&town), head(&town, "qa")), (0, result));
}

#[tokio::test]
async fn after_a_health_report_the_cluster_decides() {
    let town = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
    town.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
    let result = begin_promotion(&town).await;
    send_flux(&town, &flux_failure(&result, "HealthCheckFailed", "health check failed after 30s")).await;
    pass_a_moment(&town).await;
    assert_eq!(rollbacks(&town), 0, "the report alone");
    town.settle().await;
    assert_eq!(rollbacks(&town), 1, "the crash");
    let failed =
        town.public_messages("deploys").into_iter().find(|told| told.contains("failed in *qa*")).expect("a red card");
    assert!(failed.contains("*Why:* CrashLoopBackOff"), "{failed}");
}

/// GitHub fails while the rollback is prepared, and the workload recovers meanwhile. An old health report does not count then.
#[tokio::test]
async fn a_workload_that_recovers_before_the_rollback_begins_is_not_rolled_back() {
    let town = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
    town.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
    let result = begin_promotion(&town).await;
    town.settle_until(|| card(&town, "deploys").contains("tagged")).await;
    town.sim.faults.arm(Fault::Github502, 1000, None, None);
    town.settle_until(|| card(&town, "deploys").contains("failed in *qa*")).await;

    let workload = Workload { kind: WorkloadKind::Deployment, name: "checkout".into() };
    let image = town.sim.cluster.state("qa", &workload).image.expect("an image");
    let order = RolloutOrder { container: "checkout", image: &image, replicas: 2, crashes: false, slowness: 10 };
    town.sim.cluster.remove("qa", &workload);
    town.sim.cluster.roll_out("qa", &workload, &order);
    send_flux(&town, &flux_failure(&result, "HealthCheckFailed", "health check failed after 30s")).await;
    pass_a_moment(&town).await;
    while town.sim.faults.take_if_armed(Fault::Github502, None, None) {}
    town.settle().await;
    assert!(card(&town, "deploys").contains("running in *qa*, 2 of 2 ready"), "{}", card(&town, "deploys"));
    assert_eq!((rollbacks(&town), head(&town, "qa")), (0, result));
}

#[tokio::test]
async fn after_a_health_report_the_deadline_decides() {
    let qa = "branch: qa\n    cluster: { namespace: qa }\n    deploy_timeout: ";
    let town =
        World::with_config(|yaml| with_auto_rollback(&yaml.replace(&format!("{qa}90s"), &format!("{qa}6s")))).await;
    town.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
    let result = begin_promotion(&town).await;
    let merged_at = town.clock.now();
    send_flux(&town, &flux_failure(&result, "HealthCheckFailed", "health check failed after 3s")).await;
    town.settle_until(|| rollbacks(&town) > 0).await;
    let waited = town.clock.now().duration_since(merged_at);
    assert!(waited >= SignedDuration::from_secs(6), "rolled back after {waited:#}");
    assert_eq!(rollbacks(&town), 1);
}

/// The deadline does not confirm the report, because nobody could read the state of the rollout then.
#[tokio::test]
async fn a_health_report_is_not_confirmed_if_the_cluster_was_unreadable_at_the_deadline() {
    let town = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
    town.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
    let result = begin_promotion(&town).await;
    town.sim.cluster.set_down("qa", true);
    wait_until("it is stalled", async || {
        town.clock.advance(SignedDuration::from_secs(2));
        card(&town, "deploys").contains("no proof that it runs")
    })
    .await;
    send_flux(&town, &flux_failure(&result, "HealthCheckFailed", "health check failed after 30s")).await;
    town.sim.cluster.set_down("qa", false);
    wait_until("it is green", async || {
        town.clock.advance(SignedDuration::from_secs(1));
        card(&town, "deploys").contains("running in *qa*")
    })
    .await;
    assert_eq!((rollbacks(&town), head(&town, "qa")), (0, result));
}

#[tokio::test]
async fn a_commit_that_could_not_be_built_or_applied_is_rolled_back_at_once() {
    for case in ["BuildFailed", "ArtifactFailed", "ReconciliationFailed", "a refused apply", "a comparison error"] {
        let town = World::with_config(|yaml| with_auto_rollback(&yaml)).await;
        let result = begin_promotion(&town).await;
        let began_at = town.clock.now();
        match case {
            "a refused apply" => {
                let refused = "one or more objects failed to apply, reason: Deployment.apps \"checkout\" is invalid";
                send_argocd(&town, &result, "Failed", "Healthy", refused).await;
            }
            "a comparison error" => {
                send_argocd(&town, &result, "Error", "Healthy", "ComparisonError: failed to generate manifest").await;
            }
            reason => send_flux(&town, &flux_failure(&result, reason, "kustomize build failed")).await,
        }
        town.settle_until(|| rollbacks(&town) > 0).await;
        let waited = town.clock.now().duration_since(began_at);
        assert!(waited < SignedDuration::from_secs(5), "{case}: rolled back after {waited:#}");
        assert_eq!(rollbacks(&town), 1, "{case}");
    }
}
