//! The handler of the stages after the merge: creates the tag, triggers the controller, and waits for the proof that
//! the cluster runs the result.

use jiff::{SignedDuration, Timestamp};

use crate::adapters::store::Claim;
use crate::domain::change::{
    Change, CoDeployedState, CoDeployedStatus, DeployState, FailureEvidence, RetryState, RolloutProgress, Stage,
    TriggerOutcome,
};
use crate::domain::runtime::rollout::RolloutState;
use crate::workflow::changes::auto_rollback::{auto_rollback_due, maybe_auto_rollback};
use crate::workflow::changes::stall_diagnosis::{compute_stall_time, diagnose_stall, find_build_time};
use crate::workflow::changes::tag::ensure_tag;
use crate::workflow::changes::transition::{StageResult, compute_backoff, store_stage_if_changed};
use crate::workflow::changes::trigger::trigger_reconcile;
use crate::workflow::context::Context;
use crate::workflow::facts::authors::find_change_authors;
use crate::workflow::facts::rollout_check::{RolloutCheck, check_rollout};

/// The poll interval until the cluster was read for the first time.
const UNREAD_POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(1);

/// The most authors that are mentioned for one failure.
const MAX_NOTIFIED_AUTHORS: usize = 10;

/// A check within this time after the deadline may confirm a health report. A later check says nothing about the
/// rollout's state at the deadline.
const CONFIRMATION_WINDOW: SignedDuration = SignedDuration::from_mins(1);

pub(crate) async fn verify_rollout(ctx: &Context, mut claim: Claim) -> StageResult {
    if auto_rollback_due(ctx, &claim.change) && !maybe_auto_rollback(ctx, &mut claim).await? {
        return Ok(None);
    }
    let tag_due = ensure_tag(ctx, &mut claim).await?;
    let nudge = trigger_reconcile(ctx, &claim.change).await;
    // Boxed: the stall diagnosis makes the future large, and few checks need it.
    Box::pin(evaluate_rollout(ctx, &claim, nudge, tag_due)).await
}

/// Checks the rollout and stores the stage that follows from it. Only the cluster itself makes a change `Deployed`.
async fn evaluate_rollout(
    ctx: &Context,
    claim: &Claim,
    nudge: Option<TriggerOutcome>,
    tag_due: Option<Timestamp>,
) -> StageResult {
    let before = claim.change.stage.clone();
    let Some(deploying) = before.deploying() else { return Ok(None) };
    if matches!(before, Stage::Deployed { .. }) {
        return store_stage_if_changed(ctx, claim, before, tag_due).await;
    }
    let (deadline, tries) = (deploying.deadline, deploying.trouble.as_ref().map_or(0, |trouble| trouble.tries));
    let artefact = ctx.config.catalogue.find_artefact(claim.change.plan.artefact.as_str());
    let place = artefact.and_then(|artefact| artefact.places.get(&claim.change.plan.environment));
    if place.is_some_and(|place| !ctx.cluster_view.has_been_read(place)) {
        // After a start, the first read of the cluster comes before any decision, even before the deadline.
        let Ok(told) = before.update_deploying(|known| DeployState { nudge, ..known }) else { return Ok(None) };
        return store_stage_if_changed(ctx, claim, told, Some(ctx.clock.now() + UNREAD_POLL_INTERVAL)).await;
    }
    let look = check_rollout(ctx, &claim.change, &deploying.result).await;
    let silence = diagnose_stall(ctx, &claim.change, &look).await;
    let seen_at = determine_seen_at(ctx, &claim.change, deploying, &look);
    let built_at = find_build_time(ctx, &claim.change, deploying);
    let others = collect_co_deployed_states(ctx, &claim.change);
    let runs_as = match &look {
        RolloutCheck::Unclear(_) => None,
        _ => place.zip(artefact).and_then(|(place, artefact)| {
            let version = ctx.cluster_view.read_rollout(place, &artefact.image).version?;
            Some(version.label().to_owned())
        }),
    };
    let now = ctx.clock.now();
    let learned = before.clone().update_deploying(|known| DeployState {
        nudge,
        others,
        silence,
        built_at: known.built_at.or(built_at),
        seen_at,
        // The image is shown only at the end, so an earlier difference does not cause a write.
        runs_as: match &look {
            RolloutCheck::Running { .. } | RolloutCheck::Failed { .. } => runs_as.or(known.runs_as),
            _ => known.runs_as,
        },
        rollout: match &look {
            RolloutCheck::RollingOut(progress) => Some(progress.clone()),
            RolloutCheck::Unrecorded { ready } => {
                Some(RolloutProgress { ready: *ready, wanted: *ready, delayed_by: None })
            }
            RolloutCheck::NotDeployed { .. } | RolloutCheck::Unclear(_) => known.rollout,
            RolloutCheck::Running { .. } | RolloutCheck::Failed { .. } => None,
        },
        trouble: match &look {
            RolloutCheck::Unclear(why) => Some(RetryState::record_failure(known.trouble, why.clone(), now)),
            _ => None,
        },
        ..known
    });
    let Ok(learned) = learned else { return Ok(None) };
    let waiting = matches!(learned, Stage::Deploying(_));
    let late = waiting && now >= deadline;
    let unconfirmed = learned.unconfirmed_failure().map(str::to_owned);
    let confirms = unconfirmed.filter(|_| now >= deadline && now.duration_since(deadline) < CONFIRMATION_WINDOW);
    let stage = match look {
        RolloutCheck::Running { ready, proof } => learned.into_deployed(ready, proof, now),
        RolloutCheck::Failed { reason, evidence, .. }
            if !matches!(learned, Stage::Failed { .. })
                || (learned.unconfirmed_failure().is_some() && evidence.can_trigger_auto_rollback()) =>
        {
            learned.into_failed(reason, evidence, now)
        }
        RolloutCheck::Failed { .. } | RolloutCheck::NotDeployed { .. } | RolloutCheck::RollingOut(_)
            if let Some(reason) = confirms =>
        {
            learned.into_failed(reason, FailureEvidence::Deadline, now)
        }
        RolloutCheck::NotDeployed { running_version: runs, .. } if late => learned.into_stalled(runs, false, now),
        RolloutCheck::RollingOut(RolloutProgress { ready, wanted, delayed_by }) if late => {
            let delay = delayed_by.map(|reason| format!(" ({reason})")).unwrap_or_default();
            learned.into_stalled(Some(format!("{ready} of {wanted} replicas of it{delay}")), false, now)
        }
        RolloutCheck::Unclear(why) if late => {
            learned.into_stalled(Some(format!("something, but nobody can tell what: {why}")), true, now)
        }
        // A change that is only watched (failed or stalled) waits for the periodic check instead.
        RolloutCheck::Unclear(_) if waiting => {
            let due = (now + compute_backoff(tries)).min(deadline);
            return store_stage_if_changed(ctx, claim, learned, Some(tag_due.map_or(due, |tag| tag.min(due)))).await;
        }
        _ => Ok(learned),
    };
    let Ok(stage) = stage else { return Ok(None) };
    let stage = add_failure_authors(ctx, &claim.change, stage).await;
    let due = if stage.is_active() {
        let silent_from =
            Some(compute_stall_time(ctx, &claim.change, deploying)).filter(|at| *at > now && seen_at.is_none());
        [tag_due, silent_from].into_iter().flatten().chain([deadline]).min()
    } else if auto_rollback_due(ctx, &Change { stage: stage.clone(), ..claim.change.clone() }) {
        Some(now)
    } else if stage.unconfirmed_failure().is_some() && now < deadline {
        Some(tag_due.map_or(deadline, |tag| tag.min(deadline)))
    } else {
        tag_due.filter(|_| stage.is_open())
    };
    store_stage_if_changed(ctx, claim, stage, due).await
}

