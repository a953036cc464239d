//! Validates the artefacts and their places in the environments.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Validator;
use crate::config::problem::{Position, ProblemDescription};
use crate::config::tree::Located;
use crate::config::{file, scalar};
use crate::domain::model::artefact::{Artefact, ArtefactName, Delivery, Place, Repository};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::nearest::find_nearest;
use crate::domain::model::version::Pin;
use crate::domain::model::workload::{Namespace, Workload};

const MAX_WORKLOADS: usize = 50;

/// One image in one container of a workload. It may belong to one artefact only.
type WorkloadSlot = (Namespace, Workload, Arc<str>, Option<Arc<str>>);

impl Validator<'_> {
    /// Returns the artefacts sorted by name, as the catalogue requires.
    pub(super) fn validate_artefacts(
        &mut self,
        file: &Located<Vec<file::RawArtefact>>,
        ladder: &[Environment],
    ) -> Vec<Artefact> {
        if file.value.is_empty() {
            self.add_problem(file.position, "there is no artefact", "add at least one artefact that can be promoted");
        }
        let mut names: BTreeMap<String, Position> = BTreeMap::new();
        let mut slots: BTreeMap<WorkloadSlot, ArtefactName> = BTreeMap::new();
        let mut artefacts = Vec::new();
        for raw in &file.value {
            self.check_artefact_name(&raw.name, ladder, &mut names);
            let Some(artefact) = self.validate_artefact(raw, ladder) else { continue };
            self.check_unique_artefact(&artefact, raw.workload.0.position, &mut slots);
            artefacts.push(artefact);
        }
        artefacts.sort_by(|a: &Artefact, b| a.name.cmp(&b.name));
        artefacts
    }

    fn check_artefact_name(
        &mut self,
        name: &Located<String>,
        ladder: &[Environment],
        names: &mut BTreeMap<String, Position>,
    ) {
        self.parse_text(name, scalar::check_name);
        let is_same_name = |other: &str| other.eq_ignore_ascii_case(&name.value);
        if ladder.iter().any(|environment| {
            is_same_name(environment.name.as_str()) || environment.aliases.iter().any(|alias| is_same_name(alias))
        }) {
            let advice = "choose another name: a command could not distinguish the two";
            self.add_problem(name.position, format!("`{}` is already an environment", name.value), advice);
        }
        if let Some(first) = names.insert(name.value.to_ascii_lowercase(), name.position) {
            let advice = format!("line {} has the same name; names must be unique, without regard to case", first.line);
            self.add_problem(name.position, format!("`{}` is the name of two artefacts", name.value), advice);
        }
    }

    fn validate_artefact(&mut self, file: &file::RawArtefact, ladder: &[Environment]) -> Option<Artefact> {
        let repository = self.validate_repository(&file.repository);
        let image = self.parse_text(&file.image, scalar::parse_image);
        let paths = self.parse_texts(&file.paths, scalar::parse_glob);
        let delivery = self.validate_delivery(&file.delivery);
        let workloads = self.validate_workloads(&file.workload);
        let container = self.validate_container(file.container.as_ref());
        let defaults = PlaceDefaults { workloads, container };
        let places = self.validate_places(file, ladder, &defaults);
        Some(Artefact {
            name: ArtefactName::new(&file.name.value),
            repository: repository?,
            image: image?.into(),
            paths,
            delivery: delivery?,
            places,
        })
    }

    fn validate_repository(&mut self, text: &Located<String>) -> Option<Repository> {
        self.parse_text(text, |text| text.parse().map_err(|sentence: String| ProblemDescription::from(sentence)))
    }

    fn validate_delivery(&mut self, file: &file::RawDelivery) -> Option<Delivery> {
        let file::RawDelivery::Manifest(manifest) = file else { return Some(Delivery::Branch) };
        let repository = self.validate_repository(&manifest.repository);
        let path = self.parse_text(&manifest.file, scalar::parse_manifest_file);
        let branch = manifest.branch.as_ref().and_then(|branch| self.parse_text(branch, scalar::parse_branch));
        let yaml_path = manifest.path.as_ref().and_then(|path| self.parse_text(path, scalar::parse_yaml_path));
        let pin = match manifest.pin {
            file::RawPin::Tag => Pin::Tag,
            file::RawPin::Digest => Pin::Digest,
        };
        Some(Delivery::Manifest { repository: repository?, file: path?, branch, path: yaml_path, pin })
    }

    fn validate_workloads(&mut self, file: &file::OneOrMany) -> Vec<Workload> {
        if file.0.value.is_empty() {
            self.add_problem(
                file.0.position,
                "the list of workloads is empty",
                "name at least one, for example `deployment/checkout`",
            );
        }
        if file.0.value.len() > MAX_WORKLOADS {
            let advice =
                "list only workloads that are deployed together, and describe the others as artefacts of their own";
            self.add_problem(file.0.position, format!("more than {MAX_WORKLOADS} workloads are not allowed"), advice);
            return Vec::new();
        }
        let mut workloads = Vec::new();
        for text in &file.0.value {
            let parsed = self.parse_text(text, |text| text.parse::<Workload>().map_err(ProblemDescription::from));
            if parsed.as_ref().is_some_and(|workload| workloads.contains(workload)) {
                self.add_problem(text.position, format!("`{}` is listed twice", text.value), "keep one");
            }
            workloads.extend(parsed);
        }
        workloads
    }

    fn validate_container(&mut self, file: Option<&Located<String>>) -> Option<Arc<str>> {
        file.and_then(|text| self.parse_text(text, |text| scalar::parse_label(text, "container"))).map(Into::into)
    }

    fn validate_places(
        &mut self,
        file: &file::RawArtefact,
        ladder: &[Environment],
        defaults: &PlaceDefaults,
    ) -> BTreeMap<EnvironmentName, Place> {
        for (name, _) in &file.environments.0 {
            if !ladder.iter().any(|environment| environment.name.as_str() == name.value) {
                self.add_problem(
                    name.position,
                    format!("`{}` is not an environment", name.value),
                    suggest_environment(&name.value, ladder),
                );
            }
        }
        let mut places = BTreeMap::new();
        for environment in ladder {
            let presence = file.environments.0.iter().rev().find(|(name, _)| name.value == environment.name.as_str());
            let place = match presence.map(|(_, presence)| presence) {
                Some(file::RawPresence::Present(false)) => continue,
                Some(file::RawPresence::Moved(place)) => self.validate_place(place, environment, defaults),
                Some(file::RawPresence::Present(true)) | None => Place {
                    namespace: environment.namespace.clone(),
                    workloads: defaults.workloads.clone(),
                    container: defaults.container.clone(),
                },
            };
            self.check_unique_environment(file, environment, &place, &places);
            places.insert(environment.name.clone(), place);
        }
        if places.is_empty() && !ladder.is_empty() {
            let advice = "remove a `false` under its `environments`, or remove the artefact";
            self.add_problem(file.name.position, format!("`{}` is in no environment", file.name.value), advice);
        }
        places
    }

    fn validate_place(&mut self, file: &file::RawPlace, environment: &Environment, defaults: &PlaceDefaults) -> Place {
        let namespace = file
            .namespace
            .as_ref()
            .and_then(|text| self.parse_text(text, |text| scalar::parse_label(text, "namespace")));
        let context = file.context.as_ref().and_then(|text| self.parse_text(text, scalar::parse_context));
        let workloads = file.workload.as_ref().map(|workload| self.validate_workloads(workload));
        Place {
            namespace: Namespace {
                context: context.map(Into::into).or_else(|| environment.namespace.context.clone()),
                name: namespace.map_or_else(|| environment.namespace.name.clone(), Into::into),
            },
            workloads: workloads.unwrap_or_else(|| defaults.workloads.clone()),
            container: self.validate_container(file.container.as_ref()).or_else(|| defaults.container.clone()),
        }
    }

    /// One workload cannot run two versions, so it cannot belong to two environments.
    fn check_unique_environment(
        &mut self,
        file: &file::RawArtefact,
        environment: &Environment,
        place: &Place,
        places: &BTreeMap<EnvironmentName, Place>,
    ) {
        let shares_workload = |other: &&Place| {
            other.namespace == place.namespace
                && other.workloads.iter().any(|workload| place.workloads.contains(workload))
        };
        if let Some((other, _)) = places.iter().find(|(_, other)| shares_workload(other)) {
            let message =
                format!("`{}` is the same workload in `{other}` and in `{}`", file.name.value, environment.name);
            let advice =
                "give the environments different namespaces, or give the artefact another `workload` in one of them";
            self.add_problem(file.workload.0.position, message, advice);
        }
    }

    fn check_unique_artefact(
        &mut self,
        artefact: &Artefact,
        position: Position,
        slots: &mut BTreeMap<WorkloadSlot, ArtefactName>,
    ) {
        for (environment, place) in &artefact.places {
            for workload in &place.workloads {
                let slot = (place.namespace.clone(), workload.clone(), artefact.image.clone(), place.container.clone());
                if let Some(other) = slots.insert(slot, artefact.name.clone())
                    && other != artefact.name
                {
                    let message =
                        format!("`{}` and `{other}` are the same {workload} in `{environment}`", artefact.name);
                    self.add_problem(
                        position,
                        message,
                        "keep one of them, or give them different values of `image` or `container`",
                    );
                    return;
                }
            }
        }
    }
}

/// The artefact's workloads and container, for environments without settings of their own.
struct PlaceDefaults {
    workloads: Vec<Workload>,
    container: Option<Arc<str>>,
}

pub(super) fn suggest_environment(text: &str, ladder: &[Environment]) -> String {
    let by_alias =
        ladder.iter().find(|environment| environment.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(text)));
    let nearest = by_alias
        .map(|environment| environment.name.as_str())
        .or_else(|| find_nearest(text, ladder.iter().map(|environment| environment.name.as_str())));
    nearest.map_or_else(
        || {
            let names: Vec<String> = ladder.iter().map(|environment| format!("`{}`", environment.name)).collect();
            format!("the environments are {}", names.join(", "))
        },
        |nearest| format!("did you mean `{nearest}`?"),
    )
}
