//! Converts a workload of the API server to the few values that the view keeps: images, rollout state and times. The
//! rules are those of `kubectl rollout status`, plus decisions for the cases that it leaves open.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, DeploymentCondition, StatefulSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::truncate_text;
use crate::adapters::cluster::applied_by::detect_applier;
use crate::domain::model::version::Image;
use crate::domain::model::workload::WorkloadKind;
use crate::domain::runtime::rollout::RolloutState;

/// The observed status of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadStatus {
    pub containers: Box<[Container]>,
    /// Only `Running`, `RollingOut` or `Degraded`: an observed workload is neither missing nor unreadable.
    pub state: RolloutState,
    /// Since when the specification has these images, as far as the cluster records it. For a Deployment, the time of
    /// the rollout's last progress.
    pub since: Option<Timestamp>,
    /// The controller object that applied the workload, as one string.
    pub applier: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    pub name: Arc<str>,
    pub image: Image,
}

/// The common interface of the three kinds of workload.
pub trait WorkloadResource:
    kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
    + Clone
    + std::fmt::Debug
    + serde::de::DeserializeOwned
    + Send
    + 'static
{
    const KIND: WorkloadKind;

    fn to_workload_status(&self) -> WorkloadStatus;

    /// The selector of the workload's pods and templates.
    fn selector(&self) -> Option<&LabelSelector>;
}

impl WorkloadResource for Deployment {
    const KIND: WorkloadKind = WorkloadKind::Deployment;

    fn to_workload_status(&self) -> WorkloadStatus {
        let spec = self.spec.as_ref();
        let status = self.status.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let progressing = conditions.iter().find(|condition| condition.type_ == "Progressing");
        let wanted = to_replica_count(spec.and_then(|spec| spec.replicas).or(Some(1)));
        let (replicas, updated) = (to_replica_count(status.replicas), to_replica_count(status.updated_replicas));
        let available = to_replica_count(status.available_replicas);
        // Assumes that all old replicas are available, so this is a lower bound for the new ones.
        let ready = available.saturating_sub(replicas.saturating_sub(updated)).min(wanted);

        // `ReplicaFailure` (an exceeded quota, for example) is a delay and not a failure: the controller keeps trying,
        // and `kubectl rollout status` ignores it.
        let delayed_by = conditions.iter().find(|c| c.type_ == "ReplicaFailure" && c.status == "True");
        let delayed_by = delayed_by.map(|condition| describe_condition(condition, "its replicas cannot be created"));

        let state = if !is_observed(&self.metadata, status.observed_generation) {
            rolling_out_state(0, wanted)
        } else if let Some(late) = progressing.filter(|c| c.reason.as_deref() == Some("ProgressDeadlineExceeded")) {
            let late = describe_condition(late, "it exceeded its progress deadline");
            RolloutState::Degraded { reason: delayed_by.unwrap_or(late) }
        } else if updated >= wanted && replicas <= updated && available >= updated {
            RolloutState::Running { ready: available }
        } else {
            RolloutState::RollingOut { ready, wanted, delayed_by }
        };
        // While a rollout is complete, nothing updates this condition: its time is that of the completion. Before that,
        // it is the time of the last progress.
        let progressed_at = progressing.and_then(|c| c.last_update_time.as_ref().or(c.last_transition_time.as_ref()));
        WorkloadStatus {
            containers: read_containers(spec.map(|spec| &spec.template)),
            state,
            since: progressed_at.map(|time| time.0).or_else(|| creation_time(&self.metadata)),
            applier: detect_applier(&self.metadata),
        }
    }

    fn selector(&self) -> Option<&LabelSelector> {
        self.spec.as_ref().map(|spec| &spec.selector)
    }
}

impl WorkloadResource for StatefulSet {
    const KIND: WorkloadKind = WorkloadKind::StatefulSet;

