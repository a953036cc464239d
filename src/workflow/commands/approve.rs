//! Approvals and rejections in Slack. Each counts only for the commit that the person saw, and if they have the right.

use crate::adapters::slack::incoming::RequestOrigin;
use crate::adapters::slack::render::{approve, status};
use crate::adapters::store::LedgerKind;
use crate::domain::change::approval::{ApprovalOutcome, ApprovalPlatform, ApprovalState};
use crate::domain::change::{Change, Stage};
use crate::domain::model::actor::Actor;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::rules::refusal::{Refusal, RestrictedAction};
use crate::workflow::changes::transition::{build_advance_transaction, build_ledger_entry};
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::message_keys;
use crate::workflow::requests::reply::{Request, Response};

/// A click that led to no decision, with its answer.
enum NoDecision {
    Answer(Response),
    RetryLater(RetryLater),
}

impl From<Response> for NoDecision {
    fn from(response: Response) -> Self {
        Self::Answer(response)
    }
}

impl From<RetryLater> for NoDecision {
    fn from(retry: RetryLater) -> Self {
        Self::RetryLater(retry)
    }
}

pub(crate) async fn handle_approve_click(
    ctx: &Context,
    request: Request<'_>,
    value: &str,
) -> Result<Response, RetryLater> {
    into_response(approve_change(ctx, request, value).await)
}

async fn approve_change(ctx: &Context, request: Request<'_>, value: &str) -> Result<Response, NoDecision> {
    let person = &request.from.person;
    let (change, mut awaiting) = load_awaiting_change(ctx, request, value).await?;
    // An approval needs a commit to approve. A rejection does not.
    if change.commit_to_approve().is_none() {
        return Err(request.reply_with_card_link(approve::render_changed_since(&change), change.id).into());
    }
    match awaiting.record_approval(person, ApprovalPlatform::Slack, &change.requester, ctx.clock.now()) {
        ApprovalOutcome::Counted => {}
        ApprovalOutcome::Duplicate => return Err(request.reply_private(approve::render_already_approved()).into()),
        ApprovalOutcome::OwnChange => return Err(request.reply_private(approve::render_own_change()).into()),
    }
    check_may_decide(ctx, request, &change).await?;
    let mut response = store_decision(ctx, &change, Stage::AwaitingApproval(awaiting)).await?;
    let entry = build_ledger_entry(&change, LedgerKind::Approved, Actor::Person(person.clone()), ctx.clock.now());
    // A person who approved in the card's channel sees the approval on the card.
    let confirmation = request
        .build_private_message(approve::render_approved(&change))
        .with_link_if_elsewhere(message_keys::for_card(change.id));
    response.transaction = response.transaction.append_to_ledger(entry).enqueue_message(confirmation);
    Ok(response)
}

/// Asks for the reason in a modal. Slack accepts the click's trigger for three seconds.
pub(crate) async fn open_reject_modal(
    ctx: &Context,
    request: Request<'_>,
    value: &str,
) -> Result<Response, RetryLater> {
    let attempt = async {
        let (change, _) = load_awaiting_change(ctx, request, value).await?;
        check_may_decide(ctx, request, &change).await?;
        let modal = approve::build_reject_modal(&change, value, &request.from.channel);
        Ok(match ctx.slack.open_modal(&request.from.key, &modal).await {
            Ok(()) => Response::default(),
            Err(error) => {
                tracing::warn!(%error, change.id = %change.id, "the modal for a rejection could not be opened");
                request.reply_private(approve::render_modal_failed(&change))
            }
        })
    };
    into_response(attempt.await)
}

/// Handles a submitted modal.
pub(crate) async fn handle_modal_submission(
    ctx: &Context,
    request: Request<'_>,
    modal: &str,
    about: &str,
    text: &str,
) -> Result<Response, RetryLater> {
    let Some((channel, value)) = approve::parse_modal_metadata(about).filter(|_| modal == approve::REJECT) else {
        return Ok(Response::default());
    };
    // A modal has no channel, so the answer goes to the channel of its button.
    let from = RequestOrigin { channel: channel.to_owned(), ..request.from.clone() };
    let request = Request { from: &from, ..request };
    into_response(reject_change(ctx, request, value, text).await)
}

