//! The pull request of a change: its frozen branch is made, shown, looked at, merged and put away.
//! What people say to it is `approve`'s.

use crate::workflow::error::StageError;

use crate::adapters::github::{
    self, GithubError, MergePullRequestOutcome, OpenPullRequestOutcome, PullRequest, PullRequestState,
};
use crate::adapters::slack::render;
use crate::adapters::store::{Claim, LedgerKind, StoreError, Transaction};
use crate::domain::change::approval::{MergeCondition, VoidReason};
use crate::domain::change::plan::{ManifestFile, Plan};
use crate::domain::change::{CancelledBy, Change, DeployState, PullRequestRef, ResultBranch, ResultCommit, Stage};
use crate::domain::model::actor::Actor;
use crate::domain::model::version::Sha;

use crate::workflow::changes::build_commit::BuildCommitOutcome;
use crate::workflow::changes::transition::build_ledger_entry;
use crate::workflow::changes::transition::describe_missing_branch;
use crate::workflow::context::Context;

fn describe_merge_elsewhere(plan: &Plan, pull: &PullRequestRef, into: &str, commit: &Sha) -> String {
    let (number, (_, branch), commit) = (pull.number, plan.write_target(), commit.short());
    format!(
        "Somebody pointed the pull request #{number} at {into}, and it was merged there, as {commit}. \
         {branch} has nothing of it. Take it back in {into} if it does not belong there."
    )
}

impl Context {
    /// The pull request as it stands, if it shows what it should. `None`: the change was stored with what was found out
    /// or done instead, and is looked at again when its time comes.
    pub(crate) async fn sync_pull_request(
        &self,
        claim: &Claim,
        frozen: &ResultBranch,
    ) -> Result<Option<PullRequest>, StageError> {
        let plan = &claim.change.plan;
        let (repository, branch) = plan.write_target();
        let Some(pull) = &frozen.pull else {
            let Some(base) = self.require_branch_head(claim).await? else { return Ok(None) };
            match &frozen.result {
                Some(result) if result.base == base => self.open_pull_request(claim, frozen).await?,
                _ => self.prepare_result_branch(claim, frozen, base, None).await?,
            }
            return Ok(None);
        };
        if let Some(making) = &frozen.making {
            self.update_result_branch(claim, frozen, making).await?;
            return Ok(None);
        }
        // Nobody can delete a pull request: it is rather that we are not let in any more.
        let gone = || GithubError::NotFound(format!("the pull request #{} of {repository}", pull.number));
        let seen = self.github.fetch_pull_request(repository, pull.number).await?.ok_or_else(gone)?;
        match &seen.state {
            PullRequestState::Merged { commit, .. } if seen.base != branch => {
                self.mark_errored(claim, describe_merge_elsewhere(plan, pull, &seen.base, commit)).await?;
                return Ok(None);
            }
            PullRequestState::Merged { commit, by } => {
                self.record_manual_merge(claim, commit.clone(), by.clone().unwrap_or_default()).await?;
                return Ok(None);
            }
            PullRequestState::Closed => {
                if self.require_branch_head(claim).await?.is_some() {
                    self.cancel_closed_pull_request(claim).await?;
                }
                return Ok(None);
            }
            PullRequestState::Open => {}
        }
        if seen.base != branch {
            self.store_merge_conditions(claim, vec![MergeCondition::Retargeted { base: seen.base }]).await?;
            return Ok(None);
        }
        let Some(base) = self.require_branch_head(claim).await? else { return Ok(None) };
        if let Some(result) = &frozen.result
            && result.head == seen.head
            && result.base != base
            && self.is_manifest_unchanged(plan, &result.base, &base).await?
        {
            // What was shown and approved is what would be merged; it only stands on something newer.
            let result = Some(ResultCommit { base, ..result.clone() });
            self.store_branch_state(claim, ResultBranch { result, ..frozen.clone() }).await?;
            return Ok(None);
        }
        let moved = match &frozen.result {
            Some(result) if result.head != seen.head => Some(VoidReason::Pushed { commit: seen.head.to_string() }),
            Some(result) if result.base == base => None,
            _ => Some(VoidReason::BranchMoved),
        };
        match moved {
            None => Ok(Some(seen)),
            Some(why) => self.prepare_result_branch(claim, frozen, base, Some(why)).await.map(|()| None),
        }
    }

    /// Did a branch of manifests move beside the file that is written? Many write there, and what others are about is nobody's
    /// concern who approves this.
    async fn is_manifest_unchanged(&self, plan: &Plan, before: &Sha, after: &Sha) -> Result<bool, GithubError> {
        let Some(ManifestFile { repository, file, .. }) = &plan.manifest else { return Ok(false) };
        let then = self.github.fetch_file(repository, before.as_str(), file).await?;
        Ok(then.is_some() && then == self.github.fetch_file(repository, after.as_str(), file).await?)
    }

