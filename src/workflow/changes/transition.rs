//! The one place that writes new contents of a change: its stage, its card, the ledger and the messages, in one
//! transaction. Other files only store the next due time.

use jiff::{SignedDuration, Timestamp};

use crate::adapters::github::GithubError;
use crate::adapters::slack::render;
use crate::adapters::store::{Claim, Fence, LedgerDetails, LedgerEntry, LedgerKind, StoreError, Transaction};
use crate::domain::change::approval::ApprovalState;
use crate::domain::change::plan::{GitWrite, Plan};
use crate::domain::change::{Change, MergeState, RetryState, Stage};
use crate::domain::model::actor::{Actor, PersonId};
use crate::domain::model::message::{Destination, FallbackRecipient, Message, MessageKey};
use crate::domain::model::version::Sha;
use crate::domain::rules::merge_condition::MergeCondition;
use crate::workflow::context::Context;
use crate::workflow::message_keys;
use crate::workflow::notifications::subscriptions::notify_subscribers;
use crate::workflow::planning::approval_requirements::collect_approval_requirements;

/// After so many failed tries (about seven minutes) the change ends with an error.
const MAX_TRIES: u32 = 12;

const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(1);

/// The result of a stage handler. `Some`: the change was stored in a new stage, and the handler of that stage runs at
/// once. `None`: the change waits until it is due or woken.
pub(crate) type StageResult = Result<Option<Claim>, StoreError>;

/// Proof that this process stored the intention of one write to Git, under the fence of its claim. A handler that finds
/// an intention of an earlier process checks first whether that write happened.
#[must_use]
pub(crate) struct WriteAhead(());

/// Stores the change before a write to Git.
pub(crate) async fn store_intent(ctx: &Context, claim: &mut Claim, intended: Change) -> Result<WriteAhead, StoreError> {
    store_change(ctx, claim, intended).await?;
    Ok(WriteAhead(()))
}

/// Stores a stage and its card before a write to Git.
pub(crate) async fn store_intended_stage(
    ctx: &Context,
    claim: &mut Claim,
    stage: Stage,
    extra: Transaction,
) -> Result<WriteAhead, StoreError> {
    let due = Some(ctx.clock.now());
    claim.change = advance_stage(ctx, &claim.change, claim.fence, stage, due, extra).await?;
    claim.due_at = due;
    Ok(WriteAhead(()))
}

/// Stores a change, due at once. The card stays as it is.
pub(crate) async fn store_change(ctx: &Context, claim: &mut Claim, change: Change) -> Result<(), StoreError> {
    let due = Some(ctx.clock.now());
    ctx.store.commit(Transaction::new().advance_change(change.clone(), claim.fence, due)).await?;
    claim.change = change;
    Ok(())
}

/// Stores a new stage of a change and updates the card. The end of a change is also posted in the card's thread.
pub(crate) async fn advance_stage(
    ctx: &Context,
    before: &Change,
    fence: Fence,
    stage: Stage,
    due: Option<Timestamp>,
    extra: Transaction,
) -> Result<Change, StoreError> {
    advance_change(ctx, before, fence, Change { stage, ..before.clone() }, due, extra).await
}

/// Like [`advance_stage`], for a change with more new fields than the stage.
pub(crate) async fn advance_change(
    ctx: &Context,
    before: &Change,
    fence: Fence,
    change: Change,
    due: Option<Timestamp>,
    extra: Transaction,
) -> Result<Change, StoreError> {
    let transaction = build_advance_transaction(ctx, before, fence, &change, due).append(extra);
    let transaction = match &change.request {
        Some(request) => transaction.with_request(request),
        None => transaction,
    };
    ctx.store.commit(transaction).await?;
    ctx.open_changes.record_change(change.clone());
    Ok(change)
}

/// The transaction that begins a change: its row, its card, the ledger and the subscribers' messages.
pub(crate) fn build_begin_transaction(ctx: &Context, change: &Change) -> Transaction {
    Transaction::new()
        .begin_change(change.clone())
        .append_to_ledger(build_entry_by_person(ctx, change, LedgerKind::Begun, &change.requester))
        .enqueue_message(render_card(ctx, change))
        .append(notify_subscribers(ctx, None, change))
}

