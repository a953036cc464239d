//! The decisions of Gantry, without I/O. Nothing here is async or uses a type of slack-morphism, octocrab, kube or
//! sqlx.

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
