//! Events of Flux's notification controller (`generic` and `generic-hmac` providers) to reports.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{About, BODY_LIMIT, Outcome, Report, ReportError, Sender, brief, commit, failed, key};
use crate::domain::environment::EnvironmentName;

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
    if body.len() > BODY_LIMIT {
        return Err(ReportError::TooLarge(body.len()));
    }
    let event: Event = serde_json::from_slice(body).map_err(|error| {
        ReportError::malformed(format!(
            "The body is not an event of Flux: {error}. Point a Provider of type `generic-hmac` or `generic` here."
        ))
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
    ]);
    Ok(Report {
        sender: Sender::Flux,
        environment: environment.clone(),
        about: About {
            kind,
            namespace,
            name: event.involved.name,
            artefact: told("artefact").or_else(|| told("artifact")),
            images: told("image").into_iter().collect(),
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
        ("error", _) | ("info", "RollbackSucceeded" | "UninstallSucceeded") => failed(message, reason),
        ("info", "ReconciliationSucceeded" | "InstallSucceeded" | "UpgradeSucceeded" | "TestSucceeded") => {
            Outcome::Succeeded
        }
        ("info", _) if message.contains("Health check passed") => Outcome::Succeeded,
        ("info", "Progressing" | "ProgressingWithRetry") => Outcome::Progressing,
        _ => Outcome::Noise,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::reports::MESSAGE_LIMIT;

    const SHA: &str = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";

    fn qa() -> EnvironmentName {
        EnvironmentName::new("qa")
    }

    fn event(kind: &str, severity: &str, reason: &str, message: &str) -> Value {
        json!({
            "involvedObject": { "kind": kind, "name": "checkout", "namespace": "flux-system", "apiVersion": "kustomize.toolkit.fluxcd.io/v1" },
            "severity": severity, "reason": reason, "message": message, "timestamp": "2026-11-16T02:03:04Z",
            "metadata": { "kustomize.toolkit.fluxcd.io/revision": format!("qa@sha1:{SHA}") },
            "reportingController": "kustomize-controller", "reportingInstance": "kustomize-controller-0",
        })
    }

    fn report(event: &Value) -> Report {
        parse(&qa(), event.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn an_event_becomes_a_report() {
        let report =
            report(&event("Kustomization", "info", "ReconciliationSucceeded", "Reconciliation finished in 1.2s"));
        assert_eq!(report.environment, qa());
        assert_eq!(
            (&*report.about.kind, &*report.about.namespace, &*report.about.name),
            ("Kustomization", "flux-system", "checkout")
        );
        assert_eq!(report.commit.unwrap().as_str(), SHA);
        assert_eq!(report.revision.unwrap(), format!("qa@sha1:{SHA}"));
        assert_eq!(report.at.unwrap().to_string(), "2026-11-16T02:03:04Z");
        assert_eq!(report.outcome, Outcome::Succeeded);
    }

    #[test]
    fn each_reason_has_its_outcome() {
        let failed = || Outcome::Failed { message: "it said so".to_owned() };
        let cases = [
            ("Kustomization", "info", "ReconciliationSucceeded", Outcome::Succeeded),
            ("Kustomization", "info", "Progressing", Outcome::Progressing),
            ("Kustomization", "info", "ArtifactUpToDate", Outcome::Noise),
            ("Kustomization", "error", "HealthCheckFailed", failed()),
            ("Kustomization", "error", "BuildFailed", failed()),
            ("Kustomization", "error", "ReconciliationFailed", failed()),
            ("Kustomization", "error", "", failed()),
            ("Kustomization", "error", "DependencyNotReady", Outcome::Noise),
            ("Kustomization", "error", "HealthCheckCanceled", Outcome::Noise),
            ("Kustomization", "trace", "ReconciliationSucceeded", Outcome::Noise),
            ("HelmRelease", "info", "InstallSucceeded", Outcome::Succeeded),
            ("HelmRelease", "info", "UpgradeSucceeded", Outcome::Succeeded),
            ("HelmRelease", "error", "InstallFailed", failed()),
            ("HelmRelease", "error", "UpgradeFailed", failed()),
            ("HelmRelease", "error", "TestFailed", failed()),
            ("HelmRelease", "info", "RollbackSucceeded", failed()),
            ("HelmRelease", "info", "info", Outcome::Noise),
            ("GitRepository", "info", "NewArtifact", Outcome::Noise),
            ("GitRepository", "error", "GitOperationFailed", Outcome::Noise),
            ("ImageUpdateAutomation", "info", "", Outcome::Noise),
        ];
        for (kind, severity, reason, expected) in cases {
            assert_eq!(
                report(&event(kind, severity, reason, "it said so")).outcome,
                expected,
                "{kind} {severity} {reason}"
            );
        }
        assert_eq!(
            report(&event("Kustomization", "info", "info", "Health check passed in 3s")).outcome,
            Outcome::Succeeded
        );
        let silent = report(&event("Kustomization", "error", "BuildFailed", " ")).outcome;
        assert_eq!(silent, Outcome::Failed { message: "BuildFailed".to_owned() });
    }

    #[test]
    fn a_revision_names_a_commit_in_every_form_of_flux() {
        let cases = [
            (format!("main@sha1:{SHA}"), true),
            (format!("refs/heads/feature/x@sha1:{SHA}"), true),
            (format!("sha1:{SHA}"), true),
            (format!("main/{SHA}"), true),
            (format!("feature/x/{SHA}"), true),
            (SHA.to_owned(), true),
            (SHA.to_uppercase(), true),
            (format!("latest@sha256:{SHA}{}", &SHA[..24]), false),
            (format!("main@sha1:{}", &SHA[..39]), false),
            (format!("main@md5:{SHA}"), false),
            ("6.5.0".to_owned(), false),
            ("6.5.0+9be01d7".to_owned(), false),
            (String::new(), false),
            (":".to_owned(), false),
        ];
        for (revision, names) in cases {
            assert_eq!(commit(&revision).map(String::from), names.then(|| SHA.to_owned()), "{revision}");
        }
    }

    #[test]
    fn metadata_is_found_with_and_without_the_group() {
        let with = |metadata: Value| {
            let mut event = event("Kustomization", "info", "ReconciliationSucceeded", "");
            event["metadata"] = metadata;
            report(&event)
        };
        for key in ["revision", "kustomize.toolkit.fluxcd.io/revision", "helm.toolkit.fluxcd.io/revision"] {
            assert!(with(json!({ key: format!("main@sha1:{SHA}") })).commit.is_some(), "{key}");
        }
        let oci = with(json!({ "revision": "latest@sha256:ab", "originRevision": format!("main@sha1:{SHA}") }));
        assert_eq!((oci.revision.as_deref(), oci.commit.is_some()), (Some("latest@sha256:ab"), true));
        let named = with(json!({ "artefact": "checkout", "event.toolkit.fluxcd.io/image": "acme/checkout:2" }));
        assert_eq!(
            (named.about.artefact.as_deref(), &*named.about.images),
            (Some("checkout"), &["acme/checkout:2".to_owned()][..])
        );
        for nothing in [json!({}), json!(null), json!({ "revision": 7 }), json!({ "revision": " " })] {
            assert_eq!(with(nothing).revision, None);
        }
    }

    #[test]
    fn missing_fields_are_no_error_but_an_event_is_about_something() {
        let bare = br#"{ "involvedObject": { "kind": "Kustomization", "name": "x" } }"#;
        let report = parse(&qa(), bare).unwrap();
        assert_eq!((report.outcome, report.at, report.revision), (Outcome::Noise, None, None));
        for wrong in [&b"{}"[..], b"", b"[]", b"null", br#"{ "involvedObject": {} }"#, b"\xff\xfe"] {
            assert!(matches!(parse(&qa(), wrong), Err(ReportError::Malformed(_))), "{wrong:?}");
        }
        assert_eq!(parse(&qa(), &vec![b' '; BODY_LIMIT + 1]), Err(ReportError::TooLarge(BODY_LIMIT + 1)));
    }

    #[test]
    fn the_same_event_has_one_key_and_any_other_another() {
        let first = event("Kustomization", "info", "ReconciliationSucceeded", "done");
        let spaced = serde_json::to_vec_pretty(&first).unwrap();
        assert_eq!(report(&first).key, parse(&qa(), &spaced).unwrap().key);
        assert_ne!(report(&first).key, parse(&EnvironmentName::new("prod"), &spaced).unwrap().key);
        for (field, value) in [("timestamp", "2026-11-16T02:13:04Z"), ("severity", "error"), ("message", "other")] {
            let mut other = first.clone();
            other[field] = value.into();
            assert_ne!(report(&first).key, report(&other).key, "{field}");
        }
    }

    #[test]
    fn a_report_survives_the_store() {
        let report = report(&event("HelmRelease", "error", "UpgradeFailed", "timed out"));
        let stored = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&stored).unwrap(), report);
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(body in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&qa(), &body);
        }

        #[test]
        fn any_texts_in_the_fields_are_answered(texts in prop::collection::vec(".{0,60}", 6), key in ".{0,20}", junk in any::<i64>()) {
            let event = json!({
                "involvedObject": { "kind": texts[0], "name": texts[1], "namespace": texts[2] },
                "severity": texts[3], "reason": junk, "message": texts[4], "timestamp": texts[5],
                "metadata": { key: texts[0], "revision": texts[1] },
            });
            prop_assert!(parse(&qa(), event.to_string().as_bytes()).is_ok());
        }

        #[test]
        fn a_long_message_is_cut(length in 0..5_000_usize) {
            let message = "é".repeat(length);
            prop_assert!(report(&event("Kustomization", "error", "x", &message)).message.chars().count() <= MESSAGE_LIMIT);
        }
    }
}
