//! What the clusters let us see: that they answer, what they grant in each namespace, and whether the workloads that the
//! configuration names are there and run its images.

use std::collections::BTreeMap;

use super::{Check, Learned, Service, listed};
use crate::domain::change::Proof;
use crate::domain::model::artefact::{ArtefactName, Namespace, Workload};
use crate::domain::model::environment::EnvironmentName;

const CLUSTER: Service = Service::Cluster;

/// A kubeconfig context, or the cluster that we run in.
pub fn reachable(context: Option<&str>, version: &Learned<String>) -> Check {
    let name = context.map_or("The cluster".to_owned(), |context| format!("The cluster {context}"));
    match version {
        Ok(version) => Check::good(CLUSTER, format!("{name} answers, {version}")),
        Err(trouble) => Check::bad(
            CLUSTER,
            format!("{name} cannot be asked"),
            "Check `kubeconfig`, the server's address in it, and its credentials: `kubectl version` tells the same.",
        )
        .because(trouble.to_string()),
    }
}

/// What a namespace does not grant of what we ask, as in `list pods`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    pub namespace: Namespace,
    pub refused: Learned<Vec<String>>,
    pub asked: usize,
}

pub fn granted(all: &[Granted]) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut well = Vec::new();
    for Granted { namespace, refused, asked } in all {
        let name = &namespace.name;
        match refused {
            Ok(refused) if refused.is_empty() => well.push(namespace),
            Ok(refused) if refused.len() == *asked => checks.push(Check::bad(
                CLUSTER,
                format!("Nothing is granted to me in the namespace {namespace}"),
                "Make the chart's Role and RoleBinding there: `helm upgrade` with this configuration does.".to_owned(),
            )),
            Ok(refused) => checks.push(Check::bad(
                CLUSTER,
                format!("I may not {} in the namespace {namespace}", listed(refused)),
                format!("Grant it by a Role there, as the chart's `files/rules.yaml` has it; `kubectl auth can-i {} -n {name}` tells.", refused[0]),
            )),
            Err(trouble) => checks.push(Check::trouble(
                CLUSTER,
                format!("What is granted in the namespace {namespace} cannot be learned"),
                trouble,
                "Let the service account review its own access, as every account may by default.",
            )),
        }
    }
    if !well.is_empty() {
        let namespaces = if well.len() == 1 { "the namespace" } else { "the namespaces" };
        checks
            .push(Check::good(CLUSTER, format!("Everything that I ask is granted in {namespaces} {}", listed(&well))));
    }
    checks
}

/// What became of a workload that the configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stands {
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    pub workload: Workload,
    pub namespace: Namespace,
    /// The artefact's image, without tag and digest.
    pub image: String,
    /// The name that was configured.
    pub container: Option<String>,
    /// Name and image of each container; `None`: there is no such workload.
    pub containers: Learned<Option<Vec<(String, String)>>>,
}

impl Stands {
    /// How many containers run the artefact's image.
    fn fitting(containers: &[(String, String)], image: &str) -> usize {
        containers.iter().filter(|(_, runs)| runs == image).count()
    }
}

pub fn workloads(all: &[Stands]) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut well = 0;
    for stands in all {
        match workload(stands) {
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
        checks.push(Check::good(CLUSTER, what));
    }
    checks
}

