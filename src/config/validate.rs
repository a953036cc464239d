//! Converts the raw types to domain types, and finds the errors that the schema cannot express.
//! Continues after a finding with a substitute for the wrong value, so that all errors are reported at once.

mod artefacts;
mod channels;
mod environments;
mod reports;

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::file::{self, LocatedMap, RawConfig};
use super::problem::{Findings, Position, ProblemDescription, describe_problem};
use super::tree::Located;
use super::{Config, GithubConfig, ListVisibility, RegistryConfig, SlackConfig, scalar};
use crate::domain::model::actor::PersonId;
use crate::domain::model::catalogue::{Catalogue, Ladder};

const DEFAULT_LOOK_EVERY: SignedDuration = SignedDuration::from_mins(1);
const MIN_LOOK_EVERY: SignedDuration = SignedDuration::from_secs(10);
const MAX_LOOK_EVERY: SignedDuration = SignedDuration::from_hours(1);

/// The returned configuration must not be used if there are findings.
pub(super) fn validate_config(file: &RawConfig, findings: &mut Findings) -> Config {
    let mut validator = Validator { findings };
    let slack = validator.validate_slack(&file.slack);
    let github = GithubConfig {
        api_url: validator.parse_url_or_default(
            file.github.api_url.as_ref(),
            "https://api.github.com",
            scalar::parse_base_url,
        ),
    };
    let registry = RegistryConfig {
        mirrors: validator.validate_mirrors(&file.registry.mirrors),
        docker_config: file
            .registry
            .docker_config
            .as_ref()
            .and_then(|path| validator.parse_text(path, scalar::parse_path)),
    };
    let kubeconfig = file.kubeconfig.as_ref().and_then(|path| validator.parse_text(path, scalar::parse_path));
    let look_every = validator.validate_look_every(file.look_every.as_ref());
    let people = validator.validate_people(&file.people);
    let environments = validator.validate_environments(&file.environments, slack.channel.as_deref());
    let artefacts = validator.validate_artefacts(&file.artefacts, &environments.ladder);
    let audience = validator.validate_channels(&file.channels, &environments.ladder, &artefacts);
    let catalogue = Catalogue { ladder: Ladder::new(environments.ladder), artefacts };
    let reports = validator.validate_attribution_rules(&file.reports, &catalogue);
    Config {
        slack,
        github,
        registry,
        kubeconfig,
        look_every,
        catalogue,
        webhook_secrets: environments.webhook_secrets,
        triggers: environments.triggers,
        audience,
        attribution_rules: reports,
        github_logins: people,
    }
}

struct Validator<'a> {
    findings: &'a mut Findings,
}

impl Validator<'_> {
    fn add_problem(&mut self, position: Position, message: impl Into<String>, advice: impl Into<String>) {
        self.findings.add(position, describe_problem(message, advice));
    }

    /// Applies `check` to a text. An error becomes a finding at the position of the text.
    fn parse_text<T>(
        &mut self,
        text: &Located<String>,
        check: impl FnOnce(&str) -> Result<T, ProblemDescription>,
    ) -> Option<T> {
        check(&text.value).map_err(|problem| self.findings.add(text.position, problem)).ok()
    }

    fn parse_texts<T>(
        &mut self,
        texts: &[Located<String>],
        check: impl Fn(&str) -> Result<T, ProblemDescription>,
    ) -> Vec<T> {
        texts.iter().filter_map(|text| self.parse_text(text, &check)).collect()
    }

    /// The given URL, or `default`. `default` is also the example in the advice.
    fn parse_url_or_default(
        &mut self,
        given: Option<&Located<String>>,
        default: &str,
        check: impl FnOnce(&str, &str) -> Result<String, ProblemDescription>,
    ) -> String {
        given.and_then(|text| self.parse_text(text, |text| check(text, default))).unwrap_or_else(|| default.to_owned())
    }

    fn validate_slack(&mut self, slack: &file::RawSlack) -> SlackConfig {
        SlackConfig {
            api_url: self.parse_url_or_default(slack.api_url.as_ref(), "https://slack.com/api", scalar::parse_base_url),
            hooks_origin: self.parse_url_or_default(
                slack.hooks_origin.as_ref(),
                "https://hooks.slack.com",
                scalar::parse_origin,
            ),
            // An invalid default channel is kept, so that the environments are not also reported as without a channel.
            channel: slack.channel.as_ref().map(|channel| {
                self.parse_text(channel, scalar::parse_channel).unwrap_or_else(|| channel.value.clone())
            }),
            list_to: match slack.list_to {
                file::RawListVisibility::Person => ListVisibility::Person,
                file::RawListVisibility::Channel => ListVisibility::Channel,
            },
        }
    }

    fn validate_look_every(&mut self, given: Option<&Located<String>>) -> SignedDuration {
        let check = |text: &str| match scalar::parse_duration(text, MAX_LOOK_EVERY)? {
            interval if interval < MIN_LOOK_EVERY => Err(describe_problem(
                format!("`{text}` is too short"),
                "use at least 10 seconds: watches and webhooks report changes sooner",
            )),
            interval => Ok(interval),
        };
        given.and_then(|text| self.parse_text(text, check)).unwrap_or(DEFAULT_LOOK_EVERY)
    }

    fn validate_mirrors(&mut self, mirrors: &LocatedMap<Located<String>>) -> BTreeMap<String, String> {
        let mut checked = BTreeMap::new();
        for (host, url) in &mirrors.0 {
            let host = self.parse_text(host, scalar::parse_registry_host);
            let url = self.parse_text(url, |url| scalar::parse_origin(url, "https://mirror.example.com"));
            checked.extend(host.zip(url));
        }
        checked
    }

    fn validate_people(&mut self, people: &LocatedMap<Located<String>>) -> BTreeMap<PersonId, String> {
        let mut checked = BTreeMap::new();
        let mut logins: BTreeMap<String, Position> = BTreeMap::new();
        for (person, login) in &people.0 {
            if let Some(first) = logins.insert(login.value.to_ascii_lowercase(), login.position) {
                // Otherwise one person could request a change and approve it under the other id.
                let advice = format!("line {} has the same login; a login belongs to one person", first.line);
                self.add_problem(login.position, format!("`{}` is the login of two people", login.value), advice);
            }
            let person = self.parse_text(person, scalar::parse_person);
            let login = self.parse_text(login, scalar::parse_login);
            checked.extend(person.zip(login));
        }
        checked
    }
}
