//! Who may have which effect by which entrance: a table of every command, button, modal, review and route, walked by
//! everybody. What is not in the table has no rule yet, and fails.

mod walk;

use gantry::adapters::slack::render::{
    ACTIONS, INPUTS, MODALS, approve, arrival, card, command_button, lock, page_buttons, plan, promote_button, rollback,
};
use gantry::domain::command::{COMMANDS, Verb};

use crate::architecture::house::{all_sources, top_module};
use walk::{CommandSource, UserAction, check_actions};

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
    PlanShown,
    /// A modal.
    ModalOpened,
    /// A change, or the same one once more.
    ChangeBegun,
    /// An approval that counts: it is merged.
    Merged,
    /// A change is rejected or cancelled.
    ChangeStopped,
    /// A lock begins, ends or changes hands.
    LockChanged,
    /// A version that was rolled back from may come back.
    VersionReleased,
}

use Effect::{ChangeBegun, ChangeStopped, LockChanged, Merged, ModalOpened, PlanShown, VersionReleased};

/// What there is when somebody comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenario {
    /// Each rung is one version behind the one below, and nothing is under way.
    Idle,
    /// A push has arrived in development.
    Arrived,
    /// The requester was shown a plan for prod.
    Planned,
    /// It was confirmed, and waits for approval.
    Waiting,
    /// It could not be done.
    Errored,
    /// The requester asked what stands before prod, and nothing does.
    Unblocked,
    /// Carol, an approver, locked every environment, and the requester was refused because of it and asked why.
    Locked,
    /// It was approved, and runs in prod.
    Deployed,
    /// The requester was shown a rollback of it.
    RollbackPlanned,
    /// The requester named no environment for a rollback.
    RollbackWithoutEnvironment,
    /// The requester was shown a rollback while it was being merged, which is over by now.
    RollbackDuringMerge,
    /// Its rollback could not be done.
    RollbackErrored,
    /// It was rolled back, and the requester asked why it cannot come back.
    Quarantined,
}

use Scenario::{
    Arrived, Deployed, Errored, Idle, Locked, Planned, Quarantined, RollbackDuringMerge, RollbackErrored,
    RollbackPlanned, RollbackWithoutEnvironment, Unblocked, Waiting,
};

/// Whoever is not named has no effect at all.
type AllowedEffects = &'static [(Role, Effect)];

const NOBODY: AllowedEffects = &[];

/// Who may hold development, qa and prod: those who may promote there or approve.
const LOCKERS: [AllowedEffects; 3] = [
    &[
        (Member, LockChanged),
        (Promoter, LockChanged),
        (Approver, LockChanged),
        (Overrider, LockChanged),
        (Requester, LockChanged),
    ],
    &[(Approver, LockChanged)],
    &[(Promoter, LockChanged), (Approver, LockChanged), (Overrider, LockChanged), (Requester, LockChanged)],
];

/// Who may roll back in prod, and release what was rolled back from: the same as may hold it.
const MAY_ROLL_BACK: AllowedEffects =
    &[(Promoter, PlanShown), (Approver, PlanShown), (Overrider, PlanShown), (Requester, PlanShown)];
const RELEASE: AllowedEffects = &[
    (Promoter, VersionReleased),
    (Approver, VersionReleased),
    (Overrider, VersionReleased),
    (Requester, VersionReleased),
];

