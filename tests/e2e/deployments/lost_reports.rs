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
    things: &'a [&'static str],
    /// The actions so far, for the message of a failed assertion.
    actions: Vec<String>,
}

impl RandomRun<'_> {
    async fn round(&mut self, round: usize) {
        for step in 0..3 {
            let thing = self.things[self.rng.next_below(self.things.len())];
            let environment = ["qa", "qa", "staging"][self.rng.next_below(3)];
            match self.rng.next_below(5) {
                0 => self.push(thing, round, step).await,
                1 => {
                    self.crash(thing, "development");
                    self.push(thing, round, step).await;
                }
                2 => self.types_and_confirms(&format!("/promote {thing} {environment}")).await,
                3 => {
                    self.crash(thing, environment);
                    self.types_and_confirms(&format!("/promote {thing} {environment}")).await;
                }
                _ => self.types_and_confirms(&format!("/rollback {thing} {environment} --reason it is broken")).await,
            }
        }
        if round == 1 && self.things.contains(&"mailer") {
            self.crash("mailer", "development");
            self.push("mailer", round, 3).await;
        }
    }

    async fn push(&mut self, thing: &str, round: usize, step: usize) {
        self.actions.push(format!("push {thing}"));
        self.world.push(thing, &format!("Round {round}, step {step}"));
        self.world.settle().await;
    }

    fn crash(&mut self, thing: &str, environment: &str) {
        self.actions.push(format!("crash {thing} in {environment}"));
        self.world.sim.faults.arm(Fault::CrashLoop, 1, Some(thing.to_owned()), Some(environment.to_owned()));
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
fn cluster_state(world: &World, thing: &SimArtefact, environment: &str) -> (String, &'static str) {
    let workload = thing.workloads().remove(0);
    let state = world.sim.cluster.state(environment, &workload);
    (Image::parse(&state.image.expect("an image")).tag.expect("a tag").to_string(), state.state)
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
    let seen = sightings(world).await;
    let (mut runs, mut keeps, mut ends) = (StateByPlace::new(), StateByPlace::new(), StageByPlace::new());
    for thing in &ARTEFACTS {
        for (environment, _) in ENVIRONMENTS {
            let here = (thing.name, environment);
            let sighting = &seen[&(thing.name.to_owned(), environment.to_owned())];
            runs.insert(here, cluster_state(world, thing, environment));
            keeps.insert(here, stored_state(sighting));
            if let Some(change) = find_newest_ended_change(world, thing, environment).await {
                ends.insert(here, change.stage.name());
                assert_stage_matches_cluster(thing, &change, sighting, &runs[&here], after);
            }
        }
    }
    assert_eq!(keeps, runs, "{after}");
    ends
}

/// The newest change of the artefact in the environment, if it has ended and no later change moved the same branch or
/// file.
async fn find_newest_ended_change(world: &World, thing: &SimArtefact, environment: &str) -> Option<Change> {
    let store = &world.bot.store;
    let (artefact, environment) = (ArtefactName::new(thing.name), EnvironmentName::new(environment));
    let change = store.find_last_change(&artefact, &environment).await.unwrap()?;
    let newest = store.list_changes_of(&change.change_lock_key(), 1).await.unwrap().pop()?;
    (newest.id == change.id && !change.stage.is_active()).then_some(change)
}

fn assert_stage_matches_cluster(
    thing: &SimArtefact,
    change: &Change,
    sighting: &Sighting,
    runs: &(String, &str),
    after: &str,
) {
    let Some(deploying) = change.stage.deploying() else { return };
    let (tag, state) = runs;
    let is_result = if thing.uses_manifest {
        change.plan.version.tag.as_deref() == Some(tag)
    } else {
        sighting.version.commit.as_ref() == Some(&deploying.result)
    };
    let there = is_result && *state == "running";
    let name = change.stage.name();
    assert_eq!(name == "deployed", there, "{} is {name}, and there stands {runs:?} {after}", change.id);
}

/// A random run with these webhook faults. Returns how the changes ended, and the number of messages in the channels.
async fn run_seed(seed: u64, weather: WebhookFaults, things: &[&'static str]) -> (Vec<StageByPlace>, usize) {
    let world = open_world().await;
    world.sim.controller.set_webhook_faults(weather, seed);
    let mut life = RandomRun { world: &world, rng: Rng::new(seed), things, actions: Vec::new() };
    let mut ends = Vec::new();
    for round in 0..ROUNDS {
        life.round(round).await;
        world.wait(POLL_INTERVAL).await;
        ends.push(assert_store_matches_cluster(&world, &format!("with seed {seed} after {:#?}", life.actions)).await);
    }
    (ends, ["deploys", "releases"].iter().map(|channel| world.public_messages(channel).len()).sum())
}

#[tokio::test]
async fn with_30_percent_of_webhooks_lost_the_store_equals_the_cluster_after_one_poll() {
    let weather = WebhookFaults { lost_percent: 30, ..WebhookFaults::default() };
    let all: Vec<&'static str> = ARTEFACTS.iter().map(|thing| thing.name).collect();
    let lives = join_all(SEEDS.map(|seed| run_seed(seed, weather, &all))).await;
    let ended: Vec<&str> = lives.iter().flat_map(|(ends, _)| ends.iter().flat_map(BTreeMap::values).copied()).collect();
    assert!(ended.contains(&"deployed") && ended.contains(&"failed"), "these lives show little: {ended:?}");
}

#[tokio::test]
async fn without_any_webhook_every_change_ends_as_deployed_or_failed() {
    let weather = WebhookFaults { lost_percent: 100, ..WebhookFaults::default() };
    for (ends, _) in join_all(SEEDS.map(|seed| run_seed(seed, weather, &WITH_COMMIT_IN_IMAGE))).await {
        for (place, end) in ends.iter().flatten() {
            assert!(["deployed", "failed"].contains(end), "{place:?} is {end}");
        }
    }
}

#[tokio::test]
async fn repeated_late_and_unordered_webhooks_do_not_change_the_result() {
    let all: Vec<&'static str> = ARTEFACTS.iter().map(|thing| thing.name).collect();
    let storm = WebhookFaults { lost_percent: 0, duplicate_percent: 100, max_delay: SignedDuration::from_secs(8) };
    let lives =
        SEEDS.skip(1).map(|seed| join(run_seed(seed, WebhookFaults::default(), &all), run_seed(seed, storm, &all)));
    for (fine, stormy) in join_all(lives).await {
        assert_eq!(stormy, fine);
    }
}
