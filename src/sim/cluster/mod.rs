//! The simulated Kubernetes cluster: workloads that roll out replica by replica on the [`Scheduler`], behind the
//! API that `kube` speaks. It knows images and replicas, and nothing of branches, CI or webhooks.

mod access;
mod api;
mod live;
mod objects;
mod pods;
mod rollouts;
mod selector;
mod store;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use self::access::Access;
pub use self::access::TOKEN;
use self::live::{LiveWorkload, Phase, Serial};
use self::store::{Key, Store};
use super::faults::{Fault, Faults};
use super::pace::Pace;
use crate::domain::model::workload::{Workload, WorkloadKind};
use crate::sim::scheduler::Scheduler;
use crate::sim::unknown_requests::UnknownRequests;

/// The state of a workload as the cluster itself knows it. Tests compare the bot's messages with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkloadState {
    /// The image of the first container in the specification; `None` if the workload does not exist.
    pub image: Option<String>,
    /// `running`, `rolling_out`, `degraded` or `missing`.
    pub state: &'static str,
    /// Ready replicas of the current revision, and the number of replicas in the specification.
    pub ready: u32,
    pub wanted: u32,
    /// The reason of a failing pod: `CrashLoopBackOff` or `ImagePullBackOff`.
    pub reason: Option<&'static str>,
    /// The time of the last progress.
    pub since: Option<Timestamp>,
}

/// The rollout that a controller requests for a workload.
#[derive(Clone, Debug)]
pub struct RolloutOrder<'a> {
    pub container: &'a str,
    pub image: &'a str,
    /// Used only if the workload does not exist and is created.
    pub replicas: u32,
    /// The new pods crash.
    pub crashes: bool,
    /// The factor by which the rollout is slower than usual.
    pub slowness: i32,
}

/// Names one rollout of one workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RolloutId(u64);

/// A rollout that is complete or was given up. A rollout that a newer one overtakes ends without this event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedRollout {
    pub rollout: RolloutId,
    pub namespace: String,
    pub workload: Workload,
    pub complete: bool,
}

/// An event: an object of this workload changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedWorkload {
    pub namespace: String,
    pub workload: Workload,
}

type Listeners<T> = Mutex<Vec<Arc<dyn Fn(&T) + Send + Sync>>>;
type WorkloadKey = (String, Workload);

#[derive(Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    scheduler: Scheduler,
    pace: Pace,
    faults: Faults,
    unknown_requests: UnknownRequests,
    state: Mutex<State>,
    /// Wakes the watches: an object changed, or the watches are cut.
    watch_wakeup: tokio::sync::watch::Sender<()>,
    shutdown: CancellationToken,
    on_change: Listeners<ChangedWorkload>,
    on_end: Listeners<EndedRollout>,
}

struct State {
    store: Store,
    serial: Serial,
    workloads: BTreeMap<WorkloadKey, LiveWorkload>,
    down: BTreeSet<String>,
    /// The maximum number of pods by namespace.
    quotas: BTreeMap<String, u32>,
    access: Access,
    /// How often the watches of a namespace (`None`: of the whole cluster) were cut.
    cuts: BTreeMap<Option<String>, u64>,
    can_pull: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    bookmark_every: Duration,
}

impl Cluster {
    pub fn new(scheduler: Scheduler, pace: Pace, faults: Faults, unknown_requests: UnknownRequests) -> Self {
        let state = State {
            store: Store::default(),
            serial: Serial::default(),
            workloads: BTreeMap::new(),
            down: BTreeSet::new(),
            quotas: BTreeMap::new(),
            access: Access::default(),
            cuts: BTreeMap::new(),
            can_pull: Arc::new(|_| true),
            bookmark_every: Duration::from_secs(10),
        };
        Self(Arc::new(Inner {
            scheduler,
            pace,
            faults,
            unknown_requests,
            state: Mutex::new(state),
            watch_wakeup: tokio::sync::watch::Sender::new(()),
            shutdown: CancellationToken::new(),
            on_change: Listeners::default(),
            on_end: Listeners::default(),
        }))
    }

    /// The Kubernetes API, to be nested under any prefix.
    pub fn router(&self) -> axum::Router {
        api::router(self.clone())
    }

    /// Sets the check that nodes make before they start a pod. Without it, every image can be pulled.
    pub fn set_can_pull(&self, can_pull: impl Fn(&str) -> bool + Send + Sync + 'static) {
        self.lock().can_pull = Arc::new(can_pull);
    }

    /// Makes a workload run an image at once. If the workload exists, its earlier image stays in the revision history;
    /// a new container name adds that container.
    pub fn set_running(&self, namespace: &str, workload: &Workload, container: &str, image: &str, replicas: u32) {
        self.set_running_since(namespace, workload, container, image, replicas, self.0.scheduler.clock().now());
    }

