//! Socket Mode: Slack sends requests over a connection that Gantry opens, so that Gantry needs no public address.
//! Transport only: it calls the same handler as HTTP, and opens a new connection before or after the current one ends.

use std::hash::BuildHasher;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinError, JoinSet};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use super::client::{Client, ConnectError, SocketStream, describe_socket_error};
use super::incoming::IncomingRequest;
use super::receive::{Ack, RequestHandler};
use crate::adapters::slack::socket_envelope::{Envelope, build_acknowledgement, parse_envelope};
use crate::clock::Clock;

/// Slack sends its hello at once.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// Slack pings every few seconds. After `IDLE_TIMEOUT` without a message, Gantry sends a ping; after `PING_TIMEOUT`
/// without an answer, it gives the connection up.
const IDLE_TIMEOUT: SignedDuration = SignedDuration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection is still read after Slack has announced its end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the end of a connection waits for answers in progress. Slack would not wait longer either.
const ACK_TIMEOUT: Duration = Duration::from_secs(2);
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of requests that are handled at the same time. Further requests wait in the socket.
const MAX_CONCURRENT_REQUESTS: usize = 64;

/// A connection that ends earlier and brought no request counts as a failure, like one that could not be opened.
const STABLE_AFTER: SignedDuration = SignedDuration::from_secs(10);

/// The limit for a `Retry-After`, which may come from a proxy.
const MAX_RETRY_WAIT: SignedDuration = SignedDuration::from_mins(5);

/// Long, because a refused token must be fixed by a person.
const REFUSED_RETRY_WAIT: SignedDuration = SignedDuration::from_mins(2);
const MAX_BACKOFF_SECONDS: u32 = 60;

/// The state of the connection, for `/readyz`, `/metrics` and the doctor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// Slack sends requests over HTTP.
    Unused,
    Opening,
    Open {
        since: Timestamp,
    },
    /// There has been no connection since then. `why` is a sentence or Slack's code.
    Closed {
        since: Timestamp,
        why: String,
    },
}

/// The current [`ConnectionState`], with notifications of changes. Clones share it.
#[derive(Clone, Debug)]
pub struct ConnectionWatch(watch::Sender<ConnectionState>);

impl Default for ConnectionWatch {
    fn default() -> Self {
        Self(watch::Sender::new(ConnectionState::Unused))
    }
}

impl ConnectionWatch {
    pub fn current_state(&self) -> ConnectionState {
        self.0.borrow().clone()
    }

    pub fn subscribe(&self) -> watch::Receiver<ConnectionState> {
        self.0.subscribe()
    }

    fn mark_open(&self, now: Timestamp) {
        let before = self.0.send_replace(ConnectionState::Open { since: now });
        if !matches!(before, ConnectionState::Open { .. }) {
            tracing::info!("connected to Slack in Socket Mode");
        }
    }

    /// Logs the same reason only once, even if many attempts fail.
    fn mark_closed(&self, now: Timestamp, why: &str) {
        self.0.send_if_modified(|connection| {
            let since = match connection {
                ConnectionState::Closed { why: previous, .. } if previous == why => return false,
                ConnectionState::Closed { since, .. } => *since,
                _ => now,
            };
            tracing::warn!(why, "not connected to Slack in Socket Mode");
            *connection = ConnectionState::Closed { since, why: why.to_owned() };
            true
        });
    }
}

#[derive(Clone)]
pub struct Socket {
    pub client: Client,
    pub token: SecretString,
    pub clock: Clock,
    pub connection: ConnectionWatch,
    pub handler: RequestHandler,
}

/// Resumes the panic of a connection's task, so that the process ends.
fn resume_panic(ended: Result<(), JoinError>) {
    if let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) {
        std::panic::resume_unwind(panic);
    }
}

/// The end of a connection, or the announcement of its end.
struct Disconnection {
    /// The connection has brought a request.
    had_requests: bool,
    why: String,
}

