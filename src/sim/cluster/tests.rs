//! The simulated cluster as `kube` and its watcher see it, on a manual clock.

use std::pin::pin;

use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};

use crate::clock::Clock;

use super::*;

mod access;
mod api;

/// A cluster behind a real listener, on a manual clock.
struct Fixture {
    cluster: Cluster,
    clock: Clock,
    scheduler: Scheduler,
    faults: Faults,
    unknown_requests: UnknownRequests,
    client: Client,
    address: String,
}

impl Fixture {
    async fn open() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Clock::new_manual(Timestamp::from_second(1_800_000_000).unwrap());
        let scheduler = Scheduler::new(clock.clone());
        let (faults, unknown_requests) = (Faults::default(), UnknownRequests::default());
        let cluster = Cluster::new(scheduler.clone(), Pace::default(), faults.clone(), unknown_requests.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/sim/cluster", listener.local_addr().unwrap());
        let router = axum::Router::new().nest("/sim/cluster", cluster.router());
        tokio::spawn(async move { axum::serve(listener, router).await });
        tokio::spawn(scheduler.clone().run(CancellationToken::new()));
        let mut config = kube::Config::new(address.parse().unwrap());
        // By default kube hides a 503 behind 15 retries, which take minutes.
        config.default_retry = false;
        let client = Client::try_from(config).unwrap();
        Self { cluster, clock, scheduler, faults, unknown_requests, client, address }
    }

    fn deployments(&self, namespace: &str) -> Api<Deployment> {
        Api::namespaced(self.client.clone(), namespace)
    }

    async fn deployment(&self, name: &str) -> Deployment {
        self.deployments("qa").get(name).await.unwrap()
    }

    /// Waits until the scheduler has done everything that is due now.
    async fn run_due(&self) {
        while self.scheduler.next_due().is_some_and(|due| due <= self.clock.now()) {
            tokio::task::yield_now().await;
        }
    }

    /// Moves the clock to the next scheduled step and runs it. Returns whether there was one.
    async fn tick(&self) -> bool {
        self.run_due().await;
        let due = self.scheduler.next_due();
        if let Some(due) = due {
            self.clock.advance_to(due);
            self.run_due().await;
        }
        due.is_some()
    }

    async fn run_until_idle(&self) {
        while self.tick().await {}
    }
}

fn workload(text: &str) -> Workload {
    text.parse().unwrap()
}

/// The numbers that `kubectl rollout status` checks for a Deployment: (updated, available, wanted, old pods left).
fn progress(deployment: &Deployment) -> (i32, i32, i32, i32) {
    let status = deployment.status.clone().unwrap();
    let updated = status.updated_replicas.unwrap_or_default();
    let wanted = deployment.spec.as_ref().unwrap().replicas.unwrap();
    let old = status.replicas.unwrap_or_default() - updated;
    (updated, status.available_replicas.unwrap_or_default(), wanted, old)
}

fn condition(deployment: &Deployment, type_: &str) -> (String, String) {
    let conditions = deployment.status.clone().unwrap().conditions.unwrap();
    let condition = conditions.into_iter().find(|condition| condition.type_ == type_).unwrap();
    (condition.status, condition.reason.unwrap())
}

async fn next<S, T>(events: &mut S) -> T
where
    S: Stream<Item = T> + Unpin,
{
    tokio::time::timeout(Duration::from_secs(10), events.next())
        .await
        .expect("an event in 10 s")
        .expect("an open stream")
}

fn describe_event(event: &Event<Deployment>) -> String {
    match event {
        Event::Init => "Init".into(),
        Event::InitApply(object) => format!("InitApply {}", object.name_any()),
        Event::InitDone => "InitDone".into(),
        Event::Apply(object) => format!("Apply {}", object.name_any()),
        Event::Delete(object) => format!("Delete {}", object.name_any()),
    }
}

