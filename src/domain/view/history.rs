//! What happened: changes, arrivals, and what people locked and released, as the ledger tells it.

use jiff::{SignedDuration, Timestamp};

use crate::domain::change::Change;
use crate::domain::model::actor::{Actor, PersonId};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::MessageKey;
use crate::domain::model::version::{Commit, Version};
use crate::domain::rules::lock::Lock;

/// How many are shown at once, if nobody says it.
pub const DEFAULT_PAGE_SIZE: u32 = 10;
/// More would not fit into one message.
pub const MAX_PAGE_SIZE: u32 = 20;

/// Where something stands in the ledger: what happens later has a greater number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerPosition(pub i64);

#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    pub position: LedgerPosition,
    pub at: Timestamp,
    pub event: HistoryEvent,
    /// The message that tells of it.
    pub message_key: Option<MessageKey>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum HistoryEvent {
    /// As it stands now, whenever it began.
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
    /// Another version of us wrote it.
    Unreadable,
}

/// A version that came to run, or failed to, without a change of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalRecord {
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    pub details: ArrivalDetails,
}

/// What the ledger keeps of an arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalDetails {
    pub version: Version,
    /// Why it does not run.
    pub failed: Option<String>,
    pub commit: Option<Commit>,
    /// How long the rollout took.
    pub took: Option<SignedDuration>,
    /// The message that told of it.
    pub message: Option<MessageKey>,
}

/// One entry of the ledger about a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeEvent {
    pub at: Timestamp,
    /// As the ledger has it.
    pub kind: String,
    pub by: Option<Actor>,
}
