//! Whether and how a pull request can be merged, and the effect of its branch's rules.

use serde_json::{Value, json};

use super::super::{Rules, Verdict, WriteError};
use super::{REPOSITORY, World, extract_message, status_and_message};
use crate::sim::faults::Fault;

const PULL: &str = "/repos/acme/checkout/pulls/1";
const MERGE: &str = "/repos/acme/checkout/pulls/1/merge";

#[tokio::test]
async fn the_mergeable_state_is_known_at_the_second_request() {
    let world = World::with_pull().await;
    let read_state = async || {
        let (_, pull) = world.get(PULL).await;
        (pull["mergeable"].clone(), pull["mergeable_state"].clone())
    };
    let (unknown, clean) = ((Value::Null, json!("unknown")), (json!(true), json!("clean")));
    assert_eq!(
        [read_state().await, read_state().await, read_state().await],
        [unknown.clone(), clean.clone(), clean.clone()]
    );
    world.commit("gantry/x", "More", &[("src/more.rs", "1\n")]);
    assert_eq!([read_state().await, read_state().await], [unknown.clone(), clean.clone()], "the head moved");
    world.commit("prod", "A hotfix", &[("src/fix.rs", "1\n")]);
    assert_eq!([read_state().await, read_state().await], [unknown.clone(), clean], "the base moved");
    world.commit("prod", "Another price", &[("src/price.rs", "13\n")]);
    assert_eq!([read_state().await, read_state().await], [unknown, (json!(false), json!("dirty"))]);
}

#[tokio::test]
async fn a_merge_makes_a_commit_with_two_parents() {
    let world = World::with_pull().await;
    let (base, head) = (world.head("prod"), world.head("gantry/x"));
    let body = json!({ "sha": head.as_str(), "merge_method": "merge", "commit_title": "Promote", "commit_message": "Gantry-Change: 1" });
    let (status, merged) = world.put(MERGE, &body).await;
    let expected =
        json!({ "sha": world.head("prod").as_str(), "merged": true, "message": "Pull Request successfully merged" });
    assert_eq!((status, merged), (200, expected));
    let (_, commit) = world.get("/repos/acme/checkout/commits/prod").await;
    assert_eq!(commit["commit"]["message"], "Promote\n\nGantry-Change: 1");
    let parents: Vec<_> = commit["parents"].as_array().unwrap().iter().map(|parent| &parent["sha"]).collect();
    assert_eq!(parents, [base.as_str(), head.as_str()]);
    assert_eq!(
        (&commit["author"]["login"], &commit["committer"]["login"]),
        (&json!("gantry[bot]"), &json!("web-flow"))
    );
    let (_, pull) = world.get(PULL).await;
    assert_eq!((&pull["state"], &pull["merged"], &pull["commits"]), (&json!("closed"), &json!(true), &json!(1)));
    assert_eq!((&pull["merge_commit_sha"], &pull["merged_by"]["login"]), (&commit["sha"], &json!("gantry[bot]")));
    assert_eq!(world.merge().await, status_and_message(405, "Pull Request is not mergeable"), "merged already");
}

#[tokio::test]
async fn a_merge_has_githubs_message_and_may_be_a_squash() {
    let world = World::with_pull().await;
    world.merge().await;
    let (_, commit) = world.get("/repos/acme/checkout/commits/prod").await;
    assert_eq!(commit["commit"]["message"], "Merge pull request #1 from acme/gantry/x\n\nPromote checkout");
    let world = World::with_pull().await;
    world.put(MERGE, &json!({ "merge_method": "squash" })).await;
    let (_, commit) = world.get("/repos/acme/checkout/commits/prod").await;
    assert_eq!(commit["commit"]["message"], "Promote checkout (#1)");
    assert_eq!(commit["parents"].as_array().unwrap().len(), 1);
    assert_eq!(world.github.pulls(REPOSITORY)[0].state, "merged");
}

#[tokio::test]
async fn a_refused_merge_has_a_reason() {
    let world = World::with_pull().await;
    let nothing = "0123456789012345678901234567890123456789";
    let cases = [
        (
            json!({ "sha": nothing }),
            status_and_message(409, "Head branch was modified. Review and try the merge again."),
        ),
        (
            json!({ "merge_method": "rebase" }),
            status_and_message(405, "Rebase merges are not allowed on this repository."),
        ),
        (json!({ "merge_method": "odd" }), status_and_message(422, "merge_method: invalid")),
    ];
    for (body, answer) in cases {
        assert_eq!(extract_message(world.put(MERGE, &body).await), answer);
    }
    assert_eq!(world.put("/repos/acme/checkout/pulls/9/merge", &json!({})).await.0, 404);
    world.commit("prod", "Another price", &[("src/price.rs", "13\n")]);
    assert_eq!(world.merge().await, status_and_message(405, "Pull Request is not mergeable"), "a conflict");
    world.github.close_pull(REPOSITORY, 1, "bob").unwrap();
    assert_eq!(world.merge().await, status_and_message(405, "Pull Request is not mergeable"), "closed");
}

