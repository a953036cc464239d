//! What the history of a branch says of itself: its first parents, the rollbacks that are still open, tags. Only read.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use serde::Deserialize;

use super::client::{Client, Found, GithubError, escaped, in_path, sha};
use super::commit::{Commit, WireCommit, WireName};
use crate::domain::change::ChangeId;
use crate::domain::git::trailer::Trailers;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

const A_PAGE: usize = 100;
/// The promotion that a walk looks for is nearly always among the first few, and a commit is some 4 kB of answer.
const FIRST_PAGE: usize = 20;
/// A walk asks so often: some thousand commits, as many as a branch gets in months.
const MOST_PAGES: usize = 10;

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
enum Role {
    Promotion,
    Rollback(OpenRollback),
    /// The merge of what undoes this rollback.
    Undoes(ChangeId),
    Other,
}

impl Role {
    fn of(commit: &Commit) -> Self {
        match (&commit.trailers, commit.parents.as_slice()) {
            (Some(Trailers::Change(_)), [_, _, ..]) => Self::Promotion,
            (Some(Trailers::Rollback { change, restores: Some(restores) }), [parent]) => {
                let (commit, parent, restores) = (commit.sha.clone(), parent.clone(), restores.clone());
                Self::Rollback(OpenRollback { change: *change, commit, parent, restores })
            }
            (Some(Trailers::Reinstates { rollback, .. }), [_, _, ..]) => Self::Undoes(*rollback),
            _ => Self::Other,
        }
    }
}

/// Commits as they are asked for, with the page that each one begins.
struct Walk<'a> {
    client: &'a Client,
    repository: &'a Repository,
    known: HashMap<Sha, Commit>,
    asked: usize,
}

impl<'a> Walk<'a> {
    fn new(client: &'a Client, repository: &'a Repository) -> Self {
        Self { client, repository, known: HashMap::new(), asked: 0 }
    }

    /// `None`: enough was asked.
    async fn find(&mut self, sha: &Sha) -> Result<Option<&Commit>, GithubError> {
        if !self.known.contains_key(sha) {
            if self.asked == MOST_PAGES {
                return Ok(None);
            }
            let size = if self.asked == 0 { FIRST_PAGE } else { A_PAGE };
            self.asked += 1;
            // Not the next page of the one before: that could be full of what was merged, this begins with what is wanted.
            let path = format!("/repos/{}/commits?sha={sha}&per_page={size}", self.repository);
            let page: Vec<WireCommit> = self.client.there(&path).await?;
            for commit in page {
                let commit = commit.into_commit()?;
                self.known.insert(commit.sha.clone(), commit);
            }
        }
        self.known.get(sha).map(Some).ok_or_else(|| GithubError::NotFound(format!("the commit {}", sha.short())))
    }
}

/// What a walk down a branch has met so far.
#[derive(Default)]
struct Met {
    /// Newest first; `false`: it came by a merge, and it is not yet known whether it was made for this branch.
    rollbacks: Vec<(OpenRollback, bool)>,
    undone: HashSet<ChangeId>,
    /// What lies behind a promotion that came by a merge: there, nothing is open.
    covered: HashSet<Sha>,
}

impl Met {
    fn rollback(&mut self, rollback: OpenRollback, own: bool) {
        if !self.undone.contains(&rollback.change) {
            self.rollbacks.push((rollback, own));
        }
    }

    /// The walk came by this commit of the branch itself.
    fn passes(&mut self, sha: &Sha) {
        for (rollback, own) in &mut self.rollbacks {
            *own |= rollback.parent == *sha;
        }
    }
}

impl Client {
    /// The commits on which a branch has stood, from `head` back: at most `limit`, and of at most a thousand commits of
    /// the whole history.
    pub async fn first_parents(
        &self,
        repository: &Repository,
        head: &Sha,
        limit: usize,
    ) -> Result<Vec<Commit>, GithubError> {
        let (mut walk, mut found, mut at) = (Walk::new(self, repository), Vec::new(), Some(head.clone()));
        while let Some(sha) = at.take()
            && found.len() < limit
            && let Some(commit) = walk.find(&sha).await?
        {
            at = commit.parents.first().cloned();
            found.push(commit.clone());
        }
        Ok(found)
    }

    /// The rollbacks on the branch at `head` that no promotion has undone, newest first. The walk ends at the first promotion
    /// of ours, since each of them undoes all that are open: mostly one request. On a branch without any it ends after ten;
    /// a rollback that lies deeper is not found: what it took away stays away, or makes the next promotion conflict.
    pub async fn open_rollbacks(&self, repository: &Repository, head: &Sha) -> Result<Vec<OpenRollback>, GithubError> {
        let (mut walk, mut met, mut at) = (Walk::new(self, repository), Met::default(), Some(head.clone()));
        while let Some(sha) = at.take() {
            let Some(commit) = walk.find(&sha).await? else { break };
            met.passes(&sha);
            let (role, parents) = (Role::of(commit), commit.parents.clone());
            if met.covered.contains(&sha) {
                break;
            }
            match role {
                Role::Promotion => break,
                Role::Rollback(rollback) => met.rollback(rollback, true),
                Role::Undoes(rollback) => {
                    met.undone.insert(rollback);
                }
                Role::Other => {
                    for merged in parents.iter().skip(1) {
                        look_behind(&mut walk, &mut met, merged).await?;
                    }
                }
            }
            at = parents.into_iter().next();
        }
        Ok(met.rollbacks.into_iter().filter(|(_, own)| *own).map(|(rollback, _)| rollback).collect())
    }

