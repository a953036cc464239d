//! Texts about a change that awaits approval: on its card, in its thread, and as answers to clicks.

use serde_json::{Value, json};

use super::Rendered;
use super::blocks::{Block, Button, ConfirmDialog, actions, button, section};
use super::headline::format_headline;
use super::mrkdwn::{Mrkdwn, truncate_middle};
use crate::domain::change::approval::{
    Approval, ApprovalPlatform, ApprovalState, IgnoredReview, IgnoredReviewReason, VoidReason,
};
use crate::domain::change::{Change, Stage};
use crate::domain::model::actor::{MemberLabel, PersonId};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Sha, Version};
use crate::domain::rules::conflict::{ChangeInProgress, PendingApproval};
use crate::domain::rules::merge_condition::MergeCondition;

pub const APPROVE: &str = "change_approve";
pub const REJECT: &str = "change_reject";
/// Also on the cards of changes that wait for no approval.
pub const CANCEL: &str = "change_cancel";
/// The only input of the modal that asks for a reason.
pub const REASON_INPUT: &str = "reason";

const MAX_NAMES: usize = 8;
const MAX_REASON: usize = 300;
/// The longest reason that the modal accepts.
pub const MAX_REASON_INPUT: usize = 500;

/// The parts of a change that the texts about its approval name.
pub(super) struct ApprovalSubject<'a> {
    id: ChangeId,
    requester: &'a PersonId,
    artefact: &'a ArtefactName,
    environment: &'a EnvironmentName,
    version: &'a Version,
    /// The Git branch that the change would move.
    branch: &'a str,
    /// The commit that people approve. `None` while the pull request does not exist yet.
    commit: Option<&'a Sha>,
}

impl<'a> ApprovalSubject<'a> {
    pub(super) fn from_pending(change: &'a ChangeInProgress, approval: &'a PendingApproval) -> Self {
        Self {
            id: change.id,
            requester: &change.requester,
            artefact: &change.artefact,
            environment: &change.environment,
            version: &approval.version,
            branch: &approval.branch,
            commit: approval.commit.as_ref(),
        }
    }

    /// The value of the buttons: the change, and the commit that the person has seen.
    pub(super) fn encode_button_value(&self) -> Option<String> {
        self.commit.map(|commit| format!("{}:{commit}", self.id))
    }
}

impl<'a> From<&'a Change> for ApprovalSubject<'a> {
    fn from(change: &'a Change) -> Self {
        Self {
            id: change.id,
            requester: &change.requester,
            artefact: &change.plan.artefact,
            environment: &change.plan.environment,
            version: &change.plan.version,
            branch: change.plan.write_target().1,
            commit: change.commit_to_approve(),
        }
    }
}

pub fn encode_button_value(change: &Change) -> Option<String> {
    ApprovalSubject::from(change).encode_button_value()
}

/// The pull request, the approvals and the open conditions of a change that awaits approval.
pub(super) fn render_waiting(change: &Change, awaiting: &ApprovalState) -> Vec<Block> {
    let mut lines = Mrkdwn::default();
    if let Some(frozen) = change.pull_request_branch() {
        lines = match (&frozen.pull, change.commit_to_approve()) {
            (Some(pull), Some(commit)) => lines
                .raw(":twisted_rightwards_arrows: pull request ")
                .link(&pull.url, &format!("#{}", pull.number))
                .raw(", frozen at ")
                .code(commit.short()),
            _ => lines.raw(":hourglass_flowing_sand: making the frozen branch and its pull request"),
        };
    }
    if awaiting.required > 0 {
        lines = if change.pull_request_branch().is_some() { lines.raw("\n") } else { lines };
        let (given, required) = (awaiting.approvals.len(), awaiting.required);
        lines = lines.plain(&format!("{given} of {required} {}", choose_plural(required, "approval", "approvals")));
        if !awaiting.is_approved() {
            lines = append_mentions(lines.raw(", asked of "), &awaiting.approvers)
                .raw("; not of ")
                .person(&change.requester);
        }
    }
    lines = lines.append(&list_approvals(&awaiting.approvals));
    // Slack refuses an empty section, and with it the whole message.
    let mut blocks: Vec<Block> =
        Some(lines).filter(|lines| !lines.as_str().is_empty()).map(section).into_iter().collect();
    let notes: Vec<Mrkdwn> = awaiting
        .voided
        .iter()
        .map(|voided| describe_voided_approvals(voided.count, &voided.reason))
        .chain(
            awaiting
                .waits_for
                .iter()
                .filter(|condition| **condition != MergeCondition::Mergeability)
                .map(|condition| describe_merge_condition(&change.into(), condition)),
        )
        .chain(awaiting.ignored.iter().map(|ignored| describe_ignored_review(change, ignored)))
        .collect();
    if let Some((first, rest)) = notes.split_first() {
        blocks.push(section(rest.iter().fold(first.clone(), |text, note| text.raw("\n").append(note))));
    }
    blocks
}

