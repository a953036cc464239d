//! Reports of every sender: each needs its secret, counts once, wakes the changes that wait for it, and is no proof by
//! itself.

mod senders;

use gantry::adapters::reports::BODY_LIMIT;
use gantry::adapters::reports::github::BuildState;
use gantry::adapters::store::{LedgerDetails, LedgerEntry, LedgerFilter, LedgerKind, Transaction};
use gantry::domain::model::version::Sha;
use gantry::domain::runtime::attribution::UnmappedReport;
use gantry::sim::faults::Fault;
use gantry::sim::world::GITHUB_WEBHOOK_SECRET;
use jiff::SignedDuration;
use senders::{ALL_SENDERS, Sender, TestReport, send};
use serde_json::{Value, json};

use crate::harness::signing::hex_hmac;
use crate::harness::world::World;

const SHA: &str = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";

fn build_test_report(state: &str) -> TestReport<'_> {
    TestReport { commit: SHA, state, message: "no room left", at: "2026-11-16T08:59:50Z", id: 77 }
}

async fn ledger(world: &World, kind: LedgerKind) -> Vec<LedgerEntry> {
    let filter = LedgerFilter { kind: Some(kind), ..LedgerFilter::default() };
    world.bot.store.list_ledger_entries(&filter, 1_000).await.unwrap()
}

/// The reports that a test sent, without those of the world's controller.
async fn reports(world: &World) -> Vec<Value> {
    let all = ledger(world, LedgerKind::Report).await.into_iter().map(|entry| match entry.details {
        Some(LedgerDetails::Report { report, .. }) => report,
        other => panic!("{other:?}"),
    });
    all.filter(|body| body["commit"] == SHA).collect()
}

/// The number of reports that could not be parsed, and the newest of them.
async fn count_unread_reports(world: &World) -> (usize, Option<UnmappedReport>) {
    let unmapped = world.bot.store.list_unmapped_reports().await.unwrap();
    let unread: Vec<_> = unmapped.into_iter().filter(|reports| reports.last.reason == "unread").collect();
    let count: u64 = unread.iter().map(|reports| reports.count).sum();
    (usize::try_from(count).unwrap(), unread.into_iter().next().map(|reports| reports.last))
}

fn card(world: &World) -> String {
    let all = world.public_messages("deploys");
    all.into_iter().rev().find(|text| text.contains("asked by")).expect("a card")
}

/// Moves the clock so far that reports take effect, and no rollout completes.
async fn let_reports_take_effect(world: &World) {
    world.wait_until_idle().await;
    world.clock.advance(SignedDuration::from_millis(1200));
    world.wait_until_idle().await;
}

/// Begins a promotion that is merged and not built yet, and returns the commit that must run.
async fn begin_promotion(world: &World) -> Sha {
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    world.sim.github.head("acme/checkout", "qa").unwrap()
}

#[tokio::test]
async fn a_report_of_success_does_not_turn_a_card_green_before_the_cluster_runs_it() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
    let result = begin_promotion(&world).await;
    for by in ALL_SENDERS {
        assert_eq!(
            by.send_report(&world, &TestReport { commit: result.as_str(), ..build_test_report("succeeded") }).await,
            202,
            "{by:?}"
        );
    }
    let_reports_take_effect(&world).await;
    assert!(card(&world).contains("deploying to *qa*"), "{}", card(&world));
    world.settle().await;
    assert!(card(&world).contains("running in *qa*, 2 of 2 ready"), "{}", card(&world));
}

#[tokio::test]
async fn a_report_of_failure_is_shown_on_the_card_until_the_cluster_shows_success() {
    for by in ALL_SENDERS.into_iter().filter(|by| by.can_report("failed")) {
        let world = World::open().await;
        let result = begin_promotion(&world).await;
        assert_eq!(
            by.send_report(&world, &TestReport { commit: result.as_str(), ..build_test_report("failed") }).await,
            202,
            "{by:?}"
        );
        let_reports_take_effect(&world).await;
        let card_text = card(&world);
        assert!(
            card_text.contains("failed in *qa*") && card_text.contains("*Why:* no room left"),
            "{by:?}: {card_text}"
        );
        world.settle().await;
        assert!(card(&world).contains("running in *qa*, 2 of 2 ready"), "{by:?}: {}", card(&world));
    }
}

#[tokio::test]
async fn a_report_of_failure_that_is_older_than_a_retry_is_ignored() {
    for by in ALL_SENDERS.into_iter().filter(|by| by.can_report("failed")) {
        let world = World::open().await;
        let result = begin_promotion(&world).await;
        let report = |state, at, id| TestReport { commit: result.as_str(), at, id, ..build_test_report(state) };
        assert_eq!(by.send_report(&world, &report("started", "2026-11-16T08:59:55Z", 2)).await, 202);
        world.wait_until_idle().await;
        assert_eq!(by.send_report(&world, &report("failed", "2026-11-16T08:59:50Z", 1)).await, 202);
        let_reports_take_effect(&world).await;
        assert!(card(&world).contains("deploying to *qa*"), "{by:?}: {}", card(&world));
        world.settle().await;
        assert!(card(&world).contains("running in *qa*"), "{by:?}: {}", card(&world));
    }
}

