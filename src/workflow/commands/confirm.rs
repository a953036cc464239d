//! Confirm and Cancel on a plan that was shown, for promotions and rollbacks.

use crate::adapters::slack::render::{rollback, status};
use crate::adapters::store::{ShownPlan, Transaction};
use crate::domain::change::Change;
use crate::domain::change::plan::Plan;
use crate::domain::model::ids::ChangeId;
use crate::workflow::changes::begin::is_plan_valid;
use crate::workflow::commands::plan_outcome::{begin_plan, show_plan};
use crate::workflow::commands::rollback::ask_about_conflict;
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::planning::promotion::{PromotionDecision, PromotionRequest, decide_promotion};
use crate::workflow::planning::rollback::{RollbackDecision, RollbackRequest, decide_rollback};
use crate::workflow::requests::reply::{Request, Response};

/// How a rollback treats a promotion that is being merged.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum OnConflict {
    /// The person has not chosen yet.
    Ask,
    Cancel,
    Wait,
}

/// A shown plan, planned again when it is confirmed.
enum Replanned {
    Plan {
        plan: Box<Plan>,
        errored_change: Option<Box<Change>>,
    },
    /// There is no plan any more; the response says why.
    Answered(Response),
}

/// Confirms a shown plan or, if `confirmed` is `None`, discards it. A confirmed plan is first made again for the same
/// version, because the facts may have changed.
pub(crate) async fn handle_plan_decision(
    ctx: &Context,
    request: Request<'_>,
    value: &str,
    confirmed: Option<OnConflict>,
) -> Result<Response, RetryLater> {
    let request = Request { replaces_message: true, ..request };
    let shown = match ChangeId::parse(value) {
        Some(id) => ctx.store.find_shown_plan(id).await.map_err(|error| RetryLater::from_store_error(&error))?,
        None => None,
    };
    let Some(shown) = shown.filter(|shown| is_plan_valid(ctx, shown)) else {
        return Ok(request.reply_private(status::render_plan_expired()));
    };
    if shown.person != request.from.person {
        return Ok(Request { replaces_message: false, ..request }.reply_private(status::render_not_your_plan()));
    }
    let mut response = match confirmed {
        Some(on_conflict) => confirm_plan(ctx, request, &shown, on_conflict).await?,
        None => request.reply_private(status::render_plan_discarded()),
    };
    response.transaction = Transaction::new().use_plan(shown.id).append(response.transaction);
    Ok(response)
}

async fn confirm_plan(
    ctx: &Context,
    request: Request<'_>,
    shown: &ShownPlan,
    on_conflict: OnConflict,
) -> Result<Response, RetryLater> {
    let is_rollback = shown.plan.is_rollback();
    let replanned = if is_rollback {
        replan_rollback(ctx, request, shown, on_conflict).await?
    } else {
        replan_promotion(ctx, request, &shown.plan).await?
    };
    let (plan, errored) = match replanned {
        Replanned::Plan { plan, errored_change } => (*plan, errored_change),
        Replanned::Answered(response) => return Ok(response),
    };
    let has_changed = match on_conflict {
        _ if !is_rollback => has_promotion_changed(&plan, &shown.plan),
        OnConflict::Ask => has_rollback_changed(&plan, &shown.plan),
        OnConflict::Cancel | OnConflict::Wait => has_changed_after_conflict(&plan, &shown.plan),
    };
    // If the new plan differs from the one shown, ask again.
    if has_changed {
        return Ok(show_plan(ctx, request, plan, &[]));
    }
    begin_plan(ctx, request, plan, errored, None).await
}

async fn replan_promotion(ctx: &Context, request: Request<'_>, shown: &Plan) -> Result<Replanned, RetryLater> {
    let promotion_request = PromotionRequest {
        override_reason: shown.gate_override.as_ref().map(|overridden| overridden.reason.as_str().into()),
        ..PromotionRequest::from_plan(&request.from.person, shown)
    };
    match Box::pin(decide_promotion(ctx, &promotion_request)).await {
        // The person confirmed a new change, so an errored one is not resumed.
        Ok(PromotionDecision::Planned { plan, .. }) => Ok(Replanned::Plan { plan, errored_change: None }),
        Ok(PromotionDecision::Refused(refusal)) => Ok(Replanned::Answered(request.reply_refusal(&refusal))),
        Err(error) => request.reply_lookup_error(&error).map(Replanned::Answered),
    }
}

