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
    let manifest_file =
        ManifestFile { repository: repository.clone(), branch: branch.clone().unwrap_or_default(), file };
    let branch = match branch {
        Some(branch) => branch.clone(),
        None => find_default_branch(ctx, artefact, &manifest_file).await?,
    };
    Ok(Some(ManifestFile { branch, ..manifest_file }))
}

pub(crate) async fn find_default_branch(
    ctx: &Context,
    artefact: &Artefact,
    manifest_file: &ManifestFile,
) -> Result<String, PlanError> {
    match ctx.github.fetch_default_branch(&manifest_file.repository).await {
        Ok(branch) => Ok(branch),
        // GitHub answers "not found" also without permission to see the repository.
        Err(GithubError::NotFound(_)) => {
            let problem = "GitHub does not find that repository, or does not let me see it: correct its name, or let \
                           the token or the app read and write it";
            Err(build_manifest_refusal(artefact, manifest_file, problem.to_owned()).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The text of a manifest. A missing file is a refusal.
pub(crate) async fn read_manifest_text(
    ctx: &Context,
    artefact: &Artefact,
    manifest_file: &ManifestFile,
) -> Result<String, PlanError> {
    let ManifestFile { repository, branch, file } = manifest_file;
    match ctx.github.fetch_file(repository, branch, file).await {
        Ok(Some(text)) => Ok(text),
        Ok(None) => {
            find_default_branch(ctx, artefact, manifest_file).await?;
            let problem =
                format!("it is not on the branch {branch}: write it there once, with the version that runs now");
            Err(build_manifest_refusal(artefact, manifest_file, problem).into())
        }
        Err(GithubError::NotFound(_)) => {
            let problem =
                format!("there is no branch {branch}: correct `branch`, or leave it out to have the default one");
            Err(build_manifest_refusal(artefact, manifest_file, problem).into())
        }
        Err(GithubError::Other(problem)) => Err(build_manifest_refusal(artefact, manifest_file, problem).into()),
        Err(error) => Err(error.into()),
    }
}

/// The version that the manifest names now.
pub(crate) async fn read_manifest_version(
    ctx: &Context,
    artefact: &Artefact,
    manifest_file: &ManifestFile,
) -> Result<Version, PlanError> {
    let text = read_manifest_text(ctx, artefact, manifest_file).await?;
    Ok(parse_manifest_version(artefact, manifest_file, &text)?)
}

/// The version in the text of a manifest.
pub(crate) fn parse_manifest_version(
    artefact: &Artefact,
    manifest_file: &ManifestFile,
    text: &str,
) -> Result<Version, Refusal> {
    let Delivery::Manifest { path, pin, .. } = &artefact.delivery else {
        return Err(build_manifest_refusal(artefact, manifest_file, "it does not go by manifest".to_owned()));
    };
    let selector = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
    let found = manifest::read_version(text, &selector)
        .map_err(|problem| build_manifest_refusal(artefact, manifest_file, problem.to_string()))?;
    Ok(found.version)
}

pub(crate) fn build_manifest_refusal(artefact: &Artefact, manifest_file: &ManifestFile, problem: String) -> Refusal {
    let (artefact, repository, file) =
        (artefact.name.clone(), manifest_file.repository.clone(), manifest_file.file.clone());
    Refusal::ManifestProblem { artefact, repository, file, problem }
}
