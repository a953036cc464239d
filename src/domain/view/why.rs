//! The answer to `why`: the obstacles between an artefact and an environment, or the plan of a promotion without any.

use crate::domain::change::approval::ApprovalState;
use crate::domain::change::plan::Plan;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Version;
use crate::domain::rules::refusal::Refusal;

/// The answer to `why`: what stands between an artefact and an environment, or that nothing does.
#[derive(Clone, Debug)]
pub struct WhyAnswer {
    pub artefact: ArtefactName,
    /// `None` where none is behind.
    pub environment: Option<EnvironmentName>,
    /// The environments that are behind as well, where none was named.
    pub other_environments: Option<Vec<EnvironmentName>>,
    /// What would go, as far as that is known.
    pub version: Option<Version>,
    /// In the order in which a promotion would be refused because of them.
    pub obstacles: Vec<Refusal>,
    pub ready_promotion: Option<ReadyPromotion>,
    /// Who could not be asked, so that there may be more.
    pub lookup_failure: Option<String>,
}

/// Nothing stands in the way.
#[derive(Clone, Debug)]
pub struct ReadyPromotion {
    pub plan: Box<Plan>,
    /// Whom it would wait for, where it would.
    pub awaiting: Option<ApprovalState>,
}

impl WhyAnswer {
    /// The change that is under way there.
    pub fn find_change_in_progress(&self) -> Option<ChangeId> {
        self.obstacles.iter().find_map(|blocker| match blocker {
            Refusal::ChangeInProgress(under_way) => Some(under_way.id),
            _ => None,
        })
    }
}
