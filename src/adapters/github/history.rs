//! Reads the history of a branch: its first parents, the rollbacks that are still open, and its tags.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use serde::Deserialize;

use super::client::Client;
use super::commit::{GithubCommit, WireCommit, WireObjectSha};
use super::error::{GithubError, parse_sha};
use super::request::FetchResult;
use super::request_path::{encode_ref, percent_encode_path};
use crate::domain::git::trailer::Trailers;
use crate::domain::model::artefact::Repository;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Sha;

const PAGE_SIZE: usize = 100;
/// The promotion that a walk searches for is nearly always among the first commits, and a commit is about 4 kB of
/// response.
const FIRST_PAGE_SIZE: usize = 20;
/// A walk sends at most this number of requests: about a thousand commits, which is months of a branch.
const MAX_PAGES: usize = 10;

/// A rollback that no later promotion has undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRollback {
    pub change: ChangeId,
    pub commit: Sha,
    /// The head of the branch before the rollback.
    pub parent: Sha,
    /// The commit that has the restored tree.
    pub restores: Sha,
}

/// The role of a commit, by its trailers and its number of parents: a message alone proves nothing.
enum CommitRole {
    Promotion,
    Rollback(OpenRollback),
    /// The merge of a commit that undoes this rollback.
    RollbackUndo(ChangeId),
    Other,
}

impl CommitRole {
    fn from_commit(commit: &GithubCommit) -> Self {
        match (&commit.trailers, commit.parents.as_slice()) {
            (Some(Trailers::Change(_)), [_, _, ..]) => Self::Promotion,
            (Some(Trailers::Rollback { change, restores: Some(restores) }), [parent]) => {
                let (commit, parent, restores) = (commit.sha.clone(), parent.clone(), restores.clone());
                Self::Rollback(OpenRollback { change: *change, commit, parent, restores })
            }
            (Some(Trailers::Reinstates { rollback, .. }), [_, _, ..]) => Self::RollbackUndo(*rollback),
            _ => Self::Other,
        }
    }
}

/// Fetches commits on demand, a page at a time.
struct CommitWalk<'a> {
    client: &'a Client,
    repository: &'a Repository,
    commits: HashMap<Sha, GithubCommit>,
    pages_fetched: usize,
}

impl<'a> CommitWalk<'a> {
    fn new(client: &'a Client, repository: &'a Repository) -> Self {
        Self { client, repository, commits: HashMap::new(), pages_fetched: 0 }
    }

    /// `None` if the walk has fetched its maximum number of pages.
    async fn find_commit(&mut self, sha: &Sha) -> Result<Option<&GithubCommit>, GithubError> {
        if !self.commits.contains_key(sha) {
            if self.pages_fetched == MAX_PAGES {
                return Ok(None);
            }
            let size = if self.pages_fetched == 0 { FIRST_PAGE_SIZE } else { PAGE_SIZE };
            self.pages_fetched += 1;
            // This page begins with the wanted commit. The next page of the previous list could be full of merged
            // commits.
            let path = format!("/repos/{}/commits?sha={sha}&per_page={size}", self.repository);
            let page: Vec<WireCommit> = self.client.fetch_existing(&path).await?;
            for commit in page {
                let commit = commit.into_commit()?;
                self.commits.insert(commit.sha.clone(), commit);
            }
        }
        self.commits.get(sha).map(Some).ok_or_else(|| GithubError::NotFound(format!("the commit {}", sha.short())))
    }
}

/// The findings of a walk down a branch so far.
#[derive(Default)]
struct WalkState {
    /// Newest first. `false`: the rollback came by a merge, and it is not yet known whether it was made for this
    /// branch.
    rollbacks: Vec<(OpenRollback, bool)>,
    undone: HashSet<ChangeId>,
    /// The first parents of a promotion that came by a merge. The walk ends at them, because the promotion has undone
    /// all earlier rollbacks.
    covered: HashSet<Sha>,
}

impl WalkState {
    fn record_rollback(&mut self, rollback: OpenRollback, own: bool) {
        if !self.undone.contains(&rollback.change) {
            self.rollbacks.push((rollback, own));
        }
    }

