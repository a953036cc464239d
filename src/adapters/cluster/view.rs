//! The compact view of all watched workloads. The watches write it; all other parts read it. It holds no Kubernetes
//! objects, and reading it sends no request.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use crate::adapters::cluster::string_pool::StringPool;
use crate::adapters::cluster::workload_collection::{
    NamespaceReadability, WorkloadCollection, WorkloadEntry, unread_rollout,
};
use crate::adapters::cluster::workload_status::{Container, WorkloadStatus, find_container};
use crate::clock::Clock;
use crate::domain::model::artefact::Place;
use crate::domain::model::workload::{Namespace, WorkloadKind};
use crate::domain::runtime::attribution::AppliedWorkload;
use crate::domain::runtime::rollout::{Rollout, RolloutState};

#[derive(Clone)]
pub struct ClusterView(Arc<Inner>);

struct Inner {
    clock: Clock,
    started_at: Timestamp,
    namespaces: RwLock<HashMap<Namespace, NamespaceState>>,
    string_pool: Mutex<StringPool>,
    /// Counts changes. Each namespace notes the count of its last change.
    change_count: watch::Sender<u64>,
}

#[derive(Default)]
struct NamespaceState {
    changed: AtomicU64,
    /// In the order of [`WorkloadKind::ALL`].
    kinds: [RwLock<WorkloadCollection>; 3],
}

/// The health of one watch: a kind of workload in a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchHealth {
    pub namespace: Namespace,
    pub kind: WorkloadKind,
    pub is_readable: bool,
    /// Time since the last list or event; since the start if there was none.
    pub silent_for: SignedDuration,
}

impl ClusterView {
    pub fn new(clock: Clock) -> Self {
        let started_at = clock.now();
        Self(Arc::new(Inner {
            clock,
            started_at,
            namespaces: RwLock::default(),
            string_pool: Mutex::default(),
            change_count: watch::Sender::new(0),
        }))
    }

    /// The rollout of an artefact in a place. While the rollout is incomplete, `since` is the time when it became so.
    /// If the namespace cannot be read, the last known version stays.
    pub fn read_rollout(&self, place: &Place, image: &str) -> Rollout {
        let namespaces = self.namespaces();
        let Some(state) = namespaces.get(&place.namespace) else { return unread_rollout(self.0.started_at) };
        Rollout::from_workloads(place.workloads.iter().map(|workload| {
            read_collection(state, workload.kind).find_rollout(
                workload,
                place.container.as_deref(),
                image,
                self.0.started_at,
            )
        }))
    }

    /// The controller objects that applied the place's workloads with this image, and the version of the image.
    pub fn find_appliers(&self, place: &Place, image: &str) -> AppliedWorkload {
        let mut applied = AppliedWorkload::default();
        let namespaces = self.namespaces();
        let Some(state) = namespaces.get(&place.namespace) else { return applied };
        for workload in &place.workloads {
            let collection = read_collection(state, workload.kind);
            let Some(entry) = collection.workloads.get(&workload.name) else { continue };
            let Some(container) = find_container(&entry.containers, place.container.as_deref(), image) else {
                continue;
            };
            applied.version.get_or_insert_with(|| container.image.to_version());
            applied
                .applied_by
                .extend(entry.applier.clone().filter(|reference| !applied.applied_by.contains(reference)));
        }
        applied
    }

    /// A subscription that is woken by changes. The first wake-up covers all earlier changes.
    pub fn subscribe_changes(&self) -> ViewSubscription {
        ViewSubscription { view: self.clone(), change_count: self.0.change_count.subscribe(), last_seen: 0 }
    }

    /// The resource version that the watch of this kind has reached; 0 before the first list.
    pub fn resource_version(&self, namespace: &Namespace, kind: WorkloadKind) -> u64 {
        self.namespaces().get(namespace).map_or(0, |state| read_collection(state, kind).resource_version)
    }

