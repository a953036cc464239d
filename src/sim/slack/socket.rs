//! Socket Mode from Slack's side: tickets, greetings, envelopes, and what becomes of those that nobody acknowledges.
//! Its hands let a test close, silence and disturb connections.

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
use super::deliver::{Delivered, Missed, PATIENCE};
use super::hands::Ack;
use super::state::{APP_ID, State};

const PINGS_EVERY: Duration = Duration::from_secs(5);
const LOOKS_EVERY: Duration = Duration::from_millis(20);
/// Slack's own limit.
const MOST: usize = 10;

/// The connections of the app, and what is under way on them.
#[derive(Default)]
pub(super) struct Sockets {
    /// Requests go through sockets, and not over HTTP.
    on: bool,
    /// The app-level token that is taken, where it is not the one of the setup.
    token: Option<String>,
    /// And whether each is still good.
    tickets: BTreeMap<String, bool>,
    wires: Vec<Wire>,
    given: u64,
    /// By envelope: the connection that it went by, and who waits for the acknowledgement.
    waiting: BTreeMap<String, (u64, oneshot::Sender<Value>)>,
    last: Option<String>,
}

struct Wire {
    id: u64,
    orders: mpsc::UnboundedSender<Order>,
}

#[derive(Clone)]
enum Order {
    Send(String),
    /// Neither reads nor writes any more, and says nothing of it.
    FallSilent,
    /// Gone without a word.
    Break,
}

impl Slack {
    /// Commands, clicks and events go through the app's sockets from now on.
    pub fn use_sockets(&self) {
        self.wires().on = true;
    }

    pub fn uses_sockets(&self) -> bool {
        self.wires().on
    }

    /// The app-level token is revoked, and this one taken.
    pub fn take_app_token(&self, token: &str) {
        self.wires().token = Some(token.to_owned());
    }

    /// How many connections the app has open.
    pub fn sockets(&self) -> usize {
        self.wires().wires.len()
    }

    /// Tells every connection that it will be closed: `warning`, `refresh_requested` or `link_disabled`.
    pub fn send_disconnect(&self, reason: &str) {
        let message = json!({ "type": "disconnect", "reason": reason, "debug_info": { "host": "wss-111.slack.com" } });
        self.send_raw(&message.to_string());
    }

    /// Sends a text of any kind by every connection.
    pub fn send_raw(&self, text: &str) {
        self.order(&Order::Send(text.to_owned()));
    }

    /// The connections there are now break off.
    pub fn break_sockets(&self) {
        self.order(&Order::Break);
    }

    /// The connections there are now stay open, but nothing comes from them or arrives.
    pub fn silence_sockets(&self) {
        self.order(&Order::FallSilent);
    }

    /// Sends the last envelope once more, as Slack does where it doubts that it arrived.
    pub fn resend(&self) {
        let last = self.wires().last.clone();
        if let Some(last) = last {
            self.send_raw(&last);
        }
    }

    /// Every ticket that was given out, used or not.
    pub fn tickets(&self) -> Vec<String> {
        self.wires().tickets.keys().cloned().collect()
    }

    fn order(&self, order: &Order) {
        for wire in &self.wires().wires {
            let _ = wire.orders.send(order.clone());
        }
    }

    /// Is this the app-level token?
    pub(super) fn is_app_token(&self, token: &str) -> bool {
        token == self.wires().token.as_deref().unwrap_or(&self.setup.app_token)
    }

