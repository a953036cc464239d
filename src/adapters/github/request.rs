//! Sends read requests to GitHub: limits their number and rate, uses the `ETag` cache, and retries while GitHub is
//! unavailable.

use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::SemaphorePermit;

use super::client::{Client, GithubRequest, GithubResponse, RESPONSE_TIMEOUT};
use super::error::{GithubError, error_message};

/// Delays before a read is retried. Reads have no side effects, so repeating them is safe.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];
/// A request waits at most this long for its turn. A longer wait is an error that says when to retry.
const MAX_TURN_WAIT: Duration = Duration::from_secs(3);
/// A timer may fire just before the clock reaches the time.
const TIMER_SLACK: Duration = Duration::from_millis(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchResult<T> {
    Found(T),
    /// GitHub's error message.
    Missing(String),
}

impl Client {
    /// A GET request, retried while GitHub is unavailable.
    pub(super) async fn fetch_json<T: DeserializeOwned>(&self, path: &str) -> Result<FetchResult<T>, GithubError> {
        let mut delays = RETRY_DELAYS.into_iter();
        loop {
            match self.fetch_once(path).await {
                Err(GithubError::Unavailable(why)) => match delays.next() {
                    Some(delay) => tokio::time::sleep(delay).await,
                    None => return Err(GithubError::Unavailable(why)),
                },
                answer => return answer,
            }
        }
    }

    pub(super) async fn fetch_existing<T: DeserializeOwned>(&self, path: &str) -> Result<T, GithubError> {
        match self.fetch_json(path).await? {
            FetchResult::Found(value) => Ok(value),
            FetchResult::Missing(why) => Err(GithubError::NotFound(why)),
        }
    }

    /// Drops the cached response of a path, so that the next request gets a complete one.
    pub(super) fn invalidate_cached(&self, path: &str) {
        self.read_state.cache().remove_response(path);
    }

    async fn fetch_once<T: DeserializeOwned>(&self, path: &str) -> Result<FetchResult<T>, GithubError> {
        let _slot = self.acquire_read_slot().await?;
        let cached = self.read_state.cache().find_response(path);
        let etag = cached.as_ref().map(|cached| &cached.etag);
        let GithubResponse { status, etag, body } = self.send_request(path, GithubRequest::Get(etag)).await?;
        match (status, cached) {
            (304, Some(cached)) => parse_body(&cached.body),
            (200, _) => {
                let found = parse_body(&body);
                // A response that cannot be parsed is not cached.
                let etag = etag.filter(|_| found.is_ok());
                self.read_state.cache().store_response(path, etag, &body);
                found
            }
            // 409 is an empty repository; 422 is a SHA that matches no commit or several.
            _ => {
                self.invalidate_cached(path);
                Ok(FetchResult::Missing(error_message(&body)))
            }
        }
    }

    /// A slot among the concurrent reads, and a turn within the rate limit. Only a request with a slot waits for a
    /// turn, so requests keep their order.
    async fn acquire_read_slot(&self) -> Result<SemaphorePermit<'_>, GithubError> {
        let acquired = tokio::time::timeout(RESPONSE_TIMEOUT, self.read_state.read_slots.acquire()).await;
        let Ok(Ok(slot)) = acquired else {
            return Err(GithubError::Unavailable("too many other questions wait for its answer".to_owned()));
        };
        if let Err(until) = self.pacer.acquire_read() {
            let wait = Duration::try_from(until.duration_since(self.clock.now())).unwrap_or_default();
            if wait > MAX_TURN_WAIT {
                return Err(GithubError::Throttled { until });
            }
            tokio::time::sleep(wait + TIMER_SLACK).await;
            self.pacer.acquire_read().map_err(|until| GithubError::Throttled { until })?;
        }
        Ok(slot)
    }
}

fn parse_body<T: DeserializeOwned>(body: &str) -> Result<FetchResult<T>, GithubError> {
    serde_json::from_str(body).map(FetchResult::Found).map_err(|error| GithubError::Other(error.to_string()))
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
