//! Writes a rollback on a branch, and builds the result of the promotion that undoes it. An environment's branch is
//! never forced: it is moved forward once, to a commit that was made beside it.

use std::num::NonZeroU32;

use serde::Deserialize;
use serde_json::json;

use super::client::{Client, GithubRequest};
use super::commit::WireObjectSha;
use super::error::{GithubError, error_message, parse_sha};
use super::history::OpenRollback;
use super::request::FetchResult;
use super::request_path::encode_ref;
use super::write::MergeOutcome;
use crate::domain::git::trailer::Trailers;
use crate::domain::model::artefact::Repository;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Sha;

/// The result of moving a branch forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FastForwardOutcome {
    Done,
    /// The branch has another head by now, so the move would not be a fast-forward.
    BranchMoved,
    NoBranch,
    /// By the branch's rules, or because the token has no permission.
    Refused(String),
}

/// The result of building a promotion on a branch of Gantry's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildPromotionOutcome {
    /// The last merge. If the branch already had the pinned commit, the merge that undid the last rollback.
    Done(Sha),
    /// The branch already has the commit, and there was no rollback to undo.
    AlreadyMerged,
    Conflict,
    NoCommit,
    Refused(String),
}

/// The promotion for which a commit is built.
#[derive(Clone, Copy, Debug)]
pub struct PromotionMerge<'a> {
    pub change: ChangeId,
    pub pinned: &'a Sha,
    /// Message of the merge of the pinned commit, with its trailer.
    pub message: &'a str,
}

impl Client {
    /// The SHA of a commit's tree; `None` if the commit does not exist.
    pub async fn fetch_tree_sha(&self, repository: &Repository, commit: &Sha) -> Result<Option<Sha>, GithubError> {
        #[derive(Deserialize)]
        struct WireCommitTree {
            tree: WireObjectSha,
        }
        match self.fetch_json::<WireCommitTree>(&format!("/repos/{repository}/git/commits/{commit}")).await? {
            FetchResult::Found(object) => parse_sha(&object.tree.sha).map(Some),
            FetchResult::Missing(_) => Ok(None),
        }
    }

    /// Creates a commit with this tree. It is on no branch yet.
    pub async fn commit_tree(
        &self,
        repository: &Repository,
        tree: &Sha,
        parents: &[Sha],
        message: &str,
    ) -> Result<Sha, GithubError> {
        self.reserve_writes(NonZeroU32::MIN)?;
        self.commit_tree_reserved(repository, tree, parents, message).await
    }

    /// Like [`commit_tree`](Self::commit_tree), for a write that the caller has already reserved.
    pub(super) async fn commit_tree_reserved(
        &self,
        repository: &Repository,
        tree: &Sha,
        parents: &[Sha],
        message: &str,
    ) -> Result<Sha, GithubError> {
        let parents: Vec<&str> = parents.iter().map(Sha::as_str).collect();
        let body = json!({ "message": message, "tree": tree.as_str(), "parents": parents });
        let (status, answer) =
            self.send_write(&format!("/repos/{repository}/git/commits"), GithubRequest::Post(&body)).await?;
        parse_created_sha(status, &answer)
    }

    /// Moves a branch forward to a commit that descends from the branch's head. `Done` also if the branch is already
    /// there.
    pub async fn fast_forward(
        &self,
        repository: &Repository,
        branch: &str,
        to: &Sha,
    ) -> Result<FastForwardOutcome, GithubError> {
        let Some(name) = encode_ref(branch) else { return Ok(FastForwardOutcome::NoBranch) };
        self.reserve_writes(NonZeroU32::MIN)?;
        let path = format!("/repos/{repository}/git/refs/heads/{name}");
        let body = json!({ "sha": to.as_str(), "force": false });
        let (status, why) = match self.send_write(&path, GithubRequest::Patch(&body)).await {
            Ok((200, _)) => return Ok(FastForwardOutcome::Done),
            Ok((status, answer)) => (status, error_message(&answer)),
            // GitHub reports a rule of the branch with 403 or with 422.
            Err(GithubError::Unauthorised(why)) if is_rule_violation(&why) => {
                return Ok(FastForwardOutcome::Refused(why));
            }
            Err(error) => return Err(error),
        };
        let contains = |phrase: &str| why.to_ascii_lowercase().contains(phrase);
        match status {
            404 => Err(GithubError::NotFound(why)),
            _ if contains("not a fast forward") || contains("but expected") => Ok(FastForwardOutcome::BranchMoved),
            _ if contains("reference does not exist") => Ok(FastForwardOutcome::NoBranch),
            _ if contains("object does not exist") => Err(GithubError::NotFound(format!("the commit {}", to.short()))),
            // Another process moved the branch at the same moment, or the message is vague. The caller must check the
            // branch.
            _ if contains("update failed") && !is_rule_violation(&why) || contains("cannot lock") => {
                Err(GithubError::Unclear(why))
            }
            _ => Ok(FastForwardOutcome::Refused(why)),
        }
    }

