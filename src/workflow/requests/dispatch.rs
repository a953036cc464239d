//! Answers what people asked for by command, mention or button, when it is its turn in the inbox.

use jiff::Timestamp;

use crate::adapters::slack::incoming::{Incoming, Origin};
use crate::adapters::slack::render::page_buttons::{For, Turn};
use crate::adapters::slack::render::{
    Said, approve, arrival, card, command_button as typed, help, lock, notice, plan, promote_button, refusal, rollback,
    status,
};
use crate::adapters::store::{LedgerKind, Received, StoreError, Transaction};
use crate::config::ListTo;
use crate::domain::change::plan::Plan;
use crate::domain::change::{Change, ChangeId};
use crate::domain::command::{self, Command};
use crate::domain::model::actor::Role;
use crate::domain::model::artefact::{ArtefactName, Delivery};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::{Destination, Message, MessageFile, MessageKey, MessageLocation};
use crate::domain::rules::promotion::{Refusal, RestrictedAction};
use crate::domain::rules::rollback::ImagePresence;
use crate::domain::view::list::ListFilter;

use super::inbox::{NotNow, Work};
use crate::workflow::commands::diff::Wanted;
use crate::workflow::commands::lock::Reply;
use crate::workflow::commands::rollback::Meeting;
use crate::workflow::context::Bot;
use crate::workflow::facts::image_commits::CannotAsk;
use crate::workflow::planning::promotion::{Decision, What, Wish};

impl Bot {
    pub(crate) async fn respond(&self, received: &Received, incoming: Incoming) -> Result<Work, NotNow> {
        let from = match &incoming {
            Incoming::Ignored => return Ok(Work::default()),
            Incoming::Joined { from } => return self.joined(from).await,
            Incoming::Opened { from }
            | Incoming::Command { from, .. }
            | Incoming::Said { from, .. }
            | Incoming::Click { from, .. }
            | Incoming::Submitted { from, .. } => from,
        };
        let unknown = |error: &dyn std::fmt::Display| NotNow::soon(error.to_string(), notice::role_unknown());
        let role = self.people.role(from).await.map_err(|error| unknown(&error))?;
        if role == Role::Bot {
            return Ok(Work::default());
        }
        let asked = Asked { from, received, replace: false };
        match &incoming {
            Incoming::Opened { .. } => self.opened_home(&from.person, role).await,
            _ if role != Role::Member => Ok(asked.privately(notice::not_for(role))),
            Incoming::Command { text, .. } => self.reply(asked, text, false).await,
            Incoming::Said { text, .. } => self.reply(asked, text, true).await,
            Incoming::Click { action, value, .. } => Box::pin(self.clicked(asked, action, value)).await,
            Incoming::Submitted { modal, about, text, .. } => self.submitted(asked, modal, about, text).await,
            Incoming::Joined { .. } | Incoming::Ignored => Ok(Work::default()),
        }
    }

    async fn reply(&self, asked: Asked<'_>, text: &str, said: bool) -> Result<Work, NotNow> {
        let catalogue = &self.config.catalogue;
        let command = match command::parse(text, catalogue) {
            Ok(command) => command,
            Err(misunderstanding) => return Ok(asked.privately(help::misunderstood(&misunderstanding, catalogue))),
        };
        let in_thread = said && asked.from.thread.is_some();
        Ok(match command {
            Command::Help { about } => asked.privately(help::help(about, catalogue)),
            Command::List { artefact, environment } => {
                let filter = ListFilter { artefact, environment };
                if in_thread || self.config.slack.list_to == ListTo::Channel {
                    asked.openly(self.list(filter, 0, For::Channel { shared_by: None }))
                } else {
                    asked.privately(self.list(filter, 0, For::Person))
                }
            }
            Command::Status { .. } | Command::History { .. } => {
                let whom = if in_thread { For::Channel { shared_by: None } } else { For::Person };
                match self.told(&command, whom).await.map_err(|error| stored(&error))? {
                    Some(answer) if in_thread => asked.openly(answer),
                    Some(answer) => asked.privately(answer),
                    None => Work::default(),
                }
            }
            Command::Promote { artefact, environment, version, dry_run, overriding } => {
                let what = version.map_or(What::RunsBelow, What::Named);
                let by = asked.from.person.clone();
                return self.promote(asked, &Wish { by, artefact, environment, what, overriding }, dry_run).await;
            }
            Command::Cancel { change } => return self.cancel(asked, &change).await,
            Command::Lock { environment, artefact, length, reason } => {
                return self.lock(asked.from, environment, artefact, length, &reason).await.map(|it| asked.told(it));
            }
            Command::Unlock { environment, artefact } => {
                return self.unlock(asked.from, &environment, artefact.as_ref()).await.map(|it| asked.told(it));
            }
            Command::Locks { environment } => {
                return self.list_locks(environment.as_ref()).await.map(|it| asked.told(it));
            }
            Command::Doctor => asked.privately(Box::pin(self.doctor()).await),
            Command::Reject { change, reason } => return self.typed_reject(asked, &change, &reason).await,
            Command::Rollback { artefact, environment, version, reason } => {
                return self.typed_rollback(asked, artefact, environment, version, reason).await;
            }
            Command::Release { artefact, version } => return self.release(asked, &artefact, &version).await,
            Command::Diff { source, target, artefact, code } => {
                return Box::pin(self.diff(asked, Wanted { source, target, artefact, code }, in_thread)).await;
            }
            Command::Where { what, artefact } => {
                return Box::pin(self.where_is(asked, in_thread, &what, artefact.as_ref())).await;
            }
            Command::Why { artefact, environment } => return self.why(asked, artefact, environment, in_thread).await,
        })
    }

