//! Plans a promotion: gathers the facts and asks the rules. It has no effects; `changes::begin` begins the change.

use std::sync::Arc;

use crate::domain::change::plan::Plan;
use crate::domain::change::{Change, ChangeLockKey, Stage};
use crate::domain::git::checks::CiChecks;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::{Environment, EnvironmentName, PromotionMethod};
use crate::domain::model::version::Version;
use crate::domain::rules::conflict::{AskerRole, ChangeInProgress, ConflictingChange};
use crate::domain::rules::facts::{CheckedCommit, GateInputs, PromotionFacts};
use crate::domain::rules::obstacles::Obstacles;
use crate::domain::rules::promotion;
use crate::domain::rules::refusal::{Refusal, RestrictedAction};
use crate::domain::runtime::rollout::RolloutState;
use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, PlanError, record_obstacle};
use crate::workflow::facts::manifests::resolve_manifest_file;
use crate::workflow::facts::running_code::require_cluster_was_read;
use crate::workflow::planning::approval_requirements::needs_approval_stage;
use crate::workflow::planning::gate_inputs::{find_version_quarantines, gather_gate_inputs};
use crate::workflow::planning::image::check_image_to_write;
use crate::workflow::planning::pending_commits::{
    PendingAndUndone, assume_unknown_pending, find_pending_by_branch, find_pending_by_manifest,
};
use crate::workflow::planning::promotion_candidate::{VersionSelector, find_rolling_out_below, select_version_below};

/// A person's request for a promotion.
#[derive(Clone, Debug)]
pub(crate) struct PromotionRequest {
    pub(crate) requester: PersonId,
    pub(crate) artefact: ArtefactName,
    pub(crate) environment: Option<EnvironmentName>,
    pub(crate) selector: VersionSelector,
    /// The reason to override closed gates.
    pub(crate) override_reason: Option<Arc<str>>,
}

impl PromotionRequest {
    /// The request that repeats the promotion of a plan, without its override.
    pub(crate) fn from_plan(requester: &PersonId, plan: &Plan) -> Self {
        Self {
            requester: requester.clone(),
            artefact: plan.artefact.clone(),
            environment: Some(plan.environment.clone()),
            selector: VersionSelector::from_plan(plan),
            override_reason: None,
        }
    }
}

/// An artefact, its target environment and, if the request named no environment, the others that are behind.
pub(crate) type PromotionTarget<'a> = (&'a Artefact, &'a Environment, Option<Vec<EnvironmentName>>);

/// The decision of the rules.
pub(crate) enum PromotionDecision {
    Refused(Refusal),
    Planned {
        plan: Box<Plan>,
        /// The other environments that are behind, if the request named none.
        other_environments: Option<Vec<EnvironmentName>>,
        /// An earlier attempt of the same promotion, which ended in an error.
        errored_change: Option<Box<Change>>,
    },
}

/// Plans the promotion. Has no effects and takes no change lock.
pub(crate) async fn decide_promotion(
    ctx: &Context,
    request: &PromotionRequest,
) -> Result<PromotionDecision, LookupError> {
    match plan_promotion(ctx, request, &mut Obstacles::new_first_only()).await {
        Ok(decision) => Ok(decision),
        Err(PlanError::Refused(refusal)) => Ok(PromotionDecision::Refused(refusal)),
        Err(PlanError::Lookup(error)) => Err(error),
    }
}

async fn plan_promotion(
    ctx: &Context,
    request: &PromotionRequest,
    obstacles: &mut Obstacles,
) -> Result<PromotionDecision, PlanError> {
    let (artefact, target, others) = resolve_target(ctx, request).await?;
    let (plan, errored) = gather_facts_and_check(ctx, request, artefact, target, obstacles).await?;
    Ok(PromotionDecision::Planned { plan, other_environments: others, errored_change: errored })
}

/// The artefact and its target. If the request names no environment, the target is the lowest one that is behind.
pub(crate) async fn resolve_target<'a>(
    ctx: &'a Context,
    request: &PromotionRequest,
) -> Result<PromotionTarget<'a>, PlanError> {
    let Some(artefact) = ctx.config.catalogue.find_artefact(request.artefact.as_str()) else {
        return Err(LookupError::new_permanent(format!("there is no artefact {}", request.artefact)).into());
    };
    if let Some(name) = &request.environment {
        return Ok((artefact, find_environment(ctx, name)?, None));
    }
    let behind = find_environments_behind(ctx, artefact).await?;
    let Some((target, others)) = behind.split_first() else {
        return Err(Refusal::NothingToPromote { artefact: artefact.name.clone() }.into());
    };
    Ok((artefact, *target, Some(others.iter().map(|environment| environment.name.clone()).collect())))
}

