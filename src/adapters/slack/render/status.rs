//! What is under way and how one change stands, and what became of the wish to cancel it.

use std::collections::HashMap;

use jiff::Timestamp;

use super::Said;
use super::blocks::{Block, actions, button, context, section};
use super::card::{CANCEL, advice, head, label, lasted, light};
use super::mrkdwn::{Mrkdwn, shorten};
use super::timeline::timeline;
use crate::adapters::slack::render::page_buttons::{For, Item, PageRequest, paged, within};
use crate::adapters::slack::render::{approve, progress, stall_diagnosis};
use crate::domain::change::approval::{ApprovalState, MergeCondition};
use crate::domain::change::plan::Plan;
use crate::domain::change::{Change, ChangeId, DeployState, MergeState, Stage};
use crate::domain::view::history::ChangeEvent;
use crate::domain::view::list::ListFilter;
use crate::domain::view::page::Page;

/// How many are shown at once.
pub const A_PAGE: usize = 10;

const REASON: usize = 300;
/// Of those who are to approve, of those who did, and of what goes along.
const NAMES: usize = 8;
/// The lines of the time line, of all changes that are called the same.
const STEPS: usize = 24;
/// More changes than that are not called the same: two are already chance.
const NAMESAKES: usize = 3;

/// What is known of changes beside themselves.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Since when each stands where it does.
    pub since: HashMap<ChangeId, Timestamp>,
    /// Where the cards stand.
    pub cards: HashMap<ChangeId, String>,
}

/// How many there are in all, on whatever page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub under_way: usize,
    /// They failed or stalled, and a late proof would turn them green.
    pub watched: usize,
}

/// A page of what is under way or still watched, oldest first.
pub fn status(
    filter: &ListFilter,
    page: Page<&Change>,
    count: Count,
    known: &Known,
    whom: For<'_>,
    now: Timestamp,
) -> Said {
    if page.is_empty() {
        let text = there(Mrkdwn::new("Nothing is under way"), filter).raw(".");
        let next = Mrkdwn::new("Next: ")
            .code("/list")
            .raw(" shows what runs where, ")
            .code("/gantry history")
            .raw(" what happened.");
        return Said { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] };
    }
    let many = |count: usize| if count == 1 { "1 change is".to_owned() } else { format!("{count} changes are") };
    let head = match count {
        Count { under_way, watched: 0 } => format!("{} under way", many(under_way)),
        Count { under_way: 0, watched } => format!("{} still watched", many(watched)),
        Count { under_way, watched } => format!("{} under way, {} still watched", many(under_way), many(watched)),
    };
    let head = Mrkdwn::default().plain(&head);
    let items = page.map(|change| {
        let (first, rest) = lines(change, known, now);
        Item { cursor: change.id, first, rest }
    });
    paged(there(head, filter).raw(":"), items, None, whom, |cursor| PageRequest::Status {
        filter: filter.clone(),
        cursor,
    })
}

/// The changes that are called by the same digits, in detail: one, but for chance.
pub fn details(changes: &[(Change, Vec<ChangeEvent>)], known: &Known, now: Timestamp) -> Said {
    let mut text = Mrkdwn::default();
    let mut blocks = Vec::new();
    let shown = &changes[..changes.len().min(NAMESAKES)];
    if shown.len() > 1 {
        let namesakes = Mrkdwn::default().plain(&format!("{} changes are called the same:", shown.len()));
        text = namesakes.clone().raw("\n");
        blocks.push(section(namesakes));
    }
    for (change, steps) in shown {
        let (first, rest) = lines(change, known, now);
        text = text.and(&first).raw("\n");
        blocks.push(section(within(first, rest)));
        blocks.extend(timeline(change, steps, STEPS / shown.len(), now));
        if shown.len() == 1 {
            blocks.extend(advice(change, None).map(context));
        }
        blocks.extend(stop(change));
    }
    Said { text: text.as_str().trim_end().to_owned(), blocks }
}

fn stop(change: &Change) -> Option<Block> {
    change.stage.can_cancel().then(|| actions(vec![button("Cancel", CANCEL, change.id.to_string())]))
}

fn there(text: Mrkdwn, filter: &ListFilter) -> Mrkdwn {
    let text = match &filter.artefact {
        Some(artefact) => text.raw(" with ").bold(artefact.as_str()),
        None => text,
    };
    match &filter.environment {
        Some(environment) => text.raw(" in ").bold(environment.as_str()),
        None => text,
    }
}

