//! Reports without an artefact: the reason, the repair, and the stored record.

use jiff::Timestamp;

use super::subject::{AttributionSubject, ControllerObject, MAX_QUOTED_CHARS, truncate_text};
use crate::domain::model::artefact::{ArtefactName, Repository};
use crate::domain::model::environment::EnvironmentName;

/// The reason why a report has no artefact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnmappedReason {
    UnknownArtefact {
        name: String,
        suggestion: Option<ArtefactName>,
    },
    NotInEnvironment {
        artefact: ArtefactName,
    },
    UnknownImage {
        image: String,
    },
    UnknownRepository {
        repository: Repository,
    },
    /// The number of the rule, counted from 1.
    RuleWithoutArtefact {
        rule: usize,
    },
    NothingApplied {
        object: ControllerObject,
    },
    NothingNamed,
}

impl UnmappedReason {
    /// The code under which reports are counted.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownArtefact { .. } => "unknown_artefact",
            Self::NotInEnvironment { .. } => "not_there",
            Self::UnknownImage { .. } => "unknown_image",
            Self::UnknownRepository { .. } => "unknown_repository",
            Self::RuleWithoutArtefact { .. } => "rule_names_nobody_here",
            Self::NothingApplied { .. } => "nothing_applied_by_it",
            Self::NothingNamed => "nothing_named",
        }
    }

    /// A sentence on the problem.
    pub fn describe_problem(&self, subject: &AttributionSubject<'_>) -> String {
        let environment = subject.environment;
        match self {
            Self::UnknownArtefact { name, .. } => {
                format!("It names the artefact {}, which I do not know.", truncate_text(name, MAX_QUOTED_CHARS))
            }
            Self::NotInEnvironment { artefact } => format!("It is about {artefact}, which is not in {environment}."),
            Self::UnknownImage { image } => {
                format!(
                    "It brought {}, which is the image of no artefact in {environment}.",
                    truncate_text(image, 2 * MAX_QUOTED_CHARS)
                )
            }
            Self::UnknownRepository { repository } => {
                format!("Nothing of {repository} is delivered to {environment} by branch.")
            }
            Self::RuleWithoutArtefact { rule } => {
                format!("Rule {rule} under `reports` is for it, and none of its artefacts is in {environment}.")
            }
            Self::NothingApplied { object } => {
                format!("{}'s {object} applied nothing that I watch in {environment}.", subject.sender)
            }
            Self::NothingNamed => "It names no artefact, no image and no object.".to_owned(),
        }
    }

    /// A sentence on the next step.
    pub fn describe_repair(&self, subject: &AttributionSubject<'_>) -> String {
        let (naming_hint, environment) = (subject.naming_hint, subject.environment);
        match self {
            Self::UnknownArtefact { suggestion: Some(suggestion), .. } => {
                format!("Did you mean {suggestion}? Correct it {naming_hint}.")
            }
            Self::UnknownArtefact { suggestion: None, .. } => {
                format!("Name one that the configuration has {naming_hint}, or add this one under `artefacts`.")
            }
            Self::NotInEnvironment { artefact } => format!(
                "Send it to the environment that it is about, or let {artefact} be in {environment} under `artefacts`."
            ),
            Self::RuleWithoutArtefact { .. } => {
                format!("Name an artefact of {environment} in that rule, or limit it by `environments`.")
            }
            Self::UnknownImage { .. } | Self::UnknownRepository { .. } | Self::NothingApplied { .. } => {
                format!("Name the artefact {naming_hint}, or add a rule under `reports`.")
            }
            Self::NothingNamed => format!("Name the artefact {naming_hint}."),
        }
    }
}

/// A report without an artefact, to be stored and counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmappedReport {
    pub environment: Option<EnvironmentName>,
    pub sender: String,
    pub object: Option<ControllerObject>,
    /// The code of the reason. Reports with the same code, environment, sender and object are counted together.
    pub reason: String,
    pub problem: String,
    pub repair: String,
    /// The sender's own text.
    pub message: String,
    pub at: Timestamp,
}

/// Reports that are counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmappedReportGroup {
    pub last: UnmappedReport,
    pub count: u64,
    pub first_at: Timestamp,
}
