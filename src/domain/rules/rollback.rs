//! The rules of a rollback: the candidates, the evidence for them, and whether a version may return.

use std::collections::HashMap;

use jiff::Timestamp;

use super::conflict::{ChangeInProgress, ConflictingChange};
use super::image_presence::ImagePresence;
use super::lock::Lock;
use super::permit::Permit;
use super::quarantine::Quarantine;
use super::refusal::Refusal;
use crate::domain::git::pending::PendingCommits;
use crate::domain::model::artefact::{Artefact, ArtefactName, ManifestFile};
use crate::domain::model::environment::{Environment, PromotionMethod};
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Sha, Version};
use crate::domain::runtime::sighting::Sighting;

/// The part of a plan that only a rollback has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollback {
    pub reason: Option<String>,
    /// The source of the version to restore.
    pub evidence: RollbackEvidence,
    /// The healthy time of the restored version in the environment, if it was observed.
    pub healthy_period: Option<HealthyPeriod>,
    /// The policy of the environment requested the rollback, not a person.
    pub automatic: bool,
    /// The change that brought the bad version, if one did.
    pub rolled_back_change: Option<ChangeId>,
    pub bad_version: BadVersion,
    /// The locks that the rollback ignores. The person who confirmed it saw them.
    pub locks: Vec<Lock>,
}

/// The evidence for the version to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RollbackEvidence {
    /// The version was observed running well in the environment.
    Ledger,
    Git,
    Cluster,
    /// A guess: the version was not observed in the environment.
    Registry,
}

/// The time in which a version was healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthyPeriod {
    pub since: Timestamp,
    pub until: Option<Timestamp>,
}

/// Identifies the bad version in later promotions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadVersion {
    pub commits: Vec<Sha>,
    pub trees: Vec<Sha>,
}

/// The facts of a rollback.
#[derive(Debug)]
pub struct RollbackFacts<'a> {
    pub artefact: &'a Artefact,
    pub target: &'a Environment,
    /// The file to write, for delivery by manifest.
    pub manifest: Option<ManifestFile>,
    /// The version to restore, as it was found.
    pub candidate: &'a Version,
    /// The same version, with the digest from the registry.
    pub version: Version,
    /// The version that is rolled back from.
    pub from: Option<Version>,
    pub quarantines: &'a [Quarantine],
    pub image: ImagePresence,
    /// The commits that the environment loses.
    pub lost: PendingCommits,
    /// The head of the target's branch.
    pub head: Option<Sha>,
    pub method: PromotionMethod,
    pub supersedes: Option<ConflictingChange>,
    pub details: Rollback,
}

/// A version that was healthy in the environment and can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthyVersion {
    pub version: Version,
    pub healthy_period: HealthyPeriod,
}

/// Identifies the code of a version, independent of the image that was built from it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CodeIdentity {
    Commit(Sha),
    Image(Version),
}

/// Maps the commits that Gantry made to their code: a merge to its pinned commit, a rollback to the version that it
/// restored.
#[derive(Debug, Default)]
pub struct SourceMap {
    sources: HashMap<Sha, Sha>,
    restored: HashMap<Sha, Version>,
    /// The bad version of each rollback.
    rolled_back_versions: Vec<Version>,
}

impl SourceMap {
    /// Records that a change made the commit `result` from `source`.
    pub(in crate::domain) fn record_source(&mut self, result: Sha, source: Sha) {
        self.sources.insert(result, source);
    }

    /// Records that a rollback made the commit `result`: it restored one version and, if known, rolled back another.
    pub(in crate::domain) fn record_rollback(&mut self, result: Sha, restored: Version, rolled_back: Option<Version>) {
        self.restored.insert(result, restored);
        self.rolled_back_versions.extend(rolled_back);
    }

    /// The version that a rollback restored; any other version is returned as it is.
    pub fn resolve_restored(&self, version: &Version) -> Version {
        let mut version = version.clone();
        // Rollbacks to restored versions form a chain. The bound ends the loop even if the chain is a circle.
        for _ in 0..=self.restored.len() {
            match version.commit.as_ref().and_then(|commit| self.restored.get(commit)) {
                Some(restored) if *restored != version => version = restored.clone(),
                _ => break,
            }
        }
        version
    }