/// One line for each approval: the person, the time, and the platform.
pub(super) fn list_approvals(approvals: &[Approval]) -> Mrkdwn {
    approvals.iter().fold(Mrkdwn::default(), |text, approval| {
        let text =
            text.raw("\n:white_check_mark: approved by ").person(&approval.by).raw(" \u{b7} ").date_time(approval.at);
        match approval.platform {
            ApprovalPlatform::Slack => text,
            ApprovalPlatform::Github => text.raw(" \u{b7} by a review on GitHub"),
        }
    })
}

pub(super) fn render_buttons(change: &Change, awaiting: &ApprovalState) -> Block {
    let cancel = button("Cancel", CANCEL, change.id.to_string());
    let Some(value) = encode_button_value(change).filter(|_| awaiting.required > 0) else {
        return actions(vec![cancel]);
    };
    let reject = button("Reject", REJECT, value.clone()).danger();
    // No further approval is needed, but the change can still be rejected.
    if awaiting.is_approved() {
        return actions(vec![reject, cancel]);
    }
    actions(vec![build_approve_button(&change.into(), value), reject, cancel])
}

/// The button that approves the commit in `value`, which is the commit that the message shows.
pub(super) fn build_approve_button(change: &ApprovalSubject<'_>, value: String) -> Button {
    let text = Mrkdwn::default()
        .bold(change.artefact.as_str())
        .raw(" ")
        .code(change.version.label())
        .raw(" goes to ")
        .bold(change.environment.as_str())
        .raw(", frozen at ")
        .code(change.commit.map_or("", |commit| commit.short()))
        .raw(".");
    let confirm = ConfirmDialog { title: "Approve this change?", text, confirm_label: "Approve", deny_label: "Back" };
    button("Approve", APPROVE, value).primary().with_confirm(confirm)
}

/// The missing approvals, the given approvals, and the other open conditions of a change. Locks, freezes and
/// quarantines are left out, because they have refusals of their own.
pub(super) fn describe_open_conditions(change: &ApprovalSubject<'_>, approval: &PendingApproval) -> Mrkdwn {
    let text = match approval.missing {
        0 => Mrkdwn::default(),
        1 => Mrkdwn::new(" It still needs 1 approval of "),
        missing => Mrkdwn::default().plain(&format!(" It still needs {missing} approvals of ")),
    };
    let text = match approval.missing {
        0 => text,
        _ => text.name_people(&approval.approvers).raw(", not of ").person(change.requester).raw("."),
    };
    let text =
        approval.approved_by.iter().take(MAX_NAMES).enumerate().fold(text, |text, (index, person)| {
            text.raw(if index == 0 { " Approved by " } else { ", " }).person(person)
        });
    let text = if approval.approved_by.is_empty() { text } else { text.raw(".") };
    let own_conditions = approval.waits_for.iter().filter(|condition| match condition {
        MergeCondition::Mergeability
        | MergeCondition::Locked { .. }
        | MergeCondition::Frozen { .. }
        | MergeCondition::Quarantined { .. } => false,
        MergeCondition::ChecksRunning { .. }
        | MergeCondition::ChecksRed { .. }
        | MergeCondition::NoCheck
        | MergeCondition::ChangesRequested { .. }
        | MergeCondition::GithubRules { .. }
        | MergeCondition::Retargeted { .. }
        | MergeCondition::PermissionLost
        | MergeCondition::PermissionUnknown { .. } => true,
    });
    own_conditions
        .fold(text, |text, condition| text.raw("\n").append(&describe_merge_condition(change, condition)).raw("."))
}

/// The answer to a person who approved somewhere else than on the card.
pub fn render_approved(change: &Change) -> Rendered {
    render_sentence(Mrkdwn::new("Approved: ").append(&format_headline(change)).raw(", <{link}|follow it here>."))
}