/// Gathers the facts and checks all rules, in order. In first-only mode, the first obstacle ends the check. Otherwise
/// the check goes on as far as the facts allow.
pub(crate) async fn gather_facts_and_check(
    ctx: &Context,
    request: &PromotionRequest,
    artefact: &Artefact,
    target: &Environment,
    obstacles: &mut Obstacles,
) -> Result<(Box<Plan>, Option<Box<Change>>), PlanError> {
    let catalogue = &ctx.config.catalogue;
    let below = promotion::require_environment_below(artefact, target, &catalogue.ladder)?;
    check_rights(ctx, request, artefact, target, obstacles).await?;
    for environment in [below, target] {
        require_cluster_was_read(ctx, artefact, environment)?;
    }
    let candidate =
        match record_obstacle(select_version_below(ctx, artefact, below, &request.selector).await, obstacles)? {
            Some(candidate) => Some(candidate),
            None => find_rolling_out_below(ctx, artefact, below).await?.map(|version| (version, None)),
        };
    let manifest = record_obstacle(resolve_manifest_file(ctx, artefact, target).await, obstacles)?;
    let supersedes = match &manifest {
        Some(manifest) => {
            let lock_key = ChangeLockKey::from_write_target(&artefact.repository, &target.branch, manifest.as_ref());
            let version = candidate.as_ref().map(|(version, _)| version);
            find_change_to_supersede(ctx, request, &lock_key, version, obstacles).await?
        }
        None => None,
    };
    let from =
        record_obstacle(find_running_version(ctx, artefact, target).map_err(PlanError::from), obstacles)?.flatten();
    let Some((mut version, healthy_since)) = candidate else {
        // The gates of the environment itself do not depend on the version.
        let gate_inputs = gather_gate_inputs(ctx, artefact, target, None).await?;
        promotion::check_environment_gates(&gate_inputs, target, obstacles)?;
        return Err(LookupError::new_transient(format!("what runs in {} is not known", below.name)).into());
    };
    obstacles.set_version(&version);
    let (mut pending, undoes) = match &manifest {
        None => None,
        Some(None) => find_pending_for_merge(ctx, artefact, [below, target], &version, obstacles).await?,
        Some(Some(_)) => {
            find_pending_for_manifest(ctx, artefact, [below, target], &version, from.as_ref(), obstacles).await?
        }
    }
    .unwrap_or_else(|| (assume_unknown_pending(), Vec::new()));
    let pinned = version.commit.clone();
    let manifest = manifest.flatten();
    let image = match &manifest {
        Some(file) => {
            record_obstacle(check_image_to_write(ctx, artefact, target, file, &mut version).await, obstacles)?
        }
        None => None,
    };
    let checks = match (&pinned, pending.ahead_by) {
        (None, _) | (_, 0) => CiChecks::default(),
        (Some(pinned), _) => ctx.github.fetch_checks(&artefact.repository, pinned).await?,
    };
    let errored = find_errored_change(ctx, artefact, target, &version).await?;
    let quarantines = find_version_quarantines(ctx, artefact, target, &version, &mut pending).await?;
    let checked_commit = pinned.clone().map(|commit| CheckedCommit { commit, checks });
    let gate_inputs = gather_gate_inputs(ctx, artefact, target, healthy_since).await?;
    let facts = PromotionFacts {
        artefact,
        target,
        below,
        version,
        pinned,
        from,
        manifest,
        rollbacks_to_undo: undoes,
        image: image.unwrap_or_default(),
        pending,
        gate_inputs: GateInputs { quarantines, checked_commit, ..gate_inputs },
        overriding: request.override_reason.clone().map(|reason| (request.requester.clone(), reason)),
        supersedes,
    };
    check_and_build_plan(ctx, facts, errored, obstacles)
}

