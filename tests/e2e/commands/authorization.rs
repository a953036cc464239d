//! Who may have which effect: tables of every command, button, modal, review and route, each tried with every role. An
//! action without a row in the tables fails a test.

mod actions;

use gantry::adapters::slack::render::{
    ACTIONS, INPUTS, MODALS, approve, arrival, card, command_button, lock, page_buttons, plan, promote_button, rollback,
};
use gantry::domain::command::{COMMANDS, Verb};

use crate::architecture::house::{all_sources, top_module};
use actions::{CommandSource, UserAction, check_actions};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// May promote to development and staging, as everyone may, and nothing else.
    Member,
    /// One of prod's `promoters`.
    Promoter,
    /// One of prod's `approvals.from`, and of qa's `promoters`.
    Approver,
    /// One of prod's `overriders`, and of its `promoters`.
    Overrider,
    /// One of prod's `promoters`, who requested the change that waits there.
    Requester,
    /// Guest, bot and deactivated person are members of every group, and still have no rights.
    Guest,
    Bot,
    Deactivated,
    /// The approver's id, in a request of another workspace.
    Stranger,
}

use Role::{Approver, Bot, Deactivated, Guest, Member, Overrider, Promoter, Requester, Stranger};

/// The requester is last because they may drop the plan that the other roles try to confirm.
const ROLES: [Role; 9] = [Member, Promoter, Approver, Overrider, Guest, Bot, Deactivated, Stranger, Requester];

/// The effect of an action, besides its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Effect {
    Nothing,
    /// A plan, which becomes a change when the person who sees it confirms it.
    PlanShown,
    ModalOpened,
    /// A change begins, or is retried.
    ChangeBegun,
    /// An approval counts, and the change is merged.
    Merged,
    /// A change is rejected or cancelled.
    ChangeStopped,
    /// A lock begins, ends or is taken over.
    LockChanged,
    /// A version is released from quarantine.
    VersionReleased,
}

use Effect::{ChangeBegun, ChangeStopped, LockChanged, Merged, ModalOpened, PlanShown, VersionReleased};

/// The state of the world before an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenario {
    /// Each environment is one version behind the one below, and no change is open.
    Idle,
    /// A push has arrived in development.
    Arrived,
    /// The requester was shown a plan for prod.
    Planned,
    /// The change to prod was confirmed, and waits for approval.
    Waiting,
    /// The change to prod ended with an error.
    Errored,
    /// The requester typed `why` for prod, and there is no obstacle.
    Unblocked,
    /// Carol, an approver, locked development, qa and prod. The requester was refused and typed `why`.
    Locked,
    /// The change was approved, and its version runs in prod.
    Deployed,
    /// The requester was shown a plan to roll it back.
    RollbackPlanned,
    /// The requester named no environment for a rollback.
    RollbackWithoutEnvironment,
    /// The requester was shown the plan of a rollback during the merge. The merge is complete by now.
    RollbackDuringMerge,
    /// The rollback ended with an error.
    RollbackErrored,
    /// The version was rolled back in prod, and the requester typed `why`.
    Quarantined,
}

use Scenario::{
    Arrived, Deployed, Errored, Idle, Locked, Planned, Quarantined, RollbackDuringMerge, RollbackErrored,
    RollbackPlanned, RollbackWithoutEnvironment, Unblocked, Waiting,
};

/// The effect for each role. A role that is not listed has no effect.
type AllowedEffects = &'static [(Role, Effect)];

const NO_EFFECT: AllowedEffects = &[];

