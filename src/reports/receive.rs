//! Webhooks of controllers and of GitHub: limited, verified with the sender's own secret, parsed, stored, and only then
//! answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::future::BoxFuture;
use secrecy::SecretString;

use super::github::{self, Notice};
use super::{BODY_LIMIT, Report, flux, signature};
use crate::domain::environment::EnvironmentName;
use crate::http::{read_body, refuse, without_panic};

/// Stores a report, once. `false`: it could not be stored, so the sender must send it again.
pub type Keep = Arc<dyn Fn(Report) -> BoxFuture<'static, bool> + Send + Sync>;

/// The same for what GitHub tells.
pub type KeepNotice = Arc<dyn Fn(Notice) -> BoxFuture<'static, bool> + Send + Sync>;

/// GitHub's are longer than a controller's: they carry all of a pull request and of its repository.
const GITHUB_LIMIT: usize = 1024 * 1024;

#[derive(Clone)]
struct Receiver {
    secrets: Arc<BTreeMap<EnvironmentName, SecretString>>,
    keep: Keep,
}

#[derive(Clone)]
struct GithubReceiver {
    /// Without one, GitHub is not listened to.
    secret: Option<SecretString>,
    keep: KeepNotice,
}

pub fn router(secrets: BTreeMap<EnvironmentName, SecretString>, keep: Keep) -> Router {
    let receiver = Receiver { secrets: Arc::new(secrets), keep };
    Router::new().route("/webhooks/flux/{environment}", post(from_flux)).with_state(receiver)
}

pub fn github_router(secret: Option<SecretString>, keep: KeepNotice) -> Router {
    Router::new().route("/webhooks/github", post(from_github)).with_state(GithubReceiver { secret, keep })
}

async fn from_github(State(receiver): State<GithubReceiver>, request: Request) -> Response {
    without_panic(take_from_github(receiver, request)).await
}

async fn take_from_github(receiver: GithubReceiver, request: Request) -> Response {
    let unsigned = || refuse(StatusCode::UNAUTHORIZED, "The webhook is not signed with GITHUB_WEBHOOK_SECRET.");
    let (signature, event) = (header(&request, "x-hub-signature-256"), header(&request, "x-github-event"));
    let (Some(secret), Some(signature)) = (&receiver.secret, signature) else { return unsigned() };
    let body = match read_body(request, GITHUB_LIMIT).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    if !signature::verify_hmac(&signature, &body, secret) {
        return unsigned();
    }
    let notice = match github::parse(&event.unwrap_or_default(), &body) {
        Ok(Some(notice)) => notice,
        Ok(None) => return StatusCode::NO_CONTENT.into_response(),
        Err(wrong) => return refuse(StatusCode::BAD_REQUEST, &wrong),
    };
    if (receiver.keep)(notice).await {
        StatusCode::ACCEPTED.into_response()
    } else {
        refuse(StatusCode::SERVICE_UNAVAILABLE, "The webhook could not be kept. Please send it again.")
    }
}

async fn from_flux(State(receiver): State<Receiver>, Path(environment): Path<String>, request: Request) -> Response {
    without_panic(take(receiver, environment, request)).await
}

async fn take(receiver: Receiver, environment: String, request: Request) -> Response {
    // One answer for an environment that has no secret and for one that is not there: nobody learns which it was.
    let unsigned = || refuse(StatusCode::UNAUTHORIZED, "The report is not signed with this environment's secret.");
    let environment = EnvironmentName::new(&environment);
    let Some(secret) = receiver.secrets.get(&environment) else { return unsigned() };
    let Some(header) = header(&request, "x-signature") else { return unsigned() };
    let body = match read_body(request, BODY_LIMIT).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    if !signature::verify_hmac(&header, &body, secret) {
        return unsigned();
    }
    let report = match flux::parse(&environment, &body) {
        Ok(report) => report,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    if (receiver.keep)(report).await {
        StatusCode::ACCEPTED.into_response()
    } else {
        refuse(StatusCode::SERVICE_UNAVAILABLE, "The report could not be kept. Please send it again.")
    }
}

fn header(request: &Request, name: &str) -> Option<String> {
    request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}
