//! `/git/ref`, `/git/refs` and `/git/matching-refs`.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use git2::{ObjectType, Oid};
use serde::Deserialize;

use super::super::GitHub;
use super::super::errors::ApiError;
use super::super::objects::{Repo, full_oid};
use super::{Answer, RepositoryPath, created_response, parse};

#[derive(Deserialize)]
pub(super) struct NewRefBody {
    r#ref: String,
    sha: String,
}

#[derive(Deserialize)]
pub(super) struct Update {
    sha: String,
    #[serde(default)]
    force: bool,
}

pub(super) async fn show(
    State(github): State<GitHub>,
    Path((owner, name, reference)): Path<(String, String, String)>,
) -> Answer {
    let full_name = full_ref_name(&reference);
    github
        .serve(&owner, &name, move |repo| {
            let target = repo.refs.find(&full_name).ok_or_else(ApiError::not_found)?;
            Ok(Json(repo.ref_json(&full_name, target)).into_response())
        })
        .await
}

pub(super) async fn matching(
    State(github): State<GitHub>,
    Path((owner, name, prefix)): Path<(String, String, String)>,
) -> Answer {
    let prefix = full_ref_name(&prefix);
    github
        .serve(&owner, &name, move |repo| {
            let found: Vec<_> =
                repo.refs.starting_with(&prefix).map(|(name, target)| repo.ref_json(name, target)).collect();
            Ok(Json(found).into_response())
        })
        .await
}

pub(super) async fn create(
    State(github): State<GitHub>,
    Path(repository): Path<RepositoryPath>,
    body: Bytes,
) -> Answer {
    let new: NewRefBody = parse(&body)?;
    github
        .serve(&repository.owner, &repository.repo, move |repo| {
            if let Some(message) = repo.refs.creation_error(&new.r#ref) {
                return Err(ApiError::unprocessable(message));
            }
            let target = target(repo, &new.r#ref, &new.sha)?;
            repo.point(&new.r#ref, target);
            Ok(created_response(repo.ref_json(&new.r#ref, target)))
        })
        .await
}

pub(super) async fn update(
    State(github): State<GitHub>,
    Path((owner, name, reference)): Path<(String, String, String)>,
    body: Bytes,
) -> Answer {
    let update: Update = parse(&body)?;
    let full_name = full_ref_name(&reference);
    github
        .serve(&owner, &name, move |repo| {
            let before = repo.refs.find(&full_name).ok_or_else(missing)?;
            let after = target(repo, &full_name, &update.sha)?;
            if let Some(message) = repo.push_refusal(&full_name, after, update.force) {
                return Err(ApiError::unprocessable(message));
            }
            if !update.force && !is_forward(repo, before, after)? {
                return Err(ApiError::unprocessable("Update is not a fast forward"));
            }
            repo.point(&full_name, after);
            Ok(Json(repo.ref_json(&full_name, after)).into_response())
        })
        .await
}

pub(super) async fn delete(
    State(github): State<GitHub>,
    Path((owner, name, reference)): Path<(String, String, String)>,
) -> Answer {
    let full_name = full_ref_name(&reference);
    github
        .serve(&owner, &name, move |repo| {
            if full_name == format!("refs/heads/{}", repo.default_branch) && repo.refs.find(&full_name).is_some() {
                return Err(ApiError::unprocessable("Cannot delete the default branch"));
            }
            if repo.protection.forbids_pushes(&full_name) {
                return Err(ApiError::unprocessable("Cannot delete this protected branch"));
            }
            repo.refs.remove(&full_name).ok_or_else(missing)?;
            Ok(StatusCode::NO_CONTENT.into_response())
        })
        .await
}

fn full_ref_name(reference: &str) -> String {
    format!("refs/{}", reference.strip_prefix("refs/").unwrap_or(reference))
}

fn missing() -> ApiError {
    ApiError::unprocessable("Reference does not exist")
}

fn target(repo: &Repo, full_name: &str, text: &str) -> Result<Oid, ApiError> {
    let id = full_oid(text).filter(|id| repo.exists(*id));
    let id = id.ok_or_else(|| ApiError::unprocessable("Object does not exist"))?;
    // Git requires that a branch points to a commit.
    if full_name.starts_with("refs/heads/") && repo.kind(id) != Some(ObjectType::Commit) {
        return Err(ApiError::unprocessable("Reference update failed"));
    }
    Ok(id)
}

fn is_forward(repo: &Repo, before: Oid, after: Oid) -> Result<bool, ApiError> {
    match (repo.peel(before), repo.peel(after)) {
        (Some(before), Some(after)) => Ok(repo.contains(after, before)?),
        _ => Ok(before == after),
    }
}
