//! `GET /metrics`: counters that the other modules keep, and gauges of the current state. The only I/O is a short query
//! of Gantry's own database.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::{SignedDuration, Timestamp};

use crate::adapters::slack::socket::ConnectionState;
use crate::adapters::store::{Backlog, QueueDepth};
use crate::app::readiness::Readiness;
use crate::domain::change::Change;
use crate::telemetry::metrics::{CONTENT_TYPE, MetricsPage};
use crate::workflow::context::Context;

/// Most scrapers give up after ten seconds. If the database is slow, the page is served without its gauges.
const STORE_TIMEOUT: Duration = Duration::from_secs(1);

/// The stages of changes that are in progress or still observed. Each is shown for each environment, even with 0
/// changes.
const OPEN_STAGES: [&str; 5] = ["awaiting_approval", "merging", "deploying", "failed", "stalled"];

/// The number of stages at the beginning of [`OPEN_STAGES`] in which a change is in progress. In the others it is only
/// observed.
const ACTIVE_STAGE_COUNT: usize = 3;

#[derive(Clone)]
struct MetricsState {
    context: Context,
    readiness: Readiness,
    started_at: Timestamp,
}

pub(super) fn build_router(ctx: Context, readiness: Readiness) -> Router {
    let started_at = ctx.clock.now();
    Router::new().route("/metrics", get(handle_scrape)).with_state(MetricsState { context: ctx, readiness, started_at })
}

async fn handle_scrape(State(MetricsState { context: ctx, readiness, started_at }): State<MetricsState>) -> Response {
    let (backlog, unready_reasons) = tokio::join!(
        tokio::time::timeout(STORE_TIMEOUT, ctx.store.measure_backlog()),
        readiness.list_unready_reasons()
    );
    let mut page = MetricsPage::default();
    page.add_info("gantry_build", "The version of Gantry", ["version"], [env!("CARGO_PKG_VERSION")]);
    page.add_gauge(
        "process_start_time_seconds",
        "Start time of the process, in seconds since 1970",
        to_unix_seconds(started_at),
    );
    let is_ready = if unready_reasons.is_empty() { 1.0 } else { 0.0 };
    page.add_gauge("gantry_ready", "1 if Gantry can take requests, as /readyz reports", is_ready);
    add_change_metrics(&mut page, &ctx);
    add_request_metrics(&mut page, &ctx);
    add_store_metrics(&mut page, &ctx, backlog.ok().and_then(Result::ok));
    add_service_metrics(&mut page, &ctx);
    add_watch_metrics(&mut page, &ctx);
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], page.encode_text()).into_response()
}

fn add_change_metrics(page: &mut MetricsPage, ctx: &Context) {
    let now = ctx.clock.now();
    let mut ages: BTreeMap<[&str; 2], Vec<SignedDuration>> = BTreeMap::new();
    let changes = ctx.open_changes.all();
    for environment in ctx.config.catalogue.ladder.environments() {
        for stage in OPEN_STAGES {
            ages.entry([stage, environment.name.as_str()]).or_default();
        }
    }
    for change in &changes {
        let time_in_stage = |change: &Change| now.duration_since(change.stage_entered_at());
        ages.entry([change.stage.name(), change.plan.environment.as_str()]).or_default().push(time_in_stage(change));
    }
    let counts =
        ages.iter().map(|(labels, times)| (*labels, f64::from(u32::try_from(times.len()).unwrap_or(u32::MAX))));
    let label_names = ["stage", "environment"];
    page.add_labelled_gauge("gantry_changes", "Changes that are in progress or still observed", label_names, counts);
    let oldest = ages
        .iter()
        .filter(|([stage, _], _)| OPEN_STAGES[..ACTIVE_STAGE_COUNT].contains(stage))
        .map(|(labels, times)| (*labels, times.iter().max().map_or(0.0, SignedDuration::as_secs_f64)));
    let help = "Time that the oldest change has been in the stage; 0 if there is none";
    page.add_labelled_gauge("gantry_change_oldest_seconds", help, label_names, oldest);
    let metrics = ctx.open_changes.metrics();
    page.add_labelled_counter("gantry_changes_begun", "Changes that were begun or retried", &metrics.begun);
    let help = "Changes that ended; a change that recovers is counted again as deployed";
    page.add_labelled_counter("gantry_changes_ended", help, &metrics.ended);
    let help = "Duration of the completed steps of changes";
    page.add_labelled_histogram("gantry_change_step_duration_seconds", help, &metrics.phase_durations);
    let help = "Time from the request of a change until the cluster ran its version";
    page.add_labelled_histogram("gantry_change_duration_seconds", help, &metrics.total_durations);
}