/// Who may lock development, qa and prod: the people who may promote there or approve.
const LOCK_EFFECTS: [AllowedEffects; 3] = [
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

/// Who may roll back in prod and release versions: the same people who may lock it.
const ROLLBACK_EFFECTS: AllowedEffects =
    &[(Promoter, PlanShown), (Approver, PlanShown), (Overrider, PlanShown), (Requester, PlanShown)];
const RELEASE_EFFECTS: AllowedEffects = &[
    (Promoter, VersionReleased),
    (Approver, VersionReleased),
    (Overrider, VersionReleased),
    (Requester, VersionReleased),
];

/// Each command, and the effects that it has in development, in qa and in prod. `{change}` is the id of the change that
/// waits for prod, and an unknown id for the others; `{bad}` is the version that was rolled back in prod.
const COMMAND_RULES: &[(Verb, &str, Scenario, [AllowedEffects; 3])] = &[
    (Verb::List, "list {environment}", Waiting, [NO_EFFECT; 3]),
    (
        Verb::Promote,
        "promote checkout {environment}",
        Idle,
        [
            NO_EFFECT,
            &[(Approver, ChangeBegun)],
            &[(Promoter, PlanShown), (Overrider, PlanShown), (Requester, PlanShown)],
        ],
    ),
    (Verb::Promote, "promote checkout {environment} --dry-run", Idle, [NO_EFFECT; 3]),
    (
        Verb::Promote,
        "promote checkout {environment} --override it burns",
        Idle,
        [NO_EFFECT, NO_EFFECT, &[(Overrider, PlanShown)]],
    ),
    (Verb::Promote, "promote checkout {environment}", Waiting, [NO_EFFECT, &[(Approver, ChangeBegun)], NO_EFFECT]),
    (
        Verb::Rollback,
        "rollback checkout {environment}",
        Idle,
        [NO_EFFECT, &[(Approver, ChangeBegun)], ROLLBACK_EFFECTS],
    ),
    (Verb::Rollback, "rollback checkout", Idle, [NO_EFFECT; 3]),
    (Verb::Release, "release checkout 1.4", Waiting, [NO_EFFECT; 3]),
    (Verb::Release, "release checkout {bad}", Quarantined, [NO_EFFECT, NO_EFFECT, RELEASE_EFFECTS]),
    (Verb::Diff, "diff development {environment}", Waiting, [NO_EFFECT; 3]),
    (Verb::Where, "where 4f1c2ab checkout", Waiting, [NO_EFFECT; 3]),
    (Verb::Why, "why checkout {environment}", Waiting, [NO_EFFECT; 3]),
    (Verb::Status, "status {environment}", Waiting, [NO_EFFECT; 3]),
    (Verb::Status, "status {change}", Waiting, [NO_EFFECT; 3]),
    (Verb::History, "history {environment}", Waiting, [NO_EFFECT; 3]),
    (
        Verb::Cancel,
        "cancel {change}",
        Waiting,
        [NO_EFFECT, NO_EFFECT, &[(Requester, ChangeStopped), (Approver, ChangeStopped)]],
    ),
    (Verb::Reject, "reject {change} not today", Waiting, [NO_EFFECT, NO_EFFECT, &[(Approver, ChangeStopped)]]),
    (Verb::Lock, "lock {environment} the database moves", Idle, LOCK_EFFECTS),
    (Verb::Unlock, "unlock {environment}", Locked, LOCK_EFFECTS),
    (Verb::Locks, "locks {environment}", Locked, [NO_EFFECT; 3]),
    (Verb::Promote, "promote checkout {environment}", Locked, [NO_EFFECT; 3]),
    (Verb::Doctor, "doctor", Waiting, [NO_EFFECT; 3]),
    (Verb::Help, "help", Waiting, [NO_EFFECT; 3]),
];

const ENVIRONMENTS: [&str; 3] = ["development", "qa", "prod"];

/// Every button by its `action_id`, clicked as it is shown, in each scenario in which its effect differs.
const BUTTON_RULES: &[(&str, Scenario, AllowedEffects)] = &[
    (plan::CONFIRM, Planned, &[(Requester, ChangeBegun)]),
    (plan::CANCEL, Planned, NO_EFFECT),
    (card::CANCEL, Waiting, &[(Requester, ChangeStopped), (Approver, ChangeStopped)]),
    (card::RETRY, Errored, &[(Promoter, ChangeBegun), (Overrider, ChangeBegun), (Requester, ChangeBegun)]),
    (approve::APPROVE, Waiting, &[(Approver, Merged)]),
    (approve::REJECT, Waiting, &[(Approver, ModalOpened)]),
    (arrival::PROMOTE, Arrived, &[(Approver, ChangeBegun)]),
    (lock::TAKE_OVER, Locked, LOCK_EFFECTS[2]),
    (rollback::ROLL_BACK, Deployed, ROLLBACK_EFFECTS),
    (plan::CONFIRM, RollbackPlanned, &[(Requester, ChangeBegun)]),
    (plan::CANCEL, RollbackPlanned, NO_EFFECT),
    (card::RETRY, RollbackErrored, ROLLBACK_EFFECTS),
    // The button only lists the versions that ran there.
    (rollback::OTHER_VERSION, RollbackPlanned, NO_EFFECT),
    // The first of these buttons is for qa.
    (command_button::COMMAND, RollbackWithoutEnvironment, &[(Approver, ChangeBegun)]),
    // The button repeats the `why` command.
    (command_button::COMMAND, Locked, NO_EFFECT),
    // The button releases the version that was rolled back.
    (command_button::COMMAND, Quarantined, RELEASE_EFFECTS),
    (promote_button::PROMOTE, Unblocked, &[(Promoter, PlanShown), (Overrider, PlanShown), (Requester, PlanShown)]),
    (rollback::CANCEL_AND_ROLL_BACK, RollbackDuringMerge, &[(Requester, ChangeBegun)]),
    (rollback::WAIT_AND_ROLL_BACK, RollbackDuringMerge, &[(Requester, ChangeBegun)]),
    (page_buttons::EARLIER, Waiting, NO_EFFECT),
    (page_buttons::LATER, Waiting, NO_EFFECT),
    (page_buttons::OPEN_EARLIER, Waiting, NO_EFFECT),
    (page_buttons::OPEN_LATER, Waiting, NO_EFFECT),
    (page_buttons::LIST_EARLIER, Waiting, NO_EFFECT),
    (page_buttons::LIST_LATER, Waiting, NO_EFFECT),
    (page_buttons::LIST_OPEN_EARLIER, Waiting, NO_EFFECT),
    (page_buttons::LIST_OPEN_LATER, Waiting, NO_EFFECT),
    (page_buttons::SHARE_LIST, Waiting, NO_EFFECT),
];

/// The buttons that the App Home has as well. There they have the same effect as in a message.
const HOME_BUTTONS: &[(&str, Scenario)] = &[
    (approve::APPROVE, Waiting),
    (approve::REJECT, Waiting),
    (promote_button::PROMOTE, Unblocked),
    (command_button::COMMAND, Locked),
];

/// Every modal by its `callback_id`, submitted also by people who could not open it.
const MODAL_RULES: &[(&str, Scenario, AllowedEffects)] = &[(approve::REJECT, Waiting, &[(Approver, ChangeStopped)])];

/// An approving review on GitHub.
const REVIEW_RULE: (Scenario, AllowedEffects) = (Waiting, &[(Approver, Merged)]);

/// How a route authenticates the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RouteAuthentication {
    /// By Slack's signature. The tables above have the effects of the requests.
    Slack,
    /// By a signature with the environment's secret. A report is a hint and never a proof.
    Environment,
    /// By the same secret in plain text, because Argo CD cannot sign.
    Bearer,
    /// By GitHub's webhook secret. A webhook only wakes the changes that wait.
    Github,
    /// Not at all: the route reports health and accepts no input.
    Public,
}