#[tokio::test]
async fn a_rollout_replaces_one_replica_after_another() {
    let fixture = Fixture::open().await;
    let checkout = workload("deployment/checkout");
    fixture.cluster.set_running("qa", &checkout, "app", "ghcr.io/acme/checkout:1", 2);
    assert_eq!(progress(&fixture.deployment("checkout").await), (2, 2, 2, 0));
    assert_eq!(fixture.cluster.state("qa", &checkout).state, "running");

    let seen = Arc::new(Mutex::new(Vec::new()));
    fixture.cluster.on_change({
        let (seen, cluster) = (seen.clone(), fixture.cluster.clone());
        move |changed| {
            let state = cluster.state(&changed.namespace, &changed.workload);
            seen.lock().unwrap().push(format!("{} {}/{}", state.state, state.ready, state.wanted));
        }
    });
    fixture.cluster.set_image("qa", &checkout, "app", "ghcr.io/acme/checkout:2");
    fixture.run_due().await;
    assert_eq!(progress(&fixture.deployment("checkout").await), (1, 2, 2, 2));
    fixture.tick().await;
    assert_eq!(progress(&fixture.deployment("checkout").await), (2, 2, 2, 1));
    fixture.tick().await;
    let done = fixture.deployment("checkout").await;
    assert_eq!(progress(&done), (2, 2, 2, 0));
    assert_eq!(condition(&done, "Progressing"), ("True".into(), "NewReplicaSetAvailable".into()));
    assert_eq!(done.status.unwrap().observed_generation, done.metadata.generation);

    assert_eq!(fixture.scheduler.next_due(), None);
    assert_eq!(*seen.lock().unwrap(), ["rolling_out 0/2", "rolling_out 0/2", "rolling_out 1/2", "running 2/2"]);
    assert_eq!(fixture.cluster.state("qa", &checkout).image.unwrap(), "ghcr.io/acme/checkout:2");
    assert_eq!(fixture.unknown_requests.all(), Vec::<String>::new());
}

#[tokio::test]
async fn replica_sets_keep_the_history_and_name_their_owner() {
    let fixture = Fixture::open().await;
    let checkout = workload("deployment/checkout");
    fixture.cluster.set_running("qa", &checkout, "app", "checkout:1", 1);
    fixture.cluster.set_running("qa", &checkout, "app", "checkout:2", 1);
    let owner = fixture.deployment("checkout").await.uid().unwrap();
    let sets = Api::<ReplicaSet>::namespaced(fixture.client.clone(), "qa").list(&ListParams::default()).await.unwrap();
    let mut history: Vec<(String, String, i32)> = sets
        .iter()
        .map(|set| {
            assert_eq!(set.owner_references()[0].uid, owner);
            let spec = set.spec.clone().unwrap();
            let image = spec.template.unwrap().spec.unwrap().containers[0].image.clone().unwrap();
            (set.annotations()["deployment.kubernetes.io/revision"].clone(), image, spec.replicas.unwrap())
        })
        .collect();
    history.sort();
    assert_eq!(history, [("1".into(), "checkout:1".into(), 0), ("2".into(), "checkout:2".into(), 1)]);
}

#[tokio::test]
async fn stateful_and_daemon_sets_keep_ten_old_revisions_as_patches() {
    let fixture = Fixture::open().await;
    for (text, hash) in
        [("statefulset/mailer", "controller.kubernetes.io/hash"), ("daemonset/agent", "controller-revision-hash")]
    {
        let workload = workload(text);
        for tag in 1..=13 {
            fixture.cluster.set_running("qa", &workload, "app", &format!("acme:{tag}"), 1);
        }
        let revisions = Api::<ControllerRevision>::namespaced(fixture.client.clone(), "qa");
        let revisions = revisions.list(&ListParams::default().labels(&format!("app={}", workload.name))).await.unwrap();
        let mut history: Vec<(i64, String)> = revisions
            .iter()
            .map(|revision| {
                let owner = &revision.owner_references()[0];
                assert_eq!(format!("{}/{}", owner.kind.to_lowercase(), owner.name), text);
                assert!(revision.name_any().ends_with(&revision.labels()[hash]));
                let template = &revision.data.as_ref().unwrap().0["spec"]["template"];
                assert_eq!(template["$patch"], "replace");
                (revision.revision, template["spec"]["containers"][0]["image"].as_str().unwrap().to_owned())
            })
            .collect();
        history.sort();
        assert_eq!(history, (3..=13).map(|n| (n, format!("acme:{n}"))).collect::<Vec<_>>(), "{text}");
    }
}

