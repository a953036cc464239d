//! The rules that say whom a report is about.

use super::Check;
use super::artefacts::instead;
use crate::config::tree::At;
use crate::config::{file, scalar};
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::{Catalogue, EnvironmentName};
use crate::domain::model::nearest::find_nearest;
use crate::domain::runtime::attribution::AttributionRule;

impl Check<'_> {
    pub(super) fn rules(&mut self, file: &[At<file::Rule>], catalogue: &Catalogue) -> Vec<AttributionRule> {
        file.iter().map(|one| self.rule(one, catalogue)).collect()
    }

    fn rule(&mut self, file: &At<file::Rule>, catalogue: &Catalogue) -> AttributionRule {
        let At { value: rule, at } = file;
        let [kind, namespace, name] = [&rule.kind, &rule.namespace, &rule.name]
            .map(|glob| glob.as_ref().and_then(|glob| self.text(glob, scalar::name_glob)));
        if rule.kind.is_none() && rule.namespace.is_none() && rule.name.is_none() {
            let advice = "give it a `kind`, a `namespace` or a `name`, else it would be for every report";
            self.say(*at, "the rule is for no object", advice);
        }
        if rule.artefacts.value.is_empty() {
            self.say(rule.artefacts.at, "the rule names no artefact", "name at least one under `artefacts`");
        }
        let environments = self.rule_environments(&rule.environments, catalogue);
        let artefacts = self.rule_artefacts(&rule.artefacts.value, &environments, catalogue);
        AttributionRule { kind, namespace, name, environments, artefacts }
    }

    fn rule_environments(&mut self, file: &[At<String>], catalogue: &Catalogue) -> Vec<EnvironmentName> {
        let mut environments = Vec::new();
        for text in file {
            match catalogue.ladder.find(&text.value) {
                Some(rung) if environments.contains(&rung.name) => {
                    self.say(text.at, format!("`{}` is listed twice", text.value), "keep one");
                }
                Some(rung) => environments.push(rung.name.clone()),
                None => {
                    let advice = instead(&text.value, catalogue.ladder.environments());
                    self.say(text.at, format!("`{}` is not an environment", text.value), advice);
                }
            }
        }
        environments
    }

    fn rule_artefacts(
        &mut self,
        file: &[At<String>],
        environments: &[EnvironmentName],
        catalogue: &Catalogue,
    ) -> Vec<ArtefactName> {
        let is_there = |artefact: &Artefact| {
            environments.is_empty() || environments.iter().any(|name| artefact.places.contains_key(name))
        };
        let mut artefacts = Vec::new();
        for text in file {
            let found = catalogue.artefacts.iter().find(|artefact| artefact.name.as_str() == text.value);
            match found {
                Some(artefact) if artefacts.contains(&artefact.name) => {
                    self.say(text.at, format!("`{}` is listed twice", text.value), "keep one");
                }
                Some(artefact) if !is_there(artefact) => {
                    let message = format!("`{}` is in none of the rule's environments", text.value);
                    self.say(text.at, message, "remove it here, or name an environment that has it");
                }
                Some(artefact) => artefacts.push(artefact.name.clone()),
                None => {
                    let near =
                        find_nearest(&text.value, catalogue.artefacts.iter().map(|artefact| artefact.name.as_str()));
                    let advice = near.map_or_else(
                        || "name one that stands under `artefacts`".to_owned(),
                        |near| format!("did you mean `{near}`?"),
                    );
                    self.say(text.at, format!("`{}` is not an artefact", text.value), advice);
                }
            }
        }
        artefacts
    }
}
