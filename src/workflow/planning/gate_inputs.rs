//! Gathers the inputs of the gates: locks, freezes, soak, quarantines, holds, and the rights that they depend on.

use crate::adapters::store::StoreError;
use crate::domain::change::Change;
use crate::domain::change::plan::Plan;
use crate::domain::git::pending::PendingCommits;
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::version::Version;
use crate::domain::rules::facts::{GateInputs, HealthySince};
use crate::domain::rules::freeze;
use crate::domain::rules::gate::{self, GateOverride};
use crate::domain::rules::merge_condition::MergeCondition;
use crate::domain::rules::quarantine::Quarantine;
use crate::workflow::context::Context;
use crate::workflow::error::LookupError;
use crate::workflow::facts::locks::find_covering_locks;

/// The quarantines in effect in the target that match the version, a commit that was merged into it, or its tree. Looks
/// up `pending.tree` if it is needed and unknown.
pub(crate) async fn find_version_quarantines(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
    version: &Version,
    pending: &mut PendingCommits,
) -> Result<Vec<Quarantine>, LookupError> {
    let mut quarantines = find_environment_quarantines(ctx, artefact, target).await?;
    if let (None, Some(commit), false) = (&pending.tree, &version.commit, quarantines.is_empty()) {
        pending.tree = ctx.github.fetch_tree_sha(&artefact.repository, commit).await?;
    }
    quarantines
        .retain(|it| it.has_version(version, None) || it.has_commit_or_tree(&pending.sources, pending.tree.as_ref()));
    Ok(quarantines)
}

/// The quarantines in effect for an artefact in an environment, newest first.
pub(crate) async fn find_environment_quarantines(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
) -> Result<Vec<Quarantine>, LookupError> {
    Ok(list_effective_quarantines(ctx, &artefact.name, &target.name).await?)
}

async fn list_effective_quarantines(
    ctx: &Context,
    artefact: &ArtefactName,
    environment: &EnvironmentName,
) -> Result<Vec<Quarantine>, StoreError> {
    let ladder = &ctx.config.catalogue.ladder;
    let mut quarantines = ctx.store.list_quarantines().await?;
    quarantines.retain(|it| it.has_artefact(artefact) && it.is_effective_in(environment, ladder));
    Ok(quarantines)
}

/// The inputs of the gates when a promotion is requested. The caller adds the quarantines and the checks of the commit.
pub(crate) async fn gather_gate_inputs(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
    healthy_since: Option<HealthySince>,
) -> Result<GateInputs, LookupError> {
    let now = ctx.clock.now();
    let co_deployed = ctx.config.catalogue.iter_co_deployed(artefact, &target.name).map(|other| other.name.clone());
    let artefacts: Vec<ArtefactName> = std::iter::once(artefact.name.clone()).chain(co_deployed).collect();
    let locks = find_covering_locks(ctx, &target.name, &artefacts).await?;
    let freeze = freeze::find_active_window(&target.policy.freezes, now);
    let mut holds = ctx.store.list_holds(&target.name).await?;
    holds.retain(|hold| hold.has_any_artefact(&artefacts));
    Ok(GateInputs {
        locks,
        freeze,
        soak: target.policy.soak,
        healthy_since,
        quarantines: Vec::new(),
        checked_commit: None,
        checks_required: target.policy.checks_required,
        holds,
        now,
    })
}

/// The conditions that forbid the merge now. The rules allowed the change when it was requested, but rights, locks,
/// freezes and quarantines may have changed since.
pub(crate) async fn find_unmet_conditions(ctx: &Context, change: &Change) -> Result<Vec<MergeCondition>, StoreError> {
    let plan = &change.plan;
    let policy = ctx.config.catalogue.ladder.find_policy(&plan.environment);
    let mut conditions = Vec::new();
    let rollback = plan.rollback_details();
    // Without configured promoters everyone may promote. An automatic rollback needs no person's right.
    if policy.is_some_and(|policy| !policy.promoters.is_empty()) && !rollback.is_some_and(|rollback| rollback.automatic)
    {
        let is_permitted = match rollback {
            None => ctx.permissions.may_promote(&change.requester, &plan.environment, &plan.repository).await,
            Some(_) => {
                ctx.permissions.may_promote_or_approve(&change.requester, &plan.environment, &plan.repository).await
            }
        };
        match is_permitted {
            Ok(true) => {}
            Ok(false) => conditions.push(MergeCondition::PermissionLost),
            Err(error) => conditions.push(MergeCondition::PermissionUnknown { reason: error.to_string() }),
        }
    }
    let overridden = match find_valid_override(ctx, plan).await {
        Ok(overridden) => overridden,
        Err(error) => {
            conditions.push(MergeCondition::PermissionUnknown { reason: error.to_string() });
            None
        }
    };
    conditions.extend(gate::find_gate_conditions(&gather_merge_inputs(ctx, plan).await?, overridden));
    Ok(conditions)
}

/// The inputs of the gates at the merge, without the checks of the pull request. A rollback waits only for locks that
/// its requester was not shown.
async fn gather_merge_inputs(ctx: &Context, plan: &Plan) -> Result<GateInputs, StoreError> {
    // The plan lists the co-deployed artefacts of the time of the request; the configuration may have added more.
    let catalogue = &ctx.config.catalogue;
    let co_deployed = catalogue.find_artefact(plan.artefact.as_str()).into_iter();
    let co_deployed = co_deployed.flat_map(|artefact| catalogue.iter_co_deployed(artefact, &plan.environment));
    let artefacts: Vec<_> =
        plan.list_artefacts().into_iter().chain(co_deployed.map(|other| other.name.clone())).collect();
    let mut locks = find_covering_locks(ctx, &plan.environment, &artefacts).await?;
    if let Some(rollback) = plan.rollback_details() {
        locks.retain(|lock| rollback.locks.iter().all(|shown| shown.id != lock.id));
        return Ok(GateInputs { locks, ..GateInputs::default() });
    }
    // A rollback in this environment or below may have quarantined the version since the request.
    let mut quarantines = list_effective_quarantines(ctx, &plan.artefact, &plan.environment).await?;
    quarantines
        .retain(|it| it.has_version(&plan.version, None) || it.has_commit_or_tree(&plan.sources, plan.tree.as_ref()));
    let (now, policy) = (ctx.clock.now(), catalogue.ladder.find_policy(&plan.environment));
    let freeze = policy.and_then(|policy| freeze::find_active_window(&policy.freezes, now));
    Ok(GateInputs { locks, freeze, quarantines, now, ..GateInputs::default() })
}

/// The override of the plan, if its author still has the right to override.
pub(crate) async fn find_valid_override<'a>(
    ctx: &Context,
    plan: &'a Plan,
) -> Result<Option<&'a GateOverride>, LookupError> {
    let Some(overridden) = &plan.gate_override else { return Ok(None) };
    let is_permitted = ctx.permissions.may_override(&overridden.by, &plan.environment, &plan.repository).await?;
    Ok(is_permitted.then_some(overridden))
}
