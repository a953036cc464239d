//! The cost of promotions: the acknowledgement of a stored command under load, the requests to GitHub of a simple
//! promotion, and a thousand changes under way at once.

use std::fmt::Write;
use std::time::{Duration, Instant};

use gantry::adapters::store::{ImageCommit, Store, Transaction};
use gantry::clock::Clock;
use gantry::domain::change::plan::{Direction, GitWrite, Plan};
use gantry::domain::change::{Change, DeployState, ResultTag, Stage};
use gantry::domain::git::commit_summary::CommitSummary;
use gantry::domain::model::actor::PersonId;
use gantry::domain::model::artefact::ArtefactName;
use gantry::domain::model::environment::{EnvironmentName, PromotionMethod};
use gantry::domain::model::ids::ChangeId;
use gantry::domain::model::version::{Sha, Version};
use gantry::domain::model::workload::Workload;
use gantry::domain::rules::image_presence::ImagePresence;
use jiff::SignedDuration;

use crate::Outcome;
use crate::load::{Connection, request};
use crate::rest::MIB;
use crate::table::Table;
use crate::world::{Bot, World};

const PER_SECOND: usize = 200;
const SECONDS: usize = 10;
const CONNECTIONS: usize = 16;
const CHANGES: usize = 1000;
const TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) fn measure(world: &World, table: &mut Table) -> Outcome<()> {
    measure_acknowledgements(world, table)?;
    measure_simple_promotion(world, table)?;
    measure_many_changes(world, table)
}

/// Commands that must be stored before they are acknowledged, at a steady rate.
fn measure_acknowledgements(world: &World, table: &mut Table) -> Outcome<()> {
    let bot = world.start_bot()?;
    bot.settle()?;
    world.wait_until_alice_known()?;
    bot.settle()?;
    let timestamp = Clock::new_system().now().as_second();
    let count = PER_SECOND * SECONDS;
    let requests: Vec<Vec<u8>> =
        (0..count).map(|number| request("/gantry", "cancel 0badcafe", timestamp, number)).collect::<Outcome<_>>()?;
    let started = Instant::now() + Duration::from_millis(50);
    let send_on_connection = |first: usize| -> Result<Vec<Duration>, String> {
        let mut connection = Connection::open(bot.server.address).map_err(|error| error.to_string())?;
        let mut durations = Vec::new();
        for number in (first..count).step_by(CONNECTIONS) {
            let due = started
                + Duration::from_secs(1) * u32::try_from(number).unwrap_or(u32::MAX)
                    / u32::try_from(PER_SECOND).unwrap_or(1);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let sent = Instant::now();
            connection.send_expecting_ok(&requests[number]).map_err(|error| error.to_string())?;
            durations.push(sent.elapsed());
        }
        Ok(durations)
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS).map(|first| scope.spawn(move || send_on_connection(first))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Err("A connection panicked.".to_owned()))).collect()
    });
    let mut durations = results.into_iter().collect::<Result<Vec<_>, String>>()?.concat();
    durations.sort();
    let millis = |percent: usize| durations[percent * (durations.len() - 1) / 100].as_secs_f64() * 1000.0;
    table.figure("a stored command's acknowledgement, 99th percentile at 200 a second", millis(99), 50.0, "ms");
    table.note("the median", millis(50), "ms");
    Ok(())
}

/// A promotion without obstacles and failures.
#[expect(clippy::cast_precision_loss, reason = "a handful of requests")]
fn measure_simple_promotion(world: &World, table: &mut Table) -> Outcome<()> {
    let bot = world.start_bot()?;
    bot.settle()?;
    let before = world.sim.github.request_faults().requests().len();
    let running_image = || world.sim.cluster.state("qa", &"deployment/checkout".parse().ok()?).image;
    let old_image = running_image();
    world.runtime.block_on(world.sim.slack.type_command("alice", "deploys", "/promote checkout qa"))?;
    let started = Instant::now();
    while running_image() == old_image && started.elapsed() < TIMEOUT {
        std::thread::sleep(Duration::from_millis(100));
    }
    bot.settle()?;
    let count = world.sim.github.request_faults().requests().len() - before;
    table.figure("requests to GitHub of a promotion", count as f64, 10.0, "requests");
    Ok(())
}

