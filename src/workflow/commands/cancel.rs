//! `cancel`, typed or clicked: requests the cancellation of a change that is not merged yet.

use crate::adapters::slack::render::status;
use crate::adapters::store::LedgerKind;
use crate::domain::rules::refusal::RestrictedAction;
use crate::workflow::changes::transition::build_entry_by_person;
use crate::workflow::commands::approve::build_approval_refusal;
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::requests::reply::{Request, Response};

pub(crate) async fn cancel_change(ctx: &Context, request: Request<'_>, short: &str) -> Result<Response, RetryLater> {
    let matching =
        ctx.store.find_changes_by_short(short).await.map_err(|error| RetryLater::from_store_error(&error))?;
    // Of two changes with the same digits, the one that can be cancelled is meant.
    let unmerged = matching.iter().find(|change| change.stage.can_cancel());
    let Some(change) = unmerged.or(matching.first()) else {
        return Ok(request.reply_private(status::render_unknown_change(short)));
    };
    if unmerged.is_none() {
        return Ok(request.reply_private(status::render_too_late(change)));
    }
    let person = &request.from.person;
    let plan = &change.plan;
    if *person != change.requester {
        match ctx.permissions.may_approve(person, &plan.environment, &plan.repository).await {
            Ok(true) => {}
            Ok(false) => {
                return Ok(request
                    .reply_refusal(&build_approval_refusal(ctx, RestrictedAction::Cancel, &plan.environment).await));
            }
            Err(error) => return request.reply_lookup_error(&error),
        }
    }
    let mut response = request.reply_with_card_link(status::render_cancel_requested(change), change.id);
    response.transaction = response
        .transaction
        .request_cancel(change.id, person.clone())
        .append_to_ledger(build_entry_by_person(ctx, change, LedgerKind::CancelAsked, person));
    Ok(response)
}