    fn to_workload_status(&self) -> WorkloadStatus {
        let spec = self.spec.as_ref();
        let status = self.status.clone().unwrap_or_default();
        let strategy = spec.and_then(|spec| spec.update_strategy.as_ref());
        let on_delete = strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("OnDelete");
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref()).filter(|_| !on_delete);
        let replicas = to_replica_count(spec.and_then(|spec| spec.replicas).or(Some(1)));
        let wanted = replicas.saturating_sub(to_replica_count(rolling.and_then(|rolling| rolling.partition)));
        let (ready, updated) = (to_replica_count(status.ready_replicas), to_replica_count(status.updated_replicas));
        let one_revision = status.update_revision == status.current_revision;

        let new_pods_complete = if on_delete {
            // `kubectl rollout status` rejects `OnDelete`. Gantry counts the rollout as complete when people have
            // deleted every old pod.
            one_revision || updated >= replicas
        } else if rolling.is_some() {
            // A partition that holds back all pods runs nothing new, although `kubectl` calls it complete.
            updated >= wanted && (wanted > 0 || replicas == 0 || one_revision)
        } else {
            one_revision
        };
        let observed = status.observed_generation.is_some_and(|generation| generation > 0)
            && is_observed(&self.metadata, status.observed_generation);
        let state = if observed && ready >= replicas && new_pods_complete {
            RolloutState::Running { ready }
        } else if observed {
            let old = if one_revision { 0 } else { replicas.saturating_sub(updated) };
            rolling_out_state(ready.saturating_sub(old), replicas)
        } else {
            rolling_out_state(0, replicas)
        };
        WorkloadStatus {
            containers: read_containers(spec.map(|spec| &spec.template)),
            state,
            since: find_last_spec_write(&self.metadata).or_else(|| creation_time(&self.metadata)),
            applier: detect_applier(&self.metadata),
        }
    }

    fn selector(&self) -> Option<&LabelSelector> {
        self.spec.as_ref().map(|spec| &spec.selector)
    }
}

impl WorkloadResource for DaemonSet {
    const KIND: WorkloadKind = WorkloadKind::DaemonSet;

    fn to_workload_status(&self) -> WorkloadStatus {
        // The same numbers apply to `OnDelete`, which `kubectl` rejects.
        let status = self.status.clone().unwrap_or_default();
        let wanted = to_replica_count(Some(status.desired_number_scheduled));
        let updated = to_replica_count(status.updated_number_scheduled);
        let available = to_replica_count(status.number_available);

        let state = if self.status.is_none() || !is_observed(&self.metadata, status.observed_generation) {
            rolling_out_state(0, wanted)
        } else if updated >= wanted && available >= wanted {
            RolloutState::Running { ready: available }
        } else {
            rolling_out_state(updated.saturating_sub(wanted.saturating_sub(available)), wanted)
        };
        WorkloadStatus {
            containers: read_containers(self.spec.as_ref().map(|spec| &spec.template)),
            state,
            since: find_last_spec_write(&self.metadata).or_else(|| creation_time(&self.metadata)),
            applier: detect_applier(&self.metadata),
        }
    }

    fn selector(&self) -> Option<&LabelSelector> {
        self.spec.as_ref().map(|spec| &spec.selector)
    }
}

/// Whether the status describes the current specification and not an earlier one.
fn is_observed(metadata: &ObjectMeta, observed: Option<i64>) -> bool {
    metadata.generation.unwrap_or(0) <= observed.unwrap_or(0)
}

pub(super) fn creation_time(metadata: &ObjectMeta) -> Option<Timestamp> {
    metadata.creation_timestamp.as_ref().map(|time| time.0)
}

/// The last write to the object except its status: these kinds keep no other record of a new version.
fn find_last_spec_write(metadata: &ObjectMeta) -> Option<Timestamp> {
    let writes = metadata.managed_fields.iter().flatten().filter(|write| write.subresource.is_none());
    writes.filter_map(|write| write.time.as_ref()).map(|time| time.0).max()
}

fn rolling_out_state(ready: u32, wanted: u32) -> RolloutState {
    RolloutState::RollingOut { ready, wanted, delayed_by: None }
}

fn describe_condition(condition: &DeploymentCondition, default: &str) -> Arc<str> {
    let message = condition.message.as_deref().filter(|message| !message.trim().is_empty());
    truncate_text(message.unwrap_or(default), 200).into()
}

