//! Checks that the registry has the image that a manifest would name.

use crate::adapters::registry::RegistryError;
use crate::domain::git::manifest;
use crate::domain::model::artefact::{Artefact, Delivery, ManifestFile};
use crate::domain::model::environment::Environment;
use crate::domain::model::version::{Image, Pin, Version};
use crate::domain::rules::image_presence::ImagePresence;
use crate::domain::rules::refusal::Refusal;
use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, PlanError};
use crate::workflow::facts::manifests::{build_manifest_refusal, read_manifest_text};

/// Checks that the version can be written into the manifest. A file that names the version already is no error.
pub(crate) async fn check_manifest_writable(
    ctx: &Context,
    artefact: &Artefact,
    file: &ManifestFile,
    version: &Version,
) -> Result<(), PlanError> {
    let Delivery::Manifest { path, pin, .. } = &artefact.delivery else { return Ok(()) };
    let text = read_manifest_text(ctx, artefact, file).await?;
    let selector = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
    manifest::write_version(&text, &selector, version)
        .map_err(|problem| build_manifest_refusal(artefact, file, problem.to_string()))?;
    Ok(())
}

/// Asks the registry whether it has the image. Also returns the digest.
pub(crate) async fn look_up_image(
    ctx: &Context,
    artefact: &Artefact,
    version: &Version,
) -> (ImagePresence, Option<String>) {
    // An image that the manifest pins by digest is looked up by its digest, any other by its tag, which may have moved.
    let by_digest = version.tag.is_none() || is_pinned_by_digest(artefact);
    let digest = version.digest.clone().filter(|_| by_digest);
    let tag = version.tag.clone().filter(|_| digest.is_none());
    let image = Image { name: artefact.image.clone(), tag, digest };
    match ctx.registry.fetch_digest(&image).await {
        Ok(Some(digest)) => (ImagePresence::Present, Some(digest)),
        Ok(None) => (ImagePresence::Missing, None),
        Err(error @ (RegistryError::Unavailable(_) | RegistryError::Unauthorised(_) | RegistryError::Other(_))) => {
            (ImagePresence::Unknown { reason: error.to_string() }, None)
        }
    }
}

/// A manifest that pins the digest cannot be written without it. Only the registry knows the digest, so planning waits
/// for the registry.
pub(crate) fn check_digest_known(
    artefact: &Artefact,
    version: &Version,
    presence: &ImagePresence,
) -> Result<(), LookupError> {
    match (&artefact.delivery, presence) {
        (Delivery::Manifest { pin: Pin::Digest, .. }, ImagePresence::Unknown { reason: why })
            if version.digest.is_none() =>
        {
            Err(LookupError::new_transient(format!("{why}, and {} is written by its digest", version.label())))
        }
        _ => Ok(()),
    }
}

/// Whether the manifest names the image by its digest.
pub(crate) fn is_pinned_by_digest(artefact: &Artefact) -> bool {
    matches!(&artefact.delivery, Delivery::Manifest { pin: Pin::Digest, .. })
}

/// Checks that the registry has the image, that its tag has not moved, and that the manifest can be written. Adds the
/// digest to the version.
pub(crate) async fn check_image_to_write(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
    file: &ManifestFile,
    version: &mut Version,
) -> Result<ImagePresence, PlanError> {
    let (presence, digest) = look_up_image(ctx, artefact, version).await;
    let tag_moved = match (&digest, &version.digest) {
        (None, _) => false,
        (Some(_), Some(_)) if is_pinned_by_digest(artefact) => false,
        (Some(current), Some(seen)) => **current != **seen,
        (Some(_), None) => ctx.image_commits.is_tag_overwritten(artefact, version).await,
    };
    if presence == ImagePresence::Missing || tag_moved {
        let (artefact, environment) = (artefact.name.clone(), target.name.clone());
        return Err(Refusal::ImageMissing {
            artefact,
            environment,
            version: version.clone(),
            tag_moved,
            alternative: None,
        }
        .into());
    }
    if let Some(digest) = digest {
        version.digest = Some(digest.into());
    }
    check_digest_known(artefact, version, &presence)?;
    check_manifest_writable(ctx, artefact, file, version).await?;
    Ok(presence)
}