/// What is typed, whichever way: who has an effect by it in development, in qa and in prod.
/// `{change}` is the one that waits for prod, and unknown digits elsewhere; `{bad}` is what was rolled back from in prod.
const COMMAND_RULES: &[(Verb, &str, Scenario, [AllowedEffects; 3])] = &[
    (Verb::List, "list {environment}", Waiting, [NOBODY; 3]),
    (
        Verb::Promote,
        "promote checkout {environment}",
        Idle,
        [NOBODY, &[(Approver, ChangeBegun)], &[(Promoter, PlanShown), (Overrider, PlanShown), (Requester, PlanShown)]],
    ),
    (Verb::Promote, "promote checkout {environment} --dry-run", Idle, [NOBODY; 3]),
    (
        Verb::Promote,
        "promote checkout {environment} --override it burns",
        Idle,
        [NOBODY, NOBODY, &[(Overrider, PlanShown)]],
    ),
    (Verb::Promote, "promote checkout {environment}", Waiting, [NOBODY, &[(Approver, ChangeBegun)], NOBODY]),
    (Verb::Rollback, "rollback checkout {environment}", Idle, [NOBODY, &[(Approver, ChangeBegun)], MAY_ROLL_BACK]),
    (Verb::Rollback, "rollback checkout", Idle, [NOBODY; 3]),
    (Verb::Release, "release checkout 1.4", Waiting, [NOBODY; 3]),
    (Verb::Release, "release checkout {bad}", Quarantined, [NOBODY, NOBODY, RELEASE]),
    (Verb::Diff, "diff development {environment}", Waiting, [NOBODY; 3]),
    (Verb::Where, "where 4f1c2ab checkout", Waiting, [NOBODY; 3]),
    (Verb::Why, "why checkout {environment}", Waiting, [NOBODY; 3]),
    (Verb::Status, "status {environment}", Waiting, [NOBODY; 3]),
    (Verb::Status, "status {change}", Waiting, [NOBODY; 3]),
    (Verb::History, "history {environment}", Waiting, [NOBODY; 3]),
    (
        Verb::Cancel,
        "cancel {change}",
        Waiting,
        [NOBODY, NOBODY, &[(Requester, ChangeStopped), (Approver, ChangeStopped)]],
    ),
    (Verb::Reject, "reject {change} not today", Waiting, [NOBODY, NOBODY, &[(Approver, ChangeStopped)]]),
    (Verb::Lock, "lock {environment} the database moves", Idle, LOCKERS),
    (Verb::Unlock, "unlock {environment}", Locked, LOCKERS),
    (Verb::Locks, "locks {environment}", Locked, [NOBODY; 3]),
    (Verb::Promote, "promote checkout {environment}", Locked, [NOBODY; 3]),
    (Verb::Doctor, "doctor", Waiting, [NOBODY; 3]),
    (Verb::Help, "help", Waiting, [NOBODY; 3]),
];

const ENVIRONMENTS: [&str; 3] = ["development", "qa", "prod"];

/// Every button by its `action_id`, pressed as it is shown, in each scene that makes a difference.
const BUTTONS: &[(&str, Scenario, AllowedEffects)] = &[
    (plan::CONFIRM, Planned, &[(Requester, ChangeBegun)]),
    (plan::CANCEL, Planned, NOBODY),
    (card::CANCEL, Waiting, &[(Requester, ChangeStopped), (Approver, ChangeStopped)]),
    (card::RETRY, Errored, &[(Promoter, ChangeBegun), (Overrider, ChangeBegun), (Requester, ChangeBegun)]),
    (approve::APPROVE, Waiting, &[(Approver, Merged)]),
    (approve::REJECT, Waiting, &[(Approver, ModalOpened)]),
    (arrival::PROMOTE, Arrived, &[(Approver, ChangeBegun)]),
    (lock::TAKE_OVER, Locked, LOCKERS[2]),
    (rollback::ROLL_BACK, Deployed, MAY_ROLL_BACK),
    (plan::CONFIRM, RollbackPlanned, &[(Requester, ChangeBegun)]),
    (plan::CANCEL, RollbackPlanned, NOBODY),
    (card::RETRY, RollbackErrored, MAY_ROLL_BACK),
    // It only shows what ran there.
    (rollback::OTHER_VERSION, RollbackPlanned, NOBODY),
    // The first of them is for qa.
    (command_button::COMMAND, RollbackWithoutEnvironment, &[(Approver, ChangeBegun)]),
    // It asks the same question again.
    (command_button::COMMAND, Locked, NOBODY),
    // It releases what was rolled back from.
    (command_button::COMMAND, Quarantined, RELEASE),
    (promote_button::PROMOTE, Unblocked, &[(Promoter, PlanShown), (Overrider, PlanShown), (Requester, PlanShown)]),
    (rollback::CANCEL_AND_ROLL_BACK, RollbackDuringMerge, &[(Requester, ChangeBegun)]),
    (rollback::WAIT_AND_ROLL_BACK, RollbackDuringMerge, &[(Requester, ChangeBegun)]),
    (page_buttons::EARLIER, Waiting, NOBODY),
    (page_buttons::LATER, Waiting, NOBODY),
    (page_buttons::OPEN_EARLIER, Waiting, NOBODY),
    (page_buttons::OPEN_LATER, Waiting, NOBODY),
    (page_buttons::LIST_EARLIER, Waiting, NOBODY),
    (page_buttons::LIST_LATER, Waiting, NOBODY),
    (page_buttons::LIST_OPEN_EARLIER, Waiting, NOBODY),
    (page_buttons::LIST_OPEN_LATER, Waiting, NOBODY),
    (page_buttons::SHARE_LIST, Waiting, NOBODY),
];

/// The buttons that stand in the App Home as well, where they can do no more than in a message.
const AT_HOME: &[(&str, Scenario)] = &[
    (approve::APPROVE, Waiting),
    (approve::REJECT, Waiting),
    (promote_button::PROMOTE, Unblocked),
    (command_button::COMMAND, Locked),
];

/// Every modal by its `callback_id`, submitted whether it was opened or not.
const FORMS: &[(&str, Scenario, AllowedEffects)] = &[(approve::REJECT, Waiting, &[(Approver, ChangeStopped)])];

