//! Tests of walks over scripted histories. The end-to-end tests walk histories of real Git.

use serde_json::{Value, json};

use super::super::client::tests::{FakeGithub, error_body, shop};
use super::*;

fn sha_for(text: &str) -> Sha {
    let hex = text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    format!("{hex:0<40}").parse().unwrap()
}

/// The same id for the same number.
fn change(number: u8) -> ChangeId {
    ChangeId::parse(&format!("01939f3e-5c00-7000-8000-0000000000{number:02x}")).unwrap()
}

fn commit(sha: &str, parents: &[&str], trailers: Option<&Trailers>) -> Value {
    let message = trailers.map_or_else(|| "A subject".to_owned(), |trailers| format!("A subject\n\n{trailers}\n"));
    let parents: Vec<Value> = parents.iter().map(|parent| json!({ "sha": sha_for(parent).as_str() })).collect();
    let body = json!({ "message": message, "tree": { "sha": sha_for("tree").as_str() } });
    json!({ "sha": sha_for(sha).as_str(), "parents": parents, "commit": body, "author": null })
}

fn plain(sha: &str, parents: &[&str]) -> Value {
    commit(sha, parents, None)
}

fn promotion(sha: &str, parents: [&str; 2]) -> Value {
    commit(sha, &parents, Some(&Trailers::Change(change(0xff))))
}

fn rollback(sha: &str, parent: &str, number: u8) -> Value {
    commit(sha, &[parent], Some(&Trailers::Rollback { change: change(number), restores: Some(sha_for("old")) }))
}

fn undo(sha: &str, parents: &[&str], number: u8) -> Value {
    commit(sha, parents, Some(&Trailers::Reinstates { change: change(0xff), rollback: change(number) }))
}

fn open(sha: &str, parent: &str, number: u8) -> OpenRollback {
    OpenRollback { change: change(number), commit: sha_for(sha), parent: sha_for(parent), restores: sha_for("old") }
}

async fn find_open(history: &[Value]) -> Vec<OpenRollback> {
    let fake = FakeGithub::default().answers(200, Value::Array(history.to_vec()));
    let head = history[0]["sha"].as_str().unwrap().parse().unwrap();
    let found = fake.client().await.find_open_rollbacks(&shop(), &head).await.unwrap();
    assert_eq!(fake.list_requests(), [format!("GET /sim/github/repos/acme/shop/commits?sha={head}&per_page=20")]);
    found
}

#[tokio::test]
async fn open_rollbacks_are_found_with_one_request() {
    let older = || [promotion("p", ["x", "d"]), plain("d", &["x"]), rollback("r0", "y", 9), plain("x", &["r0"])];
    let cases: [(&str, Vec<Value>, Vec<OpenRollback>); 9] = [
        ("nothing since the last promotion", vec![], vec![]),
        ("a rollback", vec![rollback("r", "p", 1)], vec![open("r", "p", 1)]),
        (
            "two, with a hotfix between and after",
            vec![plain("h2", &["r2"]), rollback("r2", "h1", 2), plain("h1", &["r"]), rollback("r", "p", 1)],
            vec![open("r2", "h1", 2), open("r", "p", 1)],
        ),
        (
            "one of two was undone",
            vec![rollback("r2", "m", 2), undo("m", &["r", "u"], 1), undo("u", &["r"], 1), rollback("r", "p", 1)],
            vec![open("r2", "m", 2)],
        ),
        (
            "a person merged a pull request with a promotion",
            vec![
                plain("pull", &["r", "p2"]),
                promotion("p2", ["m", "d"]),
                undo("m", &["r", "u"], 1),
                undo("u", &["r"], 1),
                rollback("r", "p", 1),
            ],
            vec![],
        ),
        (
            "a promotion is merged after a newer rollback",
            vec![
                plain("pull", &["r2", "p2"]),
                rollback("r2", "h", 2),
                promotion("p2", ["h", "d"]),
                plain("h", &["r"]),
                rollback("r", "p", 1),
            ],
            vec![open("r2", "h", 2)],
        ),
        (
            "a pull request brought only the undo",
            vec![plain("pull", &["r", "m"]), undo("m", &["r", "u"], 1), undo("u", &["r"], 1), rollback("r", "p", 1)],
            vec![],
        ),
        (
            "a rollback by pull request",
            vec![plain("pull", &["p", "r"]), rollback("r", "p", 1)],
            vec![open("r", "p", 1)],
        ),
        (
            "the rollback of another branch, merged by hand",
            vec![plain("hand", &["p", "r"]), rollback("r", "elsewhere", 1)],
            vec![],
        ),
    ];
    for (case, mut history, expected) in cases {
        history.extend(older());
        assert_eq!(find_open(&history).await, expected, "{case}");
    }
}

/// Anyone can write such a message, so a message alone must not affect the next promotion.
#[tokio::test]
async fn a_message_alone_makes_no_rollback_and_no_promotion() {
    let branch_rollback = Trailers::Rollback { change: change(1), restores: Some(sha_for("old")) };
    let manifest_rollback = Trailers::Rollback { change: change(1), restores: None };
    let history = [
        commit("a", &["b", "x"], Some(&branch_rollback)),
        commit("b", &["c"], Some(&manifest_rollback)),
        commit("c", &["d"], Some(&Trailers::Change(change(2)))),
        undo("d", &["r"], 3),
        rollback("r", "e", 3),
        plain("e", &[]),
        plain("x", &[]),
    ];
    assert_eq!(find_open(&history).await, [open("r", "e", 3)]);
}

