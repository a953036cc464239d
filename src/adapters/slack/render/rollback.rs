//! Texts about rollbacks: the plan for the requester, choices of environment and version, and notifications.

use super::Rendered;
use super::blocks::{Button, ConfirmDialog, actions, button, context, section};
use super::commit_summary::MAX_COMMITS;
use super::effects::{render_rollback_effects, render_superseded_change};
use super::mrkdwn::{Mrkdwn, format_elapsed, truncate_middle};
use super::quarantine::describe_quarantine;
use crate::adapters::slack::render::command_button::{build_command_button, escape_argument};
use crate::domain::change::Change;
use crate::domain::change::plan::Plan;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::{EnvironmentName, PromotionMethod};
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Version;
use crate::domain::rules::conflict::ChangeInProgress;
use crate::domain::rules::lock::Lock;
use crate::domain::rules::quarantine::Quarantine;
use crate::domain::rules::rollback::HealthyPeriod;

/// On the card of a change: rolls that change back.
pub const ROLL_BACK: &str = "change_roll_back";
pub const OTHER_VERSION: &str = "rollback_another";
pub const CANCEL_AND_ROLL_BACK: &str = "rollback_instead";
pub const WAIT_AND_ROLL_BACK: &str = "rollback_wait";

const MAX_REASON: usize = 500;
const MAX_LABEL: usize = 70;
const MAX_NAMES: usize = 8;

/// The plan of a rollback, which needs confirmation.
pub fn render_confirmation(plan: &Plan, id: ChangeId) -> Rendered {
    let mut rendered = render_plan(plan);
    rendered.blocks.push(actions(vec![
        button("Confirm", super::plan::CONFIRM, id.to_string()).danger(),
        build_other_version_button(plan),
        button("Cancel", super::plan::CANCEL, id.to_string()),
    ]));
    rendered.blocks.push(context(Mrkdwn::new("Nothing is done before you confirm. This is good for 30 minutes.")));
    rendered
}

/// The plan of a rollback during the merge of a promotion. The requester chooses whether to cancel or to await the
/// promotion.
pub fn render_conflict_choice(plan: &Plan, holder: &ChangeInProgress, id: ChangeId) -> Rendered {
    let mut rendered = render_plan(plan);
    rendered.blocks.push(section(
        Mrkdwn::new(":warning: ")
            .person(&holder.requester)
            .raw(" promotes ")
            .bold(holder.artefact.as_str())
            .raw(" to ")
            .bold(holder.environment.as_str())
            .raw(" since ")
            .date_time(holder.since)
            .raw(", and it is being merged right now (change ")
            .code(&holder.id.to_short_id())
            .raw("). Should it come too late to be cancelled, it is rolled back as well."),
    ));
    rendered.blocks.push(actions(vec![
        button("Cancel it and roll back", CANCEL_AND_ROLL_BACK, id.to_string()).danger(),
        button("Wait for it, then roll back", WAIT_AND_ROLL_BACK, id.to_string()),
        button("Cancel", super::plan::CANCEL, id.to_string()),
    ]));
    rendered
}

/// The answer if the rollback waited too long for the merge of another change.
pub fn render_wait_timeout(plan: &Plan) -> Rendered {
    let text = Mrkdwn::new("Nothing was rolled back: another change of ")
        .bold(plan.environment.as_str())
        .raw(" was still being merged after 10 minutes.");
    let next =
        Mrkdwn::new("Next: ").code("/gantry status").raw(" shows it; then ").code(&format_slash_command(plan, None));
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] }
}

fn render_plan(plan: &Plan) -> Rendered {
    let head = Mrkdwn::new(":leftwards_arrow_with_hook: Roll ")
        .bold(plan.artefact.as_str())
        .raw(" back to ")
        .code(plan.version.label())
        .raw(" in ")
        .bold(plan.environment.as_str())
        .append(&describe_git_write(plan));
    let text = Mrkdwn::default()
        .plain(&format!("Roll {} back to {} in {}", plan.artefact, plan.version.label(), plan.environment))
        .into_string();
    let mut blocks = vec![section(head)];
    blocks.extend(render_rollback_effects(plan, MAX_COMMITS));
    blocks.extend(render_superseded_change(plan));
    Rendered { text, blocks }
}

