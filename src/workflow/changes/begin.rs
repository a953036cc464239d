//! Builds the transactions that begin, retry or supersede a change, and the plan that is shown before a change begins.
//! The caller commits them.

use crate::adapters::slack::render;
use crate::adapters::store::{LedgerDetails, LedgerEntry, LedgerKind, ShownPlan, Transaction};
use crate::domain::change::plan::{PLAN_VALIDITY, Plan};
use crate::domain::change::{Change, ResultBranch, Stage};
use crate::domain::model::actor::PersonId;
use crate::domain::model::environment::PromotionMethod;
use crate::domain::model::ids::ChangeId;
use crate::domain::rules::conflict::ConflictingChange;
use crate::workflow::changes::transition::{
    build_advance_transaction, build_begin_transaction, build_entry_by_person, build_post_destination,
    build_retry_transaction, build_thread_reply,
};
use crate::workflow::context::Context;
use crate::workflow::error::LookupError;
use crate::workflow::message_keys;
use crate::workflow::planning::approval_requirements::{collect_approval_requirements, needs_approval_stage};

/// Builds a new change and its first transaction: the row (which is the change lock), the card and the ledger entries.
pub(crate) async fn begin_change(ctx: &Context, plan: Plan, person: &PersonId, channel: &str) -> (Change, Transaction) {
    let now = ctx.clock.now();
    let id = ChangeId::new(now);
    let stage = if needs_approval_stage(ctx, &plan) {
        Stage::new_awaiting_approval(collect_approval_requirements(ctx, &plan, now).await)
    } else {
        Stage::new_merging()
    };
    let change = Change {
        id,
        requester: person.clone(),
        // A request from a Slack modal or from the App Home has an empty channel.
        requested_in: Some(channel.to_owned()).filter(|channel| !channel.is_empty()),
        requested_at: now,
        retried_at: None,
        request: None,
        result_branch: (plan.method == PromotionMethod::PullRequest).then(|| ResultBranch::from_change_id(id)),
        plan,
        stage,
    };
    let mut transaction = build_begin_transaction(ctx, &change);
    if let Some(overridden) = &change.plan.gate_override {
        let details = Some(LedgerDetails::Overridden(overridden.clone()));
        let entry = LedgerEntry { details, ..build_entry_by_person(ctx, &change, LedgerKind::Overridden, person) };
        let key = message_keys::for_card_reply("override", id);
        let announcement = render::gate::render_override_announcement(&change.plan, overridden)
            .into_message(build_post_destination(ctx, &change, key, None));
        transaction = transaction.append_to_ledger(entry).enqueue_message(announcement);
    }
    // With these entries, `history` of a co-deployed artefact shows the change too.
    for co_deployed in &change.plan.co_deployed {
        let artefact = Some(co_deployed.artefact.clone());
        transaction = transaction.append_to_ledger(LedgerEntry {
            artefact,
            ..build_entry_by_person(ctx, &change, LedgerKind::Carried, person)
        });
    }
    for hold in &change.plan.holds_to_lift {
        transaction = transaction.lift_hold(hold.change);
    }
    if let Some(details) = render::card::render_all_commits(&change) {
        transaction = transaction.enqueue_message(build_thread_reply(ctx, &change, "details", details));
    }
    (change, transaction)
}

/// Retries an errored change from the stage that failed, with a new plan.
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
    // The old pull request was closed and its branch deleted, so a new branch is made. Without a pull request the
    // branch state is kept, because it names the result that the merge handler looks for.
    let result_branch = match claim.change.pull_request_branch() {
        Some(_) => Some(ResultBranch::from_change_id(claim.change.id)),
        None => claim.change.result_branch.clone(),
    };
    // The person who retries becomes the requester, and is notified of the end.
    let (requester, taken_up_at) = (person.clone(), Some(now));
    let change = Change { requester, retried_at: taken_up_at, plan, stage, result_branch, ..claim.change };
    let transaction = build_retry_transaction(ctx, &errored.stage, claim.fence, &change);
    Ok((change, transaction))
}

/// Ends a waiting change in favour of a newer one.
pub(crate) async fn supersede_change(
    ctx: &Context,
    waiting: &ConflictingChange,
    by: ChangeId,
) -> Result<(Change, Transaction), LookupError> {
    let overtaken = || LookupError::new_transient("somebody else was faster".to_owned());
    let claim = ctx.store.claim_changes(vec![waiting.id]).await?.pop().ok_or_else(overtaken)?;
    let now = ctx.clock.now();
    let Ok(stage) = claim.change.stage.clone().into_superseded(by, now) else { return Err(overtaken()) };
    let change = Change { stage, ..claim.change.clone() };
    let transaction = build_advance_transaction(ctx, &claim.change, claim.fence, &change, Some(now));
    Ok((change, transaction))
}

/// Wraps a plan that a person must confirm before it becomes a change.
pub(crate) fn build_shown_plan(ctx: &Context, plan: Plan, person: &PersonId) -> ShownPlan {
    let now = ctx.clock.now();
    ShownPlan { id: ChangeId::new(now), person: person.clone(), plan, made_at: now }
}

pub(crate) fn is_plan_valid(ctx: &Context, shown: &ShownPlan) -> bool {
    ctx.clock.now().duration_since(shown.made_at) < PLAN_VALIDITY
}
