//! Works off what was stored: the commands, mentions and clicks that memory alone could not answer, and reports.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::config::ListTo;
use crate::domain::actor::Role;
use crate::domain::command::{self, Command};
use crate::domain::listing::Filter;
use crate::domain::message::{Message, MessageKey, Place, To};
use crate::reports::Report;
use crate::slack::incoming::{Incoming, Origin};
use crate::slack::render::list::{EARLIER, For, LATER, OPEN_EARLIER, OPEN_LATER, Request, SHARE};
use crate::slack::render::{Said, help, notice};
use crate::store::{Batch, InboxId, Received, Source, StoreError};

use super::Bot;

/// How many are worked on at once: one that waits for Slack holds up nobody but itself.
const AT_ONCE: usize = 16;

/// After so many failures the person is told, and it is over.
const MOST_ATTEMPTS: u32 = 6;

/// When the database cannot be read or written, it is tried again after this.
const AFTER_STORE_FAILURE: Duration = Duration::from_secs(5);

/// What ended in a panic may end in another: it is not tried in a circle.
const AFTER_PANIC: SignedDuration = SignedDuration::from_mins(5);

/// Runs until it is cancelled; what is under way then is worked off again by the next start.
pub async fn run(bot: Bot, cancel: CancellationToken) {
    let mut woken = bot.store.woken();
    let mut under_way = JoinSet::new();
    let mut busy = HashMap::new();
    loop {
        woken.mark_unchanged();
        let next_due = match waiting(&bot, &busy).await {
            Ok((received, next_due)) => {
                for received in received {
                    let (bot, id) = (bot.clone(), received.id);
                    let task = under_way.spawn(async move { bot.work_off(received).await });
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
            () = cancel.cancelled() => return,
            alive = woken.changed() => if alive.is_err() { return },
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
}

/// What can be begun now, and when the next can be.
async fn waiting(bot: &Bot, busy: &HashMap<Id, InboxId>) -> Result<(Vec<Received>, Option<Timestamp>), StoreError> {
    let free = AT_ONCE.saturating_sub(busy.len());
    if free == 0 {
        return Ok((Vec::new(), None));
    }
    let limit = u32::try_from(AT_ONCE + busy.len()).unwrap_or(u32::MAX);
    let mut received = bot.store.waiting(limit).await?;
    received.retain(|received| !busy.values().any(|id| *id == received.id));
    received.truncate(free);
    Ok((received, bot.store.next_waiting().await?))
}

/// What could not be done now, though it may be done later.
struct NotNow(String);

impl Bot {
    async fn work_off(&self, received: Received) {
        let id = received.id;
        let done = match self.understand(&received).await {
            Ok(batch) => self.store.commit(batch.done(id)).await,
            Err(NotNow(why)) if received.attempts + 1 >= MOST_ATTEMPTS => {
                tracing::error!(why, source = received.source.as_str(), "given up");
                let mut batch = Batch::new().done(id);
                if let Some(from) = origin(&received) {
                    batch = batch.say(privately(&from, &received, notice::role_unknown()));
                }
                self.store.commit(batch).await
            }
            Err(NotNow(why)) => {
                let pause = SignedDuration::from_secs(1 << received.attempts.min(6));
                return self.put_off(id, pause, &why).await;
            }
        };
        Self::written(done).await;
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

    async fn understand(&self, received: &Received) -> Result<Batch, NotNow> {
        match received.source {
            Source::SlackCommand | Source::SlackInteraction | Source::SlackEvent => {
                let Ok(incoming) = serde_json::from_value::<Incoming>(received.body.clone()) else {
                    tracing::error!(key = received.key, "a stored request cannot be read any more");
                    return Ok(Batch::new());
                };
                self.respond(received, incoming).await
            }
            Source::Flux | Source::ArgoCd | Source::GitHub | Source::Deployments | Source::CdEvents => {
                match serde_json::from_value::<Report>(received.body.clone()) {
                    Ok(report) => {
                        let heard = self.reported(&report);
                        self.wake.up();
                        Ok(Batch::new().ledger(heard))
                    }
                    Err(error) => {
                        tracing::error!(%error, key = received.key, "a stored report cannot be read any more");
                        Ok(Batch::new())
                    }
                }
            }
        }
    }

    async fn respond(&self, received: &Received, incoming: Incoming) -> Result<Batch, NotNow> {
        let from = match &incoming {
            Incoming::Ignored => return Ok(Batch::new()),
            Incoming::Command { from, .. } | Incoming::Said { from, .. } | Incoming::Click { from, .. } => from,
        };
        let role = self.people.role(from).await.map_err(|error| NotNow(error.to_string()))?;
        if role == Role::Bot {
            return Ok(Batch::new());
        }
        let batch = Batch::new();
        Ok(match &incoming {
            _ if role != Role::Member => batch.say(privately(from, received, notice::not_for(role))),
            Incoming::Command { text, .. } => batch.say(self.reply(from, received, text, false)),
            Incoming::Said { text, .. } => batch.say(self.reply(from, received, text, true)),
            Incoming::Click { action, value, .. } => match self.clicked(from, received, action, value) {
                Some(message) => batch.say(message),
                None => batch,
            },
            Incoming::Ignored => batch,
        })
    }

    fn reply(&self, from: &Origin, received: &Received, text: &str, said: bool) -> Message {
        let catalogue = &self.config.catalogue;
        let command = match command::parse(text, catalogue) {
            Ok(command) => command,
            Err(misunderstanding) => {
                return privately(from, received, help::misunderstood(&misunderstanding, catalogue));
            }
        };
        let answer = match command {
            Command::Help { about } => help::help(about, catalogue),
            Command::List { artefact, environment } => {
                let filter = Filter { artefact, environment };
                let in_thread = said && from.thread.is_some();
                if in_thread || self.config.slack.list_to == ListTo::Channel {
                    return openly(from, received, self.list(filter, 0, For::Channel { shared_by: None }));
                }
                self.list(filter, 0, For::Person)
            }
            command => notice::not_ready(command.verb()),
        };
        privately(from, received, answer)
    }

    fn clicked(&self, from: &Origin, received: &Received, action: &str, value: &str) -> Option<Message> {
        let response_url = from.response_url(received.received_at)?;
        let request = Request::parse(value)?;
        match action {
            EARLIER | LATER => {
                let said = self.list(request.filter, request.page, For::Person);
                Some(said.to(To::Reply { response_url, in_channel: false, replace: true }))
            }
            OPEN_EARLIER | OPEN_LATER => {
                let said = self.list(request.filter, request.page, For::Channel { shared_by: None });
                Some(said.to(To::Reply { response_url, in_channel: true, replace: true }))
            }
            SHARE => {
                let said = self.list(request.filter, request.page, For::Channel { shared_by: Some(&from.person) });
                Some(said.to(To::Reply { response_url, in_channel: true, replace: false }))
            }
            _ => None,
        }
    }
}

fn origin(received: &Received) -> Option<Origin> {
    match serde_json::from_value(received.body.clone()).ok()? {
        Incoming::Command { from, .. } | Incoming::Said { from, .. } | Incoming::Click { from, .. } => Some(from),
        Incoming::Ignored => None,
    }
}

/// For all who read along: in the thread where it was asked, else in the channel.
fn openly(from: &Origin, received: &Received, said: Said) -> Message {
    if let Some(response_url) = from.response_url(received.received_at) {
        return said.to(To::Reply { response_url, in_channel: true, replace: false });
    }
    let key = MessageKey::new(&format!("answer:{}", from.key));
    said.to(To::Post { channel: from.channel.clone(), key, thread: thread(from), asked: None })
}

fn privately(from: &Origin, received: &Received, said: Said) -> Message {
    said.to(To::Person {
        person: from.person.clone(),
        channel: Some(from.channel.clone()),
        thread: thread(from),
        response_url: from.response_url(received.received_at),
        replace: false,
    })
}

/// The thread in which it was asked, named by the message that it hangs on.
fn thread(from: &Origin) -> Option<MessageKey> {
    from.thread.clone().map(|ts| MessageKey::at(&Place { channel: from.channel.clone(), ts }))
}
