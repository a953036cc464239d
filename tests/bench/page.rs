//! `list` with 10,000 artefacts in four environments, from memory alone.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gantry::adapters::cluster::workload_status::{Container, WorkloadStatus};
use gantry::adapters::cluster::{ClusterClients, ClusterView};
use gantry::adapters::slack::render::page_buttons::Viewer;
use gantry::adapters::store::Store;
use gantry::adapters::{controller, github, registry, slack};
use gantry::clock::Clock;
use gantry::config::{Config, Secrets};
use gantry::domain::model::artefact::{Artefact, ArtefactName, Delivery, Place};
use gantry::domain::model::catalogue::{Catalogue, Ladder};
use gantry::domain::model::environment::{Environment, EnvironmentName};
use gantry::domain::model::version::{Image, Sha, Version};
use gantry::domain::model::workload::{Workload, WorkloadKind};
use gantry::domain::runtime::rollout::RolloutState;
use gantry::domain::runtime::sighting::Sighting;
use gantry::domain::view::list::ListFilter;
use gantry::workflow::commands::doctor::Doctor;
use gantry::workflow::commands::list::answer_list;
use gantry::workflow::context::{Clients, Context};
use gantry::workflow::facts::table_support::TableSupportCache;
use jiff::SignedDuration;
use secrecy::SecretString;

use crate::Outcome;
use crate::process::Memory;
use crate::table::Table;

const ARTEFACTS: usize = 10_000;
const TIMES: usize = 301;

#[expect(clippy::cast_precision_loss, reason = "counts of a few millions")]
pub(crate) fn measure(table: &mut Table) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _guard = runtime.enter();
    let counter = ConnectionCounter::open()?;
    let folder = tempfile::tempdir()?;
    let database = format!("sqlite://{}", folder.path().join("gantry.db").display());
    let store = runtime.block_on(Store::open(&database, Clock::new_system()))?;
    let table_support = runtime.block_on(TableSupportCache::load(&store))?;
    let ctx = build_context(&counter.origin, store, table_support)?;

    let before = Memory::of("self")?.own;
    let workloads = fill(&ctx.cluster_view, &ctx.config.catalogue, &ctx.clock);
    let growth = Memory::of("self")?.own.saturating_sub(before);
    record_sightings(&ctx)?;

    let qa_filter = ListFilter { environment: Some(EnvironmentName::new("qa")), artefact: None };
    table.figure(
        "list over 10,000 artefacts, the first page",
        measure_list_millis(&ctx, &ListFilter::default()),
        1.0,
        "ms",
    );
    table.figure("list qa over 10,000 artefacts, the first page", measure_list_millis(&ctx, &qa_filter), 1.0, "ms");
    table.figure("the view, a workload", ctx.cluster_view.estimate_bytes() as f64 / workloads as f64, 1536.0, "bytes");
    table.note("the same by the growth of the process", growth as f64 / workloads as f64, "bytes");
    table.figure("connections opened", counter.connections() as f64, 0.0, "connections");
    runtime.block_on(ctx.store.close());
    Ok(())
}

