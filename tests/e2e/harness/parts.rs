//! A world with many artefacts, each in a repository of its own.

use gantry::domain::model::version::Sha;
use gantry::domain::model::workload::Workload;

use crate::harness::world::World;

/// A world with artefacts that its CI and controller do not know. Each runs a newer commit in development than in qa.
pub(crate) async fn with_parts(names: &[String]) -> World {
    with_parts_and(names, |configuration| configuration).await
}

/// The same with another configuration.
pub(crate) async fn with_parts_and(names: &[String], edit: impl FnOnce(String) -> String) -> World {
    World::with_setup(
        |sim| {
            for name in names {
                let repository = format!("acme/{name}");
                sim.github.create_repository(&repository, "develop").unwrap();
                let first = commit(sim, &repository, "develop", "Begin");
                for branch in ["qa", "staging", "prod"] {
                    sim.github.create_branch(&repository, branch, &first.parse().unwrap()).unwrap();
                }
                let second = commit(sim, &repository, "develop", "Go on");
                for (environment, sha) in [("development", &second), ("qa", &first)] {
                    let workload: Workload = format!("deployment/{name}").parse().unwrap();
                    let image = format!("ghcr.io/acme/{name}");
                    sim.registry.publish(&image, &sha[..12], None, sim.clock.now());
                    sim.cluster.set_running(environment, &workload, name, &format!("{image}:{}", &sha[..12]), 1);
                }
            }
        },
        |configuration| {
            let parts = names.iter().map(|name| {
                format!("  - name: {name}\n    repository: acme/{name}\n    image: ghcr.io/acme/{name}\n    workload: deployment/{name}\n")
            });
            let parts = parts.collect::<Vec<_>>().concat();
            edit(configuration.replace("people:", &format!("{parts}people:")))
        },
    )
    .await
}

/// Publishes an image with this tag and rolls it out in qa, in place of CI and the controller.
pub(crate) fn roll_out(world: &World, name: &str, tag: &str, revision: Option<&Sha>) {
    let (image, workload) = (format!("ghcr.io/acme/{name}"), format!("deployment/{name}").parse::<Workload>().unwrap());
    world.sim.registry.publish(&image, tag, revision, world.clock.now());
    world.sim.cluster.set_image("qa", &workload, name, &format!("{image}:{tag}"));
}

pub(crate) fn commit(sim: &gantry::sim::world::World, repository: &str, branch: &str, message: &str) -> String {
    let commit = gantry::sim::github::NewCommit {
        repository: repository.to_owned(),
        branch: branch.to_owned(),
        message: message.to_owned(),
        author: gantry::sim::github::Author { name: "A".into(), email: "a@acme.example".into(), login: None },
        files: [("a.txt".to_owned(), Some(message.to_owned()))].into(),
        at: sim.clock.now(),
    };
    sim.github.commit(commit).unwrap().as_str().to_owned()
}
