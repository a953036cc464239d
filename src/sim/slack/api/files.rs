//! Files in three steps: request a URL, upload to it, and share the upload.

use axum::body::Bytes;
use axum::extract::{Path, State as Shared};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::params::Params;
use super::{Answer, ApiError, chat, invalid_argument};
use crate::sim::slack::Slack;
use crate::sim::slack::message::MessageRecord;
use crate::sim::slack::people::Place;
use crate::sim::slack::state::{BOT_USER, State, Upload};

pub(super) fn upload_url(slack: &Slack, state: &mut State, params: &Params) -> Answer {
    let name = params.required("filename")?;
    let length = params.required("length")?.parse().ok().filter(|length| *length > 0);
    let length = length.ok_or_else(|| invalid_argument("must be a number above 0: length"))?;
    let id = state.next_id("F");
    state.uploads.insert(id.clone(), Upload { name, length, content: None, shared: false });
    Ok(json!({ "file_id": id, "upload_url": format!("{}/sim/slack/upload/{id}", slack.setup.origin) }))
}

pub(in crate::sim::slack) async fn upload(
    Shared(slack): Shared<Slack>,
    Path(id): Path<String>,
    body: Bytes,
) -> Response {
    slack.write(|state| match state.uploads.get_mut(&id) {
        Some(upload) if upload.content.is_none() && upload.length == body.len() => {
            upload.content = Some(body.to_vec());
            (StatusCode::OK, format!("OK - {}", body.len())).into_response()
        }
        Some(upload) if upload.content.is_none() => {
            let announced = upload.length;
            (StatusCode::BAD_REQUEST, format!("{announced} bytes were announced, {} came", body.len())).into_response()
        }
        _ => (StatusCode::NOT_FOUND, "no such upload").into_response(),
    })
}

/// An uploaded file, for the page. It is always plain text, so that a browser never runs it.
pub(in crate::sim::slack) async fn download(Shared(slack): Shared<Slack>, Path(id): Path<String>) -> Response {
    let content = slack.read(|state| state.uploads.get(&id).filter(|u| u.shared).and_then(|u| u.content.clone()));
    let plain = [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    match content {
        Some(content) => (plain, content).into_response(),
        None => (StatusCode::NOT_FOUND, "no such file").into_response(),
    }
}

pub(super) fn complete(slack: &Slack, state: &mut State, params: &Params) -> Answer {
    let files = params.structure("files").map_err(|_| invalid_argument("`files` is not JSON"))?;
    let files = files.and_then(|f| f.as_array().cloned()).filter(|f| !f.is_empty());
    let files = files.ok_or_else(|| invalid_argument("missing required field: files"))?;
    let place = params.text("channel_id").map(|channel| find_place_by_id(state, &channel)).transpose()?;
    let thread = match &place {
        Some(place) => chat::thread(state, place.id(), params)?,
        None => None,
    };
    let now = state.now().as_second();
    let mut shared: Vec<Value> = Vec::new();
    for file in &files {
        let id = file["id"].as_str().ok_or_else(|| invalid_argument("missing required field: id"))?;
        let upload = state.uploads.get(id).filter(|upload| !upload.shared).ok_or("file_not_found")?;
        let size = upload.content.as_ref().ok_or("file_not_found")?.len();
        let url = format!("{}/sim/slack/files/{id}", slack.setup.origin);
        shared.push(json!({
            "id": id,
            "created": now,
            "timestamp": now,
            "name": upload.name,
            "title": file["title"].as_str().unwrap_or(&upload.name),
            "mimetype": "text/plain",
            "filetype": "text",
            "user": BOT_USER,
            "size": size,
            "url_private": url,
            "permalink": url,
        }));
    }
    for file in &shared {
        if let Some(upload) = file["id"].as_str().and_then(|id| state.uploads.get_mut(id)) {
            upload.shared = true;
        }
    }
    if let Some(place) = place {
        let mut message = MessageRecord::new(state.next_ts(), place.id(), BOT_USER);
        message.text = params.text("initial_comment").unwrap_or_default();
        message.thread = thread;
        message.files.clone_from(&shared);
        state.post(message);
    }
    Ok(json!({ "files": shared }))
}

/// Unlike a message, a file cannot be shared by a channel's name or a person's id.
fn find_place_by_id(state: &mut State, channel: &str) -> Result<Place, ApiError> {
    let place = chat::find_writable_place(state, channel)?;
    if place.id() == channel { Ok(place) } else { Err("channel_not_found".into()) }
}
