//! Everything about Slack: receiving requests, sending messages, and rendering all text that people read.

pub mod client;
pub mod incoming;
pub mod rate_limit;
pub mod receive;
pub mod render;
pub mod signature_probe;
pub mod socket;
mod socket_envelope;
