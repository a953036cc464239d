//! Parses deployment webhooks into `Report`s: hints, never proofs. Each sender has a file that parses its bodies
//! without I/O. `docs/architecture.md` describes how to add a sender.

pub mod argocd;
pub mod cdevents;
pub mod disposition;
pub mod flux;
pub mod generic;
pub mod github;
mod github_event;
pub mod receive;
pub mod signature;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::change::FailureEvidence;
use crate::domain::model::artefact::Repository;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Sha;
use github_event::{Build, GithubNotice};

/// The maximum size of a webhook's body; senders stay far below it.
pub const BODY_LIMIT: usize = 128 * 1024;

/// A message names every object of a failed apply. People do not read more than this.
const MESSAGE_LIMIT: usize = 1_000;

/// Enough of a body to recognise its content.
const UNREADABLE_BODY_LIMIT: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    #[serde(default)]
    pub sender: ReportSender,
    /// From the path or the secret of the webhook, never from its body.
    pub environment: EnvironmentName,
    pub about: ReportTarget,
    /// As the sender writes it: `main@sha1:<sha>`, a chart's version, ...
    pub revision: Option<String>,
    /// The commit in the revision, if it has one.
    pub commit: Option<Sha>,
    pub outcome: ReportStatus,
    pub message: String,
    pub at: Option<Timestamp>,
    /// The same for every delivery of the same event, even if the order of its fields differs; different for every
    /// other event.
    pub key: String,
    /// The sender's own id of the event, if the signed content has one. Events with the same id count once.
    #[serde(default)]
    pub id: Option<String>,
}

impl Report {
    /// The sender's id as a key that is unique in an environment; `None` without an id.
    pub fn id_key(&self) -> Option<String> {
        let id = self.id.as_deref()?;
        // Pipelines use one id for all events of one deployment.
        let state = match (self.sender, &self.outcome) {
            (ReportSender::Deployments, ReportStatus::Progressing) => "started",
            (ReportSender::Deployments, ReportStatus::Failed { .. }) => "failed",
            _ => "",
        };
        Some(hash_key(&[self.environment.as_str(), id, state]))
    }
}

/// The content of a webhook. It is stored before the sender gets its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedWebhook {
    Report(Box<Report>),
    Notice(GithubNotice),
    Build(Build),
    Unreadable(UnreadableWebhook),
}

/// A webhook with the right secret but unusable content: the sender is configured incorrectly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadableWebhook {
    /// `None` if the secret does not identify an environment.
    pub environment: Option<EnvironmentName>,
    pub sender: ReportSender,
    /// A sentence.
    pub why: String,
    /// The beginning of the body.
    pub body: String,
}

impl UnreadableWebhook {
    pub fn new(environment: Option<EnvironmentName>, sender: ReportSender, why: String, body: &[u8]) -> Self {
        // No character has more than four bytes.
        let begin = &body[..body.len().min(4 * UNREADABLE_BODY_LIMIT)];
        let body = String::from_utf8_lossy(begin).chars().take(UNREADABLE_BODY_LIMIT).collect();
        Self { environment, sender, why, body }
    }
}

/// The sender of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportSender {
    /// Also the default for stored reports from before there were other senders.
    #[default]
    Flux,
    ArgoCd,
    GitHub,
    /// Plain JSON from any program.
    Deployments,
    CdEvents,
}

impl ReportSender {
    /// The name for people.
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Flux => "Flux",
            Self::ArgoCd => "Argo CD",
            Self::GitHub => "GitHub",
            Self::Deployments => "a deployment webhook",
            Self::CdEvents => "CDEvents",
        }
    }
}

/// The subject of a report: the controller's object, and the artefact or image if the sender names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportTarget {
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub artefact: Option<String>,
    /// Deployed images, with or without tag and digest.
    #[serde(default)]
    pub images: Vec<String>,
    /// The repository of the code or of the manifests.
    #[serde(default)]
    pub repository: Option<Repository>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatus {
    Succeeded,
    Failed {
        message: String,
        #[serde(default)]
        evidence: FailureEvidence,
    },
    Progressing,
    /// Says nothing about any artefact.
    Noise,
}

/// The reason why a body is not a report: a sentence that says how to correct it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    #[error("The body has {0} bytes; a report has {BODY_LIMIT} at most.")]
    TooLarge(usize),
    #[error("{0}")]
    Malformed(String),
}

impl ReportError {
    fn malformed(sentence: impl Into<String>) -> Self {
        Self::Malformed(sentence.into())
    }
}

/// Parses a JSON body. `describe_error` makes the sentence of the error.
fn parse_json<T: DeserializeOwned>(
    body: &[u8],
    describe_error: impl FnOnce(serde_json::Error) -> String,
) -> Result<T, ReportError> {
    if body.len() > BODY_LIMIT {
        return Err(ReportError::TooLarge(body.len()));
    }
    serde_json::from_slice(body).map_err(|error| ReportError::Malformed(describe_error(error)))
}

/// A key for an event from the parts of its meaning. Each part is preceded by its length, so that parts cannot run
/// together.
fn hash_key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(&hash.finalize()[..16])
}

/// The part of a message that is kept.
fn truncate_message(message: &str) -> String {
    message.chars().take(MESSAGE_LIMIT).collect()
}

/// A failure without a message gets `default` as its message.
fn failed_status(message: &str, default: &str, evidence: FailureEvidence) -> ReportStatus {
    let message = if message.trim().is_empty() { default } else { message };
    ReportStatus::Failed { message: truncate_message(message), evidence }
}

/// The commit in a revision: `main@sha1:<sha>`, `sha1:<sha>`, the older `main/<sha>`, or the commit alone.
fn parse_commit(revision: &str) -> Option<Sha> {
    let name = match revision.rsplit_once(':') {
        Some((before, name)) if before == "sha1" || before.ends_with("@sha1") => name,
        Some(_) => return None,
        None => revision.rsplit_once('/').map_or(revision, |(_, name)| name),
    };
    name.parse().ok()
}
