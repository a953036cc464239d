//! Deployments: observations of the cluster, and reports of controllers.

pub(crate) mod arrival_batch;
mod arrivals;
mod cluster;
mod lost_reports;
mod polling_cost;
mod provenance;
mod report_mapping;
mod reports;
