//! Changes of a repository: references, merges, the Git database, statuses, faults, and the calls of listeners.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use octocrab::models::git::CreateTreeEntry;
use octocrab::params::repos::Reference;
use serde_json::{Value, json};

use super::super::{BranchMove, WriteError};
use super::by_git::{export, fsck, is_git_installed};
use super::{REPOSITORY, World, alice, new_commit, status_and_message, unwrap_github_error};
use crate::sim::faults::Fault;

fn branch(name: &str) -> Reference {
    Reference::Branch(name.to_owned())
}

fn tag(name: &str) -> Reference {
    Reference::Tag(name.to_owned())
}

#[tokio::test]
async fn a_merge_makes_a_commit_with_two_parents_and_a_second_merge_does_nothing() {
    let world = World::with_history().await;
    let (qa, develop) = (world.head("qa"), world.head("develop"));
    let octocrab = world.octocrab();
    let repos = octocrab.repos("acme", "checkout");

    let merged =
        repos.merge(develop.as_str(), "qa").commit_message("Promote\n\nGantry-Change: 1").send().await.unwrap();
    let commit = octocrab.commits("acme", "checkout").get(merged.unwrap().sha).await.unwrap();
    assert_eq!(commit.commit.message, "Promote\n\nGantry-Change: 1");
    let parents: Vec<_> = commit.parents.iter().map(|parent| parent.sha.clone().unwrap()).collect();
    assert_eq!(parents, [qa.as_str(), develop.as_str()]);
    assert_eq!(commit.author.unwrap().login, "gantry[bot]");
    assert_eq!(commit.sha, world.head("qa").as_str());
    assert_eq!(world.github.read_file(REPOSITORY, &world.head("qa"), "src/price.rs").as_deref(), Some("12.00\n"));
    assert_eq!(commit.commit.committer.unwrap().date.unwrap().timestamp(), world.clock.now().as_second());

    assert!(repos.merge(develop.as_str(), "qa").send().await.unwrap().is_none());
    assert!(repos.merge(develop.short(), "qa").send().await.unwrap().is_none());
}

#[tokio::test]
async fn a_refused_merge_has_a_reason() {
    let world = World::with_history().await;
    world.commit("qa", "Another price", &[("src/price.rs", "13\n")]);
    let before = world.head("qa");
    let octocrab = world.octocrab();
    let repos = octocrab.repos("acme", "checkout");
    let cases = [
        ("develop", "qa", status_and_message(409, "Merge conflict")),
        ("develop", "staging", status_and_message(404, "Base does not exist")),
        ("nothing", "qa", status_and_message(404, "Head does not exist")),
        ("0123456789012345678901234567890123456789", "qa", status_and_message(404, "Head does not exist")),
    ];
    for (head, base, answer) in cases {
        assert_eq!(unwrap_github_error(repos.merge(head, base).send().await), answer);
    }
    assert_eq!(world.head("qa"), before);
    let by_hand = world.github.merge(REPOSITORY, "qa", &world.head("develop"), "m", &alice(), world.clock.now());
    assert!(matches!(by_hand, Err(WriteError::Conflict)));
}

#[tokio::test]
async fn references_are_created_moved_and_deleted_by_githubs_rules() {
    let world = World::with_history().await;
    let (qa, develop) = (world.head("qa"), world.head("develop"));
    let octocrab = world.octocrab();
    let git = octocrab.repos("acme", "checkout").git();
    let nothing = "0123456789012345678901234567890123456789";

    git.create_ref(&branch("gantry/1"), qa.as_str()).await.unwrap();
    assert_eq!(
        unwrap_github_error(git.create_ref(&branch("gantry/1"), qa.as_str()).await),
        status_and_message(422, "Reference already exists")
    );
    assert_eq!(
        unwrap_github_error(git.create_ref(&branch("x"), nothing).await),
        status_and_message(422, "Object does not exist")
    );
    assert_eq!(
        unwrap_github_error(git.create_ref(&branch("qa/x"), qa.as_str()).await),
        status_and_message(422, "Reference update failed")
    );
    assert_eq!(
        unwrap_github_error(git.create_ref(&branch("gantry"), qa.as_str()).await),
        status_and_message(422, "Reference update failed")
    );

    git.update_ref(&branch("gantry/1"), develop.as_str()).force(false).send().await.unwrap();
    assert_eq!(world.head("gantry/1"), develop);
    let backwards = git.update_ref(&branch("gantry/1"), qa.as_str()).force(false).send().await;
    assert_eq!(unwrap_github_error(backwards), status_and_message(422, "Update is not a fast forward"));
    git.update_ref(&branch("gantry/1"), qa.as_str()).force(true).send().await.unwrap();
    assert_eq!(world.head("gantry/1"), qa);
    let missing = git.update_ref(&branch("gantry/2"), qa.as_str()).send().await;
    assert_eq!(unwrap_github_error(missing), status_and_message(422, "Reference does not exist"));

    git.delete_ref(&branch("gantry/1")).await.unwrap();
    assert_eq!(
        unwrap_github_error(git.delete_ref(&branch("gantry/1")).await),
        status_and_message(422, "Reference does not exist")
    );
    assert_eq!(unwrap_github_error(git.get_ref(&branch("gantry/1")).await), status_and_message(404, "Not Found"));
}

