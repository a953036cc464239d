//! Authorization of the simulated cluster: requests with the bot's token have the permissions that the chart grants,
//! all other requests have an administrator's. A request of the bot beyond the chart's rules is recorded as unknown.

use std::collections::BTreeSet;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Json, body};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::adapters::cluster::access::{ClusterPermission, list_required_permissions};

use super::Cluster;
use super::api::Failure;

/// The bearer token of the bot's service account.
pub const TOKEN: &str = "world";
const ACCOUNT: &str = "system:serviceaccount:gantry:gantry";

pub(super) struct Access {
    granted: BTreeSet<ClusterPermission>,
    /// Namespaces in which every request is refused.
    pub(super) forbidden: BTreeSet<String>,
    /// Permissions that were removed from the bot's Role in one namespace.
    revoked: BTreeSet<(String, ClusterPermission)>,
    requested: BTreeSet<ClusterPermission>,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            granted: list_required_permissions().into_iter().collect(),
            forbidden: BTreeSet::new(),
            revoked: BTreeSet::new(),
            requested: BTreeSet::new(),
        }
    }
}

impl Access {
    fn allows(&self, is_bot: bool, namespace: Option<&str>, permission: &ClusterPermission) -> bool {
        let Some(namespace) = namespace else { return !is_bot };
        let revoked = || self.revoked.contains(&(namespace.to_owned(), permission.clone()));
        !self.forbidden.contains(namespace) && (!is_bot || (self.granted.contains(permission) && !revoked()))
    }
}

impl Cluster {
    /// All permissions that the bot's requests needed so far, granted or not.
    pub fn requested_permissions(&self) -> BTreeSet<ClusterPermission> {
        self.lock().access.requested.clone()
    }

    /// Takes one verb on one resource out of the bot's Role in a namespace.
    pub fn revoke(&self, namespace: &str, verb: &str, resource: &str) {
        let mut state = self.lock();
        let revoked: Vec<ClusterPermission> = state.access.granted.iter().cloned().collect();
        let revoked =
            revoked.into_iter().filter(|permission| permission.verb == verb && permission.resource == resource);
        state.access.revoked.extend(revoked.map(|permission| (namespace.to_owned(), permission)));
    }
}

/// The permission that a request needs, with its namespace and object name. `None` if the path names no resource.
fn parse_permission(method: &Method, uri: &Uri) -> Option<(ClusterPermission, Option<String>, Option<String>)> {
    let mut parts = uri.path().split('/').filter(|part| !part.is_empty());
    let group = match parts.next()? {
        "api" => String::new(),
        "apis" => parts.next()?.to_owned(),
        _ => return None,
    };
    let _version = parts.next()?;
    let rest: Vec<&str> = parts.collect();
    let (namespace, rest) = match rest.as_slice() {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
        rest => (None, rest),
    };
    let resource = match rest {
        [] => return None,
        [plural] | [plural, _] => (*plural).to_owned(),
        [plural, _, subresource @ ..] => format!("{plural}/{}", subresource.join("/")),
    };
    let name = rest.get(1).map(|name| (*name).to_owned());
    let query = uri.query().unwrap_or_default();
    let watches = query.split('&').any(|pair| pair == "watch=true" || pair == "watch=1");
    let verb = match *method {
        Method::GET | Method::HEAD if name.is_some() => "get",
        Method::GET | Method::HEAD if watches => "watch",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if name.is_none() => "deletecollection",
        Method::DELETE => "delete",
        _ => return None,
    };
    Some((ClusterPermission { group, resource, verb: verb.to_owned() }, namespace, name))
}

fn is_bot(headers: &HeaderMap) -> bool {
    headers.get(header::AUTHORIZATION).is_some_and(|value| value == &format!("Bearer {TOKEN}"))
}

/// Runs before every route, as the API server's authorization does.
pub(super) async fn authorise(State(cluster): State<Cluster>, request: Request, next: Next) -> Response {
    let parsed = parse_permission(request.method(), request.uri());
    let Some((permission, namespace, name)) =
        parsed.filter(|(permission, _, _)| permission.group != "authorization.k8s.io")
    else {
        return next.run(request).await;
    };
    let is_bot = is_bot(request.headers());
    let (allowed, granted) = {
        let mut state = cluster.lock();
        if is_bot {
            state.access.requested.insert(permission.clone());
        }
        (state.access.allows(is_bot, namespace.as_deref(), &permission), state.access.granted.contains(&permission))
    };
    if allowed {
        return next.run(request).await;
    }
    if is_bot && (!granted || namespace.is_none()) {
        cluster.0.unknown_requests.record("cluster", &format!("may not {}", permission.verb), request.uri().path());
    }
    forbidden_failure(&permission, namespace.as_deref(), name.as_deref()).into_response()
}

fn forbidden_failure(permission: &ClusterPermission, namespace: Option<&str>, name: Option<&str>) -> Failure {
    let ClusterPermission { group, resource, verb } = permission;
    let dotted = if group.is_empty() { resource.clone() } else { format!("{resource}.{group}") };
    let name = name.map(|name| format!(" \"{name}\"")).unwrap_or_default();
    let scope =
        namespace.map_or("at the cluster scope".to_owned(), |namespace| format!("in the namespace \"{namespace}\""));
    let message = format!(
        "{dotted}{name} is forbidden: User \"{ACCOUNT}\" cannot {verb} resource \"{resource}\" in API group \
         \"{group}\" {scope}"
    );
    Failure { code: StatusCode::FORBIDDEN, reason: "Forbidden", message }
}

#[derive(Deserialize)]
struct Review {
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    resource_attributes: Attributes,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Attributes {
    namespace: String,
    verb: String,
    group: String,
    resource: String,
}

/// `selfsubjectaccessreviews`: the decision that the rules would make. Every account may ask about itself.
pub(super) async fn review(
    State(cluster): State<Cluster>,
    headers: HeaderMap,
    body: body::Bytes,
) -> Result<Response, Failure> {
    let mut review: Value = serde_json::from_slice(&body).map_err(|error| Failure::bad_request(error.to_string()))?;
    let Review { spec } =
        serde_json::from_value(review.clone()).map_err(|error| Failure::bad_request(error.to_string()))?;
    let Attributes { namespace, verb, group, resource } = spec.resource_attributes;
    let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
    if cluster.is_down(namespace.as_deref()) {
        return Err(Failure::down());
    }
    let permission = ClusterPermission { group, resource, verb };
    let allowed = cluster.lock().access.allows(is_bot(&headers), namespace.as_deref(), &permission);
    let reason = "RBAC: allowed by RoleBinding \"gantry\" of Role \"gantry\" to ServiceAccount \"gantry/gantry\"";
    review["status"] = if allowed { json!({ "allowed": true, "reason": reason }) } else { json!({ "allowed": false }) };
    Ok((StatusCode::CREATED, Json(review)).into_response())
}
