//! The command line, with one function for each subcommand.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use gantry::adapters::store::Store;
use gantry::app::{App, Setup};
use gantry::clock::Clock;
use gantry::config::{self, Config, Secrets};
use gantry::domain::doctor::{Health, render_terminal, worst_health};
use gantry::telemetry;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// A Slack bot that promotes artefacts from one environment to the next through GitHub, and proves in the cluster that
/// the new version runs.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Subcommand)]
enum CliCommand {
    /// Run a demo with all services simulated, on one web page
    #[cfg(feature = "demo")]
    Demo {
        /// The address to listen on; port 0 means any free port
        #[arg(long, default_value = "127.0.0.1:8484")]
        listen: SocketAddr,
    },
    /// Run the bot for a real Slack, GitHub and cluster
    Serve {
        #[arg(long, default_value = "config/gantry.yaml")]
        config: PathBuf,
        #[arg(long, default_value = "0.0.0.0:8080")]
        listen: SocketAddr,
        /// The address of `/metrics`, which is for operators only; `off` disables it
        #[arg(long, default_value = "127.0.0.1:9090", value_name = "ADDRESS|off")]
        metrics_listen: MetricsAddress,
    },
    /// Check the configuration file, without network access
    Check {
        #[arg(long, default_value = "config/gantry.yaml")]
        config: PathBuf,
    },
    /// Check whether Gantry works with Slack, GitHub, the clusters and the registries; changes nothing
    ///
    /// Prints a line for each check, with advice for each problem. The exit code is 0 if all checks are good, 1 if
    /// there are warnings, 2 if something does not work.
    Doctor {
        #[arg(long, default_value = "config/gantry.yaml")]
        config: PathBuf,
        /// The address of a running Gantry, for example `https://gantry.example.com`. Doctor sends it a request that is
        /// signed like Slack's
        #[arg(long)]
        url: Option<String>,
    },
    /// Print the JSON Schema of the configuration, for editors
    Schema {
        /// Print the reference as a Markdown page instead
        #[arg(long)]
        markdown: bool,
    },
}

/// An address, or `None` for `off`.
#[derive(Clone, Copy)]
struct MetricsAddress(Option<SocketAddr>);

impl std::str::FromStr for MetricsAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" | "off" => Ok(Self(None)),
            address => address
                .parse()
                .map(|address| Self(Some(address)))
                .map_err(|_| "write an address with a port, for example `127.0.0.1:9090`, or `off`".to_owned()),
        }
    }
}

/// An error is a sentence for the person who typed the command.
type CliResult<T> = Result<T, String>;

fn main() -> ExitCode {
    // rustls panics at the first TLS call if no default provider is installed and two are compiled in.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments = Arguments::parse();
    // Doctor prints the problems itself. Log lines of libraries would appear between its lines.
    let doctor_filter = matches!(arguments.command, CliCommand::Doctor { .. }).then(|| "off,gantry=error".to_owned());
    telemetry::init_logging(config::read_process_variable("RUST_LOG").or(doctor_filter).as_deref());
    let result = match arguments.command {
        CliCommand::Check { config } => check_config(&config),
        CliCommand::Schema { markdown } => print_schema(markdown),
        #[cfg(feature = "demo")]
        CliCommand::Demo { listen } => run(run_demo(listen)),
        CliCommand::Serve { config, listen, metrics_listen } => run(serve_bot(&config, listen, metrics_listen)),
        CliCommand::Doctor { config, url } => match run(run_doctor(&config, url.as_deref())) {
            Ok(worst) => return worst,
            Err(sentence) => Err(sentence),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}

fn run<T>(work: impl Future<Output = CliResult<T>>) -> CliResult<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("Cannot start threads: {error}."))?;
    let result = runtime.block_on(work);
    // A DNS lookup runs in a blocking thread that cannot be interrupted. Do not wait for it.
    runtime.shutdown_background();
    result
}

fn check_config(path: &Path) -> CliResult<()> {
    let config = load_config(path)?;
    let catalogue = &config.catalogue;
    let environments: Vec<_> =
        catalogue.ladder.environments().iter().map(|environment| environment.name.as_str()).collect();
    let artefacts = match catalogue.artefacts.len() {
        1 => "1 artefact".to_owned(),
        many => format!("{many} artefacts"),
    };
    print_line(&format!("{}: valid. {artefacts} on {}.", path.display(), environments.join(" -> ")))
}

fn print_schema(markdown: bool) -> CliResult<()> {
    if markdown {
        print_line(config::render_reference().trim_end())
    } else {
        print_line(&format!("{:#}", config::build_schema()))
    }
}

