//! Tests with GitHub's documented payloads from `@octokit/webhooks-examples`, and variations of them.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const SHA: &str = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";

/// `prod` is also called `production`.
fn find(name: &str) -> Option<EnvironmentName> {
    matches!(name, "prod" | "production").then(|| EnvironmentName::new("prod"))
}

fn example(file: &str) -> Value {
    let path = format!("{}/tests/data/reports/github/{file}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn parse_event(event: &str, body: &Value) -> Option<ParsedWebhook> {
    parse(event, body.to_string().as_bytes(), find).unwrap()
}

fn parse_report(body: &Value) -> Report {
    match parse_event(DEPLOYMENT_EVENT, body) {
        Some(ParsedWebhook::Report(report)) => *report,
        other => panic!("{other:?}"),
    }
}

fn parse_build_event(body: &Value) -> Option<Build> {
    match parse_event(BUILD_EVENT, body) {
        Some(ParsedWebhook::Build(build)) => Some(build),
        None => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_notice_has_its_pull_request_or_commit() {
    let repository = json!({ "full_name": "acme/checkout" });
    let pull = json!({ "number": 12, "head": { "sha": SHA } });
    let cases = [
        ("pull_request", json!({ "action": "closed", "pull_request": pull }), (Some(12), true)),
        ("pull_request_review", json!({ "action": "submitted", "pull_request": pull }), (Some(12), true)),
        ("check_run", json!({ "check_run": { "head_sha": SHA } }), (None, true)),
        ("check_suite", json!({ "check_suite": { "head_sha": SHA } }), (None, true)),
        ("status", json!({ "sha": SHA, "state": "success" }), (None, true)),
        ("status", json!({ "sha": "nonsense" }), (None, false)),
    ];
    for (event, mut body, (number, commit)) in cases {
        body["repository"] = repository.clone();
        let Some(ParsedWebhook::Notice(notice)) = parse_event(event, &body) else { panic!("{event}") };
        assert_eq!((notice.pull, notice.commit.is_some()), (number, commit), "{event}");
    }
    assert_eq!(parse("ping", b"{}", find), Ok(None));
    for event in ["status", DEPLOYMENT_EVENT, BUILD_EVENT] {
        assert!(parse(event, b"{}", find).is_err());
        assert!(parse(event, b"nonsense", find).is_err());
    }
}

#[test]
fn a_deployment_status_becomes_a_report() {
    let report = parse_report(&example("deployment_status-success"));
    assert_eq!((report.sender, report.environment.as_str()), (ReportSender::GitHub, "prod"));
    assert_eq!(report.outcome, ReportStatus::Succeeded);
    assert_eq!(report.commit.unwrap().as_str(), "f95f852bd8fca8fcc58a9a2d6c842781e32a215e");
    assert_eq!(report.about.repository.unwrap().to_string(), "Codertocat/Hello-World");
    assert_eq!((report.about.artefact, report.revision.as_deref()), (None, Some("master")));
    assert_eq!(report.at.unwrap().to_string(), "2019-05-15T15:20:55Z");
    assert!(report.id.is_some());
}

#[test]
fn each_state_of_a_deployment_maps_to_an_outcome() {
    let mut body = example("deployment_status-success");
    body["deployment_status"]["description"] = json!("exit code 3");
    let failed = ReportStatus::Failed { message: "exit code 3".to_owned(), evidence: FailureEvidence::HealthReport };
    let cases = [
        ("success", ReportStatus::Succeeded),
        ("failure", failed.clone()),
        ("error", failed),
        ("in_progress", ReportStatus::Progressing),
        ("queued", ReportStatus::Progressing),
        ("pending", ReportStatus::Progressing),
        ("waiting", ReportStatus::Progressing),
        ("inactive", ReportStatus::Noise),
        ("unknown state", ReportStatus::Noise),
    ];
    for (state, expected) in cases {
        body["deployment_status"]["state"] = json!(state);
        assert_eq!(parse_report(&body).outcome, expected, "{state}");
    }
    body["deployment_status"]["state"] = json!("failure");
    body["deployment_status"]["description"] = json!(null);
    let silent = ReportStatus::Failed {
        message: "The deployment failed, says GitHub.".to_owned(),
        evidence: FailureEvidence::HealthReport,
    };
    assert_eq!(parse_report(&body).outcome, silent);
}

#[test]
fn the_payload_can_name_the_artefact_as_object_or_string() {
    let mut body = example("deployment_status-success");
    let cases = [
        (json!({ "artefact": "checkout" }), Some("checkout")),
        (json!({ "artifact": "checkout" }), Some("checkout")),
        (json!("{\"artefact\": \"checkout\"}"), Some("checkout")),
        (json!("checkout"), None),
        (json!(""), None),
        (json!({}), None),
        (json!({ "artefact": 7 }), None),
        (json!(null), None),
    ];
    for (payload, expected) in cases {
        body["deployment"]["payload"] = payload;
        assert_eq!(parse_report(&body).about.artefact.as_deref(), expected, "{}", body["deployment"]["payload"]);
    }
}

#[test]
fn a_deployment_to_an_unknown_environment_is_recorded_as_unreadable() {
    let Some(ParsedWebhook::Unreadable(webhook)) =
        parse_event(DEPLOYMENT_EVENT, &example("deployment_status-in_progress"))
    else {
        panic!()
    };
    assert_eq!((webhook.environment, webhook.sender), (None, ReportSender::GitHub));
    assert!(webhook.why.ends_with("goes to `github-pages`, which is no environment of ours."), "{}", webhook.why);
    assert_eq!(webhook.body.chars().count(), 500);
}

#[test]
fn each_state_of_a_deployment_has_its_own_key() {
    let first = example("deployment_status-success");
    let mut other = first.clone();
    other["deployment_status"]["id"] = json!(1);
    assert_eq!(parse_report(&first).key, parse_report(&other).key);
    assert_ne!(parse_report(&first).id_key(), parse_report(&other).id_key());
    other["deployment_status"]["state"] = json!("failure");
    assert_ne!(parse_report(&first).key, parse_report(&other).key);
}

#[test]
fn each_state_of_a_workflow_run_maps_to_a_build_state() {
    let build = parse_build_event(&example("workflow_run-completed")).unwrap();
    assert_eq!(build.repository.to_string(), "octo-org/octo-repo");
    assert_eq!(build.commit.as_str(), "3484a3fb816e0859fd6e1cea078d76385ff50625");
    assert_eq!((build.branch.as_deref(), build.run, build.attempt), (Some("master"), 289_782_451, 1));
    assert_eq!(build.state, BuildState::Succeeded);
    assert!(build.url.ends_with("/actions/runs/289782451"), "{}", build.url);
    assert_eq!(build.at.unwrap().to_string(), "2020-10-05T16:33:49Z");
    let requested = parse_build_event(&example("workflow_run-requested")).unwrap();
    assert_eq!(requested.state, BuildState::Queued);
    assert_ne!(requested.key, build.key);

    let mut body = example("workflow_run-completed");
    let failed = |conclusion: &str| Some(BuildState::Failed { conclusion: conclusion.to_owned() });
    let cases = [
        ("queued", json!(null), Some(BuildState::Queued)),
        ("requested", json!(null), Some(BuildState::Queued)),
        ("waiting", json!(null), Some(BuildState::Queued)),
        ("in_progress", json!(null), Some(BuildState::Running)),
        ("completed", json!("success"), Some(BuildState::Succeeded)),
        ("completed", json!("neutral"), Some(BuildState::Succeeded)),
        ("completed", json!("failure"), failed("failure")),
        ("completed", json!("cancelled"), failed("cancelled")),
        ("completed", json!("timed_out"), failed("timed_out")),
        ("completed", json!("startup_failure"), failed("startup_failure")),
        ("completed", json!("action_required"), Some(BuildState::Queued)),
        ("completed", json!("skipped"), None),
    ];
    for (status, conclusion, expected) in cases {
        body["workflow_run"]["status"] = json!(status);
        body["workflow_run"]["conclusion"] = conclusion.clone();
        assert_eq!(parse_build_event(&body).map(|build| build.state), expected, "{status} {conclusion}");
    }
}

proptest! {
    #[test]
    fn any_body_is_parsed_without_panic(
        event in prop::sample::select([&NOTICE_EVENTS[..], &[DEPLOYMENT_EVENT, BUILD_EVENT]].concat()), body in "[\\[\\]{}\":,a-z0-9]{0,80}",
    ) {
        let _ = parse(event, body.as_bytes(), find);
    }

    #[test]
    fn any_texts_are_parsed_without_panic(texts in prop::collection::vec(".{0,30}", 5), number in any::<i64>()) {
        let body = json!({
            "repository": { "full_name": "acme/checkout" },
            "deployment": { "id": number, "sha": texts[0], "environment": texts[1], "payload": texts[2] },
            "deployment_status": { "id": number, "state": texts[3], "description": texts[4] },
            "workflow_run": { "id": number, "head_sha": SHA, "status": texts[0], "conclusion": texts[1] },
        })
        .to_string();
        let _ = parse(DEPLOYMENT_EVENT, body.as_bytes(), |_| Some(EnvironmentName::new("qa")));
        let _ = parse(BUILD_EVENT, body.as_bytes(), find);
    }
}
