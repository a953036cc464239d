//! Gantry lifts artefacts from one environment to the next, with GitHub as the lever and the cluster as the judge.
//!
//! # The map
//!
//! `workflow` reads as `requests -> commands -> planning -> changes -> notifications`, and `deployments` feed `facts`.
//!
//! ```text
//!  Slack ──HTTP──> slack::receive ──> requests::acknowledge ──> store (inbox) ──> requests::inbox ──> requests::dispatch
//!     <──socket──  slack::socket        answers at once what                                               │
//!                                       memory knows                                                       v
//!                                                                                                       commands
//!  GitHub, registry <── github, registry (asked for facts) <── facts <── planning <────────────────────────┤
//!                                                                                                          v
//!  GitHub <── github (merges, pull requests, tags) <── changes (runner, stage handlers) <── store (change: its row is the lock)
//!                                                         │
//!                                                         v
//!  Slack <── slack::client <── notifications::outbox <── store (outbox, ledger: one transaction) <── slack::render
//!
//!  controller ──> reports ──> deployments::webhook_inbox ──> store (inbox) ──> deployments::webhook_inbox ───┐
//!  cluster <─watch─ cluster::watch ──> cluster::ClusterView ──wakes──> deployments::observer ──> arrivals <──┘
//! ```
//!
//! # Who may import whom
//!
//! - `domain` imports no sibling: it is what we know and decide, without I/O.
//! - The `adapters` (`slack`, `github`, `cluster`, `controller`, `registry`, `reports`, `store`) import `domain`, `clock`,
//!   `config`, `http` and `telemetry`, and never each other. A library's types stay in the folder that wraps it.
//! - `workflow` imports all of these: one file per use case, reading facts, then `domain`, then effects.
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
