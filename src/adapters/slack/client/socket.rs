//! Opens a WebSocket to Slack with the URL from `apps.connections.open`. The URL alone is enough to connect, so it
//! never appears in a log or an error.

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use slack_morphism::errors::SlackClientError;
use slack_morphism::{SlackApiToken, SlackApiTokenValue};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Error as SocketError;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream};
use url::Url;

use super::{Client, TIMEOUT};

pub(in crate::adapters::slack) type SocketStream = WebSocketStream<MaybeTlsStream<TcpStream>>;

const OPEN_METHOD: &str = "apps.connections.open";

/// Far more than Slack sends, although an interaction contains the whole message of the button.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// The reason why there is no connection.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::adapters::slack) enum ConnectError {
    /// Slack asks us to wait.
    RateLimited(Duration),
    /// Slack's error code. A person must fix the cause.
    Refused(String),
    /// The next attempt may succeed.
    Failed(String),
}

#[derive(Deserialize)]
struct OpenConnectionResponse {
    url: String,
}

impl Client {
    /// Opens a connection with an app-level token.
    pub(in crate::adapters::slack) async fn connect_socket(
        &self,
        token: &SecretString,
    ) -> Result<SocketStream, ConnectError> {
        let url = self.request_socket_url(token).await?;
        // If the API is called with TLS, the socket must use TLS too.
        let safe = match url.scheme() {
            "wss" => true,
            "ws" => !self.0.api_is_tls,
            _ => false,
        };
        if !safe {
            return Err(ConnectError::Failed(format!(
                "{OPEN_METHOD} gave an address that begins with {}:",
                url.scheme()
            )));
        }
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let tls = Connector::Rustls(Arc::new(self.0.tls.clone()));
        let opening = tokio_tungstenite::connect_async_tls_with_config(url.as_str(), Some(limits), true, Some(tls));
        match tokio::time::timeout(TIMEOUT, opening).await {
            Ok(Ok((link, _))) => Ok(link),
            Ok(Err(error)) => Err(ConnectError::Failed(describe_socket_error(&error))),
            Err(_) => Err(ConnectError::Failed(format!("the socket was not opened within {} s", TIMEOUT.as_secs()))),
        }
    }

    async fn request_socket_url(&self, token: &SecretString) -> Result<Url, ConnectError> {
        let opened = self.call_connections_open(token).await;
        let result = match &opened {
            Ok(_) => "ok",
            Err(ConnectError::RateLimited(_)) => "rate_limited",
            Err(ConnectError::Refused(_)) => "unauthorised",
            Err(ConnectError::Failed(_)) => "transient",
        };
        self.0.calls.increment([OPEN_METHOD, result]);
        opened
    }

    async fn call_connections_open(&self, token: &SecretString) -> Result<Url, ConnectError> {
        let token = SlackApiToken::new(SlackApiTokenValue(token.expose_secret().to_owned()));
        let session = self.0.api.open_session(&token);
        let body = json!({});
        let asking = session.http_session_api.http_post::<_, OpenConnectionResponse>(OPEN_METHOD, &body, None);
        let Ok(answer) = tokio::time::timeout(TIMEOUT, asking).await else {
            return Err(ConnectError::Failed(format!("{OPEN_METHOD} was not answered within {} s", TIMEOUT.as_secs())));
        };
        let opened = answer.map_err(classify_connect_error)?;
        Url::parse(&opened.url).map_err(|_| ConnectError::Failed(format!("{OPEN_METHOD} gave no address")))
    }
}

fn classify_connect_error(error: SlackClientError) -> ConnectError {
    match error {
        SlackClientError::RateLimitError(limit) => ConnectError::RateLimited(limit.retry_after.unwrap_or(TIMEOUT)),
        SlackClientError::ApiError(error) => match error.code.as_str() {
            code @ ("internal_error"
            | "fatal_error"
            | "service_unavailable"
            | "request_timeout"
            | "team_added_to_org") => ConnectError::Failed(format!("{OPEN_METHOD} failed: {code}")),
            "ratelimited" | "too_many_websockets" => ConnectError::RateLimited(TIMEOUT),
            code => ConnectError::Refused(code.to_owned()),
        },
        SlackClientError::HttpError(error) => {
            ConnectError::Failed(format!("{OPEN_METHOD} was answered with HTTP status {}", error.status_code.as_u16()))
        }
        SlackClientError::ProtocolError(_) => {
            ConnectError::Failed(format!("{OPEN_METHOD} was answered by something unreadable"))
        }
        // The text contains only the kind of failure, never the request.
        other => ConnectError::Failed(format!("{OPEN_METHOD} failed: {other}")),
    }
}

/// Describes the error without the parts that could contain the URL.
pub(in crate::adapters::slack) fn describe_socket_error(error: &SocketError) -> String {
    match error {
        SocketError::Io(error) => format!("the socket failed: {error}"),
        SocketError::Tls(error) => format!("the socket failed: {error}"),
        SocketError::Protocol(error) => format!("the socket failed: {error}"),
        SocketError::Capacity(error) => format!("the socket failed: {error}"),
        SocketError::Http(answer) => format!("the socket was refused with HTTP status {}", answer.status().as_u16()),
        SocketError::ConnectionClosed | SocketError::AlreadyClosed => "the socket was closed".to_owned(),
        _ => "the socket failed".to_owned(),
    }
}
