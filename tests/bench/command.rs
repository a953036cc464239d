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
const MICROSECONDS_PER_TICK: f64 = 10_000.0;

#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
pub(crate) fn measure(world: &World, table: &mut Table) -> Outcome<()> {
    let bot = world.start_bot()?;
    bot.settle()?;
    world.wait_until_alice_known()?;
    bot.settle()?;

    let answer = load::send_once(bot.server.address, &Requests::sign("checkout")?)?;
    let bare = bare::start(&answer)?;
    let calls = world.slack_calls();
    let (mut ratios, mut bot_total, mut bare_total) = (Vec::new(), 0, 0);
    for round in 0..=ROUNDS {
        let requests = Requests::sign("checkout")?;
        // The order alternates, so that other load of the machine affects both.
        let (bot_ticks, bare_ticks) = if round % 2 == 0 {
            let bot_ticks = measure_round_ticks(&bot.server, &requests, answer.len())?;
            (bot_ticks, measure_round_ticks(&bare, &requests, answer.len())?)
        } else {
            let bare_ticks = measure_round_ticks(&bare, &requests, answer.len())?;
            (measure_round_ticks(&bot.server, &requests, answer.len())?, bare_ticks)
        };
        // The first round only warms up both servers.
        if round > 0 {
            ratios.push(bot_ticks as f64 / bare_ticks.max(1) as f64);
            bot_total += bot_ticks;
            bare_total += bare_ticks;
        }
    }
    ratios.sort_by(f64::total_cmp);
    let requests = (ROUNDS * CONNECTIONS * TIMES) as f64;
    table.figure("/list checkout, CPU beside a bare handler", ratios[ROUNDS / 2], 2.5, "x");
    table.note("over all rounds together", bot_total as f64 / bare_total.max(1) as f64, "x");
    table.note("of the bot, a request", bot_total as f64 * MICROSECONDS_PER_TICK / requests, "us");
    table.note("of the bare handler, a request", bare_total as f64 * MICROSECONDS_PER_TICK / requests, "us");
    table.note("the answer", answer.len() as f64, "bytes");
    table.figure("calls to Slack", (world.slack_calls() - calls) as f64, 0.0, "calls");
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