fn describe_git_write(plan: &Plan) -> Mrkdwn {
    let text = match (plan.method, plan.manifest_file()) {
        (PromotionMethod::Merge, None) => Mrkdwn::new(", by a commit on "),
        (PromotionMethod::Merge, Some(_)) => Mrkdwn::new(", by a commit to "),
        (PromotionMethod::PullRequest, None) => Mrkdwn::new(", by a pull request into "),
        (PromotionMethod::PullRequest, Some(_)) => Mrkdwn::new(", by a pull request that changes "),
    };
    match plan.manifest_file() {
        Some(file) => text.code(&file.file),
        None => text.code(&plan.branch),
    }
}

/// For the owner of a lock that a rollback bypassed.
pub fn render_lock_bypassed(change: &Change, lock: &Lock) -> Rendered {
    let plan = &change.plan;
    let text = Mrkdwn::default()
        .person(&change.requester)
        .raw(" rolls ")
        .bold(plan.artefact.as_str())
        .raw(" back to ")
        .code(plan.version.label())
        .raw(" in ")
        .bold(plan.environment.as_str())
        .raw(" in spite of your lock")
        .append(&super::lock::format_reason(lock))
        .raw(" The lock stays: <{link}|follow it here>.");
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text)] }
}

/// The choice of the environment, for a requester who named none.
pub fn render_environment_choice(
    artefact: &ArtefactName,
    environments: &[EnvironmentName],
    version: Option<&str>,
    reason: Option<&str>,
) -> Rendered {
    let text = Mrkdwn::new("In which environment is ").bold(artefact.as_str()).raw(" to be rolled back?");
    let build_choice = |environment: &EnvironmentName| {
        let command = format_command(artefact, environment, version, reason);
        build_command_button(&truncate_middle(environment.as_str(), MAX_LABEL), command)
    };
    let mut blocks = vec![section(text.clone())];
    match environments.first() {
        Some(first) => {
            blocks.push(actions(environments.iter().take(20).map(build_choice).collect()));
            let example = format!("/rollback {artefact} {first}");
            blocks.push(context(Mrkdwn::new("Or type it: ").code(&example)));
        }
        None => blocks.push(context(Mrkdwn::new("It is in no environment that can be rolled back."))),
    }
    Rendered { text: text.into_string(), blocks }
}

/// The versions that ran healthily in the environment, newest first.
pub fn render_version_choice(
    artefact: &ArtefactName,
    environment: &EnvironmentName,
    versions: &[(Version, HealthyPeriod)],
    reason: Option<&str>,
) -> Rendered {
    let name = Mrkdwn::default().bold(artefact.as_str()).raw(" in ").bold(environment.as_str());
    if versions.is_empty() {
        let text = Mrkdwn::new("I have seen no other version of ").append(&name).raw(" run well.");
        let next = Mrkdwn::new("Next: repair it by a push, and promote that.");
        return Rendered { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] };
    }
    let mut text = Mrkdwn::new("Versions of ").append(&name).raw(" that ran well:");
    for (version, ran) in versions {
        text = text.raw("\n\u{2022} ").code(version.label()).raw(" from ").date_time(ran.since);
        text = match ran.until {
            Some(until) => text.plain(&format!(", for {}", format_elapsed(ran.since, until))),
            None => text,
        };
    }
    let build_choice = |(version, _): &(Version, HealthyPeriod)| {
        let command = format_command(artefact, environment, Some(version.label()), reason);
        build_command_button(&truncate_middle(version.label(), MAX_LABEL), command)
    };
    let blocks = vec![
        section(text.clone()),
        actions(versions.iter().map(build_choice).collect()),
        context(Mrkdwn::new("A button rolls back to that version; in production you are asked once more.")),
    ];
    Rendered { text: text.into_string(), blocks }
}

/// The command for this rollback.
pub(super) fn format_command(
    artefact: &ArtefactName,
    environment: &EnvironmentName,
    version: Option<&str>,
    reason: Option<&str>,
) -> String {
    let version = version.map(|version| format!(" @{}", escape_argument(version))).unwrap_or_default();
    let reason = reason
        .map(|reason| format!(" --reason {}", escape_argument(&truncate_middle(reason, MAX_REASON))))
        .unwrap_or_default();
    format!("rollback {artefact} {environment}{version}{reason}")
}

