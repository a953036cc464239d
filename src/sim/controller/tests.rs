//! From a branch that moves to the webhook that the bot receives, on a manual clock.

use axum::body::Bytes;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode};
use jiff::SignedDuration;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::sim::ci::{BuildConfig, Ci, TagStyle};
use crate::sim::unknown_requests::UnknownRequests;

use super::*;

/// The webhooks that the bot received: the environment, whether the signature was right, and the event.
type Received = Arc<Mutex<Vec<(String, bool, Value)>>>;

struct World {
    clock: Clock,
    scheduler: Scheduler,
    ci: Ci,
    cluster: Cluster,
    registry: Registry,
    faults: Faults,
    controller: Controller,
    received: Received,
    /// The bot's answers, the last one first; 202 when it is empty.
    answers: Arc<Mutex<Vec<StatusCode>>>,
}

impl World {
    async fn open() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let scheduler = Scheduler::new(clock.clone());
        let (faults, unknown_requests, pace) = (Faults::default(), UnknownRequests::default(), Pace::default());
        let registry = Registry::new(unknown_requests.clone());
        let cluster = Cluster::new(scheduler.clone(), pace, faults.clone(), unknown_requests);
        cluster.set_can_pull({
            let registry = registry.clone();
            move |image| registry.can_pull(image)
        });
        let (received, answers) = (Received::default(), Arc::new(Mutex::new(Vec::new())));
        let bot_url = start_bot(received.clone(), answers.clone()).await;
        let secrets = [("development".to_owned(), "dev".to_owned()), ("qa".to_owned(), "qa".to_owned())].into();
        let webhooks = Webhooks { http: reqwest::Client::new(), bot_url, secrets };
        let targets = vec![
            target("checkout", "development", Some("develop"), &["deployment/checkout"]),
            target("checkout", "qa", Some("qa"), &["deployment/checkout"]),
            target("mailer", "development", Some("develop"), &["statefulset/mailer", "deployment/mailer-web"]),
            target("search", "qa", None, &["deployment/search"]),
        ];
        let build = |artefact: &str, tags| BuildConfig {
            artefact: artefact.into(),
            repository: format!("acme/{artefact}"),
            image: format!("ghcr.io/acme/{artefact}"),
            branches: vec!["develop".into(), "qa".into()],
            tag_style: tags,
            paths: vec![],
        };
        let builds = vec![build("checkout", TagStyle::ShortSha), build("mailer", TagStyle::Opaque)];
        let ci = Ci::new(scheduler.clone(), pace, registry.clone(), builds);
        for target in &targets {
            registry.publish(&target.image, "1.0.0", None, clock.now());
            for workload in &target.workloads {
                cluster.set_running(&target.namespace, workload, "app", &format!("{}:1.0.0", target.image), 2);
            }
        }
        let controller = Controller::new(
            scheduler.clone(),
            pace,
            cluster.clone(),
            registry.clone(),
            faults.clone(),
            webhooks,
            targets,
        );
        ci.on_built({
            let controller = controller.clone();
            move |built| controller.handle_built_image(built)
        });
        tokio::spawn(scheduler.clone().run(CancellationToken::new()));
        Self { clock, scheduler, ci, cluster, registry, faults, controller, received, answers }
    }

    /// Moves the clock from step to step until no step is left.
    async fn run_until_idle(&self) {
        while let Some(due) = self.scheduler.next_due() {
            self.clock.advance_to(due);
            tokio::task::yield_now().await;
        }
    }

    /// Environment, artefact and reason of every event that the bot received. Asserts their signatures.
    fn received_events(&self) -> Vec<String> {
        let received = self.received.lock().unwrap();
        received
            .iter()
            .map(|(environment, signed, event)| {
                assert!(signed, "{event}");
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                format!("{environment} {} {}", text(&event["involvedObject"]["name"]), text(&event["reason"]))
            })
            .collect()
    }

    fn state(&self, namespace: &str, workload: &str) -> (String, &'static str) {
        let state = self.cluster.state(namespace, &workload.parse().unwrap());
        (state.image.unwrap(), state.state)
    }
}

