//! Rollbacks without a ledger: the previous version comes from Git, else from the cluster, else it is guessed from the
//! registry's tags. The plan names the source and must be confirmed.

use gantry::domain::model::version::Sha;
use gantry::domain::model::workload::Workload;
use gantry::sim::github::{Author, NewCommit};
use gantry::sim::world::World as Sim;
use insta::assert_snapshot;

use crate::harness::rollback::{REPOSITORY, card, head, parents, redact_commits, tree};
use crate::harness::world::World;

fn parent(sim: &Sim, child: &Sha) -> Sha {
    let graph = sim.github.graph(REPOSITORY, 1000);
    graph.into_iter().find(|commit| commit.sha == *child).expect("a commit").parents[0].clone()
}

fn qa(sim: &Sim) -> Sha {
    sim.github.head(REPOSITORY, "qa").expect("a branch")
}

#[tokio::test]
async fn without_a_ledger_a_rollback_goes_to_the_previous_commit_of_the_branch() {
    let world = World::without_history(|_| {}, |yaml| yaml).await;
    let before = head(&world, "qa");
    let good = parents(&world, &before)[0].clone();
    world.bob().types("/rollback checkout qa").await;
    assert_snapshot!(redact_commits(&world, &world.bob().reads(), &[]), @"
    :leftwards_arrow_with_hook: Roll *checkout* back to `d2aaacd` in *qa*, by a commit on `qa`
    `qa-6cff9ae` → `d2aaacd`, commit `d2aaacd` · <http://world/sim/github/acme/checkout/compare/d2aaacd210b18cccdbee38c1276c791bb18fcefc...6cff9aebe9cfa6bf18e82fa05218364d77b382eb|compare>
    The branch stood there before. I have not seen it run there myself
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/checkout/commit/7d03d5abcfb3c4416e40d2d99f39b9780cf28818|7d03d5a> Accept vouchers of partners · Bob Brandt
    [Confirm] [Another version] [Cancel]
    Nothing is done before you confirm. This is good for 30 minutes.
    ");
    assert_eq!(head(&world, "qa"), before, "the branch does not move before the confirmation");
    world.bob().clicks_in("deploys", "Confirm").await;
    let result = head(&world, "qa");
    assert_eq!((parents(&world, &result), tree(&world, &result)), (vec![before], tree(&world, &good)));
    assert!(card(&world, "deploys").contains(": running in *qa*"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn without_a_ledger_a_rollback_goes_to_the_previous_git_tag_of_the_environment() {
    let tagged = |sim: &Sim| {
        let older = parent(sim, &parent(sim, &qa(sim)));
        sim.github.tag(REPOSITORY, "qa/2026.11.14-9", &parent(sim, &older), "older").unwrap();
        sim.github.tag(REPOSITORY, "qa/2026.11.14-10", &older, "by somebody").unwrap();
        sim.github.tag(REPOSITORY, "qa/2026.11.15-1", &qa(sim), "what is there").unwrap();
        sim.github.tag(REPOSITORY, "qa-old/2026.11.16-1", &parent(sim, &qa(sim)), "not of this one").unwrap();
    };
    let world = World::without_history(tagged, |yaml| yaml).await;
    let older = parents(&world, &parents(&world, &head(&world, "qa"))[0])[0].clone();
    world.bob().types("/rollback checkout qa").await;
    let plan = world.bob().reads();
    assert!(plan.contains("back to `qa/2026.11.14-10` in *qa*"), "{plan}");
    assert!(plan.contains("The branch stood there before. I have not seen it run there myself"), "{plan}");
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &older));
}

#[tokio::test]
async fn without_a_ledger_an_earlier_commit_of_the_branch_can_be_named() {
    let tagged = |sim: &Sim| {
        sim.github.tag(REPOSITORY, "qa/2026.11.12-1", &parent(sim, &parent(sim, &qa(sim))), "by somebody").unwrap();
    };
    let world = World::without_history(tagged, |yaml| yaml).await;
    let before = head(&world, "qa");
    let older = parents(&world, &parents(&world, &before)[0])[0].clone();
    for name in ["qa/2026.11.12-1", &older.as_str()[..9]] {
        world.bob().types(&format!("/rollback checkout qa {name}")).await;
        let plan = world.bob().reads();
        assert!(plan.contains("The branch stood there before") && plan.contains("[Confirm]"), "{name}: {plan}");
    }
    // A commit that the branch never pointed at is refused.
    world.bob().types(&format!("/rollback checkout qa {}", head(&world, "develop").short())).await;
    assert!(world.bob().reads().contains("has never run well in *qa*"), "{}", world.bob().reads());
    assert_eq!(head(&world, "qa"), before);
}

const IMAGE: &str = "ghcr.io/acme/part";

/// A world with one more artefact, which CI and the controller do not know. Its branch `qa` has a single commit.
/// `deploy` deploys images to qa, given that commit and a later one.
async fn with_part(deploy: impl FnOnce(&Sim, &Sha, &Sha)) -> World {
    let prepare = |sim: &Sim| {
        sim.github.create_repository("acme/part", "develop").unwrap();
        let commit = |message: &str| {
            let author = Author { name: "A".into(), email: "a@acme.example".into(), login: None };
            let files = [("a.txt".to_owned(), Some(message.to_owned()))].into();
            let (repository, branch) = ("acme/part".to_owned(), "develop".to_owned());
            let (message, at) = (message.to_owned(), sim.clock.now());
            sim.github.commit(NewCommit { repository, branch, message, author, files, at }).unwrap()
        };
        let first = commit("Begin");
        for branch in ["qa", "staging", "prod"] {
            sim.github.create_branch("acme/part", branch, &first).unwrap();
        }
        deploy(sim, &first, &commit("Go on"));
    };
    World::without_history(prepare, |yaml| {
        let part =
            format!("  - name: part\n    repository: acme/part\n    image: {IMAGE}\n    workload: deployment/part\n");
        yaml.replace("people:", &format!("{part}people:"))
    })
    .await
}

fn deploy_to_qa(sim: &Sim, tag: &str, commit: &Sha) {
    sim.registry.publish(IMAGE, tag, Some(commit), sim.clock.now());
    let workload: Workload = "deployment/part".parse().unwrap();
    sim.cluster.set_running("qa", &workload, "part", &format!("{IMAGE}:{tag}"), 1);
}

async fn request_rollback(world: &World) -> String {
    let before = world.sim.github.head("acme/part", "qa");
    world.bob().types("/rollback part qa").await;
    assert_eq!(world.sim.github.head("acme/part", "qa"), before, "the branch does not move before the confirmation");
    world.bob().reads()
}

#[tokio::test]
async fn without_git_history_a_rollback_goes_to_the_version_that_the_cluster_remembers() {
    let world = with_part(|sim, first, later| {
        deploy_to_qa(sim, later.short(), later);
        deploy_to_qa(sim, first.short(), first);
    })
    .await;
    let plan = request_rollback(&world).await;
    assert!(
        plan.contains("The cluster remembers that it ran there before. I have not seen it run well myself"),
        "{plan}"
    );
    world.bob().clicks_in("deploys", "Confirm").await;
    let result = world.sim.github.head("acme/part", "qa").unwrap();
    assert_eq!(world.sim.github.read_file("acme/part", &result, "a.txt").as_deref(), Some("Go on"));
}

#[tokio::test]
async fn without_any_history_a_rollback_guesses_the_version_from_the_registrys_tags() {
    let world = with_part(|sim, first, later| {
        for (tag, commit) in [("1.9.0", later), ("1.8.0", first), ("1.11.0", later), ("2-beta", later)] {
            sim.registry.publish(IMAGE, tag, Some(commit), sim.clock.now());
        }
        deploy_to_qa(sim, "1.10.0", first);
    })
    .await;
    let plan = request_rollback(&world).await;
    assert!(plan.contains("`1.10.0` \u{2192} `1.9.0`"), "{plan}");
    assert!(plan.contains(":warning: A guess: it is the tag before the current one in the registry."), "{plan}");
    world.bob().clicks_in("deploys", "Confirm").await;
    let result = world.sim.github.head("acme/part", "qa").unwrap();
    assert_eq!(world.sim.github.read_file("acme/part", &result, "a.txt").as_deref(), Some("Go on"));
}

#[tokio::test]
async fn a_rollback_is_refused_if_no_source_knows_an_earlier_version() {
    let world = with_part(|sim, first, later| {
        sim.registry.publish(IMAGE, later.short(), Some(later), sim.clock.now());
        deploy_to_qa(sim, first.short(), first);
    })
    .await;
    let answer = request_rollback(&world).await;
    assert!(answer.starts_with("I know of no version of *part* that ran in *qa* before"), "{answer}");
}
