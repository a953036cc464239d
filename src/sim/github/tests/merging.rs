//! Whether and how a pull request can be merged, and what the rules of its branch say.

use serde_json::{Value, json};

use super::super::{Rules, Verdict, WriteError};
use super::{REPOSITORY, World, extract_message, status_and_message};
use crate::sim::faults::Fault;

const ONE: &str = "/repos/acme/checkout/pulls/1";
const MERGE: &str = "/repos/acme/checkout/pulls/1/merge";

#[tokio::test]
async fn whether_it_can_be_merged_is_known_at_the_second_look() {
    let town = World::with_pull().await;
    let look = async || {
        let (_, pull) = town.get(ONE).await;
        (pull["mergeable"].clone(), pull["mergeable_state"].clone())
    };
    let (unknown, clean) = ((Value::Null, json!("unknown")), (json!(true), json!("clean")));
    assert_eq!([look().await, look().await, look().await], [unknown.clone(), clean.clone(), clean.clone()]);
    town.commit("gantry/x", "More", &[("src/more.rs", "1\n")]);
    assert_eq!([look().await, look().await], [unknown.clone(), clean.clone()], "the head moved");
    town.commit("prod", "A hotfix", &[("src/fix.rs", "1\n")]);
    assert_eq!([look().await, look().await], [unknown.clone(), clean], "the base moved");
    town.commit("prod", "Another price", &[("src/price.rs", "13\n")]);
    assert_eq!([look().await, look().await], [unknown, (json!(false), json!("dirty"))]);
}

#[tokio::test]
async fn a_merge_is_a_commit_of_two_parents() {
    let town = World::with_pull().await;
    let (base, head) = (town.head("prod"), town.head("gantry/x"));
    let body = json!({ "sha": head.as_str(), "merge_method": "merge", "commit_title": "Promote", "commit_message": "Gantry-Change: 1" });
    let (status, merged) = town.put(MERGE, &body).await;
    let expected =
        json!({ "sha": town.head("prod").as_str(), "merged": true, "message": "Pull Request successfully merged" });
    assert_eq!((status, merged), (200, expected));
    let (_, commit) = town.get("/repos/acme/checkout/commits/prod").await;
    assert_eq!(commit["commit"]["message"], "Promote\n\nGantry-Change: 1");
    let parents: Vec<_> = commit["parents"].as_array().unwrap().iter().map(|parent| &parent["sha"]).collect();
    assert_eq!(parents, [base.as_str(), head.as_str()]);
    assert_eq!(
        (&commit["author"]["login"], &commit["committer"]["login"]),
        (&json!("gantry[bot]"), &json!("web-flow"))
    );
    let (_, pull) = town.get(ONE).await;
    assert_eq!((&pull["state"], &pull["merged"], &pull["commits"]), (&json!("closed"), &json!(true), &json!(1)));
    assert_eq!((&pull["merge_commit_sha"], &pull["merged_by"]["login"]), (&commit["sha"], &json!("gantry[bot]")));
    assert_eq!(town.merge().await, status_and_message(405, "Pull Request is not mergeable"), "once is enough");
}

#[tokio::test]
async fn a_merge_has_githubs_message_and_may_be_a_squash() {
    let town = World::with_pull().await;
    town.merge().await;
    let (_, commit) = town.get("/repos/acme/checkout/commits/prod").await;
    assert_eq!(commit["commit"]["message"], "Merge pull request #1 from acme/gantry/x\n\nPromote checkout");
    let town = World::with_pull().await;
    town.put(MERGE, &json!({ "merge_method": "squash" })).await;
    let (_, commit) = town.get("/repos/acme/checkout/commits/prod").await;
    assert_eq!(commit["commit"]["message"], "Promote checkout (#1)");
    assert_eq!(commit["parents"].as_array().unwrap().len(), 1);
    assert_eq!(town.github.pulls(REPOSITORY)[0].state, "merged");
}

