//! What Git is to get by a change, made on top of where its branch stands: merged, restored, or written into a manifest.
//! Where that is no plain merge, the branch then moves to it at once, and never by force.

use crate::adapters::github::{self, BranchComparison, FastForwardOutcome, GithubError, PromotionMerge};
use crate::adapters::store::{Claim, StoreError, Transaction};
use crate::domain::change::plan::ManifestFile;
use crate::domain::change::{Change, DeployState, ResultBranch, ResultCommit};
use crate::domain::git::manifest;
use crate::domain::model::artefact::Delivery;
use crate::domain::model::environment::PromotionMethod;
use crate::domain::model::version::Sha;
use crate::workflow::changes::after_merge::record_merge;
use crate::workflow::changes::pull_request::require_branch_head;
use crate::workflow::changes::transition::{
    advance_change, apply_transition, describe_missing_commit, handle_merge_error, mark_errored,
};
use crate::workflow::context::Context;
use crate::workflow::error::StageError;
use crate::workflow::planning::approval_requirements::collect_approval_requirements;

/// How often a branch that moves under our hands is tried again at once.
const MAX_ATTEMPTS: usize = 4;

/// What became of the result.
pub(crate) enum BuildCommitOutcome {
    Created(Sha),
    /// Git says so already.
    AlreadyThere,
    Conflict(Vec<String>),
    /// Waiting does not help: the reason, and what to do.
    Failed(String),
}

/// The result on top of `base`. A merge is made on `bench`, a branch of our own; everything else is on no branch yet.
pub(crate) async fn build_result_commit(
    ctx: &Context,
    change: &Change,
    scratch_branch: &str,
    base: &Sha,
) -> Result<BuildCommitOutcome, GithubError> {
    let plan = &change.plan;
    match (&plan.manifest, &plan.rollback) {
        (Some(file), _) => build_manifest_commit(ctx, change, file, base).await,
        (None, Some(_)) => build_rollback_commit(ctx, change, base).await,
        (None, None) => build_merge_commit(ctx, change, scratch_branch, base).await,
    }
}

async fn build_merge_commit(
    ctx: &Context,
    change: &Change,
    scratch_branch: &str,
    base: &Sha,
) -> Result<BuildCommitOutcome, GithubError> {
    let plan = &change.plan;
    let Some(pinned) = &plan.pinned else {
        return Ok(BuildCommitOutcome::Failed("Nothing tells what is to be merged.".into()));
    };
    // What is open by now counts, and not what was when it was planned.
    let open = match plan.undoes.as_slice() {
        [] => Vec::new(),
        _ => ctx.github.find_open_rollbacks(&plan.repository, base).await?,
    };
    ctx.github.put_own_branch(&plan.repository, scratch_branch, base).await?;
    let message = plan.format_merge_message(&change.format_commit_trailers());
    let promoting = PromotionMerge { change: change.id, pinned, message: &message };
    Ok(match ctx.github.build_promotion_commit(&plan.repository, scratch_branch, base, &open, promoting).await? {
        github::BuildPromotionOutcome::Done(commit) => BuildCommitOutcome::Created(commit),
        github::BuildPromotionOutcome::AlreadyMerged => {
            // Only where the environment's own branch has it too did it come there by hand.
            match ctx.github.compare_with_branch(&plan.repository, base.as_str(), pinned).await? {
                BranchComparison::Pending(pending) if pending.ahead_by == 0 => BuildCommitOutcome::AlreadyThere,
                _ => return Err(GithubError::Unclear(format!("somebody else writes to {scratch_branch}"))),
            }
        }
        github::BuildPromotionOutcome::Conflict => {
            let files = ctx.github.list_files_both_changed(&plan.repository, &plan.branch, pinned).await;
            BuildCommitOutcome::Conflict(files.unwrap_or_default())
        }
        github::BuildPromotionOutcome::NoCommit => BuildCommitOutcome::Failed(describe_missing_commit(plan)),
        github::BuildPromotionOutcome::Refused(why) => {
            let why = why.trim_end_matches('.');
            BuildCommitOutcome::Failed(format!(
                "GitHub does not let me make the branch {scratch_branch}: {why}. Let me push to branches below gantry/."
            ))
        }
    })
}

async fn build_rollback_commit(ctx: &Context, change: &Change, base: &Sha) -> Result<BuildCommitOutcome, GithubError> {
    let plan = &change.plan;
    let Some(commit) = &plan.pinned else {
        return Ok(BuildCommitOutcome::Failed("Nothing tells what is to be restored.".into()));
    };
    let message = plan.format_merge_message(&change.format_commit_trailers());
    Ok(match ctx.github.create_rollback_commit(&plan.repository, base, commit, &message).await? {
        Some(made) => BuildCommitOutcome::Created(made),
        None => BuildCommitOutcome::Failed(describe_missing_commit(plan)),
    })
}

