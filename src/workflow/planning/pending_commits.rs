//! The commits that a promotion would bring to its target: a branch, on which rollbacks may be open, or a manifest.

use crate::adapters::github::BranchComparison;
use crate::domain::change::{Change, ChangeLockKey};
use crate::domain::git::comparison::ChangedFiles;
use crate::domain::git::pending::PendingCommits;
use crate::domain::model::artefact::Artefact;
use crate::domain::model::environment::Environment;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Sha, Version};
use crate::domain::rules::refusal::Refusal;
use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, PlanError};
use crate::workflow::planning::rollback_candidates::HISTORY_LIMIT;

/// How many merge commits are read to find the label of a version in an environment.
const MAX_MERGES: usize = 10;

/// The pending commits, and the open rollbacks that the promotion undoes, newest first.
pub(crate) type PendingAndUndone = (PendingCommits, Vec<ChangeId>);

/// The commits that a promotion would bring to the environment's branch.
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
            let reason = format!("the commit {} is not in {repository} any more", pinned.short());
            return Err(LookupError::new_permanent(reason).into());
        }
    };
    if let Some(head) = &pending.head
        && pending.carries_rollback
    {
        let would_revert_target = ctx.github.find_carried_rollback(repository, head, pinned).await?.is_some();
        if pending.is_rollback || would_revert_target {
            return Err(build_rolled_back_refusal(ctx, artefact, target, version.clone(), would_revert_target)
                .await
                .into());
        }
    }
    let open_rollbacks = match &pending.head {
        Some(head) if pending.may_be_rolled_back() => ctx.github.find_open_rollbacks(repository, head).await?,
        _ => Vec::new(),
    };
    let (Some(newest), Some(oldest)) = (open_rollbacks.first(), open_rollbacks.last()) else {
        return Ok((pending, Vec::new()));
    };
    // The environment runs the restored code, although the branch's history has newer commits.
    let Some(since_restored) = ctx.comparisons.compute_pending_between(repository, &newest.restores, pinned).await?
    else {
        return Ok((pending, open_rollbacks.iter().map(|rollback| rollback.change).collect()));
    };
    if pending.ahead_by == 0 {
        if since_restored.ahead_by == 0 {
            return Ok((since_restored, Vec::new()));
        }
        // Undoing all rollbacks restores exactly the state before the oldest one, and no version in between.
        let since_before_rollbacks =
            ctx.comparisons.compute_pending_between(repository, &oldest.parent, pinned).await?;
        if !since_before_rollbacks.is_some_and(|pending| pending.ahead_by == 0 && !pending.is_target_newer()) {
            let ran_as = find_label_in_environment(ctx, artefact, target, version, pinned).await?;
            let (artefact, environment, version) = (artefact.name.clone(), target.name.clone(), version.clone());
            return Err(Refusal::MergedBeforeRollback { artefact, environment, version, ran_as }.into());
        }
    }
    let PendingCommits { ahead_by, commits, files, url, sources, tree, .. } = since_restored;
    Ok((
        PendingCommits { ahead_by, commits, files, sources, tree, url, ..pending },
        open_rollbacks.into_iter().map(|rollback| rollback.change).collect(),
    ))
}

/// The label under which a version ran in the environment. There, CI built the image from the merge commit, so the
/// label may differ.
async fn find_label_in_environment(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
    version: &Version,
    pinned: &Sha,
) -> Result<String, LookupError> {
    let lock_key = ChangeLockKey::from_branch(&artefact.repository, &target.branch);
    let source_map =
        Change::build_source_map(&ctx.store.list_changes_of(&lock_key, HISTORY_LIMIT).await?, &artefact.name);
    let sightings = ctx.store.list_sightings(&artefact.name, &target.name, HISTORY_LIMIT).await?;
    let mut healthy: Vec<_> =
        sightings.into_iter().filter(|sighting| sighting.running_at.is_some()).map(|it| it.version).collect();
    if let Some(same) = healthy.iter().find(|other| source_map.is_same_code(other, version)) {
        return Ok(same.label().to_owned());
    }
    // A merge that Gantry did not make is recognised by its second parent.
    healthy.truncate(MAX_MERGES);
    for candidate in &healthy {
        let Some(commit) = &candidate.commit else { continue };
        let merge = ctx.github.resolve_commit(&artefact.repository, commit.as_str()).await?;
        if merge.is_some_and(|merge| merge.parents.get(1) == Some(pinned)) {
            return Ok(candidate.label().to_owned());
        }
    }
    Ok(version.label().to_owned())
}

/// The refusal to promote the result of a rollback. It suggests the version that the rollback restored.
async fn build_rolled_back_refusal(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
    version: Version,
    would_revert_target: bool,
) -> Refusal {
    let below = ctx.config.catalogue.ladder.find_next_below(&target.name, artefact).unwrap_or(target);
    let lock_key = ChangeLockKey::from_branch(&artefact.repository, &below.branch);
    let changes = ctx.store.list_changes_of(&lock_key, HISTORY_LIMIT).await.unwrap_or_default();
    let restored = Change::build_source_map(&changes, &artefact.name).resolve_restored(&version);
    let restored = (restored != version).then(|| restored.label().to_owned());
    let (artefact, environment, below) = (artefact.name.clone(), target.name.clone(), below.name.clone());
    Refusal::RolledBackBelow { artefact, environment, below, version, would_revert_target, restored }
}

/// The commits between the version that runs and the one to be promoted by manifest.
pub(crate) async fn find_pending_by_manifest(
    ctx: &Context,
    artefact: &Artefact,
    from: Option<&Version>,
    pinned: Option<&Sha>,
) -> Result<PendingCommits, LookupError> {
    let (Some(current), Some(pinned)) = (from.and_then(|from| from.commit.as_ref()), pinned) else {
        return Ok(assume_unknown_pending());
    };
    let pending = ctx.comparisons.compute_pending_between(&artefact.repository, current, pinned).await?;
    Ok(pending.map_or_else(assume_unknown_pending, |pending| PendingCommits { head: None, ..pending }))
}

/// The assumption if the pending commits are unknown: there is at least one, and it may change files of any artefact.
pub(crate) fn assume_unknown_pending() -> PendingCommits {
    PendingCommits { ahead_by: 1, files: ChangedFiles::new_unknown(), ..PendingCommits::default() }
}
