//! The artefacts, and where each of them runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Check;
use crate::config::problem::{Position, Wrong};
use crate::config::tree::At;
use crate::config::{file, scalar};
use crate::domain::git::manifest::Pin;
use crate::domain::model::artefact::{Artefact, ArtefactName, Delivery, Namespace, Place, Repository, Workload};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::nearest::find_nearest;

const MOST_WORKLOADS: usize = 50;

/// What runs one image in one container, and so belongs to one artefact.
type Spot = (Namespace, Workload, Arc<str>, Option<Arc<str>>);

impl Check<'_> {
    /// Sorted by name, as the catalogue wants them.
    pub(super) fn artefacts(&mut self, file: &At<Vec<file::Artefact>>, rungs: &[Environment]) -> Vec<Artefact> {
        if file.value.is_empty() {
            self.say(file.at, "there is no artefact", "describe at least one: without it there is nothing to move");
        }
        let mut names: BTreeMap<String, Position> = BTreeMap::new();
        let mut spots: BTreeMap<Spot, ArtefactName> = BTreeMap::new();
        let mut artefacts = Vec::new();
        for one in &file.value {
            self.artefact_name(&one.name, rungs, &mut names);
            let Some(artefact) = self.artefact(one, rungs) else { continue };
            self.one_artefact_a_spot(&artefact, one.workload.0.at, &mut spots);
            artefacts.push(artefact);
        }
        artefacts.sort_by(|a: &Artefact, b| a.name.cmp(&b.name));
        artefacts
    }

    fn artefact_name(&mut self, name: &At<String>, rungs: &[Environment], names: &mut BTreeMap<String, Position>) {
        self.text(name, scalar::name);
        let is = |known: &str| known.eq_ignore_ascii_case(&name.value);
        if rungs.iter().any(|rung| is(rung.name.as_str()) || rung.aliases.iter().any(|alias| is(alias))) {
            let advice = "call it something else: in a command nobody could tell the two apart";
            self.say(name.at, format!("`{}` is an environment already", name.value), advice);
        }
        if let Some(first) = names.insert(name.value.to_ascii_lowercase(), name.at) {
            let advice = format!("line {} has it already; names are unique in any case", first.line);
            self.say(name.at, format!("`{}` names two artefacts", name.value), advice);
        }
    }

    fn artefact(&mut self, file: &file::Artefact, rungs: &[Environment]) -> Option<Artefact> {
        let repository = self.repository(&file.repository);
        let image = self.text(&file.image, scalar::image);
        let paths = self.texts(&file.paths, scalar::glob);
        let delivery = self.delivery(&file.delivery);
        let workloads = self.workloads(&file.workload);
        let container = self.container(file.container.as_ref());
        let usual = Usual { workloads, container };
        let places = self.places(file, rungs, &usual);
        Some(Artefact {
            name: ArtefactName::new(&file.name.value),
            repository: repository?,
            image: image?.into(),
            paths,
            delivery: delivery?,
            places,
        })
    }

    fn repository(&mut self, text: &At<String>) -> Option<Repository> {
        self.text(text, |text| text.parse().map_err(|sentence: String| Wrong::from(sentence)))
    }

    fn delivery(&mut self, file: &file::Delivery) -> Option<Delivery> {
        let file::Delivery::Manifest(manifest) = file else { return Some(Delivery::Branch) };
        let repository = self.repository(&manifest.repository);
        let path = self.text(&manifest.file, scalar::manifest_file);
        let branch = manifest.branch.as_ref().and_then(|branch| self.text(branch, scalar::branch));
        let inside = manifest.path.as_ref().and_then(|path| self.text(path, scalar::path_inside));
        let pin = match manifest.pin {
            file::Pin::Tag => Pin::Tag,
            file::Pin::Digest => Pin::Digest,
        };
        Some(Delivery::Manifest { repository: repository?, file: path?, branch, path: inside, pin })
    }

    fn workloads(&mut self, file: &file::OneOrMany) -> Vec<Workload> {
        if file.0.value.is_empty() {
            self.say(
                file.0.at,
                "the list of workloads is empty",
                "name at least one, for example `deployment/checkout`",
            );
        }
        if file.0.value.len() > MOST_WORKLOADS {
            let advice =
                "is this one artefact? Describe what is released together, and the rest as artefacts of their own";
            self.say(file.0.at, format!("more than {MOST_WORKLOADS} workloads are too many"), advice);
            return Vec::new();
        }
        let mut workloads = Vec::new();
        for text in &file.0.value {
            let parsed = self.text(text, |text| text.parse::<Workload>().map_err(Wrong::from));
            if parsed.as_ref().is_some_and(|workload| workloads.contains(workload)) {
                self.say(text.at, format!("`{}` is listed twice", text.value), "keep one");
            }
            workloads.extend(parsed);
        }
        workloads
    }

    fn container(&mut self, file: Option<&At<String>>) -> Option<Arc<str>> {
        file.and_then(|text| self.text(text, |text| scalar::label(text, "container"))).map(Into::into)
    }

    fn places(
        &mut self,
        file: &file::Artefact,
        rungs: &[Environment],
        usual: &Usual,
    ) -> BTreeMap<EnvironmentName, Place> {
        for (name, _) in &file.environments.0 {
            if !rungs.iter().any(|rung| rung.name.as_str() == name.value) {
                self.say(name.at, format!("`{}` is not an environment", name.value), instead(&name.value, rungs));
            }
        }
        let mut places = BTreeMap::new();
        for rung in rungs {
            let presence = file.environments.0.iter().rev().find(|(name, _)| name.value == rung.name.as_str());
            let place = match presence.map(|(_, presence)| presence) {
                Some(file::Presence::Is(false)) => continue,
                Some(file::Presence::Elsewhere(place)) => self.place(place, rung, usual),
                Some(file::Presence::Is(true)) | None => Place {
                    namespace: rung.namespace.clone(),
                    workloads: usual.workloads.clone(),
                    container: usual.container.clone(),
                },
            };
            self.one_environment_a_place(file, rung, &place, &places);
            places.insert(rung.name.clone(), place);
        }
        if places.is_empty() && !rungs.is_empty() {
            let advice = "remove one `false` under its `environments`, or the artefact";
            self.say(file.name.at, format!("`{}` is in no environment at all", file.name.value), advice);
        }
        places
    }

    fn place(&mut self, file: &file::Place, rung: &Environment, usual: &Usual) -> Place {
        let namespace =
            file.namespace.as_ref().and_then(|text| self.text(text, |text| scalar::label(text, "namespace")));
        let context = file.context.as_ref().and_then(|text| self.text(text, scalar::context));
        let workloads = file.workload.as_ref().map(|workload| self.workloads(workload));
        Place {
            namespace: Namespace {
                context: context.map(Into::into).or_else(|| rung.namespace.context.clone()),
                name: namespace.map_or_else(|| rung.namespace.name.clone(), Into::into),
            },
            workloads: workloads.unwrap_or_else(|| usual.workloads.clone()),
            container: self.container(file.container.as_ref()).or_else(|| usual.container.clone()),
        }
    }

    /// One workload cannot run two versions, so it cannot be two environments.
    fn one_environment_a_place(
        &mut self,
        file: &file::Artefact,
        rung: &Environment,
        place: &Place,
        places: &BTreeMap<EnvironmentName, Place>,
    ) {
        let shares = |other: &&Place| {
            other.namespace == place.namespace && other.workloads.iter().any(|one| place.workloads.contains(one))
        };
        if let Some((other, _)) = places.iter().find(|(_, other)| shares(other)) {
            let message = format!("`{}` is the same workload in `{other}` and in `{}`", file.name.value, rung.name);
            let advice =
                "give the environments namespaces of their own, or the artefact another `workload` in one of them";
            self.say(file.workload.0.at, message, advice);
        }
    }

    fn one_artefact_a_spot(&mut self, artefact: &Artefact, at: Position, spots: &mut BTreeMap<Spot, ArtefactName>) {
        for (environment, place) in &artefact.places {
            for workload in &place.workloads {
                let spot = (place.namespace.clone(), workload.clone(), artefact.image.clone(), place.container.clone());
                if let Some(other) = spots.insert(spot, artefact.name.clone())
                    && other != artefact.name
                {
                    let message =
                        format!("`{}` and `{other}` are the same {workload} in `{environment}`", artefact.name);
                    self.say(at, message, "keep one of them, or tell them apart by `image` or `container`");
                    return;
                }
            }
        }
    }
}

/// What an artefact has where its `environments` say nothing else.
struct Usual {
    workloads: Vec<Workload>,
    container: Option<Arc<str>>,
}

pub(super) fn instead(text: &str, rungs: &[Environment]) -> String {
    let by_alias = rungs.iter().find(|rung| rung.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(text)));
    let near = by_alias
        .map(|rung| rung.name.as_str())
        .or_else(|| find_nearest(text, rungs.iter().map(|rung| rung.name.as_str())));
    near.map_or_else(
        || {
            let names: Vec<String> = rungs.iter().map(|rung| format!("`{}`", rung.name)).collect();
            format!("the environments are {}", names.join(", "))
        },
        |near| format!("did you mean `{near}`?"),
    )
}
