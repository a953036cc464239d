//! Clicks on buttons and menus in messages, in the home and in modals, and submissions of modals.

use serde_json::{Map, Value, json};

use super::Slack;
use super::api::complete_view;
use super::blocks::check_view;
use super::hooks::HookContext;
use super::people::Person;
use super::state::{APP_ID, State, VERIFICATION_TOKEN, View};
use crate::sim::slack::control_api::{Ack, UserActionError, acknowledgement};

impl Slack {
    /// Clicks the button (or selects the option) with that label in a message that the person sees.
    /// A confirm dialog is confirmed.
    pub async fn click(&self, user: &str, channel: &str, message: &str, label: &str) -> Result<Ack, UserActionError> {
        let payload = self.write(|state| {
            let person = state.find_acting_person(user)?;
            let place = state.resolve_place(&person, channel)?;
            let target = state.message(place.id(), message).filter(|m| m.is_visible_to(&person.id)).cloned();
            let target =
                target.ok_or_else(|| UserActionError(format!("{user} sees no message {message} in {channel}.")))?;
            let action = action(state, &target.blocks, label)?;
            let context = HookContext {
                channel: place.id().to_owned(),
                user: person.id.clone(),
                source: Some(target.ts.clone()),
            };
            let mut payload = self.interaction(state, "block_actions", &person);
            let is_ephemeral = target.only_to.is_some();
            payload["container"] = json!({
                "type": "message", "message_ts": target.ts, "channel_id": place.id(), "is_ephemeral": is_ephemeral,
            });
            if let Some(thread) = &target.thread {
                payload["container"]["thread_ts"] = json!(thread);
            }
            payload["channel"] = json!({ "id": place.id(), "name": place.name() });
            // Slack does not store the content of an ephemeral message, so the payload does not contain it.
            if !is_ephemeral {
                payload["message"] = target.json(&state.team.0);
            }
            payload["state"] = json!({ "values": {} });
            payload["response_url"] = json!(state.new_hook(&self.setup.origin, context));
            payload["actions"] = json!([action]);
            Ok::<_, UserActionError>(payload)
        })?;
        Ok(acknowledgement(self.send_form("/slack/interactions", &[("payload", &payload.to_string())]).await))
    }

    /// Clicks a button in an open modal, or in the person's App Home if `view` is `home`.
    pub async fn click_view(&self, user: &str, view: &str, label: &str) -> Result<Ack, UserActionError> {
        let payload = self.write(|state| {
            let person = state.find_acting_person(user)?;
            let found = if view == "home" {
                state.homes.get(&person.id).cloned()
            } else {
                find_view(state, &person, view).map(|index| state.views[index].json.clone())
            };
            let found = found.ok_or_else(|| UserActionError(format!("{user} sees no view {view}.")))?;
            let blocks = found["blocks"].as_array().cloned().unwrap_or_default();
            let action = action(state, &blocks, label)?;
            let mut payload = self.interaction(state, "block_actions", &person);
            payload["container"] = json!({ "type": "view", "view_id": found["id"] });
            payload["view"] = found;
            payload["actions"] = json!([action]);
            Ok::<_, UserActionError>(payload)
        })?;
        Ok(acknowledgement(self.send_form("/slack/interactions", &[("payload", &payload.to_string())]).await))
    }

    /// Submits a modal. `values` has each input by its `block_id` or `action_id`: the text, or an option's label or
    /// value. It may also have Slack's own form, `{block_id: {action_id: {..}}}`.
    pub async fn submit(&self, user: &str, view: &str, values: &Value) -> Result<Ack, UserActionError> {
        let payload = self.write(|state| {
            let person = state.find_acting_person(user)?;
            let index = find_view(state, &person, view);
            let index = index.ok_or_else(|| UserActionError(format!("{user} has no open view {view}.")))?;
            let mut filled = state.views[index].json.clone();
            filled["state"] = json!({ "values": fill_in(&filled, values)? });
            let mut payload = self.interaction(state, "view_submission", &person);
            payload["view"] = filled;
            payload["response_urls"] = json!([]);
            Ok::<_, UserActionError>(payload)
        })?;
        let delivered = self.send_form("/slack/interactions", &[("payload", &payload.to_string())]).await;
        let ack = acknowledgement(delivered);
        let id = payload["view"]["id"].as_str().unwrap_or_default();
        self.write(|state| apply_submission_response(state, id, &ack));
        Ok(ack)
    }

    /// The fields that all interactions have.
    fn interaction(&self, state: &mut State, kind: &str, person: &Person) -> Value {
        json!({
            "type": kind,
            "user": {
                "id": person.id, "username": person.name, "name": person.name, "team_id": self.setup.team.0,
            },
            "api_app_id": APP_ID,
            "token": VERIFICATION_TOKEN,
            "trigger_id": state.new_trigger(&person.id),
            "team": self.team_json(),
            "enterprise": null,
            "is_enterprise_install": false,
        })
    }
}

fn find_view(state: &State, person: &Person, id: &str) -> Option<usize> {
    state.views.iter().position(|view| view.user == person.id && view.json["id"] == id)
}

