//! Moves the environment's branch to a result that is no plain merge: builds the commit, stores it, then fast-forwards.

use crate::adapters::github::{FastForwardOutcome, GithubError};
use crate::adapters::store::{Claim, Transaction};
use crate::domain::change::{Change, DeployState, ResultBranch, ResultCommit};
use crate::domain::model::environment::PromotionMethod;
use crate::domain::model::version::Sha;
use crate::workflow::changes::after_merge::record_merge;
use crate::workflow::changes::build_commit::{BuildCommitOutcome, build_result_commit};
use crate::workflow::changes::git_writes;
use crate::workflow::changes::transition::{
    StageResult, advance_change, apply_transition, describe_missing_branch, handle_merge_error, mark_errored,
    store_change, store_intent,
};
use crate::workflow::context::Context;
use crate::workflow::error::StageError;
use crate::workflow::planning::approval_requirements::collect_approval_requirements;

/// How many times the result is built again because the branch moved meanwhile.
const MAX_ATTEMPTS: usize = 4;

/// Builds the result of a change that is no plain merge, stores it, and moves the environment's branch to it.
pub(crate) async fn move_branch_to_result(ctx: &Context, mut claim: Claim) -> StageResult {
    for _ in 0..MAX_ATTEMPTS {
        match try_move_branch(ctx, &mut claim).await {
            Ok(MoveOutcome::Stored(next)) => return Ok(next.map(|next| *next)),
            Ok(MoveOutcome::BranchMoved) => {}
            Err(StageError::Store(error)) => return Err(error),
            Err(StageError::Github(error)) => {
                let is_rate_limited = matches!(error, GithubError::RateLimited { .. } | GithubError::Throttled { .. });
                return handle_merge_error(ctx, &claim, error, !is_rate_limited).await;
            }
        }
    }
    let (_, branch) = claim.change.plan.write_target();
    let error = GithubError::Unavailable(format!("{branch} does not stand still"));
    handle_merge_error(ctx, &claim, error, true).await
}

/// The outcome of one attempt to move the branch.
enum MoveOutcome {
    /// The change was stored, and this is the result of the handler.
    Stored(Option<Box<Claim>>),
    /// The branch moved meanwhile: the result must be built again.
    BranchMoved,
}

impl From<Option<Claim>> for MoveOutcome {
    fn from(next: Option<Claim>) -> Self {
        Self::Stored(next.map(Box::new))
    }
}

async fn try_move_branch(ctx: &Context, claim: &mut Claim) -> Result<MoveOutcome, StageError> {
    let Some(base) = require_branch_head(ctx, claim).await? else { return Ok(None.into()) };
    let result_branch =
        claim.change.result_branch.clone().unwrap_or_else(|| ResultBranch::from_change_id(claim.change.id));
    if claim.change.plan.is_branch_merge() && claim.change.result_branch.is_none() {
        // Stored before the branch is made, so that the clean-up deletes it in any case.
        let intended = Change { result_branch: Some(result_branch.clone()), ..claim.change.clone() };
        store_change(ctx, claim, intended).await?;
    }
    let head = match build_result_commit(ctx, &claim.change, &result_branch.branch, &base).await? {
        BuildCommitOutcome::Created(head) => head,
        BuildCommitOutcome::AlreadyThere => {
            return Ok(record_merge(ctx, claim, base, None, |deploying| deploying).await?.into());
        }
        BuildCommitOutcome::Conflict(files) => {
            let now = ctx.clock.now();
            let stage = claim.change.stage.clone().into_conflicted(files, now);
            return Ok(apply_transition(ctx, claim, stage, Some(now)).await?.into());
        }
        BuildCommitOutcome::Failed(reason) => return Ok(mark_errored(ctx, claim, reason).await?.into()),
    };
    // After a restart, the handler checks whether the branch has this result.
    let result = Some(ResultCommit { base: base.clone(), head: head.clone() });
    let tidy = !claim.change.plan.is_branch_merge();
    let intended = Change {
        result_branch: Some(ResultBranch { result, is_cleaned_up: tidy, ..result_branch }),
        ..claim.change.clone()
    };
    let intent = store_intent(ctx, claim, intended).await?;
    let plan = &claim.change.plan;
    let (repository, branch) = plan.write_target();
    match git_writes::fast_forward_to_result(ctx, &claim.change, &head, intent).await? {
        FastForwardOutcome::Done => {
            let unseen = plan.head.as_ref().is_some_and(|planned_head| *planned_head != base && plan.is_rollback());
            let unseen = unseen.then(|| base.clone());
            let next =
                record_merge(ctx, claim, head, None, |deploying| DeployState { unexpected_base: unseen, ..deploying })
                    .await?;
            Ok(next.into())
        }
        // If the branch is gone, the next attempt reports it.
        FastForwardOutcome::BranchMoved | FastForwardOutcome::NoBranch => Ok(MoveOutcome::BranchMoved),
        FastForwardOutcome::Refused(_) if plan.is_rollback() => Ok(switch_to_pull_request(ctx, claim).await?.into()),
        FastForwardOutcome::Refused(reason) => {
            let reason = reason.trim_end_matches('.');
            let reason = format!(
                "GitHub does not let me move {branch} of {repository}: {reason}. Let me push there, or set \
                     `promote: pull_request` for {}.",
                plan.environment
            );
            Ok(mark_errored(ctx, claim, reason).await?.into())
        }
    }
}

/// Continues a rollback by a pull request, because the branch is protected against pushes.
async fn switch_to_pull_request(ctx: &Context, claim: &Claim) -> StageResult {
    let now = ctx.clock.now();
    let mut next = claim.change.clone();
    next.plan.method = PromotionMethod::PullRequest;
    next.result_branch = Some(ResultBranch::from_change_id(next.id));
    let awaiting = collect_approval_requirements(ctx, &next.plan, now).await;
    let Ok(stage) = next.stage.clone().return_to_awaiting(awaiting) else { return Ok(None) };
    next.stage = stage;
    advance_change(ctx, &claim.change, claim.fence, next, Some(now), Transaction::new()).await.map(|_| None)
}

/// The head of the environment's branch. If the branch is gone, the change ends with an error.
pub(crate) async fn require_branch_head(ctx: &Context, claim: &Claim) -> Result<Option<Sha>, StageError> {
    let plan = &claim.change.plan;
    let (repository, branch) = plan.write_target();
    let head = ctx.github.fetch_branch_head(repository, branch).await?;
    if head.is_none() {
        mark_errored(ctx, claim, describe_missing_branch(plan)).await?;
    }
    Ok(head)
}
