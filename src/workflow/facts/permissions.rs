//! The rights of people: membership in groups and teams, and the mapping between Slack accounts and GitHub logins.
//! A failed lookup is an error, never a yes or a no, so that callers refuse and can give the reason.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;

use crate::adapters::github::{self, GithubError};
use crate::adapters::slack::client::{SendError, SlackAccount};
use crate::clock::Clock;
use crate::domain::model::actor::{Member, MemberLabel, PersonId, Role};
use crate::domain::model::artefact::Repository;
use crate::domain::model::catalogue::Ladder;
use crate::domain::model::environment::EnvironmentName;

use crate::workflow::error::LookupError;
use crate::workflow::facts::people::People;
use crate::workflow::ttl_cache::TtlCache;

/// A person who was removed from a team loses the team's rights within a minute.
const TEAM_TTL: SignedDuration = SignedDuration::from_secs(60);
/// The mapping of people to logins changes rarely, and gives no right by itself.
const IDENTITY_TTL: SignedDuration = SignedDuration::from_mins(10);

#[derive(Clone)]
pub struct Permissions(Arc<Inner>);

struct Inner {
    people: People,
    github: github::Client,
    clock: Clock,
    /// The configured GitHub logins.
    logins: BTreeMap<PersonId, String>,
    ladder: Ladder,
    login_by_person: TtlCache<(PersonId, Repository), Option<String>>,
    person_by_login: TtlCache<(String, Repository), Option<PersonId>>,
    team_membership: TtlCache<(String, String, String), bool>,
}

impl Permissions {
    pub fn new(
        people: People,
        github: github::Client,
        clock: Clock,
        logins: BTreeMap<PersonId, String>,
        ladder: Ladder,
    ) -> Self {
        let (login_by_person, person_by_login, team_membership) =
            (TtlCache::new(IDENTITY_TTL), TtlCache::new(IDENTITY_TTL), TtlCache::new(TEAM_TTL));
        Self(Arc::new(Inner {
            people,
            github,
            clock,
            logins,
            ladder,
            login_by_person,
            person_by_login,
            team_membership,
        }))
    }

