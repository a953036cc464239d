//! The former images of a workload, from the templates that the cluster keeps: ten by default, including those of
//! failed rollouts. They are read only for a rollback, if neither the ledger nor Git has a candidate.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::ListParams;

use super::client::{ClusterClients, ClusterError};
use super::{describe_error, describe_timeout};
use crate::adapters::cluster::pod_reasons::format_selector;
use crate::adapters::cluster::workload_status::{
    Container, WorkloadResource, creation_time, find_container, read_containers,
};
use crate::domain::model::version::Image;
use crate::domain::model::workload::{Namespace, Workload, WorkloadKind};

const TIMEOUT: Duration = Duration::from_secs(5);
/// More templates than a workload has, even if several workloads share its labels.
const MAX_TEMPLATES: u32 = 500;
const REVISION_ANNOTATION: &str = "deployment.kubernetes.io/revision";

/// An image of a former template of the workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastImage {
    pub image: Image,
    /// The number of the template. A template that returns gets a new number.
    pub revision: i64,
    /// The time of the template's first use.
    pub created_at: Option<Timestamp>,
}

/// The images before the current one, newest first, each once; empty if the workload does not exist. The container is
/// chosen as in [`super::ClusterView::read_rollout`].
pub async fn fetch_image_history(
    clients: &ClusterClients,
    namespace: &Namespace,
    workload: &Workload,
    container: Option<&str>,
    image: &str,
) -> Result<Vec<PastImage>, ClusterError> {
    let reading = async {
        let client = clients.connect_to_context(namespace.context.as_ref()).await?;
        let identity = match workload.kind {
            WorkloadKind::Deployment => fetch_identity::<Deployment>(&client, namespace, workload).await?,
            WorkloadKind::StatefulSet => fetch_identity::<StatefulSet>(&client, namespace, workload).await?,
            WorkloadKind::DaemonSet => fetch_identity::<DaemonSet>(&client, namespace, workload).await?,
        };
        let Some(identity) = identity else { return Ok(Vec::new()) };
        let templates = match workload.kind {
            WorkloadKind::Deployment => list_templates::<ReplicaSet>(client, namespace, &identity.selector).await?,
            WorkloadKind::StatefulSet | WorkloadKind::DaemonSet => {
                list_templates::<ControllerRevision>(client, namespace, &identity.selector).await?
            }
        };
        Ok(collect_past_images(templates, &identity, container, image))
    };
    tokio::time::timeout(TIMEOUT, reading).await.unwrap_or_else(|_| Err(ClusterError(describe_timeout(TIMEOUT))))
}

/// The parts of a workload by which its templates and its current container are found.
struct WorkloadIdentity {
    uid: String,
    /// Matches the workload's templates as well as its pods.
    selector: String,
    containers: Box<[Container]>,
}

/// A template that the cluster kept.
struct RevisionTemplate {
    owner_uids: Vec<String>,
    revision: i64,
    created_at: Option<Timestamp>,
    containers: Box<[Container]>,
}

/// `None` if the workload does not exist.
async fn fetch_identity<K: WorkloadResource>(
    client: &kube::Client,
    namespace: &Namespace,
    workload: &Workload,
) -> Result<Option<WorkloadIdentity>, ClusterError> {
    let found = Api::<K>::namespaced(client.clone(), &namespace.name).get_opt(&workload.name).await;
    let found = found.map_err(|error| ClusterError(describe_error::<K>(&error, "get", namespace)))?;
    let Some(found) = found else { return Ok(None) };
    let labels = found.selector().and_then(format_selector);
    let labels = labels.ok_or_else(|| ClusterError(format!("{workload} does not say which templates are its own")))?;
    let uid = found.meta().uid.clone().unwrap_or_default();
    Ok(Some(WorkloadIdentity { uid, selector: labels, containers: found.to_workload_status().containers }))
}

async fn list_templates<K>(
    client: kube::Client,
    namespace: &Namespace,
    labels: &str,
) -> Result<Vec<RevisionTemplate>, ClusterError>
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Into<RevisionTemplate>,
{
    let params = ListParams::default().labels(labels).limit(MAX_TEMPLATES);
    let listed = Api::<K>::namespaced(client, &namespace.name).list(&params).await;
    let listed = listed.map_err(|error| ClusterError(describe_error::<K>(&error, "list", namespace)))?;
    Ok(listed.items.into_iter().map(Into::into).collect())
}

fn collect_past_images(
    mut templates: Vec<RevisionTemplate>,
    identity: &WorkloadIdentity,
    container: Option<&str>,
    image: &str,
) -> Vec<PastImage> {
    templates.retain(|template| template.owner_uids.contains(&identity.uid));
    templates.sort_by_key(|template| std::cmp::Reverse((template.revision, template.created_at)));
    let current = find_container(&identity.containers, container, image);
    // Old templates are searched for the container by its current name: a template from before that container was added
    // may have another container with a matching image.
    let container = container.or(current.map(|current| &*current.name));
    let mut past: Vec<PastImage> = Vec::new();
    for RevisionTemplate { revision, created_at: created, containers, .. } in templates {
        let Some(Container { image, .. }) = find_container(&containers, container, image) else { continue };
        // Several templates may have the same image: a changed variable or limit makes a new template too.
        if current.is_none_or(|current| current.image != *image) && past.iter().all(|earlier| earlier.image != *image) {
            past.push(PastImage { image: image.clone(), revision, created_at: created });
        }
    }
    past
}

