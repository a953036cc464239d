//! Selects the version to promote: the one that runs healthy in the environment below, or a named one that ran healthy
//! there.

use std::sync::Arc;

use jiff::Timestamp;

use crate::domain::change::plan::{GitWrite, Plan};
use crate::domain::model::artefact::Artefact;
use crate::domain::model::environment::Environment;
use crate::domain::model::version::{Sha, Version};
use crate::domain::rules::facts::HealthySince;
use crate::domain::rules::promotion;
use crate::domain::rules::refusal::Refusal;
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::runtime::sighting::Sighting;
use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, PlanError};

/// How many sightings are searched for the requested version.
const SIGHTINGS_LIMIT: u32 = 200;
/// How many versions a refusal suggests if the requested one never ran healthy.
const MAX_SUGGESTIONS: usize = 5;
/// The most sightings of which the commit is looked up to find a requested commit.
const MAX_COMMIT_LOOKUPS: usize = 5;

#[derive(Clone, Debug)]
pub(crate) enum VersionSelector {
    /// The version that runs healthy below.
    RunningBelow,
    /// A version that has run healthy below, by its tag or a prefix of its commit.
    Named(Arc<str>),
    /// Exactly this commit, which must have run healthy below.
    Commit(Sha),
    /// Exactly this image. In a manifest, another image of the same commit is a different version.
    Image(Version),
    /// The version of the sighting below that began at this time.
    Sighting(Timestamp),
}

impl VersionSelector {
    /// Selects exactly the planned version.
    pub(crate) fn from_plan(plan: &Plan) -> Self {
        match &plan.write {
            GitWrite::Branch { pinned } => Self::Commit(pinned.clone()),
            GitWrite::Manifest { .. } => Self::Image(plan.version.clone()),
        }
    }
}

/// The selected version, with its commit if known, and the period in which it was healthy below.
pub(super) async fn select_version_below(
    ctx: &Context,
    artefact: &Artefact,
    below: &Environment,
    selector: &VersionSelector,
) -> Result<(Version, Option<HealthySince>), PlanError> {
    let sighting = match selector {
        VersionSelector::RunningBelow => {
            let Some(place) = artefact.places.get(&below.name) else {
                let (artefact, below) = (artefact.name.clone(), below.name.clone());
                return Err(Refusal::NotRunningBelow { artefact, below }.into());
            };
            let rollout = ctx.cluster_view.read_rollout(place, &artefact.image);
            let version = promotion::require_healthy_version(artefact, below, &rollout, &ctx.config.catalogue.ladder)?;
            let seen = ctx.sightings.find_sighting(&artefact.name, &below.name);
            // The observer has not recorded the sighting of this version yet, so its facts are missing for a moment.
            seen.filter(|seen| seen.version.is_same_image(&version)).ok_or_else(|| {
                LookupError::new_transient(format!("{} has just come to run in {}", version.label(), below.name))
            })?
        }
        VersionSelector::Named(_)
        | VersionSelector::Commit(_)
        | VersionSelector::Image(_)
        | VersionSelector::Sighting(_) => find_healthy_sighting(ctx, artefact, below, selector).await?,
    };
    let commit = find_sighting_commit(ctx, artefact, &sighting).await?;
    let healthy_since = sighting.healthy_since.map(|since| HealthySince { since, until: sighting.ended_at });
    Ok((Version { commit, ..sighting.version }, healthy_since))
}

/// The version that is rolling out or degraded below, if its commit is known.
pub(super) async fn find_rolling_out_below(
    ctx: &Context,
    artefact: &Artefact,
    below: &Environment,
) -> Result<Option<Version>, LookupError> {
    let Some(place) = artefact.places.get(&below.name) else { return Ok(None) };
    let rollout = ctx.cluster_view.read_rollout(place, &artefact.image);
    let (RolloutState::RollingOut { .. } | RolloutState::Degraded { .. }) = rollout.state else { return Ok(None) };
    let seen = ctx.sightings.find_sighting(&artefact.name, &below.name);
    let Some(sighting) = seen.filter(|seen| rollout.version.is_some_and(|now| seen.version.is_same_image(&now))) else {
        return Ok(None);
    };
    let commit = find_sighting_commit(ctx, artefact, &sighting).await?;
    Ok(commit.map(|commit| Version { commit: Some(commit), ..sighting.version }))
}

async fn find_sighting_commit(
    ctx: &Context,
    artefact: &Artefact,
    sighting: &Sighting,
) -> Result<Option<Sha>, LookupError> {
    match &sighting.version.commit {
        Some(commit) => Ok(Some(commit.clone())),
        None => Ok(ctx.image_commits.resolve_sighting_commit(artefact, sighting).await?.map(|(commit, _)| commit)),
    }
}

/// The sighting below of the selected version, if that version ran healthy.
async fn find_healthy_sighting(
    ctx: &Context,
    artefact: &Artefact,
    below: &Environment,
    selector: &VersionSelector,
) -> Result<Sighting, PlanError> {
    let sightings = ctx.store.list_sightings(&artefact.name, &below.name, SIGHTINGS_LIMIT).await?;
    let healthy: Vec<Sighting> = sightings.into_iter().filter(|sighting| sighting.running_at.is_some()).collect();
    let is_selected = |sighting: &&Sighting| match selector {
        VersionSelector::Named(name) => sighting.version.is_named(name),
        VersionSelector::Commit(sha) => sighting.version.commit.as_ref() == Some(sha),
        VersionSelector::Image(version) => sighting.version.is_same_image(version),
        VersionSelector::Sighting(seen_at) => sighting.seen_at == *seen_at,
        VersionSelector::RunningBelow => true,
    };
    let mut found = healthy.iter().find(is_selected).cloned();
    if let (None, VersionSelector::Commit(sha)) = (&found, selector) {
        // The commit may be known without being stored in the sighting yet.
        for sighting in healthy.iter().filter(|sighting| sighting.version.commit.is_none()).take(MAX_COMMIT_LOOKUPS) {
            if ctx
                .image_commits
                .resolve_sighting_commit(artefact, sighting)
                .await?
                .is_some_and(|(commit, _)| commit == *sha)
            {
                found = Some(sighting.clone());
                break;
            }
        }
    }
    if let Some(found) = found {
        // A version that still runs must be healthy now.
        if found.ended_at.is_none()
            && let Some(place) = artefact.places.get(&below.name)
        {
            let rollout = ctx.cluster_view.read_rollout(place, &artefact.image);
            promotion::require_healthy_version(artefact, below, &rollout, &ctx.config.catalogue.ladder)?;
        }
        return Ok(found);
    }
    let version = match selector {
        VersionSelector::Commit(sha) => sha.short().to_owned(),
        VersionSelector::Named(name) => name.to_string(),
        VersionSelector::Image(version) => version.label().to_owned(),
        VersionSelector::Sighting(_) | VersionSelector::RunningBelow => "that version".to_owned(),
    };
    let mut ran: Vec<String> = healthy.iter().map(|sighting| sighting.version.label().to_owned()).collect();
    ran.dedup();
    ran.truncate(MAX_SUGGESTIONS);
    Err(Refusal::NeverRanHealthy {
        artefact: artefact.name.clone(),
        below: below.name.clone(),
        version,
        healthy_versions: ran,
    }
    .into())
}
