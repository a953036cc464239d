//! What Git is to get by a change, made on top of where its branch stands: merged, restored, or written into a manifest.
//! Where that is no plain merge, the branch then moves to it at once, and never by force.

use crate::adapters::github::{self, Compared, FastForward, GithubError, Promoting};
use crate::adapters::store::{Claim, StoreError, Transaction};
use crate::domain::change::plan::ManifestFile;
use crate::domain::change::{Change, DeployState, ResultBranch, ResultCommit};
use crate::domain::git::manifest;
use crate::domain::model::artefact::Delivery;
use crate::domain::model::environment::PromotionMethod;
use crate::domain::model::version::Sha;

use super::merge::commit_gone;
use crate::workflow::changes::pull_request::Halt;
use crate::workflow::context::Bot;

/// How often a branch that moves under our hands is tried again at once.
const AT_ONCE: usize = 4;

/// What became of the result.
pub(crate) enum Made {
    Done(Sha),
    /// Git says so already.
    AlreadyThere,
    Conflict(Vec<String>),
    /// Waiting does not help: the reason, and what to do.
    Cannot(String),
}

impl Bot {
    /// The result on top of `base`. A merge is made on `bench`, a branch of our own; everything else is on no branch yet.
    pub(crate) async fn make_result(&self, change: &Change, bench: &str, base: &Sha) -> Result<Made, GithubError> {
        let plan = &change.plan;
        match (&plan.manifest, &plan.rollback) {
            (Some(file), _) => self.write_manifest(change, file, base).await,
            (None, Some(_)) => self.restore(change, base).await,
            (None, None) => self.merge_onto(change, bench, base).await,
        }
    }

    async fn merge_onto(&self, change: &Change, bench: &str, base: &Sha) -> Result<Made, GithubError> {
        let plan = &change.plan;
        let Some(pinned) = &plan.pinned else { return Ok(Made::Cannot("Nothing tells what is to be merged.".into())) };
        // What is open by now counts, and not what was when it was planned.
        let open = match plan.undoes.as_slice() {
            [] => Vec::new(),
            _ => self.github.open_rollbacks(&plan.repository, base).await?,
        };
        self.github.put_own_branch(&plan.repository, bench, base).await?;
        let message = plan.format_merge_message(&change.format_commit_trailers());
        let promoting = Promoting { change: change.id, pinned, message: &message };
        Ok(match self.github.make_result(&plan.repository, bench, base, &open, promoting).await? {
            github::Made::Done(commit) => Made::Done(commit),
            github::Made::AlreadyThere => {
                // Only where the environment's own branch has it too did it come there by hand.
                match self.github.pending(&plan.repository, base.as_str(), pinned).await? {
                    Compared::Pending(pending) if pending.ahead_by == 0 => Made::AlreadyThere,
                    _ => return Err(GithubError::Unclear(format!("somebody else writes to {bench}"))),
                }
            }
            github::Made::Conflict => {
                let files = self.github.changed_on_both_sides(&plan.repository, &plan.branch, pinned).await;
                Made::Conflict(files.unwrap_or_default())
            }
            github::Made::NoCommit => Made::Cannot(commit_gone(plan)),
            github::Made::Refused(why) => {
                let why = why.trim_end_matches('.');
                Made::Cannot(format!(
                    "GitHub does not let me make the branch {bench}: {why}. Let me push to branches below gantry/."
                ))
            }
        })
    }

    async fn restore(&self, change: &Change, base: &Sha) -> Result<Made, GithubError> {
        let plan = &change.plan;
        let Some(commit) = &plan.pinned else {
            return Ok(Made::Cannot("Nothing tells what is to be restored.".into()));
        };
        let message = plan.format_merge_message(&change.format_commit_trailers());
        Ok(match self.github.make_rollback(&plan.repository, base, commit, &message).await? {
            Some(made) => Made::Done(made),
            None => Made::Cannot(commit_gone(plan)),
        })
    }

    async fn write_manifest(&self, change: &Change, at: &ManifestFile, base: &Sha) -> Result<Made, GithubError> {
        let plan = &change.plan;
        let Some(artefact) = self.config.catalogue.find_artefact(plan.artefact.as_str()) else {
            return Ok(Made::Cannot(format!("{} is not configured any more.", plan.artefact)));
        };
        let Delivery::Manifest { path, pin, .. } = &artefact.delivery else {
            return Ok(Made::Cannot(format!("{} does not go by manifest any more.", plan.artefact)));
        };
        let ManifestFile { repository, file, .. } = at;
        let Some(text) = self.github.file(repository, base.as_str(), file).await? else {
            return Ok(Made::Cannot(format!("The file {file} is gone from {repository}.")));
        };
        let place = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
        match manifest::write_version(&text, &place, &plan.version) {
            Ok(new) if new == text => Ok(Made::AlreadyThere),
            Ok(new) => {
                let message = plan.format_merge_message(&change.format_commit_trailers());
                Ok(Made::Done(self.github.commit_file(repository, base, file, &new, &message).await?))
            }
            Err(problem) => Ok(Made::Cannot(format!("I cannot write {file} of {repository}: {problem}."))),
        }
    }

