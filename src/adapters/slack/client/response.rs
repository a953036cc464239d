//! Maps Slack's answers to [`SendError`], so that the outbox can decide about another attempt.

use std::time::Duration;

use slack_morphism::errors::SlackClientError;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// `is_workspace_wide` if the limit applies to all channels together.
    #[error("Slack asks us to wait for {} s", retry_after.as_secs())]
    RateLimited { retry_after: Duration, is_workspace_wide: bool },
    #[error("Slack does not let us write there: {code}")]
    ChannelUnwritable { code: String },
    #[error("Slack does not take these blocks")]
    BlocksRefused,
    /// Another attempt with the file cannot succeed; the text alone may.
    #[error("Slack does not take the file: {0}")]
    FileRefused(String),
    #[error("the response URL has expired or was used up")]
    UrlSpent,
    #[error("the message is not there any more")]
    MessageGone,
    /// Another attempt may succeed later.
    #[error("{0}")]
    Transient(String),
    /// Method and code. The token is wrong, not the message: waiting messages are sent once a person has fixed the
    /// token.
    #[error("{0}: check SLACK_BOT_TOKEN and its scopes")]
    Unauthorised(String),
    /// Slack's code, or a sentence of Gantry. Another attempt cannot succeed.
    #[error("{0}")]
    Permanent(String),
}

impl SendError {
    /// The name for metrics and logs, without Slack's text.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "rate_limited",
            Self::ChannelUnwritable { .. } => "channel_unwritable",
            Self::BlocksRefused => "blocks_refused",
            Self::FileRefused(_) => "file_refused",
            Self::UrlSpent => "url_spent",
            Self::MessageGone => "gone",
            Self::Transient(_) => "transient",
            Self::Unauthorised(_) => "unauthorised",
            // A normal answer to a lookup, not a refusal.
            Self::Permanent(code) if matches!(code.as_str(), "user_not_found" | "users_not_found") => "not_found",
            Self::Permanent(_) => "refused",
        }
    }
}

/// Used if Slack gives no time.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(30);

pub(super) fn from_api_error(method: &str, error: SlackClientError) -> SendError {
    match error {
        SlackClientError::RateLimitError(limit) => SendError::RateLimited {
            retry_after: limit.retry_after.unwrap_or(DEFAULT_RETRY_AFTER),
            is_workspace_wide: is_limited_workspace_wide(method),
        },
        SlackClientError::ApiError(error) => from_error_code(method, &error.code),
        SlackClientError::HttpError(error) => from_http_status(method, error.status_code.as_u16()),
        // Slack has performed the call, but its answer is unreadable. Another attempt would send the message twice.
        SlackClientError::ProtocolError(error) => {
            let reason = format!("{method} was answered by something unreadable: {}", error.json_error);
            if method.starts_with("files.") { SendError::FileRefused(reason) } else { SendError::Permanent(reason) }
        }
        // The text contains only the kind of failure, never the request.
        other => SendError::Transient(format!("{method} failed: {other}")),
    }
}

pub(super) fn check_upload_response(answer: Result<reqwest::Response, reqwest::Error>) -> Result<(), SendError> {
    let answer = answer.map_err(|error| from_transport_error("the upload URL", error))?;
    let status = answer.status();
    match status.as_u16() {
        429 => Err(SendError::RateLimited { retry_after: parse_retry_after(&answer), is_workspace_wide: true }),
        _ if status.is_success() => Ok(()),
        status => Err(match from_http_status("the upload URL", status) {
            SendError::Permanent(reason) => SendError::FileRefused(reason),
            other => other,
        }),
    }
}

fn from_transport_error(call: &str, error: reqwest::Error) -> SendError {
    // The URL is a permission, so it must not appear in logs or in the ledger.
    SendError::Transient(format!("{call} failed: {}", error.without_url()))
}

fn parse_retry_after(answer: &reqwest::Response) -> Duration {
    let seconds = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    seconds.map_or(DEFAULT_RETRY_AFTER, Duration::from_secs)
}

pub(super) async fn check_hook_response(answer: Result<reqwest::Response, reqwest::Error>) -> Result<(), SendError> {
    let failed = |error: reqwest::Error| from_transport_error("the response URL", error);
    let answer = answer.map_err(failed)?;
    let status = answer.status();
    if status.as_u16() == 429 {
        return Err(SendError::RateLimited { retry_after: parse_retry_after(&answer), is_workspace_wide: false });
    }
    let body = answer.text().await.map_err(failed)?;
    // An error is `{"ok": false, "error": code}`, even with status 200, or only the code.
    let json: Option<serde_json::Value> = serde_json::from_str(&body).ok();
    let code = match &json {
        Some(json) if json["ok"] == false => json["error"].as_str().unwrap_or("unknown_error"),
        _ if status.is_success() => return Ok(()),
        _ => body.trim(),
    };
    match code {
        "expired_url" | "used_url" | "invalid_url" | "url_expired" => Err(SendError::UrlSpent),
        _ if matches!(status.as_u16(), 404 | 410) => Err(SendError::UrlSpent),
        code if is_error_code(code) => Err(from_error_code("the response URL", code)),
        _ => Err(from_http_status("the response URL", status.as_u16())),
    }
}

