//! What a promotion must know of a repository before it may begin: what would come, and what CI says of it.

use serde::Deserialize;
use std::collections::BTreeSet;

use super::client::{Client, Found, GithubError, in_path, sha};
use super::commit::{WireCommit, WireName};
use crate::domain::change::plan::{CiChecks, PendingCommits};
use crate::domain::git::comparison::{ChangedFile, ChangedFiles, Comparison, ListedCommit};
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

/// GitHub names so many files of a comparison and no more.
const MOST_FILES: usize = 300;
const A_PAGE: usize = 100;
/// Nobody has a thousand checks on one commit.
const MOST_PAGES: usize = 10;

/// How a commit stands to a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    Pending(Box<PendingCommits>),
    NoBranch,
    NoCommit,
    NoCommonAncestor,
}

#[derive(Deserialize)]
struct WireComparison {
    #[serde(default)]
    html_url: Option<String>,
    ahead_by: u64,
    behind_by: u64,
    base_commit: WireName,
    merge_base_commit: WireName,
    #[serde(default)]
    commits: Vec<WireCommit>,
    #[serde(default)]
    files: Vec<WireFile>,
}

#[derive(Deserialize)]
struct WireFile {
    filename: String,
    previous_filename: Option<String>,
    #[serde(default)]
    additions: u64,
    #[serde(default)]
    deletions: u64,
}

#[derive(Deserialize)]
struct WirePatches {
    #[serde(default)]
    files: Vec<WirePatch>,
}

#[derive(Deserialize)]
struct WirePatch {
    #[serde(flatten)]
    file: WireFile,
    patch: Option<String>,
}

impl WirePatch {
    fn read(self) -> Patched {
        Patched { file: self.file.into(), patch: self.patch }
    }
}

/// A file that differs, with the text of it where GitHub shows that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    pub file: ChangedFile,
    pub patch: Option<String>,
}

#[derive(Deserialize)]
struct WireRuns {
    total_count: usize,
    check_runs: Vec<WireRun>,
}

#[derive(Deserialize)]
struct WireRun {
    name: String,
    status: String,
    conclusion: Option<String>,
}

#[derive(Deserialize)]
struct WireStatuses {
    total_count: usize,
    statuses: Vec<WireStatus>,
}

#[derive(Deserialize)]
struct WireStatus {
    context: String,
    state: String,
}

impl Client {
    /// What the branch would get from a commit, and what only the branch has.
    pub async fn pending(&self, repository: &Repository, branch: &str, pinned: &Sha) -> Result<Compared, GithubError> {
        let there = match self.comparison(repository, branch, pinned.as_str()).await? {
            Found::Yes(there) => there,
            Found::No(why) if why.contains("No common ancestor") => return Ok(Compared::NoCommonAncestor),
            Found::No(_) => {
                let Some(branch) = in_path(branch) else { return Ok(Compared::NoBranch) };
                let path = format!("/repos/{repository}/branches/{branch}");
                return match self.read::<serde::de::IgnoredAny>(&path).await? {
                    Found::Yes(_) => Ok(Compared::NoCommit),
                    Found::No(why) if why.contains("Branch") => Ok(Compared::NoBranch),
                    Found::No(why) => Err(GithubError::NotFound(why)),
                };
            }
        };
        // Merge commits of earlier promotions make nearly every branch have something of its own.
        let back = match there.behind_by {
            0 => None,
            _ => match self.comparison(repository, pinned.as_str(), branch).await? {
                Found::Yes(back) => Some(back),
                Found::No(why) => return Err(GithubError::NotFound(why)),
            },
        };
        Ok(Compared::Pending(Box::new(PendingCommits::from_comparisons(there, back))))
    }

    /// Files that both sides changed since they parted: where a merge can have met a conflict.
    pub async fn changed_on_both_sides(
        &self,
        repository: &Repository,
        branch: &str,
        pinned: &Sha,
    ) -> Result<Vec<String>, GithubError> {
        let changed = async |base: &str, head: &str| match self.comparison(repository, base, head).await? {
            Found::Yes(compared) => Ok(compared.files.iter_paths().map(str::to_owned).collect::<BTreeSet<_>>()),
            Found::No(why) => Err(GithubError::NotFound(why)),
        };
        let ours = changed(branch, pinned.as_str()).await?;
        let theirs = changed(pinned.as_str(), branch).await?;
        Ok(ours.intersection(&theirs).cloned().collect())
    }

    /// How one stands to the other, by the names of branches or commits. GitHub says which commits those are.
    pub async fn comparison(
        &self,
        repository: &Repository,
        base: &str,
        head: &str,
    ) -> Result<Found<Comparison>, GithubError> {
        let (Some(base), Some(head)) = (in_path(base), in_path(head)) else {
            return Ok(Found::No("Git would not take such a name".to_owned()));
        };
        match self.read::<WireComparison>(&format!("/repos/{repository}/compare/{base}...{head}")).await? {
            Found::Yes(wire) => wire.into_comparison().map(Found::Yes),
            Found::No(why) => Ok(Found::No(why)),
        }
    }

