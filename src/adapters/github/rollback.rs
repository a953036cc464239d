//! A rollback on a branch, and the result of the promotion that undoes it. Nothing here ever forces a branch of an
//! environment: it is only moved forward, once, to a commit that was made beside it.

use std::num::NonZeroU32;

use serde::Deserialize;
use serde_json::json;

use super::client::{Ask, Client, Found, GithubError, in_path, said, sha};
use super::commit::WireName;
use super::history::OpenRollback;
use super::write::Merge;
use crate::domain::change::ChangeId;
use crate::domain::git::trailer::Trailers;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

/// What became of moving a branch forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FastForward {
    Done,
    /// It stands elsewhere by now: this would not be forward any more.
    Moved,
    NoBranch,
    /// By the branch's rules, or by what the token may do.
    Refused(String),
}

/// What became of the result of a promotion, made on a branch of our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// The last merge; where the branch had the pinned commit all along, that of the last undoing.
    Done(Sha),
    /// The branch has it already, and there was nothing to undo.
    AlreadyThere,
    Conflict,
    NoCommit,
    Refused(String),
}

/// The promotion that a result is made for.
#[derive(Clone, Copy, Debug)]
pub struct Promoting<'a> {
    pub change: ChangeId,
    pub pinned: &'a Sha,
    /// Of the merge of the pinned commit, with its trailer.
    pub message: &'a str,
}

impl Client {
    /// The name of a commit's tree; `None` where there is no such commit.
    pub async fn tree_of(&self, repository: &Repository, commit: &Sha) -> Result<Option<Sha>, GithubError> {
        #[derive(Deserialize)]
        struct Object {
            tree: WireName,
        }
        match self.read::<Object>(&format!("/repos/{repository}/git/commits/{commit}")).await? {
            Found::Yes(object) => sha(&object.tree.sha).map(Some),
            Found::No(_) => Ok(None),
        }
    }

    /// A commit of this tree, not yet on any branch.
    pub async fn commit_tree(
        &self,
        repository: &Repository,
        tree: &Sha,
        parents: &[Sha],
        message: &str,
    ) -> Result<Sha, GithubError> {
        self.reserve(NonZeroU32::MIN)?;
        self.commit_reserved(repository, tree, parents, message).await
    }

    /// The same, for which there is room already.
    pub(super) async fn commit_reserved(
        &self,
        repository: &Repository,
        tree: &Sha,
        parents: &[Sha],
        message: &str,
    ) -> Result<Sha, GithubError> {
        let parents: Vec<&str> = parents.iter().map(Sha::as_str).collect();
        let body = json!({ "message": message, "tree": tree.as_str(), "parents": parents });
        let (status, answer) = self.write(&format!("/repos/{repository}/git/commits"), Ask::Post(&body)).await?;
        made(status, &answer)
    }

    /// Moves a branch to a commit that has the branch's head behind it. Where it stands there already, that is done, too.
    pub async fn fast_forward(
        &self,
        repository: &Repository,
        branch: &str,
        to: &Sha,
    ) -> Result<FastForward, GithubError> {
        let Some(name) = in_path(branch) else { return Ok(FastForward::NoBranch) };
        self.reserve(NonZeroU32::MIN)?;
        let path = format!("/repos/{repository}/git/refs/heads/{name}");
        let body = json!({ "sha": to.as_str(), "force": false });
        let (status, why) = match self.write(&path, Ask::Patch(&body)).await {
            Ok((200, _)) => return Ok(FastForward::Done),
            Ok((status, answer)) => (status, said(&answer)),
            // A rule of the branch is told by 403 as well as by 422.
            Err(GithubError::Unauthorised(why)) if is_of_rules(&why) => return Ok(FastForward::Refused(why)),
            Err(error) => return Err(error),
        };
        let has = |words: &str| why.to_ascii_lowercase().contains(words);
        match status {
            404 => Err(GithubError::NotFound(why)),
            _ if has("not a fast forward") || has("but expected") => Ok(FastForward::Moved),
            _ if has("reference does not exist") => Ok(FastForward::NoBranch),
            _ if has("object does not exist") => Err(GithubError::NotFound(format!("the commit {}", to.short()))),
            // Somebody else moved it at the same moment, or it says nothing: a look tells.
            _ if has("update failed") && !is_of_rules(&why) || has("cannot lock") => Err(GithubError::Unclear(why)),
            _ => Ok(FastForward::Refused(why)),
        }
    }

