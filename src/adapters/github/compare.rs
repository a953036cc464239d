//! Compares commits and branches: the commits and files that one has and the other does not.

use serde::Deserialize;
use std::collections::BTreeSet;

use super::client::Client;
use super::commit::{WireCommit, WireObjectSha};
use super::error::{GithubError, parse_sha};
use super::request::FetchResult;
use super::request_path::encode_ref;
use crate::domain::git::comparison::{ChangedFile, ChangedFiles, Comparison, ListedCommit};
use crate::domain::git::pending::PendingCommits;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

/// GitHub lists at most this number of files in a comparison.
const MAX_FILES: usize = 300;

/// The result of comparing a commit with a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchComparison {
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
    base_commit: WireObjectSha,
    merge_base_commit: WireObjectSha,
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
    files: Vec<WirePatchedFile>,
}

#[derive(Deserialize)]
struct WirePatchedFile {
    #[serde(flatten)]
    file: WireFile,
    patch: Option<String>,
}

impl WirePatchedFile {
    fn into_patched_file(self) -> PatchedFile {
        PatchedFile { file: self.file.into(), patch: self.patch }
    }
}

/// A changed file, with its diff if GitHub shows one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchedFile {
    pub file: ChangedFile,
    pub patch: Option<String>,
}

impl Client {
    /// The commits that the branch would get by merging `pinned`, and the commits that only the branch has.
    pub async fn compare_with_branch(
        &self,
        repository: &Repository,
        branch: &str,
        pinned: &Sha,
    ) -> Result<BranchComparison, GithubError> {
        let forward = match self.compare_refs(repository, branch, pinned.as_str()).await? {
            FetchResult::Found(comparison) => comparison,
            FetchResult::Missing(why) if why.contains("No common ancestor") => {
                return Ok(BranchComparison::NoCommonAncestor);
            }
            FetchResult::Missing(_) => {
                let Some(branch) = encode_ref(branch) else { return Ok(BranchComparison::NoBranch) };
                let path = format!("/repos/{repository}/branches/{branch}");
                return match self.fetch_json::<serde::de::IgnoredAny>(&path).await? {
                    FetchResult::Found(_) => Ok(BranchComparison::NoCommit),
                    FetchResult::Missing(why) if why.contains("Branch") => Ok(BranchComparison::NoBranch),
                    FetchResult::Missing(why) => Err(GithubError::NotFound(why)),
                };
            }
        };
        // Merge commits of earlier promotions are only on the branch, so `behind_by` is nearly always above 0.
        let backward = match forward.behind_by {
            0 => None,
            _ => match self.compare_refs(repository, pinned.as_str(), branch).await? {
                FetchResult::Found(comparison) => Some(comparison),
                FetchResult::Missing(why) => return Err(GithubError::NotFound(why)),
            },
        };
        Ok(BranchComparison::Pending(Box::new(PendingCommits::from_comparisons(forward, backward))))
    }

    /// Files that both sides changed since their merge base. A merge conflict is in one of them.
    pub async fn list_files_both_changed(
        &self,
        repository: &Repository,
        branch: &str,
        pinned: &Sha,
    ) -> Result<Vec<String>, GithubError> {
        let changed = async |base: &str, head: &str| match self.compare_refs(repository, base, head).await? {
            FetchResult::Found(compared) => Ok(compared.files.iter_paths().map(str::to_owned).collect::<BTreeSet<_>>()),
            FetchResult::Missing(why) => Err(GithubError::NotFound(why)),
        };
        let ours = changed(branch, pinned.as_str()).await?;
        let theirs = changed(pinned.as_str(), branch).await?;
        Ok(ours.intersection(&theirs).cloned().collect())
    }

    /// Compares two branches or commits. The response names the commits that the branches stood at.
    pub async fn compare_refs(
        &self,
        repository: &Repository,
        base: &str,
        head: &str,
    ) -> Result<FetchResult<Comparison>, GithubError> {
        let (Some(base), Some(head)) = (encode_ref(base), encode_ref(head)) else {
            return Ok(FetchResult::Missing("Git would not take such a name".to_owned()));
        };
        match self.fetch_json::<WireComparison>(&format!("/repos/{repository}/compare/{base}...{head}")).await? {
            FetchResult::Found(wire) => wire.into_comparison().map(FetchResult::Found),
            FetchResult::Missing(why) => Ok(FetchResult::Missing(why)),
        }
    }

    /// The diffs of the changed files. A `patch` is `None` if GitHub shows none: the file is binary, or the diff is too
    /// long.
    pub async fn fetch_patches(
        &self,
        repository: &Repository,
        base: &Sha,
        head: &Sha,
    ) -> Result<FetchResult<Vec<PatchedFile>>, GithubError> {
        Ok(match self.fetch_json::<WirePatches>(&format!("/repos/{repository}/compare/{base}...{head}")).await? {
            FetchResult::Found(wire) => {
                FetchResult::Found(wire.files.into_iter().map(WirePatchedFile::into_patched_file).collect())
            }
            FetchResult::Missing(why) => FetchResult::Missing(why),
        })
    }
}

impl WireComparison {
    fn into_comparison(self) -> Result<Comparison, GithubError> {
        let cut = self.files.len() >= MAX_FILES;
        let mut commits = Vec::with_capacity(self.commits.len());
        for commit in self.commits.into_iter().rev() {
            let commit = commit.into_commit()?;
            let (parents, tree, trailers) = (commit.parents.clone(), commit.tree.clone(), commit.trailers.clone());
            commits.push(ListedCommit::new(commit.into(), parents, Some(tree), trailers));
        }
        let base = parse_sha(&self.base_commit.sha)?;
        // GitHub lists the newest commit last. If the head has no commits of its own, the head is the merge base.
        let head = match commits.first() {
            Some(newest) => newest.commit.sha.clone(),
            None => parse_sha(&self.merge_base_commit.sha)?,
        };
        // GitHub's link contains the names from the request, and a branch may move. Gantry's link contains the commits.
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