/// An approving review on GitHub.
const REVIEW: (Scenario, AllowedEffects) = (Waiting, &[(Approver, Merged)]);

/// What lets somebody in by a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RouteAuthentication {
    /// Slack's signature; what people do there is in the tables above.
    Slack,
    /// The environment's own secret, which signs; a report is a hint, and no proof of anything.
    Environment,
    /// The same secret, shown: Argo CD cannot sign.
    Bearer,
    /// GitHub's secret; a webhook only wakes us up.
    Github,
    /// None: it tells how we are, and takes nothing.
    Public,
}

const ROUTES: &[(&str, RouteAuthentication)] = &[
    ("/slack/commands", RouteAuthentication::Slack),
    ("/slack/interactions", RouteAuthentication::Slack),
    ("/slack/events", RouteAuthentication::Slack),
    ("/webhooks/flux/{environment}", RouteAuthentication::Environment),
    ("/webhooks/flux/{environment}", RouteAuthentication::Bearer),
    ("/webhooks/argocd/{environment}", RouteAuthentication::Bearer),
    ("/webhooks/deployments", RouteAuthentication::Environment),
    ("/webhooks/cdevents", RouteAuthentication::Environment),
    ("/webhooks/github", RouteAuthentication::Github),
    ("/healthz", RouteAuthentication::Public),
    // In the demo only: `serve` has it on a listener of its own.
    ("/metrics", RouteAuthentication::Public),
    ("/readyz", RouteAuthentication::Public),
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
    for path in all_sources().iter().filter(|path| top_module(path) != "sim" && !path.ends_with("fake.rs")) {
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
async fn type_every_command(door: CommandSource) {
    for scene in [Idle, Waiting, Locked, Quarantined] {
        let mut ways = Vec::new();
        for (verb, text, _, everywhere) in COMMAND_RULES.iter().filter(|(_, _, when, _)| *when == scene) {
            for (environment, who) in ENVIRONMENTS.into_iter().zip(everywhere) {
                // A slash command is its own verb, and cannot be talked into another.
                let who = if door.accepts(*verb) { *who } else { NOBODY };
                ways.push((UserAction::Types { door, verb: *verb, text, environment }, who));
            }
        }
        check_actions(scene, &ways).await;
    }
}

#[tokio::test]
async fn who_types_a_command_of_its_own() {
    for entry in COMMANDS.iter().filter(|entry| entry.has_slash_command) {
        type_every_command(CommandSource::Slash(entry.names[0])).await;
    }
}

#[tokio::test]
async fn who_types_gantry() {
    type_every_command(CommandSource::Slash("gantry")).await;
}

#[tokio::test]
async fn who_mentions_the_bot() {
    type_every_command(CommandSource::Mention).await;
}

#[tokio::test]
async fn who_writes_to_the_bot_directly() {
    type_every_command(CommandSource::DirectMessage).await;
}

#[tokio::test]
async fn who_presses_a_button() {
    for scene in [Idle, Arrived, Planned, Waiting, Errored, Unblocked, Locked] {
        click_every_button(scene).await;
    }
}

#[tokio::test]
async fn who_presses_a_button_that_rolls_back() {
    for scene in
        [Deployed, RollbackPlanned, RollbackWithoutEnvironment, RollbackDuringMerge, RollbackErrored, Quarantined]
    {
        click_every_button(scene).await;
    }
}

#[tokio::test]
async fn who_opens_the_home_joins_a_channel_or_presses_a_button_at_home() {
    check_actions(Waiting, &[(UserAction::OpensHome, NOBODY), (UserAction::Joins, NOBODY)]).await;
    for (action, scene) in AT_HOME {
        let (.., who) = BUTTONS.iter().find(|(other, when, _)| other == action && when == scene).expect("a rule");
        check_actions(*scene, &[(UserAction::PressesAtHome { action }, *who)]).await;
    }
}

async fn click_every_button(scene: Scenario) {
    let here = BUTTONS.iter().filter(|(_, when, _)| *when == scene);
    check_actions(scene, &here.map(|(action, _, who)| (UserAction::Presses { action }, *who)).collect::<Vec<_>>())
        .await;
}

#[tokio::test]
async fn who_submits_a_modal_or_reviews_on_github() {
    for (modal, scene, who) in FORMS {
        check_actions(*scene, &[(UserAction::Submits { modal }, *who)]).await;
    }
    let (scene, who) = REVIEW;
    check_actions(scene, &[(UserAction::Reviews, who)]).await;
}

#[tokio::test]
async fn a_route_takes_nothing_without_its_key_and_believes_nothing_with_it() {
    for (route, key) in ROUTES {
        walk::check_route(route, *key).await;
    }
}
