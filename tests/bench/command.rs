//! The CPU time of `/list checkout`, answered in the response, beside a handler with a constant answer.
//! Bot, bare handler and this benchmark are three processes. The kernel counts the time of each server's process.

use std::time::Duration;

use crate::Outcome;
use crate::bare;
use crate::load::{self, Requests};
use crate::process::Server;
use crate::rest::MIB;
use crate::table::Table;
use crate::world::World;

const ROUNDS: usize = 15;
const CONNECTIONS: usize = 4;
const TIMES: usize = 5000;

/// A tick is a hundredth of a second on every Linux that Rust supports. Only the notes depend on it.
const MICROSECONDS_A_TICK: f64 = 10_000.0;

#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
pub(crate) fn measure(world: &World, table: &mut Table) -> Outcome<()> {
    let bot = world.start_bot()?;
    bot.settle()?;
    world.wait_until_alice_known()?;
    bot.settle()?;

    let answer = load::ask(bot.server.address, &Requests::sign("checkout")?)?;
    let bare = bare::start(&answer)?;
    let calls = world.slack_calls();
    let (mut ratios, mut ours, mut theirs) = (Vec::new(), 0, 0);
    for round in 0..=ROUNDS {
        let requests = Requests::sign("checkout")?;
        // The order alternates, so that other load of the machine affects both.
        let (a, b) = if round % 2 == 0 {
            let ours = measure_round_ticks(&bot.server, &requests, answer.len())?;
            (ours, measure_round_ticks(&bare, &requests, answer.len())?)
        } else {
            let theirs = measure_round_ticks(&bare, &requests, answer.len())?;
            (measure_round_ticks(&bot.server, &requests, answer.len())?, theirs)
        };
        // The first round only warms up both servers.
        if round > 0 {
            ratios.push(a as f64 / b.max(1) as f64);
            ours += a;
            theirs += b;
        }
    }
    ratios.sort_by(f64::total_cmp);
    let requests = (ROUNDS * CONNECTIONS * TIMES) as f64;
    table.figure("/list checkout, CPU beside a bare handler", ratios[ROUNDS / 2], 2.5, "x");
    table.note("over all rounds together", ours as f64 / theirs.max(1) as f64, "x");
    table.note("of the bot, a request", ours as f64 * MICROSECONDS_A_TICK / requests, "us");
    table.note("of the bare handler, a request", theirs as f64 * MICROSECONDS_A_TICK / requests, "us");
    table.note("the answer", answer.len() as f64, "bytes");
    table.figure("calls of Slack that it made", (world.slack_calls() - calls) as f64, 0.0, "calls");
    std::thread::sleep(Duration::from_secs(1));
    table.note("memory after the load", bot.server.memory()?.all as f64 / MIB, "MiB");
    Ok(())
}

/// The CPU ticks of a server for one round.
fn measure_round_ticks(server: &Server, requests: &Requests, expected: usize) -> Outcome<u64> {
    let before = server.ticks()?;
    load::run(server.address, requests, CONNECTIONS, TIMES, expected)?;
    Ok(server.ticks()? - before)
}
