//! Plans a rollback: finds an earlier healthy version and the commits that would be lost, and asks the rules. It has no
//! effects; `changes::begin` begins the change.

use std::sync::Arc;

use crate::domain::change::plan::Plan;
use crate::domain::change::{Change, ChangeLockKey, ResultTag, Stage};
use crate::domain::git::pending::PendingCommits;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::{Environment, EnvironmentName, PromotionMethod};
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Sha, Version};
use crate::domain::rules::conflict::ChangeInProgress;
use crate::domain::rules::promotion;
use crate::domain::rules::refusal::{Refusal, RestrictedAction};
use crate::domain::rules::rollback::{
    self as rules, BadVersion, HealthyPeriod, Rollback, RollbackEvidence, RollbackFacts,
};
use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, PlanError};
use crate::workflow::facts::locks::find_covering_locks;
use crate::workflow::facts::manifests::resolve_manifest_file;
use crate::workflow::facts::merged_result::find_result_on_branch;
use crate::workflow::facts::running_code::require_cluster_was_read;
use crate::workflow::planning::rollback_candidates::{
    EnvironmentHistory, HISTORY_LIMIT, MAX_SUGGESTIONS, RollbackCandidate, find_previous_by_branch,
    find_previous_versions, load_environment_history,
};
use crate::workflow::planning::rollback_image::{add_known_digest, check_rollback_image};

/// A request for a rollback, by a person or by the environment's policy.
#[derive(Clone, Debug)]
pub(crate) struct RollbackRequest {
    pub(crate) requester: PersonId,
    pub(crate) artefact: ArtefactName,
    pub(crate) environment: EnvironmentName,
    pub(crate) target_version: RollbackTarget,
    pub(crate) reason: Option<Arc<str>>,
    /// The change to undo, for a click on its card or an automatic rollback. It must have deployed the current version.
    pub(crate) change_to_undo: Option<ChangeId>,
    /// The environment's policy requests it, not a person.
    pub(crate) automatic: bool,
}

