//! The greeting when Gantry is invited to a channel.

use crate::adapters::slack::incoming::RequestOrigin;
use crate::adapters::slack::render::{help, notice};
use crate::adapters::store::Transaction;
use crate::domain::model::message::{Destination, MessageKey};
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::requests::reply::Response;

/// Greets a channel that Gantry was invited to. People who join have no effect.
pub(crate) async fn welcome_channel(ctx: &Context, from: &RequestOrigin) -> Result<Response, RetryLater> {
    let identity_unknown =
        |error: &dyn std::fmt::Display| RetryLater::with_backoff(error.to_string(), notice::render_role_unknown());
    let identity = ctx.slack.fetch_identity().await.map_err(|error| identity_unknown(&error))?;
    let key = MessageKey::new(&format!("welcome:{}", from.channel));
    let is_gantry = identity.bot == from.person && identity.team == from.team;
    // A channel that removed Gantry and invited it again already has the greeting.
    if !is_gantry || ctx.store.is_posted_or_queued(&key).await.map_err(|error| RetryLater::from_store_error(&error))? {
        return Ok(Response::default());
    }
    let greeting = help::render_welcome(&ctx.config.catalogue);
    let destination = Destination::Post { channel: from.channel.clone(), key, thread: None, asked: None };
    Ok(Transaction::new().enqueue_message(greeting.into_message(destination)).into())
}
