//! Helpers of tests on manifest delivery: the repository of manifests, its files and its commits.

use gantry::domain::model::version::Sha;
use gantry::sim::github::{Author, NewCommit};
use gantry::sim::world as sim;
use gantry::sim::world::GITHUB_TOKEN;
use jiff::SignedDuration;
use serde_json::Value;

use crate::harness::world::{World, redact_origin_and_ids};

pub(crate) const GITOPS: &str = "acme/gitops";

pub(crate) const IMAGE: &str = "ghcr.io/acme/search";

/// The delivery of `search` in the world's configuration.
pub(crate) const DELIVERY: &str =
    "manifest: { repository: acme/gitops, file: \"envs/{environment}/search/kustomization.yaml\" }";

pub(crate) fn path(environment: &str) -> String {
    format!("envs/{environment}/search/kustomization.yaml")
}

pub(crate) fn head(world: &World) -> Sha {
    world.sim.github.head(GITOPS, "main").expect("a branch")
}

pub(crate) fn text(world: &World, path: &str) -> String {
    world.sim.github.read_file(GITOPS, &head(world), path).expect("the file")
}

/// Bob's commit to the manifests; `None` deletes a file.
pub(crate) fn put(sim: &sim::World, files: &[(&str, Option<&str>)]) -> Sha {
    put_in(sim, GITOPS, "main", files)
}

pub(crate) fn put_in(sim: &sim::World, repository: &str, branch: &str, files: &[(&str, Option<&str>)]) -> Sha {
    let files = files.iter().map(|(path, content)| ((*path).to_owned(), content.map(str::to_owned)));
    let author = Author { name: "Bob Brandt".into(), email: "bob@acme.example".into(), login: Some("bob".into()) };
    let commit = NewCommit {
        repository: repository.to_owned(),
        branch: branch.to_owned(),
        message: "By hand".to_owned(),
        author,
        files: files.collect(),
        at: sim.clock.now(),
    };
    sim.github.commit(commit).unwrap()
}

/// The image reference of search's container, with its tag or digest.
pub(crate) fn running_image(world: &World, environment: &str) -> String {
    world.sim.cluster.state(environment, &"deployment/search".parse().unwrap()).image.expect("an image")
}

/// Pushes a commit and waits until it runs in development. Returns the commit and the tag that CI gave it.
pub(crate) async fn push_and_settle(world: &World, message: &str) -> (Sha, String) {
    let sha = world.push("search", message).parse().unwrap();
    world.settle().await;
    (sha, world.running_tag("search", "development"))
}

/// Gantry's commits to the manifests, newest first.
pub(crate) fn list_own_commits(world: &World) -> Vec<Sha> {
    let graph = world.sim.github.graph(GITOPS, 200);
    let is_own = |subject: &str| subject.starts_with("Promote ") || subject.starts_with("Roll ");
    graph.into_iter().filter(|commit| is_own(&commit.subject)).map(|commit| commit.sha).collect()
}

pub(crate) fn parents(world: &World, repository: &str, commit_sha: &Sha) -> Vec<Sha> {
    let graph = world.sim.github.graph(repository, 200);
    graph.into_iter().find(|commit| commit.sha == *commit_sha).expect("a commit").parents
}

/// An answer of GitHub's API.
pub(crate) async fn api(world: &World, path: &str) -> Value {
    let url = format!("{}/sim/github{path}", world.origin);
    let response = reqwest::Client::new().get(url).bearer_auth(GITHUB_TOKEN).send().await.unwrap();
    response.json().await.unwrap()
}

/// The newest card of a channel.
pub(crate) fn card(world: &World, channel: &str) -> String {
    world.public_messages(channel).into_iter().rfind(|text| text.contains("asked by")).expect("a card")
}

/// Replaces Gantry's commits by names, because they differ in each run.
pub(crate) fn redact_own_commits(world: &World, text: &str) -> String {
    let all = list_own_commits(world);
    let text = all.iter().rev().enumerate().fold(text.to_owned(), |text, (nth, sha)| {
        let name = format!("<ours {}>", nth + 1);
        text.replace(sha.as_str(), &name).replace(sha.short(), &name)
    });
    redact_origin_and_ids(world, &text)
}

/// Replaces the delivery of `search` in the configuration.
pub(crate) fn replace_delivery(yaml: &str, delivery: &str) -> String {
    let changed = yaml.replace(DELIVERY, delivery);
    assert_ne!(changed, yaml);
    changed
}

/// Delivers `checkout` by manifest too, in the same repository.
pub(crate) fn deliver_checkout_by_manifest(yaml: &str) -> String {
    let file = "manifest: { repository: acme/gitops, file: \"envs/{environment}/checkout/kustomization.yaml\" }";
    let by_branch = "    workload: deployment/checkout\n    delivery: branch\n";
    yaml.replace(by_branch, &format!("    workload: deployment/checkout\n    delivery:\n      {file}\n"))
}

/// Moves the clock until the condition holds. For worlds with a paused request, in which `settle` would not return.
pub(crate) async fn advance_until(world: &World, condition: &dyn Fn() -> bool) {
    for _ in 0..400 {
        if condition() {
            return;
        }
        world.clock.advance(SignedDuration::from_millis(250));
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the condition never held: {:#?}", world.public_messages("deploys"));
}

/// Pushes a newer version and promotes it to qa. Returns its tag.
pub(crate) async fn promote_newer(world: &World, message: &str) -> String {
    let (_, tag) = push_and_settle(world, message).await;
    world.alice().types("/promote search qa").await;
    assert_eq!(running_image(world, "qa"), format!("{IMAGE}:{tag}"), "{}", world.alice().reads());
    tag
}
