//! The accounts, roles and user groups of people in Slack, cached for a short time.

use std::sync::{Arc, OnceLock};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use crate::adapters::slack::client::{Client, SendError, SlackAccount, UserGroup};
use crate::adapters::slack::incoming::RequestOrigin;
use crate::clock::Clock;
use crate::domain::model::actor::{PersonId, Role};

use crate::workflow::ttl_cache::TtlCache;

/// For roles. Long enough that `list` rarely waits for Slack.
const ROLE_TTL: SignedDuration = SignedDuration::from_mins(10);
/// For accounts and groups, on which rights depend. A person who was removed from a group loses the group's rights
/// within a minute.
const ACCOUNT_TTL: SignedDuration = SignedDuration::from_secs(60);

#[derive(Clone, Debug)]
pub struct People(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    slack: Client,
    clock: Clock,
    team: OnceLock<String>,
    roles: TtlCache<PersonId, Role>,
    accounts: TtlCache<PersonId, Option<SlackAccount>>,
    /// Held during the request, so that many callers cause only one. Slack allows twenty such requests a minute.
    groups: Mutex<Option<(Timestamp, Arc<[UserGroup]>)>>,
}

impl People {
    pub fn new(slack: Client, clock: Clock) -> Self {
        Self(Arc::new(Inner {
            slack,
            clock,
            team: OnceLock::new(),
            roles: TtlCache::new(ROLE_TTL),
            accounts: TtlCache::new(ACCOUNT_TTL),
            groups: Mutex::default(),
        }))
    }

    /// The role from the cache. `None`: unknown or too old.
    pub fn find_cached_role(&self, origin: &RequestOrigin) -> Option<Role> {
        if origin.team != *self.0.team.get()? {
            return Some(Role::Stranger);
        }
        self.0.roles.get(&origin.person, self.0.clock.now())
    }

    /// The role from the cache, else from Slack.
    pub async fn resolve_requester_role(&self, origin: &RequestOrigin) -> Result<Role, SendError> {
        if self.0.team.get().is_none() {
            let identity = self.0.slack.fetch_identity().await?;
            // Another task may have set it meanwhile, to the same value.
            let _ = self.0.team.set(identity.team);
        }
        match self.find_cached_role(origin) {
            Some(role) => Ok(role),
            None => self.resolve_person_role(&origin.person).await,
        }
    }

    /// The role of a person without a request.
    pub(crate) async fn resolve_person_role(&self, person: &PersonId) -> Result<Role, SendError> {
        if let Some(role) = self.0.roles.get(person, self.0.clock.now()) {
            return Ok(role);
        }
        Ok(self.fetch_account(person).await?.map_or(Role::Stranger, |account| account.role))
    }

    /// The account, at most a minute old.
    pub(crate) async fn fetch_account(&self, person: &PersonId) -> Result<Option<SlackAccount>, SendError> {
        if let Some(cached) = self.0.accounts.get(person, self.0.clock.now()) {
            return Ok(cached);
        }
        let account = self.0.slack.fetch_account(person).await?;
        self.cache_account(person, account.clone());
        Ok(account)
    }

    /// The name of a person in Slack, or the id if Slack does not answer.
    pub(crate) async fn fetch_display_name(&self, person: &PersonId) -> String {
        let account = self.fetch_account(person).await.ok().flatten();
        account.map_or_else(|| person.to_string(), |account| account.name)
    }

    pub(crate) async fn find_account_by_email(&self, email: &str) -> Result<Option<SlackAccount>, SendError> {
        let account = self.0.slack.fetch_account_by_email(email).await?;
        if let Some(account) = &account {
            self.cache_account(&account.id, Some(account.clone()));
        }
        Ok(account)
    }

    /// All user groups, at most a minute old.
    pub(crate) async fn fetch_groups(&self) -> Result<Arc<[UserGroup]>, SendError> {
        let mut cached = self.0.groups.lock().await;
        let now = self.0.clock.now();
        match &*cached {
            Some((fetched_at, groups)) if now.duration_since(*fetched_at) < ACCOUNT_TTL => Ok(groups.clone()),
            _ => {
                let groups: Arc<[UserGroup]> = self.0.slack.list_user_groups().await?.into();
                *cached = Some((now, groups.clone()));
                Ok(groups)
            }
        }
    }

    fn cache_account(&self, person: &PersonId, account: Option<SlackAccount>) {
        let now = self.0.clock.now();
        let role = account.as_ref().map_or(Role::Stranger, |account| account.role);
        self.0.roles.insert(person.clone(), role, now);
        self.0.accounts.insert(person.clone(), account, now);
    }
}
