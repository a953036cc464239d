//! The state that must survive a restart, in one database file: inbox, outbox, ledger, changes, sightings and more. All
//! writes go through one task that commits them in groups. Knows nothing of Slack, GitHub or clusters.

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
pub use found_commit::{CommitCandidate, CommitMention};
pub use handle::Store;
pub use image_commit::ImageCommit;
pub use inbox::{InboxId, InboxItem, InboxOrigin, InboxQueue, Receipt};
pub use ledger::{LedgerDetails, LedgerEntry, LedgerFilter, LedgerKind, NumberedEntry};
pub use metrics::{Backlog, OutstandingWork, QueueDepth};
pub use outbox::{MessageId, NextMessage, OutgoingMessage};
pub use plan::ShownPlan;
pub use posted_message::PostedMessage;
pub use probe::{DatabaseProbe, probe, read_report_summary};
pub use transaction::{Transaction, Wakeups};
pub use unmapped_report::ReportSummary;
pub use writer::WriterMetrics;

#[cfg(test)]
mod tests;
