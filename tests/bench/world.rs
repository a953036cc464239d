//! The simulated Slack, GitHub and cluster in this process, for a bot in another one. They idle while it is measured.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gantry::clock::Clock;
use gantry::sim::pace::Pace;
use gantry::sim::world as sim;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::Outcome;
use crate::process::Server;

const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct World {
    pub(crate) sim: sim::World,
    pub(crate) runtime: Runtime,
}

impl World {
    pub(crate) fn open() -> Outcome<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let sim = {
            let _guard = runtime.enter();
            sim::World::new(Clock::new_system(), Pace::default(), &format!("http://{}", listener.local_addr()?))?
        };
        runtime.spawn(sim.scheduler.clone().run(sim.closing.clone()));
        let router = sim.router();
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { sim, runtime })
    }

    /// Starts `gantry serve` on an empty database and waits until it is ready.
    pub(crate) fn start_bot(&self) -> Outcome<Bot> {
        self.start_bot_with(|configuration| configuration, |_| Ok(()))
    }

    /// The same with another configuration and a prepared database.
    pub(crate) fn start_bot_with(
        &self,
        configure: impl FnOnce(String) -> String,
        prepare: impl FnOnce(&str) -> Outcome<()>,
    ) -> Outcome<Bot> {
        let files = BotFiles::create(&self.sim, configure)?;
        prepare(&files.database)?;
        let server = Server::start("/readyz", |address| files.serve(address))?;
        self.sim.slack.set_bot_url(&format!("http://{}", server.address));
        Ok(Bot { server, files })
    }

    /// Repeats a command of alice until the answer is a table in the response: then alice and the workspace are known.
    pub(crate) fn wait_until_alice_known(&self) -> Outcome<()> {
        let started = Instant::now();
        while started.elapsed() < TIMEOUT {
            let ack = self.runtime.block_on(self.sim.slack.type_command("alice", "deploys", "/list checkout"))?;
            let blocks = ack.body["blocks"].as_array();
            if blocks.is_some_and(|blocks| blocks.iter().any(|block: &Value| block["type"] == "table")) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Err("`/list checkout` was not answered in the response in time.".into())
    }

    /// The number of calls of the simulated Slack so far.
    pub(crate) fn slack_calls(&self) -> u64 {
        self.sim.slack.calls().values().sum()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.sim.close();
    }
}

/// The configuration and the database, which outlive the process.
pub(crate) struct BotFiles {
    pub(crate) database: String,
    config: PathBuf,
    variables: BTreeMap<String, String>,
    _folder: tempfile::TempDir,
}

impl BotFiles {
    fn create(sim: &sim::World, configure: impl FnOnce(String) -> String) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let details = sim.connect_details();
        let config = folder.path().join("gantry.yaml");
        std::fs::write(&config, configure(details.write_kubeconfig(folder.path())?))?;
        let database = format!("sqlite://{}", folder.path().join("gantry.db").display());
        Ok(Self { database, config, variables: details.env, _folder: folder })
    }

    fn serve(&self, address: SocketAddr) -> Command {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_gantry"));
        serve
            .args(["serve", "--metrics-listen", "off"])
            .arg("--config")
            .arg(&self.config)
            .arg("--listen")
            .arg(address.to_string());
        serve.env_clear().env("DATABASE_URL", &self.database).envs(&self.variables);
        serve.stdin(Stdio::null());
        serve
    }
}

/// The bot in its own process.
pub(crate) struct Bot {
    pub(crate) server: Server,
    pub(crate) files: BotFiles,
}

impl Bot {
    /// Starts a new process in place of the killed one.
    pub(crate) fn restart(&mut self) -> Outcome<()> {
        let address = self.server.address;
        self.server = Server::start_at(address, "/readyz", self.files.serve(address))?;
        Ok(())
    }

    /// Reads one number from the database, beside the bot.
    pub(crate) async fn query_number(&self, query: &'static str) -> Outcome<u64> {
        use sqlx::Connection as _;
        let mut connection = sqlx::SqliteConnection::connect(&self.files.database).await?;
        let number: i64 = sqlx::query_scalar(query).fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok(u64::try_from(number)?)
    }

    /// Waits until the bot has read the whole cluster and is idle.
    pub(crate) fn settle(&self) -> Outcome<()> {
        let started = Instant::now();
        loop {
            let answer = self.server.get("/readyz")?;
            let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
            let readiness: Value = serde_json::from_str(body)?;
            let clusters = readiness["clusters"].as_array().ok_or("/readyz names no clusters.")?;
            if !clusters.is_empty() && clusters.iter().all(|cluster| cluster["reading"] == "readable") {
                break;
            }
            if started.elapsed() > TIMEOUT {
                return Err(format!("The cluster was not read in time: {body}").into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // The bot looks up each image in the registry and in GitHub once, and is idle afterwards.
        let mut before = self.server.ticks()?;
        let mut idle_checks = 0;
        while idle_checks < 4 {
            std::thread::sleep(Duration::from_millis(500));
            let now = self.server.ticks()?;
            idle_checks = if now == before { idle_checks + 1 } else { 0 };
            before = now;
            if started.elapsed() > TIMEOUT {
                return Err("The bot did not become idle in time.".into());
            }
        }
        Ok(())
    }
}
