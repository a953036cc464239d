//! A small catalogue for tests: the demo's artefacts on the demo's ladder.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::artefact::{Artefact, ArtefactName, Delivery, Namespace, Place};
use super::environment::{Catalogue, Environment, EnvironmentName, Ladder, PromoteBy};

pub(crate) fn catalogue() -> Catalogue {
    let rungs = [
        ("development", "develop", ""),
        ("qa", "qa", ""),
        ("staging", "staging", "stg"),
        ("prod", "prod", "production"),
    ];
    let ladder = Ladder::new(rungs.iter().map(|(name, branch, alias)| environment(name, branch, alias)).collect());
    let artefacts = [
        ("checkout", "acme/checkout"),
        ("mailer", "acme/shop"),
        ("search", "acme/search"),
        ("storefront", "acme/shop"),
    ];
    let artefacts = artefacts.iter().map(|(name, repository)| artefact(name, repository, &ladder)).collect();
    Catalogue { ladder, artefacts }
}

fn environment(name: &str, branch: &str, alias: &str) -> Environment {
    Environment {
        name: EnvironmentName::new(name),
        aliases: if alias.is_empty() { Vec::new() } else { vec![alias.to_owned()] },
        branch: branch.to_owned(),
        namespace: Namespace { context: None, name: name.into() },
        channel: "#deploys".to_owned(),
        promote: PromoteBy::Merge,
        deploy_timeout: SignedDuration::from_mins(20),
    }
}

pub(crate) fn artefact(name: &str, repository: &str, ladder: &Ladder) -> Artefact {
    let place = |rung: &Environment| Place {
        namespace: rung.namespace.clone(),
        workloads: format!("deployment/{name}").parse().into_iter().collect(),
        container: None,
    };
    Artefact {
        name: ArtefactName::new(name),
        repository: repository.parse().expect("a repository"),
        image: format!("ghcr.io/acme/{name}").into(),
        paths: Vec::new(),
        delivery: Delivery::Branch,
        places: ladder.rungs().iter().map(|rung| (rung.name.clone(), place(rung))).collect::<BTreeMap<_, _>>(),
    }
}
