//! Links to messages that are posted.

use std::collections::HashMap;

use crate::adapters::store::StoreError;
use crate::domain::model::message::MessageKey;
use crate::workflow::context::Context;

/// The URLs of those messages that are posted. No request to Slack: Gantry's identity was cached when the requester's
/// role was resolved.
pub(crate) async fn find_message_links(
    ctx: &Context,
    keys: &[MessageKey],
) -> Result<HashMap<MessageKey, String>, StoreError> {
    let Some(identity) = ctx.slack.cached_identity() else { return Ok(HashMap::new()) };
    let locations = ctx.store.find_message_locations(keys).await?;
    Ok(locations.into_iter().filter_map(|(key, location)| Some((key, identity.message_url(&location)?))).collect())
}
