//! Planning: gathers the facts of a promotion or a rollback and asks the rules for a decision.

pub(crate) mod approval_requirements;
pub(crate) mod gate_inputs;
pub(crate) mod image;
pub(crate) mod pending_commits;
pub mod promotion;
pub(crate) mod promotion_candidate;
pub(crate) mod rollback;
pub(crate) mod rollback_candidates;
pub(crate) mod rollback_image;
