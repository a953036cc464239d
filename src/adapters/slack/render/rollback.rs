//! Rollbacks: what would come back and what would be lost, for the one who asks; what it left, for those whom it concerns.

use jiff::SignedDuration;

use super::Said;
use super::blocks::{Block, Button, Confirm, actions, button, context, section};
use super::mrkdwn::{Mrkdwn, shorten, span};
use super::plan::{also, supersedes};
use crate::adapters::slack::render::command_button::{runs, sent};
use crate::adapters::slack::render::commit_summary::{Authors, FEW, commits};
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
pub const ANOTHER: &str = "rollback_another";
pub const INSTEAD: &str = "rollback_instead";
pub const WAIT: &str = "rollback_wait";

const REASON: usize = 500;
const LABEL: usize = 70;
const NAMES: usize = 8;

/// What was found, which only a person's yes makes a change.
pub fn question(plan: &Plan, id: ChangeId) -> Said {
    let mut said = said(plan);
    said.blocks.push(actions(vec![
        button("Confirm", super::plan::CONFIRM, id.to_string()).danger(),
        another(plan),
        button("Cancel", super::plan::CANCEL, id.to_string()),
    ]));
    said.blocks.push(context(Mrkdwn::new("Nothing is done before you confirm. This is good for 30 minutes.")));
    said
}

/// A promotion is being merged: whoever asks chooses what becomes of it.
pub fn meets(plan: &Plan, holder: &ChangeInProgress, id: ChangeId) -> Said {
    let mut said = said(plan);
    said.blocks.push(section(
        Mrkdwn::new(":warning: ")
            .person(&holder.requester)
            .raw(" promotes ")
            .bold(holder.artefact.as_str())
            .raw(" to ")
            .bold(holder.environment.as_str())
            .raw(" since ")
            .moment(holder.since)
            .raw(", and it is being merged right now (change ")
            .code(&holder.id.to_short_id())
            .raw("). Should it come too late to be cancelled, it is rolled back as well."),
    ));
    said.blocks.push(actions(vec![
        button("Cancel it and roll back", INSTEAD, id.to_string()).danger(),
        button("Wait for it, then roll back", WAIT, id.to_string()),
        button("Cancel", super::plan::CANCEL, id.to_string()),
    ]));
    said
}

/// It waits until the other change is merged or over, and then rolls back.
pub fn gave_up(plan: &Plan) -> Said {
    let text = Mrkdwn::new("Nothing was rolled back: another change of ")
        .bold(plan.environment.as_str())
        .raw(" was still being merged after 10 minutes.");
    let next = Mrkdwn::new("Next: ").code("/gantry status").raw(" shows it; then ").code(&command(plan, None));
    Said { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] }
}

fn said(plan: &Plan) -> Said {
    let head = Mrkdwn::new(":leftwards_arrow_with_hook: Roll ")
        .bold(plan.artefact.as_str())
        .raw(" back to ")
        .code(plan.version.label())
        .raw(" in ")
        .bold(plan.environment.as_str())
        .and(&way(plan));
    let text = Mrkdwn::default()
        .plain(&format!("Roll {} back to {} in {}", plan.artefact, plan.version.label(), plan.environment))
        .into_string();
    let mut blocks = vec![section(head)];
    blocks.extend(what(plan, FEW));
    blocks.extend(supersedes(plan));
    Said { text, blocks }
}