/// When the rollout of the result was first seen. `None`: not yet.
fn determine_seen_at(
    ctx: &Context,
    change: &Change,
    deploying: &DeployState,
    look: &RolloutCheck,
) -> Option<Timestamp> {
    let plan = &change.plan;
    let seen = match look {
        RolloutCheck::RollingOut(_)
        | RolloutCheck::Unrecorded { .. }
        | RolloutCheck::Running { .. }
        | RolloutCheck::Failed { was_rolled_out: true, .. } => {
            let seen = ctx.sightings.find_sighting(&plan.artefact, &plan.environment);
            // An image that is built once and only retagged may have run before the merge.
            Some(seen.map_or_else(|| ctx.clock.now(), |seen| seen.seen_at.max(deploying.merged_at)))
        }
        RolloutCheck::NotDeployed { .. }
        | RolloutCheck::Unclear(_)
        | RolloutCheck::Failed { was_rolled_out: false, .. } => None,
    };
    deploying.seen_at.or(seen)
}

/// Adds the authors to notify of a failed promotion, once. The authors of a rollback's lost commits are notified when
/// it is merged.
async fn add_failure_authors(ctx: &Context, before: &Change, stage: Stage) -> Stage {
    let told = stage.deploying().is_none_or(|deploying| deploying.authors.is_some());
    if told || before.plan.is_rollback() || !matches!(stage, Stage::Failed { .. }) {
        return stage;
    }
    let authors = find_change_authors(ctx, before, MAX_NOTIFIED_AUTHORS).await;
    match stage.clone().update_deploying(|known| DeployState { authors: Some(authors), ..known }) {
        Ok(named) => named,
        Err(_) => stage,
    }
}

/// The rollouts of the co-deployed artefacts, for the card.
fn collect_co_deployed_states(ctx: &Context, change: &Change) -> Vec<CoDeployedStatus> {
    let one = |also: &crate::domain::change::plan::CoDeployed| {
        let artefact = ctx.config.catalogue.find_artefact(also.artefact.as_str())?;
        let rollout = ctx.cluster_view.read_rollout(artefact.places.get(&change.plan.environment)?, &artefact.image);
        let state = match rollout.state {
            RolloutState::Running { ready } => CoDeployedState::Runs { ready },
            RolloutState::RollingOut { ready, wanted, .. } => CoDeployedState::RollsOut { ready, wanted },
            RolloutState::Degraded { reason } => CoDeployedState::Fails { reason: reason.to_string() },
            RolloutState::Missing | RolloutState::Unreadable { .. } => CoDeployedState::Unknown,
        };
        let version = rollout.version.map(|version| version.label().to_owned());
        Some(CoDeployedStatus { artefact: artefact.name.clone(), version, state })
    };
    change.plan.also.iter().filter_map(one).collect()
}
