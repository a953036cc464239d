//! The hunks of a unified patch, read by their counts as `git apply` reads them. Anything may stand in it.

use super::{Hunk, Line, Mark};

/// A hunk that is being read, and how many of its lines are still to come on each side.
struct Open {
    hunk: Hunk,
    old: usize,
    new: usize,
}

pub(super) fn read(patch: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut open: Option<Open> = None;
    for line in patch.strip_suffix('\n').unwrap_or(patch).split('\n') {
        if line.starts_with('\\') {
            let last = match &mut open {
                Some(open) => Some(&mut open.hunk),
                None => hunks.last_mut(),
            };
            if let Some(last) = last.and_then(|hunk| hunk.lines.last_mut()) {
                last.ends = false;
            }
            continue;
        }
        if let Some(mut reading) = open.take() {
            if reading.takes(line) {
                if reading.old > 0 || reading.new > 0 {
                    open = Some(reading);
                } else {
                    hunks.push(reading.hunk);
                }
                continue;
            }
            hunks.push(reading.hunk);
        }
        open = header(line);
    }
    hunks.extend(open.map(|open| open.hunk));
    hunks
}

impl Open {
    fn takes(&mut self, line: &str) -> bool {
        let (mark, text) = match line.chars().next() {
            Some(' ') => (Mark::Same, &line[1..]),
            Some('-') => (Mark::Gone, &line[1..]),
            Some('+') => (Mark::Come, &line[1..]),
            // Some tools strip spaces at the end of lines, and with them the mark of an empty one.
            None => (Mark::Same, ""),
            Some(_) => return false,
        };
        let (old, new) = (usize::from(mark != Mark::Come), usize::from(mark != Mark::Gone));
        let (Some(old), Some(new)) = (self.old.checked_sub(old), self.new.checked_sub(new)) else { return false };
        (self.old, self.new) = (old, new);
        self.hunk.lines.push(Line::plain(mark, text, true));
        true
    }
}

/// `@@ -1,3 +1,4 @@ heading`
fn header(line: &str) -> Option<Open> {
    let (ranges, heading) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let ((old_start, old), (new_start, new)) = (range(old)?, range(new)?);
    let heading = heading.trim().to_owned();
    (old > 0 || new > 0).then(|| Open { hunk: Hunk { old_start, new_start, heading, lines: Vec::new() }, old, new })
}

fn range(text: &str) -> Option<(usize, usize)> {
    let (start, length) = text.split_once(',').unwrap_or((text, "1"));
    Some((start.parse().ok()?, length.parse().ok()?))
}
