//! The difference of two texts by lines, and within a line by words: computed by `similar`, or parsed from a patch.
//! Knows neither the origin of the texts nor their display.

use std::time::Duration;

use similar::{DiffOp, TextDiff};

mod hunk;
mod patch;
#[cfg(test)]
mod tests;

pub use hunk::{DiffLine, DiffMark, Hunk, Segment};

/// The limit for each text.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
const MAX_LINES: usize = 100_000;
/// The number of unchanged lines around a change.
const CONTEXT_LINES: usize = 3;
/// After this time `similar` reports the rest as removed and added, which is still correct.
const DIFF_TIMEOUT: Duration = Duration::from_millis(250);
/// Words are compared in changes of at most this size, up to a total budget: people do not read longer ones, and the
/// comparison takes time quadratic in the length.
const MAX_WORD_DIFF_BYTES: usize = 4 << 10;
const WORD_DIFF_BUDGET: usize = 32 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineDiff {
    pub hunks: Vec<Hunk>,
    /// The numbers of added and removed lines.
    pub added: usize,
    pub removed: usize,
    /// The reason why there are no hunks although the texts differ.
    pub omitted: Option<OmissionReason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmissionReason {
    TooLong,
    /// The content is not text.
    Binary,
}

impl LineDiff {
    pub fn from_texts(old: &str, new: &str) -> Self {
        if old == new {
            return Self::default();
        }
        if let Some(reason) = find_omission_reason(old).or_else(|| find_omission_reason(new)) {
            return Self { omitted: Some(reason), ..Self::default() };
        }
        // `similar` ends a line at a lone carriage return; Git and patches do not. So the lines are split here.
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_slices(&old, &new);
        let hunks = diff.grouped_ops(CONTEXT_LINES).iter().map(|ops| Hunk::from_ops(&diff, ops)).collect();
        Self::from_hunks(hunks)
    }

    /// Parses the hunks of a unified patch, as GitHub returns them for each file. Lines outside a hunk are skipped, and
    /// a truncated patch ends where it was cut.
    pub fn from_patch(patch: &str) -> Self {
        match find_omission_reason(patch) {
            Some(reason) => Self { omitted: Some(reason), ..Self::default() },
            None => Self::from_hunks(patch::parse_hunks(patch)),
        }
    }

    fn from_hunks(mut hunks: Vec<Hunk>) -> Self {
        hunks.retain(|hunk| !hunk.lines.is_empty());
        emphasise_differences(&mut hunks);
        let count = |mark| hunks.iter().map(|hunk| hunk.count_marked(mark)).sum();
        Self { added: count(DiffMark::Added), removed: count(DiffMark::Removed), omitted: None, hunks }
    }

    /// The number of lines to show, including those around the changes.
    pub fn count_lines(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.lines.len()).sum()
    }

    /// A patch for `git apply` and `patch`; empty if nothing differs.
    pub fn to_unified_patch(&self, name: &str) -> String {
        // A line break in a name would start a line of the patch.
        let name: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        match self.omitted {
            Some(OmissionReason::Binary) => return format!("Binary files a/{name} and b/{name} differ\n"),
            Some(OmissionReason::TooLong) => return format!("Files a/{name} and b/{name} differ\n"),
            None if self.hunks.is_empty() => return String::new(),
            None => {}
        }
        let mut patch = format!("--- a/{name}\n+++ b/{name}\n");
        for hunk in &self.hunks {
            patch.push_str(&hunk.to_range_header());
            if !hunk.heading.is_empty() {
                patch.push(' ');
                patch.push_str(&hunk.heading);
            }
            patch.push('\n');
            for line in &hunk.lines {
                patch.push(line.mark.as_char());
                patch.extend(line.segments.iter().map(|segment| segment.text.as_str()));
                patch.push_str(if line.has_newline { "\n" } else { "\n\\ No newline at end of file\n" });
            }
        }
        patch
    }
}

