//! What GitHub knows of commits, branches, tags and pull requests. It is asked by `ETag` (`read`, `memory`), and neither asked
//! nor written to faster than it allows (`pace`). octocrab's types stay in this folder.

pub mod client;
mod commit;
pub mod describe;
mod facts;
mod files;
mod history;
pub mod look;
mod memory;
mod pace;
mod people;
mod pulls;
mod read;
mod rollback;
mod tag;
mod write;

pub use client::{Client, GithubError};
pub use commit::Commit;
pub use facts::{Compared, Patched};
pub use history::OpenRollback;
pub use pulls::{MergePull, Mergeable, OpenPull, PullRequest, PullState, Review, Verdict};
pub use read::Found;
pub use rollback::{FastForward, Made, Promoting};
pub use tag::tag_sha_candidate;
pub use write::{MakeTag, Merge};
