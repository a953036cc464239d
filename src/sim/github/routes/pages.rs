//! The pages behind links to commits and comparisons, as plain text.

use std::fmt::Write;

use axum::extract::{Path, State};
use axum::response::IntoResponse;

use super::super::GitHub;
use super::super::errors::ApiError;
use super::super::objects::Repo;
use super::Answer;

pub(super) async fn commit(
    State(github): State<GitHub>,
    Path((owner, name, reference)): Path<(String, String, String)>,
) -> Answer {
    github
        .serve(&owner, &name, move |repo| {
            let id = repo.resolve(&reference).ok_or_else(ApiError::not_found)?;
            let mut page = heading(repo, id)?;
            add_files(&mut page, repo, repo.commit_at(id)?.parent_id(0).ok(), id)?;
            Ok(page.into_response())
        })
        .await
}

pub(super) async fn compare(
    State(github): State<GitHub>,
    Path((owner, name, range)): Path<(String, String, String)>,
) -> Answer {
    github
        .serve(&owner, &name, move |repo| {
            let ends =
                range.split_once("...").and_then(|(base, head)| Some((repo.resolve(base)?, repo.resolve(head)?)));
            let (base, head) = ends.ok_or_else(ApiError::not_found)?;
            let compared = repo.compare(base, head)?.ok_or_else(ApiError::not_found)?;
            let mut page = String::new();
            for id in &compared.commits {
                page += &heading(repo, *id)?;
                page.push('\n');
            }
            add_files(&mut page, repo, Some(compared.merge_base), head)?;
            Ok(page.into_response())
        })
        .await
}

fn heading(repo: &Repo, id: git2::Oid) -> Result<String, ApiError> {
    let commit = repo.commit_at(id)?;
    let (author, message) = (commit.author(), String::from_utf8_lossy(commit.message_bytes()));
    Ok(format!("commit {id}\nAuthor: {author}\n\n{}\n", message.trim_end()))
}

fn add_files(page: &mut String, repo: &Repo, from: Option<git2::Oid>, to: git2::Oid) -> Result<(), ApiError> {
    for file in repo.files_between(from, to)? {
        let patch = file.patch.unwrap_or_default();
        let _ = write!(page, "\n{} {}\n{patch}\n", file.status, file.path);
    }
    Ok(())
}
