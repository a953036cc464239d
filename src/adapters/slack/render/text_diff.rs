//! The difference of two texts: what went and what came, the words that differ in bold, and how much more there is.

use super::blocks::{self, Block, Piece, context, rich};
use super::mrkdwn::{self, Mrkdwn};
use crate::domain::git::text_diff::{DiffLine, DiffMark, Hunk, LineDiff, OmissionReason};

/// The most that is worth reading in a message. It leaves room for the fences around it in a section of 3000 characters.
pub const MOST: usize = 2_500;
/// Of a line, in characters; of what is the same beside what differs in a longer one, and of what differs.
const LINE: usize = 240;
const SAME: usize = 48;
const DIFFERENT: usize = 96;
const HEADING: usize = 80;
/// What a piece costs beside its text, so that a thousand single letters are no thousand pieces.
const PIECE: usize = 4;
/// For the words about what is not shown.
const REST: usize = 40;

#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// None where nothing differs.
    pub blocks: Vec<Block>,
    /// Not all of it is shown: the rest belongs into a file.
    pub cut: bool,
}

/// In at most `most` characters, and never more than [`MOST`].
pub fn difference(difference: &LineDiff, most: usize) -> Shown {
    match difference.omitted {
        Some(unseen) => return Shown { blocks: vec![context(why_unseen(unseen))], cut: false },
        None if difference.hunks.is_empty() => return Shown { blocks: vec![], cut: false },
        None => {}
    }
    let mut page = Page { pieces: Vec::new(), left: most.min(MOST).saturating_sub(REST), cut: false };
    let mut rest = difference.count_lines();
    'all: for hunk in &difference.hunks {
        let mut above = Some(heading(hunk));
        for line in &hunk.lines {
            if !page.takes(above.take(), line) {
                break 'all;
            }
            rest -= 1;
        }
    }
    page.say_rest(rest, difference.count_lines());
    Shown { cut: page.cut, blocks: vec![rich(page.pieces)] }
}

fn why_unseen(unseen: OmissionReason) -> Mrkdwn {
    match unseen {
        OmissionReason::TooLong => Mrkdwn::new("They differ, and are too long to be compared here."),
        OmissionReason::Binary => Mrkdwn::new("They differ, and are no text."),
    }
}

/// The same as a block of code, for a workspace that does not know rich text.
pub(super) fn section(pieces: &[Piece]) -> Block {
    let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    blocks::section(Mrkdwn::default().fenced(&text))
}

struct Page {
    pieces: Vec<Piece>,
    left: usize,
    cut: bool,
}

impl Page {
    /// The line, with what stands above it, if there is room for both.
    fn takes(&mut self, above: Option<Piece>, line: &DiffLine) -> bool {
        let (shown, shortened) = pieces(line);
        let mut all: Vec<Piece> = Vec::new();
        let begin = |all: &mut Vec<Piece>| {
            if !self.pieces.is_empty() || !all.is_empty() {
                all.push(Piece { text: "\n".to_owned(), styles: &[] });
            }
        };
        if let Some(above) = above {
            begin(&mut all);
            all.push(above);
        }
        begin(&mut all);
        all.extend(shown);
        let Some(left) = self.left.checked_sub(all.iter().map(cost).sum()) else { return false };
        self.left = left;
        self.cut |= shortened;
        self.pieces.extend(all);
        true
    }

    fn say_rest(&mut self, rest: usize, of: usize) {
        let lines = if rest == 1 { "line" } else { "lines" };
        let text = match rest {
            0 => return,
            rest if rest == of => format!("{rest} {lines}"),
            rest => format!("\nand {rest} more {lines}"),
        };
        self.cut = true;
        self.pieces.push(Piece { text, styles: &["italic"] });
    }
}

/// As many characters as it has once it is escaped, because the section that may stand for it is.
fn cost(piece: &Piece) -> usize {
    let escaped = |c| match c {
        '&' => 5,
        '<' | '>' => 4,
        _ => 1,
    };
    PIECE + piece.text.chars().map(escaped).sum::<usize>()
}

fn heading(hunk: &Hunk) -> Piece {
    let mut text = hunk.to_range_header();
    if !hunk.heading.is_empty() {
        text.push(' ');
        text.push_str(&mrkdwn::shorten(&visible(&hunk.heading), HEADING));
    }
    Piece { text, styles: &["italic"] }
}

/// The line with its mark, and whether something of it was left out.
fn pieces(line: &DiffLine) -> (Vec<Piece>, bool) {
    let texts: Vec<(bool, String)> =
        line.segments.iter().map(|segment| (segment.emphasised, visible(&segment.text))).collect();
    let too_long = texts.iter().map(|(_, text)| text.chars().count()).sum::<usize>() > LINE;
    let same = if texts.iter().any(|(emphasised, _)| *emphasised) { SAME } else { LINE };
    let mut room = LINE;
    let mut pieces = vec![(false, format!("{} ", line.mark.as_char()))];
    for (emphasised, text) in texts {
        let text = match (too_long, emphasised) {
            (true, true) => mrkdwn::shorten(&text, DIFFERENT).into_owned(),
            (true, false) => mrkdwn::shorten(&text, same).into_owned(),
            (false, _) => text,
        };
        let Some(left) = room.checked_sub(text.chars().count()) else {
            pieces.push((false, "\u{2026}".to_owned()));
            break;
        };
        room = left;
        match pieces.last_mut() {
            Some((before, last)) if *before == emphasised => last.push_str(&text),
            _ => pieces.push((emphasised, text)),
        }
    }
    let styled = |(emphasised, text)| Piece {
        text,
        styles: match (emphasised, line.mark) {
            (false, _) | (true, DiffMark::Unchanged) => &["code"],
            (true, DiffMark::Removed) => &["bold", "strike", "code"],
            (true, DiffMark::Added) => &["bold", "code"],
        },
    };
    let mut pieces: Vec<Piece> = pieces.into_iter().map(styled).collect();
    if !line.has_newline {
        pieces.push(Piece { text: " no line break at the end".to_owned(), styles: &["italic"] });
    }
    (pieces, too_long)
}

/// What nobody would see is shown by its number: in a difference, it may be all that differs.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        match c {
            '\t' => shown.push_str("    "),
            '\r' => shown.push_str("\\r"),
            // They join emoji and letters of some scripts, which fall apart without them.
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
