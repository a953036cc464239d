//! Splits a command into words.

use std::borrow::Cow;

pub(super) const FILLER_WORDS: &[&str] =
    &["to", "in", "into", "on", "onto", "from", "of", "for", "the", "with", "and", "between", "please", "vs", "->"];

/// No name is longer. The rest of a longer word is not repeated in an answer.
pub(super) const MAX_ECHO_CHARS: usize = 60;

pub(super) fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some((word, after)) = next_word(rest) {
        let word = normalise_word(word);
        if !word.is_empty() {
            words.push(word);
        }
        rest = after;
    }
    words
}

/// The first word as typed, and the text after it.
pub(super) fn next_word(text: &str) -> Option<(&str, &str)> {
    let rest = &text[text.find(|c: char| !is_separator(c))?..];
    // Slack's `<#C01|the label>` is one word, even if the label contains spaces.
    let end = if rest.starts_with('<') { rest.find('>').map(|index| index + 1) } else { None };
    Some(rest.split_at(end.unwrap_or_else(|| rest.find(is_separator).unwrap_or(rest.len()))))
}

pub(super) fn skip_first_word(text: &str) -> &str {
    let mut rest = text;
    while let Some((word, after)) = next_word(rest) {
        rest = after;
        if !normalise_word(word).is_empty() {
            break;
        }
    }
    rest
}

pub(super) fn is_separator(c: char) -> bool {
    // Phones and copied text add zero-width characters, which Unicode does not count as white space.
    c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | ',')
}

/// Removes Slack's escapes and the quotes around the word. A long dash at its start, which phones type for `--`,
/// becomes `--` again.
pub(super) fn normalise_word(word: &str) -> String {
    let word = match word.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')) {
        Some(inner) => match inner.split_once('|') {
            Some((_, label)) => label,
            None => inner.trim_start_matches("http://").trim_start_matches("https://"),
        },
        None => word,
    };
    let word = if word.contains('&') {
        Cow::Owned(word.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    } else {
        Cow::Borrowed(word)
    };
    let word =
        word.trim_matches(|c: char| is_separator(c) || matches!(c, '`' | '"' | '\'' | '*' | '\u{2018}'..='\u{201f}'));
    match word.strip_prefix(['\u{2014}', '\u{2013}']) {
        Some(flag) => format!("--{flag}"),
        None => word.to_owned(),
    }
}

pub(super) fn truncate_word(word: &str) -> String {
    match word.char_indices().nth(MAX_ECHO_CHARS) {
        Some((end, _)) => format!("{}\u{2026}", &word[..end]),
        None => word.to_owned(),
    }
}
