//! Logs (text for a terminal, JSON otherwise) and metrics. `docs/architecture.md` defines the log levels.

mod lines;
pub mod metrics;

use std::io::IsTerminal;

use sha2::{Digest, Sha256};
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// Without `RUST_LOG`: Gantry's lines from `info` on, and warnings of libraries.
const DEFAULT_FILTER: &str = "warn,gantry=info";

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For a person at a terminal.
    Plain,
    Json,
}

/// `filter` has the syntax of `RUST_LOG`. An invalid filter is reported in the log, and the default is used.
pub fn init_logging(filter: Option<&str>) {
    let format = if std::io::stderr().is_terminal() { LogFormat::Plain } else { LogFormat::Json };
    let filter_error = filter.and_then(|filter| check_filter(filter).err());
    let filter = filter.filter(|_| filter_error.is_none());
    // A second call in one process (tests) keeps the first subscriber.
    let _ = build_subscriber(filter, format, std::io::stderr).try_init();
    // A panic is a log line like any other, with the ids of its request or change.
    std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "panic: this is a bug in Gantry")));
    if let Some(why) = filter_error {
        tracing::warn!(why, "RUST_LOG is invalid; using the default: {DEFAULT_FILTER}");
    }
}

/// All log lines of the process go through this subscriber.
pub fn build_subscriber<W>(filter: Option<&str>, format: LogFormat, writer: W) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let env_filter =
        EnvFilter::try_new(filter.unwrap_or(DEFAULT_FILTER)).unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let filter = filter_fn(is_safe_to_log).and(env_filter);
    let registry = tracing_subscriber::registry();
    match format {
        LogFormat::Plain => {
            Box::new(registry.with(tracing_subscriber::fmt::layer().with_writer(writer).with_filter(filter)))
        }
        LogFormat::Json => Box::new(registry.with(lines::JsonLogLayer::new(writer).with_filter(filter))),
    }
}

/// Below `info`, only Gantry's own lines are logged. hyper, h2 and reqwest log headers there, octocrab, kube and
/// slack-morphism whole requests, tungstenite whole messages: tokens, response URLs and tickets. No value of `RUST_LOG`
/// can enable them by mistake, and a new library is silent by default.
fn is_safe_to_log(meta: &Metadata<'_>) -> bool {
    *meta.level() <= Level::INFO || meta.target() == "gantry" || meta.target().starts_with("gantry::")
}

/// Refuses a single word that is not a level: the parser would take it as the name of a library and silence all others.
fn check_filter(filter: &str) -> Result<(), String> {
    EnvFilter::try_new(filter).map_err(|error| error.to_string())?;
    let levels = ["off", "error", "warn", "info", "debug", "trace"];
    let is_level =
        |word: &str| levels.iter().any(|level| level.eq_ignore_ascii_case(word)) || word.parse::<u8>().is_ok();
    for word in filter.split(',').map(str::trim).filter(|word| !word.is_empty() && !word.contains(['=', '['])) {
        if !is_level(word) && word != "gantry" && !word.contains("::") {
            let levels = levels.join(", ");
            return Err(format!("`{word}` is not a level: use one of {levels}, or `{word}=<level>` for a library"));
        }
    }
    Ok(())
}

/// The id of a request in the log. It is the same for each attempt of the same request, and reveals nothing about
/// `key`.
pub fn derive_request_id(source: &str, key: &str) -> String {
    let digest = Sha256::new().chain_update(source).chain_update(":").chain_update(key).finalize();
    format!("{digest:x}").chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct LogBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for LogBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn capture_log(filter: &str, work: impl FnOnce()) -> Vec<serde_json::Value> {
        let buffer = LogBuffer::default();
        let writer = buffer.clone();
        let subscriber = build_subscriber(Some(filter), LogFormat::Json, move || writer.clone());
        tracing::subscriber::with_default(subscriber, work);
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_log_line_has_the_fields_of_its_spans() {
        let lines = capture_log("gantry=debug", || {
            let request = tracing::info_span!("request", request.id = "r1", change.id = tracing::field::Empty);
            let _in = request.enter();
            request.record("change.id", "c1");
            tracing::info!(attempts = 3, "asked");
        });
        let line = &lines[0];
        assert_eq!((&line["request.id"], &line["change.id"]), (&"r1".into(), &"c1".into()), "{line}");
        assert_eq!((&line["message"], &line["attempts"], &line["level"]), (&"asked".into(), &3.into(), &"INFO".into()));
    }

    #[test]
    fn no_filter_enables_debug_lines_of_libraries() {
        for filter in ["trace", "trace,hyper=trace", "hyper=trace,h2=debug,gantry=trace"] {
            let lines = capture_log(filter, || {
                tracing::trace!(target: "hyper::proto", "Authorization: secret");
                tracing::debug!(target: "h2::codec", "Authorization: secret");
                tracing::debug!(target: "gantryish", "Authorization: secret");
                tracing::warn!(target: "hyper", "harmless");
                tracing::trace!(target: "gantry::adapters::github", "ours");
            });
            let text = format!("{lines:?}");
            assert!(!text.contains("secret") && text.contains("ours"), "{filter}: {text}");
        }
    }

    #[test]
    fn a_filter_that_would_silence_everything_is_invalid() {
        for valid in [
            "info",
            "warn,gantry=debug",
            "gantry",
            "hyper=trace",
            "DEBUG",
            "off",
            "gantry::adapters::github=trace,warn",
            "",
        ] {
            assert_eq!(check_filter(valid), Ok(()), "{valid}");
        }
        for invalid in ["verbose", "gantry=loud", "info,debgu"] {
            assert!(check_filter(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn a_request_id_depends_only_on_source_and_key() {
        let id = derive_request_id("slack_command", "13345224609.738474920");
        assert_eq!((id.len(), &id), (12, &derive_request_id("slack_command", "13345224609.738474920")));
        assert_ne!(id, derive_request_id("slack_event", "13345224609.738474920"));
    }
}
