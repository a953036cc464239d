//! Claims the changes that are due or were woken, and runs the handler of each one's stage: `await_approval`, `merge` or `verify`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span, field};

use crate::adapters::store::{Claim, StoreError, Transaction};
use crate::domain::change::{Change, ChangeId, Stage};
use crate::domain::model::artefact::Namespace;
use crate::domain::model::version::Version;
use crate::domain::runtime::rollout::{Rollout, RolloutState};
use crate::workflow::changes::await_approval::await_approval;
use crate::workflow::changes::clean_up::clean_up_branch;
use crate::workflow::changes::merge::merge_change;
use crate::workflow::changes::verify::verify_rollout;
use crate::workflow::context::Context;

/// How many are stepped at once: one that waits for GitHub holds up nobody but itself.
const MAX_CONCURRENT_CHANGES: usize = 16;

/// When the database cannot be read or written, it is tried again after this.
const STORE_RETRY_DELAY: Duration = Duration::from_secs(5);

/// What ended in a panic may end in another: it is not tried in a circle.
const PANIC_RETRY_DELAY: SignedDuration = SignedDuration::from_mins(5);

/// Runs until it is cancelled, and to the end of the steps that are under way then. The next start carries on from there.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let mut runner = Runner {
        cluster_updates: ctx.cluster_view.subscribe_changes(),
        last_rollouts: HashMap::new(),
        woken: ctx.open_changes.all().iter().map(|change| change.id).collect(),
        change_by_task: HashMap::new(),
        tasks: JoinSet::new(),
        ctx,
    };
    let ctx = runner.ctx.clone();
    let (mut woken, mut pokes) = (ctx.store.subscribe_wakeups(), ctx.open_changes.wakeups());
    // Replaces what a lost wake-up would have told.
    let mut next_look = ctx.clock.now() + ctx.config.look_every;
    while !cancel.is_cancelled() {
        woken.mark_unchanged();
        pokes.mark_unchanged();
        let next = match runner.start_due_changes().await {
            Ok(next) => next,
            Err(StoreError::Closed) => break,
            Err(error) => {
                tracing::error!(%error, "the changes cannot be read or claimed");
                tokio::time::sleep(STORE_RETRY_DELAY).await;
                continue;
            }
        };
        let due = async {
            match next {
                Some(due) => ctx.clock.sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = cancel.cancelled() => break,
            alive = woken.changed() => if alive.is_err() { break },
            alive = pokes.changed() => if alive.is_err() { break },
            namespaces = runner.cluster_updates.next_changed_namespaces() => runner.wake_changed_rollouts(&namespaces),
            panicked = join_next_task(&mut runner.tasks, &mut runner.change_by_task) => if let Some(id) = panicked {
                postpone_change(&ctx, id).await;
            },
            () = due => {}
            () = ctx.clock.sleep_until(next_look) => {
                next_look = ctx.clock.now() + ctx.config.look_every;
                runner.woken.extend(ctx.open_changes.all().iter().map(|change| change.id));
            }
        }
    }
    while runner.tasks.join_next().await.is_some() {}
}

struct Runner {
    ctx: Context,
    cluster_updates: crate::adapters::cluster::ViewSubscription,
    /// What each change was last seen to run as, so that only news wake it.
    last_rollouts: HashMap<ChangeId, (Option<Version>, RolloutState)>,
    /// To be stepped though nothing is due.
    woken: BTreeSet<ChangeId>,
    change_by_task: HashMap<Id, ChangeId>,
    tasks: JoinSet<()>,
}

impl Runner {
    /// Claims and starts what can be, and says when the next is due.
    async fn start_due_changes(&mut self) -> Result<Option<Timestamp>, StoreError> {
        self.woken.append(&mut self.ctx.open_changes.take_woken());
        let busy: HashSet<ChangeId> = self.change_by_task.values().copied().collect();
        let free = MAX_CONCURRENT_CHANGES.saturating_sub(busy.len());
        if free == 0 {
            return Ok(None);
        }
        let ctx = self.ctx.clone();
        let working = ctx.activity.begin_work();
        let limit = u32::try_from(MAX_CONCURRENT_CHANGES + busy.len()).unwrap_or(u32::MAX);
        let asked_at = ctx.clock.now();
        let mut ids = ctx.store.list_due_changes(limit).await?;
        ids.extend(self.woken.iter().copied());
        ids.retain(|id| !busy.contains(id));
        let mut once = HashSet::new();
        ids.retain(|id| once.insert(*id));
        ids.truncate(free);
        for id in &ids {
            self.woken.remove(id);
        }
        for claim in ctx.store.claim_changes(ids).await? {
            let (id, ctx, working) = (claim.change.id, ctx.clone(), ctx.activity.begin_work());
            let span = create_change_span(&claim.change);
            let step = async move {
                process_claim(&ctx, claim).await;
                drop(working);
            };
            let task = self.tasks.spawn(step.instrument(span));
            self.change_by_task.insert(task.id(), id);
        }
        drop(working);
        ctx.store.find_next_change_due(asked_at).await
    }

