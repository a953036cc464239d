//! The Retry button on the card of a change that ended in an error.

use crate::adapters::slack::render::status;
use crate::adapters::store::Transaction;
use crate::domain::change::plan::Plan;
use crate::domain::change::{Change, ResultBranch};
use crate::domain::model::actor::PersonId;
use crate::domain::model::ids::ChangeId;
use crate::workflow::changes::transition::build_retry_transaction;
use crate::workflow::commands::promote::promote;
use crate::workflow::commands::rollback::retry_rollback;
use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, RetryLater};
use crate::workflow::planning::promotion::{PromotionRequest, VersionSelector};
use crate::workflow::requests::reply::{Request, Response};

/// The button on the card of a change that ended in an error.
pub(crate) async fn handle_retry_click(
    ctx: &Context,
    request: Request<'_>,
    value: &str,
) -> Result<Response, RetryLater> {
    let Some(id) = ChangeId::parse(value) else { return Ok(Response::default()) };
    let Some(change) = ctx.store.find_change(id).await.map_err(|error| RetryLater::from_store_error(&error))? else {
        return Ok(request.reply_private(status::render_unknown_change(&id.to_short_id())));
    };
    if change.plan.rollback.is_some() {
        return retry_rollback(ctx, request, change).await;
    }
    let wish = PromotionRequest {
        requester: request.from.person.clone(),
        selector: VersionSelector::from_plan(&change.plan),
        artefact: change.plan.artefact,
        environment: Some(change.plan.environment),
        override_reason: None,
    };
    promote(ctx, request, &wish, false).await
}

/// The same change once more, from the step that failed, with what is known of it now.
pub(crate) async fn retry_change(
    ctx: &Context,
    errored: &Change,
    plan: Plan,
    person: &PersonId,
) -> Result<(Change, Transaction), LookupError> {
    let overtaken = || LookupError::new_transient("somebody else was faster".to_owned());
    let claim = ctx.store.claim_changes(vec![errored.id]).await?.pop().ok_or_else(overtaken)?;
    let now = ctx.clock.now();
    let Ok(stage) = claim.change.stage.clone().retry_from_error(now) else { return Err(overtaken()) };
    // What was shown was put away: it is made anew. What Git was to move to is looked for.
    let frozen = match claim.change.pull_request_branch() {
        Some(_) => Some(ResultBranch::from_change_id(claim.change.id)),
        None => claim.change.frozen.clone(),
    };
    // Whoever takes it up again is the one who wants to hear of its end.
    let (requester, taken_up_at) = (person.clone(), Some(now));
    let change = Change { requester, taken_up_at, plan, stage, frozen, ..claim.change };
    let transaction = build_retry_transaction(ctx, &errored.stage, claim.fence, &change);
    Ok((change, transaction))
}