/// A thousand artefacts, each with a change that waits for the proof of its deployment.
#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
fn measure_many_changes(world: &World, table: &mut Table) -> Outcome<()> {
    let names: Vec<String> = (0..CHANGES).map(|number| format!("part-{number:04}")).collect();
    for name in &names {
        let workload: Workload = format!("deployment/{name}").parse()?;
        world.sim.cluster.set_running("qa", &workload, name, &format!("ghcr.io/acme/{name}:old"), 1);
    }
    let mut parts = String::new();
    for name in &names {
        write!(
            parts,
            "  - name: {name}\n    repository: acme/{name}\n    image: ghcr.io/acme/{name}\n    workload: deployment/{name}\n    \
             environments: {{ development: false, staging: false, prod: false }}\n"
        )?;
    }
    let configure = |configuration: String| configuration.replace("people:", &format!("{parts}people:"));
    let bot = world.start_bot_with(configure, |database| world.runtime.block_on(prepare(database, &names)))?;
    bot.settle()?;
    table.figure("memory with 1,000 changes under way", bot.server.memory()?.all as f64 / MIB, 60.0, "MiB");

    let (steps, ticks) = (world.runtime.block_on(count_claims(&bot))?, bot.server.ticks()?);
    for name in &names {
        let workload: Workload = format!("deployment/{name}").parse()?;
        world.sim.cluster.set_running("qa", &workload, name, &format!("ghcr.io/acme/{name}:new"), 1);
    }
    let started = Instant::now();
    while world.runtime.block_on(count_deployed(&bot))? < CHANGES {
        if started.elapsed() > TIMEOUT {
            return Err("The thousand changes were not deployed in time.".into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let (steps, ticks) = (world.runtime.block_on(self::count_claims(&bot))? - steps, bot.server.ticks()? - ticks);
    let millis = ticks as f64 * 10.0 / steps.max(1) as f64;
    table.figure("CPU of the whole process, a step of a change", millis, 5.0, "ms");
    table.note("steps", steps as f64, "steps");
    table.note("until all changes were deployed", started.elapsed().as_secs_f64(), "s");
    Ok(())
}

async fn prepare(database: &str, names: &[String]) -> Outcome<()> {
    let clock = Clock::new_system();
    let store = Store::open(database, clock.clone()).await?;
    for (number, name) in names.iter().enumerate() {
        let now = clock.now();
        let sha = |kind: u8| -> Result<Sha, String> { format!("{kind:02x}{number:038x}").parse() };
        let version = |tag: &str, commit: Option<Sha>| Version { tag: Some(tag.into()), digest: None, commit };
        let (pinned, result) = (sha(1)?, sha(2)?);
        let stage = Stage::new_merging().into_deploying(result.clone(), now, now + SignedDuration::from_hours(1))?;
        // The tag is marked as missing, so that this measures no requests to GitHub.
        let without_tag =
            |state: DeployState| DeployState { tag: ResultTag::Failed { reason: "not tried".to_owned() }, ..state };
        let change = Change {
            id: ChangeId::new(now),
            requester: PersonId::new("U0ALICE"),
            requested_in: None,
            requested_at: now,
            retried_at: None,
            request: None,
            plan: Plan {
                artefact: ArtefactName::new(name),
                environment: EnvironmentName::new("qa"),
                seen_in: EnvironmentName::new("development"),
                repository: format!("acme/{name}").parse()?,
                branch: "qa".to_owned(),
                version: version("new", Some(pinned.clone())),
                write: GitWrite::Branch { pinned },
                from: Some(version("old", None)),
                drift: CommitSummary::default(),
                co_deployed: Vec::new(),
                head: None,
                behind_by: 0,
                method: PromotionMethod::Merge,
                healthy_since: None,
                green_checks: 0,
                supersedes: None,
                gate_override: None,
                sources: Vec::new(),
                tree: None,
                rollbacks_to_undo: Vec::new(),
                holds_to_lift: Vec::new(),
                image: ImagePresence::Present,
                direction: Direction::Promotion,
            },
            stage: stage.update_deploying(without_tag)?,
            result_branch: None,
        };
        let image_commit = |reference: &str, commit: Sha| ImageCommit {
            image: format!("ghcr.io/acme/{name}"),
            reference: reference.to_owned(),
            commit: Some(commit),
            proof: "tag".to_owned(),
        };
        let transaction = Transaction::new()
            .begin_change(change)
            .record_image_commit(image_commit("old", sha(3)?))
            .record_image_commit(image_commit("new", result));
        store.commit(transaction).await?;
    }
    store.close().await;
    Ok(())
}

/// How often changes were claimed so far.
async fn count_claims(bot: &Bot) -> Outcome<u64> {
    bot.query_number("SELECT SUM(fence) FROM change").await
}

async fn count_deployed(bot: &Bot) -> Outcome<usize> {
    Ok(usize::try_from(bot.query_number("SELECT COUNT(*) FROM change WHERE stage = 'deployed'").await?)?)
}
