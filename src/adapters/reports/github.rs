//! Parses GitHub's webhooks: notices that wake a check, states of builds, and statuses of deployments. Notices are only
//! hints: Gantry then asks GitHub's API.

use serde_json::Value;
use sha2::{Digest, Sha256};

pub use super::github_event::{Build, BuildState, GithubNotice};
use super::{
    ParsedWebhook, Report, ReportSender, ReportStatus, ReportTarget, UnreadableWebhook, failed_status, hash_key,
    truncate_message,
};
use crate::domain::change::FailureEvidence;
use crate::domain::model::artefact::Repository;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Sha;

/// The events that can let a waiting change continue.
pub const NOTICE_EVENTS: [&str; 5] = ["pull_request", "pull_request_review", "check_suite", "check_run", "status"];

/// The events about deployments and builds.
pub const DEPLOYMENT_EVENT: &str = "deployment_status";
pub const BUILD_EVENT: &str = "workflow_run";

/// `None` for events that Gantry does not use. `find` maps an environment's name or alias to the environment.
pub fn parse(
    event: &str,
    body: &[u8],
    find: impl Fn(&str) -> Option<EnvironmentName>,
) -> Result<Option<ParsedWebhook>, String> {
    if !NOTICE_EVENTS.contains(&event) && event != DEPLOYMENT_EVENT && event != BUILD_EVENT {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        format!("The body is not JSON: {error}. Choose the content type `application/json` for the webhook.")
    })?;
    let repository = read_text(&value, "/repository/full_name").ok_or("The body has no `repository.full_name`.")?;
    let repository = repository.parse().map_err(|error: String| format!("{error}."))?;
    match event {
        DEPLOYMENT_EVENT => parse_deployment(&value, body, repository, find).map(Some),
        BUILD_EVENT => Ok(parse_build(&value, repository)?.map(ParsedWebhook::Build)),
        _ => Ok(Some(ParsedWebhook::Notice(parse_notice(event, &value, body, repository)))),
    }
}

fn read_text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

fn read_number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

fn parse_notice(event: &str, value: &Value, body: &[u8], repository: Repository) -> GithubNotice {
    let commit = match event {
        "status" => read_text(value, "/sha"),
        "check_run" => read_text(value, "/check_run/head_sha"),
        "check_suite" => read_text(value, "/check_suite/head_sha"),
        _ => read_text(value, "/pull_request/head/sha"),
    };
    GithubNotice {
        key: hex::encode(Sha256::digest(body)),
        event: event.to_owned(),
        repository,
        pull: read_number(value, "/pull_request/number"),
        commit: commit.and_then(|commit| commit.parse().ok()),
    }
}

fn parse_deployment(
    value: &Value,
    body: &[u8],
    repository: Repository,
    find: impl Fn(&str) -> Option<EnvironmentName>,
) -> Result<ParsedWebhook, String> {
    let missing = |field: &str| format!("The body has no `{field}`, which every `deployment_status` of GitHub's has.");
    let state = read_text(value, "/deployment_status/state").ok_or_else(|| missing("deployment_status.state"))?;
    let environment_name =
        read_text(value, "/deployment/environment").ok_or_else(|| missing("deployment.environment"))?;
    let Some(environment) = find(environment_name) else {
        let why = format!(
            "A deployment of {repository} goes to `{}`, which is no environment of ours.",
            truncate_message(environment_name)
        );
        return Ok(ParsedWebhook::Unreadable(UnreadableWebhook::new(None, ReportSender::GitHub, why, body)));
    };
    let message = truncate_message(read_text(value, "/deployment_status/description").unwrap_or_default());
    let outcome = match state {
        "success" => ReportStatus::Succeeded,
        "failure" | "error" => {
            failed_status(&message, "The deployment failed, says GitHub.", FailureEvidence::HealthReport)
        }
        "in_progress" | "queued" | "pending" | "waiting" => ReportStatus::Progressing,
        // `inactive`: a newer deployment has replaced it.
        _ => ReportStatus::Noise,
    };
    let (number, id) = (read_number(value, "/deployment/id"), read_number(value, "/deployment_status/id"));
    let number = number.map(|number| number.to_string()).unwrap_or_default();
    let sha = read_text(value, "/deployment/sha");
    let at = read_text(value, "/deployment_status/created_at").unwrap_or_default();
    let key = hash_key(&[
        environment.as_str(),
        "github",
        &repository.to_string(),
        &number,
        sha.unwrap_or_default(),
        state,
        &message,
        at,
    ]);
    Ok(ParsedWebhook::Report(Box::new(Report {
        sender: ReportSender::GitHub,
        environment,
        about: ReportTarget {
            kind: "deployment".to_owned(),
            // Not the deployment's number: the next deployment has the same subject.
            namespace: repository.owner().to_owned(),
            name: repository.name().to_owned(),
            artefact: parse_artefact(value.pointer("/deployment/payload")),
            images: Vec::new(),
            repository: Some(repository),
        },
        revision: read_text(value, "/deployment/ref").map(str::to_owned),
        commit: sha.and_then(|sha| sha.parse().ok()),
        outcome,
        message,
        at: at.parse().ok(),
        key,
        id: id.map(|id| id.to_string()),
    })))
}

/// The creator of a deployment chooses the form of its payload: an object, or JSON in a string.
fn parse_artefact(payload: Option<&Value>) -> Option<String> {
    let payload = match payload? {
        Value::String(text) => serde_json::from_str(text).ok()?,
        other => other.clone(),
    };
    let find = |name: &str| read_text(&payload, name).map(str::to_owned);
    find("/artefact").or_else(|| find("/artifact"))
}

fn parse_build(value: &Value, repository: Repository) -> Result<Option<Build>, String> {
    let missing =
        |field: &str| format!("The body has no `workflow_run.{field}`, which every `workflow_run` of GitHub's has.");
    let commit = read_text(value, "/workflow_run/head_sha").and_then(|sha| sha.parse().ok());
    let commit: Sha = commit.ok_or_else(|| missing("head_sha"))?;
    let status = read_text(value, "/workflow_run/status").ok_or_else(|| missing("status"))?;
    let run = read_number(value, "/workflow_run/id").ok_or_else(|| missing("id"))?;
    let attempt = read_number(value, "/workflow_run/run_attempt").unwrap_or(1);
    let conclusion = read_text(value, "/workflow_run/conclusion").unwrap_or_default();
    let state = match (status, conclusion) {
        // The run was not for this commit.
        (_, "skipped") => return Ok(None),
        ("in_progress", _) => BuildState::Running,
        ("completed", "success" | "neutral") => BuildState::Succeeded,
        // A person must approve the run first.
        ("completed", "action_required") => BuildState::Queued,
        ("completed", conclusion) => BuildState::Failed { conclusion: conclusion.to_owned() },
        _ => BuildState::Queued,
    };
    let name =
        read_text(value, "/workflow_run/name").or_else(|| read_text(value, "/workflow/name")).unwrap_or("workflow");
    let at = read_text(value, "/workflow_run/updated_at");
    let numbers = (run.to_string(), attempt.to_string());
    let key = hash_key(&[&repository.to_string(), BUILD_EVENT, &numbers.0, &numbers.1, status, conclusion]);
    Ok(Some(Build {
        key,
        repository,
        commit,
        branch: read_text(value, "/workflow_run/head_branch").map(str::to_owned),
        name: truncate_message(name),
        run,
        attempt,
        state,
        url: read_text(value, "/workflow_run/html_url").unwrap_or_default().to_owned(),
        at: at.and_then(|at| at.parse().ok()),
    }))
}

#[cfg(test)]
mod tests;