fn workload(stands: &Stands) -> Option<Check> {
    let Stands { artefact, environment, workload, namespace, image, container, containers } = stands;
    let place = format!("{workload} of {artefact} in {environment}");
    let containers = match containers {
        Err(trouble) => {
            return Some(Check::trouble(
                CLUSTER,
                format!("{place} cannot be read"),
                trouble,
                "Grant `get` on it there.",
            ));
        }
        Ok(None) => {
            return Some(Check::bad(
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
    match (container, Stands::fitting(containers, image)) {
        (Some(container), _) if !containers.iter().any(|(name, _)| name == container) => Some(Check::bad(
            CLUSTER,
            format!("{place} has no container {container}"),
            format!(
                "Correct `container`: it has {}.",
                listed(&containers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            ),
        )),
        (Some(container), _) if containers.iter().any(|(name, runs)| name == container && runs != image) => {
            Some(Check::bad(
                CLUSTER,
                format!("{place} runs {}, not {image}", listed(&runs)),
                "Correct `image` or `container`.",
            ))
        }
        (Some(_), _) | (None, 1) => None,
        (None, 0) => Some(Check::bad(
            CLUSTER,
            format!("{place} runs {}, not {image}", listed(&runs)),
            "Correct `image`, or `workload`.",
        )),
        (None, several) => Some(Check::warning(
            CLUSTER,
            format!("{place} has {several} containers with {image}: I look at the first"),
            "Say which one is meant with `container`.",
        )),
    }
}

/// How the commit of what runs is known, for each artefact and the versions of it that run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub artefact: ArtefactName,
    /// As people call it.
    pub version: String,
    pub environments: Vec<EnvironmentName>,
    /// `None`: nothing tells.
    pub proof: Learned<Option<Proof>>,
}

pub fn sources(all: &[Source]) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut known: BTreeMap<&str, Vec<&ArtefactName>> = BTreeMap::new();
    for Source { artefact, version, environments, proof } in all {
        let place = format!("{artefact} {version} in {}", listed(environments));
        match proof {
            Ok(Some(proof)) => {
                let names = known.entry(by(*proof)).or_default();
                if !names.contains(&artefact) {
                    names.push(artefact);
                }
            }
            Ok(None) => checks.push(Check::warning(
                CLUSTER,
                format!("Nothing tells the commit of {place}"),
                "Let CI end the tag in the commit's SHA, or label the image `org.opencontainers.image.revision`; else only a report tells.",
            )),
            Err(trouble) => checks.push(Check::trouble(
                CLUSTER,
                format!("The commit of {place} cannot be learned"),
                trouble,
                "See what is said of GitHub and the registry.",
            )),
        }
    }
    for (by, artefacts) in known {
        checks.push(Check::good(CLUSTER, format!("The commit of what runs is known {by}: {}", listed(&artefacts))));
    }
    checks
}

fn by(proof: Proof) -> &'static str {
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

    fn told(container: Option<&str>, containers: &[(&str, &str)]) -> Option<(Health, String)> {
        let stands = Stands {
            artefact: ArtefactName::new("checkout"),
            environment: EnvironmentName::new("qa"),
            workload: "deployment/checkout".parse().unwrap(),
            namespace: Namespace { context: None, name: "qa".into() },
            image: "acme/checkout".to_owned(),
            container: container.map(str::to_owned),
            containers: Ok(Some(containers.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())),
        };
        workload(&stands).map(|check| (check.health, check.what))
    }

    #[test]
    fn it_must_be_clear_which_container_is_meant_and_it_must_run_the_image() {
        let (app, side) = (("app", "acme/checkout"), ("side", "envoy"));
        assert_eq!(told(None, &[app]), None);
        assert_eq!(told(None, &[side, app]), None);
        assert_eq!(told(Some("app"), &[side, app]), None);
        let place = "deployment/checkout of checkout in qa";
        assert_eq!(told(None, &[side]), Some((Health::Bad, format!("{place} runs envoy in side, not acme/checkout"))));
        assert_eq!(
            told(Some("side"), &[side]),
            Some((Health::Bad, format!("{place} runs envoy in side, not acme/checkout")))
        );
        assert_eq!(told(Some("web"), &[app]), Some((Health::Bad, format!("{place} has no container web"))));
        let twice = told(None, &[app, ("more", "acme/checkout")]).unwrap();
        assert_eq!(
            twice,
            (Health::Warning, format!("{place} has 2 containers with acme/checkout: I look at the first"))
        );
    }
}
