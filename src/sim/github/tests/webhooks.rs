//! GitHub's webhooks, as a bot receives them.

use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::{Verdict, Webhooks};
use super::{REPOSITORY, World};
use crate::sim::faults::Fault;
use crate::sim::scheduler::Scheduler;
use crate::sim::signature::sign;

const SECRET: &str = "between us";

struct Bot {
    world: World,
    scheduler: Scheduler,
    /// Event, delivery id and body of each webhook.
    received: Arc<Mutex<Vec<(String, String, Value)>>>,
}

impl Bot {
    /// A bot that answers with `status` and receives all webhooks from now on.
    async fn start(status: u16) -> Self {
        let world = World::with_pull().await;
        let received: Arc<Mutex<Vec<_>>> = Arc::default();
        let recorded = received.clone();
        let record = async move |headers: HeaderMap, body: Bytes| {
            assert_eq!(headers["x-hub-signature-256"], sign(SECRET, &body));
            let header = |name: &str| headers[name].to_str().unwrap().to_owned();
            let body = serde_json::from_slice(&body).unwrap();
            recorded.lock().unwrap().push((header("x-github-event"), header("x-github-delivery"), body));
            StatusCode::from_u16(status).unwrap()
        };
        let app = axum::Router::new().route("/webhooks/github", axum::routing::post(record));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let bot_url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let scheduler = Scheduler::new(world.clock.clone());
        tokio::spawn(scheduler.clone().run(CancellationToken::new()));
        let http = reqwest::Client::new();
        world.github.send_webhooks(Webhooks { scheduler: scheduler.clone(), http, bot_url, secret: SECRET.to_owned() });
        Self { world, scheduler, received }
    }

    /// The webhooks since the last call, when none is under way any more.
    async fn take_webhooks(&self) -> Vec<(String, String, Value)> {
        while self.scheduler.next_due().is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        std::mem::take(&mut self.received.lock().unwrap())
    }

    /// The same as event and action.
    async fn take_actions(&self) -> Vec<String> {
        let describe = |(kind, _, body): (String, String, Value)| match body["action"].as_str() {
            Some(action) => format!("{kind} {action}"),
            None => kind,
        };
        self.take_webhooks().await.into_iter().map(describe).collect()
    }
}

#[tokio::test]
async fn every_action_on_a_pull_request_sends_a_webhook() {
    let bot = Bot::start(202).await;
    let (world, github) = (&bot.world, &bot.world.github);
    world.commit("gantry/x", "More", &[("src/more.rs", "1\n")]);
    assert_eq!(bot.take_actions().await, ["pull_request synchronize"]);
    github.review(REPOSITORY, 1, "bob", Verdict::Approve, "").unwrap();
    assert_eq!(bot.take_actions().await, ["pull_request_review submitted"]);
    world.put("/repos/acme/checkout/pulls/1/reviews/1/dismissals", &json!({ "message": "Stale" })).await;
    assert_eq!(bot.take_actions().await, ["pull_request_review dismissed"]);
    github.retarget_pull(REPOSITORY, 1, "qa").unwrap();
    assert_eq!(bot.take_actions().await, ["pull_request edited"]);
    github.close_pull(REPOSITORY, 1, "bob").unwrap();
    github.reopen_pull(REPOSITORY, 1, "bob").unwrap();
    assert_eq!(bot.take_actions().await, ["pull_request closed", "pull_request reopened"]);
    github.merge_pull(REPOSITORY, 1, "bob").unwrap();
    assert_eq!(bot.take_actions().await, ["pull_request closed"]);
    world.post("/repos/acme/checkout/pulls", &super::new_pull("gantry/x", "prod")).await;
    assert_eq!(bot.take_actions().await, ["pull_request opened"]);
    github.delete_branch(REPOSITORY, "gantry/x").unwrap();
    assert_eq!(bot.take_actions().await, ["pull_request closed"]);
    world.get("/repos/acme/checkout/pulls/1").await;
    world.commit("develop", "Elsewhere", &[("x", "y\n")]);
    assert!(bot.take_actions().await.is_empty(), "reads and other branches send no webhook");
}

