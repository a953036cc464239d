//! The server side of Socket Mode: tickets, hello messages, envelopes, and the retry of unacknowledged envelopes.
//! Tests can close, silence and disturb connections.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Query, Request, State as Shared};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::Slack;
use super::deliver::{BotResponse, DispatchError};
use super::state::{APP_ID, State};
use crate::sim::slack::control_api::Ack;

const PING_INTERVAL: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// Slack's limit.
const MAX_CONNECTIONS: usize = 10;

/// The connections of the app, and their pending envelopes.
#[derive(Default)]
pub(super) struct Sockets {
    /// Requests go through sockets instead of HTTP.
    enabled: bool,
    /// The valid app-level token, if it is not the one of the setup.
    token: Option<String>,
    /// The value says whether the ticket is unused.
    tickets: BTreeMap<String, bool>,
    connections: Vec<SocketConnection>,
    sequence: u64,
    /// By envelope: its connection, and the sender of its acknowledgement.
    pending_acks: BTreeMap<String, (u64, oneshot::Sender<Value>)>,
    last_envelope: Option<String>,
}

struct SocketConnection {
    id: u64,
    commands: mpsc::UnboundedSender<ConnectionCommand>,
}

#[derive(Clone)]
enum ConnectionCommand {
    Send(String),
    /// The connection stops reading and writing without closing.
    Mute,
    /// The connection ends without a close message.
    Abort,
}

impl Slack {
    /// Sends commands, clicks and events through the app's sockets from now on.
    pub fn use_sockets(&self) {
        self.lock_sockets().enabled = true;
    }

    pub fn uses_sockets(&self) -> bool {
        self.lock_sockets().enabled
    }

    /// Revokes the app-level token and accepts this one.
    pub fn set_app_token(&self, token: &str) {
        self.lock_sockets().token = Some(token.to_owned());
    }

    /// The number of open connections.
    pub fn socket_count(&self) -> usize {
        self.lock_sockets().connections.len()
    }

    /// Announces to every connection that it will be closed: `warning`, `refresh_requested` or `link_disabled`.
    pub fn send_disconnect(&self, reason: &str) {
        let message = json!({ "type": "disconnect", "reason": reason, "debug_info": { "host": "wss-111.slack.com" } });
        self.send_raw(&message.to_string());
    }

    /// Sends any text over every connection.
    pub fn send_raw(&self, text: &str) {
        self.broadcast_command(&ConnectionCommand::Send(text.to_owned()));
    }

    /// Ends all current connections without a close message.
    pub fn break_sockets(&self) {
        self.broadcast_command(&ConnectionCommand::Abort);
    }

    /// Keeps all current connections open, but reads and writes nothing any more.
    pub fn silence_sockets(&self) {
        self.broadcast_command(&ConnectionCommand::Mute);
    }

    /// Sends the last envelope again, as Slack does if it may not have arrived.
    pub fn resend(&self) {
        let last = self.lock_sockets().last_envelope.clone();
        if let Some(last) = last {
            self.send_raw(&last);
        }
    }

    /// Every ticket so far, used or not.
    pub fn tickets(&self) -> Vec<String> {
        self.lock_sockets().tickets.keys().cloned().collect()
    }

    fn broadcast_command(&self, command: &ConnectionCommand) {
        for connection in &self.lock_sockets().connections {
            let _ = connection.commands.send(command.clone());
        }
    }

    /// Whether this is the valid app-level token.
    pub(super) fn is_app_token(&self, token: &str) -> bool {
        token == self.lock_sockets().token.as_deref().unwrap_or(&self.setup.app_token)
    }

    /// Sends one request over a connection. If that breaks or there is none, it tries others until the timeout.
    pub(super) async fn send_envelope(
        &self,
        kind: &str,
        payload: Value,
        retry: Option<(usize, &str)>,
    ) -> Result<BotResponse, DispatchError> {
        let id = self.write(|state| state.next_id("envelope-"));
        let mut envelope = json!({
            "type": kind, "envelope_id": id, "payload": payload, "accepts_response_payload": kind != "events_api",
        });
        if kind == "events_api" {
            let (attempt, reason) = retry.unwrap_or_default();
            envelope["retry_attempt"] = json!(attempt);
            envelope["retry_reason"] = json!(reason);
        }
        let text = envelope.to_string();
        let deadline = Instant::now() + self.lock_outbound().response_timeout;
        while Instant::now() < deadline {
            let Some(acknowledged) = self.dispatch(&id, &text) else {
                tokio::time::sleep(RETRY_INTERVAL).await;
                continue;
            };
            match tokio::time::timeout_at(deadline, acknowledged).await {
                Ok(Ok(body)) => {
                    let is_json = !body.is_null();
                    let body = if is_json { body } else { json!("") };
                    return Ok(BotResponse { ack: Ack { status: 200, body }, is_json, no_retry: false });
                }
                Err(_) => {
                    self.lock_sockets().pending_acks.remove(&id);
                    return Err(DispatchError::Timeout);
                }
                // Its connection broke.
                Ok(Err(_)) => {}
            }
        }
        Err(DispatchError::Unreachable)
    }

