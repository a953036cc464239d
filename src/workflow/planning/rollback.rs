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
    /// The change to undo, if the button on its card was clicked.
    pub(crate) change_to_undo: Option<ChangeId>,
    /// The environment's policy requests it, not a person.
    pub(crate) automatic: bool,
}

impl RollbackRequest {
    /// The request that repeats the rollback of a plan, to the planned version.
    pub(crate) fn from_plan(requester: &PersonId, plan: &Plan) -> Self {
        let about = plan.rollback_details();
        Self {
            requester: requester.clone(),
            artefact: plan.artefact.clone(),
            environment: plan.environment.clone(),
            target_version: match about {
                Some(about) => {
                    RollbackTarget::Shown { version: plan.version.clone(), found_in: about.found, ran: about.ran }
                }
                None => RollbackTarget::Previous,
            },
            reason: about.and_then(|about| about.reason.as_deref()).map(Into::into),
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
    let moves = ChangeLockKey::from_write_target(&artefact.repository, &target.branch, manifest.as_ref());
    let holder = ctx.store.find_active_change(&moves).await?;
    let meets = holder.as_ref().filter(|holder| matches!(holder.stage, Stage::Merging(_)));
    if let Some(holder) = &holder {
        rules::check_lock_holder(holder.into(), meets.is_some(), &artefact.name, manifest.is_some())?;
    }
    let supersedes = holder.as_ref().and_then(Change::to_conflicting_change);
    let meets = meets.map(ChangeInProgress::from);
    let changes = ctx.store.list_changes_of(&moves, HISTORY_LIMIT).await?;
    // The commit of an errored rollback may be on the branch already. Then only its result has to be stored.
    if let Some(last) = changes.first().filter(|last| is_errored_rollback(last, &artefact.name))
        && find_result_on_branch(ctx, last).await?.is_some()
    {
        let (plan, errored) = (Box::new(last.plan.clone()), Some(Box::new(last.clone())));
        return Ok(RollbackDecision::Planned { plan, errored_change: errored });
    }
    let past = load_environment_history(ctx, artefact, target, manifest.as_ref(), changes).await?;
    let of = find_undone_change(&past, request)?;
    let backs = find_rollback_candidates(ctx, &past, request).await?;
    let Some(back) = backs.first() else {
        let (artefact, environment) = (artefact.name.clone(), target.name.clone());
        return Err(Refusal::NoPreviousVersion { artefact, environment, current: past.current }.into());
    };
    rules::check_candidate(artefact, target, &back.version, &past.quarantines, manifest.is_some())?;
    let mut version = back.version.clone();
    let image = check_rollback_image(ctx, &past, &mut version, &backs).await?;
    let lost = find_lost_commits(ctx, &past, &version).await?;
    let bad = collect_bad_version(ctx, &past).await?;
    let also = ctx.config.catalogue.iter_co_deployed(artefact, &target.name);
    let moving: Vec<_> = std::iter::once(artefact).chain(also).map(|it| it.name.clone()).collect();
    let locks = find_covering_locks(ctx, &target.name, &moving).await?;
    let details = Rollback {
        reason: request.reason.as_deref().map(str::to_owned),
        found: back.found_in,
        ran: back.ran,
        automatic: request.automatic,
        of,
        bad,
        locks,
    };
    let method = target.policy.rollback_method;
    let from = match past.current.clone() {
        Some(current) => Some(add_known_digest(ctx, &past, current).await),
        None => None,
    };
    let facts = RollbackFacts {
        artefact,
        target,
        manifest: manifest.clone(),
        candidate: &back.version,
        version,
        from,
        quarantines: &past.quarantines,
        image,
        lost,
        head: past.head.clone(),
        method,
        supersedes,
        details,
    };
    let permit = rules::check_rollback(&facts)?;
    let plan = Box::new(Plan::new_rollback(permit, facts, &ctx.config.catalogue)?);
    let changes = past.changes;
    if let Some(holder) = meets {
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
        let who = ctx.permissions.label_promoters_and_approvers(&target.name).await;
        return Err(Refusal::NotPermitted {
            action: RestrictedAction::RollBack,
            environment: target.name.clone(),
            permitted: who,
        }
        .into());
    }
    if artefact.places.get(&target.name).is_some_and(|place| !ctx.cluster_view.has_been_read(place)) {
        return Err(LookupError::new_transient(format!("what runs in {} has not been read yet", target.name)).into());
    }
    Ok((artefact, target))
}

/// The versions that the environment can go back to, the requested one first.
async fn find_rollback_candidates(
    ctx: &Context,
    past: &EnvironmentHistory<'_>,
    request: &RollbackRequest,
) -> Result<Vec<RollbackCandidate>, PlanError> {
    match &request.target_version {
        RollbackTarget::Previous => find_previous_versions(ctx, past).await,
        RollbackTarget::Shown { version, found_in: found, ran } => {
            Ok(vec![RollbackCandidate { version: version.clone(), ran: *ran, found_in: *found }])
        }
        RollbackTarget::Named(name) => find_named_candidates(ctx, past, name).await,
    }
}

async fn find_named_candidates(
    ctx: &Context,
    past: &EnvironmentHistory<'_>,
    name: &str,
) -> Result<Vec<RollbackCandidate>, PlanError> {
    let EnvironmentHistory { artefact, target, .. } = past;
    let (short, environment) = (artefact.name.clone(), target.name.clone());
    let ran = past.find_healthy_versions();
    let tagged = find_tagged_version(ctx, past, name).await?;
    let is_requested = |version: &Version| {
        version.is_named(name)
            || tagged.as_ref().is_some_and(|tagged| past.source_map.is_same_code(tagged, version))
            || past.find_promoted_versions(name).any(|brought| past.source_map.is_same_code(brought, version))
    };
    if let Some(current) = past
        .current
        .as_ref()
        .filter(|current| is_requested(current) || is_requested(&past.source_map.resolve_restored(current)))
    {
        return Err(Refusal::SameCode { artefact: short, environment, version: current.clone() }.into());
    }
    let Some(at) = ran.iter().position(|candidate| is_requested(&candidate.version)) else {
        // No sighting has the version, but the history of the manifest or of the branch may.
        let others = match past.manifest {
            Some(_) => find_previous_versions(ctx, past).await?,
            None => find_previous_by_branch(ctx, past).await?,
        };
        if let Some(at) = others.iter().position(|back| is_requested(&back.version)) {
            return Ok(others.into_iter().skip(at).collect());
        }
        let names = ran.iter().take(MAX_SUGGESTIONS).map(|candidate| candidate.version.label().to_owned()).collect();
        let (below, version) = (environment, name.to_owned());
        return Err(Refusal::NeverRanHealthy { artefact: short, below, version, healthy_versions: names }.into());
    };
    Ok(ran.into_iter().skip(at).map(RollbackCandidate::from).collect())
}

/// The version that a change marked with this Git tag, if there is one.
async fn find_tagged_version(
    ctx: &Context,
    past: &EnvironmentHistory<'_>,
    name: &str,
) -> Result<Option<Version>, PlanError> {
    let tagged = past.changes.iter().find(|change| {
        let tag = change.stage.deploying().map(|deploying| &deploying.tag);
        matches!(tag, Some(ResultTag::Made { name: made, .. }) if made == name)
    });
    let Some(change) = tagged else { return Ok(None) };
    let result = change.stage.result_commit().cloned();
    let version = past.source_map.resolve_restored(&Version { commit: result.clone(), ..change.plan.version.clone() });
    let marked = if past.manifest.is_some() { change.plan.pinned_commit().cloned() } else { result };
    match (ctx.github.resolve_tag(&past.artefact.repository, name).await?, marked) {
        (Some(now), Some(marked)) if now != marked => {
            let ran = past
                .find_healthy_versions()
                .into_iter()
                .find(|ran| past.source_map.is_same_code(&ran.version, &version));
            let version = ran.map_or(version, |ran| ran.version);
            let (artefact, environment) = (past.artefact.name.clone(), past.target.name.clone());
            Err(Refusal::TagMoved { artefact, environment, tag: name.to_owned(), version, current_commit: now }.into())
        }
        _ => Ok(Some(version)),
    }
}

/// The commits that the environment would lose: those that the restored version does not have.
async fn find_lost_commits(
    ctx: &Context,
    past: &EnvironmentHistory<'_>,
    version: &Version,
) -> Result<PendingCommits, PlanError> {
    let repository = &past.artefact.repository;
    let there = match past.manifest {
        Some(_) => past.current.as_ref().and_then(|current| current.commit.clone()),
        // Commits that an earlier rollback removed are not lost again.
        None => past.head.clone().map(|head| {
            let stood = Version { commit: Some(head.clone()), ..Version::default() };
            past.source_map.resolve_restored(&stood).commit.unwrap_or(head)
        }),
    };
    let (Some(there), Some(restored)) = (there, &version.commit) else {
        if past.manifest.is_none() {
            let why = format!("the branch {} is not in {repository}", past.target.branch);
            return Err(LookupError::new_permanent(why).into());
        }
        return Ok(PendingCommits::default());
    };
    if past.manifest.is_none() {
        let trees = (
            ctx.github.fetch_tree_sha(repository, &there).await?,
            ctx.github.fetch_tree_sha(repository, restored).await?,
        );
        let Some(restored_tree) = &trees.1 else {
            let why = format!("the commit {} is not in {repository} any more", restored.short());
            return Err(LookupError::new_permanent(why).into());
        };
        rules::check_tree_differs(past.artefact, past.target, version, trees.0.as_ref(), restored_tree)?;
    }
    // Without a common ancestor all commits are lost, and their number is unknown.
    Ok(ctx.comparisons.compute_pending_between(repository, restored, &there).await?.unwrap_or_default())
}

/// The identity of the current version, by which it is recognised again: its commits, the commits that they were merged
/// from, and their trees.
async fn collect_bad_version(ctx: &Context, past: &EnvironmentHistory<'_>) -> Result<BadVersion, PlanError> {
    let repository = &past.artefact.repository;
    let mut bad = BadVersion::default();
    let mut add = |commit: Sha| {
        if !bad.commits.contains(&commit) {
            bad.commits.push(commit);
        }
    };
    let current = past.current.as_ref().and_then(|current| current.commit.clone());
    let original = past.current.as_ref().and_then(|current| past.source_map.resolve_restored(current).commit);
    for commit in current.into_iter().chain(original) {
        let source = past.source_map.resolve_source(&commit);
        // If Gantry did not make the merge, its second parent is the commit that was merged.
        let merged = match past.manifest {
            None if source == commit => ctx.github.resolve_commit(repository, commit.as_str()).await?,
            _ => None,
        };
        add(commit);
        add(source);
        if let Some([_, merged]) = merged.as_ref().map(|merged| merged.parents.as_slice()) {
            add(merged.clone());
        }
    }
    if past.manifest.is_none() {
        past.head.iter().cloned().for_each(&mut add);
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
    let rung = ctx.config.catalogue.ladder.environments().iter().rev().map(|rung| &rung.name).next();
    let production = rung == Some(&plan.environment)
        || policy.is_some_and(|policy| policy.approvals.is_some())
        || ctx
            .config
            .catalogue
            .ladder
            .find(plan.environment.as_str())
            .is_some_and(|rung| rung.promotion_method == PromotionMethod::PullRequest);
    let unsure = plan.rollback_details().is_some_and(|rollback| rollback.found != RollbackEvidence::Ledger)
        || plan.is_image_unconfirmed();
    let locked = plan.rollback_details().is_some_and(|rollback| !rollback.locks.is_empty());
    production || unsure || locked || !plan.also.is_empty() || plan.supersedes.is_some()
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
    let moves = ChangeLockKey::from_write_target(&artefact.repository, &target.branch, manifest.as_ref());
    let changes = ctx.store.list_changes_of(&moves, HISTORY_LIMIT).await?;
    let past = match load_environment_history(ctx, artefact, target, manifest.as_ref(), changes).await {
        Ok(past) => past,
        Err(PlanError::Lookup(error)) => return Err(error),
        Err(PlanError::Refused(_)) => return Ok(Vec::new()),
    };
    let mut ran = past.find_healthy_versions();
    ran.retain(|it| !past.quarantines.iter().any(|quarantine| quarantine.has_version(&it.version, None)));
    Ok(ran.into_iter().take(MAX_SUGGESTIONS).map(|candidate| (candidate.version, candidate.healthy_period)).collect())
}

/// The environments in which an artefact can be rolled back.
pub(crate) fn find_rollback_environments(ctx: &Context, artefact: &ArtefactName) -> Vec<EnvironmentName> {
    let catalogue = &ctx.config.catalogue;
    let Some(artefact) = catalogue.find_artefact(artefact.as_str()) else { return Vec::new() };
    let rungs = catalogue.ladder.environments().iter();
    let can = |rung: &&Environment| promotion::check_rollback_target(artefact, rung, &catalogue.ladder).is_ok();
    rungs.filter(can).map(|rung| rung.name.clone()).collect()
}

/// The change that deployed the current version, if one did. A click on the card of another change comes too late.
fn find_undone_change(past: &EnvironmentHistory<'_>, request: &RollbackRequest) -> Result<Option<ChangeId>, Refusal> {
    let last = past.changes.iter().find(|change| change.stage.result_commit().is_some());
    let brought = last.filter(|change| {
        let result = change.stage.result_commit();
        past.current.as_ref().is_some_and(|current| {
            current.commit.as_ref() == result || past.source_map.is_same_code(current, &change.plan.version)
        })
    });
    if let Some(of) = request.change_to_undo
        && brought.is_none_or(|change| change.id != of)
    {
        let version = past.changes.iter().find(|change| change.id == of).map(|change| change.plan.version.clone());
        return Err(Refusal::NoLongerDeployed {
            artefact: past.artefact.name.clone(),
            environment: past.target.name.clone(),
            version: version.unwrap_or_default(),
            current: past.current.clone(),
        });
    }
    Ok(brought.map(|change| change.id))
}

/// Whether the change is a rollback of the artefact that ended in an error.
fn is_errored_rollback(last: &Change, artefact: &ArtefactName) -> bool {
    matches!(last.stage, Stage::Errored { .. }) && last.plan.is_rollback() && last.plan.artefact == *artefact
}
