//! What GitHub knows of commits, branches, tags and pull requests. octocrab's types stay in this folder.

pub mod client;
pub mod describe;
mod facts;
mod pace;
mod people;
mod pulls;
mod tag;
mod write;

pub use client::{Client, GithubError};
pub use facts::Compared;
pub use pulls::{MergePull, Mergeable, OpenPull, PullRequest, PullState, Review, Verdict};
pub use tag::tag_sha_candidate;
pub use write::{MakeTag, Merge};
