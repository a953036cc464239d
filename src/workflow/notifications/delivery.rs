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
    pub(crate) place: Option<MessageLocation>,
    pub(crate) note: Option<String>,
    pub(crate) is_plain: bool,
    /// The message with the file, which Slack accepts only as a message of its own.
    pub(crate) file_message: Option<Message>,
    /// Why the file was dropped.
    pub(crate) file_error: Option<String>,
}

impl SentMessage {
    fn new_skipped() -> Self {
        Self { place: None, note: None, is_plain: false, file_message: None, file_error: None }
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
        let place = store.find_posted_message(&key).await?.map(|said| said.location);
        if place.is_none() && may_wait && store.is_posted_or_queued(&key).await? {
            // The linked message is still queued. The wait is limited, because other messages wait behind this one.
            return Ok(Err(SendError::RateLimited { retry_after: LINK_RETRY_DELAY, is_workspace_wide: false }));
        }
        if let (Destination::Person { channel: Some(channel), .. }, Some(place), true) =
            (&message.to, &place, only_elsewhere)
            && *channel == place.channel
        {
            return Ok(Ok(SentMessage::new_skipped()));
        }
        let address = match &place {
            Some(place) => match slack.fetch_permalink(place).await {
                Err(error @ (SendError::RateLimited { .. } | SendError::Transient(_) | SendError::Unauthorised(_))) => {
                    return Ok(Err(error));
                }
                found => found.ok(),
            },
            None => None,
        };
        message = message.resolve_link(address.as_deref());
    }
    let (at, mut note) = posted.map_or((None, None), |said| (Some(said.location), said.note));
    let mut known = PostedPlaces { message: at, thread: thread.map(|parent| parent.location) };

    if let Destination::Person { response_url, .. } = &mut message.to {
        response_url.take_if(|url| url.until <= now);
    }
    let skip_table = tables.support() == TableSupport::Refused && message.has_table();
    if let Some(plain) = message.plain.take_if(|_| skip_table) {
        message.blocks = plain;
    }
    let mut refused_file = None;
    loop {
        let noted = with_note(&message, note.as_deref());
        match slack.send_message(&noted, &known).await {
            Ok(sent) => {
                let left = sent.place.as_ref().and_then(|at| build_file_message(&message, at, note.is_some()));
                let plain = sent.used_fallback || skip_table;
                return Ok(Ok(SentMessage {
                    place: sent.place,
                    note,
                    is_plain: plain,
                    file_message: left,
                    file_error: refused_file,
                }));
            }
            Err(SendError::FileRefused(why)) if message.file.is_some() => {
                message = replace_file_with_note(message, &why);
                refused_file = Some(why);
            }
            Err(error) => {
                if !apply_next_fallback(&mut message.to, &mut known, &mut note, &error) {
                    return Ok(Err(error));
                }
            }
        }
    }
}

/// The message with the file, for the thread of the message that was posted at `at`. `elsewhere`: that message was
/// posted to a fallback.
fn build_file_message(message: &Message, at: &MessageLocation, elsewhere: bool) -> Option<Message> {
    let file = message.file.clone()?;
    let (key, thread) = match &message.to {
        Destination::Post { key, thread, .. } => (key, thread.clone().filter(|_| !elsewhere)),
        Destination::Edit { key } => (key, None),
        Destination::Person { .. } | Destination::Reply { .. } | Destination::Home { .. } => return None,
    };
    let to = Destination::Post {
        channel: at.channel.clone(),
        key: MessageKey::new(&format!("{key}:file")),
        thread: Some(thread.unwrap_or_else(|| key.clone())),
        asked: None,
    };
    let text = escape_mrkdwn(&file.title);
    Some(Message::new(to, text, vec![]).with_file(file))
}

/// Removes a refused file, and adds a line with the reason to the text.
fn replace_file_with_note(mut message: Message, why: &str) -> Message {
    let Some(file) = message.file.take() else { return message };
    let what_next = match why {
        "missing_scope" => " An administrator can give me the scope `files:write`.",
        _ => "",
    };
    let sorry = format!("I could not attach {}: {}.{what_next}", escape_mrkdwn(&file.name), escape_mrkdwn(why));
    message.text = format!("{}\n{sorry}", message.text);
    message
}

/// Changes the destination to the next fallback. Each call removes one possibility, so the fallbacks end. `false`: none
/// is left.
fn apply_next_fallback(
    to: &mut Destination,
    known: &mut PostedPlaces,
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
            known.thread = None;
            true
        }
        (to @ (Destination::Post { .. } | Destination::Edit { .. }), SendError::MessageGone) => {
            let Some(gone) = known.message.take() else { return false };
            if let Destination::Edit { key } = to {
                *to = Destination::Post { channel: gone.channel, key: key.clone(), thread: None, asked: None };
            }
            true
        }
        (Destination::Post { channel, asked, .. }, SendError::ChannelUnwritable { code }) => {
            let Some(FallbackRecipient { person, channel: theirs }) = asked.take() else { return false };
            *note = Some(explain_fallback(note.as_deref(), channel, code));
            *channel = match theirs {
                Some(theirs) if theirs != *channel => {
                    *asked = Some(FallbackRecipient { person, channel: None });
                    theirs
                }
                _ => person.as_str().to_owned(),
            };
            *known = PostedPlaces::default();
            true
        }
        _ => false,
    }
}

fn explain_fallback(before: Option<&str>, channel: &str, code: &str) -> String {
    // The first reason names the channel where people look for the message.
    if let Some(before) = before {
        return before.to_owned();
    }
    let is_id = channel.len() > 8 && channel.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let named = if is_id { format!("<#{channel}>") } else { escape_mrkdwn(channel) };
    let what_next = match code {
        "not_in_channel" | "channel_not_found" => "Invite me there with `/invite @gantry`.",
        "is_archived" => "It is archived: name another channel in the configuration.",
        _ => "Ask an administrator to let me post there.",
    };
    format!("This is here because I cannot write to {named} (`{code}`). {what_next}")
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
