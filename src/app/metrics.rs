//! `GET /metrics`: what the parts have counted, and what is so at this moment. It asks nobody but our own database, and does
//! not wait for that for long.

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
use crate::telemetry::metrics::{CONTENT_TYPE, Page};
use crate::workflow::context::Context;

/// A scrape is given up after ten seconds by most; a database that takes so long is said to be silent instead.
const PATIENCE: Duration = Duration::from_secs(1);

/// The stages in which changes are under way or watched. Each is shown in each environment, be it with none.
const OPEN: [&str; 5] = ["awaiting_approval", "merging", "deploying", "failed", "stalled"];

/// Those in which something is waited for.
const ACTIVE: usize = 3;

#[derive(Clone)]
struct Scraped {
    bot: Context,
    readiness: Readiness,
    started_at: Timestamp,
}

pub(super) fn router(bot: Context, readiness: Readiness) -> Router {
    let started_at = bot.clock.now();
    Router::new().route("/metrics", get(scrape)).with_state(Scraped { bot, readiness, started_at })
}

async fn scrape(State(Scraped { bot, readiness, started_at }): State<Scraped>) -> Response {
    let (backlog, missing) =
        tokio::join!(tokio::time::timeout(PATIENCE, bot.store.measure_backlog()), readiness.missing());
    let mut page = Page::default();
    page.info("gantry_build", "Which Gantry this is", ["version"], [env!("CARGO_PKG_VERSION")]);
    page.now("process_start_time_seconds", "When it was started, in seconds since 1970", seconds_of(started_at));
    let is_ready = if missing.is_empty() { 1.0 } else { 0.0 };
    page.now("gantry_ready", "1 while it may be sent something, as /readyz says", is_ready);
    changes(&mut page, &bot);
    asked(&mut page, &bot);
    store(&mut page, &bot, backlog.ok().and_then(Result::ok));
    services(&mut page, &bot);
    watches(&mut page, &bot);
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], page.text()).into_response()
}

fn changes(page: &mut Page, bot: &Context) {
    let now = bot.clock.now();
    let mut open: BTreeMap<[&str; 2], Vec<SignedDuration>> = BTreeMap::new();
    let all = bot.open_changes.all();
    for rung in bot.config.catalogue.ladder.environments() {
        for stage in OPEN {
            open.entry([stage, rung.name.as_str()]).or_default();
        }
    }
    for change in &all {
        let stands = |change: &Change| now.duration_since(change.stage_entered_at());
        open.entry([change.stage.name(), change.plan.environment.as_str()]).or_default().push(stands(change));
    }
    let counted = open.iter().map(|(of, stand)| (*of, f64::from(u32::try_from(stand.len()).unwrap_or(u32::MAX))));
    let by = ["stage", "environment"];
    page.now_by("gantry_changes", "Changes that are under way, or still watched", by, counted);
    let oldest = open
        .iter()
        .filter(|([stage, _], _)| OPEN[..ACTIVE].contains(stage))
        .map(|(of, stand)| (*of, stand.iter().max().map_or(0.0, SignedDuration::as_secs_f64)));
    let help = "How long the oldest change has been in that stage; 0 where there is none";
    page.now_by("gantry_change_oldest_seconds", help, by, oldest);
    let measures = bot.open_changes.metrics();
    page.counts("gantry_changes_begun", "Changes that were begun or taken up again", &measures.begun);
    let help = "Changes that came to an end; what recovers ends once more, as deployed";
    page.counts("gantry_changes_ended", help, &measures.ended);
    let help = "How long each step took of those changes that have it behind them";
    page.durations("gantry_change_step_duration_seconds", help, &measures.phase_durations);
    let help = "From the command until the cluster ran it";
    page.durations("gantry_change_duration_seconds", help, &measures.total_durations);
}

fn asked(page: &mut Page, bot: &Context) {
    let measures = &bot.metrics;
    page.counts("gantry_commands", "Commands that were answered, by their verb", measures.commands());
    page.counts("gantry_refusals", "Times that a rule said no, by the rule", measures.refusals());
    let help = "Webhooks that came, by who sent them and what became of them";
    page.counts("gantry_reports", help, measures.reports.counts());
}

