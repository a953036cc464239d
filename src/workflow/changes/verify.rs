//! The steps of a change after the merge: the tag, a word to the controller, and the wait for the proof that it runs.

use jiff::{SignedDuration, Timestamp};

use crate::adapters::store::{Claim, StoreError, Transaction};
use crate::domain::change::{
    Change, CoDeployedState, CoDeployedStatus, DeployState, FailureEvidence, Proof, RetryState, RolloutProgress, Stage,
    TriggerOutcome,
};
use crate::domain::model::artefact::Artefact;
use crate::domain::model::version::Sha;
use crate::domain::runtime::rollout::RolloutState;

use crate::workflow::changes::after_merge::{auto_rollback_due, find_change_authors, try_auto_rollback};
use crate::workflow::changes::stall_diagnosis::{compute_stall_time, diagnose_stall, find_build_time};
use crate::workflow::changes::tag::ensure_tag;
use crate::workflow::changes::transition::{compute_backoff, store_stage_if_changed};
use crate::workflow::changes::trigger::trigger_reconcile;
use crate::workflow::context::Context;
use crate::workflow::deployments::observer::find_pod_failure_reason;
use crate::workflow::error::LookupError;

/// The pause before the next look, while the cluster has not been read at all.
const UNREAD_POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(1);

/// How many authors are called to a failure.
const MAX_NOTIFIED_AUTHORS: usize = 10;

/// A check within this time after the deadline may confirm a health report. A later check says nothing about the rollout's
/// state at the deadline.
const CONFIRMATION_WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// The pause before the next look, where a rule waits for something to be clear.
const AUTO_ROLLBACK_POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// Whose a version is that came to run where a change of ours brings one.
pub(crate) enum VersionOwnership {
    Ours(Proof),
    Foreign,
    /// Nothing tells its commit yet.
    Unknown,
}

/// What the cluster shows of a change's result.
pub(crate) enum RolloutCheck {
    /// It is not there yet; what is, by name. `untold`: that came after the merge, and nothing tells its commit.
    NotDeployed {
        running_version: Option<String>,
        commit_unknown: bool,
    },
    RollingOut(RolloutProgress),
    /// The result runs, but the observer has not recorded it yet. The observer wakes the change afterwards.
    Unrecorded {
        ready: u32,
    },
    Running {
        ready: u32,
        proof: Proof,
    },
    Failed {
        reason: String,
        /// It was rolled out, and not only refused by the controller.
        was_rolled_out: bool,
        evidence: FailureEvidence,
    },
    /// Nobody can tell now.
    Unclear(String),
}

pub(crate) async fn verify_rollout(ctx: &Context, claim: &Claim) -> Result<(), StoreError> {
    let mut claim = claim.clone();
    if auto_rollback_due(ctx, &claim.change) && !Box::pin(maybe_auto_rollback(ctx, &mut claim)).await? {
        return Ok(());
    }
    let tag_due = ensure_tag(ctx, &mut claim).await?;
    let nudge = trigger_reconcile(ctx, &claim.change).await;
    // Boxed: what is asked of GitHub while there is no sign of life needs room that few steps use.
    Box::pin(evaluate_rollout(ctx, &claim, nudge, tag_due)).await
}

/// The environment's rule wants it rolled back: only if it still does not run. `false`: it is over for this step.
async fn maybe_auto_rollback(ctx: &Context, claim: &mut Claim) -> Result<bool, StoreError> {
    let Some(result) = claim.change.stage.deploying().map(|deploying| deploying.result.clone()) else {
        return Ok(true);
    };
    let is_late =
        matches!(claim.change.stage, Stage::Stalled { .. } | Stage::Failed { evidence: FailureEvidence::Deadline, .. });
    match check_rollout(ctx, &claim.change, &result).await {
        RolloutCheck::Running { .. } => Ok(true),
        RolloutCheck::NotDeployed { .. } => try_auto_rollback(ctx, claim).await,
        RolloutCheck::Failed { evidence, .. } if evidence.can_trigger_auto_rollback() => {
            try_auto_rollback(ctx, claim).await
        }
        RolloutCheck::Failed { .. } | RolloutCheck::RollingOut(_) if is_late => try_auto_rollback(ctx, claim).await,
        // The workload may be recovering, even if an earlier health report is still known: check again.
        RolloutCheck::Failed { .. }
        | RolloutCheck::RollingOut(_)
        | RolloutCheck::Unrecorded { .. }
        | RolloutCheck::Unclear(_) => {
            let due = Some(ctx.clock.now() + AUTO_ROLLBACK_POLL_INTERVAL);
            ctx.store.commit(Transaction::new().advance_change(claim.change.clone(), claim.fence, due)).await?;
            Ok(false)
        }
    }
}

