//! `conversations.*`: channels, their members, and direct messages.

use serde_json::{Value, json};

use super::params::Params;
use super::{Answer, chat, invalid_argument};
use crate::sim::slack::Slack;
use crate::sim::slack::people::{Place, direct_json};
use crate::sim::slack::state::State;

pub(super) fn open(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let place = if let Some(channel) = params.text("channel") {
        chat::find_place(state, &channel)?
    } else {
        let users = params.ids("users");
        match users.as_slice() {
            [] => return Err("users_list_not_supplied".into()),
            [user] => {
                let person = state.people.iter().find(|p| p.id == *user).ok_or("user_not_found")?;
                if person.deleted {
                    return Err("user_disabled".into());
                }
                if person.bot {
                    return Err("cannot_dm_bot".into());
                }
                let id = person.id.clone();
                state.open_direct_channel(&id)
            }
            _ => return Err(invalid_argument("the simulator has no direct messages with several people")),
        }
    };
    let Place::Direct { id, person } = place else { return Err("method_not_supported_for_channel_type".into()) };
    let channel = if params.flag("return_im") { direct_json(&id, &person) } else { json!({ "id": id }) };
    Ok(json!({ "channel": channel, "no_op": false, "already_open": false }))
}

pub(super) fn info(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let channel = match chat::find_place(state, &params.required("channel")?)? {
        Place::Channel(channel) => channel.json(state),
        Place::Direct { id, person } => direct_json(&id, &person),
    };
    Ok(json!({ "channel": channel }))
}

pub(super) fn list(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let types = params.text("types").unwrap_or_else(|| "public_channel".to_owned());
    let mut all: Vec<Value> = Vec::new();
    for kind in types.split(',').map(str::trim) {
        match kind {
            "public_channel" => {
                let hidden = params.flag("exclude_archived");
                all.extend(state.channels.iter().filter(|c| !(hidden && c.archived)).map(|c| c.json(state)));
            }
            "private_channel" | "mpim" | "im" => {}
            _ => return Err("invalid_types".into()),
        }
    }
    let (page, next) = params.page(all)?;
    Ok(json!({ "channels": page, "response_metadata": { "next_cursor": next } }))
}

/// `users.conversations` without a `user`: the channels of the bot.
pub(super) fn list_for_bot(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let types = params.text("types").unwrap_or_else(|| "public_channel".to_owned());
    let kinds: Vec<&str> = types.split(',').map(str::trim).collect();
    if kinds.iter().any(|kind| !["public_channel", "private_channel", "mpim", "im"].contains(kind)) {
        return Err("invalid_types".into());
    }
    let hidden = params.flag("exclude_archived");
    let joined = state.channels.iter().filter(|channel| channel.bot_is_member && !(hidden && channel.archived));
    let all: Vec<Value> = if kinds.contains(&"public_channel") {
        joined.map(|channel| channel.json(state)).collect()
    } else {
        Vec::new()
    };
    let (page, next) = params.page(all)?;
    Ok(json!({ "channels": page, "response_metadata": { "next_cursor": next } }))
}

pub(super) fn members(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let members = match chat::find_place(state, &params.required("channel")?)? {
        Place::Channel(channel) => state.members(&channel),
        Place::Direct { person, .. } => vec![person, super::BOT_USER.to_owned()],
    };
    let (page, next) = params.page(members)?;
    Ok(json!({ "members": page, "response_metadata": { "next_cursor": next } }))
}
