//! The step that brings the commit to the next environment: a push, a merge back, a promotion, a repair, an open
//! change.

use crate::domain::change::Change;
use crate::domain::git::containment::Containment;
use crate::domain::model::artefact::{Artefact, Delivery};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::view::where_is::{CommitPresence, EnvironmentPresence, NextEnvironment, Prerequisite};
use crate::workflow::context::Context;

/// The step that brings the commit to the next environment. Known reasons to refuse a promotion there belong here.
pub(super) fn find_next_requirement(
    ctx: &Context,
    artefact: &Artefact,
    rungs: &[EnvironmentPresence],
    next: NextEnvironment,
    known: &Containment,
) -> Option<(EnvironmentName, Prerequisite)> {
    let ladder = &ctx.config.catalogue.ladder;
    let (NextEnvironment::Upward(at) | NextEnvironment::Backward(at)) = next;
    let rung = rungs.get(at)?;
    let environment = ladder.find(rung.environment.as_str())?;
    let branch = environment.branch.clone();
    let waits = match (next, ladder.find_next_below(&environment.name, artefact)) {
        (NextEnvironment::Backward(_), _) if artefact.delivery == Delivery::Branch => {
            Prerequisite::BackMerge { branch }
        }
        (NextEnvironment::Backward(_), _) => return None,
        (NextEnvironment::Upward(_), None) => Prerequisite::Push { branch },
        (NextEnvironment::Upward(_), Some(below)) => {
            if let Some(under_way) = change_deploying_to(ctx, artefact, environment, known) {
                under_way
            } else if matches!(&rung.presence, CommitPresence::Absent { removal: Some(_) }) {
                Prerequisite::Repair { below: below.name.clone() }
            } else {
                let trouble = rungs.iter().find(|other| other.environment == below.name).and_then(describe_trouble);
                Prerequisite::Promotion { below: below.name.clone(), problem: trouble }
            }
        }
    };
    Some((environment.name.clone(), waits))
}

/// A promotion to the environment that is in progress, stalled or failed, unless it is known not to bring the commit.
fn change_deploying_to(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    known: &Containment,
) -> Option<Prerequisite> {
    let concerns = |change: &Change| {
        let plan = &change.plan;
        plan.environment == environment.name
            && !plan.is_rollback()
            && (change.stage.is_active() || change.stage.is_watched())
            && (plan.artefact == artefact.name || plan.also.iter().any(|also| also.artefact == artefact.name))
    };
    ctx.open_changes.all().iter().rev().filter(|change| concerns(change)).find_map(|change| {
        let brings = change.plan.pinned_commit().and_then(|pinned| known.is_contained_in(pinned));
        let waits =
            Prerequisite::Change { id: change.id, stage_text: change.stage.display_name(), contains_commit: brings };
        (brings != Some(false)).then_some(waits)
    })
}

fn describe_trouble(rung: &EnvironmentPresence) -> Option<String> {
    match &rung.presence {
        CommitPresence::Present { problem: trouble, .. } => trouble.clone(),
        CommitPresence::RollingOut { .. } => Some("it is still rolling out there".to_owned()),
        CommitPresence::Absent { .. } | CommitPresence::NoWorkload | CommitPresence::Unknown { .. } => None,
    }
}
