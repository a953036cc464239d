//! Proof of deployment: which observations turn a card green, red or yellow, for every source of an image's commit.

use std::collections::BTreeMap;

use gantry::sim::faults::Fault;
use gantry::sim::github::{FaultTiming, RequestFault};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::world::World;

/// The newest card that contains `words`.
fn card(world: &World, words: &str) -> String {
    let all = world.public_messages("deploys");
    let found = all.iter().rev().find(|message| message.contains("asked by") && message.contains(words));
    found.unwrap_or_else(|| panic!("no card says {words}: {all:#?}")).clone()
}

fn reason_line(card: &str) -> &str {
    card.lines().find(|line| line.starts_with("*Why:*")).unwrap_or_default()
}

#[tokio::test]
async fn a_crash_loop_fails_the_change_with_the_pods_reason() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
    world.alice().types("/promote checkout qa").await;
    let card = card(&world, "failed in *qa*");
    assert_snapshot!(reason_line(&card), @"*Why:* CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts");
    assert!(
        world
            .public_messages("deploys")
            .iter()
            .any(|message| message.starts_with("<@U0ALICE> *checkout*") && message.contains("failed in *qa*"))
    );
    assert!(
        !world.public_messages("deploys").iter().any(|message| message.contains("Next: `/rollback")),
        "the failure is announced once"
    );
}

#[tokio::test]
async fn a_missing_image_fails_the_change() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::ImageMissing, 1, Some("checkout".into()), Some("qa".into()));
    world.alice().types("/promote checkout qa").await;
    let result = world.sim.github.head("acme/checkout", "qa").unwrap();
    let card = card(&world, "failed in *qa*").replace(result.short(), "<short>");
    assert_snapshot!(reason_line(&card), @"*Why:* ImagePullBackOff: the image ghcr.io/acme/checkout:qa-<short> of container checkout cannot be pulled");
}

#[tokio::test]
async fn a_failure_report_fails_the_change_before_its_rollout_and_later_proof_turns_it_green() {
    let world = World::open().await;
    // The controller reports a failed build while CI is still running.
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    let result = world.sim.github.head("acme/checkout", "qa").unwrap();
    let event = serde_json::json!({
        "involvedObject": { "kind": "Kustomization", "name": "checkout", "namespace": "flux-system" },
        "severity": "error", "timestamp": "2026-11-16T09:00:01Z", "reason": "BuildFailed",
        "message": "kustomize build failed: <!channel> no such file",
        "metadata": { "revision": format!("qa@sha1:{result}") },
    });
    let status = crate::harness::signing::send_flux_report(&world, "qa", &event.to_string(), "flux-secret-of-qa").await;
    assert_eq!(status, 202);
    world.wait_until_idle().await;
    world.clock.advance(SignedDuration::from_millis(1200));
    world.wait_until_idle().await;
    assert_snapshot!(reason_line(&card(&world, "failed in *qa*")), @"*Why:* kustomize build failed: &lt;!channel&gt; no such file");
    // The version arrives nevertheless, and the cluster's proof turns the card green.
    world.settle().await;
    assert!(card(&world, "*checkout*").contains("running in *qa*, 2 of 2 ready"));
}

#[tokio::test]
async fn a_change_without_proof_by_the_deadline_is_stalled_and_later_proof_turns_it_green() {
    let world = World::with_config(|configuration| {
        configuration.replace(
            "branch: qa\n    cluster: { namespace: qa }\n    deploy_timeout: 90s",
            "branch: qa\n    cluster: { namespace: qa }\n    deploy_timeout: 3s",
        )
    })
    .await;
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    for _ in 0..4 {
        world.clock.advance(SignedDuration::from_millis(800));
        world.wait_until_idle().await;
    }
    let stalled = card(&world, "no proof that it runs in *qa*");
    assert!(reason_line(&stalled).starts_with("*Why:* After 3 s the cluster runs "), "{stalled}");
    assert!(
        world
            .alice()
            .types_without_waiting("deploys", "/gantry status")
            .await
            .starts_with("1 change is still watched:"),
        "the change lock is free"
    );
    world.settle().await;
    assert!(card(&world, "*checkout*").contains("running in *qa*, 2 of 2 ready"), "later proof turns the card green");
    let ends: Vec<_> =
        world.public_messages("deploys").into_iter().filter(|message| message.starts_with("<@U0ALICE>")).collect();
    assert_eq!(ends.len(), 2, "{ends:#?}");
}

