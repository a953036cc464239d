//! The controller that deploys, seen from here: it can be told to look at once, after Git has moved. Whether it does is its own
//! affair, so a failure is a word on the card and nothing more.

use std::time::Duration;

use serde_json::json;

use crate::config::ReconcileTrigger;
use crate::domain::change::plan::Plan;
use crate::domain::model::version::Sha;

/// It only has to take note.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct Client(reqwest::Client);

impl Client {
    pub fn new() -> Result<Self, String> {
        let builder = reqwest::Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none());
        builder.build().map(Self).map_err(|error| error.to_string())
    }

    /// Says that a branch has moved. The error is a sentence without the address, which is a secret of Flux's.
    pub async fn trigger_reconcile(&self, trigger: &ReconcileTrigger, plan: &Plan, after: &Sha) -> Result<(), String> {
        // Argo CD reads GitHub's push event; a generic receiver of Flux takes any body.
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
        let answer = sent.map_err(|error| {
            if error.is_timeout() {
                format!("it did not answer in {} s", TIMEOUT.as_secs())
            } else {
                format!("it cannot be reached ({})", root_cause(&error))
            }
        })?;
        if answer.status().is_success() { Ok(()) } else { Err(format!("it answered {}", answer.status().as_u16())) }
    }
}

/// The last cause in the chain: those above it name the address.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    cause.map_or_else(|| "no connection".to_owned(), ToString::to_string)
}
