//! The objects of the simulated API server with their resourceVersions, and the history that watches read.
//! The store holds JSON and does not know the meaning of the objects.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::domain::model::workload::WorkloadKind;

/// The number of events that a watch may miss before it must list again.
const MAX_HISTORY_EVENTS: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Collection {
    Deployments,
    StatefulSets,
    DaemonSets,
    ReplicaSets,
    ControllerRevisions,
    Pods,
}

impl Collection {
    pub(super) const ALL: [Self; 6] = [
        Self::Deployments,
        Self::StatefulSets,
        Self::DaemonSets,
        Self::ReplicaSets,
        Self::ControllerRevisions,
        Self::Pods,
    ];

    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Deployments => "deployments",
            Self::StatefulSets => "statefulsets",
            Self::DaemonSets => "daemonsets",
            Self::ReplicaSets => "replicasets",
            Self::ControllerRevisions => "controllerrevisions",
            Self::Pods => "pods",
        }
    }

    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Deployments => "Deployment",
            Self::StatefulSets => "StatefulSet",
            Self::DaemonSets => "DaemonSet",
            Self::ReplicaSets => "ReplicaSet",
            Self::ControllerRevisions => "ControllerRevision",
            Self::Pods => "Pod",
        }
    }

    /// The API group; the core group is the empty string.
    pub(super) fn group(self) -> &'static str {
        if self == Self::Pods { "" } else { "apps" }
    }

    pub(super) fn api_version(self) -> &'static str {
        if self == Self::Pods { "v1" } else { "apps/v1" }
    }
}

impl From<WorkloadKind> for Collection {
    fn from(kind: WorkloadKind) -> Self {
        match kind {
            WorkloadKind::Deployment => Self::Deployments,
            WorkloadKind::StatefulSet => Self::StatefulSets,
            WorkloadKind::DaemonSet => Self::DaemonSets,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) collection: Collection,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// A change of one object. A watch with a selector needs `before` and `after` to see objects enter and leave.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) version: u64,
    pub(super) key: Key,
    pub(super) before: Option<Arc<Value>>,
    pub(super) after: Option<Arc<Value>>,
}

/// The history no longer contains the version from which a watch or a list wants to continue.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooOld;

#[derive(Default)]
pub(super) struct Store {
    version: u64,
    compacted: u64,
    objects: BTreeMap<Key, Arc<Value>>,
    history: VecDeque<Event>,
    last_changes: BTreeMap<(String, Collection), u64>,
}

impl Store {
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn last_change(&self, namespace: &str, collection: Collection) -> u64 {
        self.last_changes.get(&(namespace.to_owned(), collection)).copied().unwrap_or_default()
    }

    pub(super) fn find(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// The objects of a collection, ordered by namespace and name.
    pub(super) fn list<'a>(
        &'a self,
        collection: Collection,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Value>)> {
        let first = Key { collection, namespace: namespace.unwrap_or_default().to_owned(), name: String::new() };
        self.objects
            .range(first..)
            .take_while(move |(key, _)| key.collection == collection && namespace.is_none_or(|ns| key.namespace == ns))
    }

    /// Creates or updates an object. An unchanged object keeps its version and makes no event.
    pub(super) fn put(&mut self, key: Key, mut object: Value) {
        let before = self.objects.get(&key).cloned();
        if let Some(before) = &before {
            object["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
            if **before == object {
                return;
            }
        }
        let version = self.next_version();
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let object = Arc::new(object);
        self.objects.insert(key.clone(), object.clone());
        self.record(Event { version, key, before, after: Some(object) });
    }

    pub(super) fn delete(&mut self, key: Key) {
        let Some(before) = self.objects.remove(&key) else { return };
        let version = self.next_version();
        self.record(Event { version, key, before: Some(before), after: None });
    }

    /// All events after `version`.
    pub(super) fn since(&self, version: u64) -> Result<impl Iterator<Item = &Event>, TooOld> {
        self.check_not_compacted(version)?;
        let first = self.history.partition_point(|event| event.version <= version);
        Ok(self.history.range(first..))
    }

    pub(super) fn check_not_compacted(&self, version: u64) -> Result<(), TooOld> {
        if version < self.compacted { Err(TooOld) } else { Ok(()) }
    }

    /// Drops the history. The version increases, as in a cluster with other writers, so every watch at an earlier
    /// version must list again.
    pub(super) fn compact(&mut self) {
        self.compacted = self.next_version();
        self.history.clear();
    }

    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn record(&mut self, event: Event) {
        self.last_changes.insert((event.key.namespace.clone(), event.key.collection), event.version);
        self.history.push_back(event);
        if self.history.len() > MAX_HISTORY_EVENTS
            && let Some(dropped) = self.history.pop_front()
        {
            self.compacted = dropped.version;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key { collection: Collection::Pods, namespace: "qa".into(), name: name.into() }
    }

    #[test]
    fn an_unchanged_object_makes_no_event() {
        let mut store = Store::default();
        store.put(key("a"), json!({ "metadata": { "name": "a" } }));
        let version = store.version();
        store.put(key("a"), json!({ "metadata": { "name": "a" } }));
        assert_eq!(store.version(), version);
        assert_eq!(store.last_change("qa", Collection::Pods), version);
        assert_eq!(store.last_change("prod", Collection::Pods), 0);
    }

    #[test]
    fn a_read_before_the_compaction_fails_and_a_current_one_works() {
        let mut store = Store::default();
        store.put(key("a"), json!({ "metadata": {} }));
        assert_eq!(store.since(0).unwrap().count(), 1);
        store.compact();
        assert_eq!(store.since(1).err(), Some(TooOld));
        assert_eq!(store.since(store.version()).unwrap().count(), 0);
    }

    #[test]
    fn a_long_history_loses_its_oldest_events() {
        let mut store = Store::default();
        for n in 0..=MAX_HISTORY_EVENTS {
            store.put(key("a"), json!({ "metadata": {}, "n": n }));
        }
        assert_eq!(store.since(0).err(), Some(TooOld));
        assert_eq!(store.since(1).unwrap().count(), MAX_HISTORY_EVENTS);
    }
}
