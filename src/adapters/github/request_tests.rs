//! Tests of conditional requests and of limits, against a small fake of GitHub with scripted responses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::State;
use futures::future::join_all;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::*;
use crate::adapters::github::client::Auth;
use crate::adapters::github::client::tests::{FakeGithub, SHA, clock, commit, error_body, shop};
use crate::adapters::github::read_state::MAX_CONCURRENT_READS;

const FIRST: &str = "W/\"first\"";
const SECOND: &str = "\"second\"";

fn etag(etag: &str) -> Vec<(&'static str, String)> {
    vec![("etag", etag.to_owned())]
}

#[expect(clippy::unnecessary_wraps, reason = "the type of a request's header")]
fn if_none_match(etag: &str) -> Option<String> {
    Some(etag.to_owned())
}

fn points_at(sha: &str) -> Value {
    json!({ "ref": "refs/heads/qa", "object": { "type": "commit", "sha": sha } })
}

#[tokio::test]
async fn an_unchanged_response_comes_from_the_cache() {
    let fake = FakeGithub::default()
        .answers_with(200, etag(FIRST), points_at(SHA))
        .answers_with(304, etag(FIRST), json!(null))
        .answers_with(304, vec![], json!(null));
    let client = fake.client().await;
    for _ in 0..3 {
        assert_eq!(client.clone().fetch_branch_head(&shop(), "qa").await, Ok(Some(SHA.parse().unwrap())));
    }
    assert_eq!(fake.conditions(), [None, if_none_match(FIRST), if_none_match(FIRST)]);
    assert_eq!(fake.list_requests()[0], "GET /sim/github/repos/acme/shop/git/ref/heads/qa");
}

#[tokio::test]
async fn a_changed_response_replaces_the_cached_one() {
    let moved = "4f1c2ab0000000000000000000000000000000aa";
    let fake = FakeGithub::default()
        .answers_with(200, etag(FIRST), points_at(SHA))
        .answers_with(200, etag(SECOND), points_at(moved))
        .answers_with(304, etag(SECOND), json!(null))
        .answers(200, points_at(SHA))
        .answers(200, points_at(moved));
    let client = fake.client().await;
    for expected in [SHA, moved, moved, SHA, moved] {
        assert_eq!(client.fetch_branch_head(&shop(), "qa").await, Ok(Some(expected.parse().unwrap())));
    }
    // A response without an `ETag` is not cached, and it removes the older cached response.
    assert_eq!(fake.conditions(), [None, if_none_match(FIRST), if_none_match(SECOND), if_none_match(SECOND), None]);
}

#[tokio::test]
async fn a_404_removes_the_cached_response() {
    let fake = FakeGithub::default()
        .answers_with(200, etag(FIRST), points_at(SHA))
        .answers_with(404, etag(SECOND), error_body("Not Found"))
        .answers_with(200, etag(FIRST), points_at(SHA));
    let client = fake.client().await;
    assert!(client.fetch_branch_head(&shop(), "qa").await.unwrap().is_some());
    assert_eq!(client.fetch_branch_head(&shop(), "qa").await, Ok(None));
    assert!(client.fetch_branch_head(&shop(), "qa").await.unwrap().is_some());
    assert_eq!(fake.conditions(), [None, if_none_match(FIRST), None]);
}

#[tokio::test]
async fn an_unparsable_response_is_not_cached() {
    let fake =
        FakeGithub::default().answers_with(200, etag(FIRST), json!([])).answers_with(200, etag(FIRST), points_at(SHA));
    let client = fake.client().await;
    assert!(client.fetch_branch_head(&shop(), "qa").await.is_err());
    assert!(client.fetch_branch_head(&shop(), "qa").await.unwrap().is_some());
    assert_eq!(fake.conditions(), [None, None]);
}

#[tokio::test]
async fn an_outage_is_an_error_and_keeps_the_cache() {
    let fake = FakeGithub::default()
        .answers_with(200, etag(FIRST), points_at(SHA))
        .answers(502, json!(""))
        .answers(502, json!(""))
        .answers(502, json!(""))
        .answers_with(304, etag(FIRST), json!(null));
    let client = fake.client().await;
    assert!(client.fetch_branch_head(&shop(), "qa").await.unwrap().is_some());
    assert!(matches!(client.fetch_branch_head(&shop(), "qa").await, Err(GithubError::Unavailable(_))));
    assert!(client.fetch_branch_head(&shop(), "qa").await.unwrap().is_some());
    assert_eq!(fake.conditions()[4], if_none_match(FIRST));
}

#[tokio::test]
async fn a_304_without_a_cached_response_is_an_error() {
    let fake = FakeGithub::default().answers(304, json!(null));
    let error = fake.client().await.fetch_branch_head(&shop(), "qa").await.unwrap_err();
    assert!(matches!(error, GithubError::Other(why) if why.contains("304")));
}

#[tokio::test]
async fn the_cache_is_separate_for_each_path_and_client() {
    let fake = FakeGithub::default()
        .answers_with(200, etag(FIRST), points_at(SHA))
        .answers(200, points_at(SHA))
        .answers(200, points_at(SHA));
    let client = fake.client().await;
    client.fetch_branch_head(&shop(), "qa").await.unwrap();
    client.fetch_branch_head(&shop(), "prod").await.unwrap();
    fake.client().await.fetch_branch_head(&shop(), "qa").await.unwrap();
    assert_eq!(fake.conditions(), [None, None, None]);
}