async fn replan_rollback(
    ctx: &Context,
    request: Request<'_>,
    shown: &ShownPlan,
    on_conflict: OnConflict,
) -> Result<Replanned, RetryLater> {
    match decide_rollback(ctx, &RollbackRequest::from_plan(&request.from.person, &shown.plan)).await {
        Ok(RollbackDecision::Planned { plan, errored_change }) => Ok(Replanned::Plan { plan, errored_change }),
        Ok(RollbackDecision::Conflict { plan, holder })
            if on_conflict == OnConflict::Ask || find_conflicting_change(&shown.plan) != Some(holder.id) =>
        {
            Ok(Replanned::Answered(ask_about_conflict(ctx, request, *plan, &holder)))
        }
        Ok(RollbackDecision::Conflict { plan, holder }) => {
            if on_conflict == OnConflict::Cancel {
                let cancel = Transaction::new().request_cancel(holder.id, request.from.person.clone());
                ctx.store.commit(cancel).await.map_err(|error| RetryLater::from_store_error(&error))?;
            }
            let reason = format!("change {} is being merged", holder.id.to_short_id());
            Err(RetryLater::with_polling(reason, rollback::render_wait_timeout(&plan)))
        }
        Ok(RollbackDecision::Refused(refusal)) => Ok(Replanned::Answered(request.reply_refusal(&refusal))),
        Err(error) => request.reply_lookup_error(&error).map(Replanned::Answered),
    }
}

/// The change that the plan supersedes or conflicts with.
fn find_conflicting_change(plan: &Plan) -> Option<ChangeId> {
    plan.supersedes.as_ref().map(|conflict| conflict.id)
}

/// Whether a promotion would have effects that were not shown.
fn has_promotion_changed(plan: &Plan, shown: &Plan) -> bool {
    plan.supersedes != shown.supersedes
        || plan.gate_override != shown.gate_override
        || plan.holds_to_lift != shown.holds_to_lift
        || plan.image != shown.image
        || (plan.manifest_file().is_some() && !plan.version.is_same_image(&shown.version))
}

/// Whether a rollback would have effects that were not shown.
fn has_rollback_changed(plan: &Plan, shown: &Plan) -> bool {
    // Commits that were pushed since the plan was shown would be lost, too.
    plan.head != shown.head
        || !has_same_from_version(plan, shown)
        || plan.supersedes != shown.supersedes
        || has_different_effects(plan, shown)
}

/// Like [`has_rollback_changed`], after a conflict. The conflicting promotion may have been merged or have ended
/// meanwhile.
fn has_changed_after_conflict(plan: &Plan, shown: &Plan) -> bool {
    let conflicting = find_conflicting_change(shown);
    let is_from_conflict = plan
        .rollback_details()
        .is_some_and(|details| details.rolled_back_change.is_some() && details.rolled_back_change == conflicting);
    let superseded = find_conflicting_change(plan);
    let is_same_state = has_same_from_version(plan, shown) && plan.head == shown.head;
    !(is_same_state || is_from_conflict)
        || (superseded.is_some() && superseded != conflicting)
        || has_different_effects(plan, shown)
}

fn has_same_from_version(plan: &Plan, shown: &Plan) -> bool {
    match (&plan.from, &shown.from) {
        (Some(now), Some(then)) => now.is_same_as(then),
        (now, then) => now.is_none() && then.is_none(),
    }
}

fn has_different_effects(plan: &Plan, shown: &Plan) -> bool {
    let locks = |plan: &Plan| plan.rollback_details().map(|details| details.locks.clone());
    plan.image != shown.image || locks(plan) != locks(shown) || plan.co_deployed != shown.co_deployed
}
