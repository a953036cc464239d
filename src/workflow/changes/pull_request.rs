//! The pull request of a change: builds its branch, opens it, compares it with the change, and merges it.
//! `await_approval` handles its reviews, `clean_up` closes it.

use crate::adapters::github::{
    self, GithubError, MergePullRequestOutcome, OpenPullRequestOutcome, PullRequest, PullRequestState,
};
use crate::adapters::slack::render;
use crate::adapters::store::{Claim, LedgerKind, Transaction};
use crate::domain::change::approval::VoidReason;
use crate::domain::change::plan::Plan;
use crate::domain::change::{CancelledBy, Change, DeployState, PullRequestRef, ResultBranch, ResultCommit, Stage};
use crate::domain::model::actor::Actor;
use crate::domain::model::artefact::ManifestFile;
use crate::domain::model::version::Sha;
use crate::domain::rules::merge_condition::MergeCondition;
use crate::workflow::changes::after_merge::record_merge;
use crate::workflow::changes::build_commit::{BuildCommitOutcome, build_result_commit};
use crate::workflow::changes::git_writes;
use crate::workflow::changes::move_branch::require_branch_head;
use crate::workflow::changes::transition::{
    StageResult, advance_change, apply_transition, await_approval_again, build_ledger_entry, build_thread_reply,
    handle_merge_error, mark_errored, postpone_merge, store_intent, store_merge_conditions,
};
use crate::workflow::context::Context;
use crate::workflow::error::StageError;

fn describe_merge_elsewhere(plan: &Plan, pull: &PullRequestRef, target: &str, commit: &Sha) -> String {
    let (number, (_, branch), commit) = (pull.number, plan.write_target(), commit.short());
    format!(
        "Somebody pointed the pull request #{number} at {target}, and it was merged there, as {commit}. \
         {branch} has nothing of it. Take it back in {target} if it does not belong there."
    )
}

/// The state of a change's pull request.
pub(crate) enum PullRequestCheck {
    /// The pull request is open and shows the result that the change wants to merge.
    Shown(Box<PullRequest>),
    /// In any other state the change was stored, and the handler returns this value.
    Stored(Option<Box<Claim>>),
}

impl From<Option<Claim>> for PullRequestCheck {
    fn from(next: Option<Claim>) -> Self {
        Self::Stored(next.map(Box::new))
    }
}

/// Compares the pull request with the change. Opens the pull request, rebuilds its branch, or follows a merge by hand.
pub(crate) async fn sync_pull_request(
    ctx: &Context,
    claim: &Claim,
    result_branch: &ResultBranch,
) -> Result<PullRequestCheck, StageError> {
    let plan = &claim.change.plan;
    let (repository, branch) = plan.write_target();
    let Some(pull) = &result_branch.pull else {
        let Some(base) = require_branch_head(ctx, claim).await? else { return Ok(None.into()) };
        return match &result_branch.result {
            Some(result) if result.base == base => open_pull_request(ctx, claim, result_branch).await,
            _ => prepare_result_branch(ctx, claim, result_branch, base, None).await,
        }
        .map(PullRequestCheck::from);
    };
    if let Some(replacement) = &result_branch.replacement {
        return Ok(update_result_branch(ctx, claim, result_branch, replacement).await?.into());
    }
    // A pull request cannot be deleted, so Gantry has probably lost its access.
    let not_found = || GithubError::NotFound(format!("the pull request #{} of {repository}", pull.number));
    let current = ctx.github.fetch_pull_request(repository, pull.number).await?.ok_or_else(not_found)?;
    match &current.state {
        PullRequestState::Merged { commit, .. } if current.base != branch => {
            return Ok(mark_errored(ctx, claim, describe_merge_elsewhere(plan, pull, &current.base, commit))
                .await?
                .into());
        }
        PullRequestState::Merged { commit, by } => {
            return Ok(record_manual_merge(ctx, claim, commit.clone(), by.clone().unwrap_or_default()).await?.into());
        }
        PullRequestState::Closed => {
            return Ok(match require_branch_head(ctx, claim).await? {
                Some(_) => cancel_closed_pull_request(ctx, claim).await?.into(),
                None => None.into(),
            });
        }
        PullRequestState::Open => {}
    }
    if current.base != branch {
        let retargeted = MergeCondition::Retargeted { base: current.base };
        return Ok(store_merge_conditions(ctx, claim, vec![retargeted]).await?.into());
    }
    let Some(base) = require_branch_head(ctx, claim).await? else { return Ok(None.into()) };
    if let Some(result) = &result_branch.result
        && result.head == current.head
        && result.base != base
        && is_manifest_unchanged(ctx, plan, &result.base, &base).await?
    {
        // The base is newer, but the merge would still write exactly the content that was shown and approved.
        let result = Some(ResultCommit { base, ..result.clone() });
        return Ok(store_branch_state(ctx, claim, ResultBranch { result, ..result_branch.clone() }).await?.into());
    }
    let void_reason = match &result_branch.result {
        Some(result) if result.head != current.head => Some(VoidReason::Pushed { commit: current.head.to_string() }),
        Some(result) if result.base == base => None,
        _ => Some(VoidReason::BranchMoved),
    };
    match void_reason {
        None => Ok(PullRequestCheck::Shown(Box::new(current))),
        Some(reason) => {
            prepare_result_branch(ctx, claim, result_branch, base, Some(reason)).await.map(PullRequestCheck::from)
        }
    }
}