    /// The step of a change that is no plain merge: its result is made and stored, and Git moves to it.
    pub(crate) async fn move_to_result(&self, claim: &Claim) -> Result<(), StoreError> {
        let mut claim = claim.clone();
        for _ in 0..AT_ONCE {
            match self.moved_to_result(&mut claim).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(Halt::Store(error)) => return Err(error),
                Err(Halt::Github(error)) => {
                    let turned_away = matches!(error, GithubError::RateLimited { .. } | GithubError::Paced { .. });
                    return self.merge_failed(&claim, error, !turned_away).await;
                }
            }
        }
        let (_, branch) = claim.change.plan.write_target();
        let busy = GithubError::Unavailable(format!("{branch} does not stand still"));
        self.merge_failed(&claim, busy, true).await
    }

    /// `false`: the branch moved meanwhile.
    async fn moved_to_result(&self, claim: &mut Claim) -> Result<bool, Halt> {
        let Some(base) = self.environments_head(claim).await? else { return Ok(true) };
        let frozen = claim.change.frozen.clone().unwrap_or_else(|| ResultBranch::from_change_id(claim.change.id));
        if claim.change.plan.is_branch_merge() && claim.change.frozen.is_none() {
            // Stored before the branch is made, so that it is put away whatever becomes of it.
            let made = Change { frozen: Some(frozen.clone()), ..claim.change.clone() };
            self.store.commit(Transaction::new().advance(made.clone(), claim.fence, Some(self.clock.now()))).await?;
            claim.change = made;
        }
        let head = match self.make_result(&claim.change, &frozen.branch, &base).await? {
            Made::Done(head) => head,
            Made::AlreadyThere => {
                self.merged(claim, base, None, |deploying| deploying).await?;
                return Ok(true);
            }
            Made::Conflict(files) => {
                let now = self.clock.now();
                let stage = claim.change.stage.clone().into_conflicted(files, now);
                self.become_(claim, stage, Some(now)).await?;
                return Ok(true);
            }
            Made::Cannot(why) => {
                self.errored(claim, why).await?;
                return Ok(true);
            }
        };
        // Stored before Git moves: a restart looks whether the branch has it.
        let result = Some(ResultCommit { base: base.clone(), head: head.clone() });
        let tidy = !claim.change.plan.is_branch_merge();
        let made = Change { frozen: Some(ResultBranch { result, tidy, ..frozen }), ..claim.change.clone() };
        let kept = Transaction::new().advance(made.clone(), claim.fence, Some(self.clock.now()));
        self.store.commit(kept).await?;
        claim.change = made;
        let plan = &claim.change.plan;
        let (repository, branch) = plan.write_target();
        match self.github.fast_forward(repository, branch, &head).await? {
            FastForward::Done => {
                let unseen = plan.head.as_ref().is_some_and(|shown| *shown != base && plan.rollback.is_some());
                let unseen = unseen.then(|| base.clone());
                self.merged(claim, head, None, |deploying| DeployState { unseen, ..deploying }).await?;
                Ok(true)
            }
            // Where it is gone, the next try says so.
            FastForward::Moved | FastForward::NoBranch => Ok(false),
            FastForward::Refused(_) if plan.rollback.is_some() => {
                self.go_by_pull(claim).await?;
                Ok(true)
            }
            FastForward::Refused(why) => {
                let why = why.trim_end_matches('.');
                let why = format!(
                    "GitHub does not let me move {branch} of {repository}: {why}. Let me push there, or set \
                     `promote: pull_request` for {}.",
                    plan.environment
                );
                self.errored(claim, why).await?;
                Ok(true)
            }
        }
    }

    /// The branch is protected: a rollback then goes by a pull request, as far as GitHub lets it.
    async fn go_by_pull(&self, claim: &Claim) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut next = claim.change.clone();
        next.plan.promote = PromotionMethod::PullRequest;
        next.frozen = Some(ResultBranch::from_change_id(next.id));
        let awaiting = self.awaiting(&next.plan, now).await;
        let Ok(stage) = next.stage.clone().return_to_awaiting(awaiting) else { return Ok(()) };
        next.stage = stage;
        self.advance_to(&claim.change, claim.fence, next, Some(now), Transaction::new()).await.map(drop)
    }

    /// The result that was stored before Git was to move to it, if the branch has it.
    pub(crate) async fn find_result(&self, change: &Change) -> Result<Option<Sha>, GithubError> {
        let Some(ResultCommit { head, .. }) = change.frozen.as_ref().and_then(|frozen| frozen.result.as_ref()) else {
            return Ok(None);
        };
        let (repository, branch) = change.plan.write_target();
        match self.github.pending(repository, branch, head).await? {
            Compared::Pending(pending) if pending.ahead_by == 0 => Ok(Some(head.clone())),
            // What nobody points at can be gone from Git by now.
            _ => Ok(None),
        }
    }
}
