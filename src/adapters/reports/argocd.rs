//! Parses notifications of Argo CD that were made by the template in `deploy/argocd/notifications.yaml`. Argo CD sends
//! only the fields of its template, so the template and this file must match.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{
    Report, ReportError, ReportSender, ReportStatus, ReportTarget, failed_status, hash_key, parse_commit, parse_json,
    truncate_message,
};
use crate::domain::change::FailureEvidence;
use crate::domain::model::artefact::Repository;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Sha;

/// The label of an Application with the name of its artefact. Not an annotation: a template can only send all
/// annotations, and those contain the bookkeeping of Argo CD and kubectl.
pub const ARTEFACT_LABEL: &str = "gantry.dev/artefact";

/// The template sends missing fields of an Application as `null` or empty.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArgoNotification {
    application: String,
    namespace: Option<String>,
    labels: Option<BTreeMap<String, Value>>,
    repository: Option<String>,
    /// State of the last operation: `Running`, `Succeeded`, `Failed`, `Error`, `Terminating`.
    phase: Option<String>,
    message: Option<String>,
    started_at: Option<String>,
    finished_at: Option<String>,
    /// The revision that the operation applied.
    revision: Option<String>,
    revisions: Option<Vec<String>>,
    /// The comparison of Git and the cluster at this moment, which may concern a newer revision.
    sync: Option<String>,
    sync_revision: Option<String>,
    sync_revisions: Option<Vec<String>>,
    /// `Healthy`, `Progressing`, `Degraded`, `Suspended`, `Missing`, `Unknown`.
    health: Option<String>,
    images: Option<Vec<String>>,
}

pub fn parse(environment: &EnvironmentName, body: &[u8]) -> Result<Report, ReportError> {
    let notification: ArgoNotification = parse_json(body, |error| {
        format!(
            "The body is not what Gantry's template for Argo CD makes: {error}. Take it from deploy/argocd/notifications.yaml."
        )
    })?;
    if notification.application.trim().is_empty() {
        return Err(ReportError::malformed("`application` is empty: it must be the name of the Application."));
    }
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let (phase, health, sync) = (text(&notification.phase), text(&notification.health), text(&notification.sync));
    let message = truncate_message(&text(&notification.message));
    let outcome = map_status(&phase, &health, &message);
    let (revision, commit) = select_revision(&notification, &sync);
    let at = notification.finished_at.filter(|at| !at.is_empty()).or(notification.started_at).unwrap_or_default();
    let namespace = notification.namespace.unwrap_or_default();
    // Includes the time: a return to an old revision is a new event.
    let key = hash_key(&[
        environment.as_str(),
        "argocd",
        &namespace,
        &notification.application,
        &phase,
        &health,
        revision.as_deref().unwrap_or_default(),
        &message,
        &at,
    ]);
    let artefact = notification.labels.as_ref().and_then(|labels| labels.get(ARTEFACT_LABEL)).and_then(Value::as_str);
    Ok(Report {
        sender: ReportSender::ArgoCd,
        environment: environment.clone(),
        about: ReportTarget {
            kind: "Application".to_owned(),
            namespace,
            name: notification.application,
            artefact: artefact.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned),
            images: notification.images.unwrap_or_default(),
            repository: notification.repository.as_deref().and_then(parse_repository_url),
        },
        revision,
        commit,
        outcome,
        message,
        at: at.parse().ok(),
        key,
        id: None,
    })
}

fn map_status(phase: &str, health: &str, message: &str) -> ReportStatus {
    match (phase, health) {
        ("Error" | "Failed", _) => failed_status(message, "The sync failed.", classify_failure(message)),
        ("Succeeded", "Healthy") => ReportStatus::Succeeded,
        // The operation's message describes its success, so it is not the reason of the failure.
        ("Succeeded", "Degraded") => {
            failed_status("", "The sync succeeded, but the application is degraded.", FailureEvidence::HealthReport)
        }
        // A missing object may still be created, and a suspended one resumed.
        ("Running" | "Terminating", _) | ("Succeeded", "Progressing" | "Missing" | "Suspended") => {
            ReportStatus::Progressing
        }
        _ => ReportStatus::Noise,
    }
}

/// Messages of Argo CD's sync engine which mean that the commit could not be built or applied. An operation also fails
/// because of the health of a sync wave or a hook ("tasks completed unsuccessfully", without a reason), or because a
/// person ended it.
const NOT_APPLIED: [&str; 4] =
    ["failed to apply", "tasks are not valid", "ComparisonError", "tasks completed unsuccessfully, reason:"];

fn classify_failure(message: &str) -> FailureEvidence {
    let is_not_applied = NOT_APPLIED.iter().any(|phrase| message.contains(phrase));
    if is_not_applied { FailureEvidence::NotApplied } else { FailureEvidence::HealthReport }
}

/// The revision that the operation applied. The revision in Git counts only if the cluster is in sync with it. Among
/// several sources, the one commit counts: the others are versions of charts.
fn select_revision(notification: &ArgoNotification, sync: &str) -> (Option<String>, Option<Sha>) {
    let collect_revisions = |single: &Option<String>, several: &Option<Vec<String>>| {
        // With several sources, the single field is empty.
        let all = single.iter().chain(several.iter().flatten()).filter(|revision| !revision.trim().is_empty());
        all.cloned().collect::<Vec<_>>()
    };
    let mut all = collect_revisions(&notification.revision, &notification.revisions);
    if all.is_empty() && sync == "Synced" {
        all = collect_revisions(&notification.sync_revision, &notification.sync_revisions);
    }
    let mut commits: Vec<Sha> = all.iter().filter_map(|revision| parse_commit(revision)).collect();
    commits.dedup();
    let commit = if commits.len() == 1 { commits.pop() } else { None };
    ((!all.is_empty()).then(|| all.join(" ")), commit)
}

/// `https://github.com/acme/shop.git`, `git@github.com:acme/shop.git`: the last two names.
fn parse_repository_url(url: &str) -> Option<Repository> {
    let path = url.trim().trim_end_matches('/').trim_end_matches(".git");
    let mut names = path.rsplit(['/', ':']);
    let (name, owner) = (names.next()?, names.next()?);
    // Without a host it is a local path, or not an address at all.
    names.next().filter(|host| !host.is_empty())?;
    format!("{owner}/{name}").parse().ok()
}

#[cfg(test)]
mod tests;