    /// The text of what differs, file by file; `None` where GitHub shows none: it is binary, or too long.
    pub async fn patches(
        &self,
        repository: &Repository,
        base: &Sha,
        head: &Sha,
    ) -> Result<Found<Vec<Patched>>, GithubError> {
        Ok(match self.read::<WirePatches>(&format!("/repos/{repository}/compare/{base}...{head}")).await? {
            Found::Yes(wire) => Found::Yes(wire.files.into_iter().map(WirePatch::read).collect()),
            Found::No(why) => Found::No(why),
        })
    }

    /// What CI says of a commit, in both of GitHub's systems.
    pub async fn checks(&self, repository: &Repository, commit: &Sha) -> Result<CiChecks, GithubError> {
        let mut checks = CiChecks::default();
        let mut seen = 0;
        for page in 1..=MOST_PAGES {
            let path = format!("/repos/{repository}/commits/{commit}/check-runs?per_page={A_PAGE}&page={page}");
            let runs: WireRuns = self.there(&path).await?;
            seen += runs.check_runs.len();
            let end = runs.check_runs.is_empty() || seen >= runs.total_count;
            for run in runs.check_runs {
                match (run.status.as_str(), run.conclusion.as_deref()) {
                    ("completed", Some("success" | "neutral" | "skipped")) => checks.green += 1,
                    ("completed", _) => checks.red.push(run.name),
                    _ => checks.running.push(run.name),
                }
            }
            if end {
                break;
            }
        }
        seen = 0;
        for page in 1..=MOST_PAGES {
            let path = format!("/repos/{repository}/commits/{commit}/status?per_page={A_PAGE}&page={page}");
            let statuses: WireStatuses = self.there(&path).await?;
            seen += statuses.statuses.len();
            let end = statuses.statuses.is_empty() || seen >= statuses.total_count;
            for status in statuses.statuses {
                match status.state.as_str() {
                    "success" => checks.green += 1,
                    "pending" => checks.running.push(status.context),
                    _ => checks.red.push(status.context),
                }
            }
            if end {
                break;
            }
        }
        Ok(checks)
    }

    /// The commit on a branch whose message has that line: our own work, after we did not hear of its end.
    pub async fn find_commit(
        &self,
        repository: &Repository,
        branch: &str,
        line: &str,
    ) -> Result<Option<Sha>, GithubError> {
        let Some(branch) = in_path(branch) else { return Ok(None) };
        let path = format!("/repos/{repository}/commits?sha={branch}&per_page={A_PAGE}");
        let commits: Vec<WireCommit> = self.there(&path).await?;
        let ours = commits.into_iter().find(|commit| commit.commit.message.lines().any(|one| one.trim() == line));
        ours.map(|commit| commit.into_commit().map(|commit| commit.sha)).transpose()
    }

    pub(super) async fn there<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T, GithubError> {
        match self.read(path).await? {
            Found::Yes(value) => Ok(value),
            Found::No(why) => Err(GithubError::NotFound(why)),
        }
    }
}

impl WireComparison {
    fn into_comparison(self) -> Result<Comparison, GithubError> {
        let cut = self.files.len() >= MOST_FILES;
        let mut commits = Vec::with_capacity(self.commits.len());
        for commit in self.commits.into_iter().rev() {
            let commit = commit.into_commit()?;
            let (parents, tree, trailers) = (commit.parents.clone(), commit.tree.clone(), commit.trailers.clone());
            commits.push(ListedCommit::new(commit.into(), parents, Some(tree), trailers));
        }
        let base = sha(&self.base_commit.sha)?;
        // The newest of all is named last; where the head has nothing of its own, it is where the two parted.
        let head = match commits.first() {
            Some(newest) => newest.commit.sha.clone(),
            None => sha(&self.merge_base_commit.sha)?,
        };
        // GitHub names what was asked for, and a branch moves on.
        let page = self.html_url.as_deref().and_then(|url| url.rsplit_once("/compare/")).map(|(page, _)| page);
        let url = page.map(|page| format!("{page}/compare/{base}...{head}"));
        Ok(Comparison {
            base,
            head,
            ahead_by: self.ahead_by,
            behind_by: self.behind_by,
            commits,
            files: ChangedFiles { changed: self.files.into_iter().map(ChangedFile::from).collect(), cut },
            url,
        })
    }
}

impl From<WireFile> for ChangedFile {
    fn from(file: WireFile) -> Self {
        let WireFile { filename: path, previous_filename: previous, additions, deletions } = file;
        Self { path, previous, additions, deletions }
    }
}
