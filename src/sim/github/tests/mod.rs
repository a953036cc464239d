//! The simulated GitHub over HTTP with octocrab, and its Git objects checked by `git` itself.

mod api;
mod by_git;
mod costs;
mod database;
mod merges;
mod merging;
mod page;
mod people;
mod pulls;
mod reviews;
mod webhooks;
mod writes;

use std::collections::BTreeMap;

use jiff::Timestamp;
use octocrab::Octocrab;
use serde_json::Value;

use super::{Author, GitHub, NewCommit, Sha};
use crate::clock::Clock;
use crate::sim::faults::Faults;
use crate::sim::unknown_requests::UnknownRequests;

const REPOSITORY: &str = "acme/checkout";

/// GitHub on a port of its own, under a prefix as in the demo, with one repository.
struct World {
    github: GitHub,
    clock: Clock,
    faults: Faults,
    unknown_requests: UnknownRequests,
    url: String,
}

impl World {
    async fn open() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Clock::new_manual("2026-11-16T09:00:00Z".parse().unwrap());
        let (faults, unknown_requests) = (Faults::default(), UnknownRequests::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/sim/github", listener.local_addr().unwrap());
        let github = GitHub::new(clock.clone(), faults.clone(), unknown_requests.clone(), url.clone());
        github.create_repository(REPOSITORY, "develop").unwrap();
        let app = axum::Router::new().nest("/sim/github", github.router());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { github, clock, faults, unknown_requests, url }
    }

    /// `develop` has three commits, and `qa` is at the second.
    async fn with_history() -> Self {
        let world = Self::open().await;
        world.commit("develop", "Add the cart\n\nIt holds things.", &[("src/cart.rs", "one\ntwo\nthree\n")]);
        let second = world.commit("develop", "Add a price", &[("src/price.rs", "12\n"), ("README.md", "# Checkout\n")]);
        world.github.create_branch(REPOSITORY, "qa", &second).unwrap();
        world.commit("develop", "Round the price", &[("src/price.rs", "12.00\n")]);
        world
    }

    fn commit(&self, branch: &str, message: &str, files: &[(&str, &str)]) -> Sha {
        self.clock.advance(jiff::SignedDuration::from_secs(60));
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect();
        self.github.commit(new_commit(branch, message, files, self.clock.now())).unwrap()
    }

    fn head(&self, branch: &str) -> Sha {
        self.github.head(REPOSITORY, branch).unwrap()
    }

    fn octocrab(&self) -> Octocrab {
        Octocrab::builder()
            .base_uri(self.url.as_str())
            .unwrap()
            .add_retry_config(octocrab::service::middleware::retry::RetryConfig::None)
            .personal_token("a-token")
            .build()
            .unwrap()
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.send(reqwest::Client::new().get(format!("{}{path}", self.url))).await
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = reqwest::Client::new().post(format!("{}{path}", self.url)).bearer_auth("a-token");
        self.send(request.json(body)).await
    }

    async fn put(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send(reqwest::Client::new().put(format!("{}{path}", self.url)).bearer_auth("a-token").json(body)).await
    }

    async fn patch(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send(reqwest::Client::new().patch(format!("{}{path}", self.url)).bearer_auth("a-token").json(body)).await
    }

    /// `prod` is at the same commit as `qa`. The bot's pull request 1 is from `gantry/x` into `prod`.
    async fn with_pull() -> Self {
        let world = Self::with_history().await;
        world.github.create_branch(REPOSITORY, "prod", &world.head("qa")).unwrap();
        world.github.create_branch(REPOSITORY, "gantry/x", &world.head("develop")).unwrap();
        let (status, _) = world.post("/repos/acme/checkout/pulls", &new_pull("gantry/x", "prod")).await;
        assert_eq!(status, 201);
        world.add_person("bob");
        world
    }

    /// Adds an account.
    fn add_person(&self, login: &str) {
        let (name, email) = (login.to_uppercase(), format!("{login}@acme.test"));
        self.github.add_person(&Author { name, email, login: Some(login.to_owned()) });
    }

    /// The `mergeable_state` of pull request 1. The first request starts the test merge.
    async fn mergeable_state(&self) -> String {
        self.get("/repos/acme/checkout/pulls/1").await;
        let (_, pull) = self.get("/repos/acme/checkout/pulls/1").await;
        pull["mergeable_state"].as_str().unwrap().to_owned()
    }

    /// Tries to merge pull request 1, and returns the status and message.
    async fn merge(&self) -> (u16, String) {
        extract_message(self.put("/repos/acme/checkout/pulls/1/merge", &serde_json::json!({})).await)
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> (u16, Value) {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or_default())
    }
}

fn new_pull(head: &str, base: &str) -> Value {
    serde_json::json!({ "title": "Promote checkout", "head": head, "base": base, "body": "What it brings." })
}

/// Status and message. If the answer has details of a failed validation, they replace the message.
fn extract_message((status, answer): (u16, Value)) -> (u16, String) {
    let error = &answer["errors"][0];
    let message = error.as_str().or_else(|| error["message"].as_str()).map(str::to_owned);
    let field = error["field"].as_str().map(|field| format!("{field}: {}", error["code"].as_str().unwrap()));
    (status, message.or(field).unwrap_or_else(|| answer["message"].as_str().unwrap_or_default().to_owned()))
}

fn alice() -> Author {
    Author { name: "Alice".to_owned(), email: "alice@acme.test".to_owned(), login: Some("alice-gh".to_owned()) }
}

fn new_commit(branch: &str, message: &str, files: BTreeMap<String, Option<String>>, at: Timestamp) -> NewCommit {
    let (repository, branch, message) = (REPOSITORY.to_owned(), branch.to_owned(), message.to_owned());
    NewCommit { repository, branch, message, author: alice(), files, at }
}

/// Status and message of an error from octocrab.
fn unwrap_github_error<T: std::fmt::Debug>(answer: octocrab::Result<T>) -> (u16, String) {
    match answer.unwrap_err() {
        octocrab::Error::GitHub { source, .. } => (source.status_code.as_u16(), source.message),
        other => panic!("not an answer of GitHub: {other:?}"),
    }
}

fn status_and_message(status: u16, message: &str) -> (u16, String) {
    (status, message.to_owned())
}
