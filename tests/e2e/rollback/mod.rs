//! Rollbacks, by hand and by rule, and the promotions after them.

mod auto_rollback;
mod by_branch;
mod by_manifest;
mod conflicts;
mod git_cases;
mod github_failures;
mod input;
mod offers;
mod promotions_after;
mod quarantine;
mod random_histories;
mod sources;
mod stale_confirmations;
