//! Who may have which effect by which entrance: a table of every command, button, modal, review and route, walked by
//! everybody. What is not in the table has no rule yet, and fails.

mod walk;

use gantry::adapters::slack::render::{
    ACTIONS, INPUTS, MODALS, approve, arrival, card, command_button, list, lock, page_buttons, plan, promote_button,
    rollback,
};
use gantry::domain::command::{COMMANDS, Verb};

use crate::architecture::house::{all_sources, part};
use walk::{Door, Way, walk};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// May promote to development and staging, as everybody may, and nothing else.
    Member,
    /// One of prod's `promoters`.
    Promoter,
    /// One of prod's `approvals.from`, and of qa's `promoters`.
    Approver,
    /// One of prod's `overriders`, and of its `promoters`.
    Overrider,
    /// One of prod's `promoters`, who asked for what waits there.
    Requester,
    /// These four are in all of these groups, and it does not help them.
    Guest,
    Bot,
    Deactivated,
    /// The approver's id, by another workspace.
    Stranger,
}

use Role::{Approver, Bot, Deactivated, Guest, Member, Overrider, Promoter, Requester, Stranger};

/// The requester last: they may drop the plan that the others come to confirm.
const ROLES: [Role; 9] = [Member, Promoter, Approver, Overrider, Guest, Bot, Deactivated, Stranger, Requester];

/// What comes of it, beside an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Effect {
    Nothing,
    /// A plan, which becomes a change by its owner's yes.
    Shows,
    /// A modal.
    Opens,
    /// A change, or the same one once more.
    Begins,
    /// An approval that counts: it is merged.
    Merges,
    /// A change is rejected or cancelled.
    Stops,
    /// A lock begins, ends or changes hands.
    Locks,
    /// A version that was rolled back from may come back.
    Releases,
}

use Effect::{Begins, Locks, Merges, Opens, Releases, Shows, Stops};

/// What there is when somebody comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scene {
    /// Each rung is one version behind the one below, and nothing is under way.
    Quiet,
    /// A push has arrived in development.
    Arrived,
    /// The requester was shown a plan for prod.
    Planned,
    /// It was confirmed, and waits for approval.
    Waiting,
    /// It could not be done.
    Errored,
    /// The requester asked what stands before prod, and nothing does.
    Free,
    /// Carol, an approver, locked every environment, and the requester was refused because of it and asked why.
    Locked,
    /// It was approved, and runs in prod.
    Deployed,
    /// The requester was shown a rollback of it.
    PlannedBack,
    /// The requester named no environment for a rollback.
    Chooses,
    /// The requester was shown a rollback while it was being merged, which is over by now.
    Met,
    /// Its rollback could not be done.
    ErroredBack,
    /// It was rolled back, and the requester asked why it cannot come back.
    Quarantined,
}

use Scene::{
    Arrived, Chooses, Deployed, Errored, ErroredBack, Free, Locked, Met, Planned, PlannedBack, Quarantined, Quiet,
    Waiting,
};

/// Whoever is not named has no effect at all.
type Who = &'static [(Role, Effect)];

const NOBODY: Who = &[];

/// Who may hold development, qa and prod: those who may promote there or approve.
const HOLDERS: [Who; 3] = [
    &[(Member, Locks), (Promoter, Locks), (Approver, Locks), (Overrider, Locks), (Requester, Locks)],
    &[(Approver, Locks)],
    &[(Promoter, Locks), (Approver, Locks), (Overrider, Locks), (Requester, Locks)],
];

/// Who may roll back in prod, and release what was rolled back from: the same as may hold it.
const BACK: Who = &[(Promoter, Shows), (Approver, Shows), (Overrider, Shows), (Requester, Shows)];
const RELEASE: Who = &[(Promoter, Releases), (Approver, Releases), (Overrider, Releases), (Requester, Releases)];