async fn start_bot(received: Received, answers: Arc<Mutex<Vec<StatusCode>>>) -> String {
    let handler = move |Path(environment): Path<String>, headers: HeaderMap, body: Bytes| {
        let (received, answers) = (received.clone(), answers.clone());
        async move {
            let secret = if environment == "development" { "dev" } else { "qa" };
            let signed = headers["x-signature"] == crate::sim::signature::sign(secret, &body);
            received.lock().unwrap().push((environment, signed, serde_json::from_slice(&body).unwrap()));
            answers.lock().unwrap().pop().unwrap_or(StatusCode::ACCEPTED)
        }
    };
    let router = axum::Router::new().route("/webhooks/flux/{environment}", axum::routing::post(handler));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn target(artefact: &str, environment: &str, branch: Option<&str>, workloads: &[&str]) -> Target {
    Target {
        artefact: artefact.into(),
        environment: environment.into(),
        branch: branch.map(Into::into),
        namespace: environment.into(),
        image: format!("ghcr.io/acme/{artefact}"),
        container: "app".into(),
        workloads: workloads.iter().map(|workload| workload.parse().unwrap()).collect(),
        replicas: 2,
    }
}

fn sha(digit: &str) -> Sha {
    digit.repeat(40).parse().unwrap()
}

#[tokio::test]
async fn a_push_is_built_rolled_out_and_reported_with_a_signature() {
    let world = World::open().await;
    world.ci.branch_moved("acme/checkout", "develop", &sha("a"));
    world.run_until_idle().await;
    let image = "ghcr.io/acme/checkout:develop-aaaaaaa".to_owned();
    assert_eq!(world.state("development", "deployment/checkout"), (image, "running"));
    assert_eq!(world.state("qa", "deployment/checkout").0, "ghcr.io/acme/checkout:1.0.0");
    assert_eq!(
        world.received_events(),
        ["development checkout Progressing", "development checkout ReconciliationSucceeded"]
    );

    let (_, _, event) = world.received.lock().unwrap()[1].clone();
    let expected = serde_json::json!({
        "involvedObject": {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "name": "checkout", "namespace": "development",
        },
        "severity": "info",
        "timestamp": "2027-01-15T08:00:05Z",
        "message": "Reconciliation finished in 3.0s, next run in 10m0s",
        "reason": "ReconciliationSucceeded",
        "metadata": { "revision": format!("develop@sha1:{}", sha("a")) },
        "reportingController": "kustomize-controller",
        "reportingInstance": "kustomize-controller-0",
    });
    assert_eq!(event, expected);
}

#[tokio::test]
async fn all_workloads_of_an_artefact_roll_out_and_are_reported_once() {
    let world = World::open().await;
    world.ci.branch_moved("acme/mailer", "develop", &sha("a"));
    world.run_until_idle().await;
    for workload in ["statefulset/mailer", "deployment/mailer-web"] {
        assert_eq!(world.state("development", workload), ("ghcr.io/acme/mailer:build-1".into(), "running"));
    }
    assert_eq!(
        world.received_events(),
        ["development mailer Progressing", "development mailer ReconciliationSucceeded"]
    );
}

#[tokio::test]
async fn a_manifest_changes_only_its_own_environment() {
    let world = World::open().await;
    let revision = Revision { branch: "main".into(), commit: sha("c") };
    world.registry.publish("ghcr.io/acme/search", "1.0.1", None, world.clock.now());
    world.controller.handle_manifest_image("qa", "search", "ghcr.io/acme/search:1.0.1", &revision);
    world.controller.handle_manifest_image("prod", "search", "ghcr.io/acme/search:1.0.1", &revision);
    world.run_until_idle().await;
    assert_eq!(world.state("qa", "deployment/search"), ("ghcr.io/acme/search:1.0.1".into(), "running"));

    world.controller.handle_manifest_image("qa", "search", "ghcr.io/acme/search:1.0.1", &revision);
    world.run_until_idle().await;
    let expected = ["qa search Progressing", "qa search ReconciliationSucceeded"];
    assert_eq!(
        world.received_events(),
        [expected, expected].concat(),
        "a repeated reconciliation is reported too, as Flux does"
    );
}

#[tokio::test]
async fn a_tag_that_was_never_built_cannot_be_pulled() {
    let world = World::open().await;
    let revision = Revision { branch: "main".into(), commit: sha("c") };
    world.controller.handle_manifest_image("qa", "search", "ghcr.io/acme/search:9.9.9", &revision);
    world.run_until_idle().await;
    assert_eq!(world.state("qa", "deployment/search").1, "degraded");
    assert_eq!(world.received_events(), ["qa search Progressing", "qa search HealthCheckFailed"]);
}

#[tokio::test]
async fn faults_fail_the_rollout_and_the_webhook_reports_it() {
    for (fault, reason) in [(Fault::CrashLoop, "CrashLoopBackOff"), (Fault::ImageMissing, "ImagePullBackOff")] {
        let world = World::open().await;
        world.faults.arm(fault, 1, Some("checkout".into()), Some("development".into()));
        world.ci.branch_moved("acme/mailer", "develop", &sha("b"));
        world.ci.branch_moved("acme/checkout", "develop", &sha("a"));
        world.run_until_idle().await;
        assert_eq!(world.state("development", "deployment/checkout").1, "degraded");
        assert_eq!(world.state("development", "statefulset/mailer").1, "running");
        let state = world.cluster.state("development", &"deployment/checkout".parse().unwrap());
        assert_eq!(state.reason, Some(reason));
        assert!(world.received_events().contains(&"development checkout HealthCheckFailed".to_owned()));
        let (_, _, last) = world.received.lock().unwrap().last().unwrap().clone();
        assert_eq!(last["severity"], "error");
        assert_eq!(
            last["message"],
            "health check failed after 7.5s: failed resources: [Deployment/development/checkout status: 'Failed']"
        );
    }
}

#[tokio::test]
async fn a_crash_fault_stays_armed_until_a_rollout_starts() {
    let world = World::open().await;
    world.faults.arm(Fault::CrashLoop, 1, None, None);
    let revision = Revision { branch: "main".into(), commit: sha("c") };
    world.controller.handle_manifest_image("qa", "search", "ghcr.io/acme/search:1.0.0", &revision);
    world.run_until_idle().await;
    assert_eq!(world.state("qa", "deployment/search"), ("ghcr.io/acme/search:1.0.0".to_owned(), "running"));
    assert_eq!(world.faults.list_armed().len(), 1, "nothing rolled out");
    world.ci.branch_moved("acme/checkout", "develop", &sha("b"));
    world.run_until_idle().await;
    assert_eq!(world.state("development", "deployment/checkout").1, "degraded");
    assert_eq!(world.faults.list_armed(), []);
}

#[tokio::test]
async fn a_slow_rollout_takes_ten_times_as_long_and_still_completes() {
    let world = World::open().await;
    world.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), None);
    world.ci.branch_moved("acme/checkout", "develop", &sha("a"));
    world.run_until_idle().await;
    assert_eq!(world.state("development", "deployment/checkout").1, "running");
    let (_, _, last) = world.received.lock().unwrap().last().unwrap().clone();
    assert_eq!(last["message"], "Reconciliation finished in 30.0s, next run in 10m0s");
}

