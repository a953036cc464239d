//! Requests to GitHub over octocrab, with Gantry's own timeouts and retries: octocrab would also retry writes.
//! Responses are parsed into small structs, because octocrab's typed models fail on fields that Gantry does not need.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::header::{ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use octocrab::Octocrab;
use octocrab::service::middleware::retry::RetryConfig;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

pub(super) use super::error::GithubError;
use super::error::error_message;
use super::rate_limit::GithubPacer;
use super::read_state::ReadState;
pub(super) use super::request::FetchResult;
pub(super) use super::request_path::encode_ref;
use crate::clock::Clock;
use crate::config::GithubAuth;
use crate::telemetry::metrics::LabelledCounter;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const READ_TIMEOUT: Duration = Duration::from_secs(15);
/// Limits a whole response, body included.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// GitHub recommends one minute if a secondary limit names no duration.
const DEFAULT_LIMIT_PAUSE: SignedDuration = SignedDuration::from_mins(1);
/// GitHub's primary limit resets every hour.
const MAX_LIMIT_PAUSE: SignedDuration = SignedDuration::from_mins(65);

pub enum Auth {
    None,
    Token(SecretString),
    App { id: u64, private_key: SecretString, installation: u64 },
}

impl From<Option<GithubAuth>> for Auth {
    fn from(auth: Option<GithubAuth>) -> Self {
        match auth {
            Some(GithubAuth::Token(token)) => Self::Token(token),
            Some(GithubAuth::App { id, private_key, installation }) => Self::App { id, private_key, installation },
            None => Self::None,
        }
    }
}

/// Requests left in this hour, according to the last response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitState {
    pub remaining: u64,
    pub resets_at: Option<Timestamp>,
}

#[derive(Clone)]
pub struct Client {
    pub(super) octocrab: Octocrab,
    /// The client of the App itself, with the App's key, and the id of its installation. `doctor` needs it for requests
    /// that an installation token may not send.
    pub(super) app: Option<(Octocrab, u64)>,
    pub(super) clock: Clock,
    limits: Arc<Mutex<ReportedLimits>>,
    pub(super) pacer: Arc<GithubPacer>,
    pub(super) read_state: Arc<ReadState>,
    request_counts: LabelledCounter<1>,
}

#[derive(Default)]
struct ReportedLimits {
    state: Option<RateLimitState>,
    limited_until: Option<Timestamp>,
}

impl Client {
    /// Must be called inside a tokio runtime. Sends no request.
    pub fn new(api_url: &str, auth: Auth, clock: Clock) -> Result<Self, GithubError> {
        let unusable = |error: octocrab::Error| GithubError::Other(root_cause(&error));
        let builder = Octocrab::builder()
            .base_uri(api_url)
            .map_err(|_| GithubError::Other(format!("`{api_url}` is not the address of an API")))?
            .add_retry_config(RetryConfig::None)
            .set_connect_timeout(Some(CONNECT_TIMEOUT))
            .set_read_timeout(Some(READ_TIMEOUT))
            .set_write_timeout(Some(READ_TIMEOUT));
        let (octocrab, app) = match auth {
            Auth::None => (builder.build().map_err(unusable)?, None),
            Auth::Token(token) => (builder.personal_token(token).build().map_err(unusable)?, None),
            Auth::App { id, private_key, installation } => {
                let app = builder
                    .app_from_rsa_pem(id.into(), private_key.expose_secret())
                    // The cause could contain parts of the key.
                    .map_err(|_| GithubError::Other("the app's private key is not an RSA key in PEM form".to_owned()))?
                    .build()
                    .map_err(unusable)?;
                let installed = app.installation_builder(installation.into()).build().map_err(unusable)?;
                (installed, Some((app, installation)))
            }
        };
        let request_counts = LabelledCounter::with_labels(["status"]);
        for class in ["2xx", "3xx", "4xx", "5xx", "none"] {
            request_counts.ensure_counter([class]);
        }
        let (limits, read_state) = (Arc::default(), Arc::default());
        Ok(Self { octocrab, app, pacer: Arc::new(GithubPacer::new(&clock)), clock, limits, read_state, request_counts })
    }

