//! One file per use case: read facts, ask the domain, then take effect, in that order.

pub mod activity;
pub mod changes;
pub mod commands;
pub mod context;
pub mod deployments;
mod error;
pub mod facts;
mod message_keys;
pub mod metrics;
pub mod notifications;
pub mod planning;
pub mod requests;
mod ttl_cache;
mod worker;
