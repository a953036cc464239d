//! The simulated controller, modelled on Flux: it rolls out the images that CI built or that a manifest names, and
//! sends the bot Flux-shaped webhooks. Its caller provides all names and secrets.

#[cfg(test)]
mod tests;
mod webhook;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::domain::model::version::{Image, Sha};
use crate::domain::model::workload::{Workload, WorkloadKind};

pub use self::webhook::WebhookFaults;
use self::webhook::{FluxEvent, InvolvedObject, Metadata, SignedEvent};
use super::ci::BuiltImage;
use super::cluster::{Cluster, EndedRollout, RolloutId, RolloutOrder};
use super::faults::{Fault, Faults};
use super::pace::Pace;
use super::registry::Registry;
use crate::sim::rng::Rng;
use crate::sim::scheduler::Scheduler;

/// The factor by which the fault `slow_rollout` slows a rollout.
const SLOWNESS: i32 = 10;

/// One artefact in one environment that the controller reconciles.
#[derive(Clone, Debug)]
pub struct Target {
    pub artefact: String,
    pub environment: String,
    /// The branch that is deployed here; `None` if a manifest names the image ([`Controller::handle_manifest_image`]).
    pub branch: Option<String>,
    pub namespace: String,
    /// Without tag, as in `ghcr.io/acme/checkout`.
    pub image: String,
    pub container: String,
    pub workloads: Vec<Workload>,
    /// For a workload that does not exist yet.
    pub replicas: u32,
}

/// The bot's address, and the secret of each environment's webhook. Without a secret nothing is sent.
#[derive(Clone)]
pub struct Webhooks {
    pub http: reqwest::Client,
    /// Without the path: `http://127.0.0.1:8484`.
    pub bot_url: String,
    pub secrets: BTreeMap<String, String>,
}

/// The branch and commit that the controller reconciled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    pub branch: String,
    pub commit: Sha,
}

#[derive(Clone)]
pub struct Controller(Arc<Inner>);

struct Inner {
    scheduler: Scheduler,
    pace: Pace,
    cluster: Cluster,
    registry: Registry,
    faults: Faults,
    webhooks: Webhooks,
    targets: Vec<Target>,
    /// The reconciliation under way, by the target's index. A newer one replaces an older one.
    reconciliations: Mutex<BTreeMap<usize, Reconciliation>>,
    webhook_faults: Mutex<(WebhookFaults, Rng)>,
}

struct Reconciliation {
    revision: Revision,
    started_at: Timestamp,
    pending_rollouts: BTreeSet<RolloutId>,
}

impl Controller {
    pub fn new(
        scheduler: Scheduler,
        pace: Pace,
        cluster: Cluster,
        registry: Registry,
        faults: Faults,
        webhooks: Webhooks,
        targets: Vec<Target>,
    ) -> Self {
        let reconciliations = Mutex::default();
        let webhook_faults = Mutex::new((WebhookFaults::default(), Rng::new(0)));
        let inner =
            Inner { scheduler, pace, cluster, registry, faults, webhooks, targets, reconciliations, webhook_faults };
        let controller = Self(Arc::new(inner));
        // Weak, because the cluster would otherwise keep itself alive through its listener.
        let listener = Arc::downgrade(&controller.0);
        controller.0.cluster.on_end(move |ended| {
            if let Some(inner) = listener.upgrade() {
                Self(inner).rollout_ended(ended);
            }
        });
        controller
    }

    /// Applies these faults to every later event. The same seed gives the same faults.
    pub fn set_webhook_faults(&self, faults: WebhookFaults, seed: u64) {
        *self.0.webhook_faults.lock().unwrap_or_else(PoisonError::into_inner) = (faults, Rng::new(seed));
    }

    /// Deploys a built image to the targets of its branch. For [`Ci::on_built`](super::ci::Ci::on_built).
    pub fn handle_built_image(&self, built: &BuiltImage) {
        for (index, target) in self.0.targets.iter().enumerate() {
            if target.artefact == built.artefact && target.branch.as_ref() == Some(&built.branch) {
                let revision = Revision { branch: built.branch.clone(), commit: built.commit.clone() };
                self.schedule_reconcile(index, format!("{}:{}", target.image, built.tag), revision);
            }
        }
    }

    /// A manifest names this image, `name[:tag][@digest]`, for an artefact in an environment. `revision` is the commit
    /// of the manifest.
    pub fn handle_manifest_image(&self, environment: &str, artefact: &str, image: &str, revision: &Revision) {
        for (index, target) in self.0.targets.iter().enumerate() {
            if target.environment == environment && target.artefact == artefact {
                self.schedule_reconcile(index, image.to_owned(), revision.clone());
            }
        }
    }

    /// Labels all workloads as applied by this controller.
    pub fn adopt(&self) {
        for target in &self.0.targets {
            target.workloads.iter().for_each(|workload| self.label_workload(target, workload));
        }
    }

    fn label_workload(&self, target: &Target, workload: &Workload) {
        self.0.cluster.label_applied_by(&target.namespace, workload, (&target.namespace, &target.artefact));
    }

    fn schedule_reconcile(&self, index: usize, image: String, revision: Revision) {
        let controller = self.clone();
        self.0.scheduler.schedule_after(self.0.pace.controller_delay, move || async move {
            controller.reconcile(index, &image, revision);
        });
    }

