//! Questions to OCI registries over oci-client, whose types stay here. Pulls nothing but manifests and configurations.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use oci_client::Reference;
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::errors::{OciDistributionError, OciErrorCode};
use oci_client::manifest::{ImageIndexEntry, OciImageManifest, OciManifest};
use oci_client::secrets::RegistryAuth;
use serde::Deserialize;

use super::reference::reference;
use crate::domain::version::Image;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Around a whole question, which may be several requests.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Configurations are a few KiB; more is not one.
const CONFIG_LIMIT: usize = 1024 * 1024;
const REVISION: &str = "org.opencontainers.image.revision";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error("the registry refuses us: {0}. Give it read access to the image")]
    Unauthorised(String),
    #[error("the registry is not available: {0}")]
    Unavailable(String),
    #[error("the registry's answer is of no use: {0}")]
    Other(String),
}

#[derive(Clone)]
pub struct Client {
    oci: oci_client::Client,
    /// By registry: the host, with its port, that is asked in its stead.
    mirrors: Arc<BTreeMap<String, String>>,
}

impl Client {
    /// `mirrors` is as configured: `ghcr.io` to `http://127.0.0.1:8484`. Only a mirror may be spoken to in plain HTTP.
    pub fn new(mirrors: &BTreeMap<String, String>) -> Result<Self, RegistryError> {
        let mut plain = Vec::new();
        let mut hosts = BTreeMap::new();
        for (registry, url) in mirrors {
            let (scheme, host) = url.split_once("://").unwrap_or(("", url));
            let host = host.strip_suffix('/').unwrap_or(host);
            if !matches!(scheme, "http" | "https") || host.is_empty() || host.contains(['/', '?', '#', '@']) {
                return Err(RegistryError::Other(format!(
                    "the mirror `{url}` of {registry} must be `http://host:port` or `https://host`, without a path"
                )));
            }
            if scheme == "http" {
                plain.push(host.to_owned());
            }
            hosts.insert(registry.clone(), host.to_owned());
        }
        let config = ClientConfig {
            protocol: ClientProtocol::HttpsExcept(plain),
            platform_resolver: Some(Box::new(any_platform)),
            connect_timeout: Some(CONNECT_TIMEOUT),
            read_timeout: Some(READ_TIMEOUT),
            user_agent: concat!("gantry/", env!("CARGO_PKG_VERSION")),
            ..ClientConfig::default()
        };
        let oci = oci_client::Client::try_from(config)
            .map_err(|error| RegistryError::Other(format!("the client cannot be built: {error}")))?;
        Ok(Self { oci, mirrors: Arc::new(hosts) })
    }

    pub async fn exists(&self, image: &Image) -> Result<bool, RegistryError> {
        let reference = self.reference(image)?;
        let found = limited(self.oci.fetch_manifest_digest(&reference, &RegistryAuth::Anonymous)).await?;
        Ok(found.is_some())
    }

    /// The commit that the image says it was built from: by the annotation of its manifest, else by its label.
    /// `None` where it does not tell, or is not there.
    pub async fn revision(&self, image: &Image) -> Result<Option<String>, RegistryError> {
        let reference = self.reference(image)?;
        let revision = limited(self.told_revision(&reference)).await?.flatten();
        Ok(revision.map(|revision| revision.trim().to_owned()).filter(|revision| !revision.is_empty()))
    }

    async fn told_revision(&self, reference: &Reference) -> Result<Option<String>, OciDistributionError> {
        let annotated = |annotations: &Option<BTreeMap<String, String>>| annotations.as_ref()?.get(REVISION).cloned();
        let (manifest, _) = self.oci.pull_manifest(reference, &RegistryAuth::Anonymous).await?;
        let manifest = match manifest {
            OciManifest::Image(manifest) => manifest,
            OciManifest::ImageIndex(index) => {
                if let Some(revision) = annotated(&index.annotations) {
                    return Ok(Some(revision));
                }
                let Some(digest) = any_platform(&index.manifests) else { return Ok(None) };
                let part = reference.clone_with_digest(digest);
                match self.oci.pull_manifest(&part, &RegistryAuth::Anonymous).await? {
                    (OciManifest::Image(manifest), _) => manifest,
                    (OciManifest::ImageIndex(_), _) => return Ok(None),
                }
            }
        };
        match annotated(&manifest.annotations) {
            Some(revision) => Ok(Some(revision)),
            None => self.label(reference, &manifest).await,
        }
    }

