//! `rollback`: finds what ran well before, tells what would be lost, and begins the change that brings it back.
//! What the change then does is the runner's, as with a promotion.

use std::sync::Arc;

use crate::domain::change::plan::{CoDeployed, ConflictingChange, PendingCommits, Plan};
use crate::domain::change::{Change, ChangeId, ChangeLockKey, ResultTag, Stage};
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::{Environment, EnvironmentName, PromotionMethod};
use crate::domain::model::version::{Sha, Version};
use crate::domain::rules::promotion;
use crate::domain::rules::promotion::{ChangeInProgress, Refusal, RestrictedAction};
use crate::domain::rules::rollback::{BadVersion, HealthyPeriod, ImagePresence, Rollback, RollbackEvidence};

use crate::workflow::context::Bot;
use crate::workflow::error::No;
use crate::workflow::facts::image_commits::CannotAsk;
use crate::workflow::planning::pending_commits::pins_digest;
use crate::workflow::planning::rollback_candidates::{Back, Past, REMEMBERED};

/// How many versions are offered where another is wanted.
pub(crate) const OFFERED: usize = 5;

/// What is to be rolled back, whereto, and who wants it.
#[derive(Clone, Debug)]
pub(crate) struct BackWish {
    pub(crate) by: PersonId,
    pub(crate) artefact: ArtefactName,
    pub(crate) environment: EnvironmentName,
    pub(crate) to: BackTo,
    pub(crate) reason: Option<Arc<str>>,
    /// The change on whose card the button was pressed: what it brought is to go.
    pub(crate) of: Option<ChangeId>,
    /// The environment's own rule.
    pub(crate) automatic: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum BackTo {
    Previous,
    /// By its tag, the beginning of its commit, or the tag of a change in Git.
    Named(Arc<str>),
    /// What was shown.
    Shown {
        version: Version,
        found: RollbackEvidence,
        ran: Option<HealthyPeriod>,
    },
}

/// What the rules say to it.
pub(crate) enum BackDecision {
    Refused(Refusal),
    Planned {
        plan: Box<Plan>,
        /// The same was tried before and did not come to its end.
        errored: Option<Box<Change>>,
    },
    /// A promotion is being merged there: the rollback waits for that or cancels it, as the person chooses.
    Meets {
        plan: Box<Plan>,
        holder: ChangeInProgress,
    },
}

impl Past<'_> {
    /// What promotions brought that is called so below.
    fn brought<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Version> {
        let promotions =
            self.changes.iter().filter(|it| it.plan.rollback.is_none() && it.stage.result_commit().is_some());
        promotions.map(|change| &change.plan.version).filter(move |version| version.is_named(name))
    }
}

impl Bot {
    /// Has no effect, and locks nothing.
    pub(crate) async fn decide_back(&self, wish: &BackWish) -> Result<BackDecision, CannotAsk> {
        // Boxed: it is large, and most who may come here do not.
        match Box::pin(self.planned_back(wish)).await {
            Ok(decision) => Ok(decision),
            Err(No::Refused(refusal)) => Ok(BackDecision::Refused(refusal)),
            Err(No::CannotAsk(error)) => Err(error),
        }
    }