    fn reconcile(&self, index: usize, image: &str, revision: Revision) {
        let Some(target) = self.0.targets.get(index) else { return };
        if let Some(tag) = Image::parse(image).tag.filter(|_| self.take_fault(Fault::ImageMissing, target)) {
            // As if a clean-up job had deleted the image after its build.
            self.0.registry.remove(&target.image, &tag);
        }
        let runs_image = |workload| self.0.cluster.state(&target.namespace, workload).image.as_deref() == Some(image);
        let starts = !target.workloads.iter().all(runs_image);
        let order = RolloutOrder {
            container: &target.container,
            image,
            replicas: target.replicas,
            // If nothing rolls out, the fault stays armed for the next rollout.
            crashes: starts && self.take_fault(Fault::CrashLoop, target),
            slowness: if starts && self.take_fault(Fault::SlowRollout, target) { SLOWNESS } else { 1 },
        };
        let start_rollout = |workload: &Workload| {
            let is_new = self.0.cluster.state(&target.namespace, workload).image.is_none();
            let rollout = self.0.cluster.roll_out(&target.namespace, workload, &order);
            if is_new {
                self.label_workload(target, workload);
            }
            rollout
        };
        let pending_rollouts: BTreeSet<RolloutId> = target.workloads.iter().filter_map(start_rollout).collect();
        let configured: Vec<String> =
            target.workloads.iter().map(|workload| format!("{} configured", object(target, workload))).collect();
        self.send_event(target, &revision, "info", "Progressing", configured.join("\n"));

        let at_rest = pending_rollouts.is_empty();
        let reconciliation = Reconciliation { revision, started_at: self.0.scheduler.clock().now(), pending_rollouts };
        self.lock().insert(index, reconciliation);
        if at_rest {
            self.finish(index);
        }
    }

    fn rollout_ended(&self, ended: &EndedRollout) {
        let done: Vec<usize> = self
            .lock()
            .iter_mut()
            .filter_map(|(index, reconciliation)| {
                (reconciliation.pending_rollouts.remove(&ended.rollout) && reconciliation.pending_rollouts.is_empty())
                    .then_some(*index)
            })
            .collect();
        for index in done {
            self.finish(index);
        }
    }

    /// All workloads of this target are at rest: sends the outcome.
    fn finish(&self, index: usize) {
        let Some(target) = self.0.targets.get(index) else { return };
        let Some(reconciliation) = self.lock().remove(&index) else { return };
        let duration = self.0.scheduler.clock().now().duration_since(reconciliation.started_at);
        let duration = format!("{:.1}s", duration.as_secs_f64());
        let unhealthy: Vec<String> = target
            .workloads
            .iter()
            .filter(|workload| self.0.cluster.state(&target.namespace, workload).state != "running")
            .map(|workload| format!("{} status: 'Failed'", object(target, workload)))
            .collect();
        let (severity, reason, message) = if unhealthy.is_empty() {
            let message = format!("Reconciliation finished in {duration}, next run in 10m0s");
            ("info", "ReconciliationSucceeded", message)
        } else {
            let message = format!("health check failed after {duration}: failed resources: [{}]", unhealthy.join(", "));
            ("error", "HealthCheckFailed", message)
        };
        if self.take_fault(Fault::LostWebhook, target) {
            return;
        }
        let times = if self.take_fault(Fault::DuplicateWebhook, target) { 2 } else { 1 };
        for _ in 0..times {
            self.send_event(target, &reconciliation.revision, severity, reason, message.clone());
        }
    }

    fn send_event(
        &self,
        target: &Target,
        revision: &Revision,
        severity: &'static str,
        reason: &'static str,
        message: String,
    ) {
        let Webhooks { http, bot_url, secrets } = &self.0.webhooks;
        let Some(secret) = secrets.get(&target.environment) else { return };
        let event = FluxEvent {
            involved_object: InvolvedObject {
                api_version: "kustomize.toolkit.fluxcd.io/v1",
                kind: "Kustomization",
                name: target.artefact.clone(),
                namespace: target.namespace.clone(),
            },
            severity,
            timestamp: self.0.scheduler.clock().now(),
            message,
            reason,
            metadata: Metadata { revision: format!("{}@sha1:{}", revision.branch, revision.commit) },
            reporting_controller: "kustomize-controller",
            reporting_instance: "kustomize-controller-0",
        };
        let url = format!("{}/webhooks/flux/{}", bot_url.trim_end_matches('/'), target.environment);
        let signed_event = match SignedEvent::new(url, secret, &event) {
            Ok(event) => event,
            Err(error) => return tracing::error!(%error, "a simulated event cannot be written as JSON"),
        };
        let copies = {
            let mut webhook_faults = self.0.webhook_faults.lock().unwrap_or_else(PoisonError::into_inner);
            let (webhook_faults, rng) = &mut *webhook_faults;
            webhook_faults.draw_delays(rng)
        };
        for delay in copies {
            webhook::send(&self.0.scheduler, self.0.pace, http, signed_event.clone(), delay);
        }
    }

    fn take_fault(&self, fault: Fault, target: &Target) -> bool {
        self.0.faults.take_if_armed(fault, Some(&target.artefact), Some(&target.environment))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Reconciliation>> {
        self.0.reconciliations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `Deployment/qa/checkout`, as Flux names an object.
fn object(target: &Target, workload: &Workload) -> String {
    let kind = match workload.kind {
        WorkloadKind::Deployment => "Deployment",
        WorkloadKind::StatefulSet => "StatefulSet",
        WorkloadKind::DaemonSet => "DaemonSet",
    };
    format!("{kind}/{}/{}", target.namespace, workload.name)
}
