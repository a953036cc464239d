//! `views.*`: modals and the App Home.

use serde_json::{Value, json};

use super::params::Params;
use super::{Answer, ApiError, invalid_argument};
use crate::sim::slack::Slack;
use crate::sim::slack::blocks::{check_view, fill_in_ids};
use crate::sim::slack::state::{APP_ID, BOT_ID, State, View};

pub(super) fn open(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let trigger = params.required("trigger_id")?;
    let view = parse_view(params)?;
    check_view(&view, "modal")?;
    if let Some(external_id) = view.get("external_id")
        && state.views.iter().any(|open| open.json.get("external_id") == Some(external_id))
    {
        return Err(invalid_argument("`external_id` is not unique [json-pointer:/view/external_id]"));
    }
    let user = state.exchange(&trigger)?;
    let json = complete_view(state, view, None);
    state.views.push(View { user, json: json.clone(), errors: json!({}) });
    state.changed = true;
    Ok(json!({ "view": json }))
}

pub(super) fn update(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let view = parse_view(params)?;
    check_view(&view, "modal")?;
    let (field, wanted_id) = match (params.text("view_id"), params.text("external_id")) {
        (Some(id), _) => ("id", id),
        (None, Some(id)) => ("external_id", id),
        (None, None) => return Err(invalid_argument("missing required field: view_id or external_id")),
    };
    let index = state.views.iter().position(|open| open.json[field] == wanted_id).ok_or("not_found")?;
    let old = state.views[index].json.clone();
    if params.text("hash").is_some_and(|hash| old["hash"] != hash) {
        return Err("hash_conflict".into());
    }
    let json = complete_view(state, view, old["id"].as_str());
    state.views[index].json = json.clone();
    state.views[index].errors = json!({});
    state.changed = true;
    Ok(json!({ "view": json }))
}

pub(super) fn publish(_: &Slack, state: &mut State, params: &Params) -> Answer {
    let user = params.required("user_id")?;
    let view = parse_view(params)?;
    check_view(&view, "home")?;
    if !state.people.iter().any(|p| p.id == user && !p.bot) {
        return Err("user_not_found".into());
    }
    let old = state.homes.get(&user).cloned();
    if let (Some(hash), Some(old)) = (params.text("hash"), &old)
        && old["hash"] != hash
    {
        return Err("hash_conflict".into());
    }
    let json = complete_view(state, view, old.as_ref().and_then(|old| old["id"].as_str()));
    state.homes.insert(user, json.clone());
    state.changed = true;
    Ok(json!({ "view": json }))
}

fn parse_view(params: &Params) -> Result<Value, ApiError> {
    let view = params.structure("view").map_err(|_| invalid_argument("`view` is not JSON [json-pointer:/view]"))?;
    view.ok_or_else(|| invalid_argument("missing required field: view"))
}

/// The view as Slack returns it: with ids, a hash and an empty state.
pub(in crate::sim::slack) fn complete_view(state: &mut State, mut view: Value, id: Option<&str>) -> Value {
    let id = id.map_or_else(|| state.next_id("V"), str::to_owned);
    let hash = format!("{}.{}", state.now().as_second(), state.next_id("h"));
    if let Some(blocks) = view["blocks"].as_array_mut() {
        fill_in_ids(blocks, || state.next_id(""));
    }
    view["id"] = json!(id);
    view["team_id"] = json!(state.team.0);
    view["hash"] = json!(hash);
    view["root_view_id"] = json!(id);
    view["previous_view_id"] = Value::Null;
    view["app_id"] = json!(APP_ID);
    view["bot_id"] = json!(BOT_ID);
    view["state"] = json!({ "values": {} });
    for text in ["private_metadata", "callback_id"] {
        if view.get(text).is_none() {
            view[text] = json!("");
        }
    }
    view
}
