//! The answer to `status`: the open changes, or one change in detail. Also the answers to `cancel` and to outdated
//! plans.

use std::collections::HashMap;

use jiff::Timestamp;

use super::Rendered;
use super::blocks::{Block, actions, button, context, section};
use super::card::{CANCEL, suggest_next_step};
use super::headline::{format_headline, pick_stage_emoji, shorten_label};
use super::mrkdwn::{Mrkdwn, format_elapsed, truncate_middle};
use super::timeline::render_timeline;
use crate::adapters::slack::render::page_buttons::{PageItem, PageRequest, Viewer, join_fitting_lines, render_page};
use crate::adapters::slack::render::{approve, progress, stall_diagnosis};
use crate::domain::change::approval::ApprovalState;
use crate::domain::change::plan::Plan;
use crate::domain::change::{Change, DeployState, MergeState, Stage};
use crate::domain::model::ids::ChangeId;
use crate::domain::rules::merge_condition::MergeCondition;
use crate::domain::view::history::ChangeEvent;
use crate::domain::view::list::ListFilter;
use crate::domain::view::page::Page;

/// The number of changes on a page.
pub const PAGE_SIZE: usize = 10;

const MAX_REASON: usize = 300;
/// For approvers, given approvals, and artefacts that move with the change.
const MAX_NAMES: usize = 8;
/// The lines of the timeline, for all shown changes together.
const MAX_TIMELINE_LINES: usize = 24;
/// The number of shown changes with the same short id. Even two are very unlikely.
const MAX_NAMESAKES: usize = 3;

/// Facts about changes that are not part of the changes themselves.
#[derive(Clone, Debug, Default)]
pub struct StatusDetails {
    /// The time at which each change entered its stage.
    pub stage_since: HashMap<ChangeId, Timestamp>,
    /// The addresses of the cards.
    pub card_links: HashMap<ChangeId, String>,
}

/// The number of changes on all pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusCounts {
    pub under_way: usize,
    /// Failed or stalled changes that a late proof would complete.
    pub watched: usize,
}

/// A page of the changes that are in progress or still observed, oldest first.
pub fn render_status(
    filter: &ListFilter,
    page: Page<&Change>,
    count: StatusCounts,
    details: &StatusDetails,
    viewer: Viewer<'_>,
    now: Timestamp,
) -> Rendered {
    if page.is_empty() {
        let text = append_filter(Mrkdwn::new("Nothing is under way"), filter).raw(".");
        let next = Mrkdwn::new("Next: ")
            .code("/list")
            .raw(" shows what runs where, ")
            .code("/gantry history")
            .raw(" what happened.");
        return Rendered { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] };
    }
    let format_count =
        |count: usize| if count == 1 { "1 change is".to_owned() } else { format!("{count} changes are") };
    let head = match count {
        StatusCounts { under_way, watched: 0 } => format!("{} under way", format_count(under_way)),
        StatusCounts { under_way: 0, watched } => format!("{} still watched", format_count(watched)),
        StatusCounts { under_way, watched } => {
            format!("{} under way, {} still watched", format_count(under_way), format_count(watched))
        }
    };
    let head = Mrkdwn::default().plain(&head);
    let items = page.map(|change| {
        let (first, rest) = describe_change(change, details, now);
        PageItem { cursor: change.id, first, rest }
    });
    render_page(append_filter(head, filter).raw(":"), items, None, viewer, |cursor| PageRequest::Status {
        filter: filter.clone(),
        cursor,
    })
}

/// The changes with the same short id in detail: almost always one.
pub fn render_details(changes: &[(Change, Vec<ChangeEvent>)], details: &StatusDetails, now: Timestamp) -> Rendered {
    let mut text = Mrkdwn::default();
    let mut blocks = Vec::new();
    let shown = &changes[..changes.len().min(MAX_NAMESAKES)];
    if shown.len() > 1 {
        let namesakes = Mrkdwn::default().plain(&format!("{} changes are called the same:", shown.len()));
        text = namesakes.clone().raw("\n");
        blocks.push(section(namesakes));
    }
    for (change, steps) in shown {
        let (first, rest) = describe_change(change, details, now);
        text = text.append(&first).raw("\n");
        blocks.push(section(join_fitting_lines(first, rest)));
        blocks.extend(render_timeline(change, steps, MAX_TIMELINE_LINES / shown.len(), now));
        if shown.len() == 1 {
            blocks.extend(suggest_next_step(change, None).map(context));
        }
        blocks.extend(render_cancel_button(change));
    }
    Rendered { text: text.as_str().trim_end().to_owned(), blocks }
}

fn render_cancel_button(change: &Change) -> Option<Block> {
    change.stage.can_cancel().then(|| actions(vec![button("Cancel", CANCEL, change.id.to_string())]))
}