/// The transaction that retries an errored change at the request of a person.
pub(crate) fn build_retry_transaction(ctx: &Context, errored: &Stage, fence: Fence, change: &Change) -> Transaction {
    Transaction::new()
        .advance_change(change.clone(), fence, Some(ctx.clock.now()))
        .append_to_ledger(build_entry_by_person(ctx, change, LedgerKind::Retried, &change.requester))
        .enqueue_message(render_card(ctx, change))
        .append(notify_subscribers(ctx, Some(errored), change))
}

/// The transaction that stores a change: the row, and as far as they differ the card, the ledger and the messages.
pub(crate) fn build_advance_transaction(
    ctx: &Context,
    before: &Change,
    fence: Fence,
    change: &Change,
    due: Option<Timestamp>,
) -> Transaction {
    let stage_changed = before.stage.name() != change.stage.name();
    let mut transaction = Transaction::new().advance_change(change.clone(), fence, due);
    let card = render_card(ctx, change);
    // The card is sent only if it differs. Mere progress within a stage may be coalesced with later edits.
    if card != render_card(ctx, before) {
        transaction = transaction.enqueue_message(if change.stage.is_only_progress(&before.stage) {
            card.with_coalescing()
        } else {
            card
        });
    }
    if stage_changed {
        let actor = match &change.stage {
            Stage::Cancelled { by, .. } => by.to_actor(),
            Stage::Rejected { by, .. } => Actor::Person(by.clone()),
            _ => Actor::Controller,
        };
        transaction = transaction.append_to_ledger(build_ledger_entry(
            change,
            LedgerKind::from(&change.stage),
            actor,
            ctx.clock.now(),
        ));
        transaction = transaction.append(notify_subscribers(ctx, Some(&before.stage), change));
        if !change.stage.is_active() {
            let end = render::card::render_outcome(change, &before.stage);
            let now = ctx.clock.now().as_microsecond();
            let end = build_thread_reply(ctx, change, &format!("{}:{now}", change.stage.name()), end);
            // A failure or a late recovery concerns the whole channel, so the reply is broadcast.
            let must_broadcast = change.stage.is_failure() || change.stage.is_recovery(&before.stage);
            transaction = transaction.enqueue_message(if must_broadcast { end.with_broadcast() } else { end });
        }
    }
    transaction
}

/// Stores the stage of an allowed transition. Logs a transition that the stage does not allow.
pub(crate) async fn apply_transition(
    ctx: &Context,
    claim: &Claim,
    stage: Result<Stage, crate::domain::change::InvalidTransition>,
    due: Option<Timestamp>,
) -> StageResult {
    match stage {
        Ok(stage) => advance_stage(ctx, &claim.change, claim.fence, stage, due, Transaction::new()).await.map(|_| None),
        Err(error) => {
            tracing::error!(%error, "a change cannot make this transition");
            Ok(None)
        }
    }
}

pub(crate) async fn mark_errored(ctx: &Context, claim: &Claim, reason: String) -> StageResult {
    let now = ctx.clock.now();
    let stage = claim.change.stage.clone().into_errored(reason, now);
    apply_transition(ctx, claim, stage, claim.change.result_branch.is_some().then_some(now)).await
}

/// Schedules another try after a failed merge, or ends the change with an error. `begun`: GitHub may have merged
/// despite the error, so the next try looks for the merge first.
pub(crate) async fn handle_merge_error(ctx: &Context, claim: &Claim, error: GithubError, begun: bool) -> StageResult {
    let Stage::Merging(MergeState { retry: trouble, .. }) = &claim.change.stage else { return Ok(None) };
    let tries = trouble.as_ref().map_or(0, |trouble| trouble.attempts);
    let unavailable = matches!(error, GithubError::Unavailable(_) | GithubError::Unclear(_));
    if !error.is_transient() || (unavailable && tries + 1 >= MAX_TRIES) {
        let reason = match error {
            GithubError::NotFound(reason) => {
                let (repository, _) = claim.change.plan.write_target();
                format!(
                    "GitHub does not find {repository}, or does not let me see it ({reason}). \
                     Check what the token may do."
                )
            }
            error => format!("{error}."),
        };
        return mark_errored(ctx, claim, reason).await;
    }
    let now = ctx.clock.now();
    // A rate limit is not counted as a failed try.
    let tries = if unavailable { tries + 1 } else { tries };
    let trouble = RetryState {
        since: trouble.as_ref().map_or(now, |before| before.since),
        attempts: tries,
        reason: format!("{error}."),
    };
    let stage = claim.change.stage.clone().record_merge_failure(trouble, begun);
    apply_transition(ctx, claim, stage, Some(compute_next_try(&error, tries, now))).await
}

