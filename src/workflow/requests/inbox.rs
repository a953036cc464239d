//! Works off what was stored: the commands, mentions and clicks that memory alone could not answer.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span, field};

use crate::adapters::slack::incoming::{Incoming, Origin};
use crate::adapters::slack::render::Said;
use crate::adapters::store::{InboxId, Line, Received, Source, StoreError, Transaction};
use crate::domain::change::Change;
use crate::domain::command;
use crate::telemetry;

use crate::workflow::context::Bot;
use crate::workflow::requests::dispatch::privately;

/// How many are worked on at once: one that waits for Slack holds up nobody but itself.
const AT_ONCE: usize = 16;

/// After so many failures the person is told, and it is over.
const MOST_ATTEMPTS: u32 = 6;

/// How often something is looked at that takes its time, and for how long.
const PATIENCE: SignedDuration = SignedDuration::from_secs(2);
const MOST_PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// When the database cannot be read or written, it is tried again after this.
pub(crate) const AFTER_STORE_FAILURE: Duration = Duration::from_secs(5);

/// What ended in a panic may end in another: it is not tried in a circle.
pub(crate) const AFTER_PANIC: SignedDuration = SignedDuration::from_mins(5);

/// Runs until it is cancelled, and to the end of what is under way then. What waits is worked off by the next start.
pub async fn run(bot: Bot, cancel: CancellationToken) {
    let mut woken = bot.store.woken();
    let mut under_way = JoinSet::new();
    let mut busy = HashMap::new();
    while !cancel.is_cancelled() {
        woken.mark_unchanged();
        let next_due = match waiting(&bot, &busy).await {
            Ok((received, next_due)) => {
                for received in received {
                    let (bot, id) = (bot.clone(), received.id);
                    let span = span(&received);
                    let task = under_way.spawn(async move { bot.work_off(received).await }.instrument(span));
                    busy.insert(task.id(), id);
                }
                next_due
            }
            Err(error) => {
                tracing::error!(%error, "the inbox cannot be read");
                tokio::time::sleep(AFTER_STORE_FAILURE).await;
                continue;
            }
        };
        let due = async {
            match next_due {
                Some(due) => bot.clock.sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = cancel.cancelled() => break,
            alive = woken.changed() => if alive.is_err() { break },
            Some(done) = under_way.join_next_with_id() => {
                let task = match &done {
                    Ok((task, ())) => *task,
                    Err(error) => error.id(),
                };
                let id = busy.remove(&task);
                if let (Err(error), Some(id)) = (done, id) {
                    tracing::error!(%error, "working on something in the inbox ended in a panic");
                    bot.put_off(id, AFTER_PANIC, "a panic").await;
                }
            }
            () = due => {}
        }
    }
    while under_way.join_next().await.is_some() {}
}

/// What can be begun now, and when the next can be.
async fn waiting(bot: &Bot, busy: &HashMap<Id, InboxId>) -> Result<(Vec<Received>, Option<Timestamp>), StoreError> {
    let free = AT_ONCE.saturating_sub(busy.len());
    if free == 0 {
        return Ok((Vec::new(), None));
    }
    let limit = u32::try_from(AT_ONCE + busy.len()).unwrap_or(u32::MAX);
    let asked_at = bot.clock.now();
    let mut received = bot.store.waiting(Line::Requests, limit).await?;
    received.retain(|received| !busy.values().any(|id| *id == received.id));
    received.truncate(free);
    Ok((received, bot.store.next_waiting(Line::Requests, asked_at).await?))
}

/// What could not be done now, though it may be done later; and what is said if it never can.
pub(crate) struct NotNow {
    pub(crate) why: String,
    pub(crate) otherwise: Said,
    /// It is waited for what takes its time, and not for somebody who does not answer.
    pub(crate) patient: bool,
}

impl NotNow {
    /// It is tried again a few times, each after a longer pause.
    pub(crate) fn soon(why: String, otherwise: Said) -> Self {
        Self { why, otherwise, patient: false }
    }

    /// It is looked at every other second, for ten minutes.
    pub(crate) fn patiently(why: String, otherwise: Said) -> Self {
        Self { why, otherwise, patient: true }
    }
}

/// What follows from something in the inbox.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) transaction: Transaction,
    /// The changes that the transaction begins, takes up again or moves on.
    pub(crate) changes: Vec<Change>,
    /// The rule that said no.
    pub(crate) refused: Option<&'static str>,
}

