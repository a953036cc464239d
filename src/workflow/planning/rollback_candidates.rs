//! The versions that an environment can go back to: from the ledger, else from Git, else from the cluster's history,
//! else guessed from the registry's tags.

use std::cmp::Ordering;

use crate::adapters::cluster;
use crate::adapters::github::GithubCommit;
use crate::domain::change::Change;
use crate::domain::git::manifest;
use crate::domain::git::trailer::Trailers;
use crate::domain::model::artefact::{Artefact, Delivery, ManifestFile};
use crate::domain::model::environment::Environment;
use crate::domain::model::version::{Sha, Version};
use crate::domain::rules;
use crate::domain::rules::quarantine::Quarantine;
use crate::domain::rules::rollback::{
    HealthyPeriod, HealthyVersion, RollbackEvidence, SourceMap, find_healthy_versions,
};
use crate::domain::runtime::sighting::Sighting;
use crate::workflow::context::Context;
use crate::workflow::error::PlanError;
use crate::workflow::facts::manifests::read_manifest_version;
use crate::workflow::planning::gate_inputs::find_environment_quarantines;

/// How many sightings and changes are read.
pub(crate) const HISTORY_LIMIT: u32 = 200;
/// How many other versions are suggested.
pub(crate) const MAX_SUGGESTIONS: usize = 5;
/// How many sightings without a stored commit are looked up, newest first.
const MAX_COMMIT_LOOKUPS: usize = 5;
/// How many commits of the branch are read.
const MAX_COMMITS: usize = 50;
const MAX_FILE_REVISIONS: usize = 20;
/// How many tags are read, and how many images are looked up in the registry.
pub(crate) const MAX_TAGS: usize = 10;

/// The facts about an artefact in an environment that is to be rolled back.
pub(crate) struct EnvironmentHistory<'a> {
    pub(crate) artefact: &'a Artefact,
    pub(crate) target: &'a Environment,
    pub(crate) manifest: Option<&'a ManifestFile>,
    /// The changes under the same change lock, newest first; for a manifest only those of the artefact.
    pub(crate) changes: Vec<Change>,
    pub(crate) source_map: SourceMap,
    /// Newest first.
    pub(crate) sightings: Vec<Sighting>,
    pub(crate) quarantines: Vec<Quarantine>,
    /// The version to roll back from: the one that Git specifies, even if it does not run yet.
    pub(crate) current: Option<Version>,
    /// The head of the branch, for delivery by branch.
    pub(crate) head: Option<Sha>,
}

/// A version to go back to, and the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RollbackCandidate {
    pub(crate) version: Version,
    pub(crate) ran: Option<HealthyPeriod>,
    pub(crate) found_in: RollbackEvidence,
}

impl From<HealthyVersion> for RollbackCandidate {
    fn from(candidate: HealthyVersion) -> Self {
        Self { version: candidate.version, ran: Some(candidate.healthy_period), found_in: RollbackEvidence::Ledger }
    }
}

impl EnvironmentHistory<'_> {
    /// The versions that ran healthy in the environment, newest first.
    pub(crate) fn find_healthy_versions(&self) -> Vec<HealthyVersion> {
        find_healthy_versions(&self.sightings, &self.source_map, self.current.as_ref())
    }

    /// Whether a rollback must not restore the version: it is quarantined, it is the current one, or an earlier
    /// rollback replaced it.
    fn is_barred(&self, version: &Version) -> bool {
        self.quarantines.iter().any(|quarantine| quarantine.has_version(version, None))
            || self.current.as_ref().is_some_and(|current| self.source_map.is_same_code(current, version))
            || self.changes.iter().any(|change| {
                let is_merged_rollback = change.plan.is_rollback() && change.stage.result_commit().is_some();
                is_merged_rollback
                    && change.plan.from.as_ref().is_some_and(|from| self.source_map.is_same_code(from, version))
            })
    }
}

