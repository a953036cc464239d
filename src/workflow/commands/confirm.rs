//! Confirm and Cancel on a plan that was shown, for promotions and rollbacks.

use crate::adapters::slack::render::status;
use crate::adapters::store::Transaction;
use crate::domain::model::ids::ChangeId;
use crate::workflow::changes::begin::is_plan_valid;
use crate::workflow::commands::plan_outcome::{begin_confirmed_plan, show_plan};
use crate::workflow::commands::rollback::{OnConflict, confirm_rollback};
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::planning::promotion::{PromotionDecision, PromotionRequest, VersionSelector, decide_promotion};
use crate::workflow::requests::reply::{Request, Response};

/// A plan that was shown is confirmed or, without a `yes`, dropped: checked again, for the commit that was shown.
pub(crate) async fn handle_plan_decision(
    ctx: &Context,
    request: Request<'_>,
    value: &str,
    yes: Option<OnConflict>,
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
    let used = Transaction::new().use_plan(shown.id);
    let Some(meeting) = yes else {
        let mut work = request.reply_private(status::render_plan_discarded());
        work.transaction = used.append(work.transaction);
        return Ok(work);
    };
    if shown.plan.rollback.is_some() {
        let mut work = confirm_rollback(ctx, request, &shown, meeting).await?;
        work.transaction = used.append(work.transaction);
        return Ok(work);
    }
    let wish = PromotionRequest {
        requester: request.from.person.clone(),
        artefact: shown.plan.artefact.clone(),
        environment: Some(shown.plan.environment.clone()),
        selector: VersionSelector::from_plan(&shown.plan),
        override_reason: shown.plan.overridden.as_ref().map(|overridden| overridden.reason.as_str().into()),
    };
    let mut work = match Box::pin(decide_promotion(ctx, &wish)).await {
        // What nobody was asked about is not done by the yes to something else.
        Ok(PromotionDecision::Planned { plan, .. })
            if plan.supersedes != shown.plan.supersedes
                || plan.overridden != shown.plan.overridden
                || plan.holds_to_lift != shown.plan.holds_to_lift
                || plan.image != shown.plan.image
                || (plan.manifest.is_some() && !plan.version.is_same_image(&shown.plan.version)) =>
        {
            show_plan(ctx, request, *plan, &[])
        }
        Ok(PromotionDecision::Planned { plan, .. }) => match begin_confirmed_plan(ctx, request, *plan).await {
            Ok(work) => work,
            Err(error) => request.reply_lookup_error(&error)?,
        },
        Ok(PromotionDecision::Refused(no)) => request.reply_refusal(&no),
        Err(error) => request.reply_lookup_error(&error)?,
    };
    work.transaction = used.append(work.transaction);
    Ok(work)
}
