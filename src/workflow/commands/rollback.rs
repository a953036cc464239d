//! `rollback`, typed or clicked: plans the rollback, then begins it, shows the plan or refuses.

use std::sync::Arc;

use crate::adapters::slack::render::{rollback, status};
use crate::domain::change::plan::Plan;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Version;
use crate::domain::rules::conflict::{ChangeInProgress, ConflictingChange};
use crate::workflow::changes::begin::build_shown_plan;
use crate::workflow::commands::plan_outcome::{begin_plan, show_plan};
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::planning::rollback::{
    RollbackDecision, RollbackRequest, RollbackTarget, decide_rollback, find_other_versions,
    find_rollback_environments, needs_rollback_confirmation,
};
use crate::workflow::requests::reply::{Request, Response};

pub(crate) async fn handle_rollback_command(
    ctx: &Context,
    request: Request<'_>,
    artefact: ArtefactName,
    environment: Option<EnvironmentName>,
    version: Option<Arc<str>>,
    reason: Option<Arc<str>>,
) -> Result<Response, RetryLater> {
    let Some(environment) = environment else {
        let environments = find_rollback_environments(ctx, &artefact);
        let answer =
            rollback::render_environment_choice(&artefact, &environments, version.as_deref(), reason.as_deref());
        return Ok(request.reply_private(answer));
    };
    let requester = request.from.person.clone();
    let target_version = version.map_or(RollbackTarget::Previous, RollbackTarget::Named);
    let rollback_request = RollbackRequest {
        requester,
        artefact,
        environment,
        target_version,
        reason,
        change_to_undo: None,
        automatic: false,
    };
    roll_back(ctx, request, &rollback_request).await
}

/// The button on the card of a change, or on the message of its failure.
pub(crate) async fn handle_rollback_click(
    ctx: &Context,
    request: Request<'_>,
    value: &str,
) -> Result<Response, RetryLater> {
    let Some(id) = ChangeId::parse(value) else { return Ok(Response::default()) };
    let Some(change) = ctx.store.find_change(id).await.map_err(|error| RetryLater::from_store_error(&error))? else {
        return Ok(request.reply_private(status::render_unknown_change(&id.to_short_id())));
    };
    let rollback_request = RollbackRequest {
        requester: request.from.person.clone(),
        reason: change.describe_failure().map(Into::into),
        artefact: change.plan.artefact,
        environment: change.plan.environment,
        target_version: RollbackTarget::Previous,
        change_to_undo: Some(id),
        automatic: false,
    };
    roll_back(ctx, request, &rollback_request).await
}

/// Shows the versions that ran healthy in the environment, to choose from.
pub(crate) async fn show_other_versions(
    ctx: &Context,
    request: Request<'_>,
    value: &str,
) -> Result<Response, RetryLater> {
    let catalogue = &ctx.config.catalogue;
    let mut parts = value.splitn(3, ':');
    let target = parts.next().and_then(|environment| catalogue.ladder.find(environment));
    let artefact = parts.next().and_then(|artefact| catalogue.find_artefact(artefact));
    let (Some(target), Some(artefact)) = (target, artefact) else { return Ok(Response::default()) };
    let reason = parts.next().filter(|reason| !reason.is_empty());
    match find_other_versions(ctx, artefact, target).await {
        Ok(versions) => {
            Ok(request.reply_private(rollback::render_version_choice(&artefact.name, &target.name, &versions, reason)))
        }
        Err(error) => request.reply_lookup_error(&error),
    }
}

pub(crate) async fn roll_back(
    ctx: &Context,
    request: Request<'_>,
    rollback_request: &RollbackRequest,
) -> Result<Response, RetryLater> {
    let (plan, errored_change) = match decide_rollback(ctx, rollback_request).await {
        Ok(RollbackDecision::Planned { plan, errored_change }) => (*plan, errored_change),
        Ok(RollbackDecision::Conflict { plan, holder }) => {
            return Ok(ask_about_conflict(ctx, request, *plan, &holder));
        }
        Ok(RollbackDecision::Refused(refusal)) => return Ok(request.reply_refusal(&refusal)),
        Err(error) => return request.reply_lookup_error(&error),
    };
    if needs_rollback_confirmation(ctx, &plan) {
        return Ok(show_plan(ctx, request, plan, &[]));
    }
    begin_plan(ctx, request, plan, errored_change, None).await
}

/// Asks whether to cancel or await the promotion that is being merged. The stored plan names that promotion, so that
/// the choice applies to no other one.
pub(crate) fn ask_about_conflict(
    ctx: &Context,
    request: Request<'_>,
    plan: Plan,
    holder: &ChangeInProgress,
) -> Response {
    let mut shown = build_shown_plan(ctx, plan, &request.from.person);
    let mut response = request.reply_private(rollback::render_conflict_choice(&shown.plan, holder, shown.id));
    shown.plan.supersedes = Some(ConflictingChange {
        id: holder.id,
        requester: holder.requester.clone(),
        version: Version::default(),
        since: holder.since,
        merged: false,
    });
    response.transaction = response.transaction.insert_plan(shown);
    response
}
