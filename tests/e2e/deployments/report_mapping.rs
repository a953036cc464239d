//! Maps a report to its artefacts: by its content, by rules, or by the cluster. A report without an artefact is counted
//! and shown by `doctor`.

use std::collections::BTreeMap;

use gantry::adapters::store::{LedgerDetails, LedgerFilter, LedgerKind};
use gantry::sim::faults::Fault;
use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::harness::process::{ProcessHarness, wait_until};
use crate::harness::world::World;

/// A report of Flux about a failed deployment.
fn build_failure_report(world: &World, name: &str, revision: &str, metadata: &Value) -> String {
    let mut event = json!({
        "involvedObject": { "kind": "Kustomization", "name": name, "namespace": "flux-system" },
        "severity": "error", "timestamp": world.clock.now().to_string(), "reason": "BuildFailed",
        "message": format!("kustomize build failed for {name}"),
        "metadata": { "revision": format!("qa@sha1:{revision}") },
    });
    event["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    event.to_string()
}

async fn send(world: &World, environment: &str, body: &str) {
    let secret = format!("flux-secret-of-{environment}");
    assert_eq!(crate::harness::signing::send_flux_report(world, environment, body, &secret).await, 202);
    world.wait_until_idle().await;
}

/// The newest card of the artefact.
fn card(world: &World, artefact: &str) -> String {
    let all = world.public_messages("deploys");
    let is_card = |text: &&String| text.contains("asked by") && text.contains(&format!("*{artefact}*"));
    all.iter().rfind(is_card).unwrap_or_else(|| panic!("no card of {artefact}: {all:#?}")).clone()
}

/// A world with artefacts that its CI and controller do not know. Each has a change to qa in the stage `Deploying`.
async fn open_with_deploying_changes(names: &[&str], rules: &str) -> (World, Vec<String>) {
    let owned: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let world =
        crate::harness::parts::with_parts_and(&owned, |yaml| yaml.replace("people:", &format!("{rules}people:"))).await;
    let mut heads = Vec::new();
    for name in names {
        world.alice().types_without_waiting("deploys", &format!("/promote {name} qa")).await;
        world.wait_until_idle().await;
        // Slack accepts one message per second and channel.
        for _ in 0..4 {
            world.clock.advance(SignedDuration::from_millis(1200));
            world.wait_until_idle().await;
        }
        heads.push(world.sim.github.head(&format!("acme/{name}"), "qa").unwrap().as_str().to_owned());
        assert!(card(&world, name).contains("deploying to *qa*"), "{}", card(&world, name));
    }
    (world, heads)
}

/// Whether the report woke the change, so that the card shows the controller's message.
async fn shows_failure_on_card(world: &World, artefact: &str) -> bool {
    for _ in 0..3 {
        world.clock.advance(SignedDuration::from_millis(1200));
        world.wait_until_idle().await;
    }
    card(world, artefact).contains("*Why:* kustomize build failed")
}

/// The lines of `doctor` about reports. All other checks must be good.
async fn doctor(world: &World) -> String {
    world.alice().types("/gantry doctor").await;
    let answer = world.alice().reads();
    let (answer, last_line) = answer.rsplit_once('\n').unwrap();
    assert!(last_line.starts_with(":white_check_mark: 2"), "{last_line}");
    answer.to_owned()
}

/// The artefacts of the last report, and how they were found.
async fn last_attribution(world: &World) -> (Value, Value) {
    let filter = LedgerFilter { kind: Some(LedgerKind::Report), ..LedgerFilter::default() };
    let entry = world.bot.store.list_ledger_entries(&filter, 1).await.unwrap().remove(0);
    let Some(LedgerDetails::Report { artefacts, by, .. }) = entry.details else { panic!("{entry:?}") };
    (json!(artefacts), json!(by))
}

#[tokio::test]
async fn a_report_that_names_its_artefact_wakes_the_change_of_that_artefact() {
    let (world, heads) = open_with_deploying_changes(&["alpha", "beta"], "").await;
    send(&world, "qa", &build_failure_report(&world, "all-of-it", &heads[0], &json!({ "artefact": "alpha" }))).await;
    assert_eq!(last_attribution(&world).await, (json!(["alpha"]), json!("named")));
    assert!(shows_failure_on_card(&world, "alpha").await, "{}", card(&world, "alpha"));
    assert!(!shows_failure_on_card(&world, "beta").await, "{}", card(&world, "beta"));
    world.settle().await;
}

#[tokio::test]
async fn a_report_is_mapped_by_its_image() {
    let (world, heads) = open_with_deploying_changes(&["alpha"], "").await;
    let image = &json!({ "image": "ghcr.io/acme/alpha:9.9@sha256:00" });
    send(&world, "qa", &build_failure_report(&world, "all-of-it", &heads[0], image)).await;
    assert_eq!(last_attribution(&world).await, (json!(["alpha"]), json!("image")));
    assert!(shows_failure_on_card(&world, "alpha").await, "{}", card(&world, "alpha"));
    world.settle().await;
}

#[tokio::test]
async fn a_report_is_mapped_by_the_first_rule_that_matches() {
    let rules = "reports:\n  - { name: 'apps-*', environments: [staging], artefacts: [beta] }\n  \
                 - { kind: 'Kustom*', namespace: flux-system, name: 'apps-*', artefacts: [alpha] }\n  \
                 - { name: '*', artefacts: [beta] }\n";
    let (world, heads) = open_with_deploying_changes(&["alpha", "beta"], rules).await;
    send(&world, "qa", &build_failure_report(&world, "apps-eu", &heads[0], &json!({}))).await;
    assert_eq!(last_attribution(&world).await, (json!(["alpha"]), json!("rule")), "the first rule that matches");
    assert!(shows_failure_on_card(&world, "alpha").await, "{}", card(&world, "alpha"));
    world.settle().await;
}

#[tokio::test]
async fn a_report_is_mapped_by_the_workloads_that_its_object_applied() {
    let (world, heads) = open_with_deploying_changes(&["alpha", "beta", "gamma"], "").await;
    for name in ["alpha", "beta"] {
        let workload = format!("deployment/{name}").parse().unwrap();
        world.sim.cluster.label_applied_by("qa", &workload, ("flux-system", "apps"));
    }
    world.wait_until_idle().await;
    for (head, name) in heads.iter().zip(["alpha", "beta"]) {
        send(&world, "qa", &build_failure_report(&world, "apps", head, &json!({}))).await;
        assert_eq!(last_attribution(&world).await, (json!(["alpha", "beta"]), json!("cluster")));
        assert!(shows_failure_on_card(&world, name).await, "{}", card(&world, name));
    }
    assert!(!shows_failure_on_card(&world, "gamma").await);
    // An object in another namespace is another object.
    let other = build_failure_report(&world, "apps", &heads[2], &json!({})).replace("flux-system", "elsewhere");
    send(&world, "qa", &other).await;
    assert_eq!(last_attribution(&world).await, (Value::Null, Value::Null));
    world.settle().await;
}

#[tokio::test]
async fn the_report_of_the_simulated_controller_is_mapped_by_its_workloads() {
    let world = World::open().await;
    world.push("checkout", "Retry twice");
    world.settle().await;
    assert_eq!(last_attribution(&world).await, (json!(["checkout"]), json!("cluster")));
}

#[tokio::test]
async fn doctor_shows_unmapped_reports_with_their_count_reason_and_fix() {
    let world = World::open().await;
    let sha = "a".repeat(40);
    for second in 0..2 {
        world.clock.advance(SignedDuration::from_secs(second));
        send(&world, "qa", &build_failure_report(&world, "infra", &sha, &json!({}))).await;
    }
    // A repeated report does not count.
    send(&world, "qa", &build_failure_report(&world, "infra", &sha, &json!({}))).await;
    world.clock.advance(SignedDuration::from_secs(1));
    send(&world, "qa", &build_failure_report(&world, "x", &sha, &json!({ "artefact": "chekout" }))).await;
    world.clock.advance(SignedDuration::from_mins(2));
    world.settle().await;
    assert_snapshot!(doctor(&world).await, @"
    5 things need a look:
    :warning: 1 x Flux Kustomization flux-system/x for qa, last 2 min ago: It names the artefact chekout, which I do not know. Did you mean checkout? Correct it in the Alert's `eventMetadata`.
    :warning: 2 x Flux Kustomization flux-system/infra for qa, last 2 min ago: Flux's Kustomization flux-system/infra applied nothing that I watch in qa. Name the artefact in the Alert's `eventMetadata`, or add a rule under `reports`.
    :warning: No report has arrived for development yet. If its controller should send reports, check the address and the secret there.
    :warning: No report has arrived for staging yet. If its controller should send reports, check the address and the secret there.
    :warning: No report has arrived for prod yet. If its controller should send reports, check the address and the secret there.
    ");
}

#[tokio::test]
async fn a_report_about_a_git_repository_object_is_not_counted_as_unmapped() {
    let world = World::open().await;
    let noise = build_failure_report(&world, "flux-system", &"a".repeat(40), &json!({}))
        .replace("Kustomization", "GitRepository");
    send(&world, "qa", &noise).await;
    assert_eq!(world.bot.store.list_unmapped_reports().await.unwrap(), []);
    assert_eq!(last_attribution(&world).await, (Value::Null, Value::Null), "the ledger has it");
    assert_snapshot!(doctor(&world).await, @"
    3 things need a look:
    :warning: No report has arrived for development yet. If its controller should send reports, check the address and the secret there.
    :warning: No report has arrived for staging yet. If its controller should send reports, check the address and the secret there.
    :warning: No report has arrived for prod yet. If its controller should send reports, check the address and the secret there.
    ");
}

#[tokio::test]
async fn unmapped_reports_are_forgotten_once_a_report_of_the_same_object_is_mapped() {
    let world = World::open().await;
    let sha = "a".repeat(40);
    send(&world, "qa", &build_failure_report(&world, "apps", &sha, &json!({}))).await;
    assert_eq!(world.bot.store.list_unmapped_reports().await.unwrap().len(), 1);
    world.sim.cluster.label_applied_by("qa", &"deployment/checkout".parse().unwrap(), ("flux-system", "apps"));
    world.wait_until_idle().await;
    world.clock.advance(SignedDuration::from_secs(1));
    send(&world, "qa", &build_failure_report(&world, "apps", &sha, &json!({}))).await;
    assert_eq!(world.bot.store.list_unmapped_reports().await.unwrap(), []);
}

#[tokio::test]
async fn a_report_about_an_artefact_that_is_not_in_its_environment_stays_unmapped() {
    let world = World::with_config(|configuration| {
        configuration.replace(
            "    image: ghcr.io/acme/checkout\n",
            "    image: ghcr.io/acme/checkout\n    environments: { qa: false }\n",
        )
    })
    .await;
    let sha = "a".repeat(40);
    send(&world, "qa", &build_failure_report(&world, "x", &sha, &json!({ "artefact": "checkout" }))).await;
    send(&world, "qa", &build_failure_report(&world, "checkout", &sha, &json!({}))).await;
    let all = world.bot.store.list_unmapped_reports().await.unwrap();
    let problems: Vec<&str> = all.iter().map(|reports| reports.last.problem.as_str()).collect();
    assert_eq!(problems, ["It is about checkout, which is not in qa."; 2]);
    send(&world, "staging", &build_failure_report(&world, "checkout", &sha, &json!({}))).await;
    assert_eq!(last_attribution(&world).await.0, json!(["checkout"]));
}

#[tokio::test]
async fn doctor_warns_about_environments_without_a_secret_or_without_reports() {
    let world = World::with_config(|configuration| {
        configuration.replace("    webhook_secret: { env: FLUX_PROD_SECRET }\n", "")
    })
    .await;
    assert_snapshot!(doctor(&world).await, @"
    4 things need a look:
    :warning: No report has arrived for development yet. If its controller should send reports, check the address and the secret there.
    :warning: No report has arrived for qa yet. If its controller should send reports, check the address and the secret there.
    :warning: No report has arrived for staging yet. If its controller should send reports, check the address and the secret there.
    :warning: prod has no webhook secret, so its reports are refused. Set its `webhook_secret`. Without reports, Gantry learns about deployments only from the cluster.
    ");
}

#[tokio::test]
async fn doctor_answers_privately_and_tells_a_guest_nothing() {
    let world = World::open().await;
    send(&world, "qa", &build_failure_report(&world, "infra", &"a".repeat(40), &json!({}))).await;
    let before = world.public_messages("deploys").len();
    let thread = world.alice().posts("deploys", None, "What is wrong?").await;
    world.alice().posts("deploys", Some(&thread), "@gantry doctor").await;
    assert_eq!(world.public_messages("deploys").len(), before + 2, "only the two messages of alice");
    assert!(world.ephemeral_messages("alice", "deploys").iter().any(|text| text.contains("flux-system/infra")));
    let dave = world.dave().types("/gantry doctor").await;
    assert!(!dave.contains("infra"), "{dave}");
    assert!(!world.ephemeral_messages("dave", "deploys").iter().any(|text| text.contains("infra")));
}

#[tokio::test]
async fn names_in_reports_are_shown_as_plain_text() {
    let world = World::open().await;
    let sha = "a".repeat(40);
    let lines = "two\nlines <@U0BOB>";
    send(&world, "qa", &build_failure_report(&world, "<!channel>", &sha, &json!({}))).await;
    send(&world, "qa", &build_failure_report(&world, "x", &sha, &json!({ "artefact": lines }))).await;
    for n in 0..60 {
        let long = format!("{n}{}", "&<".repeat(126));
        send(&world, "qa", &build_failure_report(&world, &long[..250], &sha, &json!({}))).await;
    }
    let answer = doctor(&world).await;
    assert!(!answer.contains("<!") && !answer.contains("<@"), "{answer}");
    assert!(answer.lines().last().unwrap().ends_with(" more"), "{answer}");
    assert_eq!(world.bot.store.list_unmapped_reports().await.unwrap().len(), 62);
}

#[tokio::test]
async fn a_report_mapped_by_a_rule_proves_the_deployment_of_an_image_without_a_commit() {
    for (rules, proved) in [("reports:\n  - { name: post, artefacts: [mailer] }\n", true), ("", false)] {
        let world = World::with_config(|configuration| configuration + "\n" + rules).await;
        // The report of the world's controller, which would map by its name, is lost.
        world.sim.faults.arm(Fault::LostWebhook, 1, Some("mailer".into()), Some("qa".into()));
        let file = BTreeMap::from([("mailer/a.txt".to_owned(), Some("a".to_owned()))]);
        world.sim.push("mailer", "develop", "Only mails", file, "alice").unwrap();
        world.settle().await;
        world.alice().types_without_waiting("deploys", "/promote mailer qa").await;
        world.wait_until_idle().await;
        world.alice().clicks_without_waiting("deploys", "Confirm").await;
        let workload = "statefulset/mailer".parse().unwrap();
        let before = world.sim.cluster.state("qa", &workload).image;
        world
            .settle_until(|| {
                let now = world.sim.cluster.state("qa", &workload);
                now.image != before && now.state == "running"
            })
            .await;
        world.clock.advance(SignedDuration::from_secs(2));
        world.wait_until_idle().await;
        let result = world.sim.github.head("acme/shop", "qa").unwrap();
        let success = build_failure_report(&world, "post", result.as_str(), &json!({}))
            .replace("\"error\"", "\"info\"")
            .replace("BuildFailed", "ReconciliationSucceeded");
        send(&world, "qa", &success).await;
        world.settle().await;
        assert_eq!(
            card(&world, "mailer").contains("known by the controller's report"),
            proved,
            "{}",
            card(&world, "mailer")
        );
    }
}

#[tokio::test]
async fn a_report_with_a_commit_of_another_repository_proves_nothing() {
    let rules = "reports:\n  - { name: post, artefacts: [mailer] }\n";
    let world = World::with_config(|configuration| configuration + "\n" + rules).await;
    world.sim.faults.arm(Fault::LostWebhook, 1, Some("mailer".into()), Some("development".into()));
    let file = BTreeMap::from([("mailer/a.txt".to_owned(), Some("a".to_owned()))]);
    world.sim.push("mailer", "develop", "Only mails", file, "alice").unwrap();
    world.settle().await;
    let manifests = world.sim.github.head("acme/gitops", "main").unwrap();
    let success = build_failure_report(&world, "post", manifests.as_str(), &json!({}))
        .replace("\"error\"", "\"info\"")
        .replace("BuildFailed", "ReconciliationSucceeded");
    send(&world, "development", &success).await;
    world.settle().await;
    assert_eq!(last_attribution(&world).await, (json!(["mailer"]), json!("rule")));
    let image_commits = world.bot.store.list_image_commits().await.unwrap();
    assert!(image_commits.iter().all(|image| image.commit.as_ref() != Some(&manifests)), "{image_commits:?}");
}

async fn send_report_to_process(harness: &ProcessHarness, environment: &str, body: &str) {
    let secret = format!("flux-secret-of-{environment}");
    let signature = crate::harness::signing::hex_hmac(&secret, &[body.as_bytes()]);
    let request = reqwest::Client::new()
        .post(format!("http://{}/webhooks/flux/{environment}", harness.address))
        .header("x-signature", format!("sha256={signature}"))
        .body(body.to_owned());
    assert_eq!(request.send().await.unwrap().status(), 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unmapped_reports_are_still_counted_after_a_kill() {
    let mut harness = ProcessHarness::open().await;
    let event = |n: u32| {
        json!({
            "involvedObject": { "kind": "Kustomization", "name": "infra", "namespace": "flux-system" },
            "severity": "info", "reason": "ReconciliationSucceeded", "message": format!("applied {n}"),
        })
        .to_string()
    };
    let doctor = async |harness: &ProcessHarness, text: &str| {
        wait_until(text, async || {
            let ack = harness.world.slack.type_command("alice", "deploys", "/gantry doctor").await;
            let is_in_ack = |ack: gantry::sim::slack::Ack| ack.body.to_string().contains(text);
            let is_in_messages = || {
                harness
                    .world
                    .slack
                    .messages("deploys", Some("alice"))
                    .iter()
                    .map(crate::harness::world::render_message)
                    .any(|message| message.contains(text))
            };
            ack.is_ok_and(is_in_ack) || is_in_messages()
        })
        .await;
    };
    send_report_to_process(&harness, "qa", &event(1)).await;
    doctor(&harness, "1 x Flux Kustomization flux-system/infra for qa").await;
    harness.restart().await;
    send_report_to_process(&harness, "qa", &event(2)).await;
    doctor(&harness, "2 x Flux Kustomization flux-system/infra for qa").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_mapping_of_a_report_by_the_cluster_survives_a_kill() {
    let mut harness = ProcessHarness::open().await;
    let workload = "statefulset/mailer".parse().unwrap();
    for workload in [&workload, &"deployment/mailer-web".parse().unwrap()] {
        harness.world.cluster.label_applied_by("development", workload, ("flux-system", "post"));
    }
    harness.world.faults.arm(Fault::SlowRollout, 2, Some("mailer".into()), Some("development".into()));
    harness.world.faults.arm(Fault::LostWebhook, 1, Some("mailer".into()), Some("development".into()));
    let file = BTreeMap::from([("mailer/a.txt".to_owned(), Some("a".to_owned()))]);
    let pushed = harness.world.push("mailer", "develop", "Mails in blue", file, "alice").unwrap();
    let before = harness.world.cluster.state("development", &workload).image;
    wait_until("the rollout begins", async || harness.world.cluster.state("development", &workload).image != before)
        .await;
    let image = harness.world.cluster.state("development", &workload).image.unwrap();
    let sighting = "sighting WHERE artefact = 'mailer' AND environment = 'development' AND tag = $1";
    harness.wait_until_stored(sighting, image.rsplit_once(':').unwrap().1).await;
    let event = json!({
        "involvedObject": { "kind": "Kustomization", "name": "post", "namespace": "flux-system" },
        "severity": "info", "timestamp": harness.world.clock.now().to_string(), "reason": "ReconciliationSucceeded",
        "message": "Reconciliation finished", "metadata": { "revision": format!("develop@sha1:{pushed}") },
    });
    send_report_to_process(&harness, "development", &event.to_string()).await;
    harness.wait_until_idle().await;
    harness.restart().await;
    wait_until("the commit is announced", async || {
        let messages = harness.messages().iter().map(crate::harness::world::render_message).collect::<Vec<_>>();
        messages.iter().any(|text| text.contains("*mailer*") && text.contains("Mails in blue"))
    })
    .await;
}