/// Whether the written manifest is the same in two commits. Many changes write to a branch of manifests, and a change
/// of another file does not void the approvals.
async fn is_manifest_unchanged(ctx: &Context, plan: &Plan, before: &Sha, after: &Sha) -> Result<bool, GithubError> {
    let Some(ManifestFile { repository, file, .. }) = plan.manifest_file() else { return Ok(false) };
    let old_text = ctx.github.fetch_file(repository, before.as_str(), file).await?;
    Ok(old_text.is_some() && old_text == ctx.github.fetch_file(repository, after.as_str(), file).await?)
}

/// Builds the result on top of the environment's branch. If a pull request is open, the result is built on the scratch
/// branch: if the shown branch were reset to the base, GitHub would count the pull request as merged.
async fn prepare_result_branch(
    ctx: &Context,
    claim: &Claim,
    result_branch: &ResultBranch,
    base: Sha,
    void_reason: Option<VoidReason>,
) -> Result<Option<Claim>, StageError> {
    let scratch_branch =
        if result_branch.pull.is_some() { result_branch.scratch_branch() } else { result_branch.branch.clone() };
    let head = match build_result_commit(ctx, &claim.change, &scratch_branch, &base).await? {
        BuildCommitOutcome::Created(commit) => commit,
        BuildCommitOutcome::AlreadyThere => {
            return Ok(record_manual_merge(ctx, claim, base, String::new()).await?);
        }
        BuildCommitOutcome::Conflict(files) => {
            let now = ctx.clock.now();
            let stage = claim.change.stage.clone().into_conflicted(files, now);
            return Ok(apply_transition(ctx, claim, stage, Some(now)).await?);
        }
        BuildCommitOutcome::Failed(reason) => return Ok(mark_errored(ctx, claim, reason).await?),
    };
    if !claim.change.plan.is_branch_merge() {
        ctx.github.put_own_branch(claim.change.plan.write_target().0, &scratch_branch, &head).await?;
    }
    let result = ResultCommit { base, head };
    let branch_state = match result_branch.pull {
        Some(_) => ResultBranch { replacement: Some(result), ..result_branch.clone() },
        None => ResultBranch { result: Some(result), ..result_branch.clone() },
    };
    let mut next = Change { result_branch: Some(branch_state), ..claim.change.clone() };
    let (now, mut extra) = (ctx.clock.now(), Transaction::new());
    if let Some(reason) = void_reason
        && let Some(awaiting) = claim.change.stage.awaiting()
    {
        // A push is always announced. A moved branch is announced only if approvals were lost.
        let must_announce = !awaiting.approvals.is_empty() || matches!(reason, VoidReason::Pushed { .. });
        next.stage = Stage::AwaitingApproval(awaiting.clone().void_approvals(reason, now));
        extra = extra.append_to_ledger(build_ledger_entry(&next, LedgerKind::Voided, Actor::Controller, now));
        if must_announce && let Some(reply) = render::approve::render_approvals_voided(&next) {
            extra = extra.enqueue_message(build_thread_reply(
                ctx,
                &next,
                &format!("voided:{}", now.as_microsecond()),
                reply,
            ));
        }
    }
    advance_change(ctx, &claim.change, claim.fence, next, Some(now), extra).await?;
    Ok(None)
}

