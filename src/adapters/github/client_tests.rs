//! Tests of the client against a small fake of GitHub that gives scripted responses and records requests.

use std::collections::VecDeque;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::{Arc, Auth, Client, Clock, FetchResult, GithubError, Mutex, RateLimitState, SignedDuration, Timestamp};
use crate::adapters::github::GithubCommit;
use crate::adapters::github::refs::MAX_TAG_DEPTH;
use crate::domain::model::artefact::Repository;

pub(in crate::adapters::github) const SHA: &str = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";
const TREE: &str = "77777770000000000000000000000000000000bb";
const PARENT: &str = "4f1c2ab0000000000000000000000000000000aa";

#[derive(Clone, Default)]
pub(in crate::adapters::github) struct FakeGithub(Arc<Mutex<Script>>);

type HeaderPairs = Vec<(&'static str, String)>;

#[derive(Default)]
struct Script {
    answers: VecDeque<(u16, HeaderPairs, Value)>,
    requests: Vec<String>,
    written: Vec<Value>,
    authorised_by: Vec<String>,
    conditions: Vec<Option<String>>,
}

impl FakeGithub {
    pub(in crate::adapters::github) fn answers(self, status: u16, body: Value) -> Self {
        self.answers_with(status, vec![], body)
    }

    pub(in crate::adapters::github) fn answers_with(self, status: u16, headers: HeaderPairs, body: Value) -> Self {
        self.0.lock().unwrap().answers.push_back((status, headers, body));
        self
    }

    pub(in crate::adapters::github) fn list_requests(&self) -> Vec<String> {
        self.0.lock().unwrap().requests.clone()
    }

    /// The bodies of all write requests.
    pub(in crate::adapters::github) fn written(&self) -> Vec<Value> {
        self.0.lock().unwrap().written.clone()
    }

    /// The `If-None-Match` header of each request.
    pub(in crate::adapters::github) fn conditions(&self) -> Vec<Option<String>> {
        self.0.lock().unwrap().conditions.clone()
    }

    pub(in crate::adapters::github) async fn url(&self) -> String {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let router = Router::new().fallback(answer).with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}/sim/github")
    }

    pub(in crate::adapters::github) async fn client(&self) -> Client {
        Client::new(&self.url().await, Auth::None, clock()).unwrap()
    }
}