    async fn label(
        &self,
        reference: &Reference,
        manifest: &OciImageManifest,
    ) -> Result<Option<String>, OciDistributionError> {
        #[derive(Deserialize)]
        struct Config {
            config: Option<Settings>,
        }
        #[derive(Deserialize)]
        struct Settings {
            #[serde(rename = "Labels")]
            labels: Option<BTreeMap<String, String>>,
        }
        let size = usize::try_from(manifest.config.size).unwrap_or(0).min(CONFIG_LIMIT);
        // What the registry sends beyond the size that it named has no place in here and is an error.
        let mut bytes = vec![0; size];
        let mut into = std::io::Cursor::new(bytes.as_mut_slice());
        self.oci.pull_blob(reference, &manifest.config, &mut into).await?;
        let config: Config = serde_json::from_slice(&bytes)?;
        Ok(config.config.and_then(|settings| settings.labels).and_then(|mut labels| labels.remove(REVISION)))
    }

    fn reference(&self, image: &Image) -> Result<Reference, RegistryError> {
        let mut reference =
            reference(image).ok_or_else(|| RegistryError::Other(format!("`{image}` is not an image")))?;
        if let Some(mirror) = self.mirrors.get(reference.registry()) {
            reference.set_mirror_registry(mirror.clone());
        }
        Ok(reference)
    }
}

/// All platforms of an image are built from one commit, so any will do; attestations are of no platform.
fn any_platform(entries: &[ImageIndexEntry]) -> Option<String> {
    let real = |entry: &&ImageIndexEntry| {
        entry.platform.as_ref().is_none_or(|platform| platform.os.to_string() != "unknown")
            && entry.annotations.as_ref().is_none_or(|notes| !notes.contains_key("vnd.docker.reference.type"))
    };
    entries.iter().find(real).map(|entry| entry.digest.clone())
}

/// `None` where the registry does not have the image.
async fn limited<T>(
    question: impl Future<Output = Result<T, OciDistributionError>>,
) -> Result<Option<T>, RegistryError> {
    match tokio::time::timeout(TIMEOUT, question).await {
        Ok(Ok(answer)) => Ok(Some(answer)),
        Ok(Err(error)) => refusal(error),
        Err(_) => Err(RegistryError::Unavailable(format!("no answer in {} s", TIMEOUT.as_secs()))),
    }
}

