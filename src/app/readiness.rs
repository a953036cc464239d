//! `GET /readyz`: may Gantry be sent anything now? If not, it says why, with 503. A dead cluster is said there too, and keeps
//! nobody out: the others go on.

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

/// A cluster asks every few seconds, and waits for one.
const PATIENCE: Duration = Duration::from_millis(500);
/// So long an answer of the store's stands, whoever asks how often.
const STANDS: Duration = Duration::from_secs(5);

/// Clones share what is known of the store.
#[derive(Clone)]
pub(super) struct Readiness {
    bot: Context,
    ending: CancellationToken,
    looked: Arc<Mutex<Option<Looked>>>,
}

struct Looked {
    at: Instant,
    trouble: Option<String>,
}

impl Readiness {
    /// From `ending` on it is not ready any more.
    pub(super) fn new(bot: Context, ending: CancellationToken) -> Self {
        Self { bot, ending, looked: Arc::default() }
    }

    pub(super) fn router(self) -> Router {
        Router::new().route("/readyz", get(ready)).with_state(self)
    }

    /// What keeps it from being ready, each in a sentence; nothing where nothing does.
    pub(super) async fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.ending.is_cancelled() {
            missing.push("Gantry is shutting down.".to_owned());
        }
        missing.extend(self.store_trouble().await);
        missing
    }

    /// Writes a few bytes: a disk that is full, or a file that somebody else holds, is noticed by nothing else.
    async fn store_trouble(&self) -> Option<String> {
        let mut looked = self.looked.lock().await;
        if let Some(known) = looked.as_ref().filter(|known| known.at.elapsed() < STANDS) {
            return known.trouble.clone();
        }
        let trouble = match timeout(PATIENCE, self.bot.store.test_write()).await {
            Ok(Ok(())) => None,
            Ok(Err(error @ StoreError::Closed)) => Some(error.to_string()),
            Ok(Err(error)) => Some(format!("The store cannot be written. {error}")),
            Err(_) => Some(format!("The store was not written within {} ms.", PATIENCE.as_millis())),
        };
        *looked = Some(Looked { at: Instant::now(), trouble: trouble.clone() });
        trouble
    }
}

async fn ready(State(readiness): State<Readiness>) -> Response {
    let missing = readiness.missing().await;
    let clusters: Vec<_> = readiness
        .bot
        .cluster_view
        .list_readability()
        .into_iter()
        .map(|(namespace, reading)| json!({ "namespace": namespace.to_string(), "reading": describe(&reading) }))
        .collect();
    let status = if missing.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let slack = reached(&readiness.bot.socket_status.current_state());
    let body = json!({ "ready": missing.is_empty(), "missing": missing, "slack": slack, "clusters": clusters });
    (status, Json(body)).into_response()
}

/// How Slack's requests come in. A socket that is not open is opened again for ever, and webhooks come meanwhile.
fn reached(connection: &ConnectionState) -> String {
    match connection {
        ConnectionState::Unused => "over HTTP".to_owned(),
        ConnectionState::Opening => "by a socket that is not open yet".to_owned(),
        ConnectionState::Open { since } => format!("by a socket, open since {since}"),
        ConnectionState::Closed { why, since } => format!("by no socket since {since}: {why}"),
    }
}

fn describe(reading: &NamespaceReadability) -> String {
    match reading {
        NamespaceReadability::Readable { .. } => "readable".to_owned(),
        NamespaceReadability::NotReadYet { .. } => "not read yet".to_owned(),
        NamespaceReadability::Unreadable { why, since } => format!("unreadable since {since}: {why}"),
    }
}
