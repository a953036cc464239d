//! A workload as the objects that the Kubernetes API shows: with every field that `kubectl rollout status` reads, and
//! the fields that explain a failure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{
    ControllerRevision, DaemonSet, DaemonSetSpec, DaemonSetStatus, Deployment, DeploymentCondition, DeploymentSpec,
    DeploymentStatus, ReplicaSet, ReplicaSetSpec, ReplicaSetStatus, StatefulSet, StatefulSetSpec, StatefulSetStatus,
    StatefulSetUpdateStrategy,
};
use k8s_openapi::api::core::v1::{Container as ContainerSpec, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference, Time};
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::model::workload::WorkloadKind;

use super::live::{Container, LiveWorkload, Phase, Pod, Revision};
use super::pods::pod;
use super::store::{Collection, Key};

const REVISION: &str = "deployment.kubernetes.io/revision";
const HASH: &str = "pod-template-hash";
const CONTROLLER_HASH: &str = "controller-revision-hash";
const HISTORY_HASH: &str = "controller.kubernetes.io/hash";

/// All objects that the API shows for `live`, the workload itself last.
pub(super) fn list_objects(live: &LiveWorkload, deadline_seconds: i32) -> Vec<(Key, Value)> {
    let mut objects = Vec::new();
    for pod_state in &live.pods {
        objects.extend(object(live, Collection::Pods, &pod_state.name, &pod(live, pod_state)));
    }
    for revision in &live.revisions {
        let name = revision_name(live, &revision.hash);
        objects.extend(match live.workload.kind {
            WorkloadKind::Deployment => object(live, Collection::ReplicaSets, &name, &replica_set(live, revision)),
            WorkloadKind::StatefulSet | WorkloadKind::DaemonSet => {
                object(live, Collection::ControllerRevisions, &name, &controller_revision(live, revision))
            }
        });
    }
    let name = &*live.workload.name;
    let workload_object = match live.workload.kind {
        WorkloadKind::Deployment => object(live, Collection::Deployments, name, &deployment(live, deadline_seconds)),
        WorkloadKind::StatefulSet => object(live, Collection::StatefulSets, name, &stateful_set(live)),
        WorkloadKind::DaemonSet => object(live, Collection::DaemonSets, name, &daemon_set(live)),
    };
    objects.extend(workload_object);
    objects
}

fn object(live: &LiveWorkload, collection: Collection, name: &str, object: &impl Serialize) -> Option<(Key, Value)> {
    let key = Key { collection, namespace: live.namespace.clone(), name: name.to_owned() };
    match serde_json::to_value(object) {
        Ok(value) => Some((key, value)),
        Err(error) => {
            tracing::error!(%error, ?key, "a simulated object cannot be written as JSON");
            None
        }
    }
}

pub(super) fn labels(live: &LiveWorkload) -> BTreeMap<String, String> {
    let name = live.workload.name.to_string();
    [("app".to_owned(), name.clone()), ("app.kubernetes.io/name".to_owned(), name)].into()
}

/// The labels of a pod: those of its workload, and the hash of its revision.
pub(super) fn pod_labels(live: &LiveWorkload, hash: &str) -> BTreeMap<String, String> {
    let mut labels = labels(live);
    match live.workload.kind {
        WorkloadKind::Deployment => labels.insert(HASH.to_owned(), hash.to_owned()),
        WorkloadKind::StatefulSet => labels.insert(CONTROLLER_HASH.to_owned(), revision_name(live, hash)),
        WorkloadKind::DaemonSet => labels.insert(CONTROLLER_HASH.to_owned(), hash.to_owned()),
    };
    labels
}

/// The owner of a pod of this revision: its `ReplicaSet`, or the workload itself.
pub(super) fn pod_owner(live: &LiveWorkload, hash: &str) -> OwnerReference {
    let of_replica_set = live.revisions.iter().find(|revision| revision.hash == hash);
    match (live.workload.kind, of_replica_set) {
        (WorkloadKind::Deployment, Some(revision)) => {
            owner(Collection::ReplicaSets, &revision_name(live, hash), &revision.uid)
        }
        (kind, _) => owner(kind.into(), &live.workload.name, &live.uid),
    }
}

pub(super) fn time(at: Timestamp) -> Time {
    // The API server writes whole seconds.
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}

