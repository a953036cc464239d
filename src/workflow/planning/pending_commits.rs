//! What a promotion would bring to where it goes: to a branch, on which rollbacks may be open, or into a manifest.

use crate::adapters::github::{BranchComparison, GithubError};
use crate::adapters::registry::RegistryError;
use crate::domain::change::plan::{ManifestFile, PendingCommits};
use crate::domain::change::{ChangeId, ChangeLockKey};
use crate::domain::git::comparison::ChangedFiles;
use crate::domain::git::manifest;
use crate::domain::git::manifest::Pin;
use crate::domain::model::artefact::{Artefact, Delivery};
use crate::domain::model::environment::Environment;
use crate::domain::model::version::{Image, Sha, Version};
use crate::domain::rules::promotion::Refusal;
use crate::domain::rules::quarantine::Quarantine;
use crate::domain::rules::rollback::{ImagePresence, SourceMap};

use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, PlanError};
use crate::workflow::planning::rollback_candidates::HISTORY_LIMIT;

/// How many merges are looked at to find out what a version was called.
const MAX_MERGES: usize = 10;

/// What would come, and the rollbacks that are undone for it, newest first.
pub(crate) type PendingAndUndone = (PendingCommits, Vec<ChangeId>);

/// The file that says which version is to run, where the artefact goes by one.
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

