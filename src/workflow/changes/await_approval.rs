//! The handler of the stage `AwaitingApproval`: collects approvals from Slack and from reviews on GitHub, checks the
//! other conditions, and merges when all of them hold.

use jiff::SignedDuration;

use crate::adapters::github::{GithubError, MergeReadiness, PullRequest, Review, ReviewVerdict};
use crate::adapters::store::{Claim, Transaction};
use crate::domain::change::approval::{Approval, ApprovalPlatform, ApprovalState, IgnoredReview, IgnoredReviewReason};
use crate::domain::change::plan::Plan;
use crate::domain::change::{CancelledBy, Change, ResultBranch, Stage};
use crate::domain::model::version::Sha;
use crate::domain::rules::facts::{CheckedCommit, GateInputs};
use crate::domain::rules::gate::{self, Gate};
use crate::domain::rules::merge_condition::MergeCondition;
use crate::workflow::changes::pull_request::{PullRequestCheck, merge_pull_request, sync_pull_request};
use crate::workflow::changes::transition::{
    StageResult, advance_stage, apply_transition, mark_errored, retry_approval_later, store_approval_state,
};
use crate::workflow::context::Context;
use crate::workflow::error::{ApprovalCheckError, StageError};
use crate::workflow::planning::gate_inputs::{find_unmet_conditions, find_valid_override};

/// The poll interval while GitHub computes whether the pull request can be merged.
const MERGEABILITY_POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(2);

/// The result of one check of a waiting change.
struct ApprovalCheck {
    approvals: Vec<Approval>,
    ignored: Vec<IgnoredReview>,
    waits_for: Vec<MergeCondition>,
}

/// Checks a waiting change. Merges it when all conditions hold, else stores the open conditions.
pub(crate) async fn await_approval(ctx: &Context, claim: &Claim) -> StageResult {
    let Stage::AwaitingApproval(awaiting) = &claim.change.stage else { return Ok(None) };
    let now = ctx.clock.now();
    if let Some(by) = claim.cancel_requested_by.clone() {
        let stage = claim.change.stage.clone().into_cancelled(CancelledBy::Person(by), now);
        return apply_transition(ctx, claim, stage, Some(now)).await;
    }
    // Woken early. Asking GitHub now would use rate limit that other changes need.
    if awaiting.retry.is_some() && claim.due_at.is_some_and(|due| due > now) {
        return Ok(None);
    }
    let environment = &claim.change.plan.environment;
    let Some(policy) = ctx.config.catalogue.ladder.find_policy(environment) else {
        // Without the environment's rules, no change may be merged into it.
        return mark_errored(ctx, claim, format!("{environment} is not configured any more.")).await;
    };
    // The current policy counts, not the policy at the time of the request.
    let required = policy.approvals.as_ref().map_or(0, |approvals| approvals.required);
    // A rollback needs no approvals; it waits only for GitHub.
    let required = if claim.change.plan.is_rollback() { 0 } else { required };
    let awaiting = &ApprovalState { required, ..awaiting.clone() };
    match check_approval_and_merge(ctx, claim, awaiting).await {
        Ok(next) => Ok(next),
        Err(StageError::Store(error)) => Err(error),
        Err(StageError::Github(error)) if error.is_transient() => retry_approval_later(ctx, claim, &error).await,
        Err(StageError::Github(error)) => mark_errored(ctx, claim, format!("{error}.")).await,
    }
}

