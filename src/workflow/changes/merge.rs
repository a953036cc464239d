//! The handler of the stage `Merging`: merges exactly the pinned commit, at most once, even if GitHub's answer is lost.

use crate::adapters::github::{GithubError, MergeOutcome};
use crate::adapters::store::Claim;
use crate::domain::change::{CancelledBy, Change, DeployState, Stage};
use crate::domain::git::comparison::{ChangedFiles, Comparison};
use crate::domain::model::version::Sha;
use crate::workflow::changes::after_merge::record_merge;
use crate::workflow::changes::git_writes;
use crate::workflow::changes::move_branch::move_branch_to_result;
use crate::workflow::changes::pull_request::resume_pull_request_merge;
use crate::workflow::changes::transition::{
    StageResult, WriteAhead, apply_transition, describe_missing_branch, describe_missing_commit, handle_merge_error,
    mark_errored, store_change, store_intent, wait_for,
};
use crate::workflow::context::Context;
use crate::workflow::facts::merged_result::find_existing_merge;
use crate::workflow::planning::gate_inputs::find_unmet_conditions;

/// Passed to [`record_merge`] by a merge that adds nothing to the deploy state.
fn leave_unchanged(deploying: DeployState) -> DeployState {
    deploying
}

/// The comparison of the merge with the pinned commit, computed from the plan without a request to GitHub. `None`: the
/// branch moved since the plan was made, or the plan has no pinned commit.
fn derive_comparison(change: &Change, result: &Sha, parents: &[Sha]) -> Option<Comparison> {
    let plan = &change.plan;
    let unmoved = plan.head.is_some() && parents.first() == plan.head.as_ref();
    let pinned = plan.pinned_commit().cloned()?;
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

/// Merges the pinned commit into the environment's branch, at most once.
pub(crate) async fn merge_change(ctx: &Context, mut claim: Claim) -> StageResult {
    let Stage::Merging(merging) = claim.change.stage.clone() else { return Ok(None) };
    // Woken early. Asking GitHub now would use rate limit that other changes need.
    if claim.cancel_requested_by.is_none() && claim.due_at.is_some_and(|due| due > ctx.clock.now()) {
        return Ok(None);
    }
    if let Some(frozen) = claim.change.pull_request_branch() {
        return resume_pull_request_merge(ctx, &claim, frozen).await;
    }
    if merging.begun {
        // An earlier try may have merged. The branch on GitHub shows whether it did.
        match find_existing_merge(ctx, &claim.change).await {
            Ok(Some(result)) => return record_merge(ctx, &claim, result, None, leave_unchanged).await,
            Ok(None) => {}
            // A failed lookup proves nothing.
            Err(error) => return handle_merge_error(ctx, &claim, error, true).await,
        }
    }
    if let Some(by) = claim.cancel_requested_by.clone() {
        let stage = claim.change.stage.clone().into_cancelled(CancelledBy::Person(by), ctx.clock.now());
        return apply_transition(ctx, &claim, stage, None).await;
    }
    // Checked before every try: a gate may have closed since the last one.
    let unmet_conditions = find_unmet_conditions(ctx, &claim.change).await?;
    let policy = ctx.config.catalogue.ladder.find_policy(&claim.change.plan.environment);
    // True if the environment began to require approvals after the request of this change.
    let approval_missing = merging.awaiting.is_none()
        && !claim.change.plan.is_rollback()
        && policy.is_some_and(|policy| policy.approvals.is_some());
    if approval_missing || !unmet_conditions.is_empty() {
        return wait_for(ctx, &claim, unmet_conditions).await;
    }
    let Ok(stage) = claim.change.stage.clone().begin_merge() else { return Ok(None) };
    let begun = Change { stage, ..claim.change.clone() };
    let Some(pinned) = claim.change.plan.single_merge_commit().cloned() else {
        if !merging.begun {
            store_change(ctx, &mut claim, begun).await?;
        }
        return move_branch_to_result(ctx, claim).await;
    };
    let intent = store_intent(ctx, &mut claim, begun).await?;
    merge_pinned_commit(ctx, &claim, &pinned, intent).await
}

async fn merge_pinned_commit(ctx: &Context, claim: &Claim, pinned: &Sha, intent: WriteAhead) -> StageResult {
    let plan = &claim.change.plan;
    match git_writes::merge_into_branch(ctx, &claim.change, pinned, intent).await {
        Ok(MergeOutcome::Done { commit, parents }) => {
            let comparison = derive_comparison(&claim.change, &commit, &parents);
            record_merge(ctx, claim, commit, comparison, leave_unchanged).await
        }
        Ok(MergeOutcome::AlreadyMerged) => match find_existing_merge(ctx, &claim.change).await {
            Ok(Some(result)) => record_merge(ctx, claim, result, None, leave_unchanged).await,
            Ok(None) => {
                let error = GithubError::Unclear("it has the commit and has it not".to_owned());
                handle_merge_error(ctx, claim, error, true).await
            }
            Err(error) => handle_merge_error(ctx, claim, error, true).await,
        },
        Ok(MergeOutcome::Conflict) => {
            let files = ctx.github.list_files_both_changed(&plan.repository, &plan.branch, pinned).await;
            let stage = claim.change.stage.clone().into_conflicted(files.unwrap_or_default(), ctx.clock.now());
            apply_transition(ctx, claim, stage, None).await
        }
        Ok(MergeOutcome::NoBranch) => mark_errored(ctx, claim, describe_missing_branch(plan)).await,
        Ok(MergeOutcome::NoCommit) => mark_errored(ctx, claim, describe_missing_commit(plan)).await,
        Ok(MergeOutcome::Refused(reason)) => {
            let (branch, reason) = (&plan.branch, reason.trim_end_matches('.'));
            let reason = format!(
                "GitHub does not let me merge into {branch}: {reason}. Let me push there, or change the branch's rules."
            );
            mark_errored(ctx, claim, reason).await
        }
        Err(error) => {
            // A rate-limited request was not executed; after any other error the merge may exist.
            let is_rate_limited = matches!(error, GithubError::RateLimited { .. } | GithubError::Throttled { .. });
            handle_merge_error(ctx, claim, error, !is_rate_limited).await
        }
    }
}
