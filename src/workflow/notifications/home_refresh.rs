//! Renders the App Homes that people look at again when a change moves on.

use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use crate::adapters::store::Transaction;
use crate::domain::model::actor::Role;
use crate::workflow::commands::home::{build_home_message, hash_blocks, render_home};
use crate::workflow::context::Context;
use crate::workflow::error::LookupError;
use crate::workflow::facts::home_readers::HomeSnapshot;

/// Slack does not tell who has closed it, so after this nobody is taken to look at it any more.
pub(crate) const READER_TTL: SignedDuration = SignedDuration::from_mins(30);

pub(crate) const REFRESH_PAUSE: SignedDuration = SignedDuration::from_secs(5);

pub(crate) const PAUSE_PER_HOME: SignedDuration = SignedDuration::from_secs(1);

/// Renews what people look at, until it is cancelled.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let mut news = ctx.open_changes.subscribe_updates();
    let mut again = false;
    loop {
        if !again {
            tokio::select! {
                () = cancel.cancelled() => return,
                alive = news.changed() => if alive.is_err() { return },
            }
        }
        let renewed = match refresh_homes(&ctx).await {
            Ok(renewed) => {
                again = false;
                renewed
            }
            Err(error) => {
                // Once, however long it lasts.
                if !again {
                    tracing::warn!(%error, "App Homes could not be renewed; trying again");
                }
                again = true;
                0
            }
        };
        tokio::select! {
            () = cancel.cancelled() => return,
            () = ctx.clock.sleep(REFRESH_PAUSE.max(PAUSE_PER_HOME * renewed)) => {}
        }
    }
}

/// How many got a new one.
pub(crate) async fn refresh_homes(ctx: &Context) -> Result<i32, LookupError> {
    let mut renewed = 0;
    for (person, shown) in ctx.home_readers.list_recent_readers(ctx.clock.now() - READER_TTL) {
        let role = ctx
            .people
            .resolve_person_role(&person)
            .await
            .map_err(|error| LookupError::new_transient(error.to_string()))?;
        // Who has left is shown nothing new.
        if role != Role::Member {
            continue;
        }
        if hash_blocks(&render_home(ctx, &person, shown.made_at).await?) == shown.digest {
            continue;
        }
        let now = ctx.clock.now();
        let said = render_home(ctx, &person, now).await?;
        let shown = HomeSnapshot { made_at: now, digest: hash_blocks(&said) };
        ctx.store.commit(Transaction::new().enqueue_message(build_home_message(&person, said))).await?;
        ctx.home_readers.record_refresh(&person, shown);
        renewed += 1;
    }
    Ok(renewed)
}
