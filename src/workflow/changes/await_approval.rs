//! A change that waits: who has said yes, by Slack or by a review on GitHub, and what else must hold before it is merged.

use crate::workflow::error::ApprovalCheckError;
use jiff::SignedDuration;

use crate::adapters::github::{GithubError, MergeReadiness, PullRequest, Review, ReviewVerdict};
use crate::adapters::reports::github::GithubNotice;
use crate::adapters::store::{Claim, StoreError, Transaction};
use crate::domain::change::approval::{
    Approval, ApprovalPlatform, ApprovalState, IgnoredReview, IgnoredReviewReason, MergeCondition,
};
use crate::domain::change::plan::Plan;
use crate::domain::change::{CancelledBy, Change, ResultBranch, Stage};
use crate::domain::model::version::Sha;
use crate::domain::rules::freeze;
use crate::domain::rules::gate::{Gate, GateOverride};
use crate::domain::rules::lock::Lock;
use crate::domain::rules::quarantine::Quarantine;

use crate::workflow::context::Context;
use crate::workflow::error::LookupError;
use crate::workflow::error::StageError;

/// How soon GitHub is asked again whether it can be merged, while it still computes that.
const MERGEABILITY_POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(2);

/// What a look found of a change that waits.
struct ApprovalCheck {
    approvals: Vec<Approval>,
    ignored: Vec<IgnoredReview>,
    waits_for: Vec<MergeCondition>,
}

impl Context {
    /// One look at a change that waits for approval: merged when everything holds, else stored with what it waits for.
    pub(crate) async fn await_approval(&self, claim: &Claim) -> Result<(), StoreError> {
        let Stage::AwaitingApproval(awaiting) = &claim.change.stage else { return Ok(()) };
        let now = self.clock.now();
        if let Some(by) = claim.cancel_requested_by.clone() {
            let stage = claim.change.stage.clone().into_cancelled(CancelledBy::Person(by), now);
            return self.apply_transition(claim, stage, Some(now)).await;
        }
        // Woken before its time: whoever asks again and again moves the turns of all others.
        if awaiting.trouble.is_some() && claim.due_at.is_some_and(|due| due > now) {
            return Ok(());
        }
        let environment = &claim.change.plan.environment;
        let Some(policy) = self.config.policies.get(environment) else {
            // Without its rules nothing may go there, least of all what they were to let in.
            return self.mark_errored(claim, format!("{environment} is not configured any more.")).await;
        };
        // What the rules ask for now counts, and not what they asked for then.
        let required = policy.approvals.as_ref().map_or(0, |approvals| approvals.required);
        // A rollback waits for GitHub alone.
        let required = if claim.change.plan.rollback.is_some() { 0 } else { required };
        let awaiting = &ApprovalState { required, ..awaiting.clone() };
        match Box::pin(self.check_approval_and_merge(claim, awaiting)).await {
            Ok(()) => Ok(()),
            Err(StageError::Store(error)) => Err(error),
            Err(StageError::Github(error)) if error.is_transient() => self.retry_approval_later(claim, &error).await,
            Err(StageError::Github(error)) => self.mark_errored(claim, format!("{error}.")).await,
        }
    }

    /// GitHub says that something happened: whoever waits for it looks.
    pub(crate) fn wake_affected_changes(&self, notice: &GithubNotice) {
        for change in self.open_changes.all().iter().filter(|change| change.stage.can_cancel()) {
            let frozen = change.frozen.as_ref();
            let pull = frozen.and_then(|frozen| frozen.pull.as_ref()).map(|pull| pull.number);
            let concerned = (pull.is_some() && pull == notice.pull)
                || (notice.commit.is_some() && notice.commit.as_ref() == change.commit_to_approve());
            if concerned && change.plan.write_target().0.is_same_as(&notice.repository) {
                self.open_changes.wake(change.id);
            }
        }
    }

