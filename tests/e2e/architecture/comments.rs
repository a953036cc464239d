//! Finds the `//` comments of a file, and the comment lines with a vague word.

/// Words to avoid in comments: a sentence with one of them seldom has a concrete noun as its subject.
const VAGUE_WORDS: [&str; 5] = ["what", "whoever", "whatever", "whom", "whose"];

/// The numbers of a file's comment lines, and of those that contain a vague word.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CommentLines {
    pub(super) all: usize,
    pub(super) vague: Vec<usize>,
}

/// Counts the comment lines of a text: `//`, `///` and `//!`, alone on a line or behind code.
pub(super) fn count_comment_lines(text: &str) -> CommentLines {
    let comments = find_comments(text);
    let is_next = |one: &(usize, &str), next: &(usize, &str)| one.0 + 1 == next.0;
    let vague = comments.chunk_by(is_next).flat_map(|block| {
        let joined = block.iter().map(|(_, comment)| *comment).collect::<Vec<_>>().join("\n");
        let prose = remove_quotations(&joined);
        let lines: Vec<bool> = prose.split('\n').map(has_vague_word).collect();
        block.iter().zip(lines).filter(|(_, is_vague)| *is_vague).map(|((line, _), _)| *line).collect::<Vec<_>>()
    });
    CommentLines { vague: vague.collect(), all: comments.len() }
}

fn has_vague_word(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| VAGUE_WORDS.iter().any(|vague| word.eq_ignore_ascii_case(vague)))
}

/// Removes code spans and quoted messages from a block of comments, which may go over several lines. The line ends
/// stay. A backtick or a quotation mark that is never closed is an ordinary character.
fn remove_quotations(block: &str) -> String {
    let mut prose = String::new();
    let mut rest = block;
    while let Some(at) = rest.find(['`', '"']) {
        prose.push_str(&rest[..at]);
        rest = &rest[at..];
        let fence = if rest.starts_with('"') { "\"" } else { &rest[..rest.len() - rest.trim_start_matches('`').len()] };
        let inside = &rest[fence.len()..];
        if let Some(end) = inside.find(fence) {
            prose.extend(inside[..end].chars().filter(|c| *c == '\n'));
            rest = &inside[end + fence.len()..];
        } else {
            rest = inside;
        }
    }
    prose.push_str(rest);
    prose
}

/// Line numbers (from 1) and texts of the `//` comments. String literals and block comments are skipped.
fn find_comments(text: &str) -> Vec<(usize, &str)> {
    let bytes = text.as_bytes();
    let (mut found, mut line, mut counted, mut at) = (Vec::new(), 1, 0, 0);
    while at < bytes.len() {
        let rest = &text[at..];
        let length = match bytes[at] {
            b'/' if rest.starts_with("//") => {
                let length = rest.find('\n').unwrap_or(rest.len());
                line += text[counted..at].matches('\n').count();
                counted = at;
                found.push((line, rest[..length].trim_start_matches(['/', '!'])));
                length
            }
            b'/' if rest.starts_with("/*") => find_block_comment_end(rest),
            b'"' => find_string_end(rest),
            b'\'' => find_character_end(rest),
            b'r' if at == 0 || !is_word_byte(bytes[at - 1]) || b"bc".contains(&bytes[at - 1]) => {
                find_raw_string_end(rest)
            }
            first if first.is_ascii() => 1,
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        at += length;
    }
    found
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn find_block_comment_end(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        let Some(next) = rest[at..].find(['/', '*']) else { return rest.len() };
        at += next;
        let step = match rest.as_bytes().get(at..at + 2) {
            Some(b"/*") => {
                depth += 1;
                2
            }
            Some(b"*/") => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            return at;
        }
    }
}

fn find_string_end(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(rest.len(), |end| end + 2)
}

/// The length of a character literal such as `'"'` or `'\''`; 1 for a lifetime.
fn find_character_end(rest: &str) -> usize {
    let mut inside = rest.chars().skip(1);
    match inside.next() {
        Some('\\') => 3 + rest.get(3..).and_then(|after| after.find('\'')).map_or(0, |end| end + 1),
        Some(one) if inside.next() == Some('\'') => 2 + one.len_utf8(),
        _ => 1,
    }
}

/// The length of `r"..."` or `r#"..."#` at the beginning; 1 for any other word that begins with an r.
fn find_raw_string_end(rest: &str) -> usize {
    let marks = rest[1..].len() - rest[1..].trim_start_matches('#').len();
    let Some(inside) = rest[1 + marks..].strip_prefix('"') else { return 1 };
    let end = format!("\"{}", "#".repeat(marks));
    inside.find(&end).map_or(rest.len(), |at| 2 + marks + at + end.len())
}