#[tokio::test]
async fn a_merge_that_cannot_be_says_why() {
    let town = World::with_pull().await;
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
        assert_eq!(extract_message(town.put(MERGE, &body).await), answer);
    }
    assert_eq!(town.put("/repos/acme/checkout/pulls/9/merge", &json!({})).await.0, 404);
    town.commit("prod", "Another price", &[("src/price.rs", "13\n")]);
    assert_eq!(town.merge().await, status_and_message(405, "Pull Request is not mergeable"), "a conflict");
    town.github.close_pull(REPOSITORY, 1, "bob").unwrap();
    assert_eq!(town.merge().await, status_and_message(405, "Pull Request is not mergeable"), "closed");
}

#[tokio::test]
async fn the_fault_makes_a_pull_request_dirty_until_a_branch_moves() {
    let town = World::with_pull().await;
    town.faults.arm(Fault::MergeConflict, 1, Some("checkout".to_owned()), Some("prod".to_owned()));
    assert_eq!(town.mergeable_state().await, "dirty");
    assert_eq!(town.merge().await, status_and_message(405, "Pull Request is not mergeable"));
    assert_eq!(town.mergeable_state().await, "dirty");
    town.commit("gantry/x", "More", &[("src/more.rs", "1\n")]);
    assert_eq!(town.mergeable_state().await, "clean");
    assert_eq!(town.merge().await.0, 200);
}

fn reviews(required_reviews: u32) -> Rules {
    Rules { required_reviews, ..Rules::default() }
}

fn checks(names: &[&str]) -> Rules {
    Rules { required_checks: names.iter().map(|name| (*name).to_owned()).collect(), ..Rules::default() }
}

#[tokio::test]
async fn required_reviews_count_the_latest_review_of_people_who_may_write() {
    let town = World::with_pull().await;
    for login in ["carol", "dave"] {
        town.add_person(login);
    }
    town.github.set_permission(REPOSITORY, "dave", "read").unwrap();
    town.github.protect(REPOSITORY, "prod", reviews(1)).unwrap();
    let missing = "At least 1 approving review is required by reviewers with write access.";
    let review = |login, verdict| town.github.review(REPOSITORY, 1, login, verdict, "").unwrap();
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
        assert_eq!(town.mergeable_state().await, state, "after {step:?}");
        if let Some(refusal) = refusal {
            assert_eq!(town.merge().await, status_and_message(405, refusal), "after {step:?}");
        }
    }
    town.github.protect(REPOSITORY, "prod", reviews(3)).unwrap();
    assert_eq!(
        town.merge().await,
        status_and_message(405, "At least 3 approving reviews are required by reviewers with write access.")
    );
    town.github.protect(REPOSITORY, "prod", reviews(2)).unwrap();
    assert_eq!(town.merge().await.0, 200);
}

#[tokio::test]
async fn required_checks_are_runs_or_statuses_of_the_head() {
    let town = World::with_pull().await;
    town.github.protect(REPOSITORY, "prod", checks(&["build"])).unwrap();
    let head = town.head("gantry/x");
    let steps = [
        (None, status_and_message(405, "Required status check \"build\" is expected.")),
        (Some("in_progress"), status_and_message(405, "Required status check \"build\" is pending.")),
        (Some("failure"), status_and_message(405, "Required status check \"build\" is failing.")),
    ];
    for (conclusion, answer) in steps {
        if let Some(conclusion) = conclusion {
            town.github.set_check(REPOSITORY, &head, "build", conclusion).unwrap();
        }
        assert_eq!(town.mergeable_state().await, "blocked");
        assert_eq!(town.merge().await, answer);
    }
    town.github.set_check(REPOSITORY, &head, "build", "success").unwrap();
    assert_eq!(town.mergeable_state().await, "clean");
    town.github.set_check(REPOSITORY, &head, "lint", "failure").unwrap();
    assert_eq!(town.mergeable_state().await, "unstable", "no rule requires it");

    town.github.protect(REPOSITORY, "prod", checks(&["build", "lint", "docs"])).unwrap();
    let mixed = "2 of 3 required status checks have not succeeded: 1 failing, 1 expected.";
    assert_eq!(town.merge().await, status_and_message(405, mixed));
    town.github.set_check(REPOSITORY, &head, "lint", "success").unwrap();
    assert_eq!(town.merge().await, status_and_message(405, "1 of 3 required status checks are expected."));
    let status = json!({ "state": "success", "context": "docs" });
    town.post(&format!("/repos/acme/checkout/statuses/{head}"), &status).await;
    assert_eq!(town.merge().await.0, 200, "a status is as good as a run");
}

