//! The branch or the file that one change moves at a time.

use crate::domain::model::artefact::{ManifestFile, Repository};

/// What a change moves, and nobody else may move meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangeLockKey(String);

impl ChangeLockKey {
    pub fn from_branch(repository: &Repository, branch: &str) -> Self {
        // To GitHub `Acme/Shop` is `acme/shop`; a branch is spelled one way only.
        Self(format!("branch {} {branch}", repository.to_string().to_ascii_lowercase()))
    }

    fn from_file(repository: &Repository, file: &str) -> Self {
        Self(format!("file {} {file}", repository.to_string().to_ascii_lowercase()))
    }

    /// The file where it goes by manifest, else the environment's branch of the code.
    pub fn from_write_target(repository: &Repository, branch: &str, manifest: Option<&ManifestFile>) -> Self {
        match manifest {
            Some(at) => Self::from_file(&at.repository, &at.file),
            None => Self::from_branch(repository, branch),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}