    /// One request by one of the connections; by another where that breaks or there is none, as long as Slack is patient.
    pub(super) async fn send_envelope(
        &self,
        kind: &str,
        payload: Value,
        retry: Option<(usize, &str)>,
    ) -> Result<Delivered, Missed> {
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
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let Some(acknowledged) = self.dispatch(&id, &text) else {
                tokio::time::sleep(LOOKS_EVERY).await;
                continue;
            };
            match tokio::time::timeout_at(deadline, acknowledged).await {
                Ok(Ok(body)) => {
                    let is_json = !body.is_null();
                    let body = if is_json { body } else { json!("") };
                    return Ok(Delivered { ack: Ack { status: 200, body }, is_json, no_retry: false });
                }
                Err(_) => {
                    self.wires().waiting.remove(&id);
                    return Err(Missed::Timeout);
                }
                // Its connection broke.
                Ok(Err(_)) => {}
            }
        }
        Err(Missed::Unreachable)
    }

    /// By any of the connections, as Slack does: one after another. `None` where there is none.
    fn dispatch(&self, id: &str, text: &str) -> Option<oneshot::Receiver<Value>> {
        let mut sockets = self.wires();
        sockets.given += 1;
        let turn = usize::try_from(sockets.given).unwrap_or_default() % sockets.wires.len().max(1);
        let wire = sockets.wires.get(turn)?;
        let (by, orders) = (wire.id, wire.orders.clone());
        let (tell, told) = oneshot::channel();
        sockets.waiting.insert(id.to_owned(), (by, tell));
        sockets.last = Some(text.to_owned());
        let _ = orders.send(Order::Send(text.to_owned()));
        Some(told)
    }

    fn wires(&self) -> MutexGuard<'_, Sockets> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(self, mut socket: WebSocketStream<TokioIo<Upgraded>>) {
        let (orders, mut ordered) = mpsc::unbounded_channel();
        let hello = {
            let mut sockets = self.wires();
            sockets.given += 1;
            let hello = json!({
                "type": "hello", "num_connections": sockets.wires.len() + 1, "connection_info": { "app_id": APP_ID },
                "debug_info": { "host": "applink-1", "approximate_connection_time": 18060 },
            });
            (sockets.given, hello.to_string())
        };
        let (id, hello) = hello;
        if socket.send(Message::text(hello)).await.is_err() {
            return;
        }
        self.wires().wires.push(Wire { id, orders });
        let mut pings = tokio::time::interval(PINGS_EVERY);
        loop {
            let sent = tokio::select! {
                order = ordered.recv() => match order {
                    Some(Order::Send(text)) => socket.send(Message::text(text)).await,
                    Some(Order::FallSilent) => loop {
                        match ordered.recv().await {
                            None | Some(Order::Break) => break Ok(()),
                            Some(_) => {}
                        }
                    },
                    None | Some(Order::Break) => break,
                },
                message = socket.next() => match message {
                    Some(Ok(Message::Text(text))) => {
                        self.acknowledged(&text);
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
        let mut sockets = self.wires();
        sockets.wires.retain(|wire| wire.id != id);
        // Whoever waits learns that this one will not tell.
        sockets.waiting.retain(|_, (by, _)| *by != id);
    }

    fn acknowledged(&self, text: &str) {
        let answer: Value = serde_json::from_str(text).unwrap_or_default();
        let waits = answer["envelope_id"].as_str().and_then(|id| self.wires().waiting.remove(id));
        match waits {
            Some((_, waits)) => drop(waits.send(answer.get("payload").cloned().unwrap_or_default())),
            // Too late, or of something that was sent twice; what is no acknowledgement at all is a fault of the app.
            None if answer["envelope_id"].is_string() => {}
            None => self.setup.strays.record("slack", "SOCKET", text),
        }
    }
}

/// `apps.connections.open`: an address for one connection.
pub(super) fn open(slack: &Slack, state: &mut State) -> Result<Value, &'static str> {
    let mut sockets = slack.wires();
    if !sockets.on {
        return Err("socket_mode_not_enabled");
    }
    if sockets.wires.len() >= MOST {
        return Err("too_many_websockets");
    }
    let ticket = state.next_id("ticket-");
    sockets.tickets.insert(ticket.clone(), true);
    let origin = slack.setup.origin.replacen("http", "ws", 1);
    Ok(json!({ "url": format!("{origin}/sim/slack/link?ticket={ticket}&app_id={APP_ID}") }))
}

/// The request that becomes a WebSocket.
pub(super) async fn link(
    Shared(slack): Shared<Slack>,
    Query(given): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    mut request: Request,
) -> Response {
    let known =
        given.get("ticket").is_some_and(|ticket| slack.wires().tickets.get_mut(ticket).is_some_and(std::mem::take));
    let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| known);
    let Some(key) = key else { return (StatusCode::UNAUTHORIZED, "no such ticket").into_response() };
    let accept = derive_accept_key(key.as_bytes());
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(upgraded) = upgrade.await {
            let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
            slack.serve(socket).await;
        }
    });
    let switch = [(header::CONNECTION, "upgrade"), (header::UPGRADE, "websocket")];
    (StatusCode::SWITCHING_PROTOCOLS, switch, [(header::SEC_WEBSOCKET_ACCEPT, accept)]).into_response()
}
