//! The bot is killed at any moment and started again: no message is lost, at most one message is posted twice, and a
//! promotion continues by itself and ends once.

use std::collections::BTreeMap;
use std::time::Duration;

use gantry::domain::model::version::Sha;
use gantry::sim::faults::Fault;

use crate::harness::process::{KillPoint, PauseWhen, ProcessHarness, kill_in_lanes, wait_until};
use crate::harness::world::{has_button, render_message};

/// Each round kills the bot a little later than the round before.
const ROUNDS: u64 = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_any_moment_loses_no_message() {
    let mut harness = ProcessHarness::open().await;
    let text_of_round = |round: u64| format!("Round {round} ");
    for round in 0..ROUNDS {
        harness.world.push("checkout", "develop", &format!("Round {round}"), BTreeMap::new(), "alice").unwrap();
        // The kill strikes during the build, the rollout, the write to the store or the announcement. The delay must be
        // real.
        tokio::time::sleep(Duration::from_millis(90 * (round + 1))).await;
        harness.restart().await;
        wait_until("the push of this round is announced", async || {
            harness.count_messages_with(&text_of_round(round)) > 0
        })
        .await;
    }
    // A repeated message would be posted before this one, because both use the same queue, or be left in the outbox.
    harness.world.push("checkout", "develop", "The last push of all", BTreeMap::new(), "alice").unwrap();
    wait_until("the last push is announced", async || harness.count_messages_with("The last push of all") > 0).await;
    harness.wait_until_idle().await;
    for round in 0..ROUNDS {
        let count = harness.count_messages_with(&text_of_round(round));
        assert!((1..=2).contains(&count), "round {round} was announced {count} times");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_from_before_a_kill_still_names_the_commit_after_it() {
    let mut harness = ProcessHarness::open().await;
    harness.world.faults.arm(Fault::SlowRollout, 2, Some("mailer".into()), Some("development".into()));
    let file = BTreeMap::from([("mailer/a.txt".to_owned(), Some("a".to_owned()))]);
    let pushed = harness.world.push("mailer", "develop", "Mails in blue", file, "alice").unwrap();
    let workload = "statefulset/mailer".parse().unwrap();
    let before = harness.world.cluster.state("development", &workload).image;
    wait_until("the rollout begins", async || harness.world.cluster.state("development", &workload).image != before)
        .await;
    // During the rollout, only the controller's report names the commit, and the controller sends it once.
    let image = harness.world.cluster.state("development", &workload).image.unwrap();
    let sighting = "sighting WHERE artefact = 'mailer' AND environment = 'development' AND tag = $1";
    harness.wait_until_stored(sighting, image.rsplit_once(':').unwrap().1).await;
    let event = serde_json::json!({
        "involvedObject": { "kind": "Kustomization", "name": "mailer", "namespace": "flux-system" },
        "severity": "info", "timestamp": harness.world.clock.now().to_string(), "reason": "ReconciliationSucceeded",
        "message": "Reconciliation finished", "metadata": { "revision": format!("develop@sha1:{pushed}") },
    });
    let signature = crate::harness::signing::hex_hmac("flux-secret-of-development", &[event.to_string().as_bytes()]);
    let request = reqwest::Client::new()
        .post(format!("http://{}/webhooks/flux/development", harness.address))
        .header("x-signature", format!("sha256={signature}"))
        .body(event.to_string());
    assert_eq!(request.send().await.unwrap().status(), 202);
    harness.wait_until_idle().await;
    harness.restart().await;
    wait_until("the commit is announced", async || {
        let messages = harness.messages().iter().map(render_message).collect::<Vec<_>>();
        messages.iter().any(|text| text.contains("*mailer*") && text.contains("Mails in blue"))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promotion_happens_once_if_the_bot_is_killed_before_any_of_its_requests() {
    kill_at_every_request(PauseWhen::BeforeTheEffect, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promotion_happens_once_if_the_bot_is_killed_after_any_of_its_requests() {
    kill_at_every_request(PauseWhen::AfterTheEffect, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promotion_by_pull_request_happens_once_if_the_bot_is_killed_before_any_of_its_requests() {
    kill_at_every_request(PauseWhen::BeforeTheEffect, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promotion_by_pull_request_happens_once_if_the_bot_is_killed_after_any_of_its_requests() {
    kill_at_every_request(PauseWhen::AfterTheEffect, true).await;
}

/// Runs one promotion for each request that a promotion makes. At that request the bot is killed and started again.
async fn kill_at_every_request(pause: PauseWhen, by_pull: bool) {
    let by_both = ["/merges", "/git/tags", "POST /sim/github/repos/acme/checkout/git/refs", "chat.postMessage"];
    let by_pull_alone = ["POST /sim/github/repos/acme/checkout/pulls", "/merge"];
    let named = if by_pull { [&by_both[..], &by_pull_alone].concat() } else { by_both.to_vec() };
    kill_in_lanes(&named, |points| kill_at_points(points, pause, by_pull)).await;
}

async fn kill_at_points(points: Vec<KillPoint>, pause: PauseWhen, by_pull: bool) {
    let qa = "    cluster: { namespace: qa }\n";
    let by_pull_request = format!("{qa}    promote: pull_request\n");
    let mut harness =
        ProcessHarness::with_config(|yaml| if by_pull { yaml.replace(qa, &by_pull_request) } else { yaml }).await;
    let mut paused_at = Vec::new();
    for (round, point) in points.into_iter().enumerate() {
        let pinned =
            harness.world.push("checkout", "develop", &format!("Push {round}"), BTreeMap::new(), "alice").unwrap();
        wait_until("the push runs", async || harness.count_messages_with(&format!("Push {round} ")) > 0).await;
        // The observer compares commits in the background; these requests are not part of the promotion.
        harness.wait_until_stored("comparison WHERE head = $1", pinned.as_str()).await;
        harness.wait_until_idle().await;

        if !by_pull {
            harness.interceptor.pause_at(point, pause);
        }
        let ack = harness.world.slack.type_command("alice", "deploys", "/promote checkout qa").await.unwrap();
        assert_eq!(ack.status, 200);
        if by_pull {
            let plan = || {
                harness
                    .world
                    .slack
                    .messages("deploys", Some("alice"))
                    .into_iter()
                    .rfind(|message| has_button(message, "Confirm"))
            };
            let is_for_commit = |plan: &gantry::sim::slack::Message| render_message(plan).contains(pinned.short());
            wait_until("the plan is shown", async || plan().as_ref().is_some_and(is_for_commit)).await;
            harness.interceptor.pause_at(point, pause);
            harness.world.slack.click("alice", "deploys", &plan().unwrap().id, "Confirm").await.unwrap();
        }
        let version = format!("`develop-{}`", pinned.short());
        let ended = |harness: &ProcessHarness| {
            let is_running = |text: String| text.contains(&version) && text.contains("running in *qa*");
            harness.messages().iter().any(|message| message.thread.is_some() && is_running(render_message(message)))
        };
        wait_until("a request is paused, or the promotion ends", async || {
            harness.interceptor.paused_request().is_some() || ended(&harness)
        })
        .await;
        let Some(request) = harness.interceptor.paused_request() else {
            pause.assert_is_beyond_last_request(point, 9, &paused_at);
            return;
        };
        let killed_at = request.clone();
        paused_at.push(request);
        harness.kill();
        harness.interceptor.resume();
        harness.restart().await;
        wait_until(&format!("the promotion ends, though killed at {killed_at}"), async || ended(&harness)).await;

        let (github, name) = (&harness.world.github, "acme/checkout");
        let graph = github.graph(name, 1000);
        let merges: Vec<_> = graph.iter().filter(|commit| commit.parents.get(1) == Some(&pinned)).collect();
        assert_eq!(merges.len(), 1, "one merge, though killed at {killed_at}");
        // With a pull request, this merge is the frozen commit, and its merge into the branch is the result.
        let result = |frozen: &Sha| {
            graph.iter().find(|commit| commit.parents.get(1) == Some(frozen)).map(|commit| commit.sha.clone())
        };
        let result = if by_pull { result(&merges[0].sha).expect("a merge") } else { merges[0].sha.clone() };
        let branches_left = github.branches(name).into_keys().filter(|branch| branch.starts_with("gantry/")).count();
        assert_eq!(branches_left, 0, "no branch of Gantry is left, though killed at {killed_at}");
        let tags = github.tags(name);
        let tags_of_result = tags.values().filter(|commit| **commit == result).count();
        assert_eq!(tags_of_result, 1, "one tag, though killed at {killed_at}");
        let cards = harness
            .messages()
            .iter()
            .filter(|message| {
                render_message(message).contains(&version) && render_message(message).contains("asked by")
            })
            .count();
        assert!((1..=2).contains(&cards), "{cards} cards, though killed at {killed_at}");
    }
    panic!("a promotion made a hundred requests: {paused_at:#?}");
}