pub(super) fn describe_merge_condition(change: &ApprovalSubject<'_>, condition: &MergeCondition) -> Mrkdwn {
    let text = Mrkdwn::new(":hourglass_flowing_sand: ");
    let stop = Mrkdwn::new(":no_entry: ");
    match condition {
        MergeCondition::ChecksRunning { names } => append_names(text.raw("checks are still running: "), names),
        MergeCondition::ChecksRed { names } => {
            append_names(stop.raw("checks are red: "), names).raw(". Repair them, or run them again on GitHub")
        }
        MergeCondition::NoCheck => {
            stop.bold(change.environment.as_str()).raw(" requires a green check, and none ran on the frozen branch")
        }
        MergeCondition::ChangesRequested { logins } => {
            append_names(stop.raw("changes are requested on GitHub by "), logins)
                .raw(". It goes on when that review is changed or dismissed")
        }
        MergeCondition::Mergeability => text.raw("GitHub computes whether it can be merged"),
        MergeCondition::GithubRules { reviews: 0 } => text
            .raw("GitHub's own rules for ")
            .code(change.branch)
            .raw(" ask for something that is still missing there"),
        MergeCondition::GithubRules { reviews } => text
            .raw("GitHub's own rules for ")
            .code(change.branch)
            .plain(&format!(" want {reviews} approving {} there", if *reviews == 1 { "review" } else { "reviews" }))
            .raw(": an approval in Slack is none"),
        MergeCondition::Retargeted { base } => stop
            .raw("somebody pointed the pull request at ")
            .code(base)
            .raw(". Point it back at ")
            .code(change.branch)
            .raw(" on GitHub, or cancel"),
        MergeCondition::Locked { lock } => {
            let text = stop.bold(change.environment.as_str()).raw(" is locked by ").person(&lock.by).raw(": ");
            text.plain(&truncate_middle(&lock.reason, MAX_REASON))
                .raw(". It goes on after ")
                .code(&super::lock::format_unlock_command(lock))
        }
        MergeCondition::Frozen { until, reason } => {
            let text = stop.bold(change.environment.as_str()).raw(" is frozen until ").date_time(*until);
            match reason {
                Some(reason) => text.raw(": ").plain(&truncate_middle(reason, MAX_REASON)),
                None => text,
            }
        }
        MergeCondition::Quarantined { quarantine } => stop
            .raw("it is quarantined: ")
            .append(&super::quarantine::describe_quarantine(quarantine))
            .raw(". It goes on after ")
            .code(&format!("/gantry release {} {}", change.artefact, quarantine.version.label())),
        MergeCondition::PermissionLost => stop
            .person(change.requester)
            .raw(" may not promote to ")
            .bold(change.environment.as_str())
            .raw(" any more. Somebody who may must ask for it anew"),
        MergeCondition::PermissionUnknown { reason: why } => stop
            .bold(change.environment.as_str())
            .raw(" stays shut while nobody can tell who may: ")
            .plain(truncate_middle(why, MAX_REASON).trim_end_matches('.')),
    }
}

fn describe_ignored_review(change: &Change, ignored: &IgnoredReview) -> Mrkdwn {
    let text = Mrkdwn::new(":grey_question: the review of ")
        .code(&truncate_middle(&ignored.login, 80))
        .raw(" does not count: ");
    match ignored.reason {
        IgnoredReviewReason::Unmapped => text
            .raw("I do not know who that is in Slack. Name them under ")
            .code("people")
            .raw(" in my configuration, or let their e-mail addresses be the same"),
        IgnoredReviewReason::RequesterUnmapped => text
            .raw("I do not know who ")
            .person(&change.requester)
            .raw(" is on GitHub, so it could be the same person. Name them under ")
            .code("people")
            .raw(" in my configuration"),
        IgnoredReviewReason::Requester => text.raw("nobody approves what they asked for"),
        IgnoredReviewReason::NotAsked => text.raw("they are none of those who may approve here"),
        IgnoredReviewReason::NoAccess => text.raw("they cannot write to the repository"),
    }
}

fn describe_voided_approvals(count: u32, why: &VoidReason) -> Mrkdwn {
    let text = match why {
        VoidReason::BranchMoved => {
            Mrkdwn::new(":recycle: the branch moved, so the frozen branch was made anew on top of it")
        }
        VoidReason::Pushed { commit } => {
            Mrkdwn::new(":recycle: somebody pushed ").code(commit.get(..7).unwrap_or(commit)).raw(
                " to the frozen branch. It was not seen running below, so it is left out, and the branch was made anew",
            )
        }
    };
    match count {
        0 => text,
        1 => text.raw(". 1 approval does not count any more"),
        count => text.plain(&format!(". {count} approvals do not count any more")),
    }
}

