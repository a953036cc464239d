//! What the clusters run: watched, and kept as the few bytes per workload that people and rules need.
//! Reads only. Knows nothing of Slack, GitHub or the store; kube's types stay in this folder.

pub mod client;
pub mod pods;
pub mod rollout;
mod view;
pub mod watch;

pub use client::{Clients, ClusterError};
pub use view::{Changes, Reading, View};

/// Messages of a cluster may be long or hostile; what we keep and show of them is short, and cut between characters.
fn shortened(text: &str, limit: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

/// The cause at the bottom of a chain: the layers above it only say that something failed.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    shortened(&cause.to_string(), 160)
}
