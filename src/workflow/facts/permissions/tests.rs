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
struct Outside(Arc<Mutex<Told>>);

#[derive(Default)]
struct Told {
    /// The answer to each request. The key is a method of Slack or a path of GitHub, with its query.
    answers: HashMap<String, (u16, Value)>,
    asked: Vec<String>,
}

impl Outside {
    fn says(&self, question: &str, answer: Value) -> &Self {
        self.answers(question, 200, answer)
    }

    fn answers(&self, question: &str, status: u16, answer: Value) -> &Self {
        self.0.lock().unwrap().answers.insert(question.to_owned(), (status, answer));
        self
    }

    fn person(&self, id: &str, name: &str, flags: &Value) -> &Self {
        let mut user = json!({
            "id": id, "team_id": "T0ACME", "name": name,
            "profile": { "display_name": "release-managers", "email": format!("{name}@acme.example") },
        });
        user.as_object_mut().unwrap().extend(flags.as_object().cloned().unwrap_or_default());
        let found = json!({ "ok": true, "user": user });
        self.says(&format!("users.info?user={id}"), found.clone());
        self.says(&format!("users.lookupByEmail?email={name}%40acme.example"), found)
    }

    fn group(&self, members: &[&str]) -> &Self {
        let group = json!({ "id": "S0RELEASE", "handle": "release-managers", "date_delete": 0, "users": members });
        self.says("usergroups.list?include_users=true", json!({ "ok": true, "usergroups": [group] }))
    }

    fn commit(&self, by: &str, login: &str, email: &str) -> &Self {
        let commit = json!([{
            "sha": "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f", "author": { "login": login },
            "commit": { "message": "x", "tree": { "sha": "0".repeat(40) }, "author": { "name": "x", "email": email } },
        }]);
        self.says(&format!("/repos/acme/checkout/commits?author={by}&per_page=1"), commit)
    }

    fn count_requests(&self, question: &str) -> usize {
        self.0.lock().unwrap().asked.iter().filter(|asked| asked.starts_with(question)).count()
    }

