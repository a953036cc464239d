//! Deployment webhooks as `Report`s: hints, never proofs. Each sender has a file that parses its bodies without I/O.
//! `docs/architecture.md` says how to add a sender.

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

/// The most that is read of a webhook's body; senders stay far below it.
pub const BODY_LIMIT: usize = 128 * 1024;

/// Messages name every object of a failed apply; this is as much as a person reads.
const MESSAGE_LIMIT: usize = 1_000;

/// As much of a body as tells a person what was sent.
const UNREADABLE_BODY_LIMIT: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    #[serde(default)]
    pub sender: ReportSender,
    /// Named by the way the report came in, never by its body.
    pub environment: EnvironmentName,
    pub about: ReportTarget,
    /// As the sender writes it: `main@sha1:<sha>`, a chart's version, ...
    pub revision: Option<String>,
    /// The commit that the revision names, where it names one.
    pub commit: Option<Sha>,
    pub outcome: ReportStatus,
    pub message: String,
    pub at: Option<Timestamp>,
    /// The same for every delivery of the same event, whatever the order of its fields; another for every other event.
    pub key: String,
    /// The sender's own name for the event, where it gives one inside of what is signed. Whatever it says, it counts once.
    #[serde(default)]
    pub id: Option<String>,
}

impl Report {
    /// One word for the sender's own name of the event: it counts once in an environment, whatever it says.
    pub fn id_key(&self) -> Option<String> {
        let id = self.id.as_deref()?;
        // Pipelines call all that they say of one deployment by one name.
        let state = match (self.sender, &self.outcome) {
            (ReportSender::Deployments, ReportStatus::Progressing) => "started",
            (ReportSender::Deployments, ReportStatus::Failed { .. }) => "failed",
            _ => "",
        };
        Some(hash_key(&[self.environment.as_str(), id, state]))
    }
}

/// What a webhook brought. It is stored before the sender is told that it was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedWebhook {
    Report(Box<Report>),
    Notice(GithubNotice),
    Build(Build),
    Unreadable(UnreadableWebhook),
}

/// What came with the right secret and still tells us nothing: somebody set something up in a way that does not work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadableWebhook {
    /// `None` where the secret names none.
    pub environment: Option<EnvironmentName>,
    pub sender: ReportSender,
    /// A sentence.
    pub why: String,
    /// How the body begins.
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

/// Who speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportSender {
    /// Also of what was kept before others were heard.
    #[default]
    Flux,
    ArgoCd,
    GitHub,
    /// Plain JSON, by whatever can send it.
    Deployments,
    CdEvents,
}

impl ReportSender {
    /// As people call it.
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

/// What the report may be about: the controller's object, and the artefact or image where the sender names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportTarget {
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub artefact: Option<String>,
    /// Images that it brought, with or without tag and digest.
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

/// Why a body is no report: a sentence that says what would be right.
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

/// What a body says in JSON, or the sentence that `wrong` makes of the error.
fn parse_json<T: DeserializeOwned>(
    body: &[u8],
    wrong: impl FnOnce(serde_json::Error) -> String,
) -> Result<T, ReportError> {
    if body.len() > BODY_LIMIT {
        return Err(ReportError::TooLarge(body.len()));
    }
    serde_json::from_slice(body).map_err(|error| ReportError::Malformed(wrong(error)))
}

/// One word for an event out of what it means. Lengths stand between the parts, so that none can lean on its neighbour.
fn hash_key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(&hash.finalize()[..16])
}

/// As much of a message as is kept.
fn truncate_message(message: &str) -> String {
    message.chars().take(MESSAGE_LIMIT).collect()
}

/// A failure that says nothing else is called by what else is known of it.
fn failed_status(message: &str, otherwise: &str, evidence: FailureEvidence) -> ReportStatus {
    let said = if message.trim().is_empty() { otherwise } else { message };
    ReportStatus::Failed { message: truncate_message(said), evidence }
}

/// The commit that a revision names: `main@sha1:<sha>`, `sha1:<sha>`, the older `main/<sha>`, or the commit alone.
fn parse_commit(revision: &str) -> Option<Sha> {
    let name = match revision.rsplit_once(':') {
        Some((before, name)) if before == "sha1" || before.ends_with("@sha1") => name,
        Some(_) => return None,
        None => revision.rsplit_once('/').map_or(revision, |(_, name)| name),
    };
    name.parse().ok()
}
