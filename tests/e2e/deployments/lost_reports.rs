//! Reports are lost, repeated, late and out of order. The store still equals the cluster after one poll.

use std::collections::BTreeMap;

use futures::future::{join, join_all};
use gantry::domain::change::Change;
use gantry::domain::model::artefact::ArtefactName;
use gantry::domain::model::environment::EnvironmentName;
use gantry::domain::model::version::Image;
use gantry::domain::runtime::sighting::Sighting;
use gantry::sim::controller::WebhookFaults;
use gantry::sim::faults::Fault;
use gantry::sim::rng::Rng;
use gantry::sim::world::{ARTEFACTS, ENVIRONMENTS, SimArtefact};
use jiff::SignedDuration;

use crate::harness::world::{Person, World, has_button};

const SEEDS: std::ops::Range<u64> = 2..5;
const ROUNDS: usize = 3;
const POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// The images of these artefacts name their commit. Only the controller names the commit of the mailer.
const WITH_COMMIT_IN_IMAGE: [&str; 3] = ["checkout", "search", "storefront"];

/// A world with a short `deploy_timeout`. A stateful set has no progress deadline, so only this timeout shows its
/// failure.
async fn open_world() -> World {
    World::with_config(|configuration| {
        configuration
            .replace("workload: [statefulset/mailer, deployment/mailer-web]", "workload: statefulset/mailer")
            .replace("deploy_timeout: 90s", "deploy_timeout: 30s")
    })
    .await
}

/// Random actions of people and faults of the cluster.
struct RandomRun<'a> {
    world: &'a World,
    rng: Rng,
    artefacts: &'a [&'static str],
    /// The actions so far, for the message of a failed assertion.
    actions: Vec<String>,
}

impl RandomRun<'_> {
    async fn round(&mut self, round: usize) {
        for step in 0..3 {
            let artefact = self.artefacts[self.rng.next_below(self.artefacts.len())];
            let environment = ["qa", "qa", "staging"][self.rng.next_below(3)];
            match self.rng.next_below(5) {
                0 => self.push(artefact, round, step).await,
                1 => {
                    self.crash(artefact, "development");
                    self.push(artefact, round, step).await;
                }
                2 => self.types_and_confirms(&format!("/promote {artefact} {environment}")).await,
                3 => {
                    self.crash(artefact, environment);
                    self.types_and_confirms(&format!("/promote {artefact} {environment}")).await;
                }
                _ => {
                    self.types_and_confirms(&format!("/rollback {artefact} {environment} --reason it is broken")).await;
                }
            }
        }
        if round == 1 && self.artefacts.contains(&"mailer") {
            self.crash("mailer", "development");
            self.push("mailer", round, 3).await;
        }
    }

    async fn push(&mut self, artefact: &str, round: usize, step: usize) {
        self.actions.push(format!("push {artefact}"));
        self.world.push(artefact, &format!("Round {round}, step {step}"));
        self.world.settle().await;
    }

    fn crash(&mut self, artefact: &str, environment: &str) {
        self.actions.push(format!("crash {artefact} in {environment}"));
        self.world.sim.faults.arm(Fault::CrashLoop, 1, Some(artefact.to_owned()), Some(environment.to_owned()));
    }

    async fn types_and_confirms(&mut self, command: &str) {
        self.actions.push(command.to_owned());
        let alice: Person<'_> = self.world.alice();
        alice.types(command).await;
        if has_button(&self.world.last_message("alice", "deploys"), "Confirm") {
            alice.clicks("Confirm").await;
        }
        // A fault that did not strike must not strike a later action.
        for armed in self.world.sim.faults.list_armed() {
            self.world.sim.faults.take_if_armed(armed.fault, armed.artefact.as_deref(), armed.environment.as_deref());
        }
    }
}

/// The tag and the state of an artefact in the simulated cluster.
fn cluster_state(world: &World, artefact: &SimArtefact, environment: &str) -> (String, &'static str) {
    let workload = artefact.workloads().remove(0);
    let workload_state = world.sim.cluster.state(environment, &workload);
    (Image::parse(&workload_state.image.expect("an image")).tag.expect("a tag").to_string(), workload_state.state)
}

/// The tag and the state of an artefact in the store.
fn stored_state(sighting: &Sighting) -> (String, &'static str) {
    let state = match (&sighting.failure, sighting.healthy_since) {
        (Some(_), _) => "degraded",
        (None, Some(_)) => "running",
        (None, None) => "rolling_out",
    };
    (sighting.version.tag.as_deref().expect("a tag").to_owned(), state)
}

