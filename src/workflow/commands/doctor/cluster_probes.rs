//! What the clusters tell: that they answer, what they grant, and what runs there; and of what runs, its commit and whether its
//! image can be read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;

use super::cluster::{self, ConfiguredWorkload, NamespaceAccess, VersionProof};
use super::registry::{ImageUsage, RegistryImage, check_registry};
use super::run::ClockReading;
use super::run::ProbeResult;
use crate::adapters::cluster::access::{ClusterPermission, list_required_permissions};
use crate::adapters::cluster::{ClusterInfo, Container};
use crate::domain::change::Proof;
use crate::domain::doctor::HealthCheck;
use crate::domain::model::artefact::{Artefact, Namespace, Place, Workload};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Image, Version};

use super::ProofLookup;
use super::run::{DoctorRun, join_all_bounded};
use crate::workflow::context::Context;
use crate::workflow::facts::image_commits;

/// A version that runs, and where.
struct RunningImage<'a> {
    artefact: &'a Artefact,
    image: Image,
    environments: Vec<EnvironmentName>,
}

impl DoctorRun<'_> {
    pub(super) async fn check_clusters(&self, lookup_proof: ProofLookup<'_>) -> (Vec<HealthCheck>, Vec<ClockReading>) {
        let places: Vec<_> = self.list_places().into_iter().map(|(a, it, place)| (a, it.name.clone(), place)).collect();
        let contexts: BTreeSet<Option<Arc<str>>> =
            places.iter().map(|(_, _, place)| place.namespace.context.clone()).collect();
        let (mut checks, mut heard, mut reachable_contexts) = (Vec::new(), Vec::new(), BTreeSet::new());
        let greeted = join_all_bounded(contexts.into_iter().map(|context| self.probe_cluster(context).boxed())).await;
        for (greeting, context) in greeted {
            if let Ok(greeting) = &greeting {
                let name =
                    context.as_ref().map_or("the cluster".to_owned(), |context| format!("the cluster {context}"));
                heard.extend(self.build_clock_reading(&name, greeting.server_time));
                reachable_contexts.insert(context.clone());
            }
            checks.push(cluster::check_reachable(context.as_deref(), &greeting.map(|greeting| greeting.version)));
        }
        let places: Vec<_> =
            places.into_iter().filter(|(_, _, place)| reachable_contexts.contains(&place.namespace.context)).collect();
        let (granted, standing) = tokio::join!(self.probe_permissions(&places), self.probe_workloads(&places));
        checks.extend(cluster::check_access(&granted));
        let runs = collect_running_images(&standing);
        let stands: Vec<ConfiguredWorkload> = standing.into_iter().map(|(stands, _, _)| stands).collect();
        checks.extend(cluster::check_workloads(&stands));
        let (sources, kept) = tokio::join!(self.find_commit_proofs(&runs, lookup_proof), self.probe_images(&runs));
        checks.extend(cluster::check_version_proofs(&sources));
        checks.extend(check_registry(&kept));
        (checks, heard)
    }

    async fn probe_cluster(&self, context: Option<Arc<str>>) -> (ProbeResult<ClusterInfo>, Option<Arc<str>>) {
        (self.limit_time(self.doctor.cluster_clients.fetch_cluster_info(context.as_ref())).await, context)
    }

    async fn probe_permissions(&self, places: &[(&Artefact, EnvironmentName, &Place)]) -> Vec<NamespaceAccess> {
        let namespaces: BTreeSet<&Namespace> = places.iter().map(|(_, _, place)| &place.namespace).collect();
        join_all_bounded(namespaces.into_iter().map(|namespace| self.probe_namespace_permissions(namespace).boxed()))
            .await
    }

    async fn probe_namespace_permissions(&self, namespace: &Namespace) -> NamespaceAccess {
        let asks = list_required_permissions();
        let answers = join_all_bounded(
            asks.iter().map(|ask| self.limit_time(self.doctor.cluster_clients.is_permitted(namespace, ask)).boxed()),
        )
        .await;
        let refused =
            |(ask, may): (&ClusterPermission, ProbeResult<bool>)| may.map(|may| (!may).then(|| ask.to_string()));
        let refused: ProbeResult<Vec<Option<String>>> = asks.iter().zip(answers).map(refused).collect();
        let refused = refused.map(|refused| refused.into_iter().flatten().collect());
        NamespaceAccess { namespace: namespace.clone(), refused, asked: asks.len() }
    }

    async fn probe_workloads<'a>(
        &self,
        places: &[(&'a Artefact, EnvironmentName, &'a Place)],
    ) -> Vec<(ConfiguredWorkload, &'a Artefact, Vec<Container>)> {
        let mut wanted = Vec::new();
        for (artefact, environment, place) in places {
            let look = |workload| self.probe_workload(artefact, environment, place, workload).boxed();
            wanted.extend(place.workloads.iter().map(look));
        }
        join_all_bounded(wanted).await
    }

    async fn probe_workload<'a>(
        &self,
        artefact: &'a Artefact,
        environment: &EnvironmentName,
        place: &Place,
        workload: &Workload,
    ) -> (ConfiguredWorkload, &'a Artefact, Vec<Container>) {
        let found = self.limit_time(self.doctor.cluster_clients.fetch_containers(&place.namespace, workload)).await;
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

    async fn find_commit_proofs(&self, runs: &[RunningImage<'_>], lookup_proof: ProofLookup<'_>) -> Vec<VersionProof> {
        join_all_bounded(runs.iter().map(|runs| self.find_commit_proof(runs, lookup_proof).boxed())).await
    }

    async fn find_commit_proof(&self, runs: &RunningImage<'_>, lookup_proof: ProofLookup<'_>) -> VersionProof {
        let RunningImage { artefact, image, environments } = runs;
        let version = image.to_version();
        let known = environments.iter().find_map(|environment| lookup_proof(&artefact.name, environment, &version));
        // That a report told it says nothing about what the image itself would tell.
        let proof = if known.is_some_and(|proof| proof != Proof::Report) {
            Ok(known)
        } else {
            let asked =
                image_commits::resolve_image_commit(&self.doctor.github, &self.doctor.registry, artefact, image);
            match self.limit_time(asked).await.map(|found| found.map(|(_, proof)| proof)) {
                Ok(None) | Err(_) if known.is_some() => Ok(known),
                asked => asked,
            }
        };
        let (artefact, version) = (artefact.name.clone(), version.label().to_owned());
        VersionProof { artefact, version, environments: environments.clone(), proof }
    }

    async fn probe_images(&self, runs: &[RunningImage<'_>]) -> Vec<RegistryImage> {
        let artefacts = &self.doctor.config.catalogue.artefacts;
        let mut images: BTreeMap<&str, Vec<&Image>> =
            artefacts.iter().map(|artefact| (&*artefact.image, Vec::new())).collect();
        for RunningImage { artefact, image, .. } in runs {
            if let Some(references) = images.get_mut(&*artefact.image) {
                references.push(image);
            }
        }
        join_all_bounded(images.into_iter().map(|(name, references)| self.probe_image(name, references).boxed())).await
    }

    async fn probe_image(&self, name: &str, references: Vec<&Image>) -> RegistryImage {
        let registry = &self.doctor.registry;
        let held = if references.is_empty() {
            self.limit_time(registry.list_tags(name))
                .await
                .map(|tags| ImageUsage::Unused { has_tags: !tags.is_empty() })
        } else {
            let answers =
                join_all_bounded(references.iter().map(|image| self.limit_time(registry.fetch_digest(image)).boxed()))
                    .await;
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
fn collect_running_images<'a>(
    standing: &[(ConfiguredWorkload, &'a Artefact, Vec<Container>)],
) -> Vec<RunningImage<'a>> {
    let mut all: Vec<RunningImage<'a>> = Vec::new();
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
            None => all.push(RunningImage { artefact, image, environments: vec![stands.environment.clone()] }),
        }
    }
    all
}

/// How the commit of what runs there is known already.
pub(super) fn find_known_proof(
    ctx: &Context,
    artefact: &crate::domain::model::artefact::ArtefactName,
    environment: &EnvironmentName,
    version: &Version,
) -> Option<Proof> {
    let artefact = ctx.config.catalogue.find_artefact(artefact.as_str())?;
    if let Some(proof) = ctx.image_commits.find_proof(&artefact.image, version) {
        return Some(proof);
    }
    // What neither tag nor label told was told by a controller.
    let stay = ctx.sightings.find_sighting(&artefact.name, environment)?;
    (stay.version.is_same_image(version) && stay.version.commit.is_some()).then_some(Proof::Report)
}