    /// Like [`Cluster::set_running`], with `at` as the time since which the image runs.
    pub fn set_running_since(
        &self,
        namespace: &str,
        workload: &Workload,
        container: &str,
        image: &str,
        replicas: u32,
        at: Timestamp,
    ) {
        self.change(namespace, workload, |state, workload_key| {
            let State { workloads, serial, .. } = state;
            let live = workloads
                .entry(workload_key.clone())
                .or_insert_with(|| LiveWorkload::new(namespace, workload, replicas, at, serial));
            live.replicas = replicas;
            live.set_image(container, image);
            live.rollout = serial.next();
            live.complete_now(at, serial);
        });
    }

    /// Starts a rollout like `kubectl set image`. It does nothing if the workload does not exist.
    pub fn set_image(&self, namespace: &str, workload: &Workload, container: &str, image: &str) -> Option<RolloutId> {
        let exists = self.lock().workloads.contains_key(&(namespace.to_owned(), workload.clone()));
        let order = RolloutOrder { container, image, replicas: 1, crashes: false, slowness: 1 };
        exists.then(|| self.roll_out(namespace, workload, &order)).flatten()
    }

    /// Starts a rollout, or joins the rollout to this image that is under way. A workload that does not exist is
    /// created. Returns `None` if the workload is at rest with this image.
    pub fn roll_out(&self, namespace: &str, workload: &Workload, order: &RolloutOrder<'_>) -> Option<RolloutId> {
        let now = self.0.scheduler.clock().now();
        let (id, started) = self.change(namespace, workload, |state, workload_key| {
            let State { workloads, serial, .. } = state;
            let live = workloads
                .entry(workload_key.clone())
                .or_insert_with(|| LiveWorkload::new(namespace, workload, order.replicas, now, serial));
            let started = live.set_image(order.container, order.image);
            if started {
                live.rollout = serial.next();
                live.crashing = order.crashes.then(|| order.container.to_owned());
                live.slowness = order.slowness.max(1);
            }
            (live.is_rolling().then_some(RolloutId(live.rollout)), started)
        });
        if let (Some(id), true) = (id, started) {
            self.begin(namespace, workload, id);
        }
        id
    }

    /// Sets the labels that Flux puts on a workload that a `Kustomization` applied. Its pods do not get them.
    pub fn label_applied_by(&self, namespace: &str, workload: &Workload, kustomization: (&str, &str)) {
        self.change(namespace, workload, |state, workload_key| {
            if let Some(live) = state.workloads.get_mut(workload_key) {
                let (namespace, name) = kustomization;
                let label = |key: &str, value: &str| (format!("kustomize.toolkit.fluxcd.io/{key}"), value.to_owned());
                live.extra_labels = [label("name", name), label("namespace", namespace)].into();
            }
        });
    }

    pub fn remove(&self, namespace: &str, workload: &Workload) {
        self.change(namespace, workload, |state, workload_key| state.workloads.remove(workload_key));
    }

    pub fn state(&self, namespace: &str, workload: &Workload) -> WorkloadState {
        let state = self.lock();
        let Some(live) = state.workloads.get(&(namespace.to_owned(), workload.clone())) else {
            return WorkloadState { image: None, state: "missing", ready: 0, wanted: 0, reason: None, since: None };
        };
        let state_name = match live.phase {
            _ if live.observed_generation < live.generation => "rolling_out",
            Phase::Rolling => "rolling_out",
            Phase::Complete => "running",
            Phase::Degraded => "degraded",
        };
        WorkloadState {
            image: live.containers.first().map(|container| container.image.clone()),
            state: state_name,
            ready: live.updated_and_ready(),
            wanted: live.replicas,
            reason: live.failure(),
            since: Some(live.last_progress_at),
        }
    }

    /// The workloads of a namespace.
    pub fn workloads(&self, namespace: &str) -> Vec<Workload> {
        self.lock()
            .workloads
            .keys()
            .filter(|(workload_namespace, _)| workload_namespace == namespace)
            .map(|(_, workload)| workload.clone())
            .collect()
    }

    /// The `resourceVersion` of the last change in this collection, so that a test can wait for a watch to reach it.
    pub fn last_change(&self, namespace: &str, kind: WorkloadKind) -> u64 {
        self.lock().store.last_change(namespace, kind.into())
    }

    /// Calls `listener` after each change of a workload.
    pub fn on_change(&self, listener: impl Fn(&ChangedWorkload) + Send + Sync + 'static) {
        lock(&self.0.on_change).push(Arc::new(listener));
    }

    /// Calls `listener` when a rollout ends, inside the scheduler's step that ended it.
    pub fn on_end(&self, listener: impl Fn(&EndedRollout) + Send + Sync + 'static) {
        lock(&self.0.on_end).push(Arc::new(listener));
    }

