//! Who somebody is to the workspace, and who is in which user group, as Slack tells and as long as it may be believed.

use std::sync::{Arc, OnceLock};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use crate::adapters::slack::client::{Account, Client, Group, SendError};
use crate::adapters::slack::incoming::Origin;
use crate::clock::Clock;
use crate::domain::model::actor::{PersonId, Role};

use crate::workflow::ttl_cache::Memory;

/// Roles, so that `list` has to ask nobody.
const ROLE: SignedDuration = SignedDuration::from_mins(10);
/// What rights stand on: who was taken out of a group has lost them within a minute.
const RIGHTS: SignedDuration = SignedDuration::from_secs(60);

#[derive(Clone, Debug)]
pub struct People(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    slack: Client,
    clock: Clock,
    team: OnceLock<String>,
    roles: Memory<PersonId, Role>,
    accounts: Memory<PersonId, Option<Account>>,
    /// Held while Slack is asked, so that a crowd asks once: Slack takes twenty such questions a minute.
    groups: Mutex<Option<(Timestamp, Arc<[Group]>)>>,
}

impl People {
    pub fn new(slack: Client, clock: Clock) -> Self {
        Self(Arc::new(Inner {
            slack,
            clock,
            team: OnceLock::new(),
            roles: Memory::new(ROLE),
            accounts: Memory::new(RIGHTS),
            groups: Mutex::default(),
        }))
    }

    /// What memory says, if it says anything that is fresh enough.
    pub fn remembered(&self, from: &Origin) -> Option<Role> {
        if from.team != *self.0.team.get()? {
            return Some(Role::Stranger);
        }
        self.0.roles.recall(&from.person, self.0.clock.now())
    }

    /// What memory says, else what Slack says.
    pub async fn role(&self, from: &Origin) -> Result<Role, SendError> {
        if self.0.team.get().is_none() {
            let identity = self.0.slack.whoami().await?;
            // Two may ask at once; both learn the same.
            let _ = self.0.team.set(identity.team);
        }
        match self.remembered(from) {
            Some(role) => Ok(role),
            None => self.role_of(&from.person).await,
        }
    }

    /// The role of somebody whose request is not at hand.
    pub(crate) async fn role_of(&self, person: &PersonId) -> Result<Role, SendError> {
        if let Some(role) = self.0.roles.recall(person, self.0.clock.now()) {
            return Ok(role);
        }
        Ok(self.account(person).await?.map_or(Role::Stranger, |account| account.role))
    }

    /// As of a minute ago at most.
    pub(crate) async fn account(&self, person: &PersonId) -> Result<Option<Account>, SendError> {
        if let Some(known) = self.0.accounts.recall(person, self.0.clock.now()) {
            return Ok(known);
        }
        let account = self.0.slack.account(person).await?;
        self.learn(person, account.clone());
        Ok(account)
    }

    /// What the workspace calls somebody; their id where Slack does not tell.
    pub(crate) async fn name(&self, person: &PersonId) -> String {
        let account = self.account(person).await.ok().flatten();
        account.map_or_else(|| person.to_string(), |account| account.name)
    }

    pub(crate) async fn account_by_email(&self, email: &str) -> Result<Option<Account>, SendError> {
        let account = self.0.slack.account_by_email(email).await?;
        if let Some(account) = &account {
            self.learn(&account.id, Some(account.clone()));
        }
        Ok(account)
    }

    /// All user groups, as of a minute ago at most.
    pub(crate) async fn groups(&self) -> Result<Arc<[Group]>, SendError> {
        let mut known = self.0.groups.lock().await;
        let now = self.0.clock.now();
        match &*known {
            Some((learned, groups)) if now.duration_since(*learned) < RIGHTS => Ok(groups.clone()),
            _ => {
                let groups: Arc<[Group]> = self.0.slack.groups().await?.into();
                *known = Some((now, groups.clone()));
                Ok(groups)
            }
        }
    }

    fn learn(&self, person: &PersonId, account: Option<Account>) {
        let now = self.0.clock.now();
        let role = account.as_ref().map_or(Role::Stranger, |account| account.role);
        self.0.roles.keep(person.clone(), role, now);
        self.0.accounts.keep(person.clone(), account, now);
    }
}