#[tokio::test]
async fn a_failed_change_is_no_longer_watched_after_a_new_change() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
    world.alice().types("/promote checkout qa").await;
    card(&world, "failed in *qa*");
    world.push("checkout", "Repair it");
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    let cards: Vec<_> =
        world.public_messages("deploys").into_iter().filter(|message| message.contains("asked by")).collect();
    assert!(cards[0].contains("failed in *qa*"), "the old card stays red: {}", cards[0]);
    assert!(cards[1].contains("running in *qa*"), "{}", cards[1]);
}

#[tokio::test]
async fn a_hotfix_on_top_of_the_merged_commit_proves_the_deployment() {
    let world = World::open().await;
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    let file = BTreeMap::from([("hotfix.txt".to_owned(), Some("now".to_owned()))]);
    let hotfix = world.sim.push("checkout", "qa", "Straight into qa", file, "bob").unwrap();
    world.settle().await;
    assert!(world.running_tag("checkout", "qa").ends_with(hotfix.short()));
    assert!(card(&world, "*checkout*").contains("running in *qa*"));
}

#[tokio::test]
async fn an_image_that_names_no_commit_is_proved_by_the_controllers_report() {
    let world = World::open().await;
    let file = BTreeMap::from([("mailer/a.txt".to_owned(), Some("a".to_owned()))]);
    world.sim.push("mailer", "develop", "Only mails", file, "alice").unwrap();
    world.settle().await;
    world.alice().types("/promote mailer qa").await;
    world.alice().clicks("Confirm").await;
    let card = card(&world, "*mailer*");
    assert!(card.contains("running in *qa*, 4 of 4 ready"), "{card}");
    assert!(card.contains("known by the controller's report"), "{card}");
}

#[tokio::test]
async fn the_commit_of_an_image_can_come_from_its_revision_label_or_a_git_tag() {
    let names = ["labelled".to_owned(), "tagged".to_owned()];
    let world = crate::harness::parts::with_parts(&names).await;
    for name in &names {
        world.alice().types_without_waiting("deploys", &format!("/promote {name} qa")).await;
        world.wait_until_idle().await;
        let head = world.sim.github.head(&format!("acme/{name}"), "qa").unwrap();
        if name == "labelled" {
            crate::harness::parts::roll_out(&world, name, "1.4.0", Some(&head));
        } else {
            world.sim.github.tag(&format!("acme/{name}"), "v1.4.0", &head, "released").unwrap();
            crate::harness::parts::roll_out(&world, name, "v1.4.0", None);
        }
        world.settle().await;
    }
    assert!(
        card(&world, "*labelled*").contains("known by the image's revision label"),
        "{}",
        card(&world, "*labelled*")
    );
    assert!(card(&world, "*tagged*").contains("known by the Git tag of its name"), "{}", card(&world, "*tagged*"));
}

#[tokio::test]
async fn an_image_of_the_promoted_commit_itself_proves_the_deployment() {
    let names = ["retagged".to_owned()];
    let world = crate::harness::parts::with_parts(&names).await;
    let pinned = world.sim.github.head("acme/retagged", "develop").unwrap();
    world.alice().types_without_waiting("deploys", "/promote retagged qa").await;
    world.wait_until_idle().await;
    crate::harness::parts::roll_out(&world, "retagged", &format!("qa-{}", pinned.short()), None);
    world.settle().await;
    assert!(card(&world, "*retagged*").contains("running in *qa*"), "{}", card(&world, "*retagged*"));
}

#[tokio::test]
async fn a_commit_of_another_branch_is_no_proof_although_it_contains_the_promoted_commit() {
    let names = ["foreign".to_owned()];
    let world = crate::harness::parts::with_parts(&names).await;
    world.alice().types_without_waiting("deploys", "/promote foreign qa").await;
    world.wait_until_idle().await;
    // A commit on another branch contains the promoted commit, but qa's branch does not contain that commit.
    let develop = world.sim.github.head("acme/foreign", "develop").unwrap();
    world.sim.github.create_branch("acme/foreign", "topic", &develop).unwrap();
    let topic = gantry::sim::github::NewCommit {
        repository: "acme/foreign".into(),
        branch: "topic".into(),
        message: "A topic".into(),
        author: gantry::sim::github::Author { name: "A".into(), email: "a@acme.example".into(), login: None },
        files: BTreeMap::from([("topic.txt".to_owned(), Some("x".to_owned()))]),
        at: world.clock.now(),
    };
    let topic = world.sim.github.commit(topic).unwrap();
    crate::harness::parts::roll_out(&world, "foreign", &format!("topic-{}", topic.short()), None);
    world.settle().await;
    let stalled = card(&world, "*foreign*");
    assert!(stalled.contains("no proof that it runs in *qa*"), "{stalled}");
    assert!(reason_line(&stalled).contains(&format!("the cluster runs topic-{}", topic.short())), "{stalled}");
    assert!(
        world
            .public_messages("deploys")
            .iter()
            .any(|message| message.contains("runs in *qa*") && message.contains("topic-")),
        "the foreign image is announced as an arrival"
    );
}