    /// Where the environment's branch stands. Where it is gone, the change is over.
    pub(crate) async fn require_branch_head(&self, claim: &Claim) -> Result<Option<Sha>, StageError> {
        let plan = &claim.change.plan;
        let (repository, branch) = plan.write_target();
        let head = self.github.fetch_branch_head(repository, branch).await?;
        if head.is_none() {
            self.mark_errored(claim, describe_missing_branch(plan)).await?;
        }
        Ok(head)
    }

    /// Makes the result on top of the environment's branch. One that is shown is replaced in one move: a pull request that
    /// saw its branch without our commit would count as merged.
    async fn prepare_result_branch(
        &self,
        claim: &Claim,
        frozen: &ResultBranch,
        base: Sha,
        void: Option<VoidReason>,
    ) -> Result<(), StageError> {
        let bench = if frozen.pull.is_some() { frozen.scratch_branch() } else { frozen.branch.clone() };
        let head = match self.build_result_commit(&claim.change, &bench, &base).await? {
            BuildCommitOutcome::Created(commit) => commit,
            BuildCommitOutcome::AlreadyThere => {
                return Ok(self.record_manual_merge(claim, base, String::new()).await?);
            }
            BuildCommitOutcome::Conflict(files) => {
                let now = self.clock.now();
                let stage = claim.change.stage.clone().into_conflicted(files, now);
                return Ok(self.apply_transition(claim, stage, Some(now)).await?);
            }
            BuildCommitOutcome::Failed(why) => return Ok(self.mark_errored(claim, why).await?),
        };
        if !claim.change.plan.is_branch_merge() {
            self.github.put_own_branch(claim.change.plan.write_target().0, &bench, &head).await?;
        }
        let result = ResultCommit { base, head };
        let made = match frozen.pull {
            Some(_) => ResultBranch { making: Some(result), ..frozen.clone() },
            None => ResultBranch { result: Some(result), ..frozen.clone() },
        };
        let mut next = Change { frozen: Some(made), ..claim.change.clone() };
        let (now, mut more) = (self.clock.now(), Transaction::new());
        if let Some(why) = void
            && let Some(awaiting) = claim.change.stage.awaiting()
        {
            // Whoever pushed is told in any case; else only those whose word was lost.
            let is_told = !awaiting.approvals.is_empty() || matches!(why, VoidReason::Pushed { .. });
            next.stage = Stage::AwaitingApproval(awaiting.clone().void_approvals(why, now));
            more = more.append_to_ledger(build_ledger_entry(&next, LedgerKind::Voided, Actor::Controller, now));
            if is_told && let Some(said) = render::approve::render_approvals_voided(&next) {
                more = more.enqueue_message(self.build_thread_reply(
                    &next,
                    &format!("voided:{}", now.as_microsecond()),
                    said,
                ));
            }
        }
        self.advance_change(&claim.change, claim.fence, next, Some(now), more).await?;
        Ok(())
    }

    /// Points the shown branch at its new result, which is stored: whoever finds another commit there knows that it is
    /// somebody else's.
    async fn update_result_branch(
        &self,
        claim: &Claim,
        frozen: &ResultBranch,
        making: &ResultCommit,
    ) -> Result<(), StageError> {
        let (repository, _) = claim.change.plan.write_target();
        self.github.put_own_branch(repository, &frozen.branch, &making.head).await?;
        self.github.delete_own_branch(repository, &frozen.scratch_branch()).await?;
        let placed = ResultBranch { result: Some(making.clone()), making: None, ..frozen.clone() };
        self.store_branch_state(claim, placed).await
    }

    async fn open_pull_request(&self, claim: &Claim, frozen: &ResultBranch) -> Result<(), StageError> {
        let (change, plan) = (&claim.change, &claim.change.plan);
        let (repository, branch) = plan.write_target();
        let required = change.stage.awaiting().map_or(0, |awaiting| awaiting.required);
        let requester = self.people.fetch_display_name(&change.requester).await;
        let body = github::pull_request_text::render_body(change, &requester, required, self.clock.now());
        let title = github::pull_request_text::render_title(plan);
        let opened = self.github.open_pull_request(repository, &frozen.branch, branch, &title, &body).await?;
        let pull = match opened {
            OpenPullRequestOutcome::Done(pull) => pull,
            OpenPullRequestOutcome::AlreadyExists => {
                let found = self.github.find_open_pull_request(repository, &frozen.branch, branch).await?;
                let gone = || GithubError::Unclear("the pull request is there and is not there".to_owned());
                found.ok_or_else(gone)?.pull
            }
            // Somebody put the branch back before it was shown: it is made anew, and not asked for in a circle.
            OpenPullRequestOutcome::NoCommits => {
                return self.store_branch_state(claim, ResultBranch { result: None, ..frozen.clone() }).await;
            }
            OpenPullRequestOutcome::Refused(why) => {
                let why = format!("GitHub does not let me open a pull request: {}.", why.trim_end_matches('.'));
                return Ok(self.mark_errored(claim, why).await?);
            }
        };
        self.store_branch_state(claim, ResultBranch { pull: Some(pull), ..frozen.clone() }).await
    }

