//! The results of CI for a commit: `/commits/{ref}/status`, `/statuses`, `/check-runs`, and `POST /statuses/{sha}`.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::GitHub;
use super::super::checks::Status;
use super::super::errors::ApiError;
use super::super::objects::{Repo, full_oid};
use super::{Answer, Paging, bot, commits, created_response, parse};
use crate::sim::faults::{Fault, Faults};

#[derive(Debug, Default, Deserialize)]
pub(super) struct Filter {
    check_name: Option<String>,
    status: Option<String>,
    per_page: Option<String>,
    page: Option<String>,
}

impl Filter {
    fn paging(&self) -> Paging {
        Paging { per_page: self.per_page.clone(), page: self.page.clone() }
    }
}

fn creator() -> String {
    bot().name
}

pub(super) fn combined(repo: &mut Repo, reference: &str) -> Answer {
    let id = repo.resolve(reference).ok_or_else(ApiError::not_found)?;
    let (state, statuses) = repo.checks.combined(id);
    let statuses: Vec<_> = statuses.iter().map(|status| repo.status_json(id, status, &creator())).collect();
    Ok(Json(json!({
        "state": state,
        "sha": id.to_string(),
        "total_count": statuses.len(),
        "statuses": statuses,
        "repository": repo.repository_json(),
        "commit_url": format!("{}/commits/{id}", repo.url()),
        "url": format!("{}/commits/{id}/status", repo.url()),
    }))
    .into_response())
}

pub(super) fn statuses(repo: &mut Repo, reference: &str, filter: &Filter) -> Answer {
    let id = repo.resolve(reference).ok_or_else(ApiError::not_found)?;
    let all = repo.checks.statuses(id);
    let page: Value =
        filter.paging().slice_page(&all).iter().map(|status| repo.status_json(id, status, &creator())).collect();
    Ok(Json(page).into_response())
}

pub(super) fn runs(repo: &mut Repo, reference: &str, filter: &Filter, faults: &Faults, now: Timestamp) -> Answer {
    let id = commits::find(repo, reference)?;
    if !repo.checks.is_red(id) && faults.take_if_armed(Fault::RedCheck, Some(repo.short_name()), None) {
        for name in repo.checks.turn_red(id, now) {
            repo.record_check_event(id, &name, &creator());
        }
    }
    let matches_filter = |wanted: &Option<String>, value: &str| wanted.as_deref().is_none_or(|wanted| wanted == value);
    let all: Vec<_> = repo
        .checks
        .runs(id)
        .iter()
        .filter(|run| matches_filter(&filter.check_name, &run.name) && matches_filter(&filter.status, &run.status))
        .collect();
    let page: Value = filter.paging().slice_page(&all).iter().map(|run| repo.check_run_json(id, run)).collect();
    Ok(Json(json!({ "total_count": all.len(), "check_runs": page })).into_response())
}

#[derive(Deserialize)]
struct NewStatus {
    state: String,
    context: Option<String>,
    description: Option<String>,
    target_url: Option<String>,
}

pub(super) async fn set_status(
    State(github): State<GitHub>,
    Path((owner, name, sha)): Path<(String, String, String)>,
    body: Bytes,
) -> Answer {
    let new: NewStatus = parse(&body)?;
    let now = github.0.clock.now();
    github
        .serve(&owner, &name, move |repo| {
            if !matches!(new.state.as_str(), "error" | "failure" | "pending" | "success") {
                return Err(ApiError::validation_failed("Status", "state", "custom"));
            }
            let id = full_oid(&sha).filter(|id| repo.is_commit(*id));
            let id = id.ok_or_else(|| ApiError::unprocessable(format!("No commit found for SHA: {sha}")))?;
            let status = Status {
                number: 0,
                state: new.state,
                context: new.context.unwrap_or_else(|| "default".to_owned()),
                description: new.description,
                target_url: new.target_url,
                at: now,
            };
            let status = repo.checks.add_status(id, status);
            repo.record_status_event(id, &status, &creator());
            Ok(created_response(repo.status_json(id, &status, &creator())))
        })
        .await
}
