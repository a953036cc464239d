//! Pull requests over the API: opening, listing, editing, and following their branches.

use serde_json::{Value, json};

use super::super::WriteError;
use super::{REPOSITORY, World, extract_message, new_pull, status_and_message};

const PULLS: &str = "/repos/acme/checkout/pulls";

#[tokio::test]
async fn a_pull_request_is_opened_and_read_by_octocrab() {
    let world = World::with_pull().await;
    let pull = world.octocrab().pulls("acme", "checkout").get(1).await.unwrap();
    assert_eq!((pull.number, pull.title.as_deref()), (1, Some("Promote checkout")));
    assert_eq!((pull.body.as_deref(), pull.user.unwrap().login.as_str()), (Some("What it brings."), "gantry[bot]"));
    assert_eq!((pull.head.ref_field.as_str(), pull.base.ref_field.as_str()), ("gantry/x", "prod"));
    assert_eq!(
        (pull.head.sha.as_str(), pull.base.sha.as_str()),
        (world.head("develop").as_str(), world.head("qa").as_str())
    );
    assert_eq!(pull.head.label.as_deref(), Some("acme:gantry/x"));
    let url = format!("{}/acme/checkout/pull/1", world.url);
    assert_eq!(pull.html_url.unwrap().as_str(), url);
    let (_, json) = world.get(&format!("{PULLS}/1")).await;
    assert_eq!((&json["state"], &json["draft"], &json["merged"]), (&json!("open"), &json!(false), &json!(false)));
    assert_eq!((&json["commits"], &json["changed_files"]), (&json!(1), &json!(1)));
    for null in ["merged_at", "closed_at", "merged_by", "merge_commit_sha"] {
        assert_eq!(json[null], Value::Null, "{null}");
    }
}

#[tokio::test]
async fn a_refused_new_pull_request_has_a_reason() {
    let world = World::with_pull().await;
    let cases = [
        (new_pull("gantry/x", "prod"), status_and_message(422, "A pull request already exists for acme:gantry/x.")),
        (
            new_pull("acme:gantry/x", "prod"),
            status_and_message(422, "A pull request already exists for acme:gantry/x."),
        ),
        (new_pull("qa", "prod"), status_and_message(422, "No commits between prod and qa")),
        (new_pull("prod", "develop"), status_and_message(422, "No commits between develop and prod")),
        (new_pull("gantry/none", "prod"), status_and_message(422, "head: invalid")),
        (new_pull("gantry/x", "none"), status_and_message(422, "base: invalid")),
        (json!({ "head": "gantry/x", "base": "qa" }), status_and_message(422, "title: missing_field")),
    ];
    for (body, answer) in cases {
        assert_eq!(extract_message(world.post(PULLS, &body).await), answer, "{body}");
    }
    assert_eq!(
        extract_message(world.post("/repos/acme/none/pulls", &new_pull("a", "b")).await),
        status_and_message(404, "Not Found")
    );
    assert_eq!(world.post(PULLS, &json!({ "title": "no head" })).await.0, 422);
    assert_eq!(world.get(&format!("{PULLS}/2")).await.0, 404);
    assert_eq!(world.get(&format!("{PULLS}/x")).await.0, 404);
}

#[tokio::test]
async fn pull_requests_are_listed_newest_first_by_state_head_and_base() {
    let world = World::with_pull().await;
    world.post(PULLS, &new_pull("gantry/x", "qa")).await;
    world.post(PULLS, &new_pull("develop", "qa")).await;
    world.github.close_pull(REPOSITORY, 3, "bob").unwrap();
    let cases: [(&str, &[u64]); 9] = [
        ("", &[2, 1]),
        ("?state=open&base=prod", &[1]),
        ("?state=closed", &[3]),
        ("?state=all", &[3, 2, 1]),
        ("?head=acme:gantry/x", &[2, 1]),
        ("?head=acme:gantry/x&base=qa&state=all", &[2]),
        ("?head=acme:nothing", &[]),
        ("?head=nothing", &[2, 1]),
        ("?per_page=1&page=2", &[1]),
    ];
    for (query, numbers) in cases {
        let (_, listed) = world.get(&format!("{PULLS}{query}")).await;
        let found: Vec<u64> = listed.as_array().unwrap().iter().map(|pull| pull["number"].as_u64().unwrap()).collect();
        assert_eq!(found, numbers, "{query}");
        assert!(listed[0].get("mergeable").is_none(), "a list does not have the mergeable state");
    }
    assert_eq!(world.get(&format!("{PULLS}?state=odd")).await.0, 422);
}

