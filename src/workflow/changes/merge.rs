//! The step of a change that moves Git: the merge of exactly the pinned commit, once, whatever GitHub answers.

use crate::workflow::changes::transition::describe_missing_branch;
use crate::workflow::changes::transition::describe_missing_commit;
use jiff::SignedDuration;

use crate::adapters::github::{BranchComparison, GithubError, MergeOutcome};
use crate::adapters::store::{Claim, StoreError, Transaction};
use crate::domain::change::{CancelledBy, Change, DeployState, Stage};
use crate::domain::git::comparison::{ChangedFiles, Comparison};
use crate::domain::model::version::Sha;

use crate::workflow::context::Context;

/// There is nothing more to know of it.
fn leave_unchanged(deploying: DeployState) -> DeployState {
    deploying
}

/// How the merge stands to the pinned commit, where nobody moved the branch meanwhile: GitHub need not be asked.
fn derive_comparison(change: &Change, result: &Sha, parents: &[Sha]) -> Option<Comparison> {
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

impl Context {
    pub(crate) async fn merge_change(&self, claim: &Claim) -> Result<(), StoreError> {
        let Stage::Merging(merging) = &claim.change.stage else { return Ok(()) };
        // Woken before its time: whoever asks again and again moves the turns of all others.
        if claim.cancel_requested_by.is_none() && claim.due_at.is_some_and(|due| due > self.clock.now()) {
            return Ok(());
        }
        if let Some(frozen) = claim.change.pull_request_branch() {
            return self.resume_pull_request_merge(claim, frozen).await;
        }
        let mut claim = claim.clone();
        if merging.begun {
            // What became of the last try is not known: look before asking again.
            match self.find_existing_merge(&claim.change).await {
                Ok(Some(result)) => return self.record_merge(&claim, result, None, leave_unchanged).await,
                Ok(None) => {}
                // That it cannot be looked for now proves nothing.
                Err(error) => return self.handle_merge_error(&claim, error, true).await,
            }
        }
        if let Some(by) = claim.cancel_requested_by.clone() {
            let stage = claim.change.stage.clone().into_cancelled(CancelledBy::Person(by), self.clock.now());
            return self.apply_transition(&claim, stage, None).await;
        }
        // Also before another try: what holds it back may have come since the last one.
        let unmet_conditions = self.find_unmet_conditions(&claim.change).await?;
        let policy = self.config.policies.get(&claim.change.plan.environment);
        // Asked for before approvals were: nobody has been asked for theirs.
        let unasked = merging.awaiting.is_none()
            && claim.change.plan.rollback.is_none()
            && policy.is_some_and(|policy| policy.approvals.is_some());
        if unasked || !unmet_conditions.is_empty() {
            return self.wait_for(&claim, unmet_conditions).await;
        }
        if !merging.begun {
            let Ok(stage) = claim.change.stage.clone().begin_merge() else { return Ok(()) };
            claim.change.stage = stage;
            self.store
                .commit(Transaction::new().advance_change(claim.change.clone(), claim.fence, Some(self.clock.now())))
                .await?;
        }
        let plan = &claim.change.plan;
        let pinned = match &plan.pinned {
            Some(pinned) if plan.is_single_merge() => pinned,
            _ => return Box::pin(self.move_branch_to_result(&claim)).await,
        };
        let message = plan.format_merge_message(&claim.change.format_commit_trailers());
        match self.github.merge_into_branch(&plan.repository, &plan.branch, pinned, &message).await {
            Ok(MergeOutcome::Done { commit, parents }) => {
                let known = derive_comparison(&claim.change, &commit, &parents);
                self.record_merge(&claim, commit, known, leave_unchanged).await
            }
            Ok(MergeOutcome::AlreadyMerged) => match self.find_existing_merge(&claim.change).await {
                Ok(Some(result)) => self.record_merge(&claim, result, None, leave_unchanged).await,
                Ok(None) => {
                    let unclear = GithubError::Unclear("it has the commit and has it not".to_owned());
                    self.handle_merge_error(&claim, unclear, true).await
                }
                Err(error) => self.handle_merge_error(&claim, error, true).await,
            },
            Ok(MergeOutcome::Conflict) => {
                let files = self.github.list_files_both_changed(&plan.repository, &plan.branch, pinned).await;
                let stage = claim.change.stage.clone().into_conflicted(files.unwrap_or_default(), self.clock.now());
                self.apply_transition(&claim, stage, None).await
            }
            Ok(MergeOutcome::NoBranch) => self.mark_errored(&claim, describe_missing_branch(plan)).await,
            Ok(MergeOutcome::NoCommit) => self.mark_errored(&claim, describe_missing_commit(plan)).await,
            Ok(MergeOutcome::Refused(why)) => {
                let (branch, why) = (&plan.branch, why.trim_end_matches('.'));
                let why = format!(
                    "GitHub does not let me merge into {branch}: {why}. Let me push there, or change the branch's rules."
                );
                self.mark_errored(&claim, why).await
            }
            Err(error) => {
                // Who was turned away at the door has done nothing; anything else may have had its effect.
                let turned_away = matches!(error, GithubError::RateLimited { .. } | GithubError::Throttled { .. });
                self.handle_merge_error(&claim, error, !turned_away).await
            }
        }
    }

    /// The commit that brought the pinned one into the branch, if it is there: ours, else whatever has it.
    async fn find_existing_merge(&self, change: &Change) -> Result<Option<Sha>, GithubError> {
        let plan = &change.plan;
        let pinned = match &plan.pinned {
            Some(pinned) if plan.is_single_merge() => pinned,
            _ => return self.find_result_on_branch(change).await,
        };
        if let Some(ours) =
            self.github.find_commit_by_line(&plan.repository, &plan.branch, &change.format_change_trailer()).await?
        {
            return Ok(Some(ours));
        }
        match self.github.compare_with_branch(&plan.repository, &plan.branch, pinned).await? {
            BranchComparison::Pending(pending) if pending.ahead_by == 0 => Ok(pending.head),
            // What is missing is said by the merge itself.
            _ => Ok(None),
        }
    }

    /// The branch has it; `learn` adds what is known of how it came there.
    pub(crate) async fn record_merge(
        &self,
        claim: &Claim,
        result: Sha,
        known: Option<Comparison>,
        learn: impl FnOnce(DeployState) -> DeployState,
    ) -> Result<(), StoreError> {
        let now = self.clock.now();
        let environment = self.config.catalogue.ladder.find(claim.change.plan.environment.as_str());
        let timeout = environment.map_or(SignedDuration::ZERO, |rung| rung.deploy_timeout);
        let merged = claim.change.stage.clone().into_deploying(result, now, now + timeout);
        let stage = merged.and_then(|stage| stage.update_deploying(learn));
        let Ok(stage) = stage else { return Ok(()) };
        let more = known.map_or_else(Transaction::new, |known| {
            Transaction::new().record_comparison(claim.change.plan.repository.clone(), known)
        });
        let more = more.append(Box::pin(self.collect_rollback_effects(&claim.change)).await);
        let (marked, more) = match self.mark_rolled_back(&claim.change).await? {
            Some((marked, transaction)) => (Some(marked), more.append(transaction)),
            None => (None, more),
        };
        let change = self.advance_stage(&claim.change, claim.fence, stage, Some(now), more).await?;
        if let Some(marked) = marked {
            self.open_changes.record_change(marked);
        }
        let mut claim = Claim { change, ..claim.clone() };
        self.clean_up_branch(&mut claim).await?;
        self.verify_rollout(&claim).await
    }
}
