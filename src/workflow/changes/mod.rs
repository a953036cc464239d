//! Changes under way: the runner claims them, and a stage handler takes each to its next stage.

pub(crate) mod after_merge;
pub(crate) mod auto_rollback;
pub(crate) mod await_approval;
pub(crate) mod begin;
pub(crate) mod build_commit;
pub(crate) mod clean_up;
pub(crate) mod git_writes;
pub(crate) mod merge;
pub(crate) mod move_branch;
pub mod open_changes;
pub(crate) mod pull_request;
pub mod runner;
pub(crate) mod stall_diagnosis;
pub(crate) mod tag;
pub(crate) mod transition;
pub(crate) mod trigger;
pub(crate) mod verify;
