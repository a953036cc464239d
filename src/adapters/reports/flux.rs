//! Events of Flux's notification controller (`generic` and `generic-hmac` providers) to reports.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{About, Outcome, Report, ReportError, Sender, brief, commit, failed, key, read};
use crate::domain::change::FailureEvidence;
use crate::domain::model::environment::EnvironmentName;

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "involvedObject")]
    involved: Involved,
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
struct Involved {
    kind: String,
    name: String,
    #[serde(default)]
    namespace: Option<String>,
}

pub fn parse(environment: &EnvironmentName, body: &[u8]) -> Result<Report, ReportError> {
    let event: Event = read(body, |error| {
        format!("The body is not an event of Flux: {error}. Point a Provider of type `generic-hmac` or `generic` here.")
    })?;
    let (kind, severity, reason) = (event.involved.kind, text(&event.severity), text(&event.reason));
    let message = brief(text(&event.message));
    let metadata = event.metadata.unwrap_or_default();
    let told = |name: &str| told(&metadata, name);

    let revision = told("revision");
    // An OCI artefact's own revision is a digest; the commit that it was made from stands beside it.
    let origin = told("originRevision");
    let commit = revision.as_deref().and_then(commit).or_else(|| origin.as_deref().and_then(commit));
    let outcome = outcome(&kind, severity, reason, &message);
    let at = text(&event.timestamp);
    let namespace = event.involved.namespace.unwrap_or_default();
    let revision_text = revision.as_deref().unwrap_or_default();
    let (artefact, image) = (told("artefact").or_else(|| told("artifact")), told("image"));
    let named = [artefact.as_deref(), image.as_deref()].map(Option::unwrap_or_default).join("\n");
    // With its time: "reconciliation finished" repeats with every interval, and a return to an old revision is news.
    let key = key(&[
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
        // Two Alerts may tell of one event, and only one of them whom it is about.
        &named,
    ]);
    Ok(Report {
        sender: Sender::Flux,
        environment: environment.clone(),
        about: About {
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

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Keys stand alone, or behind the group of the controller: `kustomize.toolkit.fluxcd.io/revision`.
fn told(metadata: &BTreeMap<String, Value>, name: &str) -> Option<String> {
    let grouped = || metadata.iter().find(|(key, _)| key.rsplit_once('/').is_some_and(|(_, key)| key == name));
    let value = metadata.get(name).or_else(|| grouped().map(|(_, value)| value))?;
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn outcome(kind: &str, severity: &str, reason: &str, message: &str) -> Outcome {
    // Sources, image automation and the rest do not deploy.
    if !matches!(kind, "Kustomization" | "HelmRelease") {
        return Outcome::Noise;
    }
    match (severity, reason) {
        // These wait for somebody else, or were overtaken by a newer revision.
        ("error", "DependencyNotReady" | "HealthCheckCanceled") => Outcome::Noise,
        // A successful way back means that what was asked for does not run.
        ("error", _) | ("info", "RollbackSucceeded" | "UninstallSucceeded") => {
            failed(message, reason, evidence(reason))
        }
        ("info", "ReconciliationSucceeded" | "InstallSucceeded" | "UpgradeSucceeded" | "TestSucceeded") => {
            Outcome::Succeeded
        }
        ("info", _) if message.contains("Health check passed") => Outcome::Succeeded,
        // Before Flux 2.2 an event of Helm's had its severity for a reason, and said the rest in words.
        ("info", "info") if kind == "HelmRelease" => by_words(message),
        ("info", "Progressing" | "ProgressingWithRetry") => Outcome::Progressing,
        _ => Outcome::Noise,
    }
}

/// `InstallFailed` and `UpgradeFailed` also cover Helm's timeout while it waits for workloads, so they count as health reports.
fn evidence(reason: &str) -> FailureEvidence {
    match reason {
        "BuildFailed" | "ArtifactFailed" | "ReconciliationFailed" => FailureEvidence::NotApplied,
        _ => FailureEvidence::HealthReport,
    }
}

fn by_words(message: &str) -> Outcome {
    let begins = |words: &[&str]| words.iter().any(|words| message.starts_with(words));
    if begins(&["Helm install succeeded", "Helm upgrade succeeded", "Helm test succeeded"]) {
        Outcome::Succeeded
    } else if begins(&["Helm rollback succeeded", "Helm uninstall succeeded"]) {
        failed(message, "", FailureEvidence::HealthReport)
    } else if begins(&["Helm install has started", "Helm upgrade has started"]) {
        Outcome::Progressing
    } else {
        Outcome::Noise
    }
}

#[cfg(test)]
mod tests;