#[tokio::test]
async fn a_success_report_alone_does_not_turn_the_card_green() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("qa".into()));
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    let result = world.sim.github.head("acme/checkout", "qa").unwrap();
    let event = serde_json::json!({
        "involvedObject": { "kind": "Kustomization", "name": "checkout", "namespace": "flux-system" },
        "severity": "info", "timestamp": "2026-11-16T09:00:01Z", "reason": "ReconciliationSucceeded",
        "message": "Reconciliation finished", "metadata": { "revision": format!("qa@sha1:{result}") },
    });
    assert_eq!(
        crate::harness::signing::send_flux_report(&world, "qa", &event.to_string(), "flux-secret-of-qa").await,
        202
    );
    world.wait_until_idle().await;
    world.clock.advance(SignedDuration::from_millis(1200));
    world.wait_until_idle().await;
    assert!(card(&world, "*checkout*").contains("deploying to *qa*"));
    world.settle().await;
}

#[tokio::test]
async fn while_the_cluster_cannot_be_read_the_card_says_so_and_the_change_waits() {
    let world = World::open().await;
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    world.sim.cluster.set_down("qa", true);
    for _ in 0..200 {
        world.clock.advance(SignedDuration::from_millis(100));
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        if card(&world, "*checkout*").contains("I cannot read qa") {
            break;
        }
    }
    assert!(card(&world, "*checkout*").contains("I cannot read qa"), "{}", card(&world, "*checkout*"));
    world.sim.cluster.set_down("qa", false);
    for _ in 0..400 {
        world.clock.advance(SignedDuration::from_millis(100));
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        if card(&world, "*checkout*").contains("running in *qa*") {
            return;
        }
    }
    panic!("{}", card(&world, "*checkout*"));
}

#[tokio::test]
async fn a_deploying_change_waits_for_github_to_recover() {
    let world = World::open().await;
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    world.sim.github.request_faults().inject(
        "GET",
        "/commits/",
        FaultTiming::AfterEffect,
        RequestFault::Reply(502, "Bad gateway", vec![]),
        8,
    );
    world.settle().await;
    assert!(card(&world, "*checkout*").contains("running in *qa*"), "{}", card(&world, "*checkout*"));
}

#[tokio::test]
async fn a_merge_triggers_the_controller_if_a_trigger_is_configured() {
    let received = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook/s3cret", listener.local_addr().unwrap());
    let log = received.clone();
    let router = axum::Router::new().fallback(move |uri: axum::http::Uri, body: String| {
        log.lock().unwrap().push((uri.path().to_owned(), body));
        async { "ok" }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    let world = World::with_config(|configuration| {
        configuration.replace("  - name: qa\n", &format!("  - name: qa\n    trigger: {{ flux_receiver: \"{url}\" }}\n"))
    })
    .await;
    world.alice().types("/promote checkout qa").await;
    let received = received.lock().unwrap().clone();
    assert_eq!(received.len(), 1, "{received:?}");
    assert_eq!(received[0].0, "/hook/s3cret");
    assert!(received[0].1.contains("refs/heads/qa") && received[0].1.contains("acme/checkout"), "{}", received[0].1);
}

#[tokio::test]
async fn a_failed_trigger_is_a_warning_on_the_card_that_hides_the_triggers_address() {
    let world = World::with_config(|configuration| {
        configuration
            .replace("  - name: qa\n", "  - name: qa\n    trigger: { argocd_webhook: \"http://127.0.0.1:9/s3cret\" }\n")
    })
    .await;
    world.alice().types("/promote checkout qa").await;
    let card = card(&world, "running in *qa*");
    assert!(card.contains(":warning: the controller could not be told, it looks by itself: "), "{card}");
    assert!(!card.contains("s3cret"), "{card}");
}