/// Asks the rules and builds the plan. Also returns the errored change, if the plan resumes it.
fn check_and_build_plan(
    ctx: &Context,
    facts: PromotionFacts<'_>,
    errored: Option<Box<Change>>,
    obstacles: &mut Obstacles,
) -> Result<(Box<Plan>, Option<Box<Change>>), PlanError> {
    if let (Err(Refusal::NothingNew { .. }), Some(errored)) = (promotion::check_has_effect(&facts), &errored) {
        // The errored change may have been merged before its error. The branch has its commits then, and it is resumed.
        obstacles.finish_check()?;
        return Ok((Box::new(errored.plan.clone()), Some(errored.clone())));
    }
    let permit = promotion::check_promotion(&facts, obstacles)?;
    let plan = Box::new(Plan::new(permit, facts, &ctx.config.catalogue)?);
    let errored = errored.filter(|errored| can_resume(ctx, errored, &plan));
    Ok((plan, errored))
}

/// The open change that this promotion replaces. An open change that cannot be replaced is an obstacle.
async fn find_change_to_supersede(
    ctx: &Context,
    request: &PromotionRequest,
    lock_key: &ChangeLockKey,
    version: Option<&Version>,
    obstacles: &mut Obstacles,
) -> Result<Option<ConflictingChange>, PlanError> {
    let Some(holder) = ctx.store.find_active_change(lock_key).await? else { return Ok(None) };
    if version.is_some_and(|version| can_be_superseded(&holder, &request.artefact, version)) {
        return Ok(holder.to_conflicting_change());
    }
    let in_progress = describe_open_change(ctx, &holder, &request.requester).await;
    obstacles.record_refusal(Refusal::ChangeInProgress(in_progress))?;
    Ok(None)
}

/// The pending commits of a merge. An unknown commit of the version is an obstacle.
async fn find_pending_for_merge(
    ctx: &Context,
    artefact: &Artefact,
    [below, target]: [&Environment; 2],
    version: &Version,
    obstacles: &mut Obstacles,
) -> Result<Option<PendingAndUndone>, PlanError> {
    let Some(pinned) = &version.commit else {
        return record_unknown_commit(artefact, below, version, obstacles);
    };
    record_obstacle(find_pending_by_branch(ctx, artefact, target, version, pinned).await, obstacles)
}

/// The pending commits of a write to a manifest. An unknown commit is an obstacle only if people approve the commit
/// itself.
async fn find_pending_for_manifest(
    ctx: &Context,
    artefact: &Artefact,
    [below, target]: [&Environment; 2],
    version: &Version,
    from: Option<&Version>,
    obstacles: &mut Obstacles,
) -> Result<Option<PendingAndUndone>, PlanError> {
    if version.commit.is_none() && is_approved_by_commit(target) {
        return record_unknown_commit(artefact, below, version, obstacles);
    }
    let pending = find_pending_by_manifest(ctx, artefact, from, version.commit.as_ref()).await?;
    Ok(Some((pending, Vec::new())))
}

fn record_unknown_commit(
    artefact: &Artefact,
    below: &Environment,
    version: &Version,
    obstacles: &mut Obstacles,
) -> Result<Option<PendingAndUndone>, PlanError> {
    let (artefact, below, version) = (artefact.name.clone(), below.name.clone(), version.clone());
    obstacles.record_refusal(Refusal::CommitUnknown { artefact, below, version })?;
    Ok(None)
}

async fn check_rights(
    ctx: &Context,
    request: &PromotionRequest,
    artefact: &Artefact,
    target: &Environment,
    obstacles: &mut Obstacles,
) -> Result<(), PlanError> {
    if !ctx.permissions.may_promote(&request.requester, &target.name, &artefact.repository).await? {
        let (act, environment, who) = (
            RestrictedAction::Promote,
            target.name.clone(),
            ctx.permissions.label_members(&target.policy.promoters).await,
        );
        obstacles.record_refusal(Refusal::NotPermitted { action: act, environment, permitted: who })?;
    }
    if request.override_reason.is_some()
        && !ctx.permissions.may_override(&request.requester, &target.name, &artefact.repository).await?
    {
        // Unlike for other rights, an empty list of overriders means that no person may override.
        let who = if target.policy.overriders.is_empty() {
            Vec::new()
        } else {
            ctx.permissions.label_members(&target.policy.overriders).await
        };
        let (act, environment) = (RestrictedAction::Override, target.name.clone());
        obstacles.record_refusal(Refusal::NotPermitted { action: act, environment, permitted: who })?;
    }
    Ok(())
}

/// Describes the change in progress, and the role of the person `by` in it.
async fn describe_open_change(ctx: &Context, holder: &Change, by: &PersonId) -> ChangeInProgress {
    let plan = &holder.plan;
    let asker = if holder.requester == *by {
        AskerRole::Requester
    // If the right to approve cannot be checked, the refusal offers no action.
    } else if holder.stage.can_cancel()
        && ctx.permissions.may_approve(by, &plan.environment, &plan.repository).await.unwrap_or_default()
    {
        AskerRole::Approver
    } else {
        AskerRole::Other
    };
    ChangeInProgress { asker_role: asker, ..ChangeInProgress::from(holder) }
}

