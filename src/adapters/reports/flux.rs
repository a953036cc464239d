//! Parses events of Flux's notification controller (providers `generic` and `generic-hmac`) into reports.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{
    Report, ReportError, ReportSender, ReportStatus, ReportTarget, failed_status, hash_key, parse_commit, parse_json,
    truncate_message,
};
use crate::domain::change::FailureEvidence;
use crate::domain::model::environment::EnvironmentName;

#[derive(Deserialize)]
struct FluxEventBody {
    #[serde(rename = "involvedObject")]
    involved: FluxObject,
    #[serde(default)]
    severity: Value,
    #[serde(default)]
    timestamp: Value,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    reason: Value,
    #[serde(default)]
    metadata: Option<BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
struct FluxObject {
    kind: String,
    name: String,
    #[serde(default)]
    namespace: Option<String>,
}

pub fn parse(environment: &EnvironmentName, body: &[u8]) -> Result<Report, ReportError> {
    let event: FluxEventBody = parse_json(body, |error| {
        format!("The body is not an event of Flux: {error}. Point a Provider of type `generic-hmac` or `generic` here.")
    })?;
    let (kind, severity, reason) = (event.involved.kind, text_or_empty(&event.severity), text_or_empty(&event.reason));
    let message = truncate_message(text_or_empty(&event.message));
    let metadata = event.metadata.unwrap_or_default();
    let metadata_text = |name: &str| find_metadata(&metadata, name);

    let revision = metadata_text("revision");
    // The revision of an OCI artifact is a digest; its metadata has the commit from which it was made.
    let origin = metadata_text("originRevision");
    let commit = revision.as_deref().and_then(parse_commit).or_else(|| origin.as_deref().and_then(parse_commit));
    let outcome = map_status(&kind, severity, reason, &message);
    let at = text_or_empty(&event.timestamp);
    let namespace = event.involved.namespace.unwrap_or_default();
    let revision_text = revision.as_deref().unwrap_or_default();
    let (artefact, image) = (metadata_text("artefact").or_else(|| metadata_text("artifact")), metadata_text("image"));
    let named = [artefact.as_deref(), image.as_deref()].map(Option::unwrap_or_default).join("\n");
    // Includes the time: "reconciliation finished" repeats with every interval, and a return to an old revision is a
    // new event.
    let key = hash_key(&[
        environment.as_str(),
        "flux",
        &kind,
        &namespace,
        &event.involved.name,
        severity,
        reason,
        revision_text,
        &message,
        at,
        // Two Alerts may send the same event, and only one of them may name the artefact.
        &named,
    ]);
    Ok(Report {
        sender: ReportSender::Flux,
        environment: environment.clone(),
        about: ReportTarget {
            kind,
            namespace,
            name: event.involved.name,
            artefact,
            images: image.into_iter().collect(),
            repository: None,
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

fn text_or_empty(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A key may have the controller's group as a prefix: `kustomize.toolkit.fluxcd.io/revision`.
fn find_metadata(metadata: &BTreeMap<String, Value>, name: &str) -> Option<String> {
    let grouped = || metadata.iter().find(|(key, _)| key.rsplit_once('/').is_some_and(|(_, key)| key == name));
    let value = metadata.get(name).or_else(|| grouped().map(|(_, value)| value))?;
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn map_status(kind: &str, severity: &str, reason: &str, message: &str) -> ReportStatus {
    // Sources, image automation and other kinds do not deploy.
    if !matches!(kind, "Kustomization" | "HelmRelease") {
        return ReportStatus::Noise;
    }
    match (severity, reason) {
        // These wait for another object, or were superseded by a newer revision.
        ("error", "DependencyNotReady" | "HealthCheckCanceled") => ReportStatus::Noise,
        // After a successful rollback or uninstall, the requested version does not run.
        ("error", _) | ("info", "RollbackSucceeded" | "UninstallSucceeded") => {
            failed_status(message, reason, classify_failure(reason))
        }
        ("info", "ReconciliationSucceeded" | "InstallSucceeded" | "UpgradeSucceeded" | "TestSucceeded") => {
            ReportStatus::Succeeded
        }
        ("info", _) if message.contains("Health check passed") => ReportStatus::Succeeded,
        // Before Flux 2.2, the reason of Helm's events was their severity, and only the message described the event.
        ("info", "info") if kind == "HelmRelease" => map_helm_message(message),
        ("info", "Progressing" | "ProgressingWithRetry") => ReportStatus::Progressing,
        _ => ReportStatus::Noise,
    }
}

/// `InstallFailed` and `UpgradeFailed` also cover Helm's timeout while it waits for workloads, so they count as health
/// reports.
fn classify_failure(reason: &str) -> FailureEvidence {
    match reason {
        "BuildFailed" | "ArtifactFailed" | "ReconciliationFailed" => FailureEvidence::NotApplied,
        _ => FailureEvidence::HealthReport,
    }
}

fn map_helm_message(message: &str) -> ReportStatus {
    let starts_with_any = |prefixes: &[&str]| prefixes.iter().any(|prefix| message.starts_with(prefix));
    if starts_with_any(&["Helm install succeeded", "Helm upgrade succeeded", "Helm test succeeded"]) {
        ReportStatus::Succeeded
    } else if starts_with_any(&["Helm rollback succeeded", "Helm uninstall succeeded"]) {
        failed_status(message, "", FailureEvidence::HealthReport)
    } else if starts_with_any(&["Helm install has started", "Helm upgrade has started"]) {
        ReportStatus::Progressing
    } else {
        ReportStatus::Noise
    }
}

#[cfg(test)]
mod tests;
