//! Requests to OCI registries over oci-client. Its types stay in this folder. Fetches only manifests and
//! configurations.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::errors::{OciDistributionError, OciErrorCode};
use oci_client::manifest::{ImageIndexEntry, OciImageManifest, OciManifest};
use oci_client::secrets::RegistryAuth;
use oci_client::{Reference, RegistryOperation};
use secrecy::ExposeSecret as _;
use serde::Deserialize;

use super::reference::to_reference;
use crate::config::RegistryLogin;
use crate::domain::model::version::Image;

pub(super) const USER_AGENT: &str = concat!("gantry/", env!("CARGO_PKG_VERSION"));
/// Configurations have a few KiB; anything larger is not a configuration.
const MAX_CONFIG_BYTES: usize = 1024 * 1024;
const REVISION_KEY: &str = "org.opencontainers.image.revision";

/// Time limits of requests.
#[derive(Clone, Copy)]
pub(super) struct RegistryTimeouts {
    pub(super) connect: Duration,
    pub(super) read: Duration,
    /// For a whole query, which may be several requests.
    pub(super) total: Duration,
}

const DEFAULT_TIMEOUTS: RegistryTimeouts =
    RegistryTimeouts { connect: Duration::from_secs(5), read: Duration::from_secs(10), total: Duration::from_secs(20) };

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error("the registry refuses us: {0}. Give Gantry read access to the image")]
    Unauthorised(String),
    #[error("the registry is not available: {0}")]
    Unavailable(String),
    #[error("the registry's answer is of no use: {0}")]
    Other(String),
}

#[derive(Clone)]
pub struct Client {
    pub(super) oci: oci_client::Client,
    pub(super) timeouts: RegistryTimeouts,
    /// By registry: the host, with its port, that is used instead.
    mirrors: Arc<BTreeMap<String, String>>,
    /// The hosts that are reached by plain HTTP.
    plain_http_hosts: Arc<Vec<String>>,
    /// By the host that is contacted: a mirror must not see the password of the registry that it mirrors.
    logins: Arc<BTreeMap<String, RegistryLogin>>,
}

impl Client {
    /// `mirrors` as configured, for example `ghcr.io` to `http://127.0.0.1:8484`. Only a mirror may use plain HTTP.
    pub fn new(
        mirrors: &BTreeMap<String, String>,
        logins: &BTreeMap<String, RegistryLogin>,
    ) -> Result<Self, RegistryError> {
        Self::with_timeouts(mirrors, logins, DEFAULT_TIMEOUTS)
    }