    /// A `ResourceQuota` on the number of pods; `None` lifts it. While it refuses a pod of a rollout, the Deployment
    /// has the condition `ReplicaFailure`, and the pod is tried again until the progress deadline
    /// (`pkg/controller/replicaset/replica_set_utils.go` and `pkg/controller/deployment/progress.go` of Kubernetes).
    pub fn limit_pods(&self, namespace: &str, limit: Option<u32>) {
        let quotas = &mut self.lock().quotas;
        match limit {
            Some(limit) => quotas.insert(namespace.to_owned(), limit),
            None => quotas.remove(namespace),
        };
    }

    /// The number of pods in a namespace.
    pub fn pods_in(&self, namespace: &str) -> u32 {
        let state = self.lock();
        let in_namespace =
            state.workloads.iter().filter(|((workload_namespace, _), _)| workload_namespace == namespace);
        in_namespace.map(|(_, live)| live.count(|_| true)).sum()
    }

    /// From now on requests to this namespace answer 403.
    pub fn forbid(&self, namespace: &str) {
        self.lock().access.forbidden.insert(namespace.to_owned());
        self.cut_watches(Some(namespace));
    }

    pub fn allow(&self, namespace: &str) {
        self.lock().access.forbidden.remove(namespace);
    }

    /// While a namespace is down, its requests answer 503. Its open watches are cut.
    pub fn set_down(&self, namespace: &str, down: bool) {
        if down {
            self.lock().down.insert(namespace.to_owned());
            self.cut_watches(Some(namespace));
        } else {
            self.lock().down.remove(namespace);
        }
    }

    /// Drops the history: every open watch, and every later one from before now, gets 410 Gone.
    pub fn compact(&self) {
        self.lock().store.compact();
        self.0.watch_wakeup.send_replace(());
    }

    /// How often watches that ask for bookmarks get one. The interval is real time, as it is the transport's heartbeat.
    pub fn set_bookmark_interval(&self, interval: Duration) {
        self.lock().bookmark_every = interval;
        self.0.watch_wakeup.send_replace(());
    }

    /// Ends all watches for good, so that a server with open streams can shut down.
    pub fn end_streams(&self) {
        self.0.shutdown.cancel();
    }

    /// Changes the state, updates the workload's objects, and notifies watches and listeners.
    fn change<T>(&self, namespace: &str, workload: &Workload, change: impl FnOnce(&mut State, &WorkloadKey) -> T) -> T {
        let workload_key = (namespace.to_owned(), workload.clone());
        let mut state = self.lock();
        let before = state.store.version();
        let old_keys = state.keys(&workload_key);
        let result = change(&mut state, &workload_key);
        let deadline = i32::try_from(self.0.pace.deadline.as_secs()).unwrap_or(i32::MAX).max(1);
        let objects =
            state.workloads.get(&workload_key).map(|live| objects::list_objects(live, deadline)).unwrap_or_default();
        for key in old_keys.into_iter().filter(|key| objects.iter().all(|(current, _)| current != key)) {
            state.store.delete(key);
        }
        for (key, object) in objects {
            state.store.put(key, object);
        }
        let changed = state.store.version() != before;
        drop(state);
        if changed {
            self.0.watch_wakeup.send_replace(());
            notify_listeners(
                &self.0.on_change,
                &ChangedWorkload { namespace: workload_key.0, workload: workload_key.1 },
            );
        }
        result
    }

    /// Cuts the open watches of a namespace, as a broken connection does.
    fn cut_watches(&self, namespace: Option<&str>) {
        *self.lock().cuts.entry(namespace.map(str::to_owned)).or_default() += 1;
        self.0.watch_wakeup.send_replace(());
    }

    /// Whether the API server is unreachable for this namespace now. An armed fault cuts its watches too.
    fn is_down(&self, namespace: Option<&str>) -> bool {
        if namespace.is_some_and(|namespace| self.lock().down.contains(namespace)) {
            return true;
        }
        let is_faulty = self.0.faults.take_if_armed(Fault::ClusterDown, None, namespace);
        if is_faulty {
            self.cut_watches(namespace);
        }
        is_faulty
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }
}

impl State {
    /// The keys of all objects that the API shows for this workload now.
    fn keys(&self, workload_key: &WorkloadKey) -> Vec<Key> {
        let objects = self.workloads.get(workload_key).map(|live| objects::list_objects(live, 1)).unwrap_or_default();
        objects.into_iter().map(|(key, _)| key).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listeners are called without a lock, so that they may query the cluster or add listeners.
fn notify_listeners<T>(listeners: &Listeners<T>, event: &T) {
    let listeners = lock(listeners).clone();
    for listener in listeners {
        listener(event);
    }
}
