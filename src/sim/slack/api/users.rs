//! `users.*` and `usergroups.*`: people and their groups.

use serde_json::{Value, json};

use super::Answer;
use super::params::Params;
use crate::sim::slack::Slack;
use crate::sim::slack::state::State;

pub(super) fn info(slack: &Slack, state: &mut State, params: &Params) -> Answer {
    let id = params.required("user")?;
    let person = state.people.iter().find(|p| p.id == id).ok_or("user_not_found")?;
    let mut user = person.json(&state.team.0);
    if slack.setup.manifest.as_ref().is_some_and(|manifest| !manifest.scopes.contains("users:read.email")) {
        user["profile"].as_object_mut().map(|profile| profile.remove("email"));
    }
    Ok(json!({ "user": user }))
}

pub(super) fn list(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let all: Vec<Value> = state.people.iter().map(|p| p.json(&state.team.0)).collect();
    let (page, next) = params.page(all)?;
    let now = state.now().as_second();
    Ok(json!({ "members": page, "cache_ts": now, "response_metadata": { "next_cursor": next } }))
}

pub(super) fn by_email(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let email = params.required("email")?;
    let person = state.people.iter().find(|p| !p.bot && !p.deleted && p.email.eq_ignore_ascii_case(&email));
    let person = person.ok_or("users_not_found")?;
    Ok(json!({ "user": person.json(&state.team.0) }))
}

pub(super) fn groups(state: &State, params: &Params) -> Value {
    let with_members = params.flag("include_users");
    let groups: Vec<Value> = state.groups.iter().map(|g| g.json(&state.team.0, with_members)).collect();
    json!({ "usergroups": groups })
}

pub(super) fn group_members(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let id = params.required("usergroup")?;
    let group = state.groups.iter().find(|g| g.id == id).ok_or("no_such_subteam")?;
    Ok(json!({ "users": group.members }))
}
