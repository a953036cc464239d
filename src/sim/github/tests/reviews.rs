//! Reviews and comments over the API and by hand.

use serde_json::{Value, json};

use super::super::Verdict;
use super::{REPOSITORY, World, extract_message, status_and_message};

const REVIEWS: &str = "/repos/acme/checkout/pulls/1/reviews";
const COMMENTS: &str = "/repos/acme/checkout/issues/1/comments";

#[tokio::test]
async fn a_review_is_for_the_commit_that_was_the_head() {
    let world = World::with_pull().await;
    let first = world.head("gantry/x");
    world.github.review(REPOSITORY, 1, "bob", Verdict::Approve, "Fine").unwrap();
    let second = world.commit("gantry/x", "More", &[("src/more.rs", "1\n")]);
    world.github.review(REPOSITORY, 1, "bob", Verdict::RequestChanges, "Not this").unwrap();
    let (status, all) = world.get(REVIEWS).await;
    assert_eq!(status, 200);
    let reviews: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|review| {
            let text = |key: &str| review[key].as_str().unwrap().to_owned();
            (review["user"]["login"].as_str().unwrap(), text("state"), text("commit_id"), text("body"))
        })
        .collect();
    let expected = [
        ("bob", "APPROVED".to_owned(), first.to_string(), "Fine".to_owned()),
        ("bob", "CHANGES_REQUESTED".to_owned(), second.to_string(), "Not this".to_owned()),
    ];
    assert_eq!(reviews, expected);
    assert_eq!(all[0]["html_url"], format!("{}/acme/checkout/pull/1#pullrequestreview-1", world.url));
    assert!(all[0]["submitted_at"].is_string());
    let paged = world.get(&format!("{REVIEWS}?per_page=1&page=2")).await.1;
    assert_eq!(paged.as_array().unwrap().len(), 1);
    assert_eq!(world.octocrab().pulls("acme", "checkout").list_reviews(1).send().await.unwrap().items.len(), 2);
}

#[tokio::test]
async fn authors_cannot_review_their_own_pull_request() {
    let world = World::with_pull().await;
    let cases = [
        (json!({ "event": "APPROVE" }), status_and_message(422, "Can not approve your own pull request")),
        (
            json!({ "event": "REQUEST_CHANGES", "body": "x" }),
            status_and_message(422, "Can not request changes on your own pull request"),
        ),
        (json!({ "event": "ODD" }), status_and_message(422, "event: invalid")),
        (
            json!({ "event": "COMMENT", "commit_id": "abc" }),
            status_and_message(422, "The commit_id is not part of the pull request"),
        ),
    ];
    for (body, answer) in cases {
        assert_eq!(extract_message(world.post(REVIEWS, &body).await), answer, "{body}");
    }
    let (status, review) = world.post(REVIEWS, &json!({ "event": "COMMENT", "body": "Hm" })).await;
    assert_eq!((status, &review["state"]), (200, &json!("COMMENTED")));
    assert_eq!(world.post("/repos/acme/checkout/pulls/9/reviews", &json!({ "event": "COMMENT" })).await.0, 404);

    let number = world.github.open_pull(REPOSITORY, "bob", "By hand", "develop", "qa", "").unwrap();
    let own = world.github.review(REPOSITORY, number, "bob", Verdict::Approve, "").unwrap_err();
    assert_eq!(own.to_string(), "Can not approve your own pull request");
    let of_bob = format!("/repos/acme/checkout/pulls/{number}/reviews");
    assert_eq!(world.post(&of_bob, &json!({ "event": "APPROVE" })).await.1["state"], "APPROVED");
    let absent = world.github.review(REPOSITORY, 9, "bob", Verdict::Approve, "").unwrap_err();
    assert_eq!(absent.to_string(), "There is no pull request 9 in acme/checkout.");
    let nobody = world.github.review(REPOSITORY, 1, "nobody", Verdict::Approve, "").unwrap_err();
    assert_eq!(nobody.to_string(), "There is no `nobody` on GitHub.");
}

#[tokio::test]
async fn a_dismissed_review_does_not_count() {
    let world = World::with_pull().await;
    world
        .github
        .protect(REPOSITORY, "prod", super::super::Rules { required_reviews: 1, ..Default::default() })
        .unwrap();
    world.github.review(REPOSITORY, 1, "bob", Verdict::Approve, "").unwrap();
    world.github.review(REPOSITORY, 1, "bob", Verdict::Comment, "By the way").unwrap();
    assert_eq!(world.mergeable_state().await, "clean");
    let dismiss =
        async |id: u64| world.put(&format!("{REVIEWS}/{id}/dismissals"), &json!({ "message": "Stale" })).await;
    let (status, review) = dismiss(1).await;
    assert_eq!((status, &review["state"]), (200, &json!("DISMISSED")));
    assert_eq!(world.mergeable_state().await, "blocked");
    assert_eq!(
        extract_message(dismiss(1).await),
        status_and_message(422, "Can not dismiss a dismissed pull request review")
    );
    assert_eq!(
        extract_message(dismiss(2).await),
        status_and_message(422, "Can not dismiss a commented pull request review")
    );
    assert_eq!(dismiss(9).await.0, 404);
    assert_eq!(world.put(&format!("{REVIEWS}/1/dismissals"), &json!({})).await.0, 422);
}

#[tokio::test]
async fn comments_are_written_and_listed() {
    let world = World::with_pull().await;
    let (status, comment) = world.post(COMMENTS, &json!({ "body": "Built anew" })).await;
    assert_eq!((status, &comment["user"]["login"]), (201, &json!("gantry[bot]")));
    world.github.comment(REPOSITORY, 1, "bob", "Thanks").unwrap();
    let (_, all) = world.get(COMMENTS).await;
    let bodies: Vec<&Value> = all.as_array().unwrap().iter().map(|comment| &comment["body"]).collect();
    assert_eq!(bodies, ["Built anew", "Thanks"]);
    assert_eq!(world.github.pulls(REPOSITORY)[0].comments, ["Built anew", "Thanks"]);
    assert_eq!(
        extract_message(world.post(COMMENTS, &json!({ "body": " " })).await),
        status_and_message(422, "body: missing_field")
    );
    assert_eq!(world.get("/repos/acme/checkout/issues/9/comments").await.0, 404);
}