    /// Every watched namespace with the worst readability of its kinds, sorted.
    pub fn list_readability(&self) -> Vec<(Namespace, NamespaceReadability)> {
        let worst = |state: &NamespaceState| {
            let readings =
                WorkloadKind::ALL.into_iter().filter_map(|kind| read_collection(state, kind).readability.clone());
            readings.max_by_key(NamespaceReadability::severity_key)
        };
        let mut readabilities: Vec<_> = self
            .namespaces()
            .iter()
            .filter_map(|(namespace, state)| Some((namespace.clone(), worst(state)?)))
            .collect();
        readabilities.sort_by(|(a, _), (b, _)| a.cmp(b));
        readabilities
    }

    /// All watches, sorted: whether their namespace is readable, and the time since their last event.
    pub fn list_watch_health(&self) -> Vec<WatchHealth> {
        let now = self.0.clock.now();
        let mut watches = Vec::new();
        for (namespace, state) in self.namespaces().iter() {
            for kind in WorkloadKind::ALL {
                let collection = read_collection(state, kind);
                let Some(readability) = &collection.readability else { continue };
                let silent_for = now.duration_since(collection.last_event_at.unwrap_or(self.0.started_at));
                let is_readable = matches!(readability, NamespaceReadability::Readable { .. });
                watches.push(WatchHealth { namespace: namespace.clone(), kind, is_readable, silent_for });
            }
        }
        watches.sort_by(|a, b| (&a.namespace, a.kind).cmp(&(&b.namespace, b.kind)));
        watches
    }

    /// Whether the first read of each kind of this place has ended, with success or with an error.
    pub fn has_been_read(&self, place: &Place) -> bool {
        self.namespaces().get(&place.namespace).is_some_and(|state| {
            let was_read = |kind| {
                !matches!(
                    read_collection(state, kind).readability,
                    None | Some(NamespaceReadability::NotReadYet { .. })
                )
            };
            place.workloads.iter().all(|workload| was_read(workload.kind))
        })
    }

    /// Announces that this kind will be watched. Until its watch is established, the kind is `NotReadYet`, and none of
    /// its workloads counts as missing.
    pub fn expect_kind(&self, namespace: &Namespace, kind: WorkloadKind) {
        let since = self.0.started_at;
        self.update_collection(namespace, kind, |collection| {
            collection.readability.get_or_insert(NamespaceReadability::NotReadYet { since });
            false
        });
    }

    /// Replaces the workloads of a kind, but not its readability: see [`ClusterView::mark_readable`].
    pub fn replace_workloads(
        &self,
        namespace: &Namespace,
        kind: WorkloadKind,
        listed: impl IntoIterator<Item = (String, WorkloadStatus)>,
        version: u64,
    ) {
        let now = self.0.clock.now();
        let listed: Vec<_> = listed.into_iter().map(|(name, status)| (name, self.intern_strings(status))).collect();
        self.update_collection(namespace, kind, |collection| {
            let before = std::mem::take(&mut collection.workloads);
            collection.workloads = listed
                .into_iter()
                .map(|(name, status)| {
                    let (name, previous) = match before.get_key_value(name.as_str()) {
                        Some((name, entry)) => (name.clone(), Some(entry)),
                        None => (name.into(), None),
                    };
                    (name, WorkloadEntry::new(kind, status, previous, now))
                })
                .collect();
            collection.resource_version = version;
            collection.last_event_at = Some(now);
            collection.workloads != before
        });
    }

    /// To be called when the watch is established: from then on, the view has the state of the cluster.
    pub fn mark_readable(&self, namespace: &Namespace, kind: WorkloadKind) {
        let since = self.0.clock.now();
        self.update_collection(namespace, kind, |collection| {
            collection.last_event_at = Some(since);
            let changed = !matches!(collection.readability, Some(NamespaceReadability::Readable { .. }));
            if changed {
                collection.readability = Some(NamespaceReadability::Readable { since });
            }
            changed
        });
    }