    async fn planned_back(&self, wish: &BackWish) -> Result<BackDecision, No> {
        let (artefact, target) = self.may_go_back(wish).await?;
        let manifest = self.manifest_file(artefact, target).await?;
        let moves = ChangeLockKey::from_write_target(&artefact.repository, &target.branch, manifest.as_ref());
        let holder = self.store.holder(&moves).await?;
        let meets = holder.as_ref().filter(|holder| matches!(holder.stage, Stage::Merging(_)));
        if let Some(holder) = meets.filter(|holder| holder.plan.rollback.is_some()) {
            return Err(Refusal::ChangeInProgress(ChangeInProgress::from(holder)).into());
        }
        // Of the same file another artefact may be changed: that is not taken back by this, and does not give way to it.
        if let Some(holder) = holder.as_ref().filter(|it| manifest.is_some() && it.plan.artefact != artefact.name) {
            return Err(Refusal::ChangeInProgress(ChangeInProgress::from(holder)).into());
        }
        let supersedes = holder.as_ref().and_then(ConflictingChange::from_change);
        let meets = meets.map(ChangeInProgress::from);
        let changes = self.store.changes_of(&moves, REMEMBERED).await?;
        // Git may have it, though nobody heard of it: then what is left is to write that down.
        if let Some(last) = changes.first().filter(|last| is_errored(last, &artefact.name))
            && self.find_result(last).await?.is_some()
        {
            let (plan, errored) = (Box::new(last.plan.clone()), Some(Box::new(last.clone())));
            return Ok(BackDecision::Planned { plan, errored });
        }
        let past = self.past(artefact, target, manifest.as_ref(), changes).await?;
        let of = taken_back(&past, wish)?;
        let backs = self.backs(&past, wish).await?;
        let Some(back) = backs.first() else {
            let (artefact, environment) = (artefact.name.clone(), target.name.clone());
            return Err(Refusal::NoPreviousVersion { artefact, environment, current: past.current }.into());
        };
        let mut version = back.version.clone();
        let image = self.image_of(&past, &mut version, &backs).await?;
        let lost = self.lost(&past, &version).await?;
        let bad = self.bad(&past).await?;
        let also = self.config.catalogue.iter_co_deployed(artefact, &target.name);
        let also: Vec<CoDeployed> = also
            .map(|other| CoDeployed { artefact: other.name.clone(), changes: lost.files.may_be_relevant_to(other) })
            .collect();
        let moving: Vec<_> =
            std::iter::once(artefact.name.clone()).chain(also.iter().map(|also| also.artefact.clone())).collect();
        let locks = self.locks_on(&target.name, &moving).await?;
        let rollback = Rollback {
            reason: wish.reason.as_deref().map(str::to_owned),
            found: back.found,
            ran: back.ran,
            automatic: wish.automatic,
            of,
            bad,
            locks,
        };
        let policy = self.config.environments.get(&target.name);
        let promote = policy.map_or(PromotionMethod::Merge, |policy| policy.rollback);
        let head = past.head.clone();
        let from = match past.current.clone() {
            Some(current) => Some(self.with_digest(&past, current).await),
            None => None,
        };
        let changes = past.changes;
        let plan = Plan::new_rollback(artefact, target, version, from, &lost, rollback);
        let plan = Box::new(Plan { manifest, also, head, promote, supersedes, image, ..plan });
        if let Some(holder) = meets {
            return Ok(BackDecision::Meets { plan, holder });
        }
        // The same was tried before and could not be done.
        let errored = changes
            .into_iter()
            .next()
            .filter(|last| is_errored(last, &plan.artefact) && last.plan.version.is_same_as(&plan.version));
        Ok(BackDecision::Planned { plan, errored: errored.map(Box::new) })
    }

    /// The artefact and the rung, where it can be rolled back and the person may do it.
    async fn may_go_back(&self, wish: &BackWish) -> Result<(&Artefact, &Environment), No> {
        let catalogue = &self.config.catalogue;
        let Some(artefact) = catalogue.find_artefact(wish.artefact.as_str()) else {
            return Err(CannotAsk::never(format!("there is no artefact {}", wish.artefact)).into());
        };
        let Some(target) = catalogue.ladder.find(wish.environment.as_str()) else {
            return Err(CannotAsk::never(format!("there is no environment {}", wish.environment)).into());
        };
        promotion::check_rollback_target(artefact, target, &catalogue.ladder)?;
        if !wish.automatic && !self.may_hold(&wish.by, &target.name, &artefact.repository).await? {
            let who = self.called(&self.holders(&target.name)).await;
            return Err(Refusal::NotPermitted {
                action: RestrictedAction::RollBack,
                environment: target.name.clone(),
                permitted: who,
            }
            .into());
        }
        if artefact.places.get(&target.name).is_some_and(|place| !self.view.is_read(place)) {
            return Err(CannotAsk::later(format!("what runs in {} has not been read yet", target.name)).into());
        }
        Ok((artefact, target))
    }

    /// What it can go back to, the one that is meant first.
    async fn backs(&self, past: &Past<'_>, wish: &BackWish) -> Result<Vec<Back>, No> {
        match &wish.to {
            BackTo::Previous => self.versions_before(past).await,
            BackTo::Shown { version, found, ran } => {
                let (artefact, environment) = (past.artefact.name.clone(), past.target.name.clone());
                if let Some(barred) = past.quarantines.iter().find(|it| it.has_version(version, None)) {
                    let (version, quarantine) = (version.clone(), Box::new(barred.clone()));
                    let by_rollback = true;
                    let barred = Refusal::Quarantined { artefact, environment, version, quarantine, by_rollback };
                    return Err(barred.into());
                }
                Ok(vec![Back { version: version.clone(), ran: *ran, found: *found }])
            }
            BackTo::Named(name) => self.named(past, name).await,
        }
    }

