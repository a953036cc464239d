//! Flux-shaped events to the bot, with the signature and the retries of Flux's `generic-hmac` provider.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::sim::pace::Pace;
use crate::sim::rng::Rng;
use crate::sim::scheduler::Scheduler;
use crate::sim::signature::sign;

/// Flux sends an event once and retries it four times. Then the event is lost.
const RETRIES: u32 = 4;

/// The bot only stores an event before it answers, so a longer wait would hide a defect.
const TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FluxEvent {
    pub(super) involved_object: InvolvedObject,
    pub(super) severity: &'static str,
    pub(super) timestamp: Timestamp,
    pub(super) message: String,
    pub(super) reason: &'static str,
    pub(super) metadata: Metadata,
    pub(super) reporting_controller: &'static str,
    pub(super) reporting_instance: &'static str,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InvolvedObject {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) namespace: String,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Metadata {
    pub(super) revision: String,
}

/// Faults of the delivery of events.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebhookFaults {
    /// The percentage of events that are lost.
    pub lost_percent: u8,
    /// The percentage of events that arrive twice.
    pub duplicate_percent: u8,
    /// The delay of each event is random up to this, so that events overtake each other.
    pub max_delay: SignedDuration,
}

impl WebhookFaults {
    /// The delay of each copy of the next event. If the list is empty, the event is lost.
    pub(super) fn draw_delays(self, rng: &mut Rng) -> Vec<SignedDuration> {
        if rng.roll_percent(self.lost_percent) {
            return Vec::new();
        }
        let copies = if rng.roll_percent(self.duplicate_percent) { 2 } else { 1 };
        let max_millis = usize::try_from(self.max_delay.as_millis()).unwrap_or_default();
        let draw_delay =
            |_| SignedDuration::from_millis(i64::try_from(rng.next_below(max_millis + 1)).unwrap_or_default());
        (0..copies).map(draw_delay).collect()
    }
}

/// An event with its signature, ready to be sent.
#[derive(Clone)]
pub(super) struct SignedEvent {
    pub(super) url: String,
    pub(super) body: Vec<u8>,
    pub(super) signature: String,
}

impl SignedEvent {
    pub(super) fn new(url: String, secret: &str, event: &FluxEvent) -> Result<Self, serde_json::Error> {
        let body = serde_json::to_vec(event)?;
        let signature = sign(secret, &body);
        Ok(Self { url, body, signature })
    }
}

/// Sends on the scheduler, so that the world is not idle while an event is under way.
pub(super) fn send(
    scheduler: &Scheduler,
    pace: Pace,
    http: &reqwest::Client,
    event: SignedEvent,
    delay: SignedDuration,
) {
    attempt(scheduler.clone(), pace, http.clone(), event, delay, 0);
}

fn attempt(
    scheduler: Scheduler,
    pace: Pace,
    http: reqwest::Client,
    event: SignedEvent,
    pause: SignedDuration,
    retries: u32,
) {
    scheduler.clone().schedule_after(pause, move || async move {
        let response = http
            .post(&event.url)
            .timeout(TIMEOUT)
            .header("content-type", "application/json")
            .header("gotk-component", "kustomize-controller")
            .header("x-signature", &event.signature)
            .body(event.body.clone())
            .send()
            .await;
        let (failure, is_transient) = match response {
            Ok(response) if response.status().is_success() => return,
            // Flux retries only failures that may be transient.
            Ok(response) => {
                (response.status().to_string(), response.status().is_server_error() || response.status() == 429)
            }
            Err(error) => (error.without_url().to_string(), true),
        };
        if is_transient && retries < RETRIES {
            tracing::debug!(url = event.url, why = failure, "the webhook failed and is sent again");
            // The pause grows, as Flux's does.
            let pause = pace.retry * i32::try_from(retries + 1).unwrap_or(i32::MAX);
            attempt(scheduler, pace, http, event, pause, retries + 1);
        } else {
            tracing::warn!(url = event.url, why = failure, "the webhook is lost");
        }
    });
}
