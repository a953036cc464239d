//! What the history of a branch says of itself: its first parents, the rollbacks that are still open, tags. Only read.

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
/// The promotion that a walk looks for is nearly always among the first few, and a commit is some 4 kB of answer.
const FIRST_PAGE_SIZE: usize = 20;
/// A walk asks so often: some thousand commits, as many as a branch gets in months.
const MAX_PAGES: usize = 10;

/// A rollback whose undoing the branch has not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRollback {
    pub change: ChangeId,
    pub commit: Sha,
    /// Where the branch stood before it.
    pub parent: Sha,
    /// The commit whose tree it restored.
    pub restores: Sha,
}

/// What a commit is to us, by its trailers and its parents: a message alone proves nothing.
enum CommitRole {
    Promotion,
    Rollback(OpenRollback),
    /// The merge of what undoes this rollback.
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

/// Commits as they are asked for, with the page that each one begins.
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

    /// `None`: enough was asked.
    async fn find_commit(&mut self, sha: &Sha) -> Result<Option<&GithubCommit>, GithubError> {
        if !self.commits.contains_key(sha) {
            if self.pages_fetched == MAX_PAGES {
                return Ok(None);
            }
            let size = if self.pages_fetched == 0 { FIRST_PAGE_SIZE } else { PAGE_SIZE };
            self.pages_fetched += 1;
            // Not the next page of the one before: that could be full of what was merged, this begins with what is wanted.
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

/// What a walk down a branch has met so far.
#[derive(Default)]
struct WalkState {
    /// Newest first; `false`: it came by a merge, and it is not yet known whether it was made for this branch.
    rollbacks: Vec<(OpenRollback, bool)>,
    undone: HashSet<ChangeId>,
    /// What lies behind a promotion that came by a merge: there, nothing is open.
    covered: HashSet<Sha>,
}

impl WalkState {
    fn record_rollback(&mut self, rollback: OpenRollback, own: bool) {
        if !self.undone.contains(&rollback.change) {
            self.rollbacks.push((rollback, own));
        }
    }

    /// The walk came by this commit of the branch itself.
    fn mark_own_rollbacks(&mut self, sha: &Sha) {
        for (rollback, own) in &mut self.rollbacks {
            *own |= rollback.parent == *sha;
        }
    }
}

impl Client {
    /// The commits on which a branch has stood, from `head` back: at most `limit`, and of at most a thousand commits of
    /// the whole history.
    pub async fn list_first_parents(
        &self,
        repository: &Repository,
        head: &Sha,
        limit: usize,
    ) -> Result<Vec<GithubCommit>, GithubError> {
        let (mut walk, mut found, mut at) = (CommitWalk::new(self, repository), Vec::new(), Some(head.clone()));
        while let Some(sha) = at.take()
            && found.len() < limit
            && let Some(commit) = walk.find_commit(&sha).await?
        {
            at = commit.parents.first().cloned();
            found.push(commit.clone());
        }
        Ok(found)
    }

    /// The rollbacks on the branch at `head` that no promotion has undone, newest first. The walk ends at the first promotion
    /// of ours, since each of them undoes all that are open: mostly one request. On a branch without any it ends after ten;
    /// a rollback that lies deeper is not found: what it took away stays away, or makes the next promotion conflict.
    pub async fn find_open_rollbacks(
        &self,
        repository: &Repository,
        head: &Sha,
    ) -> Result<Vec<OpenRollback>, GithubError> {
        let (mut walk, mut state, mut at) =
            (CommitWalk::new(self, repository), WalkState::default(), Some(head.clone()));
        while let Some(sha) = at.take() {
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
            at = parents.into_iter().next();
        }
        Ok(state.rollbacks.into_iter().filter(|(_, own)| *own).map(|(rollback, _)| rollback).collect())
    }

    /// The rollback that a merge of `pinned` would carry into a branch at `head`, where the branch has what it took back: a
    /// hotfix on a rolled back rung brings the rollback along. Not for what comes from the first rung, which has none.
    pub async fn find_carried_rollback(
        &self,
        repository: &Repository,
        head: &Sha,
        pinned: &Sha,
    ) -> Result<Option<OpenRollback>, GithubError> {
        let (mut at, mut common, mut deepest) = (pinned.clone(), None, None);
        for _ in 0..MAX_PAGES {
            // What came before the newest is of no account: it says what there was from then on.
            let Some(newest) = self.find_open_rollbacks(repository, &at).await?.into_iter().next() else {
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
            at = newest.restores.clone();
            deepest = Some(newest);
        }
        // Nobody rolls back to what was rolled back so often; who cannot tell says no.
        Ok(deepest)
    }

    /// `None` where they have nothing in common.
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

    /// Has `commit` the other one behind it, or is it the same?
    async fn has_ancestor(&self, repository: &Repository, commit: &Sha, other: &Sha) -> Result<bool, GithubError> {
        if commit == other {
            return Ok(true);
        }
        match self.compare_refs(repository, other.as_str(), commit.as_str()).await? {
            FetchResult::Found(compared) => Ok(compared.behind_by == 0),
            FetchResult::Missing(why) => Err(GithubError::NotFound(why)),
        }
    }

    /// The newest tags whose names begin so, by the numbers in their names, each with the commit that it leads to.
    pub async fn list_newest_tags(
        &self,
        repository: &Repository,
        beginning: &str,
        limit: usize,
    ) -> Result<Vec<(String, Sha)>, GithubError> {
        let mut names = self.list_tags_with_prefix(repository, beginning).await?;
        // GitHub matches `qa` for `qa/`, which would also be `qa-old`.
        names.retain(|name| name.starts_with(beginning));
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

/// What a merge by another hand brought: a pull request has our commits behind its second parent.
async fn scan_merged_parent(walk: &mut CommitWalk<'_>, state: &mut WalkState, merged: &Sha) -> Result<(), GithubError> {
    let (mut at, mut promoted) = (Some(merged.clone()), false);
    while let Some(sha) = at.take() {
        let Some(commit) = walk.find_commit(&sha).await? else { break };
        if promoted {
            state.covered.insert(sha);
        }
        match CommitRole::from_commit(commit) {
            CommitRole::RollbackUndo(rollback) => {
                at = commit.parents.first().cloned();
                state.undone.insert(rollback);
            }
            CommitRole::Promotion if !promoted => {
                promoted = true;
                at = commit.parents.first().cloned();
            }
            CommitRole::Rollback(rollback) if !promoted => state.record_rollback(rollback, false),
            _ => {}
        }
    }
    Ok(())
}

/// Digits count as numbers: `qa/2026.11.16-10` comes behind `-9`.
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
