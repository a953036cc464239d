//! The middleware of every request: faults, authentication, the `ETag`, the cost, and the headers of the rate limit.

use std::time::Duration;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::GitHub;
use super::super::costs::HourlyUsage;
use super::super::errors::ApiError;
use crate::sim::faults::Fault;

/// The limit of a person's token. Requests are counted and the headers show them, but the limit is never enforced.
const LIMIT: u64 = 5000;

/// How long a request hangs under `github_timeout_after_effect`. Real time, because the connection hangs.
const HANG_DURATION: Duration = Duration::from_mins(1);

pub(super) async fn guard(State(github): State<GitHub>, request: Request, next: Next) -> Response {
    let request_line = format!("{} {}", request.method(), request.uri());
    let repository = short_name(request.uri().path());
    let take_fault = |fault| github.0.faults.take_if_armed(fault, repository.as_deref(), None);
    if take_fault(Fault::Github502) {
        github.count_request(request_line, true);
        let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1>\
                    </center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n";
        return (StatusCode::BAD_GATEWAY, [(header::CONTENT_TYPE, "text/html")], page).into_response();
    }
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let known_etag = request.headers().get(header::IF_NONE_MATCH).cloned();
    let authorization =
        request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let is_authenticated = authorization.is_some();
    let installation = github.installation();
    let token_of = |token: &str| token.split_once(' ').map(|(_, token)| token.to_owned());
    let token = authorization.as_deref().and_then(token_of);
    let mut response = if token.as_ref().is_some_and(|token| installation.revoked.contains(token)) {
        ApiError::new(StatusCode::UNAUTHORIZED, "Bad credentials").into_response()
    } else if !is_read && !is_authenticated {
        ApiError::new(StatusCode::UNAUTHORIZED, "Requires authentication").into_response()
    } else {
        next.run(request).await
    };
    if !is_read && response.status().is_success() && take_fault(Fault::GithubTimeoutAfterEffect) {
        github.count_request(request_line, true);
        tokio::time::sleep(HANG_DURATION).await;
        return StatusCode::GATEWAY_TIMEOUT.into_response();
    }
    if is_read && response.status() == StatusCode::OK {
        response = with_etag(response, known_etag.as_ref()).await;
    }
    // GitHub counts a 304 without authentication.
    let is_free = response.status() == StatusCode::NOT_MODIFIED && is_authenticated;
    let used = github.count_request(request_line, !is_free);
    limit_headers(response.headers_mut(), used);
    // GitHub shows the scopes of a classic token only.
    let is_classic = token.is_some_and(|token| token.starts_with("ghp_"));
    let scopes = installation.scopes.filter(|_| is_classic).map(|scopes| scopes.join(", "));
    if let Some(scopes) = scopes.and_then(|scopes| HeaderValue::from_str(&scopes).ok()) {
        response.headers_mut().insert(HeaderName::from_static("x-oauth-scopes"), scopes);
    }
    response
}

/// `checkout` of `/repos/acme/checkout/...`.
fn short_name(path: &str) -> Option<String> {
    let (_, rest) = path.split_once("/repos/")?;
    rest.split('/').nth(1).map(str::to_owned)
}

async fn with_etag(response: Response, known_etags: Option<&HeaderValue>) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let etag = format!("W/\"{:x}\"", Sha256::digest(&bytes));
    let is_unchanged = known_etags.and_then(|known_etags| known_etags.to_str().ok()).is_some_and(|known_etags| {
        known_etags
            .split(',')
            .any(|etag_text| etag_text.trim() == "*" || etag_text.trim().trim_start_matches("W/") == &etag[2..])
    });
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        parts.headers.insert(header::ETAG, etag);
    }
    if is_unchanged {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_TYPE);
        parts.headers.remove(header::CONTENT_LENGTH);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(bytes))
}

/// The end of the hour, when the count starts again.
fn reset(requests: HourlyUsage) -> i64 {
    (requests.hour + 1) * 3600
}

fn limit_headers(headers: &mut HeaderMap, used: HourlyUsage) {
    let values = [
        ("x-ratelimit-limit", LIMIT.to_string()),
        ("x-ratelimit-remaining", LIMIT.saturating_sub(used.count).to_string()),
        ("x-ratelimit-reset", reset(used).to_string()),
        ("x-ratelimit-used", used.count.to_string()),
        ("x-ratelimit-resource", "core".to_owned()),
    ];
    for (name, value) in values {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

pub(super) async fn rate_limit(State(github): State<GitHub>) -> Json<Value> {
    let requests = github.this_hour();
    let rate = |limit: u64, used: u64, resource: &str| {
        let remaining = limit.saturating_sub(used);
        json!({
            "limit": limit, "used": used, "remaining": remaining, "reset": reset(requests), "resource": resource,
        })
    };
    let core = rate(LIMIT, requests.count, "core");
    Json(json!({
        "resources": { "core": core, "search": rate(30, 0, "search"), "graphql": rate(5000, 0, "graphql") },
        "rate": core,
    }))
}