    /// The pinned commit from which this one was made, down to the first that Gantry did not make.
    pub fn resolve_source(&self, commit: &Sha) -> Sha {
        let mut commit = commit;
        for _ in 0..=self.sources.len() {
            match self.sources.get(commit) {
                Some(source) if source != commit => commit = source,
                _ => break,
            }
        }
        commit.clone()
    }

    fn identify_code(&self, version: &Version) -> CodeIdentity {
        match &version.commit {
            Some(commit) => CodeIdentity::Commit(self.resolve_source(commit)),
            None => CodeIdentity::Image(version.clone()),
        }
    }

    pub fn is_same_code(&self, a: &Version, b: &Version) -> bool {
        match (self.identify_code(a), self.identify_code(b)) {
            (CodeIdentity::Commit(a), CodeIdentity::Commit(b)) => a == b,
            _ => a.is_same_image(b),
        }
    }

    fn is_rolled_back(&self, version: &Version) -> bool {
        self.rolled_back_versions.iter().any(|bad| self.is_same_code(bad, version))
    }
}

/// The healthy versions with other code than the current one, newest first, each once. `sightings` are newest first.
pub fn find_healthy_versions(
    sightings: &[Sighting],
    source_map: &SourceMap,
    current: Option<&Version>,
) -> Vec<HealthyVersion> {
    let mut found: Vec<HealthyVersion> = Vec::new();
    for sighting in sightings {
        let Some(since) = sighting.running_at else { continue };
        let version = source_map.resolve_restored(&sighting.version);
        let is_known = found.iter().any(|other| source_map.is_same_code(&other.version, &version));
        if !is_known && !current.is_some_and(|current| source_map.is_same_code(current, &version)) {
            found.push(HealthyVersion { version, healthy_period: HealthyPeriod { since, until: sighting.ended_at } });
        }
    }
    found
}

/// The healthy versions that ran before the first run of the current code, without those that are quarantined or were
/// rolled back. So a second rollback goes further back, and never to a bad version.
pub fn find_previous_versions(
    sightings: &[Sighting],
    source_map: &SourceMap,
    current: Option<&Version>,
    quarantines: &[Quarantine],
) -> Vec<HealthyVersion> {
    let is_current =
        |sighting: &&Sighting| current.is_some_and(|current| source_map.is_same_code(current, &sighting.version));
    let first_seen_at = sightings.iter().filter(is_current).map(|sighting| sighting.seen_at).min();
    // A version that broke before it was replaced does not count as healthy.
    let has_broken = |sighting: &&Sighting| sighting.failure.is_some() && sighting.ended_at.is_some();
    let before: Vec<Sighting> = sightings
        .iter()
        .filter(|sighting| {
            first_seen_at.is_none_or(|first_seen_at| sighting.seen_at < first_seen_at) && !has_broken(sighting)
        })
        .cloned()
        .collect();
    let mut found = find_healthy_versions(&before, source_map, current);
    found.retain(|candidate| {
        let version = &candidate.version;
        !source_map.is_rolled_back(version)
            && !quarantines.iter().any(|quarantine| quarantine.has_version(version, None))
    });
    found
}

/// Refuses the rollback if it can neither replace the change that holds the change lock nor wait for it.
pub fn check_lock_holder(
    holder: ChangeInProgress,
    is_merging: bool,
    artefact: &ArtefactName,
    by_manifest: bool,
) -> Result<(), Refusal> {
    let is_rollback = is_merging && holder.is_rollback;
    // The rollback does not affect another artefact in the same file, so it cannot replace that artefact's change.
    let is_of_other_artefact = by_manifest && holder.artefact != *artefact;
    if is_rollback || is_of_other_artefact { Err(Refusal::ChangeInProgress(holder)) } else { Ok(()) }
}

/// Checks that the version may return: it is not quarantined, and for delivery by branch its commit is known.
pub fn check_candidate(
    artefact: &Artefact,
    target: &Environment,
    candidate: &Version,
    quarantines: &[Quarantine],
    by_manifest: bool,
) -> Result<(), Refusal> {
    let (artefact, environment, version) = (artefact.name.clone(), target.name.clone(), candidate.clone());
    if let Some(quarantine) = quarantines.iter().find(|quarantine| quarantine.has_version(candidate, None)) {
        let quarantine = Box::new(quarantine.clone());
        return Err(Refusal::Quarantined { artefact, environment, version, quarantine, by_rollback: true });
    }
    if !by_manifest && candidate.commit.is_none() {
        return Err(Refusal::CommitUnknown { artefact, below: environment, version });
    }
    Ok(())
}