    async fn clicked(&self, asked: Asked<'_>, action: &str, value: &str) -> Result<Work, NotNow> {
        match action {
            plan::CONFIRM => self.decided_on_plan(asked, value, Some(Meeting::Ask)).await,
            plan::CANCEL => self.decided_on_plan(asked, value, None).await,
            rollback::INSTEAD => self.decided_on_plan(asked, value, Some(Meeting::Cancel)).await,
            rollback::WAIT => self.decided_on_plan(asked, value, Some(Meeting::Wait)).await,
            rollback::ROLL_BACK => self.clicked_rollback(asked, value).await,
            rollback::ANOTHER => self.clicked_another(asked, value).await,
            card::CANCEL => match ChangeId::parse(value) {
                Some(id) => self.cancel(asked, &id.to_short_id()).await,
                None => Ok(Work::default()),
            },
            card::RETRY => self.clicked_retry(asked, value).await,
            approve::APPROVE => self.clicked_approve(asked, value).await,
            approve::REJECT => self.clicked_reject(asked, value).await,
            arrival::PROMOTE => self.clicked_promote(asked, value).await,
            promote_button::PROMOTE => self.clicked_shown(asked, value).await,
            typed::COMMAND => self.clicked_command(asked, value).await,
            lock::TAKE_OVER => {
                Ok(self.take_over(asked.from, value).await?.map(|it| asked.told(it)).unwrap_or_default())
            }
            _ => match Turn::parse(action, value) {
                Some(turn) => self.turned_page(asked, turn).await,
                None => Ok(Work::default()),
            },
        }
    }

    /// The button that carries a command, as if it was typed: it can do no more than that.
    async fn clicked_command(&self, asked: Asked<'_>, text: &str) -> Result<Work, NotNow> {
        // What others see as well does not give way to what is for one person.
        let instead = Asked { replace: asked.from.private, ..asked };
        match command::parse(text, &self.config.catalogue) {
            Ok(Command::Rollback { artefact, environment, version, reason }) => {
                self.typed_rollback(instead, artefact, environment, version, reason).await
            }
            Ok(Command::Release { artefact, version }) => self.release(asked, &artefact, &version).await,
            Ok(Command::Where { what, artefact }) => {
                Box::pin(self.where_is(instead, !asked.from.private, &what, artefact.as_ref())).await
            }
            Ok(Command::Diff { source, target, artefact, code }) => {
                let openly = !asked.from.private;
                Box::pin(self.diff(instead, Wanted { source, target, artefact, code }, openly)).await
            }
            Ok(Command::Why { artefact, environment }) => {
                let asked = Asked { replace: true, ..asked };
                self.why(asked, artefact, environment, !asked.from.private).await
            }
            // The quick actions of the App Home.
            Ok(Command::List { artefact, environment }) => {
                Ok(instead.privately(self.list(ListFilter { artefact, environment }, 0, For::Person)))
            }
            Ok(Command::Status { .. } | Command::History { .. } | Command::Locks { .. } | Command::Help { .. }) => {
                self.reply(instead, text, false).await
            }
            _ => Ok(Work::default()),
        }
    }