    /// Whether the person is one of the members. An empty list means everyone in the workspace.
    pub(crate) async fn is_among(
        &self,
        person: &PersonId,
        members: &[Member],
        repository: &Repository,
    ) -> Result<bool, LookupError> {
        let to_lookup_error = |error: SendError| slack_lookup_error("who you are", &error);
        if members.is_empty() {
            return Ok(self.0.people.resolve_person_role(person).await.map_err(to_lookup_error)? == Role::Member);
        }
        let account = self.0.people.fetch_account(person).await.map_err(to_lookup_error)?;
        let Some(account) = account.filter(|account| account.role == Role::Member) else { return Ok(false) };
        if members.iter().any(|member| matches!(member, Member::Person(id) if id == person)) {
            return Ok(true);
        }
        let mut first_error = None;
        for member in members {
            match self.is_named_by(&account, member, repository).await {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(false), Err)
    }

    async fn is_named_by(
        &self,
        account: &SlackAccount,
        member: &Member,
        repository: &Repository,
    ) -> Result<bool, LookupError> {
        match member {
            Member::Person(id) => Ok(*id == account.id),
            Member::Group(id) => {
                let groups = self.0.people.fetch_groups().await;
                let groups = groups.map_err(|error| slack_lookup_error(&format!("who is in {id}"), &error))?;
                Ok(groups.iter().any(|group| group.id == *id && group.members.contains(&account.id)))
            }
            Member::Handle(handle) => {
                let groups = self.0.people.fetch_groups().await;
                let groups = groups.map_err(|error| slack_lookup_error(&format!("who is in @{handle}"), &error))?;
                Ok(match groups.iter().find(|group| group.handle.eq_ignore_ascii_case(handle)) {
                    Some(group) => group.members.contains(&account.id),
                    None => account.name.eq_ignore_ascii_case(handle),
                })
            }
            Member::Team { organisation, team } => match self.find_login(&account.id, repository).await? {
                Some(login) => self.is_in_team(organisation, team, login).await,
                None => Ok(false),
            },
        }
    }

    async fn is_in_team(&self, organisation: &str, team: &str, login: String) -> Result<bool, LookupError> {
        let key = (organisation.to_owned(), team.to_owned(), login.to_ascii_lowercase());
        if let Some(cached) = self.0.team_membership.get(&key, self.0.clock.now()) {
            return Ok(cached);
        }
        let result = self.0.github.is_in_team(organisation, team, &login).await;
        let is_member =
            result.map_err(|error| github_lookup_error(&format!("who is in {organisation}/{team}"), &error))?;
        self.0.team_membership.insert(key, is_member, self.0.clock.now());
        Ok(is_member)
    }

    /// The GitHub login of a person: from `people` in the configuration, else by e-mail.
    pub(crate) async fn find_login(
        &self,
        person: &PersonId,
        repository: &Repository,
    ) -> Result<Option<String>, LookupError> {
        if let Some(login) = self.0.logins.get(person) {
            return Ok(Some(login.clone()));
        }
        let key = (person.clone(), repository.clone());
        if let Some(cached) = self.0.login_by_person.get(&key, self.0.clock.now()) {
            return Ok(cached);
        }
        let account = self.0.people.fetch_account(person).await;
        let account = account.map_err(|error| slack_lookup_error("who you are", &error))?;
        let email = account.filter(|account| account.role == Role::Member).and_then(|account| account.email);
        let login = match email {
            Some(email) => self
                .0
                .github
                .find_login_by_email(&email, repository)
                .await
                .map_err(|error| identity_lookup_error(&error))?,
            None => None,
        };
        // A login that is configured for one person never maps to another person by e-mail.
        let login = login.filter(|login| self.find_configured_person(login).is_none());
        self.0.login_by_person.insert(key, login.clone(), self.0.clock.now());
        Ok(login)
    }

    /// The Slack account of a GitHub login, if it is a full member of the workspace.
    pub(crate) async fn find_person(
        &self,
        login: &str,
        repository: &Repository,
    ) -> Result<Option<PersonId>, LookupError> {
        let to_lookup_error = |error: SendError| slack_lookup_error("who is who", &error);
        let person = match self.find_configured_person(login) {
            Some(person) => Some(person.clone()),
            None => self.find_person_by_email(login, repository).await?,
        };
        let Some(person) = person else { return Ok(None) };
        // The person may have left the workspace since.
        let account = self.0.people.fetch_account(&person).await.map_err(to_lookup_error)?;
        Ok(account.filter(|account| account.role == Role::Member).map(|account| account.id))
    }

    /// Like [`Self::find_person`], but only from the configuration and the cache.
    pub(crate) fn find_known_person(&self, login: &str, repository: &Repository) -> Option<PersonId> {
        let key = (login.to_ascii_lowercase(), repository.clone());
        let find_cached = || self.0.person_by_login.get(&key, self.0.clock.now()).flatten();
        self.find_configured_person(login).cloned().or_else(find_cached)
    }

    async fn find_person_by_email(
        &self,
        login: &str,
        repository: &Repository,
    ) -> Result<Option<PersonId>, LookupError> {
        let key = (login.to_ascii_lowercase(), repository.clone());
        if let Some(cached) = self.0.person_by_login.get(&key, self.0.clock.now()) {
            return Ok(cached);
        }
        let email = self
            .0
            .github
            .find_email_by_login(login, repository)
            .await
            .map_err(|error| identity_lookup_error(&error))?;
        let account = match email {
            Some(email) => {
                let found = self.0.people.find_account_by_email(&email).await;
                found.map_err(|error| slack_lookup_error("who is who", &error))?
            }
            None => None,
        };
        // A person with a configured login has no other login.
        let person = account.map(|account| account.id).filter(|person| !self.0.logins.contains_key(person));
        self.0.person_by_login.insert(key, person.clone(), self.0.clock.now());
        Ok(person)
    }

    fn find_configured_person(&self, login: &str) -> Option<&PersonId> {
        let same = |(_, configured): &(&PersonId, &String)| configured.eq_ignore_ascii_case(login);
        self.0.logins.iter().find(same).map(|(person, _)| person)
    }

    /// The labels of members in a message. If Slack does not answer, a handle stays a handle.
    pub(crate) async fn label_members(&self, members: &[Member]) -> Vec<MemberLabel> {
        if members.is_empty() {
            return vec![MemberLabel::Everyone];
        }
        let by_group = |member: &Member| matches!(member, Member::Group(_) | Member::Handle(_));
        let groups = if members.iter().any(by_group) { self.0.people.fetch_groups().await.ok() } else { None };
        let groups = groups.as_deref().unwrap_or_default();
        let to_label = |member: &Member| match member {
            Member::Person(person) => MemberLabel::Person(person.clone()),
            Member::Team { organisation, team } => MemberLabel::Team(format!("{organisation}/{team}")),
            Member::Group(id) => {
                let group = groups.iter().find(|group| group.id == *id);
                let handle = group.map_or_else(|| id.clone(), |group| group.handle.clone());
                MemberLabel::Group { id: id.clone(), handle }
            }
            Member::Handle(handle) => match groups.iter().find(|group| group.handle.eq_ignore_ascii_case(handle)) {
                Some(group) => MemberLabel::Group { id: group.id.clone(), handle: group.handle.clone() },
                None => MemberLabel::Handle(handle.clone()),
            },
        };
        members.iter().map(to_label).collect()
    }

    /// The people and groups that [`Permissions::may_promote_or_approve`] accepts, as a message names them.
    pub(crate) async fn label_promoters_and_approvers(&self, environment: &EnvironmentName) -> Vec<MemberLabel> {
        let policy = self.0.ladder.find_policy(environment);
        let mut members = policy.map(|policy| policy.promoters.clone()).unwrap_or_default();
        let approvals = policy.and_then(|policy| policy.approvals.as_ref());
        for member in approvals.iter().flat_map(|approvals| &approvals.approvers) {
            if !members.contains(member) {
                members.push(member.clone());
            }
        }
        self.label_members(&members).await
    }

    pub(crate) async fn may_promote(
        &self,
        person: &PersonId,
        environment: &EnvironmentName,
        repository: &Repository,
    ) -> Result<bool, LookupError> {
        match self.0.ladder.find_policy(environment) {
            Some(policy) => self.is_among(person, &policy.promoters, repository).await,
            None => Ok(false),
        }
    }

    /// Without configured approvals, a person who may promote may approve.
    pub(crate) async fn may_approve(
        &self,
        person: &PersonId,
        environment: &EnvironmentName,
        repository: &Repository,
    ) -> Result<bool, LookupError> {
        match self.0.ladder.find_policy(environment).and_then(|policy| policy.approvals.as_ref()) {
            Some(approvals) => self.is_among(person, &approvals.approvers, repository).await,
            None => self.may_promote(person, environment, repository).await,
        }
    }

    /// Unlike the other rights, an empty list gives this right to no one.
    pub(crate) async fn may_override(
        &self,
        person: &PersonId,
        environment: &EnvironmentName,
        repository: &Repository,
    ) -> Result<bool, LookupError> {
        match self.0.ladder.find_policy(environment).map(|policy| policy.overriders.as_slice()) {
            None | Some([]) => Ok(false),
            Some(overriders) => self.is_among(person, overriders, repository).await,
        }
    }

    /// Whether the person may promote or approve, and so lock, take over, cancel and roll back.
    pub(crate) async fn may_promote_or_approve(
        &self,
        person: &PersonId,
        environment: &EnvironmentName,
        repository: &Repository,
    ) -> Result<bool, LookupError> {
        let may_promote = self.may_promote(person, environment, repository).await;
        let policy = self.0.ladder.find_policy(environment);
        // Without approvals, `may_approve` would check the same again.
        if matches!(may_promote, Ok(true)) || policy.is_none_or(|policy| policy.approvals.is_none()) {
            return may_promote;
        }
        match self.may_approve(person, environment, repository).await {
            Ok(false) => may_promote,
            may_approve => may_approve,
        }
    }
}

fn slack_lookup_error(question: &str, error: &SendError) -> LookupError {
    tracing::warn!(%error, "a lookup in Slack failed: {question}");
    let reason = format!("Slack cannot tell me {question} right now");
    match error {
        SendError::RateLimited { .. } | SendError::Transient(_) | SendError::Unauthorised(_) => {
            LookupError::new_transient(reason)
        }
        _ => LookupError::new_permanent(reason),
    }
}

fn github_lookup_error(question: &str, error: &GithubError) -> LookupError {
    tracing::warn!(%error, "a lookup on GitHub failed: {question}");
    let reason = format!("GitHub cannot tell me {question} right now");
    if error.is_transient() { LookupError::new_transient(reason) } else { LookupError::new_permanent(reason) }
}

fn identity_lookup_error(error: &GithubError) -> LookupError {
    github_lookup_error("who is who there", error)
}

#[cfg(test)]
mod tests;