    async fn check_approval_and_merge(&self, claim: &Claim, awaiting: &ApprovalState) -> Result<(), StageError> {
        let standing = match claim.change.pull_request_branch() {
            None => self.run_approval_check(claim, awaiting, None).await?,
            Some(frozen) => {
                let Some(seen) = self.sync_pull_request(claim, frozen).await? else { return Ok(()) };
                if seen.mergeable == MergeReadiness::Conflict {
                    return Ok(self.record_conflict(claim, frozen).await?);
                }
                self.run_approval_check(claim, awaiting, Some(&seen)).await?
            }
        };
        let ApprovalCheck { approvals, ignored, waits_for } = standing;
        let computing = waits_for.contains(&MergeCondition::Mergeability);
        let now = self.clock.now();
        let learned = ApprovalState { approvals, ignored, waits_for, trouble: None, ..awaiting.clone() };
        // Before the merge: what GitHub will not merge would else be tried for ever, and hold the lock.
        if now >= learned.deadline {
            let stage = Stage::AwaitingApproval(learned).into_expired(now);
            return Ok(self.apply_transition(claim, stage, Some(now)).await?);
        }
        if learned.is_approved() && learned.waits_for.is_empty() {
            let learned = ApprovalState { trouble: awaiting.trouble.clone(), ..learned };
            let Ok(stage) = Stage::AwaitingApproval(learned).into_merging() else { return Ok(()) };
            let change = self.advance_stage(&claim.change, claim.fence, stage, Some(now), Transaction::new()).await?;
            let claim = Claim { change, due_at: Some(now), ..claim.clone() };
            match claim.change.pull_request_branch() {
                Some(frozen) => self.merge_pull_request(&claim, frozen).await?,
                None => Box::pin(self.merge_change(&claim)).await?,
            }
            return Ok(());
        }
        Ok(self.store_approval_state(claim, learned, computing.then(|| now + MERGEABILITY_POLL_INTERVAL)).await?)
    }