    /// `None` before the first response, and if the server has no limits.
    pub fn rate_limit_state(&self) -> Option<RateLimitState> {
        self.limits().state
    }

    /// Number of requests by status class of the response; `none` if there was no response.
    pub fn request_counts(&self) -> &LabelledCounter<1> {
        &self.request_counts
    }

    /// Sends one request. Returns the statuses that the caller must interpret; all others become errors.
    pub(super) async fn send_request(
        &self,
        path: &str,
        request: GithubRequest<'_>,
    ) -> Result<GithubResponse, GithubError> {
        let method = request.method();
        // GitHub prolongs a limit if requests continue while it is in force.
        let limited_until = self.limits().limited_until;
        if let Some(until) = limited_until.filter(|until| *until > self.clock.now()) {
            return Err(GithubError::RateLimited { until });
        }
        let exchange = async {
            let response = match request {
                GithubRequest::Get(etag) => {
                    let headers = etag.map(|etag| [(IF_NONE_MATCH, etag.clone())].into_iter().collect());
                    self.octocrab._get_with_headers(path, headers).await?
                }
                GithubRequest::Post(body) => self.octocrab._post(path, Some(body)).await?,
                GithubRequest::Put(body) => self.octocrab._put(path, Some(body)).await?,
                GithubRequest::Patch(body) => self.octocrab._patch(path, Some(body)).await?,
                GithubRequest::Delete => self.octocrab._delete(path, None::<&()>).await?,
            };
            let (status, headers) = (response.status().as_u16(), RateLimitHeaders::from_headers(response.headers()));
            let etag = response.headers().get(ETAG).cloned();
            Ok((headers, GithubResponse { status, etag, body: self.octocrab.body_to_string(response).await? }))
        };
        let (headers, answer) = match tokio::time::timeout(RESPONSE_TIMEOUT, exchange).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                self.request_counts.increment([classify_error(&error)]);
                tracing::debug!(method, path, "the request to GitHub failed");
                return Err(self.error_from_octocrab(&error));
            }
            Err(_) => {
                self.request_counts.increment(["none"]);
                tracing::debug!(method, path, "the request to GitHub timed out");
                return Err(GithubError::Unavailable(format!("no answer in {} s", RESPONSE_TIMEOUT.as_secs())));
            }
        };
        self.request_counts.increment([classify_status(answer.status)]);
        tracing::debug!(method, path, status = answer.status, "GitHub answered");
        if let Some(remaining) = headers.remaining {
            self.limits().state = Some(RateLimitState { remaining, resets_at: headers.resets_at });
        }
        match answer.status {
            200 | 201 | 204 | 404 | 405 | 409 | 422 => Ok(answer),
            304 if matches!(request, GithubRequest::Get(Some(_))) => Ok(answer),
            status => Err(self.error_from_status(status, headers, &error_message(&answer.body))),
        }
    }

    /// Reserves this number of writes, all or none, so that a sequence of writes is not interrupted by the rate limit.
    pub(super) fn reserve_writes(&self, writes: NonZeroU32) -> Result<(), GithubError> {
        self.pacer.acquire_writes(writes).map_err(|until| GithubError::Throttled { until })
    }

    /// Sends one write, which must be [reserved](Self::reserve_writes) before. Writes are never repeated here: the
    /// caller must first check whether the write took effect.
    pub(super) async fn send_write(
        &self,
        path: &str,
        request: GithubRequest<'_>,
    ) -> Result<(u16, String), GithubError> {
        let GithubResponse { status, body, .. } = self.send_request(path, request).await?;
        Ok((status, body))
    }

    /// The error of a response that was not sent through [`send_request`](Self::send_request).
    pub(super) fn error_from_response(&self, status: u16, headers: &HeaderMap, body: &str) -> GithubError {
        match status {
            404 => GithubError::NotFound(error_message(body)),
            status => self.error_from_status(status, RateLimitHeaders::from_headers(headers), &error_message(body)),
        }
    }

    fn error_from_status(&self, status: u16, headers: RateLimitHeaders, message: &str) -> GithubError {
        let limited = headers.retry_after.is_some()
            || headers.remaining == Some(0)
            || message.to_ascii_lowercase().contains("rate limit");
        match status {
            403 | 429 if limited || status == 429 => {
                let now = self.clock.now();
                let retry_at = headers.retry_after.map(|wait| now + wait);
                // The reset time is that of the hourly limit. It says nothing about a secondary limit.
                let reset = headers.resets_at.filter(|_| headers.remaining == Some(0));
                let until = retry_at.or(reset).unwrap_or(now + DEFAULT_LIMIT_PAUSE);
                // A time in the past would allow a request at once; a time far in the future would stop all requests.
                let until = until.clamp(now + SignedDuration::from_secs(1), now + MAX_LIMIT_PAUSE);
                self.limits().limited_until = Some(until);
                GithubError::RateLimited { until }
            }
            401 | 403 => GithubError::Unauthorised(message.to_owned()),
            500.. => GithubError::Unavailable(format!("it answered {status}")),
            _ => GithubError::Other(format!("it answered {status}: {message}")),
        }
    }

    /// Errors of the connection, and of fetching the App's token, which octocrab does on its own.
    pub(super) fn error_from_octocrab(&self, error: &octocrab::Error) -> GithubError {
        match error {
            octocrab::Error::GitHub { source, .. } => {
                let headers = source.headers.as_ref().map(RateLimitHeaders::from_headers).unwrap_or_default();
                match source.status_code.as_u16() {
                    404 => GithubError::Unauthorised("the app or its installation does not exist".to_owned()),
                    status => self.error_from_status(status, headers, &source.message),
                }
            }
            octocrab::Error::Service { .. } | octocrab::Error::Hyper { .. } => {
                GithubError::Unavailable(root_cause(error))
            }
            error => GithubError::Other(root_cause(error)),
        }
    }

    fn limits(&self) -> std::sync::MutexGuard<'_, ReportedLimits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The method of a request, with its body or its `ETag`.