#[tokio::test]
async fn a_webhook_can_be_lost_or_duplicated() {
    let world = World::open().await;
    world.faults.arm(Fault::LostWebhook, 1, None, Some("development".into()));
    world.ci.branch_moved("acme/checkout", "develop", &sha("a"));
    world.run_until_idle().await;
    assert_eq!(world.received_events(), ["development checkout Progressing"]);

    world.faults.arm(Fault::DuplicateWebhook, 1, None, None);
    world.ci.branch_moved("acme/checkout", "qa", &sha("b"));
    world.run_until_idle().await;
    let succeeded = "qa checkout ReconciliationSucceeded";
    assert_eq!(world.received_events()[1..], ["qa checkout Progressing", succeeded, succeeded]);
}

#[tokio::test]
async fn webhook_faults_are_the_same_for_the_same_seed() {
    let collect_events = async |faults, seed| {
        let world = World::open().await;
        world.controller.set_webhook_faults(faults, seed);
        for digit in ["1", "2", "3", "4", "5", "6", "7", "8"] {
            world.ci.branch_moved("acme/checkout", "develop", &sha(digit));
            world.run_until_idle().await;
        }
        world.received_events()
    };
    let no_faults = WebhookFaults::default();
    let all = collect_events(no_faults, 1).await;
    assert_eq!(all.len(), 16);
    assert_eq!(collect_events(WebhookFaults { lost_percent: 100, ..no_faults }, 1).await.len(), 0);
    let some = collect_events(WebhookFaults { lost_percent: 50, ..no_faults }, 1).await;
    assert!((1..16).contains(&some.len()), "{some:?}");
    assert_eq!(collect_events(WebhookFaults { lost_percent: 50, ..no_faults }, 1).await, some);
    assert_ne!(collect_events(WebhookFaults { lost_percent: 50, ..no_faults }, 2).await, some);
    let late = collect_events(
        WebhookFaults { duplicate_percent: 100, max_delay: SignedDuration::from_secs(20), ..no_faults },
        1,
    )
    .await;
    assert_eq!(late.len(), 32);
    let sorted = |mut events: Vec<String>| {
        events.sort();
        events.dedup();
        events
    };
    assert_ne!(late, [all.clone(), all.clone()].concat());
    assert_eq!(sorted(late).len(), sorted(all).len());
}

