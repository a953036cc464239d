//! Helpers for HTTP endpoints: bounded reading of bodies, plain-text refusals, and answers to panics.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use tokio::sync::Semaphore;

/// Slack, GitHub and the controllers send a few kilobytes and are much faster than this.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Bodies that are read at the same time. A body is read before its signature is verified, so this bounds the memory
/// that unauthenticated senders can use.
static BODY_READERS: Semaphore = Semaphore::const_new(64);

/// A plain-text response for the sender of the request.
pub fn refuse_request(status: StatusCode, sentence: &str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{sentence}\n")).into_response()
}

/// Answers a panic, which is a bug in Gantry, with status 500; other requests are not affected. Not a layer of the
/// router: that would box each request twice, and `list` is answered in a few microseconds.
pub async fn catch_panic(work: impl Future<Output = Response>) -> Response {
    let result = AssertUnwindSafe(work).catch_unwind().await;
    result.unwrap_or_else(|_| {
        refuse_request(StatusCode::INTERNAL_SERVER_ERROR, "Gantry failed because of a bug. Please try again.")
    })
}

/// Parses the value of a `Date` header.
pub fn parse_date_header(text: &str) -> Option<jiff::Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

/// Reads the body, but never more than `limit` bytes. A longer body is refused by its `Content-Length` before it is
/// read, or as soon as more than `limit` bytes have arrived.
pub async fn read_body(mut request: Request, limit: usize) -> Result<Bytes, Response> {
    let too_large =
        || refuse_request(StatusCode::PAYLOAD_TOO_LARGE, &format!("The body is larger than {limit} bytes."));
    let declared =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    DefaultBodyLimit::max(limit).apply(&mut request);
    let read = async {
        // The semaphore is never closed.
        let _permit = BODY_READERS.acquire().await;
        Bytes::from_request(request, &()).await
    };
    let Ok(result) = tokio::time::timeout(READ_TIMEOUT, read).await else {
        return Err(refuse_request(StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time."));
    };
    result.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        _ => refuse_request(StatusCode::BAD_REQUEST, "The body could not be read to its end."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered_with_status_500() {
        let panicking = async { if true { panic!("a bug") } else { StatusCode::OK.into_response() } };
        assert_eq!(catch_panic(panicking).await.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(catch_panic(async { StatusCode::OK.into_response() }).await.status(), StatusCode::OK);
    }
}
