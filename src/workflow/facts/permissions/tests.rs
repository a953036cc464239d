//! Permissions against a small Slack and GitHub. A test changes their people, groups and teams, and counts the
//! requests.

use std::collections::HashMap;
use std::sync::Mutex;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::*;
use crate::adapters::github::client::Auth;

#[derive(Clone, Default)]
struct FakeServices(Arc<Mutex<FakeState>>);

#[derive(Default)]
struct FakeState {
    /// The answer to each request. The key is a method of Slack or a path of GitHub, with its query.
    answers: HashMap<String, (u16, Value)>,
    requests: Vec<String>,
}

impl FakeServices {
    fn set_answer(&self, question: &str, answer: Value) -> &Self {
        self.set_answer_with_status(question, 200, answer)
    }

    fn set_answer_with_status(&self, question: &str, status: u16, answer: Value) -> &Self {
        self.0.lock().unwrap().answers.insert(question.to_owned(), (status, answer));
        self
    }

    fn add_person(&self, id: &str, name: &str, flags: &Value) -> &Self {
        let mut user = json!({
            "id": id, "team_id": "T0ACME", "name": name,
            "profile": { "display_name": "release-managers", "email": format!("{name}@acme.example") },
        });
        user.as_object_mut().unwrap().extend(flags.as_object().cloned().unwrap_or_default());
        let found = json!({ "ok": true, "user": user });
        self.set_answer(&format!("users.info?user={id}"), found.clone());
        self.set_answer(&format!("users.lookupByEmail?email={name}%40acme.example"), found)
    }

    fn set_group_members(&self, members: &[&str]) -> &Self {
        let group = json!({ "id": "S0RELEASE", "handle": "release-managers", "date_delete": 0, "users": members });
        self.set_answer("usergroups.list?include_users=true", json!({ "ok": true, "usergroups": [group] }))
    }

    fn add_commit(&self, by: &str, login: &str, email: &str) -> &Self {
        let commit = json!([{
            "sha": "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f", "author": { "login": login },
            "commit": { "message": "x", "tree": { "sha": "0".repeat(40) }, "author": { "name": "x", "email": email } },
        }]);
        self.set_answer(&format!("/repos/acme/checkout/commits?author={by}&per_page=1"), commit)
    }

    fn count_requests(&self, prefix: &str) -> usize {
        self.0.lock().unwrap().requests.iter().filter(|request| request.starts_with(prefix)).count()
    }

