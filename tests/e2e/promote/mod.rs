//! Promotions, by branch and by manifest, up to the proof that the new version runs.

mod by_branch;
mod by_manifest;
mod gates;
mod github_failures;
mod manifest_formats;
mod manifest_github_failures;
mod manifest_refusals;
mod manifest_registry;
mod manifest_restart;
mod many_at_once;
mod progress;
mod proof;
mod random_histories;
mod refusals;
mod stalls;