    pub(super) fn mark_unreadable(&self, namespace: &Namespace, kind: WorkloadKind, why: &str) {
        let now = self.0.clock.now();
        self.update_collection(namespace, kind, |collection| {
            let since = match &collection.readability {
                Some(NamespaceReadability::Unreadable { why: previous, .. }) if **previous == *why => return false,
                Some(NamespaceReadability::Unreadable { since, .. }) => *since,
                _ => now,
            };
            collection.readability = Some(NamespaceReadability::Unreadable { why: why.into(), since });
            true
        });
    }

    pub(super) fn apply_workload(
        &self,
        namespace: &Namespace,
        kind: WorkloadKind,
        name: &str,
        status: WorkloadStatus,
        version: u64,
    ) {
        let now = self.0.clock.now();
        let status = self.intern_strings(status);
        self.update_collection(namespace, kind, |collection| {
            collection.resource_version = collection.resource_version.max(version);
            collection.last_event_at = Some(now);
            let (name, before) = match collection.workloads.remove_entry(name) {
                Some((name, before)) => (name, Some(before)),
                None => (name.into(), None),
            };
            let entry = WorkloadEntry::new(kind, status, before.as_ref(), now);
            let changed = before.as_ref() != Some(&entry);
            collection.workloads.insert(name, entry);
            changed
        });
    }

    pub(super) fn remove_workload(&self, namespace: &Namespace, kind: WorkloadKind, name: &str, version: u64) {
        let now = self.0.clock.now();
        self.update_collection(namespace, kind, |collection| {
            collection.resource_version = collection.resource_version.max(version);
            collection.last_event_at = Some(now);
            collection.workloads.remove(name).is_some()
        });
    }

    pub(super) fn advance_version(&self, namespace: &Namespace, kind: WorkloadKind, version: u64) {
        let now = self.0.clock.now();
        self.update_collection(namespace, kind, |collection| {
            collection.resource_version = collection.resource_version.max(version);
            collection.last_event_at = Some(now);
            false
        });
    }

    /// `update` returns whether subscribers must be woken.
    fn update_collection(
        &self,
        namespace: &Namespace,
        kind: WorkloadKind,
        update: impl FnOnce(&mut WorkloadCollection) -> bool,
    ) {
        if !self.namespaces().contains_key(namespace) {
            let mut namespaces = self.0.namespaces.write().unwrap_or_else(PoisonError::into_inner);
            namespaces.entry(namespace.clone()).or_default();
        }
        let namespaces = self.namespaces();
        let Some(state) = namespaces.get(namespace) else { return };
        if update(&mut write_collection(state, kind)) {
            // The count and the namespace's note of it change under one lock: a reader of the count always finds the
            // note.
            self.0.change_count.send_modify(|count| {
                *count += 1;
                state.changed.store(*count, Ordering::Release);
            });
        }
    }

    fn namespaces(&self) -> RwLockReadGuard<'_, HashMap<Namespace, NamespaceState>> {
        self.0.namespaces.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Container and image names repeat in every environment, and one object may apply many workloads, so each string
    /// is stored once.
    fn intern_strings(&self, mut status: WorkloadStatus) -> WorkloadStatus {
        let mut pool = self.0.string_pool.lock().unwrap_or_else(PoisonError::into_inner);
        for container in &mut status.containers {
            pool.intern_string(&mut container.name);
            pool.intern_string(&mut container.image.name);
        }
        if let Some(applier) = &mut status.applier {
            pool.intern_string(applier);
        }
        status
    }

