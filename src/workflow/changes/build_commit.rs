//! Builds the commit of a change on top of its branch: a merge, a restored earlier tree, or a written manifest.
//! It does not move the environment's branch.

use crate::adapters::github::{self, BranchComparison, GithubError, PromotionMerge};
use crate::domain::change::Change;
use crate::domain::change::plan::{Direction, GitWrite};
use crate::domain::git::manifest;
use crate::domain::model::artefact::{Delivery, ManifestFile};
use crate::domain::model::version::Sha;
use crate::workflow::changes::transition::describe_missing_commit;
use crate::workflow::context::Context;

/// The outcome of building the result.
pub(crate) enum BuildCommitOutcome {
    Created(Sha),
    /// The branch has the result already.
    AlreadyThere,
    Conflict(Vec<String>),
    /// Retrying does not help. The text has the reason and the next step.
    Failed(String),
}

/// Builds the result on top of `base`. A merge is made on `scratch_branch`, a branch of Gantry's own. Any other commit
/// is on no branch yet.
pub(crate) async fn build_result_commit(
    ctx: &Context,
    change: &Change,
    scratch_branch: &str,
    base: &Sha,
) -> Result<BuildCommitOutcome, GithubError> {
    let plan = &change.plan;
    match (&plan.write, &plan.direction) {
        (GitWrite::Manifest { file, .. }, _) => build_manifest_commit(ctx, change, file, base).await,
        (GitWrite::Branch { pinned }, Direction::Rollback(_)) => build_rollback_commit(ctx, change, pinned, base).await,
        (GitWrite::Branch { pinned }, Direction::Promotion) => {
            build_merge_commit(ctx, change, pinned, scratch_branch, base).await
        }
    }
}

async fn build_merge_commit(
    ctx: &Context,
    change: &Change,
    pinned: &Sha,
    scratch_branch: &str,
    base: &Sha,
) -> Result<BuildCommitOutcome, GithubError> {
    let plan = &change.plan;
    // If the plan undoes rollbacks, they are looked up again: others may be open by now.
    let open_rollbacks = match plan.rollbacks_to_undo.as_slice() {
        [] => Vec::new(),
        _ => ctx.github.find_open_rollbacks(&plan.repository, base).await?,
    };
    ctx.github.put_own_branch(&plan.repository, scratch_branch, base).await?;
    let message = plan.format_merge_message(&change.format_commit_trailers());
    let promotion_merge = PromotionMerge { change: change.id, pinned, message: &message };
    Ok(
        match ctx
            .github
            .build_promotion_commit(&plan.repository, scratch_branch, base, &open_rollbacks, promotion_merge)
            .await?
        {
            github::BuildPromotionOutcome::Done(commit) => BuildCommitOutcome::Created(commit),
            github::BuildPromotionOutcome::AlreadyMerged => {
                // If the environment's own branch has the commit too, a person merged it there.
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
            github::BuildPromotionOutcome::Refused(reason) => {
                let reason = reason.trim_end_matches('.');
                BuildCommitOutcome::Failed(format!(
                    "GitHub does not let me make the branch {scratch_branch}: {reason}. \
                 Let me push to branches below gantry/."
                ))
            }
        },
    )
}

async fn build_rollback_commit(
    ctx: &Context,
    change: &Change,
    restored: &Sha,
    base: &Sha,
) -> Result<BuildCommitOutcome, GithubError> {
    let plan = &change.plan;
    let message = plan.format_merge_message(&change.format_commit_trailers());
    Ok(match ctx.github.create_rollback_commit(&plan.repository, base, restored, &message).await? {
        Some(commit) => BuildCommitOutcome::Created(commit),
        None => BuildCommitOutcome::Failed(describe_missing_commit(plan)),
    })
}

async fn build_manifest_commit(
    ctx: &Context,
    change: &Change,
    manifest_file: &ManifestFile,
    base: &Sha,
) -> Result<BuildCommitOutcome, GithubError> {
    let plan = &change.plan;
    let Some(artefact) = ctx.config.catalogue.find_artefact(plan.artefact.as_str()) else {
        return Ok(BuildCommitOutcome::Failed(format!("{} is not configured any more.", plan.artefact)));
    };
    let Delivery::Manifest { path, pin, .. } = &artefact.delivery else {
        return Ok(BuildCommitOutcome::Failed(format!("{} does not go by manifest any more.", plan.artefact)));
    };
    let ManifestFile { repository, file, .. } = manifest_file;
    let Some(text) = ctx.github.fetch_file(repository, base.as_str(), file).await? else {
        return Ok(BuildCommitOutcome::Failed(format!("The file {file} is gone from {repository}.")));
    };
    let selector = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
    match manifest::write_version(&text, &selector, &plan.version) {
        Ok(new_text) if new_text == text => Ok(BuildCommitOutcome::AlreadyThere),
        Ok(new_text) => {
            let message = plan.format_merge_message(&change.format_commit_trailers());
            Ok(BuildCommitOutcome::Created(ctx.github.commit_file(repository, base, file, &new_text, &message).await?))
        }
        Err(problem) => Ok(BuildCommitOutcome::Failed(format!("I cannot write {file} of {repository}: {problem}."))),
    }
}
