//! The parts of the Git database that rollbacks and manifests use: commits that no branch has, trees based on trees,
//! and the rules of a branch when its reference is moved.

use octocrab::params::repos::Reference;
use serde_json::{Value, json};

use super::super::Rules;
use super::{REPOSITORY, World, status_and_message};

const ROOT: &str = "/repos/acme/checkout";

async fn create_object(world: &World, kind: &str, body: Value) -> String {
    let (status, answer) = world.post(&format!("{ROOT}/git/{kind}"), &body).await;
    assert_eq!(status, 201, "{answer}");
    answer["sha"].as_str().unwrap().to_owned()
}

async fn tree_of(world: &World, commit: &str) -> String {
    let (_, answer) = world.get(&format!("{ROOT}/git/commits/{commit}")).await;
    answer["tree"]["sha"].as_str().unwrap().to_owned()
}

/// GitHub merges any commit in its store by its id: "you can pass a sha from a fork as head",
/// <https://github.com/spotify/github-java-client/pull/16>.
#[tokio::test]
async fn a_commit_without_a_reference_can_be_read_compared_and_merged() {
    let world = World::with_history().await;
    let (qa, develop) = (world.head("qa"), world.head("develop"));
    let tree = tree_of(&world, develop.as_str()).await;
    let loose =
        create_object(&world, "commits", json!({ "message": "Loose", "tree": tree, "parents": [qa.as_str()] })).await;
    assert_eq!(world.get(&format!("{ROOT}/commits/{loose}")).await.1["commit"]["tree"]["sha"], tree.as_str());
    let (_, compared) = world.get(&format!("{ROOT}/compare/{qa}...{loose}")).await;
    assert_eq!(compared["merge_base_commit"]["sha"], qa.as_str());
    let (_, walked) = world.get(&format!("{ROOT}/commits?sha={loose}")).await;
    assert_eq!(walked[0]["sha"], loose.as_str());

    let (status, merged) = world.post(&format!("{ROOT}/merges"), &json!({ "base": "qa", "head": loose })).await;
    assert_eq!(status, 201);
    let parents = json!([merged["parents"][0]["sha"], merged["parents"][1]["sha"]]);
    assert_eq!(parents, json!([qa.as_str(), loose]), "a merge commit, though a fast-forward was possible");
    assert_eq!(merged["commit"]["tree"]["sha"], tree.as_str());
}

#[tokio::test]
async fn a_tree_based_on_a_tree_changes_only_its_own_file() {
    let world = World::with_history().await;
    let tree = tree_of(&world, world.head("develop").as_str()).await;
    let entry = json!({ "path": "bin/run", "mode": "100755", "type": "blob", "content": "1\n" });
    let first = create_object(&world, "trees", json!({ "base_tree": tree, "tree": [entry] })).await;
    let entry = json!({ "path": "src/cart.rs", "mode": "100644", "type": "blob", "content": "four\n" });
    let second = create_object(&world, "trees", json!({ "base_tree": first, "tree": [entry] })).await;
    let (_, tree_json) = world.get(&format!("{ROOT}/git/trees/{second}?recursive=1")).await;
    let mode = |path: &str| {
        let entry = tree_json["tree"].as_array().unwrap().iter().find(|entry| entry["path"] == path).unwrap();
        entry["mode"].as_str().unwrap().to_owned()
    };
    assert_eq!((mode("bin/run").as_str(), mode("src/price.rs").as_str()), ("100755", "100644"));
    let (_, same) = world
        .post(
            &format!("{ROOT}/git/trees"),
            &json!({ "base_tree": second, "tree": [
            { "path": "src/cart.rs", "mode": "100644", "type": "blob", "content": "four\n" }
        ] }),
        )
        .await;
    assert_eq!(same["sha"], second.as_str(), "the same content is the same tree");
}

#[tokio::test]
async fn a_reference_update_respects_the_rules_of_the_branch() {
    let world = World::with_history().await;
    let develop = world.head("develop");
    let octocrab = world.octocrab();
    let repos = octocrab.repos("acme", "checkout");
    let qa = Reference::Branch("qa".to_owned());
    let checks = || vec!["build".to_owned()];
    let cases = [
        (Rules { required_reviews: 1, ..Rules::default() }, "Changes must be made through a pull request."),
        (Rules { required_checks: checks(), ..Rules::default() }, "Required status check \"build\" is expected."),
        (
            Rules { required_reviews: 2, required_checks: checks(), ..Rules::default() },
            "Changes must be made through a pull request. Required status check \"build\" is expected.",
        ),
        (
            Rules { protected_from_pushes: true, ..Rules::default() },
            "You're not authorized to push to this branch. Visit \
             https://docs.github.com/articles/about-protected-branches/ for more information. \
             Cannot update this protected branch",
        ),
    ];
    let before = world.head("qa");
    for (rules, message) in cases {
        world.github.protect(REPOSITORY, "qa", rules).unwrap();
        let answer = repos.git().update_ref(&qa, develop.as_str()).force(false).send().await;
        assert_eq!(super::unwrap_github_error(answer), status_and_message(422, message));
    }
    assert_eq!(world.head("qa"), before);
    world.github.protect(REPOSITORY, "qa", Rules { required_checks: checks(), ..Rules::default() }).unwrap();
    world.github.set_check(REPOSITORY, &develop, "build", "success").unwrap();
    repos.git().update_ref(&qa, develop.as_str()).force(false).send().await.unwrap();
    assert_eq!(world.head("qa"), develop, "a commit with passed checks is allowed");
}

#[tokio::test]
async fn an_old_file_can_be_read_and_a_large_one_has_no_content() {
    let world = World::with_history().await;
    let before = world.head("develop");
    let large = "x".repeat((1 << 20) + 1);
    world.commit("develop", "Grow", &[("src/price.rs", large.as_str())]);
    let path = format!("{ROOT}/contents/src/price.rs");
    let (_, old) = world.get(&format!("{path}?ref={before}")).await;
    assert_eq!((old["encoding"].as_str(), old["content"].as_str()), (Some("base64"), Some("MTIuMDAK\n")));
    let (status, new) = world.get(&format!("{path}?ref=develop")).await;
    let answer = (status, new["encoding"].as_str(), new["content"].as_str(), new["size"].as_u64());
    assert_eq!(answer, (200, Some("none"), Some(""), Some((1 << 20) + 1)));
    let (_, blob) = world.get(&format!("{ROOT}/git/blobs/{}", new["sha"].as_str().unwrap())).await;
    assert_eq!(blob["encoding"], "base64");
    let (status, missing) = world.get(&format!("{path}?ref=nowhere")).await;
    assert_eq!((status, missing["message"].as_str()), (404, Some("No commit found for the ref nowhere")));
}

#[tokio::test]
async fn the_commits_of_a_path_are_those_that_changed_it() {
    let world = World::with_history().await;
    world.commit("develop", "Another file", &[("src/other.rs", "1\n")]);
    let (_, found) = world.get(&format!("{ROOT}/commits?sha=develop&path=src/price.rs&per_page=5")).await;
    let subjects: Vec<_> =
        found.as_array().unwrap().iter().map(|commit| commit["commit"]["message"].as_str().unwrap()).collect();
    assert_eq!(subjects, ["Round the price", "Add a price"]);
    let (_, repository) = world.get(ROOT).await;
    assert_eq!(repository["default_branch"], "develop");
}
