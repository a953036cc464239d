//! What follows from a rollback that Git has: the bad version is quarantined, its environment held, those whose work went are
//! told; and `release`, which lets a version come back. Also the rule by which a failed promotion is rolled back.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::adapters::slack::render::{refusal, rollback};
use crate::adapters::store::{Claim, LedgerDetails, LedgerEntry, LedgerKind, StoreError, Transaction};
use crate::domain::change::plan::Plan;
use crate::domain::change::{Change, DeployState, RollbackStatus, Stage};
use crate::domain::model::actor::{Actor, PersonId};
use crate::domain::rules::quarantine::{Hold, Quarantine};
use crate::domain::rules::rollback::{ImagePresence, RollbackEvidence};

use crate::workflow::changes::begin::begin_change;
use crate::workflow::changes::transition::{advance_stage, build_advance_transaction, build_thread_reply};
use crate::workflow::changes::verify::is_result_running;
use crate::workflow::commands::rollback::describe_failure;
use crate::workflow::context::Context;
use crate::workflow::message_keys;
use crate::workflow::planning::rollback::{RollbackDecision, RollbackRequest, RollbackTarget, decide_rollback};
use crate::workflow::requests::reply::build_direct_message;

/// Somebody who must be asked before a rule can roll back is away: the pause before the next try.
const LOOKUP_RETRY_INTERVAL: SignedDuration = SignedDuration::from_secs(15);
/// So long after a failure the rule still acts.
const AUTO_ROLLBACK_WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// Who is not found by then is not told: nothing waits for it.
const AUTHOR_LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// What is stored and said together with a rollback's result.
pub(crate) async fn collect_rollback_effects(ctx: &Context, change: &Change) -> Transaction {
    let Some(about) = &change.plan.rollback else { return Transaction::new() };
    let now = ctx.clock.now();
    let mut transaction = Transaction::new();
    if let Some(quarantine) = Quarantine::from_rollback(change, now) {
        let details = Some(LedgerDetails::Quarantine(Box::new(quarantine.clone())));
        let entry = LedgerEntry { details, ..build_rollback_entry(change, LedgerKind::Quarantined, now) };
        transaction = transaction.insert_quarantine(quarantine).append_to_ledger(entry);
    }
    if let Some(hold) = Hold::from_rollback(change, now) {
        transaction = transaction.insert_hold(hold);
    }
    for lock in about.locks.iter().filter(|lock| lock.by != change.requester) {
        let told = build_direct_message(&lock.by, rollback::render_lock_bypassed(change, lock));
        transaction = transaction.enqueue_message(told.with_link(message_keys::for_card(change.id)));
    }
    if let Some(said) = rollback::render_commits_lost(change, &find_change_authors(ctx, change, usize::MAX).await) {
        transaction = transaction.enqueue_message(build_thread_reply(ctx, change, "lost", said));
    }
    transaction
}

/// The change that a rollback takes back, as it says from now on, and how that is stored together with the rollback.
pub(crate) async fn mark_rolled_back(
    ctx: &Context,
    rollback: &Change,
) -> Result<Option<(Change, Transaction)>, StoreError> {
    let Some(of) = rollback.plan.rollback.as_ref().and_then(|about| about.of) else { return Ok(None) };
    let Some(claim) = ctx.store.claim_changes(vec![of]).await?.pop() else { return Ok(None) };
    let done = RollbackStatus::Done { by: rollback.id, at: ctx.clock.now() };
    let stage = claim.change.stage.clone();
    let Ok(stage) = stage.update_deploying(|known| DeployState { rolled_back: Some(done), ..known }) else {
        return Ok(None);
    };
    let due = claim.due_at.filter(|_| stage.is_open());
    let marked = Change { stage, ..claim.change.clone() };
    let transaction = build_advance_transaction(ctx, &claim.change, claim.fence, &marked, due);
    Ok(Some((marked, transaction)))
}

/// Those who wrote what moves and are in Slack, each once and `most` of them; not the one who asked for it, and no bots.
pub(crate) async fn find_change_authors(ctx: &Context, change: &Change, most: usize) -> Vec<PersonId> {
    let until = tokio::time::Instant::now() + AUTHOR_LOOKUP_TIMEOUT;
    let mut authors: Vec<PersonId> = Vec::new();
    for commit in &change.plan.drift.commits {
        let Some(login) = &commit.login else { continue };
        if authors.len() >= most {
            break;
        }
        // Who cannot be found now is not told: it is a courtesy, and nothing waits for it.
        let found = tokio::time::timeout_at(until, ctx.permissions.find_person(login, &change.plan.repository)).await;
        if let Ok(Ok(Some(person))) = found
            && person != change.requester
            && !authors.contains(&person)
        {
            authors.push(person);
        }
    }
    authors
}

