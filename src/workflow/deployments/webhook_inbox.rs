//! Keeps what webhooks told, once, before their senders are answered. What follows from it is worked off by `hear`.

use serde::{Deserialize, Serialize};

use crate::adapters::reports::disposition::Fate;
use crate::adapters::reports::github::{Build, Notice};
use crate::adapters::reports::{Heard, Report, Sender, Unread};
use crate::adapters::store::{Receipt, Source, StoreError, Transaction};
use crate::domain::runtime::attribution::UnmappedReport;
use crate::telemetry;

use crate::workflow::context::Bot;

/// What a webhook told, as it waits in the inbox. Each has something that no other has.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Told {
    Report(Box<Report>),
    Build(Build),
    Notice(Notice),
}

impl Bot {
    /// `false`: it could not be kept, and must be sent again.
    pub async fn keep_told(&self, heard: Heard) -> bool {
        match heard {
            Heard::Report(report) => self.keep_report(&report).await,
            Heard::Notice(notice) => self.keep_from_github(&notice.key, &notice).await,
            Heard::Build(build) => self.keep_from_github(&build.key, &build).await,
            Heard::Unread(unread) => self.keep_unread(&unread).await,
        }
    }

    /// Keeps a report once, by what it means and by what its sender calls it.
    pub(crate) async fn keep_report(&self, report: &Report) -> bool {
        let body = serde_json::to_value(report).unwrap_or_default();
        let stored = self.store.receive_once(source(report.sender), &report.key, report.id_key(), &body).await;
        self.kept_once(report.sender, &report.key, stored)
    }

    async fn keep_from_github(&self, key: &str, told: &impl Serialize) -> bool {
        let body = serde_json::to_value(told).unwrap_or_default();
        self.kept_once(Sender::GitHub, key, self.store.receive(Source::GitHub, key, &body).await)
    }

    fn kept_once(&self, sender: Sender, key: &str, stored: Result<Receipt, StoreError>) -> bool {
        let request = telemetry::request_id(source(sender).as_str(), key);
        if let Ok(Receipt::Replay) = stored {
            self.measures.reports.met(sender, Fate::Duplicate);
        }
        tracing::debug!(request.id = request, before = matches!(stored, Ok(Receipt::Replay)), "told");
        tracing::error_span!("request", request.id = request).in_scope(|| kept(stored))
    }

    /// What nobody could make anything of is not dropped in silence.
    pub(crate) async fn keep_unread(&self, unread: &Unread) -> bool {
        let stray = UnmappedReport {
            environment: unread.environment.clone(),
            sender: unread.sender.name().to_owned(),
            object: None,
            reason: "unread".to_owned(),
            problem: unread.why.clone(),
            repair: "Repair what sends it: the README says what is understood.".to_owned(),
            message: unread.body.clone(),
            at: self.clock.now(),
        };
        kept(self.store.commit(Transaction::new().unmapped(stray)).await)
    }
}

fn source(sender: Sender) -> Source {
    match sender {
        Sender::Flux => Source::Flux,
        Sender::ArgoCd => Source::ArgoCd,
        Sender::GitHub => Source::GitHub,
        Sender::Deployments => Source::Deployments,
        Sender::CdEvents => Source::CdEvents,
    }
}

fn kept<T>(stored: Result<T, StoreError>) -> bool {
    stored.inspect_err(|error| tracing::error!(%error, "what a webhook told could not be stored")).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::adapters::reports::github;

    #[test]
    fn what_github_told_is_read_back_as_what_it_was() {
        let sha = "a".repeat(40);
        let body = json!({
            "repository": { "full_name": "acme/checkout" }, "sha": sha,
            "deployment": { "id": 1, "sha": sha, "environment": "qa" }, "deployment_status": { "id": 2, "state": "success" },
            "workflow_run": { "id": 3, "head_sha": sha, "status": "queued" },
        })
        .to_string();
        let find = |name: &str| Some(crate::domain::model::environment::EnvironmentName::new(name));
        for (event, expected) in [("status", "notice"), (github::DEPLOYMENT, "report"), (github::BUILD, "build")] {
            let stored = match github::parse(event, body.as_bytes(), find).unwrap().unwrap() {
                Heard::Report(report) => json!(report),
                Heard::Build(build) => json!(build),
                Heard::Notice(notice) => json!(notice),
                Heard::Unread(unread) => panic!("{unread:?}"),
            };
            let read = match serde_json::from_value(stored).unwrap() {
                Told::Report(_) => "report",
                Told::Build(_) => "build",
                Told::Notice(_) => "notice",
            };
            assert_eq!(read, expected);
        }
    }
}
