//! Sends GitHub's webhooks to the bot: signed, once, and never again.

use std::time::Duration;

use jiff::SignedDuration;
use uuid::Uuid;

use super::Event;
use crate::sim::faults::{Fault, Faults};
use crate::sim::scheduler::Scheduler;
use crate::sim::signature::sign;

/// GitHub waits this long before the webhook counts as failed.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The target of webhooks.
#[derive(Clone)]
pub struct Webhooks {
    pub scheduler: Scheduler,
    pub http: reqwest::Client,
    /// The bot's address, without a slash at the end.
    pub bot_url: String,
    pub secret: String,
}

impl Webhooks {
    /// Sends on the scheduler, so that the world is not idle while an event is under way. `number` makes the delivery
    /// id.
    pub(super) fn send(&self, event: &Event, number: u64, faults: &Faults) {
        let artefact = event.repository.rsplit('/').next();
        if faults.take_if_armed(Fault::LostWebhook, artefact, None) {
            return;
        }
        let times = if faults.take_if_armed(Fault::DuplicateWebhook, artefact, None) { 2 } else { 1 };
        let body = event.body.to_string();
        let request = self
            .http
            .post(format!("{}/webhooks/github", self.bot_url))
            .timeout(TIMEOUT)
            .header("content-type", "application/json")
            .header("user-agent", "GitHub-Hookshot/world")
            .header("x-github-event", event.kind)
            .header("x-github-delivery", Uuid::from_u128(u128::from(number)).to_string())
            .header("x-hub-signature-256", sign(&self.secret, body.as_bytes()))
            .body(body);
        for _ in 0..times {
            let Some(request) = request.try_clone() else { return };
            self.scheduler.schedule_after(SignedDuration::ZERO, move || async move {
                let failure = match request.send().await {
                    Ok(answer) if answer.status().is_success() => return,
                    Ok(answer) => answer.status().to_string(),
                    Err(error) => error.without_url().to_string(),
                };
                tracing::debug!(why = failure, "GitHub's webhook failed and is not sent again");
            });
        }
    }
}