/// The median time from the request to the bytes of the answer.
fn measure_list_millis(ctx: &Context, filter: &ListFilter) -> f64 {
    let mut times: Vec<_> = (0..TIMES)
        .map(|_| {
            let started = Instant::now();
            let answer = answer_list(ctx, filter.clone(), 0, Viewer::Person).to_ack_body(false);
            let duration = started.elapsed();
            std::hint::black_box(answer);
            duration.as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[TIMES / 2]
}

/// A listener in place of all outside services. It only counts connections.
struct ConnectionCounter {
    origin: String,
    connections: Arc<AtomicUsize>,
}

impl ConnectionCounter {
    fn open() -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let origin = format!("http://{}", listener.local_addr()?);
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = connections.clone();
        std::thread::spawn(move || {
            for _ in listener.incoming() {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        Ok(Self { origin, connections })
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// A bot without running tasks. It can only answer from memory.
fn build_context(origin: &str, store: Store, table_support: TableSupportCache) -> Outcome<Context> {
    let mut config = Config::load(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/config/gantry.yaml")))
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    config.catalogue.artefacts = artefacts(&config.catalogue.ladder)?;
    let clock = Clock::new_system();
    let slack = slack::client::Client::new(origin, origin, SecretString::from("xoxb-bench"))?;
    let github = github::Client::new(origin, github::client::Auth::None, clock.clone())?;
    let mirrors = BTreeMap::from([("ghcr.io".to_owned(), origin.to_owned())]);
    let secrets = Secrets::read(&config, |_| None).map_err(|problems| problems.join("\n"))?;
    let (config, registry) = (Arc::new(config), registry::Client::new(&mirrors, &BTreeMap::new())?);
    let doctor = Doctor {
        config: config.clone(),
        secrets: Arc::new(secrets),
        clock: clock.clone(),
        slack: Some(slack.clone()),
        github: github.clone(),
        registry: registry.clone(),
        cluster_clients: ClusterClients::new(None),
        owns_database: true,
    };
    Ok(Context::new(Clients {
        config,
        clock,
        store,
        slack,
        github,
        registry,
        controller: controller::Client::new()?,
        cluster_clients: ClusterClients::new(None),
        table_support,
        doctor,
    }))
}

fn artefacts(ladder: &Ladder) -> Outcome<Vec<Artefact>> {
    let artefact = |number: usize| -> Outcome<Artefact> {
        let name = format!("artefact-{number:05}");
        let workload: Workload = format!("deployment/{name}").parse()?;
        let place = |environment: &Environment| Place {
            namespace: environment.namespace.clone(),
            workloads: vec![workload.clone()],
            container: None,
        };
        Ok(Artefact {
            name: ArtefactName::new(&name),
            repository: format!("acme/{name}").parse()?,
            image: format!("ghcr.io/acme/{name}").into(),
            paths: Vec::new(),
            delivery: Delivery::Branch,
            places: ladder
                .environments()
                .iter()
                .map(|environment| (environment.name.clone(), place(environment)))
                .collect(),
        })
    };
    (0..ARTEFACTS).map(artefact).collect()
}

/// Every artefact in every environment, with a sidecar and a digest, as the watches would record it.
fn fill(view: &ClusterView, catalogue: &Catalogue, clock: &Clock) -> usize {
    let since = Some(clock.now() - SignedDuration::from_hours(30));
    let mut workloads = 0;
    for environment in catalogue.ladder.environments() {
        let listed = catalogue.artefacts.iter().enumerate().map(|(number, artefact)| {
            let container = |name: &str, image: &str| Container { name: name.into(), image: Image::parse(image) };
            let image = format!("{}:{}", artefact.image, tag(&environment.branch, number));
            let proxy = format!("docker.io/envoyproxy/envoy:v1.31.0@sha256:{:064x}", 7);
            let state = match number % 10 {
                7 => RolloutState::RollingOut { ready: 1, wanted: 3, delayed_by: None },
                9 => RolloutState::Degraded { reason: "CrashLoopBackOff: back-off restarting failed container".into() },
                _ => RolloutState::Running { ready: 3 },
            };
            let image = format!("{image}@sha256:{number:064x}");
            let containers = Box::new([container("app", &image), container("proxy", &proxy)]);
            let applier = Some(format!("Kustomization/flux-system/{}", artefact.name).into());
            (artefact.name.as_str().to_owned(), WorkloadStatus { containers, state, since, applier })
        });
        view.expect_kind(&environment.namespace, WorkloadKind::Deployment);
        view.replace_workloads(&environment.namespace, WorkloadKind::Deployment, listed, 1);
        view.mark_readable(&environment.namespace, WorkloadKind::Deployment);
        workloads += catalogue.artefacts.len();
    }
    workloads
}

fn tag(branch: &str, number: usize) -> String {
    format!("{branch}-{number:07x}")
}

/// Records sightings and whether each is behind, like the observer's first round.
fn record_sightings(ctx: &Context) -> Outcome<()> {
    let at = ctx.clock.now() - SignedDuration::from_hours(30);
    let commit: Sha = "a".repeat(40).parse()?;
    for environment in ctx.config.catalogue.ladder.environments() {
        for (number, artefact) in ctx.config.catalogue.artefacts.iter().enumerate() {
            let image = Image::parse(&format!("{}:{}", artefact.image, tag(&environment.branch, number)));
            ctx.sightings.record_sighting(Sighting {
                artefact: artefact.name.clone(),
                environment: environment.name.clone(),
                version: Version { commit: Some(commit.clone()), ..image.to_version() },
                seen_at: at,
                running_at: Some(at),
                healthy_since: Some(at),
                failure: None,
                ended_at: None,
                announced: true,
            });
            ctx.sightings.set_behind(
                &artefact.name,
                &environment.name,
                (commit.clone(), commit.clone()),
                number % 2 == 0,
            );
        }
    }
    Ok(())
}
