//! Builds the application from the configuration and the secrets: clients, context, HTTP routers and background tasks.

pub mod doctor;
mod metrics;
mod readiness;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use readiness::Readiness;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::adapters::cluster::{self, ClusterClients};
use crate::adapters::store::{Store, StoreError};
use crate::adapters::{controller, github, registry, reports, slack};
use crate::clock::Clock;
use crate::config::{Config, Secrets};
use crate::domain::model::workload::Namespace;
use crate::domain::model::workload::WorkloadKind;
use crate::workflow::changes::runner;
use crate::workflow::commands::doctor::Doctor;
use crate::workflow::context::{self, Context};
use crate::workflow::deployments::controller_reports::replay_reports;
use crate::workflow::deployments::webhook_inbox::store_webhook_event;
use crate::workflow::deployments::{observer, webhook_inbox};
use crate::workflow::facts::table_support::TableSupportCache;
use crate::workflow::notifications::{home_refresh, lock_reminders, outbox};
use crate::workflow::requests::acknowledge::acknowledge;
use crate::workflow::requests::inbox;

/// How long requests and tasks may take to finish at shutdown. Kubernetes gives a pod 30 s; people who restart Gantry
/// by hand expect about 10 s.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(7);

#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    MissingSecret(String),
    #[error("{0}")]
    Client(String),
    #[error("A part of Gantry ended unexpectedly because of a bug. The log has the details. Start Gantry again.")]
    Panicked,
}

#[derive(Debug)]
pub struct Setup {
    pub config: Config,
    pub secrets: Secrets,
    pub clock: Clock,
    pub store: Store,
}

/// The running bot. Dropping it aborts the tasks; [`App::stop`] lets them finish.
pub struct App {
    pub context: Context,
    router: Router,
    readiness: Readiness,
    tasks: JoinSet<()>,
    metrics: Option<Server>,
    cancel: CancellationToken,
}

impl App {
    pub async fn build(setup: Setup) -> Result<Self, AppError> {
        let Setup { config, secrets, clock, store } = setup;
        let config = Arc::new(config);
        let require_secret = |secret: &Option<SecretString>, name: &str| {
            let missing = || {
                AppError::MissingSecret(format!(
                    "`{name}` is not set, so Gantry cannot call Slack. Set it, or `{name}_FILE`."
                ))
            };
            secret.clone().ok_or_else(missing)
        };
        if secrets.slack_signing_secret.is_none() && secrets.slack_app_token.is_none() {
            return Err(AppError::MissingSecret(
                "Neither `SLACK_SIGNING_SECRET` nor `SLACK_APP_TOKEN` is set, so Slack cannot reach Gantry. For requests \
                 over HTTP, set `SLACK_SIGNING_SECRET` or `SLACK_SIGNING_SECRET_FILE`. For Socket Mode, which needs no \
                 public address, set `SLACK_APP_TOKEN` or `SLACK_APP_TOKEN_FILE`."
                    .to_owned(),
            ));
        }
        let bot_token = require_secret(&secrets.slack_bot_token, "SLACK_BOT_TOKEN")?;

        let auth = github::client::Auth::from(secrets.github_auth.clone());
        let to_client_error = |error: &dyn std::fmt::Display| AppError::Client(error.to_string());
        let slack = slack::client::Client::new(&config.slack.api_url, &config.slack.hooks_origin, bot_token)
            .map_err(|error| to_client_error(&error))?;
        let github = github::Client::new(&config.github.api_url, auth, clock.clone())
            .map_err(|error| to_client_error(&error))?;
        let registry = registry::Client::new(&config.registry.mirrors, &secrets.registry_logins)
            .map_err(|error| to_client_error(&error))?;

        let clients = ClusterClients::new(config.kubeconfig.clone());
        let doctor = Doctor {
            config: config.clone(),
            secrets: Arc::new(secrets.clone()),
            clock: clock.clone(),
            slack: Some(slack.clone()),
            github: github.clone(),
            registry: registry.clone(),
            cluster_clients: clients.clone(),
            owns_database: true,
        };
        let controller = controller::Client::new().map_err(AppError::Client)?;
        let table_support = TableSupportCache::load(&store).await?;
        let ctx = Context::new(context::Clients {
            config,
            clock,
            store,
            slack,
            github,
            registry,
            controller,
            cluster_clients: clients,
            table_support,
            doctor,
        });
        load_stored_state(&ctx).await?;
        warn_about_missing_secrets(&ctx.config, &secrets);
        let handler_context = ctx.clone();
        let handler: slack::receive::RequestHandler = Arc::new(move |incoming| {
            let ctx = handler_context.clone();
            Box::pin(async move { acknowledge(&ctx, incoming).await })
        });
        let cancel = CancellationToken::new();
        let readiness = Readiness::new(ctx.clone(), cancel.clone());
        let router = build_router(&ctx, handler.clone(), &secrets).merge(readiness.clone().into_router());
        let mut tasks = spawn_tasks(&ctx, &cancel);
        if let Some(token) = secrets.slack_app_token {
            let (client, clock, connection) = (ctx.slack.clone(), ctx.clock.clone(), ctx.socket_status.clone());
            let socket = slack::socket::Socket { client, token, clock, connection, handler };
            tasks.spawn(socket.run(cancel.clone()));
        }
        Ok(Self { context: ctx, router, readiness, tasks, metrics: None, cancel })
    }

