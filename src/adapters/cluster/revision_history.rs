//! What a workload ran before, as far as the cluster keeps it: ten templates by default, good ones and bad ones alike.
//! Read on demand only, for a rollback that nobody else can tell where to.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::ListParams;

use super::client::{Clients, ClusterError};
use super::{sentence, unanswered};
use crate::adapters::cluster::pod_reasons::labels;
use crate::adapters::cluster::workload_status::{Container, Stands, containers, created, meant};
use crate::domain::model::artefact::{Namespace, Workload, WorkloadKind};
use crate::domain::model::version::Image;

const TIMEOUT: Duration = Duration::from_secs(5);
/// More than anybody keeps, even where several workloads have the same labels.
const TEMPLATES: u32 = 500;
const REVISION: &str = "deployment.kubernetes.io/revision";

/// An image that the workload was asked to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    pub image: Image,
    /// Counts the workload's templates. One that comes back gets a new number.
    pub revision: i64,
    /// When its template was first asked for.
    pub created: Option<Timestamp>,
}

/// The images before the present one, newest first, each once; none of a workload that is not there. Which container is
/// meant is chosen as in [`super::View::rollout`].
pub async fn history(
    clients: &Clients,
    namespace: &Namespace,
    workload: &Workload,
    container: Option<&str>,
    image: &str,
) -> Result<Vec<Past>, ClusterError> {
    let reading = async {
        let client = clients.of(namespace.context.as_ref()).await?;
        let own = match workload.kind {
            WorkloadKind::Deployment => own::<Deployment>(&client, namespace, workload).await?,
            WorkloadKind::StatefulSet => own::<StatefulSet>(&client, namespace, workload).await?,
            WorkloadKind::DaemonSet => own::<DaemonSet>(&client, namespace, workload).await?,
        };
        let Some(own) = own else { return Ok(Vec::new()) };
        let templates = match workload.kind {
            WorkloadKind::Deployment => templates::<ReplicaSet>(client, namespace, &own.labels).await?,
            WorkloadKind::StatefulSet | WorkloadKind::DaemonSet => {
                templates::<ControllerRevision>(client, namespace, &own.labels).await?
            }
        };
        Ok(past(templates, &own, container, image))
    };
    tokio::time::timeout(TIMEOUT, reading).await.unwrap_or_else(|_| Err(ClusterError(unanswered(TIMEOUT))))
}

/// What a workload says of itself.
struct Own {
    uid: String,
    /// Its selector, which its templates fit as well as its pods.
    labels: String,
    containers: Box<[Container]>,
}

/// A template that was kept.
struct Template {
    owners: Vec<String>,
    revision: i64,
    created: Option<Timestamp>,
    containers: Box<[Container]>,
}

/// `None` where there is no such workload.
async fn own<K: Stands>(
    client: &kube::Client,
    namespace: &Namespace,
    workload: &Workload,
) -> Result<Option<Own>, ClusterError> {
    let found = Api::<K>::namespaced(client.clone(), &namespace.name).get_opt(&workload.name).await;
    let found = found.map_err(|error| ClusterError(sentence::<K>(&error, "get", namespace)))?;
    let Some(found) = found else { return Ok(None) };
    let labels = found.selector().and_then(labels);
    let labels = labels.ok_or_else(|| ClusterError(format!("{workload} does not say which templates are its own")))?;
    let uid = found.meta().uid.clone().unwrap_or_default();
    Ok(Some(Own { uid, labels, containers: found.standing().containers }))
}

async fn templates<K>(client: kube::Client, namespace: &Namespace, labels: &str) -> Result<Vec<Template>, ClusterError>
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Into<Template>,
{
    let params = ListParams::default().labels(labels).limit(TEMPLATES);
    let listed = Api::<K>::namespaced(client, &namespace.name).list(&params).await;
    let listed = listed.map_err(|error| ClusterError(sentence::<K>(&error, "list", namespace)))?;
    Ok(listed.items.into_iter().map(Into::into).collect())
}

fn past(mut templates: Vec<Template>, own: &Own, container: Option<&str>, image: &str) -> Vec<Past> {
    templates.retain(|template| template.owners.contains(&own.uid));
    templates.sort_by_key(|template| std::cmp::Reverse((template.revision, template.created)));
    let present = meant(&own.containers, container, image);
    // The same container as now: by its image alone, a template from before it was added would tell of another.
    let container = container.or(present.map(|present| &*present.name));
    let mut past: Vec<Past> = Vec::new();
    for Template { revision, created, containers, .. } in templates {
        let Some(Container { image, .. }) = meant(&containers, container, image) else { continue };
        // Another template may have the same image: a changed variable or limit makes one too.
        if present.is_none_or(|present| present.image != *image) && past.iter().all(|known| known.image != *image) {
            past.push(Past { image: image.clone(), revision, created });
        }
    }
    past
}

