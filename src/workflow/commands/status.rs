//! `status`: the changes in progress, from memory, with links to their cards; or one change in detail, from the ledger.

use crate::adapters::slack::render::Rendered;
use crate::adapters::slack::render::page_buttons::Viewer;
use crate::adapters::slack::render::status::{self, PAGE_SIZE, StatusCounts, StatusDetails};
use crate::adapters::store::{LedgerFilter, StoreError};
use crate::domain::change::Change;
use crate::domain::command::Command;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::message::MessageKey;
use crate::domain::view::history::ChangeEvent;
use crate::domain::view::list::ListFilter;
use crate::domain::view::page::{Cursor, Order, Page};

use crate::workflow::commands::history::render_history;
use crate::workflow::context::Context;
use crate::workflow::facts::message_links::find_message_links;
use crate::workflow::message_keys;

/// More than the entries of any change, so that all are read.
const MAX_LEDGER_ENTRIES: u32 = 500;

/// The answer to `status` and `history`, which needs only memory and the database. `None` for other commands.
pub(crate) async fn answer_from_store(
    ctx: &Context,
    command: &Command,
    viewer: Viewer<'_>,
) -> Result<Option<Rendered>, StoreError> {
    match command {
        Command::Status { change: Some(digits), .. } => render_change_status(ctx, digits).await,
        Command::Status { artefact, environment, .. } => {
            let filter = ListFilter { artefact: artefact.clone(), environment: environment.clone() };
            render_status(ctx, filter, Cursor::Start, viewer).await
        }
        Command::History { artefact, environment, count } => {
            let filter = ListFilter { artefact: artefact.clone(), environment: environment.clone() };
            render_history(ctx, filter, *count, Cursor::Start, viewer).await
        }
        _ => return Ok(None),
    }
    .map(Some)
}

pub(crate) async fn render_status(
    ctx: &Context,
    filter: ListFilter,
    cursor: Cursor<ChangeId>,
    viewer: Viewer<'_>,
) -> Result<Rendered, StoreError> {
    let all = ctx.open_changes.all();
    let listed: Vec<&Change> = all
        .iter()
        .map(AsRef::as_ref)
        .filter(|change: &&Change| {
            (change.stage.is_active() || change.stage.is_watched())
                && filter.artefact.as_ref().is_none_or(|name| change.plan.list_artefacts().contains(name))
                && filter.environment.as_ref().is_none_or(|name| change.plan.environment == *name)
        })
        .collect();
    let watched = listed.iter().filter(|change| change.stage.is_watched()).count();
    let counts = StatusCounts { under_way: listed.len() - watched, watched };
    let requested_page = select_page(&listed, cursor);
    let page = if requested_page.is_partial_first_page(PAGE_SIZE) {
        select_page(&listed, Cursor::Start)
    } else {
        requested_page
    };
    let details = load_change_details(ctx, &page.items().map(|change| change.id).collect::<Vec<_>>()).await?;
    Ok(status::render_status(&filter, page, counts, &details, viewer, ctx.clock.now()))
}

async fn render_change_status(ctx: &Context, digits: &str) -> Result<Rendered, StoreError> {
    let matching = ctx.store.find_changes_by_short(digits).await?;
    if matching.is_empty() {
        return Ok(status::render_unknown_change(digits));
    }
    let details = load_change_details(ctx, &matching.iter().map(|change| change.id).collect::<Vec<_>>()).await?;
    let mut changes = Vec::with_capacity(matching.len());
    for change in matching {
        let filter = LedgerFilter { change: Some(change.id.to_string()), ..LedgerFilter::default() };
        let entries = ctx.store.list_ledger_entries(&filter, MAX_LEDGER_ENTRIES).await?.into_iter().rev();
        let steps =
            entries.map(|entry| ChangeEvent { at: entry.at, kind: entry.kind.as_str().to_owned(), by: entry.actor });
        changes.push((change, steps.collect()));
    }
    Ok(status::render_details(&changes, &details, ctx.clock.now()))
}

pub(crate) async fn load_change_details(ctx: &Context, changes: &[ChangeId]) -> Result<StatusDetails, StoreError> {
    let stage_since = ctx.store.find_stage_starts(changes).await?;
    let keys: Vec<MessageKey> = changes.iter().map(|id| message_keys::for_card(*id)).collect();
    let mut links = find_message_links(ctx, &keys).await?;
    let card_links = changes.iter().filter_map(|id| Some((*id, links.remove(&message_keys::for_card(*id))?))).collect();
    Ok(StatusDetails { stage_since, card_links })
}

/// One page of the changes, in the order of their ids, which is the order of their requests.
fn select_page<'a>(all: &[&'a Change], cursor: Cursor<ChangeId>) -> Page<&'a Change> {
    let mut nearest = all.to_vec();
    nearest.retain(|change| match cursor {
        Cursor::Start => true,
        Cursor::Earlier(id) => change.id < id,
        Cursor::Later(id) => change.id > id,
    });
    if cursor.is_backward(Order::OldestFirst) {
        nearest.reverse();
    }
    Page::from_cursor(Order::OldestFirst, &cursor, nearest, PAGE_SIZE)
}