    /// Sends over the connections in turn, as Slack does. `None` if there is none.
    fn dispatch(&self, id: &str, text: &str) -> Option<oneshot::Receiver<Value>> {
        let mut sockets = self.lock_sockets();
        sockets.sequence += 1;
        let turn = usize::try_from(sockets.sequence).unwrap_or_default() % sockets.connections.len().max(1);
        let connection = sockets.connections.get(turn)?;
        let (connection_id, commands) = (connection.id, connection.commands.clone());
        let (ack_sender, ack_receiver) = oneshot::channel();
        sockets.pending_acks.insert(id.to_owned(), (connection_id, ack_sender));
        sockets.last_envelope = Some(text.to_owned());
        let _ = commands.send(ConnectionCommand::Send(text.to_owned()));
        Some(ack_receiver)
    }

    fn lock_sockets(&self) -> MutexGuard<'_, Sockets> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(self, mut socket: WebSocketStream<TokioIo<Upgraded>>) {
        let (command_sender, mut command_receiver) = mpsc::unbounded_channel();
        let hello = {
            let mut sockets = self.lock_sockets();
            sockets.sequence += 1;
            let hello = json!({
                "type": "hello", "num_connections": sockets.connections.len() + 1, "connection_info": { "app_id": APP_ID },
                "debug_info": { "host": "applink-1", "approximate_connection_time": 18060 },
            });
            (sockets.sequence, hello.to_string())
        };
        let (id, hello) = hello;
        if socket.send(Message::text(hello)).await.is_err() {
            return;
        }
        self.lock_sockets().connections.push(SocketConnection { id, commands: command_sender });
        let mut pings = tokio::time::interval(PING_INTERVAL);
        loop {
            let sent = tokio::select! {
                command = command_receiver.recv() => match command {
                    Some(ConnectionCommand::Send(text)) => socket.send(Message::text(text)).await,
                    Some(ConnectionCommand::Mute) => loop {
                        match command_receiver.recv().await {
                            None | Some(ConnectionCommand::Abort) => break Ok(()),
                            Some(_) => {}
                        }
                    },
                    None | Some(ConnectionCommand::Abort) => break,
                },
                message = socket.next() => match message {
                    Some(Ok(Message::Text(text))) => {
                        self.handle_ack(&text);
                        Ok(())
                    }
                    Some(Ok(_)) => Ok(()),
                    Some(Err(error)) => Err(error),
                    None => break,
                },
                _ = pings.tick() => socket.send(Message::Ping("Ping from applink-1".into())).await,
            };
            if sent.is_err() {
                break;
            }
        }
        let mut sockets = self.lock_sockets();
        sockets.connections.retain(|connection| connection.id != id);
        // Dropping the senders tells the waiting requests that no acknowledgement will come.
        sockets.pending_acks.retain(|_, (connection_id, _)| *connection_id != id);
    }

    fn handle_ack(&self, text: &str) {
        let answer: Value = serde_json::from_str(text).unwrap_or_default();
        let pending = answer["envelope_id"].as_str().and_then(|id| self.lock_sockets().pending_acks.remove(id));
        match pending {
            Some((_, sender)) => drop(sender.send(answer.get("payload").cloned().unwrap_or_default())),
            // A late or repeated acknowledgement is ignored. Any other message is an error of the app.
            None if answer["envelope_id"].is_string() => {}
            None => self.setup.unknown_requests.record("slack", "SOCKET", text),
        }
    }
}

/// `apps.connections.open`: a URL for one connection.
pub(super) fn issue_connection_url(slack: &Slack, state: &mut State) -> Result<Value, &'static str> {
    let mut sockets = slack.lock_sockets();
    if !sockets.enabled {
        return Err("socket_mode_not_enabled");
    }
    if sockets.connections.len() >= MAX_CONNECTIONS {
        return Err("too_many_websockets");
    }
    let ticket = state.next_id("ticket-");
    sockets.tickets.insert(ticket.clone(), true);
    let origin = slack.setup.origin.replacen("http", "ws", 1);
    Ok(json!({ "url": format!("{origin}/sim/slack/link?ticket={ticket}&app_id={APP_ID}") }))
}

/// The request that becomes a WebSocket.
pub(super) async fn accept_connection(
    Shared(slack): Shared<Slack>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    mut request: Request,
) -> Response {
    let is_valid_ticket = query
        .get("ticket")
        .is_some_and(|ticket| slack.lock_sockets().tickets.get_mut(ticket).is_some_and(std::mem::take));
    let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| is_valid_ticket);
    let Some(key) = key else { return (StatusCode::UNAUTHORIZED, "no such ticket").into_response() };
    let accept = derive_accept_key(key.as_bytes());
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(upgraded) = upgrade.await {
            let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
            slack.serve(socket).await;
        }
    });
    let upgrade_headers = [(header::CONNECTION, "upgrade"), (header::UPGRADE, "websocket")];
    (StatusCode::SWITCHING_PROTOCOLS, upgrade_headers, [(header::SEC_WEBSOCKET_ACCEPT, accept)]).into_response()
}