fn find_omission_reason(text: &str) -> Option<OmissionReason> {
    if text.len() > MAX_TEXT_BYTES {
        Some(OmissionReason::TooLong)
    } else if text.contains('\0') {
        Some(OmissionReason::Binary)
    } else {
        (text.bytes().filter(|byte| *byte == b'\n').count() > MAX_LINES).then_some(OmissionReason::TooLong)
    }
}

/// Compares removed lines with the lines that replace them, word by word.
fn emphasise_differences(hunks: &mut [Hunk]) {
    let mut budget = WORD_DIFF_BUDGET;
    for hunk in hunks {
        let mut rest = hunk.lines.as_mut_slice();
        while !rest.is_empty() {
            let count_run = |lines: &[DiffLine], mark| lines.iter().take_while(|line| line.mark == mark).count();
            let removed = count_run(rest, DiffMark::Removed);
            let added = count_run(&rest[removed..], DiffMark::Added);
            let (changed, after) = rest.split_at_mut((removed + added).max(1));
            if removed > 0 && added > 0 {
                let size: usize =
                    changed.iter().flat_map(|line| &line.segments).map(|segment| segment.text.len()).sum();
                if size <= MAX_WORD_DIFF_BYTES.min(budget) {
                    budget -= size;
                    compare_words(changed, removed);
                } else if removed == added {
                    let (old, new) = changed.split_at_mut(removed);
                    old.iter_mut().zip(new).for_each(|(old, new)| compare_ends(old, new));
                }
            }
            rest = after;
        }
    }
}

/// The first `removed` lines were removed, the others were added.
fn compare_words(lines: &mut [DiffLine], removed: usize) {
    // The line break is included, so that an empty line counts too.
    let texts: Vec<String> = lines.iter().map(|line| line.to_text() + "\n").collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (old, new) = texts.split_at(removed);
    let diff = TextDiff::from_slices(old, new);
    let replacement = DiffOp::Replace { old_index: 0, old_len: old.len(), new_index: 0, new_len: new.len() };
    for change in diff.iter_inline_changes(&replacement) {
        let index = change.old_index().or_else(|| change.new_index().map(|index| removed + index));
        let Some((line, text)) = index.and_then(|index| Some((lines.get_mut(index)?, texts.get(index)?))) else {
            continue;
        };
        let mut segments: Vec<Segment> = Vec::new();
        let mut remaining = text.len() - 1;
        for (emphasised, text) in change.values() {
            let text = text.get(..text.len().min(remaining)).unwrap_or_default();
            remaining -= text.len();
            match segments.last_mut() {
                _ if text.is_empty() => {}
                Some(last) if last.emphasised == *emphasised => last.text.push_str(text),
                _ => segments.push(Segment { emphasised: *emphasised, text: text.to_owned() }),
            }
        }
        // If the whole line differs, its mark says so already.
        if remaining == 0 && segments.iter().any(|segment| !segment.emphasised) {
            line.segments = segments;
        }
    }
}

/// For lines that are too long for a comparison by words: emphasises the text between their common beginning and their
/// common end.
fn compare_ends(old: &mut DiffLine, new: &mut DiffLine) {
    let (before, after) = (old.to_text(), new.to_text());
    let is_equal = |(a, b): &(char, char)| a == b;
    let common_length = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(is_equal).map(|(c, _)| c.len_utf8()).sum()
    };
    let start = common_length(&mut before.chars().zip(after.chars()));
    let end = common_length(&mut before[start..].chars().rev().zip(after[start..].chars().rev()));
    // As in the comparison by words, lines that share less than half are not treated as versions of the same line.
    if 2 * (start + end) < before.len().max(after.len()) {
        return;
    }
    for (line, text) in [(old, before), (new, after)] {
        let (rest, last) = text.split_at(text.len() - end);
        let (first, middle) = rest.split_at(start);
        let segment = |(emphasised, text): (bool, &str)| Segment { emphasised, text: text.to_owned() };
        let segments = [(false, first), (true, middle), (false, last)];
        line.segments = segments.into_iter().filter(|(_, text)| !text.is_empty()).map(segment).collect();
    }
}
