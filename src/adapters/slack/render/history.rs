//! The answer to `history`, newest first: changes, arrivals, locks and releases.

use std::collections::HashMap;
use std::hash::BuildHasher;

use jiff::Timestamp;

use super::Rendered;
use super::blocks::{context, section};
use super::gate;
use super::headline::{pick_stage_emoji, shorten_label};
use super::lock;
use super::mrkdwn::{Mrkdwn, format_elapsed, humanize_duration, truncate_middle};
use super::status::{format_links, format_requester, format_version_move, list_co_deployed};
use crate::adapters::slack::render::page_buttons::{PageItem, PageRequest, Viewer, render_page};
use crate::domain::change::{CancelledBy, Change, RollbackStatus, Stage};
use crate::domain::model::actor::PersonId;
use crate::domain::model::message::MessageKey;
use crate::domain::view::history::{ArrivalRecord, HistoryEntry, HistoryEvent, MAX_PAGE_SIZE};
use crate::domain::view::list::ListFilter;
use crate::domain::view::page::Page;

const MAX_REASON: usize = 200;
const MAX_SUBJECT: usize = 80;

/// A page of the history. `count` is the requested number of entries, and `links` are the addresses of messages.
pub fn render_history(
    filter: &ListFilter,
    count: Option<u32>,
    page: Page<HistoryEntry>,
    links: &HashMap<MessageKey, String, impl BuildHasher>,
    viewer: Viewer<'_>,
    now: Timestamp,
) -> Rendered {
    if page.is_empty() {
        return render_empty(filter, page.has_later || page.has_earlier);
    }
    let note = count.filter(|count| *count > MAX_PAGE_SIZE).map(|_| {
        Mrkdwn::new("More than ")
            .plain(&MAX_PAGE_SIZE.to_string())
            .raw(" do not fit into one message: *Earlier* shows the next.")
    });
    let request = |cursor| PageRequest::History { filter: filter.clone(), count, cursor };
    let items = page.map(|entry| {
        let address = entry.message_key.as_ref().and_then(|key| links.get(key));
        let (first, rest) = format_item(&entry, address, now);
        PageItem { cursor: entry.position, first, rest }
    });
    render_page(format_title(filter), items, note, viewer, request)
}

fn format_title(filter: &ListFilter) -> Mrkdwn {
    match (&filter.artefact, &filter.environment) {
        (None, None) => Mrkdwn::new("*What happened*"),
        (Some(artefact), None) => Mrkdwn::new("What happened to ").bold(artefact.as_str()),
        (None, Some(environment)) => Mrkdwn::new("What happened in ").bold(environment.as_str()),
        (Some(artefact), Some(environment)) => {
            Mrkdwn::new("What happened to ").bold(artefact.as_str()).raw(" in ").bold(environment.as_str())
        }
    }
}

fn render_empty(filter: &ListFilter, has_other_pages: bool) -> Rendered {
    let text =
        format_title(filter).raw(if has_other_pages { ": nothing more." } else { ": nothing yet that I know of." });
    let next = match &filter.artefact {
        _ if has_other_pages => Mrkdwn::new("Next: ").code("/gantry history").raw(" shows the newest."),
        Some(artefact) => Mrkdwn::new("Next: ").code(&format!("/list {artefact}")).raw(" shows what of it runs where."),
        None => Mrkdwn::new("Next: ").code("/list").raw(" shows what runs where."),
    };
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] }
}

fn format_item(entry: &HistoryEntry, address: Option<&String>, now: Timestamp) -> (Mrkdwn, Vec<Mrkdwn>) {
    let details = |by: Mrkdwn| vec![append_message_link(by.date_time(entry.at), address)];
    let by = |person: Option<&PersonId>| match person {
        Some(person) => Mrkdwn::new("by ").person(person).raw(" "),
        None => Mrkdwn::default(),
    };
    match &entry.event {
        HistoryEvent::Change(change) => format_change(change, address, now),
        HistoryEvent::Arrival(arrived) => format_arrival(arrived, entry.at, address),
        HistoryEvent::Locked(locked) => {
            let text = Mrkdwn::new(":lock: ")
                .append(&lock::format_lock_scope(locked))
                .raw(" locked")
                .append(&format_reason(&locked.reason));
            (text, details(by(Some(&locked.by))))
        }
        HistoryEvent::Unlocked { lock: locked, by: person } => {
            let text = Mrkdwn::new(":unlock: ").append(&lock::format_lock_scope(locked)).raw(" unlocked, after ");
            (text.plain(&format_elapsed(locked.since, entry.at)), details(by(person.as_ref())))
        }
        HistoryEvent::TakenOver { lock: locked, from } => {
            let text = Mrkdwn::new(":lock: the lock on ").append(&lock::format_lock_scope(locked)).raw(" taken over");
            let text = from.iter().fold(text, |text, from| text.raw(" from ").person(from));
            (text.append(&format_reason(&locked.reason)), details(by(Some(&locked.by))))
        }
        HistoryEvent::Released { artefact, environment, version, by: person } => {
            let text = Mrkdwn::new(":leftwards_arrow_with_hook: ")
                .bold(artefact.as_str())
                .raw(" ")
                .code(&shorten_label(version));
            let text = text.raw(" released: it may come back to ").bold(environment.as_str());
            (text, details(by(person.as_ref())))
        }
        HistoryEvent::Unreadable => {
            let text = Mrkdwn::new(":grey_question: something that another version of me wrote, and I cannot read");
            (text, details(Mrkdwn::default()))
        }
    }
}

