//! The simulated OCI registry at `/v2/`: manifests, config blobs and tags, with the error bodies of the distribution
//! specification. It answers for every host, as a mirror does, and knows nothing of CI.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::domain::model::version::{Image, Sha};

use crate::sim::unknown_requests::UnknownRequests;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const REVISION: &str = "org.opencontainers.image.revision";
const CREATED: &str = "org.opencontainers.image.created";
/// The token that a client with a login gets.
pub const TOKEN: &str = "a-token-of-the-world-s-registry";
/// The maximum number of tags on one page.
const MAX_PAGE_SIZE: usize = 100;

/// An event: an image was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedImage {
    pub image: String,
    pub tag: String,
    pub digest: String,
}

type Listener = Arc<dyn Fn(&PublishedImage) + Send + Sync>;

#[derive(Clone)]
pub struct Registry {
    unknown_requests: UnknownRequests,
    state: Arc<Mutex<RegistryState>>,
}

#[derive(Default)]
struct RegistryState {
    /// By the name in the path, which has no registry host.
    repositories: BTreeMap<String, ImageRepository>,
    blobs: HashMap<String, Blob>,
    published: u64,
    listeners: Vec<Listener>,
    requests: Vec<String>,
    down: bool,
    requires_login: bool,
}

#[derive(Default)]
struct ImageRepository {
    tags: BTreeMap<String, String>,
    manifests: BTreeMap<String, Vec<u8>>,
}

#[derive(Clone)]
struct Blob {
    media_type: &'static str,
    bytes: Vec<u8>,
}

impl Registry {
    pub fn new(unknown_requests: UnknownRequests) -> Self {
        Self { unknown_requests, state: Arc::default() }
    }

    pub fn router(&self) -> Router {
        // A name may contain any number of slashes, and a route pattern cannot match them in the middle of a path.
        let handler = || any(serve);
        Router::new()
            .route("/v2", handler())
            .route("/v2/", handler())
            .route("/v2/{*rest}", handler())
            .with_state(self.clone())
    }