fn owners(metadata: &ObjectMeta) -> Vec<String> {
    metadata.owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect()
}

impl From<ReplicaSet> for Template {
    fn from(set: ReplicaSet) -> Self {
        let told = set.metadata.annotations.as_ref().and_then(|notes| notes.get(REVISION));
        Self {
            owners: owners(&set.metadata),
            revision: told.and_then(|revision| revision.parse().ok()).unwrap_or_default(),
            created: created(&set.metadata),
            containers: containers(set.spec.as_ref().and_then(|spec| spec.template.as_ref())),
        }
    }
}

impl From<ControllerRevision> for Template {
    fn from(kept: ControllerRevision) -> Self {
        // What it keeps is a patch of the workload: `{"spec": {"template": {..., "$patch": "replace"}}}`.
        let template = kept.data.and_then(|mut data| {
            let template = data.0.pointer_mut("/spec/template")?.take();
            serde_json::from_value::<PodTemplateSpec>(template).ok()
        });
        Self {
            owners: owners(&kept.metadata),
            revision: kept.revision,
            created: created(&kept.metadata),
            containers: containers(template.as_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pods(images: &[&str]) -> Value {
        let container = |(at, image): (usize, &&str)| json!({ "name": format!("c{at}"), "image": image });
        json!({ "metadata": {}, "spec": { "containers": images.iter().enumerate().map(container).collect::<Vec<_>>() },
            "$patch": "replace" })
    }

    fn metadata(owner: &str, revision: &str) -> Value {
        json!({ "name": "x", "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": { REVISION: revision },
            "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "Deployment", "name": "checkout", "uid": owner }] })
    }

    fn replica_set(owner: &str, revision: &str, images: &[&str]) -> Template {
        let set =
            json!({ "metadata": metadata(owner, revision), "spec": { "selector": {}, "template": pods(images) } });
        serde_json::from_value::<ReplicaSet>(set).unwrap().into()
    }

    fn controller_revision(data: &Value) -> Template {
        let kept = json!({ "metadata": metadata("u", "9"), "revision": 3, "data": data });
        serde_json::from_value::<ControllerRevision>(kept).unwrap().into()
    }

    fn own(images: &[&str]) -> Own {
        let template: PodTemplateSpec = serde_json::from_value(pods(images)).unwrap();
        Own { uid: "u".to_owned(), labels: String::new(), containers: containers(Some(&template)) }
    }

    fn told(past: &[Past]) -> Vec<String> {
        past.iter().map(|past| format!("{} {}", past.revision, past.image)).collect()
    }

    #[test]
    fn the_images_before_come_newest_first_and_once() {
        let templates = vec![
            replica_set("u", "2", &["checkout:2"]),
            replica_set("u", "10", &["checkout:3"]),
            replica_set("u", "11", &["checkout:4"]),
            // The present image under an older template, and an older image under two.
            replica_set("u", "9", &["checkout:4"]),
            replica_set("u", "1", &["checkout:3"]),
            replica_set("another's", "12", &["checkout:5"]),
            replica_set("u", "not a number", &["checkout:0"]),
        ];
        let past = past(templates, &own(&["checkout:4"]), None, "checkout");
        assert_eq!(told(&past), ["10 checkout:3", "2 checkout:2", "0 checkout:0"]);
        assert_eq!(past[0].created, Some("2026-01-01T00:00:00Z".parse().unwrap()));
    }

    #[test]
    fn the_container_is_the_one_that_the_view_would_choose() {
        let both = || vec![replica_set("u", "1", &["envoy:1", "checkout:1"]), replica_set("u", "2", &["envoy:1"])];
        let now = own(&["envoy:2", "checkout:2"]);
        assert_eq!(told(&past(both(), &now, None, "checkout")), ["1 checkout:1"]);
        assert_eq!(told(&past(both(), &now, Some("c1"), "checkout")), ["1 checkout:1"]);
        assert_eq!(told(&past(both(), &now, Some("c0"), "checkout")), ["2 envoy:1"]);
        assert_eq!(told(&past(both(), &now, Some("none"), "checkout")), Vec::<String>::new());
    }

    #[test]
    fn the_other_kinds_keep_patches() {
        let right = controller_revision(&json!({ "spec": { "template": pods(&["mailer:1"]) } }));
        assert_eq!(told(&past(vec![right], &own(&["mailer:2"]), None, "mailer")), ["3 mailer:1"]);
        for strange in [json!(null), json!({}), json!("text"), json!({ "spec": { "template": 7 } })] {
            let templates = vec![controller_revision(&strange)];
            assert!(past(templates, &own(&["mailer:2"]), None, "mailer").is_empty(), "{strange}");
        }
    }
}
