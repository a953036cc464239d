//! One of the two environments of a diff: the version that runs, the commit of its code, and the state of its manifest.

use crate::domain::model::artefact::Artefact;
use crate::domain::model::environment::Environment;
use crate::domain::model::version::Sha;
use crate::domain::rules::refusal::Refusal;
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::view::diff::{DiffResult, DiffSide, GitState};
use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, PlanError};
use crate::workflow::facts::manifests::{parse_manifest_version, read_manifest_text, resolve_manifest_file};
use crate::workflow::facts::running_code::{require_cluster_was_read, resolve_running_code};

/// One of the two environments, with the facts that the comparison needs.
pub(super) struct ComparedEnvironment<'a> {
    pub(super) environment: &'a Environment,
    pub(super) side: DiffSide,
    /// The commit that the running image was built from.
    pub(super) image_commit: Option<Sha>,
    /// The commit that the running code comes from: after a rollback, the restored commit.
    pub(super) code_commit: Option<Sha>,
    /// The name and the text of its manifest.
    pub(super) manifest: Option<(String, String)>,
}

/// The version that the cluster runs; if the cluster cannot be read, the last sighting.
pub(super) fn build_side(ctx: &Context, artefact: &Artefact, environment: &Environment) -> DiffSide {
    let name = environment.name.clone();
    let Some(place) = artefact.places.get(&name) else {
        return DiffSide {
            environment: name,
            running: None,
            state: RolloutState::Missing,
            since: None,
            git: GitState::Unknown,
        };
    };
    let rollout = ctx.cluster_view.read_rollout(place, &artefact.image);
    let last = ctx.sightings.find_sighting(&artefact.name, &name);
    let is_unreadable = matches!(rollout.state, RolloutState::Unreadable { .. });
    let sighting = last.filter(|last| match &rollout.version {
        Some(version) => last.version.is_same_image(version),
        None => is_unreadable,
    });
    let since = sighting.as_ref().and_then(|sighting| sighting.running_at).or(rollout.since);
    let version = sighting.map(|sighting| sighting.version).or(rollout.version);
    DiffSide { environment: name, running: version, state: rollout.state, since, git: GitState::Unknown }
}

pub(super) async fn gather_environment_facts<'a>(
    ctx: &Context,
    artefact: &Artefact,
    environment: &'a Environment,
) -> Result<ComparedEnvironment<'a>, LookupError> {
    require_cluster_was_read(ctx, artefact, environment)?;
    let mut side = build_side(ctx, artefact, environment);
    let Some(version) = &mut side.running else {
        return Ok(ComparedEnvironment { environment, side, image_commit: None, code_commit: None, manifest: None });
    };
    let code = resolve_running_code(ctx, artefact, environment, version).await?;
    version.commit.clone_from(&code.version.commit);
    let (image_commit, code_commit) = (code.version.commit, code.restored_version.commit);
    Ok(ComparedEnvironment { environment, side, image_commit, code_commit, manifest: None })
}

/// Sets the Git state: the version in the manifest, and whether it runs.
pub(super) async fn read_manifest_state(
    ctx: &Context,
    artefact: &Artefact,
    compared: &mut ComparedEnvironment<'_>,
) -> Result<(), LookupError> {
    let read = async {
        let Some(manifest_file) = resolve_manifest_file(ctx, artefact, compared.environment).await? else {
            return Ok(None);
        };
        let text = read_manifest_text(ctx, artefact, &manifest_file).await?;
        let specified = parse_manifest_version(artefact, &manifest_file, &text)?;
        Ok(Some((manifest_file.file, text, specified)))
    };
    match read.await {
        Ok(Some((file, text, specified))) => {
            let is_running = compared.side.running.as_ref().is_some_and(|running| running.is_same_image(&specified));
            compared.manifest = Some((file.clone(), text));
            compared.side.git = GitState::Manifest { file, specified, is_running };
        }
        Ok(None) => {}
        Err(PlanError::Refused(refusal)) => compared.side.git = convert_manifest_refusal(refusal),
        Err(PlanError::Lookup(error)) => return Err(error),
    }
    Ok(())
}

fn convert_manifest_refusal(refusal: Refusal) -> GitState {
    match refusal {
        Refusal::ManifestProblem { file, problem, .. } => GitState::Unreadable { file, reason: problem },
        _ => GitState::Unknown,
    }
}

pub(super) fn find_missing_side(artefact: &Artefact, compared: &ComparedEnvironment<'_>) -> Option<DiffResult> {
    let name = compared.environment.name.clone();
    if !artefact.places.contains_key(&name) {
        return Some(DiffResult::NotInEnvironment(name));
    }
    match (&compared.side.running, &compared.code_commit) {
        (None, _) if let RolloutState::Unreadable { reason: why, .. } = &compared.side.state => {
            Some(DiffResult::Unknown(format!("the cluster of {name} cannot be read: {why}")))
        }
        (None, _) => Some(DiffResult::NotRunning(name)),
        (Some(_), None) => Some(DiffResult::CommitUnknown(name)),
        _ => None,
    }
}
