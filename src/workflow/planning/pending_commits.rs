//! What a promotion would bring to where it goes: to a branch, on which rollbacks may be open, or into a manifest.

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

/// How many merges are looked at to find out what a version was called.
const MAX_MERGES: usize = 10;

/// What would come, and the rollbacks that are undone for it, newest first.
pub(crate) type PendingAndUndone = (PendingCommits, Vec<ChangeId>);

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
    let codes = Change::build_source_map(&ctx.store.list_changes_of(&moves, HISTORY_LIMIT).await?, &artefact.name);
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
    let restored = Change::build_source_map(&changes, &artefact.name).resolve_restored(&version);
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

/// What nothing tells may concern anybody.
pub(crate) fn assume_unknown_pending() -> PendingCommits {
    PendingCommits { ahead_by: 1, files: ChangedFiles::new_unknown(), ..PendingCommits::default() }
}
