//! Sends the messages of the outbox to Slack: one queue per channel, each in order and at Slack's pace, and none delays
//! another. Every wait is a stored `due_at`, so a restart loses nothing.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span, field};

use crate::adapters::slack::client::{Client, SendError};
use crate::adapters::slack::rate_limit::ChannelRateLimiter;
use crate::adapters::store::{
    LedgerDetails, LedgerEntry, LedgerKind, MessageId, OutgoingMessage, PostedMessage, Store, StoreError, Transaction,
    Wakeups,
};
use crate::clock::Clock;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::message::{Message, MessageKey};
use crate::workflow::facts::table_support::{TABLE_SUPPORT_SETTING, TableSupport, TableSupportCache};
use crate::workflow::worker::{RowQueue, RowTasks, run_queue};

/// After this time, a message that Slack does not accept is dropped, so that its queue can continue.
const GIVE_UP_AFTER: SignedDuration = SignedDuration::from_hours(24);
const FIRST_BACKOFF: SignedDuration = SignedDuration::from_secs(1);
const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(5);
/// If the store fails after Slack accepted a message, a repetition would post it twice. So sending pauses.
const STORE_FAILURE_PAUSE: SignedDuration = SignedDuration::from_mins(1);

/// Sends due messages until it is cancelled. A message that is being sent then may still arrive.
pub async fn run(store: Store, slack: Client, clock: Clock, tables: TableSupportCache, cancel: CancellationToken) {
    let sender = MessageSender { store, slack, clock: clock.clone(), tables, logged_failures: Arc::default() };
    let queues = ChannelQueues {
        pace: ChannelRateLimiter::new(clock.clone()),
        paused_until: None,
        wakeups: sender.store.subscribe_wakeups(),
        seen_wakeups: 0,
        sender,
    };
    run_queue(queues, &clock, &cancel).await;
}

/// The queues of the channels. A queue sends its messages one after another.
struct ChannelQueues {
    pace: ChannelRateLimiter,
    /// Slack asked the whole workspace to wait.
    paused_until: Option<Timestamp>,
    wakeups: watch::Receiver<Wakeups>,
    /// The count of the store's wake-ups for the outbox at the last read.
    seen_wakeups: u64,
    sender: MessageSender,
}

impl RowQueue for ChannelQueues {
    type Key = String;
    type Output = Option<Timestamp>;

    const FAILURE: &'static str = "the outbox cannot be read; trying again";

    async fn start_due_rows(
        &mut self,
        tasks: &mut RowTasks<String, Option<Timestamp>>,
    ) -> Result<Option<Timestamp>, StoreError> {
        self.seen_wakeups = self.wakeups.borrow_and_update().outbox;
        let now = self.sender.clock.now();
        self.paused_until = self.paused_until.filter(|until| *until > now);
        let busy_queues: HashSet<String> = tasks.running_keys().cloned().collect();
        let mut delays = Transaction::new();
        let mut next: Option<Timestamp> = None;
        let mut note_due_time = |due_at: Timestamp| next = Some(next.map_or(due_at, |next| next.min(due_at)));
        for row in self.sender.store.list_next_messages().await? {
            if busy_queues.contains(&row.queue) {
                continue;
            }
            if row.due_at > now {
                note_due_time(row.due_at);
                break;
            }
            if tasks.count_free() == 0 {
                break;
            }
            let allowed = self.paused_until.map_or_else(|| self.pace.try_acquire(&row.queue), Err);
            if let Err(until) = allowed {
                note_due_time(until);
                delays = delays.delay_message(row.id, until, None);
                continue;
            }
            let sender = self.sender.clone();
            tasks.spawn_row(row.queue, async move { sender.attempt_send(row.id).await });
        }
        self.sender.store.commit(delays).await?;
        Ok(next)
    }

    async fn finish_row(&mut self, _queue: String, result: Result<Option<Timestamp>, JoinError>) {
        let pause_until = result.unwrap_or_else(|error| {
            tracing::error!(%error, "sending a message panicked; sending pauses for a minute");
            Some(self.sender.clock.now() + STORE_FAILURE_PAUSE)
        });
        self.paused_until = self.paused_until.max(pause_until);
    }

    async fn wait_for_wakeup(&mut self) -> bool {
        self.wakeups.wait_for(|wakeups| wakeups.outbox != self.seen_wakeups).await.is_ok()
    }
}

#[derive(Clone)]
struct MessageSender {
    store: Store,
    slack: Client,
    clock: Clock,
    tables: TableSupportCache,
    /// Kinds of failure and queues that were logged. Each is logged once.
    logged_failures: Arc<Mutex<HashSet<String>>>,
}

impl MessageSender {
    /// Tries once to send a message. Returns the end of a pause of all queues, if one is needed.
    async fn attempt_send(&self, id: MessageId) -> Option<Timestamp> {
        let result = match self.store.find_outgoing_message(id).await {
            Ok(Some(outgoing)) => {
                let span = create_message_span(&outgoing);
                self.send_message(id, outgoing).instrument(span).await
            }
            Ok(None) => return None,
            Err(error) => Err(error),
        };
        match result {
            Ok(pause_until) => pause_until,
            Err(error) => {
                tracing::error!(%error, "the result of a message could not be stored; sending pauses for a minute");
                Some(self.clock.now() + STORE_FAILURE_PAUSE)
            }
        }
    }