    async fn named(&self, past: &Past<'_>, name: &str) -> Result<Vec<Back>, No> {
        let Past { artefact, target, .. } = past;
        let (short, environment) = (artefact.name.clone(), target.name.clone());
        let ran = past.ran_well();
        let tagged = self.tagged(past, name).await?;
        let is = |version: &Version| {
            version.is_named(name)
                || tagged.as_ref().is_some_and(|tagged| past.codes.is_same_code(tagged, version))
                || past.brought(name).any(|brought| past.codes.is_same_code(brought, version))
        };
        if let Some(current) =
            past.current.as_ref().filter(|current| is(current) || is(&past.codes.resolve_restored(current)))
        {
            return Err(Refusal::SameCode { artefact: short, environment, version: current.clone() }.into());
        }
        let Some(at) = ran.iter().position(|candidate| is(&candidate.version)) else {
            // Where nobody saw it, others than the ledger may know of it: the file or the branch as it was.
            let others = match past.manifest {
                Some(_) => self.versions_before(past).await?,
                None => self.before_by_branch(past).await?,
            };
            if let Some(at) = others.iter().position(|back| is(&back.version)) {
                return Ok(others.into_iter().skip(at).collect());
            }
            let names = ran.iter().take(OFFERED).map(|candidate| candidate.version.label().to_owned()).collect();
            let (below, version) = (environment, name.to_owned());
            return Err(Refusal::NeverRanHealthy { artefact: short, below, version, healthy_versions: names }.into());
        };
        let mut backs: Vec<Back> = ran.into_iter().skip(at).map(Back::from).collect();
        if let Some(barred) = past.quarantines.iter().find(|it| it.has_version(&backs[0].version, None)) {
            let (version, quarantine) = (backs[0].version.clone(), Box::new(barred.clone()));
            let by_rollback = true;
            return Err(Refusal::Quarantined { artefact: short, environment, version, quarantine, by_rollback }.into());
        }
        if past.manifest.is_none() && backs[0].version.commit.is_none() {
            let version = backs.swap_remove(0).version;
            return Err(Refusal::CommitUnknown { artefact: short, below: environment, version }.into());
        }
        Ok(backs)
    }

    /// The version that a change marked with this tag in Git, if one did.
    async fn tagged(&self, past: &Past<'_>, name: &str) -> Result<Option<Version>, No> {
        let tagged = past.changes.iter().find(|change| {
            let tag = change.stage.deploying().map(|deploying| &deploying.tag);
            matches!(tag, Some(ResultTag::Made { name: made, .. }) if made == name)
        });
        let Some(change) = tagged else { return Ok(None) };
        let result = change.stage.result_commit().cloned();
        let version = past.codes.resolve_restored(&Version { commit: result.clone(), ..change.plan.version.clone() });
        let marked = if past.manifest.is_some() { change.plan.pinned.clone() } else { result };
        match (self.github.tag_commit(&past.artefact.repository, name).await?, marked) {
            (Some(now), Some(marked)) if now != marked => {
                let ran = past.ran_well().into_iter().find(|ran| past.codes.is_same_code(&ran.version, &version));
                let version = ran.map_or(version, |ran| ran.version);
                let (artefact, environment) = (past.artefact.name.clone(), past.target.name.clone());
                Err(Refusal::TagMoved { artefact, environment, tag: name.to_owned(), version, current_commit: now }
                    .into())
            }
            _ => Ok(Some(version)),
        }
    }

