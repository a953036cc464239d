//! The rate limit and the `ETag` of every answer, and the cost of requests.

use axum::http::HeaderValue;

use super::World;
use crate::sim::github::Cost;

fn header(response: &reqwest::Response, name: &str) -> String {
    response.headers()[name].to_str().unwrap().to_owned()
}

fn remaining_requests(response: &reqwest::Response) -> u64 {
    header(response, "x-ratelimit-remaining").parse().unwrap()
}

async fn send_get(url: &str, token: Option<&str>, etag: Option<&HeaderValue>) -> reqwest::Response {
    let mut request = reqwest::Client::new().get(url);
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    if let Some(etag) = etag {
        request = request.header("if-none-match", etag.clone());
    }
    request.send().await.unwrap()
}

#[tokio::test]
async fn every_answer_has_the_rate_limit_headers() {
    let world = World::with_history().await;
    let url = format!("{}/repos/acme/checkout/git/ref/heads/qa", world.url);
    let first = reqwest::get(&url).await.unwrap();
    assert_eq!(
        (header(&first, "x-ratelimit-limit"), header(&first, "x-ratelimit-resource")),
        ("5000".into(), "core".into())
    );
    let missing = reqwest::get(format!("{}/repos/acme/nothing", world.url)).await.unwrap();
    assert_eq!((missing.status().as_u16(), header(&missing, "x-ratelimit-limit")), (404, "5000".into()));
    assert!(!missing.headers().contains_key("etag"));
    let limits = world.octocrab().ratelimit().get().await.unwrap();
    assert_eq!((limits.rate.limit, limits.rate.remaining), (5000, 4998));
    world.clock.advance(jiff::SignedDuration::from_hours(1));
    assert_eq!(remaining_requests(&reqwest::get(&url).await.unwrap()), 4999, "the count starts again each hour");
}

#[tokio::test]
async fn an_unchanged_answer_is_a_304_that_costs_nothing() {
    let world = World::with_history().await;
    let path = "/repos/acme/checkout/git/ref/heads/qa";
    let url = format!("{}{path}", world.url);
    let first = send_get(&url, Some("a-token"), None).await;
    let etag = first.headers()["etag"].clone();
    let second = send_get(&url, Some("a-token"), Some(&etag)).await;
    assert_eq!((second.status().as_u16(), remaining_requests(&second)), (304, remaining_requests(&first)));
    assert_eq!(second.headers()["etag"], etag);
    assert!(second.bytes().await.unwrap().is_empty());

    world.commit("qa", "Another", &[("x", "y\n")]);
    let moved = send_get(&url, Some("a-token"), Some(&etag)).await;
    assert_eq!((moved.status().as_u16(), remaining_requests(&moved) + 1), (200, remaining_requests(&first)));
    assert_ne!(moved.headers()["etag"], etag);
    assert_eq!(world.github.cost(), Cost { requests: 3, free: 1 });
    assert_eq!(world.github.costs()[&format!("GET {path}")].counted_requests(), 2);
}

#[tokio::test]
async fn a_304_without_a_token_is_counted() {
    let world = World::with_history().await;
    let url = format!("{}/repos/acme/checkout/git/ref/heads/qa", world.url);
    let first = send_get(&url, None, None).await;
    let second = send_get(&url, None, Some(&first.headers()["etag"])).await;
    assert_eq!((second.status().as_u16(), remaining_requests(&second) + 1), (304, remaining_requests(&first)));
    assert_eq!(world.github.cost(), Cost { requests: 2, free: 0 });
}