const ROUTE_RULES: &[(&str, RouteAuthentication)] = &[
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
    // In the demo only: `serve` has a separate listener for it.
    ("/metrics", RouteAuthentication::Public),
    ("/readyz", RouteAuthentication::Public),
];

#[test]
fn every_command_button_modal_and_route_has_a_rule() {
    for entry in COMMANDS {
        assert!(COMMAND_RULES.iter().any(|(verb, ..)| *verb == entry.verb), "`{}` has no rule", entry.names[0]);
    }
    let mut ruled = sorted(&BUTTON_RULES.iter().map(|(action, ..)| *action).collect::<Vec<_>>());
    ruled.dedup();
    assert_eq!(ruled, sorted(ACTIONS), "each button has its rule");
    let ruled: Vec<&str> = MODAL_RULES.iter().map(|(modal, ..)| *modal).collect();
    assert_eq!(sorted(&ruled), sorted(MODALS), "each modal has one rule");
    let mut ruled: Vec<&str> = ROUTE_RULES.iter().map(|(route, _)| *route).collect();
    // Flux has two rows: its provider can sign, or send the secret itself.
    ruled.dedup();
    let routes = routes();
    assert_eq!(sorted(&ruled), sorted(&routes.iter().map(String::as_str).collect::<Vec<_>>()), "each route has one");
}

