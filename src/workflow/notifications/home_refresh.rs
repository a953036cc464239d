//! Refreshes the App Homes of recent readers when a change advances.

use jiff::SignedDuration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::adapters::store::{StoreError, Transaction};
use crate::domain::model::actor::{PersonId, Role};
use crate::workflow::commands::home::{build_home_message, hash_blocks, render_home};
use crate::workflow::context::Context;
use crate::workflow::error::LookupError;
use crate::workflow::facts::home_readers::HomeSnapshot;
use crate::workflow::worker::{NextRound, Rounds, run_rounds};

/// Slack does not report a closed Home, so after this time a Home counts as closed.
const READER_TTL: SignedDuration = SignedDuration::from_mins(30);

/// The shortest pause between two rounds.
const REFRESH_PAUSE: SignedDuration = SignedDuration::from_secs(5);

/// The pause for each sent Home, because of Slack's limit on updates.
const PAUSE_PER_HOME: SignedDuration = SignedDuration::from_secs(1);

/// Refreshes the Homes of recent readers until it is cancelled.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let updates = ctx.open_changes.subscribe_updates();
    let refresh = HomeRefresh { updates, pause: SignedDuration::ZERO, has_failed: false, ctx: ctx.clone() };
    run_rounds(refresh, &ctx.clock, &cancel).await;
}

struct HomeRefresh {
    ctx: Context,
    updates: watch::Receiver<u64>,
    /// The pause before the next round.
    pause: SignedDuration,
    /// The last round failed, so the next one does not wait for an update.
    has_failed: bool,
}

impl Rounds for HomeRefresh {
    const FAILURE: &'static str = "App Homes could not be refreshed; trying again";

    async fn run_round(&mut self) -> Result<NextRound, StoreError> {
        let readers = self.ctx.home_readers.list_recent_readers(self.ctx.clock.now() - READER_TTL);
        if readers.is_empty() {
            (self.pause, self.has_failed) = (SignedDuration::ZERO, false);
            return Ok(NextRound::WhenWoken);
        }
        let sent = match refresh_homes(&self.ctx, readers).await {
            Ok(sent) => {
                self.has_failed = false;
                sent
            }
            Err(error) => {
                // Logged once, however long the failure lasts.
                if !self.has_failed {
                    tracing::warn!(%error, "App Homes could not be refreshed; trying again");
                }
                self.has_failed = true;
                0
            }
        };
        self.pause = REFRESH_PAUSE.max(PAUSE_PER_HOME * sent);
        Ok(NextRound::WhenWoken)
    }

    async fn wait_for_wakeup(&mut self) -> bool {
        self.ctx.clock.sleep(self.pause).await;
        self.has_failed || self.updates.changed().await.is_ok()
    }
}

/// Sends a new Home to each reader if its contents differ. Returns the number of sent Homes.
async fn refresh_homes(ctx: &Context, readers: Vec<(PersonId, HomeSnapshot)>) -> Result<i32, LookupError> {
    let mut sent = 0;
    for (person, snapshot) in readers {
        let role = ctx
            .people
            .resolve_person_role(&person)
            .await
            .map_err(|error| LookupError::new_transient(error.to_string()))?;
        // A person who left the workspace gets no update.
        if role != Role::Member {
            continue;
        }
        if hash_blocks(&render_home(ctx, &person, snapshot.made_at).await?) == snapshot.digest {
            continue;
        }
        let now = ctx.clock.now();
        let blocks = render_home(ctx, &person, now).await?;
        let snapshot = HomeSnapshot { made_at: now, digest: hash_blocks(&blocks) };
        ctx.store.commit(Transaction::new().enqueue_message(build_home_message(&person, blocks))).await?;
        ctx.home_readers.record_refresh(&person, snapshot);
        sent += 1;
    }
    Ok(sent)
}
