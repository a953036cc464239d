//! The two results of planning: the plan is shown and waits for a confirmation, or it becomes a change.

use crate::adapters::slack::render::{plan, rollback};
use crate::domain::change::Change;
use crate::domain::change::plan::Plan;
use crate::domain::model::environment::EnvironmentName;
use crate::workflow::changes::begin::{begin_change, build_shown_plan, retry_change, supersede_change};
use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, RetryLater};
use crate::workflow::requests::reply::{Request, Response};

/// Shows a plan, which becomes a change when it is confirmed. `others` are the other environments that are behind.
pub(crate) fn show_plan(ctx: &Context, request: Request<'_>, plan: Plan, others: &[EnvironmentName]) -> Response {
    let shown = build_shown_plan(ctx, plan, &request.from.person);
    let message = if shown.plan.is_rollback() {
        rollback::render_confirmation(&shown.plan, shown.id)
    } else {
        plan::render_confirmation(&shown.plan, shown.id, others)
    };
    let mut response = request.reply_private(message);
    response.transaction = response.transaction.insert_plan(shown);
    response
}

/// Makes a plan a change: the errored change resumes, or a new one begins.
pub(crate) async fn begin_plan(
    ctx: &Context,
    request: Request<'_>,
    plan: Plan,
    errored: Option<Box<Change>>,
    others: Option<&[EnvironmentName]>,
) -> Result<Response, RetryLater> {
    let begun = match errored {
        Some(errored) => retry_change(ctx, &errored, plan, &request.from.person)
            .await
            .map(|(change, transaction)| request.reply_change_begun(change, transaction, others)),
        None => begin_new_change(ctx, request, plan, others).await,
    };
    begun.or_else(|error| request.reply_lookup_error(&error))
}

async fn begin_new_change(
    ctx: &Context,
    request: Request<'_>,
    plan: Plan,
    others: Option<&[EnvironmentName]>,
) -> Result<Response, LookupError> {
    let to_supersede = plan.supersedes.clone();
    let (change, transaction) = begin_change(ctx, plan, &request.from.person, &request.from.channel).await;
    let Some(superseded) = to_supersede else { return Ok(request.reply_change_begun(change, transaction, others)) };
    let (before, supersession) = supersede_change(ctx, &superseded, change.id).await?;
    // The superseded change releases the change lock before the new one takes it.
    let mut response = request.reply_change_begun(change, supersession.append(transaction), others);
    response.changes.insert(0, before);
    Ok(response)
}
