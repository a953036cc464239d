//! The key of the change lock: the branch or the file that only one change at a time may move.

use crate::domain::model::artefact::{ManifestFile, Repository};

/// The branch or the file that a change moves. No other change may move it meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangeLockKey(String);

impl ChangeLockKey {
    pub fn from_branch(repository: &Repository, branch: &str) -> Self {
        // GitHub ignores case in repositories (`Acme/Shop` is `acme/shop`), but not in branches.
        Self(format!("branch {} {branch}", repository.to_string().to_ascii_lowercase()))
    }

    fn from_file(repository: &Repository, file: &str) -> Self {
        Self(format!("file {} {file}", repository.to_string().to_ascii_lowercase()))
    }

    /// The file for delivery by manifest, else the environment's branch.
    pub fn from_write_target(repository: &Repository, branch: &str, manifest: Option<&ManifestFile>) -> Self {
        match manifest {
            Some(manifest) => Self::from_file(&manifest.repository, &manifest.file),
            None => Self::from_branch(repository, branch),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}
