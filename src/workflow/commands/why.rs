//! `why`: all obstacles between an artefact and an environment, by exactly the rules of `promote`.

use crate::adapters::slack::render::why;
use crate::domain::change::plan::Plan;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::rules::obstacles::Obstacles;
use crate::domain::rules::refusal::Refusal;
use crate::domain::view::why::{ReadyPromotion, WhyAnswer};

use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, PlanError, RetryLater};
use crate::workflow::planning::approval_requirements::{collect_approval_requirements, needs_approval_stage};
use crate::workflow::planning::promotion::{PromotionRequest, gather_facts_and_check, resolve_target};
use crate::workflow::planning::promotion_candidate::VersionSelector;
use crate::workflow::requests::reply::{Request, Response};

/// Answers with the obstacles for the person who asks. `is_public`: everyone in the channel sees the answer.
pub(crate) async fn answer_why(
    ctx: &Context,
    request: Request<'_>,
    artefact: ArtefactName,
    environment: Option<EnvironmentName>,
    is_public: bool,
) -> Result<Response, RetryLater> {
    match find_obstacles(ctx, request.from.person.clone(), artefact, environment).await {
        Ok(answer) => {
            Ok(request.reply_with_visibility(why::render_why(&answer), is_public, answer.find_change_in_progress()))
        }
        Err(error) => request.reply_lookup_error(&error),
    }
}

async fn find_obstacles(
    ctx: &Context,
    requester: PersonId,
    artefact: ArtefactName,
    environment: Option<EnvironmentName>,
) -> Result<WhyAnswer, LookupError> {
    let request = PromotionRequest {
        requester,
        artefact,
        environment,
        selector: VersionSelector::RunningBelow,
        override_reason: None,
    };
    let (artefact, target, others) = match resolve_target(ctx, &request).await {
        Ok(target) => target,
        Err(PlanError::Refused(refusal)) => return Ok(explain_missing_target(request, refusal)),
        Err(PlanError::Lookup(error)) => return Err(error),
    };
    let mut obstacles = Obstacles::new_collecting_all();
    // Boxed, because the future is large and few requests reach this point.
    let decision = Box::pin(gather_facts_and_check(ctx, &request, artefact, target, &mut obstacles)).await;
    let (version, obstacles) = obstacles.into_parts();
    let (artefact, environment) = (artefact.name.clone(), Some(target.name.clone()));
    let mut answer = WhyAnswer {
        artefact,
        environment,
        other_environments: others,
        version,
        obstacles,
        ready_promotion: None,
        lookup_failure: None,
    };
    match decision {
        Ok((plan, _)) => answer.ready_promotion = Some(describe_allowed_plan(ctx, *plan).await),
        Err(PlanError::Refused(refusal)) => answer.obstacles.push(refusal),
        // The known obstacles now are worth more than all obstacles some minutes later.
        Err(PlanError::Lookup(error)) if !answer.obstacles.is_empty() => {
            answer.lookup_failure = Some(error.to_string());
        }
        Err(PlanError::Lookup(error)) => return Err(error),
    }
    Ok(answer)
}

async fn describe_allowed_plan(ctx: &Context, plan: Plan) -> ReadyPromotion {
    let awaiting = if needs_approval_stage(ctx, &plan) {
        Some(collect_approval_requirements(ctx, &plan, ctx.clock.now()).await)
    } else {
        None
    };
    ReadyPromotion { plan: Box::new(plan), awaiting }
}

/// The answer if no environment is behind.
fn explain_missing_target(request: PromotionRequest, refusal: Refusal) -> WhyAnswer {
    let (artefact, environment) = (request.artefact, request.environment);
    WhyAnswer {
        artefact,
        environment,
        other_environments: None,
        version: None,
        obstacles: vec![refusal],
        ready_promotion: None,
        lookup_failure: None,
    }
}