#[tokio::test]
async fn a_walk_fetches_further_pages_up_to_its_limit() {
    let fake = FakeGithub::default()
        .answers(200, json!([plain("a", &["b"]), plain("b", &["c"])]))
        .answers(200, json!([rollback("c", "d", 1), promotion("d", ["e", "f"])]));
    let client = fake.client().await;
    assert_eq!(client.find_open_rollbacks(&shop(), &sha_for("a")).await.unwrap(), [open("c", "d", 1)]);
    assert!(fake.list_requests()[1].ends_with(&format!("?sha={}&per_page=100", sha_for("c"))));

    let long = |n: usize| json!([plain(&format!("n{n}"), &[&format!("n{}", n + 1)])]);
    let endless = (0..MAX_PAGES).fold(FakeGithub::default(), |fake, n| fake.answers(200, long(n)));
    assert_eq!(endless.client().await.find_open_rollbacks(&shop(), &sha_for("n0")).await, Ok(vec![]));
    let endless = (0..MAX_PAGES).fold(FakeGithub::default(), |fake, n| fake.answers(200, long(n)));
    assert_eq!(endless.client().await.list_first_parents(&shop(), &sha_for("n0"), 300).await.unwrap().len(), MAX_PAGES);

    let lost = FakeGithub::default().answers(200, json!([plain("other", &[])]));
    assert!(matches!(
        lost.client().await.find_open_rollbacks(&shop(), &sha_for("a")).await,
        Err(GithubError::NotFound(_))
    ));
}

#[tokio::test]
async fn first_parents_exclude_merged_commits() {
    let page = json!([promotion("a", ["b", "x"]), plain("x", &["y"]), plain("b", &["c"]), plain("c", &[])]);
    let fake = FakeGithub::default().answers(200, page.clone()).answers(200, page);
    let client = fake.client().await;
    let found = client.list_first_parents(&shop(), &sha_for("a"), 10).await.unwrap();
    assert_eq!(found.iter().map(|commit| commit.sha.clone()).collect::<Vec<_>>(), ["a", "b", "c"].map(sha_for));
    assert_eq!(found[0].trailers, Some(Trailers::Change(change(0xff))));
    assert_eq!(client.list_first_parents(&shop(), &sha_for("a"), 2).await.unwrap().len(), 2);
}

#[tokio::test]
async fn tags_are_sorted_by_number_and_have_their_commits() {
    let reference = |tag: &str| json!({ "ref": format!("refs/tags/{tag}"), "object": { "type": "tag", "sha": sha_for(tag).as_str() } });
    let tags = ["qa-old", "qa/2026.11.16-10", "qa/2026.11.16-9", "qa/2026.9.30-11"];
    let points = |kind: &str, to: &str| json!({ "object": { "type": kind, "sha": sha_for(to).as_str() } });
    let fake = FakeGithub::default()
        .answers(200, Value::Array(tags.map(reference).to_vec()))
        .answers(200, points("tag", "object"))
        .answers(200, points("commit", "a"))
        .answers(200, points("commit", "b"));
    let found = fake.client().await.list_newest_tags(&shop(), "qa/", 2).await.unwrap();
    assert_eq!(found, [("qa/2026.11.16-10".to_owned(), sha_for("a")), ("qa/2026.11.16-9".to_owned(), sha_for("b"))]);
    assert_eq!(fake.list_requests().len(), 4);
}

#[tokio::test]
async fn the_history_of_a_file_is_read_page_by_page() {
    let page = |from: usize, to: usize| Value::Array((from..to).map(|n| plain(&format!("c{n}"), &[])).collect());
    let fake = FakeGithub::default()
        .answers(200, page(0, 100))
        .answers(200, page(100, 130))
        .answers(404, error_body("Not Found"));
    let client = fake.client().await;
    assert_eq!(client.fetch_file_history(&shop(), "main", "a b/c.yaml", 150).await.unwrap().len(), 130);
    let request = "GET /sim/github/repos/acme/shop/commits?sha=main&path=a%20b/c.yaml&per_page=100&page=";
    assert_eq!(fake.list_requests(), [format!("{request}1"), format!("{request}2")]);
    assert!(matches!(client.fetch_file_history(&shop(), "x", "c", 1).await, Err(GithubError::NotFound(_))));
}

#[tokio::test]
async fn the_default_branch_of_a_repository_is_read() {
    let fake = FakeGithub::default().answers(200, json!({ "name": "shop", "default_branch": "trunk" }));
    assert_eq!(fake.client().await.fetch_default_branch(&shop()).await.as_deref(), Ok("trunk"));
}

#[test]
fn names_are_sorted_by_their_numbers() {
    for (one, two) in [("a-9", "a-10"), ("a-009", "a-10"), ("2026.9.1-1", "2026.10.1-1"), ("a", "b"), ("", "0")] {
        assert!(natural_sort_key(one) < natural_sort_key(two), "{one} {two}");
    }
    assert!(natural_sort_key(&"9".repeat(50)) > natural_sort_key("1"));
}
