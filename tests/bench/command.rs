//! What `/list checkout`, answered in the response, costs of the processors beside a handler that knows its answer.
//! Bot, bare handler and this process are three; each server's time is the kernel's count for its process.

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

/// A tick is a hundredth of a second on every Linux that Rust runs on; only the notes depend on it.
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
        // Taking turns, in turns: whatever else the machine does meets both.
        let (a, b) = if round % 2 == 0 {
            let ours = measure_round_ticks(&bot.server, &requests, answer.len())?;
            (ours, measure_round_ticks(&bare, &requests, answer.len())?)
        } else {
            let theirs = measure_round_ticks(&bare, &requests, answer.len())?;
            (measure_round_ticks(&bot.server, &requests, answer.len())?, theirs)
        };
        // The first round only warms both up.
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

/// The ticks that one round takes of a server.
fn measure_round_ticks(server: &Server, requests: &Requests, expected: usize) -> Outcome<u64> {
    let before = server.ticks()?;
    load::run(server.address, requests, CONNECTIONS, TIMES, expected)?;
    Ok(server.ticks()? - before)
}
