//! Events of GitHub's webhooks: a build, or news of a pull request or commit. They wake the changes that wait for them.

use crate::adapters::reports::github::{Build, GithubNotice};
use crate::adapters::store::{LedgerDetails, LedgerEntry, LedgerKind};
use crate::domain::model::actor::Actor;
use crate::workflow::context::Context;

/// Records the state of a build, and wakes the changes that wait for its commit. Ignores builds of other repositories.
pub(crate) fn handle_build_event(ctx: &Context, build: &Build) -> Option<LedgerEntry> {
    let mut artefacts = ctx.config.catalogue.artefacts.iter();
    if !artefacts.any(|artefact| artefact.repository.is_same_as(&build.repository)) || !ctx.builds.record_build(build) {
        return None;
    }
    for change in ctx.open_changes.all() {
        let is_waiting = change.stage.deploying().is_some_and(|deploying| deploying.result == build.commit);
        if is_waiting && change.plan.write_target().0.is_same_as(&build.repository) {
            ctx.open_changes.wake(change.id);
        }
    }
    Some(LedgerEntry {
        at: ctx.clock.now(),
        change: None,
        kind: LedgerKind::Build,
        artefact: None,
        environment: None,
        actor: Some(Actor::Controller),
        details: Some(LedgerDetails::Build(serde_json::to_value(build).unwrap_or_default())),
    })
}

/// Wakes the changes that wait for the pull request or commit of the notice.
pub(crate) fn wake_affected_changes(ctx: &Context, notice: &GithubNotice) {
    for change in ctx.open_changes.all().iter().filter(|change| change.stage.can_cancel()) {
        let result_branch = change.result_branch.as_ref();
        let pull = result_branch.and_then(|result_branch| result_branch.pull.as_ref()).map(|pull| pull.number);
        let is_affected = (pull.is_some() && pull == notice.pull)
            || (notice.commit.is_some() && notice.commit.as_ref() == change.commit_to_approve());
        if is_affected && change.plan.write_target().0.is_same_as(&notice.repository) {
            ctx.open_changes.wake(change.id);
        }
    }
}
