//! One file of a repository: its text at a commit, and a commit that changes it and nothing else.

use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Client, GithubRequest};
use super::error::{GithubError, parse_sha};
use super::request::FetchResult;
use super::request_path::{encode_ref, percent_encode_path};
use super::rollback::parse_created_sha;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

const MODE_FILE: &str = "100644";
const MODE_EXECUTABLE: &str = "100755";
/// Longer than any path that can be checked out.
const MAX_PATH_BYTES: usize = 4096;

#[derive(Deserialize)]
struct WireContent {
    #[serde(rename = "type")]
    kind: String,
    sha: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    encoding: String,
}

#[derive(Deserialize)]
struct WireBlob {
    content: String,
    encoding: String,
}

#[derive(Deserialize)]
struct WireTree {
    tree: Vec<WireTreeEntry>,
    #[serde(default)]
    truncated: bool,
}

#[derive(Deserialize)]
struct WireTreeEntry {
    path: String,
    mode: String,
    sha: String,
}

impl Client {
    /// The text of a file at a branch or a commit; `None` if the file does not exist.
    pub async fn fetch_file(
        &self,
        repository: &Repository,
        reference: &str,
        path: &str,
    ) -> Result<Option<String>, GithubError> {
        let (Some(reference), true) = (encode_ref(reference), is_valid_path(path)) else { return Ok(None) };
        let request_path = format!("/repos/{repository}/contents/{}?ref={reference}", percent_encode_path(path));
        let found: Value = match self.fetch_json(&request_path).await? {
            FetchResult::Found(found) => found,
            FetchResult::Missing(why) if why.contains("No commit found") => return Err(GithubError::NotFound(why)),
            FetchResult::Missing(_) => return Ok(None),
        };
        if found.is_array() {
            return Err(not_text_file_error(path, "a directory"));
        }
        let unread = |error: serde_json::Error| GithubError::Other(error.to_string());
        let WireContent { kind, sha: blob, mut content, mut encoding } =
            serde_json::from_value(found).map_err(unread)?;
        if kind != "file" {
            return Err(not_text_file_error(path, &format!("a {kind}")));
        }
        if encoding != "base64" {
            // GitHub omits the content of files above 1 MB.
            let blob: WireBlob =
                self.fetch_existing(&format!("/repos/{repository}/git/blobs/{}", parse_sha(&blob)?)).await?;
            (content, encoding) = (blob.content, blob.encoding);
        }
        if encoding != "base64" {
            return Err(GithubError::Other(format!("`{path}` is encoded as `{encoding}`, which nobody can read here")));
        }
        let base64: String = content.split_ascii_whitespace().collect();
        let bytes = STANDARD.decode(base64).map_err(|error| GithubError::Other(format!("`{path}`: {error}")))?;
        String::from_utf8(bytes).map(Some).map_err(|_| not_text_file_error(path, "no text in UTF-8"))
    }

    /// Creates a commit on top of `base` in which the file has this text. The commit is on no branch yet. An executable
    /// file stays executable.
    pub async fn commit_file(
        &self,
        repository: &Repository,
        base: &Sha,
        path: &str,
        text: &str,
        message: &str,
    ) -> Result<Sha, GithubError> {
        if !is_valid_path(path) {
            return Err(GithubError::Other(format!("`{path}` cannot be the path of a file")));
        }
        let missing = || GithubError::NotFound(format!("the commit {}", base.short()));
        let tree = self.fetch_tree_sha(repository, base).await?.ok_or_else(missing)?;
        let mode = match self.find_file_mode(repository, tree.clone(), path).await?.as_deref() {
            Some(MODE_EXECUTABLE) => MODE_EXECUTABLE,
            // 100664 is an old mode for a file that its group may write. GitHub does not accept it any more.
            None | Some(MODE_FILE | "100664") => MODE_FILE,
            Some("040000") => return Err(not_text_file_error(path, "a directory")),
            Some("120000") => return Err(not_text_file_error(path, "a link: name the file itself")),
            Some(_) => return Err(not_text_file_error(path, "a submodule")),
        };
        self.reserve_writes(const { NonZeroU32::new(2).unwrap() })?;
        let entry = json!({ "path": path, "mode": mode, "type": "blob", "content": text });
        let body = json!({ "base_tree": tree.as_str(), "tree": [entry] });
        let (status, answer) =
            self.send_write(&format!("/repos/{repository}/git/trees"), GithubRequest::Post(&body)).await?;
        let tree = parse_created_sha(status, &answer)?;
        self.commit_tree_reserved(repository, &tree, std::slice::from_ref(base), message).await
    }

    /// The mode of the entry at a path. Each level is fetched separately, because a whole tree may exceed GitHub's
    /// limit.
    async fn find_file_mode(
        &self,
        repository: &Repository,
        mut tree: Sha,
        path: &str,
    ) -> Result<Option<String>, GithubError> {
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            let level: WireTree = self.fetch_existing(&format!("/repos/{repository}/git/trees/{tree}")).await?;
            let Some(entry) = level.tree.into_iter().find(|entry| entry.path == part) else {
                let cut = || GithubError::Other(format!("the directory of `{path}` is too large to be looked at"));
                return if level.truncated { Err(cut()) } else { Ok(None) };
            };
            match (parts.peek(), entry.mode.as_str()) {
                (None, _) => return Ok(Some(entry.mode)),
                (Some(_), "040000") => tree = parse_sha(&entry.sha)?,
                (Some(_), _) => return Err(GithubError::Other(format!("`{part}` in `{path}` is not a directory"))),
            }
        }
        Ok(None)
    }
}

fn is_valid_path(path: &str) -> bool {
    path.len() <= MAX_PATH_BYTES && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn not_text_file_error(path: &str, kind: &str) -> GithubError {
    GithubError::Other(format!("`{path}` is {kind}, not a text file"))
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
