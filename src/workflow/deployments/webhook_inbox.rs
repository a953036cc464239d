//! Stores each webhook event once, before the response to its sender. A loop processes the stored events, many in one
//! transaction, because controllers send reports in bursts.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::adapters::reports::disposition::ReportDisposition;
use crate::adapters::reports::github::{Build, GithubNotice};
use crate::adapters::reports::{ParsedWebhook, Report, ReportSender, UnreadableWebhook};
use crate::adapters::store::{InboxItem, InboxOrigin, InboxQueue, Receipt, StoreError, Transaction, Wakeups};
use crate::domain::runtime::attribution::UnmappedReport;
use crate::telemetry;
use crate::workflow::context::Context;
use crate::workflow::deployments::controller_reports::handle_report;
use crate::workflow::deployments::github_events::{handle_build_event, wake_affected_changes};
use crate::workflow::worker::{NextRound, PANIC_RETRY_DELAY, Rounds, run_rounds};

/// Few enough that other transactions wait only briefly for the one writer of the database.
const WEBHOOKS_PER_TRANSACTION: u32 = 128;

/// The pause before the next try while the cluster has not been read.
const CLUSTER_UNREAD_DELAY: SignedDuration = SignedDuration::from_secs(1);

/// An event in the inbox. Each variant has a required field that the others lack, so that `untagged` can tell them
/// apart.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum WebhookEvent {
    Report(Box<Report>),
    Build(Build),
    Notice(GithubNotice),
}

/// `false`: the event could not be stored, and its sender must send it again.
pub async fn store_webhook_event(ctx: &Context, webhook: ParsedWebhook) -> bool {
    match webhook {
        ParsedWebhook::Report(report) => store_report(ctx, &report).await,
        ParsedWebhook::Notice(notice) => store_github_event(ctx, &notice.key, &notice).await,
        ParsedWebhook::Build(build) => store_github_event(ctx, &build.key, &build).await,
        ParsedWebhook::Unreadable(unreadable) => store_unreadable_report(ctx, &unreadable).await,
    }
}

/// Stores a report once. Duplicates are found by the key, which is made from the content, and by the sender's own id.
pub(crate) async fn store_report(ctx: &Context, report: &Report) -> bool {
    let body = serde_json::to_value(report).unwrap_or_default();
    let stored =
        ctx.store.receive_with_sender_id(to_inbox_origin(report.sender), &report.key, report.id_key(), &body).await;
    log_receipt(ctx, report.sender, &report.key, stored)
}

async fn store_github_event(ctx: &Context, key: &str, event: &impl Serialize) -> bool {
    let body = serde_json::to_value(event).unwrap_or_default();
    log_receipt(ctx, ReportSender::GitHub, key, ctx.store.receive_inbox_item(InboxOrigin::GitHub, key, &body).await)
}

/// Logs the receipt and counts a duplicate. `false`: the event could not be stored.
fn log_receipt(ctx: &Context, sender: ReportSender, key: &str, receipt: Result<Receipt, StoreError>) -> bool {
    let request = telemetry::derive_request_id(to_inbox_origin(sender).as_str(), key);
    if let Ok(Receipt::Replay) = receipt {
        ctx.metrics.reports.record_disposition(sender, ReportDisposition::Duplicate);
    }
    tracing::debug!(request.id = request, before = matches!(receipt, Ok(Receipt::Replay)), "webhook received");
    tracing::error_span!("request", request.id = request).in_scope(|| is_stored(receipt))
}

/// Stores a webhook that could not be parsed as an unmapped report, so that people can see it.
pub(crate) async fn store_unreadable_report(ctx: &Context, webhook: &UnreadableWebhook) -> bool {
    let report = UnmappedReport {
        environment: webhook.environment.clone(),
        sender: webhook.sender.display_name().to_owned(),
        object: None,
        reason: "unread".to_owned(),
        problem: webhook.why.clone(),
        repair: "Repair what sends it: the README says what is understood.".to_owned(),
        message: webhook.body.clone(),
        at: ctx.clock.now(),
    };
    is_stored(ctx.store.commit(Transaction::new().count_unmapped_report(report)).await)
}

fn to_inbox_origin(sender: ReportSender) -> InboxOrigin {
    match sender {
        ReportSender::Flux => InboxOrigin::Flux,
        ReportSender::ArgoCd => InboxOrigin::ArgoCd,
        ReportSender::GitHub => InboxOrigin::GitHub,
        ReportSender::Deployments => InboxOrigin::Deployments,
        ReportSender::CdEvents => InboxOrigin::CdEvents,
    }
}

fn is_stored<T>(stored: Result<T, StoreError>) -> bool {
    stored
        .inspect_err(|error| tracing::error!(%error, "a webhook could not be stored; its sender must send it again"))
        .is_ok()
}

