//! Tests of walks over scripted histories. The end-to-end tests walk histories of real Git.

use serde_json::{Value, json};

use super::super::client::tests::{FakeGithub, no, shop};
use super::*;

fn name(text: &str) -> Sha {
    let hex = text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    format!("{hex:0<40}").parse().unwrap()
}

/// The same id for the same number.
fn change(of: u8) -> ChangeId {
    ChangeId::parse(&format!("01939f3e-5c00-7000-8000-0000000000{of:02x}")).unwrap()
}

fn commit(sha: &str, parents: &[&str], trailers: Option<&Trailers>) -> Value {
    let message = trailers.map_or_else(|| "A subject".to_owned(), |trailers| format!("A subject\n\n{trailers}\n"));
    let parents: Vec<Value> = parents.iter().map(|parent| json!({ "sha": name(parent).as_str() })).collect();
    let body = json!({ "message": message, "tree": { "sha": name("tree").as_str() } });
    json!({ "sha": name(sha).as_str(), "parents": parents, "commit": body, "author": null })
}

fn plain(sha: &str, parents: &[&str]) -> Value {
    commit(sha, parents, None)
}

fn promotion(sha: &str, parents: [&str; 2]) -> Value {
    commit(sha, &parents, Some(&Trailers::Change(change(0xff))))
}

fn back(sha: &str, parent: &str, of: u8) -> Value {
    commit(sha, &[parent], Some(&Trailers::Rollback { change: change(of), restores: Some(name("old")) }))
}

fn undoes(sha: &str, parents: &[&str], of: u8) -> Value {
    commit(sha, parents, Some(&Trailers::Reinstates { change: change(0xff), rollback: change(of) }))
}

fn open(sha: &str, parent: &str, of: u8) -> OpenRollback {
    OpenRollback { change: change(of), commit: name(sha), parent: name(parent), restores: name("old") }
}

async fn walked(history: &[Value]) -> Vec<OpenRollback> {
    let fake = FakeGithub::default().answers(200, Value::Array(history.to_vec()));
    let head = history[0]["sha"].as_str().unwrap().parse().unwrap();
    let found = fake.client().await.find_open_rollbacks(&shop(), &head).await.unwrap();
    assert_eq!(fake.list_requests(), [format!("GET /sim/github/repos/acme/shop/commits?sha={head}&per_page=20")]);
    found
}

#[tokio::test]
async fn what_is_open_is_found_with_one_request() {
    let older = || [promotion("p", ["x", "d"]), plain("d", &["x"]), back("r0", "y", 9), plain("x", &["r0"])];
    let cases: [(&str, Vec<Value>, Vec<OpenRollback>); 9] = [
        ("nothing since the last promotion", vec![], vec![]),
        ("a rollback", vec![back("r", "p", 1)], vec![open("r", "p", 1)]),
        (
            "two, with a hotfix between and after",
            vec![plain("h2", &["r2"]), back("r2", "h1", 2), plain("h1", &["r"]), back("r", "p", 1)],
            vec![open("r2", "h1", 2), open("r", "p", 1)],
        ),
        (
            "one of two was undone",
            vec![back("r2", "m", 2), undoes("m", &["r", "u"], 1), undoes("u", &["r"], 1), back("r", "p", 1)],
            vec![open("r2", "m", 2)],
        ),
        (
            "a pull request that a person merged brought a promotion",
            vec![
                plain("pull", &["r", "p2"]),
                promotion("p2", ["m", "d"]),
                undoes("m", &["r", "u"], 1),
                undoes("u", &["r"], 1),
                back("r", "p", 1),
            ],
            vec![],
        ),
        (
            "it was merged into what was rolled back meanwhile",
            vec![
                plain("pull", &["r2", "p2"]),
                back("r2", "h", 2),
                promotion("p2", ["h", "d"]),
                plain("h", &["r"]),
                back("r", "p", 1),
            ],
            vec![open("r2", "h", 2)],
        ),
        (
            "a pull request brought only what undoes",
            vec![plain("pull", &["r", "m"]), undoes("m", &["r", "u"], 1), undoes("u", &["r"], 1), back("r", "p", 1)],
            vec![],
        ),
        ("a rollback by pull request", vec![plain("pull", &["p", "r"]), back("r", "p", 1)], vec![open("r", "p", 1)]),
        (
            "the rollback of another branch, merged by hand",
            vec![plain("hand", &["p", "r"]), back("r", "elsewhere", 1)],
            vec![],
        ),
    ];
    for (what, mut history, expected) in cases {
        history.extend(older());
        assert_eq!(walked(&history).await, expected, "{what}");
    }
}

/// Anyone can write such a message, so a message alone must not affect the next promotion.
#[tokio::test]
async fn a_message_alone_makes_no_rollback_and_no_promotion() {
    let rollback = Trailers::Rollback { change: change(1), restores: Some(name("old")) };
    let manifest = Trailers::Rollback { change: change(1), restores: None };
    let history = [
        commit("a", &["b", "x"], Some(&rollback)),
        commit("b", &["c"], Some(&manifest)),
        commit("c", &["d"], Some(&Trailers::Change(change(2)))),
        undoes("d", &["r"], 3),
        back("r", "e", 3),
        plain("e", &[]),
        plain("x", &[]),
    ];
    assert_eq!(walked(&history).await, [open("r", "e", 3)]);
}

