//! The two results of planning: the plan is shown and waits for a confirmation, or it becomes a change.

use crate::adapters::slack::render::{plan, rollback};
use crate::domain::change::plan::Plan;
use crate::domain::model::environment::EnvironmentName;
use crate::workflow::changes::begin::{begin_change, build_shown_plan, supersede_change};
use crate::workflow::context::Context;
use crate::workflow::error::LookupError;
use crate::workflow::requests::reply::{Request, Response};

/// Shows a plan, which becomes a change only by a yes.
pub(crate) fn show_plan(ctx: &Context, request: Request<'_>, plan: Plan, others: &[EnvironmentName]) -> Response {
    let shown = build_shown_plan(ctx, plan, &request.from.person);
    let mut work = request.reply_private(plan::render_confirmation(&shown.plan, shown.id, others));
    work.transaction = work.transaction.insert_plan(shown);
    work
}

pub(crate) fn ask_rollback_confirmation(ctx: &Context, asked: Request<'_>, plan: Plan) -> Response {
    let shown = build_shown_plan(ctx, plan, &asked.from.person);
    let mut work = asked.reply_private(rollback::render_confirmation(&shown.plan, shown.id));
    work.transaction = work.transaction.insert_plan(shown);
    work
}

pub(crate) async fn begin_confirmed_plan(
    ctx: &Context,
    request: Request<'_>,
    plan: Plan,
) -> Result<Response, LookupError> {
    let supersedes = plan.supersedes.clone();
    let (change, transaction) = begin_change(ctx, plan, &request.from.person, &request.from.channel).await;
    let Some(waiting) = supersedes else { return Ok(request.reply_change_begun(change, transaction, None)) };
    let (before, gives_way) = supersede_change(ctx, &waiting, change.id).await?;
    // It lets go of the lock before the new one takes it.
    let mut work = request.reply_change_begun(change, gives_way.append(transaction), None);
    work.changes.insert(0, before);
    Ok(work)
}
