//! The answer to `why`: the obstacles between an artefact and an environment, or the plan of a promotion without any.

use crate::domain::change::approval::ApprovalState;
use crate::domain::change::plan::Plan;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Version;
use crate::domain::rules::refusal::Refusal;

/// The answer to `why`.
#[derive(Clone, Debug)]
pub struct WhyAnswer {
    pub artefact: ArtefactName,
    /// `None` if no environment is behind.
    pub environment: Option<EnvironmentName>,
    /// The other environments that are behind, if the command named none.
    pub other_environments: Option<Vec<EnvironmentName>>,
    /// The version to promote, if known.
    pub version: Option<Version>,
    /// In the order of the rules. The first would be the refusal of a promotion.
    pub obstacles: Vec<Refusal>,
    pub ready_promotion: Option<ReadyPromotion>,
    /// The lookup that failed. There may be more obstacles.
    pub lookup_failure: Option<String>,
}

/// A promotion without obstacles.
#[derive(Clone, Debug)]
pub struct ReadyPromotion {
    pub plan: Box<Plan>,
    /// The approvals for which the promotion would wait.
    pub awaiting: Option<ApprovalState>,
}

impl WhyAnswer {
    /// The change in progress among the obstacles.
    pub fn find_change_in_progress(&self) -> Option<ChangeId> {
        self.obstacles.iter().find_map(|obstacle| match obstacle {
            Refusal::ChangeInProgress(change) => Some(change.id),
            _ => None,
        })
    }
}
