//! The simulated Slack, GitHub and cluster with its CI and controller: the demo, and the world the tests run in.
//! Each speaks the real protocol; the bot reaches them only over HTTP.

pub mod agenda;
pub mod chance;
pub mod ci;
pub mod cluster;
pub mod controller;
pub mod demo;
pub mod faults;
pub mod github;
pub mod hands;
mod history;
mod manifests;
pub mod manners;
pub mod pace;
pub mod page;
pub mod registry;
mod signature;
pub mod slack;
pub mod strays;
pub mod town;