pub(crate) async fn load_environment_history<'a>(
    ctx: &Context,
    artefact: &'a Artefact,
    target: &'a Environment,
    manifest: Option<&'a ManifestFile>,
    mut changes: Vec<Change>,
) -> Result<EnvironmentHistory<'a>, PlanError> {
    if manifest.is_some() {
        // Changes of another artefact in the same file do not belong to this history, even with equal tags.
        changes.retain(|change| change.plan.artefact == artefact.name);
    }
    let mut sightings = ctx.store.list_sightings(&artefact.name, &target.name, HISTORY_LIMIT).await?;
    for sighting in sightings.iter_mut().filter(|sighting| sighting.version.commit.is_none()).take(MAX_COMMIT_LOOKUPS) {
        // A failed lookup must not prevent a rollback to another version.
        if let Ok(Some((commit, _))) = ctx.image_commits.resolve_sighting_commit(artefact, sighting).await {
            sighting.version.commit = Some(commit);
        }
    }
    let head = match manifest {
        Some(_) => None,
        None => ctx.github.fetch_branch_head(&artefact.repository, &target.branch).await?,
    };
    let mut history = EnvironmentHistory {
        source_map: Change::build_source_map(&changes, &artefact.name),
        quarantines: find_environment_quarantines(ctx, artefact, target).await?,
        artefact,
        target,
        manifest,
        changes,
        sightings,
        current: None,
        head,
    };
    history.current = find_current_version(ctx, &history).await?;
    Ok(history)
}

/// The current version: the one that runs, unless Git specifies another one that is not deployed yet.
async fn find_current_version(ctx: &Context, history: &EnvironmentHistory<'_>) -> Result<Option<Version>, PlanError> {
    let artefact = history.artefact;
    let running = history
        .sightings
        .first()
        .filter(|sighting| sighting.ended_at.is_none())
        .map(|sighting| sighting.version.clone());
    if let Some(file) = history.manifest {
        let specified = read_manifest_version(ctx, artefact, file).await?;
        if let Some(running) = running.filter(|running| running.is_same_image(&specified)) {
            return Ok(Some(running));
        }
        let matching_change = history.changes.iter().find(|change| change.plan.version.is_same_image(&specified));
        let commit = match matching_change.and_then(|change| change.plan.version.commit.clone()) {
            Some(commit) => Some(commit),
            None => ctx
                .image_commits
                .find_version_commit(artefact, &specified)
                .await
                .ok()
                .flatten()
                .map(|(commit, _)| commit),
        };
        return Ok(Some(Version { commit, ..specified }));
    }
    let last = history.changes.iter().find_map(|change| Some((change, change.stage.result_commit()?)));
    let Some((change, result)) = last else { return Ok(running) };
    if let Some(commit) = running.as_ref().and_then(|running| running.commit.as_ref()) {
        // The running version is the result of the last change, or newer because of a hotfix.
        let is_deployed = commit == result
            || Some(commit) == change.plan.pinned_commit()
            || !ctx.comparisons.is_behind(artefact, commit, result).await?;
        if is_deployed {
            return Ok(running);
        }
    }
    Ok(Some(Version { tag: change.plan.version.tag.clone(), digest: None, commit: Some(result.clone()) }))
}

/// The versions to go back to, the best first. All of them have the same kind of evidence.
pub(crate) async fn find_previous_versions(
    ctx: &Context,
    history: &EnvironmentHistory<'_>,
) -> Result<Vec<RollbackCandidate>, PlanError> {
    let by_branch = history.manifest.is_none();
    let from_ledger = rules::rollback::find_previous_versions(
        &history.sightings,
        &history.source_map,
        history.current.as_ref(),
        &history.quarantines,
    );
    // Delivery by branch restores the code, so the commit must be known.
    let from_ledger: Vec<RollbackCandidate> = from_ledger
        .into_iter()
        .map(RollbackCandidate::from)
        .filter(|candidate| !by_branch || candidate.version.commit.is_some())
        .collect();
    if !from_ledger.is_empty() {
        return Ok(from_ledger);
    }
    let from_git = match history.manifest {
        Some(file) => find_previous_by_file(ctx, history, file).await?,
        None => find_previous_by_branch(ctx, history).await?,
    };
    if !from_git.is_empty() {
        return Ok(from_git);
    }
    let from_cluster = find_previous_by_cluster(ctx, history).await;
    if !from_cluster.is_empty() {
        return Ok(from_cluster);
    }
    Ok(guess_previous_by_registry(ctx, history).await)
}