#[tokio::test]
async fn a_pull_request_is_edited_closed_reopened_and_retargeted() {
    let world = World::with_pull().await;
    let pull_path = format!("{PULLS}/1");
    let (status, edited) = world.patch(&pull_path, &json!({ "title": "Another", "body": "" })).await;
    assert_eq!((status, &edited["title"], &edited["body"]), (200, &json!("Another"), &Value::Null));
    let (_, closed) = world.patch(&pull_path, &json!({ "state": "closed" })).await;
    assert_eq!((&closed["state"], &closed["merged"]), (&json!("closed"), &json!(false)));
    assert!(closed["closed_at"].is_string());
    let late = json!({ "base": "qa" });
    assert_eq!(
        extract_message(world.patch(&pull_path, &late).await),
        status_and_message(422, "Cannot change the base branch of a closed pull request.")
    );
    let (_, open) = world.patch(&pull_path, &json!({ "state": "open" })).await;
    assert_eq!((&open["state"], &open["closed_at"]), (&json!("open"), &Value::Null));
    let (_, retargeted) = world.patch(&pull_path, &late).await;
    assert_eq!(retargeted["base"]["ref"], "qa");

    world.github.create_branch(REPOSITORY, "old", &world.head("develop")).unwrap();
    let cases = [
        (json!({ "base": "none" }), "base: invalid"),
        (json!({ "base": "old" }), "There are no new commits between base branch 'old' and head branch 'gantry/x'"),
        (json!({ "state": "odd" }), "state: invalid"),
    ];
    for (body, message) in cases {
        assert_eq!(extract_message(world.patch(&pull_path, &body).await), status_and_message(422, message));
    }
    world.post(PULLS, &new_pull("gantry/x", "prod")).await;
    assert_eq!(
        extract_message(world.patch(&pull_path, &json!({ "base": "prod" })).await),
        status_and_message(422, "A pull request already exists for base branch 'prod' and head branch 'gantry/x'")
    );
}

#[tokio::test]
async fn a_refused_reopening_has_a_reason() {
    let world = World::with_pull().await;
    let reopen = async || extract_message(world.patch(&format!("{PULLS}/1"), &json!({ "state": "open" })).await);
    world.github.close_pull(REPOSITORY, 1, "bob").unwrap();
    world.post(PULLS, &new_pull("gantry/x", "prod")).await;
    assert_eq!(
        reopen().await,
        status_and_message(422, "state cannot be changed. There is already an open pull request (#2).")
    );
    world.github.close_pull(REPOSITORY, 2, "bob").unwrap();
    let head = world.head("gantry/x");
    world.github.point_branch(REPOSITORY, "gantry/x", &world.head("qa")).unwrap();
    assert_eq!(
        reopen().await,
        status_and_message(422, "state cannot be changed. The gantry/x branch was force-pushed or recreated.")
    );
    world.github.point_branch(REPOSITORY, "gantry/x", &head).unwrap();
    world.github.delete_branch(REPOSITORY, "gantry/x").unwrap();
    assert_eq!(
        reopen().await,
        status_and_message(422, "state cannot be changed. The gantry/x branch has been deleted.")
    );
}

/// State, head and base of pull request 1.
fn pull_state(world: &World) -> (&'static str, String, String) {
    let pull = world.github.pulls(REPOSITORY).remove(0);
    (pull.state, pull.head_sha.to_string(), pull.base)
}

#[tokio::test]
async fn a_pull_request_follows_its_head() {
    let world = World::with_pull().await;
    let before = world.head("prod");
    let pushed = world.commit("gantry/x", "More", &[("src/more.rs", "1\n")]);
    assert_eq!(pull_state(&world), ("open", pushed.to_string(), "prod".to_owned()));
    world.commit("prod", "A hotfix", &[("src/fix.rs", "1\n")]);
    let (_, pull) = world.get(&format!("{PULLS}/1")).await;
    assert_eq!(pull["base"]["sha"], before.as_str(), "GitHub's base.sha does not follow the branch");
    world.github.point_branch(REPOSITORY, "gantry/x", &world.head("prod")).unwrap();
    assert_eq!(pull_state(&world).0, "closed", "a head without new commits is closed and not merged");
}

