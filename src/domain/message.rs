//! What is said in Slack, and where: the text and blocks of one message and how it reaches people.
//! No type of a Slack library comes in, and nothing here is rendered.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::actor::PersonId;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub to: To,
    /// What notifications and screen readers get; the whole message where there are no blocks.
    pub text: String,
    pub blocks: Vec<Value>,
    /// The same said with plain blocks, for a workspace that refuses `blocks`.
    pub plain: Option<Vec<Value>>,
}

impl Message {
    /// The name by which the message can be edited later; private messages have none.
    pub fn key(&self) -> Option<&MessageKey> {
        match &self.to {
            To::Post { key, .. } | To::Edit { key } => Some(key),
            To::Person { .. } | To::Reply { .. } => None,
        }
    }

    pub fn has_table(&self) -> bool {
        self.blocks.iter().any(|block| block["type"] == "table")
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum To {
    /// A new message, known to us by `key`. Posting the same key again edits the message.
    Post {
        channel: String,
        key: MessageKey,
        thread: Option<MessageKey>,
        /// Who gets it where the channel cannot be written.
        asked: Option<Asked>,
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
    /// By `response_url` or not at all.
    Reply { response_url: ResponseUrl, in_channel: bool, replace: bool },
}

/// Who asked for what a message tells, and the channel they asked in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
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
    pub fn at(place: &Place) -> Self {
        Self(format!("at:{}:{}", place.channel, place.ts).into())
    }

    /// Where the message stands, for a key that was made by [`MessageKey::at`].
    pub fn place(&self) -> Option<Place> {
        let (channel, ts) = self.0.strip_prefix("at:")?.split_once(':')?;
        Some(Place { channel: channel.to_owned(), ts: ts.to_owned() })
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
pub struct Place {
    pub channel: String,
    pub ts: String,
}

/// A way to answer one request, which whoever holds the address can use: it must not be logged.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
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
        let place = Place { channel: "C0DEPLOYS".into(), ts: "1700000000.000100".into() };
        assert_eq!(MessageKey::at(&place).place(), Some(place));
        assert_eq!(MessageKey::new("arrival:development:checkout:1.4").place(), None);
    }

    #[test]
    fn a_response_url_is_not_shown_where_things_are_logged() {
        let url = ResponseUrl { url: "https://hooks.slack.com/commands/secret".into(), until: Timestamp::UNIX_EPOCH };
        assert!(!format!("{url:?}").contains("secret"));
    }
}
