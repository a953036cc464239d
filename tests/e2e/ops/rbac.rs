//! The chart grants exactly the permissions that the code uses. This test uses all of them. In every test, the
//! simulated cluster refuses a request that the chart does not grant, and the test fails.

use std::collections::BTreeSet;

use gantry::adapters::cluster::access::list_required_permissions;
use gantry::domain::model::workload::Workload;
use gantry::sim::faults::Fault;
use gantry::sim::github::{Author, NewCommit};
use gantry::sim::world::World as Sim;

use crate::harness::world::World;

/// Two more artefacts in a repository with one commit, so that only the cluster knows their earlier versions.
fn prepare(sim: &Sim) {
    sim.github.create_repository("acme/part", "develop").unwrap();
    let author = Author { name: "A".into(), email: "a@acme.example".into(), login: None };
    let files = [("a.txt".to_owned(), Some("Begin".to_owned()))].into();
    let (repository, branch, message) = ("acme/part".to_owned(), "develop".to_owned(), "Begin".to_owned());
    let commit = NewCommit { repository, branch, message, author, files, at: sim.clock.now() };
    let first = sim.github.commit(commit).unwrap();
    for branch in ["qa", "staging", "prod"] {
        sim.github.create_branch("acme/part", branch, &first).unwrap();
    }
    for (name, workload) in [("agent", "daemonset/agent"), ("part", "deployment/part")] {
        let workload: Workload = workload.parse().unwrap();
        for tag in ["build-1", "build-2"] {
            sim.registry.publish(&format!("ghcr.io/acme/{name}"), tag, Some(&first), sim.clock.now());
            sim.cluster.set_running("qa", &workload, name, &format!("ghcr.io/acme/{name}:{tag}"), 1);
        }
    }
}

#[tokio::test]
async fn the_bot_uses_exactly_the_permissions_that_the_chart_grants() {
    let artefact = |(name, workload): (&str, &str)| {
        format!(
            "  - name: {name}\n    repository: acme/part\n    image: ghcr.io/acme/{name}\n    workload: {workload}\n"
        )
    };
    let more: String = [("agent", "daemonset/agent"), ("part", "deployment/part")].map(artefact).concat();
    let world = World::without_history(prepare, |yaml| yaml.replace("people:", &format!("{more}people:"))).await;

    // A failed workload makes the bot read its pods. A rollback without stored sightings makes it read the history.
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("mailer".into()), Some("development".into()));
    world.push("mailer", "Crash");
    world.settle().await;
    for artefact in ["agent", "part"] {
        world.bob().types(&format!("/rollback {artefact} qa")).await;
    }
    let granted: BTreeSet<_> = list_required_permissions().into_iter().collect();
    let unused: Vec<String> =
        granted.difference(&world.sim.cluster.requested_permissions()).map(ToString::to_string).collect();
    assert_eq!(unused, Vec::<String>::new(), "granted and never used");
    let surplus: Vec<String> =
        world.sim.cluster.requested_permissions().difference(&granted).map(ToString::to_string).collect();
    assert_eq!(surplus, Vec::<String>::new(), "used and not granted");
}
