//! One period in which one version was rolled out and ran in one environment, as Gantry observed it.

use jiff::Timestamp;

use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Version;

#[derive(Clone, Debug)]
pub struct Sighting {
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    pub version: Version,
    /// When the rollout was first seen.
    pub seen_at: Timestamp,
    /// When the rollout was first seen complete.
    pub running_at: Option<Timestamp>,
    /// The start of the current healthy time; `None` while the version is not healthy.
    pub healthy_since: Option<Timestamp>,
    /// The reason why the version is not healthy, while that lasts.
    pub failure: Option<String>,
    /// When another version replaced it. A missing workload does not end the sighting.
    pub ended_at: Option<Timestamp>,
    /// The environment's channel was notified, or did not need to be.
    pub announced: bool,
}
