//! Performs an action as a role and finds its effect. All requests have a valid signature, also those of people that
//! Slack or GitHub would stop themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};

use gantry::adapters::slack::render::approve;
use gantry::adapters::store::LedgerFilter;
use gantry::domain::command::Verb;
use gantry::domain::model::version::Sha;
use gantry::sim::github::{Author, FaultTiming, RequestFault, Verdict};
use gantry::sim::slack::{Message, Person};
use gantry::sim::world as sim;
use gantry::sim::world::{GITHUB_WEBHOOK_SECRET, SIGNING_SECRET};
use serde_json::{Value, json};

use super::{AllowedEffects, Effect, ROLES, Role, RouteAuthentication, Scenario};
use crate::harness::signing::{hex_hmac, send_slack_request};
use crate::harness::world::{World, has_button, render_message};

const REPOSITORY: &str = "acme/checkout";

/// The way in which a command is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandSource {
    Slash(&'static str),
    Mention,
    DirectMessage,
}

impl CommandSource {
    pub(super) fn accepts(self, verb: Verb) -> bool {
        match self {
            Self::Slash("gantry") | Self::Mention | Self::DirectMessage => true,
            Self::Slash(own) => own == verb.name(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum UserAction {
    Types {
        source: CommandSource,
        verb: Verb,
        text: &'static str,
        environment: &'static str,
    },
    Clicks {
        action: &'static str,
    },
    /// A click in the App Home, which belongs to no channel.
    ClicksAtHome {
        action: &'static str,
    },
    OpensHome,
    Joins,
    Submits {
        modal: &'static str,
    },
    Reviews,
}

impl UserAction {
    /// Whether Gantry checks the person for this action. Help and text that is no command are answered to everyone.
    fn is_identity_checked(self) -> bool {
        match self {
            Self::Types { source, verb, .. } => source.accepts(verb) && verb != Verb::Help,
            Self::Clicks { .. } | Self::ClicksAtHome { .. } | Self::Submits { .. } => true,
            // The Home itself shows the rejection.
            Self::OpensHome | Self::Joins | Self::Reviews => false,
        }
    }
}

impl Role {
    /// The ids of the person and of the workspace.
    fn identity(self) -> (&'static str, &'static str) {
        match self {
            Self::Member => ("U0ERIN", "T0ACME"),
            Self::Promoter => ("U0PIA", "T0ACME"),
            Self::Approver => ("U0BOB", "T0ACME"),
            Self::Overrider => ("U0OTTO", "T0ACME"),
            Self::Requester => ("U0ALICE", "T0ACME"),
            Self::Guest => ("U0DAVE", "T0ACME"),
            Self::Bot => ("U0ROBO", "T0ACME"),
            Self::Deactivated => ("U0GONE", "T0ACME"),
            Self::Stranger => ("U0BOB", "T0OTHER"),
        }
    }

    /// The answer to every action of a rejected role; `None` for roles with rights, and where no message reaches the
    /// role.
    fn rejection_text(self) -> Option<&'static str> {
        match self {
            Self::Guest => Some("you are a guest here"),
            Self::Stranger => Some("you belong to another one"),
            _ => None,
        }
    }
}

/// Asserts that each of these actions has the effect of the table, for every role.
pub(super) async fn check_actions(scenario: Scenario, actions: &[(UserAction, AllowedEffects)]) {
    let world = open_scenario(scenario).await;
    for role in ROLES {
        let mut without_effect = Vec::new();
        for (action, allowed) in actions {
            match allowed.iter().find(|(other, _)| *other == role) {
                None => without_effect.push(*action),
                Some((_, effect)) => {
                    // A plan does not change the scenario. Every other effect needs a separate world.
                    let separate =
                        if *effect == Effect::PlanShown { None } else { Some(open_scenario(scenario).await) };
                    let world = separate.as_ref().unwrap_or(&world);
                    let before = Snapshot::take(world).await;
                    perform_and_settle(world, role, *action).await;
                    let after = Snapshot::take(world).await;
                    assert_eq!(after.effect_since(&before), *effect, "{role:?} {action:?} while {scenario:?}");
                }
            }
        }
        // Actions without effect leave the scenario as it was, so they share one world.
        let before = Snapshot::take(&world).await;
        let mut answers = Vec::new();
        for action in &without_effect {
            answers.extend(perform_action(&world, role, *action).await);
        }
        world.settle().await;
        let after = Snapshot::take(&world).await;
        assert_eq!(
            after.effect_since(&before),
            Effect::Nothing,
            "{role:?} by one of {without_effect:#?} while {scenario:?}"
        );
        let is_checked = without_effect.iter().any(|action| action.is_identity_checked());
        if let Some(text) = role.rejection_text().filter(|_| is_checked) {
            answers.extend(list_private_messages(&world, role));
            assert!(answers.iter().any(|answer| answer.contains(text)), "{role:?} {without_effect:#?}: {answers:#?}");
        }
    }
}

async fn perform_and_settle(world: &World, role: Role, action: UserAction) {
    perform_action(world, role, action).await;
    world.settle().await;
}

fn list_private_messages(world: &World, role: Role) -> Vec<String> {
    let (id, _) = role.identity();
    let person = world.sim.slack.people().into_iter().find(|person| person.id == id).expect("a person").name;
    let directly = world.sim.slack.messages(&format!("@{person}"), None);
    let in_channels = list_all_messages(world).into_iter().filter(|message| message.only_to.as_ref() == Some(&person));
    directly.into_iter().chain(in_channels).map(|message| render_message(&message)).collect()
}

fn list_all_messages(world: &World) -> Vec<Message> {
    let people = world.sim.slack.people().into_iter().map(|person| format!("@{}", person.name));
    let places = ["deploys".to_owned(), "releases".to_owned()].into_iter().chain(people);
    places.flat_map(|place| world.sim.slack.messages(&place, None)).collect()
}

/// A world with all roles in the state of the scenario.
async fn open_scenario(scenario: Scenario) -> World {
    let world = World::with_setup(add_people, |configuration| {
        let configuration = configuration
            .replace("  - name: qa\n", "  - name: qa\n    promoters: [\"@release-managers\"]\n")
            .replace("  - name: prod\n", "  - name: prod\n    promoters: [\"@developers\", \"@captains\"]\n");
        let configuration = configuration.replace("overriders: [\"@release-managers\"]", "overriders: [\"@captains\"]");
        format!("{configuration}  U0PIA: pia\n  U0OTTO: otto\n  U0ERIN: erin\n")
    })
    .await;
    if scenario == Scenario::Arrived {
        world.push("checkout", "Something newer");
        world.settle().await;
    }
    let is_quiet = matches!(
        scenario,
        Scenario::Idle
            | Scenario::Arrived
            | Scenario::Unblocked
            | Scenario::Locked
            | Scenario::RollbackWithoutEnvironment
    );
    if !is_quiet {
        world.alice().types("/promote checkout prod").await;
    }
    if scenario == Scenario::Locked {
        for environment in super::ENVIRONMENTS {
            world.carol().types(&format!("/gantry lock {environment} the database moves")).await;
        }
        world.alice().types("/promote checkout prod").await;
    }
    if matches!(scenario, Scenario::Unblocked | Scenario::Locked) {
        world.alice().types("/gantry why checkout prod").await;
    }
    if scenario == Scenario::Errored {
        let forbidden = RequestFault::Reply(403, "Resource not accessible by integration", Vec::new());
        world.sim.github.request_faults().inject("POST", "/pulls", FaultTiming::BeforeEffect, forbidden, 1);
    }
    if !is_quiet && scenario != Scenario::Planned {
        world.alice().clicks_in("deploys", "Confirm").await;
    }
    set_up_rollback_scenario(&world, scenario).await;
    world
}

/// The part of `open_scenario` about rollbacks.
async fn set_up_rollback_scenario(world: &World, scenario: Scenario) {
    let faults = world.sim.github.request_faults();
    match scenario {
        Scenario::Deployed | Scenario::RollbackPlanned | Scenario::RollbackErrored | Scenario::Quarantined => {
            world.bob().clicks_in("releases", "Approve").await;
        }
        Scenario::RollbackDuringMerge => {
            faults.inject("PUT", "/merge", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
            world.bob().clicks_without_waiting("releases", "Approve").await;
            world.settle_until(|| faults.has_paused_request()).await;
            world.alice().types_without_waiting("deploys", "/rollback checkout prod").await;
            let is_asked = || has_button(&world.last_message("alice", "deploys"), "Wait for it, then roll back");
            world.settle_until(is_asked).await;
            faults.resume();
            world.settle().await;
        }
        Scenario::RollbackWithoutEnvironment => {
            world.alice().types("/rollback checkout").await;
        }
        _ => {}
    }
    if scenario == Scenario::RollbackErrored {
        let forbidden = RequestFault::Reply(403, "Resource not accessible by integration", Vec::new());
        faults.inject("POST", "/git/commits", FaultTiming::BeforeEffect, forbidden, 1);
    }
    if matches!(scenario, Scenario::RollbackPlanned | Scenario::RollbackErrored | Scenario::Quarantined) {
        world.alice().types("/rollback checkout prod").await;
    }
    if matches!(scenario, Scenario::RollbackErrored | Scenario::Quarantined) {
        world.alice().clicks_in("deploys", "Confirm").await;
    }
    if scenario == Scenario::Quarantined {
        world.alice().types("/gantry why checkout prod").await;
    }
}

fn add_people(sim: &sim::World) {
    for name in ["erin", "pia", "otto", "robo", "gone"] {
        sim.slack.add_person(Person {
            id: format!("U0{}", name.to_uppercase()),
            name: name.to_owned(),
            real_name: name.to_owned(),
            email: format!("{name}@acme.example"),
            bot: name == "robo",
            deleted: name == "gone",
            ..Person::default()
        });
        let email = format!("{name}@acme.example");
        sim.github.add_person(&Author { name: name.to_owned(), email, login: Some(name.to_owned()) });
    }
    let outcasts = ["dave", "robo", "gone"];
    for (id, handle, members) in [
        ("S0DEVELOP", "developers", ["alice", "pia"].as_slice()),
        ("S0RELEASE", "release-managers", &["bob", "carol"]),
        ("S0CAPTAIN", "captains", &["otto"]),
    ] {
        sim.slack.add_group(id, handle, &[members, &outcasts].concat());
    }
}

/// Performs the action, and returns the acknowledgement.
async fn perform_action(world: &World, role: Role, user_action: UserAction) -> Option<String> {
    static ACTION_COUNT: AtomicU32 = AtomicU32::new(0);
    let visit = ACTION_COUNT.fetch_add(1, Ordering::Relaxed);
    let (person, team) = role.identity();
    let trigger = format!("visit-{visit}");
    let (path, body) = match user_action {
        UserAction::Types { source, verb, text, environment } => {
            let text = text.replace("{environment}", environment);
            let change = if environment == "prod" { find_waiting_change(world) } else { None };
            let text = text.replace("{change}", &change.unwrap_or_else(|| "0badcafe".to_owned()));
            let bad = if environment == "prod" { find_quarantined_version(world).await } else { None };
            let text = text.replace("{bad}", &bad.unwrap_or_else(|| "prod-0badcaf".to_owned()));
            build_command_request(source, verb, &text, (person, team, &trigger))
        }
        UserAction::Clicks { action } => {
            let value = shown_value(world, action).unwrap_or_else(|| "0||".to_owned());
            interaction(&json!({
                "type": "block_actions", "team": { "id": team }, "user": { "id": person },
                "channel": { "id": "C0RELEASES" }, "trigger_id": trigger,
                "actions": [{ "action_id": action, "value": value }],
            }))
        }
        UserAction::ClicksAtHome { action } => {
            let value = shown_value(world, action).unwrap_or_else(|| "0||".to_owned());
            interaction(&json!({
                "type": "block_actions", "team": { "id": team }, "user": { "id": person }, "trigger_id": trigger,
                "container": { "type": "view", "view_id": "V0HOME" }, "view": { "id": "V0HOME", "type": "home" },
                "actions": [{ "action_id": action, "value": value }],
            }))
        }
        UserAction::OpensHome => {
            let event = json!({ "type": "app_home_opened", "tab": "home", "channel": "D0HOME", "user": person });
            let body = json!({ "type": "event_callback", "team_id": team, "event_id": trigger, "event": event });
            ("/slack/events", body.to_string())
        }
        UserAction::Joins => {
            let event = json!({ "type": "member_joined_channel", "channel": "C0DEPLOYS", "user": person });
            let body = json!({ "type": "event_callback", "team_id": team, "event_id": trigger, "event": event });
            ("/slack/events", body.to_string())
        }
        UserAction::Submits { modal } => {
            let about = format!("C0RELEASES {}", shown_value(world, modal).expect("a button that opens it"));
            let reason = json!({ approve::REASON_INPUT: { approve::REASON_INPUT: { "value": "not today" } } });
            interaction(&json!({
                "type": "view_submission", "team": { "id": team }, "user": { "id": person }, "trigger_id": trigger,
                "view": { "callback_id": modal, "private_metadata": about, "state": { "values": reason } },
            }))
        }
        UserAction::Reviews => {
            let login = person.trim_start_matches("U0").to_lowercase();
            if team == "T0ACME" {
                let pull = world.sim.github.pulls(REPOSITORY).pop().expect("a pull request").number;
                world.sim.github.review(REPOSITORY, pull, &login, Verdict::Approve, "").unwrap();
            }
            return None;
        }
    };
    let (status, answer) = send_slack_request(world, path, &body, SIGNING_SECRET, world.clock.now().as_second()).await;
    assert_eq!(status, 200, "{role:?} {user_action:?}: {answer}");
    Some(answer)
}

fn build_command_request(
    source: CommandSource,
    verb: Verb,
    text: &str,
    (person, team, trigger): (&str, &str, &str),
) -> (&'static str, String) {
    match source {
        CommandSource::Slash(command) => {
            let is_own_verb = command == verb.name();
            let text = if is_own_verb { text.split_once(' ').map_or("", |(_, rest)| rest) } else { text };
            let fields = [
                ("team_id", team),
                ("channel_id", "C0DEPLOYS"),
                ("user_id", person),
                ("command", &format!("/{command}")),
                ("text", text),
                ("trigger_id", trigger),
            ];
            ("/slack/commands", form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish())
        }
        CommandSource::Mention | CommandSource::DirectMessage => {
            let event = if source == CommandSource::Mention {
                json!({ "type": "app_mention", "channel": "C0DEPLOYS", "user": person, "text": format!("<@U0GANTRY> {text}") })
            } else {
                json!({ "type": "message", "channel_type": "im", "channel": "C0DEPLOYS", "user": person, "text": text })
            };
            let body = json!({ "type": "event_callback", "team_id": team, "event_id": trigger, "event": event });
            ("/slack/events", body.to_string())
        }
    }
}

fn interaction(payload: &Value) -> (&'static str, String) {
    let form = form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
    ("/slack/interactions", form)
}

/// The value of the newest button with this action.
fn shown_value(world: &World, action: &str) -> Option<String> {
    list_all_messages(world).iter().rev().find_map(|message| {
        let mut elements = message.blocks.iter().flat_map(|block| block["elements"].as_array().into_iter().flatten());
        let button = elements.find(|element| element["action_id"] == action)?;
        button["value"].as_str().map(str::to_owned)
    })
}

/// The short id of the change that waits.
fn find_waiting_change(world: &World) -> Option<String> {
    let card = list_all_messages(world)
        .into_iter()
        .map(|message| render_message(&message))
        .find(|text| text.contains("asked by"))?;
    Some(card.split("change `").nth(1)?.split('`').next()?.to_owned())
}

async fn find_quarantined_version(world: &World) -> Option<String> {
    let quarantines = world.bot.store.list_quarantines().await.unwrap();
    quarantines.first().map(|quarantine| quarantine.version.label().to_owned())
}

/// Everything that an action without a rule must not change.
#[derive(Debug)]
struct Snapshot {
    heads: BTreeMap<(String, String), Sha>,
    /// The kinds of the changes' ledger entries, newest first.
    ledger: Vec<String>,
    plans: usize,
    /// Calls of `views.open`, including those that came too late for Slack.
    modals: u64,
    locks: BTreeSet<String>,
}

impl Snapshot {
    async fn take(world: &World) -> Self {
        let github = &world.sim.github;
        let heads = github.repositories().into_iter().flat_map(|name| {
            let branches = github.branches(&name).into_iter().filter(|(branch, _)| !branch.starts_with("gantry/"));
            branches.map(move |(branch, sha)| ((name.clone(), branch), sha)).collect::<Vec<_>>()
        });
        let ledger = world.bot.store.list_ledger_entries(&LedgerFilter::default(), 1000).await.unwrap();
        let of_changes = ledger.into_iter().filter(|entry| entry.change.is_some());
        Self {
            heads: heads.collect(),
            ledger: of_changes.map(|entry| entry.kind.as_str().to_owned()).collect(),
            plans: list_all_messages(world).iter().filter(|message| has_button(message, "Confirm")).count(),
            locks: world.bot.store.list_locks(None).await.unwrap().iter().map(|lock| lock.id.to_string()).collect(),
            modals: world.sim.slack.calls().get("views.open").copied().unwrap_or_default(),
        }
    }

    fn effect_since(&self, before: &Self) -> Effect {
        let happened = &self.ledger[..self.ledger.len() - before.ledger.len()];
        let any = |kinds: &[&str]| happened.iter().any(|kind| kinds.contains(&kind.as_str()));
        if any(&["begun", "retried"]) {
            Effect::ChangeBegun
        } else if any(&["released"]) {
            assert_eq!(self.heads, before.heads, "a release moves nothing");
            Effect::VersionReleased
        } else if any(&["rejected", "cancelled", "cancel_asked"]) {
            Effect::ChangeStopped
        } else if any(&["deployed"]) {
            Effect::Merged
        } else if self.locks != before.locks {
            Effect::LockChanged
        } else if self.modals > before.modals {
            Effect::ModalOpened
        } else if self.plans > before.plans {
            Effect::PlanShown
        } else {
            assert_eq!(self.heads, before.heads, "Git moved, and no change says so");
            assert_eq!(happened, <[String; 0]>::default(), "an unexpected ledger entry");
            Effect::Nothing
        }
    }
}

/// Sends a false report to a route, first without its secret and then with it, and asserts that nothing changes.
pub(super) async fn check_route(route: &str, authentication: RouteAuthentication) {
    let world = open_scenario(Scenario::Waiting).await;
    let before = Snapshot::take(&world).await;
    let url = format!("{}{}", world.origin, route.replace("{environment}", "prod"));
    let pull = world.sim.github.pulls(REPOSITORY).pop().expect("a pull request");
    let mut report = json!({
        "action": "closed", "repository": { "full_name": REPOSITORY },
        "pull_request": { "number": pull.number, "merged": true, "state": "closed", "head": { "sha": pull.head_sha } },
        "involvedObject": { "kind": "Kustomization", "name": "checkout", "namespace": "prod" },
        "severity": "info", "reason": "ReconciliationSucceeded", "message": "done",
        "metadata": { "revision": format!("prod@sha1:{}", pull.head_sha) },
        "application": "checkout", "phase": "Succeeded", "health": "Healthy", "revision": pull.head_sha,
        "artefact": "checkout", "commit": pull.head_sha, "state": "succeeded",
        "context": { "id": "1", "source": "/liar", "type": "dev.cdevents.service.deployed.0.2.0" },
        "subject": { "id": "checkout", "content": { "environment": { "id": "prod" } } },
        "customData": { "artefact": "checkout", "commit": pull.head_sha },
    });
    if route.contains("argocd") {
        report["repository"] = json!("https://github.com/acme/checkout.git");
    }
    let report = report.to_string();
    let unsigned = reqwest::Client::new().post(&url).body(report.clone()).send().await.unwrap().status().as_u16();
    let (without, with) = match authentication {
        RouteAuthentication::Slack => (401, None),
        RouteAuthentication::Environment => {
            let signature = format!("sha256={}", hex_hmac("flux-secret-of-prod", &[report.as_bytes()]));
            let request = reqwest::Client::new().post(&url).header("x-signature", signature).body(report);
            (401, Some(request.send().await.unwrap().status().as_u16()))
        }
        RouteAuthentication::Bearer => {
            let request = reqwest::Client::new().post(&url).bearer_auth("flux-secret-of-prod").body(report);
            (401, Some(request.send().await.unwrap().status().as_u16()))
        }
        RouteAuthentication::Github => {
            let signature = format!("sha256={}", hex_hmac(GITHUB_WEBHOOK_SECRET, &[report.as_bytes()]));
            let request = reqwest::Client::new()
                .post(&url)
                .header("x-hub-signature-256", signature)
                .header("x-github-event", "pull_request")
                .body(report);
            (401, Some(request.send().await.unwrap().status().as_u16()))
        }
        RouteAuthentication::Public => {
            let read = reqwest::Client::new().get(&url).send().await.unwrap();
            assert_eq!(read.status(), 200, "{route}");
            (405, None)
        }
    };
    assert_eq!(unsigned, without, "{route}");
    assert!(with.is_none_or(|status| status == 202), "{route}: {with:?}");
    world.settle().await;
    assert_eq!(Snapshot::take(&world).await.effect_since(&before), Effect::Nothing, "{route}");
}
