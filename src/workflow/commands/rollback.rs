//! `rollback` as people ask for it: by a command, by the button of a card, by a yes to what was shown.

use std::sync::Arc;

use crate::adapters::slack::render::{rollback, status};
use crate::adapters::store::{ShownPlan, Transaction};
use crate::domain::change::plan::Plan;
use crate::domain::change::{Change, Stage};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Version;
use crate::domain::rules::conflict::{ChangeInProgress, ConflictingChange};
use crate::domain::rules::refusal::Refusal;
use crate::workflow::changes::begin::{build_shown_plan, retry_change};
use crate::workflow::commands::plan_outcome::{ask_rollback_confirmation, begin_confirmed_plan};
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::planning::rollback::{
    RollbackDecision, RollbackRequest, RollbackTarget, decide_rollback, find_other_versions,
    find_rollback_environments, needs_rollback_confirmation,
};
use crate::workflow::requests::reply::{Request, Response};

/// What becomes of a promotion that is being merged when a rollback is asked for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum OnConflict {
    /// Nobody has been asked.
    Ask,
    Cancel,
    Wait,
}

pub(crate) async fn handle_rollback_command(
    ctx: &Context,
    asked: Request<'_>,
    artefact: ArtefactName,
    environment: Option<EnvironmentName>,
    version: Option<Arc<str>>,
    reason: Option<Arc<str>>,
) -> Result<Response, RetryLater> {
    let Some(environment) = environment else {
        let environments = find_rollback_environments(ctx, &artefact);
        let said = rollback::render_environment_choice(&artefact, &environments, version.as_deref(), reason.as_deref());
        return Ok(asked.reply_private(said));
    };
    let by = asked.from.person.clone();
    let to = version.map_or(RollbackTarget::Previous, RollbackTarget::Named);
    let request = RollbackRequest {
        requester: by,
        artefact,
        environment,
        target_version: to,
        reason,
        change_to_undo: None,
        automatic: false,
    };
    roll_back(ctx, asked, &request).await
}

/// The button on the card of a change, or beside its failure.
pub(crate) async fn handle_rollback_click(
    ctx: &Context,
    asked: Request<'_>,
    value: &str,
) -> Result<Response, RetryLater> {
    let Some(id) = ChangeId::parse(value) else { return Ok(Response::default()) };
    let Some(change) = ctx.store.find_change(id).await.map_err(|error| RetryLater::from_store_error(&error))? else {
        return Ok(asked.reply_private(status::render_unknown_change(&id.to_short_id())));
    };
    let request = RollbackRequest {
        requester: asked.from.person.clone(),
        reason: change.describe_failure().map(Into::into),
        artefact: change.plan.artefact,
        environment: change.plan.environment,
        target_version: RollbackTarget::Previous,
        change_to_undo: Some(id),
        automatic: false,
    };
    roll_back(ctx, asked, &request).await
}

/// The button on the card of a rollback that ended in an error.
pub(crate) async fn retry_rollback(ctx: &Context, asked: Request<'_>, change: Change) -> Result<Response, RetryLater> {
    let newest = ctx
        .store
        .list_changes_of(&change.change_lock_key(), 1)
        .await
        .map_err(|error| RetryLater::from_store_error(&error))?;
    let is_newest = newest.first().is_some_and(|newest| newest.id == change.id);
    if !is_newest || !matches!(change.stage, Stage::Errored { .. }) {
        // Something else has happened there since: whoever wants to go back now must see from what.
        let Plan { artefact, environment, version, .. } = change.plan;
        return Ok(asked.reply_refusal(&Refusal::NoLongerDeployed { artefact, environment, version, current: None }));
    }
    roll_back(ctx, asked, &build_rollback_request(asked, &change.plan)).await
}

/// The versions that ran well there, to choose from.
pub(crate) async fn show_other_versions(
    ctx: &Context,
    asked: Request<'_>,
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
            Ok(asked.reply_private(rollback::render_version_choice(&artefact.name, &target.name, &versions, reason)))
        }
        Err(error) => asked.reply_lookup_error(&error),
    }
}

async fn roll_back(ctx: &Context, asked: Request<'_>, request: &RollbackRequest) -> Result<Response, RetryLater> {
    let (plan, errored) = match decide_rollback(ctx, request).await {
        Ok(RollbackDecision::Planned { plan, errored_change: errored }) => (*plan, errored),
        Ok(RollbackDecision::Conflict { plan, holder }) => {
            return Ok(ask_about_conflict(ctx, asked, *plan, &holder));
        }
        Ok(RollbackDecision::Refused(no)) => return Ok(asked.reply_refusal(&no)),
        Err(error) => return asked.reply_lookup_error(&error),
    };
    if needs_rollback_confirmation(ctx, &plan) {
        return Ok(ask_rollback_confirmation(ctx, asked, plan));
    }
    if let Some(errored) = errored {
        let again = retry_change(ctx, &errored, plan, &asked.from.person).await;
        return match again {
            Ok((change, transaction)) => Ok(asked.reply_change_begun(change, transaction, None)),
            Err(error) => asked.reply_lookup_error(&error),
        };
    }
    match begin_confirmed_plan(ctx, asked, plan).await {
        Ok(work) => Ok(work),
        Err(error) => asked.reply_lookup_error(&error),
    }
}