    /// Creates a commit on top of `head` with the tree of `restore`. It is on no branch yet. `None` if `restore` does
    /// not exist.
    pub async fn create_rollback_commit(
        &self,
        repository: &Repository,
        head: &Sha,
        restore: &Sha,
        message: &str,
    ) -> Result<Option<Sha>, GithubError> {
        match self.fetch_tree_sha(repository, restore).await? {
            Some(tree) => self.commit_tree(repository, &tree, std::slice::from_ref(head), message).await.map(Some),
            None => Ok(None),
        }
    }

    /// Builds the result of a promotion on `scratch_branch`, a branch of Gantry's own at `base`: undoes each open
    /// rollback, newest first, then merges the pinned commit. After an error the state of the branch is unknown: reset
    /// it to `base` and start again.
    ///
    /// A rollback is undone by a commit on top of it that has the tree from before it. When that commit is merged, Git
    /// restores exactly the removed code and keeps later changes. The commit is merged by its SHA and needs no
    /// reference: GitHub accepts any commit in its object store, even one of a fork.
    pub async fn build_promotion_commit(
        &self,
        repository: &Repository,
        scratch_branch: &str,
        base: &Sha,
        open_rollbacks: &[OpenRollback],
        promotion: PromotionMerge<'_>,
    ) -> Result<BuildPromotionOutcome, GithubError> {
        let mut trees_before = Vec::with_capacity(open_rollbacks.len());
        for rollback in open_rollbacks {
            let tree = self.fetch_tree_sha(repository, &rollback.parent).await?;
            let missing = || GithubError::NotFound(format!("the commit {} before a rollback", rollback.parent.short()));
            trees_before.push((rollback, tree.ok_or_else(missing)?));
        }
        let writes = u32::try_from(2 * open_rollbacks.len() + 1).unwrap_or(u32::MAX);
        self.reserve_writes(NonZeroU32::new(writes).unwrap_or(NonZeroU32::MIN))?;
        let mut head = base.clone();
        for (OpenRollback { change, commit, .. }, tree) in trees_before {
            let trailers = Trailers::Reinstates { change: promotion.change, rollback: *change };
            let message = format!("Undo the rollback {}\n\n{trailers}\n", change.to_short_id());
            let undo_commit =
                self.commit_tree_reserved(repository, &tree, std::slice::from_ref(commit), &message).await?;
            match self.merge_on_scratch_branch(repository, scratch_branch, &head, &undo_commit, &message).await? {
                BuildPromotionOutcome::Done(merged) => head = merged,
                BuildPromotionOutcome::AlreadyMerged => {}
                BuildPromotionOutcome::NoCommit => {
                    return Err(GithubError::Unclear("it has not what it just made".to_owned()));
                }
                other => return Ok(other),
            }
        }
        match self
            .merge_on_scratch_branch(repository, scratch_branch, &head, promotion.pinned, promotion.message)
            .await?
        {
            BuildPromotionOutcome::AlreadyMerged if head != *base => Ok(BuildPromotionOutcome::Done(head)),
            outcome => Ok(outcome),
        }
    }

    async fn merge_on_scratch_branch(
        &self,
        repository: &Repository,
        scratch_branch: &str,
        head: &Sha,
        merged: &Sha,
        message: &str,
    ) -> Result<BuildPromotionOutcome, GithubError> {
        match self.merge_into_branch_reserved(repository, scratch_branch, merged, message).await? {
            MergeOutcome::Done { commit, parents } if parents == [head.clone(), merged.clone()] => {
                Ok(BuildPromotionOutcome::Done(commit))
            }
            MergeOutcome::Done { .. } => Err(GithubError::Unclear(format!("somebody else writes to {scratch_branch}"))),
            MergeOutcome::AlreadyMerged => Ok(BuildPromotionOutcome::AlreadyMerged),
            MergeOutcome::Conflict => Ok(BuildPromotionOutcome::Conflict),
            MergeOutcome::NoBranch => Err(GithubError::Unclear(format!("{scratch_branch} is gone again"))),
            MergeOutcome::NoCommit => Ok(BuildPromotionOutcome::NoCommit),
            MergeOutcome::Refused(why) => Ok(BuildPromotionOutcome::Refused(why)),
        }
    }
}

/// The SHA of an object that a write should have created.
pub(super) fn parse_created_sha(status: u16, answer: &str) -> Result<Sha, GithubError> {
    match status {
        201 => {
            let object: WireObjectSha =
                serde_json::from_str(answer).map_err(|error| GithubError::Unclear(error.to_string()))?;
            parse_sha(&object.sha)
        }
        404 => Err(GithubError::NotFound(error_message(answer))),
        _ => Err(GithubError::Other(error_message(answer))),
    }
}

/// Whether a message is about a branch's rules, in GitHub's old and new wording.
fn is_rule_violation(why: &str) -> bool {
    let why = why.to_ascii_lowercase();
    [
        "protected",
        "pull request",
        "rule violation",
        "not authorized to push",
        "required status check",
        "approving review",
    ]
    .iter()
    .any(|phrase| why.contains(phrase))
}

#[cfg(test)]
#[path = "rollback_tests.rs"]
mod tests;
