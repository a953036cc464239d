//! What Gantry knows and decides, without any I/O. Nothing here is async, and no type of slack-morphism,
//! octocrab, kube or sqlx comes in.

pub mod change;
pub mod command;
pub mod doctor;
pub mod git;
pub mod model;
pub mod rules;
pub mod runtime;
#[cfg(test)]
pub(crate) mod sample;
pub mod view;