    async fn promote(&self, asked: Asked<'_>, wish: &Wish, dry_run: bool) -> Result<Work, NotNow> {
        let (plan, others, errored) = match Box::pin(self.decide(wish)).await {
            Ok(Decision::Planned { plan, others, errored }) => (*plan, others, errored),
            Ok(Decision::Refused(no)) => return Ok(asked.refused(&no)),
            Err(error) => return asked.cannot(&error),
        };
        let others = others.as_deref();
        if dry_run {
            return Ok(asked.privately(plan::dry_run(&plan, others.unwrap_or_default())));
        }
        let unsure = plan.manifest.is_some() && plan.image != ImagePresence::Yes;
        if let Some(errored) = errored.filter(|_| !unsure && plan.holds_to_lift.is_empty()) {
            let again = self.retry(&errored, plan, &asked.from.person).await;
            let (change, transaction) = match again {
                Ok(again) => again,
                Err(error) => return asked.cannot(&error),
            };
            return Ok(asked.begun(change, transaction, others));
        }
        let asks = !plan.also.is_empty()
            || plan.overridden.is_some()
            || plan.supersedes.is_some()
            || !plan.holds_to_lift.is_empty()
            || unsure;
        if asks || self.is_awaited(&plan) {
            return Ok(self.show_plan(asked, plan, others.unwrap_or_default()));
        }
        let (change, transaction) = self.begin(plan, &asked.from.person, &asked.from.channel).await;
        Ok(asked.begun(change, transaction, others))
    }

    /// Shows a plan, which becomes a change only by a yes.
    fn show_plan(&self, asked: Asked<'_>, plan: Plan, others: &[EnvironmentName]) -> Work {
        let shown = self.show(plan, &asked.from.person);
        let mut work = asked.privately(plan::question(&shown.plan, shown.id, others));
        work.transaction = work.transaction.show(shown);
        work
    }

    /// A plan that was shown is confirmed or, without a `yes`, dropped: checked again, for the commit that was shown.
    async fn decided_on_plan(&self, asked: Asked<'_>, value: &str, yes: Option<Meeting>) -> Result<Work, NotNow> {
        let asked = Asked { replace: true, ..asked };
        let shown = match ChangeId::parse(value) {
            Some(id) => self.store.shown_plan(id).await.map_err(|error| stored(&error))?,
            None => None,
        };
        let Some(shown) = shown.filter(|shown| self.is_good(shown)) else {
            return Ok(asked.privately(status::plan_gone()));
        };
        if shown.person != asked.from.person {
            return Ok(Asked { replace: false, ..asked }.privately(status::not_your_plan()));
        }
        let used = Transaction::new().use_up(shown.id);
        let Some(meeting) = yes else {
            let mut work = asked.privately(status::plan_dropped());
            work.transaction = used.and(work.transaction);
            return Ok(work);
        };
        if shown.plan.rollback.is_some() {
            let mut work = self.confirmed_rollback(asked, &shown, meeting).await?;
            work.transaction = used.and(work.transaction);
            return Ok(work);
        }
        let wish = Wish {
            by: asked.from.person.clone(),
            artefact: shown.plan.artefact.clone(),
            environment: Some(shown.plan.environment.clone()),
            what: What::of(&shown.plan),
            overriding: shown.plan.overridden.as_ref().map(|overridden| overridden.reason.as_str().into()),
        };
        let mut work = match Box::pin(self.decide(&wish)).await {
            // What nobody was asked about is not done by the yes to something else.
            Ok(Decision::Planned { plan, .. })
                if plan.supersedes != shown.plan.supersedes
                    || plan.overridden != shown.plan.overridden
                    || plan.holds_to_lift != shown.plan.holds_to_lift
                    || plan.image != shown.plan.image
                    || (plan.manifest.is_some() && !plan.version.is_same_image(&shown.plan.version)) =>
            {
                self.show_plan(asked, *plan, &[])
            }
            Ok(Decision::Planned { plan, .. }) => match self.confirmed(asked, *plan).await {
                Ok(work) => work,
                Err(error) => asked.cannot(&error)?,
            },
            Ok(Decision::Refused(no)) => asked.refused(&no),
            Err(error) => asked.cannot(&error)?,
        };
        work.transaction = used.and(work.transaction);
        Ok(work)
    }

    pub(crate) async fn confirmed(&self, asked: Asked<'_>, plan: Plan) -> Result<Work, CannotAsk> {
        let supersedes = plan.supersedes.clone();
        let (change, transaction) = self.begin(plan, &asked.from.person, &asked.from.channel).await;
        let Some(waiting) = supersedes else { return Ok(asked.begun(change, transaction, None)) };
        let (before, gives_way) = self.supersede(&waiting, change.id).await?;
        // It lets go of the lock before the new one takes it.
        let mut work = asked.begun(change, gives_way.and(transaction), None);
        work.changes.insert(0, before);
        Ok(work)
    }

