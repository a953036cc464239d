//! Reads the reason of a failed rollout from its pods. Only on demand, because there are many pods and their states
//! change often.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::Api;
use kube::api::ListParams;

use super::client::ClusterClients;
use super::truncate_text;
use crate::domain::model::workload::{Namespace, Workload, WorkloadKind};

const TIMEOUT: Duration = Duration::from_secs(5);
/// Enough to include a failing pod; a workload may have thousands.
const MAX_PODS: u32 = 50;

/// A short sentence about the newest failing pod; `None` if no pod fails or the pods cannot be read.
pub async fn find_failure_reason(
    clients: &ClusterClients,
    namespace: &Namespace,
    workload: &Workload,
) -> Option<String> {
    match tokio::time::timeout(TIMEOUT, list_pods(clients, namespace, workload)).await {
        Ok(Ok(pods)) => explain_failure(&pods),
        Ok(Err(why)) => {
            tracing::debug!(%namespace, %workload, why, "the pods cannot be listed");
            None
        }
        Err(_) => {
            tracing::debug!(%namespace, %workload, "listing the pods timed out");
            None
        }
    }
}

async fn list_pods(clients: &ClusterClients, namespace: &Namespace, workload: &Workload) -> Result<Vec<Pod>, String> {
    let client = clients.connect_to_context(namespace.context.as_ref()).await.map_err(|error| error.to_string())?;
    let (namespace_name, name) = (&*namespace.name, &*workload.name);
    let selector = match workload.kind {
        WorkloadKind::Deployment => Api::<Deployment>::namespaced(client.clone(), namespace_name)
            .get(name)
            .await
            .map(|w| w.spec.map(|s| s.selector)),
        WorkloadKind::StatefulSet => Api::<StatefulSet>::namespaced(client.clone(), namespace_name)
            .get(name)
            .await
            .map(|w| w.spec.map(|s| s.selector)),
        WorkloadKind::DaemonSet => Api::<DaemonSet>::namespaced(client.clone(), namespace_name)
            .get(name)
            .await
            .map(|w| w.spec.map(|s| s.selector)),
    };
    let selector = selector.map_err(|error| error.to_string())?.as_ref().and_then(format_selector);
    let selector = selector.ok_or("the workload does not say which pods are its own")?;
    let params = ListParams::default().labels(&selector).limit(MAX_PODS);
    let pods = Api::<Pod>::namespaced(client, namespace_name).list(&params).await;
    pods.map(|pods| pods.items).map_err(|error| error.to_string())
}

/// The selector in the syntax of a query; `None` if it would select everything.
pub(super) fn format_selector(selector: &LabelSelector) -> Option<String> {
    let equal = selector.match_labels.iter().flatten().map(|(key, value)| format!("{key}={value}"));
    let expressions = selector.match_expressions.iter().flatten().filter_map(|expression| {
        let (key, values) = (&expression.key, expression.values.clone().unwrap_or_default().join(","));
        match expression.operator.as_str() {
            "In" => Some(format!("{key} in ({values})")),
            "NotIn" => Some(format!("{key} notin ({values})")),
            "Exists" => Some(key.clone()),
            "DoesNotExist" => Some(format!("!{key}")),
            _ => None,
        }
    });
    let terms: Vec<_> = equal.chain(expressions).collect();
    (!terms.is_empty()).then(|| terms.join(","))
}

fn explain_failure(pods: &[Pod]) -> Option<String> {
    let mut pods: Vec<&Pod> = pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).collect();
    // The newest pods belong to the newest version, which is the one in question.
    let created_at = |pod: &&Pod| pod.metadata.creation_timestamp.as_ref().map_or(Timestamp::MIN, |time| time.0);
    pods.sort_by_key(|pod| std::cmp::Reverse(created_at(pod)));
    pods.into_iter().find_map(describe_pod_failure)
}