#[tokio::test]
async fn a_report_needs_the_secret_of_its_environment() {
    let world = World::open().await;
    for by in ALL_SENDERS {
        let body = by.body(&build_test_report("succeeded"));
        for secret in ["guess", "", "flux-secret-of-qa "] {
            let answer = send(&world, by.path(), by.headers(secret, &body), body.clone()).await;
            // HTTP removes spaces around a header's value.
            let same = secret == "flux-secret-of-qa " && matches!(by, Sender::FluxBearer | Sender::ArgoCd);
            assert_eq!(answer.0, if same { 202 } else { 401 }, "{by:?} {secret}");
        }
        assert_eq!(send(&world, by.path(), vec![], body.clone()).await.0, 401, "{by:?} without any");
        let mut tampered = body.clone();
        tampered.push(' ');
        let headers = by.headers(by.right_secret(), &body);
        let signed = !matches!(by, Sender::FluxBearer | Sender::ArgoCd);
        assert_eq!(
            send(&world, by.path(), headers, tampered).await.0,
            if signed { 401 } else { 202 },
            "{by:?} tampered"
        );
        if by.path().ends_with("/qa") {
            let other = send(&world, by.path(), by.headers("flux-secret-of-prod", &body), body.clone()).await;
            assert_eq!(other.0, 401, "{by:?} with another environment's");
            let nowhere =
                send(&world, &by.path().replace("qa", "nowhere"), by.headers(by.right_secret(), &body), body).await;
            assert_eq!(nowhere.0, 401, "{by:?} for an unknown environment");
        }
    }
    // A valid bearer token does not make up for a wrong signature.
    let body = Sender::FluxSigned.body(&build_test_report("succeeded"));
    let both =
        [Sender::FluxSigned.headers("guess", &body), Sender::FluxBearer.headers("flux-secret-of-qa", &body)].concat();
    assert_eq!(send(&world, Sender::FluxSigned.path(), both, body.clone()).await.0, 401);
    // A sender that can sign must sign: the secret in plain text is not accepted.
    for path in ["/webhooks/deployments", "/webhooks/cdevents"] {
        let shown = vec![("authorization", "Bearer flux-secret-of-qa".to_owned())];
        assert_eq!(send(&world, path, shown, body.clone()).await.0, 401, "{path}");
    }
}

#[tokio::test]
async fn the_secret_decides_the_environment_and_not_the_body() {
    for by in [Sender::Deployments, Sender::CdEventsBinary, Sender::CdEventsStructured] {
        let world = World::open().await;
        for (id, environment) in (1..).zip(["development", "qa", "staging", "prod"]) {
            let body = by.body(&TestReport { id, ..build_test_report("succeeded") });
            let headers = by.headers(&format!("flux-secret-of-{environment}"), &body);
            assert_eq!(send(&world, by.path(), headers, body).await.0, 202, "{by:?} {environment}");
            world.settle().await;
            assert_eq!(reports(&world).await[0]["environment"], environment, "{by:?}");
        }
        assert_eq!(reports(&world).await.len(), 4, "the same content of another environment is another report");
    }
}

#[tokio::test]
async fn a_github_deployment_finds_its_environment_by_alias_and_without_one_it_is_kept_as_unreadable() {
    let world = World::open().await;
    for (environment, expected) in [("QA", "qa"), ("stg", "staging"), ("Production", "prod")] {
        let mut body: Value = serde_json::from_str(&Sender::Github.body(&build_test_report("succeeded"))).unwrap();
        body["deployment"]["environment"] = environment.into();
        let body = body.to_string();
        assert_eq!(
            send(&world, Sender::Github.path(), Sender::Github.headers(GITHUB_WEBHOOK_SECRET, &body), body).await.0,
            202
        );
        world.settle().await;
        assert_eq!(reports(&world).await[0]["environment"], expected);
    }
    let pages = include_str!("../../data/reports/github/deployment_status-in_progress.json").to_owned();
    assert_eq!(
        send(&world, Sender::Github.path(), Sender::Github.headers(GITHUB_WEBHOOK_SECRET, &pages), pages).await.0,
        202
    );
    let (count, last) = count_unread_reports(&world).await;
    assert_eq!(count, 1);
    let problem = last.unwrap().problem;
    assert!(problem.ends_with("goes to `github-pages`, which is no environment of ours."), "{problem}");
}