    async fn send_message(&self, id: MessageId, outgoing: OutgoingMessage) -> Result<Option<Timestamp>, StoreError> {
        let message = match &outgoing.message {
            Ok(message) => message.clone(),
            Err(error) => {
                let reason = format!("it cannot be read: {error}");
                self.give_up(&outgoing, None, &reason).await?;
                return Ok(None);
            }
        };
        let result = crate::workflow::notifications::delivery::send_with_fallbacks(
            &self.store,
            &self.slack,
            &self.tables,
            message.clone(),
            outgoing.created_at,
            self.clock.now(),
        )
        .await?;
        let now = self.clock.now();
        match result {
            Ok(sent) => self.record_sent(&outgoing, &message, sent).await?,
            Err(SendError::RateLimited { retry_after, is_workspace_wide }) => {
                let until = now + SignedDuration::try_from(retry_after).unwrap_or(MAX_BACKOFF);
                self.store.commit(Transaction::new().delay_message(id, until, None)).await?;
                return Ok(is_workspace_wide.then_some(until));
            }
            Err(error @ (SendError::Transient(_) | SendError::Unauthorised(_)))
                if now.duration_since(outgoing.created_at) < GIVE_UP_AFTER =>
            {
                let reason = error.to_string();
                if outgoing.attempts == 0 {
                    tracing::warn!(queue = %outgoing.queue, %reason, "a message could not be sent; trying again");
                }
                let until = now + compute_backoff(id, outgoing.attempts);
                self.store.commit(Transaction::new().delay_message(id, until, Some(reason))).await?;
            }
            Err(error) => self.give_up(&outgoing, Some(&message), &error.to_string()).await?,
        }
        Ok(None)
    }

    async fn record_sent(
        &self,
        outgoing: &OutgoingMessage,
        message: &Message,
        sent: crate::workflow::notifications::delivery::SentMessage,
    ) -> Result<(), StoreError> {
        let posted_message = sent.location.map(|location| PostedMessage { location, note: sent.note });
        let mut transaction = Transaction::new().mark_sent(outgoing.id, outgoing.revision, posted_message);
        if let Some(file) = sent.file_message {
            transaction = transaction.enqueue_message(file);
        }
        if let Some(reason) = sent.file_error {
            transaction = transaction.append_to_ledger(self.build_drop_entry(
                LedgerKind::FileDropped,
                outgoing,
                Some(message),
                &reason,
            ));
        }
        let support = match (message.has_table(), sent.is_plain) {
            (true, false) => Some(TableSupport::Accepted),
            // With rich text in the message, Slack may have refused that instead.
            (true, true) if message.plain.is_some() && !message.has_rich_text() => Some(TableSupport::Refused),
            _ => None,
        };
        let support = support.filter(|support| *support != self.tables.support());
        if let Some(support) = support {
            transaction = transaction.write_setting(
                TABLE_SUPPORT_SETTING,
                if support == TableSupport::Accepted { "taken" } else { "refused" },
            );
            // Set before the row is removed, because an empty outbox means that the support is known.
            self.tables.set_support(support);
        }
        self.store.commit(transaction).await
    }

    /// Drops a message and records it in the ledger with the reason.
    async fn give_up(
        &self,
        outgoing: &OutgoingMessage,
        message: Option<&Message>,
        reason: &str,
    ) -> Result<(), StoreError> {
        let entry = self.build_drop_entry(LedgerKind::MessageDropped, outgoing, message, reason);
        self.store.commit(Transaction::new().drop_message(outgoing.id, outgoing.revision).append_to_ledger(entry)).await
    }

    /// Builds the ledger entry of a dropped message or file. Logs the first one of each queue.
    fn build_drop_entry(
        &self,
        kind: LedgerKind,
        outgoing: &OutgoingMessage,
        message: Option<&Message>,
        reason: &str,
    ) -> LedgerEntry {
        let queue = &outgoing.queue;
        if self
            .logged_failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(format!("{} {queue}", kind.as_str()))
        {
            tracing::warn!(
                %queue, reason, kind = kind.as_str(),
                "a message or file was dropped and is in the ledger; later ones of this queue are not logged"
            );
        }
        let details = LedgerDetails::Undelivered {
            queue: queue.clone(),
            key: message.and_then(Message::key).cloned(),
            text: message.map(|message| message.text.clone()),
            file: message.and_then(|message| message.file.as_ref()).map(|file| file.name.clone()),
            reason: reason.to_owned(),
        };
        LedgerEntry {
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

/// The span of one message, with the ids of its request and its change.
fn create_message_span(outgoing: &OutgoingMessage) -> Span {
    let message = outgoing.message.as_ref().ok();
    let key = message.and_then(|message| message.key()).map(MessageKey::as_str).unwrap_or_default();
    let change = key.rsplit(':').next().and_then(ChangeId::parse);
    let request = message.and_then(|message| message.request.as_deref());
    tracing::error_span!("message", request.id = request, change.id = change.map(field::display))
}

/// Doubles from a second to five minutes, plus or minus a fifth, so that queues do not retry all at once.
fn compute_backoff(id: MessageId, attempts: u32) -> SignedDuration {
    let doubled = FIRST_BACKOFF.checked_mul(1_i32 << attempts.min(16)).unwrap_or(MAX_BACKOFF).min(MAX_BACKOFF);
    let percent = std::hash::RandomState::new().hash_one((id, attempts)) % 41;
    doubled * (80 + i32::try_from(percent).unwrap_or_default()) / 100
}

#[cfg(test)]
mod tests;
