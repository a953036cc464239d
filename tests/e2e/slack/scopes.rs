//! The app's manifests: they grant the scopes that the code uses and no more, and differ only in the transport.

use std::collections::BTreeSet;

use gantry::domain::command::COMMANDS;
use gantry::sim::github::Verdict;
use gantry::sim::slack::manifest::{HTTP, Manifest, SOCKET, scopes_of, scopes_of_event};
use serde_json::json;

use crate::harness::production::{REPOSITORY, request_production};
use crate::harness::world::World;

#[test]
fn both_app_manifests_differ_only_in_the_transport() {
    let (http, socket) = (Manifest::parse(HTTP).unwrap(), Manifest::parse(SOCKET).unwrap());
    assert_eq!(http, socket);
    let lines = |text: &str| -> Vec<String> {
        let is_common =
            |line: &&str| !line.starts_with('#') && !line.contains("url: ") && !line.contains("socket_mode");
        text.lines().filter(is_common).map(str::to_owned).collect()
    };
    assert_eq!(lines(HTTP), lines(SOCKET));
    assert!(HTTP.contains("socket_mode_enabled: false") && SOCKET.contains("socket_mode_enabled: true"));
    assert!(!SOCKET.contains("url:"));
}

#[test]
fn the_app_manifest_lists_the_slash_commands_of_the_grammar() {
    let own = COMMANDS.iter().filter(|entry| entry.has_slash_command).map(|entry| format!("/{}", entry.names[0]));
    let expected: BTreeSet<String> = own.chain(["/gantry".to_owned()]).collect();
    assert_eq!(Manifest::parse(HTTP).unwrap().commands, expected);
}

/// All other tests run with the scopes of the manifest, so none is missing. This test shows that each is needed.
#[tokio::test]
async fn every_scope_of_the_app_manifest_is_used() {
    // Without the mapping, carol's e-mail address says who she is on GitHub.
    let world = World::with_config(|yaml| yaml.replace("  U0CAROL: carol\n", "")).await;
    world.alice().posts("deploys", None, "@gantry list").await;
    world.alice().posts("@gantry", None, "list").await;
    let long = (0..400).map(|line| format!("let line_{line} = {line};\n")).collect::<Vec<_>>().concat();
    let files = [("src/long.rs".to_owned(), Some(long))].into();
    world.sim.push("checkout", "develop", "Something long", files, "alice").unwrap();
    world.settle().await;
    world.alice().types("/diff development qa checkout --code").await;
    world.alice().types("/promote checkout qa").await;
    request_production(&world).await;
    world.sim.slack.open_home("alice").await.unwrap();
    world.sim.slack.invite("alice", "deploys").await.unwrap();
    world.settle().await;
    world.bob().clicks_in("releases", "Reject").await;
    world.bob().submits(json!({ "reason": "not today" })).await;
    let pull = request_production(&world).await;
    world.sim.github.review(REPOSITORY, pull.number, "carol", Verdict::Approve, "").unwrap();
    world.settle().await;

    let granted = Manifest::parse(HTTP).unwrap();
    let by_methods = world.sim.slack.calls().keys().flat_map(|method| scopes_of(method)).collect::<Vec<_>>();
    let by_events = granted.events.iter().flat_map(|event| scopes_of_event(event));
    let used: BTreeSet<String> =
        by_methods.into_iter().chain(by_events).chain([&"commands"]).map(|scope| (*scope).to_owned()).collect();
    assert_eq!(granted.scopes, used, "{:#?}", world.sim.slack.calls());
    for event in ["app_mention", "message.im", "app_home_opened", "member_joined_channel"] {
        assert!(granted.events.contains(event), "{event}");
    }
    assert_eq!(granted.events.len(), 4);
}

/// The simulated Slack refuses a method without its scope as Slack does, and names the missing scope.
#[tokio::test]
async fn the_simulated_slack_refuses_a_method_without_its_scope() {
    let world = World::open().await;
    let call = |method: &str| {
        reqwest::Client::new()
            .get(format!("{}/sim/slack/api/{method}", world.origin))
            .bearer_auth(gantry::sim::world::BOT_TOKEN)
            .send()
    };
    let refused = call("reactions.add").await.unwrap();
    let scopes = refused.headers()["x-oauth-scopes"].to_str().unwrap().to_owned();
    let answer: serde_json::Value = refused.json().await.unwrap();
    assert_eq!((answer["error"].as_str(), answer["needed"].as_str()), (Some("missing_scope"), Some("reactions:write")));
    assert_eq!(answer["provided"], scopes);
}
