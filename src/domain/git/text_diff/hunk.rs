//! A group of changed lines in a difference, and the marks of each line.

use std::fmt::Write;

use similar::{ChangeTag, DiffOp, TextDiff};

/// Changed lines that are near each other, with the lines around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The number of the first line on this side, or of the line before the hunk if it has none on this side.
    pub old_start: usize,
    pub new_start: usize,
    /// The text after the range, such as the name of a function; often empty.
    pub heading: String,
    pub lines: Vec<DiffLine>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    pub mark: DiffMark,
    /// In order. Together they are the line without its line break. No segment is empty.
    pub segments: Vec<Segment>,
    /// Only the last line of a text may lack its line break.
    pub has_newline: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffMark {
    Unchanged,
    Removed,
    Added,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// This segment differs from the line on the other side.
    pub emphasised: bool,
    pub text: String,
}

impl Hunk {
    pub(super) fn from_ops(diff: &TextDiff<'_, '_, str>, ops: &[DiffOp]) -> Self {
        let lines: Vec<DiffLine> = ops
            .iter()
            .flat_map(|op| diff.iter_changes(op))
            .map(|change| {
                let mark = match change.tag() {
                    ChangeTag::Equal => DiffMark::Unchanged,
                    ChangeTag::Delete => DiffMark::Removed,
                    ChangeTag::Insert => DiffMark::Added,
                };
                let text: &str = change.value();
                let without_newline = text.strip_suffix('\n');
                DiffLine::new_plain(mark, without_newline.unwrap_or(text), without_newline.is_some())
            })
            .collect();
        let (old, new) = ops.first().map_or((0, 0), |op| (op.old_range().start, op.new_range().start));
        let mut hunk = Self { old_start: old, new_start: new, heading: String::new(), lines };
        let (old, new) = hunk.count_sides();
        hunk.old_start += usize::from(old > 0);
        hunk.new_start += usize::from(new > 0);
        hunk
    }

    /// As in `@@ -1,3 +1,4 @@`.
    pub fn to_range_header(&self) -> String {
        let (old, new) = self.count_sides();
        let mut range = "@@".to_owned();
        for (side, start, length) in [('-', self.old_start, old), ('+', self.new_start, new)] {
            // Writing to a string cannot fail.
            let _ = match length {
                1 => write!(range, " {side}{start}"),
                length => write!(range, " {side}{start},{length}"),
            };
        }
        range + " @@"
    }

    /// The number of lines on the old side and on the new side.
    pub(super) fn count_sides(&self) -> (usize, usize) {
        let (removed, added) = (self.count_marked(DiffMark::Removed), self.count_marked(DiffMark::Added));
        (self.lines.len() - added, self.lines.len() - removed)
    }

    pub(super) fn count_marked(&self, mark: DiffMark) -> usize {
        self.lines.iter().filter(|line| line.mark == mark).count()
    }
}

impl DiffLine {
    pub(super) fn new_plain(mark: DiffMark, text: &str, has_newline: bool) -> Self {
        let segments = match text {
            "" => vec![],
            text => vec![Segment { emphasised: false, text: text.to_owned() }],
        };
        Self { mark, segments, has_newline }
    }

    pub fn to_text(&self) -> String {
        self.segments.iter().map(|segment| segment.text.as_str()).collect()
    }
}

impl DiffMark {
    /// The character before the line in a patch.
    pub fn as_char(self) -> char {
        match self {
            Self::Unchanged => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}
