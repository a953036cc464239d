//! A message to Slack: its text, its blocks and its destination. This file uses no type of a Slack library and renders
//! nothing.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::actor::PersonId;

#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub to: Destination,
    /// The text for notifications and screen readers. It is the whole message if there are no blocks.
    pub text: String,
    pub blocks: Vec<Value>,
    /// The same content in plain blocks, for a workspace that refuses `blocks`.
    pub plain: Option<Vec<Value>>,
    /// The target of [`LINK_PLACEHOLDER`] in the texts. This message waits until the target is posted.
    pub link_to: Option<MessageLink>,
    /// Sent after a post or an edit: into the thread of the message, or into a new thread below it. Private messages
    /// have no file.
    pub file: Option<MessageFile>,
    /// A post into a thread is shown in the channel too.
    pub broadcast: bool,
    /// The edit is mere progress. If the message was edited a moment ago, this edit waits a little, and a newer edit
    /// may replace it.
    pub patient: bool,
    /// The id in the log of the request that this message answers.
    pub request: Option<String>,
}

/// A text that is too long for a message, sent as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageFile {
    /// As in `checkout.diff`.
    pub name: String,
    /// The title above the file.
    pub title: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MessageLink {
    pub key: MessageKey,
    /// Send the message only to readers in another channel: in the target's own channel the link is not needed.
    pub only_elsewhere: bool,
}

/// Stands for an address that is known only when the message is sent. Text from outside cannot contain it, because its
/// brackets are escaped.
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

    /// The key under which the message can be edited later. Private messages have none.
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

    /// Links to a message and is sent only to readers in another channel than that message.
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

    /// Fills the link in, or removes it if there is no address.
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
    let (label, after) = rest.split_once('>').unwrap_or((rest, ""));
    let after = fill_link(after, address);
    match address {
        Some(address) => format!("{before}<{address}|{label}>{after}"),
        None => format!("{before}{label}{after}"),
    }
}

fn map_texts(value: Value, map: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(map(&text)),
        Value::Array(items) => items.into_iter().map(|item| map_texts(item, map)).collect(),
        // Slack shows the text in these blocks verbatim: text from outside is not escaped there, so it could contain
        // the placeholder.
        Value::Object(fields) if matches!(fields.get("type").and_then(Value::as_str), Some("rich_text" | "table")) => {
            Value::Object(fields)
        }
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, map_texts(value, map))).collect(),
        other => other,
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Destination {
    /// A new message with this `key`. A second post with the same key edits the message.
    Post {
        channel: String,
        key: MessageKey,
        thread: Option<MessageKey>,
        /// If Gantry cannot write to the channel: gets the message in the channel of the request, else as a direct
        /// message.
        asked: Option<FallbackRecipient>,
    },
    /// An edit of the message with this key.
    Edit { key: MessageKey },
    /// A private answer: by `response_url` while that is valid, then ephemeral in the channel, then as a direct
    /// message.
    Person {
        person: PersonId,
        channel: Option<String>,
        thread: Option<MessageKey>,
        response_url: Option<ResponseUrl>,
        replace: bool,
    },
    /// A person's App Home; `blocks` is its whole content. Only the newest waiting message is sent.
    Home { person: PersonId, key: MessageKey },
    /// Sent by `response_url` or not at all.
    Reply { response_url: ResponseUrl, in_channel: bool, replace: bool },
}

impl Destination {
    /// A direct message to one person.
    pub fn new_direct(person: &PersonId) -> Self {
        Self::Person { person: person.clone(), channel: None, thread: None, response_url: None, replace: false }
    }
}

/// The person who made the request that the message answers, and the channel of the request.
#[derive(Clone, Debug, PartialEq)]
pub struct FallbackRecipient {
    pub person: PersonId,
    pub channel: Option<String>,
}

/// The key of a message: a name for a message of Gantry, or a location for any other message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageKey(Arc<str>);

impl MessageKey {
    pub fn new(key: &str) -> Self {
        Self(key.into())
    }

    /// The key of a message that is not Gantry's, used to answer in its thread.
    pub fn from_location(location: &MessageLocation) -> Self {
        Self(format!("at:{}:{}", location.channel, location.ts).into())
    }

    /// The location in a key that was made by [`MessageKey::from_location`].
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

/// The location of a message in Slack: the id of its channel and its `ts`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageLocation {
    pub channel: String,
    pub ts: String,
}

/// The address for answers to one request. It must not be logged: anyone who has the address can use it.
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
    fn a_key_made_from_a_location_returns_it_and_a_name_returns_none() {
        let location = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1700000000.000100".into() };
        assert_eq!(MessageKey::from_location(&location).to_location(), Some(location));
        assert_eq!(MessageKey::new("arrival:development:checkout:1.4").to_location(), None);
    }

    #[test]
    fn a_link_is_filled_in_everywhere_or_removed() {
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
    fn a_link_in_a_verbatim_block_is_not_filled_in() {
        let rich = serde_json::json!({ "type": "rich_text", "elements": [{ "text": "<{link}|x>" }] });
        let to = Destination::Edit { key: MessageKey::new("a") };
        let message = Message::new(to, String::new(), vec![rich.clone()]);
        assert_eq!(message.resolve_link(Some("https://acme.slack.com/p1")).blocks, [rich]);
    }

    #[test]
    fn the_debug_form_of_a_response_url_hides_the_address() {
        let url = ResponseUrl { url: "https://hooks.slack.com/commands/secret".into(), until: Timestamp::UNIX_EPOCH };
        assert!(!format!("{url:?}").contains("secret"));
    }
}
