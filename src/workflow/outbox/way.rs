//! The ways a message can take: the one it was meant to, then the next best, until Slack takes it.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{TableSupport, Tables};
use crate::domain::message::{Asked, LinkTo, Message, Place, To};
use crate::slack::client::{Client, Known, SendError};
use crate::store::{Store, StoreError};

/// How long a message waits for the one that it leads to, before it looks again.
const BEHIND_ITS_LINK: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Delivered {
    pub(super) at: Option<Place>,
    pub(super) note: Option<String>,
    pub(super) plain: bool,
}

pub(super) async fn deliver(
    store: &Store,
    slack: &Client,
    tables: &Tables,
    mut message: Message,
    now: Timestamp,
) -> Result<Result<Delivered, SendError>, StoreError> {
    let said = match message.key() {
        Some(key) => store.said(key).await?,
        None => None,
    };
    let thread = match &message.to {
        To::Post { thread: Some(key), .. } | To::Person { thread: Some(key), .. } => store.said(key).await?,
        _ => None,
    };
    if let Some(LinkTo { key, only_elsewhere }) = message.link_to.take() {
        let place = store.said(&key).await?.map(|said| said.place);
        if place.is_none() && store.is_spoken(&key).await? {
            // What it leads to is still on its way.
            return Ok(Err(SendError::RateLimited { retry_after: BEHIND_ITS_LINK, everywhere: false }));
        }
        if let (To::Person { channel: Some(channel), .. }, Some(place), true) = (&message.to, &place, only_elsewhere)
            && *channel == place.channel
        {
            return Ok(Ok(Delivered { at: None, note: None, plain: false }));
        }
        let address = match &place {
            Some(place) => match slack.permalink(place).await {
                Err(error @ (SendError::RateLimited { .. } | SendError::Transient(_))) => return Ok(Err(error)),
                found => found.ok(),
            },
            None => None,
        };
        message = message.linked(address.as_deref());
    }
    let (at, mut note) = said.map_or((None, None), |said| (Some(said.place), said.note));
    let mut known = Known { at, thread: thread.map(|parent| parent.place) };

    if let To::Person { response_url, .. } = &mut message.to {
        response_url.take_if(|url| url.until <= now);
    }
    let skip_table = tables.support() == TableSupport::Refused && message.has_table();
    if let Some(plain) = message.plain.take_if(|_| skip_table) {
        message.blocks = plain;
    }
    loop {
        let noted = with_note(&message, note.as_deref());
        match slack.send(&noted, &known).await {
            Ok(sent) => return Ok(Ok(Delivered { at: sent.at, note, plain: sent.plain || skip_table })),
            Err(error) => {
                if !next_way(&mut message.to, &mut known, &mut note, &error) {
                    return Ok(Err(error));
                }
            }
        }
    }
}

/// Changes the way to the next best one. Each step takes a possibility away, so this comes to an end.
fn next_way(to: &mut To, known: &mut Known, note: &mut Option<String>, error: &SendError) -> bool {
    match (to, error) {
        (To::Person { response_url: url @ Some(_), .. }, SendError::UrlSpent) => {
            *url = None;
            true
        }
        (
            To::Person { channel: channel @ Some(_), thread, response_url: None, .. },
            SendError::ChannelUnwritable { .. },
        ) => {
            *channel = None;
            *thread = None;
            known.thread = None;
            true
        }
        (to @ (To::Post { .. } | To::Edit { .. }), SendError::Gone) => {
            let Some(gone) = known.at.take() else { return false };
            if let To::Edit { key } = to {
                *to = To::Post { channel: gone.channel, key: key.clone(), thread: None, asked: None };
            }
            true
        }
        (To::Post { channel, asked, .. }, SendError::ChannelUnwritable { code }) => {
            let Some(Asked { person, channel: theirs }) = asked.take() else { return false };
            *note = Some(why_here(note.as_deref(), channel, code));
            *channel = match theirs {
                Some(theirs) if theirs != *channel => {
                    *asked = Some(Asked { person, channel: None });
                    theirs
                }
                _ => person.as_str().to_owned(),
            };
            *known = Known::default();
            true
        }
        _ => false,
    }
}

fn why_here(before: Option<&str>, channel: &str, code: &str) -> String {
    // The first reason names the channel where people look for the message.
    if let Some(before) = before {
        return before.to_owned();
    }
    let is_id = channel.len() > 8 && channel.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let named = if is_id {
        format!("<#{channel}>")
    } else {
        channel.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    };
    let what_next = match code {
        "not_in_channel" | "channel_not_found" => "Invite me there with `/invite @gantry`.",
        "is_archived" => "It is archived: name another channel in the configuration.",
        _ => "Ask an administrator to let me post there.",
    };
    format!("This is here because I cannot write to {named} (`{code}`). {what_next}")
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
