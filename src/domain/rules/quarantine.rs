//! What a rollback leaves behind: a version that may not come back, and an environment whose next promotion asks once more.

use jiff::Timestamp;

use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::catalogue::Ladder;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Sha, Version};

/// A version that was rolled back from: it may not come back there or above until it is released. Its descendants may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// The rollback.
    pub change: ChangeId,
    pub environment: EnvironmentName,
    pub artefacts: Vec<ArtefactName>,
    /// As it ran there.
    pub version: Version,
    pub commits: Vec<Sha>,
    pub trees: Vec<Sha>,
    /// `None`: the environment's own rule.
    pub by: Option<PersonId>,
    pub at: Timestamp,
    pub reason: Option<String>,
}

impl Quarantine {
    /// Is the environment the one that was rolled back, or above it?
    pub fn is_effective_in(&self, environment: &EnvironmentName, ladder: &Ladder) -> bool {
        let place = |name: &EnvironmentName| ladder.environments().iter().position(|rung| rung.name == *name);
        match (place(&self.environment), place(environment)) {
            (Some(from), Some(here)) => here >= from,
            _ => self.environment == *environment,
        }
    }

    pub fn has_artefact(&self, artefact: &ArtefactName) -> bool {
        self.artefacts.contains(artefact)
    }

    /// Is it that version? By its commit or its tree, since tags differ on every branch; by its image only where nothing
    /// tells the commit.
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

    /// Is it any of these commits, or of that tree?
    pub fn has_commit_or_tree(&self, sources: &[Sha], tree: Option<&Sha>) -> bool {
        sources.iter().any(|source| self.commits.contains(source)) || tree.is_some_and(|tree| self.trees.contains(tree))
    }

    /// Is it what people call by that name, be it as it ran there or by another commit of it?
    pub fn is_named(&self, name: &str) -> bool {
        let begins = |sha: &Sha| name.len() >= 7 && sha.as_str().starts_with(&name.to_ascii_lowercase());
        self.version.is_named(name) || self.commits.iter().any(begins)
    }
}

/// What a rollback leaves on its environment: the next promotion of the same asks once more, and its yes lifts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The rollback.
    pub change: ChangeId,
    pub environment: EnvironmentName,
    pub artefacts: Vec<ArtefactName>,
    /// What was rolled back from.
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
    fn a_version_is_known_again_by_its_source_and_not_by_its_tag() {
        let bad = Quarantine {
            version: version("1.5", Some("sha256:bad"), Some('b')),
            commits: vec![sha('b'), sha('c')],
            trees: vec![sha('d')],
            ..sample::quarantine()
        };
        let cases = [
            ("its commit", version("x", None, Some('b')), None, true),
            ("what it was merged from", version("x", None, Some('c')), None, true),
            ("the same tree on another branch", version("x", None, Some('e')), Some(sha('d')), true),
            ("a descendant", version("1.6", None, Some('e')), Some(sha('e')), false),
            ("another commit under its tag", version("1.5", None, Some('e')), None, false),
            ("its digest", version("2.0", Some("sha256:bad"), Some('e')), None, true),
            ("its tag, where nothing tells the commit", version("1.5", None, None), None, true),
            ("another tag, where nothing tells the commit", version("1.4", None, None), None, false),
        ];
        for (name, version, tree, barred) in cases {
            assert_eq!(bad.has_version(&version, tree.as_ref()), barred, "{name}");
        }
    }

    #[test]
    fn it_holds_where_it_was_rolled_back_and_above() {
        let catalogue = sample::catalogue();
        let quarantine = Quarantine { environment: EnvironmentName::new("staging"), ..sample::quarantine() };
        let rungs = catalogue.ladder.environments().iter().map(|rung| &rung.name);
        let held: Vec<_> = rungs
            .filter(|name| quarantine.is_effective_in(name, &catalogue.ladder))
            .map(EnvironmentName::as_str)
            .collect();
        assert_eq!(held, ["staging", "prod"]);
    }
}
