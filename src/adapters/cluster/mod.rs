//! Watches the workloads of the clusters and keeps a compact view of them. Reads only; kube's types stay in this
//! folder.

pub mod access;
mod applied_by;
pub mod client;
pub mod pod_reasons;
mod probe;
mod revision_history;
mod string_pool;
mod view;
pub mod watch;
mod workload_collection;
pub mod workload_status;

use std::time::Duration;

use crate::domain::model::workload::Namespace;

pub use client::{ClusterClients, ClusterError};
pub use probe::ClusterInfo;
pub use revision_history::fetch_image_history;
pub use view::{ClusterView, ViewSubscription, WatchHealth};
pub use workload_collection::NamespaceReadability;
pub use workload_status::Container;

/// A sentence about an error, for operators. `verbs` are the permissions that the request needs.
fn describe_error<K: kube::Resource<DynamicType = ()>>(
    error: &kube::Error,
    verbs: &str,
    namespace: &Namespace,
) -> String {
    let kind = K::plural(&());
    match error {
        kube::Error::Api(status) if status.code == 403 => {
            format!("forbidden: grant {verbs} on {kind} in {}", namespace.name)
        }
        kube::Error::Api(status) if status.code == 401 => {
            "unauthorised: the cluster does not take our credentials".to_owned()
        }
        kube::Error::Api(status) => {
            let message = truncate_text(&status.message, 160);
            format!("the cluster answered {}{}{message}", status.code, if message.is_empty() { "" } else { ": " })
        }
        kube::Error::SerdeError(error) => format!("the cluster's answer tells no {kind}: {error}"),
        error => format!("unreachable: {}", root_cause(error)),
    }
}

fn describe_timeout(within: Duration) -> String {
    format!("unreachable: no answer in {} s", within.as_secs())
}

/// Messages of a cluster may be long or hostile, so only a short part is kept. The cut is at a character boundary.
fn truncate_text(text: &str, limit: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// The last cause in the chain. The causes above it only say that a request failed.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    truncate_text(&cause.to_string(), 160)
}
