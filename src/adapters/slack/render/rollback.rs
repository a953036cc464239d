//! Rollbacks: what would come back and what would be lost, for the one who asks; what it left, for those whom it concerns.

use super::Rendered;
use super::blocks::{Block, Button, ConfirmDialog, actions, button, context, section};
use super::mrkdwn::{Mrkdwn, format_elapsed, truncate_middle};
use super::plan::{render_co_deployed, render_superseded_change};
use crate::adapters::slack::render::command_button::{build_command_button, escape_argument};
use crate::adapters::slack::render::commit_summary::{Authors, MAX_COMMITS, format_commits};
use crate::domain::change::plan::Plan;
use crate::domain::change::{Change, ChangeId};
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::{EnvironmentName, PromotionMethod};
use crate::domain::model::version::Version;
use crate::domain::rules::lock::Lock;
use crate::domain::rules::promotion::ChangeInProgress;
use crate::domain::rules::quarantine::{Hold, Quarantine};
use crate::domain::rules::rollback::{HealthyPeriod, ImagePresence, RollbackEvidence};

/// On the card of a change, which it takes back.
pub const ROLL_BACK: &str = "change_roll_back";
pub const OTHER_VERSION: &str = "rollback_another";
pub const CANCEL_AND_ROLL_BACK: &str = "rollback_instead";
pub const WAIT_AND_ROLL_BACK: &str = "rollback_wait";

const MAX_REASON: usize = 500;
const MAX_LABEL: usize = 70;
const MAX_NAMES: usize = 8;

/// What was found, which only a person's yes makes a change.
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

/// A promotion is being merged: whoever asks chooses what becomes of it.
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

/// It waits until the other change is merged or over, and then rolls back.
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
    blocks.extend(render_effects(plan, MAX_COMMITS));
    blocks.extend(render_superseded_change(plan));
    Rendered { text, blocks }
}

fn describe_git_write(plan: &Plan) -> Mrkdwn {
    let text = match (plan.promote, &plan.manifest) {
        (PromotionMethod::Merge, None) => Mrkdwn::new(", by a commit on "),
        (PromotionMethod::Merge, Some(_)) => Mrkdwn::new(", by a commit to "),
        (PromotionMethod::PullRequest, None) => Mrkdwn::new(", by a pull request into "),
        (PromotionMethod::PullRequest, Some(_)) => Mrkdwn::new(", by a pull request that changes "),
    };
    match &plan.manifest {
        Some(file) => text.code(&file.file),
        None => text.code(&plan.branch),
    }
}

/// From which version back to which, how that was found, and what goes with it.
pub(super) fn render_effects(plan: &Plan, most: usize) -> Vec<Block> {
    let Some(rollback) = &plan.rollback else { return Vec::new() };
    let from = plan.from.as_ref().map_or("unknown", Version::label);
    let line = Mrkdwn::default().code(from).raw(" \u{2192} ").code(plan.version.label());
    let line = match &plan.pinned {
        Some(commit) => line.raw(", commit ").code(commit.short()),
        None => line,
    };
    let line = match &plan.drift.url {
        Some(url) => line.raw(" \u{b7} ").link(url, "compare"),
        None => line,
    };
    let mut blocks = vec![section(line.raw("\n").append(&describe_how_found(plan, rollback.found, rollback.ran)))];
    if let Some(reason) = &rollback.reason {
        blocks.push(section(Mrkdwn::new("*Reason:* ").plain(&truncate_middle(reason, MAX_REASON))));
    }
    blocks.push(section(match plan.drift.commits_in_all {
        0 if plan.drift.url.is_some() => Mrkdwn::new("*Lost by it:* no commit, only merges"),
        0 => Mrkdwn::new("What is lost by it cannot be told: the commits are not known."),
        _ => Mrkdwn::new("*Lost by it:* ").append(&format_commits(&plan.drift, most, &Authors::new())),
    }));
    blocks.extend(render_image_warning(plan));
    blocks.extend(rollback.locks.iter().map(|lock| section(describe_bypassed_lock(lock))));
    blocks.extend(render_co_deployed(plan));
    blocks
}

fn describe_how_found(plan: &Plan, found: RollbackEvidence, ran: Option<HealthyPeriod>) -> Mrkdwn {
    match (found, ran) {
        (RollbackEvidence::Ledger, Some(HealthyPeriod { since, until })) => {
            let text = Mrkdwn::new("I saw it run well there from ").date_time(since);
            match until {
                Some(until) => {
                    text.raw(" to ").date_time(until).plain(&format!(", for {}", format_elapsed(since, until)))
                }
                None => text.raw(", and it still does: what was merged since has not arrived"),
            }
        }
        (RollbackEvidence::Ledger, None) => Mrkdwn::new("I saw it run well there"),
        (RollbackEvidence::Git, _) if plan.manifest.is_some() => {
            Mrkdwn::new("The manifest named it before. I have not seen it run there myself")
        }
        (RollbackEvidence::Git, _) => Mrkdwn::new("The branch stood there before. I have not seen it run there myself"),
        (RollbackEvidence::Cluster, _) => {
            Mrkdwn::new("The cluster remembers that it ran there before. I have not seen it run well myself")
        }
        (RollbackEvidence::Registry, _) => Mrkdwn::new(
            ":warning: A guess: it is the tag before the current one in the registry. Nobody has seen it run there",
        ),
    }
}

