//! Whether Git explains a running version: the branch contains its commit, or the manifest names its image.

use crate::domain::model::version::{Sha, Version};

/// The origin of a running version, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Provenance {
    Git,
    NotFromGit {
        mismatch: GitMismatch,
    },
    /// The commit is unknown, or Git could not be asked yet.
    #[default]
    Unknown,
}

/// How Git differs from the running version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitMismatch {
    /// The environment's branch does not contain the commit.
    NotInBranch { branch: String, commit: Sha },
    /// The branch contains the commit, but a rollback undid it.
    RolledBack { branch: String, commit: Sha },
    /// The environment's manifest names another image.
    NotInManifest { file: String, specified: Version },
}

impl Provenance {
    /// `contained`: the branch contains the commit. `rolled_back`: a rollback undid it, and it has not been released.
    pub fn from_branch(branch: &str, commit: &Sha, contained: bool, rolled_back: bool) -> Self {
        let (branch, commit) = (branch.to_owned(), commit.clone());
        match (contained, rolled_back) {
            (true, false) => Self::Git,
            (true, true) => Self::NotFromGit { mismatch: GitMismatch::RolledBack { branch, commit } },
            (false, _) => Self::NotFromGit { mismatch: GitMismatch::NotInBranch { branch, commit } },
        }
    }

    pub fn from_manifest(file: &str, specified: &Version, running: &Version) -> Self {
        if running.is_same_image(specified) {
            return Self::Git;
        }
        // One has only a tag and the other only a digest, so they cannot be compared.
        let comparable = (running.tag.is_some() && specified.tag.is_some())
            || (running.digest.is_some() && specified.digest.is_some());
        if !comparable {
            return Self::Unknown;
        }
        Self::NotFromGit {
            mismatch: GitMismatch::NotInManifest { file: file.to_owned(), specified: specified.clone() },
        }
    }

    pub fn git_mismatch(&self) -> Option<&GitMismatch> {
        match self {
            Self::NotFromGit { mismatch } => Some(mismatch),
            Self::Git | Self::Unknown => None,
        }
    }

    pub fn is_not_from_git(&self) -> bool {
        self.git_mismatch().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sample;

    #[test]
    fn a_branch_explains_its_commits_unless_they_were_rolled_back() {
        let commit = sample::sha('a');
        let cases = [
            ("in the branch", true, false, None),
            ("deployed by hand", false, false, Some("not in branch")),
            ("rolled back", true, true, Some("rolled back")),
            ("rolled back and not in the branch", false, true, Some("not in branch")),
        ];
        for (name, contained, rolled_back, expected) in cases {
            let provenance = Provenance::from_branch("qa", &commit, contained, rolled_back);
            let mismatch = provenance.git_mismatch().map(|mismatch| match mismatch {
                GitMismatch::NotInBranch { .. } => "not in branch",
                GitMismatch::RolledBack { .. } => "rolled back",
                GitMismatch::NotInManifest { .. } => "not in manifest",
            });
            assert_eq!(mismatch, expected, "{name}");
            assert_eq!(provenance == Provenance::Git, expected.is_none(), "{name}");
        }
    }

    #[test]
    fn a_manifest_explains_the_image_that_it_names() {
        let version = |tag: Option<&str>, digest: Option<&str>| Version {
            tag: tag.map(Into::into),
            digest: digest.map(Into::into),
            commit: None,
        };
        let tagged = |tag| version(Some(tag), None);
        let cases = [
            ("the same tag", tagged("1.4"), tagged("1.4"), Some(true)),
            ("another tag", tagged("1.4"), tagged("1.5"), Some(false)),
            (
                "the same tag, moved",
                version(Some("1.4"), Some("sha256:a")),
                version(Some("1.4"), Some("sha256:b")),
                Some(false),
            ),
            ("a digest only, and a tag only", version(None, Some("sha256:a")), tagged("1.4"), None),
        ];
        for (name, specified, running, expected) in cases {
            let provenance = Provenance::from_manifest("envs/qa.yaml", &specified, &running);
            let is_from_git = (provenance != Provenance::Unknown).then_some(provenance == Provenance::Git);
            assert_eq!(is_from_git, expected, "{name}");
        }
    }
}
