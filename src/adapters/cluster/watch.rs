//! Lists and watches each namespace and kind in use, and writes the results to the view. Each watch recovers by itself,
//! for ever. It does not react to changes: other parts subscribe to the view.

use std::pin::pin;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::client::ClusterClients;
use super::view::ClusterView;
use super::{describe_error, describe_timeout, root_cause, truncate_text};
use crate::adapters::cluster::workload_status::{WorkloadResource, WorkloadStatus};
use crate::domain::model::workload::{Namespace, WorkloadKind};

/// Workloads take about 50 KB each on the wire and in memory until they are converted, so pages are small.
const PAGE_SIZE: u32 = 100;
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the server keeps a watch open.
const WATCH_SECONDS: u32 = 290;
/// The server ends a watch after `WATCH_SECONDS`, so a connection that is silent for longer is dead.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 10);
const MIN_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(10);

/// Watches until it is cancelled. Returns at once if `wanted` is empty.
///
/// Uses `list` and `watch` directly instead of kube's `watcher`, because the latter (5.0) lists without a timeout, does
/// not report that a broken watch has recovered, repeats a watch that got status 410 for ever, and restarts its backoff
/// with each attempt.
pub async fn run(
    clients: ClusterClients,
    wanted: Vec<(Namespace, Vec<WorkloadKind>)>,
    view: ClusterView,
    cancel: CancellationToken,
) {
    let mut watches = JoinSet::new();
    for (namespace, kinds) in wanted {
        for kind in WorkloadKind::ALL.into_iter().filter(|kind| kinds.contains(kind)) {
            view.expect_kind(&namespace, kind);
            let (clients, view, namespace) = (clients.clone(), view.clone(), namespace.clone());
            match kind {
                WorkloadKind::Deployment => watches.spawn(watch_forever::<Deployment>(clients, namespace, view)),
                WorkloadKind::StatefulSet => watches.spawn(watch_forever::<StatefulSet>(clients, namespace, view)),
                WorkloadKind::DaemonSet => watches.spawn(watch_forever::<DaemonSet>(clients, namespace, view)),
            };
        }
    }
    if watches.is_empty() {
        return;
    }
    // A watch never returns, so an ended one has panicked. Dropping the set ends the others.
    tokio::select! {
        () = cancel.cancelled() => {}
        ended = watches.join_next() => resume_panic(ended),
    }
}

/// Resumes the panic of a watch, so that the process ends. Without its watch, a namespace would show its last state for
/// ever.
fn resume_panic(ended: Option<Result<(), JoinError>>) {
    if let Some(Err(error)) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

async fn watch_forever<K: WorkloadResource>(clients: ClusterClients, namespace: Namespace, view: ClusterView) {
    let mut backoff = MIN_BACKOFF;
    loop {
        let watch = WorkloadWatch { clients: &clients, namespace: &namespace, view: &view };
        match watch.run_once::<K>(&mut backoff).await {
            // An expired resource version is no failure. A new list repairs it.
            WatchError::Gone => {}
            WatchError::Broken(why) => {
                tracing::debug!(%namespace, kind = K::KIND.as_str(), why, "the watch failed; listing again");
            }
            WatchError::Unreadable(why) => {
                tracing::warn!(%namespace, kind = K::KIND.as_str(), why, "the namespace cannot be read");
                view.mark_unreadable(&namespace, K::KIND, &why);
            }
        }
        tokio::time::sleep(backoff).await;
        backoff = (backoff * 2).min(MAX_BACKOFF);
    }
}

enum WatchError {
    /// 410: the resource version is too old to continue.
    Gone,
    /// An established watch failed. The namespace becomes unreadable only if the next list or watch fails.
    Broken(String),
    Unreadable(String),
}

struct WorkloadWatch<'a> {
    clients: &'a ClusterClients,
    namespace: &'a Namespace,
    view: &'a ClusterView,
}

