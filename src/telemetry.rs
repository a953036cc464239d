//! What an operator sees from outside: logs, as lines for a person at a terminal and as JSON for everything else, and metrics.

pub mod metrics;

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

/// `filter` as in `RUST_LOG`; ours at `info` and the libraries at `warn` without one.
pub fn start(filter: Option<&str>) {
    let filter = EnvFilter::try_new(filter.unwrap_or("warn,gantry=info")).unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second start in one process (tests) keeps the first.
    let _ = if std::io::stderr().is_terminal() { lines.finish().try_init() } else { lines.json().finish().try_init() };
}
