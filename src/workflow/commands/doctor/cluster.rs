//! Whether Gantry can see the workloads: the clusters answer, grant the permissions and run the artefacts' images, and
//! the commits of these images are known.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;

use super::run::{Doctor, DoctorRun, ProbeResult, ServiceFindings, format_list, join_all_bounded};
use crate::adapters::cluster::access::{ClusterPermission, list_required_permissions};
use crate::adapters::cluster::{ClusterInfo, Container};
use crate::domain::change::Proof;
use crate::domain::doctor::{Health, Service};
use crate::domain::model::artefact::{Artefact, ArtefactName, Place};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::version::{Image, Version};
use crate::domain::model::workload::{Namespace, Workload};
use crate::workflow::facts::image_commits;

/// The proof of a running version's commit, if it is known already.
pub type ProofLookup<'a> = &'a (dyn Fn(&Artefact, &EnvironmentName, &Version) -> Option<Proof> + Send + Sync);

/// An image that runs, and its environments.
pub(super) struct RunningImage<'a> {
    pub(super) artefact: &'a Artefact,
    pub(super) image: Image,
    pub(super) environments: Vec<&'a EnvironmentName>,
}

/// Also returns the images that run.
pub(super) async fn check_clusters<'a>(run: &DoctorRun<'a>) -> (ServiceFindings, Vec<RunningImage<'a>>) {
    let mut found = ServiceFindings::new(Service::Cluster);
    let Doctor { cluster_clients: clients, clock, .. } = run.doctor;
    let mut places = run.list_places();
    let contexts: BTreeSet<_> = places.iter().map(|(_, _, place)| place.namespace.context.as_ref()).collect();
    let infos = contexts.iter().map(|context| run.limit_time(clients.fetch_cluster_info(*context)).boxed());
    for (context, info) in contexts.iter().zip(join_all_bounded(infos).await) {
        let name = context.map_or("cluster".to_owned(), |context| format!("cluster {context}"));
        match info {
            Ok(ClusterInfo { version, server_time }) => {
                found.add_clock_skew(&format!("the {name}"), server_time, clock);
                found.add_good(format!("The {name} answers, {version}"));
            }
            Err(error) => {
                places.retain(|(_, _, place)| place.namespace.context.as_ref() != *context);
                let repair = "Check `kubeconfig`, the server's address in it, and its credentials. `kubectl version` shows the same error.";
                found.add_explained(Health::Bad, format!("The {name} cannot be reached"), error, repair);
            }
        }
    }
    let workloads: Vec<_> =
        places.iter().flat_map(|entry| entry.2.workloads.iter().map(move |workload| (*entry, workload))).collect();
    let requests = workloads
        .iter()
        .map(|((_, _, place), workload)| run.limit_time(clients.fetch_containers(&place.namespace, workload)).boxed());
    let namespaces = places.iter().map(|(_, _, place)| &place.namespace).collect();
    let (access, containers) = tokio::join!(check_access(run, namespaces), join_all_bounded(requests));
    found.add_all([access]);
    let (mut running, mut usable): (Vec<RunningImage<'a>>, usize) = (Vec::new(), 0);
    for (((artefact, Environment { name, .. }, place), workload), containers) in workloads.into_iter().zip(containers) {
        let before = found.checks.len();
        let image = check_workload(&mut found, (artefact, name, place), workload, &containers);
        usable += usize::from(found.checks.len() == before);
        let Some(image) = image else { continue };
        match running.iter_mut().find(|known| known.artefact.name == artefact.name && known.image == *image) {
            Some(known) if known.environments.contains(&name) => {}
            Some(known) => known.environments.push(name),
            None => running.push(RunningImage { artefact, image: image.clone(), environments: vec![name] }),
        }
    }
    match usable {
        0 => {}
        1 => found.add_good("One workload runs its image"),
        _ => found.add_good(format!("{usable} workloads run their images")),
    }
    (found, running)
}

async fn check_access(run: &DoctorRun<'_>, namespaces: BTreeSet<&Namespace>) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::Cluster);
    let required = list_required_permissions();
    let answers = namespaces.iter().map(|namespace| list_refused_permissions(run, namespace, &required).boxed());
    let mut usable = Vec::new();
    for (namespace, refused) in namespaces.iter().zip(join_all_bounded(answers).await) {
        match refused {
            Ok(refused) if refused.is_empty() => usable.push(namespace),
            Ok(refused) if refused.len() == required.len() => found.add_bad(
                format!("Gantry has no permissions in the namespace {namespace}"),
                "Create the chart's Role and RoleBinding there: run `helm upgrade` with this configuration.",
            ),
            Ok(refused) => found.add_bad(
                format!("Gantry may not {} in the namespace {namespace}", format_list(&refused)),
                format!("Grant it with a Role there, as in the chart's `files/rules.yaml`. `kubectl auth can-i {} -n {}` checks it.", refused[0], namespace.name),
            ),
            Err(error) => found.add_failure(
                format!("The permissions in the namespace {namespace} cannot be read"),
                &error,
                "Allow the service account to review its own access, which every account may do by default.",
            ),
        }
    }
    let noun = if usable.len() == 1 { "the namespace" } else { "the namespaces" };
    found.add_good_names(&usable, |names| format!("Gantry has all permissions that it needs in {noun} {names}"));
    found
}

async fn list_refused_permissions<'p>(
    run: &DoctorRun<'_>,
    namespace: &Namespace,
    required: &'p [ClusterPermission],
) -> ProbeResult<Vec<&'p ClusterPermission>> {
    let clients = &run.doctor.cluster_clients;
    let answers = required.iter().map(|it| run.limit_time(clients.is_permitted(namespace, it)).boxed());
    let answers = required.iter().zip(join_all_bounded(answers).await);
    let refused = answers
        .filter_map(|(permission, answer)| answer.map(|is_granted| (!is_granted).then_some(permission)).transpose());
    refused.collect()
}

