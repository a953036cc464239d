//! How Slack calls the bot: signed or through a socket, with a timeout of three seconds. Failed events are sent again.

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hmac::{Hmac, Mac};
use jiff::SignedDuration;
use reqwest::header::{CONTENT_TYPE, HeaderName, USER_AGENT};
use serde_json::{Map, Value};
use sha2::Sha256;

use super::Slack;
use crate::sim::slack::control_api::Ack;

/// How long Slack waits for the bot's response to a command, a click or an event.
pub(super) const DEFAULT_RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);
const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
/// The delays before the second and the third redelivery. The first redelivery is immediate.
const REDELIVERY_DELAYS: [SignedDuration; 2] = [SignedDuration::from_mins(1), SignedDuration::from_mins(5)];

pub(super) enum DispatchError {
    Timeout,
    Unreachable,
    /// The app has not subscribed to the event.
    NotSubscribed,
}

pub(super) struct BotResponse {
    pub(super) ack: Ack,
    /// Whether the bot declared its answer as JSON. Otherwise a command's answer is shown as text.
    pub(super) is_json: bool,
    pub(super) no_retry: bool,
}

pub(super) fn client() -> reqwest::Client {
    // reqwest panics without a TLS provider even with plain HTTP. A second installation fails without effect.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    builder.build().unwrap_or_default()
}

impl Slack {
    pub(super) async fn send_form(&self, path: &str, fields: &[(&str, &str)]) -> Result<BotResponse, DispatchError> {
        if self.uses_sockets() {
            let payload = match fields {
                [("payload", json)] => serde_json::from_str(json).unwrap_or_default(),
                fields => {
                    let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
                    Value::Object(fields.collect::<Map<_, _>>())
                }
            };
            let kind = if path == "/slack/commands" { "slash_commands" } else { "interactive" };
            return self.send_envelope(kind, payload, None).await;
        }
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send(path, FORM, form, &[]).await
    }

    /// Sends an event and, if needed, redelivers it at once. The scheduler sends later redeliveries.
    pub(super) async fn send_event(&self, event: &Value) -> Result<BotResponse, DispatchError> {
        let kind = match (event["event"]["type"].as_str(), event["event"]["channel_type"].as_str()) {
            (Some("message"), Some("im")) => "message.im",
            (kind, _) => kind.unwrap_or_default(),
        };
        if self.setup.manifest.as_ref().is_some_and(|manifest| !manifest.is_subscribed_to(kind)) {
            return Err(DispatchError::NotSubscribed);
        }
        let body = event.to_string();
        let first = if self.uses_sockets() {
            self.send_envelope("events_api", event.clone(), None).await
        } else {
            self.send("/slack/events", JSON, body.clone(), &[]).await
        };
        let Some(reason) = retry_reason(&first) else { return first };
        let second = self.resend_event(body.clone(), 1, reason).await;
        if let Some(reason) = retry_reason(&second) {
            self.schedule_redelivery(body, 2, reason);
        }
        second
    }

    async fn resend_event(
        &self,
        body: String,
        number: usize,
        reason: &'static str,
    ) -> Result<BotResponse, DispatchError> {
        if self.uses_sockets() {
            let event = serde_json::from_str(&body).unwrap_or_default();
            return self.send_envelope("events_api", event, Some((number, reason))).await;
        }
        let number = number.to_string();
        self.send("/slack/events", JSON, body, &[("x-slack-retry-num", &number), ("x-slack-retry-reason", reason)])
            .await
    }

    fn schedule_redelivery(&self, body: String, number: usize, reason: &'static str) {
        let scheduler = self.lock_outbound().scheduler.clone();
        let (Some(scheduler), Some(delay)) = (scheduler, REDELIVERY_DELAYS.get(number - 2)) else { return };
        let slack = self.clone();
        scheduler.schedule_after(*delay, move || slack.redeliver(body, number, reason));
    }

    fn redeliver(self, body: String, number: usize, reason: &'static str) -> BoxFuture<'static, ()> {
        async move {
            let result = self.resend_event(body.clone(), number, reason).await;
            if let Some(reason) = retry_reason(&result) {
                self.schedule_redelivery(body, number + 1, reason);
            }
        }
        .boxed()
    }

    async fn send(
        &self,
        path: &str,
        content_type: &str,
        body: String,
        headers: &[(&str, &str)],
    ) -> Result<BotResponse, DispatchError> {
        let (url, response_timeout) = {
            let outbound = self.lock_outbound();
            (format!("{}{path}", outbound.bot_url), outbound.response_timeout)
        };
        let timestamp = self.setup.clock.now().as_second();
        let signature = sign(&self.setup.signing_secret, timestamp, body.as_bytes());
        let mut request = self
            .http
            .post(url)
            .timeout(response_timeout)
            .header(USER_AGENT, "Slackbot 1.0 (+https://api.slack.com/robots)")
            .header(CONTENT_TYPE, content_type)
            .header("x-slack-request-timestamp", timestamp.to_string())
            .header("x-slack-signature", signature);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let to_dispatch_error =
            |e: reqwest::Error| if e.is_timeout() { DispatchError::Timeout } else { DispatchError::Unreachable };
        let response = request.body(body).send().await.map_err(to_dispatch_error)?;
        let status = response.status().as_u16();
        let header = |name: HeaderName| {
            response.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned()
        };
        let is_json = header(CONTENT_TYPE).starts_with(JSON);
        let no_retry = header(HeaderName::from_static("x-slack-no-retry")) == "1";
        let text = response.text().await.map_err(to_dispatch_error)?;
        let body = match serde_json::from_str(&text) {
            Ok(json) if is_json => json,
            _ => Value::String(text),
        };
        Ok(BotResponse { ack: Ack { status, body }, is_json, no_retry })
    }
}

impl Ack {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

fn retry_reason(attempt: &Result<BotResponse, DispatchError>) -> Option<&'static str> {
    match attempt {
        Ok(delivered) if delivered.ack.is_success() || delivered.no_retry => None,
        Ok(_) => Some("http_error"),
        Err(DispatchError::Timeout) => Some("http_timeout"),
        Err(DispatchError::Unreachable) => Some("connection_failed"),
        Err(DispatchError::NotSubscribed) => None,
    }
}

/// Slack's signature: `v0=` and the hexadecimal HMAC-SHA256 of `v0:<timestamp>:<body>`.
fn sign(secret: &str, timestamp: i64, body: &[u8]) -> String {
    // HMAC accepts a key of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(format!("v0:{timestamp}:").as_bytes());
    mac.update(body);
    format!("v0={:x}", mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_equals_the_one_in_slacks_documentation() {
        let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&\
            channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&\
            response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&\
            trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        assert_eq!(
            sign("8f742231b10e8888abcd99yyyzzz85a5", 1_531_420_618, body.as_bytes()),
            "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
        );
    }
}
