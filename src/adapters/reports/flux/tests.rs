//! Tests with events of Flux: the formats of its controllers over the years, and arbitrary input.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::adapters::reports::BODY_LIMIT;
use crate::adapters::reports::MESSAGE_LIMIT;

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
    let report = report(&event("Kustomization", "info", "ReconciliationSucceeded", "Reconciliation finished in 1.2s"));
    assert_eq!(report.environment, qa());
    assert_eq!(
        (&*report.about.kind, &*report.about.namespace, &*report.about.name),
        ("Kustomization", "flux-system", "checkout")
    );
    assert_eq!(report.commit.unwrap().as_str(), SHA);
    assert_eq!(report.revision.unwrap(), format!("qa@sha1:{SHA}"));
    assert_eq!(report.at.unwrap().to_string(), "2026-11-16T02:03:04Z");
    assert_eq!(report.outcome, ReportStatus::Succeeded);
}

#[test]
fn each_reason_maps_to_an_outcome() {
    let failed = |evidence| ReportStatus::Failed { message: "it said so".to_owned(), evidence };
    let (health, not_applied) = (|| failed(FailureEvidence::HealthReport), || failed(FailureEvidence::NotApplied));
    let cases = [
        ("Kustomization", "info", "ReconciliationSucceeded", ReportStatus::Succeeded),
        ("Kustomization", "info", "Progressing", ReportStatus::Progressing),
        ("Kustomization", "info", "ArtifactUpToDate", ReportStatus::Noise),
        ("Kustomization", "error", "HealthCheckFailed", health()),
        ("Kustomization", "error", "BuildFailed", not_applied()),
        ("Kustomization", "error", "ReconciliationFailed", not_applied()),
        ("Kustomization", "error", "ArtifactFailed", not_applied()),
        ("Kustomization", "error", "PruneFailed", health()),
        ("Kustomization", "error", "", health()),
        ("Kustomization", "error", "DependencyNotReady", ReportStatus::Noise),
        ("Kustomization", "error", "HealthCheckCanceled", ReportStatus::Noise),
        ("Kustomization", "trace", "ReconciliationSucceeded", ReportStatus::Noise),
        ("HelmRelease", "info", "InstallSucceeded", ReportStatus::Succeeded),
        ("HelmRelease", "info", "UpgradeSucceeded", ReportStatus::Succeeded),
        ("HelmRelease", "error", "InstallFailed", health()),
        ("HelmRelease", "error", "UpgradeFailed", health()),
        ("HelmRelease", "error", "TestFailed", health()),
        ("HelmRelease", "info", "RollbackSucceeded", health()),
        ("HelmRelease", "info", "info", ReportStatus::Noise),
        ("GitRepository", "info", "NewArtifact", ReportStatus::Noise),
        ("GitRepository", "error", "GitOperationFailed", ReportStatus::Noise),
        ("ImageUpdateAutomation", "info", "", ReportStatus::Noise),
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
        ReportStatus::Succeeded
    );
    let silent = report(&event("Kustomization", "error", "BuildFailed", " ")).outcome;
    assert_eq!(
        silent,
        ReportStatus::Failed { message: "BuildFailed".to_owned(), evidence: FailureEvidence::NotApplied }
    );
}

#[test]
fn the_commit_is_parsed_from_every_form_of_revision() {
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
        assert_eq!(parse_commit(&revision).map(String::from), names.then(|| SHA.to_owned()), "{revision}");
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
fn only_the_involved_object_is_required() {
    let bare = br#"{ "involvedObject": { "kind": "Kustomization", "name": "x" } }"#;
    let report = parse(&qa(), bare).unwrap();
    assert_eq!((report.outcome, report.at, report.revision), (ReportStatus::Noise, None, None));
    for wrong in [&b"{}"[..], b"", b"[]", b"null", br#"{ "involvedObject": {} }"#, b"\xff\xfe"] {
        assert!(matches!(parse(&qa(), wrong), Err(ReportError::Malformed(_))), "{wrong:?}");
    }
    assert_eq!(parse(&qa(), &vec![b' '; BODY_LIMIT + 1]), Err(ReportError::TooLarge(BODY_LIMIT + 1)));
}

#[test]
fn the_same_event_has_the_same_key_and_others_do_not() {
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
fn a_report_round_trips_through_json() {
    let report = report(&event("HelmRelease", "error", "UpgradeFailed", "timed out"));
    let stored = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&stored).unwrap(), report);
}