/// `/gantry reject 0badcafe <reason>`: rejects the change with the commit that it shows now.
pub(crate) async fn handle_reject_command(
    ctx: &Context,
    request: Request<'_>,
    short: &str,
    reason: &str,
) -> Result<Response, RetryLater> {
    let matching =
        ctx.store.find_changes_by_short(short).await.map_err(|error| RetryLater::from_store_error(&error))?;
    let awaiting = matching.iter().find(|change| change.stage.awaiting().is_some());
    let Some(change) = awaiting.or(matching.first()) else {
        return Ok(request.reply_private(status::render_unknown_change(short)));
    };
    // A change that shows no commit yet can be rejected, too.
    let value = approve::encode_button_value(change).unwrap_or_else(|| format!("{}:", change.id));
    into_response(reject_change(ctx, request, &value, reason).await)
}

async fn reject_change(ctx: &Context, request: Request<'_>, value: &str, reason: &str) -> Result<Response, NoDecision> {
    let (change, _) = load_awaiting_change(ctx, request, value).await?;
    check_may_decide(ctx, request, &change).await?;
    let reason: String = reason.trim().chars().take(approve::MAX_REASON_INPUT).collect();
    let rejected = change.stage.clone().into_rejected(request.from.person.clone(), reason, ctx.clock.now());
    match rejected {
        Ok(stage) => store_decision(ctx, &change, stage).await,
        Err(_) => Err(request.reply_private(approve::render_already_decided(&change)).into()),
    }
}

/// The change of a button, if it still awaits approval and still shows the commit that the person saw.
async fn load_awaiting_change(
    ctx: &Context,
    request: Request<'_>,
    value: &str,
) -> Result<(Change, ApprovalState), NoDecision> {
    let parsed = value.split_once(':').and_then(|(id, seen)| Some((ChangeId::parse(id)?, seen)));
    let Some((id, seen)) = parsed else { return Err(Response::default().into()) };
    let Some(change) = ctx.store.find_change(id).await.map_err(|error| RetryLater::from_store_error(&error))? else {
        return Err(request.reply_private(status::render_unknown_change(&id.to_short_id())).into());
    };
    let Stage::AwaitingApproval(awaiting) = change.stage.clone() else {
        return Err(request.reply_private(approve::render_already_decided(&change)).into());
    };
    if change.commit_to_approve().map_or("", |shown| shown.as_str()) != seen {
        return Err(request.reply_with_card_link(approve::render_changed_since(&change), change.id).into());
    }
    Ok((change, awaiting))
}

async fn check_may_decide(ctx: &Context, request: Request<'_>, change: &Change) -> Result<(), NoDecision> {
    let plan = &change.plan;
    match ctx.permissions.may_approve(&request.from.person, &plan.environment, &plan.repository).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(request
            .reply_refusal(&build_approval_refusal(ctx, RestrictedAction::Approve, &plan.environment).await)
            .into()),
        Err(error) => Err(request.reply_lookup_error(&error)?.into()),
    }
}

pub(crate) async fn build_approval_refusal(
    ctx: &Context,
    action: RestrictedAction,
    environment: &EnvironmentName,
) -> Refusal {
    let policy = ctx.config.catalogue.ladder.find_policy(environment).cloned().unwrap_or_default();
    let members = policy.approvals.map_or(policy.promoters, |approvals| approvals.approvers);
    Refusal::NotPermitted {
        action,
        environment: environment.clone(),
        permitted: ctx.permissions.label_members(&members).await,
    }
}

/// Stores a decision. If the change was written meanwhile, the request is retried with its new state.
async fn store_decision(ctx: &Context, before: &Change, stage: Stage) -> Result<Response, NoDecision> {
    let overtaken = || {
        RetryLater::with_backoff("the change was written meanwhile".to_owned(), approve::render_already_decided(before))
    };
    let claims =
        ctx.store.claim_changes(vec![before.id]).await.map_err(|error| RetryLater::from_store_error(&error))?;
    let Some(claim) = claims.into_iter().next().filter(|claim| claim.change == *before) else {
        return Err(overtaken().into());
    };
    let change = Change { stage, ..claim.change.clone() };
    let transaction = build_advance_transaction(ctx, &claim.change, claim.fence, &change, Some(ctx.clock.now()));
    Ok(Response { transaction, changes: vec![change], refusal_rule: None })
}

fn into_response(result: Result<Response, NoDecision>) -> Result<Response, RetryLater> {
    match result {
        Ok(response) | Err(NoDecision::Answer(response)) => Ok(response),
        Err(NoDecision::RetryLater(retry)) => Err(retry),
    }
}
