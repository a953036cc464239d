//! `promote`, typed or clicked: plans the promotion, then begins it, shows the plan or refuses.

use std::sync::Arc;

use jiff::Timestamp;

use crate::adapters::slack::render::{plan, promote_button};
use crate::domain::model::artefact::{ArtefactName, Delivery};
use crate::domain::model::environment::EnvironmentName;
use crate::workflow::commands::plan_outcome::{begin_plan, show_plan};
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::planning::approval_requirements::needs_approval_stage;
use crate::workflow::planning::promotion::{PromotionDecision, PromotionRequest, decide_promotion};
use crate::workflow::planning::promotion_candidate::VersionSelector;
use crate::workflow::requests::reply::{Request, Response};

/// Answers `promote <artefact> [environment] [version] [--override reason] [--dry-run]`.
pub(crate) async fn handle_promote_command(
    ctx: &Context,
    request: Request<'_>,
    artefact: ArtefactName,
    environment: Option<EnvironmentName>,
    version: Option<Arc<str>>,
    override_reason: Option<Arc<str>>,
    dry_run: bool,
) -> Result<Response, RetryLater> {
    let selector = version.map_or(VersionSelector::RunningBelow, VersionSelector::Named);
    let requester = request.from.person.clone();
    let promotion_request = PromotionRequest { requester, artefact, environment, selector, override_reason };
    promote(ctx, request, &promotion_request, dry_run).await
}

pub(crate) async fn promote(
    ctx: &Context,
    request: Request<'_>,
    promotion_request: &PromotionRequest,
    dry_run: bool,
) -> Result<Response, RetryLater> {
    let (plan, others, errored) = match Box::pin(decide_promotion(ctx, promotion_request)).await {
        Ok(PromotionDecision::Planned { plan, other_environments: others, errored_change: errored }) => {
            (*plan, others, errored)
        }
        Ok(PromotionDecision::Refused(refusal)) => return Ok(request.reply_refusal(&refusal)),
        Err(error) => return request.reply_lookup_error(&error),
    };
    let others = others.as_deref();
    if dry_run {
        return Ok(request.reply_private(plan::render_dry_run(&plan, others.unwrap_or_default())));
    }
    let is_image_unconfirmed = plan.is_image_unconfirmed();
    if let Some(errored) = errored.filter(|_| !is_image_unconfirmed && plan.holds_to_lift.is_empty()) {
        return begin_plan(ctx, request, plan, Some(errored), others).await;
    }
    let needs_confirmation = !plan.co_deployed.is_empty()
        || plan.gate_override.is_some()
        || plan.supersedes.is_some()
        || !plan.holds_to_lift.is_empty()
        || is_image_unconfirmed;
    if needs_confirmation || needs_approval_stage(ctx, &plan) {
        return Ok(show_plan(ctx, request, plan, others.unwrap_or_default()));
    }
    begin_plan(ctx, request, plan, None, others).await
}

/// The button on the message of an arrival: promotes exactly the version that arrived to the next environment.
pub(crate) async fn promote_arrival(ctx: &Context, request: Request<'_>, value: &str) -> Result<Response, RetryLater> {
    let Some((artefact, environment, seen_at)) = parse_arrival_key(ctx, value) else {
        return Ok(Response::default());
    };
    let catalogue = &ctx.config.catalogue;
    let above =
        catalogue.find_artefact(artefact.as_str()).and_then(|it| catalogue.ladder.find_next_above(&environment, it));
    let Some(above) = above else { return Ok(Response::default()) };
    let requester = request.from.person.clone();
    let promotion_request = PromotionRequest {
        requester,
        artefact,
        environment: Some(above.name.clone()),
        selector: VersionSelector::Sighting(seen_at),
        override_reason: None,
    };
    promote(ctx, request, &promotion_request, false).await
}

/// The button beside a shown version: promotes exactly that version, even if it no longer runs.
pub(crate) async fn promote_shown_version(
    ctx: &Context,
    request: Request<'_>,
    value: &str,
) -> Result<Response, RetryLater> {
    let Some((artefact, environment, version)) = promote_button::decode_value(value) else {
        return Ok(Response::default());
    };
    let catalogue = &ctx.config.catalogue;
    let Some(configured) = catalogue.find_artefact(artefact.as_str()) else { return Ok(Response::default()) };
    if catalogue.ladder.find(environment.as_str()).is_none() {
        return Ok(Response::default());
    }
    let selector = match (&configured.delivery, &version.commit) {
        (Delivery::Branch, Some(commit)) => VersionSelector::Commit(commit.clone()),
        _ => VersionSelector::Image(version),
    };
    let requester = request.from.person.clone();
    let promotion_request = PromotionRequest {
        requester,
        artefact: configured.name.clone(),
        environment: Some(environment),
        selector,
        override_reason: None,
    };
    promote(ctx, Request { replaces_message: request.from.private, ..request }, &promotion_request, false).await
}

/// The artefact, the environment and the time of the sighting in the key of an arrival's message.
pub(crate) fn parse_arrival_key(ctx: &Context, key: &str) -> Option<(ArtefactName, EnvironmentName, Timestamp)> {
    let mut parts = key.strip_prefix("arrival:")?.split(':');
    let environment = ctx.config.catalogue.ladder.find(parts.next()?)?.name.clone();
    let artefact = ctx.config.catalogue.find_artefact(parts.next()?)?.name.clone();
    let seen_at = Timestamp::from_microsecond(parts.next()?.parse().ok()?).ok()?;
    Some((artefact, environment, seen_at))
}