#[tokio::test]
async fn a_strict_branch_wants_a_head_that_contains_it() {
    let town = World::with_pull().await;
    let strict = Rules { strict: true, ..checks(&["build"]) };
    town.github.protect(REPOSITORY, "prod", strict.clone()).unwrap();
    town.github.set_check(REPOSITORY, &town.head("gantry/x"), "build", "success").unwrap();
    assert_eq!(town.mergeable_state().await, "clean");
    town.commit("prod", "A hotfix", &[("src/fix.rs", "1\n")]);
    assert_eq!(town.mergeable_state().await, "behind");
    assert_eq!(town.merge().await, status_and_message(405, "Required status check \"build\" is expected."));
    town.github.protect(REPOSITORY, "prod", Rules { required_checks: Vec::new(), ..strict }).unwrap();
    assert_eq!(town.mergeable_state().await, "behind");
    assert_eq!(
        town.merge().await,
        status_and_message(409, "Head branch is out of date. Review and try the merge again.")
    );
}

#[tokio::test]
async fn a_protected_branch_moves_only_by_pull_request() {
    let town = World::with_pull().await;
    let rules = Rules { protected_from_pushes: true, ..Rules::default() };
    town.github.protect(REPOSITORY, "prod", rules).unwrap();
    let (before, head) = (town.head("prod"), town.head("gantry/x"));
    let about = "You're not authorized to push to this branch. \
                 Visit https://docs.github.com/articles/about-protected-branches/ for more information.";
    let body = json!({ "base": "prod", "head": "gantry/x" });
    assert_eq!(extract_message(town.post("/repos/acme/checkout/merges", &body).await), status_and_message(409, about));
    for (force, end) in
        [(false, "Cannot update this protected branch"), (true, "Cannot force-push to this protected branch")]
    {
        let body = json!({ "sha": head.as_str(), "force": force });
        let answer = town.patch("/repos/acme/checkout/git/refs/heads/prod", &body).await;
        assert_eq!(extract_message(answer), status_and_message(422, &format!("{about} {end}")));
    }
    let url = format!("{}/repos/acme/checkout/git/refs/heads/prod", town.url);
    let deleted = town.send(reqwest::Client::new().delete(url).bearer_auth("a-token")).await;
    assert_eq!(extract_message(deleted), status_and_message(422, "Cannot delete this protected branch"));
    let by_hand = [
        town.github.point_branch(REPOSITORY, "prod", &head),
        town.github.delete_branch(REPOSITORY, "prod"),
        town.github.merge(REPOSITORY, "prod", &head, "m", &super::alice(), town.clock.now()).map(|_| ()),
        town.github.commit(super::new_commit("prod", "m", [].into(), town.clock.now())).map(|_| ()),
    ];
    for refused in by_hand {
        assert!(matches!(refused, Err(WriteError::Refused(_))), "{refused:?}");
    }
    assert_eq!(town.head("prod"), before);
    assert_eq!(town.merge().await.0, 200);
    assert_ne!(town.head("prod"), before);
}

#[tokio::test]
async fn a_person_merges_by_hand_where_the_rules_let_them() {
    let town = World::with_pull().await;
    town.github.protect(REPOSITORY, "prod", reviews(1)).unwrap();
    let merge = || town.github.merge_pull(REPOSITORY, 1, "bob").map_err(|error| error.to_string());
    assert_eq!(merge().unwrap_err(), "At least 1 approving review is required by reviewers with write access.");
    town.github.review(REPOSITORY, 1, "bob", Verdict::Approve, "Fine").unwrap();
    town.github.set_permission(REPOSITORY, "bob", "read").unwrap();
    assert_eq!(merge().unwrap_err(), "bob may not merge in acme/checkout: that takes write access.");
    town.github.set_permission(REPOSITORY, "bob", "write").unwrap();
    assert_eq!(merge().unwrap(), town.head("prod"));
    let (_, pull) = town.get(ONE).await;
    assert_eq!(pull["merged_by"]["login"], "bob");
    let (_, commit) = town.get("/repos/acme/checkout/commits/prod").await;
    assert_eq!((&commit["author"]["login"], &commit["committer"]["login"]), (&json!("bob"), &json!("web-flow")));
}