fn format_slash_command(plan: &Plan, version: Option<&str>) -> String {
    format!("/{}", format_command(&plan.artefact, &plan.environment, version, None))
}

pub(super) fn build_rollback_button(change: &Change) -> Button {
    let plan = &change.plan;
    let text = Mrkdwn::default()
        .bold(plan.artefact.as_str())
        .raw(" ")
        .code(plan.version.label())
        .raw(" leaves ")
        .bold(plan.environment.as_str())
        .raw(", and what ran well before comes back.");
    let confirm = ConfirmDialog { title: "Roll this back?", text, confirm_label: "Roll back", deny_label: "Back" };
    button("Roll back", ROLL_BACK, change.id.to_string()).danger().with_confirm(confirm)
}

pub(super) fn build_other_version_button(plan: &Plan) -> Button {
    let reason = plan.rollback_details().and_then(|rollback| rollback.reason.as_deref()).unwrap_or_default();
    let value = format!("{}:{}:{}", plan.environment, plan.artefact, truncate_middle(reason, MAX_REASON));
    button("Another version", OTHER_VERSION, value)
}

/// Posted in the thread: mentions the authors of the commits that do not run in the environment any more.
pub fn render_commits_lost(change: &Change, authors: &[PersonId]) -> Option<Rendered> {
    let (first, rest) = authors.split_first()?;
    let plan = &change.plan;
    let mut text = Mrkdwn::default().person(first);
    for author in rest.iter().take(MAX_NAMES - 1) {
        text = text.raw(" ").person(author);
    }
    text = text
        .raw(" your commits do not run in ")
        .bold(plan.environment.as_str())
        .raw(" any more: ")
        .bold(plan.artefact.as_str())
        .raw(" was rolled back to ")
        .code(plan.version.label());
    text = match plan.rollback_details().and_then(|rollback| rollback.reason.as_deref()) {
        Some(reason) => {
            text.raw(". Reason: ").plain(truncate_middle(reason, MAX_REASON).trim_end_matches('.')).raw(".")
        }
        None => text.raw("."),
    };
    let next = Mrkdwn::new("Next: push a repair; once it runs below, ")
        .code(&format!("/promote {} {}", plan.artefact, plan.environment))
        .raw(" brings your commits back together with it.");
    Some(Rendered { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] })
}

/// Posted in the channel: a person released a version.
pub fn render_release_announcement(artefact: &ArtefactName, quarantine: &Quarantine, by: &PersonId) -> Rendered {
    let text = Mrkdwn::new(":unlock: ")
        .person(by)
        .raw(" released ")
        .bold(artefact.as_str())
        .raw(" ")
        .code(quarantine.version.label())
        .raw(": it may come back to ")
        .bold(quarantine.environment.as_str())
        .raw(" and above. Before, ")
        .append(&describe_quarantine(quarantine))
        .raw(".");
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text)] }
}

pub fn render_released(artefact: &ArtefactName, quarantine: &Quarantine) -> Rendered {
    let text = Mrkdwn::new("Released: ")
        .bold(artefact.as_str())
        .raw(" ")
        .code(quarantine.version.label())
        .raw(" may come back to ")
        .bold(quarantine.environment.as_str())
        .raw(" and above.");
    let next = Mrkdwn::new("Next: ").code(&format!("/promote {artefact} {}", quarantine.environment));
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] }
}

/// The answer if the version is not quarantined. `others` are the quarantined versions.
pub fn render_not_quarantined(artefact: &ArtefactName, version: &str, others: &[Quarantine]) -> Rendered {
    let text = Mrkdwn::new("There is nothing to release: ")
        .bold(artefact.as_str())
        .raw(" ")
        .code(&truncate_middle(version, MAX_LABEL))
        .raw(" is not quarantined.");
    let next = match others.split_first() {
        None => Mrkdwn::new("No version of it is."),
        Some((first, rest)) => {
            let append_version = |text: Mrkdwn, quarantine: &Quarantine| {
                text.code(quarantine.version.label()).raw(" in ").plain(quarantine.environment.as_str())
            };
            rest.iter()
                .take(MAX_NAMES - 1)
                .fold(append_version(Mrkdwn::new("These are: "), first), |text, quarantine| {
                    append_version(text.raw(", "), quarantine)
                })
        }
    };
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] }
}
