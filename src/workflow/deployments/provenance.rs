//! Finds out whether a running version comes from Git, and marks versions that do not.

use jiff::SignedDuration;

use crate::domain::git::manifest;
use crate::domain::model::artefact::{Artefact, Delivery, ManifestFile};
use crate::domain::model::environment::Environment;
use crate::domain::model::version::{Sha, Version};
use crate::domain::runtime::provenance::Provenance;
use crate::domain::runtime::sighting::Sighting;
use crate::workflow::context::Context;
use crate::workflow::deployments::announce::{find_posted_arrival, update_posted_arrival};
use crate::workflow::error::{LookupError, PlanError};
use crate::workflow::facts::manifests::{read_manifest_version, resolve_manifest_file};

/// A little less than the default time between two observations, so that each observation checks a marked version again
/// and removes an outdated mark.
const MARKED_RECHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(50);
/// How long an unknown provenance is not checked again. A manifest that cannot be read rarely becomes readable soon.
const UNKNOWN_RECHECK_INTERVAL: SignedDuration = SignedDuration::from_mins(10);
/// How long a version that comes from Git is not checked again.
const FROM_GIT_RECHECK_INTERVAL: SignedDuration = SignedDuration::from_mins(30);
/// How long the previous version of a manifest may still arrive after the manifest has named a newer one.
const OVERTAKEN_WINDOW: SignedDuration = SignedDuration::from_mins(30);
/// The most lookups in one pass. The next pass does the others.
const MAX_LOOKUPS_PER_PASS: usize = 50;
/// GitHub requests that are kept for people's commands. With fewer left, provenance is not checked.
const RESERVED_RATE_LIMIT: u64 = 1000;
/// Older announcements are not updated, because people do not read them any more.
const MARK_UPDATE_WINDOW: SignedDuration = SignedDuration::from_hours(24);

pub(crate) async fn resolve_provenance(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
) -> Result<Provenance, LookupError> {
    let version = &sighting.version;
    match (&artefact.delivery, &version.commit) {
        (Delivery::Branch, Some(commit)) => {
            resolve_provenance_by_branch(ctx, artefact, environment, version, commit).await
        }
        (Delivery::Branch, None) => Ok(Provenance::Unknown),
        (Delivery::Manifest { .. }, _) => resolve_provenance_by_manifest(ctx, artefact, environment, sighting).await,
    }
}

async fn resolve_provenance_by_branch(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    version: &Version,
    commit: &Sha,
) -> Result<Provenance, LookupError> {
    let branch = &environment.branch;
    let Some(is_contained) = ctx.comparisons.check_branch_contains(&artefact.repository, branch, commit).await? else {
        return Ok(Provenance::Unknown);
    };
    // The history of a branch still contains a commit that was rolled back. Only this environment's own quarantines
    // count, because each environment has its own branch.
    let quarantines = if is_contained { ctx.store.list_quarantines().await? } else { Vec::new() };
    let is_rolled_back = quarantines.iter().any(|quarantine| {
        quarantine.environment == environment.name
            && quarantine.has_artefact(&artefact.name)
            && quarantine.has_version(version, None)
    });
    Ok(Provenance::from_branch(branch, commit, is_contained, is_rolled_back))
}

async fn resolve_provenance_by_manifest(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
) -> Result<Provenance, LookupError> {
    let version = &sighting.version;
    let read = async {
        let Some(manifest_file) = resolve_manifest_file(ctx, artefact, environment).await? else { return Ok(None) };
        let named_version = read_manifest_version(ctx, artefact, &manifest_file).await?;
        let provenance = Provenance::from_manifest(&manifest_file.file, &named_version, version);
        // After two quick pushes, the first version arrives while the file already names the second.
        let is_recent = ctx.clock.now().duration_since(sighting.seen_at) < OVERTAKEN_WINDOW;
        if is_recent
            && provenance.is_not_from_git()
            && is_previous_manifest_version(ctx, artefact, &manifest_file, version).await?
        {
            return Ok(None);
        }
        Ok(Some(provenance))
    };
    match read.await {
        Ok(Some(provenance)) => Ok(provenance),
        Ok(None) | Err(PlanError::Refused(_)) => Ok(Provenance::Unknown),
        Err(PlanError::Lookup(error)) => Err(error),
    }
}