/// Points the shown branch at its new result. The result is stored before, so that any other commit found on the branch
/// is known to be foreign.
async fn update_result_branch(
    ctx: &Context,
    claim: &Claim,
    result_branch: &ResultBranch,
    replacement: &ResultCommit,
) -> Result<Option<Claim>, StageError> {
    let mut claim = claim.clone();
    let intended = claim.change.clone();
    let intent = store_intent(ctx, &mut claim, intended).await?;
    git_writes::replace_shown_result(ctx, &claim.change, result_branch, replacement, intent).await?;
    let (repository, _) = claim.change.plan.write_target();
    ctx.github.delete_own_branch(repository, &result_branch.scratch_branch()).await?;
    let branch_state = ResultBranch { result: Some(replacement.clone()), replacement: None, ..result_branch.clone() };
    store_branch_state(ctx, &claim, branch_state).await
}

async fn open_pull_request(
    ctx: &Context,
    claim: &Claim,
    result_branch: &ResultBranch,
) -> Result<Option<Claim>, StageError> {
    let (change, plan) = (&claim.change, &claim.change.plan);
    let (repository, branch) = plan.write_target();
    let required = change.stage.awaiting().map_or(0, |awaiting| awaiting.required);
    let requester = ctx.people.fetch_display_name(&change.requester).await;
    let body = github::pull_request_text::render_body(change, &requester, required, ctx.clock.now());
    let title = github::pull_request_text::render_title(plan);
    let opened = ctx.github.open_pull_request(repository, &result_branch.branch, branch, &title, &body).await?;
    let pull = match opened {
        OpenPullRequestOutcome::Done(pull) => pull,
        OpenPullRequestOutcome::AlreadyExists => {
            let found = ctx.github.find_open_pull_request(repository, &result_branch.branch, branch).await?;
            let missing = || GithubError::Unclear("the pull request is there and is not there".to_owned());
            found.ok_or_else(missing)?.pull
        }
        // The branch was reset before the pull request was opened, so the result must be built again.
        OpenPullRequestOutcome::NoCommits => {
            return store_branch_state(ctx, claim, ResultBranch { result: None, ..result_branch.clone() }).await;
        }
        OpenPullRequestOutcome::Refused(reason) => {
            let reason = format!("GitHub does not let me open a pull request: {}.", reason.trim_end_matches('.'));
            return Ok(mark_errored(ctx, claim, reason).await?);
        }
    };
    store_branch_state(ctx, claim, ResultBranch { pull: Some(pull), ..result_branch.clone() }).await
}

async fn store_branch_state(
    ctx: &Context,
    claim: &Claim,
    result_branch: ResultBranch,
) -> Result<Option<Claim>, StageError> {
    let next = Change { result_branch: Some(result_branch), ..claim.change.clone() };
    let now = ctx.clock.now();
    advance_change(ctx, &claim.change, claim.fence, next, Some(now), Transaction::new()).await?;
    Ok(None)
}

/// Records a merge that a person did on GitHub, or a branch that already has the result. `by` is the login, or empty if
/// it is unknown.
async fn record_manual_merge(ctx: &Context, claim: &Claim, commit: Sha, by: String) -> StageResult {
    record_merge(ctx, claim, commit, None, |deploying| DeployState { merged_by: Some(by), ..deploying }).await
}

async fn cancel_closed_pull_request(ctx: &Context, claim: &Claim) -> StageResult {
    let now = ctx.clock.now();
    let stage = claim.change.stage.clone().into_cancelled(CancelledBy::Github { github: None }, now);
    apply_transition(ctx, claim, stage, Some(now)).await
}

