//! Channels that are notified besides the environment's own, by artefact, environment and state. A rule for the
//! environment's own channel selects the arrivals that it gets. Cards of changes are always posted there.

use std::collections::BTreeSet;

use crate::domain::change::Stage;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::glob;

/// The states of a deployment that a channel can subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubscribedState {
    Started,
    Deployed,
    Failed,
}

impl SubscribedState {
    pub const ALL: [Self; 3] = [Self::Started, Self::Deployed, Self::Failed];

    /// `None` while the change waits for approval, and if it ended without a deployment.
    pub fn from_stage(stage: &Stage) -> Option<Self> {
        match stage {
            Stage::Merging(_) | Stage::Deploying(_) => Some(Self::Started),
            Stage::Deployed { .. } => Some(Self::Deployed),
            Stage::Failed { .. } | Stage::Stalled { .. } | Stage::Conflicted { .. } | Stage::Errored { .. } => {
                Some(Self::Failed)
            }
            Stage::AwaitingApproval(_)
            | Stage::Rejected { .. }
            | Stage::Cancelled { .. }
            | Stage::Expired { .. }
            | Stage::Superseded { .. } => None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionRules(Vec<SubscriptionRule>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionRule {
    pub channel: String,
    /// Globs of names; empty means every artefact.
    pub artefacts: Vec<String>,
    /// Empty means every environment.
    pub environments: Vec<EnvironmentName>,
    pub states: BTreeSet<SubscribedState>,
}

/// A subscribed channel and its states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscribedChannel {
    pub channel: String,
    pub states: BTreeSet<SubscribedState>,
}

impl SubscriptionRule {
    fn is_match_for(&self, artefact: &ArtefactName, environment: &EnvironmentName) -> bool {
        let is_match = |name: &String| glob::is_path_match(name, artefact.as_str());
        (self.artefacts.is_empty() || self.artefacts.iter().any(is_match))
            && (self.environments.is_empty() || self.environments.contains(environment))
    }
}

impl SubscriptionRules {
    /// Every channel that a rule names.
    pub fn iter_channels(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|rule| rule.channel.as_str())
    }

    pub fn new(rules: Vec<SubscriptionRule>) -> Self {
        Self(rules)
    }

    /// The subscribed channels besides the environment's own, each once.
    pub fn subscribed_channels(&self, artefact: &ArtefactName, environment: &Environment) -> Vec<SubscribedChannel> {
        let mut channels: Vec<SubscribedChannel> = Vec::new();
        for rule in self.0.iter().filter(|rule| rule.is_match_for(artefact, &environment.name)) {
            if rule.channel == environment.channel {
                continue;
            }
            match channels.iter_mut().find(|subscribed| subscribed.channel == rule.channel) {
                Some(subscribed) => subscribed.states.extend(&rule.states),
                None => channels.push(SubscribedChannel { channel: rule.channel.clone(), states: rule.states.clone() }),
            }
        }
        channels
    }

    /// The same for several artefacts, with the artefacts of each channel.
    pub fn group_subscribed_channels(
        &self,
        artefacts: &[ArtefactName],
        environment: &Environment,
    ) -> Vec<(SubscribedChannel, Vec<ArtefactName>)> {
        let mut channels: Vec<(SubscribedChannel, Vec<ArtefactName>)> = Vec::new();
        for artefact in artefacts {
            for subscribed in self.subscribed_channels(artefact, environment) {
                match channels.iter_mut().find(|(existing, _)| existing.channel == subscribed.channel) {
                    Some((existing, existing_artefacts)) => {
                        existing.states.extend(subscribed.states);
                        existing_artefacts.push(artefact.clone());
                    }
                    None => channels.push((subscribed, vec![artefact.clone()])),
                }
            }
        }
        channels
    }

    /// The states of arrivals that the environment's own channel gets: deployed and failed, unless a rule for this
    /// channel names others.
    pub fn own_channel_states(&self, artefact: &ArtefactName, environment: &Environment) -> BTreeSet<SubscribedState> {
        let mut own = self
            .0
            .iter()
            .filter(|rule| rule.channel == environment.channel && rule.is_match_for(artefact, &environment.name))
            .peekable();
        match own.peek() {
            None => BTreeSet::from([SubscribedState::Deployed, SubscribedState::Failed]),
            Some(_) => own.flat_map(|rule| rule.states.iter().copied()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sample;

    fn rule(channel: &str, artefacts: &[&str], environments: &[&str], states: &[SubscribedState]) -> SubscriptionRule {
        SubscriptionRule {
            channel: channel.to_owned(),
            artefacts: artefacts.iter().map(|&name| name.to_owned()).collect(),
            environments: environments.iter().map(|name| EnvironmentName::new(name)).collect(),
            states: states.iter().copied().collect(),
        }
    }

    #[test]
    fn a_channel_subscribes_by_artefact_by_environment_or_by_both() {
        use SubscribedState::{Deployed, Failed, Started};
        let catalogue = sample::catalogue();
        let rules = SubscriptionRules::new(vec![
            rule("#checkout", &["checkout"], &[], &SubscribedState::ALL),
            rule("#shop", &["*out", "mail*"], &["prod"], &[Failed]),
            rule("#alarms", &[], &[], &[Failed]),
            rule("#shop", &[], &["prod"], &[Deployed]),
        ]);
        let find_channels = |artefact: &str, environment: &str| {
            let environment = catalogue.ladder.find(environment).unwrap();
            let channels = rules.subscribed_channels(&ArtefactName::new(artefact), environment);
            channels
                .into_iter()
                .map(|subscribed| (subscribed.channel, subscribed.states.into_iter().collect::<Vec<_>>()))
                .collect::<Vec<_>>()
        };
        let alarms = ("#alarms".to_owned(), vec![Failed]);
        let checkout = ("#checkout".to_owned(), vec![Started, Deployed, Failed]);
        let shop = ("#shop".to_owned(), vec![Deployed, Failed]);
        assert_eq!(find_channels("checkout", "qa"), [checkout.clone(), alarms.clone()]);
        assert_eq!(find_channels("checkout", "prod"), [checkout, shop.clone(), alarms.clone()]);
        assert_eq!(find_channels("search", "prod"), [alarms.clone(), ("#shop".to_owned(), vec![Deployed])]);
        assert_eq!(find_channels("mailer", "prod"), [shop, alarms]);
    }

    #[test]
    fn rules_limit_an_environments_own_channel_and_it_is_never_notified_twice() {
        let catalogue = sample::catalogue();
        let development = catalogue.ladder.environments().first().unwrap();
        let name = ArtefactName::new("checkout");
        let failures_only =
            SubscriptionRules::new(vec![rule(&development.channel, &[], &[], &[SubscribedState::Failed])]);
        assert_eq!(failures_only.subscribed_channels(&name, development), []);
        assert_eq!(failures_only.own_channel_states(&name, development), BTreeSet::from([SubscribedState::Failed]));
        let default_states = SubscriptionRules::default().own_channel_states(&name, development);
        assert_eq!(default_states, BTreeSet::from([SubscribedState::Deployed, SubscribedState::Failed]));
    }
}
