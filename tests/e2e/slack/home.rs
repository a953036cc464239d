//! App Home (its content for each person, its buttons, its renewal), and the welcome message in a new channel.

use std::path::Path;

use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::harness::process::wait_until;
use crate::harness::production::{pull, request_production};
use crate::harness::world::{World, has_button, redact_origin_and_ids};

/// A person's Home as they read it, without addresses and ids.
fn home(world: &World, person: &str) -> String {
    let home = world.sim.slack.home(person);
    let blocks = home["blocks"].as_array().cloned().unwrap_or_default();
    redact_origin_and_ids(world, &crate::harness::world::render_blocks(&blocks))
}

/// The part of Home below a heading.
fn section_below<'a>(home: &'a str, heading: &str) -> &'a str {
    let after = home.split_once(heading).unwrap_or_else(|| panic!("{heading}: {home}")).1;
    let end = ["*Waits for", "*Your changes*", "*Changes of", "*What runs", "*Quick"]
        .iter()
        .filter_map(|next_heading| after.find(next_heading));
    after[..end.min().unwrap_or(after.len())].trim()
}

async fn open_home(world: &World, person: &str) -> String {
    let ack = world.sim.slack.open_home(person).await.unwrap();
    assert_eq!(ack.status, 200, "{ack:?}");
    world.settle().await;
    home(world, person)
}

async fn click_home_button(world: &World, person: &str, button: &str) {
    let ack = world.sim.slack.click_view(person, "home", button).await.unwrap();
    assert_eq!(ack.status, 200, "{ack:?}");
    world.settle().await;
}

