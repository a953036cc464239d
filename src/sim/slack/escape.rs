//! Slack's encoding of typed text: mentions become ids; `&`, `<` and `>` become entities.

use super::state::State;

/// Commands contain the name besides the id, messages only the id.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Command,
    Message,
}

pub(super) fn escape(state: &State, text: &str, style: Style) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut at_start_of_word = true;
    while let Some(first) = rest.chars().next() {
        if at_start_of_word && let Some((mention, length)) = mention(state, rest, style) {
            out.push_str(&mention);
            rest = &rest[length..];
            at_start_of_word = false;
            continue;
        }
        match first {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
        at_start_of_word = first.is_whitespace() || "([,;:\"'*_~".contains(first);
        rest = &rest[first.len_utf8()..];
    }
    out
}

/// The mention or link at the start of `text`, and its length.
fn mention(state: &State, text: &str, style: Style) -> Option<(String, usize)> {
    if text.starts_with("https://") || text.starts_with("http://") {
        let length = text.find(|c: char| c.is_whitespace() || "<>|".contains(c)).unwrap_or(text.len());
        return Some((format!("<{}>", text[..length].replace('&', "&amp;")), length));
    }
    let sigil = text.chars().next().filter(|c| matches!(c, '@' | '#'))?;
    let end = text[1..].find(|c: char| !(c.is_alphanumeric() || "._-".contains(c))).map_or(text.len(), |n| n + 1);
    // A name may contain dots and dashes, and a sentence may end after it.
    let mut name = &text[1..end];
    loop {
        if let Some(mention) = find_mention(state, sigil, name, style) {
            return Some((mention, 1 + name.len()));
        }
        name = name.strip_suffix(['.', '-', '_'])?;
    }
}

fn find_mention(state: &State, sigil: char, name: &str, style: Style) -> Option<String> {
    if sigil == '#' {
        let channel = state.channels.iter().find(|c| c.name == name)?;
        return Some(format!("<#{}|{}>", channel.id, channel.name));
    }
    if let Some(person) = state.people.iter().find(|p| p.name == name) {
        return Some(match style {
            Style::Command => format!("<@{}|{}>", person.id, person.name),
            Style::Message => format!("<@{}>", person.id),
        });
    }
    if let Some(group) = state.groups.iter().find(|g| g.handle == name) {
        return Some(format!("<!subteam^{}|@{}>", group.id, group.handle));
    }
    matches!(name, "here" | "channel" | "everyone").then(|| format!("<!{name}>"))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::clock::Clock;
    use crate::sim::slack::people::{Channel, Group, Person};

    #[test]
    fn names_become_ids_and_the_rest_is_escaped() {
        let mut state = State::new(Clock::new_manual(Timestamp::UNIX_EPOCH), ("T".to_owned(), "acme".to_owned()));
        state.people.push(Person { id: "U1".to_owned(), name: "jo.ann".to_owned(), ..Person::default() });
        state.channels.push(Channel { id: "C1".to_owned(), name: "deploys".to_owned(), ..Channel::default() });
        state.groups.push(Group { id: "S1".to_owned(), handle: "devs".to_owned(), members: Vec::new() });
        for (typed, command, message) in [
            ("@gantry list", "<@U0GANTRY|gantry> list", "<@U0GANTRY> list"),
            ("hi @jo.ann.", "hi <@U1|jo.ann>.", "hi <@U1>."),
            ("in #deploys", "in <#C1|deploys>", "in <#C1|deploys>"),
            ("@devs, @here", "<!subteam^S1|@devs>, <!here>", "<!subteam^S1|@devs>, <!here>"),
            ("me@jo.ann @nobody #none", "me@jo.ann @nobody #none", "me@jo.ann @nobody #none"),
            ("a<b & <!channel>", "a&lt;b &amp; &lt;!channel&gt;", "a&lt;b &amp; &lt;!channel&gt;"),
            (
                "see http://x.test/?a=1&b=2 é",
                "see <http://x.test/?a=1&amp;b=2> é",
                "see <http://x.test/?a=1&amp;b=2> é",
            ),
        ] {
            assert_eq!(escape(&state, typed, Style::Command), command, "{typed}");
            assert_eq!(escape(&state, typed, Style::Message), message, "{typed}");
        }
    }
}
