//! What Gantry knows and decides, without any I/O. Nothing here is async, and no type of slack-morphism,
//! octocrab, kube or sqlx comes in.

pub mod actor;
pub mod approval;
pub mod arrival;
pub mod artefact;
pub mod attribution;
pub mod audience;
pub mod change;
pub mod command;
pub mod comparison;
pub mod containment;
pub mod diff;
pub mod doctor;
pub mod drift;
pub mod environment;
pub mod freeze;
pub mod gate;
pub mod glob;
pub mod history;
pub mod listing;
pub mod lock;
pub mod manifest;
pub mod message;
pub mod near;
pub mod origin;
pub mod page;
pub mod plan;
pub mod policy;
pub mod quarantine;
pub mod rollback;
pub mod rollout;
#[cfg(test)]
pub(crate) mod sample;
pub mod sighting;
pub mod sought;
pub mod text;
pub mod trailer;
pub mod version;
pub mod wave;
pub mod whereabouts;
pub mod why;