#[tokio::test]
async fn an_annotated_tag_needs_its_object_and_its_reference() {
    let world = World::with_history().await;
    let qa = world.head("qa");
    let octocrab = world.octocrab();
    let git = octocrab.repos("acme", "checkout").git();
    let created = git.create_tag("qa/2026.11.16-1", "Promoted", qa.as_str(), "commit").send().await.unwrap();
    assert!(world.github.tags(REPOSITORY).is_empty());
    git.create_ref(&tag("qa/2026.11.16-1"), &created.sha).await.unwrap();
    world.github.tag(REPOSITORY, "qa/2026.11.16-2", &qa, "Seeded").unwrap();

    let found = git.list_matching_refs("tags/qa/").await.unwrap();
    let names: Vec<_> = found.iter().map(|found| found.ref_field.as_str()).collect();
    assert_eq!(names, ["refs/tags/qa/2026.11.16-1", "refs/tags/qa/2026.11.16-2"]);
    assert_eq!(git.list_matching_refs("tags/prod/").await.unwrap(), []);
    assert_eq!(git.get_tag(created.sha).await.unwrap().object.unwrap().sha, qa.as_str());
    assert_eq!(world.github.tags(REPOSITORY)["qa/2026.11.16-1"], qa);
    let listed = octocrab.repos("acme", "checkout").list_tags().send().await.unwrap();
    assert_eq!(listed.items[1].commit.sha, qa.as_str());
    let by_name = octocrab.commits("acme", "checkout").get("qa/2026.11.16-1").await.unwrap();
    assert_eq!(by_name.sha, qa.as_str());
}

#[tokio::test]
async fn a_commit_is_built_from_blobs_and_trees() {
    let world = World::with_history().await;
    let develop = world.head("develop");
    let octocrab = world.octocrab();
    let git = octocrab.repos("acme", "checkout").git();

    let blob = git.create_blob("AAEC/w==").encoding("base64").send().await.unwrap();
    assert_eq!(git.get_blob(&blob.sha).await.unwrap().content.trim(), "AAEC/w==");
    let base = git.get_commit(develop.as_str()).await.unwrap().tree.sha;
    let entries = vec![
        CreateTreeEntry::new("src/logo.bin", "100644", "blob").with_sha(&blob.sha),
        CreateTreeEntry::new("src/cart.rs/mod.rs", "100755", "blob").with_content("moved\n"),
    ];
    let tree = git.create_tree(entries).base_tree(&base).send().await.unwrap();
    let (_, tree) = world
        .post(
            "/repos/acme/checkout/git/trees",
            &json!({ "base_tree": tree.sha, "tree": [
                { "path": "README.md", "mode": "100644", "type": "blob", "sha": null },
            ]}),
        )
        .await;
    let tree = tree["sha"].as_str().unwrap();
    let listing = git.get_tree(tree).recursive(true).send().await.unwrap();
    let paths: Vec<_> = listing.tree.iter().map(|entry| (entry.path.as_str(), entry.mode.as_str())).collect();
    assert_eq!(
        paths,
        [
            ("src", "040000"),
            ("src/cart.rs", "040000"),
            ("src/cart.rs/mod.rs", "100755"),
            ("src/logo.bin", "100644"),
            ("src/price.rs", "100644"),
        ]
    );
    let commit = git.create_commit("Restore 1.4", tree).parents(vec![develop.to_string()]).send().await.unwrap();
    assert_eq!(commit.committer.date.unwrap().timestamp(), world.clock.now().as_second());
    git.update_ref(&branch("develop"), &commit.sha).force(false).send().await.unwrap();
    assert_eq!(world.head("develop").as_str(), commit.sha);
}