/// A change: where it stands, from what to what, for whom and since when, what it waits for, and where there is more.
pub(super) fn lines(change: &Change, known: &Known, now: Timestamp) -> (Mrkdwn, Vec<Mrkdwn>) {
    let first = Mrkdwn::new(light(&change.stage)).and(&head(change));
    let mut rest = vec![between(change).raw(" \u{b7} ").and(&asked(change))];
    rest.extend(along(&change.plan));
    rest.extend(age(change, known, now));
    rest.extend(waits(change));
    rest.push(links(change, known.cards.get(&change.id)));
    if change.stage.can_cancel() {
        rest.push(Mrkdwn::new("To stop it: ").code(&format!("/gantry cancel {}", change.id.to_short_id())));
    }
    (first, rest)
}

/// From which version to which.
pub(super) fn between(change: &Change) -> Mrkdwn {
    let text = match &change.plan.from {
        Some(from) => Mrkdwn::default().code(&label(from)),
        None => Mrkdwn::new("nothing"),
    };
    text.raw(" \u{2192} ").code(&label(&change.plan.version))
}

/// What goes along with it.
pub(super) fn along(plan: &Plan) -> Option<Mrkdwn> {
    let (first, others) = plan.also.split_first()?;
    let text = Mrkdwn::new("with it: ").bold(first.artefact.as_str());
    let text = others.iter().take(NAMES - 1).fold(text, |text, also| text.raw(", ").bold(also.artefact.as_str()));
    Some(match plan.also.len().saturating_sub(NAMES) {
        0 => text,
        left => text.plain(&format!(" and {left} more")),
    })
}

/// Who asked for it, and when.
pub(super) fn asked(change: &Change) -> Mrkdwn {
    let text = match &change.plan.rollback {
        Some(rollback) if rollback.automatic => {
            Mrkdwn::new("by the rule of ").bold(change.plan.environment.as_str()).raw(", for ")
        }
        _ => Mrkdwn::new("asked by "),
    };
    text.person(&change.requester).raw(" ").moment(change.asked_at)
}

/// `None` for what is over.
fn age(change: &Change, known: &Known, now: Timestamp) -> Option<Mrkdwn> {
    let words = match &change.stage {
        stage if stage.is_active() => "under way for ",
        stage if stage.is_watched() => "still watched, for ",
        _ => return None,
    };
    let text = Mrkdwn::new(words).plain(&lasted(change.began_at(), now));
    Some(match known.since.get(&change.id) {
        Some(since) if *since > change.began_at() => {
            text.raw(" \u{b7} in this stage since ").moment(*since).raw(", for ").plain(&lasted(*since, now))
        }
        _ => text,
    })
}

/// What it waits for, or why it does not go on.
fn waits(change: &Change) -> Vec<Mrkdwn> {
    let still = |why: &str| Mrkdwn::new(":warning: ").plain(&shorten(why, REASON)).raw(" I keep trying.");
    let why = |text: &str| Mrkdwn::new("*Why:* ").plain(&shorten(text, REASON));
    match &change.stage {
        Stage::AwaitingApproval(awaiting) => {
            let others = awaiting.waits_for.iter().filter(|waits| **waits != MergeCondition::Mergeability);
            approvals(awaiting)
                .into_iter()
                .chain(others.map(|waits| approve::waits_for(change, waits)))
                .chain(awaiting.trouble.as_ref().map(|trouble| still(&trouble.why)))
                .collect()
        }
        Stage::Merging(MergeState { trouble: Some(trouble), .. })
        | Stage::Deploying(DeployState { trouble: Some(trouble), .. }) => vec![still(&trouble.why)],
        Stage::Deploying(_) => progress::bar(change).into_iter().chain(stall_diagnosis::silence(change)).collect(),
        Stage::Failed { reason, .. } | Stage::Rejected { reason, .. } => vec![why(reason)],
        Stage::Stalled { runs, .. } => {
            let runs = match runs {
                Some(runs) => why(&format!("The cluster runs {runs}.")),
                None => why("Nothing of it runs in the cluster."),
            };
            std::iter::once(runs).chain(stall_diagnosis::silence(change)).collect()
        }
        Stage::Errored { why: error, .. } => vec![why(error)],
        Stage::Merging(_)
        | Stage::Deployed { .. }
        | Stage::Conflicted { .. }
        | Stage::Cancelled { .. }
        | Stage::Expired { .. }
        | Stage::Superseded { .. } => Vec::new(),
    }
}

