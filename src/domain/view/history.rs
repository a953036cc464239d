//! The history from the ledger: changes, arrivals, locks and releases.

use jiff::{SignedDuration, Timestamp};

use crate::domain::change::Change;
use crate::domain::model::actor::{Actor, PersonId};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::MessageKey;
use crate::domain::model::version::{Commit, Version};
use crate::domain::rules::lock::Lock;

/// The number of entries on a page, unless the command gives one.
pub const DEFAULT_PAGE_SIZE: u32 = 10;
/// More entries would not fit into one message.
pub const MAX_PAGE_SIZE: u32 = 20;

/// The position of an entry in the ledger. Later entries have greater numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerPosition(pub i64);

#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    pub position: LedgerPosition,
    pub at: Timestamp,
    pub event: HistoryEvent,
    /// The message about the event.
    pub message_key: Option<MessageKey>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum HistoryEvent {
    /// The change in its current stage.
    Change(Box<Change>),
    Arrival(Box<ArrivalRecord>),
    Locked(Lock),
    Unlocked {
        lock: Lock,
        by: Option<PersonId>,
    },
    TakenOver {
        lock: Lock,
        from: Option<PersonId>,
    },
    Released {
        artefact: ArtefactName,
        environment: EnvironmentName,
        version: Version,
        by: Option<PersonId>,
    },
    /// Written by another version of Gantry.
    Unreadable,
}

/// A version that came to run, or failed to, without a change by Gantry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalRecord {
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    pub details: ArrivalDetails,
}

/// The data of an arrival in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalDetails {
    pub version: Version,
    /// The reason of the failure.
    pub failed: Option<String>,
    pub commit: Option<Commit>,
    /// The duration of the rollout.
    pub took: Option<SignedDuration>,
    /// The message that announced the arrival.
    pub message: Option<MessageKey>,
}

/// One entry of the ledger about a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeEvent {
    pub at: Timestamp,
    /// The name in the ledger.
    pub kind: String,
    pub by: Option<Actor>,
}
