//! The read-only Kubernetes API of the simulated cluster: discovery, get, list and watch. Errors are `Status` objects
//! as the API server sends them. `access` decides about permissions.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::selector::Selector;
use super::store::{Collection, Key};
use super::watch::Watch;
use super::{Cluster, access};

/// The timeout of a watch that asks for none, and the longest one. A real cluster has watches of this length too.
const WATCH_TIMEOUT: Duration = Duration::from_mins(30);

pub(super) fn router(cluster: Cluster) -> Router {
    Router::new()
        .route("/version", get(version))
        .route("/api", get(|| async { Json(json!({ "kind": "APIVersions", "versions": ["v1"] })) }))
        .route(
            "/apis",
            get(|| async { Json(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": [apps()] })) }),
        )
        .route("/apis/apps", get(|| async { Json(apps()) }))
        .route("/api/v1", get(|| async { Json(resources("")) }))
        .route("/apis/apps/v1", get(|| async { Json(resources("apps")) }))
        .route("/api/v1/{plural}", get(core_everywhere))
        .route("/api/v1/namespaces/{namespace}/{plural}", get(core_list))
        .route("/api/v1/namespaces/{namespace}/{plural}/{name}", get(core_one))
        .route("/apis/apps/v1/{plural}", get(apps_everywhere))
        .route("/apis/apps/v1/namespaces/{namespace}/{plural}", get(apps_list))
        .route("/apis/apps/v1/namespaces/{namespace}/{plural}/{name}", get(apps_one))
        .route("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", post(access::review))
        .fallback(handle_unknown)
        .method_not_allowed_fallback(handle_unknown)
        .layer(axum::middleware::from_fn_with_state(cluster.clone(), access::authorise))
        .with_state(cluster)
}

/// An error, in the API server's form.
pub(super) struct Failure {
    pub(super) code: StatusCode,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn too_old(version: u64) -> Self {
        let message = format!("too old resource version: {version}");
        Self { code: StatusCode::GONE, reason: "Expired", message }
    }

    pub(super) fn status(&self) -> Value {
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code.as_u16(),
        })
    }

    pub(super) fn down() -> Self {
        let message = "the server is currently unable to handle the request".to_owned();
        Self { code: StatusCode::SERVICE_UNAVAILABLE, reason: "ServiceUnavailable", message }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self { code: StatusCode::BAD_REQUEST, reason: "BadRequest", message: message.into() }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.code, Json(self.status())).into_response()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Params {
    watch: Option<String>,
    label_selector: Option<String>,
    field_selector: Option<String>,
    resource_version: Option<String>,
    limit: Option<usize>,
    #[serde(rename = "continue")]
    continue_: Option<String>,
    timeout_seconds: Option<u64>,
    allow_watch_bookmarks: Option<String>,
    send_initial_events: Option<String>,
}

fn is_true(text: Option<&str>) -> bool {
    matches!(text, Some("true" | "1"))
}

/// A collection in one namespace, or in all of them.
struct Scope {
    collection: Collection,
    namespace: Option<String>,
}

impl Cluster {
    fn check_available(&self, scope: &Scope) -> Result<(), Failure> {
        if self.is_down(scope.namespace.as_deref()) { Err(Failure::down()) } else { Ok(()) }
    }

    fn serve_object(&self, scope: Scope, name: String) -> Result<Response, Failure> {
        self.check_available(&scope)?;
        let Scope { collection, namespace } = scope;
        let key = Key { collection, namespace: namespace.unwrap_or_default(), name };
        if let Some(object) = self.lock().store.find(&key) {
            return Ok(Json(object).into_response());
        }
        let resource = match collection.group() {
            "" => collection.plural().to_owned(),
            group => format!("{}.{group}", collection.plural()),
        };
        let message = format!("{resource} \"{}\" not found", key.name);
        Err(Failure { code: StatusCode::NOT_FOUND, reason: "NotFound", message })
    }

    fn list_or_watch(&self, scope: Scope, params: &Params) -> Result<Response, Failure> {
        let watch = is_true(params.watch.as_deref());
        self.check_available(&scope)?;
        let selector = Selector::parse(params.label_selector.as_deref(), params.field_selector.as_deref())
            .map_err(Failure::bad_request)?;
        if watch { self.watch(scope, selector, params) } else { self.list(&scope, &selector, params) }
    }

    fn list(&self, scope: &Scope, selector: &Selector, params: &Params) -> Result<Response, Failure> {
        let state = self.lock();
        let mut version = state.store.version();
        let mut after = None;
        if let Some(token) = params.continue_.as_deref().filter(|token| !token.is_empty()) {
            let page = parse_continue_token(token).ok_or_else(|| Failure::bad_request("continue key is not valid"))?;
            state.store.check_not_compacted(page.0).map_err(|_| Failure {
                code: StatusCode::GONE,
                reason: "Expired",
                message: "The provided continue parameter is too old to display a consistent list result. You can \
                          start a new list without the continue parameter."
                    .to_owned(),
            })?;
            // A watch that continues from the first page's version sees the changes between the pages again.
            version = page.0;
            after = Some((page.1, page.2));
        }
        let mut rest = state
            .store
            .list(scope.collection, scope.namespace.as_deref())
            .filter(|(key, object)| {
                selector.selects(object)
                    && after.is_none_or(|after| (key.namespace.as_str(), key.name.as_str()) > after)
            })
            .peekable();
        let limit = params.limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let page: Vec<_> = rest.by_ref().take(limit).collect();
        let mut metadata = json!({ "resourceVersion": version.to_string() });
        if let (Some((last, _)), Some(_)) = (page.last(), rest.peek()) {
            metadata["continue"] = json!(format!("{version}/{}/{}", last.namespace, last.name));
        }
        let items: Vec<Value> = page.into_iter().map(|(_, object)| without_kind(object)).collect();
        Ok(Json(json!({
            "kind": format!("{}List", scope.collection.kind()), "apiVersion": scope.collection.api_version(),
            "metadata": metadata, "items": items,
        }))
        .into_response())
    }

    fn watch(&self, scope: Scope, selector: Selector, params: &Params) -> Result<Response, Failure> {
        if self.0.shutdown.is_cancelled() {
            let message = "the simulated cluster is shutting down".to_owned();
            return Err(Failure { code: StatusCode::SERVICE_UNAVAILABLE, reason: "ServiceUnavailable", message });
        }
        if params.send_initial_events.is_some() {
            return Err(Failure {
                code: StatusCode::UNPROCESSABLE_ENTITY,
                reason: "Invalid",
                message: "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
                    .to_owned(),
            });
        }
        let from = match params.resource_version.as_deref() {
            None | Some("" | "0") => None,
            Some(version) => Some(
                version
                    .parse()
                    .map_err(|_| Failure::bad_request(format!("Invalid value: \"{version}\": not a version")))?,
            ),
        };
        // A version that is too old is reported inside the stream, as the API server does. After a plain 410, kube's
        // watcher would ask for the same version forever.
        let watch = Watch {
            cluster: self.clone(),
            collection: scope.collection,
            namespace: scope.namespace,
            selector,
            from,
            bookmarks: is_true(params.allow_watch_bookmarks.as_deref()),
            timeout: params.timeout_seconds.map_or(WATCH_TIMEOUT, Duration::from_secs).min(WATCH_TIMEOUT),
        };
        Ok(([(header::CONTENT_TYPE, "application/json")], Body::from_stream(watch.stream())).into_response())
    }
}

/// `<version>/<namespace>/<name>`: the end of the previous page.
fn parse_continue_token(token: &str) -> Option<(u64, &str, &str)> {
    let (version, rest) = token.split_once('/')?;
    let (namespace, name) = rest.split_once('/')?;
    Some((version.parse().ok()?, namespace, name))
}

/// Removes `kind` and `apiVersion`, which items of a list do not have.
fn without_kind(object: &Value) -> Value {
    let mut item = object.clone();
    if let Some(fields) = item.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    item
}

type ParamsResult = Result<Query<Params>, axum::extract::rejection::QueryRejection>;

/// The collection that `group` and `plural` of a path name. Any other pair is recorded as an unknown request.
fn scope(cluster: &Cluster, group: &str, plural: &str, namespace: Option<String>, uri: &Uri) -> Result<Scope, Failure> {
    let found =
        Collection::ALL.into_iter().find(|collection| collection.group() == group && collection.plural() == plural);
    match found {
        Some(collection) => Ok(Scope { collection, namespace }),
        None => Err(record_unknown(cluster, &Method::GET, uri)),
    }
}

fn record_unknown(cluster: &Cluster, method: &Method, uri: &Uri) -> Failure {
    cluster.0.unknown_requests.record("cluster", method.as_str(), uri.path());
    let message = "the server could not find the requested resource".to_owned();
    Failure { code: StatusCode::NOT_FOUND, reason: "NotFound", message }
}

fn parse_params(params: ParamsResult) -> Result<Params, Failure> {
    params.map(|Query(params)| params).map_err(|error| Failure::bad_request(error.body_text()))
}

type Answer = Result<Response, Failure>;

async fn core_everywhere(
    State(cluster): State<Cluster>,
    Path(plural): Path<String>,
    uri: Uri,
    params: ParamsResult,
) -> Answer {
    cluster.list_or_watch(scope(&cluster, "", &plural, None, &uri)?, &parse_params(params)?)
}

async fn core_list(
    State(cluster): State<Cluster>,
    Path((namespace, plural)): Path<(String, String)>,
    uri: Uri,
    params: ParamsResult,
) -> Answer {
    cluster.list_or_watch(scope(&cluster, "", &plural, Some(namespace), &uri)?, &parse_params(params)?)
}

async fn core_one(
    State(cluster): State<Cluster>,
    Path((namespace, plural, name)): Path<(String, String, String)>,
    uri: Uri,
) -> Answer {
    cluster.serve_object(scope(&cluster, "", &plural, Some(namespace), &uri)?, name)
}

async fn apps_everywhere(
    State(cluster): State<Cluster>,
    Path(plural): Path<String>,
    uri: Uri,
    params: ParamsResult,
) -> Answer {
    cluster.list_or_watch(scope(&cluster, "apps", &plural, None, &uri)?, &parse_params(params)?)
}

async fn apps_list(
    State(cluster): State<Cluster>,
    Path((namespace, plural)): Path<(String, String)>,
    uri: Uri,
    params: ParamsResult,
) -> Answer {
    cluster.list_or_watch(scope(&cluster, "apps", &plural, Some(namespace), &uri)?, &parse_params(params)?)
}

async fn apps_one(
    State(cluster): State<Cluster>,
    Path((namespace, plural, name)): Path<(String, String, String)>,
    uri: Uri,
) -> Answer {
    cluster.serve_object(scope(&cluster, "apps", &plural, Some(namespace), &uri)?, name)
}

async fn handle_unknown(State(cluster): State<Cluster>, method: Method, uri: Uri) -> Failure {
    record_unknown(&cluster, &method, &uri)
}

async fn version(State(cluster): State<Cluster>) -> Answer {
    if cluster.is_down(None) {
        return Err(Failure::down());
    }
    Ok(Json(json!({
        "major": "1", "minor": "33", "gitVersion": "v1.33.0+sim", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z", "goVersion": "go1.24", "compiler": "gc", "platform": "linux/amd64",
    }))
    .into_response())
}

fn apps() -> Value {
    let version = json!({ "groupVersion": "apps/v1", "version": "v1" });
    json!({ "kind": "APIGroup", "apiVersion": "v1", "name": "apps", "versions": [version], "preferredVersion": version })
}

fn resources(group: &str) -> Value {
    let of_group = Collection::ALL.into_iter().filter(|collection| collection.group() == group);
    let resources: Vec<Value> = of_group
        .map(|collection| {
            json!({
                "name": collection.plural(), "singularName": collection.kind().to_lowercase(), "namespaced": true,
                "kind": collection.kind(), "verbs": ["get", "list", "watch"],
            })
        })
        .collect();
    let version = if group.is_empty() { "v1" } else { "apps/v1" };
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources })
}
