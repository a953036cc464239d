//! `promote`: reads the facts and asks the rules. What is planned begins in `begin`, and what it then does is the runner's.

use std::sync::Arc;

use jiff::Timestamp;

use crate::config::Policy;
use crate::domain::change::plan::{ConflictingChange, ManifestFile, Plan, PromotionFacts};
use crate::domain::change::{Change, ChangeLockKey, Stage};
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::{Environment, EnvironmentName, PromotionMethod};
use crate::domain::model::version::{Sha, Version};
use crate::domain::rules::freeze;
use crate::domain::rules::gate::{GateInputs, HealthySince};
use crate::domain::rules::promotion;
use crate::domain::rules::promotion::{AskerRole, ChangeInProgress, Refusal, RestrictedAction};
use crate::domain::rules::rollback::ImagePresence;
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::runtime::sighting::Sighting;
use crate::domain::view::why::Obstacles;

use crate::workflow::context::Bot;
use crate::workflow::error::{No, known};
use crate::workflow::facts::image_commits::CannotAsk;
use crate::workflow::planning::pending_commits::{pins_digest, unknown};

/// How far back a version is looked for that is named.
const REMEMBERED_STAYS: u32 = 200;
/// How many versions are offered where the one that was named never ran well.
const OFFERED: usize = 5;

/// What is to be promoted, whereto, and who wants it.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) by: PersonId,
    pub(crate) artefact: ArtefactName,
    pub(crate) environment: Option<EnvironmentName>,
    pub(crate) what: What,
    /// Why the gates that are shut are to be passed.
    pub(crate) overriding: Option<Arc<str>>,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    /// Whatever runs well below.
    RunsBelow,
    /// A version that has run well below, by its tag or the beginning of its commit.
    Named(Arc<str>),
    /// Exactly this commit, which has run well below.
    Commit(Sha),
    /// Exactly this image: by manifest, another of the same commit is not the same.
    Image(Version),
    /// The version of the stay below that was first seen then.
    Stay(Timestamp),
}

impl What {
    /// What was planned, and nothing else.
    pub(crate) fn of(plan: &Plan) -> Self {
        match (&plan.manifest, &plan.pinned) {
            (None, Some(pinned)) => Self::Commit(pinned.clone()),
            _ => Self::Image(plan.version.clone()),
        }
    }
}

/// An artefact, an environment, and the other environments that could have been meant.
pub(crate) type Aim<'a> = (&'a Artefact, &'a Environment, Option<Vec<EnvironmentName>>);

/// What the rules say to it.
pub(crate) enum Decision {
    Refused(Refusal),
    Planned {
        plan: Box<Plan>,
        /// The rungs that are behind as well, where none was named.
        others: Option<Vec<EnvironmentName>>,
        /// The same was tried before and did not come to its end.
        errored: Option<Box<Change>>,
    },
}

impl Bot {
    /// Has no effect, and locks nothing.
    pub(crate) async fn decide(&self, wish: &Wish) -> Result<Decision, CannotAsk> {
        match self.planned(wish, &mut Obstacles::new_first_only()).await {
            Ok(decision) => Ok(decision),
            Err(No::Refused(refusal)) => Ok(Decision::Refused(refusal)),
            Err(No::CannotAsk(error)) => Err(error),
        }
    }

    async fn planned(&self, wish: &Wish, blockers: &mut Obstacles) -> Result<Decision, No> {
        let (artefact, target, others) = self.aim(wish).await?;
        let (plan, errored) = self.judged(wish, artefact, target, blockers).await?;
        Ok(Decision::Planned { plan, others, errored })
    }