#[tokio::test]
async fn a_crash_loop_becomes_degraded_at_the_deadline() {
    let fixture = Fixture::open().await;
    let checkout = workload("deployment/checkout");
    fixture.cluster.set_running("qa", &checkout, "app", "checkout:1", 2);
    fixture.cluster.set_running("qa", &checkout, "proxy", "envoy:1", 2);
    let ended = Arc::new(Mutex::new(Vec::new()));
    fixture.cluster.on_end({
        let ended = ended.clone();
        move |end| ended.lock().unwrap().push(end.complete)
    });
    let order = RolloutOrder { container: "app", image: "checkout:2", replicas: 2, crashes: true, slowness: 1 };
    fixture.cluster.roll_out("qa", &checkout, &order);
    fixture.tick().await;
    let state = fixture.cluster.state("qa", &checkout);
    assert_eq!((state.state, state.reason), ("rolling_out", Some("CrashLoopBackOff")));
    let pods = Api::<Pod>::namespaced(fixture.client.clone(), "qa");
    let waiting: Vec<String> = pods
        .list(&ListParams::default().labels("app=checkout"))
        .await
        .unwrap()
        .iter()
        .flat_map(|pod| pod.status.clone().unwrap().container_statuses.unwrap())
        .filter_map(|status| Some(format!("{} {}", status.name, status.state?.waiting?.reason?)))
        .collect();
    assert_eq!(waiting, ["app CrashLoopBackOff"]);

    fixture.tick().await;
    let stuck = fixture.deployment("checkout").await;
    assert_eq!(condition(&stuck, "Progressing"), ("False".into(), "ProgressDeadlineExceeded".into()));
    assert_eq!(condition(&stuck, "Available").0, "True", "the old pods still serve");
    assert_eq!(fixture.cluster.state("qa", &checkout).state, "degraded");
    assert_eq!((fixture.scheduler.next_due(), ended.lock().unwrap().clone()), (None, vec![false]));

    fixture.cluster.set_image("qa", &checkout, "app", "checkout:3");
    fixture.run_until_idle().await;
    assert_eq!(fixture.cluster.state("qa", &checkout).state, "running");
    assert_eq!(*ended.lock().unwrap(), [false, true]);
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_leaves_a_statefulset_incomplete() {
    let fixture = Fixture::open().await;
    let mailer = workload("statefulset/mailer");
    fixture.cluster.set_can_pull(|image| image != "mailer:2");
    fixture.cluster.set_running("qa", &mailer, "app", "mailer:1", 2);
    fixture.cluster.set_image("qa", &mailer, "app", "mailer:2");
    fixture.run_until_idle().await;

    let status =
        Api::<StatefulSet>::namespaced(fixture.client.clone(), "qa").get("mailer").await.unwrap().status.unwrap();
    assert_ne!(status.current_revision, status.update_revision);
    assert_eq!((status.ready_replicas, status.updated_replicas), (Some(1), Some(1)));
    let pod = Api::<Pod>::namespaced(fixture.client.clone(), "qa").get("mailer-1").await.unwrap();
    let state = pod.status.unwrap().container_statuses.unwrap()[0].state.clone().unwrap();
    assert_eq!(state.waiting.unwrap().reason.unwrap(), "ImagePullBackOff");
    assert_eq!(fixture.cluster.state("qa", &mailer).state, "degraded");

    fixture.cluster.set_image("qa", &mailer, "app", "mailer:3");
    fixture.run_until_idle().await;
    let status =
        Api::<StatefulSet>::namespaced(fixture.client.clone(), "qa").get("mailer").await.unwrap().status.unwrap();
    assert_eq!(status.current_revision, status.update_revision);
    assert_eq!((status.ready_replicas, status.updated_replicas), (Some(2), Some(2)));
}

#[tokio::test]
async fn a_daemonset_counts_nodes() {
    let fixture = Fixture::open().await;
    let agent = workload("daemonset/agent");
    fixture.cluster.set_running("qa", &agent, "app", "agent:1", 3);
    fixture.cluster.set_image("qa", &agent, "app", "agent:2");
    fixture.tick().await;
    let api = Api::<DaemonSet>::namespaced(fixture.client.clone(), "qa");
    let counts = |status: k8s_openapi::api::apps::v1::DaemonSetStatus| {
        (status.desired_number_scheduled, status.updated_number_scheduled, status.number_available)
    };
    assert_eq!(counts(api.get("agent").await.unwrap().status.unwrap()), (3, Some(2), Some(2)));
    fixture.run_until_idle().await;
    assert_eq!(counts(api.get("agent").await.unwrap().status.unwrap()), (3, Some(3), Some(3)));
}

#[tokio::test]
async fn a_newer_image_overtakes_a_running_rollout() {
    let fixture = Fixture::open().await;
    let checkout = workload("deployment/checkout");
    fixture.cluster.set_running("qa", &checkout, "app", "checkout:1", 2);
    let ended = Arc::new(Mutex::new(Vec::new()));
    fixture.cluster.on_end({
        let ended = ended.clone();
        move |end| ended.lock().unwrap().push(end.rollout)
    });
    let first = fixture.cluster.set_image("qa", &checkout, "app", "checkout:2").unwrap();
    assert_eq!(
        fixture.cluster.set_image("qa", &checkout, "app", "checkout:2"),
        Some(first),
        "the running rollout is joined"
    );
    fixture.tick().await;
    let second = fixture.cluster.set_image("qa", &checkout, "app", "checkout:3").unwrap();
    fixture.run_until_idle().await;
    assert_eq!(*ended.lock().unwrap(), [second]);
    assert_eq!(fixture.cluster.state("qa", &checkout).image.unwrap(), "checkout:3");
    assert_eq!(fixture.cluster.set_image("qa", &checkout, "app", "checkout:3"), None);
    assert_eq!(fixture.scheduler.next_due(), None);
}

#[tokio::test]
async fn a_missing_workload_is_created_by_a_controller_and_not_by_set_image() {
    let fixture = Fixture::open().await;
    let search = workload("deployment/search");
    assert_eq!(fixture.cluster.state("qa", &search).state, "missing");
    assert_eq!(fixture.cluster.set_image("qa", &search, "app", "search:1"), None);
    let order = RolloutOrder { container: "app", image: "search:1", replicas: 3, crashes: false, slowness: 1 };
    fixture.cluster.roll_out("qa", &search, &order);
    fixture.run_due().await;
    assert_eq!(condition(&fixture.deployment("search").await, "Available").0, "False");
    fixture.run_until_idle().await;
    assert_eq!(progress(&fixture.deployment("search").await), (3, 3, 3, 0));

    fixture.cluster.remove("qa", &search);
    assert_eq!(fixture.cluster.state("qa", &search).state, "missing");
    let pods = Api::<Pod>::all(fixture.client.clone()).list(&ListParams::default()).await.unwrap();
    assert_eq!(pods.items.len(), 0, "its pods are deleted");
}

/// `kubectl rollout status`, on the JSON of any of the three kinds.
fn is_rolled_out(object: &serde_json::Value) -> bool {
    let status = |field: &str| object["status"][field].as_i64().unwrap_or_default();
    if status("observedGeneration") < object["metadata"]["generation"].as_i64().unwrap() {
        return false;
    }
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or_default();
    match object["kind"].as_str().unwrap() {
        "Deployment" => {
            status("updatedReplicas") == wanted
                && status("replicas") == status("updatedReplicas")
                && status("availableReplicas") == status("updatedReplicas")
        }
        "StatefulSet" => {
            status("readyReplicas") == wanted
                && object["status"]["updateRevision"] == object["status"]["currentRevision"]
        }
        _ => {
            status("updatedNumberScheduled") == status("desiredNumberScheduled")
                && status("numberAvailable") == status("desiredNumberScheduled")
        }
    }
}

#[tokio::test]
async fn a_workload_does_not_look_rolled_out_before_it_is() {
    for kind in WorkloadKind::ALL {
        let fixture = Fixture::open().await;
        let workload = workload(&format!("{}/checkout", kind.as_str()));
        fixture.cluster.set_running("qa", &workload, "app", "checkout:1", 3);
        let begin = fixture.cluster.lock().store.version();
        fixture.cluster.set_image("qa", &workload, "app", "checkout:2");
        fixture.tick().await;
        fixture.cluster.set_image("qa", &workload, "app", "checkout:3");
        fixture.run_until_idle().await;
        let state = fixture.cluster.lock();
        let seen: Vec<bool> = state
            .store
            .since(begin)
            .unwrap()
            .filter(|event| event.key.collection == kind.into())
            .map(|event| is_rolled_out(event.after.as_ref().unwrap()))
            .collect();
        let (last, before) = seen.split_last().unwrap();
        assert!(*last && before.len() >= 6 && before.iter().all(|done| !done), "{kind:?} {seen:?}");
    }
}
