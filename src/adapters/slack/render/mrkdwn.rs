//! Builds Slack's mark-up so that text from outside cannot become mark-up: [`Mrkdwn::plain`] and [`Mrkdwn::code`]
//! escape it. Only literals of the program enter unescaped.

use std::fmt::Write;

use jiff::{SignedDuration, Timestamp};

use crate::domain::model::actor::{MemberLabel, PersonId};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mrkdwn(String);

impl Mrkdwn {
    pub fn new(literal: &'static str) -> Self {
        // Most texts continue with a name or two.
        Self::with_capacity(literal.len() + 64).raw(literal)
    }

    /// An empty text with a capacity in bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self(String::with_capacity(bytes))
    }

    /// Appends mark-up of the program.
    #[must_use]
    pub fn raw(mut self, literal: &'static str) -> Self {
        self.0.push_str(literal);
        self
    }

    /// Appends text from outside, escaped, on one line.
    #[must_use]
    pub fn plain(mut self, text: &str) -> Self {
        escape_into(&mut self.0, text, false);
        self
    }

    /// Appends text from outside as code.
    #[must_use]
    pub fn code(mut self, text: &str) -> Self {
        self.0.push('`');
        escape_into(&mut self.0, text, true);
        self.0.push('`');
        self
    }

    /// Appends lines from outside as a block of code.
    #[must_use]
    pub fn code_block(mut self, lines: &str) -> Self {
        self.0.push_str("```\n");
        for line in lines.split('\n') {
            escape_into(&mut self.0, line, true);
            self.0.push('\n');
        }
        self.0.push_str("```");
        self
    }

    /// Appends text from outside in bold.
    #[must_use]
    pub fn bold(mut self, text: &str) -> Self {
        self.0.push('*');
        escape_into(&mut self.0, text, false);
        self.0.push('*');
        self
    }

    #[must_use]
    pub fn person(mut self, person: &PersonId) -> Self {
        self.0.push_str("<@");
        self.0.extend(person.as_str().chars().filter(char::is_ascii_alphanumeric));
        self.0.push('>');
        self
    }

    /// Appends people as the rules name them. Groups are named and not mentioned, because a mention would notify all
    /// members.
    #[must_use]
    pub fn name_people(self, members: &[MemberLabel]) -> Self {
        let mut text = self;
        for (index, member) in members.iter().enumerate() {
            text = match index {
                0 => text,
                last if last + 1 == members.len() => text.raw(" and "),
                _ => text.raw(", "),
            };
            text = match member {
                MemberLabel::Group { handle, .. } | MemberLabel::Handle(handle) => text.plain("@").plain(handle),
                MemberLabel::Person(person) => text.person(person),
                MemberLabel::Team(team) => text.raw("the GitHub team ").code(team),
                MemberLabel::Everyone => text.raw("members of this workspace"),
            };
        }
        text
    }

    /// Appends a mention of people who must act. It notifies all members of a Slack group.
    #[must_use]
    pub fn mention(mut self, member: &MemberLabel) -> Self {
        match member {
            MemberLabel::Group { id, handle } => {
                self.0.push_str("<!subteam^");
                self.0.extend(id.chars().filter(char::is_ascii_alphanumeric));
                self.0.push_str("|@");
                escape_into(&mut self.0, &handle.replace('|', " "), false);
                self.0.push('>');
                self
            }
            other => self.name_people(std::slice::from_ref(other)),
        }
    }

    /// Appends a link, or the text alone if the URL is not an HTTP URL.
    #[must_use]
    pub fn link(mut self, url: &str, text: &str) -> Self {
        let is_http = url.starts_with("https://") || url.starts_with("http://");
        if !is_http || url.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '|')) {
            return self.plain(text);
        }
        self.0.push('<');
        escape_into(&mut self.0, url, false);
        self.0.push('|');
        escape_into(&mut self.0, text, false);
        self.0.push('>');
        self
    }

    /// Appends a time, which Slack shows in the reader's time zone.
    #[must_use]
    pub fn date_time(mut self, at: Timestamp) -> Self {
        let fallback = at.strftime("%Y-%m-%d %H:%M UTC");
        // Writing to a string cannot fail.
        let _ = write!(self.0, "<!date^{}^{{date_short_pretty}} {{time}}|{fallback}>", at.as_second());
        self
    }

    #[must_use]
    pub fn append(mut self, other: &Self) -> Self {
        self.0.push_str(&other.0);
        self
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

fn escape_into(out: &mut String, text: &str, code: bool) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A backtick would end the code; a typographic quote looks similar.
            '`' if code => out.push('\u{2018}'),
            c if is_hidden(c) => {}
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
}