/// Processes stored webhooks until it is cancelled. The next start processes the rest.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let rounds = WebhookRounds { wakeups: ctx.store.subscribe_wakeups(), ctx: ctx.clone() };
    run_rounds(rounds, &ctx.clock, &cancel).await;
}

struct WebhookRounds {
    ctx: Context,
    wakeups: watch::Receiver<Wakeups>,
}

impl Rounds for WebhookRounds {
    const FAILURE: &'static str = "stored webhooks cannot be processed; trying again";

    async fn run_round(&mut self) -> Result<NextRound, StoreError> {
        self.wakeups.mark_unchanged();
        let read_at = self.ctx.clock.now();
        if process_due_webhooks(&self.ctx).await? {
            return Ok(NextRound::AtOnce);
        }
        Ok(self.ctx.store.find_next_inbox_due(InboxQueue::Webhooks, read_at).await?.into())
    }

    async fn wait_for_wakeup(&mut self) -> bool {
        self.wakeups.changed().await.is_ok()
    }
}

/// Processes the webhooks that are due. `false`: there were none.
async fn process_due_webhooks(ctx: &Context) -> Result<bool, StoreError> {
    let items = ctx.store.list_due_inbox_items(InboxQueue::Webhooks, WEBHOOKS_PER_TRANSACTION).await?;
    if items.is_empty() {
        return Ok(false);
    }
    let mut transaction = Transaction::new();
    let mut dispositions = Vec::new();
    for item in &items {
        tokio::task::yield_now().await;
        // A panic of one webhook must not affect the others in the transaction.
        let outcome =
            AssertUnwindSafe(async { item.create_span().in_scope(|| handle_webhook(ctx, item)) }).catch_unwind().await;
        let now = ctx.clock.now();
        transaction = match outcome {
            Ok(Some((effects, disposition))) => {
                dispositions.extend(disposition);
                transaction.append(effects).finish_inbox_item(item.id)
            }
            Ok(None) => transaction.postpone_without_attempt(
                item.id,
                now + CLUSTER_UNREAD_DELAY,
                "the cluster was not read yet",
            ),
            Err(_) => transaction.postpone_inbox_item(item.id, now + PANIC_RETRY_DELAY, "a panic"),
        };
    }
    ctx.activity.wake_observer();
    ctx.store.commit(transaction).await?;
    // Counted after the commit, because a failed transaction is processed again.
    for (sender, disposition) in dispositions {
        ctx.metrics.reports.record_disposition(sender, disposition);
    }
    Ok(true)
}

/// `None`: the cluster was not read yet, so the webhook must be processed later.
fn handle_webhook(ctx: &Context, item: &InboxItem) -> Option<(Transaction, Option<(ReportSender, ReportDisposition)>)> {
    let notice_disposition = Some((ReportSender::GitHub, ReportDisposition::Notice));
    Some(match serde_json::from_value(item.body.clone()) {
        Ok(WebhookEvent::Report(report)) => {
            let (transaction, disposition) = handle_report(ctx, &report, item.received_at)?;
            (transaction, Some((report.sender, disposition)))
        }
        Ok(WebhookEvent::Build(build)) => (
            handle_build_event(ctx, &build).map(|entry| Transaction::new().append_to_ledger(entry)).unwrap_or_default(),
            notice_disposition,
        ),
        Ok(WebhookEvent::Notice(notice)) => {
            wake_affected_changes(ctx, &notice);
            (Transaction::new(), notice_disposition)
        }
        Err(error) => {
            tracing::error!(%error, key = item.key, "a stored webhook cannot be parsed and is dropped");
            (Transaction::new(), None)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::adapters::reports::github;

    #[test]
    fn each_stored_github_event_is_read_back_as_its_own_type() {
        let sha = "a".repeat(40);
        let body = json!({
            "repository": { "full_name": "acme/checkout" }, "sha": sha,
            "deployment": { "id": 1, "sha": sha, "environment": "qa" }, "deployment_status": { "id": 2, "state": "success" },
            "workflow_run": { "id": 3, "head_sha": sha, "status": "queued" },
        })
        .to_string();
        let find = |name: &str| Some(crate::domain::model::environment::EnvironmentName::new(name));
        for (event, expected) in
            [("status", "notice"), (github::DEPLOYMENT_EVENT, "report"), (github::BUILD_EVENT, "build")]
        {
            let stored = match github::parse(event, body.as_bytes(), find).unwrap().unwrap() {
                ParsedWebhook::Report(report) => json!(report),
                ParsedWebhook::Build(build) => json!(build),
                ParsedWebhook::Notice(notice) => json!(notice),
                ParsedWebhook::Unreadable(unreadable) => panic!("{unreadable:?}"),
            };
            let read = match serde_json::from_value(stored).unwrap() {
                WebhookEvent::Report(_) => "report",
                WebhookEvent::Build(_) => "build",
                WebhookEvent::Notice(_) => "notice",
            };
            assert_eq!(read, expected);
        }
    }
}
