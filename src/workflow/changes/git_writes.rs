//! The writes to Git that must not happen twice. Each one consumes the proof that its intention was stored before.

use crate::adapters::github::{
    CreateTagOutcome, FastForwardOutcome, GithubError, MergeOutcome, MergePullRequestOutcome, pull_request_text,
};
use crate::domain::change::{Change, PullRequestRef, ResultBranch, ResultCommit};
use crate::domain::model::version::Sha;
use crate::workflow::changes::transition::WriteAhead;
use crate::workflow::context::Context;

/// Merges the pinned commit into the environment's branch.
pub(crate) async fn merge_into_branch(
    ctx: &Context,
    change: &Change,
    pinned: &Sha,
    _intent: WriteAhead,
) -> Result<MergeOutcome, GithubError> {
    let plan = &change.plan;
    let message = plan.format_merge_message(&change.format_commit_trailers());
    ctx.github.merge_into_branch(&plan.repository, &plan.branch, pinned, &message).await
}

/// Merges the pull request, if its head is the result that was shown.
pub(crate) async fn merge_pull_request(
    ctx: &Context,
    change: &Change,
    pull: &PullRequestRef,
    result: &ResultCommit,
    _intent: WriteAhead,
) -> Result<MergePullRequestOutcome, GithubError> {
    let plan = &change.plan;
    let title = pull_request_text::render_title(plan);
    let message = plan.format_merge_message(&change.format_commit_trailers());
    ctx.github.merge_pull_request(plan.write_target().0, pull.number, &result.head, &title, &message).await
}

/// Moves the environment's branch to the result that was built for it.
pub(crate) async fn fast_forward_to_result(
    ctx: &Context,
    change: &Change,
    head: &Sha,
    _intent: WriteAhead,
) -> Result<FastForwardOutcome, GithubError> {
    let (repository, branch) = change.plan.write_target();
    ctx.github.fast_forward(repository, branch, head).await
}

/// Replaces the result that the pull request shows by a new one.
pub(crate) async fn replace_shown_result(
    ctx: &Context,
    change: &Change,
    result_branch: &ResultBranch,
    result: &ResultCommit,
    _intent: WriteAhead,
) -> Result<(), GithubError> {
    let (repository, _) = change.plan.write_target();
    ctx.github.put_own_branch(repository, &result_branch.branch, &result.head).await
}

/// Creates the tag with the stored name.
pub(crate) async fn create_tag(
    ctx: &Context,
    change: &Change,
    name: &str,
    marked: &Sha,
    _intent: WriteAhead,
) -> Result<CreateTagOutcome, GithubError> {
    let plan = &change.plan;
    let message = plan.format_merge_message(&change.format_change_trailer());
    ctx.github.create_tag(&plan.repository, name, marked, &message).await
}
