//! What is said in Slack, and where: the text and blocks of one message and how it reaches people.
//! No type of a Slack library comes in, and nothing here is rendered.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::actor::PersonId;

#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub to: Destination,
    /// What notifications and screen readers get; the whole message where there are no blocks.
    pub text: String,
    pub blocks: Vec<Value>,
    /// The same said with plain blocks, for a workspace that refuses `blocks`.
    pub plain: Option<Vec<Value>>,
    /// The message that [`LINK_PLACEHOLDER`] in the texts leads to; this one waits until that one stands somewhere.
    pub link_to: Option<MessageLink>,
    /// Goes with a post or an edit: into the thread that it answers, else into its own. What is private has none.
    pub file: Option<MessageFile>,
    /// What is posted into a thread also stands in the channel.
    pub broadcast: bool,
    /// Says how far something has come: where the message was changed a moment ago, it waits a little, and a newer text takes
    /// its place.
    pub patient: bool,
    /// What the request that it answers is called in the log.
    pub request: Option<String>,
}

/// A text that is too long for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageFile {
    /// As in `checkout.diff`.
    pub name: String,
    /// What people read above it.
    pub title: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MessageLink {
    pub key: MessageKey,
    /// Whoever reads in the channel where that message stands needs no link to it: then nothing is said.
    pub only_elsewhere: bool,
}

/// Stands for an address that is known only when a message is sent. Text from outside cannot hold it: its brackets
/// are escaped.
pub const LINK_PLACEHOLDER: &str = "<{link}|";

impl Message {
    pub fn new(to: Destination, text: String, blocks: Vec<Value>) -> Self {
        Self {
            to,
            text,
            blocks,
            plain: None,
            link_to: None,
            file: None,
            broadcast: false,
            patient: false,
            request: None,
        }
    }

    /// The name by which the message can be edited later; private messages have none.
    pub fn key(&self) -> Option<&MessageKey> {
        match &self.to {
            Destination::Post { key, .. } | Destination::Edit { key } | Destination::Home { key, .. } => Some(key),
            Destination::Person { .. } | Destination::Reply { .. } => None,
        }
    }

    #[must_use]
    pub fn with_link(self, key: MessageKey) -> Self {
        Self { link_to: Some(MessageLink { key, only_elsewhere: false }), ..self }
    }

    /// Is only said to somebody in another channel than the message that it links to.
    #[must_use]
    pub fn with_link_if_elsewhere(self, key: MessageKey) -> Self {
        Self { link_to: Some(MessageLink { key, only_elsewhere: true }), ..self }
    }

    #[must_use]
    pub fn with_broadcast(self) -> Self {
        Self { broadcast: true, ..self }
    }

    #[must_use]
    pub fn with_coalescing(self) -> Self {
        Self { patient: true, ..self }
    }

    #[must_use]
    pub fn with_file(self, file: MessageFile) -> Self {
        Self { file: Some(file), ..self }
    }

    /// The message with its link filled in, or without it where there is nothing to lead to.
    #[must_use]
    pub fn resolve_link(self, address: Option<&str>) -> Self {
        let fill = |text: &str| fill_link(text, address);
        let blocks = |blocks: Vec<Value>| blocks.into_iter().map(|block| map_texts(block, &fill)).collect();
        Self { text: fill(&self.text), blocks: blocks(self.blocks), plain: self.plain.map(blocks), ..self }
    }

    pub fn has_table(&self) -> bool {
        self.has_block("table")
    }

    pub fn has_rich_text(&self) -> bool {
        self.has_block("rich_text")
    }

    fn has_block(&self, kind: &str) -> bool {
        self.blocks.iter().any(|block| block["type"] == kind)
    }
}

fn fill_link(text: &str, address: Option<&str>) -> String {
    let Some((before, rest)) = text.split_once(LINK_PLACEHOLDER) else { return text.to_owned() };
    let (label, behind) = rest.split_once('>').unwrap_or((rest, ""));
    let behind = fill_link(behind, address);
    match address {
        Some(address) => format!("{before}<{address}|{label}>{behind}"),
        None => format!("{before}{label}{behind}"),
    }
}

