//! One folder for each outside system. An adapter knows the domain and no other adapter.

pub mod cluster;
pub mod controller;
pub mod github;
pub mod registry;
pub mod reports;
pub mod slack;
pub mod store;