#[tokio::test]
async fn home_without_open_changes_shows_the_ladder_and_the_quick_actions() {
    let world = World::open().await;
    assert_eq!(world.sim.slack.home("alice"), Value::Null);
    let seen = open_home(&world, "alice").await;
    assert_eq!(section_below(&seen, "*Waits for your approval*"), "Nothing.");
    assert_eq!(section_below(&seen, "*Your changes*"), "You have asked for nothing that is still under way.");
    assert_eq!(section_below(&seen, "*Changes of others*"), "Nobody else has anything under way.");
    assert!(seen.contains("checkout") && seen.contains("development"), "{seen}");
    assert_snapshot!(section_below(&seen, "*Quick actions*"), @"
    : I answer you directly.
    [List] [Status] [History] [Locks] [Diff development qa] [Diff qa staging] [Diff staging prod] [Help]
    [Promote checkout to qa] [Promote checkout to staging] [Promote checkout to prod]
    Made <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>. It is renewed while changes move on, and whenever you open it.
    ");
}

#[tokio::test]
async fn home_shows_approve_buttons_to_approvers_only_and_they_work() {
    let world = World::open().await;
    request_production(&world).await;
    for (person, may_approve) in [("alice", false), ("bob", true), ("carol", true)] {
        let seen = open_home(&world, person).await;
        let section = section_below(&seen, "*Waits for your approval*").to_owned();
        assert_eq!(section.contains("[Approve] [Reject]"), may_approve, "{person}: {section}");
        assert_eq!(section == "Nothing.", !may_approve, "{person}: {section}");
    }
    assert!(section_below(&home(&world, "alice"), "*Your changes*").contains("asked by <@U0ALICE>"));
    assert!(!section_below(&home(&world, "alice"), "*Your changes*").contains("[Approve]"));
    assert!(
        section_below(&home(&world, "bob"), "*Waits for your approval*").contains("|card>"),
        "{}",
        home(&world, "bob")
    );

    click_home_button(&world, "bob", "Approve").await;
    assert_eq!(world.sim.github.head("acme/checkout", "prod"), pull(&world).and_then(|pull| pull.merge_commit));
    wait_until("bob's Home is renewed", async || {
        world.wait(SignedDuration::from_secs(6)).await;
        section_below(&home(&world, "bob"), "*Waits for your approval*") == "Nothing."
    })
    .await;
}

#[tokio::test]
async fn a_rejection_from_home_asks_for_a_reason() {
    let world = World::open().await;
    request_production(&world).await;
    open_home(&world, "bob").await;
    click_home_button(&world, "bob", "Reject").await;
    world.bob().submits(json!({ "reason": "not today" })).await;
    let card = world.public_messages("releases").concat();
    assert!(card.contains("not today"), "{card}");
}

#[tokio::test]
async fn quick_actions_of_home_are_answered_by_direct_message() {
    let world = World::open().await;
    open_home(&world, "alice").await;
    for (button, words) in [
        ("List", "*What runs where*"),
        ("Status", "Nothing is under way"),
        ("History", "*What happened*"),
        ("Locks", "locked"),
        ("Diff development qa", "*qa*"),
        ("Help", "/promote"),
    ] {
        let before = world.direct_messages("alice").len();
        click_home_button(&world, "alice", button).await;
        let messages = world.direct_messages("alice");
        assert_eq!(messages.len(), before + 1, "{button}: {messages:#?}");
        assert!(messages[before].contains(words), "{button}: {}", messages[before]);
    }
    let before = world.running_tag("checkout", "qa");
    click_home_button(&world, "alice", "Promote checkout to qa").await;
    assert_ne!(world.running_tag("checkout", "qa"), before, "{:#?}", world.direct_messages("alice"));
    let answer = world.direct_messages("alice").pop().unwrap();
    assert!(answer.contains("/archives/C0DEPLOYS/"), "the answer links the card: {answer}");
    assert!(world.public_messages("deploys").concat().contains("checkout"), "the card is in the channel");
}

#[tokio::test]
async fn home_does_not_offer_to_promote_a_version_that_was_rolled_back() {
    let world = World::open().await;
    let offers = async |artefact: &str| -> Vec<String> {
        let home = open_home(&world, "alice").await;
        let buttons =
            home.split(['[', ']']).filter_map(|button| button.strip_prefix(&format!("Promote {artefact} to ")));
        buttons.map(ToOwned::to_owned).collect()
    };
    let expect_refusal = async |command: &str| {
        world.alice().types(command).await;
        assert!(world.alice().reads().contains(" rolled "), "{command}: {}", world.alice().reads());
    };
    let bad = crate::harness::manifest::promote_newer(&world, "Find plurals").await;
    world.bob().types("/rollback search qa --reason it finds too much").await;
    expect_refusal("/promote search qa").await;
    assert!(!offers("search").await.contains(&"qa".to_owned()), "a quarantined version is not offered");
    world.bob().types(&format!("/gantry release search {bad}")).await;
    assert!(offers("search").await.contains(&"qa".to_owned()), "a released version is offered");

    world.alice().types("/promote checkout qa").await;
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    expect_refusal("/promote checkout staging").await;
    assert_eq!(offers("checkout").await, ["prod"], "the result of a rollback is not offered");
    world.push("checkout", "Repair the totals");
    world.settle().await;
    assert_eq!(offers("checkout").await, ["qa", "prod"]);
    world.alice().types("/promote checkout qa").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    assert_eq!(offers("checkout").await, ["staging", "prod"]);
}

#[tokio::test]
async fn home_is_renewed_only_for_people_who_opened_it_recently() {
    let world = World::open().await;
    for person in ["alice", "bob"] {
        open_home(&world, person).await;
    }
    let published = |world: &World| world.sim.slack.calls()["views.publish"];
    assert_eq!(published(&world), 2);
    world.alice().types("/promote checkout qa").await;
    wait_until("both Homes are renewed", async || {
        world.wait(SignedDuration::from_secs(6)).await;
        published(&world) >= 4
    })
    .await;
    world.wait(SignedDuration::from_mins(40)).await;
    let before = published(&world);
    world.alice().types("/promote checkout staging").await;
    world.wait(SignedDuration::from_secs(10)).await;
    assert_eq!(published(&world), before, "no Home was opened recently");
}

#[tokio::test]
async fn home_is_renewed_later_if_it_could_not_be_stored() {
    let mut database = String::new();
    let start = "2026-11-16T09:00:00Z".parse().unwrap();
    let world = World::with_existing_database(start, async |folder: &Path, _: &str| {
        database = format!("sqlite://{}", folder.join("gantry.db").display());
    })
    .await;
    open_home(&world, "alice").await;
    let mut connection = SqliteConnection::connect(&database).await.unwrap();
    let create_trigger = "CREATE TRIGGER breaks BEFORE INSERT ON outbox WHEN NEW.key LIKE 'home:%'
                  BEGIN SELECT RAISE(ABORT, 'the disk is full'); END";
    sqlx::query(create_trigger).execute(&mut connection).await.unwrap();
    let before = home(&world, "alice");
    world.bob().types("/promote checkout qa").await;
    for _ in 0..3 {
        world.wait(SignedDuration::from_secs(6)).await;
    }
    assert_eq!(home(&world, "alice"), before, "the new Home could not be stored");

    sqlx::query("DROP TRIGGER breaks").execute(&mut connection).await.unwrap();
    wait_until("Home shows the change", async || {
        world.wait(SignedDuration::from_secs(6)).await;
        !home(&world, "alice").contains("[Promote checkout to qa]")
    })
    .await;
}

#[tokio::test]
async fn home_is_not_published_again_if_only_time_has_passed() {
    let world = World::open().await;
    request_production(&world).await;
    open_home(&world, "bob").await;
    let published = || world.sim.slack.calls()["views.publish"];
    let before = published();
    for _ in 0..10 {
        // The check of the waiting change each minute is stored, but finds nothing new.
        world.wait(SignedDuration::from_secs(61)).await;
    }
    assert_eq!(published(), before, "only the age of the change differs");

    world.carol().clicks_in("releases", "Approve").await;
    wait_until("bob's Home is renewed", async || {
        world.wait(SignedDuration::from_secs(6)).await;
        section_below(&home(&world, "bob"), "*Waits for your approval*") == "Nothing."
    })
    .await;
}

#[tokio::test]
async fn home_shows_one_sentence_to_guests_and_ignores_the_messages_tab() {
    let world = World::open().await;
    assert_eq!(
        open_home(&world, "dave").await,
        "I answer members of this workspace only, and you are a guest here. Ask a member to do it for you."
    );
    open_home(&world, "alice").await;
    let hash = world.sim.slack.home("alice")["hash"].clone();
    let event = json!({
        "type": "event_callback", "team_id": "T0ACME", "event_id": "Ev0ONCE",
        "event": { "type": "app_home_opened", "user": "U0ALICE", "channel": "D0ALICE", "tab": "messages" },
    });
    let now = world.clock.now().as_second();
    let send = async || {
        crate::harness::signing::send_slack_request(
            &world,
            "/slack/events",
            &event.to_string(),
            gantry::sim::world::SIGNING_SECRET,
            now,
        )
        .await
        .0
    };
    assert_eq!(send().await, 200);
    world.settle().await;
    assert_eq!(world.sim.slack.home("alice")["hash"], hash, "opening the messages tab does not renew Home");
}

#[tokio::test]
async fn an_invitation_to_a_channel_is_answered_with_one_welcome_message() {
    let world = World::open().await;
    world.sim.slack.add_channel(gantry::sim::slack::Channel {
        id: "C0NEW".to_owned(),
        name: "new".to_owned(),
        bot_is_member: false,
        archived: false,
    });
    for _ in 0..2 {
        assert_eq!(world.sim.slack.invite("alice", "new").await.unwrap().status, 200);
        world.settle().await;
    }
    assert_eq!(world.public_messages("new").len(), 1, "{:#?}", world.public_messages("new"));
    assert_snapshot!(world.public_messages("new")[0], @"
    I move artefacts from one environment to the next, and tell what really runs there. Type a command, or mention me in a thread: `/gantry help` shows all that I understand.
    • `/list qa` which version runs where, in what state
    • `/promote checkout to qa` move an artefact to the next environment, or to the one named
    • `/diff development qa checkout` what differs between two environments, and what to do about it
    ");

    let join_event = |user: &str, team: &str, id: &str| {
        json!({
            "type": "event_callback", "team_id": team, "event_id": id,
            "event": { "type": "member_joined_channel", "user": user, "channel": "C0DEPLOYS", "channel_type": "C" },
        })
        .to_string()
    };
    let now = world.clock.now().as_second();
    for (user, team, id) in [("U0BOB", "T0ACME", "Ev1"), ("U0GANTRY", "T0OTHER", "Ev2")] {
        let secret = gantry::sim::world::SIGNING_SECRET;
        let (status, _) = crate::harness::signing::send_slack_request(
            &world,
            "/slack/events",
            &join_event(user, team, id),
            secret,
            now,
        )
        .await;
        assert_eq!(status, 200);
    }
    world.settle().await;
    assert_eq!(world.public_messages("deploys"), Vec::<String>::new());
    assert!(!has_button(&world.last_message("alice", "new"), "Promote"));
}