/// Characters that change the reading direction or are invisible can make one name look like another.
pub(super) fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Shortens to `max` characters and keeps both ends, because a tag often ends with its commit.
pub fn truncate_middle(text: &str, max: usize) -> std::borrow::Cow<'_, str> {
    // A text has at most as many characters as bytes.
    if text.len() <= max {
        return text.into();
    }
    let count = text.chars().count();
    if count <= max {
        return text.into();
    }
    let tail = max / 2;
    let head = max.saturating_sub(tail + 1);
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(count - tail).collect();
    format!("{first}\u{2026}{last}").into()
}

/// The duration in the largest fitting unit.
pub fn humanize_duration(duration: SignedDuration) -> (i64, &'static str) {
    let seconds = duration.as_secs().max(0);
    match seconds {
        0..60 => (seconds, "s"),
        60..3600 => (seconds / 60, "min"),
        3600..172_800 => (seconds / 3600, "h"),
        _ => (seconds / 86_400, "d"),
    }
}

/// The time between two timestamps, in the unit of [`humanize_duration`].
pub(super) fn format_elapsed(from: Timestamp, to: Timestamp) -> String {
    let (count, unit) = humanize_duration(to.duration_since(from));
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_from_outside_cannot_become_mark_up() {
        let cases = [
            ("<!channel> hi", "&lt;!channel&gt; hi", "`&lt;!channel&gt; hi`"),
            ("<@U1> & <http://x|y>", "&lt;@U1&gt; &amp; &lt;http://x|y&gt;", "`&lt;@U1&gt; &amp; &lt;http://x|y&gt;`"),
            ("a`b", "a`b", "`a\u{2018}b`"),
            ("two\nlines\u{202e}", "two lines", "`two lines`"),
        ];
        for (text, plain, code) in cases {
            assert_eq!(Mrkdwn::default().plain(text).as_str(), plain);
            assert_eq!(Mrkdwn::default().code(text).as_str(), code);
        }
        let fenced = Mrkdwn::default().code_block("a ```\n<!here>\u{202e}\n\n`");
        assert_eq!(fenced.as_str(), "```\na \u{2018}\u{2018}\u{2018}\n&lt;!here&gt;\n\n\u{2018}\n```");
    }

    #[test]
    fn people_are_named_without_mentioning_groups() {
        let group = MemberLabel::Group { id: "S0RELEASE".to_owned(), handle: "release-managers".to_owned() };
        let team = MemberLabel::Team("acme/release".to_owned());
        let render = |members: &[MemberLabel]| Mrkdwn::default().name_people(members).into_string();
        assert_eq!(
            render(&[group, MemberLabel::Person(PersonId::new("U0BOB")), team]),
            "@release-managers, <@U0BOB> and the GitHub team `acme/release`"
        );
        assert_eq!(render(&[MemberLabel::Handle("x<!here>".to_owned())]), "@x&lt;!here&gt;");
        assert_eq!(render(&[MemberLabel::Everyone]), "members of this workspace");
    }

    #[test]
    fn only_http_urls_become_links() {
        let link = |url| Mrkdwn::default().link(url, "a<b").into_string();
        assert_eq!(link("https://example.com/?a=1&b=2"), "<https://example.com/?a=1&amp;b=2|a&lt;b>");
        for url in ["javascript:alert(1)", "https://x|y>", "https://x y", "!channel"] {
            assert_eq!(link(url), "a&lt;b", "{url}");
        }
    }

    #[test]
    fn a_long_text_keeps_both_ends() {
        assert_eq!(truncate_middle("feature-very-long-name-4f1c2ab", 16), "feature\u{2026}-4f1c2ab");
        assert_eq!(truncate_middle("short", 16), "short");
    }

    #[test]
    fn a_duration_is_shown_in_one_unit() {
        let cases = [
            (0, (0, "s")),
            (59, (59, "s")),
            (60, (1, "min")),
            (3599, (59, "min")),
            (3600, (1, "h")),
            (172_799, (47, "h")),
            (172_800, (2, "d")),
            (-5, (0, "s")),
        ];
        for (seconds, expected) in cases {
            assert_eq!(humanize_duration(SignedDuration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn every_character_is_escaped_as_expected() {
        for c in '\0'..=char::MAX {
            let escaped = Mrkdwn::default().code(&c.to_string());
            let inside = escaped.as_str().trim_matches('`');
            let expected = match c {
                '&' => "&amp;".to_owned(),
                '<' => "&lt;".to_owned(),
                '>' => "&gt;".to_owned(),
                '`' => "\u{2018}".to_owned(),
                '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                    String::new()
                }
                c if c.is_control() => " ".to_owned(),
                c => c.to_string(),
            };
            assert_eq!(inside, expected, "{:x}", u32::from(c));
        }
    }

    proptest! {
        #[test]
        fn escaped_text_has_no_angle_bracket(text in "\\PC{0,60}") {
            prop_assert!(!Mrkdwn::default().plain(&text).as_str().contains(['<', '>']));
            prop_assert!(truncate_middle(&text, 16).chars().count() <= 16);
        }
    }
}
