//! The image of a rollback: whether the registry still has it, and whether its tag still names the image that ran.

use crate::domain::model::version::Version;
use crate::domain::rules::image_presence::ImagePresence;
use crate::domain::rules::refusal::Refusal;
use crate::domain::rules::rollback::{RollbackEvidence, check_image_differs};
use crate::workflow::context::Context;
use crate::workflow::error::PlanError;
use crate::workflow::planning::image::{
    check_digest_known, check_manifest_writable, is_pinned_by_digest, look_up_image,
};
use crate::workflow::planning::rollback_candidates::{EnvironmentHistory, MAX_TAGS, RollbackCandidate};

/// Checks the image of a rollback. Delivery by manifest restores the image itself, so the registry must have the image
/// that ran. Delivery by branch restores the code, so a missing image is only mentioned.
pub(crate) async fn check_rollback_image(
    ctx: &Context,
    history: &EnvironmentHistory<'_>,
    version: &mut Version,
    candidates: &[RollbackCandidate],
) -> Result<ImagePresence, PlanError> {
    let artefact = history.artefact;
    let Some(file) = history.manifest else {
        // The image of a version that was found in Git is unknown.
        let has_known_image = candidates.first().is_some_and(|candidate| candidate.found_in != RollbackEvidence::Git)
            && version.tag.is_some();
        return Ok(if has_known_image {
            look_up_image(ctx, artefact, version).await.0
        } else {
            ImagePresence::Present
        });
    };
    check_image_differs(artefact, history.target, history.current.as_ref(), version)?;
    let (presence, digest) = look_up_image(ctx, artefact, version).await;
    let tag_moved = match &digest {
        Some(digest) => has_tag_moved(ctx, history, version, digest).await,
        None => false,
    };
    if presence == ImagePresence::Missing || tag_moved {
        let alternative = find_available_version(ctx, history, candidates.get(1..).unwrap_or_default()).await;
        let (artefact, environment) = (artefact.name.clone(), history.target.name.clone());
        let version = version.clone();
        return Err(Refusal::ImageMissing { artefact, environment, version, tag_moved, alternative }.into());
    }
    if let Some(digest) = digest {
        version.digest = Some(digest.into());
    }
    check_digest_known(artefact, version, &presence)?;
    check_manifest_writable(ctx, artefact, file, version).await?;
    Ok(presence)
}

/// The label of the first candidate with an image that the registry still has, under a tag that has not moved.
async fn find_available_version(
    ctx: &Context,
    history: &EnvironmentHistory<'_>,
    candidates: &[RollbackCandidate],
) -> Option<String> {
    for RollbackCandidate { version, .. } in candidates.iter().take(MAX_TAGS) {
        if let (_, Some(digest)) = look_up_image(ctx, history.artefact, version).await
            && !has_tag_moved(ctx, history, version, &digest).await
        {
            return Some(version.label().to_owned());
        }
    }
    None
}

/// Whether the tag names another image now than the one that ran in the environment.
async fn has_tag_moved(ctx: &Context, history: &EnvironmentHistory<'_>, version: &Version, digest: &str) -> bool {
    let recorded_digest = history.changes.iter().find_map(|change| {
        let plan = &change.plan;
        plan.version
            .digest
            .as_deref()
            .filter(|_| plan.version.tag == version.tag && change.stage.result_commit().is_some())
    });
    if is_pinned_by_digest(history.artefact) && version.digest.is_some() {
        // The image was looked up by its digest, which never names another image.
        return false;
    }
    if let Some(recorded_digest) = version.digest.as_deref().or(recorded_digest) {
        return recorded_digest != digest;
    }
    ctx.image_commits.is_tag_overwritten(history.artefact, version).await
}

/// Adds the digest to the current version, for delivery by manifest. The digest identifies the image under any tag.
pub(crate) async fn add_known_digest(ctx: &Context, history: &EnvironmentHistory<'_>, current: Version) -> Version {
    if history.manifest.is_none() || current.digest.is_some() {
        return current;
    }
    let matching_change = history.changes.iter().find(|change| change.plan.version.is_same_image(&current));
    let digest = match matching_change.and_then(|change| change.plan.version.digest.clone()) {
        Some(digest) => Some(digest),
        None => look_up_image(ctx, history.artefact, &current).await.1.map(Into::into),
    };
    Version { digest, ..current }
}
