//! A fake registry for tests, with the responses and the authentication that a test sets.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::client::{Client, RegistryTimeouts};
use crate::config::RegistryLogin;
use crate::domain::model::version::Image;

#[derive(Clone, Default)]
pub(super) struct FakeRegistry(Arc<Mutex<FakeRegistryState>>);

#[derive(Default)]
struct FakeRegistryState {
    /// By path, with the query if there is one.
    answers: HashMap<String, CannedResponse>,
    required_auth: RequiredAuth,
    delay: Duration,
    requests: Vec<String>,
}

#[derive(Clone)]
struct CannedResponse {
    status: u16,
    kind: &'static str,
    body: String,
    link: Option<String>,
}

#[derive(Clone, Default)]
pub(super) enum RequiredAuth {
    #[default]
    Open,
    /// The `Authorization` header that is accepted.
    Basic(&'static str),
    /// The `Authorization` header that gets a token (empty: none is needed), and the token.
    Bearer(&'static str, &'static str),
    /// The token service does not answer.
    BearerNowhere,
}

pub(super) fn digest(text: &str) -> String {
    format!("sha256:{:x}", Sha256::digest(text.as_bytes()))
}

pub(super) fn image(tag: &str) -> Image {
    Image::parse(&format!("ghcr.io/acme/checkout:{tag}"))
}

pub(super) fn bob(password: &str) -> RegistryLogin {
    RegistryLogin::Password { user: "bob".to_owned(), password: password.into() }
}

impl FakeRegistry {
    pub(super) fn put(&self, path: &str, status: u16, kind: &'static str, body: &str) {
        self.put_linked(path, status, kind, body, None);
    }

    fn put_linked(&self, path: &str, status: u16, kind: &'static str, body: &str, link: Option<String>) {
        let answer = CannedResponse { status, kind, body: body.to_owned(), link };
        self.0.lock().unwrap().answers.insert(format!("/v2/acme/checkout/{path}"), answer);
    }

    /// A page of tags, with its `Link` header.
    pub(super) fn tags(&self, query: &str, tags: &[&str], link: Option<&str>) {
        let body = json!({ "name": "acme/checkout", "tags": tags }).to_string();
        let link = link.map(|link| format!("<{link}>; rel=\"next\""));
        self.put_linked(&format!("tags/list?{query}"), 200, "application/json", &body, link);
    }

    /// Adds a manifest under its tag and its digest; returns the digest.
    pub(super) fn manifest(&self, tag: &str, manifest: &Value) -> String {
        let text = manifest.to_string();
        let kind = "application/vnd.oci.image.manifest.v1+json";
        self.put(&format!("manifests/{tag}"), 200, kind, &text);
        self.put(&format!("manifests/{}", digest(&text)), 200, kind, &text);
        digest(&text)
    }

    pub(super) fn image(&self, tag: &str, annotations: &Value, labels: &Value) -> String {
        let config = json!({ "architecture": "arm64", "os": "linux", "config": { "Labels": labels }, "rootfs": { "type": "layers", "diff_ids": [] } }).to_string();
        self.put(&format!("blobs/{}", digest(&config)), 200, "application/octet-stream", &config);
        self.manifest(tag, &json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": { "mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(&config), "size": config.len() },
            "layers": [], "annotations": annotations }))
    }

    pub(super) fn require_auth(&self, required_auth: RequiredAuth) {
        self.0.lock().unwrap().required_auth = required_auth;
    }

    pub(super) fn delay(&self, delay: Duration) {
        self.0.lock().unwrap().delay = delay;
    }

    /// The requests, oldest first: `GET /v2/`.
    pub(super) fn requests(&self) -> Vec<String> {
        self.0.lock().unwrap().requests.clone()
    }

    pub(super) async fn listen(&self) -> String {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let router = axum::Router::new().fallback(answer).with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move { axum::serve(listener, router).await });
        host
    }

    pub(super) async fn client(&self) -> Client {
        self.client_as(None).await
    }

    /// A client with a read timeout of half a second.
    pub(super) async fn client_as(&self, login: Option<RegistryLogin>) -> Client {
        let host = self.listen().await;
        let mirrors = BTreeMap::from([("ghcr.io".to_owned(), format!("http://{host}"))]);
        let logins = login.into_iter().map(|login| (host.clone(), login)).collect();
        let [read, whole] = [Duration::from_millis(500), Duration::from_secs(5)];
        Client::with_timeouts(&mirrors, &logins, RegistryTimeouts { connect: whole, read, total: whole }).unwrap()
    }
}

async fn answer(State(fake): State<FakeRegistry>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let path_and_query = request.uri().path_and_query().unwrap().to_string();
    let (canned, required_auth, delay) = {
        let mut state = fake.0.lock().unwrap();
        state.requests.push(format!("{} {path_and_query}", request.method()));
        let canned = state.answers.get(&path_and_query).or_else(|| state.answers.get(&path)).cloned();
        (canned, state.required_auth.clone(), state.delay)
    };
    tokio::time::sleep(delay).await;
    let header = |headers: &HeaderMap, name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let authorization = header(request.headers(), "authorization").unwrap_or_default();
    let host = header(request.headers(), "host").unwrap();
    let (expected, challenge) = match required_auth {
        RequiredAuth::Open => (String::new(), None),
        RequiredAuth::Basic(expected) => (expected.to_owned(), Some("Basic realm=\"fake\"".to_owned())),
        RequiredAuth::Bearer(login, token) => {
            if path == "/token" {
                let scope = "/token?scope=repository%3Aacme%2Fcheckout%3Apull&service=fake";
                if authorization != login || path_and_query != scope {
                    return (StatusCode::UNAUTHORIZED, "no such user").into_response();
                }
                return axum::Json(json!({ "token": token })).into_response();
            }
            (format!("Bearer {token}"), Some(format!("Bearer realm=\"http://{host}/token\",service=\"fake\"")))
        }
        RequiredAuth::BearerNowhere => ("-".to_owned(), Some("Bearer realm=\"http://127.0.0.1:1/token\"".to_owned())),
    };
    if let Some(challenge) = challenge.filter(|_| authorization != expected) {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response();
    }
    if path == "/v2/" {
        return StatusCode::OK.into_response();
    }
    let canned = canned.unwrap_or_else(|| {
        let code = if path.contains("/blobs/") { "BLOB_UNKNOWN" } else { "MANIFEST_UNKNOWN" };
        let body = json!({ "errors": [{ "code": code, "message": "not here" }] }).to_string();
        CannedResponse { status: 404, kind: "application/json", body, link: None }
    });
    let status = StatusCode::from_u16(canned.status).unwrap();
    let mut response = (status, [(header::CONTENT_TYPE, canned.kind)], canned.body.clone()).into_response();
    if canned.status == 200 {
        response.headers_mut().insert("docker-content-digest", digest(&canned.body).parse().unwrap());
    }
    if let Some(link) = canned.link {
        response.headers_mut().insert(header::LINK, link.parse().unwrap());
    }
    response
}
