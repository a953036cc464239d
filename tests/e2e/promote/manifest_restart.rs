//! The bot is killed at each request of a promotion by manifest, and started again: one commit, and it ends.

use std::collections::BTreeMap;

use gantry::sim::github::{Author, NewCommit};

use crate::harness::process::{Apart, Hold, KillPoint, kill_in_lanes, until};
use crate::harness::world::shown;
use crate::promote::by_manifest::{GITOPS, IMAGE, path};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promotion_that_is_killed_before_any_of_its_requests_writes_once() {
    killed_at_every_request(Hold::BeforeTheEffect).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promotion_that_is_killed_after_any_of_its_requests_writes_once() {
    killed_at_every_request(Hold::AfterTheEffect).await;
}

async fn killed_at_every_request(hold: Hold) {
    let named =
        ["/git/trees", "/git/commits", "/git/refs/heads/main", "/git/tags", "/search/git/refs", "chat.postMessage"];
    kill_in_lanes(&named, |points| killed_at(points, hold)).await;
}

async fn killed_at(points: Vec<KillPoint>, hold: Hold) {
    let mut apart = Apart::open().await;
    let mut held_at = Vec::new();
    for (round, point) in points.into_iter().enumerate() {
        let pinned = apart.town.push("search", "develop", &format!("Push {round}"), BTreeMap::new(), "alice").unwrap();
        until("the push runs", async || apart.says(&format!("Push {round} ")) > 0).await;
        let tag = runs(&apart, "development");
        // The observer compares commits in the background; these requests are not part of the promotion.
        apart.until_stored("comparison WHERE head = $1", pinned.as_str()).await;
        apart.until_idle().await;

        apart.gate.close_at(point, hold);
        let ack = apart.town.slack.type_command("alice", "deploys", "/promote search qa").await.unwrap();
        assert_eq!(ack.status, 200);
        let version = format!("*search* `{tag}`");
        let ended = |apart: &Apart| {
            let green = |text: String| text.contains(&version) && text.contains("running in *qa*");
            apart.messages().iter().any(|message| message.thread.is_some() && green(shown(message)))
        };
        until("it is held, or it ends", async || apart.gate.held().is_some() || ended(&apart)).await;
        let Some(request) = apart.gate.held() else {
            hold.assert_is_beyond_last_request(point, 12, &held_at);
            return;
        };
        let name = &request.clone();
        held_at.push(request);
        apart.kill();
        apart.gate.open();
        // Somebody else writes while nobody is there.
        elsewhere(&apart, round);
        apart.restart().await;
        until(&format!("it ends, though killed at {name}"), async || ended(&apart)).await;

        let github = &apart.town.github;
        let subject = format!("Promote search {tag} to qa");
        let written = github.graph(GITOPS, 1000).iter().filter(|commit| commit.subject == subject).count();
        assert_eq!(written, 1, "one commit, though killed at {name}");
        let text = github.read_file(GITOPS, &github.head(GITOPS, "main").unwrap(), &path("qa")).unwrap();
        assert!(text.contains(&format!("newTag: \"{tag}\"")), "{name}: {text}");
        assert_eq!(runs(&apart, "qa"), tag, "{name}");
        let tags = github.tags("acme/search");
        assert_eq!(tags.values().filter(|commit| **commit == pinned).count(), 1, "one tag, though killed at {name}");
        let cards = apart
            .messages()
            .iter()
            .filter(|message| shown(message).contains(&version) && shown(message).contains("asked by"))
            .count();
        assert!((1..=2).contains(&cards), "{cards} cards, though killed at {name}");
    }
    panic!("a promotion makes no hundred requests: {held_at:#?}");
}

fn elsewhere(apart: &Apart, round: usize) {
    let commit = NewCommit {
        repository: GITOPS.to_owned(),
        branch: "main".to_owned(),
        message: "Notes".to_owned(),
        author: Author { name: "Bob".into(), email: "bob@acme.example".into(), login: None },
        files: BTreeMap::from([("notes.md".to_owned(), Some(format!("{round}\n")))]),
        at: apart.town.clock.now(),
    };
    apart.town.github.commit(commit).unwrap();
}

fn runs(apart: &Apart, environment: &str) -> String {
    let image = apart.town.cluster.state(environment, &"deployment/search".parse().unwrap()).image;
    image.and_then(|image| image.strip_prefix(&format!("{IMAGE}:")).map(str::to_owned)).expect("a tag")
}
