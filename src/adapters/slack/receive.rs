//! Receives requests from Slack over HTTP: limits, verifies and parses them into [`IncomingRequest`]. Transport only:
//! the handler decides about the answer, so that HTTP and Socket Mode share one function.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::future::BoxFuture;
use hmac::{Hmac, Mac};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use super::incoming::{self, IncomingRequest};
use crate::clock::Clock;
use crate::http::{catch_panic, read_body, refuse_request};

/// Slack's bodies are far smaller, although an interaction contains the whole message of the button.
pub const BODY_LIMIT: usize = 128 * 1024;

/// Requests with an older or newer timestamp are refused, as Slack advises, so that a recorded request cannot be
/// replayed later.
const MAX_SKEW_SECONDS: i64 = 300;

/// The response to Slack, which Slack expects within three seconds.
#[derive(Debug, PartialEq)]
pub enum Ack {
    /// Received. An answer may follow in a message.
    Empty,
    /// The answer is in the response itself, as JSON for Slack.
    Body(Vec<u8>),
    /// The request was not stored, so Slack must send it again.
    NotStored,
}

pub type RequestHandler = Arc<dyn Fn(IncomingRequest) -> BoxFuture<'static, Ack> + Send + Sync>;

pub struct Receiver {
    /// `None` if Slack uses Socket Mode. No request over HTTP can be from Slack then.
    signing_key: Option<Hmac<Sha256>>,
    clock: Clock,
    handler: RequestHandler,
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

impl Receiver {
    #[expect(clippy::missing_panics_doc, reason = "HMAC takes a key of any length")]
    pub fn new(signing_secret: Option<&SecretString>, clock: Clock, handler: RequestHandler) -> Self {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let key = |secret: &SecretString| {
            <Hmac<Sha256> as Mac>::new_from_slice(secret.expose_secret().as_bytes()).expect("any length")
        };
        Self { signing_key: signing_secret.map(key), clock, handler }
    }

    pub fn into_router(self) -> Router {
        Router::new()
            .route("/slack/commands", post(handle_command))
            .route("/slack/interactions", post(handle_interaction))
            .route("/slack/events", post(handle_event))
            .with_state(Arc::new(self))
    }

    /// Returns the body after it has verified that Slack sent the request recently.
    async fn verify_request(&self, request: Request) -> Result<Bytes, Response> {
        let unsigned = || refuse_request(StatusCode::UNAUTHORIZED, "The request is not signed by Slack.");
        let Some(key) = &self.signing_key else {
            let message = "Slack reaches this Gantry by Socket Mode. For requests over HTTP, set SLACK_SIGNING_SECRET.";
            return Err(refuse_request(StatusCode::UNAUTHORIZED, message));
        };
        // Refused before the body is read, so that unsigned requests use no memory.
        let (timestamp, signature) = parse_signature_headers(request.headers()).ok_or_else(unsigned)?;
        let now = self.clock.now();
        if !is_fresh(&timestamp, now) {
            return Err(refuse_request(
                StatusCode::UNAUTHORIZED,
                "The request's timestamp is more than five minutes off.",
            ));
        }
        let body = read_body(request, BODY_LIMIT).await?;
        let mut mac = key.clone();
        mac.update(b"v0:");
        mac.update(timestamp.as_bytes());
        mac.update(b":");
        mac.update(&body);
        // Compares in constant time, so that the duration reveals nothing about the signature.
        mac.verify_slice(&signature).map_err(|_| unsigned())?;
        Ok(body)
    }
}

/// The `X-Slack-Signature` of a body, computed as Slack does, for the doctor's request to a running Gantry.
#[expect(clippy::missing_panics_doc, reason = "HMAC takes a key of any length")]
pub fn sign_body(signing_secret: &SecretString, timestamp: i64, body: &str) -> String {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(signing_secret.expose_secret().as_bytes()).expect("any length");
    mac.update(format!("v0:{timestamp}:{body}").as_bytes());
    format!("v0={:x}", mac.finalize().into_bytes())
}

fn is_fresh(timestamp: &HeaderValue, now: Timestamp) -> bool {
    let sent = timestamp.to_str().ok().and_then(|text| text.parse::<i64>().ok());
    sent.is_some_and(|sent| now.as_second().abs_diff(sent) <= MAX_SKEW_SECONDS.unsigned_abs())
}

fn parse_signature_headers(headers: &HeaderMap) -> Option<(HeaderValue, Vec<u8>)> {
    let timestamp = headers.get("x-slack-request-timestamp").filter(|value| value.to_str().is_ok())?;
    let digits = headers.get("x-slack-signature")?.to_str().ok()?.strip_prefix("v0=")?;
    if digits.len() != 64 || timestamp.len() > 20 {
        return None;
    }
    Some((timestamp.clone(), hex::decode(digits).ok()?))
}

async fn handle_command(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    catch_panic(async {
        match receiver.verify_request(request).await {
            Ok(body) => handle_incoming(&receiver, incoming::parse_command(&body)).await,
            Err(response) => response,
        }
    })
    .await
}

async fn handle_interaction(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    catch_panic(async {
        match receiver.verify_request(request).await {
            Ok(body) => handle_incoming(&receiver, incoming::parse_interaction(&body)).await,
            Err(response) => response,
        }
    })
    .await
}

async fn handle_event(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    catch_panic(async {
        let body = match receiver.verify_request(request).await {
            Ok(verified) => verified,
            Err(response) => return response,
        };
        match incoming::parse_event(&body) {
            Ok(incoming::EventsApiBody::UrlVerification { challenge }) => {
                ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], challenge).into_response()
            }
            Ok(incoming::EventsApiBody::Incoming(incoming)) => handle_incoming(&receiver, Ok(*incoming)).await,
            Err(problem) => refuse_request(StatusCode::BAD_REQUEST, &problem),
        }
    })
    .await
}

async fn handle_incoming(receiver: &Receiver, incoming: Result<IncomingRequest, String>) -> Response {
    let incoming = match incoming {
        Ok(IncomingRequest::Ignored) => return StatusCode::OK.into_response(),
        Ok(incoming) => incoming,
        Err(problem) => return refuse_request(StatusCode::BAD_REQUEST, &problem),
    };
    match (receiver.handler)(incoming).await {
        Ack::Empty => StatusCode::OK.into_response(),
        Ack::Body(json) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Ack::NotStored => {
            refuse_request(StatusCode::SERVICE_UNAVAILABLE, "The request could not be kept. Please send it again.")
        }
    }
}
