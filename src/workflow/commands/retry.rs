//! The Retry button on the card of a change that ended in an error.

use crate::adapters::slack::render::status;
use crate::domain::change::plan::Plan;
use crate::domain::change::{Change, Stage};
use crate::domain::model::ids::ChangeId;
use crate::domain::rules::refusal::Refusal;
use crate::workflow::commands::promote::promote;
use crate::workflow::commands::rollback::roll_back;
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::planning::promotion::PromotionRequest;
use crate::workflow::planning::rollback::RollbackRequest;
use crate::workflow::requests::reply::{Request, Response};

pub(crate) async fn handle_retry_click(
    ctx: &Context,
    request: Request<'_>,
    value: &str,
) -> Result<Response, RetryLater> {
    let Some(id) = ChangeId::parse(value) else { return Ok(Response::default()) };
    let Some(change) = ctx.store.find_change(id).await.map_err(|error| RetryLater::from_store_error(&error))? else {
        return Ok(request.reply_private(status::render_unknown_change(&id.to_short_id())));
    };
    let requester = &request.from.person;
    if !change.plan.is_rollback() {
        return promote(ctx, request, &PromotionRequest::from_plan(requester, &change.plan), false).await;
    }
    if !is_last_and_errored(ctx, &change).await? {
        // Another change has moved the environment since. A person must request a new rollback, which shows the version
        // that it would leave.
        let Plan { artefact, environment, version, .. } = change.plan;
        return Ok(request.reply_refusal(&Refusal::NoLongerDeployed { artefact, environment, version, current: None }));
    }
    roll_back(ctx, request, &RollbackRequest::from_plan(requester, &change.plan)).await
}

/// Whether the change is still the newest under its change lock, and errored.
async fn is_last_and_errored(ctx: &Context, change: &Change) -> Result<bool, RetryLater> {
    let newest = ctx
        .store
        .list_changes_of(&change.change_lock_key(), 1)
        .await
        .map_err(|error| RetryLater::from_store_error(&error))?;
    let is_newest = newest.first().is_some_and(|newest| newest.id == change.id);
    Ok(is_newest && matches!(change.stage, Stage::Errored { .. }))
}