/// Has it come to run after all?
pub(crate) async fn is_result_running(ctx: &Context, change: &Change) -> bool {
    match change.stage.deploying() {
        Some(deploying) => {
            let look = check_rollout(ctx, change, &deploying.result).await;
            matches!(look, RolloutCheck::Running { .. } | RolloutCheck::Unrecorded { .. })
        }
        None => false,
    }
}

/// Green only when the cluster runs it.
async fn evaluate_rollout(
    ctx: &Context,
    claim: &Claim,
    nudge: Option<TriggerOutcome>,
    tag_due: Option<Timestamp>,
) -> Result<(), StoreError> {
    let before = claim.change.stage.clone();
    let Some(deploying) = before.deploying() else { return Ok(()) };
    if matches!(before, Stage::Deployed { .. }) {
        return store_stage_if_changed(ctx, claim, before, tag_due).await;
    }
    let (deadline, tries) = (deploying.deadline, deploying.trouble.as_ref().map_or(0, |trouble| trouble.tries));
    let artefact = ctx.config.catalogue.find_artefact(claim.change.plan.artefact.as_str());
    let place = artefact.and_then(|artefact| artefact.places.get(&claim.change.plan.environment));
    if place.is_some_and(|place| !ctx.cluster_view.has_been_read(place)) {
        // After a start, nothing can be said before the first look, not even that it is too late.
        let Ok(told) = before.update_deploying(|known| DeployState { nudge, ..known }) else { return Ok(()) };
        return store_stage_if_changed(ctx, claim, told, Some(ctx.clock.now() + UNREAD_POLL_INTERVAL)).await;
    }
    let look = check_rollout(ctx, &claim.change, &deploying.result).await;
    let silence = Box::pin(diagnose_stall(ctx, &claim.change, &look)).await;
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
        // What is only shown at the end is not worth a step of its own before.
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
    let Ok(learned) = learned else { return Ok(()) };
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
        // Of what is only watched, the periodic look is soon enough.
        RolloutCheck::Unclear(_) if waiting => {
            let due = (now + compute_backoff(tries)).min(deadline);
            return store_stage_if_changed(ctx, claim, learned, Some(tag_due.map_or(due, |tag| tag.min(due)))).await;
        }
        _ => Ok(learned),
    };
    let Ok(stage) = stage else { return Ok(()) };
    let stage = Box::pin(add_failure_authors(ctx, &claim.change, stage)).await;
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

/// When the rollout of the result was first seen, as far as it was.
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
            // What is built once and only retagged may have been there before.
            Some(seen.map_or_else(|| ctx.clock.now(), |seen| seen.seen_at.max(deploying.merged_at)))
        }
        RolloutCheck::NotDeployed { .. }
        | RolloutCheck::Unclear(_)
        | RolloutCheck::Failed { was_rolled_out: false, .. } => None,
    };
    deploying.seen_at.or(seen)
}

/// With those who wrote what failed, to be told of it. A rollback's are told otherwise: it took their work back.
async fn add_failure_authors(ctx: &Context, before: &Change, stage: Stage) -> Stage {
    let told = stage.deploying().is_none_or(|deploying| deploying.authors.is_some());
    if told || before.plan.rollback.is_some() || !matches!(stage, Stage::Failed { .. }) {
        return stage;
    }
    let authors = find_change_authors(ctx, before, MAX_NOTIFIED_AUTHORS).await;
    match stage.clone().update_deploying(|known| DeployState { authors: Some(authors), ..known }) {
        Ok(named) => named,
        Err(_) => stage,
    }
}

