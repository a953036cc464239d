//! What deployment webhooks told us, in one shape whoever sent it: hints, never proofs.
//! Pure functions over bytes; receiving, storing and acting on them is done elsewhere.

pub mod flux;
pub mod github;
pub mod receive;
pub mod signature;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::artefact::Repository;
use crate::domain::environment::EnvironmentName;
use crate::domain::version::Sha;

/// The most that is read of a webhook's body; senders stay far below it.
pub const BODY_LIMIT: usize = 128 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    #[serde(default)]
    pub sender: Sender,
    /// Named by the way the report came in, never by its body.
    pub environment: EnvironmentName,
    pub about: About,
    /// As the sender writes it: `main@sha1:<sha>`, a chart's version, ...
    pub revision: Option<String>,
    /// The commit that the revision names, where it names one.
    pub commit: Option<Sha>,
    pub outcome: Outcome,
    pub message: String,
    pub at: Option<Timestamp>,
    /// The same for every delivery of the same event, whatever the order of its fields; another for every other event.
    pub key: String,
    /// The sender's own name for the event, where it gives one inside of what is signed. Whatever it says, it counts once.
    #[serde(default)]
    pub id: Option<String>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// Also of what was kept before others were heard.
    #[default]
    Flux,
    ArgoCd,
    GitHub,
    /// Plain JSON, by whatever can send it.
    Deployments,
    CdEvents,
}

impl Sender {
    /// As people call it.
    pub fn name(self) -> &'static str {
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
pub struct About {
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
pub enum Outcome {
    Succeeded,
    Failed {
        message: String,
    },
    Progressing,
    /// Says nothing about any artefact.
    Noise,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    #[error("the body has {0} bytes; a report has {BODY_LIMIT} at most")]
    TooLarge(usize),
    #[error("the body is not a report: {0}")]
    Malformed(String),
}

/// One word for an event out of what it means. Lengths stand between the parts, so that none can lean on its neighbour.
fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize()[..16])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        text.extend([byte >> 4, byte & 15].into_iter().filter_map(|digit| char::from_digit(digit.into(), 16)));
        text
    })
}
