//! Why a report is about nobody, in words that say what to do; and what is kept of it.

use jiff::Timestamp;

use super::{Object, REPEATED, Told, cut};
use crate::domain::model::artefact::{ArtefactName, Repository};
use crate::domain::model::environment::EnvironmentName;

/// Why a report is about nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmapped {
    UnknownArtefact {
        named: String,
        meant: Option<ArtefactName>,
    },
    NotThere {
        artefact: ArtefactName,
    },
    UnknownImage {
        image: String,
    },
    UnknownRepository {
        repository: Repository,
    },
    /// The rule of that number, counted from 1.
    RuleNamesNobodyHere {
        rule: usize,
    },
    NothingAppliedByIt {
        object: Object,
    },
    NothingNamed,
}

impl Unmapped {
    /// One word for each reason, by which reports are counted.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::UnknownArtefact { .. } => "unknown_artefact",
            Self::NotThere { .. } => "not_there",
            Self::UnknownImage { .. } => "unknown_image",
            Self::UnknownRepository { .. } => "unknown_repository",
            Self::RuleNamesNobodyHere { .. } => "rule_names_nobody_here",
            Self::NothingAppliedByIt { .. } => "nothing_applied_by_it",
            Self::NothingNamed => "nothing_named",
        }
    }

    /// What is wrong.
    pub fn sentence(&self, told: &Told<'_>) -> String {
        let environment = told.environment;
        match self {
            Self::UnknownArtefact { named, .. } => {
                format!("It names the artefact {}, which I do not know.", cut(named, REPEATED))
            }
            Self::NotThere { artefact } => format!("It is about {artefact}, which is not in {environment}."),
            Self::UnknownImage { image } => {
                format!("It brought {}, which is the image of no artefact in {environment}.", cut(image, 2 * REPEATED))
            }
            Self::UnknownRepository { repository } => {
                format!("Nothing of {repository} is delivered to {environment} by branch.")
            }
            Self::RuleNamesNobodyHere { rule } => {
                format!("Rule {rule} under `reports` is for it, and none of its artefacts is in {environment}.")
            }
            Self::NothingAppliedByIt { object } => {
                format!("{}'s {object} applied nothing that I watch in {environment}.", told.sender)
            }
            Self::NothingNamed => "It names no artefact, no image and no object.".to_owned(),
        }
    }

    /// What to do about it.
    pub fn repair(&self, told: &Told<'_>) -> String {
        let (place, environment) = (told.place, told.environment);
        match self {
            Self::UnknownArtefact { meant: Some(meant), .. } => format!("Did you mean {meant}? Correct it {place}."),
            Self::UnknownArtefact { meant: None, .. } => {
                format!("Name one that the configuration has {place}, or add this one under `artefacts`.")
            }
            Self::NotThere { artefact } => format!(
                "Send it to the environment that it is about, or let {artefact} be in {environment} under `artefacts`."
            ),
            Self::RuleNamesNobodyHere { .. } => {
                format!("Name an artefact of {environment} in that rule, or limit it by `environments`.")
            }
            Self::UnknownImage { .. } | Self::UnknownRepository { .. } | Self::NothingAppliedByIt { .. } => {
                format!("Name the artefact {place}, or add a rule under `reports`.")
            }
            Self::NothingNamed => format!("Name the artefact {place}."),
        }
    }
}

/// One report that is about nobody, to be kept and counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    pub environment: Option<EnvironmentName>,
    pub sender: String,
    pub object: Option<Object>,
    /// One word; reports that have it in common with all of the above are counted together.
    pub reason: String,
    pub sentence: String,
    pub repair: String,
    /// The sender's own words.
    pub message: String,
    pub at: Timestamp,
}

/// All of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strays {
    pub last: Stray,
    pub count: u64,
    pub first_at: Timestamp,
}
