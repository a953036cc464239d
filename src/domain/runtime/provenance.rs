//! Whether Git explains what runs somewhere: its branch has the commit, or its manifest names the image.

use crate::domain::model::version::{Sha, Version};

/// Where a version in an environment comes from, as far as anybody could tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    Git,
    NotFromGit {
        why: Unexplained,
    },
    /// Nothing tells its commit, or nobody could be asked yet.
    #[default]
    Unknown,
}

/// What Git says instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unexplained {
    /// The branch of the environment does not have the commit.
    NotInBranch { branch: String, commit: Sha },
    /// The branch has it in its past, and a rollback took it away.
    RolledBack { branch: String, commit: Sha },
    /// The manifest of the environment names another image.
    NotInManifest { file: String, says: Version },
}

impl Origin {
    /// `contained`: the branch has the commit. `rolled_back`: it was taken away again, and nobody has released it.
    pub fn by_branch(branch: &str, commit: &Sha, contained: bool, rolled_back: bool) -> Self {
        let (branch, commit) = (branch.to_owned(), commit.clone());
        match (contained, rolled_back) {
            (true, false) => Self::Git,
            (true, true) => Self::NotFromGit { why: Unexplained::RolledBack { branch, commit } },
            (false, _) => Self::NotFromGit { why: Unexplained::NotInBranch { branch, commit } },
        }
    }

    pub fn by_manifest(file: &str, says: &Version, runs: &Version) -> Self {
        if runs.is_image(says) {
            return Self::Git;
        }
        // One of them has a tag and the other a digest: nobody can tell whether they are the same.
        let comparable = (runs.tag.is_some() && says.tag.is_some()) || (runs.digest.is_some() && says.digest.is_some());
        if !comparable {
            return Self::Unknown;
        }
        Self::NotFromGit { why: Unexplained::NotInManifest { file: file.to_owned(), says: says.clone() } }
    }

    pub fn unexplained(&self) -> Option<&Unexplained> {
        match self {
            Self::NotFromGit { why } => Some(why),
            Self::Git | Self::Unknown => None,
        }
    }

    pub fn is_not_from_git(&self) -> bool {
        self.unexplained().is_some()
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
            let origin = Origin::by_branch("qa", &commit, contained, rolled_back);
            let why = origin.unexplained().map(|why| match why {
                Unexplained::NotInBranch { .. } => "not in branch",
                Unexplained::RolledBack { .. } => "rolled back",
                Unexplained::NotInManifest { .. } => "not in manifest",
            });
            assert_eq!(why, expected, "{name}");
            assert_eq!(origin == Origin::Git, expected.is_none(), "{name}");
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
            let origin = Origin::by_manifest("envs/qa.yaml", &says, &runs);
            let known = (origin != Origin::Unknown).then_some(origin == Origin::Git);
            assert_eq!(known, explained, "{name}");
        }
    }
}