/// What is typed, whichever way: who has an effect by it in development, in qa and in prod.
/// `{change}` is the one that waits for prod, and unknown digits elsewhere; `{bad}` is what was rolled back from in prod.
const COMMAND_RULES: &[(Verb, &str, Scene, [Who; 3])] = &[
    (Verb::List, "list {environment}", Waiting, [NOBODY; 3]),
    (
        Verb::Promote,
        "promote checkout {environment}",
        Quiet,
        [NOBODY, &[(Approver, Begins)], &[(Promoter, Shows), (Overrider, Shows), (Requester, Shows)]],
    ),
    (Verb::Promote, "promote checkout {environment} --dry-run", Quiet, [NOBODY; 3]),
    (
        Verb::Promote,
        "promote checkout {environment} --override it burns",
        Quiet,
        [NOBODY, NOBODY, &[(Overrider, Shows)]],
    ),
    (Verb::Promote, "promote checkout {environment}", Waiting, [NOBODY, &[(Approver, Begins)], NOBODY]),
    (Verb::Rollback, "rollback checkout {environment}", Quiet, [NOBODY, &[(Approver, Begins)], BACK]),
    (Verb::Rollback, "rollback checkout", Quiet, [NOBODY; 3]),
    (Verb::Release, "release checkout 1.4", Waiting, [NOBODY; 3]),
    (Verb::Release, "release checkout {bad}", Quarantined, [NOBODY, NOBODY, RELEASE]),
    (Verb::Diff, "diff development {environment}", Waiting, [NOBODY; 3]),
    (Verb::Where, "where 4f1c2ab checkout", Waiting, [NOBODY; 3]),
    (Verb::Why, "why checkout {environment}", Waiting, [NOBODY; 3]),
    (Verb::Status, "status {environment}", Waiting, [NOBODY; 3]),
    (Verb::Status, "status {change}", Waiting, [NOBODY; 3]),
    (Verb::History, "history {environment}", Waiting, [NOBODY; 3]),
    (Verb::Cancel, "cancel {change}", Waiting, [NOBODY, NOBODY, &[(Requester, Stops), (Approver, Stops)]]),
    (Verb::Reject, "reject {change} not today", Waiting, [NOBODY, NOBODY, &[(Approver, Stops)]]),
    (Verb::Lock, "lock {environment} the database moves", Quiet, HOLDERS),
    (Verb::Unlock, "unlock {environment}", Locked, HOLDERS),
    (Verb::Locks, "locks {environment}", Locked, [NOBODY; 3]),
    (Verb::Promote, "promote checkout {environment}", Locked, [NOBODY; 3]),
    (Verb::Doctor, "doctor", Waiting, [NOBODY; 3]),
    (Verb::Help, "help", Waiting, [NOBODY; 3]),
];

const ENVIRONMENTS: [&str; 3] = ["development", "qa", "prod"];

/// Every button by its `action_id`, pressed as it is shown, in each scene that makes a difference.
const BUTTONS: &[(&str, Scene, Who)] = &[
    (plan::CONFIRM, Planned, &[(Requester, Begins)]),
    (plan::CANCEL, Planned, NOBODY),
    (card::CANCEL, Waiting, &[(Requester, Stops), (Approver, Stops)]),
    (card::RETRY, Errored, &[(Promoter, Begins), (Overrider, Begins), (Requester, Begins)]),
    (approve::APPROVE, Waiting, &[(Approver, Merges)]),
    (approve::REJECT, Waiting, &[(Approver, Opens)]),
    (arrival::PROMOTE, Arrived, &[(Approver, Begins)]),
    (lock::TAKE_OVER, Locked, HOLDERS[2]),
    (rollback::ROLL_BACK, Deployed, BACK),
    (plan::CONFIRM, PlannedBack, &[(Requester, Begins)]),
    (plan::CANCEL, PlannedBack, NOBODY),
    (card::RETRY, ErroredBack, BACK),
    // It only shows what ran there.
    (rollback::OTHER_VERSION, PlannedBack, NOBODY),
    // The first of them is for qa.
    (command_button::COMMAND, Chooses, &[(Approver, Begins)]),
    // It asks the same question again.
    (command_button::COMMAND, Locked, NOBODY),
    // It releases what was rolled back from.
    (command_button::COMMAND, Quarantined, RELEASE),
    (promote_button::PROMOTE, Free, &[(Promoter, Shows), (Overrider, Shows), (Requester, Shows)]),
    (rollback::CANCEL_AND_ROLL_BACK, Met, &[(Requester, Begins)]),
    (rollback::WAIT_AND_ROLL_BACK, Met, &[(Requester, Begins)]),
    (page_buttons::EARLIER, Waiting, NOBODY),
    (page_buttons::LATER, Waiting, NOBODY),
    (page_buttons::OPEN_EARLIER, Waiting, NOBODY),
    (page_buttons::OPEN_LATER, Waiting, NOBODY),
    (list::EARLIER, Waiting, NOBODY),
    (list::LATER, Waiting, NOBODY),
    (list::OPEN_EARLIER, Waiting, NOBODY),
    (list::OPEN_LATER, Waiting, NOBODY),
    (list::SHARE, Waiting, NOBODY),
];

