//! Commits and their comparison, checks, trailers, manifests, and differences of texts.

pub mod checks;
pub mod commit_summary;
pub mod comparison;
pub mod containment;
pub mod manifest;
pub mod pending;
pub mod text_diff;
pub mod trailer;
