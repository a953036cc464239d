//! The answer to `list`: a table.

use std::fmt::Write;

use jiff::Timestamp;

use super::Rendered;
use super::blocks::{Block, RawText, TableRow, actions, button, context, section, table};
use super::mrkdwn::{Mrkdwn, humanize_duration, truncate_middle};
use super::plain_blocks::WHAT_RUNS;
use crate::adapters::slack::render::page_buttons::{PageRequest, SHARE_LIST, Viewer, build_page_buttons};
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::view::list::{ListCell, ListLayout, Listing};

/// With these limits, a page of a [`Listing`] stays below Slack's limit for a message, as a table and as sections.
const MAX_NAME: usize = 40;
const MAX_TITLE: usize = 24;
const MAX_CELL_VERSION: usize = 30;
const MAX_CELL_REASON: usize = 24;
const MAX_LINE_VERSION: usize = 60;
const MAX_LINE_REASON: usize = 120;

pub fn render_list(listing: &Listing, viewer: Viewer<'_>, now: Timestamp) -> Rendered {
    let lines = build_rows(listing, now);
    let head = format_headline(listing);
    let text = format_fallback_text(&head, &lines);
    let mut blocks = Vec::with_capacity(4);
    blocks.push(section(head));
    if lines.len() > 1 {
        blocks.push(table(lines));
    }
    push_footer(&mut blocks, listing, viewer);
    Rendered { text, blocks }
}

fn format_headline(listing: &Listing) -> Mrkdwn {
    let head = match (&listing.filter.artefact, &listing.filter.environment) {
        (Some(artefact), Some(environment)) => {
            Mrkdwn::default().bold(artefact.as_str()).raw(" in ").bold(environment.as_str())
        }
        (Some(artefact), None) => Mrkdwn::new("Where ").bold(artefact.as_str()).raw(" runs"),
        (None, Some(environment)) => Mrkdwn::new("What runs in ").bold(environment.as_str()),
        (None, None) => Mrkdwn::new("*What runs where*"),
    };
    let empty = match &listing.layout {
        ListLayout::Grid { lines, .. } => lines.is_empty(),
        ListLayout::Lines(lines) => lines.is_empty(),
    };
    if empty {
        return head.raw(": nothing is meant to be there.");
    }
    match listing.page_count {
        1 => head,
        pages => head.raw(" \u{b7} ").plain(&format!(
            "page {} of {pages}, {} artefacts",
            listing.page + 1,
            listing.artefact_count
        )),
    }
}

/// The header row and the other rows of the table.
fn build_rows(listing: &Listing, now: Timestamp) -> Vec<TableRow> {
    match &listing.layout {
        ListLayout::Grid { environments, lines } => {
            let mut table = Vec::with_capacity(1 + lines.len());
            let mut head = Vec::with_capacity(1 + environments.len());
            head.push("artefact".into());
            head.extend(environments.iter().map(|name| truncate_middle(name.as_str(), MAX_TITLE).into_owned().into()));
            table.push(head);
            for (artefact, cells) in lines {
                let mut line = Vec::with_capacity(1 + cells.len());
                line.push(shorten_name(artefact.as_str()).into());
                line.extend(cells.iter().map(|cell| match cell {
                    Some(cell) => describe_cell(cell, now, MAX_CELL_VERSION, MAX_CELL_REASON).into(),
                    None => "\u{2014}".into(),
                }));
                table.push(line);
            }
            table
        }
        ListLayout::Lines(lines) => {
            // The title already names the filter, so the rows do not repeat it.
            let (one_artefact, one_environment) =
                (listing.filter.artefact.is_some(), listing.filter.environment.is_some());
            let line = |artefact: &str, environment: &str, cell: RawText| -> TableRow {
                match (one_artefact, one_environment) {
                    (true, false) => vec![shorten_name(environment).into(), cell],
                    (false, true) => vec![shorten_name(artefact).into(), cell],
                    _ => vec![shorten_name(artefact).into(), shorten_name(environment).into(), cell],
                }
            };
            let mut table = Vec::with_capacity(1 + lines.len());
            table.push(line("artefact", "environment", WHAT_RUNS.into()));
            for (artefact, environment, cell) in lines {
                let cell = describe_cell(cell, now, MAX_LINE_VERSION, MAX_LINE_REASON);
                table.push(line(artefact.as_str(), environment.as_str(), cell.into()));
            }
            table
        }
    }
}

fn shorten_name(name: &str) -> String {
    truncate_middle(name, MAX_NAME).into_owned()
}