#[tokio::test]
async fn a_pull_request_closes_when_a_branch_is_deleted() {
    for branch in ["gantry/x", "prod"] {
        let world = World::with_pull().await;
        world.github.delete_branch(REPOSITORY, branch).unwrap();
        assert_eq!(pull_state(&world).0, "closed", "{branch}");
        assert!(matches!(world.github.delete_branch(REPOSITORY, branch), Err(WriteError::Refused(_))));
    }
    let world = World::with_pull().await;
    let url = format!("{}/repos/acme/checkout/git/refs/heads/gantry/x", world.url);
    reqwest::Client::new().delete(url).bearer_auth("a-token").send().await.unwrap();
    assert_eq!(pull_state(&world).0, "closed");
}

#[tokio::test]
async fn a_pull_request_is_merged_when_its_base_contains_the_head() {
    let merged_as = |world: &World| {
        let pull = world.github.pulls(REPOSITORY).remove(0);
        assert_eq!(pull.state, "merged");
        pull.merge_commit.unwrap()
    };
    let world = World::with_pull().await;
    world.github.point_branch(REPOSITORY, "prod", &world.head("gantry/x")).unwrap();
    assert_eq!(merged_as(&world), world.head("gantry/x"), "a fast-forward has no commit of its own");

    let world = World::with_pull().await;
    let (_, merged) = world.post("/repos/acme/checkout/merges", &json!({ "base": "prod", "head": "gantry/x" })).await;
    assert_eq!(merged_as(&world).as_str(), merged["sha"].as_str().unwrap());
    let (_, pull) = world.get(&format!("{PULLS}/1")).await;
    assert_eq!((&pull["merged"], &pull["merged_by"]["login"]), (&json!(true), &json!("gantry[bot]")));
    assert_eq!((&pull["mergeable"], &pull["mergeable_state"]), (&Value::Null, &json!("unknown")));

    let world = World::with_pull().await;
    let head = world.head("gantry/x");
    let by = world.github.merge(REPOSITORY, "prod", &head, "By hand", &super::alice(), world.clock.now()).unwrap();
    world.commit("prod", "Afterwards", &[("x", "y\n")]);
    assert_eq!(merged_as(&world), by);
    assert_eq!(
        extract_message(world.patch(&format!("{PULLS}/1"), &json!({ "state": "open" })).await),
        status_and_message(422, "state cannot be changed. The pull request is already merged.")
    );
}

#[tokio::test]
async fn people_open_and_close_pull_requests_by_hand() {
    let world = World::with_pull().await;
    let open = |login: &str, head: &str| world.github.open_pull(REPOSITORY, login, "By hand", head, "qa", "Please");
    assert_eq!(open("bob", "develop").unwrap(), 2);
    let pull = world.github.pulls(REPOSITORY).remove(1);
    assert_eq!((pull.author.as_str(), pull.body.as_str(), pull.state), ("bob", "Please", "open"));
    let sentence = |refused: WriteError| refused.to_string();
    assert_eq!(sentence(open("nobody", "develop").unwrap_err()), "There is no `nobody` on GitHub.");
    assert_eq!(sentence(open("bob", "develop").unwrap_err()), "A pull request already exists for acme:develop.");
    assert_eq!(sentence(open("bob", "none").unwrap_err()), "Validation Failed: the head is not right.");
    world.github.set_permission(REPOSITORY, "bob", "read").unwrap();
    assert_eq!(
        sentence(world.github.close_pull(REPOSITORY, 1, "bob").unwrap_err()),
        "bob may not change pull request 1: that takes write access."
    );
    world.github.close_pull(REPOSITORY, 2, "bob").unwrap();
    assert_eq!(
        sentence(world.github.close_pull(REPOSITORY, 9, "bob").unwrap_err()),
        "There is no pull request 9 in acme/checkout."
    );
}