    /// By manifest the image itself returns, so it must be there and be the one that ran; by branch that is only worth a
    /// word.
    async fn image_of(&self, past: &Past<'_>, version: &mut Version, backs: &[Back]) -> Result<ImagePresence, No> {
        let artefact = past.artefact;
        let Some(file) = past.manifest else {
            // A version that Git tells of has no image that we know of.
            let known = backs.first().is_some_and(|back| back.found != RollbackEvidence::Git) && version.tag.is_some();
            return Ok(if known { self.image_there(artefact, version).await.0 } else { ImagePresence::Yes });
        };
        if past.current.as_ref().is_some_and(|current| current.is_same_image(version)) {
            let (artefact, environment) = (artefact.name.clone(), past.target.name.clone());
            return Err(Refusal::SameCode { artefact, environment, version: version.clone() }.into());
        }
        let (there, digest) = self.image_there(artefact, version).await;
        let moved = match &digest {
            Some(digest) => self.has_moved(past, version, digest).await,
            None => false,
        };
        if there == ImagePresence::Gone || moved {
            let instead = self.still_there(past, backs.get(1..).unwrap_or_default()).await;
            let (artefact, environment) = (artefact.name.clone(), past.target.name.clone());
            let version = version.clone();
            return Err(Refusal::ImageMissing {
                artefact,
                environment,
                version,
                tag_moved: moved,
                alternative: instead,
            }
            .into());
        }
        if let Some(digest) = digest {
            version.digest = Some(digest.into());
        }
        Self::has_what_is_written(artefact, version, &there)?;
        self.can_write(artefact, file, version).await?;
        Ok(there)
    }

    /// Is the tag another image now than when it ran there?
    pub(crate) async fn has_moved(&self, past: &Past<'_>, version: &Version, digest: &str) -> bool {
        let was = past.changes.iter().find_map(|change| {
            let plan = &change.plan;
            plan.version
                .digest
                .as_deref()
                .filter(|_| plan.version.tag == version.tag && change.stage.result_commit().is_some())
        });
        if pins_digest(past.artefact) && version.digest.is_some() {
            // The image was asked for by its digest, which is never another one's.
            return false;
        }
        if let Some(was) = version.digest.as_deref().or(was) {
            return was != digest;
        }
        self.is_of_another_commit(past.artefact, version).await
    }

    /// By manifest the digest of what is there, by which it is known again under any tag.
    async fn with_digest(&self, past: &Past<'_>, current: Version) -> Version {
        if past.manifest.is_none() || current.digest.is_some() {
            return current;
        }
        let written = past.changes.iter().find(|change| change.plan.version.is_same_image(&current));
        let digest = match written.and_then(|change| change.plan.version.digest.clone()) {
            Some(digest) => Some(digest),
            None => self.image_there(past.artefact, &current).await.1.map(Into::into),
        };
        Version { digest, ..current }
    }

    /// What the environment would lose: what is there and not in the version that comes back.
    async fn lost(&self, past: &Past<'_>, version: &Version) -> Result<PendingCommits, No> {
        let repository = &past.artefact.repository;
        let there = match past.manifest {
            Some(_) => past.current.as_ref().and_then(|current| current.commit.clone()),
            // What a rollback took away before is not lost once more.
            None => past.head.clone().map(|head| {
                let stood = Version { commit: Some(head.clone()), ..Version::default() };
                past.codes.resolve_restored(&stood).commit.unwrap_or(head)
            }),
        };
        let (Some(there), Some(restored)) = (there, &version.commit) else {
            if past.manifest.is_none() {
                let why = format!("the branch {} is not in {repository}", past.target.branch);
                return Err(CannotAsk::never(why).into());
            }
            return Ok(PendingCommits::default());
        };
        if past.manifest.is_none() {
            let trees =
                (self.github.tree_of(repository, &there).await?, self.github.tree_of(repository, restored).await?);
            if trees.1.is_none() {
                let why = format!("the commit {} is not in {repository} any more", restored.short());
                return Err(CannotAsk::never(why).into());
            }
            if trees.0 == trees.1 {
                let (artefact, environment) = (past.artefact.name.clone(), past.target.name.clone());
                return Err(Refusal::SameCode { artefact, environment, version: version.clone() }.into());
            }
        }
        // Where they have nothing in common all of it goes, and nobody can say how much that is.
        Ok(self.pending_between(repository, restored, &there).await?.unwrap_or_default())
    }

