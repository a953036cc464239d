//! From the file's types to the domain's: what fits the schema and still makes no sense is found here.
//! Goes on after a finding, with whatever stands in for the wrong value, so that a person hears everything at once.

mod artefacts;
mod channels;
mod environments;
mod reports;

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::file::{self, Entries, File};
use super::problem::{Findings, Position, Wrong, wrong};
use super::tree::At;
use super::{Config, Github, ListTo, Registry, Slack, scalar};
use crate::domain::model::actor::PersonId;
use crate::domain::model::environment::{Catalogue, Ladder};

const USUAL_LOOK: SignedDuration = SignedDuration::from_mins(1);
const CLOSEST_LOOK: SignedDuration = SignedDuration::from_secs(10);
const RAREST_LOOK: SignedDuration = SignedDuration::from_hours(1);

/// What comes back must not be used where there are findings.
pub(super) fn validate(file: &File, findings: &mut Findings) -> Config {
    let mut check = Check { findings };
    let slack = check.slack(&file.slack);
    let github =
        Github { api_url: check.url(file.github.api_url.as_ref(), "https://api.github.com", scalar::base_url) };
    let registry = Registry {
        mirrors: check.mirrors(&file.registry.mirrors),
        docker_config: file.registry.docker_config.as_ref().and_then(|path| check.text(path, scalar::path)),
    };
    let kubeconfig = file.kubeconfig.as_ref().and_then(|path| check.text(path, scalar::path));
    let look_every = check.look_every(file.look_every.as_ref());
    let people = check.people(&file.people);
    let (rungs, environments) = check.environments(&file.environments, slack.channel.as_deref());
    let artefacts = check.artefacts(&file.artefacts, &rungs);
    let audience = check.channels(&file.channels, &rungs, &artefacts);
    let catalogue = Catalogue { ladder: Ladder::new(rungs), artefacts };
    let reports = check.rules(&file.reports, &catalogue);
    Config { slack, github, registry, kubeconfig, look_every, catalogue, environments, audience, reports, people }
}

struct Check<'a> {
    findings: &'a mut Findings,
}

impl Check<'_> {
    fn say(&mut self, at: Position, message: impl Into<String>, advice: impl Into<String>) {
        self.findings.add(at, wrong(message, advice));
    }

    /// What `check` makes of a text, or a finding at its place.
    fn text<T>(&mut self, text: &At<String>, check: impl FnOnce(&str) -> Result<T, Wrong>) -> Option<T> {
        check(&text.value).map_err(|wrong| self.findings.add(text.at, wrong)).ok()
    }

    fn texts<T>(&mut self, texts: &[At<String>], check: impl Fn(&str) -> Result<T, Wrong>) -> Vec<T> {
        texts.iter().filter_map(|text| self.text(text, &check)).collect()
    }

    /// The given URL, else `usual`, which is also the example for whoever wrote it wrongly.
    fn url(
        &mut self,
        given: Option<&At<String>>,
        usual: &str,
        check: impl FnOnce(&str, &str) -> Result<String, Wrong>,
    ) -> String {
        given.and_then(|text| self.text(text, |text| check(text, usual))).unwrap_or_else(|| usual.to_owned())
    }

    fn slack(&mut self, slack: &file::Slack) -> Slack {
        Slack {
            api_url: self.url(slack.api_url.as_ref(), "https://slack.com/api", scalar::base_url),
            hooks_origin: self.url(slack.hooks_origin.as_ref(), "https://hooks.slack.com", scalar::origin),
            // A wrong default is still a default: its environments need not be told that they have none.
            channel: slack
                .channel
                .as_ref()
                .map(|channel| self.text(channel, scalar::channel).unwrap_or_else(|| channel.value.clone())),
            list_to: match slack.list_to {
                file::ListTo::Person => ListTo::Person,
                file::ListTo::Channel => ListTo::Channel,
            },
        }
    }

    fn look_every(&mut self, given: Option<&At<String>>) -> SignedDuration {
        let check = |text: &str| match scalar::duration(text, RAREST_LOOK)? {
            often if often < CLOSEST_LOOK => Err(wrong(
                format!("`{text}` is too short"),
                "10 seconds are the least: watches and webhooks tell sooner",
            )),
            fine => Ok(fine),
        };
        given.and_then(|text| self.text(text, check)).unwrap_or(USUAL_LOOK)
    }

    fn mirrors(&mut self, mirrors: &Entries<At<String>>) -> BTreeMap<String, String> {
        let mut checked = BTreeMap::new();
        for (host, url) in &mirrors.0 {
            let host = self.text(host, scalar::registry_host);
            let url = self.text(url, |url| scalar::origin(url, "https://mirror.example.com"));
            checked.extend(host.zip(url));
        }
        checked
    }

    fn people(&mut self, people: &Entries<At<String>>) -> BTreeMap<PersonId, String> {
        let mut checked = BTreeMap::new();
        let mut logins: BTreeMap<String, Position> = BTreeMap::new();
        for (person, login) in &people.0 {
            if let Some(first) = logins.insert(login.value.to_ascii_lowercase(), login.at) {
                // Else one person could ask for a change and approve it under the other id.
                let advice = format!("line {} has it already; a login belongs to one person", first.line);
                self.say(login.at, format!("`{}` is two people's login", login.value), advice);
            }
            let person = self.text(person, scalar::person);
            let login = self.text(login, scalar::login);
            checked.extend(person.zip(login));
        }
        checked
    }
}
