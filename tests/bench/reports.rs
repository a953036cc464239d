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

const MEASURED_REPORTS: usize = 2_000;
const LOAD_REPORTS: usize = 10_000;
const SEED: u64 = 20_261_116;
const TIMEOUT: Duration = Duration::from_mins(2);
const MILLISECONDS_PER_TICK: f64 = 10.0;

#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
pub(crate) fn measure(world: &World, table: &mut Table) -> Outcome<()> {
    let reports = flux::reports(MEASURED_REPORTS, SEED, Clock::new_system().now())?;
    let bot = world.start_bot()?;
    bot.settle()?;
    let before = bot.server.ticks()?;
    let burst = Burst::new(&reports, SEED);
    let sent = burst.send(bot.server.address)?;
    let backlog_time = wait_until_processed(world, &bot)?;
    let ticks = bot.server.ticks()? - before;
    table.figure("a report's acknowledgement in a burst of 2,000, 99th percentile", sent.percentile(99), 100.0, "ms");
    table.note("the median", sent.percentile(50), "ms");
    table.note("the same of a bare handler, 99th percentile", measure_bare_handler(&reports)?.percentile(99), "ms");
    table.note("deliveries a second, each report one to five times", rate(&burst, &sent), "a second");
    table.note("until the last had its effect", backlog_time.as_secs_f64() * 1000.0, "ms");
    table.note("CPU of the bot, a report", ticks as f64 * MILLISECONDS_PER_TICK / MEASURED_REPORTS as f64, "ms");
    table.figure("reports without exactly one effect", effects(world, &bot, &reports)?.wrong() as f64, 0.0, "reports");
    table.figure("peak memory in the burst", bot.server.memory()?.peak as f64 / MIB, 60.0, "MiB");
    Ok(())
}

/// The load test of `tests/run --load`.
#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
pub(crate) fn load(world: &World, table: &mut Table) -> Outcome<()> {
    let reports = flux::reports(LOAD_REPORTS, SEED, Clock::new_system().now())?;
    let mut bot = world.start_bot()?;
    bot.settle()?;
    let burst = Burst::new(&reports, SEED);
    let address = bot.server.address;
    let (mut peak, mut unprocessed, mut restarts) = (0, Vec::new(), Vec::new());
    let sent = std::thread::scope(|scope| -> Outcome<BurstResult> {
        let sender = scope.spawn(|| burst.send(address).map_err(|error| error.to_string()));
        for third in 1..=2 {
            while burst.accepted() < burst.len() * third / 3 && !sender.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            peak = peak.max(bot.server.memory()?.peak);
            bot.server.kill()?;
            unprocessed.push(world.runtime.block_on(count_waiting_reports(&bot))?);
            bot.restart()?;
            restarts.push(bot.server.ready_after);
        }
        Ok(sender.join().map_err(|_| "The sender panicked.")??)
    })?;
    let backlog_time = wait_until_processed(world, &bot)?;
    peak = peak.max(bot.server.memory()?.peak);
    let effects = effects(world, &bot, &reports)?;

    table.figure("10,000 reports, the process killed twice: without an effect", effects.missing as f64, 0.0, "reports");
    table.figure("with more than one effect", effects.duplicate as f64, 0.0, "reports");
    table.figure("effects without a report", effects.unexpected as f64, 0.0, "effects");
    table.figure("given up by the sender", sent.lost as f64, 0.0, "deliveries");
    table.figure("2xx, 99th percentile", sent.percentile(99), 100.0, "ms");
    table.note("the median", sent.percentile(50), "ms");
    table.note("the slowest", sent.percentile(100), "ms");
    table.note("a bare handler's 99th percentile", measure_bare_handler(&reports)?.percentile(99), "ms");
    table.note("16 KiB written and synced here, 99th percentile", measure_disk_sync()?, "ms");
    table.figure("peak memory", peak as f64 / MIB, 60.0, "MiB");
    table.note("deliveries", burst.len() as f64, "deliveries");
    table.note("of which retries", sent.retries as f64, "deliveries");
    table.note("a second", rate(&burst, &sent), "deliveries");
    for (count, ready_after) in unprocessed.iter().zip(&restarts) {
        table.note("stored and unprocessed when it was killed", *count as f64, "reports");
        table.note("ready again after", ready_after.as_secs_f64() * 1000.0, "ms");
    }
    table.note("until the last had its effect", backlog_time.as_secs_f64() * 1000.0, "ms");
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
    let mut durations = (0..100)
        .map(|_| {
            let started = Instant::now();
            file.write_all(&[1; 16 * 1024])?;
            file.sync_data()?;
            Ok(started.elapsed().as_secs_f64() * 1000.0)
        })
        .collect::<Outcome<Vec<f64>>>()?;
    durations.sort_by(f64::total_cmp);
    Ok(durations[98])
}

async fn count_waiting_reports(bot: &Bot) -> Outcome<u64> {
    bot.query_number("SELECT COUNT(*) FROM inbox WHERE done_at IS NULL").await
}

fn wait_until_processed(world: &World, bot: &Bot) -> Outcome<Duration> {
    let started = Instant::now();
    while world.runtime.block_on(count_waiting_reports(bot))? > 0 {
        if started.elapsed() > TIMEOUT {
            return Err("The inbox was not emptied in time.".into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(started.elapsed())
}

/// The numbers of wrong ledger entries of reports.
struct Effects {
    missing: usize,
    duplicate: usize,
    unexpected: usize,
}

impl Effects {
    fn wrong(&self) -> usize {
        self.missing + self.duplicate + self.unexpected
    }
}

fn effects(world: &World, bot: &Bot, reports: &[SignedReport]) -> Outcome<Effects> {
    let keys = world.runtime.block_on(async {
        use sqlx::Connection as _;
        let mut connection = sqlx::SqliteConnection::connect(&bot.files.database).await?;
        let query =
            "SELECT COALESCE(json_extract(body, '$.body.report.report.key'), '') FROM ledger WHERE kind = 'report'";
        let keys: Vec<String> = sqlx::query_scalar(query).fetch_all(&mut connection).await?;
        connection.close().await?;
        Ok::<_, sqlx::Error>(keys)
    })?;
    let mut times: HashMap<&str, usize> = HashMap::new();
    for key in &keys {
        *times.entry(key).or_default() += 1;
    }
    let counts = reports.iter().map(|report| times.remove(report.key.as_str()).unwrap_or_default());
    let (mut missing, mut duplicate) = (0, 0);
    for times in counts {
        missing += usize::from(times == 0);
        duplicate += usize::from(times > 1);
    }
    Ok(Effects { missing, duplicate, unexpected: times.into_values().sum() })
}
