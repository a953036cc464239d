//! `GET /readyz`: 200 if Gantry can take requests, otherwise 503 with the reasons. The page also lists clusters that
//! cannot be read; they do not make Gantry unready, because the other clusters still work.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::adapters::cluster::NamespaceReadability;
use crate::adapters::slack::socket::ConnectionState;
use crate::adapters::store::StoreError;
use crate::workflow::context::Context;

/// Kubernetes probes every few seconds, and by default waits one second for the answer.
const STORE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the result of a store check is reused, so that frequent probes do not add writes.
const STORE_CHECK_TTL: Duration = Duration::from_secs(5);

/// Clones share the result of the last store check.
#[derive(Clone)]
pub(super) struct Readiness {
    context: Context,
    shutdown: CancellationToken,
    last_store_check: Arc<Mutex<Option<CachedStoreCheck>>>,
}

struct CachedStoreCheck {
    checked_at: Instant,
    problem: Option<String>,
}

impl Readiness {
    /// Gantry is not ready any more once `shutdown` is cancelled.
    pub(super) fn new(ctx: Context, shutdown: CancellationToken) -> Self {
        Self { context: ctx, shutdown, last_store_check: Arc::default() }
    }

    pub(super) fn into_router(self) -> Router {
        Router::new().route("/readyz", get(handle_readyz)).with_state(self)
    }

    /// The reasons why Gantry is not ready, one sentence each. Empty if it is ready.
    pub(super) async fn list_unready_reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.shutdown.is_cancelled() {
            reasons.push("Gantry is shutting down.".to_owned());
        }
        reasons.extend(self.check_store().await);
        reasons
    }

    /// Writes a few bytes, because only a write detects a full disk or a file that another process has locked.
    async fn check_store(&self) -> Option<String> {
        let mut last_check = self.last_store_check.lock().await;
        if let Some(check) = last_check.as_ref().filter(|check| check.checked_at.elapsed() < STORE_CHECK_TTL) {
            return check.problem.clone();
        }
        let problem = match timeout(STORE_TIMEOUT, self.context.store.test_write()).await {
            Ok(Ok(())) => None,
            Ok(Err(error @ StoreError::Closed)) => Some(error.to_string()),
            Ok(Err(error)) => Some(format!("The store cannot be written. {error}")),
            Err(_) => Some(format!("The store was not written within {} ms.", STORE_TIMEOUT.as_millis())),
        };
        *last_check = Some(CachedStoreCheck { checked_at: Instant::now(), problem: problem.clone() });
        problem
    }
}

async fn handle_readyz(State(readiness): State<Readiness>) -> Response {
    let reasons = readiness.list_unready_reasons().await;
    let clusters: Vec<_> = readiness
        .context
        .cluster_view
        .list_readability()
        .into_iter()
        .map(
            |(namespace, reading)| json!({ "namespace": namespace.to_string(), "reading": describe_reading(&reading) }),
        )
        .collect();
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let slack = describe_slack_connection(&readiness.context.socket_status.current_state());
    let body = json!({ "ready": reasons.is_empty(), "missing": reasons, "slack": slack, "clusters": clusters });
    (status, Json(body)).into_response()
}

/// How Slack's requests arrive. A closed socket does not make Gantry unready: it is opened again without end, and
/// webhooks still arrive.
fn describe_slack_connection(connection: &ConnectionState) -> String {
    match connection {
        ConnectionState::Unused => "over HTTP".to_owned(),
        ConnectionState::Opening => "by a socket that is not open yet".to_owned(),
        ConnectionState::Open { since } => format!("by a socket, open since {since}"),
        ConnectionState::Closed { why, since } => format!("by no socket since {since}: {why}"),
    }
}

fn describe_reading(reading: &NamespaceReadability) -> String {
    match reading {
        NamespaceReadability::Readable { .. } => "readable".to_owned(),
        NamespaceReadability::NotReadYet { .. } => "not read yet".to_owned(),
        NamespaceReadability::Unreadable { why, since } => format!("unreadable since {since}: {why}"),
    }
}
