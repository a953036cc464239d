//! Whether Git explains what runs somewhere: its branch has the commit, or its manifest names the image.

use crate::domain::model::version::{Sha, Version};

/// Where a version in an environment comes from, as far as anybody could tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Provenance {
    Git,
    NotFromGit {
        mismatch: GitMismatch,
    },
    /// Nothing tells its commit, or nobody could be asked yet.
    #[default]
    Unknown,
}

/// What Git says instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitMismatch {
    /// The branch of the environment does not have the commit.
    NotInBranch { branch: String, commit: Sha },
    /// The branch has it in its past, and a rollback took it away.
    RolledBack { branch: String, commit: Sha },
    /// The manifest of the environment names another image.
    NotInManifest { file: String, specified: Version },
}

impl Provenance {
    /// `contained`: the branch has the commit. `rolled_back`: it was taken away again, and nobody has released it.
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
        // One of them has a tag and the other a digest: nobody can tell whether they are the same.
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
            Self::NotFromGit { mismatch: why } => Some(why),
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
    fn a_branch_explains_what_it_has_and_what_nobody_rolled_back() {
        let commit = sample::sha('a');
        let cases = [
            ("its head or its past", true, false, None),
            ("a hand brought it", false, false, Some("not in branch")),
            ("a rollback took it away", true, true, Some("rolled back")),
            ("neither there nor wanted", false, true, Some("not in branch")),
        ];
        for (name, contained, rolled_back, expected) in cases {
            let origin = Provenance::from_branch("qa", &commit, contained, rolled_back);
            let why = origin.git_mismatch().map(|why| match why {
                GitMismatch::NotInBranch { .. } => "not in branch",
                GitMismatch::RolledBack { .. } => "rolled back",
                GitMismatch::NotInManifest { .. } => "not in manifest",
            });
            assert_eq!(why, expected, "{name}");
            assert_eq!(origin == Provenance::Git, expected.is_none(), "{name}");
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
        for (name, says, runs, explained) in cases {
            let origin = Provenance::from_manifest("envs/qa.yaml", &says, &runs);
            let known = (origin != Provenance::Unknown).then_some(origin == Provenance::Git);
            assert_eq!(known, explained, "{name}");
        }
    }
}