/// `println!` panics when the reader closes the pipe, as in `gantry schema | head`.
fn print_line(line: &str) -> CliResult<()> {
    let mut out = std::io::stdout();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("Cannot write the output: {error}."))
        }
        _ => Ok(()),
    }
}

fn load_config(path: &Path) -> CliResult<Config> {
    Config::load_with_variables(path, config::read_process_variable)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// `option` is the command line option for another address, which the error message names.
async fn bind_listener(listen: SocketAddr, option: &str) -> CliResult<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(listen).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            format!(
                "Another program uses {listen}. Stop that program, or choose another address with `{option} \
                 127.0.0.1:0`."
            )
        }
        _ => format!("Cannot listen on {listen}: {error}."),
    })?;
    let bound = listener.local_addr().map_err(|error| format!("Cannot listen on {listen}: {error}."))?;
    Ok((listener, bound))
}

async fn serve_bot(path: &Path, listen: SocketAddr, metrics: MetricsAddress) -> CliResult<()> {
    let mut shutdown = std::pin::pin!(listen_for_shutdown());
    let starting = async {
        let config = load_config(path)?;
        let secrets = Secrets::read(&config, config::read_process_variable).map_err(|wrong| wrong.join("\n"))?;
        let (listener, bound) = bind_listener(listen, "--listen").await?;
        let metrics = match metrics {
            MetricsAddress(Some(listen)) => Some(bind_listener(listen, "--metrics-listen").await?),
            MetricsAddress(None) => None,
        };
        let clock = Clock::new_system();
        let store = Store::open(&secrets.database_url, clock.clone()).await.map_err(|error| error.to_string())?;
        let app = App::build(Setup { config, secrets, clock, store }).await.map_err(|error| error.to_string())?;
        tracing::info!(%bound, "listening");
        Ok::<_, String>((app, listener, metrics))
    };
    let (mut app, listener, metrics) = tokio::select! {
        started = starting => started?,
        // The start may still wait for the lock on the database, and has nothing to finish.
        () = &mut shutdown => return Ok(()),
    };
    if let Some((listener, bound)) = metrics {
        tracing::info!(%bound, "serving metrics");
        app.serve_metrics(listener);
    }
    let router = app.router();
    app.serve(listener, router, shutdown).await.map_err(|error| error.to_string())
}

async fn run_doctor(path: &Path, url: Option<&str>) -> CliResult<ExitCode> {
    let clock = Clock::new_system();
    let checks = gantry::app::doctor::run_checks(path, url, &clock, config::read_process_variable).await;
    print_line(render_terminal(&checks, clock.now()).trim_end())?;
    Ok(match worst_health(&checks) {
        Health::Good => ExitCode::SUCCESS,
        Health::Warning => ExitCode::from(1),
        Health::Bad => ExitCode::from(2),
    })
}

#[cfg(feature = "demo")]
async fn run_demo(listen: SocketAddr) -> CliResult<()> {
    use gantry::sim::demo::Demo;
    use gantry::sim::pace::Pace;

    let shutdown = listen_for_shutdown();
    let (listener, bound) = bind_listener(listen, "--listen").await?;
    // A browser cannot open the unspecified address, which stands for all interfaces; localhost is one of them.
    let reachable = if bound.ip().is_unspecified() {
        SocketAddr::new(std::net::Ipv4Addr::LOCALHOST.into(), bound.port())
    } else {
        bound
    };
    let origin = format!("http://{reachable}");
    let demo = Demo::build(Clock::new_system(), Pace::default(), &origin).await.map_err(|error| error.to_string())?;
    print_line(&format!("Gantry's demo is at {origin}/"))?;
    if std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        print_line("Open it in a browser. Ctrl-C ends it.")?;
    }
    demo.serve(listener, shutdown).await.map_err(|error| error.to_string())
}

/// Completes at Ctrl-C, or at the signal by which Kubernetes ends a pod. Listens from the call on and not from the
/// first poll, so that a signal during the start also leads to an orderly end.
fn listen_for_shutdown() -> impl Future<Output = ()> {
    let wait_for_signal = |kind: SignalKind| {
        let signals = signal(kind);
        async move {
            match signals {
                Ok(mut signals) => drop(signals.recv().await),
                Err(_) => std::future::pending().await,
            }
        }
    };
    let (interrupted, terminated) =
        (wait_for_signal(SignalKind::interrupt()), wait_for_signal(SignalKind::terminate()));
    async move {
        tokio::select! {
            () = interrupted => {}
            () = terminated => {}
        }
    }
}
