//! Checks the cluster for the result of a change: whether it runs, rolls out or failed, and whether a running version
//! belongs to the change.

use crate::domain::change::{Change, FailureEvidence, Proof, RolloutProgress};
use crate::domain::model::artefact::Artefact;
use crate::domain::model::environment::Environment;
use crate::domain::model::version::Sha;
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::runtime::sighting::Sighting;
use crate::workflow::context::Context;
use crate::workflow::error::LookupError;

/// Whether a running version belongs to a change.
pub(crate) enum VersionOwnership {
    Ours(Proof),
    Foreign,
    /// The commit of the version is not known yet.
    Unknown,
}

/// The state of a change's result in the cluster.
pub(crate) enum RolloutCheck {
    /// Another version runs, or none. `commit_unknown`: that version came after the merge, and its commit is not known.
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
        /// The result was rolled out. `false`: the controller only reported a failure.
        was_rolled_out: bool,
        evidence: FailureEvidence,
    },
    /// The state cannot be determined now, for this reason.
    Unclear(String),
}

/// Whether the result of the change runs by now.
pub(crate) async fn is_result_running(ctx: &Context, change: &Change) -> bool {
    match change.stage.deploying() {
        Some(deploying) => {
            let check = check_rollout(ctx, change, &deploying.result).await;
            matches!(check, RolloutCheck::Running { .. } | RolloutCheck::Unrecorded { .. })
        }
        None => false,
    }
}

pub(crate) async fn check_rollout(ctx: &Context, change: &Change, result: &Sha) -> RolloutCheck {
    let catalogue = &ctx.config.catalogue;
    let artefact = catalogue.find_artefact(change.plan.artefact.as_str());
    let place = artefact.and_then(|artefact| artefact.places.get(&change.plan.environment));
    let (Some(artefact), Some(place)) = (artefact, place) else {
        return RolloutCheck::Unclear(format!("{} is not configured there any more", change.plan.artefact));
    };
    let rollout = ctx.cluster_view.read_rollout(place, &artefact.image);
    if let RolloutState::Unreadable { reason: why, .. } = &rollout.state {
        return RolloutCheck::Unclear(format!("I cannot read {}: {why}.", change.plan.environment));
    }
    let running_version = rollout.version.as_ref().map(|version| version.label().to_owned());
    let sighting = ctx.sightings.find_sighting(&artefact.name, &change.plan.environment);
    let sighting = sighting
        .filter(|sighting| rollout.version.as_ref().is_some_and(|version| sighting.version.is_same_image(version)));
    let mut commit_unknown = false;
    let proof = match &sighting {
        // Nothing runs, or the observer is about to record the version and then wakes the change.
        None => None,
        Some(sighting) => match is_result_of(ctx, artefact, change, result, sighting).await {
            Ok(VersionOwnership::Ours(proof)) => Some(proof),
            Ok(VersionOwnership::Foreign) => None,
            Ok(VersionOwnership::Unknown) => {
                commit_unknown =
                    change.stage.deploying().is_some_and(|deploying| sighting.seen_at >= deploying.merged_at);
                None
            }
            Err(error) => return RolloutCheck::Unclear(format!("{error}.")),
        },
    };
    let reported_failure = ctx.report_history.find_failure(&change.plan.environment, &artefact.name, result);
    let is_degraded = matches!(rollout.state, RolloutState::Degraded { .. });
    match (proof, rollout.state) {
        (Some(proof), RolloutState::Running { ready })
            if sighting.is_some_and(|sighting| sighting.running_at.is_some()) =>
        {
            RolloutCheck::Running { ready, proof }
        }
        // The change must not end yet, or the observer would announce its version as an arrival.
        (Some(_), RolloutState::Running { ready }) => RolloutCheck::Unrecorded { ready },
        (Some(_), RolloutState::RollingOut { ready, wanted, delayed_by }) if reported_failure.is_none() => {
            let delayed_by = delayed_by.map(|reason| reason.to_string());
            RolloutCheck::RollingOut(RolloutProgress { ready, wanted, delayed_by })
        }
        (Some(_), RolloutState::Degraded { reason }) => RolloutCheck::Failed {
            reason: find_change_failure_reason(ctx, artefact, change).await.unwrap_or_else(|| match reported_failure {
                Some((report, _)) => format!("{reason}: {report}"),
                None => reason.to_string(),
            }),
            was_rolled_out: true,
            evidence: FailureEvidence::Workload,
        },
        (proof, _) => match reported_failure {
            // The image does not name its commit, but the report does. The cluster itself shows a degraded workload.
            Some((reason, _)) if commit_unknown && is_degraded => {
                RolloutCheck::Failed { reason, was_rolled_out: false, evidence: FailureEvidence::Workload }
            }
            Some((reason, evidence)) => RolloutCheck::Failed { reason, was_rolled_out: proof.is_some(), evidence },
            None => RolloutCheck::NotDeployed { running_version, commit_unknown },
        },
    }
}

/// Whether a sighting shows the result of the change, or a later version that contains it.
pub(crate) async fn is_result_of(
    ctx: &Context,
    artefact: &Artefact,
    change: &Change,
    result: &Sha,
    sighting: &Sighting,
) -> Result<VersionOwnership, LookupError> {
    // The version that ran before the change is never its result, even if its commit contains the result.
    if change.plan.artefact == artefact.name
        && change.plan.from.as_ref().is_some_and(|from| from.is_same_image(&sighting.version))
    {
        return Ok(VersionOwnership::Foreign);
    }
    // With delivery by manifest, the result is exactly the written image.
    if change.plan.manifest_file().is_some() {
        let is_ours = change.plan.version.is_same_image(&sighting.version);
        return Ok(if is_ours { VersionOwnership::Ours(Proof::Image) } else { VersionOwnership::Foreign });
    }
    let Some((commit, proof)) = ctx.image_commits.resolve_sighting_commit(artefact, sighting).await? else {
        return Ok(VersionOwnership::Unknown);
    };
    // The version that a rollback restores may still run at the merge, while the bad version is about to roll out.
    let ran_before_merge = change.plan.is_rollback()
        && change.stage.deploying().is_some_and(|deploying| sighting.seen_at < deploying.merged_at);
    // An image that is built once and only retagged has the pinned commit itself.
    let is_ours = commit == *result
        || (Some(&commit) == change.plan.pinned_commit() && !ran_before_merge)
        || !ctx.comparisons.is_behind(artefact, &commit, result).await?;
    Ok(if is_ours { VersionOwnership::Ours(proof) } else { VersionOwnership::Foreign })
}

pub(crate) async fn find_change_failure_reason(ctx: &Context, artefact: &Artefact, change: &Change) -> Option<String> {
    let environment = ctx.config.catalogue.ladder.find(change.plan.environment.as_str())?;
    find_pod_failure_reason(ctx, artefact, environment).await
}

pub(crate) async fn find_pod_failure_reason(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
) -> Option<String> {
    let place = artefact.places.get(&environment.name)?;
    for workload in &place.workloads {
        if let Some(reason) =
            crate::adapters::cluster::pod_reasons::find_failure_reason(&ctx.cluster_clients, &place.namespace, workload)
                .await
        {
            return Some(reason);
        }
    }
    None
}
