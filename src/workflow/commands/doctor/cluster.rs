//! What the clusters let us see: that they answer, what they grant in each namespace, and whether the workloads that the
//! configuration names are there and run its images.

use std::collections::BTreeMap;

use super::run::{ProbeResult, format_list};
use crate::domain::change::Proof;
use crate::domain::doctor::{HealthCheck, Service};
use crate::domain::model::artefact::{ArtefactName, Namespace, Workload};
use crate::domain::model::environment::EnvironmentName;

const CLUSTER: Service = Service::Cluster;

/// A kubeconfig context, or the cluster that we run in.
pub fn check_reachable(context: Option<&str>, version: &ProbeResult<String>) -> HealthCheck {
    let name = context.map_or("The cluster".to_owned(), |context| format!("The cluster {context}"));
    match version {
        Ok(version) => HealthCheck::new_good(CLUSTER, format!("{name} answers, {version}")),
        Err(trouble) => HealthCheck::new_bad(
            CLUSTER,
            format!("{name} cannot be asked"),
            "Check `kubeconfig`, the server's address in it, and its credentials: `kubectl version` tells the same.",
        )
        .with_reason(trouble.to_string()),
    }
}

/// What a namespace does not grant of what we ask, as in `list pods`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceAccess {
    pub namespace: Namespace,
    pub refused: ProbeResult<Vec<String>>,
    pub asked: usize,
}

pub fn check_access(all: &[NamespaceAccess]) -> Vec<HealthCheck> {
    let mut checks = Vec::new();
    let mut well = Vec::new();
    for NamespaceAccess { namespace, refused, asked } in all {
        let name = &namespace.name;
        match refused {
            Ok(refused) if refused.is_empty() => well.push(namespace),
            Ok(refused) if refused.len() == *asked => checks.push(HealthCheck::new_bad(
                CLUSTER,
                format!("Nothing is granted to me in the namespace {namespace}"),
                "Make the chart's Role and RoleBinding there: `helm upgrade` with this configuration does.".to_owned(),
            )),
            Ok(refused) => checks.push(HealthCheck::new_bad(
                CLUSTER,
                format!("I may not {} in the namespace {namespace}", format_list(refused)),
                format!("Grant it by a Role there, as the chart's `files/rules.yaml` has it; `kubectl auth can-i {} -n {name}` tells.", refused[0]),
            )),
            Err(trouble) => checks.push(HealthCheck::from_probe_error(
                CLUSTER,
                format!("What is granted in the namespace {namespace} cannot be learned"),
                trouble,
                "Let the service account review its own access, as every account may by default.",
            )),
        }
    }
    if !well.is_empty() {
        let namespaces = if well.len() == 1 { "the namespace" } else { "the namespaces" };
        checks.push(HealthCheck::new_good(
            CLUSTER,
            format!("Everything that I ask is granted in {namespaces} {}", format_list(&well)),
        ));
    }
    checks
}

/// What became of a workload that the configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredWorkload {
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    pub workload: Workload,
    pub namespace: Namespace,
    /// The artefact's image, without tag and digest.
    pub image: String,
    /// The name that was configured.
    pub container: Option<String>,
    /// Name and image of each container; `None`: there is no such workload.
    pub containers: ProbeResult<Option<Vec<(String, String)>>>,
}

impl ConfiguredWorkload {
    /// How many containers run the artefact's image.
    fn count_matching(containers: &[(String, String)], image: &str) -> usize {
        containers.iter().filter(|(_, runs)| runs == image).count()
    }
}

pub fn check_workloads(all: &[ConfiguredWorkload]) -> Vec<HealthCheck> {
    let mut checks = Vec::new();
    let mut well = 0;
    for stands in all {
        match check_workload(stands) {
            None => well += 1,
            Some(check) => checks.push(check),
        }
    }
    if well > 0 {
        let what = if well == 1 {
            "One workload runs its image".to_owned()
        } else {
            format!("{well} workloads run their images")
        };
        checks.push(HealthCheck::new_good(CLUSTER, what));
    }
    checks
}