/// A promotion is being merged there. Which one it was is kept, so that the choice is for that one alone.
fn ask_about_conflict(ctx: &Context, asked: Request<'_>, plan: Plan, holder: &ChangeInProgress) -> Response {
    let mut shown = build_shown_plan(ctx, plan, &asked.from.person);
    let mut work = asked.reply_private(rollback::render_conflict_choice(&shown.plan, holder, shown.id));
    shown.plan.supersedes = Some(ConflictingChange {
        id: holder.id,
        requester: holder.requester.clone(),
        version: Version::default(),
        since: holder.since,
        merged: false,
    });
    work.transaction = work.transaction.insert_plan(shown);
    work
}

/// A yes to what was shown: looked at again, for the version that was shown.
pub(crate) async fn confirm_rollback(
    ctx: &Context,
    asked: Request<'_>,
    shown: &ShownPlan,
    on_conflict: OnConflict,
) -> Result<Response, RetryLater> {
    let (plan, errored) = match decide_rollback(ctx, &build_rollback_request(asked, &shown.plan)).await {
        Ok(RollbackDecision::Planned { plan, errored_change: errored }) => (*plan, errored),
        Ok(RollbackDecision::Conflict { plan, holder })
            if on_conflict == OnConflict::Ask || find_conflicting_change(shown) != Some(holder.id) =>
        {
            return Ok(ask_about_conflict(ctx, asked, *plan, &holder));
        }
        Ok(RollbackDecision::Conflict { plan, holder }) => {
            if on_conflict == OnConflict::Cancel {
                let cancel = Transaction::new().request_cancel(holder.id, asked.from.person.clone());
                ctx.store.commit(cancel).await.map_err(|error| RetryLater::from_store_error(&error))?;
            }
            let why = format!("change {} is being merged", holder.id.to_short_id());
            return Err(RetryLater::with_polling(why, rollback::render_wait_timeout(&plan)));
        }
        Ok(RollbackDecision::Refused(no)) => return Ok(asked.reply_refusal(&no)),
        Err(error) => return asked.reply_lookup_error(&error),
    };
    // What nobody was asked about is not done by the yes to something else.
    let has_changed = if on_conflict == OnConflict::Ask {
        has_plan_changed(&plan, &shown.plan)
    } else {
        has_changed_after_conflict(&plan, &shown.plan)
    };
    if has_changed {
        return Ok(ask_rollback_confirmation(ctx, asked, plan));
    }
    let begun = match errored {
        Some(errored) => retry_change(ctx, &errored, plan, &asked.from.person)
            .await
            .map(|(change, transaction)| asked.reply_change_begun(change, transaction, None)),
        None => begin_confirmed_plan(ctx, asked, plan).await,
    };
    match begun {
        Ok(work) => Ok(work),
        Err(error) => asked.reply_lookup_error(&error),
    }
}

fn build_rollback_request(asked: Request<'_>, plan: &Plan) -> RollbackRequest {
    let about = plan.rollback.as_ref();
    RollbackRequest {
        requester: asked.from.person.clone(),
        artefact: plan.artefact.clone(),
        environment: plan.environment.clone(),
        target_version: match about {
            Some(about) => {
                RollbackTarget::Shown { version: plan.version.clone(), found_in: about.found, ran: about.ran }
            }
            None => RollbackTarget::Previous,
        },
        reason: about.and_then(|about| about.reason.as_deref()).map(Into::into),
        change_to_undo: None,
        automatic: false,
    }
}

/// The promotion that was being merged when somebody was asked what is to become of it.
fn find_conflicting_change(shown: &ShownPlan) -> Option<ChangeId> {
    shown.plan.supersedes.as_ref().map(|met| met.id)
}

/// Would something happen that was not shown?
fn has_plan_changed(plan: &Plan, shown: &Plan) -> bool {
    // What was pushed since would go as well.
    plan.head != shown.head
        || !has_same_from_version(plan, shown)
        || plan.supersedes != shown.supersedes
        || has_different_effects(plan, shown)
}

/// The same after a promotion that was being merged: that one, and nothing else, may have come or gone meanwhile.
fn has_changed_after_conflict(plan: &Plan, shown: &Plan) -> bool {
    let met = shown.supersedes.as_ref().map(|met| met.id);
    let brought_by_it = plan.rollback.as_ref().is_some_and(|about| about.of.is_some() && about.of == met);
    let superseded = plan.supersedes.as_ref().map(|waiting| waiting.id);
    let same = has_same_from_version(plan, shown) && (plan.head == shown.head || brought_by_it);
    !(same || brought_by_it) || (superseded.is_some() && superseded != met) || has_different_effects(plan, shown)
}

fn has_same_from_version(plan: &Plan, shown: &Plan) -> bool {
    match (&plan.from, &shown.from) {
        (Some(now), Some(then)) => now.is_same_as(then),
        (now, then) => now.is_none() && then.is_none(),
    }
}

fn has_different_effects(plan: &Plan, shown: &Plan) -> bool {
    let locks = |plan: &Plan| plan.rollback.as_ref().map(|about| about.locks.clone());
    plan.image != shown.image || locks(plan) != locks(shown) || plan.also != shown.also
}