/// What the registry says, where that is worth a word.
pub(super) fn render_image_warning(plan: &Plan) -> Option<Block> {
    match &plan.image {
        ImagePresence::Gone => Some(section(Mrkdwn::new(
            ":warning: Its old image is not in the registry any more. That does no harm: CI builds its code anew.",
        ))),
        ImagePresence::Unknown { why } if plan.manifest.is_some() => Some(section(
            Mrkdwn::new(":warning: I cannot tell whether its image is still there: ")
                .plain(truncate_middle(why, MAX_REASON).trim_end_matches('.'))
                .raw(". If it is not, nothing will start. Confirm only if you know that it is there."),
        )),
        // By branch CI builds it anew in any case.
        ImagePresence::Yes | ImagePresence::Unknown { .. } => None,
    }
}

fn describe_bypassed_lock(lock: &Lock) -> Mrkdwn {
    Mrkdwn::new(":lock: ")
        .bold(lock.environment.as_str())
        .raw(" is locked by ")
        .person(&lock.by)
        .append(&super::lock::format_period(lock))
        .append(&super::lock::format_reason(lock))
        .raw(" A rollback passes it, and its owner is told.")
}

/// For the owner of a lock that a rollback passed.
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

/// Where it is to be rolled back, for somebody who did not say it.
pub fn render_environment_choice(
    artefact: &ArtefactName,
    environments: &[EnvironmentName],
    version: Option<&str>,
    reason: Option<&str>,
) -> Rendered {
    let text = Mrkdwn::new("In which environment is ").bold(artefact.as_str()).raw(" to be rolled back?");
    let one = |environment: &EnvironmentName| {
        let command = format_command(artefact, environment, version, reason);
        build_command_button(&truncate_middle(environment.as_str(), MAX_LABEL), command)
    };
    let mut blocks = vec![section(text.clone())];
    match environments.first() {
        Some(first) => {
            blocks.push(actions(environments.iter().take(20).map(one).collect()));
            let example = format!("/rollback {artefact} {first}");
            blocks.push(context(Mrkdwn::new("Or type it: ").code(&example)));
        }
        None => blocks.push(context(Mrkdwn::new("It is in no environment that can be rolled back."))),
    }
    Rendered { text: text.into_string(), blocks }
}

/// The versions that ran well there, the newest first.
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
    let one = |(version, _): &(Version, HealthyPeriod)| {
        let command = format_command(artefact, environment, Some(version.label()), reason);
        build_command_button(&truncate_middle(version.label(), MAX_LABEL), command)
    };
    let blocks = vec![
        section(text.clone()),
        actions(versions.iter().map(one).collect()),
        context(Mrkdwn::new("A button rolls back to that version; in production you are asked once more.")),
    ];
    Rendered { text: text.into_string(), blocks }
}

/// The command that goes back there.
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
    let reason = plan.rollback.as_ref().and_then(|rollback| rollback.reason.as_deref()).unwrap_or_default();
    let value = format!("{}:{}:{}", plan.environment, plan.artefact, truncate_middle(reason, MAX_REASON));
    button("Another version", OTHER_VERSION, value)
}

/// In the thread, to those whose work does not run there any more.
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
    text = match plan.rollback.as_ref().and_then(|rollback| rollback.reason.as_deref()) {
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

/// What a rollback left, on the plan of the next promotion.
pub(super) fn describe_hold(hold: &Hold) -> Mrkdwn {
    let text = Mrkdwn::new(":warning: ").bold(hold.environment.as_str()).raw(" is on hold: ");
    let text = append_actor(text, hold.by.as_ref()).raw(" rolled ");
    let text = match &hold.from {
        Some(from) => text.code(from.label()).raw(" back "),
        None => text.raw("it back "),
    };
    let text = text.date_time(hold.at);
    let text = match &hold.reason {
        Some(reason) => text.raw(": ").plain(truncate_middle(reason, MAX_REASON).trim_end_matches('.')),
        None => text,
    };
    text.raw(". Your yes lifts the hold")
}

fn append_actor(text: Mrkdwn, by: Option<&PersonId>) -> Mrkdwn {
    match by {
        Some(by) => text.person(by),
        None => text.raw("I, by the rule of that environment,"),
    }
}

/// Why a version may not come back.
pub(super) fn describe_quarantine(quarantine: &Quarantine) -> Mrkdwn {
    let text = append_actor(Mrkdwn::default(), quarantine.by.as_ref())
        .raw(" rolled it back in ")
        .bold(quarantine.environment.as_str())
        .raw(" ")
        .date_time(quarantine.at);
    match &quarantine.reason {
        Some(reason) => text.raw(": ").plain(truncate_middle(reason, MAX_REASON).trim_end_matches('.')),
        None => text.raw(", without a reason"),
    }
}

/// For all to see: what may come back, by whom.
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

/// Nothing of that name is quarantined. `others` are the versions that are.
pub fn render_not_quarantined(artefact: &ArtefactName, version: &str, others: &[Quarantine]) -> Rendered {
    let text = Mrkdwn::new("There is nothing to release: ")
        .bold(artefact.as_str())
        .raw(" ")
        .code(&truncate_middle(version, MAX_LABEL))
        .raw(" is not quarantined.");
    let next = match others.split_first() {
        None => Mrkdwn::new("No version of it is."),
        Some((first, rest)) => {
            let one = |text: Mrkdwn, it: &Quarantine| {
                text.code(it.version.label()).raw(" in ").plain(it.environment.as_str())
            };
            rest.iter()
                .take(MAX_NAMES - 1)
                .fold(one(Mrkdwn::new("These are: "), first), |text, it| one(text.raw(", "), it))
        }
    };
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] }
}