    async fn rights(&self, logins: &[(&str, &str)]) -> (Permissions, Clock) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        self.says("auth.test", json!({ "ok": true, "team_id": "T0ACME", "user_id": "U0GANTRY" }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(self.clone());
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

async fn answer(State(outside): State<Outside>, request: Request) -> Response {
    let uri = request.uri().to_string().trim_end_matches('?').to_owned();
    let slack = uri.strip_prefix("/slack/").map(str::to_owned);
    let question = slack.clone().or(uri.strip_prefix("/github").map(str::to_owned)).unwrap_or(uri);
    let mut told = outside.0.lock().unwrap();
    told.asked.push(question.clone());
    match told.answers.get(&question).cloned() {
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

async fn among(rights: &Permissions, person: &str, members: &[Member]) -> Result<bool, String> {
    rights.is_among(&PersonId::new(person), members, &checkout()).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_handle_is_a_groups_and_else_the_username_and_never_the_display_name() {
    let outside = Outside::default();
    outside.person("U0ALICE", "alice", &json!({})).person("U0BOB", "bob", &json!({})).group(&["U0BOB"]);
    let (rights, _) = outside.rights(&[]).await;
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
        assert_eq!(among(&rights, person, &members).await, Ok(expected), "{person} {members:?}");
    }
}

#[tokio::test]
async fn guests_strangers_bots_and_who_left_are_never_among_anybody() {
    let flags = [
        json!({ "is_restricted": true }),
        json!({ "is_ultra_restricted": true }),
        json!({ "team_id": "T0OTHER" }),
        json!({ "is_bot": true }),
        json!({ "deleted": true }),
    ];
    for flags in flags {
        let outside = Outside::default();
        outside.person("U0DAVE", "dave", &flags).group(&["U0DAVE"]);
        outside.commit("dave%40acme.example", "dave-hub", "dave@acme.example");
        outside.says("/orgs/acme/teams/release/memberships/dave-hub", json!({ "state": "active" }));
        let (rights, _) = outside.rights(&[("U0DAVE", "dave-hub")]).await;
        let dave = Member::Person(PersonId::new("U0DAVE"));
        for members in [vec![], vec![dave], vec![handle("release-managers")], vec![handle("dave")], vec![team()]] {
            assert_eq!(among(&rights, "U0DAVE", &members).await, Ok(false), "{flags} {members:?}");
        }
        assert_eq!(rights.find_person("dave-hub", &checkout()).await.unwrap(), None, "{flags}");
    }
}

#[tokio::test]
async fn what_rights_stand_on_is_believed_for_a_minute() {
    let outside = Outside::default();
    outside.person("U0BOB", "bob", &json!({})).group(&["U0BOB"]);
    outside.says("/orgs/acme/teams/release/memberships/octobob", json!({ "state": "active" }));
    let (rights, clock) = outside.rights(&[("U0BOB", "octobob")]).await;
    let by_group = [handle("release-managers")];
    for _ in 0..3 {
        assert_eq!(among(&rights, "U0BOB", &by_group).await, Ok(true));
        assert_eq!(among(&rights, "U0BOB", &[team()]).await, Ok(true));
    }
    outside.group(&[]).says("/orgs/acme/teams/release/memberships/octobob", json!({ "state": "pending" }));
    clock.advance(SignedDuration::from_secs(59));
    assert_eq!(among(&rights, "U0BOB", &by_group).await, Ok(true));
    for question in ["usergroups.list", "users.info", "/orgs/"] {
        assert_eq!(outside.count_requests(question), 1, "{question}");
    }
    clock.advance(SignedDuration::from_secs(1));
    assert_eq!(among(&rights, "U0BOB", &by_group).await, Ok(false), "taken out of the group");
    assert_eq!(among(&rights, "U0BOB", &[team()]).await, Ok(false), "not in the team any more");

    outside.group(&["U0BOB"]).person("U0BOB", "bob", &json!({ "deleted": true }));
    clock.advance(SignedDuration::from_secs(60));
    assert_eq!(among(&rights, "U0BOB", &by_group).await, Ok(false), "left the workspace");
}

#[tokio::test]
async fn a_crowd_asks_for_the_groups_once() {
    let outside = Outside::default();
    outside.group(&["U7"]);
    for number in 0..30 {
        outside.person(&format!("U{number}"), &format!("p{number}"), &json!({}));
    }
    let (rights, _) = outside.rights(&[]).await;
    let ask = |number: usize| {
        let rights = rights.clone();
        tokio::spawn(async move { among(&rights, &format!("U{number}"), &[handle("release-managers")]).await })
    };
    for (number, asked) in (0..30).map(ask).collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(asked.await.unwrap(), Ok(number == 7));
    }
    assert_eq!(outside.count_requests("usergroups.list"), 1);
}

#[tokio::test]
async fn whoever_cannot_tell_makes_neither_a_yes_nor_a_no() {
    let outside = Outside::default();
    outside.person("U0ALICE", "alice", &json!({}));
    outside.answers("usergroups.list?include_users=true", 503, json!("down"));
    outside.answers("/orgs/acme/teams/release/memberships/octoalice", 403, json!({ "message": "no scope" }));
    let (rights, clock) = outside.rights(&[("U0ALICE", "octoalice")]).await;
    let told = among(&rights, "U0ALICE", &[handle("release-managers")]).await;
    assert_eq!(told, Err("Slack cannot tell me who is in @release-managers right now".to_owned()));
    let told = among(&rights, "U0ALICE", &[team()]).await;
    assert_eq!(told, Err("GitHub cannot tell me who is in acme/release right now".to_owned()));
    let herself = Member::Person(PersonId::new("U0ALICE"));
    assert_eq!(among(&rights, "U0ALICE", &[team(), herself]).await, Ok(true), "what is known is enough for a yes");
    assert!(rights.is_among(&PersonId::new("U0ALICE"), &[handle("x")], &checkout()).await.unwrap_err().transient);
    assert!(!rights.is_among(&PersonId::new("U0ALICE"), &[team()], &checkout()).await.unwrap_err().transient);

    clock.advance(SignedDuration::from_mins(10));
    outside.answers("users.info?user=U0ALICE", 503, json!("down"));
    for members in [vec![], vec![handle("alice")], vec![Member::Person(PersonId::new("U0ALICE"))]] {
        let told = among(&rights, "U0ALICE", &members).await;
        assert_eq!(told, Err("Slack cannot tell me who you are right now".to_owned()), "{members:?}");
    }
}

#[tokio::test]
async fn a_login_is_known_by_the_configuration_and_else_by_a_verified_address() {
    let outside = Outside::default();
    for (id, name) in [("U0ALICE", "alice"), ("U0BOB", "bob"), ("U0CAROL", "carol")] {
        outside.person(id, name, &json!({}));
    }
    outside.commit("alice%40acme.example", "octoalice", "Alice@acme.example");
    // GitHub finds a commit by Carol's address, but the commit has another address. That proves nothing.
    outside.commit("carol%40acme.example", "octocarol", "carol@elsewhere.example");
    let (rights, clock) = outside.rights(&[("U0BOB", "OctoBob")]).await;
    let login = async |person: &str| rights.find_login(&PersonId::new(person), &checkout()).await.unwrap();
    assert_eq!(login("U0ALICE").await.as_deref(), Some("octoalice"));
    assert_eq!(login("U0BOB").await.as_deref(), Some("OctoBob"));
    assert_eq!(login("U0CAROL").await, None);
    assert_eq!(login("U0NOBODY").await, None);

    clock.advance(SignedDuration::from_secs(599));
    login("U0ALICE").await;
    assert_eq!(outside.count_requests("/repos/acme/checkout/commits?author=alice"), 1);
    // The login of Bob is configured, so a commit with Alice's address does not map it to Alice.
    outside.commit("alice%40acme.example", "octobob", "alice@acme.example");
    clock.advance(SignedDuration::from_secs(1));
    assert_eq!(login("U0ALICE").await, None);
}

#[tokio::test]
async fn a_person_is_known_by_the_configuration_and_else_by_what_github_shows() {
    let outside = Outside::default();
    for (id, name) in [("U0ALICE", "alice"), ("U0BOB", "bob"), ("U0CAROL", "carol")] {
        outside.person(id, name, &json!({}));
    }
    let user = |login: &str, email: Value| {
        outside.says(&format!("/users/{login}"), json!({ "login": login, "email": email }));
    };
    user("octoalice", json!("alice@acme.example"));
    user("octocarol", Value::Null);
    user("mallory", json!("bob@acme.example"));
    user("stranger", json!("stranger@elsewhere.example"));
    outside.commit("octocarol", "octocarol", "carol@acme.example");
    let (rights, _) = outside.rights(&[("U0BOB", "octobob")]).await;
    let person = async |login: &str| {
        rights.find_person(login, &checkout()).await.unwrap().map(|person| person.as_str().to_owned())
    };
    assert_eq!(person("octoalice").await.as_deref(), Some("U0ALICE"), "by the public address");
    assert_eq!(person("OctoAlice").await.as_deref(), Some("U0ALICE"), "in any case");
    assert_eq!(person("octocarol").await.as_deref(), Some("U0CAROL"), "by the address of a commit");
    assert_eq!(person("OCTOBOB").await.as_deref(), Some("U0BOB"), "by the configuration");
    assert_eq!(person("mallory").await, None, "Bob is configured as somebody else");
    for nobody in ["stranger", "ghost", "dependabot[bot]", "a/../b", ""] {
        assert_eq!(person(nobody).await, None, "{nobody}");
    }
    outside.answers("/users/new", 503, json!({}));
    assert!(rights.find_person("new", &checkout()).await.unwrap_err().transient);
}

#[tokio::test]
async fn people_are_called_by_what_slack_tells_or_as_they_were_configured() {
    let outside = Outside::default();
    outside.group(&["U0BOB"]);
    let (rights, clock) = outside.rights(&[]).await;
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
    let told = [&[group("release-managers"), group("release-managers")], &rest[..]].concat();
    assert_eq!(rights.label_members(&members).await, told);
    assert_eq!(rights.label_members(&[]).await, [MemberLabel::Everyone]);

    outside.answers("usergroups.list?include_users=true", 503, json!("down"));
    clock.advance(SignedDuration::from_mins(1));
    let untold = [&[MemberLabel::Handle("release-managers".to_owned()), group("S0RELEASE")], &rest[..]].concat();
    assert_eq!(rights.label_members(&members).await, untold);
}