#[tokio::test]
async fn the_conflict_fault_lasts_until_a_branch_moves() {
    let world = World::with_pull().await;
    world.faults.arm(Fault::MergeConflict, 1, Some("checkout".to_owned()), Some("prod".to_owned()));
    assert_eq!(world.mergeable_state().await, "dirty");
    assert_eq!(world.merge().await, status_and_message(405, "Pull Request is not mergeable"));
    assert_eq!(world.mergeable_state().await, "dirty");
    world.commit("gantry/x", "More", &[("src/more.rs", "1\n")]);
    assert_eq!(world.mergeable_state().await, "clean");
    assert_eq!(world.merge().await.0, 200);
}

fn reviews(required_reviews: u32) -> Rules {
    Rules { required_reviews, ..Rules::default() }
}

fn checks(names: &[&str]) -> Rules {
    Rules { required_checks: names.iter().map(|name| (*name).to_owned()).collect(), ..Rules::default() }
}

#[tokio::test]
async fn required_reviews_count_the_latest_review_of_people_who_may_write() {
    let world = World::with_pull().await;
    for login in ["carol", "dave"] {
        world.add_person(login);
    }
    world.github.set_permission(REPOSITORY, "dave", "read").unwrap();
    world.github.protect(REPOSITORY, "prod", reviews(1)).unwrap();
    let missing = "At least 1 approving review is required by reviewers with write access.";
    let review = |login, verdict| world.github.review(REPOSITORY, 1, login, verdict, "").unwrap();
    let steps = [
        (None, Some(missing)),
        (Some(("dave", Verdict::Approve)), Some(missing)),
        (Some(("bob", Verdict::RequestChanges)), Some("1 review requesting changes by reviewers with write access.")),
        (Some(("carol", Verdict::Approve)), Some("1 review requesting changes by reviewers with write access.")),
        (Some(("bob", Verdict::Comment)), Some("1 review requesting changes by reviewers with write access.")),
        (Some(("bob", Verdict::Approve)), None),
    ];
    for (step, refusal) in steps {
        if let Some((login, verdict)) = step {
            review(login, verdict);
        }
        let state = if refusal.is_some() { "blocked" } else { "clean" };
        assert_eq!(world.mergeable_state().await, state, "after {step:?}");
        if let Some(refusal) = refusal {
            assert_eq!(world.merge().await, status_and_message(405, refusal), "after {step:?}");
        }
    }
    world.github.protect(REPOSITORY, "prod", reviews(3)).unwrap();
    assert_eq!(
        world.merge().await,
        status_and_message(405, "At least 3 approving reviews are required by reviewers with write access.")
    );
    world.github.protect(REPOSITORY, "prod", reviews(2)).unwrap();
    assert_eq!(world.merge().await.0, 200);
}

#[tokio::test]
async fn required_checks_are_runs_or_statuses_of_the_head() {
    let world = World::with_pull().await;
    world.github.protect(REPOSITORY, "prod", checks(&["build"])).unwrap();
    let head = world.head("gantry/x");
    let steps = [
        (None, status_and_message(405, "Required status check \"build\" is expected.")),
        (Some("in_progress"), status_and_message(405, "Required status check \"build\" is pending.")),
        (Some("failure"), status_and_message(405, "Required status check \"build\" is failing.")),
    ];
    for (conclusion, answer) in steps {
        if let Some(conclusion) = conclusion {
            world.github.set_check(REPOSITORY, &head, "build", conclusion).unwrap();
        }
        assert_eq!(world.mergeable_state().await, "blocked");
        assert_eq!(world.merge().await, answer);
    }
    world.github.set_check(REPOSITORY, &head, "build", "success").unwrap();
    assert_eq!(world.mergeable_state().await, "clean");
    world.github.set_check(REPOSITORY, &head, "lint", "failure").unwrap();
    assert_eq!(world.mergeable_state().await, "unstable", "no rule requires it");

    world.github.protect(REPOSITORY, "prod", checks(&["build", "lint", "docs"])).unwrap();
    let mixed = "2 of 3 required status checks have not succeeded: 1 failing, 1 expected.";
    assert_eq!(world.merge().await, status_and_message(405, mixed));
    world.github.set_check(REPOSITORY, &head, "lint", "success").unwrap();
    assert_eq!(world.merge().await, status_and_message(405, "1 of 3 required status checks are expected."));
    let status = json!({ "state": "success", "context": "docs" });
    world.post(&format!("/repos/acme/checkout/statuses/{head}"), &status).await;
    assert_eq!(world.merge().await.0, 200, "a status counts like a check run");
}