#[tokio::test]
async fn objects_written_through_the_api_pass_fsck() {
    if !is_git_installed() {
        return;
    }
    let world = World::with_history().await;
    let octocrab = world.octocrab();
    let repos = octocrab.repos("acme", "checkout");
    let merged = repos.merge("develop", "qa").commit_message("Promote").send().await.unwrap().unwrap();
    let entries = vec![CreateTreeEntry::new("a-b/c", "100755", "blob").with_content("x")];
    let tree = repos.git().create_tree(entries).base_tree(&merged.sha).send().await.unwrap();
    let commit = repos.git().create_commit("Restore", tree.sha).parents(vec![merged.sha]).send().await.unwrap();
    repos.git().update_ref(&branch("qa"), &commit.sha).send().await.unwrap();
    let created = repos.git().create_tag("qa/1", "Promoted", &commit.sha, "commit").send().await.unwrap();
    repos.git().create_ref(&tag("qa/1"), created.sha).await.unwrap();

    let directory = tempfile::tempdir().unwrap();
    world.github.read(REPOSITORY, |repo| export(repo, directory.path())).unwrap();
    fsck(directory.path());
}

#[tokio::test]
async fn invalid_writes_are_refused() {
    let world = World::with_history().await;
    let blob = "/repos/acme/checkout/git/blobs";
    let trees = "/repos/acme/checkout/git/trees";
    let commits = "/repos/acme/checkout/git/commits";
    let entry = |path: &str, mode: &str| json!({ "tree": [{ "path": path, "mode": mode, "content": "x" }] });
    let none = "0123456789012345678901234567890123456789";
    let cases = [
        (blob, json!({ "content": "!", "encoding": "base64" }), 422),
        (blob, json!([]), 400),
        (blob, json!({ "content": 1 }), 422),
        (trees, entry("", "100644"), 422),
        (trees, entry("a//b", "100644"), 422),
        (trees, entry("../b", "100644"), 422),
        (trees, entry(".git/config", "100644"), 422),
        (trees, entry("a\u{0}b", "100644"), 422),
        (trees, entry("a", "100600"), 422),
        (trees, json!({ "tree": [{ "path": "a", "mode": "100644", "sha": none }] }), 422),
        (trees, json!({ "tree": [], "base_tree": none }), 422),
        (commits, json!({ "message": "m", "tree": none }), 422),
        (commits, json!({ "message": "m" }), 422),
        ("/repos/acme/checkout/git/refs", json!({ "ref": "refs/heads/a..b", "sha": none }), 422),
        ("/repos/acme/checkout/git/tags", json!({ "tag": "x", "message": "m", "object": none, "type": "commit" }), 422),
        ("/repos/acme/checkout/merges", json!({ "base": "qa" }), 422),
        ("/repos/acme/nothing/merges", json!({ "base": "qa", "head": "develop" }), 404),
    ];
    for (path, body, status) in cases {
        assert_eq!(world.post(path, &body).await.0, status, "{path} {body}");
    }
    let moved = world.github.commit(new_commit("qa/x", "m", BTreeMap::new(), world.clock.now()));
    assert!(matches!(moved, Err(WriteError::Refused(_))));
    assert!(world.unknown_requests.all().is_empty());
}

#[tokio::test]
async fn a_write_needs_a_token_and_a_read_none() {
    let world = World::with_history().await;
    let body = json!({ "base": "qa", "head": "develop" });
    let request = reqwest::Client::new().post(format!("{}/repos/acme/checkout/merges", world.url)).json(&body);
    let (status, answer) = world.send(request).await;
    assert_eq!((status, answer["message"].as_str()), (401, Some("Requires authentication")));
    assert_eq!(world.get("/repos/acme/checkout").await.0, 200);
}