    /// Approximate size of the view in bytes: tables as allocated, and every shared string once.
    pub fn estimate_bytes(&self) -> usize {
        let mut counted = HashSet::new();
        let mut string_bytes = |string: &Arc<str>| {
            let counts = 2 * size_of::<usize>();
            if counted.insert(string.as_ptr()) { (counts + string.len()).next_multiple_of(16) } else { 0 }
        };
        let mut bytes = {
            let pool = self.0.string_pool.lock().unwrap_or_else(PoisonError::into_inner);
            estimate_table_bytes(pool.strings.capacity(), size_of::<Arc<str>>())
        };
        let namespaces = self.namespaces();
        bytes += estimate_table_bytes(namespaces.capacity(), size_of::<(Namespace, NamespaceState)>());
        for state in namespaces.values() {
            for kind in WorkloadKind::ALL {
                let collection = read_collection(state, kind);
                bytes += estimate_table_bytes(collection.workloads.capacity(), size_of::<(Arc<str>, WorkloadEntry)>());
                for (name, entry) in &collection.workloads {
                    bytes += string_bytes(name) + size_of_val(&*entry.containers);
                    bytes += entry.applier.as_ref().map_or(0, &mut string_bytes);
                    for Container { name, image } in &entry.containers {
                        bytes += string_bytes(name) + string_bytes(&image.name);
                        bytes += image.tag.as_ref().map_or(0, &mut string_bytes)
                            + image.digest.as_ref().map_or(0, &mut string_bytes);
                    }
                    if let RolloutState::Degraded { reason }
                    | RolloutState::RollingOut { delayed_by: Some(reason), .. } = &entry.state
                    {
                        bytes += string_bytes(reason);
                    }
                }
            }
        }
        bytes
    }
}

/// The allocation of a hash table with this capacity: 7 of 8 slots are usable, and each slot has one control byte.
fn estimate_table_bytes(capacity: usize, entry: usize) -> usize {
    if capacity == 0 { 0 } else { (capacity * 8 / 7).next_power_of_two() * (entry + 1) }
}

fn collection_slot(state: &NamespaceState, kind: WorkloadKind) -> &RwLock<WorkloadCollection> {
    let [deployments, stateful_sets, daemon_sets] = &state.kinds;
    match kind {
        WorkloadKind::Deployment => deployments,
        WorkloadKind::StatefulSet => stateful_sets,
        WorkloadKind::DaemonSet => daemon_sets,
    }
}

fn read_collection(state: &NamespaceState, kind: WorkloadKind) -> RwLockReadGuard<'_, WorkloadCollection> {
    collection_slot(state, kind).read().unwrap_or_else(PoisonError::into_inner)
}

fn write_collection(state: &NamespaceState, kind: WorkloadKind) -> RwLockWriteGuard<'_, WorkloadCollection> {
    collection_slot(state, kind).write().unwrap_or_else(PoisonError::into_inner)
}

/// A subscription to changes of the view. Wake-ups coalesce, and none is lost.
pub struct ViewSubscription {
    view: ClusterView,
    change_count: watch::Receiver<u64>,
    last_seen: u64,
}