fn store(page: &mut Page, bot: &Context, backlog: Option<Backlog>) {
    let measures = bot.store.metrics();
    let help = "How long the writer took for a commit, which is of many writes where many wait";
    page.moments("gantry_store_commit_duration_seconds", help, &measures.commit_durations);
    page.count("gantry_store_commit_failures", "Commits that failed", &measures.failed_commits);
    let readable = if backlog.is_some() { 1.0 } else { 0.0 };
    page.now("gantry_store_readable", "1 if the database answered this scrape in time", readable);
    let Some(Backlog { requests, webhooks, outbox }) = backlog else { return };
    let now = bot.clock.now();
    let depth = |waiting: &QueueDepth| f64::from(u32::try_from(waiting.count).unwrap_or(u32::MAX));
    let age = |waiting: &QueueDepth| waiting.oldest.map_or(0.0, |oldest| now.duration_since(oldest).as_secs_f64());
    let lines = [(["requests"], requests), (["webhooks"], webhooks)];
    let help = "What came in and is not worked off yet: requests of people, and webhooks";
    page.now_by("gantry_inbox_items", help, ["line"], lines.map(|(of, waiting)| (of, depth(&waiting))));
    let help = "How long the oldest of these waits";
    page.now_by("gantry_inbox_oldest_seconds", help, ["line"], lines.map(|(of, waiting)| (of, age(&waiting))));
    page.now("gantry_outbox_messages", "Messages that Slack does not have yet", depth(&outbox));
    page.now("gantry_outbox_oldest_seconds", "How long the oldest of these waits for Slack", age(&outbox));
}

fn services(page: &mut Page, bot: &Context) {
    let help = "Requests to GitHub, by the class of the answer's status; none where there was no answer";
    page.counts("gantry_github_requests", help, bot.github.request_counts());
    // Where GitHub has said nothing yet, or has no limits, there is nothing to tell.
    if let Some(left) = bot.github.rate_limit_state() {
        let requests = f64::from(u32::try_from(left.remaining).unwrap_or(u32::MAX));
        page.now("gantry_github_rate_remaining", "Requests that GitHub still takes in this hour", requests);
        if let Some(resets_at) = left.resets_at {
            let help = "When the hour is over, in seconds since 1970";
            page.now("gantry_github_rate_reset_timestamp_seconds", help, seconds_of(resets_at));
        }
    }
    page.counts("gantry_slack_calls", "Calls of Slack's methods, by what came of them", bot.slack.call_counts());
    let connected = match bot.socket_status.current_state() {
        ConnectionState::Unused => return,
        ConnectionState::Open { .. } => 1.0,
        ConnectionState::Opening | ConnectionState::Closed { .. } => 0.0,
    };
    page.now("gantry_slack_socket_connected", "1 while Slack can reach us by a socket", connected);
}

fn watches(page: &mut Page, bot: &Context) {
    let watches = bot.cluster_view.list_watch_health();
    let by = ["context", "namespace", "kind"];
    let of = |watch: &crate::adapters::cluster::WatchHealth| {
        let context = watch.namespace.context.as_deref().unwrap_or("default").to_owned();
        [context, watch.namespace.name.to_string(), watch.kind.as_str().to_owned()]
    };
    let silent = watches.iter().map(|watch| (of(watch), watch.silent_for.as_secs_f64()));
    let help = "How long the cluster has said nothing of a kind of workload in a namespace";
    page.now_by("gantry_watch_age_seconds", help, by, silent);
    let readable = watches.iter().map(|watch| (of(watch), if watch.is_readable { 1.0 } else { 0.0 }));
    page.now_by("gantry_watch_readable", "1 while it can be read", by, readable);
}

fn seconds_of(at: Timestamp) -> f64 {
    at.duration_since(Timestamp::UNIX_EPOCH).as_secs_f64()
}
