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
    // The environment runs the restored code, although the branch's history has newer commits.
    let Some(live) = ctx.comparisons.compute_pending_between(repository, &newest.restores, pinned).await? else {
        return Ok((pending, open.iter().map(|rollback| rollback.change).collect()));
    };
    if pending.ahead_by == 0 {
        if live.ahead_by == 0 {
            return Ok((live, Vec::new()));
        }
        // Undoing all rollbacks restores exactly the state before the oldest one, and no version in between.
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

/// The label that a version had in the environment, where its merge commit was built as another image.
async fn find_label_in_environment(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
    version: &Version,
    pinned: &Sha,
) -> Result<String, LookupError> {
    let moves = ChangeLockKey::from_branch(&artefact.repository, &target.branch);
    let codes = Change::build_source_map(&ctx.store.list_changes_of(&moves, HISTORY_LIMIT).await?, &artefact.name);
    let stays = ctx.store.list_sightings(&artefact.name, &target.name, HISTORY_LIMIT).await?;
    let mut ran: Vec<_> = stays.into_iter().filter(|stay| stay.running_at.is_some()).map(|it| it.version).collect();
    if let Some(same) = ran.iter().find(|ran| codes.is_same_code(ran, version)) {
        return Ok(same.label().to_owned());
    }
    // A merge that Gantry did not make is recognised by its second parent.
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

/// The refusal to promote the result of a rollback. It suggests the version that the rollback restored.
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
    let restored = Change::build_source_map(&changes, &artefact.name).resolve_restored(&version);
    let restored = (restored != version).then(|| restored.label().to_owned());
    let (artefact, environment, below) = (artefact.name.clone(), target.name.clone(), below.name.clone());
    Refusal::RolledBackBelow { artefact, environment, below, version, would_revert_target: takes_back, restored }
}

/// The commits between the version that runs and the one to be promoted by manifest.
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

/// The assumption if the pending commits are unknown: there is at least one, and it may change files of any artefact.
pub(crate) fn assume_unknown_pending() -> PendingCommits {
    PendingCommits { ahead_by: 1, files: ChangedFiles::new_unknown(), ..PendingCommits::default() }
}