fn list_owner_uids(metadata: &ObjectMeta) -> Vec<String> {
    metadata.owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect()
}

impl From<ReplicaSet> for RevisionTemplate {
    fn from(set: ReplicaSet) -> Self {
        let revision = set.metadata.annotations.as_ref().and_then(|annotations| annotations.get(REVISION_ANNOTATION));
        Self {
            owner_uids: list_owner_uids(&set.metadata),
            revision: revision.and_then(|revision| revision.parse().ok()).unwrap_or_default(),
            created_at: creation_time(&set.metadata),
            containers: read_containers(set.spec.as_ref().and_then(|spec| spec.template.as_ref())),
        }
    }
}

impl From<ControllerRevision> for RevisionTemplate {
    fn from(revision: ControllerRevision) -> Self {
        // The data is a patch of the workload: `{"spec": {"template": {..., "$patch": "replace"}}}`.
        let template = revision.data.and_then(|mut data| {
            let template = data.0.pointer_mut("/spec/template")?.take();
            serde_json::from_value::<PodTemplateSpec>(template).ok()
        });
        Self {
            owner_uids: list_owner_uids(&revision.metadata),
            revision: revision.revision,
            created_at: creation_time(&revision.metadata),
            containers: read_containers(template.as_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pods(images: &[&str]) -> Value {
        let container = |(index, image): (usize, &&str)| json!({ "name": format!("c{index}"), "image": image });
        json!({ "metadata": {}, "spec": { "containers": images.iter().enumerate().map(container).collect::<Vec<_>>() },
            "$patch": "replace" })
    }

    fn metadata(owner: &str, revision: &str) -> Value {
        json!({ "name": "x", "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": { REVISION_ANNOTATION: revision },
            "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "Deployment", "name": "checkout", "uid": owner }] })
    }

    fn replica_set(owner: &str, revision: &str, images: &[&str]) -> RevisionTemplate {
        let set =
            json!({ "metadata": metadata(owner, revision), "spec": { "selector": {}, "template": pods(images) } });
        serde_json::from_value::<ReplicaSet>(set).unwrap().into()
    }

    fn controller_revision(data: &Value) -> RevisionTemplate {
        let revision = json!({ "metadata": metadata("u", "9"), "revision": 3, "data": data });
        serde_json::from_value::<ControllerRevision>(revision).unwrap().into()
    }

    fn identity(images: &[&str]) -> WorkloadIdentity {
        let template: PodTemplateSpec = serde_json::from_value(pods(images)).unwrap();
        WorkloadIdentity { uid: "u".to_owned(), selector: String::new(), containers: read_containers(Some(&template)) }
    }

    fn list_images(past: &[PastImage]) -> Vec<String> {
        past.iter().map(|past| format!("{} {}", past.revision, past.image)).collect()
    }

    #[test]
    fn past_images_are_newest_first_and_unique() {
        let templates = vec![
            replica_set("u", "2", &["checkout:2"]),
            replica_set("u", "10", &["checkout:3"]),
            replica_set("u", "11", &["checkout:4"]),
            // The current image in an older template, and an older image in two templates.
            replica_set("u", "9", &["checkout:4"]),
            replica_set("u", "1", &["checkout:3"]),
            replica_set("another's", "12", &["checkout:5"]),
            replica_set("u", "not a number", &["checkout:0"]),
        ];
        let past = collect_past_images(templates, &identity(&["checkout:4"]), None, "checkout");
        assert_eq!(list_images(&past), ["10 checkout:3", "2 checkout:2", "0 checkout:0"]);
        assert_eq!(past[0].created_at, Some("2026-01-01T00:00:00Z".parse().unwrap()));
    }

    #[test]
    fn the_container_is_chosen_as_in_the_view() {
        let both = || vec![replica_set("u", "1", &["envoy:1", "checkout:1"]), replica_set("u", "2", &["envoy:1"])];
        let current = identity(&["envoy:2", "checkout:2"]);
        assert_eq!(list_images(&collect_past_images(both(), &current, None, "checkout")), ["1 checkout:1"]);
        assert_eq!(list_images(&collect_past_images(both(), &current, Some("c1"), "checkout")), ["1 checkout:1"]);
        assert_eq!(list_images(&collect_past_images(both(), &current, Some("c0"), "checkout")), ["2 envoy:1"]);
        assert_eq!(list_images(&collect_past_images(both(), &current, Some("none"), "checkout")), Vec::<String>::new());
    }

    #[test]
    fn controller_revisions_are_read_as_patches() {
        let right = controller_revision(&json!({ "spec": { "template": pods(&["mailer:1"]) } }));
        assert_eq!(
            list_images(&collect_past_images(vec![right], &identity(&["mailer:2"]), None, "mailer")),
            ["3 mailer:1"]
        );
        for strange in [json!(null), json!({}), json!("text"), json!({ "spec": { "template": 7 } })] {
            let templates = vec![controller_revision(&strange)];
            assert!(collect_past_images(templates, &identity(&["mailer:2"]), None, "mailer").is_empty(), "{strange}");
        }
    }
}
