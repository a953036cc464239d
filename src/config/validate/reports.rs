//! Validates the rules that assign reports to artefacts.

use super::Validator;
use super::artefacts::suggest_environment;
use crate::config::tree::Located;
use crate::config::{file, scalar};
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::catalogue::Catalogue;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::nearest::find_nearest;
use crate::domain::runtime::attribution::AttributionRule;

impl Validator<'_> {
    pub(super) fn validate_attribution_rules(
        &mut self,
        file: &[Located<file::RawAttributionRule>],
        catalogue: &Catalogue,
    ) -> Vec<AttributionRule> {
        file.iter().map(|rule| self.validate_attribution_rule(rule, catalogue)).collect()
    }

    fn validate_attribution_rule(
        &mut self,
        file: &Located<file::RawAttributionRule>,
        catalogue: &Catalogue,
    ) -> AttributionRule {
        let Located { value: rule, position } = file;
        let [kind, namespace, name] = [&rule.kind, &rule.namespace, &rule.name]
            .map(|glob| glob.as_ref().and_then(|glob| self.parse_text(glob, scalar::parse_name_glob)));
        if rule.kind.is_none() && rule.namespace.is_none() && rule.name.is_none() {
            let advice = "add a `kind`, a `namespace` or a `name`; without them the rule would match every report";
            self.add_problem(*position, "the rule names no object", advice);
        }
        if rule.artefacts.value.is_empty() {
            self.add_problem(
                rule.artefacts.position,
                "the rule names no artefact",
                "name at least one under `artefacts`",
            );
        }
        let environments = self.validate_rule_environments(&rule.environments, catalogue);
        let artefacts = self.validate_rule_artefacts(&rule.artefacts.value, &environments, catalogue);
        AttributionRule { kind, namespace, name, environments, artefacts }
    }

    fn validate_rule_environments(&mut self, file: &[Located<String>], catalogue: &Catalogue) -> Vec<EnvironmentName> {
        let mut environments = Vec::new();
        for text in file {
            match catalogue.ladder.find(&text.value) {
                Some(environment) if environments.contains(&environment.name) => {
                    self.add_problem(text.position, format!("`{}` is listed twice", text.value), "keep one");
                }
                Some(environment) => environments.push(environment.name.clone()),
                None => {
                    let advice = suggest_environment(&text.value, catalogue.ladder.environments());
                    self.add_problem(text.position, format!("`{}` is not an environment", text.value), advice);
                }
            }
        }
        environments
    }

    fn validate_rule_artefacts(
        &mut self,
        file: &[Located<String>],
        environments: &[EnvironmentName],
        catalogue: &Catalogue,
    ) -> Vec<ArtefactName> {
        let is_in_rule_environments = |artefact: &Artefact| {
            environments.is_empty() || environments.iter().any(|name| artefact.places.contains_key(name))
        };
        let mut artefacts = Vec::new();
        for text in file {
            let found = catalogue.artefacts.iter().find(|artefact| artefact.name.as_str() == text.value);
            match found {
                Some(artefact) if artefacts.contains(&artefact.name) => {
                    self.add_problem(text.position, format!("`{}` is listed twice", text.value), "keep one");
                }
                Some(artefact) if !is_in_rule_environments(artefact) => {
                    let message = format!("`{}` is in none of the rule's environments", text.value);
                    self.add_problem(text.position, message, "remove it here, or name an environment that runs it");
                }
                Some(artefact) => artefacts.push(artefact.name.clone()),
                None => {
                    let nearest =
                        find_nearest(&text.value, catalogue.artefacts.iter().map(|artefact| artefact.name.as_str()));
                    let advice = nearest.map_or_else(
                        || "use the name of an artefact from the list `artefacts`".to_owned(),
                        |nearest| format!("did you mean `{nearest}`?"),
                    );
                    self.add_problem(text.position, format!("`{}` is not an artefact", text.value), advice);
                }
            }
        }
        artefacts
    }
}
