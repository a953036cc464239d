//! The use cases. Each one reads facts, asks the domain and then takes effect, in that order.

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
