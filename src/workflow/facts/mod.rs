//! Lookups: the code that runs in an environment, the commit of an image, the rights of a person.

pub(crate) mod authors;
pub mod builds;
pub mod comparisons;
pub mod home_readers;
pub mod image_commits;
pub(crate) mod locks;
pub(crate) mod manifests;
pub(crate) mod merged_result;
pub(crate) mod message_links;
pub mod not_found_cache;
pub mod people;
pub mod permissions;
pub(crate) mod report_history;
pub(crate) mod rollout_check;
pub(crate) mod running_code;
pub mod sightings;
pub mod table_support;
