//! What the clusters tell: that they answer, what they grant, and what runs there; and of what runs, its commit and whether its
//! image can be read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;

use crate::adapters::cluster::access::{Ask, asks};
use crate::adapters::cluster::{Container, Greeting};
use crate::domain::change::Proof;
use crate::domain::doctor::clock::ClockReading;
use crate::domain::doctor::cluster::{self, ConfiguredWorkload, NamespaceAccess, VersionProof};
use crate::domain::doctor::registry::{ImageUsage, RegistryImage, check_registry};
use crate::domain::doctor::{HealthCheck, ProbeResult};
use crate::domain::model::artefact::{Artefact, Namespace, Place, Workload};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Image, Version};
use crate::workflow::facts::image_commits;

use super::{Looking, Recall, all};
use crate::workflow::context::Bot;

/// A version that runs, and where.
struct Runs<'a> {
    artefact: &'a Artefact,
    image: Image,
    environments: Vec<EnvironmentName>,
}

impl Looking<'_> {
    pub(super) async fn cluster(&self, recall: Recall<'_>) -> (Vec<HealthCheck>, Vec<ClockReading>) {
        let places = self.places();
        let contexts: BTreeSet<Option<Arc<str>>> =
            places.iter().map(|(_, _, place)| place.namespace.context.clone()).collect();
        let (mut checks, mut heard, mut answer) = (Vec::new(), Vec::new(), BTreeSet::new());
        let greeted = all(contexts.into_iter().map(|context| self.greet(context).boxed()).collect()).await;
        for (greeting, context) in greeted {
            if let Ok(greeting) = &greeting {
                let name =
                    context.as_ref().map_or("the cluster".to_owned(), |context| format!("the cluster {context}"));
                heard.extend(self.heard(&name, greeting.date));
                answer.insert(context.clone());
            }
            checks.push(cluster::check_reachable(context.as_deref(), &greeting.map(|greeting| greeting.version)));
        }
        let places: Vec<_> =
            places.into_iter().filter(|(_, _, place)| answer.contains(&place.namespace.context)).collect();
        let (granted, standing) = tokio::join!(self.granted(&places), self.standing(&places));
        checks.extend(cluster::check_access(&granted));
        let runs = runs(&standing);
        let stands: Vec<ConfiguredWorkload> = standing.into_iter().map(|(stands, _, _)| stands).collect();
        checks.extend(cluster::check_workloads(&stands));
        let (sources, kept) = tokio::join!(self.sources(&runs, recall), self.kept(&runs));
        checks.extend(cluster::check_version_proofs(&sources));
        checks.extend(check_registry(&kept));
        (checks, heard)
    }

    fn places(&self) -> Vec<(&Artefact, EnvironmentName, &Place)> {
        let catalogue = &self.with.config.catalogue;
        let of = |artefact| {
            let artefact: &Artefact = artefact;
            let rungs = catalogue.ladder.environments().iter();
            rungs.filter_map(move |rung| Some((artefact, rung.name.clone(), artefact.places.get(&rung.name)?)))
        };
        catalogue.artefacts.iter().flat_map(of).collect()
    }

    async fn greet(&self, context: Option<Arc<str>>) -> (ProbeResult<Greeting>, Option<Arc<str>>) {
        (self.ask(self.with.clients.greet(context.as_ref())).await, context)
    }

    async fn granted(&self, places: &[(&Artefact, EnvironmentName, &Place)]) -> Vec<NamespaceAccess> {
        let namespaces: BTreeSet<&Namespace> = places.iter().map(|(_, _, place)| &place.namespace).collect();
        all(namespaces.into_iter().map(|namespace| self.granted_in(namespace).boxed()).collect()).await
    }

    async fn granted_in(&self, namespace: &Namespace) -> NamespaceAccess {
        let asks = asks();
        let answers =
            all(asks.iter().map(|ask| self.ask(self.with.clients.may(namespace, ask)).boxed()).collect()).await;
        let refused = |(ask, may): (&Ask, ProbeResult<bool>)| may.map(|may| (!may).then(|| ask.to_string()));
        let refused: ProbeResult<Vec<Option<String>>> = asks.iter().zip(answers).map(refused).collect();
        let refused = refused.map(|refused| refused.into_iter().flatten().collect());
        NamespaceAccess { namespace: namespace.clone(), refused, asked: asks.len() }
    }

    async fn standing<'a>(
        &self,
        places: &[(&'a Artefact, EnvironmentName, &'a Place)],
    ) -> Vec<(ConfiguredWorkload, &'a Artefact, Vec<Container>)> {
        let mut wanted = Vec::new();
        for (artefact, environment, place) in places {
            let look = |workload| self.stands(artefact, environment, place, workload).boxed();
            wanted.extend(place.workloads.iter().map(look));
        }
        all(wanted).await
    }

    async fn stands<'a>(
        &self,
        artefact: &'a Artefact,
        environment: &EnvironmentName,
        place: &Place,
        workload: &Workload,
    ) -> (ConfiguredWorkload, &'a Artefact, Vec<Container>) {
        let found = self.ask(self.with.clients.containers(&place.namespace, workload)).await;
        let containers = found.as_ref().ok().and_then(|found| found.as_deref()).unwrap_or_default().to_vec();
        let told = |found: Option<Box<[Container]>>| {
            let one = |container: &Container| (container.name.to_string(), container.image.name.to_string());
            found.map(|all| all.iter().map(one).collect())
        };
        let stands = ConfiguredWorkload {
            artefact: artefact.name.clone(),
            environment: environment.clone(),
            workload: workload.clone(),
            namespace: place.namespace.clone(),
            image: artefact.image.to_string(),
            container: place.container.as_deref().map(str::to_owned),
            containers: found.map(told),
        };
        (stands, artefact, containers)
    }

    async fn sources(&self, runs: &[Runs<'_>], recall: Recall<'_>) -> Vec<VersionProof> {
        all(runs.iter().map(|runs| self.source(runs, recall).boxed()).collect()).await
    }

    async fn source(&self, runs: &Runs<'_>, recall: Recall<'_>) -> VersionProof {
        let Runs { artefact, image, environments } = runs;
        let version = image.to_version();
        let known = environments.iter().find_map(|environment| recall(&artefact.name, environment, &version));
        // That a report told it says nothing about what the image itself would tell.
        let proof = if known.is_some_and(|proof| proof != Proof::Report) {
            Ok(known)
        } else {
            let asked = image_commits::ask(&self.with.github, &self.with.registry, artefact, image);
            match self.ask(asked).await.map(|found| found.map(|(_, proof)| proof)) {
                Ok(None) | Err(_) if known.is_some() => Ok(known),
                asked => asked,
            }
        };
        let (artefact, version) = (artefact.name.clone(), version.label().to_owned());
        VersionProof { artefact, version, environments: environments.clone(), proof }
    }

    async fn kept(&self, runs: &[Runs<'_>]) -> Vec<RegistryImage> {
        let artefacts = &self.with.config.catalogue.artefacts;
        let mut images: BTreeMap<&str, Vec<&Image>> =
            artefacts.iter().map(|artefact| (&*artefact.image, Vec::new())).collect();
        for Runs { artefact, image, .. } in runs {
            if let Some(references) = images.get_mut(&*artefact.image) {
                references.push(image);
            }
        }
        all(images.into_iter().map(|(name, references)| self.kept_of(name, references).boxed()).collect()).await
    }

    async fn kept_of(&self, name: &str, references: Vec<&Image>) -> RegistryImage {
        let registry = &self.with.registry;
        let held = if references.is_empty() {
            self.ask(registry.tags(name)).await.map(|tags| ImageUsage::Unused { has_tags: !tags.is_empty() })
        } else {
            let answers = all(references.iter().map(|image| self.ask(registry.digest(image)).boxed()).collect()).await;
            let missing = |(image, digest): (&&Image, ProbeResult<Option<String>>)| {
                digest.map(|digest| digest.is_none().then(|| image.to_version().label().to_owned()))
            };
            let missing: ProbeResult<Vec<Option<String>>> = references.iter().zip(answers).map(missing).collect();
            missing.map(|missing| ImageUsage::InUse { missing: missing.into_iter().flatten().collect() })
        };
        RegistryImage { image: name.to_owned(), usage: held }
    }
}

/// Each version of each artefact that runs somewhere.
fn runs<'a>(standing: &[(ConfiguredWorkload, &'a Artefact, Vec<Container>)]) -> Vec<Runs<'a>> {
    let mut all: Vec<Runs<'a>> = Vec::new();
    for (stands, artefact, containers) in standing {
        let meant = containers.iter().find(|container| match &stands.container {
            Some(name) => &*container.name == name,
            None => container.image.name == artefact.image,
        });
        let Some(image) = meant.map(|container| container.image.clone()).filter(|it| it.name == artefact.image) else {
            continue;
        };
        match all.iter_mut().find(|known| known.artefact.name == artefact.name && known.image == image) {
            Some(known) if known.environments.contains(&stands.environment) => {}
            Some(known) => known.environments.push(stands.environment.clone()),
            None => all.push(Runs { artefact, image, environments: vec![stands.environment.clone()] }),
        }
    }
    all
}

impl Bot {
    /// How the commit of what runs there is known already.
    pub(super) fn proof_of(
        &self,
        artefact: &crate::domain::model::artefact::ArtefactName,
        environment: &EnvironmentName,
        version: &Version,
    ) -> Option<Proof> {
        let artefact = self.config.catalogue.find_artefact(artefact.as_str())?;
        if let Some(proof) = self.sources.proof(&artefact.image, version) {
            return Some(proof);
        }
        // What neither tag nor label told was told by a controller.
        let stay = self.seen.sighting(&artefact.name, environment)?;
        (stay.version.is_same_image(version) && stay.version.commit.is_some()).then_some(Proof::Report)
    }
}
