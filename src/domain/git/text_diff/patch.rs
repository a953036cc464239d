//! Parses the hunks of a unified patch by their line counts, as `git apply` does. The input may be any text.

use super::hunk::{DiffLine, DiffMark, Hunk};

/// A hunk that is being parsed, with the number of lines that are missing on each side.
struct OpenHunk {
    hunk: Hunk,
    old_left: usize,
    new_left: usize,
}

pub(super) fn parse_hunks(patch: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut open: Option<OpenHunk> = None;
    for line in patch.strip_suffix('\n').unwrap_or(patch).split('\n') {
        if line.starts_with('\\') {
            let last = match &mut open {
                Some(open) => Some(&mut open.hunk),
                None => hunks.last_mut(),
            };
            if let Some(last) = last.and_then(|hunk| hunk.lines.last_mut()) {
                last.has_newline = false;
            }
            continue;
        }
        if let Some(mut current) = open.take() {
            if current.accept_line(line) {
                if current.old_left > 0 || current.new_left > 0 {
                    open = Some(current);
                } else {
                    hunks.push(current.hunk);
                }
                continue;
            }
            hunks.push(current.hunk);
        }
        open = parse_header(line);
    }
    hunks.extend(open.map(|open| open.hunk));
    hunks
}

impl OpenHunk {
    fn accept_line(&mut self, line: &str) -> bool {
        let (mark, text) = match line.chars().next() {
            Some(' ') => (DiffMark::Unchanged, &line[1..]),
            Some('-') => (DiffMark::Removed, &line[1..]),
            Some('+') => (DiffMark::Added, &line[1..]),
            // Some tools strip trailing spaces, and with them the mark of an empty line.
            None => (DiffMark::Unchanged, ""),
            Some(_) => return false,
        };
        let (old, new) = (usize::from(mark != DiffMark::Added), usize::from(mark != DiffMark::Removed));
        let (Some(old), Some(new)) = (self.old_left.checked_sub(old), self.new_left.checked_sub(new)) else {
            return false;
        };
        (self.old_left, self.new_left) = (old, new);
        self.hunk.lines.push(DiffLine::new_plain(mark, text, true));
        true
    }
}

/// `@@ -1,3 +1,4 @@ heading`
fn parse_header(line: &str) -> Option<OpenHunk> {
    let (ranges, heading) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let ((old_start, old), (new_start, new)) = (parse_range(old)?, parse_range(new)?);
    let heading = heading.trim().to_owned();
    (old > 0 || new > 0).then(|| OpenHunk {
        hunk: Hunk { old_start, new_start, heading, lines: Vec::new() },
        old_left: old,
        new_left: new,
    })
}

fn parse_range(text: &str) -> Option<(usize, usize)> {
    let (start, length) = text.split_once(',').unwrap_or((text, "1"));
    Some((start.parse().ok()?, length.parse().ok()?))
}
