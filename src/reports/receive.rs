//! Webhooks of controllers: limited, verified with the environment's own secret, parsed, stored, and only then answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::future::BoxFuture;
use secrecy::SecretString;

use super::{BODY_LIMIT, Report, flux, signature};
use crate::domain::environment::EnvironmentName;
use crate::http::{read_body, refuse, without_panic};

/// Stores a report, once. `false`: it could not be stored, so the sender must send it again.
pub type Keep = Arc<dyn Fn(Report) -> BoxFuture<'static, bool> + Send + Sync>;

#[derive(Clone)]
struct Receiver {
    secrets: Arc<BTreeMap<EnvironmentName, SecretString>>,
    keep: Keep,
}

pub fn router(secrets: BTreeMap<EnvironmentName, SecretString>, keep: Keep) -> Router {
    let receiver = Receiver { secrets: Arc::new(secrets), keep };
    Router::new().route("/webhooks/flux/{environment}", post(from_flux)).with_state(receiver)
}

async fn from_flux(State(receiver): State<Receiver>, Path(environment): Path<String>, request: Request) -> Response {
    without_panic(take(receiver, environment, request)).await
}

async fn take(receiver: Receiver, environment: String, request: Request) -> Response {
    // One answer for an environment that has no secret and for one that is not there: nobody learns which it was.
    let unsigned = || refuse(StatusCode::UNAUTHORIZED, "The report is not signed with this environment's secret.");
    let environment = EnvironmentName::new(&environment);
    let Some(secret) = receiver.secrets.get(&environment) else { return unsigned() };
    let Some(header) = request.headers().get("x-signature").and_then(|value| value.to_str().ok()).map(str::to_owned)
    else {
        return unsigned();
    };
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
