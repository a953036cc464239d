//! Finds out whether Git explains what runs, and marks what it does not.

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

/// A little less than the time between two looks: a branch that caught up takes the mark away at the next.
const MARKED_RECHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(50);
/// A manifest that cannot be read does not become readable by asking.
const UNKNOWN_RECHECK_INTERVAL: SignedDuration = SignedDuration::from_mins(10);
/// How long Git's explanation holds before it is asked for again.
const EXPLAINED_RECHECK_INTERVAL: SignedDuration = SignedDuration::from_mins(30);
/// So long what a file named before may arrive after what it names now.
const OVERTAKEN_WINDOW: SignedDuration = SignedDuration::from_mins(30);
/// So many are asked about in one look: the others come with the next.
const MAX_LOOKUPS_PER_PASS: usize = 50;
/// The mark is a courtesy: so many of the hour's questions are left to what people ask for.
const RESERVED_RATE_LIMIT: u64 = 1000;
/// So long a message says what is true by now; later nobody reads it.
const MARK_UPDATE_WINDOW: SignedDuration = SignedDuration::from_hours(24);

pub(crate) async fn resolve_origin(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
) -> Result<Provenance, LookupError> {
    let version = &sighting.version;
    match (&artefact.delivery, &version.commit) {
        (Delivery::Branch, Some(commit)) => resolve_origin_by_branch(ctx, artefact, environment, version, commit).await,
        (Delivery::Branch, None) => Ok(Provenance::Unknown),
        (Delivery::Manifest { .. }, _) => resolve_origin_by_manifest(ctx, artefact, environment, sighting).await,
    }
}

async fn resolve_origin_by_branch(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    version: &Version,
    commit: &Sha,
) -> Result<Provenance, LookupError> {
    let branch = &environment.branch;
    let Some(contained) = ctx.comparisons.check_branch_contains(&artefact.repository, branch, commit).await? else {
        return Ok(Provenance::Unknown);
    };
    // A branch keeps in its past what a rollback took away. Of environments above, their own branch tells.
    let quarantines = if contained { ctx.store.list_quarantines().await? } else { Vec::new() };
    let rolled_back = quarantines.iter().any(|it| {
        it.environment == environment.name && it.has_artefact(&artefact.name) && it.has_version(version, None)
    });
    Ok(Provenance::from_branch(branch, commit, contained, rolled_back))
}

async fn resolve_origin_by_manifest(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
) -> Result<Provenance, LookupError> {
    let version = &sighting.version;
    let read = async {
        let Some(at) = resolve_manifest_file(ctx, artefact, environment).await? else { return Ok(None) };
        let says = read_manifest_version(ctx, artefact, &at).await?;
        let origin = Provenance::from_manifest(&at.file, &says, version);
        // Who pushes twice sees the first arrive while the file names the second.
        let fresh = ctx.clock.now().duration_since(sighting.seen_at) < OVERTAKEN_WINDOW;
        if fresh && origin.is_not_from_git() && is_previous_manifest_version(ctx, artefact, &at, version).await? {
            return Ok(None);
        }
        Ok(Some(origin))
    };
    match read.await {
        Ok(Some(origin)) => Ok(origin),
        Ok(None) | Err(PlanError::Refused(_)) => Ok(Provenance::Unknown),
        Err(PlanError::Lookup(error)) => Err(error),
    }
}

/// Did the file name it right before what it names now?
async fn is_previous_manifest_version(
    ctx: &Context,
    artefact: &Artefact,
    at: &ManifestFile,
    version: &Version,
) -> Result<bool, LookupError> {
    let Delivery::Manifest { path, pin, .. } = &artefact.delivery else { return Ok(false) };
    let place = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
    let history = ctx.github.fetch_file_history(&at.repository, &at.branch, &at.file, 2).await?;
    let Some(before) = history.get(1) else { return Ok(false) };
    let text = ctx.github.fetch_file(&at.repository, before.sha.as_str(), &at.file).await?;
    let said = text.and_then(|text| manifest::read_version(&text, &place).ok());
    Ok(said.is_some_and(|said| said.version.is_same_image(version)))
}

