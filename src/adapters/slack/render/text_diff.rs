//! Renders the difference of two texts: removed and added lines, changed words in bold, and the number of omitted
//! lines.

use super::blocks::{Block, StyledText, context, rich_text};
use super::mrkdwn::{self, Mrkdwn};
use crate::domain::git::text_diff::{DiffLine, DiffMark, Hunk, LineDiff, OmissionReason};

/// Leaves room for the code fences around it in a section of 3000 characters.
pub const MAX_CHARACTERS: usize = 2_500;
/// In characters: the longest line; in a longer line, the longest unchanged and the longest changed segment.
const MAX_LINE: usize = 240;
const MAX_SAME: usize = 48;
const MAX_DIFFERENT: usize = 96;
const MAX_HEADING: usize = 80;
/// The cost of a piece in addition to its text. It limits the number of pieces if many single letters differ.
const PIECE_COST: usize = 4;
/// The cost of the line about omitted lines.
const REMAINDER_COST: usize = 40;

#[derive(Clone, Debug, PartialEq)]
pub struct RenderedTextDiff {
    /// Empty if nothing differs.
    pub blocks: Vec<Block>,
    /// Some lines are omitted. The caller puts the whole difference into a file.
    pub is_truncated: bool,
}

/// Renders at most `max` characters, and never more than [`MAX_CHARACTERS`].
pub fn render_text_diff(difference: &LineDiff, max: usize) -> RenderedTextDiff {
    match difference.omitted {
        Some(reason) => {
            return RenderedTextDiff { blocks: vec![context(explain_omission(reason))], is_truncated: false };
        }
        None if difference.hunks.is_empty() => return RenderedTextDiff { blocks: vec![], is_truncated: false },
        None => {}
    }
    let mut page = DiffPage {
        pieces: Vec::new(),
        remaining: max.min(MAX_CHARACTERS).saturating_sub(REMAINDER_COST),
        is_truncated: false,
    };
    let mut rest = difference.count_lines();
    'all: for hunk in &difference.hunks {
        let mut heading = Some(format_heading(hunk));
        for line in &hunk.lines {
            if !page.try_push_line(heading.take(), line) {
                break 'all;
            }
            rest -= 1;
        }
    }
    page.push_remaining_count(rest, difference.count_lines());
    RenderedTextDiff { is_truncated: page.is_truncated, blocks: vec![rich_text(page.pieces)] }
}

fn explain_omission(reason: OmissionReason) -> Mrkdwn {
    match reason {
        OmissionReason::TooLong => Mrkdwn::new("They differ, and are too long to be compared here."),
        OmissionReason::Binary => Mrkdwn::new("They differ, and are no text."),
    }
}

struct DiffPage {
    pieces: Vec<StyledText>,
    remaining: usize,
    is_truncated: bool,
}

impl DiffPage {
    /// Adds the line with the heading above it, if there is room for both.
    fn try_push_line(&mut self, heading: Option<StyledText>, line: &DiffLine) -> bool {
        let (shown, shortened) = style_line(line);
        let mut all: Vec<StyledText> = Vec::new();
        let begin = |all: &mut Vec<StyledText>| {
            if !self.pieces.is_empty() || !all.is_empty() {
                all.push(StyledText { text: "\n".to_owned(), styles: &[] });
            }
        };
        if let Some(heading) = heading {
            begin(&mut all);
            all.push(heading);
        }
        begin(&mut all);
        all.extend(shown);
        let Some(remaining) = self.remaining.checked_sub(all.iter().map(count_escaped_characters).sum()) else {
            return false;
        };
        self.remaining = remaining;
        self.is_truncated |= shortened;
        self.pieces.extend(all);
        true
    }

    fn push_remaining_count(&mut self, rest: usize, total: usize) {
        let lines = if rest == 1 { "line" } else { "lines" };
        let text = match rest {
            0 => return,
            rest if rest == total => format!("{rest} {lines}"),
            rest => format!("\nand {rest} more {lines}"),
        };
        self.is_truncated = true;
        self.pieces.push(StyledText { text, styles: &["italic"] });
    }
}

/// The length after escaping, because the fallback section contains the escaped text.
fn count_escaped_characters(piece: &StyledText) -> usize {
    let escaped = |c| match c {
        '&' => 5,
        '<' | '>' => 4,
        _ => 1,
    };
    PIECE_COST + piece.text.chars().map(escaped).sum::<usize>()
}

fn format_heading(hunk: &Hunk) -> StyledText {
    let mut text = hunk.to_range_header();
    if !hunk.heading.is_empty() {
        text.push(' ');
        text.push_str(&mrkdwn::truncate_middle(&escape_invisible(&hunk.heading), MAX_HEADING));
    }
    StyledText { text, styles: &["italic"] }
}

/// The line with its mark, and whether it was shortened.
fn style_line(line: &DiffLine) -> (Vec<StyledText>, bool) {
    let texts: Vec<(bool, String)> =
        line.segments.iter().map(|segment| (segment.emphasised, escape_invisible(&segment.text))).collect();
    let too_long = texts.iter().map(|(_, text)| text.chars().count()).sum::<usize>() > MAX_LINE;
    let max_same = if texts.iter().any(|(emphasised, _)| *emphasised) { MAX_SAME } else { MAX_LINE };
    let mut remaining_room = MAX_LINE;
    let mut pieces = vec![(false, format!("{} ", line.mark.as_char()))];
    for (emphasised, text) in texts {
        let text = match (too_long, emphasised) {
            (true, true) => mrkdwn::truncate_middle(&text, MAX_DIFFERENT).into_owned(),
            (true, false) => mrkdwn::truncate_middle(&text, max_same).into_owned(),
            (false, _) => text,
        };
        let Some(remaining) = remaining_room.checked_sub(text.chars().count()) else {
            pieces.push((false, "\u{2026}".to_owned()));
            break;
        };
        remaining_room = remaining;
        match pieces.last_mut() {
            Some((before, last)) if *before == emphasised => last.push_str(&text),
            _ => pieces.push((emphasised, text)),
        }
    }
    let styled = |(emphasised, text)| StyledText {
        text,
        styles: match (emphasised, line.mark) {
            (false, _) | (true, DiffMark::Unchanged) => &["code"],
            (true, DiffMark::Removed) => &["bold", "strike", "code"],
            (true, DiffMark::Added) => &["bold", "code"],
        },
    };
    let mut pieces: Vec<StyledText> = pieces.into_iter().map(styled).collect();
    if !line.has_newline {
        pieces.push(StyledText { text: " no line break at the end".to_owned(), styles: &["italic"] });
    }
    (pieces, too_long)
}

/// Shows invisible characters by their code, because they may be the only difference.
fn escape_invisible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        match c {
            '\t' => shown.push_str("    "),
            '\r' => shown.push_str("\\r"),
            // These join emoji and letters of some scripts, which would look wrong without them.
            '\u{200c}' | '\u{200d}' if before.is_some_and(|before: char| !before.is_ascii()) => shown.push(c),
            c if c.is_control() || mrkdwn::is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
        before = Some(c);
    }
    shown
}

#[cfg(test)]
mod tests;