fn add_request_metrics(page: &mut MetricsPage, ctx: &Context) {
    let metrics = &ctx.metrics;
    page.add_labelled_counter("gantry_commands", "Answered commands, by verb", metrics.commands());
    page.add_labelled_counter("gantry_refusals", "Refusals, by rule", metrics.refusals());
    let help = "Received webhooks, by sender and outcome";
    page.add_labelled_counter("gantry_reports", help, metrics.reports.counts());
}

fn add_store_metrics(page: &mut MetricsPage, ctx: &Context, backlog: Option<Backlog>) {
    let metrics = ctx.store.metrics();
    let help = "Duration of a database commit, which may contain many writes";
    page.add_latency_histogram("gantry_store_commit_duration_seconds", help, &metrics.commit_durations);
    page.add_counter("gantry_store_commit_failures", "Database commits that failed", &metrics.failed_commits);
    let readable = if backlog.is_some() { 1.0 } else { 0.0 };
    page.add_gauge("gantry_store_readable", "1 if the database answered this scrape in time", readable);
    let Some(Backlog { requests, webhooks, outbox }) = backlog else { return };
    let now = ctx.clock.now();
    let depth = |queue: &QueueDepth| f64::from(u32::try_from(queue.count).unwrap_or(u32::MAX));
    let age = |queue: &QueueDepth| queue.oldest.map_or(0.0, |oldest| now.duration_since(oldest).as_secs_f64());
    let queues = [(["requests"], requests), (["webhooks"], webhooks)];
    let help = "Stored requests and webhooks that are not handled yet";
    page.add_labelled_gauge(
        "gantry_inbox_items",
        help,
        ["line"],
        queues.map(|(labels, queue)| (labels, depth(&queue))),
    );
    let help = "Age of the oldest stored request or webhook";
    page.add_labelled_gauge(
        "gantry_inbox_oldest_seconds",
        help,
        ["line"],
        queues.map(|(labels, queue)| (labels, age(&queue))),
    );
    page.add_gauge("gantry_outbox_messages", "Messages that are not delivered to Slack yet", depth(&outbox));
    page.add_gauge("gantry_outbox_oldest_seconds", "Age of the oldest message that is not delivered", age(&outbox));
}

fn add_service_metrics(page: &mut MetricsPage, ctx: &Context) {
    let help = "Requests to GitHub, by the class of the response's status; none if there was no response";
    page.add_labelled_counter("gantry_github_requests", help, ctx.github.request_counts());
    // Unknown before GitHub's first answer, and where GitHub has no limits.
    if let Some(rate_limit) = ctx.github.rate_limit_state() {
        let requests = f64::from(u32::try_from(rate_limit.remaining).unwrap_or(u32::MAX));
        page.add_gauge("gantry_github_rate_remaining", "Requests that GitHub still accepts in this hour", requests);
        if let Some(resets_at) = rate_limit.resets_at {
            let help = "End of this hour of GitHub's rate limit, in seconds since 1970";
            page.add_gauge("gantry_github_rate_reset_timestamp_seconds", help, to_unix_seconds(resets_at));
        }
    }
    page.add_labelled_counter("gantry_slack_calls", "Calls of Slack's methods, by result", ctx.slack.call_counts());
    let connected = match ctx.socket_status.current_state() {
        ConnectionState::Unused => return,
        ConnectionState::Open { .. } => 1.0,
        ConnectionState::Opening | ConnectionState::Closed { .. } => 0.0,
    };
    page.add_gauge("gantry_slack_socket_connected", "1 if the Socket Mode connection to Slack is open", connected);
}

fn add_watch_metrics(page: &mut MetricsPage, ctx: &Context) {
    let watches = ctx.cluster_view.list_watch_health();
    let label_names = ["context", "namespace", "kind"];
    let build_labels = |watch: &crate::adapters::cluster::WatchHealth| {
        let context = watch.namespace.context.as_deref().unwrap_or("default").to_owned();
        [context, watch.namespace.name.to_string(), watch.kind.as_str().to_owned()]
    };
    let ages = watches.iter().map(|watch| (build_labels(watch), watch.silent_for.as_secs_f64()));
    let help = "Time since the last message of the watch of a kind of workload in a namespace";
    page.add_labelled_gauge("gantry_watch_age_seconds", help, label_names, ages);
    let readable = watches.iter().map(|watch| (build_labels(watch), if watch.is_readable { 1.0 } else { 0.0 }));
    page.add_labelled_gauge(
        "gantry_watch_readable",
        "1 if the kind of workload can be read in the namespace",
        label_names,
        readable,
    );
}

fn to_unix_seconds(at: Timestamp) -> f64 {
    at.duration_since(Timestamp::UNIX_EPOCH).as_secs_f64()
}