fn way(plan: &Plan) -> Mrkdwn {
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
pub(super) fn what(plan: &Plan, most: usize) -> Vec<Block> {
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
    let mut blocks = vec![section(line.raw("\n").and(&found(plan, rollback.found, rollback.ran)))];
    if let Some(reason) = &rollback.reason {
        blocks.push(section(Mrkdwn::new("*Reason:* ").plain(&shorten(reason, REASON))));
    }
    blocks.push(section(match plan.drift.commits_in_all {
        0 if plan.drift.url.is_some() => Mrkdwn::new("*Lost by it:* no commit, only merges"),
        0 => Mrkdwn::new("What is lost by it cannot be told: the commits are not known."),
        _ => Mrkdwn::new("*Lost by it:* ").and(&commits(&plan.drift, most, &Authors::new())),
    }));
    blocks.extend(image(plan));
    blocks.extend(rollback.locks.iter().map(|lock| section(locked(lock))));
    blocks.extend(also(plan));
    blocks
}

fn found(plan: &Plan, found: RollbackEvidence, ran: Option<HealthyPeriod>) -> Mrkdwn {
    match (found, ran) {
        (RollbackEvidence::Ledger, Some(HealthyPeriod { since, until })) => {
            let text = Mrkdwn::new("I saw it run well there from ").moment(since);
            match until {
                Some(until) => {
                    text.raw(" to ").moment(until).plain(&format!(", for {}", lasted(until.duration_since(since))))
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

fn lasted(time: SignedDuration) -> String {
    let (count, unit) = span(time);
    format!("{count} {unit}")
}

/// What the registry says, where that is worth a word.
pub(super) fn image(plan: &Plan) -> Option<Block> {
    match &plan.image {
        ImagePresence::Gone => Some(section(Mrkdwn::new(
            ":warning: Its old image is not in the registry any more. That does no harm: CI builds its code anew.",
        ))),
        ImagePresence::Unknown { why } if plan.manifest.is_some() => Some(section(
            Mrkdwn::new(":warning: I cannot tell whether its image is still there: ")
                .plain(shorten(why, REASON).trim_end_matches('.'))
                .raw(". If it is not, nothing will start. Confirm only if you know that it is there."),
        )),
        // By branch CI builds it anew in any case.
        ImagePresence::Yes | ImagePresence::Unknown { .. } => None,
    }
}

fn locked(lock: &Lock) -> Mrkdwn {
    Mrkdwn::new(":lock: ")
        .bold(lock.environment.as_str())
        .raw(" is locked by ")
        .person(&lock.by)
        .and(&super::lock::times(lock))
        .and(&super::lock::reason(lock))
        .raw(" A rollback passes it, and its owner is told.")
}

/// For the owner of a lock that a rollback passed.
pub fn passed(change: &Change, lock: &Lock) -> Said {
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
        .and(&super::lock::reason(lock))
        .raw(" The lock stays: <{link}|follow it here>.");
    Said { text: text.as_str().to_owned(), blocks: vec![section(text)] }
}

/// Where it is to be rolled back, for somebody who did not say it.
pub fn where_(
    artefact: &ArtefactName,
    environments: &[EnvironmentName],
    version: Option<&str>,
    reason: Option<&str>,
) -> Said {
    let text = Mrkdwn::new("In which environment is ").bold(artefact.as_str()).raw(" to be rolled back?");
    let one = |environment: &EnvironmentName| {
        let command = typed(artefact, environment, version, reason);
        runs(&shorten(environment.as_str(), LABEL), command)
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
    Said { text: text.into_string(), blocks }
}

/// The versions that ran well there, the newest first.
pub fn versions(
    artefact: &ArtefactName,
    environment: &EnvironmentName,
    versions: &[(Version, HealthyPeriod)],
    reason: Option<&str>,
) -> Said {
    let name = Mrkdwn::default().bold(artefact.as_str()).raw(" in ").bold(environment.as_str());
    if versions.is_empty() {
        let text = Mrkdwn::new("I have seen no other version of ").and(&name).raw(" run well.");
        let next = Mrkdwn::new("Next: repair it by a push, and promote that.");
        return Said { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] };
    }
    let mut text = Mrkdwn::new("Versions of ").and(&name).raw(" that ran well:");
    for (version, ran) in versions {
        text = text.raw("\n\u{2022} ").code(version.label()).raw(" from ").moment(ran.since);
        text = match ran.until {
            Some(until) => text.plain(&format!(", for {}", lasted(until.duration_since(ran.since)))),
            None => text,
        };
    }
    let one = |(version, _): &(Version, HealthyPeriod)| {
        let command = typed(artefact, environment, Some(version.label()), reason);
        runs(&shorten(version.label(), LABEL), command)
    };
    let blocks = vec![
        section(text.clone()),
        actions(versions.iter().map(one).collect()),
        context(Mrkdwn::new("A button rolls back to that version; in production you are asked once more.")),
    ];
    Said { text: text.into_string(), blocks }
}

/// The command that goes back there.
pub(super) fn typed(
    artefact: &ArtefactName,
    environment: &EnvironmentName,
    version: Option<&str>,
    reason: Option<&str>,
) -> String {
    let version = version.map(|version| format!(" @{}", sent(version))).unwrap_or_default();
    let reason = reason.map(|reason| format!(" --reason {}", sent(&shorten(reason, REASON)))).unwrap_or_default();
    format!("rollback {artefact} {environment}{version}{reason}")
}

fn command(plan: &Plan, version: Option<&str>) -> String {
    format!("/{}", typed(&plan.artefact, &plan.environment, version, None))
}

pub(super) fn roll_back(change: &Change) -> Button {
    let plan = &change.plan;
    let text = Mrkdwn::default()
        .bold(plan.artefact.as_str())
        .raw(" ")
        .code(plan.version.label())
        .raw(" leaves ")
        .bold(plan.environment.as_str())
        .raw(", and what ran well before comes back.");
    let confirm = Confirm { title: "Roll this back?", text, yes: "Roll back", no: "Back" };
    button("Roll back", ROLL_BACK, change.id.to_string()).danger().confirmed(confirm)
}

pub(super) fn another(plan: &Plan) -> Button {
    let reason = plan.rollback.as_ref().and_then(|rollback| rollback.reason.as_deref()).unwrap_or_default();
    let value = format!("{}:{}:{}", plan.environment, plan.artefact, shorten(reason, REASON));
    button("Another version", ANOTHER, value)
}

/// In the thread, to those whose work does not run there any more.
pub fn lost(change: &Change, authors: &[PersonId]) -> Option<Said> {
    let (first, rest) = authors.split_first()?;
    let plan = &change.plan;
    let mut text = Mrkdwn::default().person(first);
    for author in rest.iter().take(NAMES - 1) {
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
        Some(reason) => text.raw(". Reason: ").plain(shorten(reason, REASON).trim_end_matches('.')).raw("."),
        None => text.raw("."),
    };
    let next = Mrkdwn::new("Next: push a repair; once it runs below, ")
        .code(&format!("/promote {} {}", plan.artefact, plan.environment))
        .raw(" brings your commits back together with it.");
    Some(Said { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] })
}

/// What a rollback left, on the plan of the next promotion.
pub(super) fn held(hold: &Hold) -> Mrkdwn {
    let text = Mrkdwn::new(":warning: ").bold(hold.environment.as_str()).raw(" is on hold: ");
    let text = by(text, hold.by.as_ref()).raw(" rolled ");
    let text = match &hold.from {
        Some(from) => text.code(from.label()).raw(" back "),
        None => text.raw("it back "),
    };
    let text = text.moment(hold.at);
    let text = match &hold.reason {
        Some(reason) => text.raw(": ").plain(shorten(reason, REASON).trim_end_matches('.')),
        None => text,
    };
    text.raw(". Your yes lifts the hold")
}

fn by(text: Mrkdwn, by: Option<&PersonId>) -> Mrkdwn {
    match by {
        Some(by) => text.person(by),
        None => text.raw("I, by the rule of that environment,"),
    }
}

/// Why a version may not come back.
pub(super) fn quarantined(quarantine: &Quarantine) -> Mrkdwn {
    let text = by(Mrkdwn::default(), quarantine.by.as_ref())
        .raw(" rolled it back in ")
        .bold(quarantine.environment.as_str())
        .raw(" ")
        .moment(quarantine.at);
    match &quarantine.reason {
        Some(reason) => text.raw(": ").plain(shorten(reason, REASON).trim_end_matches('.')),
        None => text.raw(", without a reason"),
    }
}

/// For all to see: what may come back, by whom.
pub fn announced_release(artefact: &ArtefactName, quarantine: &Quarantine, by: &PersonId) -> Said {
    let text = Mrkdwn::new(":unlock: ")
        .person(by)
        .raw(" released ")
        .bold(artefact.as_str())
        .raw(" ")
        .code(quarantine.version.label())
        .raw(": it may come back to ")
        .bold(quarantine.environment.as_str())
        .raw(" and above. Before, ")
        .and(&quarantined(quarantine))
        .raw(".");
    Said { text: text.as_str().to_owned(), blocks: vec![section(text)] }
}

pub fn released(artefact: &ArtefactName, quarantine: &Quarantine) -> Said {
    let text = Mrkdwn::new("Released: ")
        .bold(artefact.as_str())
        .raw(" ")
        .code(quarantine.version.label())
        .raw(" may come back to ")
        .bold(quarantine.environment.as_str())
        .raw(" and above.");
    let next = Mrkdwn::new("Next: ").code(&format!("/promote {artefact} {}", quarantine.environment));
    Said { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] }
}

/// Nothing of that name is quarantined. `others` are the versions that are.
pub fn not_quarantined(artefact: &ArtefactName, version: &str, others: &[Quarantine]) -> Said {
    let text = Mrkdwn::new("There is nothing to release: ")
        .bold(artefact.as_str())
        .raw(" ")
        .code(&shorten(version, LABEL))
        .raw(" is not quarantined.");
    let next = match others.split_first() {
        None => Mrkdwn::new("No version of it is."),
        Some((first, rest)) => {
            let one = |text: Mrkdwn, it: &Quarantine| {
                text.code(it.version.label()).raw(" in ").plain(it.environment.as_str())
            };
            rest.iter().take(NAMES - 1).fold(one(Mrkdwn::new("These are: "), first), |text, it| one(text.raw(", "), it))
        }
    };
    Said { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] }
}