    /// What goes where; and the rungs that are behind as well, where none was named.
    pub(crate) async fn aim(&self, wish: &Wish) -> Result<Aim<'_>, No> {
        let Some(artefact) = self.config.catalogue.find_artefact(wish.artefact.as_str()) else {
            return Err(CannotAsk::never(format!("there is no artefact {}", wish.artefact)).into());
        };
        if let Some(name) = &wish.environment {
            return Ok((artefact, self.rung(name)?, None));
        }
        let behind = self.rungs_behind(artefact).await?;
        let Some((target, others)) = behind.split_first() else {
            return Err(Refusal::NothingToPromote { artefact: artefact.name.clone() }.into());
        };
        Ok((artefact, *target, Some(others.iter().map(|rung| rung.name.clone()).collect())))
    }

    /// Every rule, in order. Whoever wants the first that stands in the way is stopped there; whoever wants all goes on as
    /// far as anything can be known, and is stopped at the end.
    pub(crate) async fn judged(
        &self,
        wish: &Wish,
        artefact: &Artefact,
        target: &Environment,
        blockers: &mut Obstacles,
    ) -> Result<(Box<Plan>, Option<Box<Change>>), No> {
        let catalogue = &self.config.catalogue;
        let policy = self.config.environments.get(&target.name).cloned().unwrap_or_default();
        let below = promotion::require_environment_below(artefact, target, &catalogue.ladder)?;
        self.check_rights(wish, artefact, target, &policy, blockers).await?;
        for rung in [below, target] {
            // After a start, what the cluster runs is not known yet: that is no reason to refuse anything.
            if artefact.places.get(&rung.name).is_some_and(|place| !self.view.is_read(place)) {
                return Err(CannotAsk::later(format!("what runs in {} has not been read yet", rung.name)).into());
            }
        }
        let goes = match known(self.version_below(artefact, below, &wish.what).await, blockers)? {
            Some(goes) => Some(goes),
            None => self.comes_up_below(artefact, below).await?.map(|version| (version, None)),
        };
        let manifest = known(self.manifest_file(artefact, target).await, blockers)?;
        let mut supersedes = None;
        if let Some(manifest) = &manifest {
            let moves = ChangeLockKey::from_write_target(&artefact.repository, &target.branch, manifest.as_ref());
            match self.store.holder(&moves).await? {
                Some(holder) if goes.as_ref().is_some_and(|(version, _)| gives_way(&holder, artefact, version)) => {
                    supersedes = ConflictingChange::from_change(&holder);
                }
                Some(holder) => {
                    blockers.record_refusal(Refusal::ChangeInProgress(self.under_way(&holder, &wish.by).await))?;
                }
                None => {}
            }
        }
        let from = known(self.runs_there(artefact, target).map_err(No::from), blockers)?.flatten();
        let Some((mut version, well)) = goes else {
            // Nothing tells what would go: what holds the environment itself is known without that.
            let watch = self.watch(artefact, target, &policy, None).await?;
            promotion::check_environment_gates(&watch, target, blockers)?;
            return Err(CannotAsk::later(format!("what runs in {} is not known", below.name)).into());
        };
        blockers.set_version(&version);
        let pinned = version.commit.clone();
        let coming = match (&manifest, &pinned) {
            (None, _) => None,
            (Some(None), Some(pinned)) => {
                known(self.coming_by_branch(artefact, target, &version, pinned).await, blockers)?
            }
            // What is approved without a pull request is approved by its commit.
            (Some(Some(_)), pinned) if pinned.is_some() || !is_by_commit(target, &policy) => {
                Some((self.coming_by_manifest(artefact, from.as_ref(), pinned.as_ref()).await?, Vec::new()))
            }
            _ => {
                let (artefact, below, version) = (artefact.name.clone(), below.name.clone(), version.clone());
                blockers.record_refusal(Refusal::CommitUnknown { artefact, below, version })?;
                None
            }
        };
        let manifest = manifest.flatten();
        let image = match &manifest {
            Some(file) => known(self.image_to_write(artefact, target, file, &mut version).await, blockers)?,
            None => None,
        };
        let (mut pending, undoes) = coming.unwrap_or_else(|| (unknown(), Vec::new()));
        let checks = match (&pinned, pending.ahead_by) {
            (None, _) | (_, 0) => crate::domain::change::plan::CiChecks::default(),
            (Some(pinned), _) => self.github.checks(&artefact.repository, pinned).await?,
        };
        let errored = self.errored_before(artefact, target, &version).await?;
        let quarantines = self.quarantines_of(artefact, target, &version, &mut pending).await?;
        let watch = GateInputs { quarantines, ..self.watch(artefact, target, &policy, well).await? };
        let facts = PromotionFacts {
            artefact,
            target,
            below,
            version,
            pinned,
            from,
            manifest,
            undoes,
            image: image.unwrap_or_default(),
            pending,
            checks,
            checks_required: policy.checks_required,
            gate_inputs: watch,
            overriding: wish.overriding.clone().map(|reason| (wish.by.clone(), reason)),
            supersedes,
        };
        if let (Err(Refusal::NothingNew { .. }), Some(errored)) = (promotion::check_has_effect(&facts), &errored) {
            // It may have been merged before it ended in an error: then the branch has it, and it goes on from there.
            blockers.finish_check()?;
            return Ok((Box::new(errored.plan.clone()), Some(errored.clone())));
        }
        let permit = promotion::check_promotion(&facts, blockers)?;
        let plan = Box::new(Plan::new(permit, facts, catalogue));
        let errored = errored.filter(|errored| self.goes_on(errored, &plan));
        Ok((plan, errored))
    }

    async fn check_rights(
        &self,
        wish: &Wish,
        artefact: &Artefact,
        target: &Environment,
        policy: &Policy,
        blockers: &mut Obstacles,
    ) -> Result<(), No> {
        if !self.may_promote(&wish.by, &target.name, &artefact.repository).await? {
            let (act, environment, who) =
                (RestrictedAction::Promote, target.name.clone(), self.called(&policy.promoters).await);
            blockers.record_refusal(Refusal::NotPermitted { action: act, environment, permitted: who })?;
        }
        if wish.overriding.is_some() && !self.may_override(&wish.by, &target.name, &artefact.repository).await? {
            // Unlike elsewhere, where nobody is named nobody may.
            let who = if policy.overriders.is_empty() { Vec::new() } else { self.called(&policy.overriders).await };
            let (act, environment) = (RestrictedAction::Override, target.name.clone());
            blockers.record_refusal(Refusal::NotPermitted { action: act, environment, permitted: who })?;
        }
        Ok(())
    }

    /// What is under way, as it is for whoever asks.
    async fn under_way(&self, holder: &Change, by: &PersonId) -> ChangeInProgress {
        let plan = &holder.plan;
        let asker = if holder.requester == *by {
            AskerRole::Requester
        // Where nobody can tell, nothing is offered.
        } else if holder.stage.can_cancel()
            && self.may_approve(by, &plan.environment, &plan.repository).await.unwrap_or_default()
        {
            AskerRole::Approver
        } else {
            AskerRole::Other
        };
        ChangeInProgress { asker_role: asker, ..ChangeInProgress::from(holder) }
    }

    /// The last change there, if it wanted the same and did not come to its end.
    async fn errored_before(
        &self,
        artefact: &Artefact,
        target: &Environment,
        version: &Version,
    ) -> Result<Option<Box<Change>>, No> {
        let last = self.store.last_change(&artefact.name, &target.name).await?;
        let errored = last.filter(|last| matches!(last.stage, Stage::Errored { .. }) && last.plan.rollback.is_none());
        Ok(errored.filter(|last| last.plan.version.is_same_as(version)).map(Box::new))
    }

    /// Is the plan that of the change which ended in an error? Where it was overridden, or the rules have been changed since,
    /// it makes another change: what was asked and said then is not asked and said now.
    fn goes_on(&self, errored: &Change, plan: &Plan) -> bool {
        let waited = matches!(&errored.stage, Stage::Errored { merging, .. } if merging.awaiting.is_some());
        errored.change_lock_key() == plan.change_lock_key()
            && errored.plan.promote == plan.promote
            && errored.plan.overridden == plan.overridden
            && (waited || !self.is_awaited(plan))
    }

    /// What the gates look at.
    async fn watch(
        &self,
        artefact: &Artefact,
        target: &Environment,
        policy: &Policy,
        well: Option<HealthySince>,
    ) -> Result<GateInputs, CannotAsk> {
        let now = self.clock.now();
        let also = self.config.catalogue.iter_co_deployed(artefact, &target.name).map(|also| also.name.clone());
        let moving: Vec<ArtefactName> = std::iter::once(artefact.name.clone()).chain(also).collect();
        let locks = self.locks_on(&target.name, &moving).await?;
        let freeze = freeze::find_active_window(&policy.freezes, now);
        let mut holds = self.store.holds(&target.name).await?;
        holds.retain(|hold| hold.has_any_artefact(&moving));
        Ok(GateInputs { locks, freeze, soak: policy.soak, healthy_since: well, quarantines: Vec::new(), holds, now })
    }

    fn rung(&self, name: &EnvironmentName) -> Result<&Environment, No> {
        let gone = || No::from(CannotAsk::never(format!("there is no environment {name}")));
        self.config.catalogue.ladder.find(name.as_str()).ok_or_else(gone)
    }

    /// The rungs that do not have what the one below runs, lowest first.
    async fn rungs_behind<'a>(&'a self, artefact: &Artefact) -> Result<Vec<&'a Environment>, CannotAsk> {
        let ladder = &self.config.catalogue.ladder;
        let (mut behind, mut unknown) = (Vec::new(), Vec::new());
        for rung in ladder.environments() {
            let (Some(place), Some(below)) =
                (artefact.places.get(&rung.name), ladder.find_next_below(&rung.name, artefact))
            else {
                continue;
            };
            let Some(source) = self.seen.commit(&artefact.name, &below.name) else {
                unknown.push(rung);
                continue;
            };
            let missing = matches!(self.view.rollout(place, &artefact.image).state, RolloutState::Missing);
            match self.seen.commit(&artefact.name, &rung.name) {
                _ if missing => behind.push(rung),
                Some(here) if self.is_behind(artefact, &here, &source).await? => behind.push(rung),
                Some(_) => {}
                None => unknown.push(rung),
            }
        }
        // What is not known to be behind is only looked at where nothing is: the rules say what is wrong with it.
        if behind.is_empty() {
            behind.extend(unknown.into_iter().take(1));
        }
        Ok(behind)
    }

    /// What would go, with its commit as far as anything tells it, and since when it has run well below.
    async fn version_below(
        &self,
        artefact: &Artefact,
        below: &Environment,
        what: &What,
    ) -> Result<(Version, Option<HealthySince>), No> {
        let stay = match what {
            What::RunsBelow => {
                let Some(place) = artefact.places.get(&below.name) else {
                    let (artefact, below) = (artefact.name.clone(), below.name.clone());
                    return Err(Refusal::NotRunningBelow { artefact, below }.into());
                };
                let rollout = self.view.rollout(place, &artefact.image);
                let version =
                    promotion::require_healthy_version(artefact, below, &rollout, &self.config.catalogue.ladder)?;
                let seen = self.seen.sighting(&artefact.name, &below.name);
                // The observer is about to record it: what it knows of the version is not known here yet.
                seen.filter(|seen| seen.version.is_same_image(&version)).ok_or_else(|| {
                    CannotAsk::later(format!("{} has just come to run in {}", version.label(), below.name))
                })?
            }
            What::Named(_) | What::Commit(_) | What::Image(_) | What::Stay(_) => {
                self.ran_well(artefact, below, what).await?
            }
        };
        let commit = self.commit_of_stay(artefact, &stay).await?;
        let well = stay.healthy_since.map(|since| HealthySince { since, until: stay.ended_at });
        Ok((Version { commit, ..stay.version }, well))
    }

    /// What is to run below and does not run well there, with its commit where that is known by now.
    async fn comes_up_below(&self, artefact: &Artefact, below: &Environment) -> Result<Option<Version>, CannotAsk> {
        let Some(place) = artefact.places.get(&below.name) else { return Ok(None) };
        let rollout = self.view.rollout(place, &artefact.image);
        let (RolloutState::RollingOut { .. } | RolloutState::Degraded { .. }) = rollout.state else { return Ok(None) };
        let seen = self.seen.sighting(&artefact.name, &below.name);
        let Some(stay) = seen.filter(|seen| rollout.version.is_some_and(|now| seen.version.is_same_image(&now))) else {
            return Ok(None);
        };
        let commit = self.commit_of_stay(artefact, &stay).await?;
        Ok(commit.map(|commit| Version { commit: Some(commit), ..stay.version }))
    }

    async fn commit_of_stay(&self, artefact: &Artefact, stay: &Sighting) -> Result<Option<Sha>, CannotAsk> {
        match &stay.version.commit {
            Some(commit) => Ok(Some(commit.clone())),
            None => Ok(self.source_of(artefact, stay).await?.map(|(commit, _)| commit)),
        }
    }

    /// The image that is to be written into a manifest: it must be there, and the file must be one that can be written.
    async fn image_to_write(
        &self,
        artefact: &Artefact,
        target: &Environment,
        file: &ManifestFile,
        version: &mut Version,
    ) -> Result<ImagePresence, No> {
        let (there, digest) = self.image_there(artefact, version).await;
        let moved = match (&digest, &version.digest) {
            (None, _) => false,
            (Some(_), Some(_)) if pins_digest(artefact) => false,
            (Some(now), Some(seen)) => **now != **seen,
            (Some(_), None) => self.is_of_another_commit(artefact, version).await,
        };
        if there == ImagePresence::Gone || moved {
            let (artefact, environment) = (artefact.name.clone(), target.name.clone());
            return Err(Refusal::ImageMissing {
                artefact,
                environment,
                version: version.clone(),
                tag_moved: moved,
                alternative: None,
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

    /// A stay below of the version that is named, if it ran well.
    async fn ran_well(&self, artefact: &Artefact, below: &Environment, what: &What) -> Result<Sighting, No> {
        let stays = self.store.sightings(&artefact.name, &below.name, REMEMBERED_STAYS).await?;
        let well: Vec<Sighting> = stays.into_iter().filter(|stay| stay.running_at.is_some()).collect();
        let is = |stay: &&Sighting| match what {
            What::Named(name) => stay.version.is_named(name),
            What::Commit(sha) => stay.version.commit.as_ref() == Some(sha),
            What::Image(version) => stay.version.is_same_image(version),
            What::Stay(seen_at) => stay.seen_at == *seen_at,
            What::RunsBelow => true,
        };
        let mut found = well.iter().find(is).cloned();
        if let (None, What::Commit(sha)) = (&found, what) {
            // Its commit may be known, and only not written down there yet.
            for stay in well.iter().filter(|stay| stay.version.commit.is_none()).take(OFFERED) {
                if self.source_of(artefact, stay).await?.is_some_and(|(commit, _)| commit == *sha) {
                    found = Some(stay.clone());
                    break;
                }
            }
        }
        if let Some(found) = found {
            // What runs there now is judged by how it runs now.
            if found.ended_at.is_none()
                && let Some(place) = artefact.places.get(&below.name)
            {
                let rollout = self.view.rollout(place, &artefact.image);
                promotion::require_healthy_version(artefact, below, &rollout, &self.config.catalogue.ladder)?;
            }
            return Ok(found);
        }
        let version = match what {
            What::Commit(sha) => sha.short().to_owned(),
            What::Named(name) => name.to_string(),
            What::Image(version) => version.label().to_owned(),
            What::Stay(_) | What::RunsBelow => "that version".to_owned(),
        };
        let mut ran: Vec<String> = well.iter().map(|stay| stay.version.label().to_owned()).collect();
        ran.dedup();
        ran.truncate(OFFERED);
        Err(Refusal::NeverRanHealthy {
            artefact: artefact.name.clone(),
            below: below.name.clone(),
            version,
            healthy_versions: ran,
        }
        .into())
    }

    /// What runs in the target now. Where that cannot be read, nobody could tell later whether the change arrived.
    fn runs_there(&self, artefact: &Artefact, target: &Environment) -> Result<Option<Version>, Refusal> {
        let Some(place) = artefact.places.get(&target.name) else { return Ok(None) };
        let rollout = self.view.rollout(place, &artefact.image);
        if let RolloutState::Unreadable { why, since } = rollout.state {
            return Err(Refusal::Unreadable { below: target.name.clone(), why, since });
        }
        let seen = self.seen.sighting(&artefact.name, &target.name);
        let known = seen.filter(|seen| rollout.version.as_ref().is_some_and(|now| seen.version.is_same_image(now)));
        Ok(known.map(|seen| seen.version).or(rollout.version))
    }
}

/// Nothing but the commit is there for people to approve.
fn is_by_commit(target: &Environment, policy: &Policy) -> bool {
    policy.approvals.is_some() && target.promotion_method == PromotionMethod::Merge
}

/// A change that waits for approval gives way to another version of the same artefact, and a rollback to nothing.
fn gives_way(holder: &Change, artefact: &Artefact, version: &Version) -> bool {
    let plan = &holder.plan;
    ConflictingChange::from_change(holder).is_some()
        && holder.stage.can_cancel()
        && plan.artefact == artefact.name
        && plan.rollback.is_none()
        && !plan.version.is_same_as(version)
}