/// Delivery by manifest restores an image, which must differ from the current one.
pub fn check_image_differs(
    artefact: &Artefact,
    target: &Environment,
    current: Option<&Version>,
    version: &Version,
) -> Result<(), Refusal> {
    if current.is_some_and(|current| current.is_same_image(version)) {
        return Err(build_same_code_refusal(artefact, target, version));
    }
    Ok(())
}

/// Delivery by branch restores code: its tree must differ from the current one.
pub fn check_tree_differs(
    artefact: &Artefact,
    target: &Environment,
    version: &Version,
    current_tree: Option<&Sha>,
    restored_tree: &Sha,
) -> Result<(), Refusal> {
    if current_tree == Some(restored_tree) {
        return Err(build_same_code_refusal(artefact, target, version));
    }
    Ok(())
}

fn build_same_code_refusal(artefact: &Artefact, target: &Environment, version: &Version) -> Refusal {
    Refusal::SameCode { artefact: artefact.name.clone(), environment: target.name.clone(), version: version.clone() }
}

/// The final check of a rollback. Gates do not apply to rollbacks, so nothing is overridden.
pub fn check_rollback(facts: &RollbackFacts<'_>) -> Result<Permit, Refusal> {
    let by_manifest = facts.manifest.is_some();
    check_candidate(facts.artefact, facts.target, facts.candidate, facts.quarantines, by_manifest)?;
    if by_manifest && facts.image == ImagePresence::Missing {
        return Err(Refusal::ImageMissing {
            artefact: facts.artefact.name.clone(),
            environment: facts.target.name.clone(),
            version: facts.version.clone(),
            tag_moved: false,
            alternative: None,
        });
    }
    Ok(Permit::new(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::plan::{Direction, GitWrite};
    use crate::domain::change::{Change, Stage};
    use crate::domain::model::artefact::ArtefactName;
    use crate::domain::model::environment::EnvironmentName;
    use crate::domain::sample;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn sha(digit: char) -> Sha {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn version(digit: char) -> Version {
        Version { tag: Some(format!("qa-{digit}").into()), digest: None, commit: Some(sha(digit)) }
    }

    /// Sightings of these commits one after another, the last still running. Capitals mark versions that were never
    /// healthy. Newest first.
    fn build_sightings(commits: &str) -> Vec<Sighting> {
        let mut sightings: Vec<Sighting> = Vec::new();
        for (index, digit) in commits.chars().enumerate() {
            let seen_at = at(100 * i64::try_from(index).unwrap());
            if let Some(previous) = sightings.last_mut() {
                previous.ended_at = Some(seen_at);
            }
            let is_healthy = digit.is_ascii_lowercase() || digit.is_ascii_digit();
            let running_at = is_healthy.then_some(seen_at);
            sightings.push(Sighting {
                artefact: ArtefactName::new("checkout"),
                environment: EnvironmentName::new("qa"),
                version: version(digit.to_ascii_lowercase()),
                seen_at,
                running_at,
                healthy_since: running_at,
                failure: None,
                ended_at: None,
                announced: true,
            });
        }
        sightings.reverse();
        sightings
    }

    /// A change that made `result` from `pinned`. If `rolled_back` is set, it is a rollback.
    fn change(result: char, pinned: char, rolled_back: Option<char>) -> Change {
        let mut change = sample::change();
        change.plan.write = GitWrite::Branch { pinned: sha(pinned) };
        change.plan.version = version(pinned);
        change.plan.direction = match rolled_back {
            Some(_) => Direction::Rollback(sample::rollback()),
            None => Direction::Promotion,
        };
        change.plan.from = rolled_back.map(version);
        change.stage = Stage::new_merging().into_deploying(sha(result), at(0), at(1)).unwrap();
        change
    }

    #[test]
    fn the_previous_version_is_the_newest_healthy_one_before_that_was_never_rolled_back_from() {
        // `a` to `d` are merge commits, `2` is a pinned commit, `e` and `f` are rollback commits.
        let rolled_back = || vec![change('e', 'b', Some('c'))];
        let cases = [
            ("the version before", "abc", vec![], Some('b')),
            ("not a version that was never healthy", "aBc", vec![], Some('a')),
            ("not the same code again", "abbc", vec![], Some('b')),
            ("nothing ran before", "a", vec![], None),
            ("nothing was healthy before", "Ab", vec![], None),
            ("a version that came twice is the same version", "acbc", vec![], Some('a')),
            ("a second rollback goes further back", "abce", rolled_back(), Some('a')),
            ("and not to the bad version, although it ran later", "bce", rolled_back(), None),
            ("after a rollback and a new version, back to the restored one", "abced", rolled_back(), Some('b')),
            (
                "a commit that was promoted again is the same version",
                "abd",
                vec![change('b', '2', None), change('d', '2', None)],
                Some('a'),
            ),
            ("two rollbacks in a row", "abcef", vec![change('e', 'b', Some('c')), change('f', 'a', Some('e'))], None),
        ];
        for (name, history, changes, expected) in cases {
            let sightings = build_sightings(history);
            let source_map = Change::build_source_map(&changes, &ArtefactName::new("checkout"));
            let found = find_previous_versions(&sightings, &source_map, Some(&sightings[0].version), &[]);
            assert_eq!(
                found.first().and_then(|candidate| candidate.version.commit.clone()),
                expected.map(sha),
                "{name}"
            );
        }
    }

    #[test]
    fn if_the_current_version_never_ran_the_running_one_is_the_candidate() {
        let found = find_previous_versions(&build_sightings("ab"), &SourceMap::default(), Some(&version('c')), &[]);
        assert_eq!(found.first().map(|candidate| candidate.version.clone()), Some(version('b')));
        assert_eq!(found[0].healthy_period, HealthyPeriod { since: at(100), until: None });
    }

    #[test]
    fn a_quarantined_version_is_no_candidate() {
        let quarantine = Quarantine { commits: vec![sha('b')], ..sample::quarantine() };
        let found =
            find_previous_versions(&build_sightings("abc"), &SourceMap::default(), Some(&version('c')), &[quarantine]);
        assert_eq!(found.first().map(|candidate| candidate.version.clone()), Some(version('a')));
    }

    #[test]
    fn a_circle_in_the_source_map_does_not_loop_for_ever() {
        let changes = [change('a', 'b', Some('c')), change('b', 'a', Some('c'))];
        let source_map = Change::build_source_map(&changes, &ArtefactName::new("checkout"));
        let _ = source_map.resolve_source(&sha('a'));
        let _ = source_map.resolve_restored(&version('a'));
    }

    #[test]
    fn a_rollback_is_permitted_unless_its_version_is_quarantined_unknown_or_missing() {
        let catalogue = sample::catalogue();
        let file = ManifestFile {
            repository: "acme/deploy".parse().unwrap(),
            branch: "main".to_owned(),
            file: "qa/mailer.yaml".to_owned(),
        };
        let without_commit = Version { commit: None, ..version('a') };
        let quarantines_of_version = [Quarantine { commits: vec![sha('a')], ..sample::quarantine() }];
        let (present, gone, none) = (ImagePresence::Present, ImagePresence::Missing, &[][..]);
        let cases = [
            ("by branch", None, version('a'), none, &present, "permit"),
            ("quarantined", None, version('a'), &quarantines_of_version[..], &present, "Quarantined"),
            ("by branch, of an unknown commit", None, without_commit.clone(), none, &present, "CommitUnknown"),
            ("by manifest, of an unknown commit", Some(&file), without_commit, none, &present, "permit"),
            ("by branch, without an image", None, version('a'), none, &gone, "permit"),
            ("by manifest, without an image", Some(&file), version('a'), none, &gone, "ImageMissing"),
        ];
        for (name, manifest, candidate, quarantines, image, expected) in cases {
            let facts = RollbackFacts {
                artefact: catalogue.find_artefact("mailer").unwrap(),
                target: catalogue.ladder.find("qa").unwrap(),
                manifest: manifest.cloned(),
                candidate: &candidate,
                version: candidate.clone(),
                from: None,
                quarantines,
                image: image.clone(),
                lost: PendingCommits::default(),
                head: None,
                method: PromotionMethod::Merge,
                supersedes: None,
                details: sample::rollback(),
            };
            let outcome = match check_rollback(&facts) {
                Ok(_) => "permit".to_owned(),
                Err(refusal) => format!("{refusal:?}"),
            };
            assert!(outcome.starts_with(expected), "{name}: {outcome}");
        }
    }
}