    /// The button on the card of a change that ended in an error.
    async fn clicked_retry(&self, asked: Asked<'_>, value: &str) -> Result<Work, NotNow> {
        let Some(id) = ChangeId::parse(value) else { return Ok(Work::default()) };
        let Some(change) = self.store.change(id).await.map_err(|error| stored(&error))? else {
            return Ok(asked.privately(status::unknown(&id.to_short_id())));
        };
        if change.plan.rollback.is_some() {
            return self.retry_rollback(asked, change).await;
        }
        let wish = Wish {
            by: asked.from.person.clone(),
            what: What::of(&change.plan),
            artefact: change.plan.artefact,
            environment: Some(change.plan.environment),
            overriding: None,
        };
        self.promote(asked, &wish, false).await
    }

    /// The button on the message of an arrival: exactly what arrived there, to the next rung.
    async fn clicked_promote(&self, asked: Asked<'_>, value: &str) -> Result<Work, NotNow> {
        let Some((artefact, environment, seen_at)) = self.arrival_named(value) else { return Ok(Work::default()) };
        let catalogue = &self.config.catalogue;
        let above = catalogue
            .find_artefact(artefact.as_str())
            .and_then(|it| catalogue.ladder.find_next_above(&environment, it));
        let Some(above) = above else { return Ok(Work::default()) };
        let by = asked.from.person.clone();
        let wish =
            Wish { by, artefact, environment: Some(above.name.clone()), what: What::Stay(seen_at), overriding: None };
        self.promote(asked, &wish, false).await
    }

    /// The button beside what was shown: exactly that, be it by now in the past.
    async fn clicked_shown(&self, asked: Asked<'_>, value: &str) -> Result<Work, NotNow> {
        let Some((artefact, environment, version)) = promote_button::shown(value) else { return Ok(Work::default()) };
        let catalogue = &self.config.catalogue;
        let Some(known) = catalogue.find_artefact(artefact.as_str()) else { return Ok(Work::default()) };
        if catalogue.ladder.find(environment.as_str()).is_none() {
            return Ok(Work::default());
        }
        let what = match (&known.delivery, &version.commit) {
            (Delivery::Branch, Some(commit)) => What::Commit(commit.clone()),
            _ => What::Image(version),
        };
        let by = asked.from.person.clone();
        let wish = Wish { by, artefact: known.name.clone(), environment: Some(environment), what, overriding: None };
        self.promote(Asked { replace: asked.from.private, ..asked }, &wish, false).await
    }

    async fn cancel(&self, asked: Asked<'_>, short: &str) -> Result<Work, NotNow> {
        let called = self.store.changes_called(short).await.map_err(|error| stored(&error))?;
        // Of two with the same digits, the one that can be cancelled is meant.
        let unmerged = called.iter().find(|change| change.stage.can_cancel());
        let Some(change) = unmerged.or(called.first()) else { return Ok(asked.privately(status::unknown(short))) };
        if unmerged.is_none() {
            return Ok(asked.privately(status::too_late(change)));
        }
        let person = &asked.from.person;
        let plan = &change.plan;
        if *person != change.requester {
            match self.may_approve(person, &plan.environment, &plan.repository).await {
                Ok(true) => {}
                Ok(false) => {
                    return Ok(asked.refused(&self.may_not_approve(RestrictedAction::Cancel, &plan.environment).await));
                }
                Err(error) => return asked.cannot(&error),
            }
        }
        let mut work = asked.linking(status::cancelling(change), change.id);
        work.transaction = work.transaction.ask_to_cancel(change.id, person.clone()).ledger(self.entry(
            change,
            LedgerKind::CancelAsked,
            person,
        ));
        Ok(work)
    }

    /// What the name of an arrival's message says that it is about.
    fn arrival_named(&self, key: &str) -> Option<(ArtefactName, EnvironmentName, Timestamp)> {
        let mut parts = key.strip_prefix("arrival:")?.split(':');
        let environment = self.config.catalogue.ladder.find(parts.next()?)?.name.clone();
        let artefact = self.config.catalogue.find_artefact(parts.next()?)?.name.clone();
        let seen_at = Timestamp::from_microsecond(parts.next()?.parse().ok()?).ok()?;
        Some((artefact, environment, seen_at))
    }
}

/// Who asks, and by which request.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) from: &'a Origin,
    pub(crate) received: &'a Received,
    /// The message with the button gives way to the answer.
    pub(crate) replace: bool,
}