async fn build_manifest_commit(
    ctx: &Context,
    change: &Change,
    at: &ManifestFile,
    base: &Sha,
) -> Result<BuildCommitOutcome, GithubError> {
    let plan = &change.plan;
    let Some(artefact) = ctx.config.catalogue.find_artefact(plan.artefact.as_str()) else {
        return Ok(BuildCommitOutcome::Failed(format!("{} is not configured any more.", plan.artefact)));
    };
    let Delivery::Manifest { path, pin, .. } = &artefact.delivery else {
        return Ok(BuildCommitOutcome::Failed(format!("{} does not go by manifest any more.", plan.artefact)));
    };
    let ManifestFile { repository, file, .. } = at;
    let Some(text) = ctx.github.fetch_file(repository, base.as_str(), file).await? else {
        return Ok(BuildCommitOutcome::Failed(format!("The file {file} is gone from {repository}.")));
    };
    let place = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
    match manifest::write_version(&text, &place, &plan.version) {
        Ok(new) if new == text => Ok(BuildCommitOutcome::AlreadyThere),
        Ok(new) => {
            let message = plan.format_merge_message(&change.format_commit_trailers());
            Ok(BuildCommitOutcome::Created(ctx.github.commit_file(repository, base, file, &new, &message).await?))
        }
        Err(problem) => Ok(BuildCommitOutcome::Failed(format!("I cannot write {file} of {repository}: {problem}."))),
    }
}

/// The step of a change that is no plain merge: its result is made and stored, and Git moves to it.
pub(crate) async fn move_branch_to_result(ctx: &Context, claim: &Claim) -> Result<(), StoreError> {
    let mut claim = claim.clone();
    for _ in 0..MAX_ATTEMPTS {
        match try_move_branch(ctx, &mut claim).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(StageError::Store(error)) => return Err(error),
            Err(StageError::Github(error)) => {
                let turned_away = matches!(error, GithubError::RateLimited { .. } | GithubError::Throttled { .. });
                return handle_merge_error(ctx, &claim, error, !turned_away).await;
            }
        }
    }
    let (_, branch) = claim.change.plan.write_target();
    let busy = GithubError::Unavailable(format!("{branch} does not stand still"));
    handle_merge_error(ctx, &claim, busy, true).await
}

/// `false`: the branch moved meanwhile.
async fn try_move_branch(ctx: &Context, claim: &mut Claim) -> Result<bool, StageError> {
    let Some(base) = require_branch_head(ctx, claim).await? else { return Ok(true) };
    let frozen = claim.change.frozen.clone().unwrap_or_else(|| ResultBranch::from_change_id(claim.change.id));
    if claim.change.plan.is_branch_merge() && claim.change.frozen.is_none() {
        // Stored before the branch is made, so that it is put away whatever becomes of it.
        let made = Change { frozen: Some(frozen.clone()), ..claim.change.clone() };
        ctx.store.commit(Transaction::new().advance_change(made.clone(), claim.fence, Some(ctx.clock.now()))).await?;
        claim.change = made;
    }
    let head = match build_result_commit(ctx, &claim.change, &frozen.branch, &base).await? {
        BuildCommitOutcome::Created(head) => head,
        BuildCommitOutcome::AlreadyThere => {
            record_merge(ctx, claim, base, None, |deploying| deploying).await?;
            return Ok(true);
        }
        BuildCommitOutcome::Conflict(files) => {
            let now = ctx.clock.now();
            let stage = claim.change.stage.clone().into_conflicted(files, now);
            apply_transition(ctx, claim, stage, Some(now)).await?;
            return Ok(true);
        }
        BuildCommitOutcome::Failed(why) => {
            mark_errored(ctx, claim, why).await?;
            return Ok(true);
        }
    };
    // Stored before Git moves: a restart looks whether the branch has it.
    let result = Some(ResultCommit { base: base.clone(), head: head.clone() });
    let tidy = !claim.change.plan.is_branch_merge();
    let made = Change { frozen: Some(ResultBranch { result, tidy, ..frozen }), ..claim.change.clone() };
    let kept = Transaction::new().advance_change(made.clone(), claim.fence, Some(ctx.clock.now()));
    ctx.store.commit(kept).await?;
    claim.change = made;
    let plan = &claim.change.plan;
    let (repository, branch) = plan.write_target();
    match ctx.github.fast_forward(repository, branch, &head).await? {
        FastForwardOutcome::Done => {
            let unseen = plan.head.as_ref().is_some_and(|shown| *shown != base && plan.rollback.is_some());
            let unseen = unseen.then(|| base.clone());
            record_merge(ctx, claim, head, None, |deploying| DeployState { unseen, ..deploying }).await?;
            Ok(true)
        }
        // Where it is gone, the next try says so.
        FastForwardOutcome::BranchMoved | FastForwardOutcome::NoBranch => Ok(false),
        FastForwardOutcome::Refused(_) if plan.rollback.is_some() => {
            switch_to_pull_request(ctx, claim).await?;
            Ok(true)
        }
        FastForwardOutcome::Refused(why) => {
            let why = why.trim_end_matches('.');
            let why = format!(
                "GitHub does not let me move {branch} of {repository}: {why}. Let me push there, or set \
                     `promote: pull_request` for {}.",
                plan.environment
            );
            mark_errored(ctx, claim, why).await?;
            Ok(true)
        }
    }
}

/// The branch is protected: a rollback then goes by a pull request, as far as GitHub lets it.
async fn switch_to_pull_request(ctx: &Context, claim: &Claim) -> Result<(), StoreError> {
    let now = ctx.clock.now();
    let mut next = claim.change.clone();
    next.plan.promote = PromotionMethod::PullRequest;
    next.frozen = Some(ResultBranch::from_change_id(next.id));
    let awaiting = collect_approval_requirements(ctx, &next.plan, now).await;
    let Ok(stage) = next.stage.clone().return_to_awaiting(awaiting) else { return Ok(()) };
    next.stage = stage;
    advance_change(ctx, &claim.change, claim.fence, next, Some(now), Transaction::new()).await.map(drop)
}
