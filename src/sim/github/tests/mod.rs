//! The simulated GitHub, asked by octocrab over HTTP, and its Git checked by `git` itself.

mod api;
mod by_git;
mod merges;
mod writes;

use std::collections::BTreeMap;

use jiff::Timestamp;
use octocrab::Octocrab;
use serde_json::Value;

use super::{Author, GitHub, NewCommit, Sha};
use crate::clock::Clock;
use crate::sim::faults::Faults;
use crate::sim::strays::Strays;

const REPOSITORY: &str = "acme/checkout";

/// GitHub on a port of its own, under a prefix as in the demo, with one repository.
struct Town {
    github: GitHub,
    clock: Clock,
    faults: Faults,
    strays: Strays,
    url: String,
}

impl Town {
    async fn open() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Clock::by_hand("2026-11-16T09:00:00Z".parse().unwrap());
        let (faults, strays) = (Faults::default(), Strays::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/sim/github", listener.local_addr().unwrap());
        let github = GitHub::new(clock.clone(), faults.clone(), strays.clone(), url.clone());
        github.create_repository(REPOSITORY, "develop").unwrap();
        let app = axum::Router::new().nest("/sim/github", github.router());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { github, clock, faults, strays, url }
    }

    /// With `develop` of three commits and `qa` at the second.
    async fn with_history() -> Self {
        let town = Self::open().await;
        town.commit("develop", "Add the cart\n\nIt holds things.", &[("src/cart.rs", "one\ntwo\nthree\n")]);
        let second = town.commit("develop", "Add a price", &[("src/price.rs", "12\n"), ("README.md", "# Checkout\n")]);
        town.github.create_branch(REPOSITORY, "qa", &second).unwrap();
        town.commit("develop", "Round the price", &[("src/price.rs", "12.00\n")]);
        town
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

    async fn send(&self, request: reqwest::RequestBuilder) -> (u16, Value) {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or_default())
    }
}

fn alice() -> Author {
    Author { name: "Alice".to_owned(), email: "alice@acme.test".to_owned(), login: Some("alice-gh".to_owned()) }
}

fn new_commit(branch: &str, message: &str, files: BTreeMap<String, Option<String>>, at: Timestamp) -> NewCommit {
    let (repository, branch, message) = (REPOSITORY.to_owned(), branch.to_owned(), message.to_owned());
    NewCommit { repository, branch, message, author: alice(), files, at }
}

/// Status and message of an error that octocrab met.
fn refusal<T: std::fmt::Debug>(answer: octocrab::Result<T>) -> (u16, String) {
    match answer.unwrap_err() {
        octocrab::Error::GitHub { source, .. } => (source.status_code.as_u16(), source.message),
        other => panic!("not an answer of GitHub: {other:?}"),
    }
}

fn says(status: u16, message: &str) -> (u16, String) {
    (status, message.to_owned())
}