/// Sends a merging change back to `AwaitingApproval`, because conditions of the merge do not hold any more.
pub(crate) async fn wait_for(ctx: &Context, claim: &Claim, waits_for: Vec<MergeCondition>) -> StageResult {
    let now = ctx.clock.now();
    let awaiting = collect_approval_requirements(ctx, &claim.change.plan, now).await;
    let Ok(stage) = claim.change.stage.clone().return_to_awaiting(awaiting) else { return Ok(None) };
    let stage = stage.update_awaiting(|awaiting| ApprovalState { waits_for, ..awaiting });
    apply_transition(ctx, claim, stage, Some(now)).await
}

/// Stores the conditions that the change waits for. They replace the earlier ones.
pub(crate) async fn store_merge_conditions(
    ctx: &Context,
    claim: &Claim,
    waits_for: Vec<MergeCondition>,
) -> StageResult {
    let Some(awaiting) = claim.change.stage.awaiting() else { return Ok(None) };
    let state = ApprovalState { waits_for, retry: None, ..awaiting.clone() };
    store_approval_state(ctx, claim, state, None).await
}

/// Stores the approval state. Reminds the approvers at half time, and expires the change at its deadline.
pub(crate) async fn store_approval_state(
    ctx: &Context,
    claim: &Claim,
    mut state: ApprovalState,
    due: Option<Timestamp>,
) -> StageResult {
    let now = ctx.clock.now();
    if now >= state.deadline {
        return apply_transition(ctx, claim, Stage::AwaitingApproval(state).into_expired(now), Some(now)).await;
    }
    let reminder_due = !state.reminded && !state.is_approved() && now >= state.halfway_at();
    state.reminded |= reminder_due;
    let due = due.unwrap_or_else(|| state.next_reminder_at());
    if reminder_due {
        // The key has the start of the approval period, so that each period has one reminder.
        let key = format!("nudge:{}", state.since.as_microsecond());
        let reminder = render::approve::render_reminder(&claim.change, &state);
        let extra = Transaction::new().enqueue_message(build_thread_reply(ctx, &claim.change, &key, reminder));
        let waiting = Stage::AwaitingApproval(state);
        return advance_stage(ctx, &claim.change, claim.fence, waiting, Some(due), extra).await.map(|_| None);
    }
    store_stage_if_changed(ctx, claim, Stage::AwaitingApproval(state), Some(due)).await
}

/// Schedules another check after GitHub failed. Expires the change at its deadline.
pub(crate) async fn retry_approval_later(ctx: &Context, claim: &Claim, error: &GithubError) -> StageResult {
    let Some(awaiting) = claim.change.stage.awaiting() else { return Ok(None) };
    let now = ctx.clock.now();
    if now >= awaiting.deadline {
        let stage = claim.change.stage.clone().into_expired(now);
        return apply_transition(ctx, claim, stage, Some(now)).await;
    }
    let trouble = RetryState::record_failure(awaiting.retry.clone(), format!("{error}."), now);
    let due = compute_next_try(error, trouble.attempts, now);
    let stage = Stage::AwaitingApproval(ApprovalState { retry: Some(trouble), ..awaiting.clone() });
    advance_stage(ctx, &claim.change, claim.fence, stage, Some(due), Transaction::new()).await.map(|_| None)
}

/// Stores a stage and a due time, unless both are stored already.
pub(crate) async fn store_stage_if_changed(
    ctx: &Context,
    claim: &Claim,
    stage: Stage,
    due: Option<Timestamp>,
) -> StageResult {
    // The store rounds times to microseconds.
    let same_time = match (due, claim.due_at) {
        (Some(due), Some(before)) => due.duration_since(before).abs() < SignedDuration::from_millis(1),
        (due, before) => due == before,
    };
    if stage == claim.change.stage && same_time {
        return Ok(None);
    }
    advance_stage(ctx, &claim.change, claim.fence, stage, due, Transaction::new()).await.map(|_| None)
}

/// Sends a merging change back to `AwaitingApproval`, where all conditions are checked again.
pub(crate) async fn await_approval_again(ctx: &Context, claim: &Claim) -> StageResult {
    wait_for(ctx, claim, Vec::new()).await
}

