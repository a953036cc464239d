//! A pod as the Kubernetes API shows it, with the waiting reasons that explain why a rollout is stuck.

use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    Pod as PodObject, PodCondition, PodSpec, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::live::{Container, FailureCause, Health, LiveWorkload, Pod};
use super::objects::{container_specs, pod_labels, pod_owner, time};

/// The number of restarts that a crashing container shows.
const RESTARTS: i32 = 3;

pub(super) fn pod(live: &LiveWorkload, pod: &Pod) -> PodObject {
    let revision = live.revisions.iter().find(|revision| revision.hash == pod.hash);
    let containers = revision.map(|revision| revision.containers.as_slice()).unwrap_or_default();
    let phase = match &pod.health {
        Health::Ready { .. } | Health::Failing { cause: FailureCause::CrashLoop, .. } => "Running",
        Health::Starting | Health::Failing { cause: FailureCause::ImagePull, .. } => "Pending",
    };
    PodObject {
        metadata: ObjectMeta {
            name: Some(pod.name.clone()),
            namespace: Some(live.namespace.clone()),
            uid: Some(pod.uid.clone()),
            creation_timestamp: Some(time(pod.created)),
            labels: Some(pod_labels(live, &pod.hash)),
            owner_references: Some(vec![pod_owner(live, &pod.hash)]),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            containers: container_specs(containers),
            node_name: Some(format!("node-{}", pod.ordinal + 1)),
            restart_policy: Some("Always".to_owned()),
            ..PodSpec::default()
        }),
        status: Some(PodStatus {
            phase: Some(phase.to_owned()),
            start_time: Some(time(pod.created)),
            conditions: Some(vec![condition(pod, "Ready"), condition(pod, "ContainersReady")]),
            container_statuses: Some(containers.iter().map(|container| status(pod, container)).collect()),
            ..PodStatus::default()
        }),
    }
}

fn condition(pod: &Pod, type_: &str) -> PodCondition {
    let (status, reason, since) = match &pod.health {
        Health::Ready { since } => ("True", None, *since),
        _ => ("False", Some("ContainersNotReady".to_owned()), pod.created),
    };
    PodCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason,
        last_transition_time: Some(time(since)),
        ..PodCondition::default()
    }
}

fn status(pod: &Pod, container: &Container) -> ContainerStatus {
    let mut status = ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone(),
        image_id: String::new(),
        ..ContainerStatus::default()
    };
    let state = match &pod.health {
        Health::Ready { since } => mark_running(&mut status, time(*since)),
        Health::Starting => waiting("ContainerCreating", None),
        Health::Failing { container: failing, .. } if *failing != container.name => {
            mark_running(&mut status, time(pod.created))
        }
        Health::Failing { cause: FailureCause::ImagePull, .. } => {
            let image = &container.image;
            let message = format!("Back-off pulling image \"{image}\": ErrImagePull: {image}: not found");
            waiting(FailureCause::ImagePull.reason(), Some(message))
        }
        Health::Failing { cause: FailureCause::CrashLoop, .. } => {
            status.restart_count = RESTARTS;
            status.last_state = Some(ContainerState {
                terminated: Some(ContainerStateTerminated {
                    exit_code: 1,
                    reason: Some("Error".to_owned()),
                    started_at: Some(time(pod.created)),
                    finished_at: Some(time(pod.created)),
                    ..ContainerStateTerminated::default()
                }),
                ..ContainerState::default()
            });
            let message = format!("back-off 40s restarting failed container={} pod={}", container.name, pod.name);
            waiting(FailureCause::CrashLoop.reason(), Some(message))
        }
    };
    ContainerStatus { state: Some(state), ..status }
}

fn mark_running(
    status: &mut ContainerStatus,
    since: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time,
) -> ContainerState {
    status.ready = true;
    status.started = Some(true);
    ContainerState { running: Some(ContainerStateRunning { started_at: Some(since) }), ..ContainerState::default() }
}

fn waiting(reason: &str, message: Option<String>) -> ContainerState {
    ContainerState {
        waiting: Some(ContainerStateWaiting { reason: Some(reason.to_owned()), message }),
        ..ContainerState::default()
    }
}