#[tokio::test]
async fn writes_are_never_conditional() {
    let fake = FakeGithub::default().answers_with(200, etag(FIRST), commit()).answers(201, json!({ "sha": SHA }));
    let client = fake.client().await;
    let path = "/repos/acme/shop/commits/qa?per_page=1";
    client.resolve_commit(&shop(), "qa").await.unwrap();
    client.send_write(path, GithubRequest::Post(&json!({}))).await.unwrap();
    assert_eq!(fake.conditions(), [None, None]);
}

#[tokio::test]
async fn a_rate_limit_also_stops_conditional_requests() {
    let fake = FakeGithub::default()
        .answers_with(200, etag(FIRST), points_at(SHA))
        .answers_with(403, vec![("retry-after", "30".to_owned())], error_body("wait"))
        .answers_with(304, etag(FIRST), json!(null));
    let clock = clock();
    let client = Client::new(&fake.url().await, Auth::None, clock.clone()).unwrap();
    assert!(client.fetch_branch_head(&shop(), "qa").await.is_ok());
    for _ in 0..2 {
        assert!(matches!(client.fetch_branch_head(&shop(), "qa").await, Err(GithubError::RateLimited { .. })));
    }
    assert_eq!(fake.list_requests().len(), 2);
    clock.advance(SignedDuration::from_secs(30));
    assert!(client.fetch_branch_head(&shop(), "qa").await.unwrap().is_some());
}

#[tokio::test]
async fn the_remaining_rate_limit_is_read_from_every_response() {
    let rate_limit = |requests: &str| [etag(FIRST), vec![("x-ratelimit-remaining", requests.to_owned())]].concat();
    let fake = FakeGithub::default().answers_with(200, rate_limit("4999"), points_at(SHA)).answers_with(
        304,
        rate_limit("4000"),
        json!(null),
    );
    let client = fake.client().await;
    for requests in [4_999, 4_000] {
        client.fetch_branch_head(&shop(), "qa").await.unwrap();
        assert_eq!(client.rate_limit_state().unwrap().remaining, requests);
    }
}

fn pull(mergeable: Option<bool>, state: &str) -> Value {
    json!({
        "number": 7, "html_url": "https://github.com/acme/shop/pull/7", "title": "t", "state": "open", "merged": false,
        "mergeable": mergeable, "mergeable_state": state, "user": { "login": "gantry[bot]" },
        "head": { "ref": "gantry/x", "sha": SHA }, "base": { "ref": "prod", "sha": SHA },
    })
}

/// GitHub computes mergeability without updating the pull request, and does not promise a new `ETag` for it.
#[tokio::test]
async fn only_a_mergeable_pull_request_is_cached() {
    let fake = FakeGithub::default()
        .answers_with(200, etag(FIRST), pull(None, "unknown"))
        .answers_with(200, etag(FIRST), pull(Some(true), "blocked"))
        .answers_with(200, etag(FIRST), pull(Some(true), "clean"))
        .answers_with(304, etag(FIRST), json!(null))
        .answers(405, error_body("Pull Request is not mergeable"))
        .answers_with(200, etag(FIRST), pull(Some(false), "dirty"));
    let client = fake.client().await;
    for _ in 0..4 {
        client.fetch_pull_request(&shop(), 7).await.unwrap().unwrap();
    }
    client.merge_pull_request(&shop(), 7, &SHA.parse().unwrap(), "t", "m").await.unwrap();
    client.fetch_pull_request(&shop(), 7).await.unwrap().unwrap();
    assert_eq!(fake.conditions(), [None, None, None, if_none_match(FIRST), None, None]);
}

/// The number of requests at this moment, and the highest number so far.
#[derive(Clone, Default)]
struct Busy(Arc<(AtomicUsize, AtomicUsize)>);

async fn slow(State(Busy(busy)): State<Busy>) -> String {
    let now = busy.0.fetch_add(1, Ordering::SeqCst) + 1;
    busy.1.fetch_max(now, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(20)).await;
    busy.0.fetch_sub(1, Ordering::SeqCst);
    points_at(SHA).to_string()
}

async fn slow_client() -> (Client, Busy) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let busy = Busy::default();
    let router = Router::new().fallback(slow).with_state(busy.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (Client::new(&url, Auth::None, clock()).unwrap(), busy)
}

#[tokio::test]
async fn concurrent_reads_are_limited() {
    let (client, busy) = slow_client().await;
    let reads = join_all((0..100).map(|n| {
        let client = client.clone();
        async move { client.fetch_branch_head(&shop(), &format!("branch-{n}")).await }
    }));
    for head in reads.await {
        assert!(head.unwrap().is_some());
    }
    assert_eq!(busy.0.1.load(Ordering::SeqCst), MAX_CONCURRENT_READS);
}

#[tokio::test]
async fn a_throttled_read_returns_the_time_to_retry() {
    let (client, _) = slow_client().await;
    while client.pacer.acquire_read().is_ok() {}
    // The clock stands still, so the turn does not come.
    let error = client.fetch_branch_head(&shop(), "qa").await.unwrap_err();
    let GithubError::Throttled { until } = &error else { panic!("{error}") };
    assert!(error.is_transient());
    assert!(
        error.to_string().starts_with("GitHub takes only so many requests a minute; the next may go at "),
        "{error}"
    );
    client.clock.advance_to(*until);
    assert!(client.fetch_branch_head(&shop(), "qa").await.unwrap().is_some());
}