pub(super) fn container_specs(containers: &[Container]) -> Vec<ContainerSpec> {
    containers
        .iter()
        .map(|container| ContainerSpec {
            name: container.name.clone(),
            image: Some(container.image.clone()),
            image_pull_policy: Some("IfNotPresent".to_owned()),
            ..ContainerSpec::default()
        })
        .collect()
}

fn owner(collection: Collection, name: &str, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: collection.api_version().to_owned(),
        kind: collection.kind().to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

fn revision_name(live: &LiveWorkload, hash: &str) -> String {
    format!("{}-{hash}", live.workload.name)
}

fn template(labels: BTreeMap<String, String>, containers: &[Container]) -> PodTemplateSpec {
    PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
        spec: Some(PodSpec { containers: container_specs(containers), ..PodSpec::default() }),
    }
}

fn metadata(live: &LiveWorkload) -> ObjectMeta {
    ObjectMeta {
        name: Some(live.workload.name.to_string()),
        namespace: Some(live.namespace.clone()),
        uid: Some(live.uid.clone()),
        generation: Some(live.generation),
        creation_timestamp: Some(time(live.created)),
        labels: Some(labels(live).into_iter().chain(live.extra_labels.clone()).collect()),
        ..ObjectMeta::default()
    }
}

fn selector(labels: BTreeMap<String, String>) -> LabelSelector {
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

fn to_i32(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// The API server leaves zeros out of a status.
fn non_zero(count: u32) -> Option<i32> {
    (count > 0).then_some(to_i32(count))
}

fn deployment(live: &LiveWorkload, deadline_seconds: i32) -> Deployment {
    let mut metadata = metadata(live);
    if let Some(revision) = live.revision() {
        metadata.annotations = Some([(REVISION.to_owned(), revision.number.to_string())].into());
    }
    let pods = live.count(|_| true);
    let ready = live.count(Pod::is_ready);
    Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            replicas: Some(to_i32(live.replicas)),
            selector: selector(labels(live)),
            template: template(labels(live), &live.containers),
            progress_deadline_seconds: Some(deadline_seconds),
            revision_history_limit: Some(10),
            ..DeploymentSpec::default()
        }),
        status: Some(DeploymentStatus {
            observed_generation: Some(live.observed_generation),
            replicas: non_zero(pods),
            updated_replicas: non_zero(live.count(|pod| live.is_current(pod))),
            ready_replicas: non_zero(ready),
            available_replicas: non_zero(ready),
            unavailable_replicas: non_zero(pods.max(live.replicas) - ready),
            conditions: live.revision().map(|revision| conditions(live, revision, ready)),
            ..DeploymentStatus::default()
        }),
    }
}

fn conditions(live: &LiveWorkload, revision: &Revision, ready: u32) -> Vec<DeploymentCondition> {
    let available = ready >= live.replicas;
    let (available_status, available_reason, available_message) = if available {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    let (progressing, reason, outcome) = match live.phase {
        Phase::Rolling => ("True", "ReplicaSetUpdated", "is progressing."),
        Phase::Complete => ("True", "NewReplicaSetAvailable", "has successfully progressed."),
        Phase::Degraded => ("False", "ProgressDeadlineExceeded", "has timed out progressing."),
    };
    let condition =
        |type_: &str, status: &str, reason: &str, message: String, transitioned, updated| DeploymentCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_transition_time: Some(time(transitioned)),
            last_update_time: Some(time(updated)),
        };
    let name = revision_name(live, &revision.hash);
    let mut all = vec![
        condition(
            "Available",
            available_status,
            available_reason,
            available_message.to_owned(),
            live.created,
            live.created,
        ),
        condition(
            "Progressing",
            progressing,
            reason,
            format!("ReplicaSet \"{name}\" {outcome}"),
            live.last_transition_at,
            live.last_progress_at,
        ),
    ];
    if let Some(refusal) = &live.quota_error {
        all.push(condition(
            "ReplicaFailure",
            "True",
            "FailedCreate",
            refusal.clone(),
            live.last_progress_at,
            live.last_progress_at,
        ));
    }
    all
}