fn append_filter(text: Mrkdwn, filter: &ListFilter) -> Mrkdwn {
    let text = match &filter.artefact {
        Some(artefact) => text.raw(" with ").bold(artefact.as_str()),
        None => text,
    };
    match &filter.environment {
        Some(environment) => text.raw(" in ").bold(environment.as_str()),
        None => text,
    }
}

/// The description of a change: headline, versions, requester, age, open conditions, and links.
pub(super) fn describe_change(change: &Change, details: &StatusDetails, now: Timestamp) -> (Mrkdwn, Vec<Mrkdwn>) {
    let first = Mrkdwn::new(pick_stage_emoji(&change.stage)).append(&format_headline(change));
    let mut rest = vec![format_version_move(change).raw(" \u{b7} ").append(&format_requester(change))];
    rest.extend(list_co_deployed(&change.plan));
    rest.extend(format_age(change, details, now));
    rest.extend(describe_waits(change));
    rest.push(format_links(change, details.card_links.get(&change.id)));
    if change.stage.can_cancel() {
        rest.push(Mrkdwn::new("To stop it: ").code(&format!("/gantry cancel {}", change.id.to_short_id())));
    }
    (first, rest)
}

/// The old and the new version.
pub(super) fn format_version_move(change: &Change) -> Mrkdwn {
    let text = match &change.plan.from {
        Some(from) => Mrkdwn::default().code(&shorten_label(from)),
        None => Mrkdwn::new("nothing"),
    };
    text.raw(" \u{2192} ").code(&shorten_label(&change.plan.version))
}

/// The other artefacts that move with the change.
pub(super) fn list_co_deployed(plan: &Plan) -> Option<Mrkdwn> {
    let (first, others) = plan.co_deployed.split_first()?;
    let text = Mrkdwn::new("with it: ").bold(first.artefact.as_str());
    let text = others.iter().take(MAX_NAMES - 1).fold(text, |text, also| text.raw(", ").bold(also.artefact.as_str()));
    Some(match plan.co_deployed.len().saturating_sub(MAX_NAMES) {
        0 => text,
        left => text.plain(&format!(" and {left} more")),
    })
}

/// The requester and the time of the request.
pub(super) fn format_requester(change: &Change) -> Mrkdwn {
    let text = match change.plan.rollback_details() {
        Some(rollback) if rollback.automatic => {
            Mrkdwn::new("by the rule of ").bold(change.plan.environment.as_str()).raw(", for ")
        }
        _ => Mrkdwn::new("asked by "),
    };
    text.person(&change.requester).raw(" ").date_time(change.requested_at)
}

/// `None` for a change that is over.
fn format_age(change: &Change, details: &StatusDetails, now: Timestamp) -> Option<Mrkdwn> {
    let prefix = match &change.stage {
        stage if stage.is_active() => "under way for ",
        stage if stage.is_watched() => "still watched, for ",
        _ => return None,
    };
    let text = Mrkdwn::new(prefix).plain(&format_elapsed(change.began_at(), now));
    Some(match details.stage_since.get(&change.id) {
        Some(since) if *since > change.began_at() => {
            text.raw(" \u{b7} in this stage since ").date_time(*since).raw(", for ").plain(&format_elapsed(*since, now))
        }
        _ => text,
    })
}

/// The open conditions of the change, or the reason why it does not continue.
fn describe_waits(change: &Change) -> Vec<Mrkdwn> {
    let describe_trouble =
        |reason: &str| Mrkdwn::new(":warning: ").plain(&truncate_middle(reason, MAX_REASON)).raw(" I keep trying.");
    let describe_reason = |text: &str| Mrkdwn::new("*Why:* ").plain(&truncate_middle(text, MAX_REASON));
    match &change.stage {
        Stage::AwaitingApproval(awaiting) => {
            let others = awaiting.waits_for.iter().filter(|condition| **condition != MergeCondition::Mergeability);
            describe_approvals(awaiting)
                .into_iter()
                .chain(others.map(|condition| approve::describe_merge_condition(&change.into(), condition)))
                .chain(awaiting.retry.as_ref().map(|trouble| describe_trouble(&trouble.reason)))
                .collect()
        }
        Stage::Merging(MergeState { retry: Some(trouble), .. })
        | Stage::Deploying(DeployState { retry: Some(trouble), .. }) => vec![describe_trouble(&trouble.reason)],
        Stage::Deploying(_) => {
            progress::format_progress_bar(change).into_iter().chain(stall_diagnosis::describe_stall(change)).collect()
        }
        Stage::Failed { reason, .. } | Stage::Rejected { reason, .. } => vec![describe_reason(reason)],
        Stage::Stalled { runs, .. } => {
            let runs = match runs {
                Some(runs) => describe_reason(&format!("The cluster runs {runs}.")),
                None => describe_reason("Nothing of it runs in the cluster."),
            };
            std::iter::once(runs).chain(stall_diagnosis::describe_stall(change)).collect()
        }
        Stage::Errored { reason: error, .. } => vec![describe_reason(error)],
        Stage::Merging(_)
        | Stage::Deployed { .. }
        | Stage::Conflicted { .. }
        | Stage::Cancelled { .. }
        | Stage::Expired { .. }
        | Stage::Superseded { .. } => Vec::new(),
    }
}