/// A payload below `tests/data/reports/flux`; the README there states its origin.
fn parse_fixture(file: &str) -> Report {
    let path = format!("{}/tests/data/reports/flux/{file}.json", env!("CARGO_MANIFEST_DIR"));
    parse(&qa(), &std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn each_recorded_event_of_flux_is_parsed() {
    let failed = |text: &str| format!("failed (HealthReport): {text}");
    let not_applied = |text: &str| format!("failed (NotApplied): {text}");
    let cases = [
        ("kustomization-applied", "Progressing".to_owned(), true),
        ("kustomization-healthy", "Succeeded".to_owned(), true),
        ("kustomization-succeeded", "Succeeded".to_owned(), true),
        ("kustomization-old-keys", "Succeeded".to_owned(), true),
        ("kustomization-oci", "Succeeded".to_owned(), true),
        ("kustomization-artefact", "Succeeded".to_owned(), true),
        ("kustomization-unhealthy", failed("health check failed after 30.005s"), true),
        ("kustomization-build-failed", not_applied("kustomize build failed: accumulating resources"), true),
        ("kustomization-apply-failed", not_applied("Deployment/qa/checkout dry-run failed"), true),
        ("kustomization-waits", "Noise".to_owned(), true),
        ("kustomization-waits-old", "Noise".to_owned(), true),
        ("kustomization-overtaken", "Noise".to_owned(), true),
        ("helmrelease-installed", "Succeeded".to_owned(), false),
        ("helmrelease-upgraded", "Succeeded".to_owned(), false),
        ("helmrelease-tested", "Succeeded".to_owned(), false),
        ("helmrelease-old-keys", "Succeeded".to_owned(), false),
        ("helmrelease-install-failed", failed("Helm install failed for release qa/checkout"), false),
        ("helmrelease-upgrade-failed", failed("Helm upgrade failed for release qa/checkout"), false),
        ("helmrelease-test-failed", failed("Helm test failed for release qa/checkout.v2"), false),
        ("helmrelease-rolled-back", failed("Helm rollback to previous release qa/checkout.v1"), false),
        ("helmrelease-rollback-failed", failed("Helm rollback to previous release qa/checkout.v1"), false),
        ("helmrelease-uninstalled", failed("Helm uninstall remediation"), false),
        ("helmrelease-overtaken", "Noise".to_owned(), false),
        ("helmrelease-drifted", "Noise".to_owned(), false),
        ("gitrepository-new", "Noise".to_owned(), true),
        ("gitrepository-failed", "Noise".to_owned(), false),
        ("ocirepository-new", "Noise".to_owned(), false),
    ];
    for (file, expected, has_commit) in &cases {
        let report = parse_fixture(file);
        let outcome = match &report.outcome {
            ReportStatus::Failed { message, evidence } => format!("failed ({evidence:?}): {message}"),
            other => format!("{other:?}"),
        };
        assert!(outcome.starts_with(expected), "{file}: {outcome}");
        assert_eq!(report.commit.map(String::from), has_commit.then(|| SHA.to_owned()), "{file}");
        assert_eq!(report.at.unwrap().to_string(), "2026-11-16T09:00:12Z", "{file}");
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/reports/flux");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), cases.len(), "each payload is tested");
}

#[test]
fn a_report_has_the_chart_version_and_the_artefact_of_the_alert() {
    assert_eq!(parse_fixture("helmrelease-upgraded").revision.as_deref(), Some("6.5.4"));
    let named = parse_fixture("kustomization-artefact");
    assert_eq!((named.about.artefact.as_deref(), &*named.about.name), (Some("checkout"), "apps"));
    assert_eq!(named.about.images, ["ghcr.io/acme/checkout:qa-9be01d7"]);
}

/// The file that teams apply.
#[test]
fn the_shipped_sample_for_flux_uses_this_webhook() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/flux/notifications.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let all: Vec<Value> = text.split("\n---\n").map(|part| serde_saphyr::from_str(part).unwrap()).collect();
    let of_kind = |kind: &str| all.iter().filter(|object| object["kind"] == kind).collect::<Vec<_>>();
    let (secrets, providers, alerts) = (of_kind("Secret"), of_kind("Provider"), of_kind("Alert"));
    assert_eq!((secrets.len(), providers.len(), alerts.len(), all.len()), (1, 1, 1, 3));
    let provider = providers[0];
    assert_eq!(provider["spec"]["type"], "generic-hmac");
    let address = provider["spec"]["address"].as_str().unwrap();
    let environment = address.strip_prefix("https://gantry.example.com/webhooks/flux/").unwrap();
    assert!(!environment.contains('/'), "{environment}");
    assert_eq!(provider["spec"]["secretRef"]["name"], secrets[0]["metadata"]["name"]);
    assert!(secrets[0]["stringData"]["token"].is_string(), "the key that generic-hmac uses");
    for alert in &alerts {
        assert_eq!(alert["spec"]["providerRef"]["name"], provider["metadata"]["name"]);
        assert_eq!(alert["spec"]["eventSeverity"], "info", "`error` would not report successes");
    }
    let kinds =
        alerts[0]["spec"]["eventSources"].as_array().unwrap().iter().map(|source| source["kind"].as_str().unwrap());
    assert_eq!(kinds.collect::<Vec<_>>(), ["Kustomization", "HelmRelease"]);
}

#[test]
fn alerts_with_and_without_an_artefact_have_different_keys() {
    let plain = event("Kustomization", "info", "ReconciliationSucceeded", "done");
    let mut named = plain.clone();
    named["metadata"]["event.toolkit.fluxcd.io/artefact"] = "checkout".into();
    assert_eq!(report(&named).about.artefact.as_deref(), Some("checkout"));
    assert_ne!(report(&plain).key, report(&named).key);
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_without_panic(body in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse(&qa(), &body);
    }

    #[test]
    fn any_texts_in_the_fields_are_parsed(texts in prop::collection::vec(".{0,60}", 6), key in ".{0,20}", junk in any::<i64>()) {
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