#[tokio::test]
async fn a_walk_asks_on_where_a_page_ends_and_ends_itself() {
    let fake = FakeGithub::default()
        .answers(200, json!([plain("a", &["b"]), plain("b", &["c"])]))
        .answers(200, json!([back("c", "d", 1), promotion("d", ["e", "f"])]));
    let client = fake.client().await;
    assert_eq!(client.find_open_rollbacks(&shop(), &name("a")).await.unwrap(), [open("c", "d", 1)]);
    assert!(fake.list_requests()[1].ends_with(&format!("?sha={}&per_page=100", name("c"))));

    let long = |at: usize| json!([plain(&format!("n{at}"), &[&format!("n{}", at + 1)])]);
    let endless = (0..MAX_PAGES).fold(FakeGithub::default(), |fake, at| fake.answers(200, long(at)));
    assert_eq!(endless.client().await.find_open_rollbacks(&shop(), &name("n0")).await, Ok(vec![]));
    let endless = (0..MAX_PAGES).fold(FakeGithub::default(), |fake, at| fake.answers(200, long(at)));
    assert_eq!(endless.client().await.list_first_parents(&shop(), &name("n0"), 300).await.unwrap().len(), MAX_PAGES);

    let lost = FakeGithub::default().answers(200, json!([plain("other", &[])]));
    assert!(matches!(
        lost.client().await.find_open_rollbacks(&shop(), &name("a")).await,
        Err(GithubError::NotFound(_))
    ));
}

#[tokio::test]
async fn first_parents_leave_out_what_was_merged() {
    let page = json!([promotion("a", ["b", "x"]), plain("x", &["y"]), plain("b", &["c"]), plain("c", &[])]);
    let fake = FakeGithub::default().answers(200, page.clone()).answers(200, page);
    let client = fake.client().await;
    let found = client.list_first_parents(&shop(), &name("a"), 10).await.unwrap();
    assert_eq!(found.iter().map(|commit| commit.sha.clone()).collect::<Vec<_>>(), ["a", "b", "c"].map(name));
    assert_eq!(found[0].trailers, Some(Trailers::Change(change(0xff))));
    assert_eq!(client.list_first_parents(&shop(), &name("a"), 2).await.unwrap().len(), 2);
}

#[tokio::test]
async fn tags_come_by_their_numbers_with_their_commits() {
    let reference = |tag: &str| json!({ "ref": format!("refs/tags/{tag}"), "object": { "type": "tag", "sha": name(tag).as_str() } });
    let tags = ["qa-old", "qa/2026.11.16-10", "qa/2026.11.16-9", "qa/2026.9.30-11"];
    let points = |kind: &str, to: &str| json!({ "object": { "type": kind, "sha": name(to).as_str() } });
    let fake = FakeGithub::default()
        .answers(200, Value::Array(tags.map(reference).to_vec()))
        .answers(200, points("tag", "object"))
        .answers(200, points("commit", "a"))
        .answers(200, points("commit", "b"));
    let found = fake.client().await.list_newest_tags(&shop(), "qa/", 2).await.unwrap();
    assert_eq!(found, [("qa/2026.11.16-10".to_owned(), name("a")), ("qa/2026.11.16-9".to_owned(), name("b"))]);
    assert_eq!(fake.list_requests().len(), 4);
}

#[tokio::test]
async fn the_history_of_a_file_is_asked_for_page_by_page() {
    let page = |from: usize, to: usize| Value::Array((from..to).map(|at| plain(&format!("c{at}"), &[])).collect());
    let fake =
        FakeGithub::default().answers(200, page(0, 100)).answers(200, page(100, 130)).answers(404, no("Not Found"));
    let client = fake.client().await;
    assert_eq!(client.fetch_file_history(&shop(), "main", "a b/c.yaml", 150).await.unwrap().len(), 130);
    let asked = "GET /sim/github/repos/acme/shop/commits?sha=main&path=a%20b/c.yaml&per_page=100&page=";
    assert_eq!(fake.list_requests(), [format!("{asked}1"), format!("{asked}2")]);
    assert!(matches!(client.fetch_file_history(&shop(), "x", "c", 1).await, Err(GithubError::NotFound(_))));
}

#[tokio::test]
async fn a_repository_tells_its_default_branch() {
    let fake = FakeGithub::default().answers(200, json!({ "name": "shop", "default_branch": "trunk" }));
    assert_eq!(fake.client().await.fetch_default_branch(&shop()).await.as_deref(), Ok("trunk"));
}

#[test]
fn any_name_has_its_place() {
    for (one, two) in [("a-9", "a-10"), ("a-009", "a-10"), ("2026.9.1-1", "2026.10.1-1"), ("a", "b"), ("", "0")] {
        assert!(natural_sort_key(one) < natural_sort_key(two), "{one} {two}");
    }
    assert!(natural_sort_key(&"9".repeat(50)) > natural_sort_key("1"));
}
