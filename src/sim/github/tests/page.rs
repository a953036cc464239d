//! The page of a pull request, as a browser gets it.

use serde_json::json;

use super::super::Verdict;
use super::{REPOSITORY, World};

async fn page(world: &World) -> (u16, String) {
    let answer = reqwest::get(format!("{}/acme/checkout/pull/1", world.url)).await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// Fills in the form and clicks a button. Returns the status and the next page.
async fn click(world: &World, act: &str, user: &str, body: &str) -> (u16, String) {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let url = reqwest::Url::parse_with_params("http://x/", [("user", user), ("body", body)]).unwrap();
    let request = client
        .post(format!("{}/acme/checkout/pull/1/{act}", world.url))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(url.query().unwrap().to_owned());
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    if status == 303 {
        assert_eq!(answer.headers()["location"], "../1");
        return (status, page(world).await.1);
    }
    (status, answer.text().await.unwrap())
}

fn assert_shows(page: &str, words: &[&str]) {
    for words in words {
        assert!(page.contains(words), "{words} is missing in {page}");
    }
}

#[tokio::test]
async fn the_page_shows_a_pull_request_with_its_commits_and_files() {
    let world = World::with_pull().await;
    world.github.review(REPOSITORY, 1, "bob", Verdict::RequestChanges, "Not yet").unwrap();
    world.github.comment(REPOSITORY, 1, "bob", "Well").unwrap();
    let (status, page) = page(&world).await;
    assert_eq!(status, 200);
    assert_shows(
        &page,
        &[
            "Promote checkout",
            "#1",
            "open</b>",
            "What it brings.",
            "wants to merge 1 commit into <code>prod</code> from <code>gantry/x</code>",
            "Round the price",
            "src/price.rs",
            "<span class=\"removed\">-12</span>",
            "<span class=\"added\">+12.00</span>",
            "changes requested at",
            "Not yet",
            "Well",
            "<b>clean</b>",
            "<option>bob</option>",
            "formaction=\"/sim/github/acme/checkout/pull/1/approve\"",
            "href=\"/sim/github/acme/checkout/commit/",
        ],
    );
    assert_eq!(reqwest::get(format!("{}/acme/checkout/pull/9", world.url)).await.unwrap().status(), 404);
    let headers = reqwest::get(format!("{}/acme/checkout/pull/1", world.url)).await.unwrap().headers().clone();
    assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'; style-src 'self';"));
    assert_eq!(headers["referrer-policy"], "same-origin", "the browser must send the form's origin");
    let requests = world.github.request_faults().requests();
    assert!(
        !requests.iter().any(|request| request.contains("/pull/1")),
        "the page is not counted as a request of the bot"
    );
}

#[tokio::test]
async fn text_of_users_is_escaped_on_the_page() {
    let world = World::with_history().await;
    let evil = "<script>alert('x')</script>\"&";
    world.github.create_branch(REPOSITORY, "prod", &world.head("qa")).unwrap();
    world.commit("develop", evil, &[("src/<b>.rs", "<img src=x>\n")]);
    let body = json!({ "title": evil, "head": "develop", "base": "prod", "body": evil });
    world.post("/repos/acme/checkout/pulls", &body).await;
    world.add_person("bob");
    world.github.review(REPOSITORY, 1, "bob", Verdict::Comment, evil).unwrap();
    world.github.comment(REPOSITORY, 1, "bob", evil).unwrap();
    let (_, page) = page(&world).await;
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<b>.rs"), "{page}");
    let escaped = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;";
    assert_eq!(page.matches(escaped).count(), 6, "title twice, body, review, comment and commit");
    let (status, page) = click(&world, "approve", "<script>", "").await;
    assert!(status == 422 && page.contains("There is no `&lt;script&gt;` on GitHub."), "{page}");
}

#[tokio::test]
async fn a_person_reviews_merges_and_closes_on_the_page() {
    let world = World::with_pull().await;
    let (status, page) = click(&world, "approve", "bob", "Fine by me").await;
    assert_eq!(status, 303);
    assert_shows(&page, &["approved at", "Fine by me"]);
    let (status, page) = click(&world, "explode", "bob", "").await;
    assert_eq!(status, 422);
    assert_shows(&page, &["`explode` is nothing that can be done here."]);
    world.github.set_permission(REPOSITORY, "bob", "read").unwrap();
    let (status, page) = click(&world, "merge", "bob", "").await;
    assert_eq!(status, 422);
    assert_shows(&page, &["bob may not merge in acme/checkout: that takes write access."]);
    world.github.set_permission(REPOSITORY, "bob", "write").unwrap();
    let (status, page) = click(&world, "merge", "bob", "").await;
    assert_eq!(status, 303);
    assert_shows(&page, &["<b>merged</b> by bob", "wants to merge 1 commit"]);
    assert!(!page.contains("<form"), "a merged pull request has no form");

    let world = World::with_pull().await;
    let (_, page) = click(&world, "close", "bob", "").await;
    assert_shows(&page, &["<b>closed</b> by bob"]);
}