#[derive(Clone, Copy)]
pub(super) enum GithubRequest<'a> {
    /// With an `ETag`, GitHub answers 304 if the content has not changed.
    Get(Option<&'a HeaderValue>),
    Post(&'a Value),
    Put(&'a Value),
    Patch(&'a Value),
    Delete,
}

impl GithubRequest<'_> {
    fn method(&self) -> &'static str {
        match self {
            Self::Get(_) => "GET",
            Self::Post(_) => "POST",
            Self::Put(_) => "PUT",
            Self::Patch(_) => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

pub(super) struct GithubResponse {
    pub(super) status: u16,
    pub(super) etag: Option<HeaderValue>,
    pub(super) body: String,
}

#[derive(Clone, Copy, Default)]
struct RateLimitHeaders {
    remaining: Option<u64>,
    resets_at: Option<Timestamp>,
    retry_after: Option<SignedDuration>,
}

impl RateLimitHeaders {
    fn from_headers(headers: &HeaderMap) -> Self {
        let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
        // GitHub asks for an hour at most. A larger value would be an error that stops all requests.
        let seconds = |seconds: u64| SignedDuration::from_secs(i64::try_from(seconds.min(3_600)).unwrap_or(3_600));
        Self {
            remaining: number("x-ratelimit-remaining"),
            resets_at: number("x-ratelimit-reset").and_then(|at| Timestamp::from_second(i64::try_from(at).ok()?).ok()),
            retry_after: number("retry-after").map(seconds),
        }
    }
}

fn classify_status(status: u16) -> &'static str {
    match status {
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        500..600 => "5xx",
        _ => "other",
    }
}

fn classify_error(error: &octocrab::Error) -> &'static str {
    match error {
        octocrab::Error::GitHub { source, .. } => classify_status(source.status_code.as_u16()),
        _ => "none",
    }
}

/// An octocrab error displays only its kind. The reason is the last cause in the chain.
fn root_cause(error: &octocrab::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string().chars().take(200).collect()
}

#[cfg(test)]
#[path = "client_tests.rs"]
pub(super) mod tests;
