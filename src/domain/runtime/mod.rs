//! The cluster's state: rollouts, sightings, arrivals, provenance, and the attribution of reports.

pub mod arrival;
pub mod arrival_batch;
pub mod attribution;
pub mod provenance;
pub mod rollout;
pub mod sighting;