impl From<Transaction> for Work {
    fn from(transaction: Transaction) -> Self {
        Self { transaction, ..Self::default() }
    }
}

impl Bot {
    async fn work_off(&self, received: Received) {
        let id = received.id;
        let done = match self.understand(&received).await {
            Ok(Work { transaction, mut changes, refused }) => {
                let request = request_of(&received);
                let done = self.store.commit(transaction.asked_by(&request).done(id)).await;
                if done.is_ok() {
                    self.count(&received);
                    if let Some(refusal) = refused {
                        self.measures.refused(refusal);
                    }
                    for change in &mut changes {
                        change.request.get_or_insert_with(|| request.clone());
                    }
                    for change in changes {
                        self.changes.put(change);
                    }
                }
                done
            }
            Err(NotNow { why, patient: true, .. })
                if self.clock.now().duration_since(received.received_at) < MOST_PATIENCE =>
            {
                let waits = Transaction::new().wait(id, self.clock.now() + PATIENCE, &why);
                return Self::written(self.store.commit(waits).await).await;
            }
            Err(NotNow { why, otherwise, patient }) if patient || received.attempts + 1 >= MOST_ATTEMPTS => {
                tracing::error!(why, "given up");
                let mut transaction = Transaction::new().done(id);
                if let Some(from) = origin(&received) {
                    transaction =
                        transaction.say(privately(&from, &received, otherwise)).asked_by(&request_of(&received));
                }
                self.store.commit(transaction).await
            }
            Err(NotNow { why, .. }) => {
                let pause = SignedDuration::from_secs(1 << received.attempts.min(6));
                tracing::warn!(why, attempts = received.attempts + 1, "put off");
                return self.put_off(id, pause, &why).await;
            }
        };
        match done {
            // Somebody was faster between the question and the answer: it is asked again, and answered as it is now.
            Err(StoreError::Held | StoreError::Overtaken) => self.put_off(id, SignedDuration::ZERO, "overtaken").await,
            done => Self::written(done).await,
        }
    }

    /// What was typed counts by its verb, once it is answered.
    fn count(&self, received: &Received) {
        if let Ok(Incoming::Command { text, .. } | Incoming::Said { text, .. }) =
            serde_json::from_value(received.body.clone())
        {
            let command = command::parse(&text, &self.config.catalogue).ok();
            self.measures.answered(command.map(|command| command.verb()));
        }
    }

    async fn put_off(&self, id: InboxId, pause: SignedDuration, why: &str) {
        Self::written(self.store.postpone(id, self.clock.now() + pause, why).await).await;
    }

    /// A database that cannot be written is not asked again at once: the row is still there.
    async fn written(done: Result<(), StoreError>) {
        if let Err(error) = done {
            tracing::error!(%error, "the inbox cannot be written");
            tokio::time::sleep(AFTER_STORE_FAILURE).await;
        }
    }

    async fn understand(&self, received: &Received) -> Result<Work, NotNow> {
        match received.source {
            Source::SlackCommand | Source::SlackInteraction | Source::SlackEvent => {
                let Ok(incoming) = serde_json::from_value::<Incoming>(received.body.clone()) else {
                    tracing::error!("a stored request cannot be read any more");
                    return Ok(Work::default());
                };
                self.respond(received, incoming).await
            }
            // They stand in the other line.
            Source::GitHub | Source::Flux | Source::ArgoCd | Source::Deployments | Source::CdEvents => {
                Ok(Work::default())
            }
        }
    }
}

/// What it is called in the log.
pub(crate) fn request_of(received: &Received) -> String {
    telemetry::request_id(received.source.as_str(), &received.key)
}

/// Around all that follows from it.
pub(crate) fn span(received: &Received) -> Span {
    let source = received.source.as_str();
    tracing::error_span!("request", request.id = request_of(received), source, change.id = field::Empty)
}

fn origin(received: &Received) -> Option<Origin> {
    match serde_json::from_value(received.body.clone()).ok()? {
        Incoming::Command { from, .. }
        | Incoming::Said { from, .. }
        | Incoming::Click { from, .. }
        | Incoming::Submitted { from, .. } => Some(from),
        // Nobody asked for anything.
        Incoming::Opened { .. } | Incoming::Joined { .. } | Incoming::Ignored => None,
    }
}
