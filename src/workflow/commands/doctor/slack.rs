//! What Slack tells of our token, of the channels, and of whom the rules name; and the request to a Gantry that serves.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::slack::client::{Client, Group, needed_scopes};
use crate::adapters::slack::signature_probe;
use crate::adapters::slack::signature_probe::Knocked;
use crate::domain::doctor::clock::Heard;
use crate::domain::doctor::slack::{self, Channel, Named, Trip, Who, Workspace};
use crate::domain::doctor::{Address, Check, Learned};
use crate::domain::model::actor::{Member, PersonId, Role};

use super::Looking;

impl Looking<'_> {
    pub(super) async fn slack(&self, url: Option<&str>) -> (Vec<Check>, Vec<Heard>) {
        let Some(client) = &self.with.slack else {
            let unset = !self.with.secrets.is_any_given(&["SLACK_BOT_TOKEN"]);
            let checks = unset.then(slack::no_token).into_iter().chain(slack::signing(&self.trip(url).await));
            return (checks.collect(), Vec::new());
        };
        let (token, trip) = tokio::join!(self.ask(client.token_as_seen()), self.trip(url));
        let heard = token.as_ref().ok().and_then(|token| self.heard("Slack", token.date));
        let workspace = token.map(|token| Workspace { name: token.team, bot: token.bot, scopes: token.scopes });
        let mut checks = vec![slack::token(&workspace)];
        let (joined, named, sockets) = tokio::join!(
            async { if workspace.is_ok() { Some(self.ask(client.joined()).await) } else { None } },
            async { if workspace.is_ok() { self.named(client).await } else { Vec::new() } },
            self.sockets(client),
        );
        if let Ok(workspace) = &workspace {
            checks.push(slack::scopes(workspace.scopes.as_deref(), &needed_scopes()));
            let joined = joined.map(|joined| joined.map(|all| all.into_iter().map(channel).collect()));
            if let Some(joined) = joined {
                checks.extend(slack::channels(&self.channels(), &joined, &workspace.bot));
            }
            checks.extend(slack::groups(&named));
            checks.extend(self.approvers(&named));
        }
        checks.extend(slack::signing(&trip));
        checks.extend(slack::app_token(sockets.as_ref()));
        (checks, heard.into_iter().collect())
    }

    async fn sockets(&self, client: &Client) -> Option<Learned<()>> {
        let token = self.with.secrets.slack_app_token.as_ref()?;
        Some(self.ask(client.opens_sockets(token)).await)
    }

    async fn trip(&self, url: Option<&str>) -> Trip {
        let secrets = &self.with.secrets;
        let url = url.map(|url| {
            let url = url.split(['?', '#']).next().unwrap_or(url);
            format!("{}/slack/events", url.trim_end_matches('/').trim_end_matches("/slack/events"))
        });
        let secret = match &secrets.slack_signing_secret {
            Some(secret) => secret,
            None if secrets.is_any_given(&["SLACK_SIGNING_SECRET"]) => return Trip::Wrong,
            None if secrets.is_any_given(&["SLACK_APP_TOKEN"]) => {
                return Trip::BySocket { untried: url.as_deref().map(Address::of) };
            }
            None => return Trip::Unsigned,
        };
        let Some(url) = url else { return Trip::Untried };
        let shown = Address::of(&url);
        match signature_probe::at(&url, secret, &self.with.clock).await {
            Knocked::LetIn => Trip::LetIn(shown),
            Knocked::Refused(status) => Trip::Refused { url: shown, status },
            Knocked::Away(why) => Trip::Away { url: shown, why },
        }
    }

    /// Every channel that is written to, as it is configured.
    fn channels(&self) -> Vec<String> {
        let config = &self.with.config;
        let own = config.catalogue.ladder.rungs().iter().map(|rung| rung.channel.clone());
        let all: BTreeSet<String> = own.chain(config.audience.channels().map(str::to_owned)).collect();
        all.into_iter().collect()
    }

    /// Whom the rules name, each once for a rule.
    async fn named(&self, client: &Client) -> Vec<Named> {
        let mut rules: Vec<(String, &Member)> = Vec::new();
        for (environment, policy) in &self.with.config.environments {
            let approvers = policy.approvals.iter().flat_map(|approvals| &approvals.from);
            rules.extend(approvers.map(|member| (format!("{environment}'s approvals"), member)));
            rules.extend(policy.promoters.iter().map(|member| (format!("{environment}'s promoters"), member)));
            rules.extend(policy.overriders.iter().map(|member| (format!("{environment}'s overriders"), member)));
        }
        let by_group = |(_, member): &(String, &Member)| matches!(member, Member::Handle(_) | Member::Group(_));
        let groups = if rules.iter().any(by_group) { self.ask(client.groups()).await } else { Ok(Vec::new()) };
        let mut people: BTreeMap<PersonId, Who> = BTreeMap::new();
        for (_, member) in &rules {
            if let Member::Person(person) = member
                && !people.contains_key(person)
            {
                let who = match self.ask(client.account(person)).await {
                    Ok(Some(account)) if account.role == Role::Member => Who::Person { id: person.to_string() },
                    Ok(_) => Who::NoPerson,
                    Err(trouble) => Who::Unknown(trouble),
                };
                people.insert(person.clone(), who);
            }
        }
        rules
            .into_iter()
            .map(|(rule, member)| {
                let (written, who) = match member {
                    Member::Handle(handle) => {
                        let found = |group: &&Group| group.handle.eq_ignore_ascii_case(handle);
                        (format!("@{handle}"), group(&groups, found, Who::Handle))
                    }
                    Member::Group(id) => (id.clone(), group(&groups, |group| group.id == *id, Who::NoGroup)),
                    Member::Person(id) => (id.to_string(), people.get(id).cloned().unwrap_or(Who::NoPerson)),
                    Member::Team { organisation, team } => (format!("{organisation}/{team}"), Who::Team),
                };
                Named { written, rule, who }
            })
            .collect()
    }

    fn approvers(&self, named: &[Named]) -> Vec<Check> {
        let of =
            |(environment, policy): (&crate::domain::model::environment::EnvironmentName, &crate::config::Policy)| {
                let approvals = policy.approvals.as_ref()?;
                let rule = format!("{environment}'s approvals");
                let from: Vec<&Named> = named.iter().filter(|named| named.rule == rule).collect();
                slack::approvers(environment.as_str(), approvals.required, &from)
            };
        self.with.config.environments.iter().filter_map(of).collect()
    }
}

fn group(groups: &Learned<Vec<Group>>, is_it: impl Fn(&&Group) -> bool, otherwise: Who) -> Who {
    match groups {
        Ok(groups) => groups
            .iter()
            .find(is_it)
            .map_or(otherwise, |group| Who::Group { members: group.members.iter().map(ToString::to_string).collect() }),
        Err(trouble) => Who::Unknown(trouble.clone()),
    }
}

fn channel(joined: crate::adapters::slack::client::Joined) -> Channel {
    Channel { id: joined.id, name: joined.name, archived: joined.is_archived }
}
