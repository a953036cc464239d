//! End-to-end tests: each sends requests as Slack, GitHub or a controller would, over HTTP and through the real
//! clients, and reads the messages that a person would see.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed test panics")]

mod architecture;
mod commands;
mod deployments;
mod harness;
mod ops;
mod production;
mod promote;
mod rollback;
mod slack;
