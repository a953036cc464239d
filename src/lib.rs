//! Gantry is a Slack bot that promotes artefacts from one environment to the next through GitHub, and proves in the
//! cluster that the new version runs.
//!
//! `docs/architecture.md` has the map of the crate, walkthroughs, and how to add a command, a gate or a step.
//!
//! # Import rules
//!
//! - `domain` imports no sibling. It holds knowledge and decisions, without I/O. Its folders import one another in one
//!   direction.
//! - The `adapters` (`slack`, `github`, `cluster`, `controller`, `registry`, `reports`, `store`) import `domain`,
//!   `clock`, `config`, `http` and `telemetry`, and never each other. The types of a library stay in the folder that
//!   wraps it.
//! - `workflow` imports all of these. It reads as `requests -> commands -> planning -> changes -> notifications`, and
//!   `deployments` feed `facts`.
//! - Only `app`, `main` and `sim` build clients.
//!
//! `tests/e2e/architecture.rs` reads the syntax tree and enforces these rules.

pub mod adapters;
pub mod app;
pub mod clock;
pub mod config;
pub mod domain;
pub mod http;
#[cfg(feature = "demo")]
pub mod sim;
pub mod telemetry;
pub mod workflow;
