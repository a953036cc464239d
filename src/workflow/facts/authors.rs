//! The people in Slack who wrote the commits of a change.

use std::time::Duration;

use crate::domain::change::Change;
use crate::domain::model::actor::PersonId;
use crate::workflow::context::Context;

/// Who is not found by then is not told: nothing waits for it.
pub(crate) const AUTHOR_LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Those who wrote what moves and are in Slack, each once and `most` of them; not the one who asked for it, and no bots.
pub(crate) async fn find_change_authors(ctx: &Context, change: &Change, most: usize) -> Vec<PersonId> {
    let until = tokio::time::Instant::now() + AUTHOR_LOOKUP_TIMEOUT;
    let mut authors: Vec<PersonId> = Vec::new();
    for commit in &change.plan.drift.commits {
        let Some(login) = &commit.login else { continue };
        if authors.len() >= most {
            break;
        }
        // Who cannot be found now is not told: it is a courtesy, and nothing waits for it.
        let found = tokio::time::timeout_at(until, ctx.permissions.find_person(login, &change.plan.repository)).await;
        if let Ok(Ok(Some(person))) = found
            && person != change.requester
            && !authors.contains(&person)
        {
            authors.push(person);
        }
    }
    authors
}