/// The buttons that stand in the App Home as well, where they can do no more than in a message.
const AT_HOME: &[(&str, Scene)] = &[
    (approve::APPROVE, Waiting),
    (approve::REJECT, Waiting),
    (promote_button::PROMOTE, Free),
    (command_button::COMMAND, Locked),
];

/// Every modal by its `callback_id`, submitted whether it was opened or not.
const FORMS: &[(&str, Scene, Who)] = &[(approve::REJECT, Waiting, &[(Approver, Stops)])];

/// An approving review on GitHub.
const REVIEW: (Scene, Who) = (Waiting, &[(Approver, Merges)]);

/// What lets somebody in by a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// Slack's signature; what people do there is in the tables above.
    Slack,
    /// The environment's own secret, which signs; a report is a hint, and no proof of anything.
    Environment,
    /// The same secret, shown: Argo CD cannot sign.
    Bearer,
    /// GitHub's secret; a webhook only wakes us up.
    Github,
    /// None: it tells how we are, and takes nothing.
    Open,
}

const ROUTES: &[(&str, Key)] = &[
    ("/slack/commands", Key::Slack),
    ("/slack/interactions", Key::Slack),
    ("/slack/events", Key::Slack),
    ("/webhooks/flux/{environment}", Key::Environment),
    ("/webhooks/flux/{environment}", Key::Bearer),
    ("/webhooks/argocd/{environment}", Key::Bearer),
    ("/webhooks/deployments", Key::Environment),
    ("/webhooks/cdevents", Key::Environment),
    ("/webhooks/github", Key::Github),
    ("/healthz", Key::Open),
    // In the demo only: `serve` has it on a listener of its own.
    ("/metrics", Key::Open),
    ("/readyz", Key::Open),
];

#[test]
fn every_verb_button_modal_and_route_has_its_rule() {
    for entry in COMMANDS {
        assert!(COMMAND_RULES.iter().any(|(verb, ..)| *verb == entry.verb), "`{}` has no rule", entry.names[0]);
    }
    let mut ruled = sorted(&BUTTONS.iter().map(|(action, ..)| *action).collect::<Vec<_>>());
    ruled.dedup();
    assert_eq!(ruled, sorted(ACTIONS), "each button has its rule");
    let ruled: Vec<&str> = FORMS.iter().map(|(modal, ..)| *modal).collect();
    assert_eq!(sorted(&ruled), sorted(MODALS), "each modal has one rule");
    let mut ruled: Vec<&str> = ROUTES.iter().map(|(route, _)| *route).collect();
    // Flux may sign or not, as its provider can.
    ruled.dedup();
    let routes = routes();
    assert_eq!(sorted(&ruled), sorted(&routes.iter().map(String::as_str).collect::<Vec<_>>()), "each route has one");
}

