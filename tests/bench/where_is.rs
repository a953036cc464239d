//! `where` over a large repository with everything in the cache: from the command until the answer is in Slack.

use std::fmt::Write;
use std::time::{Duration, Instant};

use gantry::adapters::store::{ImageCommit, Store, Transaction};
use gantry::clock::Clock;
use gantry::domain::git::comparison::{ChangedFiles, Comparison, ListedCommit};
use gantry::domain::model::artefact::Repository;
use gantry::domain::model::version::{Commit, Sha};
use gantry::domain::model::workload::Workload;
use gantry::sim::world::ENVIRONMENTS;

use crate::Outcome;
use crate::table::Table;
use crate::world::World;

const ARTEFACTS: usize = 200;
/// The number of commits that each environment has and the one above does not, besides the wanted commit.
const COMMITS: usize = 20;
const ROUNDS: usize = 15;
const TIMEOUT: Duration = Duration::from_secs(10);
const REPOSITORY: &str = "acme/whole";

#[expect(clippy::cast_precision_loss, reason = "a handful of requests")]
pub(crate) fn measure(world: &World, table: &mut Table) -> Outcome<()> {
    let mut parts = String::new();
    for number in 0..ARTEFACTS {
        let name = name(number);
        let workload: Workload = format!("deployment/{name}").parse()?;
        for (environment, _) in ENVIRONMENTS {
            let image = format!("ghcr.io/acme/{name}:{environment}");
            world.sim.cluster.set_running(environment, &workload, &name, &image, 1);
        }
        write!(
            parts,
            "  - name: {name}\n    repository: {REPOSITORY}\n    image: ghcr.io/acme/{name}\n    workload: deployment/{name}\n"
        )?;
    }
    let configure = |configuration: String| configuration.replace("people:", &format!("{parts}people:"));
    let bot = world.start_bot_with(configure, |database| world.runtime.block_on(prepare(database)))?;
    bot.settle()?;
    world.wait_until_alice_known()?;
    bot.settle()?;
    let requests_before = world.sim.github.request_faults().requests().len();
    let command = format!("/gantry where {}", &wanted_commit()?.as_str()[..10]);
    let mut durations = Vec::new();
    // The first round only warms up the bot.
    for round in 0..=ROUNDS {
        let count = answers(world);
        let started = Instant::now();
        world.runtime.block_on(world.sim.slack.type_command("alice", "deploys", &command))?;
        while answers(world) == count {
            if started.elapsed() > TIMEOUT {
                return Err("`where` was not answered in time.".into());
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        if round > 0 {
            durations.push(started.elapsed().as_secs_f64() * 1000.0);
        }
        // Slack accepts one message a second.
        std::thread::sleep(Duration::from_millis(1200));
    }
    durations.sort_by(f64::total_cmp);
    table.figure(
        "`where` over 200 artefacts in 4 environments, until Slack has the answer",
        durations[ROUNDS / 2],
        50.0,
        "ms",
    );
    table.note("the slowest of 15", durations[ROUNDS - 1], "ms");
    let requests = world.sim.github.request_faults().requests().len() - requests_before;
    table.figure("requests to GitHub", requests as f64, 0.0, "requests");
    Ok(())
}

fn name(number: usize) -> String {
    format!("whole-{number:03}")
}

fn answers(world: &World) -> usize {
    let messages = world.sim.slack.messages("deploys", Some("alice"));
    messages.iter().filter(|message| message.text.contains("is in development (whole-")).count()
}

/// The commit that is in development for every artefact, and in no other environment.
fn wanted_commit() -> Outcome<Sha> {
    Ok("50".repeat(20).parse()?)
}

/// The commit of an artefact that runs in an environment.
fn running_commit(number: usize, level: usize) -> Outcome<Sha> {
    Ok(format!("{:02x}{number:038x}", level + 1).parse()?)
}

fn commit(sha: Sha, subject: &str) -> ListedCommit {
    let url = format!("https://github.com/{REPOSITORY}/commit/{sha}");
    let commit = Commit {
        sha,
        subject: subject.to_owned(),
        author: "Alice Adler".to_owned(),
        login: Some("alice".to_owned()),
        only_moves: false,
        brings: Vec::new(),
        url,
    };
    ListedCommit::new(commit, Vec::new(), None, None)
}

async fn prepare(database: &str) -> Outcome<()> {
    let store = Store::open(database, Clock::new_system()).await?;
    let repository: Repository = REPOSITORY.parse()?;
    for number in 0..ARTEFACTS {
        let mut transaction = Transaction::new();
        for (level, (environment, _)) in ENVIRONMENTS.iter().enumerate() {
            transaction = transaction.record_image_commit(ImageCommit {
                image: format!("ghcr.io/acme/{}", name(number)),
                reference: (*environment).to_owned(),
                commit: Some(running_commit(number, level)?),
                proof: "tag".to_owned(),
            });
            if level == 0 {
                continue;
            }
            let (below, running) = (running_commit(number, level - 1)?, running_commit(number, level)?);
            let mut commits = Vec::new();
            for index in 0..COMMITS {
                let sha = format!("a{level}{index:02x}{number:036x}").parse()?;
                commits.push(commit(sha, "Something that was done between the two"));
            }
            if level == 1 {
                commits.push(commit(wanted_commit()?, "What everybody asks for (#42)"));
            }
            let commit_count = commits.len() as u64;
            let files = ChangedFiles::default();
            let forward = Comparison {
                base: running.clone(),
                head: below.clone(),
                ahead_by: commit_count,
                behind_by: 1,
                commits,
                files: files.clone(),
                url: None,
            };
            let merge = vec![commit(running.clone(), "Promote it")];
            let backward = Comparison {
                base: below,
                head: running,
                ahead_by: 1,
                behind_by: commit_count,
                commits: merge,
                files,
                url: None,
            };
            transaction = transaction
                .record_comparison(repository.clone(), forward)
                .record_comparison(repository.clone(), backward);
        }
        store.commit(transaction).await?;
    }
    store.close().await;
    Ok(())
}
