//! The cost of a burst of reports. With `--load`, the process is killed twice, and each report has exactly one effect.

use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, Instant};

use gantry::clock::Clock;

use crate::Outcome;
use crate::bare;
use crate::burst::{Burst, BurstResult};
use crate::flux::{self, SignedReport};
use crate::rest::MIB;
use crate::table::Table;
use crate::world::{Bot, World};

const FEW: usize = 2_000;
const MANY: usize = 10_000;
const SEED: u64 = 20_261_116;
const TIMEOUT: Duration = Duration::from_mins(2);
const MILLISECONDS_A_TICK: f64 = 10.0;

#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
pub(crate) fn measure(world: &World, table: &mut Table) -> Outcome<()> {
    let reports = flux::reports(FEW, SEED, Clock::new_system().now())?;
    let bot = world.start_bot()?;
    bot.settle()?;
    let before = bot.server.ticks()?;
    let burst = Burst::new(&reports, SEED);
    let sent = burst.send(bot.server.address)?;
    let behind = wait_until_worked_off(world, &bot)?;
    let ticks = bot.server.ticks()? - before;
    table.figure("a report's acknowledgement in a burst of 2,000, 99th percentile", sent.percentile(99), 100.0, "ms");
    table.note("the median", sent.percentile(50), "ms");
    table.note("the same of a bare handler, 99th percentile", measure_bare_handler(&reports)?.percentile(99), "ms");
    table.note("deliveries a second, each report one to five times", rate(&burst, &sent), "a second");
    table.note("until the last had its effect", behind.as_secs_f64() * 1000.0, "ms");
    table.note("CPU of the bot, a report", ticks as f64 * MILLISECONDS_A_TICK / FEW as f64, "ms");
    table.figure("reports without their one effect", effects(world, &bot, &reports)?.wrong() as f64, 0.0, "reports");
    table.figure("memory at the most in the burst", bot.server.memory()?.peak as f64 / MIB, 60.0, "MiB");
    Ok(())
}

/// The load test of `tests/run --load`.
#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
pub(crate) fn load(world: &World, table: &mut Table) -> Outcome<()> {
    let reports = flux::reports(MANY, SEED, Clock::new_system().now())?;
    let mut bot = world.start_bot()?;
    bot.settle()?;
    let burst = Burst::new(&reports, SEED);
    let address = bot.server.address;
    let (mut peak, mut left, mut down) = (0, Vec::new(), Vec::new());
    let sent = std::thread::scope(|scope| -> Outcome<BurstResult> {
        let sending = scope.spawn(|| burst.send(address).map_err(|error| error.to_string()));
        for third in 1..=2 {
            while burst.accepted() < burst.len() * third / 3 && !sending.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            peak = peak.max(bot.server.memory()?.peak);
            bot.server.kill()?;
            left.push(world.runtime.block_on(count_waiting_reports(&bot))?);
            bot.restart()?;
            down.push(bot.server.ready_after);
        }
        Ok(sending.join().map_err(|_| "The sender panicked.")??)
    })?;
    let behind = wait_until_worked_off(world, &bot)?;
    peak = peak.max(bot.server.memory()?.peak);
    let effects = effects(world, &bot, &reports)?;

    table.figure("10,000 reports, the process killed twice: without an effect", effects.missing as f64, 0.0, "reports");
    table.figure("with more than one effect", effects.double as f64, 0.0, "reports");
    table.figure("effects that nobody reported", effects.foreign as f64, 0.0, "effects");
    table.figure("given up by their sender", sent.lost as f64, 0.0, "deliveries");
    table.figure("2xx, 99th percentile", sent.percentile(99), 100.0, "ms");
    table.note("the median", sent.percentile(50), "ms");
    table.note("the slowest", sent.percentile(100), "ms");
    table.note("a bare handler's 99th percentile", measure_bare_handler(&reports)?.percentile(99), "ms");
    table.note("16 KiB written and synced here, 99th percentile", measure_disk_sync()?, "ms");
    table.figure("memory at the most", peak as f64 / MIB, 60.0, "MiB");
    table.note("deliveries", burst.len() as f64, "deliveries");
    table.note("of which sent again for want of a 2xx", sent.retries as f64, "deliveries");
    table.note("a second", rate(&burst, &sent), "deliveries");
    for (left, down) in left.iter().zip(&down) {
        table.note("stored and not worked off when it was killed", *left as f64, "reports");
        table.note("ready again after", down.as_secs_f64() * 1000.0, "ms");
    }
    table.note("until the last had its effect", behind.as_secs_f64() * 1000.0, "ms");
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
fn rate(burst: &Burst<'_>, sent: &BurstResult) -> f64 {
    burst.len() as f64 / sent.elapsed.as_secs_f64()
}

/// The same burst to a handler that does nothing: the machine's own share.
fn measure_bare_handler(reports: &[SignedReport]) -> Outcome<BurstResult> {
    let bare = bare::start(b"{}")?;
    Burst::new(reports, SEED).send(bare.address)
}

/// The time of a synced write to the disk, 99th percentile in milliseconds.
fn measure_disk_sync() -> Outcome<f64> {
    let mut file = tempfile::tempfile()?;
    let mut took = (0..100)
        .map(|_| {
            let begun = Instant::now();
            file.write_all(&[1; 16 * 1024])?;
            file.sync_data()?;
            Ok(begun.elapsed().as_secs_f64() * 1000.0)
        })
        .collect::<Outcome<Vec<f64>>>()?;
    took.sort_by(f64::total_cmp);
    Ok(took[98])
}

async fn count_waiting_reports(bot: &Bot) -> Outcome<u64> {
    bot.query_number("SELECT COUNT(*) FROM inbox WHERE done_at IS NULL").await
}

fn wait_until_worked_off(world: &World, bot: &Bot) -> Outcome<Duration> {
    let begun = Instant::now();
    while world.runtime.block_on(count_waiting_reports(bot))? > 0 {
        if begun.elapsed() > TIMEOUT {
            return Err("The inbox does not become empty.".into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(begun.elapsed())
}

/// The numbers of wrong ledger entries of reports.
struct Effects {
    missing: usize,
    double: usize,
    foreign: usize,
}

impl Effects {
    fn wrong(&self) -> usize {
        self.missing + self.double + self.foreign
    }
}

fn effects(world: &World, bot: &Bot, reports: &[SignedReport]) -> Outcome<Effects> {
    let keys = world.runtime.block_on(async {
        use sqlx::Connection as _;
        let mut connection = sqlx::SqliteConnection::connect(&bot.files.database).await?;
        let question =
            "SELECT COALESCE(json_extract(body, '$.body.report.report.key'), '') FROM ledger WHERE kind = 'report'";
        let keys: Vec<String> = sqlx::query_scalar(question).fetch_all(&mut connection).await?;
        connection.close().await?;
        Ok::<_, sqlx::Error>(keys)
    })?;
    let mut times: HashMap<&str, usize> = HashMap::new();
    for key in &keys {
        *times.entry(key).or_default() += 1;
    }
    let of_ours = reports.iter().map(|told| times.remove(told.key.as_str()).unwrap_or_default());
    let (mut missing, mut double) = (0, 0);
    for times in of_ours {
        missing += usize::from(times == 0);
        double += usize::from(times > 1);
    }
    Ok(Effects { missing, double, foreign: times.into_values().sum() })
}
