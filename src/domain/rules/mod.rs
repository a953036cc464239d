//! The rules of promotions and rollbacks, with gates, locks, freezes and quarantines.

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
