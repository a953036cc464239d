//! What can be deployed: an image, the repository it is built from, and the workloads that run it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::environment::EnvironmentName;
use super::glob::is_path_match;
use crate::domain::model::nearest::find_nearest;
use crate::domain::model::version::Pin;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArtefactName(Arc<str>);

impl ArtefactName {
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ArtefactName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A repository on GitHub, written `owner/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Repository {
    owner: Arc<str>,
    name: Arc<str>,
}

impl Repository {
    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// To GitHub `Acme/Shop` is `acme/shop`.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl FromStr for Repository {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let legal = |part: &str| {
            !part.is_empty()
                && part.len() <= 100
                && !matches!(part, "." | "..")
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        match text.split_once('/') {
            Some((owner, name)) if legal(owner) && legal(name) => Ok(Self { owner: owner.into(), name: name.into() }),
            _ => Err(format!("`{text}` is not a repository: write `owner/name`")),
        }
    }
}

impl TryFrom<String> for Repository {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Repository> for String {
    fn from(repository: Repository) -> Self {
        repository.to_string()
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkloadKind {
    Deployment,
    StatefulSet,
    DaemonSet,
}

impl WorkloadKind {
    pub const ALL: [Self; 3] = [Self::Deployment, Self::StatefulSet, Self::DaemonSet];

    /// As people write it in front of the slash: `deployment/checkout`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::StatefulSet => "statefulset",
            Self::DaemonSet => "daemonset",
        }
    }
}

/// A workload in a namespace, written `deployment/checkout`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    pub kind: WorkloadKind,
    pub name: Arc<str>,
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, name) = text.split_once('/').ok_or_else(|| {
            format!("`{text}` is not a workload: write its kind and its name, as in `deployment/{text}`")
        })?;
        let known = || WorkloadKind::ALL.into_iter();
        let kind =
            known().find(|known| known.as_str().eq_ignore_ascii_case(kind)).ok_or_else(|| {
                match find_nearest(kind, known().map(WorkloadKind::as_str)) {
                    Some(near) => format!("`{kind}` is not a kind of workload: did you mean `{near}`?"),
                    None => {
                        format!("`{kind}` is not a kind of workload: use `deployment`, `statefulset` or `daemonset`")
                    }
                }
            })?;
        // RFC 1123, as the API server demands of these names.
        let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
        let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let edges = edge(name.bytes().next()) && edge(name.bytes().last());
        if !edges || name.len() > 253 || !name.bytes().all(legal) {
            return Err(format!(
                "`{name}` cannot be the name of a workload: Kubernetes takes lower-case letters, digits, `-` and `.`"
            ));
        }
        Ok(Self { kind, name: name.into() })
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.as_str(), self.name)
    }
}

/// Where a set of workloads stands: a kubeconfig context (`None`: the default one, or in-cluster) and a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace {
    pub context: Option<Arc<str>>,
    pub name: Arc<str>,
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.context {
            Some(context) => write!(f, "{} in {context}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// One artefact's place in one environment. All workloads must be complete for it to count as running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub namespace: Namespace,
    pub workloads: Vec<Workload>,
    /// Which container's image is meant; `None`: the one whose image is the artefact's.
    pub container: Option<Arc<str>>,
}

/// How a change reaches its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    Branch,
    /// `file` holds `{environment}`; `branch` of `None` is the repository's default branch.
    Manifest {
        repository: Repository,
        file: String,
        branch: Option<String>,
        /// Where in the file the version stands; `None`: it is found by looking.
        path: Option<String>,
        pin: Pin,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artefact {
    pub name: ArtefactName,
    pub repository: Repository,
    /// The image without tag or digest, as in `ghcr.io/acme/checkout`.
    pub image: Arc<str>,
    /// Globs of what concerns this artefact in its repository; empty means everything.
    pub paths: Vec<String>,
    pub delivery: Delivery,
    /// A rung that is missing here does not have this artefact.
    pub places: BTreeMap<EnvironmentName, Place>,
}

impl Artefact {
    /// Does a file of its repository concern it?
    pub fn is_concerned_by(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|glob| is_path_match(glob, path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_owner_slash_name() {
        assert_eq!("acme/shop".parse::<Repository>().unwrap().to_string(), "acme/shop");
        for wrong in ["acme", "acme/", "/shop", "acme/shop/x", "acme/..", "a b/c", ""] {
            assert!(wrong.parse::<Repository>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_workload_is_kind_slash_name() {
        assert_eq!("Deployment/checkout".parse::<Workload>().unwrap().to_string(), "deployment/checkout");
        assert_eq!(
            "checkout".parse::<Workload>().unwrap_err(),
            "`checkout` is not a workload: write its kind and its name, as in `deployment/checkout`"
        );
        assert!("job/checkout".parse::<Workload>().is_err());
        assert_eq!(
            "deploymnet/checkout".parse::<Workload>().unwrap_err(),
            "`deploymnet` is not a kind of workload: did you mean `deployment`?"
        );
        for wrong in ["deployment/Checkout", "deployment/", "deployment/-checkout", "deployment/a/b"] {
            assert!(wrong.parse::<Workload>().is_err(), "{wrong}");
        }
    }
}
