//! What may be done: gates, locks, freezes, quarantine, and the rules of promotion and rollback.

pub mod conflict;
pub mod facts;
pub mod freeze;
pub mod gate;
pub mod image_presence;
pub mod lock;
pub mod merge_condition;
pub mod obstacles;
pub mod permit;
pub mod promotion;
pub mod quarantine;
pub mod refusal;
mod refusal_code;
pub mod rollback;
