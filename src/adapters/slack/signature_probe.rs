//! Sends a request to a running Gantry, signed like Slack's requests. It is Slack's handshake, which has no effect.

use std::time::Duration;

use axum::http::header;
use secrecy::SecretString;
use serde_json::json;

use super::receive::sign_body;
use crate::clock::Clock;

const CHALLENGE: &str = "does-gantry-let-itself-in";
const TIMEOUT: Duration = Duration::from_secs(6);
/// Gantry's answer is the challenge. A longer answer comes from another program, and is not read to its end.
const MAX_RESPONSE_BYTES: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureProbeResult {
    Accepted,
    /// The HTTP status of the answer, from Gantry or from another program.
    Refused(u16),
    Unreachable(String),
}

/// Checks that the endpoint can be reached and has the same secret.
pub async fn probe_signature(url: &str, secret: &SecretString, clock: &Clock) -> SignatureProbeResult {
    send_handshake(url, secret, clock).await.unwrap_or_else(|error| {
        let mut cause: &dyn std::error::Error = &error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let reason = if error.is_timeout() { "no answer in 6 s".to_owned() } else { cause.to_string() };
        SignatureProbeResult::Unreachable(reason)
    })
}

async fn send_handshake(url: &str, secret: &SecretString, clock: &Clock) -> reqwest::Result<SignatureProbeResult> {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(TIMEOUT).build()?;
    let timestamp = clock.now().as_second();
    let body = json!({ "type": "url_verification", "challenge": CHALLENGE, "token": "" }).to_string();
    let request = client
        .post(url)
        .header(header::CONTENT_TYPE, "application/json")
        .header("x-slack-request-timestamp", timestamp)
        .header("x-slack-signature", sign_body(secret, timestamp, &body))
        .body(body);
    let mut response = request.send().await?;
    let mut received = Vec::new();
    while received.len() <= MAX_RESPONSE_BYTES
        && let Some(more) = response.chunk().await?
    {
        received.extend_from_slice(&more);
    }
    Ok(if response.status().is_success() && received == CHALLENGE.as_bytes() {
        SignatureProbeResult::Accepted
    } else {
        SignatureProbeResult::Refused(response.status().as_u16())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::receive::{Ack, Receiver};
    use super::*;

    #[tokio::test]
    async fn only_a_request_with_the_right_secret_is_accepted() {
        let clock = Clock::new_manual(jiff::Timestamp::from_second(1_800_000_000).unwrap());
        let (ours, other) = (SecretString::from("ours"), SecretString::from("another"));
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(|_| Box::pin(async { Ack::Empty }) as futures::future::BoxFuture<'static, Ack>);
        let endless = || async {
            let chunks = futures::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b'x'; 1024]));
            axum::body::Body::from_stream(chunks)
        };
        let router = Receiver::new(Some(&ours), clock.clone(), answer).into_router();
        let router = router.route("/endless", axum::routing::post(endless));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let url = format!("http://{address}/slack/events");
        assert_eq!(probe_signature(&url, &ours, &clock).await, SignatureProbeResult::Accepted);
        assert_eq!(probe_signature(&url, &other, &clock).await, SignatureProbeResult::Refused(401));
        assert_eq!(
            probe_signature(&format!("http://{address}/nowhere"), &ours, &clock).await,
            SignatureProbeResult::Refused(404)
        );
        let begun = std::time::Instant::now();
        assert_eq!(
            probe_signature(&format!("http://{address}/endless"), &ours, &clock).await,
            SignatureProbeResult::Refused(200)
        );
        assert!(begun.elapsed() < TIMEOUT, "the answer is not read to its end");
        assert!(matches!(
            probe_signature("http://127.0.0.1:1/slack/events", &ours, &clock).await,
            SignatureProbeResult::Unreachable(_)
        ));
    }
}
