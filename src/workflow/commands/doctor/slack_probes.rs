//! What Slack tells of our token, of the channels, and of whom the rules name; and the request to a Gantry that serves.

use std::collections::{BTreeMap, BTreeSet};

use super::run::ClockReading;
use super::run::{ProbeResult, RedactedUrl};
use super::slack::{self, Channel, ResolvedPrincipal, RulePrincipal, SignatureProbe, Workspace};
use crate::adapters::slack::client::{Client, UserGroup, required_scopes};
use crate::adapters::slack::signature_probe;
use crate::adapters::slack::signature_probe::SignatureProbeResult;
use crate::domain::doctor::HealthCheck;
use crate::domain::model::actor::{Member, PersonId, Role};

use super::run::DoctorRun;

impl DoctorRun<'_> {
    pub(super) async fn check_slack(&self, url: Option<&str>) -> (Vec<HealthCheck>, Vec<ClockReading>) {
        let Some(client) = &self.doctor.slack else {
            let unset = !self.doctor.secrets.is_any_set(&["SLACK_BOT_TOKEN"]);
            let checks = unset
                .then(slack::explain_missing_token)
                .into_iter()
                .chain(slack::check_signing_secret(&self.probe_signature(url).await));
            return (checks.collect(), Vec::new());
        };
        let (token, trip) = tokio::join!(self.limit_time(client.inspect_token()), self.probe_signature(url));
        let heard = token.as_ref().ok().and_then(|token| self.build_clock_reading("Slack", token.date));
        let workspace = token.map(|token| Workspace { name: token.team, bot: token.bot, scopes: token.scopes });
        let mut checks = vec![slack::check_token(&workspace)];
        let (joined, named, sockets) = tokio::join!(
            async { if workspace.is_ok() { Some(self.limit_time(client.list_joined_channels()).await) } else { None } },
            async { if workspace.is_ok() { self.resolve_rule_members(client).await } else { Vec::new() } },
            self.probe_app_token(client),
        );
        if let Ok(workspace) = &workspace {
            checks.push(slack::check_scopes(workspace.scopes.as_deref(), &required_scopes()));
            let joined = joined.map(|joined| joined.map(|all| all.into_iter().map(to_channel).collect()));
            if let Some(joined) = joined {
                checks.extend(slack::check_channels(&self.list_configured_channels(), &joined, &workspace.bot));
            }
            checks.extend(slack::check_principals(&named));
            checks.extend(self.check_approvers(&named));
        }
        checks.extend(slack::check_signing_secret(&trip));
        checks.extend(slack::check_app_token(sockets.as_ref()));
        (checks, heard.into_iter().collect())
    }

    async fn probe_app_token(&self, client: &Client) -> Option<ProbeResult<()>> {
        let token = self.doctor.secrets.slack_app_token.as_ref()?;
        Some(self.limit_time(client.check_app_token(token)).await)
    }

    async fn probe_signature(&self, url: Option<&str>) -> SignatureProbe {
        let secrets = &self.doctor.secrets;
        let url = url.map(|url| {
            let url = url.split(['?', '#']).next().unwrap_or(url);
            format!("{}/slack/events", url.trim_end_matches('/').trim_end_matches("/slack/events"))
        });
        let secret = match &secrets.slack_signing_secret {
            Some(secret) => secret,
            None if secrets.is_any_set(&["SLACK_SIGNING_SECRET"]) => return SignatureProbe::UnusableSecret,
            None if secrets.is_any_set(&["SLACK_APP_TOKEN"]) => {
                return SignatureProbe::SocketMode { untried: url.as_deref().map(RedactedUrl::from_url) };
            }
            None => return SignatureProbe::NoSecret,
        };
        let Some(url) = url else { return SignatureProbe::NotProbed };
        let shown = RedactedUrl::from_url(&url);
        match signature_probe::probe_signature(&url, secret, &self.doctor.clock).await {
            SignatureProbeResult::Accepted => SignatureProbe::Accepted(shown),
            SignatureProbeResult::Refused(status) => SignatureProbe::Refused { url: shown, status },
            SignatureProbeResult::Unreachable(why) => SignatureProbe::Unreachable { url: shown, why },
        }
    }

    /// Every channel that is written to, as it is configured.
    fn list_configured_channels(&self) -> Vec<String> {
        let config = &self.doctor.config;
        let own = config.catalogue.ladder.environments().iter().map(|rung| rung.channel.clone());
        let all: BTreeSet<String> = own.chain(config.audience.iter_channels().map(str::to_owned)).collect();
        all.into_iter().collect()
    }

    /// Whom the rules name, each once for a rule.
    async fn resolve_rule_members(&self, client: &Client) -> Vec<RulePrincipal> {
        let mut rules: Vec<(String, &Member)> = Vec::new();
        for (environment, policy) in &self.doctor.config.policies {
            let approvers = policy.approvals.iter().flat_map(|approvals| &approvals.approvers);
            rules.extend(approvers.map(|member| (format!("{environment}'s approvals"), member)));
            rules.extend(policy.promoters.iter().map(|member| (format!("{environment}'s promoters"), member)));
            rules.extend(policy.overriders.iter().map(|member| (format!("{environment}'s overriders"), member)));
        }
        let by_group = |(_, member): &(String, &Member)| matches!(member, Member::Handle(_) | Member::Group(_));
        let groups =
            if rules.iter().any(by_group) { self.limit_time(client.list_user_groups()).await } else { Ok(Vec::new()) };
        let mut people: BTreeMap<PersonId, ResolvedPrincipal> = BTreeMap::new();
        for (_, member) in &rules {
            if let Member::Person(person) = member
                && !people.contains_key(person)
            {
                let who = match self.limit_time(client.fetch_account(person)).await {
                    Ok(Some(account)) if account.role == Role::Member => {
                        ResolvedPrincipal::Person { id: person.to_string() }
                    }
                    Ok(_) => ResolvedPrincipal::NoPerson,
                    Err(trouble) => ResolvedPrincipal::Unknown(trouble),
                };
                people.insert(person.clone(), who);
            }
        }
        rules
            .into_iter()
            .map(|(rule, member)| {
                let (written, who) = match member {
                    Member::Handle(handle) => {
                        let found = |group: &&UserGroup| group.handle.eq_ignore_ascii_case(handle);
                        (format!("@{handle}"), resolve_group(&groups, found, ResolvedPrincipal::Handle))
                    }
                    Member::Group(id) => {
                        (id.clone(), resolve_group(&groups, |group| group.id == *id, ResolvedPrincipal::NoGroup))
                    }
                    Member::Person(id) => {
                        (id.to_string(), people.get(id).cloned().unwrap_or(ResolvedPrincipal::NoPerson))
                    }
                    Member::Team { organisation, team } => (format!("{organisation}/{team}"), ResolvedPrincipal::Team),
                };
                RulePrincipal { written, rule, resolved: who }
            })
            .collect()
    }

    fn check_approvers(&self, named: &[RulePrincipal]) -> Vec<HealthCheck> {
        let of =
            |(environment, policy): (&crate::domain::model::environment::EnvironmentName, &crate::config::Policy)| {
                let approvals = policy.approvals.as_ref()?;
                let rule = format!("{environment}'s approvals");
                let from: Vec<&RulePrincipal> = named.iter().filter(|named| named.rule == rule).collect();
                slack::check_approver_count(environment.as_str(), approvals.required, &from)
            };
        self.doctor.config.policies.iter().filter_map(of).collect()
    }
}

fn resolve_group(
    groups: &ProbeResult<Vec<UserGroup>>,
    is_it: impl Fn(&&UserGroup) -> bool,
    otherwise: ResolvedPrincipal,
) -> ResolvedPrincipal {
    match groups {
        Ok(groups) => groups.iter().find(is_it).map_or(otherwise, |group| ResolvedPrincipal::Group {
            members: group.members.iter().map(ToString::to_string).collect(),
        }),
        Err(trouble) => ResolvedPrincipal::Unknown(trouble.clone()),
    }
}

fn to_channel(joined: crate::adapters::slack::client::JoinedChannel) -> Channel {
    Channel { id: joined.id, name: joined.name, archived: joined.is_archived }
}
