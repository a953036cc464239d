//! `chat.*`: posting, editing and deleting messages.

use serde_json::{Value, json};

use super::params::Params;
use super::{Answer, ApiError};
use crate::sim::slack::Slack;
use crate::sim::slack::blocks::{Invalid, check_message, fill_in_ids};
use crate::sim::slack::message::MessageRecord;
use crate::sim::slack::people::Place;
use crate::sim::slack::state::{BOT_USER, State};

const MAX_TEXT_CHARS: usize = 40_000;
const MAX_UPDATE_CHARS: usize = 4_000;

pub(super) fn post_message(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let place = find_writable_place(state, &params.required("channel")?)?;
    let (text, blocks) = content(state, params, MAX_TEXT_CHARS)?;
    let thread = thread(state, place.id(), params)?;
    let mut message = MessageRecord::new(state.next_ts(), place.id(), BOT_USER);
    message.text = text.unwrap_or_default();
    message.blocks = blocks.unwrap_or_default();
    message.broadcast = thread.is_some() && params.flag("reply_broadcast");
    message.thread = thread;
    message.metadata = metadata(params)?;
    let json = message.json(&state.team.0);
    let ts = state.post(message);
    Ok(json!({ "channel": place.id(), "ts": ts, "message": json }))
}

pub(super) fn post_ephemeral(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let place = find_writable_place(state, &params.required("channel")?)?;
    let person = params.required("user")?;
    let Some(person) = state.people.iter().find(|p| p.id == person).map(|p| p.id.clone()) else {
        return Err("user_not_found".into());
    };
    let is_member = match &place {
        Place::Channel(channel) => state.members(channel).contains(&person),
        Place::Direct { person: owner, .. } => *owner == person,
    };
    if !is_member {
        return Err("user_not_in_channel".into());
    }
    let (text, blocks) = content(state, params, MAX_TEXT_CHARS)?;
    let mut message = MessageRecord::new(state.next_ts(), place.id(), BOT_USER);
    message.text = text.unwrap_or_default();
    message.blocks = blocks.unwrap_or_default();
    message.thread = thread(state, place.id(), params)?;
    message.only_to = Some(person);
    let ts = state.post(message);
    Ok(json!({ "message_ts": ts }))
}

pub(super) fn update(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let place = find_place(state, &params.required("channel")?)?;
    let ts = params.required("ts")?;
    // An ephemeral message cannot be found by its timestamp. It changes only through its `response_url`.
    let old = state.message(place.id(), &ts).filter(|m| m.only_to.is_none()).ok_or("message_not_found")?;
    if old.author != BOT_USER {
        return Err("cant_update_message".into());
    }
    let (old_text, old_blocks) = (old.text.clone(), old.blocks.clone());
    let (text, blocks) = content(state, params, MAX_UPDATE_CHARS)?;
    let (text, blocks) = (text.unwrap_or(old_text), blocks.unwrap_or(old_blocks));
    let metadata = metadata(params)?;
    let edited_at = state.next_ts();
    let team = state.team.0.clone();
    let message = state.message_mut(place.id(), &ts).ok_or("message_not_found")?;
    message.edit(text, blocks, edited_at);
    if metadata.is_some() {
        message.metadata = metadata;
    }
    Ok(json!({ "channel": place.id(), "ts": ts, "text": message.text, "message": message.json(&team) }))
}

pub(super) fn delete(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let place = find_place(state, &params.required("channel")?)?;
    let ts = params.required("ts")?;
    let message = state.message(place.id(), &ts).filter(|m| m.only_to.is_none()).ok_or("message_not_found")?;
    if message.author != BOT_USER {
        return Err("cant_delete_message".into());
    }
    state.delete(place.id(), &ts);
    Ok(json!({ "channel": place.id(), "ts": ts }))
}

pub(super) fn permalink(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let place = find_place(state, &params.required("channel")?)?;
    let ts = params.required("message_ts")?;
    let message = state.message(place.id(), &ts).filter(|m| m.only_to.is_none()).ok_or("message_not_found")?;
    let mut link = format!("https://{}.slack.com/archives/{}/p{}", state.team.1, place.id(), ts.replace('.', ""));
    if let Some(thread) = message.thread.as_ref().filter(|thread| **thread != ts) {
        link = format!("{link}?thread_ts={thread}&cid={}", place.id());
    }
    Ok(json!({ "channel": place.id(), "permalink": link }))
}

pub(super) fn find_place(state: &mut State, channel: &str) -> Result<Place, ApiError> {
    state.place(channel).ok_or_else(|| "channel_not_found".into())
}

/// A place where the bot may write.
pub(super) fn find_writable_place(state: &mut State, channel: &str) -> Result<Place, ApiError> {
    let place = find_place(state, channel)?;
    match &place {
        Place::Channel(channel) if channel.archived => Err("is_archived".into()),
        Place::Channel(channel) if !channel.bot_is_member => Err("not_in_channel".into()),
        _ => Ok(place),
    }
}

/// The thread of a message. A reply to a reply joins the parent's thread.
pub(super) fn thread(state: &State, channel: &str, params: &Params) -> Result<Option<String>, ApiError> {
    let Some(ts) = params.text("thread_ts") else { return Ok(None) };
    let parent = state.message(channel, &ts).ok_or("thread_not_found")?;
    if parent.only_to.is_some() {
        return Err("cannot_reply_to_message".into());
    }
    Ok(Some(parent.thread.clone().unwrap_or(ts)))
}

type Content = (Option<String>, Option<Vec<Value>>);

/// Text and blocks, each `None` if it was not given.
fn content(state: &mut State, params: &Params, max_chars: usize) -> Result<Content, ApiError> {
    let text = params.text("text");
    if text.as_ref().is_some_and(|text| text.chars().count() > max_chars) {
        return Err("msg_too_long".into());
    }
    let blocks = params.structure("blocks").map_err(|_| "invalid_blocks_format")?;
    let blocks = blocks.map(|blocks| accept(state, &blocks)).transpose()?;
    if text.is_none() && blocks.as_ref().is_none_or(Vec::is_empty) {
        return Err("no_text".into());
    }
    Ok((text, blocks))
}

/// Checks blocks and fills in missing ids.
pub(in crate::sim::slack) fn accept(state: &mut State, blocks: &Value) -> Result<Vec<Value>, Invalid> {
    let mut blocks = check_message(blocks, state.refuse_tables)?;
    fill_in_ids(&mut blocks, || state.next_id(""));
    Ok(blocks)
}

fn metadata(params: &Params) -> Result<Option<Value>, ApiError> {
    let Some(metadata) = params.structure("metadata").map_err(|_| "invalid_metadata_format")? else {
        return Ok(None);
    };
    let is_complete = metadata["event_type"].is_string() && metadata["event_payload"].is_object();
    if is_complete { Ok(Some(metadata)) } else { Err("invalid_metadata_schema".into()) }
}