fn check_workload(stands: &ConfiguredWorkload) -> Option<HealthCheck> {
    let ConfiguredWorkload { artefact, environment, workload, namespace, image, container, containers } = stands;
    let place = format!("{workload} of {artefact} in {environment}");
    let containers = match containers {
        Err(trouble) => {
            return Some(HealthCheck::from_probe_error(
                CLUSTER,
                format!("{place} cannot be read"),
                trouble,
                "Grant `get` on it there.",
            ));
        }
        Ok(None) => {
            return Some(HealthCheck::new_bad(
                CLUSTER,
                format!("{place} is not in the namespace {namespace}"),
                format!(
                    "Correct `workload` or the namespace, or leave {artefact} out there: `environments: {{ {environment}: false }}`."
                ),
            ));
        }
        Ok(Some(containers)) => containers,
    };
    let runs: Vec<String> = containers.iter().map(|(name, image)| format!("{image} in {name}")).collect();
    match (container, ConfiguredWorkload::count_matching(containers, image)) {
        (Some(container), _) if !containers.iter().any(|(name, _)| name == container) => Some(HealthCheck::new_bad(
            CLUSTER,
            format!("{place} has no container {container}"),
            format!(
                "Correct `container`: it has {}.",
                format_list(&containers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            ),
        )),
        (Some(container), _) if containers.iter().any(|(name, runs)| name == container && runs != image) => {
            Some(HealthCheck::new_bad(
                CLUSTER,
                format!("{place} runs {}, not {image}", format_list(&runs)),
                "Correct `image` or `container`.",
            ))
        }
        (Some(_), _) | (None, 1) => None,
        (None, 0) => Some(HealthCheck::new_bad(
            CLUSTER,
            format!("{place} runs {}, not {image}", format_list(&runs)),
            "Correct `image`, or `workload`.",
        )),
        (None, several) => Some(HealthCheck::new_warning(
            CLUSTER,
            format!("{place} has {several} containers with {image}: I look at the first"),
            "Say which one is meant with `container`.",
        )),
    }
}

/// How the commit of what runs is known, for each artefact and the versions of it that run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionProof {
    pub artefact: ArtefactName,
    /// As people call it.
    pub version: String,
    pub environments: Vec<EnvironmentName>,
    /// `None`: nothing tells.
    pub proof: ProbeResult<Option<Proof>>,
}

pub fn check_version_proofs(all: &[VersionProof]) -> Vec<HealthCheck> {
    let mut checks = Vec::new();
    let mut known: BTreeMap<&str, Vec<&ArtefactName>> = BTreeMap::new();
    for VersionProof { artefact, version, environments, proof } in all {
        let place = format!("{artefact} {version} in {}", format_list(environments));
        match proof {
            Ok(Some(proof)) => {
                let names = known.entry(describe_proof(*proof)).or_default();
                if !names.contains(&artefact) {
                    names.push(artefact);
                }
            }
            Ok(None) => checks.push(HealthCheck::new_warning(
                CLUSTER,
                format!("Nothing tells the commit of {place}"),
                "Let CI end the tag in the commit's SHA, or label the image `org.opencontainers.image.revision`; else only a report tells.",
            )),
            Err(trouble) => checks.push(HealthCheck::from_probe_error(
                CLUSTER,
                format!("The commit of {place} cannot be learned"),
                trouble,
                "See what is said of GitHub and the registry.",
            )),
        }
    }
    for (by, artefacts) in known {
        checks.push(HealthCheck::new_good(
            CLUSTER,
            format!("The commit of what runs is known {by}: {}", format_list(&artefacts)),
        ));
    }
    checks
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
    use crate::domain::doctor::Health;

    fn check_containers(container: Option<&str>, containers: &[(&str, &str)]) -> Option<(Health, String)> {
        let stands = ConfiguredWorkload {
            artefact: ArtefactName::new("checkout"),
            environment: EnvironmentName::new("qa"),
            workload: "deployment/checkout".parse().unwrap(),
            namespace: Namespace { context: None, name: "qa".into() },
            image: "acme/checkout".to_owned(),
            container: container.map(str::to_owned),
            containers: Ok(Some(containers.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())),
        };
        check_workload(&stands).map(|check| (check.health, check.summary))
    }

    #[test]
    fn it_must_be_clear_which_container_is_meant_and_it_must_run_the_image() {
        let (app, side) = (("app", "acme/checkout"), ("side", "envoy"));
        assert_eq!(check_containers(None, &[app]), None);
        assert_eq!(check_containers(None, &[side, app]), None);
        assert_eq!(check_containers(Some("app"), &[side, app]), None);
        let place = "deployment/checkout of checkout in qa";
        assert_eq!(
            check_containers(None, &[side]),
            Some((Health::Bad, format!("{place} runs envoy in side, not acme/checkout")))
        );
        assert_eq!(
            check_containers(Some("side"), &[side]),
            Some((Health::Bad, format!("{place} runs envoy in side, not acme/checkout")))
        );
        assert_eq!(check_containers(Some("web"), &[app]), Some((Health::Bad, format!("{place} has no container web"))));
        let twice = check_containers(None, &[app, ("more", "acme/checkout")]).unwrap();
        assert_eq!(
            twice,
            (Health::Warning, format!("{place} has 2 containers with acme/checkout: I look at the first"))
        );
    }
}
