//! Who else is told: channels apart from the environment's own, by artefact, environment and state. A rule for an
//! environment's own channel says which arrivals it wants to hear of; the card of a change stands there in any case.

use std::collections::BTreeSet;

use crate::domain::change::Stage;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::glob;

/// What can be told of a version on its way into an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Started,
    Deployed,
    Failed,
}

impl State {
    pub const ALL: [Self; 3] = [Self::Started, Self::Deployed, Self::Failed];

    /// `None` while it waits for somebody's yes, and where it came to nothing.
    pub fn of(stage: &Stage) -> Option<Self> {
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
pub struct Audience(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub channel: String,
    /// Globs of names; empty means every artefact.
    pub artefacts: Vec<String>,
    /// Empty means every environment.
    pub environments: Vec<EnvironmentName>,
    pub states: BTreeSet<State>,
}

/// A channel that listens, and to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ear {
    pub channel: String,
    pub states: BTreeSet<State>,
}

impl Rule {
    fn concerns(&self, artefact: &ArtefactName, environment: &EnvironmentName) -> bool {
        let named = |name: &String| glob::matches(name, artefact.as_str());
        (self.artefacts.is_empty() || self.artefacts.iter().any(named))
            && (self.environments.is_empty() || self.environments.contains(environment))
    }
}

impl Audience {
    /// Every channel that a rule names.
    pub fn channels(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|rule| rule.channel.as_str())
    }

    pub fn new(rules: Vec<Rule>) -> Self {
        Self(rules)
    }

    /// The channels that listen apart from the environment's own, each once.
    pub fn beside(&self, artefact: &ArtefactName, environment: &Environment) -> Vec<Ear> {
        let mut ears: Vec<Ear> = Vec::new();
        for rule in self.0.iter().filter(|rule| rule.concerns(artefact, &environment.name)) {
            if rule.channel == environment.channel {
                continue;
            }
            match ears.iter_mut().find(|ear| ear.channel == rule.channel) {
                Some(ear) => ear.states.extend(&rule.states),
                None => ears.push(Ear { channel: rule.channel.clone(), states: rule.states.clone() }),
            }
        }
        ears
    }

    /// The same for several artefacts, with those that each channel listens to.
    pub fn beside_of(&self, artefacts: &[ArtefactName], environment: &Environment) -> Vec<(Ear, Vec<ArtefactName>)> {
        let mut ears: Vec<(Ear, Vec<ArtefactName>)> = Vec::new();
        for artefact in artefacts {
            for ear in self.beside(artefact, environment) {
                match ears.iter_mut().find(|(known, _)| known.channel == ear.channel) {
                    Some((known, heard)) => {
                        known.states.extend(ear.states);
                        heard.push(artefact.clone());
                    }
                    None => ears.push((ear, vec![artefact.clone()])),
                }
            }
        }
        ears
    }

    /// Which arrivals the environment's own channel hears of: those that are over, unless a rule says otherwise.
    pub fn at_home(&self, artefact: &ArtefactName, environment: &Environment) -> BTreeSet<State> {
        let mut own = self
            .0
            .iter()
            .filter(|rule| rule.channel == environment.channel && rule.concerns(artefact, &environment.name))
            .peekable();
        match own.peek() {
            None => BTreeSet::from([State::Deployed, State::Failed]),
            Some(_) => own.flat_map(|rule| rule.states.iter().copied()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sample;

    fn rule(channel: &str, artefacts: &[&str], environments: &[&str], states: &[State]) -> Rule {
        Rule {
            channel: channel.to_owned(),
            artefacts: artefacts.iter().map(|&name| name.to_owned()).collect(),
            environments: environments.iter().map(|name| EnvironmentName::new(name)).collect(),
            states: states.iter().copied().collect(),
        }
    }

    #[test]
    fn a_channel_listens_by_artefact_by_environment_or_by_both() {
        use State::{Deployed, Failed, Started};
        let catalogue = sample::catalogue();
        let audience = Audience::new(vec![
            rule("#checkout", &["checkout"], &[], &State::ALL),
            rule("#shop", &["*out", "mail*"], &["prod"], &[Failed]),
            rule("#alarms", &[], &[], &[Failed]),
            rule("#shop", &[], &["prod"], &[Deployed]),
        ]);
        let heard = |artefact: &str, environment: &str| {
            let environment = catalogue.ladder.find(environment).unwrap();
            let ears = audience.beside(&ArtefactName::new(artefact), environment);
            ears.into_iter().map(|ear| (ear.channel, ear.states.into_iter().collect::<Vec<_>>())).collect::<Vec<_>>()
        };
        let alarms = ("#alarms".to_owned(), vec![Failed]);
        let checkout = ("#checkout".to_owned(), vec![Started, Deployed, Failed]);
        let shop = ("#shop".to_owned(), vec![Deployed, Failed]);
        assert_eq!(heard("checkout", "qa"), [checkout.clone(), alarms.clone()]);
        assert_eq!(heard("checkout", "prod"), [checkout, shop.clone(), alarms.clone()]);
        assert_eq!(heard("search", "prod"), [alarms.clone(), ("#shop".to_owned(), vec![Deployed])]);
        assert_eq!(heard("mailer", "prod"), [shop, alarms]);
    }

    #[test]
    fn an_environments_own_channel_is_narrowed_by_its_rules_and_never_told_twice() {
        let catalogue = sample::catalogue();
        let development = catalogue.ladder.rungs().first().unwrap();
        let name = ArtefactName::new("checkout");
        let quiet = Audience::new(vec![rule(&development.channel, &[], &[], &[State::Failed])]);
        assert_eq!(quiet.beside(&name, development), []);
        assert_eq!(quiet.at_home(&name, development), BTreeSet::from([State::Failed]));
        let usual = Audience::default().at_home(&name, development);
        assert_eq!(usual, BTreeSet::from([State::Deployed, State::Failed]));
    }
}