impl Asked<'_> {
    pub(crate) fn privately(self, said: Said) -> Work {
        Transaction::new().say(self.private(said)).into()
    }

    /// What a use case answers privately, with what it does.
    fn told(self, reply: Reply) -> Work {
        let Reply { said, transaction, replace, refused } = reply;
        let mut work = Self { replace: replace && self.from.private, ..self }.privately(said);
        work.transaction = transaction.and(work.transaction);
        Work { refused, ..work }
    }

    /// For all who read along.
    pub(crate) fn openly(self, said: Said) -> Work {
        Transaction::new().say(self.open(said)).into()
    }

    /// For all who read along, or for one; with the card of that change to follow.
    pub(crate) fn answered(self, said: Said, openly: bool, change: Option<ChangeId>) -> Work {
        let message = if openly { self.open(said) } else { self.private(said) };
        let message = match change {
            Some(change) => message.with_link(Bot::card_key(change)),
            None => message,
        };
        Transaction::new().say(message).into()
    }

    /// In the thread where it was asked, else in the channel.
    fn open(self, said: Said) -> Message {
        let from = self.from;
        // By a button in a thread, what does not take its message's place belongs into that thread.
        let may_reply = self.replace || from.thread.is_none();
        if let Some(response_url) = from.response_url(self.received.received_at).filter(|_| may_reply) {
            return said.to(Destination::Reply { response_url, in_channel: true, replace: self.replace });
        }
        let key = MessageKey::new(&format!("answer:{}", from.key));
        said.to(Destination::Post { channel: from.channel.clone(), key, thread: thread(from), asked: None })
    }

    /// A file that belongs to the answer: into the thread where that stands or, if it is private, directly.
    pub(crate) fn beside(self, said: Said, file: MessageFile, openly: bool) -> Message {
        let from = self.from;
        let key = MessageKey::new(&format!("file:{}", from.key));
        let answer = MessageKey::new(&format!("answer:{}", from.key));
        let (channel, thread) = if openly {
            (from.channel.clone(), thread(from).or(Some(answer)))
        } else {
            (from.person.as_str().to_owned(), None)
        };
        said.to(Destination::Post { channel, key, thread, asked: None }).with_file(file)
    }

    pub(crate) fn linking(self, said: Said, change: ChangeId) -> Work {
        Transaction::new().say(self.private(said).with_link(Bot::card_key(change))).into()
    }

    pub(crate) fn refused(self, no: &Refusal) -> Work {
        let said = refusal::refusal(no);
        let work = match no {
            Refusal::ChangeInProgress(under_way) => self.linking(said, under_way.id),
            _ => self.privately(said),
        };
        Work { refused: Some(no.code()), ..work }
    }

    /// Whoever must be asked does not answer: again later, or never.
    pub(crate) fn cannot(self, error: &CannotAsk) -> Result<Work, NotNow> {
        let otherwise = refusal::cannot_ask(&error.to_string());
        if error.passes { Err(NotNow::soon(error.to_string(), otherwise)) } else { Ok(self.privately(otherwise)) }
    }

    /// The change is told by its card; whoever asked elsewhere, or named no environment, gets a link to it.
    pub(crate) fn begun(self, change: Change, transaction: Transaction, others: Option<&[EnvironmentName]>) -> Work {
        let key = Bot::card_key(change.id);
        let pointer = match others {
            Some(others) => self.private(plan::chosen(&change.plan, others)).with_link(key),
            None if self.replace => self.private(plan::elsewhere(&change.plan)).with_link(key),
            None => self.private(plan::elsewhere(&change.plan)).with_link_if_elsewhere(key),
        };
        Work { transaction: transaction.say(pointer), changes: vec![change], refused: None }
    }

    pub(crate) fn private(self, said: Said) -> Message {
        let message = privately(self.from, self.received, said);
        match message.to {
            Destination::Person { person, channel, thread, response_url, .. } => Message {
                to: Destination::Person { person, channel, thread, response_url, replace: self.replace },
                ..message
            },
            _ => message,
        }
    }
}

pub(crate) fn stored(error: &StoreError) -> NotNow {
    NotNow::soon(error.to_string(), notice::not_stored())
}

pub(crate) fn privately(from: &Origin, received: &Received, said: Said) -> Message {
    said.to(Destination::Person {
        person: from.person.clone(),
        // A modal stands in no channel.
        channel: Some(from.channel.clone()).filter(|channel| !channel.is_empty()),
        thread: thread(from),
        response_url: from.response_url(received.received_at),
        replace: false,
    })
}

/// The thread in which it was asked, named by the message that it hangs on.
fn thread(from: &Origin) -> Option<MessageKey> {
    from.thread.clone().map(|ts| MessageKey::from_location(&MessageLocation { channel: from.channel.clone(), ts }))
}
