//! Everything that is Slack's: receiving, sending, and all text that people read.

pub mod client;
mod envelope;
pub mod incoming;
pub mod knock;
pub mod pace;
pub mod receive;
pub mod render;
mod scan;
pub mod socket;
