//! The workloads of one kind in one namespace, as the watch last saw them. It knows no locks and no subscribers.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::adapters::cluster::workload_status::{Container, WorkloadStatus, find_container};
use crate::domain::model::workload::{Workload, WorkloadKind};
use crate::domain::runtime::rollout::{Rollout, RolloutState};

#[derive(Default)]
pub(super) struct WorkloadCollection {
    /// `None`: no watch exists for this kind in this namespace.
    pub(super) readability: Option<NamespaceReadability>,
    pub(super) resource_version: u64,
    /// Time of the last list or event.
    pub(super) last_event_at: Option<Timestamp>,
    pub(super) workloads: HashMap<Arc<str>, WorkloadEntry>,
}

/// Whether a kind of workload in a namespace can be read; for a whole namespace, the worst of its kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceReadability {
    Readable { since: Timestamp },
    NotReadYet { since: Timestamp },
    Unreadable { why: Arc<str>, since: Timestamp },
}

impl NamespaceReadability {
    /// Orders by severity. Of two equal states, the older one is greater.
    pub(super) fn severity_key(&self) -> (u8, Reverse<Timestamp>) {
        match self {
            Self::Readable { since } => (0, Reverse(*since)),
            Self::NotReadYet { since } => (1, Reverse(*since)),
            Self::Unreadable { since, .. } => (2, Reverse(*since)),
        }
    }
}

#[derive(PartialEq, Eq)]
pub(super) struct WorkloadEntry {
    pub(super) containers: Box<[Container]>,
    pub(super) state: RolloutState,
    /// Since when the specification has these images. For a Deployment, the time of the rollout's last progress.
    pub(super) since: Option<Timestamp>,
    /// Since when the rollout of these images is incomplete; `None` while it is complete.
    pub(super) incomplete_since: Option<Timestamp>,
    /// The controller object that applied the workload, as one string.
    pub(super) applier: Option<Arc<str>>,
}

impl WorkloadEntry {
    pub(super) fn new(kind: WorkloadKind, status: WorkloadStatus, before: Option<&Self>, now: Timestamp) -> Self {
        let same = before.filter(|before| before.containers == status.containers);
        let since = match (before, same) {
            // Only a Deployment records this time in its status. For the other kinds, `status.since` is the time of the
            // last write to the object, so it counts only if the images have changed.
            (Some(_), Some(same)) if kind != WorkloadKind::Deployment => same.since,
            (Some(before), None) if kind != WorkloadKind::Deployment => {
                status.since.filter(|since| Some(*since) > before.since).or(Some(now))
            }
            _ => status.since,
        };
        let incomplete_since = match (&status.state, before, same) {
            (RolloutState::Running { .. }, ..) => None,
            (_, _, Some(Self { incomplete_since: Some(since), .. })) => Some(*since),
            (_, Some(_), _) => Some(now),
            (_, None, _) => status.since.or(Some(now)),
        };
        Self { containers: status.containers, state: status.state, since, incomplete_since, applier: status.applier }
    }

    fn to_rollout(&self, container: Option<&str>, image: &str) -> Rollout {
        Rollout {
            version: find_container(&self.containers, container, image).map(|container| container.image.to_version()),
            state: self.state.clone(),
            since: self.incomplete_since.or(self.since),
        }
    }
}

impl WorkloadCollection {
    pub(super) fn find_rollout(
        &self,
        workload: &Workload,
        container: Option<&str>,
        image: &str,
        started_at: Timestamp,
    ) -> Rollout {
        let rollout = self.workloads.get(&workload.name).map(|entry| entry.to_rollout(container, image));
        match &self.readability {
            Some(NamespaceReadability::Readable { .. }) => rollout.unwrap_or_else(Rollout::new_missing),
            Some(NamespaceReadability::Unreadable { why, since }) => {
                let last = rollout.unwrap_or_else(Rollout::new_missing);
                Rollout { state: RolloutState::Unreadable { reason: why.clone(), since: *since }, ..last }
            }
            Some(NamespaceReadability::NotReadYet { .. }) | None => unread_rollout(started_at),
        }
    }
}

pub(super) fn unread_rollout(since: Timestamp) -> Rollout {
    Rollout { state: RolloutState::Unreadable { reason: "not read yet".into(), since }, ..Rollout::new_missing() }
}
