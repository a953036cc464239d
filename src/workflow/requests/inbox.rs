//! Works on stored requests: the commands, mentions and clicks that the acknowledgement could not answer.

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::adapters::slack::incoming::{IncomingRequest, RequestOrigin};
use crate::adapters::store::{InboxId, InboxItem, InboxOrigin, InboxQueue, StoreError, Transaction, Wakeups};
use crate::domain::command;
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::requests::dispatch::dispatch_incoming;
use crate::workflow::requests::reply::{Response, build_person_message};
use crate::workflow::worker::{
    MAX_CONCURRENT_ROWS, PANIC_RETRY_DELAY, RowQueue, RowTasks, STORE_RETRY_DELAY, run_queue,
};

/// After this many failures the request is given up, and its sender is notified.
const MAX_ATTEMPTS: u32 = 6;

/// How often slow work is polled, and for how long.
const POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(2);
const POLL_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// Works on stored requests until `cancel`. The requests that are left wait for the next start.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let queue = RequestQueue { wakeups: ctx.store.subscribe_wakeups(), ctx: ctx.clone() };
    run_queue(queue, &ctx.clock, &cancel).await;
}

struct RequestQueue {
    ctx: Context,
    wakeups: watch::Receiver<Wakeups>,
}

impl RowQueue for RequestQueue {
    type Key = InboxId;
    type Output = ();

    const FAILURE: &'static str = "the inbox cannot be read";

    async fn start_due_rows(&mut self, tasks: &mut RowTasks<InboxId, ()>) -> Result<Option<Timestamp>, StoreError> {
        self.wakeups.mark_unchanged();
        let free = tasks.count_free();
        if free == 0 {
            return Ok(None);
        }
        let ctx = &self.ctx;
        let limit = u32::try_from(MAX_CONCURRENT_ROWS + tasks.count_running()).unwrap_or(u32::MAX);
        let read_at = ctx.clock.now();
        let mut received = ctx.store.list_due_inbox_items(InboxQueue::Requests, limit).await?;
        received.retain(|received| !tasks.running_keys().any(|id| *id == received.id));
        received.truncate(free);
        let next = ctx.store.find_next_inbox_due(InboxQueue::Requests, read_at).await?;
        for received in received {
            let (ctx, id, span) = (ctx.clone(), received.id, received.create_span());
            tasks.spawn_row(id, async move { process_request(&ctx, received).await }.instrument(span));
        }
        Ok(next)
    }

    async fn finish_row(&mut self, id: InboxId, result: Result<(), JoinError>) {
        if let Err(error) = result {
            tracing::error!(%error, "the handling of a request panicked; it is tried again later");
            postpone_request(&self.ctx, id, PANIC_RETRY_DELAY, "a panic").await;
        }
    }

    async fn wait_for_wakeup(&mut self) -> bool {
        self.wakeups.changed().await.is_ok()
    }
}

async fn process_request(ctx: &Context, received: InboxItem) {
    let id = received.id;
    let committed = match decode_and_dispatch(ctx, &received).await {
        Ok(Response { transaction, mut changes, refusal_rule }) => {
            let request = received.request_id();
            let committed = ctx.store.commit(transaction.with_request(&request).finish_inbox_item(id)).await;
            if committed.is_ok() {
                count_command(ctx, &received);
                if let Some(refusal) = refusal_rule {
                    ctx.metrics.count_refusal(refusal);
                }
                for change in &mut changes {
                    change.request.get_or_insert_with(|| request.clone());
                }
                for change in changes {
                    ctx.open_changes.record_change(change);
                }
            }
            committed
        }
        Err(RetryLater { reason, is_polling: true, .. })
            if ctx.clock.now().duration_since(received.received_at) < POLL_TIMEOUT =>
        {
            let postponement =
                Transaction::new().postpone_without_attempt(id, ctx.clock.now() + POLL_INTERVAL, &reason);
            return pause_on_store_error(ctx.store.commit(postponement).await).await;
        }
        Err(RetryLater { reason, give_up_reply, is_polling })
            if is_polling || received.attempts + 1 >= MAX_ATTEMPTS =>
        {
            tracing::error!(why = reason, "request given up");
            let mut transaction = Transaction::new().finish_inbox_item(id);
            if let Some(from) = parse_origin(&received) {
                transaction = transaction
                    .enqueue_message(build_person_message(&from, &received, give_up_reply))
                    .with_request(&received.request_id());
            }
            ctx.store.commit(transaction).await
        }
        Err(RetryLater { reason, .. }) => {
            let pause = SignedDuration::from_secs(1 << received.attempts.min(6));
            tracing::warn!(why = reason, attempts = received.attempts + 1, "request postponed");
            return postpone_request(ctx, id, pause, &reason).await;
        }
    };
    match committed {
        // Another transaction changed the facts between their reading and this commit. The request is handled again.
        Err(StoreError::ChangeLockHeld | StoreError::Overtaken) => {
            postpone_request(ctx, id, SignedDuration::ZERO, "overtaken").await;
        }
        committed => pause_on_store_error(committed).await,
    }
}

/// Counts a typed command by its verb, after it was answered.
fn count_command(ctx: &Context, received: &InboxItem) {
    if let Ok(IncomingRequest::Command { text, .. } | IncomingRequest::Said { text, .. }) =
        serde_json::from_value(received.body.clone())
    {
        let command = command::parse(&text, &ctx.config.catalogue).ok();
        ctx.metrics.count_command(command.map(|command| command.verb()));
    }
}

async fn postpone_request(ctx: &Context, id: InboxId, pause: SignedDuration, reason: &str) {
    pause_on_store_error(ctx.store.postpone_inbox_item(id, ctx.clock.now() + pause, reason).await).await;
}

/// Pauses after an error of the store before the next attempt. The row is still in the inbox.
async fn pause_on_store_error(result: Result<(), StoreError>) {
    if let Err(error) = result {
        tracing::error!(%error, "the inbox cannot be written");
        tokio::time::sleep(STORE_RETRY_DELAY).await;
    }
}

async fn decode_and_dispatch(ctx: &Context, received: &InboxItem) -> Result<Response, RetryLater> {
    match received.origin {
        InboxOrigin::SlackCommand | InboxOrigin::SlackInteraction | InboxOrigin::SlackEvent => {
            let Ok(incoming) = serde_json::from_value::<IncomingRequest>(received.body.clone()) else {
                tracing::error!("a stored request cannot be decoded and is dropped");
                return Ok(Response::default());
            };
            dispatch_incoming(ctx, received, incoming).await
        }
        // Webhooks are in the other queue.
        InboxOrigin::GitHub
        | InboxOrigin::Flux
        | InboxOrigin::ArgoCd
        | InboxOrigin::Deployments
        | InboxOrigin::CdEvents => Ok(Response::default()),
    }
}

fn parse_origin(received: &InboxItem) -> Option<RequestOrigin> {
    match serde_json::from_value(received.body.clone()).ok()? {
        IncomingRequest::Command { from, .. }
        | IncomingRequest::Said { from, .. }
        | IncomingRequest::Click { from, .. }
        | IncomingRequest::Submitted { from, .. } => Some(from),
        // These events ask for no answer.
        IncomingRequest::Opened { .. } | IncomingRequest::Joined { .. } | IncomingRequest::Ignored => None,
    }
}
