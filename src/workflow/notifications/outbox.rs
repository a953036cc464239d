//! From the outbox to Slack: one queue per channel, each in order and at its pace, none held up by another.
//! Every wait is a stored `due_at`, so a restart forgets nothing.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span, field};

use crate::adapters::slack::client::{Client, SendError};
use crate::adapters::slack::rate_limit::Pace;
use crate::adapters::store::{
    Entry, LedgerDetails, LedgerKind, MessageId, Outgoing, Said, Store, StoreError, Transaction,
};
use crate::clock::Clock;
use crate::domain::change::ChangeId;
use crate::domain::model::message::{Message, MessageKey};

/// How many queues speak at the same time.
const AT_ONCE: usize = 16;
/// A message that Slack would not take for so long is given up, so that its queue can go on.
const GIVE_UP_AFTER: SignedDuration = SignedDuration::from_hours(24);
const FIRST_BACKOFF: SignedDuration = SignedDuration::from_secs(1);
const LONGEST_BACKOFF: SignedDuration = SignedDuration::from_mins(5);
/// When the database fails after Slack took a message, we cannot know later that it did: rather wait than repeat.
const AFTER_STORE_FAILURE: SignedDuration = SignedDuration::from_mins(1);

const TABLES: &str = "slack.tables";

/// Does this workspace take table blocks? Learned from the first message that had one, and kept.
#[derive(Clone, Debug)]
pub struct Tables(Arc<watch::Sender<TableSupport>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableSupport {
    Unknown,
    Taken,
    Refused,
}

impl Tables {
    pub async fn load(store: &Store) -> Result<Self, StoreError> {
        let support = match store.setting(TABLES).await?.as_deref() {
            Some("taken") => TableSupport::Taken,
            Some("refused") => TableSupport::Refused,
            _ => TableSupport::Unknown,
        };
        Ok(Self(Arc::new(watch::channel(support).0)))
    }

    pub fn support(&self) -> TableSupport {
        *self.0.borrow()
    }

    fn learn(&self, support: TableSupport) {
        self.0.send_replace(support);
    }
}

/// Sends what is due until it is cancelled; what is on its way then may still arrive.
pub async fn run(store: Store, slack: Client, clock: Clock, tables: Tables, cancel: CancellationToken) {
    let sender = Sender { store, slack, clock: clock.clone(), tables, told: Arc::default() };
    let mut queues = Queues {
        pace: Pace::new(clock),
        held_until: None,
        busy: HashMap::new(),
        sending: JoinSet::new(),
        sender: sender.clone(),
    };
    let mut woken = sender.store.woken();
    while !cancel.is_cancelled() {
        let seen = woken.borrow_and_update().outbox;
        let next = match queues.start_due().await {
            Ok(next) => next,
            Err(StoreError::Closed) => break,
            Err(error) => {
                tracing::error!(%error, "the outbox cannot be read; trying again in a second");
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let time_comes = async {
            match next {
                Some(due) => sender.clock.sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = cancel.cancelled() => break,
            () = queues.ended() => {}
            news = woken.wait_for(|wakes| wakes.outbox != seen) => if news.is_err() { break },
            () = time_comes => {}
        }
    }
    while queues.sending.join_next().await.is_some() {}
}

struct Queues {
    pace: Pace,
    /// Slack asked the whole workspace to wait.
    held_until: Option<Timestamp>,
    busy: HashMap<Id, String>,
    sending: JoinSet<Option<Timestamp>>,
    sender: Sender,
}

impl Queues {
    /// Starts every queue whose turn it is, and says when the next one's comes.
    async fn start_due(&mut self) -> Result<Option<Timestamp>, StoreError> {
        let now = self.sender.clock.now();
        self.held_until = self.held_until.filter(|until| *until > now);
        let speaking: HashSet<String> = self.busy.values().cloned().collect();
        let mut later = Transaction::new();
        let mut next: Option<Timestamp> = None;
        let mut soonest = |at: Timestamp| next = Some(next.map_or(at, |next| next.min(at)));
        for turn in self.sender.store.turns().await? {
            if speaking.contains(&turn.queue) {
                continue;
            }
            if turn.due_at > now {
                soonest(turn.due_at);
                break;
            }
            if self.sending.len() >= AT_ONCE {
                break;
            }
            let allowed = self.held_until.map_or_else(|| self.pace.check(&turn.queue), Err);
            if let Err(until) = allowed {
                soonest(until);
                later = later.delay(turn.id, until, None);
                continue;
            }
            let sender = self.sender.clone();
            let task = self.sending.spawn(async move { sender.attempt(turn.id).await });
            self.busy.insert(task.id(), turn.queue);
        }
        self.sender.store.commit(later).await?;
        Ok(next)
    }

    /// Waits until a message was dealt with; for ever while none is on its way.
    async fn ended(&mut self) {
        let (id, hold) = match self.sending.join_next_with_id().await {
            Some(Ok((id, hold))) => (id, hold),
            Some(Err(error)) => {
                tracing::error!(%error, "sending a message ended in a panic");
                (error.id(), Some(self.sender.clock.now() + AFTER_STORE_FAILURE))
            }
            None => return std::future::pending().await,
        };
        self.busy.remove(&id);
        self.held_until = self.held_until.max(hold);
    }
}

#[derive(Clone)]
struct Sender {
    store: Store,
    slack: Client,
    clock: Clock,
    tables: Tables,
    /// Queues of which something cannot be sent, and what: of these the log has complained.
    told: Arc<Mutex<HashSet<String>>>,
}

impl Sender {
    /// One message, one attempt. Says until when all queues must wait, if they must.
    async fn attempt(&self, id: MessageId) -> Option<Timestamp> {
        let sent = match self.store.outgoing(id).await {
            Ok(Some(outgoing)) => {
                let span = span(&outgoing);
                self.send(id, outgoing).instrument(span).await
            }
            Ok(None) => return None,
            Err(error) => Err(error),
        };
        match sent {
            Ok(hold) => hold,
            Err(error) => {
                tracing::error!(%error, "what became of a message could not be stored; all wait for a minute");
                Some(self.clock.now() + AFTER_STORE_FAILURE)
            }
        }
    }

    async fn send(&self, id: MessageId, outgoing: Outgoing) -> Result<Option<Timestamp>, StoreError> {
        let message = match &outgoing.message {
            Ok(message) => message.clone(),
            Err(error) => {
                let reason = format!("it cannot be read: {error}");
                self.give_up(&outgoing, None, &reason).await?;
                return Ok(None);
            }
        };
        let delivered = crate::workflow::notifications::delivery::deliver(
            &self.store,
            &self.slack,
            &self.tables,
            message.clone(),
            outgoing.created_at,
            self.clock.now(),
        )
        .await?;
        let now = self.clock.now();
        match delivered {
            Ok(delivered) => self.record(&outgoing, &message, delivered).await?,
            Err(SendError::RateLimited { retry_after, everywhere }) => {
                let until = now + SignedDuration::try_from(retry_after).unwrap_or(LONGEST_BACKOFF);
                self.store.commit(Transaction::new().delay(id, until, None)).await?;
                return Ok(everywhere.then_some(until));
            }
            Err(error @ (SendError::Transient(_) | SendError::Unauthorised(_)))
                if now.duration_since(outgoing.created_at) < GIVE_UP_AFTER =>
            {
                let reason = error.to_string();
                if outgoing.attempts == 0 {
                    tracing::warn!(queue = %outgoing.queue, %reason, "a message could not be sent; trying again");
                }
                let until = now + backoff(id, outgoing.attempts);
                self.store.commit(Transaction::new().delay(id, until, Some(reason))).await?;
            }
            Err(error) => self.give_up(&outgoing, Some(&message), &error.to_string()).await?,
        }
        Ok(None)
    }

    async fn record(
        &self,
        outgoing: &Outgoing,
        message: &Message,
        sent: crate::workflow::notifications::delivery::Delivered,
    ) -> Result<(), StoreError> {
        let said = sent.at.map(|place| Said { place, note: sent.note });
        let mut transaction = Transaction::new().sent(outgoing.id, outgoing.revision, said);
        if let Some(file) = sent.left {
            transaction = transaction.say(file);
        }
        if let Some(reason) = sent.refused_file {
            transaction = transaction.ledger(self.dropped(LedgerKind::FileDropped, outgoing, Some(message), &reason));
        }
        let learned = match (message.has_table(), sent.plain) {
            (true, false) => Some(TableSupport::Taken),
            // It may have been the rich text that was refused.
            (true, true) if message.plain.is_some() && !message.has_rich_text() => Some(TableSupport::Refused),
            _ => None,
        };
        let learned = learned.filter(|learned| *learned != self.tables.support());
        if let Some(learned) = learned {
            transaction = transaction.setting(TABLES, if learned == TableSupport::Taken { "taken" } else { "refused" });
            // Before the row goes: who sees the outbox empty may rely on what was learned by it.
            self.tables.learn(learned);
        }
        self.store.commit(transaction).await
    }

    /// The ledger keeps what was not said and why; the queue goes on.
    async fn give_up(&self, outgoing: &Outgoing, message: Option<&Message>, reason: &str) -> Result<(), StoreError> {
        let entry = self.dropped(LedgerKind::MessageDropped, outgoing, message, reason);
        self.store.commit(Transaction::new().unsay(outgoing.id, outgoing.revision).ledger(entry)).await
    }

    /// For the ledger, and once for the log.
    fn dropped(&self, kind: LedgerKind, outgoing: &Outgoing, message: Option<&Message>, reason: &str) -> Entry {
        let queue = &outgoing.queue;
        if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(format!("{} {queue}", kind.as_str())) {
            tracing::warn!(%queue, reason, kind = kind.as_str(), "it cannot be sent; the ledger keeps it, and later ones are not logged");
        }
        let details = LedgerDetails::Undelivered {
            queue: queue.clone(),
            key: message.and_then(Message::key).cloned(),
            text: message.map(|message| message.text.clone()),
            file: message.and_then(|message| message.file.as_ref()).map(|file| file.name.clone()),
            reason: reason.to_owned(),
        };
        Entry {
            at: self.clock.now(),
            change: None,
            kind,
            artefact: None,
            environment: None,
            actor: None,
            details: Some(details),
        }
    }
}

/// Around the way of one message: the request that it answers, and the change whose card it is or stands below.
fn span(outgoing: &Outgoing) -> Span {
    let message = outgoing.message.as_ref().ok();
    let key = message.and_then(|message| message.key()).map(MessageKey::as_str).unwrap_or_default();
    let change = key.rsplit(':').next().and_then(ChangeId::parse);
    let request = message.and_then(|message| message.request.as_deref());
    tracing::error_span!("message", request.id = request, change.id = change.map(field::display))
}

/// Doubles from a second to five minutes, a fifth more or less, so that queues do not come back all at once.
fn backoff(id: MessageId, attempts: u32) -> SignedDuration {
    let doubled = FIRST_BACKOFF.checked_mul(1_i32 << attempts.min(16)).unwrap_or(LONGEST_BACKOFF).min(LONGEST_BACKOFF);
    let percent = std::hash::RandomState::new().hash_one((id, attempts)) % 41;
    doubled * (80 + i32::try_from(percent).unwrap_or_default()) / 100
}

#[cfg(test)]
mod tests;
