//! Looks at a cluster once, for whoever wants to know whether it can be used: does it answer, what does it grant, what stands
//! there. Whoever asks sets the limit of time.

use axum::http::{Request, header};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;
use serde::Deserialize;

use super::access::Ask;
use super::client::{Clients, ClusterError};
use super::{root_cause, sentence, shortened};
use crate::adapters::cluster::workload_status::{Container, Stands};
use crate::domain::model::artefact::{Namespace, Workload, WorkloadKind};
use crate::http::date;

/// What a cluster says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    pub version: String,
    /// What its clock said.
    pub date: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    git_version: String,
}

impl Clients {
    pub async fn greet(&self, context: Option<&std::sync::Arc<str>>) -> Result<Greeting, ClusterError> {
        let client = self.of(context).await?;
        let request = Request::get("/version").body(kube::client::Body::empty());
        let request = request.map_err(|error| ClusterError(error.to_string()))?;
        let unreachable = |error: &kube::Error| ClusterError(format!("unreachable: {}", root_cause(error)));
        let answer = client.send(request).await.map_err(|error| unreachable(&error))?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = answer.into_body().collect_bytes().await.map_err(|error| unreachable(&error))?;
        match status.as_u16() {
            200 => {}
            401 => return Err(ClusterError("unauthorised: the cluster does not take our credentials".to_owned())),
            status => return Err(ClusterError(format!("the cluster answered {status}"))),
        }
        let version: Version = serde_json::from_slice(&body)
            .map_err(|_| ClusterError("what answers there is no Kubernetes API".to_owned()))?;
        let date = headers.get(header::DATE).and_then(|value| date(value.to_str().ok()?));
        Ok(Greeting { version: shortened(&version.git_version, 40), date })
    }

    /// Would the cluster let us?
    pub async fn may(&self, namespace: &Namespace, ask: &Ask) -> Result<bool, ClusterError> {
        let client = self.of(namespace.context.as_ref()).await?;
        let attributes = ResourceAttributes {
            namespace: Some(namespace.name.to_string()),
            group: Some(ask.group.clone()),
            resource: Some(ask.resource.clone()),
            verb: Some(ask.verb.clone()),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        let review = SelfSubjectAccessReview { spec, ..Default::default() };
        let said = Api::<SelfSubjectAccessReview>::all(client).create(&PostParams::default(), &review).await;
        let said =
            said.map_err(|error| ClusterError(sentence::<SelfSubjectAccessReview>(&error, "create", namespace)))?;
        Ok(said.status.is_some_and(|status| status.allowed))
    }

    /// The containers of a workload; `None` where there is none.
    pub async fn containers(
        &self,
        namespace: &Namespace,
        workload: &Workload,
    ) -> Result<Option<Box<[Container]>>, ClusterError> {
        let client = self.of(namespace.context.as_ref()).await?;
        match workload.kind {
            WorkloadKind::Deployment => standing::<Deployment>(client, namespace, workload).await,
            WorkloadKind::StatefulSet => standing::<StatefulSet>(client, namespace, workload).await,
            WorkloadKind::DaemonSet => standing::<DaemonSet>(client, namespace, workload).await,
        }
    }
}

async fn standing<K: Stands>(
    client: kube::Client,
    namespace: &Namespace,
    workload: &Workload,
) -> Result<Option<Box<[Container]>>, ClusterError> {
    let found = Api::<K>::namespaced(client, &namespace.name).get_opt(&workload.name).await;
    let found = found.map_err(|error| ClusterError(sentence::<K>(&error, "get", namespace)))?;
    Ok(found.map(|found| found.standing().containers))
}