/// The artefact's image that the workload runs. Adds a finding unless there is exactly one.
fn check_workload<'c>(
    found: &mut ServiceFindings,
    (artefact, environment, place): (&Artefact, &EnvironmentName, &Place),
    workload: &Workload,
    containers: &'c ProbeResult<Option<Box<[Container]>>>,
) -> Option<&'c Image> {
    let Artefact { name, image, .. } = artefact;
    let subject = format!("{workload} of {name} in {environment}");
    let containers = match containers {
        Ok(Some(containers)) => containers,
        Ok(None) => {
            found.add_bad(
                format!("{subject} is not in the namespace {}", place.namespace),
                format!(
                    "Correct `workload` or the namespace, or leave {name} out there: `environments: {{ {environment}: false }}`."
                ),
            );
            return None;
        }
        Err(error) => {
            found.add_failure(format!("{subject} cannot be read"), error, "Grant `get` on it there.");
            return None;
        }
    };
    let running: Vec<String> = containers.iter().map(|it| format!("{} in {}", it.image.name, it.name)).collect();
    let other_image = format!("{subject} runs {}, not {image}", format_list(&running));
    let mut matching = containers.iter().map(|it| &it.image).filter(|it| it.name == *image);
    if let Some(wanted) = &place.container {
        match containers.iter().find(|it| it.name == *wanted) {
            Some(container) if container.image.name == *image => return Some(&container.image),
            Some(_) => found.add_bad(other_image, "Correct `image` or `container`."),
            None => {
                let names: Vec<_> = containers.iter().map(|it| &it.name).collect();
                let repair = format!("Correct `container`: it has {}.", format_list(&names));
                found.add_bad(format!("{subject} has no container {wanted}"), repair);
            }
        }
        return None;
    }
    let first = matching.next();
    match (first, matching.count()) {
        (None, _) => found.add_bad(other_image, "Correct `image`, or `workload`."),
        (Some(_), 0) => {}
        (Some(_), others) => found.add_warning(
            format!("{subject} has {} containers with {image}; Gantry uses the first", others + 1),
            "Name one of them with `container`.",
        ),
    }
    first
}