/// Does the environment's rule want it rolled back? Once, never a rollback, and never where nobody can read what runs.
pub(crate) fn auto_rollback_due(ctx: &Context, change: &Change) -> bool {
    let policy = ctx.config.policies.get(&change.plan.environment);
    let (Stage::Failed { deploying, at, .. } | Stage::Stalled { deploying, at, unread: false, .. }) = &change.stage
    else {
        return false;
    };
    if change.stage.unconfirmed_failure().is_some() {
        return false;
    }
    // Long after, people have seen to it; and a rule that was made since is not for what happened before.
    if ctx.clock.now().duration_since(*at) > AUTO_ROLLBACK_WINDOW {
        return false;
    }
    policy.is_some_and(|policy| policy.auto_rollback)
        && change.plan.rollback.is_none()
        && deploying.rolled_back.is_none()
}

/// Can it be tried once more before it is too late for the rule?
fn can_retry_auto_rollback(ctx: &Context, change: &Change) -> bool {
    match &change.stage {
        Stage::Failed { at, .. } | Stage::Stalled { at, .. } => {
            ctx.clock.now().duration_since(*at) + LOOKUP_RETRY_INTERVAL < AUTO_ROLLBACK_WINDOW
        }
        _ => false,
    }
}

/// Begins the rollback that the environment's rule wants. `false`: it is over for this step.
pub(crate) async fn try_auto_rollback(ctx: &Context, claim: &mut Claim) -> Result<bool, StoreError> {
    let change = &claim.change;
    let rollback_request = RollbackRequest {
        requester: change.requester.clone(),
        artefact: change.plan.artefact.clone(),
        environment: change.plan.environment.clone(),
        target_version: RollbackTarget::Previous,
        reason: describe_failure(change).map(Into::into),
        change_to_undo: Some(change.id),
        automatic: true,
    };
    let impossible = match decide_rollback(ctx, &rollback_request).await {
        Ok(RollbackDecision::Planned { plan, .. }) => match find_auto_rollback_obstacle(&plan) {
            Some(why) => why.to_owned(),
            None => return begin_auto_rollback(ctx, claim, *plan).await,
        },
        Ok(RollbackDecision::Conflict { .. }) => "another change is under way".to_owned(),
        Ok(RollbackDecision::Refused(no)) => refusal::render_refusal(&no).text,
        Err(error) if error.transient && can_retry_auto_rollback(ctx, &claim.change) => {
            let due = Some(ctx.clock.now() + LOOKUP_RETRY_INTERVAL);
            ctx.store.commit(Transaction::new().advance_change(claim.change.clone(), claim.fence, due)).await?;
            return Ok(false);
        }
        Err(error) => error.to_string(),
    };
    let mark = RollbackStatus::Impossible { why: impossible };
    let stage = claim.change.stage.clone();
    let Ok(stage) = stage.update_deploying(|known| DeployState { rolled_back: Some(mark), ..known }) else {
        return Ok(true);
    };
    claim.change =
        advance_stage(ctx, &claim.change, claim.fence, stage, Some(ctx.clock.now()), Transaction::new()).await?;
    Ok(true)
}

async fn begin_auto_rollback(ctx: &Context, claim: &mut Claim, plan: Plan) -> Result<bool, StoreError> {
    let promotion = &claim.change;
    // To find out what to go back to took its time.
    if is_result_running(ctx, promotion).await {
        return Ok(true);
    }
    let channel = promotion.asked_in.clone().unwrap_or_default();
    let (change, begins) = begin_change(ctx, plan, &promotion.requester, &channel).await;
    let begun = RollbackStatus::Begun { by: change.id };
    let stage = promotion.stage.clone();
    let Ok(stage) = stage.update_deploying(|known| DeployState { rolled_back: Some(begun), ..known }) else {
        return Ok(true);
    };
    let marked = Change { stage, ..promotion.clone() };
    let transaction = build_advance_transaction(ctx, promotion, claim.fence, &marked, None).append(begins);
    match ctx.store.commit(transaction).await {
        Ok(()) => {
            ctx.open_changes.record_change(marked);
            ctx.open_changes.record_change(change);
            Ok(false)
        }
        // Somebody else has begun one: then that is what becomes of it.
        Err(StoreError::ChangeLockHeld) => Ok(false),
        Err(error) => Err(error),
    }
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

/// What a rule does not decide: whether to pass somebody's lock, or to take a guess.
fn find_auto_rollback_obstacle(plan: &Plan) -> Option<&'static str> {
    let about = plan.rollback.as_ref()?;
    if !about.locks.is_empty() {
        return Some("it is locked, and only a person passes a lock");
    }
    if about.found != RollbackEvidence::Ledger {
        return Some("I have seen no version before it run well there");
    }
    let unknown = plan.manifest.is_some() && plan.image != ImagePresence::Yes;
    unknown.then_some("the registry cannot tell whether the image of the version before is there")
}