async fn find_default_branch(ctx: &Context, artefact: &Artefact, at: &ManifestFile) -> Result<String, PlanError> {
    match ctx.github.fetch_default_branch(&at.repository).await {
        Ok(branch) => Ok(branch),
        // Who may not see a repository is told that there is none.
        Err(GithubError::NotFound(_)) => {
            let why = "GitHub does not find that repository, or does not let me see it: correct its name, or let \
                           the token or the app read and write it";
            Err(build_manifest_refusal(artefact, at, why.to_owned()).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The text of a manifest that must be there.
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

/// What the manifest says now.
pub(crate) async fn read_manifest_version(
    ctx: &Context,
    artefact: &Artefact,
    at: &ManifestFile,
) -> Result<Version, PlanError> {
    let text = read_manifest_text(ctx, artefact, at).await?;
    Ok(parse_manifest_version(artefact, at, &text)?)
}

/// Can it be written there? What the file says already is no reason why not.
pub(crate) async fn check_manifest_writable(
    ctx: &Context,
    artefact: &Artefact,
    at: &ManifestFile,
    version: &Version,
) -> Result<(), PlanError> {
    let Delivery::Manifest { path, pin, .. } = &artefact.delivery else { return Ok(()) };
    let text = read_manifest_text(ctx, artefact, at).await?;
    let place = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
    manifest::write_version(&text, &place, version)
        .map_err(|problem| build_manifest_refusal(artefact, at, problem.to_string()))?;
    Ok(())
}

/// Whether the registry has the image, with its digest.
pub(crate) async fn look_up_image(
    ctx: &Context,
    artefact: &Artefact,
    version: &Version,
) -> (ImagePresence, Option<String>) {
    // Where the digest is written it decides; else the tag, which may have moved on.
    let by_digest = version.tag.is_none() || is_pinned_by_digest(artefact);
    let digest = version.digest.clone().filter(|_| by_digest);
    let tag = version.tag.clone().filter(|_| digest.is_none());
    let image = Image { name: artefact.image.clone(), tag, digest };
    match ctx.registry.fetch_digest(&image).await {
        Ok(Some(digest)) => (ImagePresence::Yes, Some(digest)),
        Ok(None) => (ImagePresence::Gone, None),
        Err(error @ (RegistryError::Unavailable(_) | RegistryError::Unauthorised(_) | RegistryError::Other(_))) => {
            (ImagePresence::Unknown { why: error.to_string() }, None)
        }
    }
}

/// Where the digest is written, a registry that does not answer holds it up: nobody else can tell it.
pub(crate) fn check_digest_known(
    artefact: &Artefact,
    version: &Version,
    there: &ImagePresence,
) -> Result<(), LookupError> {
    match (&artefact.delivery, there) {
        (Delivery::Manifest { pin: Pin::Digest, .. }, ImagePresence::Unknown { why }) if version.digest.is_none() => {
            Err(LookupError::new_transient(format!("{why}, and {} is written by its digest", version.label())))
        }
        _ => Ok(()),
    }
}

/// What the environment's branch would get.
pub(crate) async fn find_pending_by_branch(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
    version: &Version,
    pinned: &Sha,
) -> Result<PendingAndUndone, PlanError> {
    let (repository, branch) = (&artefact.repository, &target.branch);
    let pending = match ctx.github.compare_with_branch(repository, branch, pinned).await? {
        BranchComparison::Pending(pending) => *pending,
        BranchComparison::NoBranch => {
            let (environment, repository) = (target.name.clone(), repository.clone());
            let (branch, pinned) = (branch.clone(), pinned.clone());
            return Err(Refusal::BranchMissing { environment, repository, branch, pinned }.into());
        }
        BranchComparison::NoCommonAncestor => {
            let (repository, branch) = (repository.clone(), branch.clone());
            return Err(Refusal::NoCommonAncestor { repository, branch, pinned: pinned.clone() }.into());
        }
        BranchComparison::NoCommit => {
            let why = format!("the commit {} is not in {repository} any more", pinned.short());
            return Err(LookupError::new_permanent(why).into());
        }
    };
    if let Some(head) = &pending.head
        && pending.carries_rollback
    {
        let takes_back = ctx.github.find_carried_rollback(repository, head, pinned).await?.is_some();
        if pending.is_rollback || takes_back {
            return Err(build_rolled_back_refusal(ctx, artefact, target, version.clone(), takes_back).await.into());
        }
    }
    let open = match &pending.head {
        Some(head) if pending.may_be_rolled_back() => ctx.github.find_open_rollbacks(repository, head).await?,
        _ => Vec::new(),
    };
    let (Some(newest), Some(oldest)) = (open.first(), open.last()) else { return Ok((pending, Vec::new())) };
    // What runs there is what was restored, whatever the branch has in its history.
    let Some(live) = ctx.comparisons.compute_pending_between(repository, &newest.restores, pinned).await? else {
        return Ok((pending, open.iter().map(|rollback| rollback.change).collect()));
    };
    if pending.ahead_by == 0 {
        if live.ahead_by == 0 {
            return Ok((live, Vec::new()));
        }
        // Undoing all rollbacks gives what was there before the first of them, and nothing in between.
        let before = ctx.comparisons.compute_pending_between(repository, &oldest.parent, pinned).await?;
        if !before.is_some_and(|before| before.ahead_by == 0 && !before.is_target_newer()) {
            let ran_as = find_label_in_environment(ctx, artefact, target, version, pinned).await?;
            let (artefact, environment, version) = (artefact.name.clone(), target.name.clone(), version.clone());
            return Err(Refusal::MergedBeforeRollback { artefact, environment, version, ran_as }.into());
        }
    }
    let PendingCommits { ahead_by, commits, files, url, sources, tree, .. } = live;
    Ok((
        PendingCommits { ahead_by, commits, files, sources, tree, url, ..pending },
        open.into_iter().map(|rollback| rollback.change).collect(),
    ))
}

/// By which name the environment knew a version: merged there, it was built under another.
async fn find_label_in_environment(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
    version: &Version,
    pinned: &Sha,
) -> Result<String, LookupError> {
    let moves = ChangeLockKey::from_branch(&artefact.repository, &target.branch);
    let codes = SourceMap::from_changes(&ctx.store.list_changes_of(&moves, HISTORY_LIMIT).await?, &artefact.name);
    let stays = ctx.store.list_sightings(&artefact.name, &target.name, HISTORY_LIMIT).await?;
    let mut ran: Vec<_> = stays.into_iter().filter(|stay| stay.running_at.is_some()).map(|it| it.version).collect();
    if let Some(same) = ran.iter().find(|ran| codes.is_same_code(ran, version)) {
        return Ok(same.label().to_owned());
    }
    // What other hands merged is known by the second parent.
    ran.truncate(MAX_MERGES);
    for ran in &ran {
        let Some(commit) = &ran.commit else { continue };
        let merge = ctx.github.resolve_commit(&artefact.repository, commit.as_str()).await?;
        if merge.is_some_and(|merge| merge.parents.get(1) == Some(pinned)) {
            return Ok(ran.label().to_owned());
        }
    }
    Ok(version.label().to_owned())
}

/// Where a rollback left what runs below, the version that it restored can be promoted as what it was.
async fn build_rolled_back_refusal(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
    version: Version,
    takes_back: bool,
) -> Refusal {
    let below = ctx.config.catalogue.ladder.find_next_below(&target.name, artefact).unwrap_or(target);
    let moves = ChangeLockKey::from_branch(&artefact.repository, &below.branch);
    let changes = ctx.store.list_changes_of(&moves, HISTORY_LIMIT).await.unwrap_or_default();
    let restored = SourceMap::from_changes(&changes, &artefact.name).resolve_restored(&version);
    let restored = (restored != version).then(|| restored.label().to_owned());
    let (artefact, environment, below) = (artefact.name.clone(), target.name.clone(), below.name.clone());
    Refusal::RolledBackBelow { artefact, environment, below, version, would_revert_target: takes_back, restored }
}

/// What an environment would get whose manifest names another image: the commits between the two.
pub(crate) async fn find_pending_by_manifest(
    ctx: &Context,
    artefact: &Artefact,
    from: Option<&Version>,
    pinned: Option<&Sha>,
) -> Result<PendingCommits, LookupError> {
    let (Some(here), Some(pinned)) = (from.and_then(|from| from.commit.as_ref()), pinned) else {
        return Ok(assume_unknown_pending());
    };
    let pending = ctx.comparisons.compute_pending_between(&artefact.repository, here, pinned).await?;
    Ok(pending.map_or_else(assume_unknown_pending, |pending| PendingCommits { head: None, ..pending }))
}

/// The quarantines that the version is under in that environment: by itself, by what was merged into it, by its tree.
pub(crate) async fn find_version_quarantines(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
    version: &Version,
    pending: &mut PendingCommits,
) -> Result<Vec<Quarantine>, LookupError> {
    let mut quarantines = find_environment_quarantines(ctx, artefact, target).await?;
    if let (None, Some(commit), false) = (&pending.tree, &version.commit, quarantines.is_empty()) {
        pending.tree = ctx.github.fetch_tree_sha(&artefact.repository, commit).await?;
    }
    quarantines
        .retain(|it| it.has_version(version, None) || it.has_commit_or_tree(&pending.sources, pending.tree.as_ref()));
    Ok(quarantines)
}

/// What may not come to an artefact there, newest first.
pub(crate) async fn find_environment_quarantines(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
) -> Result<Vec<Quarantine>, LookupError> {
    let ladder = &ctx.config.catalogue.ladder;
    let mut quarantines = ctx.store.list_quarantines().await?;
    quarantines.retain(|it| it.has_artefact(&artefact.name) && it.is_effective_in(&target.name, ladder));
    Ok(quarantines)
}

/// What a manifest's text says.
pub(crate) fn parse_manifest_version(artefact: &Artefact, at: &ManifestFile, text: &str) -> Result<Version, Refusal> {
    let Delivery::Manifest { path, pin, .. } = &artefact.delivery else {
        return Err(build_manifest_refusal(artefact, at, "it does not go by manifest".to_owned()));
    };
    let place = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
    let said = manifest::read_version(text, &place)
        .map_err(|problem| build_manifest_refusal(artefact, at, problem.to_string()))?;
    Ok(said.version)
}

fn build_manifest_refusal(artefact: &Artefact, at: &ManifestFile, problem: String) -> Refusal {
    let (artefact, repository, file) = (artefact.name.clone(), at.repository.clone(), at.file.clone());
    Refusal::ManifestProblem { artefact, repository, file, problem }
}

/// What nothing tells may concern anybody.
pub(crate) fn assume_unknown_pending() -> PendingCommits {
    PendingCommits { ahead_by: 1, files: ChangedFiles::new_unknown(), ..PendingCommits::default() }
}

/// Does the manifest name the image by its digest?
pub(crate) fn is_pinned_by_digest(artefact: &Artefact) -> bool {
    matches!(&artefact.delivery, Delivery::Manifest { pin: manifest::Pin::Digest, .. })
}