/// Resumes an interrupted merge. Unless GitHub has merged, all conditions are checked again, because time has passed.
pub(crate) async fn resume_pull_request_merge(
    ctx: &Context,
    claim: &Claim,
    result_branch: &ResultBranch,
) -> StageResult {
    let Stage::Merging(merging) = &claim.change.stage else { return Ok(None) };
    if let (true, Some(pull), Some(result)) = (merging.begun, &result_branch.pull, &result_branch.result) {
        match ctx.github.fetch_pull_request(claim.change.plan.write_target().0, pull.number).await {
            // A merge with another head is not Gantry's. The next check finds it.
            Ok(Some(PullRequest { state: PullRequestState::Merged { commit, .. }, head, .. }))
                if head == result.head =>
            {
                return record_own_merge(ctx, claim, pull, result, commit).await;
            }
            Ok(_) => {}
            Err(error) => return handle_merge_error(ctx, claim, error, true).await,
        }
    }
    await_approval_again(ctx, claim).await
}

/// Merges the pull request right after a check of all conditions: exactly the head that was shown and approved, or
/// nothing.
pub(crate) async fn merge_pull_request(ctx: &Context, claim: &Claim, result_branch: &ResultBranch) -> StageResult {
    let (Some(pull), Some(result)) = (&result_branch.pull, &result_branch.result) else { return Ok(None) };
    let Ok(stage) = claim.change.stage.clone().begin_merge() else { return Ok(None) };
    let begun = Change { stage, ..claim.change.clone() };
    let mut claim = claim.clone();
    let intent = store_intent(ctx, &mut claim, begun).await?;
    match git_writes::merge_pull_request(ctx, &claim.change, pull, result, intent).await {
        Ok(MergePullRequestOutcome::Done(commit)) => record_own_merge(ctx, &claim, pull, result, commit).await,
        // The next check finds the new head and voids the approvals of the old one.
        Ok(MergePullRequestOutcome::HeadMoved) => postpone_merge(ctx, &claim, "the head is not what was shown").await,
        Ok(MergePullRequestOutcome::NotMergeable(reason)) => postpone_merge(ctx, &claim, &reason).await,
        Ok(MergePullRequestOutcome::Refused(reason)) => {
            let reason = format!(
                "GitHub does not let me merge the pull request #{}: {}.",
                pull.number,
                reason.trim_end_matches('.')
            );
            mark_errored(ctx, &claim, reason).await
        }
        Err(error) => {
            let is_rate_limited = matches!(error, GithubError::RateLimited { .. } | GithubError::Throttled { .. });
            handle_merge_error(ctx, &claim, error, !is_rate_limited).await
        }
    }
}

/// Records the merge by Gantry. GitHub guards the head of a merge but not its base, so the base is checked afterwards,
/// and a difference is shown on the card.
async fn record_own_merge(
    ctx: &Context,
    claim: &Claim,
    pull: &PullRequestRef,
    result: &ResultCommit,
    commit: Sha,
) -> StageResult {
    let plan = &claim.change.plan;
    let (repository, branch) = plan.write_target();
    let check = async {
        let target = ctx.github.fetch_pull_request(repository, pull.number).await?.map(|current| current.base);
        let merge_commit = ctx.github.resolve_commit(repository, commit.as_str()).await?;
        let parent = merge_commit
            .and_then(|merge_commit| merge_commit.parents.first().cloned())
            .filter(|parent| *parent != result.base);
        let is_unchanged = match &parent {
            Some(parent) => is_manifest_unchanged(ctx, plan, &result.base, parent).await?,
            None => true,
        };
        Ok::<_, GithubError>((target, parent.filter(|_| !is_unchanged)))
    };
    let (target, unseen) = match check.await {
        Ok(found) => found,
        Err(error) if error.is_transient() => return handle_merge_error(ctx, claim, error, true).await,
        Err(_) => (None, None),
    };
    if let Some(target) = target.filter(|target| *target != branch) {
        return mark_errored(ctx, claim, describe_merge_elsewhere(plan, pull, &target, &commit)).await;
    }
    record_merge(ctx, claim, commit, None, |deploying| DeployState { unexpected_base: unseen, ..deploying }).await
}