fn append_message_link(text: Mrkdwn, address: Option<&String>) -> Mrkdwn {
    match address {
        Some(address) => text.raw(" \u{b7} ").link(address, "message"),
        None => text,
    }
}

fn format_reason(reason: &str) -> Mrkdwn {
    Mrkdwn::new(": ").plain(&truncate_middle(reason, MAX_REASON))
}

fn format_change(change: &Change, card: Option<&String>, now: Timestamp) -> (Mrkdwn, Vec<Mrkdwn>) {
    let plan = &change.plan;
    let text = Mrkdwn::new(pick_stage_emoji(&change.stage)).bold(plan.artefact.as_str());
    let text = if plan.is_rollback() { text.raw(" rolled back ") } else { text.raw(" ") };
    let text = text
        .append(&format_version_move(change))
        .raw(" in ")
        .bold(plan.environment.as_str())
        .raw(": ")
        .append(&format_outcome(change, now));
    let text = match change.stage.deploying().and_then(|deploying| deploying.rolled_back.as_ref()) {
        Some(RollbackStatus::Done { by, at }) => {
            text.raw(" \u{b7} rolled back ").date_time(*at).raw(" by change ").code(&by.to_short_id())
        }
        _ => text,
    };
    let mut rest = vec![format_requester(change).raw(" \u{b7} ").append(&format_links(change, card))];
    rest.extend(list_co_deployed(plan));
    rest.extend(plan.gate_override.as_ref().map(gate::format_override_line));
    let reason = plan.rollback_details().and_then(|rollback| rollback.reason.as_deref());
    rest.extend(reason.map(|reason| Mrkdwn::new("*Reason:* ").plain(&truncate_middle(reason, MAX_REASON))));
    rest.extend(format_failure_reason(change));
    (text, rest)
}

/// The end of the change and its duration, or its current stage and its age.
fn format_outcome(change: &Change, now: Timestamp) -> Mrkdwn {
    let began = change.began_at();
    let took = |words: &'static str, at: Timestamp| Mrkdwn::new(words).plain(&format_elapsed(began, at));
    match &change.stage {
        Stage::AwaitingApproval(_) => took("waiting for approval, for ", now),
        Stage::Merging(_) => took("merging, for ", now),
        Stage::Deploying(_) => took("deploying, for ", now),
        Stage::Deployed { at, .. } => took("deployed, took ", *at),
        Stage::Failed { at, .. } => took("failed after ", *at),
        Stage::Stalled { at, .. } => took("no proof that it runs after ", *at),
        Stage::Conflicted { at, .. } => took("Git could not merge it, after ", *at),
        Stage::Errored { at, .. } => took("could not be done, after ", *at),
        Stage::Cancelled { at, by: CancelledBy::Person(person) } => {
            Mrkdwn::new("cancelled by ").person(person).append(&took(" after ", *at))
        }
        Stage::Cancelled { at, .. } => took("cancelled on GitHub after ", *at),
        Stage::Rejected { at, by, .. } => Mrkdwn::new("rejected by ").person(by).append(&took(" after ", *at)),
        Stage::Expired { at, .. } => took("nobody decided in time, given up after ", *at),
        Stage::Superseded { at, by, .. } => {
            Mrkdwn::new("gave way to change ").code(&by.to_short_id()).append(&took(" after ", *at))
        }
    }
}

fn format_failure_reason(change: &Change) -> Option<Mrkdwn> {
    let text = match &change.stage {
        Stage::Failed { reason, .. } | Stage::Rejected { reason, .. } => reason,
        Stage::Errored { reason: why, .. } => why,
        _ => return None,
    };
    Some(Mrkdwn::new("*Why:* ").plain(&truncate_middle(text, MAX_REASON)))
}

fn format_arrival(arrived: &ArrivalRecord, at: Timestamp, address: Option<&String>) -> (Mrkdwn, Vec<Mrkdwn>) {
    let ArrivalRecord { artefact, environment, details } = arrived;
    let text = Mrkdwn::new(if details.failed.is_some() { ":red_circle: " } else { ":inbox_tray: " });
    let text = text.bold(artefact.as_str()).raw(" ").code(&shorten_label(&details.version));
    let text = match (&details.failed, details.took) {
        (Some(reason), _) => text.raw(" failed in ").bold(environment.as_str()).append(&format_reason(reason)),
        (None, Some(duration)) => {
            let (count, unit) = humanize_duration(duration);
            text.raw(" came to ").bold(environment.as_str()).plain(&format!(", rolled out in {count} {unit}"))
        }
        (None, None) => text.raw(" came to ").bold(environment.as_str()),
    };
    let line = append_message_link(Mrkdwn::new("without a change of mine ").date_time(at), address);
    let line = match (&details.commit, &details.version.commit) {
        (Some(commit), _) => line
            .raw(" \u{b7} commit ")
            .link(&commit.url, commit.sha.short())
            .raw(" ")
            .plain(&truncate_middle(&commit.subject, MAX_SUBJECT))
            .raw(" \u{b7} ")
            .plain(&truncate_middle(&commit.author, MAX_SUBJECT)),
        (None, Some(sha)) => line.raw(" \u{b7} commit ").code(sha.short()),
        (None, None) => line,
    };
    (text, vec![line])
}

#[cfg(test)]
mod tests;
