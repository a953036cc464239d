//! Rolls back a failed promotion if the environment's policy has `auto_rollback`.

use jiff::SignedDuration;

use crate::adapters::slack::render::refusal;
use crate::adapters::store::{Claim, StoreError, Transaction};
use crate::domain::change::plan::Plan;
use crate::domain::change::{Change, DeployState, FailureEvidence, RollbackStatus, Stage};
use crate::domain::rules::rollback::RollbackEvidence;
use crate::workflow::changes::begin::begin_change;
use crate::workflow::changes::transition::{advance_stage, build_advance_transaction};
use crate::workflow::context::Context;
use crate::workflow::facts::rollout_check::{RolloutCheck, check_rollout, is_result_running};
use crate::workflow::planning::rollback::{RollbackDecision, RollbackRequest, RollbackTarget, decide_rollback};

/// The pause before the next try after a lookup failed.
pub(crate) const LOOKUP_RETRY_INTERVAL: SignedDuration = SignedDuration::from_secs(15);

/// After this time, a failure is not rolled back automatically any more.
pub(crate) const AUTO_ROLLBACK_WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// Whether an automatic rollback of the change is due. Only a promotion is rolled back, only once, and only if the
/// cluster could be read. A failure that only a health report shows is not enough.
pub(crate) fn auto_rollback_due(ctx: &Context, change: &Change) -> bool {
    let policy = ctx.config.catalogue.ladder.find_policy(&change.plan.environment);
    let (Stage::Failed { deploying, at, .. } | Stage::Stalled { deploying, at, unread: false, .. }) = &change.stage
    else {
        return false;
    };
    if change.stage.unconfirmed_failure().is_some() {
        return false;
    }
    // An older failure is left to people. So switching `auto_rollback` on does not roll back old failures.
    if ctx.clock.now().duration_since(*at) > AUTO_ROLLBACK_WINDOW {
        return false;
    }
    policy.is_some_and(|policy| policy.auto_rollback) && !change.plan.is_rollback() && deploying.rolled_back.is_none()
}

/// Whether another try is still within [`AUTO_ROLLBACK_WINDOW`].
pub(crate) fn can_retry_auto_rollback(ctx: &Context, change: &Change) -> bool {
    match &change.stage {
        Stage::Failed { at, .. } | Stage::Stalled { at, .. } => {
            ctx.clock.now().duration_since(*at) + LOOKUP_RETRY_INTERVAL < AUTO_ROLLBACK_WINDOW
        }
        _ => false,
    }
}

/// Begins the automatic rollback, schedules another try, or marks the rollback as impossible. `false`: the handler must
/// end here.
pub(crate) async fn try_auto_rollback(ctx: &Context, claim: &mut Claim) -> Result<bool, StoreError> {
    let change = &claim.change;
    let rollback_request = RollbackRequest {
        requester: change.requester.clone(),
        artefact: change.plan.artefact.clone(),
        environment: change.plan.environment.clone(),
        target_version: RollbackTarget::Previous,
        reason: change.describe_failure().map(Into::into),
        change_to_undo: Some(change.id),
        automatic: true,
    };
    let reason = match decide_rollback(ctx, &rollback_request).await {
        Ok(RollbackDecision::Planned { plan, .. }) => match find_auto_rollback_obstacle(&plan) {
            Some(obstacle) => obstacle.to_owned(),
            None => return begin_auto_rollback(ctx, claim, *plan).await,
        },
        Ok(RollbackDecision::Conflict { .. }) => "another change is under way".to_owned(),
        Ok(RollbackDecision::Refused(refused)) => refusal::render_refusal(&refused).text,
        Err(error) if error.transient && can_retry_auto_rollback(ctx, &claim.change) => {
            let due = Some(ctx.clock.now() + LOOKUP_RETRY_INTERVAL);
            ctx.store.commit(Transaction::new().advance_change(claim.change.clone(), claim.fence, due)).await?;
            return Ok(false);
        }
        Err(error) => error.to_string(),
    };
    let status = RollbackStatus::Impossible { why: reason };
    let stage = claim.change.stage.clone();
    let Ok(stage) = stage.update_deploying(|state| DeployState { rolled_back: Some(status), ..state }) else {
        return Ok(true);
    };
    claim.change =
        advance_stage(ctx, &claim.change, claim.fence, stage, Some(ctx.clock.now()), Transaction::new()).await?;
    Ok(true)
}