/// What could not be found out while it was told is asked for at the next look.
pub(crate) fn remember_origin(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
    origin: Provenance,
) {
    if origin != Provenance::Unknown {
        ctx.sightings.set_provenance(&artefact.name, &environment.name, &sighting.version, origin, ctx.clock.now());
    }
}

/// Marks what Git does not explain, everywhere.
pub(crate) async fn refresh_origins(ctx: &Context) {
    let (mut failures, mut asked) = (0, 0);
    for artefact in &ctx.config.catalogue.artefacts {
        for environment in ctx.config.catalogue.ladder.environments() {
            match refresh_origin(ctx, artefact, environment).await {
                Ok(false) => {}
                Ok(true) => (failures, asked) = (0, asked + 1),
                Err(error) if error.transient => {
                    tracing::debug!(%error, artefact = %artefact.name, "what Git explains cannot be asked for now");
                    failures += 1;
                }
                Err(error) => {
                    tracing::debug!(%error, artefact = %artefact.name, "what Git explains is not told to us");
                    ctx.sightings.postpone_provenance_check(&artefact.name, &environment.name, ctx.clock.now());
                }
            }
            // Whoever was away three times would not answer for the next either, and who asked much lets others ask:
            // the next look goes on.
            if failures == 3 || asked == MAX_LOOKUPS_PER_PASS {
                return;
            }
        }
    }
}

/// Marks what runs there, or takes the mark away, also from the message that told of it. `false`: nobody was asked.
async fn refresh_origin(ctx: &Context, artefact: &Artefact, environment: &Environment) -> Result<bool, LookupError> {
    let entry = ctx.sightings.read_artefact(&artefact.name, |seen| seen.find_in(&environment.name).cloned());
    let Some(entry) = entry else { return Ok(false) };
    let now = ctx.clock.now();
    let rests = |pause| entry.provenance_checked_at.is_some_and(|asked| now.duration_since(asked) < pause);
    let settled = match &entry.provenance {
        // What a branch has had it keeps; a file, or a rollback, may take it away.
        Provenance::Git => rests(EXPLAINED_RECHECK_INTERVAL),
        Provenance::NotFromGit { .. } => rests(MARKED_RECHECK_INTERVAL),
        Provenance::Unknown => rests(UNKNOWN_RECHECK_INTERVAL),
    };
    let version = &entry.sighting.version;
    let untold = artefact.delivery == Delivery::Branch && version.commit.is_none();
    let scarce = ctx.github.rate_limit_state().is_some_and(|left| left.remaining < RESERVED_RATE_LIMIT);
    // While a change of ours is on its way, Git is ahead of what runs, and that is as it should be.
    let changing = || ctx.open_changes.active_change_deploying_to(&artefact.name, &environment.name).is_some();
    if settled || untold || scarce || changing() {
        return Ok(false);
    }
    let origin = resolve_origin(ctx, artefact, environment, &entry.sighting).await?;
    let turned = origin.is_not_from_git() != entry.provenance.is_not_from_git();
    ctx.sightings.set_provenance(&artefact.name, &environment.name, version, origin, now);
    if !turned {
        return Ok(true);
    }
    let sighting = &entry.sighting;
    let Some(posted) = find_posted_arrival(ctx, artefact, environment, sighting, MARK_UPDATE_WINDOW).await? else {
        return Ok(true);
    };
    let _alone = ctx.sightings.lock_for_write().await;
    let there = ctx.sightings.find_sighting(&artefact.name, &environment.name);
    let Some(there) = there.filter(|there| there.seen_at == sighting.seen_at) else { return Ok(true) };
    let transaction = update_posted_arrival(ctx, artefact, environment, &there, posted);
    if let Err(error) = ctx.store.commit(transaction).await {
        tracing::warn!(%error, "a message could not be completed");
    }
    Ok(true)
}
