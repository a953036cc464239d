//! The step that brings the commit to the next environment: a push, a merge back, a promotion, a repair, an open
//! change.

use crate::domain::change::Change;
use crate::domain::git::containment::Containment;
use crate::domain::model::artefact::{Artefact, Delivery};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::view::where_is::{CommitPresence, EnvironmentPresence, NextEnvironment, Prerequisite};
use crate::workflow::context::Context;

/// The step that brings the commit to the next environment. A promotion that would certainly be refused is not
/// suggested.
pub(super) fn find_next_requirement(
    ctx: &Context,
    artefact: &Artefact,
    environments: &[EnvironmentPresence],
    next: NextEnvironment,
    containment: &Containment,
) -> Option<(EnvironmentName, Prerequisite)> {
    let ladder = &ctx.config.catalogue.ladder;
    let (NextEnvironment::Upward(index) | NextEnvironment::Backward(index)) = next;
    let presence = environments.get(index)?;
    let environment = ladder.find(presence.environment.as_str())?;
    let branch = environment.branch.clone();
    let prerequisite = match (next, ladder.find_next_below(&environment.name, artefact)) {
        (NextEnvironment::Backward(_), _) if artefact.delivery == Delivery::Branch => {
            Prerequisite::BackMerge { branch }
        }
        (NextEnvironment::Backward(_), _) => return None,
        (NextEnvironment::Upward(_), None) => Prerequisite::Push { branch },
        (NextEnvironment::Upward(_), Some(below)) => {
            if let Some(change) = change_deploying_to(ctx, artefact, environment, containment) {
                change
            } else if matches!(&presence.presence, CommitPresence::Absent { removal: Some(_) }) {
                Prerequisite::Repair { below: below.name.clone() }
            } else {
                let problem =
                    environments.iter().find(|other| other.environment == below.name).and_then(describe_problem);
                Prerequisite::Promotion { below: below.name.clone(), problem }
            }
        }
    };
    Some((environment.name.clone(), prerequisite))
}

/// The newest promotion to the environment that is in progress, stalled or failed, and that may bring the commit.
fn change_deploying_to(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    containment: &Containment,
) -> Option<Prerequisite> {
    let is_relevant = |change: &Change| {
        let plan = &change.plan;
        plan.environment == environment.name
            && !plan.is_rollback()
            && (change.stage.is_active() || change.stage.is_watched())
            && (plan.artefact == artefact.name || plan.co_deployed.iter().any(|also| also.artefact == artefact.name))
    };
    ctx.open_changes.all().iter().rev().filter(|change| is_relevant(change)).find_map(|change| {
        let contains_commit = change.plan.pinned_commit().and_then(|pinned| containment.is_contained_in(pinned));
        let prerequisite =
            Prerequisite::Change { id: change.id, stage_text: change.stage.display_name(), contains_commit };
        (contains_commit != Some(false)).then_some(prerequisite)
    })
}

fn describe_problem(below: &EnvironmentPresence) -> Option<String> {
    match &below.presence {
        CommitPresence::Present { problem, .. } => problem.clone(),
        CommitPresence::RollingOut { .. } => Some("it is still rolling out there".to_owned()),
        CommitPresence::Absent { .. } | CommitPresence::NoWorkload | CommitPresence::Unknown { .. } => None,
    }
}