/// Checks the response to a call without slack-morphism. Returns the headers and the body if Slack answered `ok`.
pub(super) async fn check_raw_response(
    method: &str,
    answer: Result<reqwest::Response, reqwest::Error>,
) -> Result<(reqwest::header::HeaderMap, serde_json::Value), SendError> {
    let answer = answer.map_err(|error| from_transport_error(method, error))?;
    let (status, headers) = (answer.status(), answer.headers().clone());
    if status.as_u16() == 429 {
        return Err(SendError::RateLimited { retry_after: parse_retry_after(&answer), is_workspace_wide: true });
    }
    if !status.is_success() {
        return Err(from_http_status(method, status.as_u16()));
    }
    let body = answer.text().await.map_err(|error| from_transport_error(method, error))?;
    let Ok(body) = serde_json::from_str::<serde_json::Value>(&body) else {
        return Err(SendError::Transient(format!("{method} was answered by something unreadable")));
    };
    if body["ok"] == true {
        return Ok((headers, body));
    }
    // These calls are not retried, so every code is permanent.
    Err(SendError::Permanent(
        body["error"].as_str().filter(|code| is_error_code(code)).unwrap_or("unknown_error").to_owned(),
    ))
}

fn is_error_code(text: &str) -> bool {
    !text.is_empty() && text.len() < 60 && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

fn from_http_status(method: &str, status: u16) -> SendError {
    match status {
        400 | 413 => SendError::Permanent(format!("{method} was answered with HTTP status {status}")),
        // A proxy, an expired certificate or an outage: another attempt may succeed later.
        _ => SendError::Transient(format!("{method} was answered with HTTP status {status}")),
    }
}

fn from_error_code(method: &str, code: &str) -> SendError {
    match code {
        "ratelimited" | "rate_limited" => SendError::RateLimited {
            retry_after: DEFAULT_RETRY_AFTER,
            is_workspace_wide: is_limited_workspace_wide(method),
        },
        "message_limit_exceeded" => {
            SendError::RateLimited { retry_after: DEFAULT_RETRY_AFTER, is_workspace_wide: true }
        }
        "not_in_channel"
        | "channel_not_found"
        | "is_archived"
        | "user_not_in_channel"
        | "messages_tab_disabled"
        | "cannot_dm_bot"
        | "no_permission"
        | "is_inactive"
        | "team_access_not_granted" => SendError::ChannelUnwritable { code: code.to_owned() },
        code if code.starts_with("restricted_action") => SendError::ChannelUnwritable { code: code.to_owned() },
        "invalid_blocks" | "invalid_blocks_format" | "msg_blocks_too_long" | "block_mismatch" => {
            SendError::BlocksRefused
        }
        "message_not_found" | "cant_update_message" | "edit_window_closed" => SendError::MessageGone,
        "internal_error"
        | "fatal_error"
        | "service_unavailable"
        | "request_timeout"
        | "rollup_error"
        | "team_added_to_org"
        | "org_login_required" => SendError::Transient(format!("{method}: {code}")),
        // Posting works without this scope, and many workspaces may not have granted it.
        "missing_scope" if method.starts_with("files.") => SendError::FileRefused(code.to_owned()),
        "invalid_auth" | "not_authed" | "account_inactive" | "token_revoked" | "token_expired" | "missing_scope"
        | "access_denied" => SendError::Unauthorised(format!("{method}: {code}")),
        other if method.starts_with("files.") => SendError::FileRefused(other.to_owned()),
        other => SendError::Permanent(other.to_owned()),
    }
}

/// Slack limits `chat.postMessage` and response URLs for each channel, and all other methods for the workspace. A limit
/// of `views.publish` must not delay messages, so it does not count as workspace-wide.
fn is_limited_workspace_wide(method: &str) -> bool {
    !matches!(method, "chat.postMessage" | "views.publish" | "the response URL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_codes_map_to_send_errors() {
        let unwritable = |code: &str| SendError::ChannelUnwritable { code: code.into() };
        for (code, expected) in [
            ("not_in_channel", unwritable("not_in_channel")),
            ("is_archived", unwritable("is_archived")),
            ("restricted_action_read_only_channel", unwritable("restricted_action_read_only_channel")),
            ("invalid_blocks", SendError::BlocksRefused),
            ("message_not_found", SendError::MessageGone),
            ("no_text", SendError::Permanent("no_text".into())),
            (
                "message_limit_exceeded",
                SendError::RateLimited { retry_after: DEFAULT_RETRY_AFTER, is_workspace_wide: true },
            ),
            ("ratelimited", SendError::RateLimited { retry_after: DEFAULT_RETRY_AFTER, is_workspace_wide: false }),
        ] {
            assert_eq!(from_error_code("chat.postMessage", code), expected);
        }
        for code in ["invalid_auth", "missing_scope"] {
            let error = from_error_code("chat.update", code);
            assert_eq!(error.to_string(), format!("chat.update: {code}: check SLACK_BOT_TOKEN and its scopes"));
            assert_eq!(error.name(), "unauthorised");
        }
        assert_eq!(from_error_code("users.lookupByEmail", "users_not_found").name(), "not_found");
        let refused = |code: &str| SendError::FileRefused(code.into());
        for code in ["missing_scope", "file_not_found", "file_uploads_disabled"] {
            assert_eq!(from_error_code("files.completeUploadExternal", code), refused(code));
        }
        assert_eq!(from_error_code("files.completeUploadExternal", "not_in_channel"), unwritable("not_in_channel"));
    }
}
