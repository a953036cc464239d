//! Asks the deployment controller (Flux or Argo CD) to reconcile at once after a branch has moved. The controller also
//! polls, so a failure is only noted on the change's card.

use std::time::Duration;

use serde_json::json;

use crate::config::ReconcileTrigger;
use crate::domain::change::plan::Plan;
use crate::domain::model::version::Sha;

/// The controller only has to accept the request.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct Client(reqwest::Client);

impl Client {
    pub fn new() -> Result<Self, String> {
        let builder = reqwest::Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none());
        builder.build().map(Self).map_err(|error| error.to_string())
    }

    /// Tells the controller that a branch has moved. The error is a sentence without the address: Flux's address is a
    /// secret.
    pub async fn trigger_reconcile(&self, trigger: &ReconcileTrigger, plan: &Plan, after: &Sha) -> Result<(), String> {
        // Argo CD reads a GitHub push event. A generic receiver of Flux accepts any body.
        let (repository, branch) = plan.write_target();
        let repository = repository.to_string();
        let html_url = plan.repository_url().unwrap_or_else(|| format!("https://github.com/{repository}"));
        let body = json!({
            "ref": format!("refs/heads/{branch}"),
            "after": after.as_str(),
            "repository": { "full_name": repository, "html_url": html_url, "default_branch": branch },
        });
        let url = match trigger {
            ReconcileTrigger::FluxReceiver(url) | ReconcileTrigger::ArgocdWebhook(url) => url,
        };
        let sent = self.0.post(url).header("X-GitHub-Event", "push").json(&body).send().await;
        let response = sent.map_err(|error| {
            if error.is_timeout() {
                format!("it did not answer in {} s", TIMEOUT.as_secs())
            } else {
                format!("it cannot be reached ({})", root_cause(&error))
            }
        })?;
        if response.status().is_success() { Ok(()) } else { Err(format!("it answered {}", response.status().as_u16())) }
    }
}

/// The last cause in the chain. The causes above it contain the address, which is secret.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    cause.map_or_else(|| "no connection".to_owned(), ToString::to_string)
}