    /// One commit on top of `head` with the tree of `restore`, not yet on any branch. `None`: `restore` is gone.
    pub async fn make_rollback(
        &self,
        repository: &Repository,
        head: &Sha,
        restore: &Sha,
        message: &str,
    ) -> Result<Option<Sha>, GithubError> {
        match self.tree_of(repository, restore).await? {
            Some(tree) => self.commit_tree(repository, &tree, std::slice::from_ref(head), message).await.map(Some),
            None => Ok(None),
        }
    }

    /// Makes on `bench`, a branch of our own that stands at `base`, what the promotion gives: each open rollback undone,
    /// newest first, then the pinned commit merged. After an error nobody knows how far it came: put the branch back to
    /// where it began, and begin anew.
    ///
    /// To undo is a commit with the tree from before the rollback on top of the rollback, merged in: Git then sees exactly
    /// what the rollback took away, and keeps what came since. That commit is merged by its name, with no reference to it:
    /// GitHub takes any commit that its store has, even one of a fork.
    pub async fn make_result(
        &self,
        repository: &Repository,
        bench: &str,
        base: &Sha,
        open: &[OpenRollback],
        promoting: Promoting<'_>,
    ) -> Result<Made, GithubError> {
        let mut undone = Vec::with_capacity(open.len());
        for rollback in open {
            let before = self.tree_of(repository, &rollback.parent).await?;
            let gone = || GithubError::NotFound(format!("the commit {} before a rollback", rollback.parent.short()));
            undone.push((rollback, before.ok_or_else(gone)?));
        }
        let writes = u32::try_from(2 * open.len() + 1).unwrap_or(u32::MAX);
        self.reserve(NonZeroU32::new(writes).unwrap_or(NonZeroU32::MIN))?;
        let mut head = base.clone();
        for (OpenRollback { change, commit, .. }, tree) in undone {
            let trailers = Trailers::Reinstates { change: promoting.change, rollback: *change };
            let message = format!("Undo the rollback {}\n\n{trailers}\n", change.to_short_id());
            let undoing = self.commit_reserved(repository, &tree, std::slice::from_ref(commit), &message).await?;
            match self.merge_on_bench(repository, bench, &head, &undoing, &message).await? {
                Made::Done(merged) => head = merged,
                Made::AlreadyThere => {}
                Made::NoCommit => return Err(GithubError::Unclear("it has not what it just made".to_owned())),
                other => return Ok(other),
            }
        }
        match self.merge_on_bench(repository, bench, &head, promoting.pinned, promoting.message).await? {
            Made::AlreadyThere if head != *base => Ok(Made::Done(head)),
            made => Ok(made),
        }
    }

    async fn merge_on_bench(
        &self,
        repository: &Repository,
        bench: &str,
        head: &Sha,
        merged: &Sha,
        message: &str,
    ) -> Result<Made, GithubError> {
        match self.merge_reserved(repository, bench, merged, message).await? {
            Merge::Done { commit, parents } if parents == [head.clone(), merged.clone()] => Ok(Made::Done(commit)),
            Merge::Done { .. } => Err(GithubError::Unclear(format!("somebody else writes to {bench}"))),
            Merge::AlreadyThere => Ok(Made::AlreadyThere),
            Merge::Conflict => Ok(Made::Conflict),
            Merge::NoBranch => Err(GithubError::Unclear(format!("{bench} is gone again"))),
            Merge::NoCommit => Ok(Made::NoCommit),
            Merge::Refused(why) => Ok(Made::Refused(why)),
        }
    }
}

/// The name of an object that was to be made.
pub(super) fn made(status: u16, answer: &str) -> Result<Sha, GithubError> {
    match status {
        201 => {
            let object: WireName =
                serde_json::from_str(answer).map_err(|error| GithubError::Unclear(error.to_string()))?;
            sha(&object.sha)
        }
        404 => Err(GithubError::NotFound(said(answer))),
        _ => Err(GithubError::Other(said(answer))),
    }
}

/// Words by which GitHub tells of a branch's rules, old and new.
fn is_of_rules(why: &str) -> bool {
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
    .any(|words| why.contains(words))
}

#[cfg(test)]
#[path = "rollback_tests.rs"]
mod tests;
