//! The step of a change that moves Git: the merge of exactly the pinned commit, once, whatever GitHub answers.

use crate::adapters::github::{GithubError, MergeOutcome};
use crate::adapters::store::{Claim, StoreError, Transaction};
use crate::domain::change::{CancelledBy, Change, DeployState, Stage};
use crate::domain::git::comparison::{ChangedFiles, Comparison};
use crate::domain::model::version::Sha;
use crate::workflow::changes::after_merge::record_merge;
use crate::workflow::changes::build_commit::move_branch_to_result;
use crate::workflow::changes::pull_request::resume_pull_request_merge;
use crate::workflow::changes::transition::{
    apply_transition, describe_missing_branch, describe_missing_commit, handle_merge_error, mark_errored, wait_for,
};
use crate::workflow::context::Context;
use crate::workflow::facts::merged_result::find_existing_merge;
use crate::workflow::planning::gate_inputs::find_unmet_conditions;

/// There is nothing more to know of it.
fn leave_unchanged(deploying: DeployState) -> DeployState {
    deploying
}

/// How the merge stands to the pinned commit, where nobody moved the branch meanwhile: GitHub need not be asked.
fn derive_comparison(change: &Change, result: &Sha, parents: &[Sha]) -> Option<Comparison> {
    let plan = &change.plan;
    let unmoved = plan.head.is_some() && parents.first() == plan.head.as_ref();
    let pinned = plan.pinned.clone()?;
    unmoved.then(|| Comparison {
        base: result.clone(),
        head: pinned,
        ahead_by: 0,
        behind_by: plan.behind_by + 1,
        commits: Vec::new(),
        files: ChangedFiles::default(),
        url: None,
    })
}

pub(crate) async fn merge_change(ctx: &Context, claim: &Claim) -> Result<(), StoreError> {
    let Stage::Merging(merging) = &claim.change.stage else { return Ok(()) };
    // Woken before its time: whoever asks again and again moves the turns of all others.
    if claim.cancel_requested_by.is_none() && claim.due_at.is_some_and(|due| due > ctx.clock.now()) {
        return Ok(());
    }
    if let Some(frozen) = claim.change.pull_request_branch() {
        return resume_pull_request_merge(ctx, claim, frozen).await;
    }
    let mut claim = claim.clone();
    if merging.begun {
        // What became of the last try is not known: look before asking again.
        match find_existing_merge(ctx, &claim.change).await {
            Ok(Some(result)) => return record_merge(ctx, &claim, result, None, leave_unchanged).await,
            Ok(None) => {}
            // That it cannot be looked for now proves nothing.
            Err(error) => return handle_merge_error(ctx, &claim, error, true).await,
        }
    }
    if let Some(by) = claim.cancel_requested_by.clone() {
        let stage = claim.change.stage.clone().into_cancelled(CancelledBy::Person(by), ctx.clock.now());
        return apply_transition(ctx, &claim, stage, None).await;
    }
    // Also before another try: what holds it back may have come since the last one.
    let unmet_conditions = find_unmet_conditions(ctx, &claim.change).await?;
    let policy = ctx.config.policies.get(&claim.change.plan.environment);
    // Asked for before approvals were: nobody has been asked for theirs.
    let unasked = merging.awaiting.is_none()
        && claim.change.plan.rollback.is_none()
        && policy.is_some_and(|policy| policy.approvals.is_some());
    if unasked || !unmet_conditions.is_empty() {
        return wait_for(ctx, &claim, unmet_conditions).await;
    }
    if !merging.begun {
        let Ok(stage) = claim.change.stage.clone().begin_merge() else { return Ok(()) };
        claim.change.stage = stage;
        ctx.store
            .commit(Transaction::new().advance_change(claim.change.clone(), claim.fence, Some(ctx.clock.now())))
            .await?;
    }
    let plan = &claim.change.plan;
    let pinned = match &plan.pinned {
        Some(pinned) if plan.is_single_merge() => pinned,
        _ => return Box::pin(move_branch_to_result(ctx, &claim)).await,
    };
    let message = plan.format_merge_message(&claim.change.format_commit_trailers());
    match ctx.github.merge_into_branch(&plan.repository, &plan.branch, pinned, &message).await {
        Ok(MergeOutcome::Done { commit, parents }) => {
            let known = derive_comparison(&claim.change, &commit, &parents);
            record_merge(ctx, &claim, commit, known, leave_unchanged).await
        }
        Ok(MergeOutcome::AlreadyMerged) => match find_existing_merge(ctx, &claim.change).await {
            Ok(Some(result)) => record_merge(ctx, &claim, result, None, leave_unchanged).await,
            Ok(None) => {
                let unclear = GithubError::Unclear("it has the commit and has it not".to_owned());
                handle_merge_error(ctx, &claim, unclear, true).await
            }
            Err(error) => handle_merge_error(ctx, &claim, error, true).await,
        },
        Ok(MergeOutcome::Conflict) => {
            let files = ctx.github.list_files_both_changed(&plan.repository, &plan.branch, pinned).await;
            let stage = claim.change.stage.clone().into_conflicted(files.unwrap_or_default(), ctx.clock.now());
            apply_transition(ctx, &claim, stage, None).await
        }
        Ok(MergeOutcome::NoBranch) => mark_errored(ctx, &claim, describe_missing_branch(plan)).await,
        Ok(MergeOutcome::NoCommit) => mark_errored(ctx, &claim, describe_missing_commit(plan)).await,
        Ok(MergeOutcome::Refused(why)) => {
            let (branch, why) = (&plan.branch, why.trim_end_matches('.'));
            let why = format!(
                "GitHub does not let me merge into {branch}: {why}. Let me push there, or change the branch's rules."
            );
            mark_errored(ctx, &claim, why).await
        }
        Err(error) => {
            // Who was turned away at the door has done nothing; anything else may have had its effect.
            let turned_away = matches!(error, GithubError::RateLimited { .. } | GithubError::Throttled { .. });
            handle_merge_error(ctx, &claim, error, !turned_away).await
        }
    }
}