/// The given and the missing approvals.
fn describe_approvals(awaiting: &ApprovalState) -> Option<Mrkdwn> {
    if awaiting.required == 0 {
        return None;
    }
    let given = awaiting.approvals.iter().take(MAX_NAMES);
    let (count, required) = (awaiting.approvals.len(), awaiting.required);
    let text = Mrkdwn::new(":raised_hand: ")
        .plain(&format!("{count} of {required} {}", if required == 1 { "approval" } else { "approvals" }));
    let text = given
        .enumerate()
        .fold(text, |text, (index, approval)| text.raw(if index == 0 { ", by " } else { ", " }).person(&approval.by));
    let text = match awaiting.count_missing() {
        0 => text,
        missing => {
            // Named and not mentioned, because a request for the status must not notify the approvers.
            let asked = &awaiting.approvers[..awaiting.approvers.len().min(MAX_NAMES)];
            text.plain(&format!("; {missing} missing, of ")).name_people(asked)
        }
    };
    Some(text.raw(" \u{b7} it waits until ").date_time(awaiting.deadline))
}

/// Links to the card, the pull request and the commit, as far as they exist, and the short id.
pub(super) fn format_links(change: &Change, card: Option<&String>) -> Mrkdwn {
    let text = match card {
        Some(card) => Mrkdwn::default().link(card, "card").raw(" \u{b7} "),
        None => Mrkdwn::default(),
    };
    let text = match change.result_branch.as_ref().and_then(|frozen| frozen.pull.as_ref()) {
        Some(pull) => text.raw("pull request ").link(&pull.url, &format!("#{}", pull.number)).raw(" \u{b7} "),
        None => text,
    };
    text.append(&link_commit(change)).raw("change ").code(&change.id.to_short_id())
}

/// The result commit, or the pinned commit if there is no result yet.
fn link_commit(change: &Change) -> Mrkdwn {
    let plan = &change.plan;
    let source_url = plan
        .drift
        .commits
        .first()
        .and_then(|commit| commit.url.rsplit_once("/commit/"))
        .map(|(repository_url, _)| repository_url.to_owned());
    let (repository_url, sha) = match (change.stage.result_commit(), plan.pinned_commit()) {
        (Some(result), _) => (plan.repository_url(), result),
        (None, Some(pinned)) => (source_url, pinned),
        (None, None) => return Mrkdwn::default(),
    };
    let text = Mrkdwn::new("commit ");
    let text = match repository_url {
        Some(repository_url) => text.link(&format!("{repository_url}/commit/{sha}"), sha.short()),
        None => text.code(sha.short()),
    };
    text.raw(" \u{b7} ")
}

/// The answer to a request to cancel. The card shows whether the request came in time.
pub fn render_cancel_requested(change: &Change) -> Rendered {
    render_sentence(
        Mrkdwn::new("I stop it if it is not merged yet; ")
            .raw("<{link}|its card> shows what became of ")
            .code(&change.id.to_short_id())
            .raw("."),
    )
}

/// The answer if the change can no longer be cancelled.
pub fn render_too_late(change: &Change) -> Rendered {
    let text = format_headline(change).raw(". ");
    render_sentence(match &change.stage {
        Stage::Deploying(_) => text
            .raw("It is merged already, so it cannot be cancelled. To go back when it runs: ")
            .code(&format!("/rollback {} {}", change.plan.artefact, change.plan.environment)),
        _ => text.raw("There is nothing left to cancel."),
    })
}

pub fn render_unknown_change(change: &str) -> Rendered {
    render_sentence(
        Mrkdwn::new("I know no change ")
            .code(change)
            .raw(". ")
            .code("/gantry status")
            .raw(" shows those that are under way, ")
            .code("/gantry history")
            .raw(" those before."),
    )
}

/// The answer to a click on the button of an expired plan.
pub fn render_plan_expired() -> Rendered {
    render_sentence(Mrkdwn::new(
        "This plan was used or is older than 30 minutes. Type the command again to get a new one.",
    ))
}

pub fn render_not_your_plan() -> Rendered {
    render_sentence(Mrkdwn::new(
        "Only the one who asked can decide on this plan. Type the command yourself to get your own.",
    ))
}

pub fn render_plan_discarded() -> Rendered {
    render_sentence(Mrkdwn::new("Cancelled: nothing was done."))
}

fn render_sentence(text: Mrkdwn) -> Rendered {
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text)] }
}

#[cfg(test)]
mod tests;
