//! The step of a change that moves Git: the merge of exactly the pinned commit, once, whatever GitHub answers.

use jiff::{SignedDuration, Timestamp};

use crate::adapters::github::{Compared, GithubError, Merge};
use crate::adapters::store::{Claim, StoreError, Transaction};
use crate::domain::change::plan::Plan;
use crate::domain::change::{CancelledBy, Change, DeployState, MergeState, RetryState, Stage};
use crate::domain::git::comparison::{ChangedFiles, Comparison};
use crate::domain::model::version::Sha;

use crate::workflow::context::Bot;

/// A GitHub that was not available so often is not waited for any longer: some seven minutes.
const MOST_TRIES: u32 = 12;
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(1);

/// The pause before the next try: 1 s, 2 s, 4 s, up to a minute.
pub(crate) fn pause(tries: u32) -> SignedDuration {
    SignedDuration::from_secs(1 << tries.min(6)).min(LONGEST_PAUSE)
}

/// When to ask again, after GitHub could not be asked.
pub(crate) fn again(error: &GithubError, tries: u32, now: Timestamp) -> Timestamp {
    match error {
        GithubError::RateLimited { until } | GithubError::Paced { until } => *until,
        _ => now + pause(tries),
    }
}

/// There is nothing more to know of it.
fn same(deploying: DeployState) -> DeployState {
    deploying
}

/// How the merge stands to the pinned commit, where nobody moved the branch meanwhile: GitHub need not be asked.
fn known_by_merge(change: &Change, result: &Sha, parents: &[Sha]) -> Option<Comparison> {
    let plan = &change.plan;
    let unmoved = plan.head.is_some() && parents.first() == plan.head.as_ref();
    let pinned = plan.pinned.clone()?;
    unmoved.then(|| Comparison {
        base: result.clone(),
        head: pinned,
        ahead_by: 0,
        behind_by: plan.behind_by + 1,
        commits: Vec::new(),
        files: ChangedFiles::default(),
        url: None,
    })
}

pub(crate) fn branch_gone(plan: &Plan) -> String {
    let (repository, branch) = plan.write_target();
    let again = match (&plan.pinned, &plan.manifest) {
        (Some(pinned), None) => format!(" Make it again: git push origin {pinned}:refs/heads/{branch}"),
        _ => String::new(),
    };
    format!("The branch {branch} is gone from {repository}.{again}")
}

pub(crate) fn commit_gone(plan: &Plan) -> String {
    let commit = plan.pinned.as_ref().map_or_else(|| plan.version.label(), Sha::short);
    format!("The commit {commit} is not in {} any more.", plan.repository)
}

impl Bot {
    pub(crate) async fn merge(&self, claim: &Claim) -> Result<(), StoreError> {
        let Stage::Merging(merging) = &claim.change.stage else { return Ok(()) };
        // Woken before its time: whoever asks again and again moves the turns of all others.
        if claim.cancel_by.is_none() && claim.due_at.is_some_and(|due| due > self.clock.now()) {
            return Ok(());
        }
        if let Some(frozen) = claim.change.pull_request_branch() {
            return self.merge_by_pull_again(claim, frozen).await;
        }
        let mut claim = claim.clone();
        if merging.begun {
            // What became of the last try is not known: look before asking again.
            match self.find_merge(&claim.change).await {
                Ok(Some(result)) => return self.merged(&claim, result, None, same).await,
                Ok(None) => {}
                // That it cannot be looked for now proves nothing.
                Err(error) => return self.merge_failed(&claim, error, true).await,
            }
        }
        if let Some(by) = claim.cancel_by.clone() {
            let stage = claim.change.stage.clone().into_cancelled(CancelledBy::Person(by), self.clock.now());
            return self.become_(&claim, stage, None).await;
        }
        // Also before another try: what holds it back may have come since the last one.
        let against = self.rules_against(&claim.change).await?;
        let policy = self.config.environments.get(&claim.change.plan.environment);
        // Asked for before approvals were: nobody has been asked for theirs.
        let unasked = merging.awaiting.is_none()
            && claim.change.plan.rollback.is_none()
            && policy.is_some_and(|policy| policy.approvals.is_some());
        if unasked || !against.is_empty() {
            return self.hold(&claim, against).await;
        }
        if !merging.begun {
            let Ok(stage) = claim.change.stage.clone().begin_merge() else { return Ok(()) };
            claim.change.stage = stage;
            self.store
                .commit(Transaction::new().advance(claim.change.clone(), claim.fence, Some(self.clock.now())))
                .await?;
        }
        let plan = &claim.change.plan;
        let pinned = match &plan.pinned {
            Some(pinned) if plan.is_single_merge() => pinned,
            _ => return Box::pin(self.move_to_result(&claim)).await,
        };
        let message = plan.format_merge_message(&claim.change.format_commit_trailers());
        match self.github.merge(&plan.repository, &plan.branch, pinned, &message).await {
            Ok(Merge::Done { commit, parents }) => {
                let known = known_by_merge(&claim.change, &commit, &parents);
                self.merged(&claim, commit, known, same).await
            }
            Ok(Merge::AlreadyThere) => match self.find_merge(&claim.change).await {
                Ok(Some(result)) => self.merged(&claim, result, None, same).await,
                Ok(None) => {
                    let unclear = GithubError::Unclear("it has the commit and has it not".to_owned());
                    self.merge_failed(&claim, unclear, true).await
                }
                Err(error) => self.merge_failed(&claim, error, true).await,
            },
            Ok(Merge::Conflict) => {
                let files = self.github.changed_on_both_sides(&plan.repository, &plan.branch, pinned).await;
                let stage = claim.change.stage.clone().into_conflicted(files.unwrap_or_default(), self.clock.now());
                self.become_(&claim, stage, None).await
            }
            Ok(Merge::NoBranch) => self.errored(&claim, branch_gone(plan)).await,
            Ok(Merge::NoCommit) => self.errored(&claim, commit_gone(plan)).await,
            Ok(Merge::Refused(why)) => {
                let (branch, why) = (&plan.branch, why.trim_end_matches('.'));
                let why = format!(
                    "GitHub does not let me merge into {branch}: {why}. Let me push there, or change the branch's rules."
                );
                self.errored(&claim, why).await
            }
            Err(error) => {
                // Who was turned away at the door has done nothing; anything else may have had its effect.
                let turned_away = matches!(error, GithubError::RateLimited { .. } | GithubError::Paced { .. });
                self.merge_failed(&claim, error, !turned_away).await
            }
        }
    }

