//! Claims the changes that are due or were woken, and runs the handler of each one's stage: `await_approval`, `merge`
//! or `verify`.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use crate::adapters::cluster::ViewSubscription;
use crate::adapters::store::{Claim, StoreError, Transaction, Wakeups};
use crate::domain::change::{Change, Stage};
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Version;
use crate::domain::model::workload::Namespace;
use crate::domain::runtime::rollout::{Rollout, RolloutState};
use crate::workflow::changes::await_approval::await_approval;
use crate::workflow::changes::clean_up::clean_up_branch;
use crate::workflow::changes::merge::merge_change;
use crate::workflow::changes::verify::verify_rollout;
use crate::workflow::context::Context;
use crate::workflow::worker::{
    MAX_CONCURRENT_ROWS, PANIC_RETRY_DELAY, RowQueue, RowTasks, STORE_RETRY_DELAY, run_queue,
};

/// Runs until it is cancelled, then waits for the running handlers. The next start continues from the stored stages.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let queue = ChangeQueue {
        store_wakeups: ctx.store.subscribe_wakeups(),
        change_wakeups: ctx.open_changes.wakeups(),
        cluster_updates: ctx.cluster_view.subscribe_changes(),
        next_check: ctx.clock.now() + ctx.config.look_every,
        last_rollouts: HashMap::new(),
        woken: ctx.open_changes.all().iter().map(|change| change.id).collect(),
        ctx: ctx.clone(),
    };
    run_queue(queue, &ctx.clock, &cancel).await;
}

struct ChangeQueue {
    ctx: Context,
    store_wakeups: watch::Receiver<Wakeups>,
    change_wakeups: watch::Receiver<u64>,
    cluster_updates: ViewSubscription,
    /// When all open changes are checked again, in case a wake-up was lost.
    next_check: Timestamp,
    /// The last observed rollout of each change. Only a different rollout wakes the change.
    last_rollouts: HashMap<ChangeId, (Option<Version>, RolloutState)>,
    /// Changes to handle before they are due.
    woken: BTreeSet<ChangeId>,
}

impl RowQueue for ChangeQueue {
    type Key = ChangeId;
    type Output = ();

    const FAILURE: &'static str = "changes cannot be read or claimed; trying again";

    async fn start_due_rows(&mut self, tasks: &mut RowTasks<ChangeId, ()>) -> Result<Option<Timestamp>, StoreError> {
        self.store_wakeups.mark_unchanged();
        self.change_wakeups.mark_unchanged();
        self.woken.append(&mut self.ctx.open_changes.take_woken());
        let busy: HashSet<ChangeId> = tasks.running_keys().copied().collect();
        let free = tasks.count_free();
        if free == 0 {
            return Ok(None);
        }
        let ctx = self.ctx.clone();
        let working = ctx.activity.begin_work();
        let limit = u32::try_from(MAX_CONCURRENT_ROWS + busy.len()).unwrap_or(u32::MAX);
        let read_at = ctx.clock.now();
        let mut ids = ctx.store.list_due_changes(limit).await?;
        ids.extend(self.woken.iter().copied());
        ids.retain(|id| !busy.contains(id));
        let mut unique = HashSet::new();
        ids.retain(|id| unique.insert(*id));
        ids.truncate(free);
        for id in &ids {
            self.woken.remove(id);
        }
        for claim in ctx.store.claim_changes(ids).await? {
            let (id, ctx, working) = (claim.change.id, ctx.clone(), ctx.activity.begin_work());
            let span = create_change_span(&claim.change);
            let work = async move {
                process_claim(&ctx, claim).await;
                drop(working);
            };
            tasks.spawn_row(id, work.instrument(span));
        }
        drop(working);
        ctx.store.find_next_change_due(read_at).await
    }

    async fn finish_row(&mut self, id: ChangeId, result: Result<(), JoinError>) {
        if let Err(error) = result {
            tracing::error!(%error, change.id = %id, "the handler of a change panicked; trying again later");
            postpone_change(&self.ctx, id).await;
        }
    }

    async fn wait_for_wakeup(&mut self) -> bool {
        tokio::select! {
            alive = self.store_wakeups.changed() => alive.is_ok(),
            alive = self.change_wakeups.changed() => alive.is_ok(),
            namespaces = self.cluster_updates.next_changed_namespaces() => {
                self.wake_changed_rollouts(&namespaces);
                true
            }
            () = self.ctx.clock.sleep_until(self.next_check) => {
                self.next_check = self.ctx.clock.now() + self.ctx.config.look_every;
                self.woken.extend(self.ctx.open_changes.all().iter().map(|change| change.id));
                true
            }
        }
    }
}

impl ChangeQueue {
    /// Wakes the changes with a rollout that differs from the last observed one.
    fn wake_changed_rollouts(&mut self, namespaces: &BTreeSet<Namespace>) {
        let open = self.ctx.open_changes.all();
        for change in &open {
            let Some(rollout) = read_change_rollout(&self.ctx, change, namespaces) else { continue };
            let current = (rollout.version, rollout.state);
            if self.last_rollouts.get(&change.id) != Some(&current) {
                self.last_rollouts.insert(change.id, current);
                self.woken.insert(change.id);
            }
        }
        if self.last_rollouts.len() > 2 * open.len() + MAX_CONCURRENT_ROWS {
            self.last_rollouts.retain(|id, _| open.iter().any(|change| change.id == *id));
        }
    }
}

/// The span of all log lines of a change.
fn create_change_span(change: &Change) -> Span {
    tracing::error_span!("change", change.id = %change.id, request.id = change.request)
}

fn read_change_rollout(ctx: &Context, change: &Change, namespaces: &BTreeSet<Namespace>) -> Option<Rollout> {
    change.stage.deploying()?;
    let artefact = ctx.config.catalogue.find_artefact(change.plan.artefact.as_str())?;
    let place = artefact.places.get(&change.plan.environment)?;
    namespaces.contains(&place.namespace).then(|| ctx.cluster_view.read_rollout(place, &artefact.image))
}

/// Runs the handlers of one claimed change, and logs a failure of the store.
async fn process_claim(ctx: &Context, claim: Claim) {
    if !claim.is_open {
        // A newer change has begun. The running version may contain this change, but only the newer one is verified.
        return;
    }
    match run_stage_handlers(ctx, claim).await {
        Ok(()) | Err(StoreError::Overtaken | StoreError::Closed) => {}
        Err(error) => {
            tracing::error!(%error, "a change could not be stored; trying again");
            tokio::time::sleep(STORE_RETRY_DELAY).await;
        }
    }
}

/// Runs the handler of the stage, and of each following stage that can be handled at once.
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
            // The change ended after it was woken.
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

/// Delays the next attempt after a panic.
async fn postpone_change(ctx: &Context, id: ChangeId) {
    let until = ctx.clock.now() + PANIC_RETRY_DELAY;
    let postponement = async {
        match ctx.store.claim_changes(vec![id]).await?.pop() {
            Some(Claim { change, fence, .. }) if change.is_open() => {
                ctx.store.commit(Transaction::new().advance_change(change, fence, Some(until))).await
            }
            _ => Ok(()),
        }
    };
    if let Err(error) = postponement.await {
        tracing::error!(%error, change.id = %id, "a change could not be postponed after a panic");
    }
}
