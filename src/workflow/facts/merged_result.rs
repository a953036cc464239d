//! Looks for the result of a change in Git. An earlier process may have merged and died before it stored that.

use crate::adapters::github::{BranchComparison, GithubError};
use crate::domain::change::{Change, ResultCommit};
use crate::domain::model::version::Sha;
use crate::workflow::context::Context;

/// The stored result of the change, if the branch has it.
pub(crate) async fn find_result_on_branch(ctx: &Context, change: &Change) -> Result<Option<Sha>, GithubError> {
    let Some(ResultCommit { head, .. }) =
        change.result_branch.as_ref().and_then(|result_branch| result_branch.result.as_ref())
    else {
        return Ok(None);
    };
    let (repository, branch) = change.plan.write_target();
    match ctx.github.compare_with_branch(repository, branch, head).await? {
        BranchComparison::Pending(pending) if pending.ahead_by == 0 => Ok(Some(head.clone())),
        // Git may have deleted a commit that no branch contains.
        _ => Ok(None),
    }
}

/// The commit that brought the pinned commit into the branch: Gantry's own merge, else the head of the branch. `None`:
/// the branch does not contain the pinned commit.
pub(crate) async fn find_existing_merge(ctx: &Context, change: &Change) -> Result<Option<Sha>, GithubError> {
    let plan = &change.plan;
    let Some(pinned) = plan.single_merge_commit() else { return find_result_on_branch(ctx, change).await };
    if let Some(own_merge) =
        ctx.github.find_commit_by_line(&plan.repository, &plan.branch, &change.format_change_trailer()).await?
    {
        return Ok(Some(own_merge));
    }
    match ctx.github.compare_with_branch(&plan.repository, &plan.branch, pinned).await? {
        BranchComparison::Pending(pending) if pending.ahead_by == 0 => Ok(pending.head),
        // The merge itself reports a missing branch or commit.
        _ => Ok(None),
    }
}