impl Socket {
    /// Runs until it is cancelled. Then it reads no more requests and answers those that it has read. Slack sends the
    /// others to another connection.
    pub async fn run(self, cancel: CancellationToken) {
        let mut connections = JoinSet::new();
        let mut failures: u32 = 0;
        self.connection.0.send_replace(ConnectionState::Opening);
        while !cancel.is_cancelled() {
            let opened = tokio::select! {
                () = cancel.cancelled() => break,
                opened = self.open_connection() => opened,
            };
            let pause = match opened {
                Ok(stream) => {
                    let since = self.clock.now();
                    self.connection.mark_open(since);
                    let (sender, mut receiver) = oneshot::channel();
                    connections.spawn(self.clone().read_connection(stream, sender, cancel.clone()));
                    let disconnection = loop {
                        tokio::select! {
                            () = cancel.cancelled() => break None,
                            disconnection = &mut receiver => break disconnection.ok(),
                            // A connection's task has ended, normally or by a panic.
                            Some(ended) = connections.join_next() => resume_panic(ended),
                        }
                    };
                    if cancel.is_cancelled() {
                        break;
                    }
                    let disconnection = disconnection
                        .unwrap_or_else(|| Disconnection { had_requests: false, why: "it ended".to_owned() });
                    tracing::debug!(why = disconnection.why, "opening another Socket Mode connection to Slack");
                    let was_stable =
                        disconnection.had_requests || self.clock.now().duration_since(since) >= STABLE_AFTER;
                    failures = if was_stable { 0 } else { failures + 1 };
                    // The first failure is not reported: usually Slack only moves the connection to another machine.
                    if failures > 1 {
                        self.connection.mark_closed(self.clock.now(), &disconnection.why);
                    }
                    backoff_delay(failures.saturating_sub(1))
                }
                Err(error) => {
                    failures += 1;
                    let (why, pause) = match error {
                        ConnectError::RateLimited(pause) => {
                            let pause = SignedDuration::try_from(pause).unwrap_or(MAX_RETRY_WAIT).min(MAX_RETRY_WAIT);
                            ("Slack asks us to wait".to_owned(), pause)
                        }
                        ConnectError::Refused(code) => {
                            (format!("Slack refuses the app-level token: {code}"), REFUSED_RETRY_WAIT)
                        }
                        ConnectError::Failed(why) => (why, backoff_delay(failures)),
                    };
                    self.connection.mark_closed(self.clock.now(), &why);
                    pause
                }
            };
            while let Some(ended) = connections.try_join_next() {
                resume_panic(ended);
            }
            if pause > SignedDuration::ZERO {
                tokio::select! {
                    () = cancel.cancelled() => {}
                    () = self.clock.sleep(pause) => {}
                }
            }
        }
        while let Some(ended) = connections.join_next().await {
            resume_panic(ended);
        }
    }

    /// Opens a connection and waits for Slack's hello.
    async fn open_connection(&self) -> Result<SocketStream, ConnectError> {
        let mut stream = self.client.connect_socket(&self.token).await?;
        let wait_for_hello = async {
            while let Some(message) = stream.next().await {
                match message {
                    Ok(Message::Text(text)) => match parse_envelope(&text) {
                        Ok(Envelope::Hello) => return Ok(()),
                        Ok(Envelope::Disconnect { reason }) => {
                            return Err(ConnectError::Failed(format!("Slack closed the socket at once: {reason}")));
                        }
                        _ => return Err(ConnectError::Failed("Slack did not say hello".to_owned())),
                    },
                    Ok(_) => {}
                    Err(error) => return Err(ConnectError::Failed(describe_socket_error(&error))),
                }
            }
            Err(ConnectError::Failed("the socket was closed before Slack said hello".to_owned()))
        };
        let to_timeout_error =
            |_| ConnectError::Failed(format!("Slack did not say hello within {} s", HELLO_TIMEOUT.as_secs()));
        tokio::time::timeout(HELLO_TIMEOUT, wait_for_hello).await.map_err(to_timeout_error)??;
        Ok(stream)
    }

