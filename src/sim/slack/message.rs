//! A message as the simulator stores it, as people see it, and as Slack's API describes it.

use serde::Serialize;
use serde_json::{Value, json};

use super::state::{APP_ID, BOT_ID, BOT_USER, State};

/// A stored message. It has the ids of people and channels.
#[derive(Clone, Debug)]
pub(super) struct MessageRecord {
    pub(super) ts: String,
    pub(super) channel: String,
    pub(super) author: String,
    pub(super) text: String,
    pub(super) blocks: Vec<Value>,
    pub(super) thread: Option<String>,
    /// A reply in a thread that also appears in the channel.
    pub(super) broadcast: bool,
    pub(super) only_to: Option<String>,
    pub(super) metadata: Option<Value>,
    pub(super) files: Vec<Value>,
    pub(super) reactions: Vec<Reaction>,
    pub(super) history: Vec<MessageRevision>,
    pub(super) edited_at: Option<String>,
}

/// The content of a message before an edit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MessageRevision {
    pub text: String,
    pub blocks: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reaction {
    pub name: String,
    pub users: Vec<String>,
}

/// A message as people see it. It has names instead of ids.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Message {
    /// Slack's `ts`: identifies the message within its channel.
    pub id: String,
    pub channel: String,
    pub user: String,
    pub text: String,
    pub blocks: Vec<Value>,
    /// The `id` of the message that this one replies to.
    pub thread: Option<String>,
    /// A reply that appears in the channel as well as in its thread.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub broadcast: bool,
    /// The number of edits. `history` has the earlier contents, oldest first.
    pub edited: usize,
    pub history: Vec<MessageRevision>,
    /// The only person who sees it, if it is private.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_to: Option<String>,
    pub reactions: Vec<Reaction>,
    pub files: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

impl MessageRecord {
    pub(super) fn new(ts: String, channel: &str, author: &str) -> Self {
        Self {
            ts,
            channel: channel.to_owned(),
            author: author.to_owned(),
            text: String::new(),
            blocks: Vec::new(),
            thread: None,
            broadcast: false,
            only_to: None,
            metadata: None,
            files: Vec::new(),
            reactions: Vec::new(),
            history: Vec::new(),
            edited_at: None,
        }
    }

    pub(super) fn edit(&mut self, text: String, blocks: Vec<Value>, ts: String) {
        let before = MessageRevision {
            text: std::mem::replace(&mut self.text, text),
            blocks: std::mem::replace(&mut self.blocks, blocks),
        };
        self.history.push(before);
        self.edited_at = Some(ts);
    }

    pub(super) fn is_visible_to(&self, person: &str) -> bool {
        self.only_to.as_deref().is_none_or(|recipient| recipient == person)
    }

    pub(super) fn to_message(&self, state: &State) -> Message {
        Message {
            id: self.ts.clone(),
            channel: state.place_name(&self.channel),
            user: state.name_of(&self.author),
            text: self.text.clone(),
            blocks: self.blocks.clone(),
            thread: self.thread.clone(),
            broadcast: self.broadcast,
            edited: self.history.len(),
            history: self.history.clone(),
            only_to: self.only_to.as_deref().map(|id| state.name_of(id)),
            reactions: self
                .reactions
                .iter()
                .map(|r| Reaction { name: r.name.clone(), users: r.users.iter().map(|id| state.name_of(id)).collect() })
                .collect(),
            files: self.files.clone(),
            metadata: self.metadata.clone(),
        }
    }

    /// The JSON of Slack's API and payloads.
    pub(super) fn json(&self, team: &str) -> Value {
        let mut message = json!({
            "type": "message",
            "user": self.author,
            "ts": self.ts,
            "text": self.text,
            "team": team,
        });
        if self.author == BOT_USER {
            message["bot_id"] = json!(BOT_ID);
            message["app_id"] = json!(APP_ID);
        }
        if !self.blocks.is_empty() {
            message["blocks"] = json!(self.blocks);
        }
        if let Some(thread) = &self.thread {
            message["thread_ts"] = json!(thread);
        }
        if self.broadcast {
            message["subtype"] = json!("thread_broadcast");
        }
        if let Some(ts) = &self.edited_at {
            message["edited"] = json!({ "user": self.author, "ts": ts });
        }
        if let Some(metadata) = &self.metadata {
            message["metadata"] = metadata.clone();
        }
        if !self.files.is_empty() {
            message["files"] = json!(self.files);
        }
        if !self.reactions.is_empty() {
            message["reactions"] = self
                .reactions
                .iter()
                .map(|r| json!({ "name": r.name, "users": r.users, "count": r.users.len() }))
                .collect();
        }
        message
    }
}