/// For example `🟢 develop-4f1c2ab · running · 3 h · ⬆ behind`: the state as a colour and in words.
fn describe_cell(cell: &ListCell, now: Timestamp, version: usize, reason: usize) -> String {
    let mut text = String::with_capacity(96);
    text.push_str(match &cell.state {
        RolloutState::Running { .. } => "\u{1f7e2} ",
        RolloutState::RollingOut { .. } => "\u{1f7e1} ",
        RolloutState::Degraded { .. } => "\u{1f534} ",
        RolloutState::Missing => "\u{26ab} ",
        RolloutState::Unreadable { .. } => "\u{26aa} ",
    });
    if let Some(tag) = &cell.version {
        text.push_str(&truncate_middle(tag, version));
        text.push_str(" \u{b7} ");
    }
    // Writing to a string cannot fail.
    let _ = match &cell.state {
        RolloutState::Running { .. } => text.write_str("running"),
        RolloutState::RollingOut { ready, wanted, delayed_by: None } => write!(text, "rolling out {ready}/{wanted}"),
        RolloutState::RollingOut { ready, wanted, delayed_by: Some(why) } => {
            write!(text, "rolling out {ready}/{wanted}: {}", sanitize_reason(why, reason))
        }
        RolloutState::Degraded { reason: why } => write!(text, "degraded: {}", sanitize_reason(why, reason)),
        RolloutState::Missing => text.write_str("missing"),
        RolloutState::Unreadable { reason: why, .. } => write!(text, "unreadable: {}", sanitize_reason(why, reason)),
    };
    let since = match &cell.state {
        RolloutState::Unreadable { since, .. } => Some(*since),
        _ => cell.since,
    };
    if let Some(since) = since {
        let (count, unit) = humanize_duration(now.duration_since(since));
        let _ = write!(text, " \u{b7} {count} {unit}");
    }
    if cell.is_behind == Some(true) {
        text.push_str(" \u{b7} \u{2b06} behind");
    }
    if cell.not_from_git {
        text.push_str(" \u{b7} \u{26a0} not from Git");
    }
    text
}

/// Shortens a reason from the cluster, and replaces the characters that escaping would make up to five times as long.
fn sanitize_reason(reason: &str, max: usize) -> String {
    truncate_middle(reason, max).replace('<', "\u{2039}").replace('>', "\u{203a}").replace('&', "+")
}

/// The first rows as text, for notifications and screen readers.
fn format_fallback_text(head: &Mrkdwn, lines: &[TableRow]) -> String {
    const MOST: usize = 1000;
    let mut text = Mrkdwn::with_capacity(MOST / 2).append(head);
    for line in lines.iter().skip(1) {
        for (index, cell) in line.iter().enumerate() {
            text = text.raw(if index == 0 { "\n" } else { " | " }).plain(&cell.text);
        }
        if text.as_str().len() > MOST {
            break;
        }
    }
    text.into_string()
}

fn push_footer(blocks: &mut Vec<Block>, listing: &Listing, viewer: Viewer<'_>) {
    let has_cell = |is_marked: fn(&ListCell) -> bool| match &listing.layout {
        ListLayout::Grid { lines, .. } => lines.iter().flat_map(|(_, cells)| cells).flatten().any(is_marked),
        ListLayout::Lines(lines) => lines.iter().any(|(_, _, cell)| is_marked(cell)),
    };
    if has_cell(|cell| cell.is_behind == Some(true)) {
        blocks.push(context(Mrkdwn::new("\u{2b06} behind: the environment below runs something newer.")));
    }
    if has_cell(|cell| cell.not_from_git) {
        let legend =
            "\u{26a0} not from Git: the branch or the manifest of the environment does not explain this version.";
        blocks.push(context(Mrkdwn::new(legend)));
    }
    if let Viewer::Channel { shared_by: Some(person) } = viewer {
        blocks.push(context(Mrkdwn::new("Shared by ").person(person).raw(".")));
    }
    let request = |page: usize| PageRequest::List { filter: listing.filter.clone(), page };
    let earlier = (listing.page > 0).then(|| request(listing.page - 1));
    let later = (listing.page + 1 < listing.page_count).then(|| request(listing.page + 1));
    let mut buttons = build_page_buttons(viewer, earlier.as_ref(), later.as_ref());
    if let Viewer::Person = viewer {
        buttons.push(button("Share", SHARE_LIST, request(listing.page).to_button_value()));
    }
    if !buttons.is_empty() {
        blocks.push(actions(buttons));
    }
}