async fn check_approval_and_merge(
    ctx: &Context,
    claim: &Claim,
    awaiting: &ApprovalState,
) -> Result<Option<Claim>, StageError> {
    let check = match claim.change.pull_request_branch() {
        None => run_approval_check(ctx, claim, awaiting, None).await?,
        Some(result_branch) => {
            let pull = match sync_pull_request(ctx, claim, result_branch).await? {
                PullRequestCheck::Shown(pull) => pull,
                PullRequestCheck::Stored(next) => return Ok(next.map(|next| *next)),
            };
            if pull.mergeable == MergeReadiness::Conflict {
                return Ok(record_conflict(ctx, claim, result_branch).await?);
            }
            run_approval_check(ctx, claim, awaiting, Some(&pull)).await?
        }
    };
    let ApprovalCheck { approvals, ignored, waits_for } = check;
    let is_computing = waits_for.contains(&MergeCondition::Mergeability);
    let now = ctx.clock.now();
    let state = ApprovalState { approvals, ignored, waits_for, retry: None, ..awaiting.clone() };
    // Checked before the merge. Otherwise a pull request that GitHub never merges would be tried for ever and keep the
    // change lock.
    if now >= state.deadline {
        let expired = Stage::AwaitingApproval(state).into_expired(now);
        return Ok(apply_transition(ctx, claim, expired, Some(now)).await?);
    }
    if state.is_approved() && state.waits_for.is_empty() {
        let state = ApprovalState { retry: awaiting.retry.clone(), ..state };
        let Ok(merging) = Stage::AwaitingApproval(state).into_merging() else { return Ok(None) };
        let change = advance_stage(ctx, &claim.change, claim.fence, merging, Some(now), Transaction::new()).await?;
        let claim = Claim { change, due_at: Some(now), ..claim.clone() };
        // The merge of a pull request relies on the check above, so it happens here and not in the handler of
        // `Merging`.
        return match claim.change.pull_request_branch() {
            Some(result_branch) => Ok(merge_pull_request(ctx, &claim, result_branch).await?),
            None => Ok(Some(claim)),
        };
    }
    Ok(store_approval_state(ctx, claim, state, is_computing.then(|| now + MERGEABILITY_POLL_INTERVAL)).await?)
}

async fn record_conflict(ctx: &Context, claim: &Claim, result_branch: &ResultBranch) -> StageResult {
    let plan = &claim.change.plan;
    let (repository, branch) = plan.write_target();
    let files = match result_branch.result.as_ref().map(|result| &result.head) {
        Some(head) => ctx.github.list_files_both_changed(repository, branch, head).await.unwrap_or_default(),
        None => Vec::new(),
    };
    let now = ctx.clock.now();
    let stage = claim.change.stage.clone().into_conflicted(files, now);
    apply_transition(ctx, claim, stage, Some(now)).await
}

async fn run_approval_check(
    ctx: &Context,
    claim: &Claim,
    awaiting: &ApprovalState,
    pull: Option<&PullRequest>,
) -> Result<ApprovalCheck, StageError> {
    let (change, plan) = (&claim.change, &claim.change.plan);
    let mut check = ApprovalCheck { approvals: Vec::new(), ignored: Vec::new(), waits_for: Vec::new() };
    match collect_approvals(ctx, change, awaiting, pull, &mut check).await {
        Ok(()) => {}
        Err(ApprovalCheckError::Stage(error)) => return Err(error),
        Err(ApprovalCheckError::Lookup(error)) => {
            // The approvers cannot be looked up now. All stored approvals are kept, and the merge waits.
            check.approvals.clone_from(&awaiting.approvals);
            check.waits_for.push(MergeCondition::PermissionUnknown { reason: error.to_string() });
        }
    }
    if let Some(pull) = pull {
        // If the override right cannot be checked, the gate counts as not overridden; `find_unmet_conditions` reports
        // the error.
        let overridden = find_valid_override(ctx, plan).await.ok().flatten();
        // A rollback restores a version that ran well, so Gantry does not wait for its checks. GitHub's own rules may.
        if !plan.is_rollback() && !overridden.is_some_and(|overridden| overridden.has_gate(&Gate::Checks)) {
            check.waits_for.extend(find_unmet_checks(ctx, plan, &pull.head).await?);
        }
        match pull.mergeable {
            MergeReadiness::Computing => check.waits_for.push(MergeCondition::Mergeability),
            MergeReadiness::Blocked => {
                let reviews =
                    match ctx.github.count_required_reviews(plan.write_target().0, plan.write_target().1).await {
                        Ok(reviews) => reviews,
                        Err(error) if error.is_transient() => return Err(error.into()),
                        // The number is only shown on the card. GitHub requires the reviews in any case.
                        Err(_) => 0,
                    };
                check.waits_for.push(MergeCondition::GithubRules { reviews });
            }
            MergeReadiness::Conflict | MergeReadiness::Ready => {}
        }
    }
    check.waits_for.extend(find_unmet_conditions(ctx, change).await?);
    Ok(check)
}

