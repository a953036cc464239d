//! The parts that the use cases work with.

use std::sync::Arc;

use crate::adapters::cluster::ClusterView;
use crate::adapters::controller;
use crate::adapters::github;
use crate::adapters::registry;
use crate::adapters::slack;
use crate::adapters::store::Store;
use crate::clock::Clock;
use crate::config::Config;

use crate::workflow::changes::open_changes::OpenChanges;
use crate::workflow::commands::home::HomeReaders;
use crate::workflow::commands::where_is::NotFoundCache;
use crate::workflow::deployments::observer::Activity;
use crate::workflow::facts::builds::Builds;
use crate::workflow::facts::comparisons::BranchHeads;
use crate::workflow::facts::image_commits::ImageCommitCache;
use crate::workflow::facts::people::People;
use crate::workflow::facts::permissions::Rights;
use crate::workflow::facts::sightings::SightingCache;
use crate::workflow::metrics::WorkflowMetrics;
use crate::workflow::notifications::outbox::TableSupportCache;

/// The parts that the use cases work with. Clones share them.
#[derive(Clone)]
pub struct Context(Arc<ContextParts>);

pub struct ContextParts {
    pub config: Arc<Config>,
    pub clock: Clock,
    pub store: Store,
    pub cluster_view: ClusterView,
    pub cluster_clients: crate::adapters::cluster::ClusterClients,
    pub sightings: SightingCache,
    pub people: People,
    pub permissions: Rights,
    pub image_commits: ImageCommitCache,
    pub builds: Builds,
    pub not_found_cache: NotFoundCache,
    pub table_support: TableSupportCache,
    pub slack: slack::client::Client,
    pub github: github::Client,
    pub registry: registry::Client,
    pub branch_heads: BranchHeads,
    pub wake: Activity,
    pub open_changes: OpenChanges,
    pub metrics: WorkflowMetrics,
    pub controller: controller::Client,
    /// Who looks at their App Home.
    pub home_readers: HomeReaders,
    /// How it stands with Slack's socket.
    pub socket_status: slack::socket::ConnectionWatch,
    pub doctor: crate::workflow::commands::doctor::Doctor,
}

impl Context {
    pub fn new(parts: ContextParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl std::ops::Deref for Context {
    type Target = ContextParts;

    fn deref(&self) -> &ContextParts {
        &self.0
    }
}
