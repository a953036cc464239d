//! Resolves the names of branches, tags and commits to commits.

use serde::Deserialize;

use super::client::Client;
use super::commit::{GithubCommit, WireCommit};
use super::error::{GithubError, parse_sha};
use super::request::FetchResult;
use super::request_path::encode_ref;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

/// An annotated tag may point to another annotated tag. Chains of more than four do not occur in practice.
pub(super) const MAX_TAG_DEPTH: usize = 4;
const PAGE_SIZE: usize = 100;

#[derive(Deserialize)]
struct WireRef {
    object: WireRefObject,
}

#[derive(Deserialize)]
struct WireRefObject {
    #[serde(rename = "type")]
    kind: String,
    sha: String,
}

impl Client {
    /// The commit of a branch, a tag or a (short) SHA; `None` if there is no such commit, or more than one.
    pub async fn resolve_commit(
        &self,
        repository: &Repository,
        reference: &str,
    ) -> Result<Option<GithubCommit>, GithubError> {
        let Some(reference) = encode_ref(reference) else { return Ok(None) };
        // The files of a commit come in pages, and none of them is needed.
        let path = format!("/repos/{repository}/commits/{reference}?per_page=1");
        match self.fetch_json::<WireCommit>(&path).await? {
            FetchResult::Found(commit) => commit.into_commit().map(Some),
            FetchResult::Missing(_) => Ok(None),
        }
    }

    /// The one commit with a SHA that begins with `hex`. A branch or a tag of that name does not count.
    pub async fn find_commit_by_prefix(
        &self,
        repository: &Repository,
        hex: &str,
    ) -> Result<Option<GithubCommit>, GithubError> {
        let hex = hex.to_ascii_lowercase();
        if !(4..=40).contains(&hex.len()) || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let commit = self.resolve_commit(repository, &hex).await?;
        Ok(commit.filter(|commit| commit.sha.as_str().starts_with(&hex)))
    }

    /// The commit of a tag, through the tag object if the tag is annotated.
    pub async fn resolve_tag(&self, repository: &Repository, tag: &str) -> Result<Option<Sha>, GithubError> {
        let Some(tag) = encode_ref(tag) else { return Ok(None) };
        let mut path = format!("/repos/{repository}/git/ref/tags/{tag}");
        for _ in 0..MAX_TAG_DEPTH {
            let FetchResult::Found(WireRef { object }) = self.fetch_json(&path).await? else { return Ok(None) };
            match object.kind.as_str() {
                "commit" => return parse_sha(&object.sha).map(Some),
                "tag" => path = format!("/repos/{repository}/git/tags/{}", parse_sha(&object.sha)?),
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The head of a branch; `None` if the branch does not exist.
    pub async fn fetch_branch_head(&self, repository: &Repository, branch: &str) -> Result<Option<Sha>, GithubError> {
        let Some(name) = encode_ref(branch) else { return Ok(None) };
        match self.fetch_json::<WireRef>(&format!("/repos/{repository}/git/ref/heads/{name}")).await? {
            FetchResult::Found(WireRef { object }) => parse_sha(&object.sha).map(Some),
            FetchResult::Missing(_) => Ok(None),
        }
    }

    /// The commit on a branch with this line in its message: finds Gantry's own commit after its response was lost.
    pub async fn find_commit_by_line(
        &self,
        repository: &Repository,
        branch: &str,
        line: &str,
    ) -> Result<Option<Sha>, GithubError> {
        let Some(branch) = encode_ref(branch) else { return Ok(None) };
        let path = format!("/repos/{repository}/commits?sha={branch}&per_page={PAGE_SIZE}");
        let commits: Vec<WireCommit> = self.fetch_existing(&path).await?;
        let matching = commits
            .into_iter()
            .find(|commit| commit.commit.message.lines().any(|message_line| message_line.trim() == line));
        matching.map(|commit| commit.into_commit().map(|commit| commit.sha)).transpose()
    }
}