#[tokio::test]
async fn a_strict_branch_requires_a_head_that_contains_it() {
    let world = World::with_pull().await;
    let strict = Rules { strict: true, ..checks(&["build"]) };
    world.github.protect(REPOSITORY, "prod", strict.clone()).unwrap();
    world.github.set_check(REPOSITORY, &world.head("gantry/x"), "build", "success").unwrap();
    assert_eq!(world.mergeable_state().await, "clean");
    world.commit("prod", "A hotfix", &[("src/fix.rs", "1\n")]);
    assert_eq!(world.mergeable_state().await, "behind");
    assert_eq!(world.merge().await, status_and_message(405, "Required status check \"build\" is expected."));
    world.github.protect(REPOSITORY, "prod", Rules { required_checks: Vec::new(), ..strict }).unwrap();
    assert_eq!(world.mergeable_state().await, "behind");
    assert_eq!(
        world.merge().await,
        status_and_message(409, "Head branch is out of date. Review and try the merge again.")
    );
}

#[tokio::test]
async fn a_protected_branch_changes_only_by_pull_request() {
    let world = World::with_pull().await;
    let rules = Rules { protected_from_pushes: true, ..Rules::default() };
    world.github.protect(REPOSITORY, "prod", rules).unwrap();
    let (before, head) = (world.head("prod"), world.head("gantry/x"));
    let about = "You're not authorized to push to this branch. \
                 Visit https://docs.github.com/articles/about-protected-branches/ for more information.";
    let body = json!({ "base": "prod", "head": "gantry/x" });
    assert_eq!(extract_message(world.post("/repos/acme/checkout/merges", &body).await), status_and_message(409, about));
    for (force, end) in
        [(false, "Cannot update this protected branch"), (true, "Cannot force-push to this protected branch")]
    {
        let body = json!({ "sha": head.as_str(), "force": force });
        let answer = world.patch("/repos/acme/checkout/git/refs/heads/prod", &body).await;
        assert_eq!(extract_message(answer), status_and_message(422, &format!("{about} {end}")));
    }
    let url = format!("{}/repos/acme/checkout/git/refs/heads/prod", world.url);
    let deleted = world.send(reqwest::Client::new().delete(url).bearer_auth("a-token")).await;
    assert_eq!(extract_message(deleted), status_and_message(422, "Cannot delete this protected branch"));
    let by_hand = [
        world.github.point_branch(REPOSITORY, "prod", &head),
        world.github.delete_branch(REPOSITORY, "prod"),
        world.github.merge(REPOSITORY, "prod", &head, "m", &super::alice(), world.clock.now()).map(|_| ()),
        world.github.commit(super::new_commit("prod", "m", [].into(), world.clock.now())).map(|_| ()),
    ];
    for refused in by_hand {
        assert!(matches!(refused, Err(WriteError::Refused(_))), "{refused:?}");
    }
    assert_eq!(world.head("prod"), before);
    assert_eq!(world.merge().await.0, 200);
    assert_ne!(world.head("prod"), before);
}

#[tokio::test]
async fn a_person_merges_by_hand_if_the_rules_allow_it() {
    let world = World::with_pull().await;
    world.github.protect(REPOSITORY, "prod", reviews(1)).unwrap();
    let merge = || world.github.merge_pull(REPOSITORY, 1, "bob").map_err(|error| error.to_string());
    assert_eq!(merge().unwrap_err(), "At least 1 approving review is required by reviewers with write access.");
    world.github.review(REPOSITORY, 1, "bob", Verdict::Approve, "Fine").unwrap();
    world.github.set_permission(REPOSITORY, "bob", "read").unwrap();
    assert_eq!(merge().unwrap_err(), "bob may not merge in acme/checkout: that takes write access.");
    world.github.set_permission(REPOSITORY, "bob", "write").unwrap();
    assert_eq!(merge().unwrap(), world.head("prod"));
    let (_, pull) = world.get(PULL).await;
    assert_eq!(pull["merged_by"]["login"], "bob");
    let (_, commit) = world.get("/repos/acme/checkout/commits/prod").await;
    assert_eq!((&commit["author"]["login"], &commit["committer"]["login"]), (&json!("bob"), &json!("web-flow")));
}
