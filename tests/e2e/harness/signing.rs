//! Signed requests as Slack and Flux send them.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::harness::world::World;

pub(crate) fn hex_hmac(secret: &str, parts: &[&[u8]]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    for part in parts {
        mac.update(part);
    }
    format!("{:x}", mac.finalize().into_bytes())
}

thread_local! {
    /// A client is slow to build, so the requests of a test share one. Its connections end with the test's thread.
    static CLIENT: reqwest::Client = reqwest::Client::new();
}

/// Sends a body as Slack would, signed with `secret` at `timestamp`.
pub(crate) async fn send_slack_request(
    world: &World,
    path: &str,
    body: &str,
    secret: &str,
    timestamp: i64,
) -> (u16, String) {
    let signature =
        format!("v0={}", hex_hmac(secret, &[b"v0:", timestamp.to_string().as_bytes(), b":", body.as_bytes()]));
    let response = CLIENT
        .with(Clone::clone)
        .post(format!("{}{path}", world.origin))
        .header("x-slack-request-timestamp", timestamp.to_string())
        .header("x-slack-signature", signature)
        .body(body.to_owned())
        .send()
        .await
        .unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Sends a report as Flux would, and returns the status.
pub(crate) async fn send_flux_report(world: &World, environment: &str, body: &str, secret: &str) -> u16 {
    let response = reqwest::Client::new()
        .post(format!("{}/webhooks/flux/{environment}", world.origin))
        .header("x-signature", format!("sha256={}", hex_hmac(secret, &[body.as_bytes()])))
        .body(body.to_owned())
        .send()
        .await
        .unwrap();
    response.status().as_u16()
}
