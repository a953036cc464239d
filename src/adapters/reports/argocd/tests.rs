//! Tests with Applications as Argo CD has them, rendered by the shipped template.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const SHA: &str = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";

fn qa() -> EnvironmentName {
    EnvironmentName::new("qa")
}

/// The shipped file, with which Argo CD builds its bodies.
fn load_shipped() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/argocd/notifications.yaml");
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn parse_entry(shipped: &Value, name: &str) -> Value {
    serde_saphyr::from_str(shipped["data"][name].as_str().unwrap_or_else(|| panic!("no {name}"))).unwrap()
}

/// Renders `{{ .app.a.b | toJson }}` and `{{ dig "a" "b" <default> .app | toJson }}` as strictly as Go: a missing last
/// field is nil, which is `null` in JSON; a field of a missing object is an error, and nothing would be sent.
fn render(template: &str, app: &Value) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out += before;
        let (expression, after) = after.split_once("}}").expect("the end of the expression");
        let (found, function) = expression.split_once('|').expect("a function");
        assert_eq!(function.trim(), "toJson", "every value is rendered as JSON");
        out += &match found.trim().strip_prefix("dig ") {
            Some(words) => render_dig(words.strip_suffix(" .app").expect("a field of the Application"), app),
            None => render_field(found.trim().strip_prefix(".app.").expect("a field of the Application"), app),
        };
        rest = after;
    }
    out + rest
}

fn render_field(path: &str, app: &Value) -> String {
    let (holder, name) = path.rsplit_once('.').expect("below the top");
    let holder = holder.split('.').try_fold(app, |value, name| value.get(name));
    let holder = holder.unwrap_or_else(|| panic!("nil pointer evaluating interface {{}}.{name} of {path}"));
    holder.get(name).unwrap_or(&Value::Null).to_string()
}

fn render_dig(expression: &str, app: &Value) -> String {
    let (keys, default) = expression.rsplit_once(' ').expect("a default");
    let found = keys.split(' ').try_fold(app, |value, key| value.get(key.trim_matches('"')));
    match (found, default) {
        (Some(found), _) => found.to_string(),
        (None, "(list)") => "[]".to_owned(),
        (None, default) => default.to_owned(),
    }
}

fn parse_app_report(app: &Value) -> Report {
    let template = parse_entry(&load_shipped(), "template.gantry");
    let body = render(template["webhook"]["gantry-qa"]["body"].as_str().unwrap(), app);
    parse(&qa(), body.as_bytes()).unwrap_or_else(|error| panic!("{error}: {body}"))
}

