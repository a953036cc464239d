//! `history`: the events in the ledger, with the current state of their changes and links to their messages.

use crate::adapters::slack::render;
use crate::adapters::slack::render::Rendered;
use crate::adapters::slack::render::page_buttons::Viewer;
use crate::adapters::store::{LedgerDetails, LedgerEntry, LedgerKind, NumberedEntry, StoreError};
use crate::domain::model::actor::{Actor, PersonId};
use crate::domain::model::message::MessageKey;
use crate::domain::view::history::{
    ArrivalRecord, DEFAULT_PAGE_SIZE, HistoryEntry, HistoryEvent, LedgerPosition, MAX_PAGE_SIZE,
};
use crate::domain::view::list::ListFilter;
use crate::domain::view::page::{Cursor, Order, Page};

use crate::workflow::context::Context;
use crate::workflow::facts::message_links::find_message_links;
use crate::workflow::message_keys;

pub(crate) async fn render_history(
    ctx: &Context,
    filter: ListFilter,
    count: Option<u32>,
    cursor: Cursor<LedgerPosition>,
    viewer: Viewer<'_>,
) -> Result<Rendered, StoreError> {
    let page_size = count.unwrap_or(DEFAULT_PAGE_SIZE).clamp(1, MAX_PAGE_SIZE);
    let mut page = load_history_page(ctx, &filter, cursor, page_size).await?;
    if page.is_partial_first_page(page_size as usize) {
        page = load_history_page(ctx, &filter, Cursor::Start, page_size).await?;
    }
    let keys: Vec<MessageKey> = page.items().filter_map(|entry| entry.message_key.clone()).collect();
    let links = find_message_links(ctx, &keys).await?;
    Ok(render::history::render_history(&filter, count, page, &links, viewer, ctx.clock.now()))
}

async fn load_history_page(
    ctx: &Context,
    filter: &ListFilter,
    cursor: Cursor<LedgerPosition>,
    page_size: u32,
) -> Result<Page<HistoryEntry>, StoreError> {
    let nearest = ctx.store.list_history_entries(filter, cursor, page_size + 1).await?;
    Ok(Page::from_cursor(Order::NewestFirst, &cursor, nearest, page_size as usize).map(convert_ledger_entry))
}

fn convert_ledger_entry(numbered: NumberedEntry) -> HistoryEntry {
    let NumberedEntry { number, entry, change } = numbered;
    let at = entry.at;
    let key = |name: &str, id: &str| Some(MessageKey::new(&format!("{name}:{id}")));
    let (event, message) = match (entry.kind, change) {
        (LedgerKind::Begun | LedgerKind::Carried, Some(change)) => {
            let card = message_keys::for_card(change.id);
            (Some(HistoryEvent::Change(Box::new(change))), Some(card))
        }
        (LedgerKind::Arrived | LedgerKind::ArrivalFailed, _) => match convert_arrival(entry) {
            Some(arrived) => {
                let message = arrived.details.message.clone();
                (Some(HistoryEvent::Arrival(Box::new(arrived))), message)
            }
            None => (None, None),
        },
        (kind @ (LedgerKind::Locked | LedgerKind::Unlocked | LedgerKind::TakenOver), _) => match entry.details {
            Some(LedgerDetails::Lock { lock, taken_from }) => {
                let id = lock.id.to_string();
                let message = key(if kind == LedgerKind::Unlocked { "unlock" } else { "lock" }, &id);
                let event = match kind {
                    LedgerKind::Locked => HistoryEvent::Locked(lock),
                    LedgerKind::Unlocked => HistoryEvent::Unlocked { lock, by: into_person(entry.actor) },
                    _ => HistoryEvent::TakenOver { lock, from: taken_from },
                };
                (Some(event), message)
            }
            _ => (None, None),
        },
        (LedgerKind::Released, _) => {
            let message = entry.change.as_deref().and_then(|rollback| key("release", rollback));
            (convert_release(entry), message)
        }
        _ => (None, None),
    };
    HistoryEntry { position: number, at, event: event.unwrap_or(HistoryEvent::Unreadable), message_key: message }
}

fn convert_arrival(entry: LedgerEntry) -> Option<ArrivalRecord> {
    let Some(LedgerDetails::Arrival(details)) = entry.details else { return None };
    Some(ArrivalRecord { artefact: entry.artefact?, environment: entry.environment?, details: *details })
}

fn convert_release(entry: LedgerEntry) -> Option<HistoryEvent> {
    let Some(LedgerDetails::Released { version }) = entry.details else { return None };
    Some(HistoryEvent::Released {
        artefact: entry.artefact?,
        environment: entry.environment?,
        version,
        by: into_person(entry.actor),
    })
}

fn into_person(actor: Option<Actor>) -> Option<PersonId> {
    match actor {
        Some(Actor::Person(person)) => Some(person),
        _ => None,
    }
}
