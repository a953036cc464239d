//! Questions to OCI registries over oci-client, whose types stay here. Pulls nothing but manifests and configurations.

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

use super::reference::reference;
use crate::config::RegistryLogin;
use crate::domain::model::version::Image;

pub(super) const USER_AGENT: &str = concat!("gantry/", env!("CARGO_PKG_VERSION"));
/// Configurations are a few KiB; more is not one.
const CONFIG_LIMIT: usize = 1024 * 1024;
const REVISION: &str = "org.opencontainers.image.revision";

/// How long we wait.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    pub(super) connect: Duration,
    pub(super) read: Duration,
    /// Around a whole question, which may be several requests.
    pub(super) whole: Duration,
}

const PATIENCE: Patience =
    Patience { connect: Duration::from_secs(5), read: Duration::from_secs(10), whole: Duration::from_secs(20) };

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
    pub(super) patience: Patience,
    /// By registry: the host, with its port, that is asked in its stead.
    mirrors: Arc<BTreeMap<String, String>>,
    /// The hosts that are spoken to in plain HTTP.
    plain: Arc<Vec<String>>,
    /// By the host that is spoken to: a mirror is not shown the password of the registry that it stands for.
    logins: Arc<BTreeMap<String, RegistryLogin>>,
}

impl Client {
    /// `mirrors` is as configured: `ghcr.io` to `http://127.0.0.1:8484`. Only a mirror may be spoken to in plain HTTP.
    pub fn new(
        mirrors: &BTreeMap<String, String>,
        logins: &BTreeMap<String, RegistryLogin>,
    ) -> Result<Self, RegistryError> {
        Self::with_patience(mirrors, logins, PATIENCE)
    }

