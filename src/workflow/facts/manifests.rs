//! Reads manifests: the file of an artefact in an environment, and the version that it names.

use crate::adapters::github::GithubError;
use crate::domain::git::manifest;
use crate::domain::model::artefact::{Artefact, Delivery, ManifestFile};
use crate::domain::model::environment::Environment;
use crate::domain::model::version::Version;
use crate::domain::rules::refusal::Refusal;
use crate::workflow::context::Context;
use crate::workflow::error::PlanError;

/// The manifest of an artefact in an environment. `None`: the artefact is not delivered by manifest.
pub(crate) async fn resolve_manifest_file(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
) -> Result<Option<ManifestFile>, PlanError> {
    let Delivery::Manifest { repository, file, branch, .. } = &artefact.delivery else { return Ok(None) };
    let file = file.replace("{environment}", target.name.as_str());
    let at = ManifestFile { repository: repository.clone(), branch: branch.clone().unwrap_or_default(), file };
    let branch = match branch {
        Some(branch) => branch.clone(),
        None => find_default_branch(ctx, artefact, &at).await?,
    };
    Ok(Some(ManifestFile { branch, ..at }))
}

pub(crate) async fn find_default_branch(
    ctx: &Context,
    artefact: &Artefact,
    at: &ManifestFile,
) -> Result<String, PlanError> {
    match ctx.github.fetch_default_branch(&at.repository).await {
        Ok(branch) => Ok(branch),
        // GitHub answers "not found" also without permission to see the repository.
        Err(GithubError::NotFound(_)) => {
            let why = "GitHub does not find that repository, or does not let me see it: correct its name, or let \
                           the token or the app read and write it";
            Err(build_manifest_refusal(artefact, at, why.to_owned()).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The text of a manifest. A missing file is a refusal.
pub(crate) async fn read_manifest_text(
    ctx: &Context,
    artefact: &Artefact,
    at: &ManifestFile,
) -> Result<String, PlanError> {
    let ManifestFile { repository, branch, file } = at;
    match ctx.github.fetch_file(repository, branch, file).await {
        Ok(Some(text)) => Ok(text),
        Ok(None) => {
            find_default_branch(ctx, artefact, at).await?;
            let why = format!("it is not on the branch {branch}: write it there once, with the version that runs now");
            Err(build_manifest_refusal(artefact, at, why).into())
        }
        Err(GithubError::NotFound(_)) => {
            let why = format!("there is no branch {branch}: correct `branch`, or leave it out to have the default one");
            Err(build_manifest_refusal(artefact, at, why).into())
        }
        Err(GithubError::Other(why)) => Err(build_manifest_refusal(artefact, at, why).into()),
        Err(error) => Err(error.into()),
    }
}

/// The version that the manifest names now.
pub(crate) async fn read_manifest_version(
    ctx: &Context,
    artefact: &Artefact,
    at: &ManifestFile,
) -> Result<Version, PlanError> {
    let text = read_manifest_text(ctx, artefact, at).await?;
    Ok(parse_manifest_version(artefact, at, &text)?)
}

/// The version in the text of a manifest.
pub(crate) fn parse_manifest_version(artefact: &Artefact, at: &ManifestFile, text: &str) -> Result<Version, Refusal> {
    let Delivery::Manifest { path, pin, .. } = &artefact.delivery else {
        return Err(build_manifest_refusal(artefact, at, "it does not go by manifest".to_owned()));
    };
    let place = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
    let said = manifest::read_version(text, &place)
        .map_err(|problem| build_manifest_refusal(artefact, at, problem.to_string()))?;
    Ok(said.version)
}

pub(crate) fn build_manifest_refusal(artefact: &Artefact, at: &ManifestFile, problem: String) -> Refusal {
    let (artefact, repository, file) = (artefact.name.clone(), at.repository.clone(), at.file.clone());
    Refusal::ManifestProblem { artefact, repository, file, problem }
}
