//! `response_url`: answers to a command or a click without a token. It works five times within half an hour.
//! It is the only way to change an ephemeral message.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Slack;
use super::api::{accept_blocks, unavailable_response};
use super::message::MessageRecord;
use super::state::{BOT_USER, State};
use crate::sim::faults::Fault;

const MAX_USES: u8 = 5;
const LIFETIME: SignedDuration = SignedDuration::from_mins(30);
const MAX_TEXT_CHARS: usize = 40_000;

#[derive(Clone, Debug)]
pub(super) struct Hook {
    pub(super) context: HookContext,
    uses_left: u8,
    expires: Timestamp,
    /// Set when the acknowledgement of the command is shown.
    acknowledged: Arc<watch::Sender<bool>>,
}

/// The context of an answer: the user, the channel, and the message that was clicked.
#[derive(Clone, Debug)]
pub(super) struct HookContext {
    pub(super) channel: String,
    pub(super) user: String,
    pub(super) source: Option<String>,
}

impl State {
    pub(super) fn new_hook(&mut self, origin: &str, context: HookContext) -> String {
        let token = self.next_id("H");
        let expires = self.now() + LIFETIME;
        let acknowledged = Arc::new(watch::channel(true).0);
        self.hooks.insert(token.clone(), Hook { context, uses_left: MAX_USES, expires, acknowledged });
        format!("{origin}/sim/slack/hooks/{token}")
    }

    /// Like `new_hook`, for a command. Its answers are shown after its acknowledgement, even if they arrive earlier.
    /// The caller sets the returned value when the acknowledgement is shown.
    pub(super) fn new_command_hook(
        &mut self,
        origin: &str,
        context: HookContext,
    ) -> (String, Arc<watch::Sender<bool>>) {
        let url = self.new_hook(origin, context);
        let acknowledged = Arc::new(watch::channel(false).0);
        let token = url.rsplit('/').next().unwrap_or_default();
        if let Some(hook) = self.hooks.get_mut(token) {
            hook.acknowledged = acknowledged.clone();
        }
        (url, acknowledged)
    }

    /// Shows an answer to a command or a click. The error is Slack's code.
    pub(super) fn show(&mut self, context: &HookContext, answer: &Value) -> Result<(), &'static str> {
        let source = context.source.as_deref();
        if answer["delete_original"] == true {
            if let Some(source) = source {
                self.delete(&context.channel, source);
            }
            return Ok(());
        }
        let text = answer["text"].as_str().unwrap_or_default().to_owned();
        if text.chars().count() > MAX_TEXT_CHARS {
            return Err("msg_too_long");
        }
        let blocks = match answer.get("blocks") {
            None | Some(Value::Null) => Vec::new(),
            // As in forms, blocks may be JSON inside a string.
            Some(Value::String(text)) => {
                let blocks = serde_json::from_str(text).map_err(|_| "invalid_blocks_format")?;
                accept_blocks(self, &blocks).map_err(|invalid| invalid.code)?
            }
            Some(blocks) => accept_blocks(self, blocks).map_err(|invalid| invalid.code)?,
        };
        if text.is_empty() && blocks.is_empty() {
            return Err("no_text");
        }
        let ts = self.next_ts();
        if answer["replace_original"] == true
            && let Some(message) = source.and_then(|source| self.message_mut(&context.channel, source))
        {
            message.edit(text, blocks, ts);
            return Ok(());
        }
        let mut message = MessageRecord::new(ts, &context.channel, BOT_USER);
        message.text = text;
        message.blocks = blocks;
        message.thread = answer["thread_ts"].as_str().map(str::to_owned);
        message.only_to = (answer["response_type"] != "in_channel").then(|| context.user.clone());
        self.post(message);
        Ok(())
    }
}

pub(super) async fn respond(Shared(slack): Shared<Slack>, Path(token): Path<String>, body: Bytes) -> Response {
    let acknowledged = slack.read(|state| state.hooks.get(&token).map(|hook| hook.acknowledged.subscribe()));
    if let Some(mut acknowledged) = acknowledged {
        let shown = acknowledged.wait_for(|shown| *shown);
        // At most as long as Slack waits for the acknowledgement.
        let max_wait = slack.lock_outbound().response_timeout;
        let _ = tokio::time::timeout(max_wait, shown).await;
    }
    slack.write(|state| {
        let payload: Option<Value> = serde_json::from_slice(&body).ok().filter(Value::is_object);
        let (response, answer) = answer(&slack, state, &token, payload.as_ref());
        state.record("response_url", "POST", payload.unwrap_or_default(), answer);
        response
    })
}

fn answer(slack: &Slack, state: &mut State, token: &str, payload: Option<&Value>) -> (Response, &'static str) {
    if slack.setup.faults.take_if_armed(Fault::SlackDown, None, None) {
        return (unavailable_response(), "503");
    }
    let now = state.now();
    let Some(hook) = state.hooks.get_mut(token) else { return error_response(StatusCode::NOT_FOUND, "no_such_url") };
    if now > hook.expires {
        return error_response(StatusCode::NOT_FOUND, "expired_url");
    }
    if hook.uses_left == 0 {
        return error_response(StatusCode::NOT_FOUND, "used_url");
    }
    hook.uses_left -= 1;
    let context = hook.context.clone();
    let Some(payload) = payload else { return error_response(StatusCode::BAD_REQUEST, "invalid_payload") };
    match state.show(&context, payload) {
        Ok(()) => (axum::Json(json!({ "ok": true })).into_response(), "ok"),
        Err(code) => error_response(StatusCode::BAD_REQUEST, code),
    }
}

fn error_response(status: StatusCode, code: &'static str) -> (Response, &'static str) {
    ((status, axum::Json(json!({ "ok": false, "error": code }))).into_response(), code)
}
