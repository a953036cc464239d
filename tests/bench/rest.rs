//! The time until `gantry serve` is ready, and its memory when idle.

use crate::Outcome;
use crate::table::Table;
use crate::world::World;

const STARTS: usize = 9;
pub(crate) const MIB: f64 = 1024.0 * 1024.0;

#[expect(clippy::cast_precision_loss, reason = "memory is far below 2^53 bytes")]
pub(crate) fn measure(world: &World, table: &mut Table) -> Outcome<()> {
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(world.start_bot()?.server.ready_after.as_secs_f64() * 1000.0);
    }
    starts.sort_by(f64::total_cmp);
    table.figure("ready, from the start to /readyz", starts[STARTS / 2], 100.0, "ms");
    table.note(&format!("the fastest of {STARTS} starts"), starts[0], "ms");

    let bot = world.start_bot()?;
    bot.settle()?;
    let memory = bot.server.memory()?;
    table.figure("memory at rest, the cluster read", memory.all as f64 / MIB, 26.0, "MiB");
    table.note("of which the process's own", memory.own as f64 / MIB, "MiB");
    Ok(())
}