    /// Marks the rollbacks on top of this commit as the branch's own. The commit is one of the branch's first parents.
    fn mark_own_rollbacks(&mut self, sha: &Sha) {
        for (rollback, own) in &mut self.rollbacks {
            *own |= rollback.parent == *sha;
        }
    }
}

impl Client {
    /// The former heads of a branch, from `head` backwards: at most `limit`. The walk reads at most about a thousand
    /// commits.
    pub async fn list_first_parents(
        &self,
        repository: &Repository,
        head: &Sha,
        limit: usize,
    ) -> Result<Vec<GithubCommit>, GithubError> {
        let (mut walk, mut found, mut next) = (CommitWalk::new(self, repository), Vec::new(), Some(head.clone()));
        while let Some(sha) = next.take()
            && found.len() < limit
            && let Some(commit) = walk.find_commit(&sha).await?
        {
            next = commit.parents.first().cloned();
            found.push(commit.clone());
        }
        Ok(found)
    }

    /// The rollbacks on the branch at `head` that no promotion has undone, newest first. The walk ends at the first
    /// promotion by Gantry, because each promotion undoes all open rollbacks: usually one request. Without a promotion
    /// it ends after ten requests, and a rollback further down is not found: the code that it removed stays removed, or
    /// causes a conflict.
    pub async fn find_open_rollbacks(
        &self,
        repository: &Repository,
        head: &Sha,
    ) -> Result<Vec<OpenRollback>, GithubError> {
        let (mut walk, mut state, mut next) =
            (CommitWalk::new(self, repository), WalkState::default(), Some(head.clone()));
        while let Some(sha) = next.take() {
            let Some(commit) = walk.find_commit(&sha).await? else { break };
            state.mark_own_rollbacks(&sha);
            let (role, parents) = (CommitRole::from_commit(commit), commit.parents.clone());
            if state.covered.contains(&sha) {
                break;
            }
            match role {
                CommitRole::Promotion => break,
                CommitRole::Rollback(rollback) => state.record_rollback(rollback, true),
                CommitRole::RollbackUndo(rollback) => {
                    state.undone.insert(rollback);
                }
                CommitRole::Other => {
                    for merged in parents.iter().skip(1) {
                        scan_merged_parent(&mut walk, &mut state, merged).await?;
                    }
                }
            }
            next = parents.into_iter().next();
        }
        Ok(state.rollbacks.into_iter().filter(|(_, own)| *own).map(|(rollback, _)| rollback).collect())
    }

    /// Finds a rollback that a merge of `pinned` would carry into a branch at `head`, although the branch still has the
    /// removed code. For example, a hotfix on top of a rollback in the environment below carries that rollback along.
    /// The first environment has no rollbacks, so its commits need no such check.
    pub async fn find_carried_rollback(
        &self,
        repository: &Repository,
        head: &Sha,
        pinned: &Sha,
    ) -> Result<Option<OpenRollback>, GithubError> {
        let (mut start, mut common, mut deepest) = (pinned.clone(), None, None);
        for _ in 0..MAX_PAGES {
            // Only the newest open rollback counts: its tree replaced the effect of the older ones.
            let Some(newest) = self.find_open_rollbacks(repository, &start).await?.into_iter().next() else {
                return Ok(None);
            };
            if common.is_none() {
                common = self.find_merge_base(repository, head, pinned).await?;
            }
            let Some(common) = &common else { return Ok(None) };
            if self.has_ancestor(repository, common, &newest.commit).await? {
                return Ok(None);
            }
            if !self.has_ancestor(repository, &newest.restores, common).await? {
                return Ok(Some(newest));
            }
            start = newest.restores.clone();
            deepest = Some(newest);
        }
        // So many nested rollbacks do not occur in practice. The last one found makes the caller refuse.
        Ok(deepest)
    }

    /// `None` if the two commits have no common ancestor.
    async fn find_merge_base(&self, repository: &Repository, one: &Sha, two: &Sha) -> Result<Option<Sha>, GithubError> {
        #[derive(Deserialize)]
        struct WireMergeBase {
            merge_base_commit: WireObjectSha,
        }
        match self.fetch_json::<WireMergeBase>(&format!("/repos/{repository}/compare/{one}...{two}?per_page=1")).await?
        {
            FetchResult::Found(compared) => parse_sha(&compared.merge_base_commit.sha).map(Some),
            FetchResult::Missing(why) if why.contains("No common ancestor") => Ok(None),
            FetchResult::Missing(why) => Err(GithubError::NotFound(why)),
        }
    }

