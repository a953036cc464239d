//! What we write on GitHub: merges and tags. Each says what became of it; none is repeated here.

use std::num::NonZeroU32;

use serde::Deserialize;
use serde_json::json;

use super::client::{Ask, Client, GithubError, said, sha};
use super::commit::WireCommit;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

/// What became of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    Done {
        commit: Sha,
        parents: Vec<Sha>,
    },
    /// The branch has the commit already.
    AlreadyThere,
    Conflict,
    NoBranch,
    NoCommit,
    /// By the branch's rules, or by what the token may do.
    Refused(String),
}

/// What became of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MakeTag {
    Done,
    Taken,
    Refused(String),
}

impl Client {
    /// Merges exactly `head` into the branch, by a merge commit.
    pub async fn merge(
        &self,
        repository: &Repository,
        branch: &str,
        head: &Sha,
        message: &str,
    ) -> Result<Merge, GithubError> {
        self.reserve(NonZeroU32::MIN)?;
        self.merge_reserved(repository, branch, head, message).await
    }

    /// The same, for which there is room already.
    pub(super) async fn merge_reserved(
        &self,
        repository: &Repository,
        branch: &str,
        head: &Sha,
        message: &str,
    ) -> Result<Merge, GithubError> {
        let body = json!({ "base": branch, "head": head.as_str(), "commit_message": message });
        let (status, answer) = self.write(&format!("/repos/{repository}/merges"), Ask::Post(&body)).await?;
        let why = || said(&answer);
        Ok(match status {
            201 => {
                let made: WireCommit =
                    serde_json::from_str(&answer).map_err(|error| GithubError::Unclear(error.to_string()))?;
                let made = made.into_commit()?;
                Merge::Done { commit: made.sha, parents: made.parents }
            }
            204 => Merge::AlreadyThere,
            // 409 is a conflict, or that we may not push there: only the message tells.
            409 if why().to_ascii_lowercase().contains("conflict") => Merge::Conflict,
            404 if why().contains("Base") => Merge::NoBranch,
            404 if why().contains("Head") => Merge::NoCommit,
            404 => return Err(GithubError::NotFound(why())),
            _ => Merge::Refused(why()),
        })
    }

    /// An annotated tag: its object, and the reference that names it.
    pub async fn make_tag(
        &self,
        repository: &Repository,
        name: &str,
        commit: &Sha,
        message: &str,
    ) -> Result<MakeTag, GithubError> {
        #[derive(Deserialize)]
        struct Object {
            sha: String,
        }
        self.reserve(const { NonZeroU32::new(2).unwrap() })?;
        let body = json!({ "tag": name, "message": message, "object": commit.as_str(), "type": "commit" });
        let (status, answer) = self.write(&format!("/repos/{repository}/git/tags"), Ask::Post(&body)).await?;
        if status != 201 {
            return Ok(MakeTag::Refused(said(&answer)));
        }
        let object: Object = serde_json::from_str(&answer).map_err(|error| GithubError::Unclear(error.to_string()))?;
        let body = json!({ "ref": format!("refs/tags/{name}"), "sha": sha(&object.sha)?.as_str() });
        let (status, answer) = self.write(&format!("/repos/{repository}/git/refs"), Ask::Post(&body)).await?;
        let why = said(&answer);
        Ok(match status {
            201 => MakeTag::Done,
            422 if why.to_ascii_lowercase().contains("already exists") => MakeTag::Taken,
            _ => MakeTag::Refused(why),
        })
    }

    /// The names of all tags that begin so.
    pub async fn tags_beginning(&self, repository: &Repository, beginning: &str) -> Result<Vec<String>, GithubError> {
        #[derive(Deserialize)]
        struct Reference {
            r#ref: String,
        }
        let Some(prefix) = super::client::in_path(beginning.trim_end_matches('/')) else { return Ok(Vec::new()) };
        let path = format!("/repos/{repository}/git/matching-refs/tags/{prefix}");
        match self.read::<Vec<Reference>>(&path).await? {
            super::client::Found::Yes(found) => {
                Ok(found.iter().filter_map(|found| found.r#ref.strip_prefix("refs/tags/").map(str::to_owned)).collect())
            }
            super::client::Found::No(why) => Err(GithubError::NotFound(why)),
        }
    }
}