/// The named container; without a name the only one, or among several the one with the artefact's image.
pub(super) fn find_container<'a>(
    containers: &'a [Container],
    name: Option<&str>,
    image: &str,
) -> Option<&'a Container> {
    match (name, containers) {
        (Some(name), _) => containers.iter().find(|container| &*container.name == name),
        (None, [only]) => Some(only),
        (None, _) => containers.iter().find(|container| &*container.image.name == image),
    }
}

pub(super) fn read_containers(template: Option<&PodTemplateSpec>) -> Box<[Container]> {
    let containers = template.and_then(|template| template.spec.as_ref()).map(|spec| spec.containers.as_slice());
    let read = |container: &k8s_openapi::api::core::v1::Container| Container {
        name: container.name.as_str().into(),
        image: Image::parse(container.image.as_deref().unwrap_or_default()),
    };
    containers.unwrap_or_default().iter().map(read).collect()
}

fn to_replica_count(replicas: Option<i32>) -> u32 {
    replicas.and_then(|replicas| u32::try_from(replicas).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn status_of<K: WorkloadResource>(metadata: &Value, spec: &Value, status: &Value) -> WorkloadStatus {
        let mut whole = json!({ "metadata": metadata, "spec": { "selector": {}, "serviceName": "x", "template": {} } });
        whole["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        if !status.is_null() {
            whole["status"] = status.clone();
        }
        serde_json::from_value::<K>(whole).unwrap().to_workload_status()
    }

    fn check_states<K: WorkloadResource>(cases: Vec<(&str, &Value, Value, RolloutState)>) {
        for (name, spec, status, expected) in cases {
            let state = status_of::<K>(&json!({ "generation": 4 }), spec, &status).state;
            assert_eq!(state, expected, "{name}");
        }
    }

    fn running(ready: u32) -> RolloutState {
        RolloutState::Running { ready }
    }

    fn delayed(ready: u32, wanted: u32, reason: &str) -> RolloutState {
        RolloutState::RollingOut { ready, wanted, delayed_by: Some(reason.into()) }
    }

    fn broken(reason: &str) -> RolloutState {
        RolloutState::Degraded { reason: reason.into() }
    }

    /// Numbers in the order observed generation (the newest is 4), replicas, updated, available.
    fn deployed([observed, replicas, updated, available]: [i32; 4], conditions: &Value) -> Value {
        json!({ "observedGeneration": observed, "replicas": replicas, "updatedReplicas": updated,
            "availableReplicas": available, "conditions": conditions })
    }

    #[test]
    fn a_deployment_is_complete_by_the_rules_of_kubectl() {
        let (none, three, zero) = (&json!([]), &json!({ "replicas": 3 }), &json!({ "replicas": 0 }));
        check_states::<Deployment>(vec![
            ("complete", three, deployed([4, 3, 3, 3], none), running(3)),
            (
                "the new specification was not observed yet",
                three,
                deployed([3, 3, 3, 3], none),
                rolling_out_state(0, 3),
            ),
            ("no status at all", three, Value::Null, rolling_out_state(0, 3)),
            ("not all are updated", three, deployed([4, 3, 2, 3], none), rolling_out_state(2, 3)),
            ("an old replica still exists", three, deployed([4, 4, 3, 4], none), rolling_out_state(3, 3)),
            ("a new one is not available", three, deployed([4, 3, 3, 2], none), rolling_out_state(2, 3)),
            ("the first new one beside all old ones", three, deployed([4, 4, 1, 3], none), rolling_out_state(0, 3)),
            ("scaled to nothing", zero, deployed([4, 0, 0, 0], none), running(0)),
            ("scaled to nothing, an old one ends", zero, deployed([4, 1, 0, 1], none), rolling_out_state(0, 0)),
            ("replicas by default are one", &json!({}), deployed([4, 0, 0, 0], none), rolling_out_state(0, 1)),
            ("nonsense from outside", &json!({ "replicas": -3 }), deployed([4, -1, -1, -1], none), running(0)),
        ]);
    }

    #[test]
    fn a_deployment_is_degraded_only_after_its_progress_deadline() {
        let condition = |kind: &str, status: &str, reason: &str, message: &str| json!([{ "type": kind, "status": status, "reason": reason, "message": message }]);
        let late = &condition("Progressing", "False", "ProgressDeadlineExceeded", "ReplicaSet \"x\" has timed out");
        let silent = &condition("Progressing", "False", "ProgressDeadlineExceeded", " ");
        let quota = &condition("ReplicaFailure", "True", "FailedCreate", "exceeded quota: small");
        let both = &json!([late[0], quota[0]]);
        let over = &condition("ReplicaFailure", "False", "FailedCreate", "exceeded quota: small");
        let pause = &condition("Progressing", "Unknown", "DeploymentPaused", "");
        let (three, paused) = (&json!({ "replicas": 3 }), &json!({ "replicas": 3, "paused": true }));
        check_states::<Deployment>(vec![
            ("too late", three, deployed([4, 4, 1, 3], late), broken("ReplicaSet \"x\" has timed out")),
            ("without a message", three, deployed([4, 4, 1, 3], silent), broken("it exceeded its progress deadline")),
            ("the deadline of an older specification", three, deployed([3, 4, 1, 3], late), rolling_out_state(0, 3)),
            (
                "pods cannot be created yet",
                three,
                deployed([4, 3, 0, 3], quota),
                delayed(0, 3, "exceeded quota: small"),
            ),
            (
                "some pods cannot be created yet",
                three,
                deployed([4, 4, 2, 3], quota),
                delayed(1, 3, "exceeded quota: small"),
            ),
            ("pods could not be created in time", three, deployed([4, 3, 0, 3], both), broken("exceeded quota: small")),
            ("pods can be created again", three, deployed([4, 3, 0, 3], over), rolling_out_state(0, 3)),
            ("a failure that did not matter", three, deployed([4, 3, 3, 3], quota), running(3)),
            ("paused half-way", paused, deployed([4, 4, 1, 4], pause), rolling_out_state(1, 3)),
            ("paused when complete", paused, deployed([4, 3, 3, 3], pause), running(3)),
        ]);
    }

    #[test]
    fn a_stateful_set_is_complete_by_the_rules_of_kubectl() {
        let status = |[observed, ready, updated]: [i32; 3], current: &str| {
            json!({ "observedGeneration": observed, "replicas": 3, "readyReplicas": ready, "updatedReplicas": updated,
                "currentRevision": current, "updateRevision": "new" })
        };
        let by = |strategy: Value| json!({ "replicas": 3, "updateStrategy": strategy });
        let partition = |from: i32| by(json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": from } }));
        let (all, last, two, none) = (&partition(0), &partition(2), &partition(1), &partition(3));
        let (on_delete, plain) = (&by(json!({ "type": "OnDelete" })), &json!({ "replicas": 3 }));
        let zero = &json!({ "replicas": 0, "updateStrategy": { "rollingUpdate": {} } });
        check_states::<StatefulSet>(vec![
            ("complete", all, status([4, 3, 3], "new"), running(3)),
            ("all updated, the revision is about to follow", all, status([4, 3, 3], "old"), running(3)),
            ("the new specification was not observed yet", all, status([3, 3, 3], "new"), rolling_out_state(0, 3)),
            ("nothing was observed yet", all, Value::Null, rolling_out_state(0, 3)),
            ("one is not ready", all, status([4, 2, 3], "new"), rolling_out_state(2, 3)),
            ("one is not updated", all, status([4, 3, 2], "old"), rolling_out_state(2, 3)),
            ("all pods above the partition are new", last, status([4, 3, 1], "old"), running(3)),
            ("not all pods above the partition are new", two, status([4, 3, 1], "old"), rolling_out_state(1, 3)),
            ("a partition holds back all pods", none, status([4, 3, 0], "old"), rolling_out_state(0, 3)),
            ("a partition, but nothing new", none, status([4, 3, 0], "new"), running(3)),
            ("no strategy: by revision", plain, status([4, 3, 3], "new"), running(3)),
            ("no strategy: another revision", plain, status([4, 3, 1], "old"), rolling_out_state(1, 3)),
            ("OnDelete, all deleted", on_delete, status([4, 3, 3], "old"), running(3)),
            ("OnDelete, none deleted", on_delete, status([4, 3, 0], "old"), rolling_out_state(0, 3)),
            ("scaled to nothing", zero, status([4, 0, 0], "old"), running(0)),
        ]);
    }

    #[test]
    fn a_daemon_set_is_complete_by_the_rules_of_kubectl() {
        let status = |[observed, desired, updated, available]: [i32; 4]| {
            json!({ "observedGeneration": observed, "desiredNumberScheduled": desired, "numberReady": available,
                "updatedNumberScheduled": updated, "numberAvailable": available, "currentNumberScheduled": desired,
                "numberMisscheduled": 0 })
        };
        let (plain, on_delete) = (&json!({}), &json!({ "updateStrategy": { "type": "OnDelete" } }));
        check_states::<DaemonSet>(vec![
            ("complete", plain, status([4, 5, 5, 5]), running(5)),
            ("the new specification was not observed yet", plain, status([3, 5, 5, 5]), rolling_out_state(0, 5)),
            ("no status at all", plain, Value::Null, rolling_out_state(0, 0)),
            ("not all are updated", plain, status([4, 5, 3, 5]), rolling_out_state(3, 5)),
            ("not all are available", plain, status([4, 5, 5, 4]), rolling_out_state(4, 5)),
            ("no node is selected", plain, status([4, 0, 0, 0]), running(0)),
            ("OnDelete, none deleted", on_delete, status([4, 5, 0, 5]), rolling_out_state(0, 5)),
        ]);
    }

    #[test]
    fn the_time_comes_from_the_cluster() {
        let since = |seconds: i64| Some(Timestamp::from_second(seconds).unwrap());
        let created = json!({ "creationTimestamp": "1970-01-01T00:00:10Z" });
        let condition = |times: Value| {
            let mut condition = json!({ "type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable" });
            condition.as_object_mut().unwrap().extend(times.as_object().unwrap().clone());
            json!({ "conditions": [condition] })
        };
        let both = condition(
            json!({ "lastUpdateTime": "1970-01-01T00:00:30Z", "lastTransitionTime": "1970-01-01T00:00:20Z" }),
        );
        let transition = condition(json!({ "lastTransitionTime": "1970-01-01T00:00:20Z" }));
        assert_eq!(status_of::<Deployment>(&created, &json!({}), &both).since, since(30));
        assert_eq!(status_of::<Deployment>(&created, &json!({}), &transition).since, since(20));
        assert_eq!(status_of::<Deployment>(&created, &json!({}), &json!({})).since, since(10));
        assert_eq!(status_of::<Deployment>(&json!({}), &json!({}), &json!({})).since, None);

        assert_eq!(status_of::<StatefulSet>(&created, &json!({}), &Value::Null).since, since(10));
        let written = json!({ "creationTimestamp": "1970-01-01T00:00:10Z", "managedFields": [
            { "time": "1970-01-01T00:00:40Z" }, { "time": "1970-01-01T00:00:50Z", "subresource": "status" } ] });
        assert_eq!(status_of::<StatefulSet>(&written, &json!({}), &Value::Null).since, since(40));
        assert_eq!(status_of::<DaemonSet>(&written, &json!({}), &Value::Null).since, since(40));
    }

    #[test]
    fn all_containers_and_their_images_are_read() {
        let spec = json!({ "template": { "spec": { "containers": [
            { "name": "app", "image": "ghcr.io/acme/checkout:1.4" }, { "name": "proxy" } ] } } });
        let status = status_of::<Deployment>(&json!({}), &spec, &Value::Null);
        assert_eq!(status.containers[0].image.to_string(), "ghcr.io/acme/checkout:1.4");
        assert_eq!(&*status.containers[1].name, "proxy");
    }
}