fn describe_pod_failure(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let containers = status.init_container_statuses.iter().flatten().chain(status.container_statuses.iter().flatten());
    containers.into_iter().find_map(describe_container_failure).or_else(|| {
        let conditions = status.conditions.iter().flatten();
        let unscheduled = conditions
            .into_iter()
            .find(|c| c.type_ == "PodScheduled" && c.reason.as_deref() == Some("Unschedulable"))?;
        let why = truncate_text(unscheduled.message.as_deref().unwrap_or("no node takes it"), 160);
        Some(format!("no node for a pod: {why}"))
    })
}

fn describe_container_failure(status: &ContainerStatus) -> Option<String> {
    let (name, restarts) = (&status.name, status.restart_count);
    let restarts = match restarts {
        1 => "1 restart".to_owned(),
        n => format!("{n} restarts"),
    };
    let terminated = |state: &Option<ContainerState>| state.as_ref().and_then(|state| state.terminated.clone());
    let now = terminated(&status.state);
    let ended = now.clone().or_else(|| terminated(&status.last_state));
    let waiting = status.state.as_ref().and_then(|state| state.waiting.as_ref());
    let waiting_for = waiting.and_then(|waiting| waiting.reason.as_deref());
    let out_of_memory = ended.as_ref().is_some_and(|ended| ended.reason.as_deref() == Some("OOMKilled"));
    match waiting_for {
        Some(reason @ ("ImagePullBackOff" | "ErrImagePull" | "InvalidImageName" | "ErrImageNeverPull")) => {
            return Some(format!(
                "{reason}: the image {} of container {name} cannot be pulled",
                truncate_text(&status.image, 200)
            ));
        }
        Some(reason @ ("CreateContainerConfigError" | "CreateContainerError" | "RunContainerError")) => {
            let why = waiting.and_then(|waiting| waiting.message.as_deref()).unwrap_or("it cannot be started");
            return Some(format!("{reason} in container {name}: {}", truncate_text(why, 160)));
        }
        _ => {}
    }
    // A single OOM kill long ago is not the reason of the failure.
    if out_of_memory && (waiting_for == Some("CrashLoopBackOff") || now.is_some()) {
        return Some(format!("OOMKilled: container {name} ran out of memory, {restarts}"));
    }
    if waiting_for == Some("CrashLoopBackOff") {
        let code = ended.map(|ended| format!("exit code {}, ", ended.exit_code)).unwrap_or_default();
        return Some(format!("CrashLoopBackOff: container {name} keeps ending, {code}{restarts}"));
    }
    now.filter(|ended| ended.exit_code != 0)
        .map(|ended| format!("container {name} ended with exit code {}, {restarts}", ended.exit_code))
}

#[cfg(test)]
mod tests {
    use axum::extract::{Path, Query};
    use axum::response::Json;
    use axum::routing::get;
    use serde_json::{Value, json};

    use super::*;
    use crate::adapters::cluster::client::tests::kubeconfig;

    fn pod(created: &str, status: &Value) -> Pod {
        serde_json::from_value(json!({ "metadata": { "creationTimestamp": created }, "status": status })).unwrap()
    }

    fn container(state: &Value, last: &Value, restarts: i32) -> Value {
        json!({ "containerStatuses": [{ "name": "app", "image": "acme/checkout:2", "imageID": "", "ready": false,
            "restartCount": restarts, "state": state, "lastState": last }] })
    }

