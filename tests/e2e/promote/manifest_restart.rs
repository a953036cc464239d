//! A promotion by manifest ends with one commit although the bot is killed at any of its requests and restarted.

use std::collections::BTreeMap;

use gantry::sim::github::{Author, NewCommit};

use crate::harness::manifest::{GITOPS, IMAGE, path};
use crate::harness::process::{KillPoint, PauseWhen, ProcessHarness, kill_in_lanes, wait_until};
use crate::harness::world::render_message;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promotion_by_manifest_writes_once_if_the_bot_is_killed_before_any_request() {
    kill_at_every_request(PauseWhen::BeforeTheEffect).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promotion_by_manifest_writes_once_if_the_bot_is_killed_after_any_request() {
    kill_at_every_request(PauseWhen::AfterTheEffect).await;
}

async fn kill_at_every_request(pause: PauseWhen) {
    let path_suffixes =
        ["/git/trees", "/git/commits", "/git/refs/heads/main", "/git/tags", "/search/git/refs", "chat.postMessage"];
    kill_in_lanes(&path_suffixes, |points| kill_at_points(points, pause)).await;
}

async fn kill_at_points(points: Vec<KillPoint>, pause: PauseWhen) {
    let mut harness = ProcessHarness::open().await;
    let mut held_at = Vec::new();
    for (round, point) in points.into_iter().enumerate() {
        let pinned =
            harness.world.push("search", "develop", &format!("Push {round}"), BTreeMap::new(), "alice").unwrap();
        wait_until("the push runs", async || harness.count_messages_with(&format!("Push {round} ")) > 0).await;
        let tag = running_tag(&harness, "development");
        // The observer compares commits in the background; these requests are not part of the promotion.
        harness.wait_until_stored("comparison WHERE head = $1", pinned.as_str()).await;
        harness.wait_until_idle().await;

        harness.interceptor.pause_at(point, pause);
        let ack = harness.world.slack.type_command("alice", "deploys", "/promote search qa").await.unwrap();
        assert_eq!(ack.status, 200);
        let version = format!("*search* `{tag}`");
        let has_ended = |harness: &ProcessHarness| {
            let is_green = |text: String| text.contains(&version) && text.contains("running in *qa*");
            harness.messages().iter().any(|message| message.thread.is_some() && is_green(render_message(message)))
        };
        wait_until("the promotion is paused or ends", async || {
            harness.interceptor.paused_request().is_some() || has_ended(&harness)
        })
        .await;
        let Some(request) = harness.interceptor.paused_request() else {
            pause.assert_is_beyond_last_request(point, 12, &held_at);
            return;
        };
        let request_name = &request.clone();
        held_at.push(request);
        harness.kill();
        harness.interceptor.resume();
        // Another person commits while the bot is down.
        commit_by_another_person(&harness, round);
        harness.restart().await;
        wait_until(&format!("the promotion ends, though killed at {request_name}"), async || has_ended(&harness)).await;

        let github = &harness.world.github;
        let subject = format!("Promote search {tag} to qa");
        let written = github.graph(GITOPS, 1000).iter().filter(|commit| commit.subject == subject).count();
        assert_eq!(written, 1, "one commit, though killed at {request_name}");
        let text = github.read_file(GITOPS, &github.head(GITOPS, "main").unwrap(), &path("qa")).unwrap();
        assert!(text.contains(&format!("newTag: \"{tag}\"")), "{request_name}: {text}");
        assert_eq!(running_tag(&harness, "qa"), tag, "{request_name}");
        let tags = github.tags("acme/search");
        assert_eq!(
            tags.values().filter(|commit| **commit == pinned).count(),
            1,
            "one tag, though killed at {request_name}"
        );
        let cards = harness
            .messages()
            .iter()
            .filter(|message| {
                render_message(message).contains(&version) && render_message(message).contains("asked by")
            })
            .count();
        assert!((1..=2).contains(&cards), "{cards} cards, though killed at {request_name}");
    }
    panic!("a promotion makes more requests than there are kill points: {held_at:#?}");
}

fn commit_by_another_person(harness: &ProcessHarness, round: usize) {
    let commit = NewCommit {
        repository: GITOPS.to_owned(),
        branch: "main".to_owned(),
        message: "Notes".to_owned(),
        author: Author { name: "Bob".into(), email: "bob@acme.example".into(), login: None },
        files: BTreeMap::from([("notes.md".to_owned(), Some(format!("{round}\n")))]),
        at: harness.world.clock.now(),
    };
    harness.world.github.commit(commit).unwrap();
}

fn running_tag(harness: &ProcessHarness, environment: &str) -> String {
    let image = harness.world.cluster.state(environment, &"deployment/search".parse().unwrap()).image;
    image.and_then(|image| image.strip_prefix(&format!("{IMAGE}:")).map(str::to_owned)).expect("a tag")
}