    async fn store_branch_state(&self, claim: &Claim, frozen: ResultBranch) -> Result<(), StageError> {
        let next = Change { frozen: Some(frozen), ..claim.change.clone() };
        let now = self.clock.now();
        self.advance_change(&claim.change, claim.fence, next, Some(now), Transaction::new()).await?;
        Ok(())
    }

    /// Somebody merged it on GitHub, or the branch came to have it: the change follows.
    async fn record_manual_merge(&self, claim: &Claim, commit: Sha, by: String) -> Result<(), StoreError> {
        self.record_merge(claim, commit, None, |deploying| DeployState { by_hand: Some(by), ..deploying }).await
    }

    async fn cancel_closed_pull_request(&self, claim: &Claim) -> Result<(), StoreError> {
        let now = self.clock.now();
        let stage = claim.change.stage.clone().into_cancelled(CancelledBy::Github { github: None }, now);
        self.apply_transition(claim, stage, Some(now)).await
    }

    /// Takes up a merge that was interrupted: unless it is done, everything is looked at anew, since time has passed.
    pub(crate) async fn resume_pull_request_merge(
        &self,
        claim: &Claim,
        frozen: &ResultBranch,
    ) -> Result<(), StoreError> {
        let Stage::Merging(merging) = &claim.change.stage else { return Ok(()) };
        if let (true, Some(pull), Some(result)) = (merging.begun, &frozen.pull, &frozen.result) {
            match self.github.fetch_pull_request(claim.change.plan.write_target().0, pull.number).await {
                // With another head it is somebody else's merge, which the next look finds.
                Ok(Some(PullRequest { state: PullRequestState::Merged { commit, .. }, head, .. }))
                    if head == result.head =>
                {
                    return self.record_own_merge(claim, pull, result, commit).await;
                }
                Ok(_) => {}
                Err(error) => return self.handle_merge_error(claim, error, true).await,
            }
        }
        self.await_approval_again(claim).await
    }

    /// Merges the pull request, right after a look that found that all holds: exactly the head that was shown and approved,
    /// or nothing.
    pub(crate) async fn merge_pull_request(&self, claim: &Claim, frozen: &ResultBranch) -> Result<(), StoreError> {
        let (Some(pull), Some(result)) = (&frozen.pull, &frozen.result) else { return Ok(()) };
        let Ok(stage) = claim.change.stage.clone().begin_merge() else { return Ok(()) };
        let claim = Claim { change: Change { stage, ..claim.change.clone() }, ..claim.clone() };
        let begun = Transaction::new().advance_change(claim.change.clone(), claim.fence, Some(self.clock.now()));
        self.store.commit(begun).await?;
        let plan = &claim.change.plan;
        let title = github::pull_request_text::render_title(plan);
        let message = plan.format_merge_message(&claim.change.format_commit_trailers());
        match self.github.merge_pull_request(plan.write_target().0, pull.number, &result.head, &title, &message).await {
            Ok(MergePullRequestOutcome::Done(commit)) => self.record_own_merge(&claim, pull, result, commit).await,
            // The next look finds out what is different, and voids what was said to something else.
            Ok(MergePullRequestOutcome::HeadMoved) => {
                self.postpone_merge(&claim, "the head is not what was shown").await
            }
            Ok(MergePullRequestOutcome::NotMergeable(why)) => self.postpone_merge(&claim, &why).await,
            Ok(MergePullRequestOutcome::Refused(why)) => {
                let why = format!(
                    "GitHub does not let me merge the pull request #{}: {}.",
                    pull.number,
                    why.trim_end_matches('.')
                );
                self.mark_errored(&claim, why).await
            }
            Err(error) => {
                let turned_away = matches!(error, GithubError::RateLimited { .. } | GithubError::Throttled { .. });
                self.handle_merge_error(&claim, error, !turned_away).await
            }
        }
    }

    /// GitHub guards the head of a merge, but not what it is merged into: that is looked at afterwards, and said.
    async fn record_own_merge(
        &self,
        claim: &Claim,
        pull: &PullRequestRef,
        result: &ResultCommit,
        commit: Sha,
    ) -> Result<(), StoreError> {
        let plan = &claim.change.plan;
        let (repository, branch) = plan.write_target();
        let look = async {
            let into = self.github.fetch_pull_request(repository, pull.number).await?.map(|seen| seen.base);
            let made = self.github.resolve_commit(repository, commit.as_str()).await?;
            let onto = made.and_then(|made| made.parents.first().cloned()).filter(|onto| *onto != result.base);
            let beside = match &onto {
                Some(onto) => self.is_manifest_unchanged(plan, &result.base, onto).await?,
                None => true,
            };
            Ok::<_, GithubError>((into, onto.filter(|_| !beside)))
        };
        let (into, unseen) = match look.await {
            Ok(seen) => seen,
            Err(error) if error.is_transient() => return self.handle_merge_error(claim, error, true).await,
            Err(_) => (None, None),
        };
        if let Some(into) = into.filter(|into| *into != branch) {
            return self.mark_errored(claim, describe_merge_elsewhere(plan, pull, &into, &commit)).await;
        }
        self.record_merge(claim, commit, None, |deploying| DeployState { unseen, ..deploying }).await
    }
}
