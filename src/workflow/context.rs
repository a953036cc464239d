//! The context of all use cases: the configuration, the clients, and the lookups and caches that share them.

use std::sync::Arc;

use crate::adapters::cluster::{ClusterClients, ClusterView};
use crate::adapters::store::Store;
use crate::adapters::{controller, github, registry, slack};
use crate::clock::Clock;
use crate::config::Config;
use crate::workflow::activity::Activity;
use crate::workflow::changes::open_changes::OpenChanges;
use crate::workflow::commands::doctor::Doctor;
use crate::workflow::facts::builds::Builds;
use crate::workflow::facts::comparisons::Comparisons;
use crate::workflow::facts::home_readers::HomeReaders;
use crate::workflow::facts::image_commits::ImageCommits;
use crate::workflow::facts::not_found_cache::NotFoundCache;
use crate::workflow::facts::people::People;
use crate::workflow::facts::permissions::Permissions;
use crate::workflow::facts::report_history::ReportHistory;
use crate::workflow::facts::sightings::SightingCache;
use crate::workflow::facts::table_support::TableSupportCache;
use crate::workflow::metrics::WorkflowMetrics;

/// Everything that a use case needs. Clones share it.
#[derive(Clone)]
pub struct Context(Arc<ContextParts>);

/// The configuration and the clients that a context is made of.
pub struct Clients {
    pub config: Arc<Config>,
    pub clock: Clock,
    pub store: Store,
    pub slack: slack::client::Client,
    pub github: github::Client,
    pub registry: registry::Client,
    pub controller: controller::Client,
    pub cluster_clients: ClusterClients,
    pub table_support: TableSupportCache,
    pub doctor: Doctor,
}

pub struct ContextParts {
    pub config: Arc<Config>,
    pub clock: Clock,
    pub store: Store,
    pub slack: slack::client::Client,
    pub github: github::Client,
    pub registry: registry::Client,
    pub controller: controller::Client,
    pub cluster_clients: ClusterClients,
    pub cluster_view: ClusterView,
    /// The state of Slack's socket.
    pub socket_status: slack::socket::ConnectionWatch,
    pub builds: Builds,
    pub comparisons: Comparisons,
    /// The people who opened their App Home lately.
    pub home_readers: HomeReaders,
    pub image_commits: ImageCommits,
    pub not_found_cache: NotFoundCache,
    pub people: People,
    pub permissions: Permissions,
    pub report_history: ReportHistory,
    pub sightings: SightingCache,
    pub table_support: TableSupportCache,
    pub open_changes: OpenChanges,
    pub activity: Activity,
    pub metrics: WorkflowMetrics,
    pub doctor: Doctor,
}

impl Context {
    pub fn new(clients: Clients) -> Self {
        let Clients {
            config,
            clock,
            store,
            slack,
            github,
            registry,
            controller,
            cluster_clients,
            table_support,
            doctor,
        } = clients;
        let people = People::new(slack.clone(), clock.clone());
        let permissions = Permissions::new(
            people.clone(),
            github.clone(),
            clock.clone(),
            config.github_logins.clone(),
            config.catalogue.ladder.clone(),
        );
        let report_history = ReportHistory::default();
        let image_commits =
            ImageCommits::new(store.clone(), github.clone(), registry.clone(), clock.clone(), report_history.clone());
        Self(Arc::new(ContextParts {
            cluster_view: ClusterView::new(clock.clone()),
            socket_status: slack::socket::ConnectionWatch::default(),
            builds: Builds::default(),
            comparisons: Comparisons::new(store.clone(), github.clone(), clock.clone()),
            home_readers: HomeReaders::default(),
            image_commits,
            not_found_cache: NotFoundCache::default(),
            people,
            permissions,
            report_history,
            sightings: SightingCache::default(),
            table_support,
            open_changes: OpenChanges::default(),
            activity: Activity::default(),
            metrics: WorkflowMetrics::default(),
            doctor,
            config,
            clock,
            store,
            slack,
            github,
            registry,
            controller,
            cluster_clients,
        }))
    }
}

impl std::ops::Deref for Context {
    type Target = ContextParts;

    fn deref(&self) -> &ContextParts {
        &self.0
    }
}
