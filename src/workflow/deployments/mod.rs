//! Observes deployments: stores reports of controllers, records sightings of the cluster, and announces arrivals.

pub(crate) mod announce;
pub(crate) mod arrival_batch;
pub(crate) mod arrival_message;
pub(crate) mod arrivals;
pub(crate) mod controller_reports;
mod github_events;
pub mod observer;
pub(crate) mod provenance;
pub mod webhook_inbox;
