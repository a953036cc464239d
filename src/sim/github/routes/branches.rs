//! `/branches`, `/tags` and `/merges`.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{OriginalUri, Path, Query, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use git2::Oid;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::GitHub;
use super::super::errors::ApiError;
use super::super::json::{node_id, percent_encode};
use super::super::merge::MergeResult;
use super::super::objects::{Repo, signature};
use super::super::rules::not_authorized;
use super::{Answer, Paging, RepositoryPath, bot, created_response, paged_response, parse, web_flow};
use crate::sim::faults::Fault;

pub(super) async fn list(
    State(github): State<GitHub>,
    Path(repository): Path<RepositoryPath>,
    Query(paging): Query<Paging>,
    uri: OriginalUri,
) -> Answer {
    github
        .serve(&repository.owner, &repository.repo, move |repo| {
            let all: Vec<_> = repo.refs.under("refs/heads/").collect();
            let branch = |(name, id): &(&str, Oid)| {
                json!({
                    "name": name,
                    "commit": { "sha": id.to_string(), "url": format!("{}/commits/{id}", repo.url()) },
                    "protected": repo.protection.rules(name).is_some(),
                })
            };
            let page: Value = paging.slice_page(&all).iter().map(branch).collect();
            Ok(paged_response(page, paging.link(repo, &uri, all.len())))
        })
        .await
}

pub(super) async fn show(
    State(github): State<GitHub>,
    Path((owner, name, branch)): Path<(String, String, String)>,
) -> Answer {
    github
        .serve(&owner, &name, move |repo| {
            let missing = || ApiError::new(StatusCode::NOT_FOUND, "Branch not found");
            let id = repo.branch(&branch).ok_or_else(missing)?;
            let url = format!("{}/branches/{}", repo.url(), percent_encode(&branch));
            let rules = repo.protection.rules(&branch);
            // This route does not show rulesets.
            let classic = rules.filter(|rules| rules.classic);
            let contexts = classic.map(|rules| rules.required_checks.clone()).unwrap_or_default();
            let level = if contexts.is_empty() { "off" } else { "everyone" };
            let checks: Value = contexts.iter().map(|context| json!({ "context": context, "app_id": null })).collect();
            let protection = json!({
                "enabled": classic.is_some(),
                "required_status_checks": { "enforcement_level": level, "contexts": contexts, "checks": checks },
            });
            Ok(Json(json!({
                "name": branch,
                "commit": repo.commit_json(id)?,
                "_links": { "self": url, "html": format!("{}/tree/{}", repo.html_url(), percent_encode(&branch)) },
                "protected": rules.is_some(),
                "protection": protection,
                "protection_url": format!("{url}/protection"),
            }))
            .into_response())
        })
        .await
}

pub(super) async fn tags(
    State(github): State<GitHub>,
    Path(repository): Path<RepositoryPath>,
    Query(paging): Query<Paging>,
    uri: OriginalUri,
) -> Answer {
    github
        .serve(&repository.owner, &repository.repo, move |repo| {
            let mut all: Vec<_> = repo.refs.under("refs/tags/").collect();
            all.reverse();
            let page: Value = paging.slice_page(&all).iter().filter_map(|(name, id)| tag(repo, name, *id)).collect();
            Ok(paged_response(page, paging.link(repo, &uri, all.len())))
        })
        .await
}

fn tag(repo: &Repo, name: &str, id: Oid) -> Option<Value> {
    let (commit, url, encoded_name) = (repo.peel(id)?, repo.url(), percent_encode(name));
    Some(json!({
        "name": name,
        "commit": { "sha": commit.to_string(), "url": format!("{url}/commits/{commit}") },
        "zipball_url": format!("{url}/zipball/refs/tags/{encoded_name}"),
        "tarball_url": format!("{url}/tarball/refs/tags/{encoded_name}"),
        "node_id": node_id("REF", (&repo.full_name, "tags", name)),
    }))
}

#[derive(Deserialize)]
pub(super) struct Merge {
    base: String,
    head: String,
    commit_message: Option<String>,
}

pub(super) async fn merge(State(github): State<GitHub>, Path(repository): Path<RepositoryPath>, body: Bytes) -> Answer {
    let request: Merge = parse(&body)?;
    let (faults, now) = (github.0.faults.clone(), github.0.clock.now());
    let (author, committer) = (bot(), web_flow());
    github
        .serve(&repository.owner, &repository.repo, move |repo| {
            let missing = |name: &str| ApiError::new(StatusCode::NOT_FOUND, format!("{name} does not exist"));
            let conflict = || ApiError::conflict("Merge conflict");
            let base = request.base.strip_prefix("refs/heads/").unwrap_or(&request.base);
            let into = repo.branch(base).ok_or_else(|| missing("Base"))?;
            let head = repo.resolve(&request.head).ok_or_else(|| missing("Head"))?;
            if repo.protection.forbids_pushes(&format!("refs/heads/{base}")) {
                return Err(ApiError::conflict(not_authorized()));
            }
            let merged = repo.merge(into, head)?;
            let tree = match merged {
                MergeResult::AlreadyMerged => return Ok(StatusCode::NO_CONTENT.into_response()),
                // Above the first environment, branches have the names of their environments, so `base` is one.
                MergeResult::Tree(_)
                    if faults.take_if_armed(Fault::MergeConflict, Some(repo.short_name()), Some(base)) =>
                {
                    return Err(conflict());
                }
                MergeResult::Tree(tree) => tree,
                MergeResult::Conflict => return Err(conflict()),
            };
            let message = request.commit_message.as_deref().filter(|message| !message.is_empty());
            let message = message.map_or_else(|| format!("Merge {} into {base}", request.head), str::to_owned);
            let (author, committer) = (signature(&author, now)?, signature(&committer, now)?);
            let id = repo.write_commit(tree, &[into, head], &message, &author, &committer)?;
            repo.point(&format!("refs/heads/{base}"), id);
            Ok(created_response(repo.commit_json(id)?))
        })
        .await
}
