//! A WebSocket to Slack, by the address that `apps.connections.open` gives out. That address is a permission for whoever
//! has it, so it stands in no log and in no error.

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

pub(in crate::adapters::slack) type Link = WebSocketStream<MaybeTlsStream<TcpStream>>;

const METHOD: &str = "apps.connections.open";

/// An interaction carries the whole message it came from; this is far more than Slack sends.
const LARGEST: usize = 1 << 20;

/// Why there is no connection.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::adapters::slack) enum Closed {
    /// Slack asks us to wait.
    Wait(Duration),
    /// Slack's code: it stays so until somebody repairs it.
    Refused(String),
    /// It may be better the next time.
    Failed(String),
}

#[derive(Deserialize)]
struct Opened {
    url: String,
}

impl Client {
    /// Opens a connection with an app-level token.
    pub(in crate::adapters::slack) async fn connect(&self, token: &SecretString) -> Result<Link, Closed> {
        let url = self.open(token).await?;
        // Whom we ask by TLS does not lead us to where there is none.
        let safe = match url.scheme() {
            "wss" => true,
            "ws" => !self.0.api_is_tls,
            _ => false,
        };
        if !safe {
            return Err(Closed::Failed(format!("{METHOD} gave an address that begins with {}:", url.scheme())));
        }
        let limits = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
        let tls = Connector::Rustls(Arc::new(self.0.tls.clone()));
        let opening = tokio_tungstenite::connect_async_tls_with_config(url.as_str(), Some(limits), true, Some(tls));
        match tokio::time::timeout(TIMEOUT, opening).await {
            Ok(Ok((link, _))) => Ok(link),
            Ok(Err(error)) => Err(Closed::Failed(describe(&error))),
            Err(_) => Err(Closed::Failed(format!("the socket was not opened within {} s", TIMEOUT.as_secs()))),
        }
    }

    async fn open(&self, token: &SecretString) -> Result<Url, Closed> {
        let opened = self.ask_to_open(token).await;
        let result = match &opened {
            Ok(_) => "ok",
            Err(Closed::Wait(_)) => "rate_limited",
            Err(Closed::Refused(_)) => "unauthorised",
            Err(Closed::Failed(_)) => "transient",
        };
        self.0.calls.up([METHOD, result]);
        opened
    }

    async fn ask_to_open(&self, token: &SecretString) -> Result<Url, Closed> {
        let token = SlackApiToken::new(SlackApiTokenValue(token.expose_secret().to_owned()));
        let session = self.0.api.open_session(&token);
        let body = json!({});
        let asking = session.http_session_api.http_post::<_, Opened>(METHOD, &body, None);
        let Ok(answer) = tokio::time::timeout(TIMEOUT, asking).await else {
            return Err(Closed::Failed(format!("{METHOD} was not answered within {} s", TIMEOUT.as_secs())));
        };
        let opened = answer.map_err(no)?;
        Url::parse(&opened.url).map_err(|_| Closed::Failed(format!("{METHOD} gave no address")))
    }
}

fn no(error: SlackClientError) -> Closed {
    match error {
        SlackClientError::RateLimitError(limit) => Closed::Wait(limit.retry_after.unwrap_or(TIMEOUT)),
        SlackClientError::ApiError(error) => match error.code.as_str() {
            code @ ("internal_error"
            | "fatal_error"
            | "service_unavailable"
            | "request_timeout"
            | "team_added_to_org") => Closed::Failed(format!("{METHOD} failed: {code}")),
            "ratelimited" | "too_many_websockets" => Closed::Wait(TIMEOUT),
            code => Closed::Refused(code.to_owned()),
        },
        SlackClientError::HttpError(error) => {
            Closed::Failed(format!("{METHOD} was answered with HTTP status {}", error.status_code.as_u16()))
        }
        SlackClientError::ProtocolError(_) => Closed::Failed(format!("{METHOD} was answered by something unreadable")),
        // Its text holds no more than the kind of failure, never the request.
        other => Closed::Failed(format!("{METHOD} failed: {other}")),
    }
}

/// Without what could hold the address.
pub(in crate::adapters::slack) fn describe(error: &SocketError) -> String {
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
