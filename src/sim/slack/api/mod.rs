//! The Web API: `/api/{method}` by GET and POST, with HTTP 200 and Slack's error codes.
//! This file has the parts that all methods share: arguments, token, limits, faults, and the record of all calls.

mod chat;
mod conversations;
mod files;
mod params;
mod reactions;
mod users;
mod views;

use axum::Form;
use axum::body::Bytes;
use axum::extract::{FromRequest, Path, Query, Request as HttpRequest, State as Shared};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Slack;
use super::blocks::Invalid;
use super::socket;
use super::state::{APP_ID, BOT_ID, BOT_USER, State};
use crate::sim::faults;

use self::params::Params;

pub(super) use self::chat::accept as accept_blocks;
pub(super) use self::files::{download, upload};
pub(super) use self::views::complete_view;

/// The only method that needs the app's own token instead of the bot's.
const OPEN_SOCKET: &str = "apps.connections.open";

/// An error of the Web API: its code, and messages with the details.
#[derive(Debug, PartialEq, Eq)]
struct ApiError {
    code: &'static str,
    messages: Vec<String>,
}

impl From<&'static str> for ApiError {
    fn from(code: &'static str) -> Self {
        Self { code, messages: Vec::new() }
    }
}

impl From<Invalid> for ApiError {
    fn from(invalid: Invalid) -> Self {
        Self { code: invalid.code, messages: invalid.messages }
    }
}

fn invalid_argument(message: &str) -> ApiError {
    ApiError { code: "invalid_arguments", messages: vec![message.to_owned()] }
}

/// The answer of a method, without `"ok": true`.
type Answer = Result<Value, ApiError>;

pub(super) async fn call(Shared(slack): Shared<Slack>, Path(method): Path<String>, request: HttpRequest) -> Response {
    let http = request.method().clone();
    let token = bearer(request.headers());
    let mut params = match arguments(&method, request).await {
        Ok(params) => params,
        Err(code) => {
            slack.write(|state| state.record(&method, http.as_str(), Value::Null, code));
            return error_response(&code.into());
        }
    };
    let token = token.or_else(|| params.text("token"));
    params.0.remove("token");
    slack.write(|state| {
        let (mut response, answer) = answer(&slack, state, &method, &params, token.as_deref());
        if let Some(scopes) =
            slack.manifest().and_then(|manifest| HeaderValue::try_from(manifest.granted_scopes()).ok())
        {
            response.headers_mut().insert("x-oauth-scopes", scopes);
        }
        state.record(&method, http.as_str(), Value::Object(params.0), answer);
        if answer == "unknown_method" {
            slack.setup.unknown_requests.record("slack", http.as_str(), &format!("/api/{method}"));
        }
        response
    })
}

fn answer(
    slack: &Slack,
    state: &mut State,
    method: &str,
    params: &Params,
    token: Option<&str>,
) -> (Response, &'static str) {
    let setup = &slack.setup;
    if setup.faults.take_if_armed(faults::Fault::SlackDown, None, None) {
        return (unavailable_response(), "503");
    }
    let Some(run) = find(method) else { return (error_response(&"unknown_method".into()), "unknown_method") };
    if method != "api.test" {
        match token {
            None => return (error_response(&"not_authed".into()), "not_authed"),
            Some(token) if method == OPEN_SOCKET => {
                if token == setup.bot_token {
                    return (error_response(&"not_allowed_token_type".into()), "not_allowed_token_type");
                }
                if !slack.is_app_token(token) {
                    return (error_response(&"invalid_auth".into()), "invalid_auth");
                }
            }
            Some(token) if token != setup.bot_token => return (error_response(&"invalid_auth".into()), "invalid_auth"),
            Some(_) => {}
        }
    }
    if let Some(manifest) = slack.manifest()
        && let Err(needed) = manifest.check_scopes(method)
    {
        let body = json!({
            "ok": false, "error": "missing_scope", "needed": needed, "provided": manifest.granted_scopes(),
        });
        return (axum::Json(body).into_response(), "missing_scope");
    }
    let channel = params.text("channel").and_then(|name| state.place(&name)).map(|place| place.id().to_owned());
    let now = state.now();
    if setup.faults.take_if_armed(faults::Fault::Slack429, None, None) {
        let wait = state.limits.force_rate_limit(method, channel.as_deref(), now);
        return (rate_limited_response(wait), "ratelimited");
    }
    if let Err(wait) = state.limits.admit(method, channel.as_deref(), now) {
        return (rate_limited_response(wait), "ratelimited");
    }
    match run(slack, state, params) {
        Ok(mut answer) => {
            answer["ok"] = json!(true);
            (axum::Json(answer).into_response(), "ok")
        }
        Err(error) => (error_response(&error), error.code),
    }
}

