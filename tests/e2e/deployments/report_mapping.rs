//! From a report to its artefacts: by what it says, by rules, by the cluster; and what is about nobody is kept and shown.

use std::collections::BTreeMap;

use gantry::adapters::store::{LedgerDetails, LedgerFilter, LedgerKind};
use gantry::sim::faults::Fault;
use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::harness::process::{ProcessHarness, wait_until};
use crate::harness::world::World;

/// A report of Flux's that something could not be deployed.
fn failure(town: &World, name: &str, revision: &str, metadata: &Value) -> String {
    let mut event = json!({
        "involvedObject": { "kind": "Kustomization", "name": name, "namespace": "flux-system" },
        "severity": "error", "timestamp": town.clock.now().to_string(), "reason": "BuildFailed",
        "message": format!("kustomize build failed for {name}"),
        "metadata": { "revision": format!("qa@sha1:{revision}") },
    });
    event["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    event.to_string()
}

async fn send(town: &World, environment: &str, body: &str) {
    let secret = format!("flux-secret-of-{environment}");
    assert_eq!(crate::ops::receiving::send_flux_report(town, environment, body, &secret).await, 202);
    town.wait_until_idle().await;
}

/// The words on the card of an artefact's change.
fn card(town: &World, artefact: &str) -> String {
    let all = town.public_messages("deploys");
    let of_it = |told: &&String| told.contains("asked by") && told.contains(&format!("*{artefact}*"));
    all.iter().rfind(of_it).unwrap_or_else(|| panic!("no card of {artefact}: {all:#?}")).clone()
}

/// Artefacts that neither CI nor the controller of the town knows, each merged to qa and waited for there.
async fn open_with_deploying_changes(names: &[&str], rules: &str) -> (World, Vec<String>) {
    let owned: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let town = crate::promote::many_at_once::with_parts_and(&owned, |yaml| {
        yaml.replace("people:", &format!("{rules}people:"))
    })
    .await;
    let mut heads = Vec::new();
    for name in names {
        town.alice().types_without_waiting("deploys", &format!("/promote {name} qa")).await;
        town.wait_until_idle().await;
        // A channel takes one message a second.
        for _ in 0..4 {
            town.clock.advance(SignedDuration::from_millis(1200));
            town.wait_until_idle().await;
        }
        heads.push(town.sim.github.head(&format!("acme/{name}"), "qa").unwrap().as_str().to_owned());
        assert!(card(&town, name).contains("deploying to *qa*"), "{}", card(&town, name));
    }
    (town, heads)
}

/// The report has woken the look at that change, which has read what the controller said.
async fn shows_failure_on_card(town: &World, artefact: &str) -> bool {
    for _ in 0..3 {
        town.clock.advance(SignedDuration::from_millis(1200));
        town.wait_until_idle().await;
    }
    card(town, artefact).contains("*Why:* kustomize build failed")
}

/// What `doctor` answers about reports; the rest is well.
async fn doctor(town: &World) -> String {
    town.alice().types("/gantry doctor").await;
    let told = town.alice().reads();
    let (told, rest) = told.rsplit_once('\n').unwrap();
    assert!(rest.starts_with(":white_check_mark: 2"), "{rest}");
    told.to_owned()
}

/// Whom the last report was found to be about, and how.
async fn last_attribution(town: &World) -> (Value, Value) {
    let filter = LedgerFilter { kind: Some(LedgerKind::Report), ..LedgerFilter::default() };
    let entry = town.bot.store.list_ledger_entries(&filter, 1).await.unwrap().remove(0);
    let Some(LedgerDetails::Report { artefacts, by, .. }) = entry.details else { panic!("{entry:?}") };
    (json!(artefacts), json!(by))
}

#[tokio::test]
async fn an_artefact_that_the_report_names_is_woken() {
    let (town, heads) = open_with_deploying_changes(&["alpha", "beta"], "").await;
    send(&town, "qa", &failure(&town, "all-of-it", &heads[0], &json!({ "artefact": "alpha" }))).await;
    assert_eq!(last_attribution(&town).await, (json!(["alpha"]), json!("named")));
    assert!(shows_failure_on_card(&town, "alpha").await, "{}", card(&town, "alpha"));
    assert!(!shows_failure_on_card(&town, "beta").await, "{}", card(&town, "beta"));
    town.settle().await;
}

#[tokio::test]
async fn an_image_tells_whose_report_it_is() {
    let (town, heads) = open_with_deploying_changes(&["alpha"], "").await;
    let image = &json!({ "image": "ghcr.io/acme/alpha:9.9@sha256:00" });
    send(&town, "qa", &failure(&town, "all-of-it", &heads[0], image)).await;
    assert_eq!(last_attribution(&town).await, (json!(["alpha"]), json!("image")));
    assert!(shows_failure_on_card(&town, "alpha").await, "{}", card(&town, "alpha"));
    town.settle().await;
}

#[tokio::test]
async fn a_rule_tells_whose_report_it_is() {
    let rules = "reports:\n  - { name: 'apps-*', environments: [staging], artefacts: [beta] }\n  \
                 - { kind: 'Kustom*', namespace: flux-system, name: 'apps-*', artefacts: [alpha] }\n  \
                 - { name: '*', artefacts: [beta] }\n";
    let (town, heads) = open_with_deploying_changes(&["alpha", "beta"], rules).await;
    send(&town, "qa", &failure(&town, "apps-eu", &heads[0], &json!({}))).await;
    assert_eq!(last_attribution(&town).await, (json!(["alpha"]), json!("rule")), "the first that fits");
    assert!(shows_failure_on_card(&town, "alpha").await, "{}", card(&town, "alpha"));
    town.settle().await;
}

#[tokio::test]
async fn the_cluster_tells_what_an_object_applied() {
    let (town, heads) = open_with_deploying_changes(&["alpha", "beta", "gamma"], "").await;
    for name in ["alpha", "beta"] {
        let workload = format!("deployment/{name}").parse().unwrap();
        town.sim.cluster.label_applied_by("qa", &workload, ("flux-system", "apps"));
    }
    town.wait_until_idle().await;
    for (head, name) in heads.iter().zip(["alpha", "beta"]) {
        send(&town, "qa", &failure(&town, "apps", head, &json!({}))).await;
        assert_eq!(last_attribution(&town).await, (json!(["alpha", "beta"]), json!("cluster")));
        assert!(shows_failure_on_card(&town, name).await, "{}", card(&town, name));
    }
    assert!(!shows_failure_on_card(&town, "gamma").await);
    // Of another namespace, it is another object.
    let other = failure(&town, "apps", &heads[2], &json!({})).replace("flux-system", "elsewhere");
    send(&town, "qa", &other).await;
    assert_eq!(last_attribution(&town).await, (Value::Null, Value::Null));
    town.settle().await;
}

#[tokio::test]
async fn the_worlds_own_controller_is_found_by_what_it_applied() {
    let town = World::open().await;
    town.push("checkout", "Retry twice");
    town.settle().await;
    assert_eq!(last_attribution(&town).await, (json!(["checkout"]), json!("cluster")));
}

#[tokio::test]
async fn what_is_about_nobody_is_counted_and_shown_with_the_reason_and_the_repair() {
    let town = World::open().await;
    let sha = "a".repeat(40);
    for second in 0..2 {
        town.clock.advance(SignedDuration::from_secs(second));
        send(&town, "qa", &failure(&town, "infra", &sha, &json!({}))).await;
    }
    // The same report once more is the same report.
    send(&town, "qa", &failure(&town, "infra", &sha, &json!({}))).await;
    town.clock.advance(SignedDuration::from_secs(1));
    send(&town, "qa", &failure(&town, "x", &sha, &json!({ "artefact": "chekout" }))).await;
    town.clock.advance(SignedDuration::from_mins(2));
    town.settle().await;
    assert_snapshot!(doctor(&town).await, @"
    5 things need a look:
    :warning: 1 x Flux Kustomization flux-system/x for qa, last 2 min ago: It names the artefact chekout, which I do not know. Did you mean checkout? Correct it in the Alert's `eventMetadata`.
    :warning: 2 x Flux Kustomization flux-system/infra for qa, last 2 min ago: Flux's Kustomization flux-system/infra applied nothing that I watch in qa. Name the artefact in the Alert's `eventMetadata`, or add a rule under `reports`.
    :warning: No report came for development yet. If its controller should send some, check its address and secret.
    :warning: No report came for staging yet. If its controller should send some, check its address and secret.
    :warning: No report came for prod yet. If its controller should send some, check its address and secret.
    ");
}

#[tokio::test]
async fn noise_is_about_nobody_and_counts_for_nothing() {
    let town = World::open().await;
    let noise = failure(&town, "flux-system", &"a".repeat(40), &json!({})).replace("Kustomization", "GitRepository");
    send(&town, "qa", &noise).await;
    assert_eq!(town.bot.store.list_unmapped_reports().await.unwrap(), []);
    assert_eq!(last_attribution(&town).await, (Value::Null, Value::Null), "the ledger has it");
    assert_snapshot!(doctor(&town).await, @"
    3 things need a look:
    :warning: No report came for development yet. If its controller should send some, check its address and secret.
    :warning: No report came for staging yet. If its controller should send some, check its address and secret.
    :warning: No report came for prod yet. If its controller should send some, check its address and secret.
    ");
}

#[tokio::test]
async fn what_was_repaired_is_no_longer_complained_of() {
    let town = World::open().await;
    let sha = "a".repeat(40);
    send(&town, "qa", &failure(&town, "apps", &sha, &json!({}))).await;
    assert_eq!(town.bot.store.list_unmapped_reports().await.unwrap().len(), 1);
    town.sim.cluster.label_applied_by("qa", &"deployment/checkout".parse().unwrap(), ("flux-system", "apps"));
    town.wait_until_idle().await;
    town.clock.advance(SignedDuration::from_secs(1));
    send(&town, "qa", &failure(&town, "apps", &sha, &json!({}))).await;
    assert_eq!(town.bot.store.list_unmapped_reports().await.unwrap(), []);
}

#[tokio::test]
async fn an_artefact_that_is_not_in_the_reports_environment_is_not_guessed_elsewhere() {
    let town = World::with_config(|configuration| {
        configuration.replace(
            "    image: ghcr.io/acme/checkout\n",
            "    image: ghcr.io/acme/checkout\n    environments: { qa: false }\n",
        )
    })
    .await;
    let sha = "a".repeat(40);
    send(&town, "qa", &failure(&town, "x", &sha, &json!({ "artefact": "checkout" }))).await;
    send(&town, "qa", &failure(&town, "checkout", &sha, &json!({}))).await;
    let all = town.bot.store.list_unmapped_reports().await.unwrap();
    let said: Vec<&str> = all.iter().map(|strays| strays.last.problem.as_str()).collect();
    assert_eq!(said, ["It is about checkout, which is not in qa."; 2]);
    send(&town, "staging", &failure(&town, "checkout", &sha, &json!({}))).await;
    assert_eq!(last_attribution(&town).await.0, json!(["checkout"]));
}

#[tokio::test]
async fn an_environment_without_a_secret_and_one_without_a_report_are_told() {
    let town = World::with_config(|configuration| {
        configuration.replace("    webhook_secret: { env: FLUX_PROD_SECRET }\n", "")
    })
    .await;
    assert_snapshot!(doctor(&town).await, @"
    4 things need a look:
    :warning: No report came for development yet. If its controller should send some, check its address and secret.
    :warning: No report came for qa yet. If its controller should send some, check its address and secret.
    :warning: No report came for staging yet. If its controller should send some, check its address and secret.
    :warning: prod has no secret: reports are refused. Give it a `webhook_secret`; without reports I learn of everything by looking at the cluster.
    ");
}

#[tokio::test]
async fn the_answer_is_for_one_person_and_guests_get_none() {
    let town = World::open().await;
    send(&town, "qa", &failure(&town, "infra", &"a".repeat(40), &json!({}))).await;
    let before = town.public_messages("deploys").len();
    let thread = town.alice().posts("deploys", None, "What is wrong?").await;
    town.alice().posts("deploys", Some(&thread), "@gantry doctor").await;
    assert_eq!(town.public_messages("deploys").len(), before + 2, "what was said, and nothing more");
    assert!(town.ephemeral_messages("alice", "deploys").iter().any(|told| told.contains("flux-system/infra")));
    let dave = town.dave().types("/gantry doctor").await;
    assert!(!dave.contains("infra"), "{dave}");
    assert!(!town.ephemeral_messages("dave", "deploys").iter().any(|told| told.contains("infra")));
}

#[tokio::test]
async fn a_hostile_name_is_only_text() {
    let town = World::open().await;
    let sha = "a".repeat(40);
    let lines = "two\nlines <@U0BOB>";
    send(&town, "qa", &failure(&town, "<!channel>", &sha, &json!({}))).await;
    send(&town, "qa", &failure(&town, "x", &sha, &json!({ "artefact": lines }))).await;
    for n in 0..60 {
        let long = format!("{n}{}", "&<".repeat(126));
        send(&town, "qa", &failure(&town, &long[..250], &sha, &json!({}))).await;
    }
    let told = doctor(&town).await;
    assert!(!told.contains("<!") && !told.contains("<@"), "{told}");
    assert!(told.lines().last().unwrap().ends_with(" more"), "{told}");
    assert_eq!(town.bot.store.list_unmapped_reports().await.unwrap().len(), 62);
}

#[tokio::test]
async fn an_opaque_image_is_proved_by_a_report_that_a_rule_maps() {
    for (rules, proved) in [("reports:\n  - { name: post, artefacts: [mailer] }\n", true), ("", false)] {
        let town = World::with_config(|configuration| configuration + "\n" + rules).await;
        // The town's own controller, whose object is called as the artefact, says nothing this time.
        town.sim.faults.arm(Fault::LostWebhook, 1, Some("mailer".into()), Some("qa".into()));
        let file = BTreeMap::from([("mailer/a.txt".to_owned(), Some("a".to_owned()))]);
        town.sim.push("mailer", "develop", "Only mails", file, "alice").unwrap();
        town.settle().await;
        town.alice().types_without_waiting("deploys", "/promote mailer qa").await;
        town.wait_until_idle().await;
        town.alice().clicks_without_waiting("deploys", "Confirm").await;
        let workload = "statefulset/mailer".parse().unwrap();
        let before = town.sim.cluster.state("qa", &workload).image;
        town.settle_until(|| {
            let now = town.sim.cluster.state("qa", &workload);
            now.image != before && now.state == "running"
        })
        .await;
        town.clock.advance(SignedDuration::from_secs(2));
        town.wait_until_idle().await;
        let result = town.sim.github.head("acme/shop", "qa").unwrap();
        let success = failure(&town, "post", result.as_str(), &json!({}))
            .replace("\"error\"", "\"info\"")
            .replace("BuildFailed", "ReconciliationSucceeded");
        send(&town, "qa", &success).await;
        town.settle().await;
        assert_eq!(
            card(&town, "mailer").contains("known by the controller's report"),
            proved,
            "{}",
            card(&town, "mailer")
        );
    }
}

#[tokio::test]
async fn a_commit_of_another_repository_proves_nothing() {
    let rules = "reports:\n  - { name: post, artefacts: [mailer] }\n";
    let town = World::with_config(|configuration| configuration + "\n" + rules).await;
    town.sim.faults.arm(Fault::LostWebhook, 1, Some("mailer".into()), Some("development".into()));
    let file = BTreeMap::from([("mailer/a.txt".to_owned(), Some("a".to_owned()))]);
    town.sim.push("mailer", "develop", "Only mails", file, "alice").unwrap();
    town.settle().await;
    let manifests = town.sim.github.head("acme/gitops", "main").unwrap();
    let success = failure(&town, "post", manifests.as_str(), &json!({}))
        .replace("\"error\"", "\"info\"")
        .replace("BuildFailed", "ReconciliationSucceeded");
    send(&town, "development", &success).await;
    town.settle().await;
    assert_eq!(last_attribution(&town).await, (json!(["mailer"]), json!("rule")));
    let known = town.bot.store.list_image_commits().await.unwrap();
    assert!(known.iter().all(|image| image.commit.as_ref() != Some(&manifests)), "{known:?}");
}

async fn send_report_to_process(harness: &ProcessHarness, environment: &str, body: &str) {
    let secret = format!("flux-secret-of-{environment}");
    let signature = crate::ops::receiving::hex_hmac(&secret, &[body.as_bytes()]);
    let told = reqwest::Client::new()
        .post(format!("http://{}/webhooks/flux/{environment}", harness.address))
        .header("x-signature", format!("sha256={signature}"))
        .body(body.to_owned());
    assert_eq!(told.send().await.unwrap().status(), 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_about_nobody_is_still_known_after_a_kill() {
    let mut harness = ProcessHarness::open().await;
    let event = |n: u32| {
        json!({
            "involvedObject": { "kind": "Kustomization", "name": "infra", "namespace": "flux-system" },
            "severity": "info", "reason": "ReconciliationSucceeded", "message": format!("applied {n}"),
        })
        .to_string()
    };
    let doctor = async |harness: &ProcessHarness, words: &str| {
        wait_until(words, async || {
            let ack = harness.town.slack.type_command("alice", "deploys", "/gantry doctor").await;
            let told = |ack: gantry::sim::slack::Ack| ack.body.to_string().contains(words);
            let later = || {
                harness
                    .town
                    .slack
                    .messages("deploys", Some("alice"))
                    .iter()
                    .map(crate::harness::world::render_message)
                    .any(|it| it.contains(words))
            };
            ack.is_ok_and(told) || later()
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
async fn what_the_cluster_told_of_a_report_is_still_known_after_a_kill() {
    let mut harness = ProcessHarness::open().await;
    let workload = "statefulset/mailer".parse().unwrap();
    for workload in [&workload, &"deployment/mailer-web".parse().unwrap()] {
        harness.town.cluster.label_applied_by("development", workload, ("flux-system", "post"));
    }
    harness.town.faults.arm(Fault::SlowRollout, 2, Some("mailer".into()), Some("development".into()));
    harness.town.faults.arm(Fault::LostWebhook, 1, Some("mailer".into()), Some("development".into()));
    let file = BTreeMap::from([("mailer/a.txt".to_owned(), Some("a".to_owned()))]);
    let pushed = harness.town.push("mailer", "develop", "Mails in blue", file, "alice").unwrap();
    let before = harness.town.cluster.state("development", &workload).image;
    wait_until("it rolls out", async || harness.town.cluster.state("development", &workload).image != before).await;
    let image = harness.town.cluster.state("development", &workload).image.unwrap();
    let seen = "sighting WHERE artefact = 'mailer' AND environment = 'development' AND tag = $1";
    harness.wait_until_stored(seen, image.rsplit_once(':').unwrap().1).await;
    let event = json!({
        "involvedObject": { "kind": "Kustomization", "name": "post", "namespace": "flux-system" },
        "severity": "info", "timestamp": harness.town.clock.now().to_string(), "reason": "ReconciliationSucceeded",
        "message": "Reconciliation finished", "metadata": { "revision": format!("develop@sha1:{pushed}") },
    });
    send_report_to_process(&harness, "development", &event.to_string()).await;
    harness.wait_until_idle().await;
    harness.restart().await;
    wait_until("its commit is told", async || {
        let told = harness.messages().iter().map(crate::harness::world::render_message).collect::<Vec<_>>();
        told.iter().any(|told| told.contains("*mailer*") && told.contains("Mails in blue"))
    })
    .await;
}