async fn find_unmet_checks(ctx: &Context, plan: &Plan, head: &Sha) -> Result<Vec<MergeCondition>, GithubError> {
    let checks = ctx.github.fetch_checks(plan.write_target().0, head).await?;
    let checks_required =
        ctx.config.catalogue.ladder.find_policy(&plan.environment).is_some_and(|policy| policy.checks_required);
    let checked_commit = Some(CheckedCommit { commit: head.clone(), checks });
    Ok(gate::find_gate_conditions(&GateInputs { checked_commit, checks_required, ..GateInputs::default() }, None))
}

/// Collects the approvals of the shown commit by people who may approve now.
async fn collect_approvals(
    ctx: &Context,
    change: &Change,
    awaiting: &ApprovalState,
    pull: Option<&PullRequest>,
    check: &mut ApprovalCheck,
) -> Result<(), ApprovalCheckError> {
    let plan = &change.plan;
    for approval in awaiting.approvals.iter().filter(|approval| approval.platform == ApprovalPlatform::Slack) {
        if ctx.permissions.may_approve(&approval.by, &plan.environment, &plan.repository).await? {
            check.approvals.push(approval.clone());
        }
    }
    let Some(pull) = pull else { return Ok(()) };
    let repository = plan.write_target().0;
    let reviews = ctx.github.fetch_reviews(repository, pull.pull.number).await.map_err(StageError::from)?;
    if reviews.is_empty() {
        return Ok(());
    }
    let requester_login = ctx.permissions.find_login(&change.requester, repository).await?;
    let mut objectors = Vec::new();
    for review in keep_latest_reviews(reviews) {
        let outdated = review.verdict == ReviewVerdict::Approved && review.commit.as_ref() != Some(&pull.head);
        // Such a review never counts, so GitHub need not be asked about the reviewer's rights.
        if outdated || review.verdict == ReviewVerdict::Dismissed {
            continue;
        }
        let may_write = ctx.github.may_write(repository, &review.login).await.map_err(StageError::from)?;
        match review.verdict {
            ReviewVerdict::ChangesRequested if may_write => objectors.push(review.login),
            ReviewVerdict::Approved => {
                let ignored = |why| IgnoredReview { login: review.login.clone(), reason: why };
                if !may_write {
                    check.ignored.push(ignored(IgnoredReviewReason::NoAccess));
                    continue;
                }
                let Some(requester_login) = &requester_login else {
                    check.ignored.push(ignored(IgnoredReviewReason::RequesterUnmapped));
                    continue;
                };
                if requester_login.eq_ignore_ascii_case(&review.login) {
                    check.ignored.push(ignored(IgnoredReviewReason::Requester));
                    continue;
                }
                let Some(person) = ctx.permissions.find_person(&review.login, repository).await? else {
                    check.ignored.push(ignored(IgnoredReviewReason::Unmapped));
                    continue;
                };
                if person == change.requester {
                    check.ignored.push(ignored(IgnoredReviewReason::Requester));
                } else if !ctx.permissions.may_approve(&person, &plan.environment, &plan.repository).await? {
                    check.ignored.push(ignored(IgnoredReviewReason::NotAsked));
                } else if !check.approvals.iter().any(|approval| approval.by == person) {
                    let at = review.submitted_at.unwrap_or_else(|| ctx.clock.now());
                    check.approvals.push(Approval { by: person, at, platform: ApprovalPlatform::Github });
                }
            }
            ReviewVerdict::ChangesRequested | ReviewVerdict::Dismissed => {}
        }
    }
    if !objectors.is_empty() {
        check.waits_for.push(MergeCondition::ChangesRequested { logins: objectors });
    }
    Ok(())
}

/// The latest review of each person. `fetch_reviews` leaves out comments, so a comment does not withdraw an approval.
fn keep_latest_reviews(reviews: Vec<Review>) -> Vec<Review> {
    let mut latest: Vec<Review> = Vec::new();
    for review in reviews {
        latest.retain(|before| !before.login.eq_ignore_ascii_case(&review.login));
        latest.push(review);
    }
    latest
}
