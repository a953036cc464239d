//! Records a merge. The same transaction has the effects of a rollback: the quarantine, the hold, the messages to the
//! authors, and the mark on the change that was rolled back.

use jiff::{SignedDuration, Timestamp};

use crate::adapters::slack::render::rollback;
use crate::adapters::store::{Claim, LedgerDetails, LedgerEntry, LedgerKind, StoreError, Transaction};
use crate::domain::change::{Change, DeployState, RollbackStatus};
use crate::domain::git::comparison::Comparison;
use crate::domain::model::actor::Actor;
use crate::domain::model::message::Destination;
use crate::domain::model::version::Sha;
use crate::workflow::changes::transition::{StageResult, advance_stage, build_advance_transaction, build_thread_reply};
use crate::workflow::context::Context;
use crate::workflow::facts::authors::find_change_authors;
use crate::workflow::message_keys;

/// The effects of a rollback that are stored together with its result.
pub(crate) async fn collect_rollback_effects(ctx: &Context, change: &Change) -> Transaction {
    let Some(rollback_details) = change.plan.rollback_details() else { return Transaction::new() };
    let now = ctx.clock.now();
    let mut transaction = Transaction::new();
    if let Some(quarantine) = change.to_quarantine(now) {
        let details = Some(LedgerDetails::Quarantine(Box::new(quarantine.clone())));
        let entry = LedgerEntry { details, ..build_rollback_entry(change, LedgerKind::Quarantined, now) };
        transaction = transaction.insert_quarantine(quarantine).append_to_ledger(entry);
    }
    if let Some(hold) = change.to_hold(now) {
        transaction = transaction.insert_hold(hold);
    }
    for lock in rollback_details.locks.iter().filter(|lock| lock.by != change.requester) {
        let notification = rollback::render_lock_bypassed(change, lock).into_message(Destination::new_direct(&lock.by));
        transaction = transaction.enqueue_message(notification.with_link(message_keys::for_card(change.id)));
    }
    if let Some(reply) = rollback::render_commits_lost(change, &find_change_authors(ctx, change, usize::MAX).await) {
        transaction = transaction.enqueue_message(build_thread_reply(ctx, change, "lost", reply));
    }
    transaction
}

/// The change that a rollback undoes, marked as rolled back, and the transaction that stores the mark.
pub(crate) async fn mark_rolled_back(
    ctx: &Context,
    rollback: &Change,
) -> Result<Option<(Change, Transaction)>, StoreError> {
    let Some(undone_id) = rollback.plan.rollback_details().and_then(|details| details.rolled_back_change) else {
        return Ok(None);
    };
    let Some(claim) = ctx.store.claim_changes(vec![undone_id]).await?.pop() else { return Ok(None) };
    let status = RollbackStatus::Done { by: rollback.id, at: ctx.clock.now() };
    let stage = claim.change.stage.clone();
    let Ok(stage) = stage.update_deploying(|state| DeployState { rolled_back: Some(status), ..state }) else {
        return Ok(None);
    };
    let due = claim.due_at.filter(|_| stage.is_open());
    let marked = Change { stage, ..claim.change.clone() };
    let transaction = build_advance_transaction(ctx, &claim.change, claim.fence, &marked, due);
    Ok(Some((marked, transaction)))
}

fn build_rollback_entry(change: &Change, kind: LedgerKind, at: Timestamp) -> LedgerEntry {
    LedgerEntry {
        at,
        change: Some(change.id.to_string()),
        kind,
        artefact: Some(change.plan.artefact.clone()),
        environment: Some(change.plan.environment.clone()),
        actor: Some(Actor::Person(change.requester.clone())),
        details: None,
    }
}

/// Stores that the branch has the result. `add_details` adds details of the merge to the deploy state.
pub(crate) async fn record_merge(
    ctx: &Context,
    claim: &Claim,
    result: Sha,
    comparison: Option<Comparison>,
    add_details: impl FnOnce(DeployState) -> DeployState,
) -> StageResult {
    let now = ctx.clock.now();
    let environment = ctx.config.catalogue.ladder.find(claim.change.plan.environment.as_str());
    let timeout = environment.map_or(SignedDuration::ZERO, |environment| environment.deploy_timeout);
    let merged = claim.change.stage.clone().into_deploying(result, now, now + timeout);
    let stage = merged.and_then(|stage| stage.update_deploying(add_details));
    let Ok(stage) = stage else { return Ok(None) };
    let extra = comparison.map_or_else(Transaction::new, |comparison| {
        Transaction::new().record_comparison(claim.change.plan.repository.clone(), comparison)
    });
    let extra = extra.append(collect_rollback_effects(ctx, &claim.change).await);
    let (marked, extra) = match mark_rolled_back(ctx, &claim.change).await? {
        Some((marked, transaction)) => (Some(marked), extra.append(transaction)),
        None => (None, extra),
    };
    let change = advance_stage(ctx, &claim.change, claim.fence, stage, Some(now), extra).await?;
    if let Some(marked) = marked {
        ctx.open_changes.record_change(marked);
    }
    Ok(Some(Claim { change, due_at: Some(now), ..claim.clone() }))
}