/// The earlier commits of the branch, newest first, but those with a tag of the environment before the others.
pub(crate) async fn find_previous_by_branch(
    ctx: &Context,
    history: &EnvironmentHistory<'_>,
) -> Result<Vec<RollbackCandidate>, PlanError> {
    let EnvironmentHistory { artefact, target, .. } = history;
    let Some(head) = &history.head else { return Ok(Vec::new()) };
    let repository = &artefact.repository;
    let open_rollbacks = ctx.github.find_open_rollbacks(repository, head).await?;
    // After a rollback the branch has the code of the restored commit, so the search begins there.
    let start = open_rollbacks.first().map_or(head, |rollback| &rollback.restores);
    let earlier_commits: Vec<_> =
        ctx.github.list_first_parents(repository, start, MAX_COMMITS).await?.into_iter().skip(1).collect();
    let prefix = format!("{}/", target.name);
    let tags = match &target.policy.tag_template {
        // Tags are listed by the prefix `<environment>/`. Tags from another kind of template cannot be found that way.
        Some(template) if !template.starts_with("{environment}/") => Vec::new(),
        _ => ctx.github.list_newest_tags(repository, &prefix, MAX_TAGS).await?,
    };
    let find_tag = |sha: &Sha| tags.iter().find(|(_, commit)| commit == sha).map(|(name, _)| name.as_str().into());
    let mut found: Vec<RollbackCandidate> = Vec::new();
    let is_no_rollback = |commit: &&GithubCommit| {
        !matches!(commit.trailers, Some(Trailers::Rollback { .. } | Trailers::Reinstates { .. }))
    };
    for commit in earlier_commits.iter().filter(is_no_rollback) {
        let version = Version { tag: find_tag(&commit.sha), digest: None, commit: Some(commit.sha.clone()) };
        if !history.is_barred(&version) {
            found.push(RollbackCandidate { version, ran: None, found_in: RollbackEvidence::Git });
        }
    }
    // The sort is stable: the newest stays first among the tagged and among the untagged commits.
    found.sort_by_key(|candidate| candidate.version.tag.is_none());
    Ok(found)
}

/// The versions in earlier revisions of the manifest.
async fn find_previous_by_file(
    ctx: &Context,
    history: &EnvironmentHistory<'_>,
    manifest_file: &ManifestFile,
) -> Result<Vec<RollbackCandidate>, PlanError> {
    let ManifestFile { repository, branch, file } = manifest_file;
    let Delivery::Manifest { path, pin, .. } = &history.artefact.delivery else { return Ok(Vec::new()) };
    let selector = manifest::ImageSelector { image: &history.artefact.image, path: path.as_deref(), pin: *pin };
    let mut found: Vec<RollbackCandidate> = Vec::new();
    for commit in ctx.github.fetch_file_history(repository, branch, file, MAX_FILE_REVISIONS).await?.into_iter().skip(1)
    {
        let Some(text) = ctx.github.fetch_file(repository, commit.sha.as_str(), file).await? else { continue };
        // An old revision may not be readable.
        let Ok(parsed) = manifest::read_version(&text, &selector) else { continue };
        let version = parsed.version;
        let version = add_known_commit(ctx, history.artefact, version).await;
        let is_duplicate = found.iter().any(|other| other.version.is_same_image(&version));
        if !is_duplicate && !history.is_barred(&version) {
            found.push(RollbackCandidate { version, ran: None, found_in: RollbackEvidence::Git });
        }
        // Several candidates are collected, because the image of the first may be gone.
        if found.len() == MAX_SUGGESTIONS {
            break;
        }
    }
    Ok(found)
}

/// The earlier versions in the cluster's history of the workload. Empty if the history cannot be read.
async fn find_previous_by_cluster(ctx: &Context, history: &EnvironmentHistory<'_>) -> Vec<RollbackCandidate> {
    let EnvironmentHistory { artefact, target, .. } = history;
    let Some(place) = artefact.places.get(&target.name) else { return Vec::new() };
    let Some(workload) = place.workloads.first() else { return Vec::new() };
    let (namespace, container) = (&place.namespace, place.container.as_deref());
    let revisions =
        match cluster::fetch_image_history(&ctx.cluster_clients, namespace, workload, container, &artefact.image).await
        {
            Ok(revisions) => revisions,
            Err(error) => {
                tracing::warn!(%error, artefact = %artefact.name, "the cluster's history cannot be read");
                return Vec::new();
            }
        };
    let versions = revisions.into_iter().map(|revision| revision.image.to_version());
    filter_eligible_versions(ctx, history, versions.collect(), RollbackEvidence::Cluster).await
}