#[tokio::test]
async fn a_webhook_is_tried_five_times_and_then_lost() {
    let world = World::open().await;
    // Both events of a reconciliation fail every time.
    *world.answers.lock().unwrap() = vec![StatusCode::BAD_GATEWAY; 100];
    world.controller.handle_manifest_image(
        "qa",
        "search",
        "ghcr.io/acme/search:1.0.0",
        &Revision { branch: "main".into(), commit: sha("c") },
    );
    world.run_until_idle().await;
    let events = world.received_events();
    let count = |reason: &str| events.iter().filter(|line| line.ends_with(reason)).count();
    assert_eq!((count("Progressing"), count("ReconciliationSucceeded")), (5, 5));
}

#[tokio::test]
async fn a_refused_webhook_is_not_retried() {
    let world = World::open().await;
    *world.answers.lock().unwrap() = vec![StatusCode::UNAUTHORIZED; 2];
    world.controller.handle_manifest_image(
        "qa",
        "search",
        "ghcr.io/acme/search:1.0.0",
        &Revision { branch: "main".into(), commit: sha("c") },
    );
    world.run_until_idle().await;
    assert_eq!(world.received_events(), ["qa search Progressing", "qa search ReconciliationSucceeded"]);
}

#[tokio::test]
async fn only_the_newer_of_two_commits_is_reported_as_done() {
    let world = World::open().await;
    world.ci.branch_moved("acme/checkout", "develop", &sha("a"));
    world.clock.advance(jiff::SignedDuration::from_millis(100));
    world.ci.branch_moved("acme/checkout", "develop", &sha("b"));
    world.run_until_idle().await;
    let progressing = "development checkout Progressing";
    assert_eq!(world.received_events(), [progressing, progressing, "development checkout ReconciliationSucceeded"]);
    let (_, _, last) = world.received.lock().unwrap().last().unwrap().clone();
    assert_eq!(last["metadata"]["revision"], format!("develop@sha1:{}", sha("b")));
    assert_eq!(world.state("development", "deployment/checkout").0, "ghcr.io/acme/checkout:develop-bbbbbbb");
}