type StateByPlace = BTreeMap<(&'static str, &'static str), (String, &'static str)>;
type StageByPlace = BTreeMap<(&'static str, &'static str), &'static str>;

async fn sightings(world: &World) -> BTreeMap<(String, String), Sighting> {
    let now = world.bot.store.list_current_sightings().await.unwrap();
    now.into_iter().map(|seen| ((seen.artefact.to_string(), seen.environment.to_string()), seen)).collect()
}

/// Compares the stored sightings and the newest ended changes with the cluster. Returns the stages of these changes.
async fn assert_store_matches_cluster(world: &World, after: &str) -> StageByPlace {
    let sightings_by_place = sightings(world).await;
    let (mut running, mut stored, mut stages) = (StateByPlace::new(), StateByPlace::new(), StageByPlace::new());
    for artefact in &ARTEFACTS {
        for (environment, _) in ENVIRONMENTS {
            let place = (artefact.name, environment);
            let sighting = &sightings_by_place[&(artefact.name.to_owned(), environment.to_owned())];
            running.insert(place, cluster_state(world, artefact, environment));
            stored.insert(place, stored_state(sighting));
            if let Some(change) = find_newest_ended_change(world, artefact, environment).await {
                stages.insert(place, change.stage.name());
                assert_stage_matches_cluster(artefact, &change, sighting, &running[&place], after);
            }
        }
    }
    assert_eq!(stored, running, "{after}");
    stages
}

/// The newest change of the artefact in the environment, if it has ended and no later change moved the same branch or
/// file.
async fn find_newest_ended_change(world: &World, sim_artefact: &SimArtefact, environment: &str) -> Option<Change> {
    let store = &world.bot.store;
    let (artefact, environment) = (ArtefactName::new(sim_artefact.name), EnvironmentName::new(environment));
    let change = store.find_last_change(&artefact, &environment).await.unwrap()?;
    let newest = store.list_changes_of(&change.change_lock_key(), 1).await.unwrap().pop()?;
    (newest.id == change.id && !change.stage.is_active()).then_some(change)
}

fn assert_stage_matches_cluster(
    artefact: &SimArtefact,
    change: &Change,
    sighting: &Sighting,
    running: &(String, &str),
    after: &str,
) {
    let Some(deploying) = change.stage.deploying() else { return };
    let (tag, state) = running;
    let is_result = if artefact.uses_manifest {
        change.plan.version.tag.as_deref() == Some(tag)
    } else {
        sighting.version.commit.as_ref() == Some(&deploying.result)
    };
    let is_deployed = is_result && *state == "running";
    let name = change.stage.name();
    assert_eq!(name == "deployed", is_deployed, "{} is {name}, and the cluster has {running:?} {after}", change.id);
}

/// A random run with these webhook faults. Returns how the changes ended, and the number of messages in the channels.
async fn run_seed(seed: u64, faults: WebhookFaults, artefacts: &[&'static str]) -> (Vec<StageByPlace>, usize) {
    let world = open_world().await;
    world.sim.controller.set_webhook_faults(faults, seed);
    let mut run = RandomRun { world: &world, rng: Rng::new(seed), artefacts, actions: Vec::new() };
    let mut stages = Vec::new();
    for round in 0..ROUNDS {
        run.round(round).await;
        world.wait(POLL_INTERVAL).await;
        stages.push(assert_store_matches_cluster(&world, &format!("with seed {seed} after {:#?}", run.actions)).await);
    }
    (stages, ["deploys", "releases"].iter().map(|channel| world.public_messages(channel).len()).sum())
}

#[tokio::test]
async fn with_30_percent_of_webhooks_lost_the_store_equals_the_cluster_after_one_poll() {
    let faults = WebhookFaults { lost_percent: 30, ..WebhookFaults::default() };
    let all: Vec<&'static str> = ARTEFACTS.iter().map(|artefact| artefact.name).collect();
    let runs = join_all(SEEDS.map(|seed| run_seed(seed, faults, &all))).await;
    let ended: Vec<&str> =
        runs.iter().flat_map(|(stages, _)| stages.iter().flat_map(BTreeMap::values).copied()).collect();
    assert!(ended.contains(&"deployed") && ended.contains(&"failed"), "the runs have too few kinds of ends: {ended:?}");
}

#[tokio::test]
async fn without_any_webhook_every_change_ends_as_deployed_or_failed() {
    let faults = WebhookFaults { lost_percent: 100, ..WebhookFaults::default() };
    for (stages, _) in join_all(SEEDS.map(|seed| run_seed(seed, faults, &WITH_COMMIT_IN_IMAGE))).await {
        for (place, stage) in stages.iter().flatten() {
            assert!(["deployed", "failed"].contains(stage), "{place:?} is {stage}");
        }
    }
}

#[tokio::test]
async fn repeated_late_and_unordered_webhooks_do_not_change_the_result() {
    let all: Vec<&'static str> = ARTEFACTS.iter().map(|artefact| artefact.name).collect();
    let faults = WebhookFaults { lost_percent: 0, duplicate_percent: 100, max_delay: SignedDuration::from_secs(8) };
    let runs =
        SEEDS.skip(1).map(|seed| join(run_seed(seed, WebhookFaults::default(), &all), run_seed(seed, faults, &all)));
    for (without_faults, with_faults) in join_all(runs).await {
        assert_eq!(with_faults, without_faults);
    }
}