/// The registry's tags with lower numbers than the current one. This is a guess: no evidence shows that they ran.
async fn guess_previous_by_registry(ctx: &Context, history: &EnvironmentHistory<'_>) -> Vec<RollbackCandidate> {
    let Some(current) = history.current.as_ref().and_then(|current| current.tag.clone()) else { return Vec::new() };
    let mut tags = match ctx.registry.list_tags(&history.artefact.image).await {
        Ok(tags) => tags,
        Err(error) => {
            tracing::warn!(%error, artefact = %history.artefact.name, "the registry's tags cannot be read");
            return Vec::new();
        }
    };
    tags.retain(|tag| is_comparable_tag(tag, &current) && compare_tag_numbers(tag, &current) == Ordering::Less);
    tags.sort_by(|a, b| compare_tag_numbers(b, a));
    tags.truncate(MAX_TAGS);
    let versions = tags.into_iter().map(|tag| Version { tag: Some(tag.into()), ..Version::default() });
    filter_eligible_versions(ctx, history, versions.collect(), RollbackEvidence::Registry).await
}

/// The version with its commit. A lookup that fails leaves the commit out: the candidate is still worth showing.
async fn add_known_commit(ctx: &Context, artefact: &Artefact, version: Version) -> Version {
    let found = ctx.image_commits.find_version_commit(artefact, &version).await.ok().flatten();
    Version { commit: found.map(|(commit, _)| commit), ..version }
}

/// The versions that a rollback may restore, with their commits.
async fn filter_eligible_versions(
    ctx: &Context,
    history: &EnvironmentHistory<'_>,
    versions: Vec<Version>,
    evidence: RollbackEvidence,
) -> Vec<RollbackCandidate> {
    let mut candidates = Vec::new();
    for version in versions.into_iter().take(MAX_TAGS) {
        let version = add_known_commit(ctx, history.artefact, version).await;
        let is_usable = history.manifest.is_some() || version.commit.is_some();
        if is_usable && !history.is_barred(&version) {
            candidates.push(RollbackCandidate { version, ran: None, found_in: evidence });
        }
    }
    candidates
}

/// Whether two tags can be ordered by their numbers: both have the same text before the first digit, and no letters
/// after it. Tags that name commits have no order.
fn is_comparable_tag(a: &str, b: &str) -> bool {
    fn split_tag_prefix(text: &str) -> Option<(&str, &str)> {
        let (head, rest) = text.split_at(text.find(|c: char| c.is_ascii_digit())?);
        (!rest.contains(char::is_alphabetic)).then_some((head, rest))
    }
    matches!((split_tag_prefix(a), split_tag_prefix(b)), (Some((a, _)), Some((b, _))) if a == b)
}

/// Compares two tags by the numbers in them, so that `1.10` is after `1.9`.
fn compare_tag_numbers(a: &str, b: &str) -> Ordering {
    let numbers = |text: &str| {
        text.split(|c: char| !c.is_ascii_digit())
            .filter(|part| !part.is_empty())
            // Compared by length and then by digits, so that no number is too long.
            .map(|part| part.trim_start_matches('0').to_owned())
            .map(|digits| (digits.len(), digits))
            .collect::<Vec<_>>()
    };
    numbers(a).cmp(&numbers(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_ordered_by_their_numbers() {
        let mut tags = ["1.9.0", "1.10.0", "1.2.10", "1.2.9", "1.10"];
        tags.sort_by(|a, b| compare_tag_numbers(a, b));
        assert_eq!(tags, ["1.2.9", "1.2.10", "1.9.0", "1.10", "1.10.0"]);
        assert!(
            is_comparable_tag("v1.2", "v10.0")
                && !is_comparable_tag("build-3", "v3")
                && !is_comparable_tag("latest", "latest")
        );
        assert!(
            !is_comparable_tag("qa-6cff9ae", "qa-6348b45") && is_comparable_tag("qa-2026.11.16-2", "qa-2026.11.16-10")
        );
        assert_eq!(compare_tag_numbers("99999999999999999999998", "99999999999999999999999"), Ordering::Less);
    }
}