    /// The rollback that a merge of `pinned` would carry into a branch at `head`, where the branch has what it took back: a
    /// hotfix on a rolled back rung brings the rollback along. Not for what comes from the first rung, which has none.
    pub async fn carried_rollback(
        &self,
        repository: &Repository,
        head: &Sha,
        pinned: &Sha,
    ) -> Result<Option<OpenRollback>, GithubError> {
        let (mut at, mut common, mut deepest) = (pinned.clone(), None, None);
        for _ in 0..MOST_PAGES {
            // What came before the newest is of no account: it says what there was from then on.
            let Some(newest) = self.open_rollbacks(repository, &at).await?.into_iter().next() else { return Ok(None) };
            if common.is_none() {
                common = self.merge_base(repository, head, pinned).await?;
            }
            let Some(common) = &common else { return Ok(None) };
            if self.has(repository, common, &newest.commit).await? {
                return Ok(None);
            }
            if !self.has(repository, &newest.restores, common).await? {
                return Ok(Some(newest));
            }
            at = newest.restores.clone();
            deepest = Some(newest);
        }
        // Nobody rolls back to what was rolled back so often; who cannot tell says no.
        Ok(deepest)
    }

    /// `None` where they have nothing in common.
    async fn merge_base(&self, repository: &Repository, one: &Sha, two: &Sha) -> Result<Option<Sha>, GithubError> {
        #[derive(Deserialize)]
        struct Compared {
            merge_base_commit: WireName,
        }
        match self.read::<Compared>(&format!("/repos/{repository}/compare/{one}...{two}?per_page=1")).await? {
            Found::Yes(compared) => sha(&compared.merge_base_commit.sha).map(Some),
            Found::No(why) if why.contains("No common ancestor") => Ok(None),
            Found::No(why) => Err(GithubError::NotFound(why)),
        }
    }

    /// Has `commit` the other one behind it, or is it the same?
    async fn has(&self, repository: &Repository, commit: &Sha, other: &Sha) -> Result<bool, GithubError> {
        if commit == other {
            return Ok(true);
        }
        match self.comparison(repository, other.as_str(), commit.as_str()).await? {
            Found::Yes(compared) => Ok(compared.behind_by == 0),
            Found::No(why) => Err(GithubError::NotFound(why)),
        }
    }

    /// The newest tags whose names begin so, by the numbers in their names, each with the commit that it leads to.
    pub async fn tags_of(
        &self,
        repository: &Repository,
        beginning: &str,
        limit: usize,
    ) -> Result<Vec<(String, Sha)>, GithubError> {
        let mut names = self.tags_beginning(repository, beginning).await?;
        // GitHub matches `qa` for `qa/`, which would also be `qa-old`.
        names.retain(|name| name.starts_with(beginning));
        names.sort_by_cached_key(|name| std::cmp::Reverse(by_number(name)));
        let mut found = Vec::new();
        for name in names.into_iter().take(limit) {
            if let Some(commit) = self.tag_commit(repository, &name).await? {
                found.push((name, commit));
            }
        }
        Ok(found)
    }

    /// The commits that changed a file on a branch, newest first.
    pub async fn file_history(
        &self,
        repository: &Repository,
        branch: &str,
        path: &str,
        limit: usize,
    ) -> Result<Vec<Commit>, GithubError> {
        let Some(branch) = in_path(branch) else { return Ok(Vec::new()) };
        let (size, path) = (limit.clamp(1, A_PAGE), escaped(path));
        let mut found: Vec<Commit> = Vec::new();
        for page in 1..=MOST_PAGES {
            let path = format!("/repos/{repository}/commits?sha={branch}&path={path}&per_page={size}&page={page}");
            let commits: Vec<WireCommit> = self.there(&path).await?;
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

    pub async fn default_branch(&self, repository: &Repository) -> Result<String, GithubError> {
        #[derive(Deserialize)]
        struct Whole {
            default_branch: String,
        }
        Ok(self.there::<Whole>(&format!("/repos/{repository}")).await?.default_branch)
    }
}

/// What a merge by another hand brought: a pull request has our commits behind its second parent.
async fn look_behind(walk: &mut Walk<'_>, met: &mut Met, merged: &Sha) -> Result<(), GithubError> {
    let (mut at, mut promoted) = (Some(merged.clone()), false);
    while let Some(sha) = at.take() {
        let Some(commit) = walk.find(&sha).await? else { break };
        if promoted {
            met.covered.insert(sha);
        }
        match Role::of(commit) {
            Role::Undoes(rollback) => {
                at = commit.parents.first().cloned();
                met.undone.insert(rollback);
            }
            Role::Promotion if !promoted => {
                promoted = true;
                at = commit.parents.first().cloned();
            }
            Role::Rollback(rollback) if !promoted => met.rollback(rollback, false),
            _ => {}
        }
    }
    Ok(())
}

/// Digits count as numbers: `qa/2026.11.16-10` comes behind `-9`.
fn by_number(name: &str) -> String {
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