impl ViewSubscription {
    /// Waits for changes, and returns the namespaces that changed since the last call. Cancel-safe.
    pub async fn next_changed_namespaces(&mut self) -> BTreeSet<Namespace> {
        loop {
            let count = *self.change_count.borrow_and_update();
            if count > self.last_seen {
                let changed = |state: &NamespaceState| state.changed.load(Ordering::Acquire) > self.last_seen;
                let namespaces = self.view.namespaces();
                let changed =
                    namespaces.iter().filter(|(_, state)| changed(state)).map(|(name, _)| name.clone()).collect();
                drop(namespaces);
                self.last_seen = count;
                return changed;
            }
            if self.change_count.changed().await.is_err() {
                // Unreachable: `self.view` holds the sender.
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::domain::model::version::Image;

    fn clock() -> Clock {
        Clock::new_manual(Timestamp::from_second(1_000).unwrap())
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn namespace(name: &str) -> Namespace {
        Namespace { context: None, name: name.into() }
    }

    fn place(workloads: &[&str]) -> Place {
        let workloads = workloads.iter().map(|text| text.parse().unwrap()).collect();
        Place { namespace: namespace("qa"), workloads, container: None }
    }

    /// Containers with their images.
    type Images<'a> = &'a [(&'a str, &'a str)];

    fn status(images: Images<'_>, state: RolloutState, since: Option<i64>) -> WorkloadStatus {
        let container = |(name, image): &(&str, &str)| Container { name: (*name).into(), image: Image::parse(image) };
        WorkloadStatus {
            containers: images.iter().map(container).collect(),
            state,
            since: since.map(at),
            applier: None,
        }
    }

    fn running(image: &str) -> WorkloadStatus {
        status(&[("app", image)], RolloutState::Running { ready: 1 }, Some(10))
    }

    fn rolling(image: &str) -> WorkloadStatus {
        status(&[("app", image)], RolloutState::RollingOut { ready: 0, wanted: 1, delayed_by: None }, Some(10))
    }

    fn view_with(kind: WorkloadKind, workloads: Vec<(&str, WorkloadStatus)>) -> (ClusterView, Clock) {
        let clock = clock();
        let view = ClusterView::new(clock.clone());
        view.replace_workloads(&namespace("qa"), kind, workloads.into_iter().map(|(name, s)| (name.to_owned(), s)), 7);
        view.mark_readable(&namespace("qa"), kind);
        (view, clock)
    }

    #[test]
    fn the_container_is_the_named_one_else_the_only_one_else_the_one_with_the_image() {
        let two = &[("proxy", "envoy:9"), ("app", "acme/checkout:2")][..];
        let cases: [(Images<'_>, Option<&str>, Option<&str>); 6] = [
            (two, None, Some("2")),
            (two, Some("proxy"), Some("9")),
            (two, Some("nobody"), None),
            (&[("app", "mirror/checkout:3")], None, Some("3")),
            (&[("proxy", "envoy:9"), ("app", "mirror/checkout:2")], None, None),
            (&[], None, None),
        ];
        for (images, container, tag) in cases {
            let state = RolloutState::Running { ready: 1 };
            let (view, _) =
                view_with(WorkloadKind::Deployment, vec![("checkout", status(images, state.clone(), None))]);
            let place = Place { container: container.map(Into::into), ..place(&["deployment/checkout"]) };
            let rollout = view.read_rollout(&place, "acme/checkout");
            let found = rollout.version.and_then(|version| version.tag);
            assert_eq!(found.as_deref(), tag, "{images:?} {container:?}");
            assert_eq!(rollout.state, state);
        }
    }

    #[test]
    fn before_its_watch_is_established_a_workload_is_unread_and_not_missing() {
        let view = ClusterView::new(clock());
        let not_yet = RolloutState::Unreadable { reason: "not read yet".into(), since: at(1_000) };
        let checkout = place(&["deployment/checkout"]);
        assert_eq!(view.read_rollout(&checkout, "x").state, not_yet);
        view.expect_kind(&namespace("qa"), WorkloadKind::Deployment);
        assert_eq!(view.read_rollout(&checkout, "x").state, not_yet);
        assert_eq!(view.list_readability(), [(namespace("qa"), NamespaceReadability::NotReadYet { since: at(1_000) })]);

        view.replace_workloads(&namespace("qa"), WorkloadKind::Deployment, [], 1);
        assert_eq!(view.read_rollout(&checkout, "x").state, not_yet, "the watch is not established yet");
        assert!(!view.has_been_read(&checkout));
        view.mark_readable(&namespace("qa"), WorkloadKind::Deployment);
        assert!(view.has_been_read(&checkout));
        assert_eq!(view.read_rollout(&checkout, "x").state, RolloutState::Missing);
    }

    #[test]
    fn all_workloads_of_a_place_make_one_rollout() {
        let (view, _) = view_with(WorkloadKind::Deployment, vec![("a", running("x:1")), ("b", rolling("x:1"))]);
        let state = |workloads: &[&str]| view.read_rollout(&place(workloads), "x").state;
        assert_eq!(state(&["deployment/a"]), RolloutState::Running { ready: 1 });
        assert_eq!(
            state(&["deployment/a", "deployment/b"]),
            RolloutState::RollingOut { ready: 1, wanted: 2, delayed_by: None }
        );
        assert_eq!(state(&["deployment/a", "deployment/c"]), RolloutState::Missing);
        assert!(matches!(state(&["deployment/a", "statefulset/a"]), RolloutState::Unreadable { .. }));
    }

    #[test]
    fn an_unreadable_namespace_keeps_the_last_version() {
        let (view, clock) = view_with(WorkloadKind::Deployment, vec![("checkout", running("x:1"))]);
        let qa = namespace("qa");
        clock.advance(SignedDuration::from_secs(5));
        view.mark_unreadable(&qa, WorkloadKind::Deployment, "unreachable: refused");
        clock.advance(SignedDuration::from_secs(5));
        view.mark_unreadable(&qa, WorkloadKind::Deployment, "forbidden");

        let rollout = view.read_rollout(&place(&["deployment/checkout"]), "x");
        assert_eq!(rollout.state, RolloutState::Unreadable { reason: "forbidden".into(), since: at(1_005) });
        assert_eq!(rollout.version.unwrap().label(), "1");
        assert_eq!(
            view.list_readability(),
            [(qa.clone(), NamespaceReadability::Unreadable { why: "forbidden".into(), since: at(1_005) })]
        );

        view.mark_readable(&qa, WorkloadKind::Deployment);
        let rollout = view.read_rollout(&place(&["deployment/checkout"]), "x");
        assert_eq!(rollout.state, RolloutState::Running { ready: 1 });
        assert_eq!(view.list_readability(), [(qa, NamespaceReadability::Readable { since: at(1_010) })]);
    }

    #[test]
    fn a_forbidden_kind_makes_its_namespace_unreadable_but_not_the_rollouts_of_other_kinds() {
        let (view, _) = view_with(WorkloadKind::Deployment, vec![("checkout", running("x:1"))]);
        view.mark_unreadable(&namespace("qa"), WorkloadKind::StatefulSet, "forbidden");
        let rollout = view.read_rollout(&place(&["deployment/checkout"]), "x");
        assert_eq!(rollout.state, RolloutState::Running { ready: 1 });
        assert!(matches!(&view.list_readability()[..], [(_, NamespaceReadability::Unreadable { .. })]));
    }

    #[test]
    fn the_time_of_a_stateful_set_is_that_of_its_image_or_of_its_incomplete_rollout() {
        let kind = WorkloadKind::StatefulSet;
        let (view, clock) = view_with(kind, vec![("mailer", running("x:1"))]);
        let since = |view: &ClusterView| view.read_rollout(&place(&["statefulset/mailer"]), "x").since;
        assert_eq!(since(&view), Some(at(10)), "from the cluster in the first list");
        let steps = [
            (rolling("x:2"), 1_010, "the rollout begins when the image changes"),
            (rolling("x:2"), 1_010, "and its time stays while it continues"),
            (running("x:2"), 1_010, "complete: the time of this image"),
            (rolling("x:2"), 1_040, "a pod that ends later makes it incomplete again"),
            (running("x:2"), 1_010, "and the time of the image has not changed"),
            (rolling("x:3"), 1_060, "another image"),
            (rolling("x:4"), 1_070, "another image before the last one was complete"),
        ];
        for (version, (status, expected, step)) in (8..).zip(steps) {
            clock.advance(SignedDuration::from_secs(10));
            view.apply_workload(&namespace("qa"), kind, "mailer", status.clone(), version);
            assert_eq!(since(&view), Some(at(expected)), "{step}");
            // A relist in between must not reset the time.
            view.replace_workloads(&namespace("qa"), kind, [("mailer".to_owned(), status)], version);
            assert_eq!(since(&view), Some(at(expected)), "{step}, after a relist");
        }
    }

    #[test]
    fn the_time_of_a_deployment_is_that_in_its_status() {
        let kind = WorkloadKind::Deployment;
        let (view, clock) = view_with(kind, vec![("checkout", rolling("x:1"))]);
        let since = |view: &ClusterView| view.read_rollout(&place(&["deployment/checkout"]), "x").since;
        assert_eq!(since(&view), Some(at(10)));
        clock.advance(SignedDuration::from_secs(10));
        let status = status(&[("app", "x:1")], RolloutState::Running { ready: 1 }, Some(900));
        view.apply_workload(&namespace("qa"), kind, "checkout", status, 8);
        assert_eq!(since(&view), Some(at(900)));
    }

    #[test]
    fn the_resource_version_decreases_only_with_a_new_list() {
        let kind = WorkloadKind::Deployment;
        let (view, _) = view_with(kind, vec![]);
        let qa = namespace("qa");
        assert_eq!(view.resource_version(&qa, kind), 7);
        view.apply_workload(&qa, kind, "checkout", running("x:1"), 12);
        view.advance_version(&qa, kind, 11);
        assert_eq!(view.resource_version(&qa, kind), 12);
        view.remove_workload(&qa, kind, "checkout", 13);
        assert_eq!(view.resource_version(&qa, kind), 13);
        view.replace_workloads(&qa, kind, [], 3);
        assert_eq!(view.resource_version(&qa, kind), 3);
        assert_eq!(view.resource_version(&namespace("prod"), kind), 0);
    }

    #[tokio::test]
    async fn a_subscriber_gets_every_changed_namespace_and_no_other() {
        let kind = WorkloadKind::Deployment;
        let (view, _) = view_with(kind, vec![("checkout", running("x:1"))]);
        let mut changes = view.subscribe_changes();
        assert_eq!(
            changes.next_changed_namespaces().await,
            BTreeSet::from([namespace("qa")]),
            "earlier changes are included"
        );

        view.apply_workload(&namespace("qa"), kind, "checkout", running("x:1"), 8);
        view.advance_version(&namespace("qa"), kind, 9);
        view.expect_kind(&namespace("dev"), kind);
        let quiet = tokio::time::timeout(std::time::Duration::from_millis(20), changes.next_changed_namespaces()).await;
        assert!(quiet.is_err(), "no change, no wake-up: {quiet:?}");

        view.apply_workload(&namespace("prod"), kind, "checkout", running("x:1"), 8);
        view.apply_workload(&namespace("qa"), kind, "checkout", running("x:2"), 10);
        view.remove_workload(&namespace("qa"), kind, "checkout", 11);
        assert_eq!(changes.next_changed_namespaces().await, BTreeSet::from([namespace("prod"), namespace("qa")]));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_up_is_lost_between_threads() {
        const ROUNDS: u64 = 2_000;
        let view = ClusterView::new(clock());
        let (qa, kind) = (namespace("qa"), WorkloadKind::Deployment);
        let writer = tokio::task::spawn_blocking({
            let (view, qa) = (view.clone(), qa.clone());
            move || (1..=ROUNDS).for_each(|n| view.apply_workload(&qa, kind, "checkout", running(&format!("x:{n}")), n))
        });
        view.mark_readable(&qa, kind);
        let mut changes = view.subscribe_changes();
        let last = async {
            loop {
                changes.next_changed_namespaces().await;
                let seen = view.read_rollout(&place(&["deployment/checkout"]), "x").version;
                if seen.is_some_and(|version| version.label() == ROUNDS.to_string()) {
                    return;
                }
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), last)
            .await
            .expect("the last change wakes the subscriber");
        writer.await.unwrap();
    }

    #[test]
    fn forty_thousand_workloads_take_little_memory() {
        let view = ClusterView::new(clock());
        for environment in ["development", "qa", "staging", "prod"] {
            let workloads = (0..10_000).map(|n| {
                let image = format!("ghcr.io/acme/artefact-{n:05}:1.{n}.0-9be01d7");
                let ready = RolloutState::Running { ready: 3 };
                // One object for each workload is the worst case.
                let applier = Some(format!("Kustomization/{environment}/artefact-{n:05}").into());
                let status = status(&[("app", &image), ("proxy", "envoy:9")], ready, Some(n));
                (format!("artefact-{n:05}"), WorkloadStatus { applier, ..status })
            });
            view.replace_workloads(&namespace(environment), WorkloadKind::Deployment, workloads, 1);
            view.mark_readable(&namespace(environment), WorkloadKind::Deployment);
        }
        let each = view.estimate_bytes() / 40_000;
        assert!(each > 100, "an estimate of {each} bytes is incomplete");
        assert!(each < 1_500, "{each} bytes a workload");
        assert!(each < 600, "{each} bytes a workload with two containers is more than before");
    }

    #[test]
    fn the_appliers_of_a_place_are_listed_once() {
        let by = |applier: &str, image: &str| WorkloadStatus { applier: Some(applier.into()), ..running(image) };
        let proxied = status(&[("a", "x:1"), ("b", "y:1")], RolloutState::Running { ready: 1 }, None);
        let proxied = WorkloadStatus { applier: Some("Kustomization/qa/proxied".into()), ..proxied };
        let workloads = vec![
            ("a", by("Kustomization/qa/apps", "x:1")),
            ("b", by("Kustomization/qa/apps", "x:1")),
            ("c", by("HelmRelease/qa/c", "x:1")),
            ("d", proxied),
            ("e", running("x:1")),
        ];
        let (view, _) = view_with(WorkloadKind::Deployment, workloads);
        let applied = |names: &[&str], image: &str| {
            let workloads: Vec<String> = names.iter().map(|name| format!("deployment/{name}")).collect();
            let place = place(&workloads.iter().map(String::as_str).collect::<Vec<_>>());
            view.find_appliers(&place, image).applied_by.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(applied(&["a", "b", "c"], "x"), ["Kustomization/qa/apps", "HelmRelease/qa/c"]);
        assert_eq!(applied(&["d"], "y"), ["Kustomization/qa/proxied"]);
        assert_eq!(applied(&["d"], "z"), <[&str; 0]>::default(), "no container has that image");
        assert_eq!(applied(&["e", "nobody"], "x"), <[&str; 0]>::default());
        let version = view.find_appliers(&place(&["deployment/a"]), "x").version.unwrap();
        assert_eq!(version.label(), "1");

        view.apply_workload(&namespace("qa"), WorkloadKind::Deployment, "a", by("Kustomization/qa/other", "x:1"), 8);
        assert_eq!(applied(&["a"], "x"), ["Kustomization/qa/other"], "another object applied it");
        let count = view.0.string_pool.lock().unwrap().strings.len();
        view.replace_workloads(
            &namespace("qa"),
            WorkloadKind::Deployment,
            [("b".to_owned(), by("Kustomization/qa/apps", "x:1"))],
            9,
        );
        assert_eq!(view.0.string_pool.lock().unwrap().strings.len(), count, "the string is stored once");
    }

    #[test]
    fn strings_of_deleted_workloads_are_dropped() {
        let view = ClusterView::new(clock());
        for n in 0..10_000 {
            view.apply_workload(
                &namespace("qa"),
                WorkloadKind::Deployment,
                "checkout",
                running(&format!("name-{n}:1")),
                n,
            );
        }
        let count = view.0.string_pool.lock().unwrap().strings.len();
        assert!(count <= 1_024, "{count} strings for one workload");
    }
}
