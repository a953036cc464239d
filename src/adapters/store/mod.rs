//! The state that must outlive the process, in one database file: inbox, outbox, ledger, changes, sightings and more.
//! All writes go through one task that commits them in groups; it knows nothing of Slack, GitHub or clusters.

mod change;
mod comparison;
mod connection;
mod error;
mod found_commit;
mod handle;
mod hold;
mod image_commit;
mod inbox;
mod ledger;
mod lock;
mod metrics;
mod open;
mod outbox;
mod plan;
mod posted_message;
mod probe;
mod process_lock;
mod prune;
mod quarantine;
mod setting;
mod sighting;
mod stored;
mod stored_parts;
mod tag;
mod time;
mod transaction;
mod unmapped_report;
mod writer;

pub use change::{Claim, Fence};
pub use error::StoreError;
pub use found_commit::{Home, Kept};
pub use handle::Store;
pub use image_commit::ImageCommit;
pub use inbox::{InboxId, Line, Receipt, Received, Source};
pub use ledger::{Entry, LedgerDetails, LedgerFilter, LedgerKind, Past};
pub use metrics::{Backlog, Pending, Waiting};
pub use outbox::{MessageId, Outgoing, Turn};
pub use plan::Shown;
pub use posted_message::Said;
pub use probe::{Looked, look, reported};
pub use transaction::{Transaction, Wakes};
pub use unmapped_report::Reported;
pub use writer::Measures;

#[cfg(test)]
mod tests;
