//! The parts that the use cases work with.

use std::sync::Arc;

use crate::adapters::cluster::View;
use crate::adapters::controller;
use crate::adapters::github;
use crate::adapters::registry;
use crate::adapters::slack;
use crate::adapters::store::Store;
use crate::clock::Clock;
use crate::config::Config;

use crate::workflow::changes::open_changes::Changes;
use crate::workflow::commands::home::Homes;
use crate::workflow::commands::where_is::Absent;
use crate::workflow::deployments::observer::Wake;
use crate::workflow::facts::builds::Builds;
use crate::workflow::facts::comparisons::Heads;
use crate::workflow::facts::image_commits::Sources;
use crate::workflow::facts::people::People;
use crate::workflow::facts::permissions::Rights;
use crate::workflow::facts::sightings::Seen;
use crate::workflow::metrics::Measures;
use crate::workflow::notifications::outbox::Tables;

/// The parts that the use cases work with. Clones share them.
#[derive(Clone)]
pub struct Bot(Arc<Parts>);

pub struct Parts {
    pub config: Arc<Config>,
    pub clock: Clock,
    pub store: Store,
    pub view: View,
    pub clients: crate::adapters::cluster::Clients,
    pub seen: Seen,
    pub people: People,
    pub rights: Rights,
    pub sources: Sources,
    pub builds: Builds,
    pub absent: Absent,
    pub tables: Tables,
    pub slack: slack::client::Client,
    pub github: github::Client,
    pub registry: registry::Client,
    pub heads: Heads,
    pub wake: Wake,
    pub changes: Changes,
    pub measures: Measures,
    pub controller: controller::Client,
    /// Who looks at their App Home.
    pub homes: Homes,
    /// How it stands with Slack's socket.
    pub socket: slack::socket::Standing,
    pub doctor: crate::workflow::commands::doctor::Doctor,
}

impl Bot {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

impl std::ops::Deref for Bot {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