/// The last change of the artefact in the environment, if it was a promotion of the same version and ended in an error.
async fn find_errored_change(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
    version: &Version,
) -> Result<Option<Box<Change>>, PlanError> {
    let last = ctx.store.find_last_change(&artefact.name, &target.name).await?;
    let errored = last.filter(|last| matches!(last.stage, Stage::Errored { .. }) && !last.plan.is_rollback());
    Ok(errored.filter(|last| last.plan.version.is_same_as(version)).map(Box::new))
}

/// Whether the errored change can resume with this plan. A plan with another override or under changed rules makes a
/// new change, because the confirmations and approvals of the old one do not cover it.
fn can_resume(ctx: &Context, errored: &Change, plan: &Plan) -> bool {
    let waited = matches!(&errored.stage, Stage::Errored { merging, .. } if merging.awaiting.is_some());
    errored.change_lock_key() == plan.change_lock_key()
        && errored.plan.method == plan.method
        && errored.plan.gate_override == plan.gate_override
        && (waited || !needs_approval_stage(ctx, plan))
}

fn find_environment<'a>(ctx: &'a Context, name: &EnvironmentName) -> Result<&'a Environment, PlanError> {
    let gone = || PlanError::from(LookupError::new_permanent(format!("there is no environment {name}")));
    ctx.config.catalogue.ladder.find(name.as_str()).ok_or_else(gone)
}

/// The environments that lack the commit that runs below them, lowest first.
async fn find_environments_behind<'a>(
    ctx: &'a Context,
    artefact: &Artefact,
) -> Result<Vec<&'a Environment>, LookupError> {
    let ladder = &ctx.config.catalogue.ladder;
    let (mut behind, mut unknown) = (Vec::new(), Vec::new());
    for environment in ladder.environments() {
        let (Some(place), Some(below)) =
            (artefact.places.get(&environment.name), ladder.find_next_below(&environment.name, artefact))
        else {
            continue;
        };
        let Some(source) = ctx.sightings.find_commit(&artefact.name, &below.name) else {
            unknown.push(environment);
            continue;
        };
        let missing = matches!(ctx.cluster_view.read_rollout(place, &artefact.image).state, RolloutState::Missing);
        match ctx.sightings.find_commit(&artefact.name, &environment.name) {
            _ if missing => behind.push(environment),
            Some(here) if ctx.comparisons.is_behind(artefact, &here, &source).await? => behind.push(environment),
            Some(_) => {}
            None => unknown.push(environment),
        }
    }
    // If no environment is known to be behind, an unknown one is chosen, and the rules report the missing fact.
    if behind.is_empty() {
        behind.extend(unknown.into_iter().take(1));
    }
    Ok(behind)
}

/// The version that runs in the target. An unreadable cluster is a refusal, because the change could not be verified.
fn find_running_version(ctx: &Context, artefact: &Artefact, target: &Environment) -> Result<Option<Version>, Refusal> {
    let Some(place) = artefact.places.get(&target.name) else { return Ok(None) };
    let rollout = ctx.cluster_view.read_rollout(place, &artefact.image);
    if let RolloutState::Unreadable { reason: why, since } = rollout.state {
        return Err(Refusal::Unreadable { below: target.name.clone(), reason: why, since });
    }
    let seen = ctx.sightings.find_sighting(&artefact.name, &target.name);
    let known = seen.filter(|seen| rollout.version.as_ref().is_some_and(|now| seen.version.is_same_image(now)));
    Ok(known.map(|seen| seen.version).or(rollout.version))
}

/// Whether people approve the commit itself, because there is no pull request.
fn is_approved_by_commit(target: &Environment) -> bool {
    target.policy.approvals.is_some() && target.promotion_method == PromotionMethod::Merge
}

/// Whether a promotion of `version` may supersede `holder`, which must be an unmerged promotion of another version of
/// the same artefact.
fn can_be_superseded(holder: &Change, artefact: &ArtefactName, version: &Version) -> bool {
    let plan = &holder.plan;
    Change::to_conflicting_change(holder).is_some()
        && holder.stage.can_cancel()
        && plan.artefact == *artefact
        && !plan.is_rollback()
        && !plan.version.is_same_as(version)
}
