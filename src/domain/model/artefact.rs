//! An artefact: its image, the repository it is built from, and its place in each environment.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::environment::EnvironmentName;
use super::glob::is_path_match;
use super::workload::{Namespace, Workload};
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

    /// GitHub ignores case in names: `Acme/Shop` is `acme/shop`.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl FromStr for Repository {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_legal = |part: &str| {
            !part.is_empty()
                && part.len() <= 100
                && !matches!(part, "." | "..")
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        match text.split_once('/') {
            Some((owner, name)) if is_legal(owner) && is_legal(name) => {
                Ok(Self { owner: owner.into(), name: name.into() })
            }
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

/// The place of one artefact in one environment. A version counts as running when all workloads are complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub namespace: Namespace,
    pub workloads: Vec<Workload>,
    /// The container with the artefact's image; `None`: the container is found by its image name.
    pub container: Option<Arc<str>>,
}

/// How a change reaches its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    Branch,
    /// `file` is a path with the placeholder `{environment}`. If `branch` is `None`, the repository's default branch is
    /// used.
    Manifest {
        repository: Repository,
        file: String,
        branch: Option<String>,
        /// The path of the version in the file; `None`: Gantry searches the file.
        path: Option<String>,
        pin: Pin,
    },
}

/// The file on a branch that says which version runs in an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFile {
    pub repository: Repository,
    pub branch: String,
    pub file: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artefact {
    pub name: ArtefactName,
    pub repository: Repository,
    /// The image without tag or digest, as in `ghcr.io/acme/checkout`.
    pub image: Arc<str>,
    /// Globs of the files in its repository that affect this artefact; empty means every file.
    pub paths: Vec<String>,
    pub delivery: Delivery,
    /// An environment without an entry does not run this artefact.
    pub places: BTreeMap<EnvironmentName, Place>,
}

impl Artefact {
    /// Whether a file of its repository affects this artefact.
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
}