    #[test]
    fn the_reason_of_a_failing_pod_is_described() {
        let ended = |code: i32, reason: &str| json!({ "terminated": { "exitCode": code, "reason": reason } });
        let waiting = |reason: &str| json!({ "waiting": { "reason": reason, "message": "secret \"db\" not found" } });
        let none = json!({});
        let cases = [
            (
                container(&waiting("ImagePullBackOff"), &none, 0),
                Some("ImagePullBackOff: the image acme/checkout:2 of container app cannot be pulled"),
            ),
            (
                container(&waiting("ErrImagePull"), &none, 0),
                Some("ErrImagePull: the image acme/checkout:2 of container app cannot be pulled"),
            ),
            (
                container(&waiting("CrashLoopBackOff"), &ended(1, "Error"), 5),
                Some("CrashLoopBackOff: container app keeps ending, exit code 1, 5 restarts"),
            ),
            (
                container(&waiting("CrashLoopBackOff"), &none, 1),
                Some("CrashLoopBackOff: container app keeps ending, 1 restart"),
            ),
            (
                container(&waiting("CrashLoopBackOff"), &ended(137, "OOMKilled"), 3),
                Some("OOMKilled: container app ran out of memory, 3 restarts"),
            ),
            (
                container(&ended(137, "OOMKilled"), &none, 0),
                Some("OOMKilled: container app ran out of memory, 0 restarts"),
            ),
            (container(&ended(2, "Error"), &none, 0), Some("container app ended with exit code 2, 0 restarts")),
            (
                container(&waiting("CreateContainerConfigError"), &none, 0),
                Some("CreateContainerConfigError in container app: secret \"db\" not found"),
            ),
            (container(&json!({ "running": {} }), &ended(137, "OOMKilled"), 1), None),
            (container(&waiting("ContainerCreating"), &none, 0), None),
            (container(&ended(0, "Completed"), &none, 0), None),
            (
                json!({ "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available" }] }),
                Some("no node for a pod: 0/3 nodes are available"),
            ),
            (json!({}), None),
        ];
        for (status, expected) in cases {
            assert_eq!(explain_failure(&[pod("2026-01-01T00:00:00Z", &status)]).as_deref(), expected, "{status}");
        }
    }

    #[test]
    fn the_newest_failing_pod_counts_and_terminating_pods_do_not() {
        let crash = |restarts| container(&json!({ "waiting": { "reason": "CrashLoopBackOff" } }), &json!({}), restarts);
        let mut terminating = pod("2026-01-04T00:00:00Z", &crash(4));
        terminating.metadata.deletion_timestamp = terminating.metadata.creation_timestamp.clone();
        let pods = [
            pod("2026-01-01T00:00:00Z", &crash(1)),
            pod("2026-01-02T00:00:00Z", &crash(2)),
            pod("2026-01-03T00:00:00Z", &json!({})),
            terminating,
        ];
        assert_eq!(explain_failure(&pods).unwrap(), "CrashLoopBackOff: container app keeps ending, 2 restarts");
    }

    #[test]
    fn a_selector_is_formatted_for_the_api_server() {
        let cases = [
            (json!({ "matchLabels": { "app": "checkout", "tier": "web" } }), Some("app=checkout,tier=web")),
            (
                json!({ "matchExpressions": [{ "key": "app", "operator": "In", "values": ["a", "b"] }, { "key": "old", "operator": "DoesNotExist" }] }),
                Some("app in (a,b),!old"),
            ),
            (json!({}), None),
        ];
        for (selector, expected) in cases {
            let selector: LabelSelector = serde_json::from_value(selector).unwrap();
            assert_eq!(format_selector(&selector).as_deref(), expected);
        }
    }

    #[tokio::test]
    async fn only_the_pods_of_the_workload_are_listed() {
        let workload = |Path((_, name)): Path<(String, String)>| async move {
            Json(json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": name },
                "spec": { "selector": { "matchLabels": { "app": "mailer" } }, "template": {} } }))
        };
        let pods = |Query(query): Query<std::collections::HashMap<String, String>>| async move {
            assert_eq!(query["labelSelector"], "app=mailer");
            let status = container(&json!({ "waiting": { "reason": "ImagePullBackOff" } }), &json!({}), 0);
            Json(
                json!({ "apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [{ "metadata": {}, "status": status }] }),
            )
        };
        let router = axum::Router::new()
            .route("/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}", get(workload))
            .route("/api/v1/namespaces/{namespace}/pods", get(pods));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let kubeconfig = kubeconfig(&format!("http://{}", listener.local_addr().unwrap()));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let clients = ClusterClients::new(Some(kubeconfig.path().to_owned()));
        let qa = Namespace { context: None, name: "qa".into() };
        let why = find_failure_reason(&clients, &qa, &"statefulset/mailer".parse().unwrap()).await;
        assert!(why.unwrap().starts_with("ImagePullBackOff"));
        assert_eq!(find_failure_reason(&clients, &qa, &"deployment/mailer".parse().unwrap()).await, None);
    }
}
