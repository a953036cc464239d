//! One file per use case: read facts, ask the domain, then take effect, in that order.

mod aftermath;
pub mod answer;
mod approve;
mod arrive;
mod audience;
mod begin;
pub mod builds;
pub mod changes;
pub mod compare;
mod deploy;
mod diff;
pub mod doctor;
pub mod hear;
mod history;
pub mod home;
pub mod inbox;
pub mod keep;
pub mod locks;
pub mod measures;
mod memory;
mod merge;
mod no;
pub mod observe;
mod origin;
pub mod outbox;
mod page;
mod pending;
pub mod people;
mod previous;
pub mod promote;
mod pull;
pub mod query;
mod reported;
mod respond;
mod result;
pub mod rights;
mod rollback;
pub mod runner;
pub mod seen;
mod silence;
pub mod source;
mod status;
mod wave;
pub mod whereabouts;
mod why;
mod words;

use std::sync::Arc;

use crate::adapters::cluster::View;
use crate::adapters::controller;
use crate::adapters::github;
use crate::adapters::registry;
use crate::adapters::slack;
use crate::adapters::store::Store;
use crate::clock::Clock;
use crate::config::Config;

use builds::Builds;
use changes::Changes;
use compare::Heads;
use home::Homes;
use measures::Measures;
use observe::Wake;
use outbox::Tables;
use people::People;
use rights::Rights;
use seen::Seen;
use source::Sources;
use whereabouts::Absent;

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
    pub doctor: doctor::Doctor,
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
