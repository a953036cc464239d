//! Carries changes on: claims those whose time has come, and advances each by a step, stored before and after.
//! What a step does is in `deploy` and `merge`; here is only who is stepped when.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span, field};

use crate::adapters::slack::render;
use crate::adapters::store::{Claim, Fence, LedgerKind, StoreError, Transaction};
use crate::domain::change::{Change, ChangeId, Stage};
use crate::domain::model::actor::Actor;
use crate::domain::model::artefact::Namespace;
use crate::domain::model::version::Version;
use crate::domain::runtime::rollout::{Rollout, RolloutState};

use super::begin::ledger_entry;
use crate::workflow::context::Bot;

/// How many are stepped at once: one that waits for GitHub holds up nobody but itself.
const AT_ONCE: usize = 16;

/// When the database cannot be read or written, it is tried again after this.
const AFTER_STORE_FAILURE: Duration = Duration::from_secs(5);

/// What ended in a panic may end in another: it is not tried in a circle.
const AFTER_PANIC: SignedDuration = SignedDuration::from_mins(5);

/// Runs until it is cancelled, and to the end of the steps that are under way then. The next start carries on from there.
pub async fn run(bot: Bot, cancel: CancellationToken) {
    let mut runner = Runner {
        views: bot.view.changes(),
        looked: HashMap::new(),
        awake: bot.changes.all().iter().map(|change| change.id).collect(),
        busy: HashMap::new(),
        steps: JoinSet::new(),
        bot,
    };
    let bot = runner.bot.clone();
    let (mut woken, mut pokes) = (bot.store.woken(), bot.changes.pokes());
    // Replaces what a lost wake-up would have told.
    let mut next_look = bot.clock.now() + bot.config.look_every;
    while !cancel.is_cancelled() {
        woken.mark_unchanged();
        pokes.mark_unchanged();
        let next = match runner.start_due().await {
            Ok(next) => next,
            Err(StoreError::Closed) => break,
            Err(error) => {
                tracing::error!(%error, "the changes cannot be read or claimed");
                tokio::time::sleep(AFTER_STORE_FAILURE).await;
                continue;
            }
        };
        let due = async {
            match next {
                Some(due) => bot.clock.sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = cancel.cancelled() => break,
            alive = woken.changed() => if alive.is_err() { break },
            alive = pokes.changed() => if alive.is_err() { break },
            namespaces = runner.views.next() => runner.look(&namespaces),
            panicked = ended(&mut runner.steps, &mut runner.busy) => if let Some(id) = panicked {
                bot.put_off_change(id).await;
            },
            () = due => {}
            () = bot.clock.sleep_until(next_look) => {
                next_look = bot.clock.now() + bot.config.look_every;
                runner.awake.extend(bot.changes.all().iter().map(|change| change.id));
            }
        }
    }
    while runner.steps.join_next().await.is_some() {}
}

struct Runner {
    bot: Bot,
    views: crate::adapters::cluster::Changes,
    /// What each change was last seen to run as, so that only news wake it.
    looked: HashMap<ChangeId, (Option<Version>, RolloutState)>,
    /// To be stepped though nothing is due.
    awake: BTreeSet<ChangeId>,
    busy: HashMap<Id, ChangeId>,
    steps: JoinSet<()>,
}

impl Runner {
    /// Claims and starts what can be, and says when the next is due.
    async fn start_due(&mut self) -> Result<Option<Timestamp>, StoreError> {
        self.awake.append(&mut self.bot.changes.poked());
        let busy: HashSet<ChangeId> = self.busy.values().copied().collect();
        let free = AT_ONCE.saturating_sub(busy.len());
        if free == 0 {
            return Ok(None);
        }
        let bot = self.bot.clone();
        let working = bot.wake.begin_work();
        let limit = u32::try_from(AT_ONCE + busy.len()).unwrap_or(u32::MAX);
        let asked_at = bot.clock.now();
        let mut ids = bot.store.due_changes(limit).await?;
        ids.extend(self.awake.iter().copied());
        ids.retain(|id| !busy.contains(id));
        let mut once = HashSet::new();
        ids.retain(|id| once.insert(*id));
        ids.truncate(free);
        for id in &ids {
            self.awake.remove(id);
        }
        for claim in bot.store.claim(ids).await? {
            let (id, bot, working) = (claim.change.id, bot.clone(), bot.wake.begin_work());
            let span = span(&claim.change);
            let step = async move {
                bot.step(claim).await;
                drop(working);
            };
            let task = self.steps.spawn(step.instrument(span));
            self.busy.insert(task.id(), id);
        }
        drop(working);
        bot.store.next_change_due(asked_at).await
    }

    /// Wakes the changes whose rollout is another than it was.
    fn look(&mut self, namespaces: &BTreeSet<Namespace>) {
        let open = self.bot.changes.all();
        for change in &open {
            let Some(rollout) = self.bot.rollout_of(change, namespaces) else { continue };
            let now = (rollout.version, rollout.state);
            if self.looked.get(&change.id) != Some(&now) {
                self.looked.insert(change.id, now);
                self.awake.insert(change.id);
            }
        }
        if self.looked.len() > 2 * open.len() + AT_ONCE {
            self.looked.retain(|id, _| open.iter().any(|change| change.id == *id));
        }
    }
}

/// Around all that is done for it.
fn span(change: &Change) -> Span {
    tracing::error_span!("change", change.id = %change.id, request.id = change.request)
}

/// Waits until a step has ended; for ever while none is under way. Names the change whose step panicked.
async fn ended(steps: &mut JoinSet<()>, busy: &mut HashMap<Id, ChangeId>) -> Option<ChangeId> {
    match steps.join_next_with_id().await {
        Some(Ok((task, ()))) => {
            busy.remove(&task);
            None
        }
        Some(Err(error)) => {
            let id = busy.remove(&error.id());
            tracing::error!(%error, change.id = id.map(field::display), "a step of a change ended in a panic");
            id
        }
        None => std::future::pending().await,
    }
}

impl Bot {
    fn rollout_of(&self, change: &Change, namespaces: &BTreeSet<Namespace>) -> Option<Rollout> {
        change.stage.deploying()?;
        let artefact = self.config.catalogue.find_artefact(change.plan.artefact.as_str())?;
        let place = artefact.places.get(&change.plan.environment)?;
        namespaces.contains(&place.namespace).then(|| self.view.rollout(place, &artefact.image))
    }

    /// One step of a change, and what it leaves.
    async fn step(&self, claim: Claim) {
        if !claim.open {
            // What runs there now may well contain it, but another change has begun since.
            return;
        }
        match self.advance_by_a_step(claim).await {
            Ok(()) | Err(StoreError::Overtaken | StoreError::Closed) => {}
            Err(error) => {
                tracing::error!(%error, "a step of a change could not be stored");
                tokio::time::sleep(AFTER_STORE_FAILURE).await;
            }
        }
    }

    async fn advance_by_a_step(&self, mut claim: Claim) -> Result<(), StoreError> {
        self.tidy(&mut claim).await?;
        match claim.change.stage {
            // Boxed: they are large, and a step that only waits for the rollout need not have the room for them.
            Stage::AwaitingApproval(_) => Box::pin(self.await_approval(&claim)).await,
            Stage::Merging(_) => Box::pin(self.merge(&claim)).await,
            Stage::Deploying(_) | Stage::Failed { .. } | Stage::Stalled { .. } | Stage::Deployed { .. } => {
                self.deploy(&claim).await
            }
            // It came to its end since it was woken.
            Stage::Conflicted { .. }
            | Stage::Errored { .. }
            | Stage::Cancelled { .. }
            | Stage::Rejected { .. }
            | Stage::Expired { .. }
            | Stage::Superseded { .. } => Ok(()),
        }
    }

    /// Stores where a change stands, with its card; at an end also tells the one who asked.
    pub(crate) async fn advance(
        &self,
        before: &Change,
        fence: Fence,
        stage: Stage,
        due: Option<Timestamp>,
        more: Transaction,
    ) -> Result<Change, StoreError> {
        self.advance_to(before, fence, Change { stage, ..before.clone() }, due, more).await
    }

    /// The same where more of the change is new than its stage.
    pub(crate) async fn advance_to(
        &self,
        before: &Change,
        fence: Fence,
        change: Change,
        due: Option<Timestamp>,
        more: Transaction,
    ) -> Result<Change, StoreError> {
        let transaction = self.advanced(before, fence, &change, due).and(more);
        let transaction = match &change.request {
            Some(request) => transaction.asked_by(request),
            None => transaction,
        };
        self.store.commit(transaction).await?;
        self.changes.put(change.clone());
        Ok(change)
    }

    /// What is to be stored and said when a change has come so far.
    pub(crate) fn advanced(
        &self,
        before: &Change,
        fence: Fence,
        change: &Change,
        due: Option<Timestamp>,
    ) -> Transaction {
        let moved_on = before.stage.name() != change.stage.name();
        let mut transaction = Transaction::new().advance(change.clone(), fence, due);
        let card = self.card(change);
        // Not every step is one that people see; and how far it has come in its stage can wait for a moment.
        if card != self.card(before) {
            transaction = transaction.say(if change.stage.is_only_progress(&before.stage) {
                card.with_coalescing()
            } else {
                card
            });
        }
        if moved_on {
            let actor = match &change.stage {
                Stage::Cancelled { by, .. } => by.to_actor(),
                Stage::Rejected { by, .. } => Actor::Person(by.clone()),
                _ => Actor::Controller,
            };
            transaction =
                transaction.ledger(ledger_entry(change, LedgerKind::from(&change.stage), actor, self.clock.now()));
            transaction = transaction.and(self.tell_others(Some(&before.stage), change));
            if !change.stage.is_active() {
                let end = render::card::end(change, &before.stage);
                let now = self.clock.now().as_microsecond();
                let end = self.in_thread(change, &format!("{}:{now}", change.stage.name()), end);
                // What went wrong, or right after all, concerns more people than those who follow the thread.
                let loud = change.stage.is_failure() || change.stage.is_recovery(&before.stage);
                transaction = transaction.say(if loud { end.with_broadcast() } else { end });
            }
        }
        transaction
    }

    /// What ended in a panic is left alone for a while.
    async fn put_off_change(&self, id: ChangeId) {
        let until = self.clock.now() + AFTER_PANIC;
        let put_off = async {
            match self.store.claim(vec![id]).await?.pop() {
                Some(Claim { change, fence, .. }) if change.is_open() => {
                    self.store.commit(Transaction::new().advance(change, fence, Some(until))).await
                }
                _ => Ok(()),
            }
        };
        if let Err(error) = put_off.await {
            tracing::error!(%error, change.id = %id, "a change could not be put off");
        }
    }
}
