//! Who else is told.

use super::Check;
use super::artefacts::instead;
use crate::config::tree::At;
use crate::config::{file, scalar};
use crate::domain::change::subscription::{SubscribedState, SubscriptionRule, SubscriptionRules};
use crate::domain::model::artefact::Artefact;
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::glob;
use crate::domain::model::nearest::find_nearest;

impl Check<'_> {
    pub(super) fn channels(
        &mut self,
        file: &[file::Listener],
        rungs: &[Environment],
        artefacts: &[Artefact],
    ) -> SubscriptionRules {
        let rules = file.iter().map(|rule| self.channel_rule(rule, rungs, artefacts)).collect();
        SubscriptionRules::new(rules)
    }

    fn channel_rule(
        &mut self,
        file: &file::Listener,
        rungs: &[Environment],
        artefacts: &[Artefact],
    ) -> SubscriptionRule {
        let states = match &file.states {
            None => SubscribedState::ALL.into_iter().collect(),
            Some(states) => {
                if states.value.is_empty() {
                    let advice =
                        "name some of `started`, `deployed` and `failed`, or leave `states` out to hear of all";
                    self.say(states.at, "the list of states is empty", advice);
                }
                states.value.iter().map(|state| SubscribedState::from(*state)).collect()
            }
        };
        for pattern in &file.artefacts {
            self.artefact_pattern(pattern, artefacts);
        }
        SubscriptionRule {
            channel: self.text(&file.channel, scalar::channel).unwrap_or_default(),
            artefacts: file.artefacts.iter().map(|pattern| pattern.value.clone()).collect(),
            environments: file.environments.iter().filter_map(|name| self.known_environment(name, rungs)).collect(),
            states,
        }
    }

    /// A name, or a glob of names, that nothing is called by is a slip of the pen.
    fn artefact_pattern(&mut self, pattern: &At<String>, artefacts: &[Artefact]) {
        let names = || artefacts.iter().map(|artefact| artefact.name.as_str());
        if names().any(|name| glob::is_path_match(&pattern.value, name)) {
            return;
        }
        let advice = match find_nearest(&pattern.value, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write the name of an artefact, or a pattern such as `shop-*`".to_owned(),
        };
        self.say(pattern.at, format!("no artefact is called `{}`", pattern.value), advice);
    }

    fn known_environment(&mut self, name: &At<String>, rungs: &[Environment]) -> Option<EnvironmentName> {
        let is = |known: &str| known.eq_ignore_ascii_case(&name.value);
        let found = rungs.iter().find(|rung| is(rung.name.as_str()) || rung.aliases.iter().any(|alias| is(alias)));
        if let Some(rung) = found {
            return Some(rung.name.clone());
        }
        self.say(name.at, format!("`{}` is not an environment", name.value), instead(&name.value, rungs));
        None
    }
}

impl From<file::State> for SubscribedState {
    fn from(state: file::State) -> Self {
        match state {
            file::State::Started => Self::Started,
            file::State::Deployed => Self::Deployed,
            file::State::Failed => Self::Failed,
        }
    }
}