#[tokio::test]
async fn statuses_and_checks_are_separate() {
    let world = World::with_history().await;
    let develop = world.head("develop");
    let octocrab = world.octocrab();
    let path = format!("/repos/acme/checkout/statuses/{develop}");
    assert_eq!(world.post(&path, &json!({ "state": "success", "context": "ci/lint" })).await.0, 201);
    assert_eq!(world.post(&path, &json!({ "state": "perhaps" })).await.0, 422);
    let combined: Value =
        octocrab.get(format!("/repos/acme/checkout/commits/{develop}/status"), None::<&()>).await.unwrap();
    assert_eq!((combined["state"].as_str(), combined["total_count"].as_u64()), (Some("success"), Some(1)));

    world.github.set_check(REPOSITORY, &develop, "build", "success").unwrap();
    let checks = octocrab.checks("acme", "checkout");
    let runs = checks.list_check_runs_for_git_ref(develop.as_str().to_owned().into()).send().await.unwrap();
    assert_eq!((runs.total_count, runs.check_runs[0].conclusion.as_deref()), (1, Some("success")));

    world.faults.arm(Fault::RedCheck, 1, Some("checkout".to_owned()), None);
    for _ in 0..2 {
        let runs = checks.list_check_runs_for_git_ref(develop.as_str().to_owned().into()).send().await.unwrap();
        assert_eq!(runs.check_runs[0].conclusion.as_deref(), Some("failure"), "a failed check stays failed");
    }
}

#[tokio::test]
async fn faults_strike_as_often_as_armed() {
    let world = World::with_history().await;
    let octocrab = world.octocrab();
    let repos = octocrab.repos("acme", "checkout");
    world.faults.arm(Fault::Github502, 1, None, None);
    let answer = reqwest::get(format!("{}/repos/acme/checkout", world.url)).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["content-type"].to_str().unwrap()), (502, "text/html"));
    assert!(answer.text().await.unwrap().starts_with("<html>"));

    world.faults.arm(Fault::MergeConflict, 1, Some("checkout".to_owned()), Some("qa".to_owned()));
    assert_eq!(
        unwrap_github_error(repos.merge("develop", "qa").send().await),
        status_and_message(409, "Merge conflict")
    );
    assert!(repos.merge("develop", "qa").send().await.unwrap().is_some());
}

#[tokio::test]
async fn a_timeout_after_the_effect_leaves_the_effect() {
    let world = World::with_history().await;
    let before = world.head("qa");
    world.faults.arm(Fault::GithubTimeoutAfterEffect, 1, Some("checkout".to_owned()), None);
    assert_eq!(world.get("/repos/acme/checkout").await.0, 200, "the fault does not affect reads");
    let request = reqwest::Client::new().post(format!("{}/repos/acme/checkout/merges", world.url)).bearer_auth("t");
    let request = request.json(&json!({ "base": "qa", "head": "develop" })).timeout(Duration::from_millis(500));
    assert!(request.send().await.unwrap_err().is_timeout());
    assert_ne!(world.head("qa"), before);
}

#[tokio::test]
async fn every_branch_move_calls_the_listeners_without_a_lock() {
    let world = World::with_history().await;
    let moves: Arc<Mutex<Vec<BranchMove>>> = Arc::default();
    world.github.on_move({
        let (moves, github) = (moves.clone(), world.github.clone());
        move |branch_move| {
            assert_eq!(github.head(&branch_move.repository, &branch_move.branch).as_ref(), Some(&branch_move.after));
            moves.lock().unwrap().push(branch_move.clone());
        }
    });
    let (before, develop) = (world.head("qa"), world.head("develop"));
    let octocrab = world.octocrab();
    let repos = octocrab.repos("acme", "checkout");
    repos.merge("develop", "qa").send().await.unwrap();
    repos.git().create_ref(&branch("staging"), before.as_str()).await.unwrap();
    repos.git().update_ref(&branch("staging"), develop.as_str()).send().await.unwrap();
    repos.git().update_ref(&branch("staging"), develop.as_str()).send().await.unwrap();
    repos.git().create_ref(&tag("v1"), before.as_str()).await.unwrap();
    world.commit("qa", "A hotfix", &[("fix", "1\n")]);

    let moves = moves.lock().unwrap();
    let summary: Vec<_> =
        moves.iter().map(|branch_move| (branch_move.branch.as_str(), branch_move.before.clone())).collect();
    let merged = moves[0].after.clone();
    assert_eq!(
        summary,
        [("qa", Some(before.clone())), ("staging", None), ("staging", Some(before)), ("qa", Some(merged))]
    );
}
