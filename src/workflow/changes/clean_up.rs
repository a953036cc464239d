//! Closes the pull request and deletes the branch of a change that does not need them any more.

use jiff::SignedDuration;

use crate::adapters::github::{self, GithubError, PullRequest, PullRequestState};
use crate::adapters::store::{Claim, StoreError, Transaction};
use crate::domain::change::{Change, PullRequestRef, ResultBranch};
use crate::workflow::changes::transition::{advance_change, compute_next_try};
use crate::workflow::context::Context;

/// The number of tries for the backoff. It gives the longest pause at once, because no person waits for the clean-up.
const CLEAN_UP_BACKOFF_TRIES: u32 = 6;

/// How long a refused clean-up is tried again. The time starts at the request, or at the last retry of the change.
const CLEAN_UP_TIME_LIMIT: SignedDuration = SignedDuration::from_hours(48);

/// The pause between tries while GitHub refuses the clean-up.
const CLEAN_UP_RETRY_INTERVAL: SignedDuration = SignedDuration::from_mins(10);

/// Closes the pull request with a comment that has the reason, and deletes the branch. A failed clean-up is tried
/// again.
pub(crate) async fn clean_up_branch(ctx: &Context, claim: &mut Claim) -> Result<(), StoreError> {
    let Some(result_branch) = claim.change.result_branch.clone().filter(|_| claim.change.needs_branch_cleanup()) else {
        return Ok(());
    };
    // Woken early.
    if !claim.change.stage.is_open() && claim.due_at.is_some_and(|due| due > ctx.clock.now()) {
        return Ok(());
    }
    match close_and_delete_branch(ctx, &claim.change, &result_branch).await {
        Ok(()) => {}
        // An open change has a due time of its own, and cleans up then.
        Err(error) if error.is_transient() && claim.change.stage.is_open() => return Ok(()),
        Err(error) if error.is_transient() => {
            let due = compute_next_try(&error, CLEAN_UP_BACKOFF_TRIES, ctx.clock.now());
            let (change, fence) = (claim.change.clone(), claim.fence);
            return ctx.store.commit(Transaction::new().advance_change(change, fence, Some(due))).await;
        }
        // Gantry may get the missing permission back. It tries for `CLEAN_UP_TIME_LIMIT`.
        Err(error) if ctx.clock.now().duration_since(claim.change.began_at()) < CLEAN_UP_TIME_LIMIT => {
            tracing::warn!(%error, "the branch of a change cannot be cleaned up; trying again");
            if claim.change.stage.is_open() {
                return Ok(());
            }
            let (change, fence) = (claim.change.clone(), claim.fence);
            let due = ctx.clock.now() + CLEAN_UP_RETRY_INTERVAL;
            return ctx.store.commit(Transaction::new().advance_change(change, fence, Some(due))).await;
        }
        Err(error) => tracing::error!(%error, "the branch of a change could not be cleaned up; delete it by hand"),
    }
    let next =
        Change { result_branch: Some(ResultBranch { is_cleaned_up: true, ..result_branch }), ..claim.change.clone() };
    let due = claim.due_at.filter(|_| next.stage.is_open());
    claim.change = advance_change(ctx, &claim.change, claim.fence, next, due, Transaction::new()).await?;
    Ok(())
}

pub(crate) async fn close_and_delete_branch(
    ctx: &Context,
    change: &Change,
    result_branch: &ResultBranch,
) -> Result<(), GithubError> {
    let (repository, _) = change.plan.write_target();
    if change.stage.deploying().is_none()
        && let Some(PullRequestRef { number, .. }) = result_branch.pull
        && let Some(PullRequest { state: PullRequestState::Open, .. }) =
            ctx.github.fetch_pull_request(repository, number).await?
    {
        if let Some(comment) = github::pull_request_text::render_closing_comment(change) {
            ctx.github.comment_once(repository, number, &comment, &change.format_change_trailer()).await?;
        }
        ctx.github.close_pull_request(repository, number).await?;
    }
    ctx.github.delete_own_branch(repository, &result_branch.branch).await?;
    if result_branch.pull.is_some() {
        ctx.github.delete_own_branch(repository, &result_branch.scratch_branch()).await?;
    }
    Ok(())
}