async fn check_rollout(ctx: &Context, change: &Change, result: &Sha) -> RolloutCheck {
    let catalogue = &ctx.config.catalogue;
    let artefact = catalogue.find_artefact(change.plan.artefact.as_str());
    let place = artefact.and_then(|artefact| artefact.places.get(&change.plan.environment));
    let (Some(artefact), Some(place)) = (artefact, place) else {
        return RolloutCheck::Unclear(format!("{} is not configured there any more", change.plan.artefact));
    };
    let rollout = ctx.cluster_view.read_rollout(place, &artefact.image);
    if let RolloutState::Unreadable { why, .. } = &rollout.state {
        return RolloutCheck::Unclear(format!("I cannot read {}: {why}.", change.plan.environment));
    }
    let runs = rollout.version.as_ref().map(|version| version.label().to_owned());
    let seen = ctx.sightings.find_sighting(&artefact.name, &change.plan.environment);
    let seen = seen.filter(|seen| rollout.version.as_ref().is_some_and(|version| seen.version.is_same_image(version)));
    let mut commit_unknown = false;
    let ours = match &seen {
        // Nothing runs, or the observer is about to tell of it, and wakes us then.
        None => None,
        Some(seen) => match is_result_of(ctx, artefact, change, result, seen).await {
            Ok(VersionOwnership::Ours(proof)) => Some(proof),
            Ok(VersionOwnership::Foreign) => None,
            Ok(VersionOwnership::Unknown) => {
                commit_unknown = change.stage.deploying().is_some_and(|deploying| seen.seen_at >= deploying.merged_at);
                None
            }
            Err(error) => return RolloutCheck::Unclear(format!("{error}.")),
        },
    };
    let reported_failure = ctx.report_history.find_failure(&change.plan.environment, &artefact.name, result);
    let is_degraded = matches!(rollout.state, RolloutState::Degraded { .. });
    match (ours, rollout.state) {
        (Some(proof), RolloutState::Running { ready }) if seen.is_some_and(|seen| seen.running_at.is_some()) => {
            RolloutCheck::Running { ready, proof }
        }
        // The change must not end yet: the observer would announce its version as one that nobody brought.
        (Some(_), RolloutState::Running { ready }) => RolloutCheck::Unrecorded { ready },
        (Some(_), RolloutState::RollingOut { ready, wanted, delayed_by }) if reported_failure.is_none() => {
            let delayed_by = delayed_by.map(|reason| reason.to_string());
            RolloutCheck::RollingOut(RolloutProgress { ready, wanted, delayed_by })
        }
        (Some(_), RolloutState::Degraded { reason }) => RolloutCheck::Failed {
            reason: find_change_failure_reason(ctx, artefact, change).await.unwrap_or_else(|| match reported_failure {
                Some((told, _)) => format!("{reason}: {told}"),
                None => reason.to_string(),
            }),
            was_rolled_out: true,
            evidence: FailureEvidence::Workload,
        },
        (ours, _) => match reported_failure {
            // The image does not name its commit, but the report does. The cluster itself shows the workload as degraded.
            Some((reason, _)) if commit_unknown && is_degraded => {
                RolloutCheck::Failed { reason, was_rolled_out: false, evidence: FailureEvidence::Workload }
            }
            Some((reason, evidence)) => RolloutCheck::Failed { reason, was_rolled_out: ours.is_some(), evidence },
            None => RolloutCheck::NotDeployed { running_version: runs, commit_unknown },
        },
    }
}

/// Is what was seen the change's result?
pub(crate) async fn is_result_of(
    ctx: &Context,
    artefact: &Artefact,
    change: &Change,
    result: &Sha,
    seen: &crate::domain::runtime::sighting::Sighting,
) -> Result<VersionOwnership, LookupError> {
    // What ran there before is not what the change brings, whatever its commit contains.
    if change.plan.artefact == artefact.name
        && change.plan.from.as_ref().is_some_and(|from| from.is_same_image(&seen.version))
    {
        return Ok(VersionOwnership::Foreign);
    }
    // By manifest it is exactly what was written, whatever it was built from.
    if change.plan.manifest.is_some() {
        let ours = change.plan.version.is_same_image(&seen.version);
        return Ok(if ours { VersionOwnership::Ours(Proof::Image) } else { VersionOwnership::Foreign });
    }
    let Some((commit, proof)) = ctx.image_commits.resolve_sighting_commit(artefact, seen).await? else {
        return Ok(VersionOwnership::Unknown);
    };
    // What a rollback restores may still run when it is merged, while the image of what it takes back is on its way.
    let ran_on = change.plan.rollback.is_some()
        && change.stage.deploying().is_some_and(|deploying| seen.seen_at < deploying.merged_at);
    // Images that are built once and only retagged are of the pinned commit itself.
    let ours = commit == *result
        || (Some(&commit) == change.plan.pinned.as_ref() && !ran_on)
        || !ctx.comparisons.is_behind(artefact, &commit, result).await?;
    Ok(if ours { VersionOwnership::Ours(proof) } else { VersionOwnership::Foreign })
}

async fn find_change_failure_reason(ctx: &Context, artefact: &Artefact, change: &Change) -> Option<String> {
    let environment = ctx.config.catalogue.ladder.find(change.plan.environment.as_str())?;
    find_pod_failure_reason(ctx, artefact, environment).await
}

/// What the artefacts that are carried along are doing, for the card.
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