/// The lists of `render` contain every id that Slack could send back.
#[test]
fn every_id_that_slack_can_send_back_is_listed() {
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

/// The routes of the bot, without those of the simulators and of fakes in unit tests.
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

/// Tries every command by this source, with every role.
async fn type_every_command(source: CommandSource) {
    for scenario in [Idle, Waiting, Locked, Quarantined] {
        let mut actions = Vec::new();
        for (verb, text, _, by_environment) in COMMAND_RULES.iter().filter(|(_, _, when, _)| *when == scenario) {
            for (environment, allowed) in ENVIRONMENTS.into_iter().zip(by_environment) {
                // A slash command runs its own verb only, regardless of its text.
                let allowed = if source.accepts(*verb) { *allowed } else { NO_EFFECT };
                actions.push((UserAction::Types { source, verb: *verb, text, environment }, allowed));
            }
        }
        check_actions(scenario, &actions).await;
    }
}

#[tokio::test]
async fn slash_commands_have_only_the_allowed_effects_for_each_role() {
    for entry in COMMANDS.iter().filter(|entry| entry.has_slash_command) {
        type_every_command(CommandSource::Slash(entry.names[0])).await;
    }
}

#[tokio::test]
async fn the_gantry_command_has_only_the_allowed_effects_for_each_role() {
    type_every_command(CommandSource::Slash("gantry")).await;
}

#[tokio::test]
async fn mentions_have_only_the_allowed_effects_for_each_role() {
    type_every_command(CommandSource::Mention).await;
}

#[tokio::test]
async fn direct_messages_have_only_the_allowed_effects_for_each_role() {
    type_every_command(CommandSource::DirectMessage).await;
}

#[tokio::test]
async fn buttons_have_only_the_allowed_effects_for_each_role() {
    for scenario in [Idle, Arrived, Planned, Waiting, Errored, Unblocked, Locked] {
        click_every_button(scenario).await;
    }
}

#[tokio::test]
async fn buttons_of_rollbacks_have_only_the_allowed_effects_for_each_role() {
    for scenario in
        [Deployed, RollbackPlanned, RollbackWithoutEnvironment, RollbackDuringMerge, RollbackErrored, Quarantined]
    {
        click_every_button(scenario).await;
    }
}

#[tokio::test]
async fn the_home_has_only_the_allowed_effects_for_each_role() {
    check_actions(Waiting, &[(UserAction::OpensHome, NO_EFFECT), (UserAction::Joins, NO_EFFECT)]).await;
    for (action, scenario) in HOME_BUTTONS {
        let (.., allowed) =
            BUTTON_RULES.iter().find(|(other, when, _)| other == action && when == scenario).expect("a rule");
        check_actions(*scenario, &[(UserAction::ClicksAtHome { action }, *allowed)]).await;
    }
}

async fn click_every_button(scenario: Scenario) {
    let buttons = BUTTON_RULES.iter().filter(|(_, when, _)| *when == scenario);
    check_actions(
        scenario,
        &buttons.map(|(action, _, allowed)| (UserAction::Clicks { action }, *allowed)).collect::<Vec<_>>(),
    )
    .await;
}

#[tokio::test]
async fn modals_and_reviews_have_only_the_allowed_effects_for_each_role() {
    for (modal, scenario, allowed) in MODAL_RULES {
        check_actions(*scenario, &[(UserAction::Submits { modal }, *allowed)]).await;
    }
    let (scenario, allowed) = REVIEW_RULE;
    check_actions(scenario, &[(UserAction::Reviews, allowed)]).await;
}

#[tokio::test]
async fn a_route_refuses_a_sender_without_the_secret_and_a_false_report_with_the_secret_changes_nothing() {
    for (route, authentication) in ROUTE_RULES {
        actions::check_route(route, *authentication).await;
    }
}
