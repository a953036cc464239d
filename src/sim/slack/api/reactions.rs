//! `reactions.*`: emoji under messages.

use serde_json::json;

use super::params::Params;
use super::{Answer, chat};
use crate::sim::slack::Slack;
use crate::sim::slack::message::Reaction;
use crate::sim::slack::state::{BOT_USER, State};

pub(super) fn add(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let name = params.required("name")?;
    // Aliases such as `flag-ua` and `+1` are valid names; colons are not.
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || "_+-'".contains(c)) {
        return Err("invalid_name".into());
    }
    let place = chat::find_writable_place(state, &params.required("channel")?)?;
    let ts = params.required("timestamp")?;
    let message = state.message_mut(place.id(), &ts).filter(|m| m.only_to.is_none()).ok_or("message_not_found")?;
    match message.reactions.iter_mut().find(|r| r.name == name) {
        Some(reaction) if reaction.users.iter().any(|u| u == BOT_USER) => return Err("already_reacted".into()),
        Some(reaction) => reaction.users.push(BOT_USER.to_owned()),
        None => message.reactions.push(Reaction { name, users: vec![BOT_USER.to_owned()] }),
    }
    Ok(json!({}))
}

pub(super) fn remove(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let name = params.required("name")?;
    let place = chat::find_place(state, &params.required("channel")?)?;
    let ts = params.required("timestamp")?;
    let message = state.message_mut(place.id(), &ts).filter(|m| m.only_to.is_none()).ok_or("message_not_found")?;
    let reaction = message.reactions.iter_mut().find(|r| r.name == name).ok_or("no_reaction")?;
    let before = reaction.users.len();
    reaction.users.retain(|u| u != BOT_USER);
    if reaction.users.len() == before {
        return Err("no_reaction".into());
    }
    message.reactions.retain(|r| !r.users.is_empty());
    Ok(json!({}))
}
