//! What GitHub knows of commits, branches and tags. octocrab's types stay in this folder.

pub mod client;
mod facts;
mod pace;
mod people;
mod tag;
mod write;

pub use client::{Client, GithubError};
pub use facts::Compared;
pub use tag::tag_sha_candidate;
pub use write::{MakeTag, Merge};
