//! Promotions, by branch and by manifest, up to the proof that the new version runs.

mod by_branch;
pub(crate) mod by_manifest;
pub(crate) mod gates;
mod github_failures;
mod manifest_formats;
mod manifest_github_failures;
mod manifest_refusals;
mod manifest_registry;
mod manifest_restart;
pub(crate) mod many_at_once;
mod progress;
mod proof;
mod random_histories;
mod refusals;
mod stalls;
