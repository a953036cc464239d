//! Who somebody is to the workspace, remembered for ten minutes so that `list` has to ask nobody.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;
use crate::domain::actor::{PersonId, Role};
use crate::slack::client::{Client, SendError};
use crate::slack::incoming::Origin;

const REMEMBERED: SignedDuration = SignedDuration::from_mins(10);

/// Nobody's workspace has so many people asking within ten minutes; it only keeps the memory small.
const MOST: usize = 10_000;

#[derive(Clone, Debug)]
pub struct People(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    slack: Client,
    clock: Clock,
    team: OnceLock<String>,
    roles: RwLock<HashMap<PersonId, (Role, Timestamp)>>,
}

impl People {
    pub fn new(slack: Client, clock: Clock) -> Self {
        Self(Arc::new(Inner { slack, clock, team: OnceLock::new(), roles: RwLock::default() }))
    }

    /// What memory says, if it says anything that is fresh enough.
    pub fn remembered(&self, from: &Origin) -> Option<Role> {
        if from.team != *self.0.team.get()? {
            return Some(Role::Stranger);
        }
        let roles = self.0.roles.read().unwrap_or_else(PoisonError::into_inner);
        let (role, learned) = roles.get(&from.person)?;
        (self.0.clock.now().duration_since(*learned) < REMEMBERED).then_some(*role)
    }

    /// What memory says, else what Slack says.
    pub async fn role(&self, from: &Origin) -> Result<Role, SendError> {
        if self.0.team.get().is_none() {
            let identity = self.0.slack.whoami().await?;
            // Two may ask at once; both learn the same.
            let _ = self.0.team.set(identity.team);
        }
        if let Some(role) = self.remembered(from) {
            return Ok(role);
        }
        let role = self.0.slack.role(&from.person).await?;
        let mut roles = self.0.roles.write().unwrap_or_else(PoisonError::into_inner);
        if roles.len() >= MOST {
            roles.clear();
        }
        roles.insert(from.person.clone(), (role, self.0.clock.now()));
        Ok(role)
    }
}
