//! Merges and tags on GitHub. Each write returns its outcome and is never repeated here.

use std::num::NonZeroU32;

use serde::Deserialize;
use serde_json::json;

use super::client::{Client, GithubRequest};
use super::commit::WireCommit;
use super::error::{GithubError, error_message, parse_sha};
use super::request::FetchResult;
use super::request_path::encode_ref;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    Done {
        commit: Sha,
        parents: Vec<Sha>,
    },
    /// The branch has the commit already.
    AlreadyMerged,
    Conflict,
    NoBranch,
    NoCommit,
    /// By the branch's rules, or because the token has no permission.
    Refused(String),
}

/// The result of creating a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateTagOutcome {
    Done,
    AlreadyExists,
    Refused(String),
}

impl Client {
    /// Merges exactly `head` into the branch with a merge commit.
    pub async fn merge_into_branch(
        &self,
        repository: &Repository,
        branch: &str,
        head: &Sha,
        message: &str,
    ) -> Result<MergeOutcome, GithubError> {
        self.reserve_writes(NonZeroU32::MIN)?;
        self.merge_into_branch_reserved(repository, branch, head, message).await
    }

    /// Like [`merge_into_branch`](Self::merge_into_branch), for a write that the caller has already reserved.
    pub(super) async fn merge_into_branch_reserved(
        &self,
        repository: &Repository,
        branch: &str,
        head: &Sha,
        message: &str,
    ) -> Result<MergeOutcome, GithubError> {
        let body = json!({ "base": branch, "head": head.as_str(), "commit_message": message });
        let (status, answer) =
            self.send_write(&format!("/repos/{repository}/merges"), GithubRequest::Post(&body)).await?;
        let why = || error_message(&answer);
        Ok(match status {
            201 => {
                let merge: WireCommit =
                    serde_json::from_str(&answer).map_err(|error| GithubError::Unclear(error.to_string()))?;
                let merge = merge.into_commit()?;
                MergeOutcome::Done { commit: merge.sha, parents: merge.parents }
            }
            204 => MergeOutcome::AlreadyMerged,
            // 409 is a conflict or a missing permission to push. Only the message tells them apart.
            409 if why().to_ascii_lowercase().contains("conflict") => MergeOutcome::Conflict,
            404 if why().contains("Base") => MergeOutcome::NoBranch,
            404 if why().contains("Head") => MergeOutcome::NoCommit,
            404 => return Err(GithubError::NotFound(why())),
            _ => MergeOutcome::Refused(why()),
        })
    }

    /// Creates an annotated tag: the tag object, and the reference to it.
    pub async fn create_tag(
        &self,
        repository: &Repository,
        name: &str,
        commit: &Sha,
        message: &str,
    ) -> Result<CreateTagOutcome, GithubError> {
        #[derive(Deserialize)]
        struct WireTagObject {
            sha: String,
        }
        self.reserve_writes(const { NonZeroU32::new(2).unwrap() })?;
        let body = json!({ "tag": name, "message": message, "object": commit.as_str(), "type": "commit" });
        let (status, answer) =
            self.send_write(&format!("/repos/{repository}/git/tags"), GithubRequest::Post(&body)).await?;
        if status != 201 {
            return Ok(CreateTagOutcome::Refused(error_message(&answer)));
        }
        let object: WireTagObject =
            serde_json::from_str(&answer).map_err(|error| GithubError::Unclear(error.to_string()))?;
        let body = json!({ "ref": format!("refs/tags/{name}"), "sha": parse_sha(&object.sha)?.as_str() });
        let (status, answer) =
            self.send_write(&format!("/repos/{repository}/git/refs"), GithubRequest::Post(&body)).await?;
        let why = error_message(&answer);
        Ok(match status {
            201 => CreateTagOutcome::Done,
            422 if why.to_ascii_lowercase().contains("already exists") => CreateTagOutcome::AlreadyExists,
            _ => CreateTagOutcome::Refused(why),
        })
    }

    /// The names of all tags with this prefix.
    pub async fn list_tags_with_prefix(
        &self,
        repository: &Repository,
        prefix: &str,
    ) -> Result<Vec<String>, GithubError> {
        #[derive(Deserialize)]
        struct WireTagRef {
            r#ref: String,
        }
        let Some(encoded) = encode_ref(prefix.trim_end_matches('/')) else { return Ok(Vec::new()) };
        let path = format!("/repos/{repository}/git/matching-refs/tags/{encoded}");
        match self.fetch_json::<Vec<WireTagRef>>(&path).await? {
            FetchResult::Found(found) => {
                Ok(found.iter().filter_map(|found| found.r#ref.strip_prefix("refs/tags/").map(str::to_owned)).collect())
            }
            FetchResult::Missing(why) => Err(GithubError::NotFound(why)),
        }
    }
}
