//! The basic types: artefacts, environments, versions, people and messages.

pub mod actor;
pub mod artefact;
pub mod catalogue;
pub mod environment;
pub mod freeze;
pub mod glob;
pub mod ids;
pub mod message;
pub mod nearest;
pub mod version;
pub mod workload;