/// The action of the first button or option with that label.
fn action(state: &mut State, blocks: &[Value], label: &str) -> Result<Value, UserActionError> {
    let mut labels: Vec<&str> = Vec::new();
    for block in blocks {
        let elements = block["elements"].as_array().into_iter().flatten();
        for element in elements.chain(block.get("accessory")) {
            let mut action = json!({
                "type": element["type"], "action_id": element["action_id"], "block_id": block["block_id"],
                "action_ts": Value::Null,
            });
            if element["type"] == "button" {
                let text = element["text"]["text"].as_str().unwrap_or_default();
                labels.push(text);
                if text != label {
                    continue;
                }
                action["text"] = json!({ "type": "plain_text", "text": text, "emoji": true });
                for field in ["value", "style"] {
                    if let Some(value) = element.get(field) {
                        action[field] = value.clone();
                    }
                }
            } else if matches!(element["type"].as_str(), Some("static_select" | "overflow" | "radio_buttons")) {
                let Some(option) = options(element).find(|o| o["text"]["text"] == label) else {
                    labels.extend(options(element).filter_map(|o| o["text"]["text"].as_str()));
                    continue;
                };
                action["selected_option"] = option.clone();
            } else {
                continue;
            }
            action["action_ts"] = json!(state.next_ts());
            return Ok(action);
        }
    }
    Err(UserActionError(match labels.as_slice() {
        [] => format!("There is no button {label:?}, nor any other."),
        some => format!("There is no button {label:?}; there are {}.", some.join(", ")),
    }))
}

fn options(element: &Value) -> impl Iterator<Item = &Value> {
    let grouped = element["option_groups"].as_array().into_iter().flatten();
    let grouped = grouped.filter_map(|group| group["options"].as_array()).flatten();
    element["options"].as_array().into_iter().flatten().chain(grouped)
}

/// A modal's `state.values` after a person filled it in. As in Slack, inputs that are not optional are required.
fn fill_in(view: &Value, values: &Value) -> Result<Map<String, Value>, UserActionError> {
    let mut filled = Map::new();
    let inputs = view["blocks"].as_array().into_iter().flatten().filter(|b| b["type"] == "input");
    for block in inputs {
        let element = &block["element"];
        let (Some(block_id), Some(action_id)) = (block["block_id"].as_str(), element["action_id"].as_str()) else {
            continue;
        };
        let submitted = values.get(block_id).or_else(|| values.get(action_id)).unwrap_or(&Value::Null);
        let value = match submitted.get(action_id) {
            Some(complete) => complete.clone(),
            None => build_input_value(element, submitted)?,
        };
        let empty = value.as_object().is_none_or(|v| v.iter().all(|(name, v)| name == "type" || v.is_null()));
        if empty && block["optional"] != true {
            let label = block["label"]["text"].as_str().unwrap_or(block_id);
            return Err(UserActionError(format!(
                "{label:?} must be filled in; give a value for {block_id} or {action_id}."
            )));
        }
        filled.insert(block_id.to_owned(), json!({ action_id: value }));
    }
    Ok(filled)
}

/// The value of one input, in the form of its type.
fn build_input_value(element: &Value, submitted: &Value) -> Result<Value, UserActionError> {
    let kind = element["type"].as_str().unwrap_or_default();
    let pick = |wanted: &Value| {
        let found = options(element).find(|o| o["value"] == *wanted || o["text"]["text"] == *wanted).cloned();
        found.ok_or_else(|| UserActionError(format!("There is no option {wanted}.")))
    };
    let field = match kind {
        "static_select" | "radio_buttons" => {
            let option = if submitted.is_null() { Value::Null } else { pick(submitted)? };
            return Ok(json!({ "type": kind, "selected_option": option }));
        }
        "multi_static_select" | "checkboxes" => {
            let picked = submitted.as_array().into_iter().flatten().map(pick).collect::<Result<Vec<_>, _>>()?;
            return Ok(json!({ "type": kind, "selected_options": picked }));
        }
        "users_select" => "selected_user",
        "channels_select" => "selected_channel",
        "conversations_select" => "selected_conversation",
        "datepicker" => "selected_date",
        "timepicker" => "selected_time",
        _ => "value",
    };
    let value = if submitted == "" { Value::Null } else { submitted.clone() };
    Ok(json!({ "type": kind, field: value }))
}

/// Applies the bot's response to the submission of a modal.
fn apply_submission_response(state: &mut State, id: &str, ack: &Ack) {
    state.changed = true;
    let Some(index) = state.views.iter().position(|view| view.json["id"] == id) else { return };
    if !ack.is_success() {
        state.views[index].errors = json!({ "": "We had some trouble connecting. Try again?" });
        return;
    }
    let user = state.views[index].user.clone();
    match ack.body["response_action"].as_str() {
        Some("errors") => state.views[index].errors = ack.body["errors"].clone(),
        Some("clear") => state.views.retain(|view| view.user != user),
        Some(action @ ("update" | "push")) => {
            let view = ack.body["view"].clone();
            if let Err(invalid) = check_view(&view, "modal") {
                state.views[index].errors = json!({ "": invalid.messages.join("; ") });
            } else if action == "update" {
                state.views[index].json = complete_view(state, view, Some(id));
                state.views[index].errors = json!({});
            } else {
                let json = complete_view(state, view, None);
                state.views.push(View { user, json, errors: json!({}) });
            }
        }
        _ => {
            state.views.remove(index);
        }
    }
}
