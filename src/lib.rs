//! Gantry lifts artefacts from one environment to the next, with GitHub as the lever and the cluster as the judge.
//!
//! # The map
//!
//! ```text
//!  Slack ──HTTP──> slack::receive ──> workflow::requests::acknowledge ──> store (inbox) ──> workflow::requests::inbox ──┐
//!     <──socket──  slack::socket        memory knows: the                                      │
//!                                       answer is the ack                                      v
//!  controller ───> reports ─────────> store (inbox) ──> workflow::deployments::record_reports (in groups) ────> workflow::deployments::observer
//!                    verify, parse                                                             │
//!  cluster <─watch─ cluster::watch ──> cluster::View ──wakes────────────────────────────> (facts -> domain)
//!                                                                                              │
//!  GitHub, registry <── github, registry (asked for facts) <───────────────────────────────────┤
//!                                                                                              v
//!  Slack <── slack::client <── workflow::notifications::outbox <── store (outbox, ledger: one transaction) <── slack::render
//!
//!  a promotion: workflow::requests::dispatch ──> promote (facts -> domain::rules::promotion -> domain::change::plan) ──> store (change: its row is
//!  the lock; card in the outbox) ──> runner claims it ──> merge ──> deploy (tag, controller told, proof; silence: what
//!  was last seen) ──> card
//!  questions: ... ──> diff, whereabouts (the cluster says what runs, compare what lies between: kept, else GitHub) ──> answer
//!  why: the same way through the rules, which then do not stop at the first no (domain::view::why::Blockers)
//!  into production: ... ──> runner ──> approve (who said yes, what else must hold) with pull (frozen branch, pull request)
//!  ──> merge ──> deploy; woken by clicks, by GitHub's webhooks (reports) and by a look once a minute
//!  back: ... ──> rollback (previous: ledger, Git, cluster, registry) ──> store ──> runner ──> merge with result (the commit
//!  is made beside the branch, which then moves to it) and aftermath (quarantine, hold, authors) ──> deploy
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
