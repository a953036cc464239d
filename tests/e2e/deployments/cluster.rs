//! A cluster that forbids access, does not answer, or has compacted its events; and the history of workloads.

use gantry::adapters::cluster::fetch_image_history;
use gantry::domain::model::workload::{Namespace, Workload};
use jiff::SignedDuration;

use crate::harness::world::World;

#[tokio::test]
async fn a_forbidden_namespace_is_shown_as_unreadable_and_does_not_affect_the_others() {
    let world = World::with_setup(|sim| sim.cluster.forbid("qa"), |yaml| yaml).await;
    world.alice().types("/list checkout").await;
    let list = world.alice().types("/list checkout").await;
    let qa = list.lines().find(|line| line.starts_with("qa")).expect("qa's line");
    assert!(qa.contains("\u{26aa}") && qa.contains("unreadable") && qa.contains("forbidden"), "{list}");
    assert_eq!(list.matches("\u{1f7e2}").count(), 3, "{list}");

    world.push("checkout", "Told in spite of it");
    world.settle().await;
    assert_eq!(world.public_messages("deploys").len(), 1);

    let ready = reqwest::get(format!("{}/readyz", world.origin)).await.unwrap();
    assert_eq!(ready.status(), 200);
    assert!(ready.text().await.unwrap().contains("forbidden"), "readiness shows it and does not wait for it");
}

#[tokio::test]
async fn a_push_during_an_outage_of_the_cluster_is_announced_once_after_it() {
    let world = World::open().await;
    world.alice().types("/list").await;
    world.sim.cluster.set_down("development", true);
    let mut list = String::new();
    for _ in 0..100 {
        list = world.alice().types_without_waiting("deploys", "/list checkout development").await;
        if list.contains("unreadable") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(list.contains("unreadable"), "{list}");

    world.push("checkout", "Behind closed doors");
    world.wait(SignedDuration::from_secs(30)).await;
    assert_eq!(
        world.public_messages("deploys"),
        Vec::<String>::new(),
        "a version in an unreadable cluster is not announced"
    );

    world.sim.cluster.set_down("development", false);
    for _ in 0..200 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        if !world.public_messages("deploys").is_empty() {
            break;
        }
    }
    world.settle().await;
    let messages = world.public_messages("deploys");
    assert_eq!(messages.len(), 1, "{messages:#?}");
    assert!(messages[0].contains("Behind closed doors"));
}

#[tokio::test]
async fn an_expired_watch_is_restarted_and_announces_nothing() {
    let world = World::open().await;
    world.sim.cluster.compact();
    world.settle().await;
    world.push("checkout", "After the compaction");
    world.settle().await;
    assert_eq!(world.public_messages("deploys").len(), 1);
}

#[tokio::test]
async fn the_image_history_of_every_kind_of_workload_can_be_read() {
    let world = World::open().await;
    let qa = Namespace { context: None, name: "qa".into() };
    let agent: Workload = "daemonset/agent".parse().unwrap();
    let mailer: Workload = "statefulset/mailer".parse().unwrap();
    let checkout: Workload = "deployment/checkout".parse().unwrap();
    let clients = &world.bot.cluster_clients;
    for workload in [&agent, &mailer, &checkout] {
        for tag in ["a", "b", "a", "c"] {
            world.sim.cluster.set_running("qa", workload, "beside", &format!("acme:{tag}"), 1);
        }
        let history = fetch_image_history(clients, &qa, workload, None, "acme").await.unwrap();
        let tags: Vec<&str> = history.iter().take(2).map(|entry| entry.image.tag.as_deref().unwrap()).collect();
        assert_eq!(tags, ["a", "b"], "{workload}: a restored version is newer than the one it replaced");
        assert!(history[0].revision > history[1].revision && history[0].created_at.is_some());
    }
    // The history also has versions from before the bot's first start.
    let history = fetch_image_history(clients, &qa, &checkout, None, "ghcr.io/acme/checkout").await.unwrap();
    let now = world.running_tag("checkout", "qa");
    assert!(!history.is_empty() && history.iter().all(|entry| entry.image.tag.as_deref() != Some(&now)), "{history:?}");

    let nothing = fetch_image_history(clients, &qa, &"deployment/nothing".parse().unwrap(), None, "acme").await;
    assert_eq!(nothing, Ok(vec![]));
    world.sim.cluster.forbid("qa");
    let error = fetch_image_history(clients, &qa, &checkout, None, "acme").await.unwrap_err();
    assert_eq!(error.to_string(), "forbidden: grant get on deployments in qa");
    world.sim.cluster.allow("qa");
    world.sim.cluster.set_down("qa", true);
    let error = fetch_image_history(clients, &qa, &checkout, None, "acme").await.unwrap_err();
    assert!(error.to_string().starts_with("the cluster answered 503"), "{error}");
    world.sim.cluster.set_down("qa", false);
}
