//! `gantry demo`: the simulated world, and the bot as `serve` runs it, on one listener in one process.

use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;

use crate::adapters::store::{Store, Transaction};
use crate::app::{App, AppError, Server, Setup};
use crate::clock::Clock;
use crate::config::{Config, Secrets};

use super::pace::Pace;
use super::page;
use crate::sim::control_api;
use crate::sim::world::{World, WorldError};

/// Ctrl-C stops the demo within three seconds.
const BOT_STOP_TIMEOUT: Duration = Duration::from_secs(2);
const WORLD_STOP_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("the world could not be built: {0}")]
    World(#[from] WorldError),
    #[error(transparent)]
    App(#[from] AppError),
    #[error("the demo's own configuration is wrong: {0}")]
    Configuration(String),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// A world with its bot, ready to be served.
pub struct Demo {
    pub world: World,
    pub app: App,
    pub router: Router,
    /// Contains the store and the kubeconfig. Both are deleted with it.
    _directory: tempfile::TempDir,
}

impl Demo {
    /// Builds a world and its bot. `origin` is the address of the listener.
    pub async fn build(clock: Clock, pace: Pace, origin: &str) -> Result<Self, DemoError> {
        Self::build_with_config(World::new(clock, pace, origin)?, |configuration| configuration).await
    }

    /// Builds the bot for a world, with its configuration changed by `edit`.
    pub async fn build_with_config(world: World, edit: impl FnOnce(String) -> String) -> Result<Self, DemoError> {
        Self::build_with_history(true, world, edit).await
    }

    /// Like [`Demo::build_with_config`]. Without history, the bot's store has no past sightings.
    pub async fn build_with_history(
        has_history: bool,
        world: World,
        edit: impl FnOnce(String) -> String,
    ) -> Result<Self, DemoError> {
        let directory = tempfile::Builder::new().prefix("gantry-demo-").tempdir()?;
        Self::build_in_directory(directory, has_history, world, edit).await
    }

    /// Like [`Demo::build_with_history`], in a directory that may contain the `gantry.db` of an earlier bot.
    pub async fn build_in_directory(
        directory: tempfile::TempDir,
        has_history: bool,
        world: World,
        edit: impl FnOnce(String) -> String,
    ) -> Result<Self, DemoError> {
        let clock = world.clock.clone();
        let details = world.connect_details();
        let database = format!("sqlite://{}", directory.path().join("gantry.db").display());

        let text = edit(details.write_kubeconfig(directory.path())?);
        let config = Config::parse("the demo", &text).map_err(|problems| {
            DemoError::Configuration(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        })?;
        let environment = move |name: &str| match name {
            "DATABASE_URL" => Some(database.clone()),
            name => details.find_variable(name),
        };
        let secrets =
            Secrets::read(&config, environment).map_err(|problems| DemoError::Configuration(problems.join("; ")))?;

        let store = Store::open(&secrets.database_url, clock.clone()).await.map_err(AppError::from)?;
        if has_history {
            store_past_sightings(&store, &world).await?;
        }
        let app = App::build(Setup { config, secrets, clock, store }).await?;
        // The demo has no second listener for the metrics, and a simulated world has no secrets in them.
        let router =
            control_api::guarded_router(&world).merge(page::router()).merge(app.router()).merge(app.metrics_router());
        Ok(Self { world, app, router, _directory: directory })
    }

    /// Serves until `until` ends.
    pub async fn serve(mut self, listener: TcpListener, until: impl Future<Output = ()>) -> Result<(), AppError> {
        let world = self.world;
        let scheduler_task = tokio::spawn(world.scheduler.clone().run(world.closing.clone()));
        let mut server = Server::start(listener, self.router);
        let failed = tokio::select! {
            () = until => false,
            () = self.app.wait_for_failure() => true,
            () = server.wait_for_end() => true,
        };
        // The bot stops first, while the world still answers it. Then the streams end, because an open watch would keep
        // the listener open forever. The listener's close is not waited for longer than the timeout.
        self.app.stop(BOT_STOP_TIMEOUT).await;
        world.close();
        let _ = tokio::time::timeout(WORLD_STOP_TIMEOUT, server.close()).await;
        scheduler_task.abort();
        if failed { Err(AppError::Panicked) } else { Ok(()) }
    }
}

/// Stores the sightings that the bot would have recorded before the world began.
async fn store_past_sightings(store: &Store, world: &World) -> Result<(), AppError> {
    let transaction = world
        .past_sightings
        .iter()
        .fold(Transaction::new(), |transaction, sighting| transaction.record_sighting(sighting.clone()));
    store.commit(transaction).await.map_err(AppError::from)
}