/// Whose yes it has, and whose it lacks.
fn approvals(awaiting: &ApprovalState) -> Option<Mrkdwn> {
    if awaiting.required == 0 {
        return None;
    }
    let given = awaiting.approvals.iter().take(NAMES);
    let (count, required) = (awaiting.approvals.len(), awaiting.required);
    let text = Mrkdwn::new(":raised_hand: ")
        .plain(&format!("{count} of {required} {}", if required == 1 { "approval" } else { "approvals" }));
    let text = given
        .enumerate()
        .fold(text, |text, (at, approval)| text.raw(if at == 0 { ", by " } else { ", " }).person(&approval.by));
    let text = match awaiting.count_missing() {
        0 => text,
        missing => {
            // Named, and not mentioned: whoever asks how it stands does not call everybody.
            let asked = &awaiting.asked[..awaiting.asked.len().min(NAMES)];
            text.plain(&format!("; {missing} missing, of ")).called(asked)
        }
    };
    Some(text.raw(" \u{b7} it waits until ").moment(awaiting.deadline))
}

/// To its card, its pull request and its commit, as far as there are any, and what it is called.
pub(super) fn links(change: &Change, card: Option<&String>) -> Mrkdwn {
    let text = match card {
        Some(card) => Mrkdwn::default().link(card, "card").raw(" \u{b7} "),
        None => Mrkdwn::default(),
    };
    let text = match change.frozen.as_ref().and_then(|frozen| frozen.pull.as_ref()) {
        Some(pull) => text.raw("pull request ").link(&pull.url, &format!("#{}", pull.number)).raw(" \u{b7} "),
        None => text,
    };
    text.and(&commit(change)).raw("change ").code(&change.id.to_short_id())
}

/// What Git got by it, else what goes.
fn commit(change: &Change) -> Mrkdwn {
    let plan = &change.plan;
    let code =
        plan.drift.commits.first().and_then(|commit| commit.url.rsplit_once("/commit/")).map(|(web, _)| web.to_owned());
    let (web, sha) = match (change.stage.result_commit(), &plan.pinned) {
        (Some(result), _) => (plan.repository_url(), result),
        (None, Some(pinned)) => (code, pinned),
        (None, None) => return Mrkdwn::default(),
    };
    let text = Mrkdwn::new("commit ");
    let text = match web {
        Some(web) => text.link(&format!("{web}/commit/{sha}"), sha.short()),
        None => text.code(sha.short()),
    };
    text.raw(" \u{b7} ")
}

/// Somebody asked to cancel it; whether that came in time is seen on its card.
pub fn cancelling(change: &Change) -> Said {
    said(
        Mrkdwn::new("I stop it if it is not merged yet; ")
            .raw("<{link}|its card> shows what became of ")
            .code(&change.id.to_short_id())
            .raw("."),
    )
}

/// It can be stopped no more.
pub fn too_late(change: &Change) -> Said {
    let text = head(change).raw(". ");
    said(match &change.stage {
        Stage::Deploying(_) => text
            .raw("It is merged already, so it cannot be cancelled. To go back when it runs: ")
            .code(&format!("/rollback {} {}", change.plan.artefact, change.plan.environment)),
        _ => text.raw("There is nothing left to cancel."),
    })
}

pub fn unknown(change: &str) -> Said {
    said(
        Mrkdwn::new("I know no change ")
            .code(change)
            .raw(". ")
            .code("/gantry status")
            .raw(" shows those that are under way, ")
            .code("/gantry history")
            .raw(" those before."),
    )
}

/// A button of a plan that is no more.
pub fn plan_gone() -> Said {
    said(Mrkdwn::new("This plan was used or is older than 30 minutes. Type the command again to get a new one."))
}

pub fn not_your_plan() -> Said {
    said(Mrkdwn::new("Only the one who asked can decide on this plan. Type the command yourself to get your own."))
}

pub fn plan_dropped() -> Said {
    said(Mrkdwn::new("Cancelled: nothing was done."))
}

fn said(text: Mrkdwn) -> Said {
    Said { text: text.as_str().to_owned(), blocks: vec![section(text)] }
}

#[cfg(test)]
mod tests;
