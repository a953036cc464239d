//! Tables and rich text as sections, for a workspace that refuses them.

use super::blocks::{Block, StyledText, TableRow, section};
use super::mrkdwn::Mrkdwn;

/// The title of the last column of a list with one row for each place.
pub(super) const WHAT_RUNS: &str = "what runs";

/// A section must stay below 3000 characters.
const MAX_SECTION: usize = 2800;

/// The rows of a table as sections, several rows in each.
pub(super) fn render_as_sections(lines: &[TableRow]) -> Vec<Block> {
    let Some((head, lines)) = lines.split_first() else { return Vec::new() };
    // In a grid, each cell needs the name of its environment; in a list of lines, the cells do not need their titles.
    let grid = head.last().is_some_and(|title| title.text != WHAT_RUNS);
    let mut sections = Vec::new();
    let mut text = Mrkdwn::default();
    for line in lines {
        let mut entry = Mrkdwn::default();
        for (index, (title, cell)) in head.iter().zip(line).enumerate() {
            entry = match index {
                0 => entry.bold(&cell.text),
                _ if grid => entry.raw("\n      ").code(&title.text).raw(" ").plain(&cell.text),
                _ => entry.raw(" \u{b7} ").plain(&cell.text),
            };
        }
        if text.as_str().len() + entry.as_str().len() > MAX_SECTION && !text.as_str().is_empty() {
            sections.push(section(std::mem::take(&mut text)));
        }
        text = if text.as_str().is_empty() { text } else { text.raw("\n") }.append(&entry);
    }
    sections.push(section(text));
    sections
}

/// Rich text as a block of code.
pub(super) fn render_code_section(pieces: &[StyledText]) -> Block {
    let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    section(Mrkdwn::default().code_block(&text))
}