impl RollbackRequest {
    /// The request that repeats the rollback of a plan, to the planned version.
    pub(crate) fn from_plan(requester: &PersonId, plan: &Plan) -> Self {
        let details = plan.rollback_details();
        Self {
            requester: requester.clone(),
            artefact: plan.artefact.clone(),
            environment: plan.environment.clone(),
            target_version: match details {
                Some(details) => RollbackTarget::Shown {
                    version: plan.version.clone(),
                    found_in: details.evidence,
                    ran: details.healthy_period,
                },
                None => RollbackTarget::Previous,
            },
            reason: details.and_then(|details| details.reason.as_deref()).map(Into::into),
            change_to_undo: None,
            automatic: false,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum RollbackTarget {
    Previous,
    /// A version by its tag, a prefix of its commit, or the Git tag of a change.
    Named(Arc<str>),
    /// The version of a plan that was shown.
    Shown {
        version: Version,
        found_in: RollbackEvidence,
        ran: Option<HealthyPeriod>,
    },
}

/// The decision of the rules.
pub(crate) enum RollbackDecision {
    Refused(Refusal),
    Planned {
        plan: Box<Plan>,
        /// An earlier attempt of the same rollback, which ended in an error.
        errored_change: Option<Box<Change>>,
    },
    /// A promotion is being merged. The person chooses whether the rollback waits for it or cancels it.
    Conflict {
        plan: Box<Plan>,
        holder: ChangeInProgress,
    },
}

impl EnvironmentHistory<'_> {
    /// The promoted versions that have this name in the environment below.
    fn find_promoted_versions<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Version> {
        let promotions = self.changes.iter().filter(|it| !it.plan.is_rollback() && it.stage.result_commit().is_some());
        promotions.map(|change| &change.plan.version).filter(move |version| version.is_named(name))
    }
}

/// Plans the rollback. Has no effects and takes no change lock.
pub(crate) async fn decide_rollback(ctx: &Context, request: &RollbackRequest) -> Result<RollbackDecision, LookupError> {
    // Boxed, because the future is large and few requests reach this point.
    match Box::pin(plan_rollback(ctx, request)).await {
        Ok(decision) => Ok(decision),
        Err(PlanError::Refused(refusal)) => Ok(RollbackDecision::Refused(refusal)),
        Err(PlanError::Lookup(error)) => Err(error),
    }
}

async fn plan_rollback(ctx: &Context, request: &RollbackRequest) -> Result<RollbackDecision, PlanError> {
    let (artefact, target) = check_rollback_allowed(ctx, request).await?;
    let manifest = resolve_manifest_file(ctx, artefact, target).await?;
    let lock_key = ChangeLockKey::from_write_target(&artefact.repository, &target.branch, manifest.as_ref());
    let holder = ctx.store.find_active_change(&lock_key).await?;
    let merging_holder = holder.as_ref().filter(|holder| matches!(holder.stage, Stage::Merging(_)));
    if let Some(holder) = &holder {
        rules::check_lock_holder(holder.into(), merging_holder.is_some(), &artefact.name, manifest.is_some())?;
    }
    let supersedes = holder.as_ref().and_then(Change::to_conflicting_change);
    let conflict = merging_holder.map(ChangeInProgress::from);
    let changes = ctx.store.list_changes_of(&lock_key, HISTORY_LIMIT).await?;
    // The commit of an errored rollback may be on the branch already. Then only its result has to be stored.
    if let Some(last) = changes.first().filter(|last| is_errored_rollback(last, &artefact.name))
        && find_result_on_branch(ctx, last).await?.is_some()
    {
        let (plan, errored) = (Box::new(last.plan.clone()), Some(Box::new(last.clone())));
        return Ok(RollbackDecision::Planned { plan, errored_change: errored });
    }
    let history = load_environment_history(ctx, artefact, target, manifest.as_ref(), changes).await?;
    let undone_change = find_undone_change(&history, request)?;
    let candidates = find_rollback_candidates(ctx, &history, request).await?;
    let Some(candidate) = candidates.first() else {
        let (artefact, environment) = (artefact.name.clone(), target.name.clone());
        return Err(Refusal::NoPreviousVersion { artefact, environment, current: history.current }.into());
    };
    rules::check_candidate(artefact, target, &candidate.version, &history.quarantines, manifest.is_some())?;
    let mut version = candidate.version.clone();
    let image = check_rollback_image(ctx, &history, &mut version, &candidates).await?;
    let lost = find_lost_commits(ctx, &history, &version).await?;
    let bad = collect_bad_version(ctx, &history).await?;
    let co_deployed = ctx.config.catalogue.iter_co_deployed(artefact, &target.name);
    let artefacts: Vec<_> = std::iter::once(artefact).chain(co_deployed).map(|it| it.name.clone()).collect();
    let locks = find_covering_locks(ctx, &target.name, &artefacts).await?;
    let details = Rollback {
        reason: request.reason.as_deref().map(str::to_owned),
        evidence: candidate.found_in,
        healthy_period: candidate.ran,
        automatic: request.automatic,
        rolled_back_change: undone_change,
        bad_version: bad,
        locks,
    };
    let method = target.policy.rollback_method;
    let from = match history.current.clone() {
        Some(current) => Some(add_known_digest(ctx, &history, current).await),
        None => None,
    };
    let facts = RollbackFacts {
        artefact,
        target,
        manifest: manifest.clone(),
        candidate: &candidate.version,
        version,
        from,
        quarantines: &history.quarantines,
        image,
        lost,
        head: history.head.clone(),
        method,
        supersedes,
        details,
    };
    let permit = rules::check_rollback(&facts)?;
    let plan = Box::new(Plan::new_rollback(permit, facts, &ctx.config.catalogue)?);
    let changes = history.changes;
    if let Some(holder) = conflict {
        return Ok(RollbackDecision::Conflict { plan, holder });
    }
    // An earlier attempt of the same rollback, which ended in an error.
    let errored = changes
        .into_iter()
        .next()
        .filter(|last| is_errored_rollback(last, &plan.artefact) && last.plan.version.is_same_as(&plan.version));
    Ok(RollbackDecision::Planned { plan, errored_change: errored.map(Box::new) })
}

/// The artefact and the environment, if the artefact can be rolled back there and the requester has the right.
async fn check_rollback_allowed<'a>(
    ctx: &'a Context,
    request: &RollbackRequest,
) -> Result<(&'a Artefact, &'a Environment), PlanError> {
    let catalogue = &ctx.config.catalogue;
    let Some(artefact) = catalogue.find_artefact(request.artefact.as_str()) else {
        return Err(LookupError::new_permanent(format!("there is no artefact {}", request.artefact)).into());
    };
    let Some(target) = catalogue.ladder.find(request.environment.as_str()) else {
        return Err(LookupError::new_permanent(format!("there is no environment {}", request.environment)).into());
    };
    promotion::check_rollback_target(artefact, target, &catalogue.ladder)?;
    if !request.automatic
        && !ctx.permissions.may_promote_or_approve(&request.requester, &target.name, &artefact.repository).await?
    {
        let permitted = ctx.permissions.label_promoters_and_approvers(&target.name).await;
        return Err(Refusal::NotPermitted {
            action: RestrictedAction::RollBack,
            environment: target.name.clone(),
            permitted,
        }
        .into());
    }
    require_cluster_was_read(ctx, artefact, target)?;
    Ok((artefact, target))
}

/// The versions that the environment can go back to, the requested one first.
async fn find_rollback_candidates(
    ctx: &Context,
    history: &EnvironmentHistory<'_>,
    request: &RollbackRequest,
) -> Result<Vec<RollbackCandidate>, PlanError> {
    match &request.target_version {
        RollbackTarget::Previous => find_previous_versions(ctx, history).await,
        RollbackTarget::Shown { version, found_in, ran } => {
            Ok(vec![RollbackCandidate { version: version.clone(), ran: *ran, found_in: *found_in }])
        }
        RollbackTarget::Named(name) => find_named_candidates(ctx, history, name).await,
    }
}

async fn find_named_candidates(
    ctx: &Context,
    history: &EnvironmentHistory<'_>,
    name: &str,
) -> Result<Vec<RollbackCandidate>, PlanError> {
    let EnvironmentHistory { artefact, target, .. } = history;
    let (artefact_name, environment) = (artefact.name.clone(), target.name.clone());
    let healthy = history.find_healthy_versions();
    let tagged = find_tagged_version(ctx, history, name).await?;
    let is_requested = |version: &Version| {
        version.is_named(name)
            || tagged.as_ref().is_some_and(|tagged| history.source_map.is_same_code(tagged, version))
            || history.find_promoted_versions(name).any(|promoted| history.source_map.is_same_code(promoted, version))
    };
    if let Some(current) = history
        .current
        .as_ref()
        .filter(|current| is_requested(current) || is_requested(&history.source_map.resolve_restored(current)))
    {
        return Err(Refusal::SameCode { artefact: artefact_name, environment, version: current.clone() }.into());
    }
    let Some(index) = healthy.iter().position(|candidate| is_requested(&candidate.version)) else {
        // No sighting has the version, but the history of the manifest or of the branch may.
        let others = match history.manifest {
            Some(_) => find_previous_versions(ctx, history).await?,
            None => find_previous_by_branch(ctx, history).await?,
        };
        if let Some(index) = others.iter().position(|candidate| is_requested(&candidate.version)) {
            return Ok(others.into_iter().skip(index).collect());
        }
        let names =
            healthy.iter().take(MAX_SUGGESTIONS).map(|candidate| candidate.version.label().to_owned()).collect();
        let (below, version) = (environment, name.to_owned());
        return Err(
            Refusal::NeverRanHealthy { artefact: artefact_name, below, version, healthy_versions: names }.into()
        );
    };
    Ok(healthy.into_iter().skip(index).map(RollbackCandidate::from).collect())
}

/// The version that a change marked with this Git tag, if there is one.
async fn find_tagged_version(
    ctx: &Context,
    history: &EnvironmentHistory<'_>,
    name: &str,
) -> Result<Option<Version>, PlanError> {
    let tagged = history.changes.iter().find(|change| {
        let tag = change.stage.deploying().map(|deploying| &deploying.tag);
        matches!(tag, Some(ResultTag::Created { name: made, .. }) if made == name)
    });
    let Some(change) = tagged else { return Ok(None) };
    let result = change.stage.result_commit().cloned();
    let version =
        history.source_map.resolve_restored(&Version { commit: result.clone(), ..change.plan.version.clone() });
    let marked = if history.manifest.is_some() { change.plan.pinned_commit().cloned() } else { result };
    match (ctx.github.resolve_tag(&history.artefact.repository, name).await?, marked) {
        (Some(current_commit), Some(marked)) if current_commit != marked => {
            let healthy = history
                .find_healthy_versions()
                .into_iter()
                .find(|healthy| history.source_map.is_same_code(&healthy.version, &version));
            let version = healthy.map_or(version, |healthy| healthy.version);
            let (artefact, environment) = (history.artefact.name.clone(), history.target.name.clone());
            Err(Refusal::TagMoved { artefact, environment, tag: name.to_owned(), version, current_commit }.into())
        }
        _ => Ok(Some(version)),
    }
}

/// The commits that the environment would lose: those that the restored version does not have.
async fn find_lost_commits(
    ctx: &Context,
    history: &EnvironmentHistory<'_>,
    version: &Version,
) -> Result<PendingCommits, PlanError> {
    let repository = &history.artefact.repository;
    let current_commit = match history.manifest {
        Some(_) => history.current.as_ref().and_then(|current| current.commit.clone()),
        // Commits that an earlier rollback removed are not lost again.
        None => history.head.clone().map(|head| {
            let head_version = Version { commit: Some(head.clone()), ..Version::default() };
            history.source_map.resolve_restored(&head_version).commit.unwrap_or(head)
        }),
    };
    let (Some(current_commit), Some(restored)) = (current_commit, &version.commit) else {
        if history.manifest.is_none() {
            let reason = format!("the branch {} is not in {repository}", history.target.branch);
            return Err(LookupError::new_permanent(reason).into());
        }
        return Ok(PendingCommits::default());
    };
    if history.manifest.is_none() {
        let trees = (
            ctx.github.fetch_tree_sha(repository, &current_commit).await?,
            ctx.github.fetch_tree_sha(repository, restored).await?,
        );
        let Some(restored_tree) = &trees.1 else {
            let reason = format!("the commit {} is not in {repository} any more", restored.short());
            return Err(LookupError::new_permanent(reason).into());
        };
        rules::check_tree_differs(history.artefact, history.target, version, trees.0.as_ref(), restored_tree)?;
    }
    // Without a common ancestor all commits are lost, and their number is unknown.
    Ok(ctx.comparisons.compute_pending_between(repository, restored, &current_commit).await?.unwrap_or_default())
}

/// The identity of the current version, by which it is recognised again: its commits, the commits that they were merged
/// from, and their trees.
async fn collect_bad_version(ctx: &Context, history: &EnvironmentHistory<'_>) -> Result<BadVersion, PlanError> {
    let repository = &history.artefact.repository;
    let mut bad = BadVersion::default();
    let mut add = |commit: Sha| {
        if !bad.commits.contains(&commit) {
            bad.commits.push(commit);
        }
    };
    let current = history.current.as_ref().and_then(|current| current.commit.clone());
    let original = history.current.as_ref().and_then(|current| history.source_map.resolve_restored(current).commit);
    for commit in current.into_iter().chain(original) {
        let source = history.source_map.resolve_source(&commit);
        // If Gantry did not make the merge, its second parent is the commit that was merged.
        let merged = match history.manifest {
            None if source == commit => ctx.github.resolve_commit(repository, commit.as_str()).await?,
            _ => None,
        };
        add(commit);
        add(source);
        if let Some([_, merged]) = merged.as_ref().map(|merged| merged.parents.as_slice()) {
            add(merged.clone());
        }
    }
    if history.manifest.is_none() {
        history.head.iter().cloned().for_each(&mut add);
        for commit in bad.commits.clone() {
            if let Some(tree) = ctx.github.fetch_tree_sha(repository, &commit).await?
                && !bad.trees.contains(&tree)
            {
                bad.trees.push(tree);
            }
        }
    }
    Ok(bad)
}

/// Whether a person must confirm the rollback: in production, if the version is uncertain, if the environment is
/// locked, or if other artefacts or changes are affected.
pub(crate) fn needs_rollback_confirmation(ctx: &Context, plan: &Plan) -> bool {
    let policy = ctx.config.catalogue.ladder.find_policy(&plan.environment);
    let top = ctx.config.catalogue.ladder.environments().iter().rev().map(|environment| &environment.name).next();
    let is_production = top == Some(&plan.environment)
        || policy.is_some_and(|policy| policy.approvals.is_some())
        || ctx
            .config
            .catalogue
            .ladder
            .find(plan.environment.as_str())
            .is_some_and(|environment| environment.promotion_method == PromotionMethod::PullRequest);
    let is_uncertain = plan.rollback_details().is_some_and(|rollback| rollback.evidence != RollbackEvidence::Ledger)
        || plan.is_image_unconfirmed();
    let is_locked = plan.rollback_details().is_some_and(|rollback| !rollback.locks.is_empty());
    is_production || is_uncertain || is_locked || !plan.co_deployed.is_empty() || plan.supersedes.is_some()
}

/// The versions that ran healthy in the environment, to choose another one from.
pub(crate) async fn find_other_versions(
    ctx: &Context,
    artefact: &Artefact,
    target: &Environment,
) -> Result<Vec<(Version, HealthyPeriod)>, LookupError> {
    let manifest = match resolve_manifest_file(ctx, artefact, target).await {
        Ok(manifest) => manifest,
        Err(PlanError::Lookup(error)) => return Err(error),
        Err(PlanError::Refused(_)) => return Ok(Vec::new()),
    };
    let lock_key = ChangeLockKey::from_write_target(&artefact.repository, &target.branch, manifest.as_ref());
    let changes = ctx.store.list_changes_of(&lock_key, HISTORY_LIMIT).await?;
    let history = match load_environment_history(ctx, artefact, target, manifest.as_ref(), changes).await {
        Ok(history) => history,
        Err(PlanError::Lookup(error)) => return Err(error),
        Err(PlanError::Refused(_)) => return Ok(Vec::new()),
    };
    let mut healthy = history.find_healthy_versions();
    healthy.retain(|it| !history.quarantines.iter().any(|quarantine| quarantine.has_version(&it.version, None)));
    Ok(healthy
        .into_iter()
        .take(MAX_SUGGESTIONS)
        .map(|candidate| (candidate.version, candidate.healthy_period))
        .collect())
}

/// The environments in which an artefact can be rolled back.
pub(crate) fn find_rollback_environments(ctx: &Context, artefact: &ArtefactName) -> Vec<EnvironmentName> {
    let catalogue = &ctx.config.catalogue;
    let Some(artefact) = catalogue.find_artefact(artefact.as_str()) else { return Vec::new() };
    let environments = catalogue.ladder.environments().iter();
    let can_roll_back =
        |environment: &&Environment| promotion::check_rollback_target(artefact, environment, &catalogue.ladder).is_ok();
    environments.filter(can_roll_back).map(|environment| environment.name.clone()).collect()
}

/// The change that deployed the current version, if one did. Refuses a request to undo any other change.
fn find_undone_change(
    history: &EnvironmentHistory<'_>,
    request: &RollbackRequest,
) -> Result<Option<ChangeId>, Refusal> {
    let last = history.changes.iter().find(|change| change.stage.result_commit().is_some());
    let deployed_by = last.filter(|change| {
        let result = change.stage.result_commit();
        history.current.as_ref().is_some_and(|current| {
            current.commit.as_ref() == result || history.source_map.is_same_code(current, &change.plan.version)
        })
    });
    if let Some(requested) = request.change_to_undo
        && deployed_by.is_none_or(|change| change.id != requested)
    {
        let version =
            history.changes.iter().find(|change| change.id == requested).map(|change| change.plan.version.clone());
        return Err(Refusal::NoLongerDeployed {
            artefact: history.artefact.name.clone(),
            environment: history.target.name.clone(),
            version: version.unwrap_or_default(),
            current: history.current.clone(),
        });
    }
    Ok(deployed_by.map(|change| change.id))
}

/// Whether the change is a rollback of the artefact that ended in an error.
fn is_errored_rollback(last: &Change, artefact: &ArtefactName) -> bool {
    matches!(last.stage, Stage::Errored { .. }) && last.plan.is_rollback() && last.plan.artefact == *artefact
}