    async fn build_permissions(&self, logins: &[(&str, &str)]) -> (Permissions, Clock) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        self.set_answer("auth.test", json!({ "ok": true, "team_id": "T0ACME", "user_id": "U0GANTRY" }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(handle_request).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let clock = Clock::new_manual("2026-11-16T09:00:00Z".parse().unwrap());
        let slack = crate::adapters::slack::client::Client::new(
            &format!("{origin}/slack"),
            &origin,
            "xoxb-x".to_owned().into(),
        )
        .unwrap();
        let github = github::Client::new(&format!("{origin}/github"), Auth::None, clock.clone()).unwrap();
        let logins: BTreeMap<_, _> =
            logins.iter().map(|(person, login)| (PersonId::new(person), (*login).to_owned())).collect();
        (
            Permissions::new(People::new(slack, clock.clone()), github, clock.clone(), logins, Ladder::new(Vec::new())),
            clock,
        )
    }
}

async fn handle_request(State(services): State<FakeServices>, request: Request) -> Response {
    let uri = request.uri().to_string().trim_end_matches('?').to_owned();
    let slack = uri.strip_prefix("/slack/").map(str::to_owned);
    let question = slack.clone().or(uri.strip_prefix("/github").map(str::to_owned)).unwrap_or(uri);
    let mut state = services.0.lock().unwrap();
    state.requests.push(question.clone());
    match state.answers.get(&question).cloned() {
        Some((status, body)) => (StatusCode::from_u16(status).unwrap(), Json(body)).into_response(),
        None if slack.is_some() => {
            let code = if question.starts_with("users.lookup") { "users_not_found" } else { "user_not_found" };
            Json(json!({ "ok": false, "error": code })).into_response()
        }
        None if question.contains("/commits?") => "[]".into_response(),
        None => (StatusCode::NOT_FOUND, json!({ "message": "Not Found" }).to_string()).into_response(),
    }
}

fn checkout() -> Repository {
    "acme/checkout".parse().unwrap()
}

fn handle(name: &str) -> Member {
    Member::Handle(name.to_owned())
}

fn team() -> Member {
    Member::Team { organisation: "acme".to_owned(), team: "release".to_owned() }
}

async fn is_among(permissions: &Permissions, person: &str, members: &[Member]) -> Result<bool, String> {
    permissions.is_among(&PersonId::new(person), members, &checkout()).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_handle_names_a_group_or_else_a_username_but_never_a_display_name() {
    let services = FakeServices::default();
    services
        .add_person("U0ALICE", "alice", &json!({}))
        .add_person("U0BOB", "bob", &json!({}))
        .set_group_members(&["U0BOB"]);
    let (permissions, _) = services.build_permissions(&[]).await;
    let cases = [
        ("U0BOB", vec![handle("release-managers")], true),
        ("U0BOB", vec![handle("Release-Managers")], true),
        ("U0BOB", vec![Member::Group("S0RELEASE".to_owned())], true),
        // `release-managers` is also the display name of Alice, which gives no right.
        ("U0ALICE", vec![handle("release-managers")], false),
        ("U0ALICE", vec![handle("alice")], true),
        ("U0ALICE", vec![Member::Person(PersonId::new("U0ALICE"))], true),
        ("U0ALICE", vec![Member::Person(PersonId::new("U0BOB")), handle("bob")], false),
        ("U0ALICE", vec![Member::Group("S0OTHER".to_owned())], false),
        ("U0ALICE", vec![], true),
        ("U0NOBODY", vec![], false),
    ];
    for (person, members, expected) in cases {
        assert_eq!(is_among(&permissions, person, &members).await, Ok(expected), "{person} {members:?}");
    }
}

#[tokio::test]
async fn guests_strangers_bots_and_deleted_accounts_have_no_rights() {
    let flags = [
        json!({ "is_restricted": true }),
        json!({ "is_ultra_restricted": true }),
        json!({ "team_id": "T0OTHER" }),
        json!({ "is_bot": true }),
        json!({ "deleted": true }),
    ];
    for flags in flags {
        let services = FakeServices::default();
        services.add_person("U0DAVE", "dave", &flags).set_group_members(&["U0DAVE"]);
        services.add_commit("dave%40acme.example", "dave-hub", "dave@acme.example");
        services.set_answer("/orgs/acme/teams/release/memberships/dave-hub", json!({ "state": "active" }));
        let (permissions, _) = services.build_permissions(&[("U0DAVE", "dave-hub")]).await;
        let dave = Member::Person(PersonId::new("U0DAVE"));
        for members in [vec![], vec![dave], vec![handle("release-managers")], vec![handle("dave")], vec![team()]] {
            assert_eq!(is_among(&permissions, "U0DAVE", &members).await, Ok(false), "{flags} {members:?}");
        }
        assert_eq!(permissions.find_person("dave-hub", &checkout()).await.unwrap(), None, "{flags}");
    }
}

#[tokio::test]
async fn group_and_team_membership_is_cached_for_a_minute() {
    let services = FakeServices::default();
    services.add_person("U0BOB", "bob", &json!({})).set_group_members(&["U0BOB"]);
    services.set_answer("/orgs/acme/teams/release/memberships/octobob", json!({ "state": "active" }));
    let (permissions, clock) = services.build_permissions(&[("U0BOB", "octobob")]).await;
    let by_group = [handle("release-managers")];
    for _ in 0..3 {
        assert_eq!(is_among(&permissions, "U0BOB", &by_group).await, Ok(true));
        assert_eq!(is_among(&permissions, "U0BOB", &[team()]).await, Ok(true));
    }
    services
        .set_group_members(&[])
        .set_answer("/orgs/acme/teams/release/memberships/octobob", json!({ "state": "pending" }));
    clock.advance(SignedDuration::from_secs(59));
    assert_eq!(is_among(&permissions, "U0BOB", &by_group).await, Ok(true));
    for question in ["usergroups.list", "users.info", "/orgs/"] {
        assert_eq!(services.count_requests(question), 1, "{question}");
    }
    clock.advance(SignedDuration::from_secs(1));
    assert_eq!(is_among(&permissions, "U0BOB", &by_group).await, Ok(false), "removed from the group");
    assert_eq!(is_among(&permissions, "U0BOB", &[team()]).await, Ok(false), "not in the team any more");

    services.set_group_members(&["U0BOB"]).add_person("U0BOB", "bob", &json!({ "deleted": true }));
    clock.advance(SignedDuration::from_secs(60));
    assert_eq!(is_among(&permissions, "U0BOB", &by_group).await, Ok(false), "left the workspace");
}

#[tokio::test]
async fn concurrent_lookups_fetch_the_groups_once() {
    let services = FakeServices::default();
    services.set_group_members(&["U7"]);
    for number in 0..30 {
        services.add_person(&format!("U{number}"), &format!("p{number}"), &json!({}));
    }
    let (permissions, _) = services.build_permissions(&[]).await;
    let spawn_lookup = |number: usize| {
        let permissions = permissions.clone();
        tokio::spawn(async move { is_among(&permissions, &format!("U{number}"), &[handle("release-managers")]).await })
    };
    for (number, lookup) in (0..30).map(spawn_lookup).collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(lookup.await.unwrap(), Ok(number == 7));
    }
    assert_eq!(services.count_requests("usergroups.list"), 1);
}

#[tokio::test]
async fn a_failed_lookup_is_an_error_and_neither_a_yes_nor_a_no() {
    let services = FakeServices::default();
    services.add_person("U0ALICE", "alice", &json!({}));
    services.set_answer_with_status("usergroups.list?include_users=true", 503, json!("down"));
    services.set_answer_with_status(
        "/orgs/acme/teams/release/memberships/octoalice",
        403,
        json!({ "message": "no scope" }),
    );
    let (permissions, clock) = services.build_permissions(&[("U0ALICE", "octoalice")]).await;
    let result = is_among(&permissions, "U0ALICE", &[handle("release-managers")]).await;
    assert_eq!(result, Err("Slack cannot tell me who is in @release-managers right now".to_owned()));
    let result = is_among(&permissions, "U0ALICE", &[team()]).await;
    assert_eq!(result, Err("GitHub cannot tell me who is in acme/release right now".to_owned()));
    let herself = Member::Person(PersonId::new("U0ALICE"));
    assert_eq!(is_among(&permissions, "U0ALICE", &[team(), herself]).await, Ok(true), "one certain match is enough");
    assert!(permissions.is_among(&PersonId::new("U0ALICE"), &[handle("x")], &checkout()).await.unwrap_err().transient);
    assert!(!permissions.is_among(&PersonId::new("U0ALICE"), &[team()], &checkout()).await.unwrap_err().transient);

    clock.advance(SignedDuration::from_mins(10));
    services.set_answer_with_status("users.info?user=U0ALICE", 503, json!("down"));
    for members in [vec![], vec![handle("alice")], vec![Member::Person(PersonId::new("U0ALICE"))]] {
        let result = is_among(&permissions, "U0ALICE", &members).await;
        assert_eq!(result, Err("Slack cannot tell me who you are right now".to_owned()), "{members:?}");
    }
}

#[tokio::test]
async fn a_login_is_found_by_configuration_or_else_by_a_verified_address() {
    let services = FakeServices::default();
    for (id, name) in [("U0ALICE", "alice"), ("U0BOB", "bob"), ("U0CAROL", "carol")] {
        services.add_person(id, name, &json!({}));
    }
    services.add_commit("alice%40acme.example", "octoalice", "Alice@acme.example");
    // GitHub finds a commit by Carol's address, but the commit has another address. That proves nothing.
    services.add_commit("carol%40acme.example", "octocarol", "carol@elsewhere.example");
    let (permissions, clock) = services.build_permissions(&[("U0BOB", "OctoBob")]).await;
    let login = async |person: &str| permissions.find_login(&PersonId::new(person), &checkout()).await.unwrap();
    assert_eq!(login("U0ALICE").await.as_deref(), Some("octoalice"));
    assert_eq!(login("U0BOB").await.as_deref(), Some("OctoBob"));
    assert_eq!(login("U0CAROL").await, None);
    assert_eq!(login("U0NOBODY").await, None);

    clock.advance(SignedDuration::from_secs(599));
    login("U0ALICE").await;
    assert_eq!(services.count_requests("/repos/acme/checkout/commits?author=alice"), 1);
    // The login of Bob is configured, so a commit with Alice's address does not map it to Alice.
    services.add_commit("alice%40acme.example", "octobob", "alice@acme.example");
    clock.advance(SignedDuration::from_secs(1));
    assert_eq!(login("U0ALICE").await, None);
}

#[tokio::test]
async fn a_person_is_found_by_configuration_or_else_by_the_address_on_github() {
    let services = FakeServices::default();
    for (id, name) in [("U0ALICE", "alice"), ("U0BOB", "bob"), ("U0CAROL", "carol")] {
        services.add_person(id, name, &json!({}));
    }
    let user = |login: &str, email: Value| {
        services.set_answer(&format!("/users/{login}"), json!({ "login": login, "email": email }));
    };
    user("octoalice", json!("alice@acme.example"));
    user("octocarol", Value::Null);
    user("mallory", json!("bob@acme.example"));
    user("stranger", json!("stranger@elsewhere.example"));
    services.add_commit("octocarol", "octocarol", "carol@acme.example");
    let (permissions, _) = services.build_permissions(&[("U0BOB", "octobob")]).await;
    let person = async |login: &str| {
        permissions.find_person(login, &checkout()).await.unwrap().map(|person| person.as_str().to_owned())
    };
    assert_eq!(person("octoalice").await.as_deref(), Some("U0ALICE"), "by the public address");
    assert_eq!(person("OctoAlice").await.as_deref(), Some("U0ALICE"), "in any letter case");
    assert_eq!(person("octocarol").await.as_deref(), Some("U0CAROL"), "by the address of a commit");
    assert_eq!(person("OCTOBOB").await.as_deref(), Some("U0BOB"), "by the configuration");
    assert_eq!(person("mallory").await, None, "Bob has another configured login");
    for unknown in ["stranger", "ghost", "dependabot[bot]", "a/../b", ""] {
        assert_eq!(person(unknown).await, None, "{unknown}");
    }
    services.set_answer_with_status("/users/new", 503, json!({}));
    assert!(permissions.find_person("new", &checkout()).await.unwrap_err().transient);
}

#[tokio::test]
async fn members_are_labelled_by_slack_or_else_as_configured() {
    let services = FakeServices::default();
    services.set_group_members(&["U0BOB"]);
    let (permissions, clock) = services.build_permissions(&[]).await;
    let members = [
        handle("release-managers"),
        Member::Group("S0RELEASE".to_owned()),
        handle("alice"),
        Member::Person(PersonId::new("U0BOB")),
        team(),
    ];
    let group = |handle: &str| MemberLabel::Group { id: "S0RELEASE".to_owned(), handle: handle.to_owned() };
    let rest = [
        MemberLabel::Handle("alice".to_owned()),
        MemberLabel::Person(PersonId::new("U0BOB")),
        MemberLabel::Team("acme/release".to_owned()),
    ];
    let expected = [&[group("release-managers"), group("release-managers")], &rest[..]].concat();
    assert_eq!(permissions.label_members(&members).await, expected);
    assert_eq!(permissions.label_members(&[]).await, [MemberLabel::Everyone]);

    services.set_answer_with_status("usergroups.list?include_users=true", 503, json!("down"));
    clock.advance(SignedDuration::from_mins(1));
    let expected = [&[MemberLabel::Handle("release-managers".to_owned()), group("S0RELEASE")], &rest[..]].concat();
    assert_eq!(permissions.label_members(&members).await, expected);
}