fn app(file: &str) -> Value {
    let path = format!("{}/tests/data/reports/argocd/{file}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn an_application_in_each_state_becomes_a_report_by_the_shipped_template() {
    let message = |report: &Report| match &report.outcome {
        ReportStatus::Failed { message, evidence } => format!("failed ({evidence:?}): {message}"),
        other => format!("{other:?}"),
    };
    let cases = [
        ("running", "Progressing"),
        ("healthy", "Succeeded"),
        ("progressing", "Progressing"),
        ("degraded", "failed (HealthReport): The sync succeeded, but the application is degraded."),
        (
            "failed",
            "failed (NotApplied): one or more objects failed to apply, reason: Deployment.apps \"checkout\" is invalid: spec.replicas: Invalid value: -1",
        ),
        (
            "error",
            "failed (NotApplied): ComparisonError: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = \"kustomize build\" failed exit status 1",
        ),
        ("suspended", "Progressing"),
        ("missing", "Progressing"),
        ("unsynced", "Noise"),
    ];
    for (file, expected) in cases {
        assert_eq!(message(&parse_app_report(&app(file))), expected, "{file}");
    }
}

/// The messages are those of Argo CD's sync engine.
#[test]
fn a_failed_operation_is_evidence_of_a_refused_apply_only_if_its_message_says_so() {
    let cases = [
        ("Error", "ComparisonError: Failed to load target state", FailureEvidence::NotApplied),
        ("Failed", "one or more objects failed to apply, reason: no (retried 5 times).", FailureEvidence::NotApplied),
        ("Failed", "one or more synchronization tasks are not valid", FailureEvidence::NotApplied),
        ("Failed", "one or more synchronization tasks completed unsuccessfully", FailureEvidence::HealthReport),
        (
            "Failed",
            "one or more synchronization tasks completed unsuccessfully, reason: Deployment.apps \"checkout\" is invalid",
            FailureEvidence::NotApplied,
        ),
        ("Error", "Operation termination had errors", FailureEvidence::HealthReport),
        ("Failed", "", FailureEvidence::HealthReport),
    ];
    for (phase, message, expected) in cases {
        let ReportStatus::Failed { evidence, .. } = map_status(phase, "Degraded", message) else {
            panic!("{phase} {message}")
        };
        assert_eq!(evidence, expected, "{phase} {message}");
    }
}

#[test]
fn a_report_has_the_commit_the_images_and_the_time() {
    let report = parse_app_report(&app("healthy"));
    assert_eq!((report.sender, &report.environment), (ReportSender::ArgoCd, &qa()));
    let about = &report.about;
    assert_eq!((&*about.kind, &*about.namespace, &*about.name), ("Application", "argocd", "checkout-qa"));
    assert_eq!(about.artefact.as_deref(), Some("checkout"));
    assert_eq!(about.images, ["ghcr.io/acme/checkout:qa-9be01d7"]);
    assert_eq!(about.repository.as_ref().unwrap().to_string(), "acme/checkout");
    assert_eq!(report.commit.unwrap().as_str(), SHA);
    assert_eq!(report.at.unwrap().to_string(), "2026-11-16T09:00:12Z");
    assert_eq!(
        parse_app_report(&app("running")).at.unwrap().to_string(),
        "2026-11-16T09:00:05Z",
        "a running sync has no end"
    );
}

#[test]
fn of_several_sources_the_one_commit_counts() {
    let report = parse_app_report(&app("several-sources"));
    assert_eq!(report.revision.unwrap(), format!("6.5.4 {SHA}"));
    assert_eq!(report.commit.unwrap().as_str(), SHA);
    assert_eq!((report.about.repository, report.about.artefact), (None, None));

    let mut two = app("several-sources");
    two["status"]["operationState"]["syncResult"]["revisions"] = json!([SHA, "a".repeat(40)]);
    assert_eq!(parse_app_report(&two).commit, None, "the right one is unknown");
}

#[test]
fn the_revision_in_git_counts_only_if_the_cluster_is_in_sync() {
    let mut app = app("healthy");
    app["status"]["operationState"].as_object_mut().unwrap().remove("syncResult");
    assert_eq!(parse_app_report(&app).commit.unwrap().as_str(), SHA);
    app["status"]["sync"]["status"] = json!("OutOfSync");
    assert_eq!(parse_app_report(&app).commit, None, "it is the revision of the next sync");
}

#[test]
fn a_return_to_an_old_revision_is_a_new_event_and_a_repetition_is_not() {
    let first = app("healthy");
    assert_eq!(parse_app_report(&first).key, parse_app_report(&first).key);
    let mut later = first.clone();
    later["status"]["operationState"]["finishedAt"] = json!("2026-11-16T10:00:00Z");
    assert_ne!(parse_app_report(&first).key, parse_app_report(&later).key);
}

#[test]
fn the_shipped_triggers_fire_once_for_each_operation() {
    let shipped = load_shipped();
    assert_eq!(shipped["metadata"]["name"], "argocd-notifications-cm");
    let service = parse_entry(&shipped, "service.webhook.gantry-qa");
    assert!(service["url"].as_str().unwrap().ends_with("/webhooks/argocd/qa"));
    assert_eq!(service["headers"][0], json!({ "name": "Authorization", "value": "Bearer $gantry-qa" }));
    assert_eq!(
        parse_entry(&shipped, "template.gantry")["webhook"]["gantry-qa"]["method"],
        "POST",
        "Argo CD's default is GET"
    );
    for (name, time) in
        [("started", "startedAt"), ("deployed", "finishedAt"), ("failed", "finishedAt"), ("degraded", "finishedAt")]
    {
        let trigger = &parse_entry(&shipped, &format!("trigger.on-gantry-{name}"))[0];
        assert_eq!(trigger["oncePer"], format!("app.status.operationState.{time}"), "{name}");
        assert_eq!(trigger["send"], json!(["gantry"]), "{name}");
        // The operation may not have begun yet.
        assert!(trigger["when"].as_str().unwrap().starts_with("app.status.operationState != nil and "), "{name}");
    }
}

#[test]
fn the_repository_is_parsed_from_its_address() {
    let cases = [
        ("https://github.com/acme/checkout.git", Some("acme/checkout")),
        ("https://github.com/acme/checkout", Some("acme/checkout")),
        ("https://git.acme.example/acme/checkout/", Some("acme/checkout")),
        ("git@github.com:acme/checkout.git", Some("acme/checkout")),
        ("ssh://git@github.com:22/acme/checkout.git", Some("acme/checkout")),
        ("https://charts.example.com", None),
        ("acme/checkout", None),
        ("", None),
    ];
    for (url, expected) in cases {
        assert_eq!(parse_repository_url(url).map(|repository| repository.to_string()).as_deref(), expected, "{url}");
    }
}

#[test]
fn the_body_of_another_template_is_refused_with_a_message() {
    let refusal = parse(&qa(), br#"{"app":"checkout"}"#).unwrap_err().to_string();
    assert_eq!(
        refusal,
        "The body is not what Gantry's template for Argo CD makes: missing field `application` at line 1 column 18. \
         Take it from deploy/argocd/notifications.yaml."
    );
    for wrong in [&b""[..], b"null", b"[]", br#"{"application":" "}"#, br#"{"application":7}"#] {
        assert!(parse(&qa(), wrong).is_err(), "{wrong:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_without_panic(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&qa(), &body);
    }

    #[test]
    fn an_application_with_any_text_makes_a_valid_body(texts in prop::collection::vec(".{0,40}", 8)) {
        let report = parse_app_report(&json!({
            "metadata": { "name": format!("a{}", texts[0]), "namespace": texts[1], "labels": { "gantry.dev/artefact": texts[2] } },
            "spec": { "source": { "repoURL": texts[3] } },
            "status": {
                "operationState": { "phase": texts[4], "message": texts[5], "syncResult": { "revision": texts[6] } },
                "summary": { "images": [texts[7]] },
            },
        }));
        prop_assert_eq!(&report.about.images, &[texts[7].clone()]);
    }
}

#[test]
fn an_application_with_several_sources_and_a_sync_that_never_began_are_reported() {
    let mut several = app("healthy");
    several["spec"].as_object_mut().unwrap().remove("source");
    several["spec"]["sources"] = serde_json::json!([{ "repoURL": "https://github.com/acme/shop.git" }]);
    assert_eq!(parse_app_report(&several).about.repository, None);
    let mut never = app("error");
    for (holder, name) in
        [("/status/operationState", "syncResult"), ("/status", "summary"), ("/status", "sync"), ("/status", "health")]
    {
        never.pointer_mut(holder).unwrap().as_object_mut().unwrap().remove(name);
    }
    let report = parse_app_report(&never);
    assert!(matches!(report.outcome, ReportStatus::Failed { .. }), "{report:?}");
    assert_eq!((report.about.images.len(), report.commit), (0, None));
}