    pub(super) fn with_timeouts(
        mirrors: &BTreeMap<String, String>,
        logins: &BTreeMap<String, RegistryLogin>,
        timeouts: RegistryTimeouts,
    ) -> Result<Self, RegistryError> {
        let mut plain_http_hosts = Vec::new();
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
                plain_http_hosts.push(host.to_owned());
            }
            hosts.insert(registry.clone(), host.to_owned());
        }
        let config = ClientConfig {
            protocol: ClientProtocol::HttpsExcept(plain_http_hosts.clone()),
            platform_resolver: Some(Box::new(pick_platform)),
            connect_timeout: Some(timeouts.connect),
            read_timeout: Some(timeouts.read),
            user_agent: USER_AGENT,
            ..ClientConfig::default()
        };
        let oci = oci_client::Client::try_from(config)
            .map_err(|error| RegistryError::Other(format!("the client cannot be built: {error}")))?;
        let (mirrors, plain_http_hosts, logins) =
            (Arc::new(hosts), Arc::new(plain_http_hosts), Arc::new(logins.clone()));
        Ok(Self { oci, timeouts, mirrors, plain_http_hosts, logins })
    }

    /// The digest of the image's manifest; `None` if the registry does not have the image.
    pub async fn fetch_digest(&self, image: &Image) -> Result<Option<String>, RegistryError> {
        let reference = self.resolve_reference(image)?;
        self.run_query(&reference, self.oci.fetch_manifest_digest(&reference, &self.find_auth(&reference))).await
    }

    /// The commit from which the image was built, by its own metadata: the annotation of its manifest, else its label.
    /// `None` if it has neither, or does not exist.
    pub async fn fetch_revision(&self, image: &Image) -> Result<Option<String>, RegistryError> {
        let reference = self.resolve_reference(image)?;
        let revision = Box::pin(self.run_query(&reference, self.read_revision(&reference))).await?.flatten();
        Ok(revision.map(|revision| revision.trim().to_owned()).filter(|revision| !revision.is_empty()))
    }

    async fn read_revision(&self, reference: &Reference) -> Result<Option<String>, OciDistributionError> {
        let find_revision =
            |annotations: &Option<BTreeMap<String, String>>| annotations.as_ref()?.get(REVISION_KEY).cloned();
        let auth = self.find_auth(reference);
        let (manifest, _) = self.oci.pull_manifest(reference, &auth).await?;
        let manifest = match manifest {
            OciManifest::Image(manifest) => manifest,
            OciManifest::ImageIndex(index) => {
                if let Some(revision) = find_revision(&index.annotations) {
                    return Ok(Some(revision));
                }
                let Some(digest) = pick_platform(&index.manifests) else { return Ok(None) };
                let platform_reference = reference.clone_with_digest(digest);
                match self.oci.pull_manifest(&platform_reference, &auth).await? {
                    (OciManifest::Image(manifest), _) => manifest,
                    (OciManifest::ImageIndex(_), _) => return Ok(None),
                }
            }
        };
        match find_revision(&manifest.annotations) {
            Some(revision) => Ok(Some(revision)),
            None => self.read_revision_label(reference, &manifest).await,
        }
    }

    async fn read_revision_label(
        &self,
        reference: &Reference,
        manifest: &OciImageManifest,
    ) -> Result<Option<String>, OciDistributionError> {
        #[derive(Deserialize)]
        struct WireImageConfig {
            config: Option<WireContainerConfig>,
        }
        #[derive(Deserialize)]
        struct WireContainerConfig {
            #[serde(rename = "Labels")]
            labels: Option<BTreeMap<String, String>>,
        }
        let size = usize::try_from(manifest.config.size).unwrap_or(0).min(MAX_CONFIG_BYTES);
        // If the registry sends more bytes than it announced, the buffer overflows, which is an error.
        let mut bytes = vec![0; size];
        let mut cursor = std::io::Cursor::new(bytes.as_mut_slice());
        self.oci.pull_blob(reference, &manifest.config, &mut cursor).await?;
        let config: WireImageConfig = serde_json::from_slice(&bytes)?;
        Ok(config.config.and_then(|settings| settings.labels).and_then(|mut labels| labels.remove(REVISION_KEY)))
    }

    pub(super) fn resolve_reference(&self, image: &Image) -> Result<Reference, RegistryError> {
        let reference =
            to_reference(image).ok_or_else(|| RegistryError::Other(format!("`{image}` is not an image")))?;
        Ok(self.apply_mirror(reference))
    }

    pub(super) fn apply_mirror(&self, mut reference: Reference) -> Reference {
        if let Some(mirror) = self.mirrors.get(reference.registry()) {
            reference.set_mirror_registry(mirror.clone());
        }
        reference
    }

    /// A mirror may serve several registries, so requests to it name the registry.
    pub(super) fn is_mirrored(&self, reference: &Reference) -> bool {
        self.mirrors.contains_key(reference.registry())
    }

    /// Scheme and host at which the image's registry is contacted.
    pub(super) fn origin_url(&self, reference: &Reference) -> String {
        let host = reference.resolve_registry();
        let scheme = if self.plain_http_hosts.iter().any(|plain| plain == host) { "http" } else { "https" };
        format!("{scheme}://{host}")
    }

    pub(super) fn find_auth(&self, reference: &Reference) -> RegistryAuth {
        match self.logins.get(&reference.resolve_registry().to_ascii_lowercase()) {
            None => RegistryAuth::Anonymous,
            Some(RegistryLogin::Password { user, password }) => {
                RegistryAuth::Basic(user.clone(), password.expose_secret().to_owned())
            }
            Some(RegistryLogin::Token(token)) => RegistryAuth::Bearer(token.expose_secret().to_owned()),
        }
    }

    /// `None` if the registry does not have the image.
    pub(super) async fn run_query<T>(
        &self,
        reference: &Reference,
        query: impl Future<Output = Result<T, OciDistributionError>>,
    ) -> Result<Option<T>, RegistryError> {
        let response = async {
            match await_response(query).await {
                Err(RegistryError::Unauthorised(message)) => Err(self.explain_refusal(reference, &message).await),
                answer => answer,
            }
        };
        tokio::time::timeout(self.timeouts.total, response).await.unwrap_or_else(|_| Err(self.timeout_error()))
    }

    /// If oci-client gets no token, it continues without one and hides the reason. A request for the token alone
    /// returns it.
    async fn explain_refusal(&self, reference: &Reference, message: &str) -> RegistryError {
        match await_response(self.oci.auth(reference, &self.find_auth(reference), RegistryOperation::Pull)).await {
            Err(RegistryError::Unauthorised(why)) => self.unauthorised_error(reference, &why),
            Err(error @ RegistryError::Unavailable(_)) => error,
            _ => self.unauthorised_error(reference, message),
        }
    }

    pub(super) fn unauthorised_error(&self, reference: &Reference, message: &str) -> RegistryError {
        let host = reference.resolve_registry();
        RegistryError::Unauthorised(match self.find_auth(reference) {
            RegistryAuth::Anonymous => format!("`registry.docker_config` has no login for {host} ({message})"),
            _ => format!("the login that `registry.docker_config` has for {host} does not suffice ({message})"),
        })
    }

    pub(super) fn timeout_error(&self) -> RegistryError {
        RegistryError::Unavailable(format!("no answer in {} s", self.timeouts.total.as_secs()))
    }
}

