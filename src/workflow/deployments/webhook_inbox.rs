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

/// Few enough that other transactions behind this one wait only briefly for the writer.
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
pub async fn store_webhook_event(ctx: &Context, heard: ParsedWebhook) -> bool {
    match heard {
        ParsedWebhook::Report(report) => store_report(ctx, &report).await,
        ParsedWebhook::Notice(notice) => store_github_event(ctx, &notice.key, &notice).await,
        ParsedWebhook::Build(build) => store_github_event(ctx, &build.key, &build).await,
        ParsedWebhook::Unreadable(unread) => store_unreadable_report(ctx, &unread).await,
    }
}

/// Stores a report once. Duplicates are found by the key, which is made from the content, and by the sender's own id.
pub(crate) async fn store_report(ctx: &Context, report: &Report) -> bool {
    let body = serde_json::to_value(report).unwrap_or_default();
    let stored =
        ctx.store.receive_with_sender_id(to_inbox_source(report.sender), &report.key, report.id_key(), &body).await;
    log_receipt(ctx, report.sender, &report.key, stored)
}

async fn store_github_event(ctx: &Context, key: &str, told: &impl Serialize) -> bool {
    let body = serde_json::to_value(told).unwrap_or_default();
    log_receipt(ctx, ReportSender::GitHub, key, ctx.store.receive_inbox_item(InboxOrigin::GitHub, key, &body).await)
}

fn log_receipt(ctx: &Context, sender: ReportSender, key: &str, stored: Result<Receipt, StoreError>) -> bool {
    let request = telemetry::derive_request_id(to_inbox_source(sender).as_str(), key);
    if let Ok(Receipt::Replay) = stored {
        ctx.metrics.reports.record_disposition(sender, ReportDisposition::Duplicate);
    }
    tracing::debug!(request.id = request, before = matches!(stored, Ok(Receipt::Replay)), "told");
    tracing::error_span!("request", request.id = request).in_scope(|| is_stored(stored))
}

/// Stores a webhook that could not be parsed as an unmapped report, so that people can see it.
pub(crate) async fn store_unreadable_report(ctx: &Context, unread: &UnreadableWebhook) -> bool {
    let stray = UnmappedReport {
        environment: unread.environment.clone(),
        sender: unread.sender.display_name().to_owned(),
        object: None,
        reason: "unread".to_owned(),
        problem: unread.why.clone(),
        repair: "Repair what sends it: the README says what is understood.".to_owned(),
        message: unread.body.clone(),
        at: ctx.clock.now(),
    };
    is_stored(ctx.store.commit(Transaction::new().count_unmapped_report(stray)).await)
}

fn to_inbox_source(sender: ReportSender) -> InboxOrigin {
    match sender {
        ReportSender::Flux => InboxOrigin::Flux,
        ReportSender::ArgoCd => InboxOrigin::ArgoCd,
        ReportSender::GitHub => InboxOrigin::GitHub,
        ReportSender::Deployments => InboxOrigin::Deployments,
        ReportSender::CdEvents => InboxOrigin::CdEvents,
    }
}

fn is_stored<T>(stored: Result<T, StoreError>) -> bool {
    stored.inspect_err(|error| tracing::error!(%error, "what a webhook told could not be stored")).is_ok()
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
    const FAILURE: &'static str = "webhooks cannot be worked off";

    async fn run_round(&mut self) -> Result<NextRound, StoreError> {
        self.wakeups.mark_unchanged();
        let asked_at = self.ctx.clock.now();
        if process_due_webhooks(&self.ctx).await? {
            return Ok(NextRound::AtOnce);
        }
        Ok(self.ctx.store.find_next_inbox_due(InboxQueue::Webhooks, asked_at).await?.into())
    }

    async fn wait_for_wakeup(&mut self) -> bool {
        self.wakeups.changed().await.is_ok()
    }
}

/// Processes the webhooks that are due. `false`: there were none.
async fn process_due_webhooks(ctx: &Context) -> Result<bool, StoreError> {
    let waiting = ctx.store.list_due_inbox_items(InboxQueue::Webhooks, WEBHOOKS_PER_TRANSACTION).await?;
    if waiting.is_empty() {
        return Ok(false);
    }
    let mut transaction = Transaction::new();
    let mut fates = Vec::new();
    for received in &waiting {
        tokio::task::yield_now().await;
        // A panic of one webhook must not affect the others in the transaction.
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
    // Counted after the commit, because a failed transaction is processed again.
    for (sender, fate) in fates {
        ctx.metrics.reports.record_disposition(sender, fate);
    }
    Ok(true)
}

/// `None`: the cluster was not read yet, so the webhook must be processed later.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::adapters::reports::github;

    #[test]
    fn what_github_told_is_read_back_as_what_it_was() {
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
                ParsedWebhook::Unreadable(unread) => panic!("{unread:?}"),
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
