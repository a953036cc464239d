//! The marks that a rollback leaves: the quarantine of a version, and the hold on its artefacts.

use jiff::Timestamp;

use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::catalogue::Ladder;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Sha, Version};

/// A ban on a version that was rolled back from: it may not return to the environment or to those above until it is
/// released. Its descendants may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// The rollback.
    pub change: ChangeId,
    pub environment: EnvironmentName,
    pub artefacts: Vec<ArtefactName>,
    /// The version as it ran in the environment.
    pub version: Version,
    pub commits: Vec<Sha>,
    pub trees: Vec<Sha>,
    /// `None`: the policy of the environment.
    pub by: Option<PersonId>,
    pub at: Timestamp,
    pub reason: Option<String>,
}

impl Quarantine {
    /// Whether the environment is the one with the rollback, or one above it.
    pub fn is_effective_in(&self, environment: &EnvironmentName, ladder: &Ladder) -> bool {
        let position = |name: &EnvironmentName| ladder.environments().iter().position(|other| other.name == *name);
        match (position(&self.environment), position(environment)) {
            (Some(rolled_back), Some(index)) => index >= rolled_back,
            _ => self.environment == *environment,
        }
    }

    pub fn has_artefact(&self, artefact: &ArtefactName) -> bool {
        self.artefacts.contains(artefact)
    }

    /// Whether this is the quarantined version. It is compared by commit, tree or digest, because tags differ on every
    /// branch; by image only if a commit is unknown.
    pub fn has_version(&self, version: &Version, tree: Option<&Sha>) -> bool {
        let by_tree = tree.is_some_and(|tree| self.trees.contains(tree));
        let by_digest = version.digest.is_some() && version.digest == self.version.digest;
        by_tree
            || by_digest
            || match &version.commit {
                Some(commit) if !self.commits.is_empty() => self.commits.contains(commit),
                _ => self.version.is_same_image(version),
            }
    }

    /// Whether one of the commits, or the tree, is quarantined.
    pub fn has_commit_or_tree(&self, sources: &[Sha], tree: Option<&Sha>) -> bool {
        sources.iter().any(|source| self.commits.contains(source)) || tree.is_some_and(|tree| self.trees.contains(tree))
    }

    /// Whether the name means this version: its tag, its digest, or a prefix of one of its commits.
    pub fn is_named(&self, name: &str) -> bool {
        let is_prefix = |sha: &Sha| name.len() >= 7 && sha.as_str().starts_with(&name.to_ascii_lowercase());
        self.version.is_named(name) || self.commits.iter().any(is_prefix)
    }
}

/// A mark of a rollback on its artefacts in an environment. The next promotion asks for one more confirmation, which
/// lifts the hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The rollback.
    pub change: ChangeId,
    pub environment: EnvironmentName,
    pub artefacts: Vec<ArtefactName>,
    /// The version that was rolled back from.
    pub from: Option<Version>,
    pub by: Option<PersonId>,
    pub at: Timestamp,
    pub reason: Option<String>,
}

impl Hold {
    pub fn has_any_artefact(&self, artefacts: &[ArtefactName]) -> bool {
        self.artefacts.iter().any(|held| artefacts.contains(held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sample;

    fn sha(digit: char) -> Sha {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn version(tag: &str, digest: Option<&str>, commit: Option<char>) -> Version {
        Version { tag: Some(tag.into()), digest: digest.map(Into::into), commit: commit.map(sha) }
    }

    #[test]
    fn a_quarantined_version_is_recognised_by_its_source_and_not_by_its_tag() {
        let bad = Quarantine {
            version: version("1.5", Some("sha256:bad"), Some('b')),
            commits: vec![sha('b'), sha('c')],
            trees: vec![sha('d')],
            ..sample::quarantine()
        };
        let cases = [
            ("its commit", version("x", None, Some('b')), None, true),
            ("the commit that it merged", version("x", None, Some('c')), None, true),
            ("the same tree on another branch", version("x", None, Some('e')), Some(sha('d')), true),
            ("a descendant", version("1.6", None, Some('e')), Some(sha('e')), false),
            ("another commit under its tag", version("1.5", None, Some('e')), None, false),
            ("its digest", version("2.0", Some("sha256:bad"), Some('e')), None, true),
            ("its tag, if the commit is unknown", version("1.5", None, None), None, true),
            ("another tag, if the commit is unknown", version("1.4", None, None), None, false),
        ];
        for (name, version, tree, expected) in cases {
            assert_eq!(bad.has_version(&version, tree.as_ref()), expected, "{name}");
        }
    }

    #[test]
    fn a_quarantine_applies_in_its_environment_and_above() {
        let catalogue = sample::catalogue();
        let quarantine = Quarantine { environment: EnvironmentName::new("staging"), ..sample::quarantine() };
        let names = catalogue.ladder.environments().iter().map(|environment| &environment.name);
        let effective: Vec<_> = names
            .filter(|name| quarantine.is_effective_in(name, &catalogue.ladder))
            .map(EnvironmentName::as_str)
            .collect();
        assert_eq!(effective, ["staging", "prod"]);
    }
}
