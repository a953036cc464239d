//! `/contents`: files and directories of a commit.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::super::GitHub;
use super::super::errors::ApiError;
use super::super::objects::{Repo, TREE};
use super::{Answer, RepositoryPath};

/// Larger files come without their content here. The Git database has it.
const MAX_CONTENT_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
pub(super) struct RefQuery {
    r#ref: Option<String>,
}

pub(super) async fn root(
    State(github): State<GitHub>,
    Path(repository): Path<RepositoryPath>,
    Query(query): Query<RefQuery>,
    headers: HeaderMap,
) -> Answer {
    let raw = wants_raw(&headers);
    github.serve(&repository.owner, &repository.repo, move |repo| show(repo, "", query.r#ref.as_deref(), raw)).await
}

pub(super) async fn show_path(
    State(github): State<GitHub>,
    Path((owner, name, path)): Path<(String, String, String)>,
    Query(query): Query<RefQuery>,
    headers: HeaderMap,
) -> Answer {
    let raw = wants_raw(&headers);
    github.serve(&owner, &name, move |repo| show(repo, path.trim_matches('/'), query.r#ref.as_deref(), raw)).await
}

fn wants_raw(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).is_some_and(|accept| accept.contains("raw"))
}

fn show(repo: &mut Repo, path: &str, reference: Option<&str>, raw: bool) -> Answer {
    let reference = reference.filter(|name| !name.is_empty()).unwrap_or(&repo.default_branch);
    let commit = repo.resolve(reference).ok_or_else(|| {
        let message = format!("No commit found for the ref {reference}");
        let message = if repo.is_empty() { "This repository is empty.".to_owned() } else { message };
        ApiError::new(StatusCode::NOT_FOUND, message)
    })?;
    let tree = repo.tree_of(commit)?;
    let (id, mode) = if path.is_empty() {
        (tree.id(), TREE)
    } else {
        let entry = tree.get_path(std::path::Path::new(path)).map_err(|_| ApiError::not_found())?;
        (entry.id(), entry.filemode())
    };
    if mode == TREE {
        return directory(repo, path, reference, id);
    }
    let mut file = repo.content_json(path, reference, id, mode)?;
    if let Ok(blob) = repo.git.find_blob(id) {
        if raw {
            let kind = [(header::CONTENT_TYPE, "application/vnd.github.raw; charset=utf-8")];
            return Ok((kind, blob.content().to_vec()).into_response());
        }
        let has_content = blob.size() <= MAX_CONTENT_BYTES;
        file["content"] = if has_content { encode_base64_lines(blob.content()) } else { String::new() }.into();
        file["encoding"] = if has_content { "base64" } else { "none" }.into();
    }
    Ok(Json(file).into_response())
}

fn directory(repo: &Repo, path: &str, reference: &str, id: git2::Oid) -> Answer {
    let tree = repo.git.find_tree(id)?;
    let entries = tree.iter().map(|entry| {
        let name = String::from_utf8_lossy(entry.name_bytes());
        let path = if path.is_empty() { name.into_owned() } else { format!("{path}/{name}") };
        repo.content_json(&path, reference, entry.id(), entry.filemode())
    });
    Ok(Json(entries.collect::<Result<Value, git2::Error>>()?).into_response())
}

/// GitHub breaks base64 into lines of 60 characters, each with a newline.
pub(super) fn encode_base64_lines(bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    let mut lines = String::with_capacity(text.len() + text.len() / 60 + 1);
    for (index, character) in text.chars().enumerate() {
        if index > 0 && index % 60 == 0 {
            lines.push('\n');
        }
        lines.push(character);
    }
    if !lines.is_empty() {
        lines.push('\n');
    }
    lines
}
