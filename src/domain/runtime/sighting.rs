//! One version's stay in one environment, as we saw it.

use jiff::Timestamp;

use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Version;

#[derive(Clone, Debug)]
pub struct Sighting {
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    pub version: Version,
    /// When its rollout was first seen.
    pub seen_at: Timestamp,
    /// When its rollout was first seen complete.
    pub running_at: Option<Timestamp>,
    /// Since when it has run well without interruption; `None` while it does not.
    pub healthy_since: Option<Timestamp>,
    /// Why it does not run as it should, while that stands.
    pub failure: Option<String>,
    /// When another version, or none, took its place.
    pub ended_at: Option<Timestamp>,
    /// The environment's channel was told, or did not have to be.
    pub announced: bool,
}
