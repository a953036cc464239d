//! The handler of the stages after the merge: creates the tag, triggers the controller, and waits for the proof that
//! the cluster runs the result.

use jiff::{SignedDuration, Timestamp};

use crate::adapters::store::Claim;
use crate::domain::change::{
    Change, CoDeployedState, CoDeployedStatus, DeployState, FailureEvidence, InvalidTransition, RetryState,
    RolloutProgress, Stage, TriggerOutcome,
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

/// A check within this time after the deadline can confirm a failure that only a health report showed. A later check
/// says nothing about the rollout's state at the deadline.
const CONFIRMATION_WINDOW: SignedDuration = SignedDuration::from_mins(1);

pub(crate) async fn verify_rollout(ctx: &Context, mut claim: Claim) -> StageResult {
    if auto_rollback_due(ctx, &claim.change) && !maybe_auto_rollback(ctx, &mut claim).await? {
        return Ok(None);
    }
    let tag_due = ensure_tag(ctx, &mut claim).await?;
    let trigger_outcome = trigger_reconcile(ctx, &claim.change).await;
    // Boxed: the stall diagnosis makes the future large, and few checks need it.
    Box::pin(evaluate_rollout(ctx, &claim, trigger_outcome, tag_due)).await
}

/// Checks the rollout and stores the stage that follows from it. Only the cluster itself makes a change `Deployed`.
async fn evaluate_rollout(
    ctx: &Context,
    claim: &Claim,
    trigger_outcome: Option<TriggerOutcome>,
    tag_due: Option<Timestamp>,
) -> StageResult {
    let before = claim.change.stage.clone();
    let Some(deploying) = before.deploying() else { return Ok(None) };
    if matches!(before, Stage::Deployed { .. }) {
        return store_stage_if_changed(ctx, claim, before, tag_due).await;
    }
    let (deadline, tries) = (deploying.deadline, deploying.retry.as_ref().map_or(0, |trouble| trouble.attempts));
    let artefact = ctx.config.catalogue.find_artefact(claim.change.plan.artefact.as_str());
    let place = artefact.and_then(|artefact| artefact.places.get(&claim.change.plan.environment));
    if place.is_some_and(|place| !ctx.cluster_view.has_been_read(place)) {
        // After a start, nothing is decided until the cluster was read, even if the deadline has passed.
        let Ok(stage) = before.update_deploying(|state| DeployState { trigger_outcome, ..state }) else {
            return Ok(None);
        };
        return store_stage_if_changed(ctx, claim, stage, Some(ctx.clock.now() + UNREAD_POLL_INTERVAL)).await;
    }
    let check = check_rollout(ctx, &claim.change, &deploying.result).await;
    let stall_diagnosis = diagnose_stall(ctx, &claim.change, &check).await;
    let seen_at = determine_seen_at(ctx, &claim.change, deploying, &check);
    let built_at = find_build_time(ctx, &claim.change, deploying);
    let others = collect_co_deployed_states(ctx, &claim.change);
    let runs_as = match &check {
        RolloutCheck::Unclear(_) => None,
        _ => place.zip(artefact).and_then(|(place, artefact)| {
            let version = ctx.cluster_view.read_rollout(place, &artefact.image).version?;
            Some(version.label().to_owned())
        }),
    };
    let now = ctx.clock.now();
    let updated = before.clone().update_deploying(|state| DeployState {
        trigger_outcome,
        co_deployed: others,
        stall_diagnosis,
        built_at: state.built_at.or(built_at),
        seen_at,
        // The image is shown only at the end, so an earlier difference does not cause a write.
        running_label: match &check {
            RolloutCheck::Running { .. } | RolloutCheck::Failed { .. } => runs_as.or(state.running_label),
            _ => state.running_label,
        },
        rollout: match &check {
            RolloutCheck::RollingOut(progress) => Some(progress.clone()),
            RolloutCheck::Unrecorded { ready } => {
                Some(RolloutProgress { ready: *ready, wanted: *ready, delayed_by: None })
            }
            RolloutCheck::NotDeployed { .. } | RolloutCheck::Unclear(_) => state.rollout,
            RolloutCheck::Running { .. } | RolloutCheck::Failed { .. } => None,
        },
        retry: match &check {
            RolloutCheck::Unclear(reason) => Some(RetryState::record_failure(state.retry, reason.clone(), now)),
            _ => None,
        },
        ..state
    });
    let Ok(updated) = updated else { return Ok(None) };
    if matches!(updated, Stage::Deploying(_)) && matches!(check, RolloutCheck::Unclear(_)) && now < deadline {
        let due = (now + compute_backoff(tries)).min(deadline);
        return store_stage_if_changed(ctx, claim, updated, Some(tag_due.map_or(due, |tag| tag.min(due)))).await;
    }
    let Ok(stage) = decide_stage(updated, check, deadline, now) else { return Ok(None) };
    let stage = add_failure_authors(ctx, &claim.change, stage).await;
    let due = if stage.is_active() {
        let stall_time =
            Some(compute_stall_time(ctx, &claim.change, deploying)).filter(|at| *at > now && seen_at.is_none());
        [tag_due, stall_time].into_iter().flatten().chain([deadline]).min()
    } else if auto_rollback_due(ctx, &Change { stage: stage.clone(), ..claim.change.clone() }) {
        Some(now)
    } else if stage.unconfirmed_failure().is_some() && now < deadline {
        Some(tag_due.map_or(deadline, |tag| tag.min(deadline)))
    } else {
        tag_due.filter(|_| stage.is_open())
    };
    store_stage_if_changed(ctx, claim, stage, due).await
}

/// The stage that follows from a check. A failed or stalled change keeps its stage if the check is unclear.
fn decide_stage(
    before: Stage,
    check: RolloutCheck,
    deadline: Timestamp,
    now: Timestamp,
) -> Result<Stage, InvalidTransition> {
    let is_late = matches!(before, Stage::Deploying(_)) && now >= deadline;
    let unconfirmed = before.unconfirmed_failure().map(str::to_owned);
    let confirmed = unconfirmed.filter(|_| now >= deadline && now.duration_since(deadline) < CONFIRMATION_WINDOW);
    match check {
        RolloutCheck::Running { ready, proof } => before.into_deployed(ready, proof, now),
        RolloutCheck::Failed { reason, evidence, .. }
            if !matches!(before, Stage::Failed { .. })
                || (before.unconfirmed_failure().is_some() && evidence.can_trigger_auto_rollback()) =>
        {
            before.into_failed(reason, evidence, now)
        }
        RolloutCheck::Failed { .. } | RolloutCheck::NotDeployed { .. } | RolloutCheck::RollingOut(_)
            if let Some(reason) = confirmed =>
        {
            before.into_failed(reason, FailureEvidence::Deadline, now)
        }
        RolloutCheck::NotDeployed { running_version, .. } if is_late => {
            before.into_stalled(running_version, false, now)
        }
        RolloutCheck::RollingOut(RolloutProgress { ready, wanted, delayed_by }) if is_late => {
            let delay = delayed_by.map(|reason| format!(" ({reason})")).unwrap_or_default();
            before.into_stalled(Some(format!("{ready} of {wanted} replicas of it{delay}")), false, now)
        }
        RolloutCheck::Unclear(reason) if is_late => {
            before.into_stalled(Some(format!("something, but nobody can tell what: {reason}")), true, now)
        }
        _ => Ok(before),
    }
}

/// When the rollout of the result was first seen. `None`: not yet.
fn determine_seen_at(
    ctx: &Context,
    change: &Change,
    deploying: &DeployState,
    check: &RolloutCheck,
) -> Option<Timestamp> {
    let plan = &change.plan;
    let first_seen = match check {
        RolloutCheck::RollingOut(_)
        | RolloutCheck::Unrecorded { .. }
        | RolloutCheck::Running { .. }
        | RolloutCheck::Failed { was_rolled_out: true, .. } => {
            let sighting = ctx.sightings.find_sighting(&plan.artefact, &plan.environment);
            // An image that is built once and only retagged may have run before the merge.
            Some(sighting.map_or_else(|| ctx.clock.now(), |sighting| sighting.seen_at.max(deploying.merged_at)))
        }
        RolloutCheck::NotDeployed { .. }
        | RolloutCheck::Unclear(_)
        | RolloutCheck::Failed { was_rolled_out: false, .. } => None,
    };
    deploying.seen_at.or(first_seen)
}

/// Adds the authors to notify of a failed promotion, once. The authors of a rollback's lost commits are notified when
/// it is merged.
async fn add_failure_authors(ctx: &Context, before: &Change, stage: Stage) -> Stage {
    let is_notified = stage.deploying().is_none_or(|deploying| deploying.notified_authors.is_some());
    if is_notified || before.plan.is_rollback() || !matches!(stage, Stage::Failed { .. }) {
        return stage;
    }
    let authors = find_change_authors(ctx, before, MAX_NOTIFIED_AUTHORS).await;
    match stage.clone().update_deploying(|state| DeployState { notified_authors: Some(authors), ..state }) {
        Ok(updated) => updated,
        Err(_) => stage,
    }
}

/// The rollouts of the co-deployed artefacts, for the card.
fn collect_co_deployed_states(ctx: &Context, change: &Change) -> Vec<CoDeployedStatus> {
    let build_status = |co_deployed: &crate::domain::change::plan::CoDeployed| {
        let artefact = ctx.config.catalogue.find_artefact(co_deployed.artefact.as_str())?;
        let rollout = ctx.cluster_view.read_rollout(artefact.places.get(&change.plan.environment)?, &artefact.image);
        let state = match rollout.state {
            RolloutState::Running { ready } => CoDeployedState::Running { ready },
            RolloutState::RollingOut { ready, wanted, .. } => CoDeployedState::RollingOut { ready, wanted },
            RolloutState::Degraded { reason } => CoDeployedState::Failed { reason: reason.to_string() },
            RolloutState::Missing | RolloutState::Unreadable { .. } => CoDeployedState::Unknown,
        };
        let version = rollout.version.map(|version| version.label().to_owned());
        Some(CoDeployedStatus { artefact: artefact.name.clone(), version, state })
    };
    change.plan.co_deployed.iter().filter_map(build_status).collect()
}
