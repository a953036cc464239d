//! `history`: what happened, from the ledger, with the changes as they stand now and links to the messages that told of it.

use crate::adapters::slack::render;
use crate::adapters::slack::render::Said;
use crate::adapters::slack::render::page_buttons::For;
use crate::adapters::store::{Entry, LedgerDetails, LedgerKind, Past, StoreError};
use crate::domain::model::actor::{Actor, PersonId};
use crate::domain::model::message::MessageKey;
use crate::domain::view::history::{A_PAGE, Arrived, Happening, MOST, Number, What};
use crate::domain::view::list::Filter;
use crate::domain::view::page::{Cursor, Order, Page};

use crate::workflow::context::Bot;

impl Bot {
    pub(crate) async fn history(
        &self,
        filter: Filter,
        count: Option<u32>,
        cursor: Cursor<Number>,
        whom: For<'_>,
    ) -> Result<Said, StoreError> {
        let most = count.unwrap_or(A_PAGE).clamp(1, MOST);
        let mut page = self.happened(&filter, cursor, most).await?;
        if page.is_stump(most as usize) {
            page = self.happened(&filter, Cursor::Start, most).await?;
        }
        let keys: Vec<MessageKey> = page.items().filter_map(|happening| happening.message.clone()).collect();
        let links = self.addresses(&keys).await?;
        Ok(render::history::history(&filter, count, page, &links, whom, self.clock.now()))
    }

    async fn happened(
        &self,
        filter: &Filter,
        cursor: Cursor<Number>,
        most: u32,
    ) -> Result<Page<Happening>, StoreError> {
        let nearest = self.store.past(filter, cursor, most + 1).await?;
        Ok(Page::of(Order::NewestFirst, &cursor, nearest, most as usize).map(happening))
    }
}

fn happening(past: Past) -> Happening {
    let Past { number, entry, change } = past;
    let at = entry.at;
    let key = |name: &str, id: &str| Some(MessageKey::new(&format!("{name}:{id}")));
    let (what, message) = match (entry.kind, change) {
        (LedgerKind::Begun | LedgerKind::Carried, Some(change)) => {
            let card = Bot::card_key(change.id);
            (Some(What::Change(Box::new(change))), Some(card))
        }
        (LedgerKind::Arrived | LedgerKind::ArrivalFailed, _) => match arrived(entry) {
            Some(arrived) => {
                let message = arrived.told.message.clone();
                (Some(What::Arrival(Box::new(arrived))), message)
            }
            None => (None, None),
        },
        (kind @ (LedgerKind::Locked | LedgerKind::Unlocked | LedgerKind::TakenOver), _) => match entry.details {
            Some(LedgerDetails::Lock { lock, taken_from }) => {
                let id = lock.id.to_string();
                let message = key(if kind == LedgerKind::Unlocked { "unlock" } else { "lock" }, &id);
                let what = match kind {
                    LedgerKind::Locked => What::Locked(lock),
                    LedgerKind::Unlocked => What::Unlocked { lock, by: person(entry.actor) },
                    _ => What::TakenOver { lock, from: taken_from },
                };
                (Some(what), message)
            }
            _ => (None, None),
        },
        (LedgerKind::Released, _) => {
            let message = entry.change.as_deref().and_then(|rollback| key("release", rollback));
            (released(entry), message)
        }
        _ => (None, None),
    };
    Happening { number, at, what: what.unwrap_or(What::Unreadable), message }
}

fn arrived(entry: Entry) -> Option<Arrived> {
    let Some(LedgerDetails::Arrival(told)) = entry.details else { return None };
    Some(Arrived { artefact: entry.artefact?, environment: entry.environment?, told: *told })
}

fn released(entry: Entry) -> Option<What> {
    let Some(LedgerDetails::Released { version }) = entry.details else { return None };
    Some(What::Released {
        artefact: entry.artefact?,
        environment: entry.environment?,
        version,
        by: person(entry.actor),
    })
}

fn person(actor: Option<Actor>) -> Option<PersonId> {
    match actor {
        Some(Actor::Person(person)) => Some(person),
        _ => None,
    }
}
