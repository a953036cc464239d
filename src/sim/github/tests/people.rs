//! People, permissions, teams, the rules of branches, and commits by author.

use serde_json::{Value, json};

use super::super::Rules;
use super::{REPOSITORY, World};

#[tokio::test]
async fn a_profile_shows_the_email_only_if_it_is_public() {
    let world = World::with_pull().await;
    let (status, bob) = world.get("/users/bob").await;
    assert_eq!((status, &bob["login"], &bob["name"], &bob["email"]), (200, &json!("bob"), &json!("BOB"), &Value::Null));
    world.github.set_public_email("bob", Some("bob@home.test"));
    assert_eq!(world.get("/users/Bob").await.1["email"], "bob@home.test");
    assert_eq!(world.octocrab().users("bob").profile().await.unwrap().login, "bob");
    assert_eq!(world.get("/users/nobody").await.0, 404);
    assert_eq!(world.github.people(), ["alice-gh", "bob"]);
}

#[tokio::test]
async fn every_account_has_write_permission_by_default() {
    let world = World::with_pull().await;
    let read_permission =
        async |login: &str| world.get(&format!("/repos/acme/checkout/collaborators/{login}/permission")).await;
    for permission in ["write", "read", "none", "admin"] {
        if permission != "write" {
            world.github.set_permission(REPOSITORY, "bob", permission).unwrap();
        }
        let (status, answer) = read_permission("bob").await;
        assert_eq!(
            (status, &answer["permission"], &answer["role_name"]),
            (200, &json!(permission), &json!(permission))
        );
        assert_eq!(answer["user"]["login"], "bob");
    }
    assert_eq!(read_permission("nobody").await.0, 404);
    assert!(world.github.set_permission(REPOSITORY, "bob", "odd").is_err());
}

#[tokio::test]
async fn team_membership_is_known_for_members_only() {
    let world = World::with_pull().await;
    world.github.add_team("acme", "release-managers", &["bob"]);
    let (status, membership) = world.get("/orgs/acme/teams/release-managers/memberships/bob").await;
    assert_eq!((status, &membership["state"], &membership["role"]), (200, &json!("active"), &json!("member")));
    for other in ["release-managers/memberships/alice-gh", "others/memberships/bob"] {
        assert_eq!(world.get(&format!("/orgs/acme/teams/{other}")).await.0, 404, "{other}");
    }
}

#[tokio::test]
async fn the_rules_of_a_branch_can_be_read() {
    let world = World::with_pull().await;
    let rules = async || world.get("/repos/acme/checkout/rules/branches/prod").await;
    assert_eq!(rules().await, (200, json!([])));
    assert_eq!(world.get("/repos/acme/checkout/branches/prod").await.1["protected"], false);
    let all = Rules {
        required_reviews: 2,
        required_checks: vec!["build".to_owned()],
        strict: true,
        protected_from_pushes: true,
        kinds: vec!["update"],
        ..Rules::default()
    };
    world.github.protect(REPOSITORY, "prod", all).unwrap();
    let (_, listed) = rules().await;
    let kinds: Vec<&Value> = listed.as_array().unwrap().iter().map(|rule| &rule["type"]).collect();
    assert_eq!(kinds, ["pull_request", "required_status_checks", "deletion", "update"]);
    assert_eq!(listed[0]["parameters"]["required_approving_review_count"], 2);
    let checks = &listed[1]["parameters"];
    assert_eq!(checks["strict_required_status_checks_policy"], true);
    assert_eq!(checks["required_status_checks"], json!([{ "context": "build" }]));
    let (_, branch) = world.get("/repos/acme/checkout/branches/prod").await;
    assert_eq!((&branch["protected"], &branch["protection"]["enabled"]), (&json!(true), &json!(false)));
    let (_, branches) = world.get("/repos/acme/checkout/branches").await;
    let protected: Vec<&Value> = branches.as_array().unwrap().iter().map(|branch| &branch["protected"]).collect();
    assert_eq!(protected, [&json!(false), &json!(false), &json!(true), &json!(false)]);
    let octocrab = world.octocrab();
    let typed = octocrab.repos("acme", "checkout").rules_for_branch("prod").send().await.unwrap();
    assert_eq!(typed.len(), 4);
}

#[tokio::test]
async fn commits_are_found_by_their_authors_login_or_address() {
    let world = World::with_pull().await;
    world.merge().await;
    let cases =
        [("alice-gh", 3), ("alice@acme.test", 3), ("gantry[bot]", 1), ("bob", 0), ("nobody@acme.test", 0), ("", 4)];
    for (author, count) in cases {
        let path = "/repos/acme/checkout/commits";
        let url =
            reqwest::Url::parse_with_params(&format!("{}{path}", world.url), [("author", author), ("sha", "prod")]);
        let (_, found) = world.send(reqwest::Client::new().get(url.unwrap())).await;
        assert_eq!(found.as_array().unwrap().len(), count, "{author}");
    }
}