/// Whether the previous commit of the file named this version.
async fn is_previous_manifest_version(
    ctx: &Context,
    artefact: &Artefact,
    manifest_file: &ManifestFile,
    version: &Version,
) -> Result<bool, LookupError> {
    let Delivery::Manifest { path, pin, .. } = &artefact.delivery else { return Ok(false) };
    let selector = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
    let history =
        ctx.github.fetch_file_history(&manifest_file.repository, &manifest_file.branch, &manifest_file.file, 2).await?;
    let Some(previous) = history.get(1) else { return Ok(false) };
    let text = ctx.github.fetch_file(&manifest_file.repository, previous.sha.as_str(), &manifest_file.file).await?;
    let named = text.and_then(|text| manifest::read_version(&text, &selector).ok());
    Ok(named.is_some_and(|named| named.version.is_same_image(version)))
}

/// Stores the provenance in memory. An unknown one is not stored, so that the next pass looks it up.
pub(crate) fn record_provenance(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
    provenance: Provenance,
) {
    if provenance != Provenance::Unknown {
        ctx.sightings.set_provenance(&artefact.name, &environment.name, &sighting.version, provenance, ctx.clock.now());
    }
}

/// Checks the provenance of all running versions that are due for a check.
pub(crate) async fn refresh_all_provenances(ctx: &Context) {
    let (mut failures, mut lookups) = (0, 0);
    for artefact in &ctx.config.catalogue.artefacts {
        for environment in ctx.config.catalogue.ladder.environments() {
            match refresh_provenance(ctx, artefact, environment).await {
                Ok(false) => {}
                Ok(true) => (failures, lookups) = (0, lookups + 1),
                Err(error) if error.transient => {
                    tracing::debug!(%error, artefact = %artefact.name, "provenance cannot be checked; trying again");
                    failures += 1;
                }
                Err(error) => {
                    tracing::debug!(%error, artefact = %artefact.name, "provenance check was refused; trying later");
                    ctx.sightings.postpone_provenance_check(&artefact.name, &environment.name, ctx.clock.now());
                }
            }
            // Three failures in a row, or enough lookups, end this pass. The next pass continues.
            if failures == 3 || lookups == MAX_LOOKUPS_PER_PASS {
                return;
            }
        }
    }
}

/// Checks one running version, and updates the mark in memory and in the posted announcement. `false`: no check was
/// due.
async fn refresh_provenance(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
) -> Result<bool, LookupError> {
    let entry = ctx.sightings.read_artefact(&artefact.name, |sightings| sightings.find_in(&environment.name).cloned());
    let Some(entry) = entry else { return Ok(false) };
    let now = ctx.clock.now();
    let was_checked_within =
        |pause| entry.provenance_checked_at.is_some_and(|checked_at| now.duration_since(checked_at) < pause);
    let is_checked = match &entry.provenance {
        // A branch keeps its commits, but a manifest or a rollback can still remove the version.
        Provenance::Git => was_checked_within(FROM_GIT_RECHECK_INTERVAL),
        Provenance::NotFromGit { .. } => was_checked_within(MARKED_RECHECK_INTERVAL),
        Provenance::Unknown => was_checked_within(UNKNOWN_RECHECK_INTERVAL),
    };
    let version = &entry.sighting.version;
    let commit_unknown = artefact.delivery == Delivery::Branch && version.commit.is_none();
    let rate_limit_low = ctx.github.rate_limit_state().is_some_and(|left| left.remaining < RESERVED_RATE_LIMIT);
    // During a change, Git is ahead of the running version on purpose.
    let has_active_change = || ctx.open_changes.active_change_deploying_to(&artefact.name, &environment.name).is_some();
    if is_checked || commit_unknown || rate_limit_low || has_active_change() {
        return Ok(false);
    }
    let provenance = resolve_provenance(ctx, artefact, environment, &entry.sighting).await?;
    let mark_changed = provenance.is_not_from_git() != entry.provenance.is_not_from_git();
    ctx.sightings.set_provenance(&artefact.name, &environment.name, version, provenance, now);
    if !mark_changed {
        return Ok(true);
    }
    let sighting = &entry.sighting;
    let Some(posted) = find_posted_arrival(ctx, artefact, environment, sighting, MARK_UPDATE_WINDOW).await? else {
        return Ok(true);
    };
    let _guard = ctx.sightings.lock_for_write().await;
    let current = ctx.sightings.find_sighting(&artefact.name, &environment.name);
    let Some(current) = current.filter(|current| current.seen_at == sighting.seen_at) else { return Ok(true) };
    let transaction = update_posted_arrival(ctx, artefact, environment, &current, posted);
    if let Err(error) = ctx.store.commit(transaction).await {
        tracing::warn!(%error, "an announcement could not be updated");
    }
    Ok(true)
}
