//! Connections to the clusters, one for each kubeconfig context, made at the first use. If a cluster is unreachable,
//! only the call to it fails.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::sync::OnceCell;

use super::root_cause;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A kubeconfig may name a program that fetches the credentials.
const CREDENTIALS_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ClusterError(pub(super) String);

/// A client for `kubeconfig` and `context`; without a kubeconfig, for the cluster in which Gantry runs.
///
/// The client has no read timeout, because watches are silent for minutes. Callers that read once set a timeout
/// themselves.
pub async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<kube::Client, ClusterError> {
    let mut config = match (kubeconfig, context) {
        (Some(path), context) => load_kubeconfig(path, context).await?,
        (None, None) => kube::Config::incluster().map_err(|error| {
            ClusterError(format!(
                "not running in a cluster ({}): set `kubeconfig` or $KUBECONFIG, or run with a service account",
                root_cause(&error)
            ))
        })?,
        (None, Some(context)) => {
            return Err(ClusterError(format!(
                "the context `{context}` needs a kubeconfig: set `kubeconfig` or $KUBECONFIG"
            )));
        }
    };
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // kube's retries would hide for a while that a cluster is down. The watch has its own retries.
    config.default_retry = false;
    // Credentials may come from a program, and kube blocks the thread while it runs.
    let build = tokio::task::spawn_blocking(move || kube::Client::try_from(config));
    match tokio::time::timeout(CREDENTIALS_TIMEOUT, build).await {
        Ok(Ok(Ok(client))) => Ok(client),
        Ok(Ok(Err(error))) => {
            Err(ClusterError(format!("the cluster's client cannot be built: {}", root_cause(&error))))
        }
        Ok(Err(error)) => Err(ClusterError(format!("the cluster's client cannot be built: {error}"))),
        Err(_) => Err(ClusterError(format!(
            "the cluster's credentials were not there after {} s: look at the `exec` section of the kubeconfig",
            CREDENTIALS_TIMEOUT.as_secs()
        ))),
    }
}

async fn load_kubeconfig(path: &Path, context: Option<&str>) -> Result<kube::Config, ClusterError> {
    let unusable = |error: kube::config::KubeconfigError| {
        ClusterError(format!("the kubeconfig {} cannot be used: {}", path.display(), root_cause(&error)))
    };
    let kubeconfig = Kubeconfig::read_from(path).map_err(unusable)?;
    if let Some(wanted) = context
        && !kubeconfig.contexts.iter().any(|context| context.name == wanted)
    {
        let names: Vec<_> = kubeconfig.contexts.iter().map(|context| format!("`{}`", context.name)).collect();
        return Err(ClusterError(format!(
            "the kubeconfig {} has no context `{wanted}`; it has {}",
            path.display(),
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        )));
    }
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(unusable)
}

/// The first caller connects; callers that come meanwhile wait for the same connection.
type ClientCell = Arc<OnceCell<kube::Client>>;

/// The clients in use, by context. Cheap to clone. Connects at the first use, and again after a failure.
#[derive(Clone)]
pub struct ClusterClients {
    kubeconfig: Option<Arc<PathBuf>>,
    connections: Arc<Mutex<HashMap<Option<Arc<str>>, ClientCell>>>,
}

impl ClusterClients {
    pub fn new(kubeconfig: Option<PathBuf>) -> Self {
        Self { kubeconfig: kubeconfig.map(Arc::new), connections: Arc::default() }
    }

    pub(super) async fn connect_to_context(&self, context: Option<&Arc<str>>) -> Result<kube::Client, ClusterError> {
        // All watches of a cluster start at the same time. One connects and the others wait for it, so that they share
        // its connections, and the system's root certificates are read only once.
        let connecting = {
            let mut connected = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
            connected.entry(context.cloned()).or_default().clone()
        };
        let path = self.kubeconfig.as_ref().map(|path| path.as_path());
        connecting.get_or_try_init(|| connect(path, context.map(AsRef::as_ref))).await.cloned()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A kubeconfig for `server`. The file exists as long as the return value is held.
    pub(in crate::adapters::cluster) fn kubeconfig(server: &str) -> tempfile::NamedTempFile {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = format!(
            "apiVersion: v1
kind: Config
current-context: world
clusters: [{{ name: world, cluster: {{ server: '{server}' }} }}]
users: [{{ name: world, user: {{}} }}]
contexts: [{{ name: world, context: {{ cluster: world, user: world }} }}]
"
        );
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[tokio::test]
    async fn a_missing_context_is_an_error_that_names_the_known_ones() {
        let file = kubeconfig("http://127.0.0.1:1");
        assert!(connect(Some(file.path()), None).await.is_ok());
        assert!(connect(Some(file.path()), Some("world")).await.is_ok());
        let why = connect(Some(file.path()), Some("prod")).await.err().unwrap().to_string();
        assert!(why.ends_with("has no context `prod`; it has `world`"), "{why}");
    }

    #[tokio::test]
    async fn a_missing_kubeconfig_is_an_error() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let why = connect(Some(Path::new("/nowhere/kubeconfig")), None).await.err().unwrap().to_string();
        assert!(why.starts_with("the kubeconfig /nowhere/kubeconfig cannot be used: "), "{why}");
        let why = connect(None, Some("prod")).await.err().unwrap().to_string();
        assert_eq!(why, "the context `prod` needs a kubeconfig: set `kubeconfig` or $KUBECONFIG");
    }
}
