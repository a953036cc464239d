//! What runs: rollouts, sightings of versions, and arrivals.

pub mod arrival;
pub mod arrival_batch;
pub mod attribution;
pub mod provenance;
pub mod rollout;
pub mod sighting;
