//! Sends one message: to its destination, then to the next fallback, until Slack accepts it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::adapters::slack::client::{Client, PostedPlaces, SendError};
use crate::adapters::store::{Store, StoreError};
use crate::domain::model::message::{
    Destination, FallbackRecipient, Message, MessageKey, MessageLink, MessageLocation,
};
use crate::workflow::facts::table_support::{TableSupport, TableSupportCache};

/// The pause before the next try while the message that is linked to is not posted yet.
const LINK_RETRY_DELAY: Duration = Duration::from_millis(500);

/// A message in a channel waits no longer than this for the message that it links to.
const LINK_WAIT_LIMIT: SignedDuration = SignedDuration::from_secs(30);

#[derive(Debug)]
pub(crate) struct SentMessage {
    /// `None`: the message was skipped, or Slack gave no location.
    pub(crate) location: Option<MessageLocation>,
    /// The note in the message that explains a fallback destination.
    pub(crate) note: Option<String>,
    /// The plain blocks were sent, because Slack refuses the others.
    pub(crate) is_plain: bool,
    /// The message with the file, which Slack accepts only as a message of its own.
    pub(crate) file_message: Option<Message>,
    /// Why the file was dropped.
    pub(crate) file_error: Option<String>,
}

impl SentMessage {
    fn new_skipped() -> Self {
        Self { location: None, note: None, is_plain: false, file_message: None, file_error: None }
    }
}

pub(crate) async fn send_with_fallbacks(
    store: &Store,
    slack: &Client,
    tables: &TableSupportCache,
    mut message: Message,
    created_at: Timestamp,
    now: Timestamp,
) -> Result<Result<SentMessage, SendError>, StoreError> {
    let posted = match message.key() {
        Some(key) => store.find_posted_message(key).await?,
        None => None,
    };
    let thread = match &message.to {
        Destination::Post { thread: Some(key), .. } | Destination::Person { thread: Some(key), .. } => {
            store.find_posted_message(key).await?
        }
        _ => None,
    };
    // A private answer delays only its reader.
    let may_wait = !matches!(message.to, Destination::Post { .. }) || now.duration_since(created_at) < LINK_WAIT_LIMIT;
    if let Some(MessageLink { key, only_elsewhere }) = message.link_to.take() {
        let location = store.find_posted_message(&key).await?.map(|linked| linked.location);
        if location.is_none() && may_wait && store.is_posted_or_queued(&key).await? {
            // The linked message is still queued. In a channel the wait is limited, because other messages wait behind
            // this one.
            return Ok(Err(SendError::RateLimited { retry_after: LINK_RETRY_DELAY, is_workspace_wide: false }));
        }
        if let (Destination::Person { channel: Some(channel), .. }, Some(location), true) =
            (&message.to, &location, only_elsewhere)
            && *channel == location.channel
        {
            return Ok(Ok(SentMessage::new_skipped()));
        }
        let link = match &location {
            Some(location) => match slack.fetch_permalink(location).await {
                Err(error @ (SendError::RateLimited { .. } | SendError::Transient(_) | SendError::Unauthorised(_))) => {
                    return Ok(Err(error));
                }
                found => found.ok(),
            },
            None => None,
        };
        message = message.resolve_link(link.as_deref());
    }
    let (location, mut note) = posted.map_or((None, None), |earlier| (Some(earlier.location), earlier.note));
    let mut places = PostedPlaces { message: location, thread: thread.map(|parent| parent.location) };

    if let Destination::Person { response_url, .. } = &mut message.to {
        response_url.take_if(|url| url.until <= now);
    }
    let skip_table = tables.support() == TableSupport::Refused && message.has_table();
    if let Some(plain_blocks) = message.plain.take_if(|_| skip_table) {
        message.blocks = plain_blocks;
    }
    let mut file_error = None;
    loop {
        let noted = with_note(&message, note.as_deref());
        match slack.send_message(&noted, &places).await {
            Ok(sent) => {
                let file_message =
                    sent.place.as_ref().and_then(|location| build_file_message(&message, location, note.is_some()));
                let is_plain = sent.used_fallback || skip_table;
                return Ok(Ok(SentMessage { location: sent.place, note, is_plain, file_message, file_error }));
            }
            Err(SendError::FileRefused(reason)) if message.file.is_some() => {
                message = replace_file_with_note(message, &reason);
                file_error = Some(reason);
            }
            Err(error) => {
                if !apply_next_fallback(&mut message.to, &mut places, &mut note, &error) {
                    return Ok(Err(error));
                }
            }
        }
    }
}