type MethodHandler = fn(&Slack, &mut State, &Params) -> Answer;

fn find(method: &str) -> Option<MethodHandler> {
    Some(match method {
        "api.test" => |_, _, params| Ok(json!({ "args": params.0 })),
        "auth.test" => |_, state, _| {
            Ok(json!({
                "url": format!("https://{}.slack.com/", state.team.1),
                "team": state.team.1,
                "user": state.name_of(BOT_USER),
                "team_id": state.team.0,
                "user_id": BOT_USER,
                "bot_id": BOT_ID,
                "app_id": APP_ID,
                "is_enterprise_install": false,
            }))
        },
        OPEN_SOCKET => |slack, state, _| socket::issue_connection_url(slack, state).map_err(ApiError::from),
        "chat.postMessage" => chat::post_message,
        "chat.postEphemeral" => chat::post_ephemeral,
        "chat.update" => chat::update,
        "chat.delete" => chat::delete,
        "chat.getPermalink" => chat::permalink,
        "conversations.open" => conversations::open,
        "conversations.info" => conversations::info,
        "conversations.list" => conversations::list,
        "conversations.members" => conversations::members,
        "users.conversations" => conversations::list_for_bot,
        "users.info" => users::info,
        "users.list" => users::list,
        "users.lookupByEmail" => users::by_email,
        "usergroups.list" => |_, state, params| Ok(users::groups(state, params)),
        "usergroups.users.list" => users::group_members,
        "views.open" => views::open,
        "views.update" => views::update,
        "views.publish" => views::publish,
        "reactions.add" => reactions::add,
        "reactions.remove" => reactions::remove,
        "files.getUploadURLExternal" => files::upload_url,
        "files.completeUploadExternal" => files::complete,
        _ => return None,
    })
}

async fn arguments(method: &str, request: HttpRequest) -> Result<Params, &'static str> {
    let mut params = Params::default();
    if let Ok(Query(pairs)) = Query::<Vec<(String, String)>>::try_from_uri(request.uri()) {
        params.add(pairs);
    }
    if request.method() != Method::POST {
        return Ok(params);
    }
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if content_type.starts_with("application/json") {
        let body = Bytes::from_request(request, &()).await.map_err(|_| "invalid_json")?;
        if params::takes_json(method) && !body.is_empty() {
            match serde_json::from_slice(&body).map_err(|_| "invalid_json")? {
                Value::Object(fields) => params.0.extend(fields.into_iter().filter(|(_, value)| !value.is_null())),
                _ => return Err("json_not_object"),
            }
        }
    } else if content_type.starts_with("application/x-www-form-urlencoded") {
        let Form(pairs) =
            Form::<Vec<(String, String)>>::from_request(request, &()).await.map_err(|_| "invalid_form_data")?;
        params.add(pairs);
    } else if !content_type.is_empty() {
        return Err("invalid_post_type");
    }
    Ok(params)
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    value.strip_prefix("Bearer ").map(|token| token.trim().to_owned())
}

fn error_response(error: &ApiError) -> Response {
    let mut body = json!({ "ok": false, "error": error.code });
    if !error.messages.is_empty() {
        body["errors"] = json!(error.messages);
        let messages: Vec<String> = error.messages.iter().map(|m| format!("[ERROR] {m}")).collect();
        body["response_metadata"] = json!({ "messages": messages });
    }
    axum::Json(body).into_response()
}

fn rate_limited_response(wait: i64) -> Response {
    let retry_after: (HeaderName, String) = (header::RETRY_AFTER, wait.to_string());
    let body = axum::Json(json!({ "ok": false, "error": "ratelimited" }));
    (StatusCode::TOO_MANY_REQUESTS, [retry_after], body).into_response()
}

pub(super) fn unavailable_response() -> Response {
    let html = [(header::CONTENT_TYPE, "text/html")];
    (StatusCode::SERVICE_UNAVAILABLE, html, "<html><body>Server Error</body></html>").into_response()
}