fn replica_set(live: &LiveWorkload, revision: &Revision) -> ReplicaSet {
    let labels = pod_labels(live, &revision.hash);
    let pods = live.count(|pod| pod.hash == revision.hash);
    let ready = live.count(|pod| pod.hash == revision.hash && pod.is_ready());
    ReplicaSet {
        metadata: ObjectMeta {
            name: Some(revision_name(live, &revision.hash)),
            namespace: Some(live.namespace.clone()),
            uid: Some(revision.uid.clone()),
            generation: Some(1),
            creation_timestamp: Some(time(revision.created)),
            labels: Some(labels.clone()),
            annotations: Some([(REVISION.to_owned(), revision.number.to_string())].into()),
            owner_references: Some(vec![owner(Collection::Deployments, &live.workload.name, &live.uid)]),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: Some(to_i32(pods)),
            selector: selector(labels.clone()),
            template: Some(template(labels, &revision.containers)),
            ..ReplicaSetSpec::default()
        }),
        status: Some(ReplicaSetStatus {
            replicas: to_i32(pods),
            ready_replicas: non_zero(ready),
            available_replicas: non_zero(ready),
            fully_labeled_replicas: non_zero(pods),
            observed_generation: Some(1),
            ..ReplicaSetStatus::default()
        }),
    }
}

/// A `ControllerRevision` contains only the template, as a patch that restores the workload to it.
fn controller_revision(live: &LiveWorkload, revision: &Revision) -> ControllerRevision {
    let mut template = json!(template(labels(live), &revision.containers));
    template["$patch"] = json!("replace");
    let mut labels = labels(live);
    let key = if live.workload.kind == WorkloadKind::DaemonSet { CONTROLLER_HASH } else { HISTORY_HASH };
    labels.insert(key.to_owned(), revision.hash.clone());
    ControllerRevision {
        metadata: ObjectMeta {
            name: Some(revision_name(live, &revision.hash)),
            namespace: Some(live.namespace.clone()),
            uid: Some(revision.uid.clone()),
            creation_timestamp: Some(time(revision.created)),
            labels: Some(labels),
            owner_references: Some(vec![owner(live.workload.kind.into(), &live.workload.name, &live.uid)]),
            ..ObjectMeta::default()
        },
        revision: i64::try_from(revision.number).unwrap_or(i64::MAX),
        data: Some(RawExtension(json!({ "spec": { "template": template } }))),
    }
}

fn stateful_set(live: &LiveWorkload) -> StatefulSet {
    let update = live.revision().map(|revision| revision.hash.as_str());
    // Before the first rollout is complete, Kubernetes reports the first revision as the current one too.
    let current = live.completed_hash.as_deref().or(live.revisions.first().map(|revision| revision.hash.as_str()));
    let ready = live.count(Pod::is_ready);
    StatefulSet {
        metadata: metadata(live),
        spec: Some(StatefulSetSpec {
            replicas: Some(to_i32(live.replicas)),
            selector: selector(labels(live)),
            service_name: Some(live.workload.name.to_string()),
            template: template(labels(live), &live.containers),
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: None,
            }),
            revision_history_limit: Some(10),
            ..StatefulSetSpec::default()
        }),
        status: Some(StatefulSetStatus {
            observed_generation: Some(live.observed_generation),
            replicas: to_i32(live.count(|_| true)),
            ready_replicas: non_zero(ready),
            available_replicas: non_zero(ready),
            current_replicas: non_zero(live.count(|pod| Some(pod.hash.as_str()) == current)),
            updated_replicas: non_zero(live.count(|pod| live.is_current(pod))),
            current_revision: current.map(|hash| revision_name(live, hash)),
            update_revision: update.map(|hash| revision_name(live, hash)),
            collision_count: Some(0),
            conditions: None,
        }),
    }
}

fn daemon_set(live: &LiveWorkload) -> DaemonSet {
    let ready = live.count(Pod::is_ready);
    DaemonSet {
        metadata: metadata(live),
        spec: Some(DaemonSetSpec {
            selector: selector(labels(live)),
            template: template(labels(live), &live.containers),
            revision_history_limit: Some(10),
            ..DaemonSetSpec::default()
        }),
        status: Some(DaemonSetStatus {
            observed_generation: Some(live.observed_generation),
            desired_number_scheduled: to_i32(live.replicas),
            current_number_scheduled: to_i32(live.count(|_| true)),
            updated_number_scheduled: non_zero(live.count(|pod| live.is_current(pod))),
            number_ready: to_i32(ready),
            number_available: non_zero(ready),
            number_unavailable: non_zero(live.replicas.saturating_sub(ready)),
            number_misscheduled: 0,
            ..DaemonSetStatus::default()
        }),
    }
}