pub(super) async fn check_commit_proofs(
    run: &DoctorRun<'_>,
    running: &[RunningImage<'_>],
    lookup_proof: ProofLookup<'_>,
) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::Cluster);
    let proofs = running.iter().map(|image| find_commit_proof(run, image, lookup_proof).boxed());
    let mut artefacts_by_proof: BTreeMap<&str, Vec<&ArtefactName>> = BTreeMap::new();
    for (RunningImage { artefact, image, environments }, proof) in running.iter().zip(join_all_bounded(proofs).await) {
        let version = format!("{} {} in {}", artefact.name, image.to_version().label(), format_list(environments));
        match proof {
            Ok(Some(proof)) => {
                let names = artefacts_by_proof.entry(describe_proof(proof)).or_default();
                if !names.contains(&&artefact.name) {
                    names.push(&artefact.name);
                }
            }
            Ok(None) => found.add_warning(
                format!("The commit of {version} is not known"),
                "Let CI end the tag in the commit's SHA, or set the label `org.opencontainers.image.revision`. Otherwise only a report can supply it.",
            ),
            Err(error) => found.add_failure(
                format!("The commit of {version} cannot be looked up"),
                &error,
                "See the findings about GitHub and the registry.",
            ),
        }
    }
    for (proof, artefacts) in artefacts_by_proof {
        found.add_good(format!("The commit of the running version is known {proof}: {}", format_list(&artefacts)));
    }
    found
}

async fn find_commit_proof(
    run: &DoctorRun<'_>,
    RunningImage { artefact, image, environments }: &RunningImage<'_>,
    lookup_proof: ProofLookup<'_>,
) -> ProbeResult<Option<Proof>> {
    let version = image.to_version();
    let known_proof = environments.iter().find_map(|environment| lookup_proof(artefact, environment, &version));
    // A commit from a report says nothing about the image itself, so the image is checked, too.
    if known_proof.is_some_and(|proof| proof != Proof::Report) {
        return Ok(known_proof);
    }
    let Doctor { github, registry, .. } = run.doctor;
    let resolved = run.limit_time(image_commits::resolve_image_commit(github, registry, artefact, image)).await;
    match resolved.map(|found| found.map(|(_, proof)| proof)) {
        Ok(None) | Err(_) if known_proof.is_some() => Ok(known_proof),
        resolved => resolved,
    }
}

fn describe_proof(proof: Proof) -> &'static str {
    match proof {
        Proof::TagPattern => "by the image's tag",
        Proof::RevisionLabel => "by the image's label",
        Proof::GitTag => "by a Git tag",
        Proof::Report => "by a controller's report",
        Proof::Image => "by the manifest",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::model::artefact::Delivery;

    fn check_containers(container: Option<&str>, containers: &[(&str, &str)]) -> Option<(Health, String)> {
        let artefact = Artefact {
            name: ArtefactName::new("checkout"),
            repository: "acme/checkout".parse().unwrap(),
            image: "acme/checkout".into(),
            paths: Vec::new(),
            delivery: Delivery::Branch,
            places: BTreeMap::new(),
        };
        let environment = EnvironmentName::new("qa");
        let workload: Workload = "deployment/checkout".parse().unwrap();
        let namespace = Namespace { context: None, name: "qa".into() };
        let place = Place { namespace, workloads: Vec::new(), container: container.map(Into::into) };
        let container = |(name, image): &(&str, &str)| Container { name: (*name).into(), image: Image::parse(image) };
        let containers = Ok(Some(containers.iter().map(container).collect()));
        let mut found = ServiceFindings::new(Service::Cluster);
        let image = check_workload(&mut found, (&artefact, &environment, &place), &workload, &containers);
        let check = found.checks.pop();
        assert_eq!(image.is_some(), check.as_ref().is_none_or(|check| check.health == Health::Warning));
        check.map(|check| (check.health, check.summary))
    }

    #[test]
    fn the_container_with_the_image_must_be_unambiguous() {
        let (app, sidecar) = (("app", "acme/checkout"), ("side", "envoy"));
        assert_eq!(check_containers(None, &[app]), None);
        assert_eq!(check_containers(None, &[sidecar, app]), None);
        assert_eq!(check_containers(Some("app"), &[sidecar, app]), None);
        let subject = "deployment/checkout of checkout in qa";
        assert_eq!(
            check_containers(None, &[sidecar]),
            Some((Health::Bad, format!("{subject} runs envoy in side, not acme/checkout")))
        );
        assert_eq!(
            check_containers(Some("side"), &[sidecar]),
            Some((Health::Bad, format!("{subject} runs envoy in side, not acme/checkout")))
        );
        assert_eq!(
            check_containers(Some("web"), &[app]),
            Some((Health::Bad, format!("{subject} has no container web")))
        );
        let twice = check_containers(None, &[app, ("more", "acme/checkout")]).unwrap();
        assert_eq!(
            twice,
            (Health::Warning, format!("{subject} has 2 containers with acme/checkout; Gantry uses the first"))
        );
    }
}
