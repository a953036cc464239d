//! Finds the artefacts of a report: by its own content, by a rule, by the objects that applied workloads in the
//! cluster, or by name. A report without an artefact gets a reason and a repair.

use std::sync::Arc;

use crate::domain::model::artefact::{Artefact, ArtefactName, Place};
use crate::domain::model::catalogue::Catalogue;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::glob::is_name_match;
use crate::domain::model::nearest::find_nearest;
use crate::domain::model::version::{Image, Version};

mod subject;
mod unmapped;

pub use subject::{AttributionSubject, ControllerObject};
use subject::{MAX_NAME_LENGTH, truncate_text};
pub use unmapped::{UnmappedReason, UnmappedReport, UnmappedReportGroup};

/// The maximum number of images of one report that are checked.
const MAX_IMAGES: usize = 100;
/// Maps reports about some objects to artefacts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributionRule {
    /// Globs. At least one of the three is set.
    pub kind: Option<String>,
    pub namespace: Option<String>,
    pub name: Option<String>,
    /// Empty means all environments.
    pub environments: Vec<EnvironmentName>,
    pub artefacts: Vec<ArtefactName>,
}

impl AttributionRule {
    fn is_match(&self, object: &ControllerObject, environment: &EnvironmentName) -> bool {
        let matches_glob =
            |glob: &Option<String>, text: &str| glob.as_ref().is_none_or(|glob| is_name_match(glob, text));
        matches_glob(&self.kind, &object.kind)
            && matches_glob(&self.namespace, &object.namespace)
            && matches_glob(&self.name, &object.name)
            && (self.environments.is_empty() || self.environments.contains(environment))
    }
}

/// The cluster's data on an artefact in a place: the objects that applied its workloads, and the running version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedWorkload {
    /// The references of controller objects.
    pub applied_by: Vec<Arc<str>>,
    pub version: Option<Version>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributionMethod {
    /// The report names the artefact.
    ReportedName,
    Image,
    Repository,
    Rule,
    /// According to the cluster, the object applied the artefact's workloads.
    Cluster,
    /// The object has the name of the artefact.
    ObjectName,
}

impl AttributionMethod {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReportedName => "named",
            Self::Image => "image",
            Self::Repository => "repository",
            Self::Rule => "rule",
            Self::Cluster => "cluster",
            Self::ObjectName => "name",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribution {
    /// Never empty.
    pub artefacts: Vec<ArtefactName>,
    pub method: AttributionMethod,
}

/// The data for the attribution of a report.
#[derive(Clone, Copy)]
pub struct ReportAttributor<'a> {
    pub catalogue: &'a Catalogue,
    pub rules: &'a [AttributionRule],
    /// Looks up an artefact in the cluster.
    pub applied: &'a dyn Fn(&Artefact, &Place) -> AppliedWorkload,
}