/// All platforms of an image are built from one commit, so any of them will do. Attestations belong to no platform.
fn pick_platform(entries: &[ImageIndexEntry]) -> Option<String> {
    let is_platform = |entry: &&ImageIndexEntry| {
        entry.platform.as_ref().is_none_or(|platform| platform.os.to_string() != "unknown")
            && entry
                .annotations
                .as_ref()
                .is_none_or(|annotations| !annotations.contains_key("vnd.docker.reference.type"))
    };
    entries.iter().find(is_platform).map(|entry| entry.digest.clone())
}

async fn await_response<T>(
    query: impl Future<Output = Result<T, OciDistributionError>>,
) -> Result<Option<T>, RegistryError> {
    // oci-client panics if the token is not a valid header value, and the token comes from outside.
    match AssertUnwindSafe(query).catch_unwind().await {
        Ok(Ok(answer)) => Ok(Some(answer)),
        Ok(Err(error)) => map_error(error),
        Err(_) => Err(RegistryError::Other("it gave a token that cannot be used".to_owned())),
    }
}

fn map_error<T>(error: OciDistributionError) -> Result<Option<T>, RegistryError> {
    use OciErrorCode::{Denied, ManifestUnknown, NameUnknown, NotFound, Toomanyrequests, Unauthorized};
    match error {
        OciDistributionError::ImageManifestNotFoundError(_) | OciDistributionError::ServerError { code: 404, .. } => {
            Ok(None)
        }
        OciDistributionError::RegistryError { envelope, url } => {
            let has_code = |codes: &[OciErrorCode]| envelope.errors.iter().any(|error| codes.contains(&error.code));
            let message = || truncate_text(&format!("{url}: {envelope}"));
            if has_code(&[ManifestUnknown, NameUnknown, NotFound]) {
                Ok(None)
            } else if has_code(&[Unauthorized, Denied]) {
                Err(RegistryError::Unauthorised(message()))
            } else if has_code(&[Toomanyrequests]) {
                Err(RegistryError::Unavailable(message()))
            } else {
                Err(RegistryError::Other(message()))
            }
        }
        OciDistributionError::AuthenticationFailure(why)
        | OciDistributionError::UnauthorizedError { url: why }
        | OciDistributionError::ServerError { code: 401 | 403, url: why, .. } => {
            Err(RegistryError::Unauthorised(truncate_text(&why)))
        }
        OciDistributionError::ServerError { code: code @ (429 | 500..), .. } => {
            Err(RegistryError::Unavailable(format!("it answered {code}")))
        }
        OciDistributionError::RequestError(error) => Err(unavailable_error(&error)),
        error => Err(RegistryError::Other(truncate_text(&error.to_string()))),
    }
}

pub(super) fn unavailable_error(error: &reqwest::Error) -> RegistryError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    RegistryError::Unavailable(truncate_text(&cause.to_string()))
}

pub(super) fn truncate_text(text: &str) -> String {
    text.chars().take(200).collect()
}
