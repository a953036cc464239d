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

fn describe_merge_elsewhere(plan: &Plan, pull: &PullRequestRef, into: &str, commit: &Sha) -> String {
    let (number, (_, branch), commit) = (pull.number, plan.write_target(), commit.short());
    format!(
        "Somebody pointed the pull request #{number} at {into}, and it was merged there, as {commit}. \
         {branch} has nothing of it. Take it back in {into} if it does not belong there."
    )
}

/// The state of a change's pull request.
pub(crate) enum PullRequestCheck {
    /// The pull request is open and shows the result that the change wants to merge.
    Shown(Box<PullRequest>),
    /// Otherwise the change was stored, and this is the result of the handler.
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
    frozen: &ResultBranch,
) -> Result<PullRequestCheck, StageError> {
    let plan = &claim.change.plan;
    let (repository, branch) = plan.write_target();
    let Some(pull) = &frozen.pull else {
        let Some(base) = require_branch_head(ctx, claim).await? else { return Ok(None.into()) };
        return match &frozen.result {
            Some(result) if result.base == base => open_pull_request(ctx, claim, frozen).await,
            _ => prepare_result_branch(ctx, claim, frozen, base, None).await,
        }
        .map(PullRequestCheck::from);
    };
    if let Some(making) = &frozen.making {
        return Ok(update_result_branch(ctx, claim, frozen, making).await?.into());
    }
    // A pull request cannot be deleted, so Gantry has probably lost its access.
    let gone = || GithubError::NotFound(format!("the pull request #{} of {repository}", pull.number));
    let seen = ctx.github.fetch_pull_request(repository, pull.number).await?.ok_or_else(gone)?;
    match &seen.state {
        PullRequestState::Merged { commit, .. } if seen.base != branch => {
            return Ok(mark_errored(ctx, claim, describe_merge_elsewhere(plan, pull, &seen.base, commit))
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
    if seen.base != branch {
        let retargeted = MergeCondition::Retargeted { base: seen.base };
        return Ok(store_merge_conditions(ctx, claim, vec![retargeted]).await?.into());
    }
    let Some(base) = require_branch_head(ctx, claim).await? else { return Ok(None.into()) };
    if let Some(result) = &frozen.result
        && result.head == seen.head
        && result.base != base
        && is_manifest_unchanged(ctx, plan, &result.base, &base).await?
    {
        // The base is newer, but the merge would still write exactly the content that was shown and approved.
        let result = Some(ResultCommit { base, ..result.clone() });
        return Ok(store_branch_state(ctx, claim, ResultBranch { result, ..frozen.clone() }).await?.into());
    }
    let moved = match &frozen.result {
        Some(result) if result.head != seen.head => Some(VoidReason::Pushed { commit: seen.head.to_string() }),
        Some(result) if result.base == base => None,
        _ => Some(VoidReason::BranchMoved),
    };
    match moved {
        None => Ok(PullRequestCheck::Shown(Box::new(seen))),
        Some(why) => prepare_result_branch(ctx, claim, frozen, base, Some(why)).await.map(PullRequestCheck::from),
    }
}

/// Whether the written manifest is the same in two commits. Many changes write to a branch of manifests, and a change
/// of another file does not void the approvals.
async fn is_manifest_unchanged(ctx: &Context, plan: &Plan, before: &Sha, after: &Sha) -> Result<bool, GithubError> {
    let Some(ManifestFile { repository, file, .. }) = plan.manifest_file() else { return Ok(false) };
    let then = ctx.github.fetch_file(repository, before.as_str(), file).await?;
    Ok(then.is_some() && then == ctx.github.fetch_file(repository, after.as_str(), file).await?)
}

/// Builds the result on top of the environment's branch. If a pull request is open, the result is built on the scratch
/// branch, because GitHub counts a pull request without commits of its own as merged.
async fn prepare_result_branch(
    ctx: &Context,
    claim: &Claim,
    frozen: &ResultBranch,
    base: Sha,
    void: Option<VoidReason>,
) -> Result<Option<Claim>, StageError> {
    let bench = if frozen.pull.is_some() { frozen.scratch_branch() } else { frozen.branch.clone() };
    let head = match build_result_commit(ctx, &claim.change, &bench, &base).await? {
        BuildCommitOutcome::Created(commit) => commit,
        BuildCommitOutcome::AlreadyThere => {
            return Ok(record_manual_merge(ctx, claim, base, String::new()).await?);
        }
        BuildCommitOutcome::Conflict(files) => {
            let now = ctx.clock.now();
            let stage = claim.change.stage.clone().into_conflicted(files, now);
            return Ok(apply_transition(ctx, claim, stage, Some(now)).await?);
        }
        BuildCommitOutcome::Failed(why) => return Ok(mark_errored(ctx, claim, why).await?),
    };
    if !claim.change.plan.is_branch_merge() {
        ctx.github.put_own_branch(claim.change.plan.write_target().0, &bench, &head).await?;
    }
    let result = ResultCommit { base, head };
    let made = match frozen.pull {
        Some(_) => ResultBranch { making: Some(result), ..frozen.clone() },
        None => ResultBranch { result: Some(result), ..frozen.clone() },
    };
    let mut next = Change { frozen: Some(made), ..claim.change.clone() };
    let (now, mut more) = (ctx.clock.now(), Transaction::new());
    if let Some(why) = void
        && let Some(awaiting) = claim.change.stage.awaiting()
    {
        // A push is always announced. A moved branch is announced only if approvals were lost.
        let is_told = !awaiting.approvals.is_empty() || matches!(why, VoidReason::Pushed { .. });
        next.stage = Stage::AwaitingApproval(awaiting.clone().void_approvals(why, now));
        more = more.append_to_ledger(build_ledger_entry(&next, LedgerKind::Voided, Actor::Controller, now));
        if is_told && let Some(said) = render::approve::render_approvals_voided(&next) {
            more =
                more.enqueue_message(build_thread_reply(ctx, &next, &format!("voided:{}", now.as_microsecond()), said));
        }
    }
    advance_change(ctx, &claim.change, claim.fence, next, Some(now), more).await?;
    Ok(None)
}

/// Points the shown branch at its new result. The result is stored before, so that any other commit found on the branch
/// is known to be foreign.
async fn update_result_branch(
    ctx: &Context,
    claim: &Claim,
    frozen: &ResultBranch,
    making: &ResultCommit,
) -> Result<Option<Claim>, StageError> {
    let mut claim = claim.clone();
    let intended = claim.change.clone();
    let intent = store_intent(ctx, &mut claim, intended).await?;
    git_writes::replace_shown_result(ctx, &claim.change, frozen, making, intent).await?;
    let (repository, _) = claim.change.plan.write_target();
    ctx.github.delete_own_branch(repository, &frozen.scratch_branch()).await?;
    let placed = ResultBranch { result: Some(making.clone()), making: None, ..frozen.clone() };
    store_branch_state(ctx, &claim, placed).await
}

async fn open_pull_request(ctx: &Context, claim: &Claim, frozen: &ResultBranch) -> Result<Option<Claim>, StageError> {
    let (change, plan) = (&claim.change, &claim.change.plan);
    let (repository, branch) = plan.write_target();
    let required = change.stage.awaiting().map_or(0, |awaiting| awaiting.required);
    let requester = ctx.people.fetch_display_name(&change.requester).await;
    let body = github::pull_request_text::render_body(change, &requester, required, ctx.clock.now());
    let title = github::pull_request_text::render_title(plan);
    let opened = ctx.github.open_pull_request(repository, &frozen.branch, branch, &title, &body).await?;
    let pull = match opened {
        OpenPullRequestOutcome::Done(pull) => pull,
        OpenPullRequestOutcome::AlreadyExists => {
            let found = ctx.github.find_open_pull_request(repository, &frozen.branch, branch).await?;
            let gone = || GithubError::Unclear("the pull request is there and is not there".to_owned());
            found.ok_or_else(gone)?.pull
        }
        // The branch was reset before the pull request was opened. The result is built again; asking again would not
        // help.
        OpenPullRequestOutcome::NoCommits => {
            return store_branch_state(ctx, claim, ResultBranch { result: None, ..frozen.clone() }).await;
        }
        OpenPullRequestOutcome::Refused(why) => {
            let why = format!("GitHub does not let me open a pull request: {}.", why.trim_end_matches('.'));
            return Ok(mark_errored(ctx, claim, why).await?);
        }
    };
    store_branch_state(ctx, claim, ResultBranch { pull: Some(pull), ..frozen.clone() }).await
}

async fn store_branch_state(ctx: &Context, claim: &Claim, frozen: ResultBranch) -> Result<Option<Claim>, StageError> {
    let next = Change { frozen: Some(frozen), ..claim.change.clone() };
    let now = ctx.clock.now();
    advance_change(ctx, &claim.change, claim.fence, next, Some(now), Transaction::new()).await?;
    Ok(None)
}

/// Records a merge that a person did on GitHub, or a branch that already has the result.
async fn record_manual_merge(ctx: &Context, claim: &Claim, commit: Sha, by: String) -> StageResult {
    record_merge(ctx, claim, commit, None, |deploying| DeployState { by_hand: Some(by), ..deploying }).await
}

async fn cancel_closed_pull_request(ctx: &Context, claim: &Claim) -> StageResult {
    let now = ctx.clock.now();
    let stage = claim.change.stage.clone().into_cancelled(CancelledBy::Github { github: None }, now);
    apply_transition(ctx, claim, stage, Some(now)).await
}

/// Resumes an interrupted merge. Unless GitHub has merged, all conditions are checked again, because time has passed.
pub(crate) async fn resume_pull_request_merge(ctx: &Context, claim: &Claim, frozen: &ResultBranch) -> StageResult {
    let Stage::Merging(merging) = &claim.change.stage else { return Ok(None) };
    if let (true, Some(pull), Some(result)) = (merging.begun, &frozen.pull, &frozen.result) {
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
pub(crate) async fn merge_pull_request(ctx: &Context, claim: &Claim, frozen: &ResultBranch) -> StageResult {
    let (Some(pull), Some(result)) = (&frozen.pull, &frozen.result) else { return Ok(None) };
    let Ok(stage) = claim.change.stage.clone().begin_merge() else { return Ok(None) };
    let begun = Change { stage, ..claim.change.clone() };
    let mut claim = claim.clone();
    let intent = store_intent(ctx, &mut claim, begun).await?;
    match git_writes::merge_pull_request(ctx, &claim.change, pull, result, intent).await {
        Ok(MergePullRequestOutcome::Done(commit)) => record_own_merge(ctx, &claim, pull, result, commit).await,
        // The next check finds the new head and voids the approvals of the old one.
        Ok(MergePullRequestOutcome::HeadMoved) => postpone_merge(ctx, &claim, "the head is not what was shown").await,
        Ok(MergePullRequestOutcome::NotMergeable(why)) => postpone_merge(ctx, &claim, &why).await,
        Ok(MergePullRequestOutcome::Refused(why)) => {
            let why = format!(
                "GitHub does not let me merge the pull request #{}: {}.",
                pull.number,
                why.trim_end_matches('.')
            );
            mark_errored(ctx, &claim, why).await
        }
        Err(error) => {
            let turned_away = matches!(error, GithubError::RateLimited { .. } | GithubError::Throttled { .. });
            handle_merge_error(ctx, &claim, error, !turned_away).await
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
    let look = async {
        let into = ctx.github.fetch_pull_request(repository, pull.number).await?.map(|seen| seen.base);
        let made = ctx.github.resolve_commit(repository, commit.as_str()).await?;
        let onto = made.and_then(|made| made.parents.first().cloned()).filter(|onto| *onto != result.base);
        let beside = match &onto {
            Some(onto) => is_manifest_unchanged(ctx, plan, &result.base, onto).await?,
            None => true,
        };
        Ok::<_, GithubError>((into, onto.filter(|_| !beside)))
    };
    let (into, unseen) = match look.await {
        Ok(seen) => seen,
        Err(error) if error.is_transient() => return handle_merge_error(ctx, claim, error, true).await,
        Err(_) => (None, None),
    };
    if let Some(into) = into.filter(|into| *into != branch) {
        return mark_errored(ctx, claim, describe_merge_elsewhere(plan, pull, &into, &commit)).await;
    }
    record_merge(ctx, claim, commit, None, |deploying| DeployState { unseen, ..deploying }).await
}
