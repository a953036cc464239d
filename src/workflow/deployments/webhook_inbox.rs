//! Keeps what webhooks told, once, before their senders are answered. What follows from it is worked off by `hear`.

use serde::{Deserialize, Serialize};

use crate::adapters::reports::disposition::ReportDisposition;
use crate::adapters::reports::github::{Build, GithubNotice};
use crate::adapters::reports::{ParsedWebhook, Report, ReportSender, UnreadableWebhook};
use crate::adapters::store::{InboxOrigin, Receipt, StoreError, Transaction};
use crate::domain::runtime::attribution::UnmappedReport;
use crate::telemetry;

use crate::workflow::context::Context;

/// What a webhook told, as it waits in the inbox. Each has something that no other has.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum WebhookEvent {
    Report(Box<Report>),
    Build(Build),
    Notice(GithubNotice),
}

/// `false`: it could not be kept, and must be sent again.
pub async fn store_webhook_event(ctx: &Context, heard: ParsedWebhook) -> bool {
    match heard {
        ParsedWebhook::Report(report) => store_report(ctx, &report).await,
        ParsedWebhook::Notice(notice) => store_github_event(ctx, &notice.key, &notice).await,
        ParsedWebhook::Build(build) => store_github_event(ctx, &build.key, &build).await,
        ParsedWebhook::Unreadable(unread) => store_unreadable_report(ctx, &unread).await,
    }
}

/// Keeps a report once, by what it means and by what its sender calls it.
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

/// What nobody could make anything of is not dropped in silence.
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
