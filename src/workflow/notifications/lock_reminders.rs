//! Reminds the owners of locks which they may have forgotten.

use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::adapters::slack::render;
use crate::adapters::store::{StoreError, Transaction};
use crate::domain::model::message::Destination;
use crate::workflow::context::Context;

/// When the database cannot be read or written, it is tried again after this.
const AFTER_STORE_FAILURE: Duration = Duration::from_secs(5);

/// Reminds whom it is time to remind, and says when it will be the next time.
pub(crate) async fn remind_lock_owners(ctx: &Context) -> Result<Option<Timestamp>, StoreError> {
    let asked_at = ctx.clock.now();
    for lock in ctx.store.list_locks_to_remind().await? {
        let transaction = Transaction::new()
            .postpone_lock_reminder(lock.id)
            .enqueue_message(render::lock::render_reminder(&lock).into_message(Destination::new_direct(&lock.by)));
        match ctx.store.commit(transaction).await {
            // It was ended or taken over meanwhile.
            Ok(()) | Err(StoreError::Overtaken) => {}
            Err(error) => return Err(error),
        }
    }
    ctx.store.find_next_reminder(asked_at).await
}

/// Reminds the owners of locks that were forgotten, until it is cancelled.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let mut woken = ctx.store.subscribe_wakeups();
    loop {
        let seen = woken.borrow_and_update().locks;
        let next = match remind_lock_owners(&ctx).await {
            Ok(next) => next,
            Err(StoreError::Closed) => return,
            Err(error) => {
                tracing::error!(%error, "the owners of locks cannot be reminded");
                tokio::time::sleep(AFTER_STORE_FAILURE).await;
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
            () = cancel.cancelled() => return,
            news = woken.wait_for(|wakes| wakes.locks != seen) => if news.is_err() { return },
            () = due => {}
        }
    }
}