/// Begins the automatic rollback, unless the result runs by now. `false`: the handler must end here.
pub(crate) async fn begin_auto_rollback(ctx: &Context, claim: &mut Claim, plan: Plan) -> Result<bool, StoreError> {
    let promotion = &claim.change;
    // Planning took time, and the result may run by now.
    if is_result_running(ctx, promotion).await {
        return Ok(true);
    }
    let channel = promotion.requested_in.clone().unwrap_or_default();
    let (change, begin_transaction) = begin_change(ctx, plan, &promotion.requester, &channel).await;
    let status = RollbackStatus::Begun { by: change.id };
    let stage = promotion.stage.clone();
    let Ok(stage) = stage.update_deploying(|state| DeployState { rolled_back: Some(status), ..state }) else {
        return Ok(true);
    };
    let marked = Change { stage, ..promotion.clone() };
    let transaction = build_advance_transaction(ctx, promotion, claim.fence, &marked, None).append(begin_transaction);
    match ctx.store.commit(transaction).await {
        Ok(()) => {
            ctx.open_changes.record_change(marked);
            ctx.open_changes.record_change(change);
            Ok(false)
        }
        // Another change has begun meanwhile and replaces the automatic rollback.
        Err(StoreError::ChangeLockHeld) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Why a plan must not begin automatically: only a person may pass a lock or accept an uncertain version.
pub(crate) fn find_auto_rollback_obstacle(plan: &Plan) -> Option<&'static str> {
    let details = plan.rollback_details()?;
    if !details.locks.is_empty() {
        return Some("it is locked, and only a person passes a lock");
    }
    if details.evidence != RollbackEvidence::Ledger {
        return Some("I have seen no version before it run well there");
    }
    plan.is_image_unconfirmed().then_some("the registry cannot tell whether the image of the version before is there")
}

/// The poll interval while the state of the rollout is not clear.
pub(crate) const AUTO_ROLLBACK_POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// Begins the automatic rollback if the result does not run, and checks again later if the state is not clear. `false`:
/// the handler must end here.
pub(crate) async fn maybe_auto_rollback(ctx: &Context, claim: &mut Claim) -> Result<bool, StoreError> {
    let Some(result) = claim.change.stage.deploying().map(|deploying| deploying.result.clone()) else {
        return Ok(true);
    };
    let is_late =
        matches!(claim.change.stage, Stage::Stalled { .. } | Stage::Failed { evidence: FailureEvidence::Deadline, .. });
    match check_rollout(ctx, &claim.change, &result).await {
        RolloutCheck::Running { .. } => Ok(true),
        RolloutCheck::NotDeployed { .. } => try_auto_rollback(ctx, claim).await,
        RolloutCheck::Failed { evidence, .. } if evidence.can_trigger_auto_rollback() => {
            try_auto_rollback(ctx, claim).await
        }
        RolloutCheck::Failed { .. } | RolloutCheck::RollingOut(_) if is_late => try_auto_rollback(ctx, claim).await,
        // The state is not clear: the workload may be recovering, although an earlier report says that it failed. Check
        // again.
        RolloutCheck::Failed { .. }
        | RolloutCheck::RollingOut(_)
        | RolloutCheck::Unrecorded { .. }
        | RolloutCheck::Unclear(_) => {
            let due = Some(ctx.clock.now() + AUTO_ROLLBACK_POLL_INTERVAL);
            ctx.store.commit(Transaction::new().advance_change(claim.change.clone(), claim.fence, due)).await?;
            Ok(false)
        }
    }
}