fn map_texts(value: Value, map: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(map(&text)),
        Value::Array(items) => items.into_iter().map(|item| map_texts(item, map)).collect(),
        // What stands in these is shown as it is, so nothing in it is escaped and nothing in it is ours to fill in.
        Value::Object(fields) if matches!(fields.get("type").and_then(Value::as_str), Some("rich_text" | "table")) => {
            Value::Object(fields)
        }
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, map_texts(value, map))).collect(),
        other => other,
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Destination {
    /// A new message, known to us by `key`. Posting the same key again edits the message.
    Post {
        channel: String,
        key: MessageKey,
        thread: Option<MessageKey>,
        /// Who gets it where the channel cannot be written.
        asked: Option<FallbackRecipient>,
    },
    /// The message that `key` names.
    Edit { key: MessageKey },
    /// For one person's eyes: by `response_url` while it lives, then ephemeral in the channel, then directly.
    Person {
        person: PersonId,
        channel: Option<String>,
        thread: Option<MessageKey>,
        response_url: Option<ResponseUrl>,
        replace: bool,
    },
    /// A person's App Home; the blocks are all of it. Of several that wait, only the newest counts.
    Home { person: PersonId, key: MessageKey },
    /// By `response_url` or not at all.
    Reply { response_url: ResponseUrl, in_channel: bool, replace: bool },
}

impl Destination {
    /// A direct message to one person.
    pub fn new_direct(person: &PersonId) -> Self {
        Self::Person { person: person.clone(), channel: None, thread: None, response_url: None, replace: false }
    }
}

/// Who asked for what a message tells, and the channel they asked in.
#[derive(Clone, Debug, PartialEq)]
pub struct FallbackRecipient {
    pub person: PersonId,
    pub channel: Option<String>,
}

/// Names a message: one of ours by the name we gave it, or anybody's by its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageKey(Arc<str>);

impl MessageKey {
    pub fn new(key: &str) -> Self {
        Self(key.into())
    }

    /// Names a message that is not ours, so that we can answer in its thread.
    pub fn from_location(place: &MessageLocation) -> Self {
        Self(format!("at:{}:{}", place.channel, place.ts).into())
    }

    /// Where the message stands, for a key that was made by [`MessageKey::from_location`].
    pub fn to_location(&self) -> Option<MessageLocation> {
        let (channel, ts) = self.0.strip_prefix("at:")?.split_once(':')?;
        Some(MessageLocation { channel: channel.to_owned(), ts: ts.to_owned() })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a message stands in Slack: its channel's id and its `ts`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageLocation {
    pub channel: String,
    pub ts: String,
}

/// A way to answer one request, which whoever holds the address can use: it must not be logged.
#[derive(Clone, PartialEq, Eq)]
pub struct ResponseUrl {
    pub url: String,
    pub until: Timestamp,
}

impl fmt::Debug for ResponseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseUrl").field("until", &self.until).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_a_place_leads_back_to_it_and_a_name_to_none() {
        let place = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1700000000.000100".into() };
        assert_eq!(MessageKey::from_location(&place).to_location(), Some(place));
        assert_eq!(MessageKey::new("arrival:development:checkout:1.4").to_location(), None);
    }

    #[test]
    fn a_link_is_filled_in_wherever_it_stands_or_left_out() {
        let message = Message::new(
            Destination::Edit { key: MessageKey::new("a") },
            "see <{link}|the card>, <{link}|there>".into(),
            vec![serde_json::json!({ "type": "section", "text": { "text": "<{link}|the card>!" } })],
        );
        let linked = message.clone().resolve_link(Some("https://acme.slack.com/p1"));
        assert_eq!(linked.text, "see <https://acme.slack.com/p1|the card>, <https://acme.slack.com/p1|there>");
        assert_eq!(linked.blocks[0]["text"]["text"], "<https://acme.slack.com/p1|the card>!");
        assert_eq!(message.resolve_link(None).text, "see the card, there");
    }

    #[test]
    fn what_is_shown_as_it_is_is_not_searched_for_a_link() {
        let rich = serde_json::json!({ "type": "rich_text", "elements": [{ "text": "<{link}|x>" }] });
        let to = Destination::Edit { key: MessageKey::new("a") };
        let message = Message::new(to, String::new(), vec![rich.clone()]);
        assert_eq!(message.resolve_link(Some("https://acme.slack.com/p1")).blocks, [rich]);
    }

    #[test]
    fn a_response_url_is_not_shown_where_things_are_logged() {
        let url = ResponseUrl { url: "https://hooks.slack.com/commands/secret".into(), until: Timestamp::UNIX_EPOCH };
        assert!(!format!("{url:?}").contains("secret"));
    }
}
