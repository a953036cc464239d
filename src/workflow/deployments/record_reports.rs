//! Works off what webhooks told, all that waits in one transaction: controllers speak in bursts.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use crate::adapters::reports::ReportSender;
use crate::adapters::reports::disposition::ReportDisposition;
use crate::adapters::store::{InboxItem, InboxQueue, StoreError, Transaction};

use crate::workflow::context::Context;
use crate::workflow::deployments::controller_reports::handle_report;
use crate::workflow::deployments::github_events::{handle_build_event, wake_affected_changes};
use crate::workflow::deployments::webhook_inbox::WebhookEvent;
use crate::workflow::worker::{PANIC_RETRY_DELAY, STORE_RETRY_DELAY};

/// Few enough that whoever waits for the writer behind them does not notice.
const WEBHOOKS_PER_TRANSACTION: u32 = 128;

/// The pause before the next look, while the cluster has not been read at all.
const CLUSTER_UNREAD_DELAY: SignedDuration = SignedDuration::from_secs(1);

/// Runs until it is cancelled; what is under way then is worked off again by the next start.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let mut woken = ctx.store.subscribe_wakeups();
    loop {
        woken.mark_unchanged();
        let asked_at = ctx.clock.now();
        let next_due = match process_due_webhooks(&ctx).await {
            Ok(true) if !cancel.is_cancelled() => continue,
            Ok(_) => ctx.store.find_next_inbox_due(InboxQueue::Webhooks, asked_at).await,
            Err(error) => Err(error),
        };
        let later = async {
            match next_due {
                Ok(Some(due)) => ctx.clock.sleep_until(due).await,
                Ok(None) => std::future::pending().await,
                Err(error) => {
                    tracing::error!(%error, "webhooks cannot be worked off");
                    tokio::time::sleep(STORE_RETRY_DELAY).await;
                }
            }
        };
        tokio::select! {
            () = cancel.cancelled() => return,
            alive = woken.changed() => if alive.is_err() { return },
            () = later => {}
        }
    }
}

/// Works off what is due. `false`: nothing was.
async fn process_due_webhooks(ctx: &Context) -> Result<bool, StoreError> {
    let waiting = ctx.store.list_due_inbox_items(InboxQueue::Webhooks, WEBHOOKS_PER_TRANSACTION).await?;
    if waiting.is_empty() {
        return Ok(false);
    }
    let mut transaction = Transaction::new();
    let mut fates = Vec::new();
    for received in &waiting {
        tokio::task::yield_now().await;
        // What ended in a panic may end in another: it takes none of its neighbours with it.
        let understood = AssertUnwindSafe(async { received.create_span().in_scope(|| handle_webhook(ctx, received)) })
            .catch_unwind()
            .await;
        let now = ctx.clock.now();
        transaction = match understood {
            Ok(Some((heard, fate))) => {
                fates.extend(fate);
                transaction.append(heard).finish_inbox_item(received.id)
            }
            Ok(None) => transaction.postpone_without_attempt(
                received.id,
                now + CLUSTER_UNREAD_DELAY,
                "the cluster was not read yet",
            ),
            Err(_) => transaction.postpone_inbox_item(received.id, now + PANIC_RETRY_DELAY, "a panic"),
        };
    }
    ctx.activity.wake_observer();
    ctx.store.commit(transaction).await?;
    // Only now: what could not be stored is heard again.
    for (sender, fate) in fates {
        ctx.metrics.reports.record_disposition(sender, fate);
    }
    Ok(true)
}

/// `None`: it can be understood later.
fn handle_webhook(
    ctx: &Context,
    received: &InboxItem,
) -> Option<(Transaction, Option<(ReportSender, ReportDisposition)>)> {
    let noticed = Some((ReportSender::GitHub, ReportDisposition::Notice));
    Some(match serde_json::from_value(received.body.clone()) {
        Ok(WebhookEvent::Report(report)) => {
            let (transaction, fate) = handle_report(ctx, &report, received.received_at)?;
            (transaction, Some((report.sender, fate)))
        }
        Ok(WebhookEvent::Build(build)) => (
            handle_build_event(ctx, &build).map(|entry| Transaction::new().append_to_ledger(entry)).unwrap_or_default(),
            noticed,
        ),
        Ok(WebhookEvent::Notice(notice)) => {
            wake_affected_changes(ctx, &notice);
            (Transaction::new(), noticed)
        }
        Err(error) => {
            tracing::error!(%error, key = received.key, "a stored webhook cannot be read any more");
            (Transaction::new(), None)
        }
    })
}
