//! Reminds the owners of locks that they may have forgotten.

use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::adapters::slack::render;
use crate::adapters::store::{StoreError, Transaction, Wakeups};
use crate::domain::model::message::Destination;
use crate::workflow::context::Context;
use crate::workflow::worker::{NextRound, Rounds, run_rounds};

/// Sends the reminders that are due. Returns the time of the next one.
async fn remind_lock_owners(ctx: &Context) -> Result<Option<Timestamp>, StoreError> {
    let read_at = ctx.clock.now();
    for lock in ctx.store.list_locks_to_remind().await? {
        let transaction = Transaction::new()
            .postpone_lock_reminder(lock.id)
            .enqueue_message(render::lock::render_reminder(&lock).into_message(Destination::new_direct(&lock.by)));
        match ctx.store.commit(transaction).await {
            // The lock was ended or taken over meanwhile.
            Ok(()) | Err(StoreError::Overtaken) => {}
            Err(error) => return Err(error),
        }
    }
    ctx.store.find_next_reminder(read_at).await
}

/// Reminds the owners of forgotten locks, until it is cancelled.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let reminders = LockReminders { wakeups: ctx.store.subscribe_wakeups(), seen_wakeups: 0, ctx: ctx.clone() };
    run_rounds(reminders, &ctx.clock, &cancel).await;
}

struct LockReminders {
    ctx: Context,
    wakeups: watch::Receiver<Wakeups>,
    /// The count of the store's wake-ups for locks at the last round.
    seen_wakeups: u64,
}

impl Rounds for LockReminders {
    const FAILURE: &'static str = "the owners of locks cannot be reminded; trying again";

    async fn run_round(&mut self) -> Result<NextRound, StoreError> {
        self.seen_wakeups = self.wakeups.borrow_and_update().locks;
        Ok(remind_lock_owners(&self.ctx).await?.into())
    }

    async fn wait_for_wakeup(&mut self) -> bool {
        self.wakeups.wait_for(|wakeups| wakeups.locks != self.seen_wakeups).await.is_ok()
    }
}
