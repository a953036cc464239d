//! Validates the rules for additional channels.

use super::Validator;
use super::artefacts::suggest_environment;
use crate::config::tree::Located;
use crate::config::{file, scalar};
use crate::domain::change::subscription::{SubscribedState, SubscriptionRule, SubscriptionRules};
use crate::domain::model::artefact::Artefact;
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::glob;
use crate::domain::model::nearest::find_nearest;

impl Validator<'_> {
    pub(super) fn validate_channels(
        &mut self,
        file: &[file::RawSubscriptionRule],
        ladder: &[Environment],
        artefacts: &[Artefact],
    ) -> SubscriptionRules {
        let rules = file.iter().map(|rule| self.validate_subscription_rule(rule, ladder, artefacts)).collect();
        SubscriptionRules::new(rules)
    }

    fn validate_subscription_rule(
        &mut self,
        file: &file::RawSubscriptionRule,
        ladder: &[Environment],
        artefacts: &[Artefact],
    ) -> SubscriptionRule {
        let states = match &file.states {
            None => SubscribedState::ALL.into_iter().collect(),
            Some(states) => {
                if states.value.is_empty() {
                    let advice =
                        "name some of `started`, `deployed` and `failed`, or remove `states` to get all of them";
                    self.add_problem(states.position, "the list of states is empty", advice);
                }
                states.value.iter().map(|state| SubscribedState::from(*state)).collect()
            }
        };
        for pattern in &file.artefacts {
            self.check_artefact_pattern(pattern, artefacts);
        }
        SubscriptionRule {
            channel: self.parse_text(&file.channel, scalar::parse_channel).unwrap_or_default(),
            artefacts: file.artefacts.iter().map(|pattern| pattern.value.clone()).collect(),
            environments: file.environments.iter().filter_map(|name| self.resolve_environment(name, ladder)).collect(),
            states,
        }
    }

    /// A name or glob that matches no artefact is a typing error.
    fn check_artefact_pattern(&mut self, pattern: &Located<String>, artefacts: &[Artefact]) {
        let names = || artefacts.iter().map(|artefact| artefact.name.as_str());
        if names().any(|name| glob::is_path_match(&pattern.value, name)) {
            return;
        }
        let advice = match find_nearest(&pattern.value, names()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "write the name of an artefact, or a pattern such as `shop-*`".to_owned(),
        };
        self.add_problem(pattern.position, format!("no artefact matches `{}`", pattern.value), advice);
    }

    fn resolve_environment(&mut self, name: &Located<String>, ladder: &[Environment]) -> Option<EnvironmentName> {
        let is_same_name = |other: &str| other.eq_ignore_ascii_case(&name.value);
        let found = ladder.iter().find(|environment| {
            is_same_name(environment.name.as_str()) || environment.aliases.iter().any(|alias| is_same_name(alias))
        });
        if let Some(environment) = found {
            return Some(environment.name.clone());
        }
        self.add_problem(
            name.position,
            format!("`{}` is not an environment", name.value),
            suggest_environment(&name.value, ladder),
        );
        None
    }
}

impl From<file::RawSubscribedState> for SubscribedState {
    fn from(state: file::RawSubscribedState) -> Self {
        match state {
            file::RawSubscribedState::Started => Self::Started,
            file::RawSubscribedState::Deployed => Self::Deployed,
            file::RawSubscribedState::Failed => Self::Failed,
        }
    }
}
