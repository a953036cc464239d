//! A small fake Slack for the tests of sending. It accepts every call unless a response is scripted.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::Client;

#[derive(Clone, Default)]
pub(crate) struct FakeSlack(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    address: String,
    calls: Vec<FakeSlackCall>,
    answers: HashMap<String, VecDeque<FakeSlackResponse>>,
    hanging: Option<(String, Arc<Notify>)>,
    posts: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct FakeSlackCall {
    pub(crate) method: String,
    pub(crate) body: Value,
    /// The raw body, for bodies that are not JSON.
    pub(crate) text: String,
    pub(crate) query: String,
    pub(crate) token: Option<String>,
}

#[derive(Clone)]
pub(crate) enum FakeSlackResponse {
    Code(&'static str),
    Json(Value),
    Status(u16, &'static str),
    RetryAfter(u64),
    Redirect(&'static str),
}

impl FakeSlack {
    pub(crate) async fn start() -> Self {
        let fake = Self::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        fake.0.lock().unwrap().address = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/prefix/api/{method}", any(handle_call))
            .route("/{hook}", any(handle_call))
            .with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        fake
    }

    pub(crate) fn address(&self) -> String {
        self.0.lock().unwrap().address.clone()
    }

    pub(crate) fn client(&self) -> Client {
        let address = self.address();
        Client::new(&format!("{address}/prefix/api/"), &address, "xoxb-secret".to_owned().into()).unwrap()
    }

    /// Scripts the response to the next call of `method`, or of `method channel`. Several responses are used in order.
    pub(crate) fn script_response(&self, method: &str, answer: FakeSlackResponse) {
        self.0.lock().unwrap().answers.entry(method.to_owned()).or_default().push_back(answer);
    }

    /// Calls for `channel` are not answered until the `Notify` is notified.
    pub(crate) fn hang_channel(&self, channel: &str) -> Arc<Notify> {
        let release = Arc::new(Notify::new());
        self.0.lock().unwrap().hanging = Some((channel.to_owned(), release.clone()));
        release
    }

    pub(crate) fn recorded_calls(&self) -> Vec<FakeSlackCall> {
        self.0.lock().unwrap().calls.clone()
    }

    /// The recorded calls in the form `method channel: text`.
    pub(crate) fn format_calls(&self) -> Vec<String> {
        let line = |call: FakeSlackCall| {
            let channel = call.body["channel"].as_str().unwrap_or("-").to_owned();
            format!("{} {channel}: {}", call.method, call.body["text"].as_str().unwrap_or("-"))
        };
        self.recorded_calls().into_iter().map(line).collect()
    }
}

async fn handle_call(
    State(fake): State<FakeSlack>,
    Path(method): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    text: String,
) -> Response {
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    let query = query.unwrap_or_default();
    let channel = body["channel"].as_str().unwrap_or_default().to_owned();
    let token = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    let (scripted, hanging, posts) = {
        let mut inner = fake.0.lock().unwrap();
        inner.calls.push(FakeSlackCall { method: method.clone(), body, text, query, token });
        let keys = [format!("{method} {channel}"), method.clone()];
        let scripted = keys.iter().find_map(|key| inner.answers.get_mut(key)?.pop_front());
        inner.posts += 1;
        (scripted, inner.hanging.clone().filter(|(hanging_channel, _)| *hanging_channel == channel), inner.posts)
    };
    if let Some((_, release)) = hanging {
        release.notified().await;
    }
    match scripted {
        None if method == "files.getUploadURLExternal" => {
            let upload_url = format!("{}/upload", fake.address());
            Json(json!({ "ok": true, "upload_url": upload_url, "file_id": "F0FILE" })).into_response()
        }
        None => {
            Json(json!({ "ok": true, "channel": format!("C-{channel}"), "ts": format!("{posts}.0") })).into_response()
        }
        Some(FakeSlackResponse::Code(code)) => Json(json!({ "ok": false, "error": code })).into_response(),
        Some(FakeSlackResponse::Json(body)) => Json(body).into_response(),
        Some(FakeSlackResponse::Status(status, body)) => (StatusCode::from_u16(status).unwrap(), body).into_response(),
        Some(FakeSlackResponse::Redirect(to)) => {
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response()
        }
        Some(FakeSlackResponse::RetryAfter(seconds)) => {
            let headers = [(header::RETRY_AFTER, seconds.to_string())];
            (StatusCode::TOO_MANY_REQUESTS, headers, Json(json!({ "ok": false, "error": "ratelimited" })))
                .into_response()
        }
    }
}
