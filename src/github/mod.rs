//! What GitHub knows of commits, branches and tags. octocrab's types stay in this folder.

pub mod client;
mod tag;

pub use client::{Client, GithubError};
pub use tag::tag_sha_candidate;