    /// Reads one connection to its end. `disconnected_sender` is notified as soon as a new connection is needed, which
    /// may be earlier.
    async fn read_connection(
        self,
        mut stream: SocketStream,
        disconnected_sender: oneshot::Sender<Disconnection>,
        cancel: CancellationToken,
    ) {
        let mut disconnected_sender = Some(disconnected_sender);
        let mut had_requests = false;
        let mut answers: JoinSet<Option<String>> = JoinSet::new();
        let mut last_received_at = self.clock.now();
        let mut pinged_at: Option<tokio::time::Instant> = None;
        let mut drain_deadline: Option<tokio::time::Instant> = None;
        let why = loop {
            let idle = async {
                match pinged_at {
                    None => self.clock.sleep_until(last_received_at + IDLE_TIMEOUT).await,
                    Some(at) => tokio::time::sleep_until(at + PING_TIMEOUT).await,
                }
            };
            let drained = async {
                match drain_deadline {
                    None => std::future::pending().await,
                    Some(at) => tokio::time::sleep_until(at).await,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => break "we end".to_owned(),
                Some(answered) = answers.join_next() => {
                    // A request that panicked is not acknowledged, so Slack sends it again.
                    let Some(ack) = answered.unwrap_or_default() else { continue };
                    if let Err(why) = send_frame(&mut stream, Message::text(ack)).await {
                        break why;
                    }
                }
                message = stream.next(), if answers.len() < MAX_CONCURRENT_REQUESTS => {
                    (last_received_at, pinged_at) = (self.clock.now(), None);
                    let text = match message {
                        None => break "the socket was closed".to_owned(),
                        Some(Err(error)) => break describe_socket_error(&error),
                        Some(Ok(Message::Text(text))) => text,
                        // The library answers pings; after a close frame the stream ends.
                        Some(Ok(_)) => continue,
                    };
                    match parse_envelope(&text) {
                        Ok(Envelope::Request { id, accepts_payload, incoming }) => {
                            had_requests = true;
                            answers.spawn(answer_request(self.handler.clone(), id, accepts_payload, *incoming));
                        }
                        Ok(Envelope::Disconnect { reason }) => {
                            drain_deadline = drain_deadline.or_else(|| Some(tokio::time::Instant::now() + DRAIN_TIMEOUT));
                            report_disconnection(&mut disconnected_sender, had_requests, &format!("Slack asks for another: {reason}"));
                        }
                        Ok(Envelope::Hello | Envelope::Other) => {}
                        Err(wrong) => tracing::warn!(wrong, "a message from Slack's socket is unreadable"),
                    }
                }
                () = idle => {
                    if pinged_at.is_some() {
                        break format!("nothing was heard of Slack for {} s", IDLE_TIMEOUT.as_secs());
                    }
                    pinged_at = Some(tokio::time::Instant::now());
                    if let Err(why) = send_frame(&mut stream, Message::Ping(Vec::new().into())).await {
                        break why;
                    }
                }
                () = drained => break "it was asked to go".to_owned(),
            }
        };
        report_disconnection(&mut disconnected_sender, had_requests, &why);
        let rest = async {
            while let Some(answered) = answers.join_next().await {
                if let Some(ack) = answered.unwrap_or_default()
                    && stream.send(Message::text(ack)).await.is_err()
                {
                    return;
                }
            }
            let _ = stream.close(None).await;
        };
        let _ = tokio::time::timeout(ACK_TIMEOUT, rest).await;
    }
}

async fn answer_request(
    handler: RequestHandler,
    id: String,
    accepts_payload: bool,
    incoming: IncomingRequest,
) -> Option<String> {
    let ack = match incoming {
        IncomingRequest::Ignored => Ack::Empty,
        incoming => handler(incoming).await,
    };
    build_acknowledgement(&id, accepts_payload, &ack)
}

async fn send_frame(stream: &mut SocketStream, message: Message) -> Result<(), String> {
    match tokio::time::timeout(SEND_TIMEOUT, stream.send(message)).await {
        Ok(sent) => sent.map_err(|error| describe_socket_error(&error)),
        Err(_) => Err("Slack takes nothing from the socket any more".to_owned()),
    }
}

fn report_disconnection(sender: &mut Option<oneshot::Sender<Disconnection>>, had_requests: bool, why: &str) {
    if let Some(sender) = sender.take() {
        // At shutdown the receiver is already dropped.
        let _ = sender.send(Disconnection { had_requests, why: why.to_owned() });
    }
}

/// One second, then two, four and so on up to a minute, minus a random part of up to a half, so that many clients do
/// not reconnect at the same time.
fn backoff_delay(failures: u32) -> SignedDuration {
    let Some(doublings) = failures.checked_sub(1) else { return SignedDuration::ZERO };
    let full =
        i64::from(1_u32.checked_shl(doublings).map_or(MAX_BACKOFF_SECONDS, |seconds| seconds.min(MAX_BACKOFF_SECONDS)))
            * 1000;
    let random = std::hash::RandomState::new().hash_one(failures) % 1000;
    SignedDuration::from_millis(full - full / 2 * i64::try_from(random).unwrap_or_default() / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_up_to_a_minute_and_has_jitter() {
        assert_eq!(backoff_delay(0), SignedDuration::ZERO);
        for (failures, full) in [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (40, 60), (u32::MAX, 60)] {
            for _ in 0..50 {
                let pause = backoff_delay(failures).as_millis();
                assert!((full * 500..=full * 1000).contains(&pause), "{failures}: {pause}");
            }
        }
        assert!((0..20).map(|_| backoff_delay(7)).collect::<std::collections::BTreeSet<_>>().len() > 1);
    }
}