impl WorkloadWatch<'_> {
    /// Lists, then watches until a request fails.
    async fn run_once<K: WorkloadResource>(&self, backoff: &mut Duration) -> WatchError {
        match self.list_and_watch::<K>(backoff).await {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }

    async fn list_and_watch<K: WorkloadResource>(
        &self,
        backoff: &mut Duration,
    ) -> Result<std::convert::Infallible, WatchError> {
        let client = self.clients.connect_to_context(self.namespace.context.as_ref()).await;
        let client = client.map_err(|error| WatchError::Unreadable(error.to_string()))?;
        let api = Api::<K>::namespaced(client, &self.namespace.name);
        let (listed, mut version) = self.list_workloads(&api).await?;
        self.view.replace_workloads(self.namespace, K::KIND, listed, parse_resource_version(&version));
        loop {
            let params = WatchParams::default().timeout(WATCH_SECONDS);
            let events = self.await_response::<K, _>(api.watch(&params, &version)).await?;
            self.view.mark_readable(self.namespace, K::KIND);
            let started = Instant::now();
            let end = self.apply_events::<K>(pin!(events), &mut version).await;
            // A long watch resets the backoff. The pause after a short one prevents a busy loop.
            if started.elapsed() > MAX_BACKOFF {
                *backoff = MIN_BACKOFF;
            } else if end.is_ok() {
                tokio::time::sleep(MIN_BACKOFF).await;
            }
            end?;
        }
    }

    async fn list_workloads<K: WorkloadResource>(
        &self,
        api: &Api<K>,
    ) -> Result<(Vec<(String, WorkloadStatus)>, String), WatchError> {
        let mut listed = Vec::new();
        let mut params = ListParams::default().limit(PAGE_SIZE);
        loop {
            let page = self.await_response::<K, _>(api.list(&params)).await?;
            listed.extend(page.items.iter().map(|object| (object.name_any(), object.to_workload_status())));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok((listed, page.metadata.resource_version.unwrap_or_default())),
            }
        }
    }

    async fn apply_events<K: WorkloadResource>(
        &self,
        mut events: impl Stream<Item = kube::Result<WatchEvent<K>>> + Unpin,
        version: &mut String,
    ) -> Result<(), WatchError> {
        loop {
            let event = match timeout(SILENCE_TIMEOUT, events.next()).await {
                Ok(Some(Ok(event))) => event,
                Ok(Some(Err(kube::Error::Api(status)))) if status.code == 410 => return Err(WatchError::Gone),
                Ok(Some(Err(error))) => return Err(WatchError::Broken(root_cause(&error))),
                // The server ended the watch after its timeout, or the connection is dead. The next watch continues
                // from `version`.
                Ok(None) | Err(_) => return Ok(()),
            };
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    *version = object.resource_version().unwrap_or_default();
                    self.view.apply_workload(
                        self.namespace,
                        K::KIND,
                        &object.name_any(),
                        object.to_workload_status(),
                        parse_resource_version(version),
                    );
                }
                WatchEvent::Deleted(object) => {
                    *version = object.resource_version().unwrap_or_default();
                    self.view.remove_workload(
                        self.namespace,
                        K::KIND,
                        &object.name_any(),
                        parse_resource_version(version),
                    );
                }
                WatchEvent::Bookmark(bookmark) => {
                    *version = bookmark.metadata.resource_version;
                    self.view.advance_version(self.namespace, K::KIND, parse_resource_version(version));
                }
                WatchEvent::Error(status) if status.code == 410 => return Err(WatchError::Gone),
                WatchEvent::Error(status) => return Err(WatchError::Broken(truncate_text(&status.message, 160))),
            }
        }
    }

    async fn await_response<K: WorkloadResource, T>(
        &self,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WatchError> {
        match timeout(RESPONSE_TIMEOUT, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(kube::Error::Api(status))) if status.code == 410 => Err(WatchError::Gone),
            Ok(Err(error)) => {
                Err(WatchError::Unreadable(describe_error::<K>(&error, "get, list, watch", self.namespace)))
            }
            Err(_) => Err(WatchError::Unreadable(describe_timeout(RESPONSE_TIMEOUT))),
        }
    }
}