#[tokio::test]
async fn a_report_that_is_too_large_is_refused_and_an_unreadable_one_is_answered_with_an_error_and_kept() {
    let world = World::open().await;
    let sentences = [
        (Sender::FluxSigned, "{}", "The body is not an event of Flux: missing field `involvedObject`"),
        (Sender::FluxBearer, "[]", "The body is not an event of Flux: "),
        (
            Sender::ArgoCd,
            r#"{"app":"x"}"#,
            "The body is not what Gantry's template for Argo CD makes: missing field `application`",
        ),
        (
            Sender::Deployments,
            r#"{"artefact":"checkout","state":"fine"}"#,
            "`fine` is not a state: write `started`, `succeeded` or `failed`.",
        ),
        (Sender::CdEventsBinary, "{}", "The body is not a CDEvent: missing field `context`"),
        (
            Sender::CdEventsStructured,
            r#"{"specversion":"1.0","data":{}}"#,
            "The body is not a CDEvent: missing field `context`",
        ),
        (Sender::Github, "payload=%7B%7D", "The body is not JSON: "),
    ];
    for (n, (by, body, sentence)) in sentences.into_iter().enumerate() {
        let limit = if by == Sender::Github { 1024 * 1024 } else { BODY_LIMIT };
        let large = "a".repeat(limit + 1);
        let (status, _) = send(&world, by.path(), by.headers(by.right_secret(), &large), large).await;
        assert_eq!(status, 413, "{by:?}");
        let (status, answer) = send(&world, by.path(), by.headers(by.right_secret(), body), body.to_owned()).await;
        assert_eq!(status, 400, "{by:?}");
        assert!(answer.starts_with(sentence), "{by:?}: {answer}");
        let (count, last) = count_unread_reports(&world).await;
        let last = last.unwrap();
        assert_eq!((count, last.message.as_str()), (n + 1, body), "{by:?}");
        assert!(last.problem.starts_with(sentence), "{by:?}");
        let environment = last.environment.as_ref().map(gantry::domain::model::environment::EnvironmentName::as_str);
        assert_eq!(environment, (by != Sender::Github).then_some("qa"), "{by:?}");
        // A report without the secret is not stored.
        send(&world, by.path(), by.headers("guess", body), body.to_owned()).await;
        assert_eq!(count_unread_reports(&world).await.0, n + 1, "{by:?}");
        world.clock.advance(SignedDuration::from_secs(1));
    }
}

#[tokio::test]
async fn a_report_counts_once_by_its_id_and_by_its_content() {
    for by in ALL_SENDERS {
        let world = World::open().await;
        let first = build_test_report("succeeded");
        for _ in 0..3 {
            assert_eq!(by.send_report(&world, &first).await, 202, "{by:?}");
        }
        world.settle().await;
        assert_eq!(by.send_report(&world, &first).await, 202, "{by:?}, after it was handled");
        // The same content with another id.
        assert_eq!(by.send_report(&world, &TestReport { id: 78, ..first.clone() }).await, 202, "{by:?}");
        if by.has_ids() {
            // Other content with the same id.
            let other = TestReport { at: "2026-11-16T08:59:59Z", message: "otherwise", ..first.clone() };
            assert_eq!(by.send_report(&world, &other).await, 202, "{by:?}");
        }
        world.settle().await;
        assert_eq!(reports(&world).await.len(), 1, "{by:?}");
        // The same content with another time is a new report: another version may have run in between.
        let again = TestReport { at: "2026-11-16T08:59:58Z", id: 80, ..first };
        assert_eq!(by.send_report(&world, &again).await, 202, "{by:?}");
        world.settle().await;
        assert_eq!(reports(&world).await.len(), 2, "{by:?}");
    }
}

#[tokio::test]
async fn other_types_of_cdevents_are_ignored() {
    let world = World::open().await;
    let by = Sender::CdEventsBinary;
    let body = by.body(&build_test_report("succeeded")).replace("service.deployed", "build.finished");
    assert_eq!(send(&world, by.path(), by.headers(by.right_secret(), &body), body).await.0, 204);
    world.settle().await;
    assert_eq!(reports(&world).await.len() + count_unread_reports(&world).await.0, 0);
}

async fn send_workflow_run(world: &World, commit: &str, status: &str, conclusion: &Value, attempt: u64) -> u16 {
    let mut event: Value =
        serde_json::from_str(include_str!("../../data/reports/github/workflow_run-completed.json")).unwrap();
    event["repository"]["full_name"] = "acme/checkout".into();
    event["workflow_run"]["name"] = "image".into();
    event["workflow_run"]["head_sha"] = commit.into();
    event["workflow_run"]["status"] = status.into();
    event["workflow_run"]["conclusion"] = conclusion.clone();
    event["workflow_run"]["run_attempt"] = attempt.into();
    let body = event.to_string();
    let signature = format!("sha256={}", hex_hmac(GITHUB_WEBHOOK_SECRET, &[body.as_bytes()]));
    let headers = vec![("x-hub-signature-256", signature), ("x-github-event", "workflow_run".to_owned())];
    send(world, "/webhooks/github", headers, body).await.0
}