impl ReportAttributor<'_> {
    /// Tries in this order: the artefact that the report names, the rules, images and repositories, the cluster, and
    /// the name of the object.
    pub fn attribute_report(&self, subject: &AttributionSubject<'_>) -> Result<Attribution, UnmappedReason> {
        if let Some(name) = subject.artefact {
            return self.attribute_by_name(name, subject.environment);
        }
        if let Some(object) = &subject.object
            && let Some(found) = self.attribute_by_rule(object, subject.environment)?
        {
            return Ok(found);
        }
        let (by_image, absent) = self.attribute_by_image(subject);
        if let Some(found) = by_image.or_else(|| self.attribute_by_repository(subject)) {
            return Ok(found);
        }
        if let Some(object) = &subject.object
            && let Some(found) = self.attribute_by_object(object, subject.environment)?
        {
            return Ok(found);
        }
        if let Some(artefact) = absent {
            return Err(UnmappedReason::NotInEnvironment { artefact });
        }
        Err(match (subject.images.first(), subject.repository, &subject.object) {
            (Some(image), ..) => {
                UnmappedReason::UnknownImage { image: truncate_text(image, MAX_NAME_LENGTH).into_owned() }
            }
            (_, Some(repository), _) => UnmappedReason::UnknownRepository { repository: repository.clone() },
            (_, _, Some(object)) => UnmappedReason::NothingApplied { object: object.clone() },
            _ => UnmappedReason::NothingNamed,
        })
    }

    fn attribute_by_name(&self, name: &str, environment: &EnvironmentName) -> Result<Attribution, UnmappedReason> {
        let names = || self.catalogue.artefacts.iter().map(|artefact| artefact.name.as_str());
        let Some(artefact) = self.catalogue.artefacts.iter().find(|artefact| artefact.name.as_str() == name) else {
            let suggestion = find_nearest(name, names()).map(ArtefactName::new);
            return Err(UnmappedReason::UnknownArtefact {
                name: truncate_text(name, MAX_NAME_LENGTH).into_owned(),
                suggestion,
            });
        };
        if !artefact.places.contains_key(environment) {
            return Err(UnmappedReason::NotInEnvironment { artefact: artefact.name.clone() });
        }
        Ok(Attribution { artefacts: vec![artefact.name.clone()], method: AttributionMethod::ReportedName })
    }

    /// The second value is an artefact with one of the images. It is for the error if no such artefact is in the
    /// environment.
    fn attribute_by_image(&self, subject: &AttributionSubject<'_>) -> (Option<Attribution>, Option<ArtefactName>) {
        let mut found: Vec<ArtefactName> = Vec::new();
        let mut absent = None;
        for text in subject.images.iter().take(MAX_IMAGES) {
            let image = Image::parse(text);
            let artefacts_with_image =
                || self.catalogue.artefacts.iter().filter(|artefact| artefact.image == image.name);
            let candidates: Vec<_> = artefacts_with_image()
                .filter_map(|artefact| Some((artefact, artefact.places.get(subject.environment)?)))
                .collect();
            absent = absent.or_else(|| artefacts_with_image().next().map(|artefact| artefact.name.clone()));
            // Several artefacts may share an image. The running version narrows them down; if none matches, all are
            // kept.
            let is_running = |(artefact, place): &(&Artefact, &Place)| {
                let version = (self.applied)(artefact, place).version;
                candidates.len() > 1 && version.is_some_and(|version| version.is_same_image(&image.to_version()))
            };
            let exact: Vec<_> = candidates.iter().filter(|candidate| is_running(candidate)).collect();
            let names = if exact.is_empty() { candidates.iter().collect() } else { exact };
            found.extend(names.into_iter().map(|(artefact, _)| artefact.name.clone()));
        }
        found.sort();
        found.dedup();
        let found = (!found.is_empty()).then_some(Attribution { artefacts: found, method: AttributionMethod::Image });
        (found, absent)
    }

    /// The artefacts of the repository in this environment. If the object applied some of them, only those.
    fn attribute_by_repository(&self, subject: &AttributionSubject<'_>) -> Option<Attribution> {
        let repository = subject.repository?;
        let is_from_repository = |artefact: &&Artefact| artefact.repository.is_same_as(repository);
        let candidates: Vec<_> =
            self.iter_artefacts_in(subject.environment).filter(|(artefact, _)| is_from_repository(artefact)).collect();
        let is_applied = |(artefact, place): &&(&Artefact, &Place)| {
            subject.object.as_ref().is_some_and(|object| self.is_applied_by(object, artefact, place))
        };
        let to_name = |(artefact, _): &(&Artefact, &Place)| artefact.name.clone();
        let exact: Vec<ArtefactName> = candidates.iter().filter(is_applied).map(to_name).collect();
        let artefacts = if exact.is_empty() { candidates.iter().map(to_name).collect() } else { exact };
        (!artefacts.is_empty()).then_some(Attribution { artefacts, method: AttributionMethod::Repository })
    }

    fn attribute_by_rule(
        &self,
        object: &ControllerObject,
        environment: &EnvironmentName,
    ) -> Result<Option<Attribution>, UnmappedReason> {
        let rules = self.rules.iter().enumerate();
        if let Some((index, rule)) = rules.into_iter().find(|(_, rule)| rule.is_match(object, environment)) {
            let in_environment =
                self.iter_artefacts_in(environment).filter(|(artefact, _)| rule.artefacts.contains(&artefact.name));
            let artefacts: Vec<_> = in_environment.map(|(artefact, _)| artefact.name.clone()).collect();
            if artefacts.is_empty() {
                return Err(UnmappedReason::RuleWithoutArtefact { rule: index + 1 });
            }
            return Ok(Some(Attribution { artefacts, method: AttributionMethod::Rule }));
        }
        Ok(None)
    }

    fn attribute_by_object(
        &self,
        object: &ControllerObject,
        environment: &EnvironmentName,
    ) -> Result<Option<Attribution>, UnmappedReason> {
        let applied =
            self.iter_artefacts_in(environment).filter(|(artefact, place)| self.is_applied_by(object, artefact, place));
        let artefacts: Vec<_> = applied.map(|(artefact, _)| artefact.name.clone()).collect();
        if !artefacts.is_empty() {
            return Ok(Some(Attribution { artefacts, method: AttributionMethod::Cluster }));
        }
        let namesake = self.catalogue.artefacts.iter().find(|artefact| artefact.name.as_str() == object.name);
        match namesake {
            Some(artefact) if !artefact.places.contains_key(environment) => {
                Err(UnmappedReason::NotInEnvironment { artefact: artefact.name.clone() })
            }
            namesake => Ok(namesake.map(|artefact| Attribution {
                artefacts: vec![artefact.name.clone()],
                method: AttributionMethod::ObjectName,
            })),
        }
    }

    fn is_applied_by(&self, object: &ControllerObject, artefact: &Artefact, place: &Place) -> bool {
        (self.applied)(artefact, place).applied_by.iter().any(|reference| object.has_reference(reference))
    }

    fn iter_artefacts_in<'b>(
        &'b self,
        environment: &'b EnvironmentName,
    ) -> impl Iterator<Item = (&'b Artefact, &'b Place)> {
        self.catalogue.artefacts.iter().filter_map(|artefact| Some((artefact, artefact.places.get(environment)?)))
    }
}

#[cfg(test)]
mod tests;