/// Sends a pull request that GitHub does not merge yet back to `AwaitingApproval`. The backoff prevents a busy loop.
pub(crate) async fn postpone_merge(ctx: &Context, claim: &Claim, reason: &str) -> StageResult {
    let Stage::Merging(MergeState { awaiting: Some(awaiting), .. }) = &claim.change.stage else { return Ok(None) };
    let now = ctx.clock.now();
    let reason = format!("GitHub does not merge it yet: {}.", reason.trim_end_matches('.'));
    let trouble = RetryState::record_failure(awaiting.retry.clone(), reason, now);
    let due = now + compute_backoff(trouble.attempts);
    let stage = Stage::AwaitingApproval(ApprovalState { retry: Some(trouble), ..(**awaiting).clone() });
    advance_stage(ctx, &claim.change, claim.fence, stage, Some(due), Transaction::new()).await.map(|_| None)
}

pub(crate) fn build_entry_by_person(ctx: &Context, change: &Change, kind: LedgerKind, by: &PersonId) -> LedgerEntry {
    build_ledger_entry(change, kind, Actor::Person(by.clone()), ctx.clock.now())
}

/// The card of the change as it is now. A message with the same key edits the posted card.
pub(crate) fn render_card(ctx: &Context, change: &Change) -> Message {
    let catalogue = &ctx.config.catalogue;
    let artefact = catalogue.find_artefact(change.plan.artefact.as_str());
    let next = artefact.and_then(|artefact| catalogue.ladder.find_next_above(&change.plan.environment, artefact));
    let rendered = render::card::render_card(change, next.map(|environment| &environment.name));
    rendered.into_message(build_post_destination(ctx, change, message_keys::for_card(change.id), None))
}

pub(crate) fn build_thread_reply(ctx: &Context, change: &Change, name: &str, rendered: render::Rendered) -> Message {
    let key = message_keys::for_card_reply(name, change.id);
    rendered.into_message(build_post_destination(ctx, change, key, Some(message_keys::for_card(change.id))))
}

pub(crate) fn build_post_destination(
    ctx: &Context,
    change: &Change,
    key: MessageKey,
    thread: Option<MessageKey>,
) -> Destination {
    let environment = ctx.config.catalogue.ladder.find(change.plan.environment.as_str());
    // An environment that was removed from the configuration has no channel; the requester gets the message.
    let channel =
        environment.map_or_else(|| change.requester.as_str().to_owned(), |environment| environment.channel.clone());
    let recipient = FallbackRecipient { person: change.requester.clone(), channel: change.requested_in.clone() };
    Destination::Post { channel, key, thread, asked: Some(recipient) }
}

/// The pause before the next try: 1 s, 2 s, 4 s, up to a minute.
pub(crate) fn compute_backoff(tries: u32) -> SignedDuration {
    SignedDuration::from_secs(1 << tries.min(6)).min(MAX_BACKOFF)
}

/// The time of the next request to GitHub after a failed one.
pub(crate) fn compute_next_try(error: &GithubError, tries: u32, now: Timestamp) -> Timestamp {
    match error {
        GithubError::RateLimited { until } | GithubError::Throttled { until } => *until,
        _ => now + compute_backoff(tries),
    }
}

pub(crate) fn describe_missing_branch(plan: &Plan) -> String {
    let (repository, branch) = plan.write_target();
    let hint = match &plan.write {
        GitWrite::Branch { pinned } => format!(" Make it again: git push origin {pinned}:refs/heads/{branch}"),
        GitWrite::Manifest { .. } => String::new(),
    };
    format!("The branch {branch} is gone from {repository}.{hint}")
}

pub(crate) fn describe_missing_commit(plan: &Plan) -> String {
    let commit = plan.pinned_commit().map_or_else(|| plan.version.label(), Sha::short);
    format!("The commit {commit} is not in {} any more.", plan.repository)
}

pub(crate) fn build_ledger_entry(change: &Change, kind: LedgerKind, actor: Actor, at: Timestamp) -> LedgerEntry {
    let plan = &change.plan;
    LedgerEntry {
        at,
        change: Some(change.id.to_string()),
        kind,
        artefact: Some(plan.artefact.clone()),
        environment: Some(plan.environment.clone()),
        actor: Some(actor),
        details: Some(LedgerDetails::Change {
            stage: Box::new(change.stage.clone()),
            pinned: plan.pinned_commit().cloned(),
            version: plan.version.clone(),
        }),
    }
}