    /// Wakes the changes whose rollout is another than it was.
    fn wake_changed_rollouts(&mut self, namespaces: &BTreeSet<Namespace>) {
        let open = self.ctx.open_changes.all();
        for change in &open {
            let Some(rollout) = read_change_rollout(&self.ctx, change, namespaces) else { continue };
            let now = (rollout.version, rollout.state);
            if self.last_rollouts.get(&change.id) != Some(&now) {
                self.last_rollouts.insert(change.id, now);
                self.woken.insert(change.id);
            }
        }
        if self.last_rollouts.len() > 2 * open.len() + MAX_CONCURRENT_CHANGES {
            self.last_rollouts.retain(|id, _| open.iter().any(|change| change.id == *id));
        }
    }
}

/// Around all that is done for it.
fn create_change_span(change: &Change) -> Span {
    tracing::error_span!("change", change.id = %change.id, request.id = change.request)
}

/// Waits until a step has ended; for ever while none is under way. Names the change whose step panicked.
async fn join_next_task(steps: &mut JoinSet<()>, busy: &mut HashMap<Id, ChangeId>) -> Option<ChangeId> {
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

fn read_change_rollout(ctx: &Context, change: &Change, namespaces: &BTreeSet<Namespace>) -> Option<Rollout> {
    change.stage.deploying()?;
    let artefact = ctx.config.catalogue.find_artefact(change.plan.artefact.as_str())?;
    let place = artefact.places.get(&change.plan.environment)?;
    namespaces.contains(&place.namespace).then(|| ctx.cluster_view.read_rollout(place, &artefact.image))
}

/// One step of a change, and what it leaves.
async fn process_claim(ctx: &Context, claim: Claim) {
    if !claim.is_open {
        // What runs there now may well contain it, but another change has begun since.
        return;
    }
    match run_stage_handlers(ctx, claim).await {
        Ok(()) | Err(StoreError::Overtaken | StoreError::Closed) => {}
        Err(error) => {
            tracing::error!(%error, "a step of a change could not be stored");
            tokio::time::sleep(STORE_RETRY_DELAY).await;
        }
    }
}

/// Runs the handler of the stage, and those of the stages that follow at once.
async fn run_stage_handlers(ctx: &Context, claim: Claim) -> Result<(), StoreError> {
    let mut next = Some(claim);
    while let Some(mut claim) = next {
        clean_up_branch(ctx, &mut claim).await?;
        next = match claim.change.stage {
            // Boxed, because the futures of the handlers are large.
            Stage::AwaitingApproval(_) => Box::pin(await_approval(ctx, &claim)).await?,
            Stage::Merging(_) => Box::pin(merge_change(ctx, claim)).await?,
            Stage::Deploying(_) | Stage::Failed { .. } | Stage::Stalled { .. } | Stage::Deployed { .. } => {
                Box::pin(verify_rollout(ctx, claim)).await?
            }
            // It came to its end since it was woken.
            Stage::Conflicted { .. }
            | Stage::Errored { .. }
            | Stage::Cancelled { .. }
            | Stage::Rejected { .. }
            | Stage::Expired { .. }
            | Stage::Superseded { .. } => None,
        };
    }
    Ok(())
}

/// What ended in a panic is left alone for a while.
async fn postpone_change(ctx: &Context, id: ChangeId) {
    let until = ctx.clock.now() + PANIC_RETRY_DELAY;
    let put_off = async {
        match ctx.store.claim_changes(vec![id]).await?.pop() {
            Some(Claim { change, fence, .. }) if change.is_open() => {
                ctx.store.commit(Transaction::new().advance_change(change, fence, Some(until))).await
            }
            _ => Ok(()),
        }
    };
    if let Err(error) = put_off.await {
        tracing::error!(%error, change.id = %id, "a change could not be put off");
    }
}
