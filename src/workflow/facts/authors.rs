//! The people in Slack who wrote the commits of a change.

use std::time::Duration;

use crate::domain::change::Change;
use crate::domain::model::actor::PersonId;
use crate::workflow::context::Context;

/// Authors who are not found in this time are not notified, so that the change does not wait long for the lookup.
pub(crate) const AUTHOR_LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// The authors of a change's commits who are in Slack, each once and at most `limit`, without the requester and bots.
pub(crate) async fn find_change_authors(ctx: &Context, change: &Change, limit: usize) -> Vec<PersonId> {
    let deadline = tokio::time::Instant::now() + AUTHOR_LOOKUP_TIMEOUT;
    let mut authors: Vec<PersonId> = Vec::new();
    for commit in &change.plan.drift.commits {
        let Some(login) = &commit.login else { continue };
        if authors.len() >= limit {
            break;
        }
        let found =
            tokio::time::timeout_at(deadline, ctx.permissions.find_person(login, &change.plan.repository)).await;
        if let Ok(Ok(Some(person))) = found
            && person != change.requester
            && !authors.contains(&person)
        {
            authors.push(person);
        }
    }
    authors
}