    /// Whether `other` is an ancestor of `commit` or the same commit.
    async fn has_ancestor(&self, repository: &Repository, commit: &Sha, other: &Sha) -> Result<bool, GithubError> {
        if commit == other {
            return Ok(true);
        }
        match self.compare_refs(repository, other.as_str(), commit.as_str()).await? {
            FetchResult::Found(compared) => Ok(compared.behind_by == 0),
            FetchResult::Missing(why) => Err(GithubError::NotFound(why)),
        }
    }

    /// The newest tags with this prefix, ordered by the numbers in their names, each with its commit.
    pub async fn list_newest_tags(
        &self,
        repository: &Repository,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<(String, Sha)>, GithubError> {
        let mut names = self.list_tags_with_prefix(repository, prefix).await?;
        // GitHub gets `qa` instead of `qa/`, and that also matches `qa-old`.
        names.retain(|name| name.starts_with(prefix));
        names.sort_by_cached_key(|name| std::cmp::Reverse(natural_sort_key(name)));
        let mut found = Vec::new();
        for name in names.into_iter().take(limit) {
            if let Some(commit) = self.resolve_tag(repository, &name).await? {
                found.push((name, commit));
            }
        }
        Ok(found)
    }

    /// The commits that changed a file on a branch, newest first.
    pub async fn fetch_file_history(
        &self,
        repository: &Repository,
        branch: &str,
        path: &str,
        limit: usize,
    ) -> Result<Vec<GithubCommit>, GithubError> {
        let Some(branch) = encode_ref(branch) else { return Ok(Vec::new()) };
        let (size, path) = (limit.clamp(1, PAGE_SIZE), percent_encode_path(path));
        let mut found: Vec<GithubCommit> = Vec::new();
        for page in 1..=MAX_PAGES {
            let path = format!("/repos/{repository}/commits?sha={branch}&path={path}&per_page={size}&page={page}");
            let commits: Vec<WireCommit> = self.fetch_existing(&path).await?;
            let end = commits.len() < size;
            for commit in commits {
                found.push(commit.into_commit()?);
            }
            if end || found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    pub async fn fetch_default_branch(&self, repository: &Repository) -> Result<String, GithubError> {
        #[derive(Deserialize)]
        struct WireDefaultBranch {
            default_branch: String,
        }
        Ok(self.fetch_existing::<WireDefaultBranch>(&format!("/repos/{repository}")).await?.default_branch)
    }
}

/// Scans a merged parent of a merge that Gantry did not make. If a person merged Gantry's pull request, Gantry's own
/// commits are behind that parent.
async fn scan_merged_parent(walk: &mut CommitWalk<'_>, state: &mut WalkState, merged: &Sha) -> Result<(), GithubError> {
    let (mut next, mut promoted) = (Some(merged.clone()), false);
    while let Some(sha) = next.take() {
        let Some(commit) = walk.find_commit(&sha).await? else { break };
        if promoted {
            state.covered.insert(sha);
        }
        match CommitRole::from_commit(commit) {
            CommitRole::RollbackUndo(rollback) => {
                next = commit.parents.first().cloned();
                state.undone.insert(rollback);
            }
            CommitRole::Promotion if !promoted => {
                promoted = true;
                next = commit.parents.first().cloned();
            }
            CommitRole::Rollback(rollback) if !promoted => state.record_rollback(rollback, false),
            _ => {}
        }
    }
    Ok(())
}

/// Digits are compared as numbers: `qa/2026.11.16-10` sorts after `-9`.
fn natural_sort_key(name: &str) -> String {
    let mut key = String::with_capacity(name.len() * 2);
    let mut digits = String::new();
    for c in name.chars().chain(std::iter::once('\0')) {
        if c.is_ascii_digit() {
            digits.push(c);
        } else {
            if !digits.is_empty() {
                let _ = write!(key, "{:0>20}", digits.trim_start_matches('0'));
                digits.clear();
            }
            key.push(c);
        }
    }
    key
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