/// Resource versions are opaque by contract and numbers in practice. They are used only to compare progress.
fn parse_resource_version(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};
    use std::sync::{Arc, Mutex};

    use axum::body::Body;
    use axum::extract::{Path, Query, State};
    use axum::http::StatusCode;
    use axum::response::{IntoResponse, Json, Response};
    use axum::routing::get;
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;
    use crate::adapters::cluster::NamespaceReadability;
    use crate::adapters::cluster::client::tests::kubeconfig;
    use crate::clock::Clock;
    use crate::domain::model::artefact::Place;
    use crate::domain::runtime::rollout::{Rollout, RolloutState};

    /// A fake API server for one collection, with failures that a test can set.
    #[derive(Clone, Default)]
    struct Fake(Arc<Mutex<Collection>>);

    #[derive(Default)]
    struct Collection {
        version: u64,
        objects: BTreeMap<String, Value>,
        events: Vec<(u64, Value)>,
        /// Changes with every call of [`Fake::set`], so that open streams look for new events and for their end.
        moved: Option<tokio::sync::watch::Sender<u64>>,
        epoch: u64,
        refuse_list: Option<u16>,
        refuse_watch: Option<u16>,
        /// A watch from an older version gets 410, as an event in the stream or as the response.
        oldest_version: u64,
        gone_as_status: bool,
        lists: usize,
        watches: usize,
    }

    impl Fake {
        fn new() -> Self {
            let fake = Self::default();
            fake.0.lock().unwrap().moved = Some(tokio::sync::watch::Sender::new(0));
            fake
        }

        fn set<T>(&self, change: impl FnOnce(&mut Collection) -> T) -> T {
            let mut collection = self.0.lock().unwrap();
            let result = change(&mut collection);
            collection.moved.as_ref().unwrap().send_modify(|count| *count += 1);
            result
        }

        fn put(&self, name: &str, tag: &str) {
            self.set(|c| {
                c.version += 1;
                let object = deployment(name, tag, c.version);
                let exists = c.objects.insert(name.to_owned(), object.clone()).is_some();
                let kind = if exists { "MODIFIED" } else { "ADDED" };
                c.events.push((c.version, json!({ "type": kind, "object": object })));
            });
        }

        fn delete(&self, name: &str) {
            self.set(|c| {
                c.version += 1;
                let mut object = c.objects.remove(name).unwrap();
                object["metadata"]["resourceVersion"] = c.version.to_string().into();
                c.events.push((c.version, json!({ "type": "DELETED", "object": object })));
            });
        }

        fn end_streams(&self) {
            self.set(|c| c.epoch += 1);
        }

        fn lists(&self) -> usize {
            self.0.lock().unwrap().lists
        }

        async fn serve(&self) -> std::net::SocketAddr {
            let router = axum::Router::new()
                .route("/apis/apps/v1/namespaces/{namespace}/{plural}", get(answer))
                .with_state(self.clone());
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(async move { axum::serve(listener, router).await });
            address
        }
    }

    fn deployment(name: &str, tag: &str, version: u64) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": name, "resourceVersion": version.to_string(), "generation": 1 },
            "spec": { "replicas": 1, "selector": {}, "template": { "spec": { "containers": [
                { "name": "app", "image": format!("acme/{name}:{tag}") } ] } } },
            "status": { "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1 },
        })
    }

    fn refusal(code: u16) -> Value {
        json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": "Any", "message": "said no" })
    }

    async fn answer(
        State(fake): State<Fake>,
        Path((_, plural)): Path<(String, String)>,
        Query(query): Query<HashMap<String, String>>,
    ) -> Response {
        let refuse = |code: u16| (StatusCode::from_u16(code).unwrap(), Json(refusal(code))).into_response();
        let mut c = fake.0.lock().unwrap();
        if plural != "deployments" {
            return refuse(403);
        }
        if !query.contains_key("watch") {
            c.lists += 1;
            if let Some(code) = c.refuse_list {
                return refuse(code);
            }
            let from: usize = query.get("continue").map_or(0, |token| token.parse().unwrap());
            let limit: usize = query["limit"].parse().unwrap();
            let items: Vec<_> = c.objects.values().skip(from).take(limit).cloned().collect();
            let rest = c.objects.len() > from + items.len();
            let token = if rest { (from + items.len()).to_string() } else { String::new() };
            let metadata = json!({ "resourceVersion": c.version.to_string(), "continue": token });
            return Json(
                json!({ "apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": metadata, "items": items }),
            )
            .into_response();
        }
        c.watches += 1;
        if let Some(code) = c.refuse_watch {
            return refuse(code);
        }
        let from: u64 = query["resourceVersion"].parse().unwrap();
        if from < c.oldest_version {
            return if c.gone_as_status {
                refuse(410)
            } else {
                Body::from(format!("{}\n", json!({ "type": "ERROR", "object": refusal(410) }))).into_response()
            };
        }
        let (moved, epoch) = (c.moved.as_ref().unwrap().subscribe(), c.epoch);
        drop(c);
        let stream = futures::stream::unfold((fake, moved, from), move |(fake, mut moved, from)| async move {
            loop {
                let next = {
                    moved.borrow_and_update();
                    let c = fake.0.lock().unwrap();
                    if c.epoch != epoch {
                        return None;
                    }
                    c.events.iter().find(|(version, _)| *version > from).cloned()
                };
                if let Some((version, event)) = next {
                    return Some((Ok::<_, std::io::Error>(format!("{event}\n")), (fake, moved, version)));
                }
                moved.changed().await.ok()?;
            }
        });
        Body::from_stream(stream).into_response()
    }

    struct World {
        view: ClusterView,
        cancel: CancellationToken,
        _kubeconfig: tempfile::NamedTempFile,
    }

    impl Drop for World {
        fn drop(&mut self) {
            self.cancel.cancel();
        }
    }

    fn qa() -> Namespace {
        Namespace { context: None, name: "qa".into() }
    }

    impl World {
        fn watching(address: std::net::SocketAddr, kinds: Vec<WorkloadKind>) -> Self {
            let kubeconfig = kubeconfig(&format!("http://{address}"));
            let clients = ClusterClients::new(Some(kubeconfig.path().to_owned()));
            let view = ClusterView::new(Clock::new_manual(Timestamp::from_second(1_000).unwrap()));
            let cancel = CancellationToken::new();
            tokio::spawn(run(clients, vec![(qa(), kinds)], view.clone(), cancel.clone()));
            Self { view, cancel, _kubeconfig: kubeconfig }
        }

        fn rollout(&self, name: &str) -> Rollout {
            let workloads = vec![format!("deployment/{name}").parse().unwrap()];
            self.view.read_rollout(&Place { namespace: qa(), workloads, container: None }, "x")
        }

        async fn wait_until(&self, description: &str, holds: impl Fn(&Self) -> bool) {
            let mut changes = self.view.subscribe_changes();
            let waited = timeout(Duration::from_secs(20), async {
                while !holds(self) {
                    // Progress of a watch alone does not wake subscribers, so this polls too.
                    let _ = timeout(Duration::from_millis(20), changes.next_changed_namespaces()).await;
                }
            });
            assert!(
                waited.await.is_ok(),
                "{description}: {:?} {:?}",
                self.view.list_readability(),
                self.rollout("checkout")
            );
        }

        async fn wait_for_version(&self, name: &str, tag: &str) {
            let shown = |world: &Self| {
                let rollout = world.rollout(name);
                rollout.state == (RolloutState::Running { ready: 1 }) && rollout.version.unwrap().label() == tag
            };
            self.wait_until(&format!("{name} {tag}"), shown).await;
        }

        async fn wait_until_unreadable(&self, start: &str) {
            let marked = |world: &Self| matches!(world.rollout("checkout").state, RolloutState::Unreadable { reason: why, .. } if why.starts_with(start));
            self.wait_until(start, marked).await;
        }
    }

    #[tokio::test]
    async fn a_panic_in_a_watch_is_resumed_in_the_task_that_started_it() {
        let panicked = tokio::spawn(async { panic!("a bug") }).await;
        let resumed = tokio::spawn(async { resume_panic(Some(panicked)) }).await;
        assert!(resumed.unwrap_err().is_panic());
        resume_panic(Some(Ok(())));
    }

    #[tokio::test]
    async fn the_view_follows_lists_of_many_pages_and_every_change() {
        let fake = Fake::new();
        for n in 0..250 {
            fake.put(&format!("artefact-{n}"), "1");
        }
        let world = World::watching(fake.serve().await, vec![WorkloadKind::Deployment]);
        world.wait_for_version("artefact-0", "1").await;
        world.wait_for_version("artefact-249", "1").await;
        assert_eq!(fake.lists(), 3);

        fake.put("artefact-7", "2");
        world.wait_for_version("artefact-7", "2").await;
        fake.put("checkout", "1");
        world.wait_for_version("checkout", "1").await;
        fake.delete("checkout");
        world.wait_until("deleted", |world| world.view.resource_version(&qa(), WorkloadKind::Deployment) == 253).await;
        assert_eq!(world.rollout("checkout").state, RolloutState::Missing);
        assert_eq!(fake.lists(), 3, "the changes came from the watch");
    }

    #[tokio::test]
    async fn a_bookmark_advances_the_resource_version() {
        let fake = Fake::new();
        let world = World::watching(fake.serve().await, vec![WorkloadKind::Deployment]);
        fake.set(|c| {
            c.version = 40;
            let object =
                json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "resourceVersion": "40" } });
            c.events.push((40, json!({ "type": "BOOKMARK", "object": object })));
        });
        world.wait_until("bookmark", |world| world.view.resource_version(&qa(), WorkloadKind::Deployment) == 40).await;
    }

    #[tokio::test]
    async fn a_workload_deleted_before_the_oldest_available_version_is_removed() {
        for gone_as_status in [false, true] {
            let fake = Fake::new();
            fake.put("checkout", "1");
            fake.put("search", "1");
            let world = World::watching(fake.serve().await, vec![WorkloadKind::Deployment]);
            world.wait_for_version("checkout", "1").await;

            fake.set(|c| {
                c.version = 90;
                c.objects.remove("checkout");
                c.events.clear();
                c.oldest_version = 90;
                c.gone_as_status = gone_as_status;
                c.epoch += 1;
            });
            world.wait_until("gone", |world| world.rollout("checkout").state == RolloutState::Missing).await;
            world.wait_for_version("search", "1").await;
            assert_eq!(fake.lists(), 2);
            assert_eq!(world.view.resource_version(&qa(), WorkloadKind::Deployment), 90);
            fake.put("search", "2");
            world.wait_for_version("search", "2").await;
        }
    }

    #[tokio::test]
    async fn an_ended_watch_continues_from_its_last_version() {
        let fake = Fake::new();
        fake.put("checkout", "1");
        let world = World::watching(fake.serve().await, vec![WorkloadKind::Deployment]);
        world.wait_for_version("checkout", "1").await;
        fake.end_streams();
        fake.put("checkout", "2");
        world.wait_for_version("checkout", "2").await;
        assert_eq!(fake.lists(), 1);
    }

    #[tokio::test]
    async fn a_forbidden_namespace_names_the_missing_permission_and_recovers() {
        let fake = Fake::new();
        fake.put("checkout", "1");
        fake.set(|c| c.refuse_list = Some(403));
        let world = World::watching(fake.serve().await, vec![WorkloadKind::Deployment]);
        world.wait_until_unreadable("forbidden: grant get, list, watch on deployments in qa").await;
        fake.set(|c| c.refuse_list = None);
        world.wait_for_version("checkout", "1").await;
    }

    #[tokio::test]
    async fn a_namespace_without_permission_to_watch_is_unreadable() {
        let fake = Fake::new();
        fake.put("checkout", "1");
        fake.set(|c| c.refuse_watch = Some(403));
        let world = World::watching(fake.serve().await, vec![WorkloadKind::Deployment]);
        world.wait_until_unreadable("forbidden: ").await;
        world.wait_until("listed again", |_| fake.lists() >= 3).await;
        world.wait_until_unreadable("forbidden: ").await;
        assert_eq!(world.rollout("checkout").version.unwrap().label(), "1", "the listed version is kept");
        fake.set(|c| c.refuse_watch = None);
        world.wait_for_version("checkout", "1").await;
    }

    #[tokio::test]
    async fn one_forbidden_kind_does_not_affect_another() {
        let fake = Fake::new();
        fake.put("checkout", "1");
        let world = World::watching(fake.serve().await, vec![WorkloadKind::StatefulSet, WorkloadKind::Deployment]);
        world.wait_for_version("checkout", "1").await;
        let forbidden = |world: &World| matches!(&world.view.list_readability()[..], [(_, NamespaceReadability::Unreadable { why, .. })] if why.contains("statefulsets"));
        world.wait_until("forbidden", forbidden).await;
        assert_eq!(world.rollout("checkout").state, RolloutState::Running { ready: 1 });
    }

    #[tokio::test]
    async fn a_server_error_keeps_the_last_version() {
        let fake = Fake::new();
        fake.put("checkout", "1");
        let world = World::watching(fake.serve().await, vec![WorkloadKind::Deployment]);
        world.wait_for_version("checkout", "1").await;
        fake.set(|c| {
            (c.refuse_list, c.refuse_watch) = (Some(503), Some(503));
            c.epoch += 1;
        });
        world.wait_until_unreadable("the cluster answered 503: said no").await;
        assert_eq!(world.rollout("checkout").version.unwrap().label(), "1");
        fake.set(|c| {
            (c.refuse_list, c.refuse_watch) = (None, None);
            c.objects.clear();
        });
        world.wait_until("recovered", |world| world.rollout("checkout").state == RolloutState::Missing).await;
    }

    #[tokio::test]
    async fn an_unreachable_cluster_and_a_missing_context_are_unreadable() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let world = World::watching(address, vec![WorkloadKind::Deployment]);
        world.wait_until_unreadable("unreachable: ").await;

        let prod = Namespace { context: Some("prod".into()), name: "shop".into() };
        let view = ClusterView::new(Clock::new_system());
        let cancel = CancellationToken::new();
        let wanted = vec![(prod, vec![WorkloadKind::DaemonSet])];
        let watch = tokio::spawn(run(ClusterClients::new(None), wanted, view.clone(), cancel.clone()));
        let mut changes = view.subscribe_changes();
        timeout(Duration::from_secs(20), changes.next_changed_namespaces()).await.unwrap();
        assert!(
            matches!(&view.list_readability()[..], [(_, NamespaceReadability::Unreadable { why, .. })] if why.contains("needs a kubeconfig")),
            "{:?}",
            view.list_readability()
        );
        cancel.cancel();
        timeout(Duration::from_secs(5), watch).await.expect("the watch ends when it is cancelled").unwrap();
    }
}
