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

use super::builds::Builds;
use super::changes::Changes;
use super::compare::Heads;
use super::home::Homes;
use super::measures::Measures;
use super::observe::Wake;
use super::outbox::Tables;
use super::people::People;
use super::rights::Rights;
use super::seen::Seen;
use super::source::Sources;
use super::whereabouts::Absent;

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
    pub doctor: super::doctor::Doctor,
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