    async fn record_conflict(&self, claim: &Claim, frozen: &ResultBranch) -> Result<(), StoreError> {
        let plan = &claim.change.plan;
        let (repository, branch) = plan.write_target();
        let files = match frozen.result.as_ref().map(|result| &result.head) {
            Some(head) => self.github.list_files_both_changed(repository, branch, head).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let now = self.clock.now();
        let stage = claim.change.stage.clone().into_conflicted(files, now);
        self.apply_transition(claim, stage, Some(now)).await
    }

    async fn run_approval_check(
        &self,
        claim: &Claim,
        awaiting: &ApprovalState,
        pull: Option<&PullRequest>,
    ) -> Result<ApprovalCheck, StageError> {
        let (change, plan) = (&claim.change, &claim.change.plan);
        let mut standing = ApprovalCheck { approvals: Vec::new(), ignored: Vec::new(), waits_for: Vec::new() };
        match self.collect_approvals(change, awaiting, pull, &mut standing).await {
            Ok(()) => {}
            Err(ApprovalCheckError::Stage(halt)) => return Err(halt),
            Err(ApprovalCheckError::Lookup(error)) => {
                // What was said is not forgotten because nobody can tell now whether it counts.
                standing.approvals.clone_from(&awaiting.approvals);
                standing.waits_for.push(MergeCondition::RightsUnknown { why: error.to_string() });
            }
        }
        if let Some(pull) = pull {
            // Nobody who can tell is the same as nobody who may: the rules below say so.
            let overridden = self.find_valid_override(plan).await.ok().flatten();
            // What ran well before is not held up by checks that are still to run, as far as it is up to us.
            if plan.rollback.is_none() && !overridden.is_some_and(|overridden| overridden.has_gate(&Gate::Checks)) {
                standing.waits_for.extend(self.find_unmet_checks(plan, &pull.head).await?);
            }
            match pull.mergeable {
                MergeReadiness::Computing => standing.waits_for.push(MergeCondition::Mergeability),
                MergeReadiness::Blocked => {
                    let reviews =
                        match self.github.count_required_reviews(plan.write_target().0, plan.write_target().1).await {
                            Ok(reviews) => reviews,
                            Err(error) if error.is_transient() => return Err(error.into()),
                            // It is only said, and what cannot be read is asked for nevertheless.
                            Err(_) => 0,
                        };
                    standing.waits_for.push(MergeCondition::GithubRules { reviews });
                }
                MergeReadiness::Conflict | MergeReadiness::Ready => {}
            }
        }
        standing.waits_for.extend(self.find_unmet_conditions(change).await?);
        Ok(standing)
    }

    async fn find_unmet_checks(&self, plan: &Plan, shown: &Sha) -> Result<Option<MergeCondition>, GithubError> {
        let checks = self.github.fetch_checks(plan.write_target().0, shown).await?;
        let required = self.config.policies.get(&plan.environment).is_some_and(|policy| policy.checks_required);
        Ok(if !checks.red.is_empty() {
            Some(MergeCondition::ChecksRed { names: checks.red })
        } else if !checks.running.is_empty() {
            Some(MergeCondition::ChecksRunning { names: checks.running })
        } else {
            (required && checks.green == 0).then_some(MergeCondition::NoCheck)
        })
    }

    /// Who has said yes to what is shown, of those who may say it now.
    async fn collect_approvals(
        &self,
        change: &Change,
        awaiting: &ApprovalState,
        pull: Option<&PullRequest>,
        standing: &mut ApprovalCheck,
    ) -> Result<(), ApprovalCheckError> {
        let plan = &change.plan;
        for given in awaiting.approvals.iter().filter(|given| given.way == ApprovalPlatform::Slack) {
            if self.may_approve(&given.by, &plan.environment, &plan.repository).await? {
                standing.approvals.push(given.clone());
            }
        }
        let Some(pull) = pull else { return Ok(()) };
        let repository = plan.write_target().0;
        let reviews = self.github.fetch_reviews(repository, pull.pull.number).await.map_err(StageError::from)?;
        if reviews.is_empty() {
            return Ok(());
        }
        let requester = self.find_login(&change.requester, repository).await?;
        let mut objectors = Vec::new();
        for review in keep_latest_reviews(reviews) {
            let outdated = review.verdict == ReviewVerdict::Approved && review.commit.as_ref() != Some(&pull.head);
            // Nobody is asked about what counts in no case.
            if outdated || review.verdict == ReviewVerdict::Dismissed {
                continue;
            }
            let writes = self.github.may_write(repository, &review.login).await.map_err(StageError::from)?;
            match review.verdict {
                ReviewVerdict::ChangesRequested if writes => objectors.push(review.login),
                ReviewVerdict::Approved => {
                    let ignored = |why| IgnoredReview { login: review.login.clone(), why };
                    if !writes {
                        standing.ignored.push(ignored(IgnoredReviewReason::NoAccess));
                        continue;
                    }
                    let Some(own) = &requester else {
                        standing.ignored.push(ignored(IgnoredReviewReason::RequesterUnmapped));
                        continue;
                    };
                    if own.eq_ignore_ascii_case(&review.login) {
                        standing.ignored.push(ignored(IgnoredReviewReason::Requester));
                        continue;
                    }
                    let Some(person) = self.find_person(&review.login, repository).await? else {
                        standing.ignored.push(ignored(IgnoredReviewReason::Unmapped));
                        continue;
                    };
                    if person == change.requester {
                        standing.ignored.push(ignored(IgnoredReviewReason::Requester));
                    } else if !self.may_approve(&person, &plan.environment, &plan.repository).await? {
                        standing.ignored.push(ignored(IgnoredReviewReason::NotAsked));
                    } else if !standing.approvals.iter().any(|given| given.by == person) {
                        let at = review.submitted_at.unwrap_or_else(|| self.clock.now());
                        standing.approvals.push(Approval { by: person, at, way: ApprovalPlatform::Github });
                    }
                }
                ReviewVerdict::ChangesRequested | ReviewVerdict::Dismissed => {}
            }
        }
        if !objectors.is_empty() {
            standing.waits_for.push(MergeCondition::ChangesRequested { logins: objectors });
        }
        Ok(())
    }

    /// What the rules say now, when it would take effect: they were asked before, but the world goes on.
    pub(crate) async fn find_unmet_conditions(&self, change: &Change) -> Result<Vec<MergeCondition>, StoreError> {
        let plan = &change.plan;
        let policy = self.config.policies.get(&plan.environment).cloned().unwrap_or_default();
        let mut against = Vec::new();
        let rollback = plan.rollback.as_ref();
        // Where everybody may, nobody has to tell; and what the environment's own rule does is nobody's right.
        if !policy.promoters.is_empty() && !rollback.is_some_and(|rollback| rollback.automatic) {
            let may = match rollback {
                None => self.may_promote(&change.requester, &plan.environment, &plan.repository).await,
                Some(_) => self.may_promote_or_approve(&change.requester, &plan.environment, &plan.repository).await,
            };
            match may {
                Ok(true) => {}
                Ok(false) => against.push(MergeCondition::RightLost),
                Err(error) => against.push(MergeCondition::RightsUnknown { why: error.to_string() }),
            }
        }
        let overridden = match self.find_valid_override(plan).await {
            Ok(overridden) => overridden,
            Err(error) => {
                against.push(MergeCondition::RightsUnknown { why: error.to_string() });
                None
            }
        };
        // What moves along was written down when it was asked for; the configuration may know of more by now.
        let catalogue = &self.config.catalogue;
        let also = catalogue.find_artefact(plan.artefact.as_str()).into_iter();
        let also = also.flat_map(|artefact| catalogue.iter_co_deployed(artefact, &plan.environment));
        let moving: Vec<_> = plan.list_artefacts().into_iter().chain(also.map(|other| other.name.clone())).collect();
        let locks = self.find_covering_locks(&plan.environment, &moving).await?;
        let shown = |lock: &Lock| rollback.is_some_and(|rollback| rollback.locks.iter().any(|it| it.id == lock.id));
        let locks = locks.into_iter().filter(|lock| overridden.is_none_or(|overridden| !overridden.has_lock(lock)));
        against.extend(locks.filter(|lock| !shown(lock)).map(|lock| MergeCondition::Locked { lock }));
        against.extend(
            self.find_new_quarantine(plan, overridden)
                .await?
                .map(|it| MergeCondition::Quarantined { quarantine: Box::new(it) }),
        );
        let freeze = freeze::find_active_window(&policy.freezes, self.clock.now()).filter(|_| rollback.is_none());
        if let Some(window) = freeze.filter(|_| overridden.is_none_or(|overridden| !overridden.has_gate(&Gate::Freeze)))
        {
            against.push(MergeCondition::Frozen { until: window.until, reason: window.reason });
        }
        Ok(against)
    }

    /// What waits may have been rolled back from meanwhile, below or there.
    async fn find_new_quarantine(
        &self,
        plan: &Plan,
        overridden: Option<&GateOverride>,
    ) -> Result<Option<Quarantine>, StoreError> {
        if plan.rollback.is_some() {
            return Ok(None);
        }
        let ladder = &self.config.catalogue.ladder;
        let quarantines = self.store.list_quarantines().await?.into_iter();
        let passed = |it: &Quarantine| {
            overridden.is_some_and(|overridden| overridden.has_gate(&Gate::Quarantine { change: it.change }))
        };
        let mut against = quarantines.filter(|it| {
            it.has_artefact(&plan.artefact)
                && it.is_effective_in(&plan.environment, ladder)
                && (it.has_version(&plan.version, None) || it.has_commit_or_tree(&plan.sources, plan.tree.as_ref()))
                && !passed(it)
        });
        Ok(against.next())
    }

    /// Whoever may not override any more has overridden nothing.
    async fn find_valid_override<'a>(&self, plan: &'a Plan) -> Result<Option<&'a GateOverride>, LookupError> {
        let Some(overridden) = &plan.overridden else { return Ok(None) };
        let may = self.may_override(&overridden.by, &plan.environment, &plan.repository).await?;
        Ok(may.then_some(overridden))
    }
}

/// The last word of each person: a comment takes nothing back, a dismissal does.
fn keep_latest_reviews(reviews: Vec<Review>) -> Vec<Review> {
    let mut latest: Vec<Review> = Vec::new();
    for review in reviews {
        latest.retain(|before| !before.login.eq_ignore_ascii_case(&review.login));
        latest.push(review);
    }
    latest
}
