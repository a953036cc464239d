//! Tests of reading and writing one file, against a fake of GitHub with scripted responses.

use serde_json::{Value, json};

use super::super::client::tests::{FakeGithub, error_body, shop};
use super::*;

fn sha(digit: char) -> Sha {
    digit.to_string().repeat(40).parse().unwrap()
}

fn content(kind: &str, encoding: &str, content: &str) -> Value {
    json!({ "type": kind, "sha": sha('b').as_str(), "encoding": encoding, "content": content, "size": 1 })
}

#[tokio::test]
async fn text_files_of_any_size_are_read() {
    // GitHub breaks base64 into lines.
    let fake = FakeGithub::default().answers(200, content("file", "base64", "dGFnOiAx\nLjQgIyDDqQ==\n"));
    let client = fake.client().await;
    assert_eq!(client.fetch_file(&shop(), "main", "envs/q a/x#.yaml").await, Ok(Some("tag: 1.4 # \u{e9}".to_owned())));
    assert_eq!(fake.list_requests(), ["GET /sim/github/repos/acme/shop/contents/envs/q%20a/x%23.yaml?ref=main"]);

    let large = FakeGithub::default()
        .answers(200, content("file", "none", ""))
        .answers(200, json!({ "content": "eA==", "encoding": "base64" }));
    assert_eq!(large.client().await.fetch_file(&shop(), "main", "x").await, Ok(Some("x".to_owned())));
    assert_eq!(large.list_requests()[1], format!("GET /sim/github/repos/acme/shop/git/blobs/{}", sha('b')));
}

#[tokio::test]
async fn directories_and_binaries_are_errors_and_a_missing_file_is_none() {
    let other = |why: &str| Err(GithubError::Other(why.to_owned()));
    let cases = [
        (200, json!([]), other("`x` is a directory, not a text file")),
        (200, content("submodule", "", ""), other("`x` is a submodule, not a text file")),
        (200, content("file", "base64", "//8="), other("`x` is no text in UTF-8, not a text file")),
        (404, error_body("Not Found"), Ok(None)),
        (
            404,
            error_body("No commit found for the ref main"),
            Err(GithubError::NotFound("No commit found for the ref main".to_owned())),
        ),
    ];
    for (status, body, expected) in cases {
        assert_eq!(
            FakeGithub::default().answers(status, body).client().await.fetch_file(&shop(), "main", "x").await,
            expected
        );
    }
    let broken = FakeGithub::default().answers(200, content("file", "base64", "!")).answers(200, json!("x"));
    let client = broken.client().await;
    for _ in 0..2 {
        assert!(matches!(client.fetch_file(&shop(), "main", "x").await, Err(GithubError::Other(_))));
    }
    let unused = FakeGithub::default();
    for path in ["", "/x", "a//b", "../x", "a/.."] {
        assert_eq!(unused.client().await.fetch_file(&shop(), "main", path).await, Ok(None), "{path}");
    }
    assert!(unused.list_requests().is_empty());
}

fn level(entries: &[(&str, &str, char)]) -> Value {
    let entry =
        |(path, mode, digit): &(&str, &str, char)| json!({ "path": path, "mode": mode, "sha": sha(*digit).as_str() });
    json!({ "sha": sha('0').as_str(), "tree": entries.iter().map(entry).collect::<Vec<_>>(), "truncated": false })
}

fn fake_with_base_tree(tree: char) -> FakeGithub {
    FakeGithub::default().answers(200, json!({ "tree": { "sha": sha(tree).as_str() } }))
}

#[tokio::test]
async fn a_file_is_changed_by_one_commit_and_keeps_its_mode() {
    for (mode, expected) in [("100644", "100644"), ("100755", "100755"), ("100664", "100644")] {
        let fake = fake_with_base_tree('1')
            .answers(200, level(&[("README", "100644", '9'), ("envs", "040000", '2')]))
            .answers(200, level(&[("x.yaml", mode, '3')]))
            .answers(201, json!({ "sha": sha('4').as_str() }))
            .answers(201, json!({ "sha": sha('5').as_str() }));
        let commit = fake.client().await.commit_file(&shop(), &sha('a'), "envs/x.yaml", "tag: 2\n", "m").await;
        assert_eq!(commit, Ok(sha('5')));
        let entry = json!({ "path": "envs/x.yaml", "mode": expected, "type": "blob", "content": "tag: 2\n" });
        let written = [
            json!({ "base_tree": sha('1').as_str(), "tree": [entry] }),
            json!({ "message": "m", "tree": sha('4').as_str(), "parents": [sha('a').as_str()] }),
        ];
        assert_eq!(fake.written(), written);
    }
    let new = fake_with_base_tree('1')
        .answers(200, level(&[]))
        .answers(201, json!({ "sha": sha('4').as_str() }))
        .answers(201, json!({ "sha": sha('5').as_str() }));
    assert!(new.client().await.commit_file(&shop(), &sha('a'), "envs/x.yaml", "", "m").await.is_ok());
    assert_eq!(new.written()[0]["tree"][0]["mode"], "100644");
}

#[tokio::test]
async fn directories_links_and_submodules_are_never_overwritten() {
    for (mode, kind) in [("040000", "a directory"), ("120000", "a link"), ("160000", "a submodule")] {
        let fake = fake_with_base_tree('1').answers(200, level(&[("x", mode, '3')]));
        let error = fake.client().await.commit_file(&shop(), &sha('a'), "x", "", "m").await.unwrap_err();
        assert!(error.to_string().contains(kind), "{error}");
        assert_eq!(fake.written(), Vec::<Value>::new());
    }
    let fake = fake_with_base_tree('1').answers(200, level(&[("x", "100644", '3')]));
    assert!(fake.client().await.commit_file(&shop(), &sha('a'), "x/y", "", "m").await.is_err());
    let missing = FakeGithub::default().answers(404, error_body("Not Found"));
    let error = missing.client().await.commit_file(&shop(), &sha('a'), "x", "", "m").await.unwrap_err();
    assert_eq!(error, GithubError::NotFound("the commit aaaaaaa".to_owned()));
    assert!(FakeGithub::default().client().await.commit_file(&shop(), &sha('a'), "a/../b", "", "m").await.is_err());
}
