//! A change in one line: its artefact, its version and its stage.

use std::borrow::Cow;

use super::mrkdwn::{Mrkdwn, truncate_middle};
use crate::domain::change::{Change, Stage};
use crate::domain::model::version::Version;
use crate::domain::rules::merge_condition::MergeCondition;

const MAX_LABEL: usize = 80;

pub(super) fn pick_stage_emoji(stage: &Stage) -> &'static str {
    match stage {
        Stage::AwaitingApproval(_) => ":raised_hand: ",
        Stage::Merging(_) | Stage::Deploying(_) => ":hourglass_flowing_sand: ",
        Stage::Deployed { .. } => ":large_green_circle: ",
        Stage::Stalled { .. } => ":large_yellow_circle: ",
        Stage::Failed { .. } | Stage::Conflicted { .. } | Stage::Errored { .. } => ":red_circle: ",
        Stage::Rejected { .. } => ":no_entry: ",
        Stage::Cancelled { .. } | Stage::Expired { .. } | Stage::Superseded { .. } => ":white_circle: ",
    }
}

/// The label of a version, shortened to fit into a line.
pub(super) fn shorten_label(version: &Version) -> Cow<'_, str> {
    truncate_middle(version.label(), MAX_LABEL)
}

/// The change in one line.
pub(super) fn format_headline(change: &Change) -> Mrkdwn {
    let plan = &change.plan;
    if plan.is_rollback() {
        return format_rollback_headline(change);
    }
    let name = Mrkdwn::default().bold(plan.artefact.as_str()).raw(" ").code(&shorten_label(&plan.version));
    let environment = plan.environment.as_str();
    match &change.stage {
        Stage::AwaitingApproval(awaiting) => {
            let name = name.raw(" for ").bold(environment).raw(": waiting for ");
            match awaiting.count_missing() {
                0 if awaiting.waits_for.is_empty() => name.raw("GitHub"),
                0 => name.raw("what the rules ask for"),
                1 => name.raw("1 approval"),
                missing => name.plain(&format!("{missing} approvals")),
            }
        }
        Stage::Merging(_) => name.raw(": merging into ").bold(environment),
        Stage::Deploying(deploying) => {
            let line = name.raw(": deploying to ").bold(environment);
            match &deploying.rollout {
                Some(progress) => line.plain(&format!(", {} of {} ready", progress.ready, progress.wanted)),
                None => line,
            }
        }
        Stage::Deployed { ready, .. } => {
            name.raw(": running in ").bold(environment).plain(&format!(", {ready} of {ready} ready"))
        }
        Stage::Failed { .. } => name.raw(": failed in ").bold(environment),
        Stage::Stalled { .. } => name.raw(": no proof that it runs in ").bold(environment),
        Stage::Conflicted { .. } => name.raw(": conflicts with ").bold(environment),
        Stage::Errored { .. } => name.raw(": could not be merged into ").bold(environment),
        Stage::Cancelled { .. } => name.raw(": not promoted to ").bold(environment).raw(", cancelled"),
        Stage::Rejected { .. } => name.raw(": not promoted to ").bold(environment).raw(", rejected"),
        Stage::Expired { awaiting, .. } => {
            let name = name.raw(": not promoted to ").bold(environment);
            name.raw(if awaiting.is_approved() {
                ", it could not be merged in time"
            } else {
                ", nobody decided in time"
            })
        }
        Stage::Superseded { deploying: Some(_), .. } => {
            name.raw(": rolled back in ").bold(environment).raw(" before it ran")
        }
        Stage::Superseded { .. } => {
            name.raw(": not promoted to ").bold(environment).raw(", another change takes its place")
        }
    }
}

/// A rollback in one line.
fn format_rollback_headline(change: &Change) -> Mrkdwn {
    let plan = &change.plan;
    let (artefact, environment) = (plan.artefact.as_str(), plan.environment.as_str());
    let name = Mrkdwn::default().bold(artefact).raw(" back to ").code(&shorten_label(&plan.version));
    let here = name.clone().raw(" in ").bold(environment);
    match &change.stage {
        Stage::AwaitingApproval(awaiting) if awaiting.waits_for.iter().all(MergeCondition::is_decided_by_github) => {
            here.raw(": waiting for GitHub")
        }
        Stage::AwaitingApproval(_) => here.raw(": waiting for what the rules ask for"),
        Stage::Merging(_) => here.raw(": on its way"),
        Stage::Deploying(deploying) => match &deploying.rollout {
            Some(progress) => here.plain(&format!(": rolling out, {} of {} ready", progress.ready, progress.wanted)),
            None => here.raw(": rolling out"),
        },
        Stage::Deployed { ready, deploying, .. } => {
            let text = match (&deploying.running_label, plan.manifest_file()) {
                // For delivery by branch, CI builds the restored code under a new tag.
                (Some(tag), None) if tag != plan.version.label() => Mrkdwn::default()
                    .bold(artefact)
                    .raw(" ")
                    .code(&shorten_label(&plan.version))
                    .raw("'s code, restored as ")
                    .code(&truncate_middle(tag, MAX_LABEL)),
                _ => Mrkdwn::default().bold(artefact).raw(" ").code(&shorten_label(&plan.version)).raw(", restored"),
            };
            text.raw(": running in ").bold(environment).plain(&format!(", {ready} of {ready} ready"))
        }
        Stage::Failed { .. } => here.raw(": the rollback failed"),
        Stage::Stalled { .. } => here.raw(": no proof that it runs"),
        Stage::Conflicted { .. } | Stage::Errored { .. } => here.raw(": could not be done"),
        Stage::Cancelled { .. } => here.raw(": cancelled"),
        Stage::Rejected { .. } => here.raw(": rejected"),
        Stage::Expired { .. } => here.raw(": it could not be done in time"),
        Stage::Superseded { .. } => here.raw(": another rollback takes its place"),
    }
}
