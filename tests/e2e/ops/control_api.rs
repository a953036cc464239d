//! The demo's control API as a script uses it: over HTTP, with the documented JSON.

use serde_json::{Value, json};

use crate::harness::world::World;

async fn post(world: &World, route: &str, body: Value) -> (u16, Value) {
    let sent = reqwest::Client::new().post(format!("{}/sim/{route}", world.origin)).json(&body).send().await.unwrap();
    let status = sent.status().as_u16();
    let answer = sent.json().await.unwrap();
    world.settle().await;
    (status, answer)
}

async fn fetch_from_sim(world: &World, path: &str) -> Value {
    reqwest::get(format!("{}/sim/{path}", world.origin)).await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn the_control_api_returns_the_acknowledgement_of_a_command_and_lists_its_answer() {
    let world = World::open().await;
    let typed = json!({ "user": "alice", "channel": "deploys", "text": "/list checkout" });
    let (status, ack) = post(&world, "command", typed).await;
    assert_eq!((status, &ack["status"]), (200, &json!(200)));
    assert!(ack["body"]["text"].is_string(), "{ack}");
    let messages = fetch_from_sim(&world, "messages?channel=deploys").await;
    let last = messages["messages"].as_array().unwrap().last().unwrap();
    for key in ["id", "user", "text", "blocks", "thread", "edited", "only_to"] {
        assert!(last.get(key).is_some(), "{key} is missing: {last}");
    }
    assert_eq!(last["only_to"], "alice");
}

#[tokio::test]
async fn the_control_api_sends_messages_and_clicks_and_refuses_an_unknown_button() {
    let world = World::open().await;
    let (status, sent) = post(&world, "say", json!({ "user": "alice", "channel": "@gantry", "text": "list qa" })).await;
    assert_eq!(status, 200, "{sent}");
    let direct = fetch_from_sim(&world, "messages?channel=@gantry&user=alice").await;
    assert!(direct["messages"].as_array().unwrap().len() >= 2, "{direct}");

    post(&world, "command", json!({ "user": "alice", "channel": "deploys", "text": "/list" })).await;
    let messages = fetch_from_sim(&world, "messages?channel=deploys").await;
    let id = messages["messages"].as_array().unwrap().last().unwrap()["id"].clone();
    let click = json!({ "user": "alice", "channel": "deploys", "message": id, "button": "Share" });
    assert_eq!(post(&world, "click", click).await.0, 200);
    let messages = fetch_from_sim(&world, "messages?channel=deploys").await;
    assert!(messages["messages"].as_array().unwrap().last().unwrap().get("only_to").is_none());

    let unknown = json!({ "user": "alice", "channel": "deploys", "message": id, "button": "Explode" });
    let (status, refusal) = post(&world, "click", unknown).await;
    assert_eq!(status, 422);
    assert!(refusal["error"].as_str().unwrap().contains("Explode"), "{refusal}");
}

#[tokio::test]
async fn a_push_by_the_control_api_moves_the_branch_and_runs_in_its_environment() {
    let world = World::open().await;
    let before = fetch_from_sim(&world, "state").await;
    let (status, pushed) = post(&world, "push", json!({ "artefact": "checkout", "message": "Move the truth" })).await;
    assert_eq!(status, 200);
    let after = fetch_from_sim(&world, "state").await;
    assert_eq!(after["repositories"]["acme/checkout"]["branches"]["develop"], pushed["commit"]);
    let (old, new) =
        (&before["environments"]["development"]["checkout"], &after["environments"]["development"]["checkout"]);
    assert_ne!(old["version"], new["version"]);
    assert_eq!((&new["commit"], &new["state"]), (&pushed["commit"], &json!("running")));
    assert_eq!(before["environments"]["qa"], after["environments"]["qa"]);

    let hotfix =
        json!({ "artefact": "checkout", "message": "Hotfix", "branch": "prod", "files": { "src/fix.txt": "fixed\n" } });
    let (_, pushed) = post(&world, "push", hotfix).await;
    let after = fetch_from_sim(&world, "state").await;
    assert_eq!(after["environments"]["prod"]["checkout"]["commit"], pushed["commit"]);
    assert_eq!(world.public_messages("releases").len(), 1, "the hotfix is announced in the channel of prod");
}

#[tokio::test]
async fn the_demo_starts_with_all_workloads_running_and_each_environment_of_checkout_one_version_behind() {
    let world = World::open().await;
    let state = fetch_from_sim(&world, "state").await;
    let mut commits = std::collections::BTreeSet::new();
    for environment in ["development", "qa", "staging", "prod"] {
        for artefact in ["checkout", "mailer", "search", "storefront"] {
            assert_eq!(state["environments"][environment][artefact]["state"], "running", "{environment} {artefact}");
        }
        commits.insert(state["environments"][environment]["checkout"]["commit"].as_str().unwrap().to_owned());
    }
    assert_eq!(commits.len(), 4);
    for artefact in ["checkout", "mailer", "search", "storefront"] {
        for environment in ["development", "qa", "staging", "prod"] {
            let (artefact, environment) = (
                gantry::domain::model::artefact::ArtefactName::new(artefact),
                gantry::domain::model::environment::EnvironmentName::new(environment),
            );
            let sightings = world.bot.store.list_sightings(&artefact, &environment, 10).await.unwrap();
            assert!(sightings.len() >= 2, "{artefact} has an earlier version in {environment}");
        }
    }
}

#[tokio::test]
async fn the_control_api_arms_a_fault_by_name_and_refuses_an_unknown_one() {
    let world = World::open().await;
    let fault = json!({ "fault": "crash_loop", "times": 1, "artefact": "checkout", "environment": "development" });
    assert_eq!(post(&world, "fault", fault).await.0, 200);
    post(&world, "push", json!({ "artefact": "checkout", "message": "Doomed" })).await;
    assert_eq!(fetch_from_sim(&world, "state").await["environments"]["development"]["checkout"]["state"], "degraded");
    let (status, refusal) = post(&world, "fault", json!({ "fault": "meteor", "times": 1 })).await;
    assert_eq!(status, 400);
    assert!(refusal["error"].as_str().unwrap().contains("meteor"), "{refusal}");
}

#[tokio::test]
async fn the_control_api_gives_a_review_and_refuses_a_wrong_one_with_a_message() {
    let world = World::open().await;
    let review = |user: &str, number: u64, verdict: &str| json!({ "user": user, "repository": "acme/checkout", "number": number, "verdict": verdict });
    let (status, refusal) = post(&world, "review", review("bob", 1, "approve")).await;
    assert_eq!((status, &refusal["error"]), (404, &json!("There is no pull request 1 in acme/checkout.")));

    let number = world.sim.github.open_pull("acme/checkout", "alice", "Ship it", "develop", "prod", "").unwrap();
    assert_eq!(number, 1);
    let state = fetch_from_sim(&world, "state").await;
    let url = format!("{}/sim/github/acme/checkout/pull/1", world.origin);
    let expected =
        json!([{ "number": 1, "title": "Ship it", "url": url, "head": "develop", "base": "prod", "state": "open" }]);
    assert_eq!(state["repositories"]["acme/checkout"]["pulls"], expected);

    let refusals = [
        (review("bob", 1, "maybe"), "`maybe` is no verdict: use `approve`, `request_changes` or `comment`."),
        (review("zoe", 1, "approve"), "There is no `zoe` on GitHub."),
        (review("alice", 1, "approve"), "Can not approve your own pull request"),
    ];
    for (body, sentence) in refusals {
        let (status, refusal) = post(&world, "review", body).await;
        assert_eq!((status, &refusal["error"]), (422, &json!(sentence)));
    }
    for verdict in ["approve", "request_changes", "comment"] {
        assert_eq!(post(&world, "review", review("bob", 1, verdict)).await.0, 200);
    }
    let reviews = fetch_from_sim(&world, "github/repos/acme/checkout/pulls/1/reviews").await;
    let given: Vec<_> = reviews.as_array().unwrap().iter().map(|review| review["state"].as_str().unwrap()).collect();
    assert_eq!(given, ["APPROVED", "CHANGES_REQUESTED", "COMMENTED"]);
    world.sim.github.merge_pull("acme/checkout", 1, "bob").unwrap();
    world.settle().await;
    assert_eq!(fetch_from_sim(&world, "state").await["repositories"]["acme/checkout"]["pulls"][0]["state"], "merged");
}

#[tokio::test]
async fn the_page_of_a_pull_request_accepts_forms_of_its_own_origin_only() {
    let world = World::open().await;
    world.sim.github.open_pull("acme/checkout", "alice", "Ship it", "develop", "prod", "").unwrap();
    let form = |origin: &str| {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let url = format!("{}/sim/github/acme/checkout/pull/1/approve", world.origin);
        let request =
            client.post(url).header("origin", origin).header("content-type", "application/x-www-form-urlencoded");
        request.body("user=bob&body=Fine").send()
    };
    for (origin, status) in [("https://evil.example", 403), ("null", 403), (world.origin.as_str(), 303)] {
        assert_eq!(form(origin).await.unwrap().status().as_u16(), status, "{origin}");
    }
    world.settle().await;
    let reviews = fetch_from_sim(&world, "github/repos/acme/checkout/pulls/1/reviews").await;
    assert_eq!(reviews.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_control_api_refuses_to_submit_an_unknown_modal_and_shows_the_home() {
    let world = World::open().await;
    let (status, refusal) = post(&world, "submit", json!({ "user": "bob", "view": "V1", "values": {} })).await;
    assert_eq!(status, 422, "{refusal}");
    assert!(fetch_from_sim(&world, "home?user=alice&open=true").await.is_null(), "alice has not opened it yet");
    assert_eq!(fetch_from_sim(&world, "home?user=alice").await["type"], "home");
    let messages = fetch_from_sim(&world, "messages?channel=deploys&user=bob").await;
    assert_eq!(messages["views"], json!([]), "no modal is open");
    assert!(
        fetch_from_sim(&world, "messages?channel=deploys").await.get("views").is_none(),
        "without a user there are no views"
    );
}

#[tokio::test]
async fn production_in_the_demo_needs_a_pull_request_and_an_approval_and_has_a_short_soak_time() {
    let world = World::open().await;
    let environment = world.bot.config.catalogue.ladder.find("prod").unwrap();
    let policy = &environment.policy;
    assert_eq!(environment.promotion_method, gantry::domain::model::environment::PromotionMethod::PullRequest);
    assert_eq!(policy.approvals.as_ref().map(|approvals| approvals.required), Some(1));
    assert!(policy.soak.is_some_and(|soak| soak <= jiff::SignedDuration::from_secs(10)));
    assert!(policy.freezes.is_empty() && !policy.overriders.is_empty());
    assert_eq!(world.bot.store.list_locks(None).await.unwrap(), []);
}