async fn answer(State(fake): State<FakeGithub>, request: Request) -> Response {
    let (request, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let mut script = fake.0.lock().unwrap();
    script.requests.push(format!("{} {}", request.method, request.uri));
    let condition = request.headers.get("if-none-match").map(|etag| etag.to_str().unwrap().to_owned());
    script.conditions.push(condition);
    if !body.is_empty() {
        script.written.push(serde_json::from_slice(&body).unwrap());
    }
    if let Some(by) = request.headers.get("authorization") {
        script.authorised_by.push(by.to_str().unwrap().to_owned());
    }
    let (status, headers, body) = script.answers.pop_front().expect("an unexpected request");
    let mut response = (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response();
    for (name, value) in headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

pub(in crate::adapters::github) fn clock() -> Clock {
    Clock::new_manual(Timestamp::from_second(1_000).unwrap())
}

pub(in crate::adapters::github) fn shop() -> Repository {
    "acme/shop".parse().unwrap()
}

pub(in crate::adapters::github) fn commit() -> Value {
    json!({
        "sha": SHA, "html_url": "https://github.com/acme/shop/commit/9be01d7", "node_id": "x",
        "commit": { "message": "Fix the basket\n\nIt was too small.", "tree": { "sha": TREE },
            "author": { "name": "Alice", "email": "alice@acme.dev", "date": "2026-11-16T02:03:04Z" } },
        "author": { "login": "alice" }, "parents": [{ "sha": PARENT }], "files": [],
    })
}

pub(in crate::adapters::github) fn error_body(message: &str) -> Value {
    json!({ "message": message, "documentation_url": "https://docs.github.com", "status": "4xx" })
}

#[tokio::test]
async fn a_commit_is_read_with_its_author_and_parents() {
    let fake = FakeGithub::default().answers(200, commit());
    let found = fake.client().await.resolve_commit(&shop(), "feature/a b#1").await.unwrap().unwrap();
    assert_eq!(
        found,
        GithubCommit {
            sha: SHA.parse().unwrap(),
            subject: "Fix the basket".to_owned(),
            author_name: "Alice".to_owned(),
            author_login: Some("alice".to_owned()),
            author_email: "alice@acme.dev".to_owned(),
            authored_at: Some("2026-11-16T02:03:04Z".parse().unwrap()),
            parents: vec![PARENT.parse().unwrap()],
            tree: TREE.parse().unwrap(),
            trailers: None,
            html_url: "https://github.com/acme/shop/commit/9be01d7".to_owned(),
        }
    );
    assert_eq!(fake.list_requests(), ["GET /sim/github/repos/acme/shop/commits/feature/a%20b%231?per_page=1"]);
}

#[tokio::test]
async fn an_author_without_an_account_or_with_a_deleted_one_has_no_login() {
    for author in [json!(null), json!({})] {
        let mut body = commit();
        body["author"] = author;
        let found = FakeGithub::default()
            .answers(200, body)
            .client()
            .await
            .resolve_commit(&shop(), SHA)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(found.author_login, None);
    }
}

#[tokio::test]
async fn an_unknown_reference_resolves_to_no_commit() {
    for (status, message) in
        [(404, "Not Found"), (422, "No commit found for SHA: 20240101"), (409, "Git Repository is empty.")]
    {
        let fake = FakeGithub::default().answers(status, error_body(message));
        assert_eq!(fake.client().await.resolve_commit(&shop(), "20240101").await, Ok(None), "{status}");
    }
    let fake = FakeGithub::default();
    for reference in ["", "../../user", "a//b", "."] {
        assert_eq!(fake.client().await.resolve_commit(&shop(), reference).await, Ok(None), "{reference}");
    }
    assert!(fake.list_requests().is_empty());
}

#[tokio::test]
async fn a_branch_that_looks_like_a_commit_is_not_one() {
    let fake = FakeGithub::default().answers(200, commit()).answers(200, commit());
    let client = fake.client().await;
    assert_eq!(client.find_commit_by_prefix(&shop(), "20240101").await, Ok(None));
    assert!(client.find_commit_by_prefix(&shop(), "9BE01D7").await.unwrap().is_some());
    assert_eq!(client.find_commit_by_prefix(&shop(), "main").await, Ok(None));
    assert_eq!(fake.list_requests().len(), 2);
}

#[tokio::test]
async fn a_comparison_counts_commits_in_both_directions() {
    let file = |name: &str| json!({ "filename": name, "additions": 2, "deletions": 1, "status": "modified" });
    let body = json!({
        "ahead_by": 1, "behind_by": 1, "status": "diverged", "total_commits": 1, "html_url": "https://github.com/x",
        "base_commit": { "sha": PARENT }, "merge_base_commit": { "sha": PARENT },
        "commits": [commit()], "files": [file("a.rs"), file("b.rs")],
    });
    let fake = FakeGithub::default()
        .answers(200, body)
        .answers(404, error_body("No common ancestor between 4f1c2ab and 9be01d7."));
    let client = fake.client().await;
    let FetchResult::Found(compared) = client.compare_refs(&shop(), "qa", SHA).await.unwrap() else {
        panic!("expected a comparison")
    };
    assert_eq!((compared.base.as_str(), compared.head.as_str()), (PARENT, SHA));
    assert_eq!((compared.ahead_by, compared.behind_by, compared.is_complete()), (1, 1, true));
    let counted: Vec<_> = compared.files.changed.iter().map(|file| (file.path.as_str(), file.additions)).collect();
    assert_eq!(counted, [("a.rs", 2), ("b.rs", 2)]);
    assert_eq!(fake.list_requests(), [format!("GET /sim/github/repos/acme/shop/compare/qa...{SHA}")]);
    let nothing = client.compare_refs(&shop(), PARENT, SHA).await.unwrap();
    assert!(matches!(nothing, FetchResult::Missing(why) if why.contains("ancestor")));
}

#[tokio::test]
async fn tags_resolve_to_commits_even_if_annotated() {
    let points = |kind: &str, sha: &str| json!({ "ref": "refs/tags/x", "object": { "type": kind, "sha": sha } });
    let fake = FakeGithub::default().answers(200, points("tag", PARENT)).answers(200, points("commit", SHA));
    assert_eq!(fake.client().await.resolve_tag(&shop(), "qa/2026.11.16-1").await, Ok(Some(SHA.parse().unwrap())));
    let expected = [
        "GET /sim/github/repos/acme/shop/git/ref/tags/qa/2026.11.16-1".to_owned(),
        format!("GET /sim/github/repos/acme/shop/git/tags/{PARENT}"),
    ];
    assert_eq!(fake.list_requests(), expected);

    let light = FakeGithub::default().answers(200, points("commit", SHA));
    assert_eq!(light.client().await.resolve_tag(&shop(), "v1").await, Ok(Some(SHA.parse().unwrap())));
    let tree = FakeGithub::default().answers(200, points("tree", SHA));
    assert_eq!(tree.client().await.resolve_tag(&shop(), "v1").await, Ok(None));
    let missing = FakeGithub::default().answers(404, error_body("Not Found"));
    assert_eq!(missing.client().await.resolve_tag(&shop(), "v1").await, Ok(None));
    let endless = (0..MAX_TAG_DEPTH).fold(FakeGithub::default(), |fake, _| fake.answers(200, points("tag", PARENT)));
    assert_eq!(endless.client().await.resolve_tag(&shop(), "v1").await, Ok(None));
}

#[tokio::test]
async fn a_read_is_retried_twice_while_github_is_unavailable() {
    let fake = FakeGithub::default()
        .answers(502, error_body("Bad gateway"))
        .answers(503, json!("<html>"))
        .answers(200, commit());
    assert!(fake.client().await.resolve_commit(&shop(), SHA).await.unwrap().is_some());
    let fake = FakeGithub::default().answers(502, json!("")).answers(502, json!("")).answers(500, json!(""));
    let error = fake.client().await.resolve_commit(&shop(), SHA).await.unwrap_err();
    assert_eq!(error, GithubError::Unavailable("it answered 500".to_owned()));
    assert_eq!(fake.list_requests().len(), 3);
}

#[tokio::test]
async fn an_unreachable_github_is_unavailable_with_the_reason() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::new("http://127.0.0.1:1", Auth::None, clock()).unwrap();
    let error = client.resolve_commit(&shop(), SHA).await.unwrap_err();
    assert!(matches!(&error, GithubError::Unavailable(why) if why.to_lowercase().contains("refused")), "{error}");
}

#[tokio::test]
async fn refusals_map_to_errors_and_are_not_retried() {
    let at = |seconds| Timestamp::from_second(seconds).unwrap();
    let cases = [
        (401, vec![], "Bad credentials", GithubError::Unauthorised("Bad credentials".to_owned())),
        (403, vec![], "Resource not accessible", GithubError::Unauthorised("Resource not accessible".to_owned())),
        (403, vec![("retry-after", "30")], "wait", GithubError::RateLimited { until: at(1_030) }),
        (429, vec![], "slow down", GithubError::RateLimited { until: at(1_060) }),
        (403, vec![], "You have exceeded a secondary rate limit", GithubError::RateLimited { until: at(1_060) }),
        (
            403,
            vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "2000")],
            "API",
            GithubError::RateLimited { until: at(2_000) },
        ),
        (418, vec![], "a teapot", GithubError::Other("it answered 418: a teapot".to_owned())),
    ];
    for (status, headers, message, expected) in cases {
        let headers = headers.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        let fake = FakeGithub::default().answers_with(status, headers, error_body(message));
        assert_eq!(fake.client().await.resolve_commit(&shop(), SHA).await, Err(expected), "{status} {message}");
        assert_eq!(fake.list_requests().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn no_request_is_sent_while_a_rate_limit_is_in_force() {
    let fake = FakeGithub::default()
        .answers_with(403, vec![("retry-after", "30".to_owned())], error_body("wait"))
        .answers(200, commit());
    let clock = clock();
    let client = Client::new(&fake.url().await, Auth::None, clock.clone()).unwrap();
    assert!(client.resolve_commit(&shop(), SHA).await.is_err());
    assert!(client.resolve_commit(&shop(), SHA).await.is_err());
    assert_eq!(fake.list_requests().len(), 1);
    clock.advance(SignedDuration::from_secs(30));
    assert!(client.resolve_commit(&shop(), SHA).await.is_ok());
}

#[tokio::test]
async fn the_remaining_rate_limit_is_known_after_a_response() {
    let headers = vec![("x-ratelimit-remaining", "4999".to_owned()), ("x-ratelimit-reset", "2000".to_owned())];
    let client = FakeGithub::default().answers_with(200, headers, commit()).client().await;
    assert_eq!(client.rate_limit_state(), None);
    client.resolve_commit(&shop(), SHA).await.unwrap();
    let resets_at = Some(Timestamp::from_second(2_000).unwrap());
    assert_eq!(client.rate_limit_state(), Some(RateLimitState { remaining: 4_999, resets_at }));
}

#[tokio::test]
async fn the_token_is_sent_and_never_shown() {
    let fake = FakeGithub::default().answers(401, error_body("Bad credentials"));
    let client = Client::new(&fake.url().await, Auth::Token("ghp_secret".into()), clock()).unwrap();
    let error = client.resolve_commit(&shop(), SHA).await.unwrap_err();
    assert_eq!(fake.0.lock().unwrap().authorised_by, ["Bearer ghp_secret"]);
    assert!(!format!("{error} {error:?}").contains("ghp_secret"));
}

#[tokio::test]
async fn an_unusable_key_or_address_is_an_error_at_the_start() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let app = Auth::App { id: 1, private_key: "not a key".into(), installation: 2 };
    let error = Client::new("https://api.github.com", app, clock()).err().unwrap();
    assert_eq!(error.to_string(), "GitHub's answer is of no use: the app's private key is not an RSA key in PEM form");
    assert!(Client::new("not an address", Auth::None, clock()).is_err());
}

#[tokio::test]
async fn a_response_of_an_unexpected_shape_is_an_error() {
    for body in [json!({}), json!([]), json!({ "sha": "short", "commit": {}, "author": null })] {
        let fake = FakeGithub::default().answers(200, body);
        assert!(matches!(fake.client().await.resolve_commit(&shop(), SHA).await, Err(GithubError::Other(_))));
    }
}