#[tokio::test]
async fn a_webhook_has_the_fields_of_github() {
    let bot = Bot::start(202).await;
    let head = bot.world.head("gantry/x");
    bot.world.github.review(REPOSITORY, 1, "bob", Verdict::RequestChanges, "No").unwrap();
    bot.world.github.merge_pull(REPOSITORY, 1, "bob").unwrap();
    let [(_, first, review), (_, second, merged)] = bot.take_webhooks().await.try_into().unwrap();
    assert_ne!(first, second, "each delivery has its own id");
    assert_eq!(review["review"]["state"], "changes_requested");
    assert_eq!(review["review"]["user"]["login"], "bob");
    assert_eq!(review["review"]["commit_id"], head.as_str());
    assert_eq!(merged["number"], 1);
    let pull = &merged["pull_request"];
    assert_eq!((&pull["number"], &pull["state"], &pull["merged"]), (&json!(1), &json!("closed"), &json!(true)));
    assert_eq!(pull["head"], json!({ "ref": "gantry/x", "sha": head.as_str() }));
    assert_eq!(pull["base"]["ref"], "prod");
    assert_eq!(pull["merge_commit_sha"], bot.world.head("prod").as_str());
    for body in [&review, &merged] {
        assert_eq!((&body["repository"]["full_name"], &body["sender"]["login"]), (&json!(REPOSITORY), &json!("bob")));
    }
}

#[tokio::test]
async fn checks_and_statuses_send_webhooks() {
    let bot = Bot::start(202).await;
    let head = bot.world.head("gantry/x");
    for conclusion in ["in_progress", "failure"] {
        bot.world.github.set_check(REPOSITORY, &head, "build", conclusion).unwrap();
    }
    let webhooks = bot.take_webhooks().await;
    let runs: Vec<_> = webhooks
        .iter()
        .map(|(kind, _, body)| {
            let check = &body[kind];
            (
                kind.as_str(),
                body["action"].as_str().unwrap(),
                check["status"].as_str().unwrap(),
                check["conclusion"].as_str(),
            )
        })
        .collect();
    let expected = [
        ("check_run", "created", "in_progress", None),
        ("check_run", "completed", "completed", Some("failure")),
        ("check_suite", "completed", "completed", Some("failure")),
    ];
    assert_eq!(runs, expected);
    assert_eq!(
        (&webhooks[0].2["check_run"]["name"], &webhooks[0].2["check_run"]["head_sha"]),
        (&json!("build"), &json!(head.as_str()))
    );
    assert_eq!(webhooks[2].2["check_suite"]["head_sha"], head.as_str());

    bot.world.github.set_check(REPOSITORY, &head, "lint", "queued").unwrap();
    bot.world.github.set_check(REPOSITORY, &head, "build", "success").unwrap();
    assert_eq!(
        bot.take_actions().await,
        ["check_run created", "check_run completed"],
        "a check of the suite is still open"
    );
    let status = json!({ "state": "success", "context": "ci/docs" });
    bot.world.post(&format!("/repos/acme/checkout/statuses/{head}"), &status).await;
    let [(kind, _, body)] = bot.take_webhooks().await.try_into().unwrap();
    assert_eq!(
        (kind.as_str(), &body["sha"], &body["state"], &body["context"]),
        ("status", &json!(head.as_str()), &json!("success"), &json!("ci/docs"))
    );
    bot.world.faults.arm(Fault::RedCheck, 1, None, None);
    bot.world.get("/repos/acme/checkout/commits/qa/check-runs").await;
    assert_eq!(
        bot.take_actions().await,
        ["check_run completed", "check_suite completed"],
        "the fault sends webhooks too"
    );
}

#[tokio::test]
async fn a_webhook_can_be_lost_or_duplicated() {
    let bot = Bot::start(202).await;
    let review = || bot.world.github.review(REPOSITORY, 1, "bob", Verdict::Comment, "Hm").unwrap();
    bot.world.faults.arm(Fault::LostWebhook, 1, None, None);
    review();
    assert!(bot.take_actions().await.is_empty());
    bot.world.faults.arm(Fault::DuplicateWebhook, 1, Some("checkout".to_owned()), None);
    review();
    let [first, second] = bot.take_webhooks().await.try_into().unwrap();
    assert_eq!(first, second);
    bot.world.faults.arm(Fault::LostWebhook, 1, None, Some("prod".to_owned()));
    review();
    assert_eq!(bot.take_actions().await.len(), 1, "a fault with an environment is the controller's");
}

#[tokio::test]
async fn github_does_not_retry_webhooks() {
    let bot = Bot::start(404).await;
    bot.world.github.review(REPOSITORY, 1, "bob", Verdict::Approve, "").unwrap();
    assert_eq!(bot.take_actions().await.len(), 1);
    bot.world.github.set_bot_url("http://127.0.0.1:1");
    bot.world.github.review(REPOSITORY, 1, "bob", Verdict::Approve, "").unwrap();
    assert!(bot.take_actions().await.is_empty());
}
