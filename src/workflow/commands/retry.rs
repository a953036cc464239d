//! The Retry button on the card of a change that ended in an error.

use crate::adapters::slack::render::status;
use crate::domain::model::ids::ChangeId;
use crate::workflow::commands::promote::promote;
use crate::workflow::commands::rollback::retry_rollback;
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
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