/// The message with the file, for the thread of the message that was posted at `location`. `is_fallback`: that message
/// was posted to a fallback.
fn build_file_message(message: &Message, location: &MessageLocation, is_fallback: bool) -> Option<Message> {
    let file = message.file.clone()?;
    let (key, thread) = match &message.to {
        Destination::Post { key, thread, .. } => (key, thread.clone().filter(|_| !is_fallback)),
        Destination::Edit { key } => (key, None),
        Destination::Person { .. } | Destination::Reply { .. } | Destination::Home { .. } => return None,
    };
    let to = Destination::Post {
        channel: location.channel.clone(),
        key: MessageKey::new(&format!("{key}:file")),
        thread: Some(thread.unwrap_or_else(|| key.clone())),
        asked: None,
    };
    let text = escape_mrkdwn(&file.title);
    Some(Message::new(to, text, vec![]).with_file(file))
}

/// Removes a refused file, and adds a line with the reason to the text.
fn replace_file_with_note(mut message: Message, reason: &str) -> Message {
    let Some(file) = message.file.take() else { return message };
    let next_step = match reason {
        "missing_scope" => " An administrator can give me the scope `files:write`.",
        _ => "",
    };
    let note = format!("I could not attach {}: {}.{next_step}", escape_mrkdwn(&file.name), escape_mrkdwn(reason));
    message.text = format!("{}\n{note}", message.text);
    message
}

/// Changes the destination to the next fallback. Each call removes one possibility, so the fallbacks end. `false`: none
/// is left.
fn apply_next_fallback(
    to: &mut Destination,
    places: &mut PostedPlaces,
    note: &mut Option<String>,
    error: &SendError,
) -> bool {
    match (to, error) {
        (Destination::Person { response_url: url @ Some(_), .. }, SendError::UrlSpent) => {
            *url = None;
            true
        }
        (
            Destination::Person { channel: channel @ Some(_), thread, response_url: None, .. },
            SendError::ChannelUnwritable { .. },
        ) => {
            *channel = None;
            *thread = None;
            places.thread = None;
            true
        }
        (to @ (Destination::Post { .. } | Destination::Edit { .. }), SendError::MessageGone) => {
            let Some(gone) = places.message.take() else { return false };
            if let Destination::Edit { key } = to {
                *to = Destination::Post { channel: gone.channel, key: key.clone(), thread: None, asked: None };
            }
            true
        }
        (Destination::Post { channel, asked, .. }, SendError::ChannelUnwritable { code }) => {
            let Some(FallbackRecipient { person, channel: fallback_channel }) = asked.take() else { return false };
            *note = Some(explain_fallback(note.as_deref(), channel, code));
            *channel = match fallback_channel {
                Some(fallback_channel) if fallback_channel != *channel => {
                    *asked = Some(FallbackRecipient { person, channel: None });
                    fallback_channel
                }
                _ => person.as_str().to_owned(),
            };
            *places = PostedPlaces::default();
            true
        }
        _ => false,
    }
}

fn explain_fallback(earlier: Option<&str>, channel: &str, code: &str) -> String {
    // The first reason names the channel where people look for the message.
    if let Some(earlier) = earlier {
        return earlier.to_owned();
    }
    let is_id = channel.len() > 8 && channel.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let channel_link = if is_id { format!("<#{channel}>") } else { escape_mrkdwn(channel) };
    let next_step = match code {
        "not_in_channel" | "channel_not_found" => "Invite me there with `/invite @gantry`.",
        "is_archived" => "It is archived: name another channel in the configuration.",
        _ => "Ask an administrator to let me post there.",
    };
    format!("This is here because I cannot write to {channel_link} (`{code}`). {next_step}")
}

fn escape_mrkdwn(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn with_note(message: &Message, note: Option<&str>) -> Message {
    let mut message = message.clone();
    if let Some(note) = note {
        let block = json!({ "type": "context", "elements": [{ "type": "mrkdwn", "text": note }] });
        let add = |blocks: &mut Vec<Value>| blocks.insert(0, block.clone());
        if message.blocks.is_empty() {
            message.text = format!("{note}\n{}", message.text);
        } else {
            add(&mut message.blocks);
            message.plain.as_mut().map(add).unwrap_or_default();
        }
    }
    message
}