    /// The bot's endpoints.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// `/metrics`. It is served on its own listener, because only operators should see it.
    pub fn metrics_router(&self) -> Router {
        metrics::build_router(self.context.clone(), self.readiness.clone())
    }

    /// Serves the metrics until the process ends, so that a scrape still shows the shutdown.
    pub fn serve_metrics(&mut self, listener: TcpListener) {
        self.metrics = Some(Server::start(listener, self.metrics_router()));
    }

    /// Waits until a long-lived task or the store's writer panics, or the metrics server stops. The process must then
    /// end, because the remaining parts would look healthy.
    pub async fn wait_for_failure(&mut self) {
        let metrics = async {
            match &mut self.metrics {
                Some(server) => server.wait_for_end().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = wait_for_panic(&mut self.tasks) => {}
            () = self.context.store.wait_for_writer_panic() => {}
            () = metrics => {}
        }
    }

    /// Serves `router` until `until` completes. Then new connections are refused, open requests are answered, and the
    /// tasks finish their current work. The store is closed last, because all of these need it.
    pub async fn serve(
        mut self,
        listener: TcpListener,
        router: Router,
        until: impl Future<Output = ()>,
    ) -> Result<(), AppError> {
        let mut server = Server::start(listener, router);
        let has_failed = tokio::select! {
            () = until => false,
            () = self.wait_for_failure() => true,
            () = server.wait_for_end() => true,
        };
        if has_failed {
            tracing::error!("a part of Gantry ended unexpectedly; shutting down, so that the process is restarted");
        } else {
            tracing::info!("shutting down; finishing open requests and tasks");
        }
        let close_server = async {
            if timeout(SHUTDOWN_TIMEOUT, server.close()).await.is_err() {
                tracing::warn!("an open request was not finished in time, and was aborted at shutdown");
            }
        };
        tokio::join!(close_server, self.finish_tasks(SHUTDOWN_TIMEOUT));
        self.context.store.close().await;
        tracing::info!("shut down");
        if has_failed { Err(AppError::Panicked) } else { Ok(()) }
    }

    /// Stops the tasks, then closes the store. No accepted work is lost: unfinished work stays in the store.
    pub async fn stop(mut self, within: Duration) {
        self.finish_tasks(within).await;
        self.context.store.close().await;
    }

    /// The tasks take no new work and finish their current work. Tasks that take longer than `within` are aborted: each
    /// step is stored before and after, so the next start resumes it.
    async fn finish_tasks(&mut self, within: Duration) {
        self.cancel.cancel();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if timeout(within, all).await.is_err() {
            tracing::warn!("tasks were not finished in time, and were aborted; the next start resumes their work");
            self.tasks.shutdown().await;
        }
    }
}

/// Waits until one of the tasks panics. A task that ends normally is not a failure.
async fn wait_for_panic(tasks: &mut JoinSet<()>) {
    while let Some(result) = tasks.join_next().await {
        if result.is_err() {
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// A running HTTP server.
pub struct Server {
    shutdown: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    pub fn start(listener: TcpListener, router: Router) -> Self {
        let shutdown = CancellationToken::new();
        let serving = axum::serve(listener, router).with_graceful_shutdown(shutdown.clone().cancelled_owned());
        Self { shutdown, task: tokio::spawn(serving.into_future()) }
    }

    /// Waits until the server stops without `close`, and logs the result.
    pub async fn wait_for_end(&mut self) {
        let ended = (&mut self.task).await;
        tracing::error!(?ended, "an HTTP server stopped unexpectedly");
    }

    /// Accepts no more connections, and waits until the open requests are answered.
    pub async fn close(self) {
        self.shutdown.cancel();
        // A `JoinHandle` panics if it is polled after completion, and `wait_for_end` may have completed it.
        if !self.task.is_finished() {
            let _ = self.task.await;
        }
    }
}

/// Fills the caches of the context with the stored state.
async fn load_stored_state(ctx: &Context) -> Result<(), StoreError> {
    for environment in ctx.config.catalogue.ladder.environments() {
        ctx.open_changes.init_counters(&environment.name);
    }
    ctx.open_changes.load(ctx.store.list_open_changes().await?);
    ctx.sightings.load_stored(ctx.store.list_current_sightings().await?);
    ctx.image_commits.load_stored(ctx.store.list_image_commits().await?);
    ctx.builds.load_stored(&ctx.store).await?;
    replay_reports(ctx).await
}

fn spawn_tasks(ctx: &Context, cancel: &CancellationToken) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(outbox::run(
        ctx.store.clone(),
        ctx.slack.clone(),
        ctx.clock.clone(),
        ctx.table_support.clone(),
        cancel.clone(),
    ));
    tasks.spawn(inbox::run(ctx.clone(), cancel.clone()));
    tasks.spawn(webhook_inbox::run(ctx.clone(), cancel.clone()));
    // The work of these tasks belongs to no request and no change, so their log lines carry the task's name instead of
    // an id.
    let task = |task: &str| tracing::error_span!("task", task);
    tasks.spawn(observer::run(ctx.clone(), cancel.clone()).instrument(task("observe")));
    tasks.spawn(runner::run(ctx.clone(), cancel.clone()));
    tasks.spawn(lock_reminders::run(ctx.clone(), cancel.clone()).instrument(task("locks")));
    tasks.spawn(home_refresh::run(ctx.clone(), cancel.clone()).instrument(task("home")));
    tasks.spawn(observer::run_commit_lookups(ctx.clone(), cancel.clone()).instrument(task("sources")));
    tasks.spawn(cluster::watch::run(
        ctx.cluster_clients.clone(),
        list_watched_namespaces(&ctx.config),
        ctx.cluster_view.clone(),
        cancel.clone(),
    ));
    tasks
}

/// Logs the missing secrets that Gantry can start without, and the functions that do not work without them. Otherwise
/// an operator would only learn of them from a refusal days later.
fn warn_about_missing_secrets(config: &Config, secrets: &Secrets) {
    if secrets.github_auth.is_none() {
        tracing::warn!(
            "there are no credentials for GitHub, so promotions, rollbacks and comparisons do not work: set \
             GITHUB_TOKEN, or GITHUB_APP_ID, GITHUB_APP_PRIVATE_KEY and GITHUB_APP_INSTALLATION_ID"
        );
    }
    for environment in config.catalogue.ladder.environments().iter().map(|environment| &environment.name) {
        if config.webhook_secrets.contains_key(environment) && !secrets.webhook_secrets.contains_key(environment) {
            tracing::warn!(
                %environment,
                "the webhook secret of the environment is not set, so its deployment reports are refused; set the \
                 variable that `webhook_secret` names"
            );
        }
    }
}

/// Each namespace with the kinds of workload that artefacts have in it.
fn list_watched_namespaces(config: &Config) -> Vec<(Namespace, Vec<WorkloadKind>)> {
    let mut watched: std::collections::BTreeMap<Namespace, std::collections::BTreeSet<WorkloadKind>> =
        std::collections::BTreeMap::new();
    for place in config.catalogue.artefacts.iter().flat_map(|artefact| artefact.places.values()) {
        let kinds = watched.entry(place.namespace.clone()).or_default();
        kinds.extend(place.workloads.iter().map(|workload| workload.kind));
    }
    watched.into_iter().map(|(namespace, kinds)| (namespace, kinds.into_iter().collect())).collect()
}

fn build_router(ctx: &Context, handler: slack::receive::RequestHandler, secrets: &Secrets) -> Router {
    let signing_secret = secrets.slack_signing_secret.as_ref();
    let webhook_context = ctx.clone();
    let store_webhook: reports::receive::StoreWebhook = Arc::new(move |event| {
        let ctx = webhook_context.clone();
        Box::pin(async move { store_webhook_event(&ctx, event).await })
    });
    let config = ctx.config.clone();
    let find_environment: reports::receive::FindEnvironment =
        Arc::new(move |name| config.catalogue.ladder.find(name).map(|environment| environment.name.clone()));
    let receiver = reports::receive::WebhookReceiver {
        secrets: secrets.webhook_secrets.clone(),
        github_secret: secrets.github_webhook_secret.clone(),
        find_environment,
        store_webhook,
        dispositions: ctx.metrics.reports.clone(),
    };
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .merge(slack::receive::Receiver::new(signing_secret, ctx.clock.clone(), handler).into_router())
        .merge(reports::receive::build_router(receiver))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_ended_by_itself_can_be_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut server = Server::start(listener, Router::new());
        server.task.abort();
        server.wait_for_end().await;
        server.close().await;
    }

    #[tokio::test]
    async fn only_a_panic_of_a_task_counts_as_a_failure() {
        let mut tasks = JoinSet::new();
        tasks.spawn(async {});
        let short_time = Duration::from_millis(50);
        assert!(timeout(short_time, wait_for_panic(&mut tasks)).await.is_err(), "a task may end normally");
        tasks.spawn(std::future::pending());
        tasks.spawn(async { panic!("a bug") });
        timeout(Duration::from_secs(5), wait_for_panic(&mut tasks)).await.expect("the panic is noticed");
    }
}