    /// By what the version that is there would be known again: its commits, what they were merged from, and their trees.
    async fn bad(&self, past: &Past<'_>) -> Result<BadVersion, No> {
        let repository = &past.artefact.repository;
        let mut bad = BadVersion::default();
        let mut add = |commit: Sha| {
            if !bad.commits.contains(&commit) {
                bad.commits.push(commit);
            }
        };
        let current = past.current.as_ref().and_then(|current| current.commit.clone());
        let original = past.current.as_ref().and_then(|current| past.codes.resolve_restored(current).commit);
        for commit in current.into_iter().chain(original) {
            let source = past.codes.resolve_source(&commit);
            // Where it was merged by other hands, its second parent is what was merged.
            let merged = match past.manifest {
                None if source == commit => self.github.commit(repository, commit.as_str()).await?,
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
                if let Some(tree) = self.github.tree_of(repository, &commit).await?
                    && !bad.trees.contains(&tree)
                {
                    bad.trees.push(tree);
                }
            }
        }
        Ok(bad)
    }

    /// Must a person say yes to what was found? In production, and wherever it is not just the version before.
    pub(crate) fn asks_before_rollback(&self, plan: &Plan) -> bool {
        let policy = self.config.environments.get(&plan.environment);
        let rung = self.config.catalogue.ladder.environments().iter().rev().map(|rung| &rung.name).next();
        let production = rung == Some(&plan.environment)
            || policy.is_some_and(|policy| policy.approvals.is_some())
            || self
                .config
                .catalogue
                .ladder
                .find(plan.environment.as_str())
                .is_some_and(|rung| rung.promotion_method == PromotionMethod::PullRequest);
        let unsure = plan.rollback.as_ref().is_some_and(|rollback| rollback.found != RollbackEvidence::Ledger)
            || (plan.manifest.is_some() && plan.image != ImagePresence::Yes);
        let locked = plan.rollback.as_ref().is_some_and(|rollback| !rollback.locks.is_empty());
        production || unsure || locked || !plan.also.is_empty() || plan.supersedes.is_some()
    }

    /// The versions that ran well there, for somebody who wants another.
    pub(crate) async fn other_versions(
        &self,
        artefact: &Artefact,
        target: &Environment,
    ) -> Result<Vec<(Version, HealthyPeriod)>, CannotAsk> {
        let manifest = match self.manifest_file(artefact, target).await {
            Ok(manifest) => manifest,
            Err(No::CannotAsk(error)) => return Err(error),
            Err(No::Refused(_)) => return Ok(Vec::new()),
        };
        let moves = ChangeLockKey::from_write_target(&artefact.repository, &target.branch, manifest.as_ref());
        let changes = self.store.changes_of(&moves, REMEMBERED).await?;
        let past = match self.past(artefact, target, manifest.as_ref(), changes).await {
            Ok(past) => past,
            Err(No::CannotAsk(error)) => return Err(error),
            Err(No::Refused(_)) => return Ok(Vec::new()),
        };
        let mut ran = past.ran_well();
        ran.retain(|it| !past.quarantines.iter().any(|quarantine| quarantine.has_version(&it.version, None)));
        Ok(ran.into_iter().take(OFFERED).map(|candidate| (candidate.version, candidate.healthy_period)).collect())
    }

    /// Where an artefact can be rolled back at all.
    pub(crate) fn can_go_back_in(&self, artefact: &ArtefactName) -> Vec<EnvironmentName> {
        let catalogue = &self.config.catalogue;
        let Some(artefact) = catalogue.find_artefact(artefact.as_str()) else { return Vec::new() };
        let rungs = catalogue.ladder.environments().iter();
        let can = |rung: &&Environment| promotion::check_rollback_target(artefact, rung, &catalogue.ladder).is_ok();
        rungs.filter(can).map(|rung| rung.name.clone()).collect()
    }
}

/// The change that brought what is there, if one did. A button on the card of another is too late.
fn taken_back(past: &Past<'_>, wish: &BackWish) -> Result<Option<ChangeId>, Refusal> {
    let last = past.changes.iter().find(|change| change.stage.result_commit().is_some());
    let brought = last.filter(|change| {
        let result = change.stage.result_commit();
        past.current.as_ref().is_some_and(|current| {
            current.commit.as_ref() == result || past.codes.is_same_code(current, &change.plan.version)
        })
    });
    if let Some(of) = wish.of
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

/// A rollback of the artefact that could not be done.
fn is_errored(last: &Change, artefact: &ArtefactName) -> bool {
    matches!(last.stage, Stage::Errored { .. }) && last.plan.rollback.is_some() && last.plan.artefact == *artefact
}