    /// The commit that brought the pinned one into the branch, if it is there: ours, else whatever has it.
    async fn find_merge(&self, change: &Change) -> Result<Option<Sha>, GithubError> {
        let plan = &change.plan;
        let pinned = match &plan.pinned {
            Some(pinned) if plan.is_single_merge() => pinned,
            _ => return self.find_result(change).await,
        };
        if let Some(ours) =
            self.github.find_commit(&plan.repository, &plan.branch, &change.format_change_trailer()).await?
        {
            return Ok(Some(ours));
        }
        match self.github.pending(&plan.repository, &plan.branch, pinned).await? {
            Compared::Pending(pending) if pending.ahead_by == 0 => Ok(pending.head),
            // What is missing is said by the merge itself.
            _ => Ok(None),
        }
    }

    /// The branch has it; `learn` adds what is known of how it came there.
    pub(crate) async fn merged(
        &self,
        claim: &Claim,
        result: Sha,
        known: Option<Comparison>,
        learn: impl FnOnce(DeployState) -> DeployState,
    ) -> Result<(), StoreError> {
        let now = self.clock.now();
        let rung = self.config.catalogue.ladder.find(claim.change.plan.environment.as_str());
        let timeout = rung.map_or(SignedDuration::ZERO, |rung| rung.deploy_timeout);
        let merged = claim.change.stage.clone().into_deploying(result, now, now + timeout);
        let stage = merged.and_then(|stage| stage.update_deploying(learn));
        let Ok(stage) = stage else { return Ok(()) };
        let more = known.map_or_else(Transaction::new, |known| {
            Transaction::new().comparison(claim.change.plan.repository.clone(), known)
        });
        let more = more.and(Box::pin(self.aftermath(&claim.change)).await);
        let (marked, more) = match self.mark_taken_back(&claim.change).await? {
            Some((marked, transaction)) => (Some(marked), more.and(transaction)),
            None => (None, more),
        };
        let change = self.advance(&claim.change, claim.fence, stage, Some(now), more).await?;
        if let Some(marked) = marked {
            self.changes.put(marked);
        }
        let mut claim = Claim { change, ..claim.clone() };
        self.tidy(&mut claim).await?;
        self.deploy(&claim).await
    }

    /// `begun`: GitHub may have merged it nevertheless.
    pub(crate) async fn merge_failed(&self, claim: &Claim, error: GithubError, begun: bool) -> Result<(), StoreError> {
        let Stage::Merging(MergeState { trouble, .. }) = &claim.change.stage else { return Ok(()) };
        let tries = trouble.as_ref().map_or(0, |trouble| trouble.tries);
        let unavailable = matches!(error, GithubError::Unavailable(_) | GithubError::Unclear(_));
        if !error.passes() || (unavailable && tries + 1 >= MOST_TRIES) {
            let why = match error {
                GithubError::NotFound(why) => {
                    let (repository, _) = claim.change.plan.write_target();
                    format!(
                        "GitHub does not find {repository}, or does not let me see it ({why}). Check what the token may do."
                    )
                }
                error => format!("{error}."),
            };
            return self.errored(claim, why).await;
        }
        let now = self.clock.now();
        // To wait for one's turn is no failure.
        let tries = if unavailable { tries + 1 } else { tries };
        let trouble =
            RetryState { since: trouble.as_ref().map_or(now, |before| before.since), tries, why: format!("{error}.") };
        let stage = claim.change.stage.clone().record_merge_failure(trouble, begun);
        self.become_(claim, stage, Some(again(&error, tries, now))).await
    }

    pub(crate) async fn errored(&self, claim: &Claim, why: String) -> Result<(), StoreError> {
        let now = self.clock.now();
        let stage = claim.change.stage.clone().into_errored(why, now);
        self.become_(claim, stage, claim.change.frozen.is_some().then_some(now)).await
    }

    pub(crate) async fn become_(
        &self,
        claim: &Claim,
        stage: Result<Stage, crate::domain::change::InvalidTransition>,
        due: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        match stage {
            Ok(stage) => self.advance(&claim.change, claim.fence, stage, due, Transaction::new()).await.map(drop),
            Err(error) => {
                tracing::error!(%error, "a step was not possible");
                Ok(())
            }
        }
    }
}