#[tokio::test]
async fn webhooks_update_the_state_of_the_build_of_a_commit() {
    let world = World::open().await;
    let result = begin_promotion(&world).await;
    let repository = "acme/checkout".parse().unwrap();
    let state = || world.bot.builds.find_build(&repository, &result).map(|build| build.state);
    assert_eq!(state(), None);
    let failed = BuildState::Failed { conclusion: "failure".to_owned() };
    let webhooks = [
        ("queued", json!(null), 1, BuildState::Queued),
        ("in_progress", json!(null), 1, BuildState::Running),
        ("completed", json!("failure"), 1, failed.clone()),
        // A late or repeated webhook.
        ("in_progress", json!(null), 1, failed),
        ("in_progress", json!(null), 2, BuildState::Running),
        ("completed", json!("success"), 2, BuildState::Succeeded),
    ];
    for (status, conclusion, attempt, expected) in webhooks {
        assert_eq!(send_workflow_run(&world, result.as_str(), status, &conclusion, attempt).await, 202);
        world.wait_until_idle().await;
        let is_failed = matches!(expected, BuildState::Failed { .. });
        assert_eq!(state(), Some(expected), "{status} {conclusion} {attempt}");
        let change = world.bot.store.list_open_changes().await.unwrap().remove(0);
        let silence = change.stage.deploying().and_then(|deploying| deploying.stall_diagnosis.clone());
        assert_eq!(silence.is_some(), is_failed, "a failed build is diagnosed at once: {silence:?}");
    }
    assert_eq!(ledger(&world, LedgerKind::Build).await.len(), 5, "each webhook counts once");
    assert!(card(&world).contains("deploying to *qa*"), "a build proves nothing: {}", card(&world));
    let_reports_take_effect(&world).await;
    assert!(
        card(&world).contains(":white_check_mark: built 0 s  \u{203a}  :hourglass_flowing_sand: to be picked up"),
        "{}",
        card(&world)
    );
    world.settle().await;

    // Builds are loaded from the ledger at the start. This build is of a commit that the bot does not have in memory.
    let mut entry = ledger(&world, LedgerKind::Build).await.remove(0);
    let Some(LedgerDetails::Build(build)) = &mut entry.details else { panic!("{entry:?}") };
    build["commit"] = SHA.into();
    world.bot.store.commit(Transaction::new().append_to_ledger(entry)).await.unwrap();
    let loaded = || world.bot.builds.find_build(&repository, &SHA.parse().unwrap()).map(|build| build.state);
    assert_eq!(loaded(), None);
    world.bot.builds.load_stored(&world.bot.store).await.unwrap();
    assert_eq!(loaded(), Some(BuildState::Succeeded));
}

#[tokio::test]
async fn builds_of_unknown_repositories_are_ignored() {
    let world = World::open().await;
    let body = include_str!("../../data/reports/github/workflow_run-completed.json").to_owned();
    let signature = format!("sha256={}", hex_hmac(GITHUB_WEBHOOK_SECRET, &[body.as_bytes()]));
    let headers = vec![("x-hub-signature-256", signature), ("x-github-event", "workflow_run".to_owned())];
    assert_eq!(send(&world, "/webhooks/github", headers, body).await.0, 202);
    world.settle().await;
    assert_eq!(ledger(&world, LedgerKind::Build).await.len(), 0);
}

#[tokio::test]
async fn the_example_of_a_report_in_the_docs_works() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/how-it-works.md")).unwrap();
    let mut blocks = page.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
    let block =
        blocks.find(|block| block.contains("https://gantry.example.com/webhooks/deployments")).expect("an example");
    let world = World::open().await;
    // Replaces `git`, so that it prints this commit.
    let script = format!("git() {{ echo {SHA}; }}\n{}", block.replace("https://gantry.example.com", &world.origin));
    let mut shell = tokio::process::Command::new("sh");
    let output = shell.args(["-euc", &script]).env("FLUX_QA_SECRET", "flux-secret-of-qa").output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    world.settle().await;
    let stored = reports(&world).await;
    assert_eq!(stored.len(), 1);
    assert_eq!((&stored[0]["environment"], &stored[0]["outcome"]), (&json!("qa"), &json!("succeeded")));
    assert_eq!((&stored[0]["about"]["artefact"], &stored[0]["commit"]), (&json!("checkout"), &json!(SHA)));
}