/// Posted in the thread when approvals become void because the commit to merge has changed.
pub fn render_approvals_voided(change: &Change) -> Option<Rendered> {
    let awaiting = change.stage.awaiting()?;
    let voided = awaiting.voided.as_ref()?;
    let text = describe_voided_approvals(voided.count, &voided.reason).raw(".");
    Some(render_sentence(append_mentions(text.raw(" Please look again: "), &awaiting.approvers)))
}

/// Reminds the approvers when half of the time has passed.
pub fn render_reminder(change: &Change, awaiting: &ApprovalState) -> Rendered {
    let text = append_mentions(Mrkdwn::new(":wave: "), &awaiting.approvers).raw(" ").append(&format_headline(change));
    render_sentence(text.raw(". It waits until ").date_time(awaiting.deadline).raw(" and is given up then."))
}

/// The answer to a click on an outdated card.
pub fn render_already_decided(change: &Change) -> Rendered {
    let text = format_headline(change).raw(". ");
    render_sentence(match &change.stage {
        Stage::Rejected { by, at, .. } => {
            text.raw("It was rejected by ").person(by).raw(" \u{b7} ").date_time(*at).raw(".")
        }
        stage if stage.is_active() => text.raw("It is decided already."),
        _ => text.raw("There is nothing left to decide."),
    })
}

/// The answer to a click on a button for another commit than the one that would be merged now.
pub fn render_changed_since(change: &Change) -> Rendered {
    render_sentence(
        Mrkdwn::new("What you saw has changed since: ")
            .append(&format_headline(change))
            .raw(". Look at <{link}|its card> again, and decide on what it shows now."),
    )
}

pub fn render_own_change() -> Rendered {
    render_sentence(Mrkdwn::new("You asked for this change, so somebody else must approve it."))
}

pub fn render_already_approved() -> Rendered {
    render_sentence(Mrkdwn::new("You have approved this already, and each person counts once."))
}

/// The answer if the modal could not be opened in time.
pub fn render_modal_failed(change: &Change) -> Rendered {
    render_sentence(
        Mrkdwn::new("Slack did not let me ask for the reason in time. Press again, or type ")
            .code(&format!("/gantry reject {} <reason>", change.id.to_short_id()))
            .raw("."),
    )
}

/// The modal that asks for the reason of a rejection. `channel` is the channel for the answer.
pub fn build_reject_modal(change: &Change, value: &str, channel: &str) -> Value {
    let plan = &change.plan;
    let text = Mrkdwn::default()
        .bold(plan.artefact.as_str())
        .raw(" ")
        .code(plan.version.label())
        .raw(" will not go to ")
        .bold(plan.environment.as_str())
        .raw(if change.result_branch.is_some() {
            ". The pull request is closed, and "
        } else {
            ". Nothing is merged, and "
        })
        .person(&change.requester)
        .raw(" is told why.");
    json!({
        "type": "modal",
        "callback_id": REJECT,
        "private_metadata": format!("{channel} {value}"),
        "title": { "type": "plain_text", "text": "Reject this change" },
        "submit": { "type": "plain_text", "text": "Reject" },
        "close": { "type": "plain_text", "text": "Back" },
        "blocks": [
            { "type": "section", "text": { "type": "mrkdwn", "text": text.as_str() } },
            {
                "type": "input", "block_id": REASON_INPUT,
                "label": { "type": "plain_text", "text": "Why?" },
                "element": {
                    "type": "plain_text_input", "action_id": REASON_INPUT, "multiline": true, "max_length": MAX_REASON_INPUT,
                },
            },
        ],
    })
}

/// The metadata of a submitted modal: the channel for the answer, and the button's value.
pub fn parse_modal_metadata(metadata: &str) -> Option<(&str, &str)> {
    metadata.split_once(' ')
}

fn append_mentions(text: Mrkdwn, members: &[MemberLabel]) -> Mrkdwn {
    let mut text = text;
    for (index, member) in members.iter().take(MAX_NAMES).enumerate() {
        text = if index > 0 { text.raw(", ") } else { text };
        text = text.mention(member);
    }
    text
}

fn append_names(text: Mrkdwn, names: &[String]) -> Mrkdwn {
    let mut text = text;
    for (index, name) in names.iter().take(MAX_NAMES).enumerate() {
        text = if index > 0 { text.raw(", ") } else { text };
        text = text.code(&truncate_middle(name, 80));
    }
    match names.len().saturating_sub(MAX_NAMES) {
        0 => text,
        left => text.plain(&format!(" and {left} more")),
    }
}

fn choose_plural(count: u32, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

fn render_sentence(text: Mrkdwn) -> Rendered {
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text)] }
}

#[cfg(test)]
mod tests;
