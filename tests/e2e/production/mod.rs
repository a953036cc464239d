//! Promotions into production: pull requests, approvals, and commits that arrive in between.

mod approvals;
mod by_manifest;
mod pull_request;
mod races;