/// The lists of `render` are whole: whatever Slack could send back to us stands in one of them.
#[test]
fn every_id_that_slack_sends_back_is_listed() {
    let mut named = Vec::new();
    for path in all_sources().iter().filter(|path| path.components().any(|part| part.as_os_str() == "render")) {
        let text = std::fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in code.lines().filter(|line| line.starts_with("pub const ") && line.contains(": &str = ")) {
            named.push(line.split('"').nth(1).expect("a value").to_owned());
        }
        for literal in ["\"action_id\": \"", "\"callback_id\": \"", "\"block_id\": \""] {
            assert!(!code.contains(literal), "{} names one without a constant", path.display());
        }
        let is_whole_name = |at: usize| !code[..at].ends_with(|before: char| before == '_' || before.is_alphanumeric());
        for (at, _) in code.match_indices("button(\"").filter(|(at, _)| is_whole_name(*at)) {
            let id = code[at..].split(", ").nth(1).unwrap_or_default();
            assert!(!id.starts_with('"'), "{}: the button {id} has no constant", path.display());
        }
    }
    let listed = [ACTIONS, MODALS, INPUTS].concat();
    let listed: std::collections::BTreeSet<&str> = listed.into_iter().collect();
    let named: std::collections::BTreeSet<&str> = named.iter().map(String::as_str).collect();
    assert_eq!(named, listed);
}

/// The routes of the bot: those of the simulators and of what stands in for others in unit tests are not its own.
fn routes() -> Vec<String> {
    let mut routes = Vec::new();
    for path in all_sources().iter().filter(|path| part(path) != "sim" && !path.ends_with("fake.rs")) {
        let text = std::fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (at, begin) in code.match_indices(".route(\"") {
            routes.push(code[at + begin.len()..].split('"').next().unwrap_or_default().to_owned());
        }
    }
    routes
}

fn sorted<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

/// Everything that can be typed at a door.
async fn types_everything(door: Door) {
    for scene in [Quiet, Waiting, Locked, Quarantined] {
        let mut ways = Vec::new();
        for (verb, text, _, everywhere) in COMMAND_RULES.iter().filter(|(_, _, when, _)| *when == scene) {
            for (environment, who) in ENVIRONMENTS.into_iter().zip(everywhere) {
                // A slash command is its own verb, and cannot be talked into another.
                let who = if door.takes(*verb) { *who } else { NOBODY };
                ways.push((Way::Types { door, verb: *verb, text, environment }, who));
            }
        }
        walk(scene, &ways).await;
    }
}

#[tokio::test]
async fn who_types_a_command_of_its_own() {
    for entry in COMMANDS.iter().filter(|entry| entry.has_slash_command) {
        types_everything(Door::Slash(entry.names[0])).await;
    }
}

#[tokio::test]
async fn who_types_gantry() {
    types_everything(Door::Slash("gantry")).await;
}

#[tokio::test]
async fn who_mentions_the_bot() {
    types_everything(Door::Mention).await;
}

#[tokio::test]
async fn who_writes_to_the_bot_directly() {
    types_everything(Door::Direct).await;
}

#[tokio::test]
async fn who_presses_a_button() {
    for scene in [Quiet, Arrived, Planned, Waiting, Errored, Free, Locked] {
        presses_everything(scene).await;
    }
}

#[tokio::test]
async fn who_presses_a_button_that_rolls_back() {
    for scene in [Deployed, PlannedBack, Chooses, Met, ErroredBack, Quarantined] {
        presses_everything(scene).await;
    }
}

#[tokio::test]
async fn who_opens_the_home_joins_a_channel_or_presses_a_button_at_home() {
    walk(Waiting, &[(Way::OpensHome, NOBODY), (Way::Joins, NOBODY)]).await;
    for (action, scene) in AT_HOME {
        let (.., who) = BUTTONS.iter().find(|(other, when, _)| other == action && when == scene).expect("a rule");
        walk(*scene, &[(Way::PressesAtHome { action }, *who)]).await;
    }
}

async fn presses_everything(scene: Scene) {
    let here = BUTTONS.iter().filter(|(_, when, _)| *when == scene);
    walk(scene, &here.map(|(action, _, who)| (Way::Presses { action }, *who)).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn who_submits_a_modal_or_reviews_on_github() {
    for (modal, scene, who) in FORMS {
        walk(*scene, &[(Way::Submits { modal }, *who)]).await;
    }
    let (scene, who) = REVIEW;
    walk(scene, &[(Way::Reviews, who)]).await;
}

#[tokio::test]
async fn a_route_takes_nothing_without_its_key_and_believes_nothing_with_it() {
    for (route, key) in ROUTES {
        walk::knocks(route, *key).await;
    }
}
