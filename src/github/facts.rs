//! What a promotion must know of a repository before it may begin: what would come, and what CI says of it.

use serde::Deserialize;
use std::collections::BTreeSet;

use super::client::{Client, Found, GithubError, WireCommit, in_path, sha};
use crate::domain::artefact::Repository;
use crate::domain::plan::{Checks, Files, Lone, Pending};
use crate::domain::trailer::Trailers;
use crate::domain::version::Sha;

/// GitHub names so many files of a comparison and no more.
const MOST_FILES: usize = 300;
const A_PAGE: usize = 100;
/// Nobody has a thousand checks on one commit.
const MOST_PAGES: usize = 10;

/// How a commit stands to a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    Pending(Box<Pending>),
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
    base_commit: WireBase,
    #[serde(default)]
    commits: Vec<WireCommit>,
    #[serde(default)]
    files: Vec<WireFile>,
}

#[derive(Deserialize)]
struct WireBase {
    sha: String,
}

#[derive(Deserialize)]
struct WireFile {
    filename: String,
    previous_filename: Option<String>,
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
        let Some(branch) = in_path(branch) else { return Ok(Compared::NoBranch) };
        let there = match self.compared(repository, &branch, pinned.as_str()).await? {
            Found::Yes(there) => there,
            Found::No(why) if why.contains("No common ancestor") => return Ok(Compared::NoCommonAncestor),
            Found::No(_) => {
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
            _ => match self.compared(repository, pinned.as_str(), &branch).await? {
                Found::Yes(back) => Some(back),
                Found::No(why) => return Err(GithubError::NotFound(why)),
            },
        };
        let files = files(&there.files);
        let mut pending = Pending {
            ahead_by: there.ahead_by,
            behind_by: there.behind_by,
            files,
            head: Some(sha(&there.base_commit.sha)?),
            url: there.html_url,
            ..Pending::default()
        };
        let mut sources = vec![pinned.clone()];
        for commit in there.commits.into_iter().rev() {
            let commit = commit.into_commit()?;
            if commit.sha == *pinned {
                pending.tree = Some(commit.tree.clone());
            }
            // Newest first: what was merged comes behind its merge.
            if sources.last() == Some(&commit.sha)
                && let [_, merged] = commit.parents.as_slice()
            {
                sources.push(merged.clone());
            }
            let rolls_back = matches!(commit.trailers, Some(Trailers::Rollback { .. }));
            pending.carries_rollback |= rolls_back;
            pending.is_rollback |= rolls_back && commit.sha == *pinned;
            pending.commits.push(commit.into());
        }
        pending.sources = sources;
        for commit in back.into_iter().flat_map(|back| back.commits).rev() {
            let commit = commit.into_commit()?;
            let (parents, trailers) = (commit.parents.clone(), commit.trailers.clone());
            pending.only_there.push(Lone::new(commit.into(), parents, trailers.as_ref()));
        }
        Ok(Compared::Pending(Box::new(pending)))
    }

    /// Files that both sides changed since they parted: where a merge can have met a conflict.
    pub async fn changed_on_both_sides(
        &self,
        repository: &Repository,
        branch: &str,
        pinned: &Sha,
    ) -> Result<Vec<String>, GithubError> {
        let Some(branch) = in_path(branch) else { return Ok(Vec::new()) };
        let changed = async |base: &str, head: &str| match self.compared(repository, base, head).await? {
            Found::Yes(compared) => Ok(files(&compared.files).paths.into_iter().collect::<BTreeSet<_>>()),
            Found::No(why) => Err(GithubError::NotFound(why)),
        };
        let ours = changed(&branch, pinned.as_str()).await?;
        let theirs = changed(pinned.as_str(), &branch).await?;
        Ok(ours.intersection(&theirs).cloned().collect())
    }

    async fn compared(
        &self,
        repository: &Repository,
        base: &str,
        head: &str,
    ) -> Result<Found<WireComparison>, GithubError> {
        self.read(&format!("/repos/{repository}/compare/{base}...{head}")).await
    }

    /// What CI says of a commit, in both of GitHub's systems.
    pub async fn checks(&self, repository: &Repository, commit: &Sha) -> Result<Checks, GithubError> {
        let mut checks = Checks::default();
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

fn files(files: &[WireFile]) -> Files {
    let paths = files.iter().flat_map(|file| std::iter::once(&file.filename).chain(&file.previous_filename));
    Files { paths: paths.cloned().collect(), cut: files.len() >= MOST_FILES }
}
