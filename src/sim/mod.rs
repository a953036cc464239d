//! The simulated Slack, GitHub, registry and cluster with CI and controller: the demo, and the world of the tests.
//! Each speaks the real protocol. The bot reaches them only over HTTP.

pub mod ci;
pub mod cluster;
pub mod connect;
pub mod control_api;
pub mod controller;
pub mod demo;
pub mod faults;
pub mod github;
mod history;
mod manifests;
pub mod pace;
pub mod page;
pub mod registry;
pub mod rng;
pub mod scheduler;
pub mod service_faults;
mod signature;
pub mod slack;
pub mod unknown_requests;
pub mod world;
