//! End-to-end tests: each enters as Slack, GitHub or a controller would, over HTTP, through the real clients,
//! and looks at what a person would see.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on says where")]

mod after_rollback;
mod apart;
mod approvals;
mod arrivals;
mod asking;
mod channels;
mod cluster;
mod commands;
mod crowd;
mod diff;
mod entrances;
mod gates;
mod hands;
mod histories;
mod history;
mod house;
mod list;
mod locks;
mod lost;
mod manifest;
mod manifest_formats;
mod manifest_moods;
mod manifest_production;
mod manifest_refusals;
mod manifest_registry;
mod manifest_restart;
mod manifest_rollback;
mod moods;
mod production;
mod program;
mod promote;
mod proof;
mod quarantine;
mod races;
mod receiving;
mod refusals;
mod reports;
mod restart;
mod rollback;
mod rollback_histories;
mod rollback_input;
mod rollback_meets;
mod rollback_moods;
mod rollback_offers;
mod rollback_sources;
mod rollback_stale;
mod rollbacks_by_git;
mod rungs;
mod sending;
mod status;
mod town;
mod whereabouts;
mod why;
