//! Lookups: which code runs where, which commit an image is from, who may do what.

pub mod builds;
pub mod comparisons;
pub mod image_commits;
pub mod people;
pub mod permissions;
pub(crate) mod report_history;
pub mod sightings;
