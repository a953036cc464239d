//! The requests that only `doctor` sends: for a cluster's version, Gantry's permissions, and the containers of a
//! workload. The caller sets the timeout.

use axum::http::{Request, header};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;
use serde::Deserialize;

use super::access::ClusterPermission;
use super::client::{ClusterClients, ClusterError};
use super::{describe_error, root_cause, truncate_text};
use crate::adapters::cluster::workload_status::{Container, WorkloadResource};
use crate::domain::model::workload::{Namespace, Workload, WorkloadKind};
use crate::http::parse_date_header;

/// The version of a cluster.
#[derive(Clone, Debug, Deserialize)]
pub struct ClusterInfo {
    #[serde(rename = "gitVersion")]
    pub version: String,
    #[serde(skip)]
    pub server_time: Option<Timestamp>,
}

impl ClusterClients {
    pub async fn fetch_cluster_info(&self, context: Option<&std::sync::Arc<str>>) -> Result<ClusterInfo, ClusterError> {
        let client = self.connect_to_context(context).await?;
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
        let info: ClusterInfo = serde_json::from_slice(&body)
            .map_err(|_| ClusterError("what answers there is no Kubernetes API".to_owned()))?;
        let date = headers.get(header::DATE).and_then(|value| parse_date_header(value.to_str().ok()?));
        Ok(ClusterInfo { version: truncate_text(&info.version, 40), server_time: date })
    }

    /// Asks the cluster itself, by a `SelfSubjectAccessReview`.
    pub async fn is_permitted(
        &self,
        namespace: &Namespace,
        permission: &ClusterPermission,
    ) -> Result<bool, ClusterError> {
        let client = self.connect_to_context(namespace.context.as_ref()).await?;
        let attributes = ResourceAttributes {
            namespace: Some(namespace.name.to_string()),
            group: Some(permission.group.clone()),
            resource: Some(permission.resource.clone()),
            verb: Some(permission.verb.clone()),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        let review = SelfSubjectAccessReview { spec, ..Default::default() };
        let created = Api::<SelfSubjectAccessReview>::all(client).create(&PostParams::default(), &review).await;
        let created = created
            .map_err(|error| ClusterError(describe_error::<SelfSubjectAccessReview>(&error, "create", namespace)))?;
        Ok(created.status.is_some_and(|status| status.allowed))
    }

    /// `None` if the workload does not exist.
    pub async fn fetch_containers(
        &self,
        namespace: &Namespace,
        workload: &Workload,
    ) -> Result<Option<Box<[Container]>>, ClusterError> {
        let client = self.connect_to_context(namespace.context.as_ref()).await?;
        match workload.kind {
            WorkloadKind::Deployment => fetch_kind_containers::<Deployment>(client, namespace, workload).await,
            WorkloadKind::StatefulSet => fetch_kind_containers::<StatefulSet>(client, namespace, workload).await,
            WorkloadKind::DaemonSet => fetch_kind_containers::<DaemonSet>(client, namespace, workload).await,
        }
    }
}

async fn fetch_kind_containers<K: WorkloadResource>(
    client: kube::Client,
    namespace: &Namespace,
    workload: &Workload,
) -> Result<Option<Box<[Container]>>, ClusterError> {
    let found = Api::<K>::namespaced(client, &namespace.name).get_opt(&workload.name).await;
    let found = found.map_err(|error| ClusterError(describe_error::<K>(&error, "get", namespace)))?;
    Ok(found.map(|found| found.to_workload_status().containers))
}