    /// Publishes an image and returns the digest of its manifest. An existing tag moves.
    pub fn publish(&self, image: &str, tag: &str, revision: Option<&Sha>, created: Timestamp) -> String {
        let mut state = self.lock();
        state.published += 1;
        // Builds are not reproducible here: each has its own layer, and so its own digest.
        let layer = format!("layer {}", state.published).into_bytes();
        let mut labels = json!({ CREATED: created.to_string() });
        if let Some(revision) = revision {
            labels[REVISION] = json!(revision);
        }
        let config = json!({
            "created": created.to_string(), "architecture": "amd64", "os": "linux",
            "config": { "Entrypoint": ["/app"], "Labels": labels },
            "rootfs": { "type": "layers", "diff_ids": [digest_of(&layer)] },
            "history": [{ "created": created.to_string(), "created_by": "COPY app /app" }],
        });
        let config = config.to_string().into_bytes();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": { "mediaType": CONFIG, "digest": digest_of(&config), "size": config.len() },
            "layers": [{ "mediaType": LAYER, "digest": digest_of(&layer), "size": layer.len() }],
            "annotations": labels,
        });
        let manifest = manifest.to_string().into_bytes();
        let digest = digest_of(&manifest);
        state.blobs.insert(digest_of(&config), Blob { media_type: CONFIG, bytes: config });
        state.blobs.insert(digest_of(&layer), Blob { media_type: LAYER, bytes: layer });
        let repository = state.repositories.entry(path_name(image).to_owned()).or_default();
        repository.tags.insert(tag.to_owned(), digest.clone());
        repository.manifests.insert(digest.clone(), manifest);
        let listeners = state.listeners.clone();
        drop(state);
        let published = PublishedImage { image: image.to_owned(), tag: tag.to_owned(), digest: digest.clone() };
        for listener in listeners {
            listener(&published);
        }
        digest
    }

    pub fn has(&self, image: &str, tag: &str) -> bool {
        self.digest(image, tag).is_some()
    }

    pub fn digest(&self, image: &str, tag: &str) -> Option<String> {
        self.lock().repositories.get(path_name(image))?.tags.get(tag).cloned()
    }

    /// Whether a node can pull this reference, `name[:tag][@digest]`. A digest takes precedence over a tag.
    pub fn can_pull(&self, reference: &str) -> bool {
        let image = Image::parse(reference);
        let state = self.lock();
        let Some(repository) = state.repositories.get(path_name(&image.name)) else { return false };
        match (&image.digest, &image.tag) {
            (Some(digest), _) => repository.manifests.contains_key(&**digest),
            (None, Some(tag)) => repository.tags.contains_key(&**tag),
            (None, None) => false,
        }
    }

    pub fn tags(&self, image: &str) -> Vec<String> {
        self.lock()
            .repositories
            .get(path_name(image))
            .map(|repository| repository.tags.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// Removes a tag, and its manifest if no other tag names it. Returns whether the tag existed.
    pub fn remove(&self, image: &str, tag: &str) -> bool {
        let mut state = self.lock();
        let Some(repository) = state.repositories.get_mut(path_name(image)) else { return false };
        let Some(digest) = repository.tags.remove(tag) else { return false };
        if !repository.tags.values().any(|other| *other == digest) {
            repository.manifests.remove(&digest);
        }
        true
    }

    /// While the registry is down, it answers all requests with 503. Nodes are not affected.
    pub fn set_down(&self, down: bool) {
        self.lock().down = down;
    }

    /// Every request so far, such as `HEAD /v2/acme/search/manifests/1.0.1`, oldest first.
    pub fn requests(&self) -> Vec<String> {
        self.lock().requests.clone()
    }

    /// Requires a token from now on. A client with a login gets one.
    pub fn demand_login(&self) {
        self.lock().requires_login = true;
    }

    /// Calls `listener` after each publication.
    pub fn on_publish(&self, listener: impl Fn(&PublishedImage) + Send + Sync + 'static) {
        self.lock().listeners.push(Arc::new(listener));
    }

    fn lock(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The challenge or the token for a request without a valid token, if a login is required.
    fn challenge(&self, rest: &str, headers: &HeaderMap) -> Option<Response> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let authorization = text(header::AUTHORIZATION);
        if !self.lock().requires_login || authorization.strip_prefix("Bearer ") == Some(TOKEN) {
            return None;
        }
        if rest == "token" && authorization.starts_with("Basic ") {
            return Some(axum::Json(json!({ "token": TOKEN })).into_response());
        }
        let realm = format!("Bearer realm=\"http://{}/v2/token\",service=\"world\"", text(header::HOST));
        let error = failure(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", "authentication required", &Value::Null);
        Some(([(header::WWW_AUTHENTICATE, realm)], error).into_response())
    }

    fn manifest(&self, name: &str, reference: &str) -> Response {
        let state = self.lock();
        let Some(repository) = state.repositories.get(name) else { return name_unknown(name) };
        let digest = repository.tags.get(reference).map_or(reference, String::as_str);
        match repository.manifests.get(digest) {
            Some(manifest) => content(MANIFEST, digest, manifest.clone()),
            None => failure(
                StatusCode::NOT_FOUND,
                "MANIFEST_UNKNOWN",
                "manifest unknown",
                &json!({ "name": name, "reference": reference }),
            ),
        }
    }

    fn blob(&self, name: &str, digest: &str) -> Response {
        let state = self.lock();
        if !state.repositories.contains_key(name) {
            return name_unknown(name);
        }
        match state.blobs.get(digest) {
            Some(blob) => content(blob.media_type, digest, blob.bytes.clone()),
            None => {
                failure(StatusCode::NOT_FOUND, "BLOB_UNKNOWN", "blob unknown to registry", &json!({ "digest": digest }))
            }
        }
    }

    fn tag_page(&self, name: &str, page: &Page) -> Response {
        let state = self.lock();
        let Some(repository) = state.repositories.get(name) else { return name_unknown(name) };
        let after = page.last.as_deref().unwrap_or_default();
        let mut rest = repository.tags.keys().filter(|tag| tag.as_str() > after);
        let n = page.n.unwrap_or(MAX_PAGE_SIZE).min(MAX_PAGE_SIZE);
        let tags: Vec<&String> = rest.by_ref().take(n).collect();
        let link = match (rest.next(), tags.last()) {
            (Some(_), Some(last)) => Some(format!("</v2/{name}/tags/list?last={last}&n={n}>; rel=\"next\"")),
            _ => None,
        };
        let mut answer = axum::Json(json!({ "name": name, "tags": tags })).into_response();
        if let Some(link) = link.and_then(|link| HeaderValue::try_from(link).ok()) {
            answer.headers_mut().insert(header::LINK, link);
        }
        answer
    }
}

#[derive(Deserialize)]
struct Page {
    n: Option<usize>,
    last: Option<String>,
}

async fn serve(
    State(registry): State<Registry>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    page: Result<Query<Page>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let path = uri.path();
    let rest = path.strip_prefix("/v2").unwrap_or(path).trim_start_matches('/');
    let is_read = method == Method::GET || method == Method::HEAD;
    registry.lock().requests.push(format!("{method} {path}"));
    let mut answer = if registry.lock().down {
        failure(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", "service unavailable", &Value::Null)
    } else if let Some(challenge) = registry.challenge(rest, &headers) {
        challenge
    } else if !is_read {
        reject_unknown_request(&registry, &method, path)
    } else if rest.is_empty() {
        axum::Json(json!({})).into_response()
    } else if let Some((name, reference)) = rest.rsplit_once("/manifests/") {
        registry.manifest(name, reference)
    } else if let Some((name, digest)) = rest.rsplit_once("/blobs/") {
        registry.blob(name, digest)
    } else if let Some(name) = rest.strip_suffix("/tags/list") {
        match page {
            Ok(Query(page)) => registry.tag_page(name, &page),
            Err(error) => failure(
                StatusCode::BAD_REQUEST,
                "PAGINATION_NUMBER_INVALID",
                "invalid number of results requested",
                &json!(error.body_text()),
            ),
        }
    } else {
        reject_unknown_request(&registry, &method, path)
    };
    answer.headers_mut().insert("docker-distribution-api-version", HeaderValue::from_static("registry/2.0"));
    answer
}

fn reject_unknown_request(registry: &Registry, method: &Method, path: &str) -> Response {
    registry.unknown_requests.record("registry", method.as_str(), path);
    failure(StatusCode::NOT_FOUND, "UNSUPPORTED", "The operation is unsupported.", &Value::Null)
}

fn name_unknown(name: &str) -> Response {
    failure(StatusCode::NOT_FOUND, "NAME_UNKNOWN", "repository name not known to registry", &json!({ "name": name }))
}

fn failure(status: StatusCode, code: &str, message: &str, detail: &Value) -> Response {
    let body = json!({ "errors": [{ "code": code, "message": message, "detail": detail }] });
    (status, axum::Json(body)).into_response()
}

fn content(media_type: &'static str, digest: &str, bytes: Vec<u8>) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    // Set here because the answer to a HEAD has the length of the GET's body.
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    if let Ok(digest) = HeaderValue::from_str(digest) {
        headers.insert("docker-content-digest", digest.clone());
        headers.insert(header::ETAG, digest);
    }
    (headers, Body::from(bytes)).into_response()
}

/// `acme/checkout` of `ghcr.io/acme/checkout`: the name that a client requests from the mirror.
fn path_name(image: &str) -> &str {
    match image.split_once('/') {
        Some((host, rest)) if host.contains(['.', ':']) || host == "localhost" => rest,
        _ => image,
    }
}

fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{:x}", Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use oci_client::client::{ClientConfig, ClientProtocol};
    use oci_client::errors::OciDistributionError;
    use oci_client::manifest::OciManifest;
    use oci_client::secrets::RegistryAuth;
    use oci_client::{Client, Reference};

    use super::*;
    use crate::adapters::registry::RegistryError;

    struct Fixture {
        registry: Registry,
        unknown_requests: UnknownRequests,
        host: String,
        client: Client,
    }

    impl Fixture {
        async fn open() -> Self {
            let _ = rustls::crypto::ring::default_provider().install_default();
            let unknown_requests = UnknownRequests::default();
            let registry = Registry::new(unknown_requests.clone());
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let host = listener.local_addr().unwrap().to_string();
            let router = registry.router();
            tokio::spawn(async move { axum::serve(listener, router).await });
            let client = Client::new(ClientConfig {
                protocol: ClientProtocol::HttpsExcept(vec![host.clone()]),
                ..ClientConfig::default()
            });
            Self { registry, unknown_requests, host, client }
        }

        fn gantry(&self) -> crate::adapters::registry::Client {
            let mirrors = BTreeMap::from([("ghcr.io".to_owned(), format!("http://{}", self.host))]);
            crate::adapters::registry::Client::new(&mirrors, &BTreeMap::new()).unwrap()
        }

        fn reference(&self, text: &str) -> Reference {
            let mut reference: Reference = text.parse().unwrap();
            reference.set_mirror_registry(self.host.clone());
            reference
        }
    }

    fn sha() -> Sha {
        "4f1c2ab".repeat(6)[..40].parse().unwrap()
    }

    #[tokio::test]
    async fn an_image_is_found_by_tag_and_digest_and_has_its_commit() {
        let fixture = Fixture::open().await;
        let created = Timestamp::from_second(1_700_000_000).unwrap();
        let digest = fixture.registry.publish("ghcr.io/acme/search", "1.4.0", Some(&sha()), created);

        let by_tag = fixture.reference("ghcr.io/acme/search:1.4.0");
        let auth = RegistryAuth::Anonymous;
        assert_eq!(fixture.client.fetch_manifest_digest(&by_tag, &auth).await.unwrap(), digest);

        let by_digest = fixture.reference(&format!("ghcr.io/acme/search@{digest}"));
        let (manifest, found, config) = fixture.client.pull_manifest_and_config(&by_digest, &auth).await.unwrap();
        assert_eq!(found, digest);
        assert_eq!(manifest.annotations.unwrap()[REVISION], sha().as_str());
        let config: Value = serde_json::from_str(&config).unwrap();
        assert_eq!(config["config"]["Labels"][REVISION], json!(sha()));
        assert_eq!(fixture.unknown_requests.all(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn an_image_without_a_revision_has_no_label() {
        let fixture = Fixture::open().await;
        fixture.registry.publish("ghcr.io/acme/mailer", "build-1", None, Timestamp::UNIX_EPOCH);
        let reference = fixture.reference("ghcr.io/acme/mailer:build-1");
        let (manifest, _) = fixture.client.pull_manifest(&reference, &RegistryAuth::Anonymous).await.unwrap();
        let OciManifest::Image(manifest) = manifest else { panic!("not an image: {manifest}") };
        assert!(!manifest.annotations.unwrap().contains_key(REVISION));
    }

    #[tokio::test]
    async fn a_missing_image_has_the_error_code_of_the_specification() {
        let fixture = Fixture::open().await;
        fixture.registry.publish("ghcr.io/acme/checkout", "a", None, Timestamp::UNIX_EPOCH);
        for (text, code) in
            [("ghcr.io/acme/checkout:b", "ManifestUnknown"), ("ghcr.io/acme/nothing/at/all:a", "NameUnknown")]
        {
            let missing =
                fixture.client.pull_manifest(&fixture.reference(text), &RegistryAuth::Anonymous).await.unwrap_err();
            let OciDistributionError::RegistryError { envelope, .. } = missing else { panic!("{missing}") };
            assert_eq!(format!("{:?}", envelope.errors[0].code), code);
        }
        assert!(fixture.registry.remove("ghcr.io/acme/checkout", "a"));
        assert!(!fixture.registry.can_pull("ghcr.io/acme/checkout:a"));
        let missing = fixture.reference("ghcr.io/acme/checkout:a");
        assert!(fixture.client.fetch_manifest_digest(&missing, &RegistryAuth::Anonymous).await.is_err());
    }

    #[tokio::test]
    async fn tags_come_in_pages_with_a_link_to_the_next() {
        let fixture = Fixture::open().await;
        for tag in ["1", "2", "3"] {
            fixture.registry.publish("ghcr.io/acme/tools/web", tag, None, Timestamp::UNIX_EPOCH);
        }
        let all = fixture.reference("ghcr.io/acme/tools/web:1");
        let page = |n, last| {
            let (client, all) = (fixture.client.clone(), all.clone());
            async move { client.list_tags(&all, &RegistryAuth::Anonymous, n, last).await.unwrap().tags }
        };
        assert_eq!(page(None, None).await, ["1", "2", "3"]);
        assert_eq!(page(Some(2), None).await, ["1", "2"]);
        assert_eq!(page(Some(2), Some("2")).await, ["3"]);

        let url = format!("http://{}/v2/acme/tools/web/tags/list?n=2", fixture.host);
        let first = reqwest::get(&url).await.unwrap();
        assert_eq!(first.headers()[header::LINK], "</v2/acme/tools/web/tags/list?last=2&n=2>; rel=\"next\"");
        let last = reqwest::get(format!("{url}&last=2")).await.unwrap();
        assert!(!last.headers().contains_key(header::LINK));
    }

    #[tokio::test]
    async fn all_tags_are_found_by_following_the_links() {
        let fixture = Fixture::open().await;
        let tags: Vec<String> = (1000..1250).map(|number| format!("build-{number}")).collect();
        for tag in &tags {
            fixture.registry.publish("ghcr.io/acme/mailer", tag, None, Timestamp::UNIX_EPOCH);
        }
        assert_eq!(fixture.gantry().list_tags("ghcr.io/acme/mailer").await, Ok(tags));
        assert_eq!(fixture.unknown_requests.all(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_registry_that_is_down_differs_from_one_without_the_image() {
        let fixture = Fixture::open().await;
        let digest = fixture.registry.publish("ghcr.io/acme/mailer", "1", None, Timestamp::UNIX_EPOCH);
        let (gantry, image) = (fixture.gantry(), Image::parse("ghcr.io/acme/mailer:1"));
        fixture.registry.set_down(true);
        let unavailable = Err(RegistryError::Unavailable("it answered 503".to_owned()));
        assert_eq!(gantry.fetch_digest(&image).await, unavailable);
        assert_eq!(gantry.list_tags("ghcr.io/acme/mailer").await.map(|_| None), unavailable);
        fixture.registry.set_down(false);
        assert_eq!(gantry.fetch_digest(&image).await, Ok(Some(digest)));
        fixture.registry.remove("ghcr.io/acme/mailer", "1");
        assert_eq!(gantry.fetch_digest(&image).await, Ok(None));
    }

    #[tokio::test]
    async fn an_unknown_route_is_recorded() {
        let fixture = Fixture::open().await;
        let answer = reqwest::get(format!("http://{}/v2/_catalog", fixture.host)).await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        assert_eq!(fixture.unknown_requests.all(), ["registry: GET /v2/_catalog"]);
    }
}