fn refusal<T>(error: OciDistributionError) -> Result<Option<T>, RegistryError> {
    use OciErrorCode::{Denied, ManifestUnknown, NameUnknown, NotFound, Toomanyrequests, Unauthorized};
    match error {
        OciDistributionError::ImageManifestNotFoundError(_) | OciDistributionError::ServerError { code: 404, .. } => {
            Ok(None)
        }
        OciDistributionError::RegistryError { envelope, url } => {
            let any = |codes: &[OciErrorCode]| envelope.errors.iter().any(|error| codes.contains(&error.code));
            let said = || shown(&format!("{url}: {envelope}"));
            if any(&[ManifestUnknown, NameUnknown, NotFound]) {
                Ok(None)
            } else if any(&[Unauthorized, Denied]) {
                Err(RegistryError::Unauthorised(said()))
            } else if any(&[Toomanyrequests]) {
                Err(RegistryError::Unavailable(said()))
            } else {
                Err(RegistryError::Other(said()))
            }
        }
        OciDistributionError::AuthenticationFailure(why)
        | OciDistributionError::UnauthorizedError { url: why }
        | OciDistributionError::ServerError { code: 401 | 403, url: why, .. } => {
            Err(RegistryError::Unauthorised(shown(&why)))
        }
        OciDistributionError::ServerError { code: code @ (429 | 500..), .. } => {
            Err(RegistryError::Unavailable(format!("it answered {code}")))
        }
        OciDistributionError::RequestError(error) => {
            let mut cause: &dyn std::error::Error = &error;
            while let Some(deeper) = cause.source() {
                cause = deeper;
            }
            Err(RegistryError::Unavailable(shown(&cause.to_string())))
        }
        error => Err(RegistryError::Other(shown(&error.to_string()))),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Mutex;

    use axum::extract::{Request, State};
    use axum::http::{StatusCode, header};
    use axum::response::{IntoResponse, Response};
    use serde_json::{Value, json};
    use sha2::{Digest, Sha256};

    use super::*;

    const SHA: &str = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";

    /// By path: status, content type, body.
    #[derive(Clone, Default)]
    struct Fake(Arc<Mutex<HashMap<String, Answer>>>);

    type Answer = (u16, &'static str, String);

    fn digest(text: &str) -> String {
        format!("sha256:{:x}", Sha256::digest(text.as_bytes()))
    }

    impl Fake {
        fn put(&self, path: &str, status: u16, kind: &'static str, body: &str) {
            self.0.lock().unwrap().insert(format!("/v2/acme/checkout/{path}"), (status, kind, body.to_owned()));
        }

        /// A manifest under its tag and its digest; returns the digest.
        fn manifest(&self, tag: &str, manifest: &Value) -> String {
            let text = manifest.to_string();
            let kind = "application/vnd.oci.image.manifest.v1+json";
            self.put(&format!("manifests/{tag}"), 200, kind, &text);
            self.put(&format!("manifests/{}", digest(&text)), 200, kind, &text);
            digest(&text)
        }

        fn image(&self, tag: &str, annotations: &Value, labels: &Value) -> String {
            let config = json!({ "architecture": "arm64", "os": "linux", "config": { "Labels": labels }, "rootfs": { "type": "layers", "diff_ids": [] } }).to_string();
            self.put(&format!("blobs/{}", digest(&config)), 200, "application/octet-stream", &config);
            self.manifest(tag, &json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": { "mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(&config), "size": config.len() },
                "layers": [], "annotations": annotations }))
        }

        async fn client(&self) -> Client {
            let _ = rustls::crypto::ring::default_provider().install_default();
            let router = axum::Router::new().fallback(answer).with_state(self.clone());
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(async move { axum::serve(listener, router).await });
            Client::new(&BTreeMap::from([("ghcr.io".to_owned(), format!("http://{address}"))])).unwrap()
        }

        async fn revision(&self, tag: &str) -> Result<Option<String>, RegistryError> {
            self.client().await.revision(&image(tag)).await
        }
    }

    async fn answer(State(fake): State<Fake>, request: Request) -> Response {
        let path = request.uri().path().to_owned();
        if path == "/v2/" {
            return StatusCode::OK.into_response();
        }
        let known = fake.0.lock().unwrap().get(&path).cloned();
        let (status, kind, body) = known.unwrap_or_else(|| {
            let code = if path.contains("/blobs/") { "BLOB_UNKNOWN" } else { "MANIFEST_UNKNOWN" };
            (404, "application/json", json!({ "errors": [{ "code": code, "message": "not here" }] }).to_string())
        });
        let mut response =
            (StatusCode::from_u16(status).unwrap(), [(header::CONTENT_TYPE, kind)], body.clone()).into_response();
        if status == 200 {
            response.headers_mut().insert("docker-content-digest", digest(&body).parse().unwrap());
        }
        response
    }

    fn image(tag: &str) -> Image {
        Image::parse(&format!("ghcr.io/acme/checkout:{tag}"))
    }

    #[tokio::test]
    async fn an_image_is_there_or_not() {
        let fake = Fake::default();
        let digest = fake.image("1.4", &json!({}), &json!({}));
        let client = fake.client().await;
        assert_eq!(client.exists(&image("1.4")).await, Ok(true));
        assert_eq!(client.exists(&image("1.5")).await, Ok(false));
        assert_eq!(client.exists(&Image::parse(&format!("ghcr.io/acme/checkout@{digest}"))).await, Ok(true));
        assert_eq!(client.exists(&Image::parse("ghcr.io/acme/nothing:1")).await, Ok(false));
    }

    #[tokio::test]
    async fn the_revision_comes_from_the_annotation_else_from_the_label() {
        let told = json!({ REVISION: SHA });
        let other = json!({ REVISION: "0000000" });
        let cases = [
            (told.clone(), json!({}), Some(SHA)),
            (told.clone(), other, Some(SHA)),
            (json!({}), told.clone(), Some(SHA)),
            (json!(null), told, Some(SHA)),
            (json!({}), json!(null), None),
            (json!({}), json!({ REVISION: " " }), None),
        ];
        for (annotations, labels, expected) in cases {
            let fake = Fake::default();
            fake.image("1.4", &annotations, &labels);
            assert_eq!(fake.revision("1.4").await.unwrap().as_deref(), expected, "{annotations} {labels}");
        }
        assert_eq!(Fake::default().revision("1.4").await, Ok(None), "an image that is not there");
    }

    #[tokio::test]
    async fn of_many_platforms_any_will_do_but_no_attestation() {
        let index = |annotations: Value, entries: Value| json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries, "annotations": annotations });
        let entry = |digest: &str, os: &str, arch: &str| json!({ "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 1, "platform": { "os": os, "architecture": arch } });
        let fake = Fake::default();
        let attestation = fake.image("attestation", &json!({ REVISION: "wrong" }), &json!({}));
        let arm = fake.image("arm", &json!({}), &json!({ REVISION: SHA }));
        fake.manifest(
            "1.4",
            &index(json!({}), json!([entry(&attestation, "unknown", "unknown"), entry(&arm, "linux", "arm64")])),
        );
        fake.manifest("1.5", &index(json!({ REVISION: "index" }), json!([])));
        fake.manifest("1.6", &index(json!({}), json!([])));
        assert_eq!(fake.revision("1.4").await.unwrap().as_deref(), Some(SHA));
        assert_eq!(fake.revision("1.5").await.unwrap().as_deref(), Some("index"));
        assert_eq!(fake.revision("1.6").await.unwrap(), None);
    }

    #[tokio::test]
    async fn refusals_and_failures_are_told_apart() {
        type Is = fn(&RegistryError) -> bool;
        let denied = json!({ "errors": [{ "code": "DENIED", "message": "no" }] }).to_string();
        let cases: [(u16, &str, Is); 6] = [
            (401, "", |error| matches!(error, RegistryError::Unauthorised(_))),
            (403, "", |error| matches!(error, RegistryError::Unauthorised(_))),
            (403, &denied, |error| matches!(error, RegistryError::Unauthorised(_))),
            (429, "", |error| matches!(error, RegistryError::Unavailable(_))),
            (500, "", |error| matches!(error, RegistryError::Unavailable(_))),
            (200, "junk", |error| matches!(error, RegistryError::Other(_))),
        ];
        for (status, body, is) in cases {
            let fake = Fake::default();
            fake.put("manifests/1.4", status, "application/json", body);
            let error = fake.revision("1.4").await.unwrap_err();
            assert!(is(&error), "{status}: {error:?}");
        }
    }

    #[tokio::test]
    async fn a_configuration_larger_than_it_says_is_not_read() {
        let fake = Fake::default();
        let config = json!({ "config": { "Labels": { REVISION: SHA } } }).to_string();
        fake.put(&format!("blobs/{}", digest(&config)), 200, "application/octet-stream", &config);
        fake.manifest("1.4", &json!({ "schemaVersion": 2, "layers": [],
            "config": { "mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(&config), "size": 3 } }));
        assert!(matches!(fake.revision("1.4").await, Err(RegistryError::Other(_))));
    }

    #[tokio::test]
    async fn a_registry_that_is_not_there_is_unavailable() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mirrors = BTreeMap::from([("ghcr.io".to_owned(), "http://127.0.0.1:1/".to_owned())]);
        let error = Client::new(&mirrors).unwrap().exists(&image("1.4")).await.unwrap_err();
        assert!(matches!(&error, RegistryError::Unavailable(why) if why.to_lowercase().contains("refused")), "{error}");
    }

    #[test]
    fn a_mirror_is_a_host_without_a_path() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        for wrong in ["127.0.0.1:8484", "http://", "ftp://host", "http://host/path", "http://user@host"] {
            let mirrors = BTreeMap::from([("ghcr.io".to_owned(), wrong.to_owned())]);
            assert!(Client::new(&mirrors).is_err(), "{wrong}");
        }
    }

    #[test]
    fn plain_http_is_for_mirrors_only() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client =
            Client::new(&BTreeMap::from([("ghcr.io".to_owned(), "http://127.0.0.1:8484".to_owned())])).unwrap();
        let reference = client.reference(&image("1")).unwrap();
        assert_eq!((reference.registry(), reference.resolve_registry()), ("ghcr.io", "127.0.0.1:8484"));
        let elsewhere = client.reference(&Image::parse("quay.io/acme/checkout:1")).unwrap();
        assert_eq!(elsewhere.resolve_registry(), "quay.io");
        assert!(client.reference(&Image::parse("Not An Image")).is_err());
    }
}