    pub(super) fn with_patience(
        mirrors: &BTreeMap<String, String>,
        logins: &BTreeMap<String, RegistryLogin>,
        patience: Patience,
    ) -> Result<Self, RegistryError> {
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
            protocol: ClientProtocol::HttpsExcept(plain.clone()),
            platform_resolver: Some(Box::new(any_platform)),
            connect_timeout: Some(patience.connect),
            read_timeout: Some(patience.read),
            user_agent: USER_AGENT,
            ..ClientConfig::default()
        };
        let oci = oci_client::Client::try_from(config)
            .map_err(|error| RegistryError::Other(format!("the client cannot be built: {error}")))?;
        let (mirrors, plain, logins) = (Arc::new(hosts), Arc::new(plain), Arc::new(logins.clone()));
        Ok(Self { oci, patience, mirrors, plain, logins })
    }

    /// The digest of the image's manifest; `None` where the registry does not have it, or no longer.
    pub async fn digest(&self, image: &Image) -> Result<Option<String>, RegistryError> {
        let reference = self.reference(image)?;
        self.ask(&reference, self.oci.fetch_manifest_digest(&reference, &self.login(&reference))).await
    }

    /// The commit that the image says it was built from: by the annotation of its manifest, else by its label.
    /// `None` where it does not tell, or is not there.
    pub async fn revision(&self, image: &Image) -> Result<Option<String>, RegistryError> {
        let reference = self.reference(image)?;
        let revision = Box::pin(self.ask(&reference, self.told_revision(&reference))).await?.flatten();
        Ok(revision.map(|revision| revision.trim().to_owned()).filter(|revision| !revision.is_empty()))
    }

    async fn told_revision(&self, reference: &Reference) -> Result<Option<String>, OciDistributionError> {
        let annotated = |annotations: &Option<BTreeMap<String, String>>| annotations.as_ref()?.get(REVISION).cloned();
        let login = self.login(reference);
        let (manifest, _) = self.oci.pull_manifest(reference, &login).await?;
        let manifest = match manifest {
            OciManifest::Image(manifest) => manifest,
            OciManifest::ImageIndex(index) => {
                if let Some(revision) = annotated(&index.annotations) {
                    return Ok(Some(revision));
                }
                let Some(digest) = any_platform(&index.manifests) else { return Ok(None) };
                let part = reference.clone_with_digest(digest);
                match self.oci.pull_manifest(&part, &login).await? {
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

    pub(super) fn reference(&self, image: &Image) -> Result<Reference, RegistryError> {
        let reference = reference(image).ok_or_else(|| RegistryError::Other(format!("`{image}` is not an image")))?;
        Ok(self.mirrored(reference))
    }

    pub(super) fn mirrored(&self, mut reference: Reference) -> Reference {
        if let Some(mirror) = self.mirrors.get(reference.registry()) {
            reference.set_mirror_registry(mirror.clone());
        }
        reference
    }

    /// A mirror may stand for several registries, so it is told which one is meant.
    pub(super) fn is_mirrored(&self, reference: &Reference) -> bool {
        self.mirrors.contains_key(reference.registry())
    }

    /// Scheme and host where the image's registry is spoken to.
    pub(super) fn origin(&self, reference: &Reference) -> String {
        let host = reference.resolve_registry();
        let scheme = if self.plain.iter().any(|plain| plain == host) { "http" } else { "https" };
        format!("{scheme}://{host}")
    }

    pub(super) fn login(&self, reference: &Reference) -> RegistryAuth {
        match self.logins.get(&reference.resolve_registry().to_ascii_lowercase()) {
            None => RegistryAuth::Anonymous,
            Some(RegistryLogin::Password { user, password }) => {
                RegistryAuth::Basic(user.clone(), password.expose_secret().to_owned())
            }
            Some(RegistryLogin::Token(token)) => RegistryAuth::Bearer(token.expose_secret().to_owned()),
        }
    }

    /// `None` where the registry does not have the image.
    pub(super) async fn ask<T>(
        &self,
        reference: &Reference,
        question: impl Future<Output = Result<T, OciDistributionError>>,
    ) -> Result<Option<T>, RegistryError> {
        let asking = async {
            match answered(question).await {
                Err(RegistryError::Unauthorised(said)) => Err(self.why_refused(reference, &said).await),
                answer => answer,
            }
        };
        tokio::time::timeout(self.patience.whole, asking).await.unwrap_or_else(|_| Err(self.too_slow()))
    }

    /// Where oci-client gets no token it goes on without one, and keeps to itself why. Asked for a token alone, it tells.
    async fn why_refused(&self, reference: &Reference, said: &str) -> RegistryError {
        match answered(self.oci.auth(reference, &self.login(reference), RegistryOperation::Pull)).await {
            Err(RegistryError::Unauthorised(why)) => self.refused(reference, &why),
            Err(error @ RegistryError::Unavailable(_)) => error,
            _ => self.refused(reference, said),
        }
    }

    pub(super) fn refused(&self, reference: &Reference, said: &str) -> RegistryError {
        let host = reference.resolve_registry();
        RegistryError::Unauthorised(match self.login(reference) {
            RegistryAuth::Anonymous => format!("`registry.docker_config` has no login for {host} ({said})"),
            _ => format!("the login that `registry.docker_config` has for {host} does not suffice ({said})"),
        })
    }

    pub(super) fn too_slow(&self) -> RegistryError {
        RegistryError::Unavailable(format!("no answer in {} s", self.patience.whole.as_secs()))
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

async fn answered<T>(
    question: impl Future<Output = Result<T, OciDistributionError>>,
) -> Result<Option<T>, RegistryError> {
    // oci-client panics on a token that fits into no header, and the token comes from outside.
    match AssertUnwindSafe(question).catch_unwind().await {
        Ok(Ok(answer)) => Ok(Some(answer)),
        Ok(Err(error)) => refusal(error),
        Err(_) => Err(RegistryError::Other("it gave a token that cannot be used".to_owned())),
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
        OciDistributionError::RequestError(error) => Err(unavailable(&error)),
        error => Err(RegistryError::Other(shown(&error.to_string()))),
    }
}

pub(super) fn unavailable(error: &reqwest::Error) -> RegistryError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    RegistryError::Unavailable(shown(&cause.to_string()))
}

pub(super) fn shown(text: &str) -> String {
    text.chars().take(200).collect()
}
