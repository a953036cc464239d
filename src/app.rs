//! The only place where parts are wired: configuration and secrets in, a router and running tasks out.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use secrecy::SecretString;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::cluster::{self, Clients, Reading, View};
use crate::config::{Config, GithubAuth, Secrets};
use crate::domain::artefact::{Namespace, WorkloadKind};
use crate::store::{Store, StoreError};
use crate::workflow::builds::Builds;
use crate::workflow::changes::Changes;
use crate::workflow::outbox::Tables;
use crate::workflow::people::People;
use crate::workflow::rights::Rights;
use crate::workflow::seen::Seen;
use crate::workflow::source::Sources;
use crate::workflow::whereabouts::Absent;
use crate::workflow::{Bot, Parts, compare, hear, inbox, locks, observe, outbox, runner};
use crate::{controller, github, registry, reports, slack};

/// How long the end may take once it was asked for.
const END_WITHIN: Duration = Duration::from_secs(3);

#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Missing(String),
    #[error("{0}")]
    Client(String),
}

#[derive(Debug)]
pub struct Setup {
    pub config: Config,
    pub secrets: Secrets,
    pub clock: Clock,
    pub store: Store,
}

/// The bot, running. Dropping it leaves the tasks running; [`App::stop`] ends them.
pub struct App {
    pub bot: Bot,
    router: Router,
    tasks: TaskTracker,
    cancel: CancellationToken,
}

impl App {
    pub async fn build(setup: Setup) -> Result<Self, AppError> {
        let Setup { config, secrets, clock, store } = setup;
        let config = Arc::new(config);
        let needed = |secret: &Option<SecretString>, name: &str| {
            let why = || {
                AppError::Missing(format!(
                    "`{name}` is not set: Slack cannot be spoken to without it. Set it, or `{name}_FILE`."
                ))
            };
            secret.clone().ok_or_else(why)
        };
        let signing_secret = needed(&secrets.slack_signing_secret, "SLACK_SIGNING_SECRET")?;
        let bot_token = needed(&secrets.slack_bot_token, "SLACK_BOT_TOKEN")?;

        let auth = match secrets.github.clone() {
            Some(GithubAuth::Token(token)) => github::client::Auth::Token(token),
            Some(GithubAuth::App { id, private_key, installation }) => {
                github::client::Auth::App { id, private_key, installation }
            }
            None => github::client::Auth::None,
        };
        let client = |error: &dyn std::fmt::Display| AppError::Client(error.to_string());
        let slack = slack::client::Client::new(&config.slack.api_url, &config.slack.hooks_origin, bot_token)
            .map_err(|error| client(&error))?;
        let github =
            github::Client::new(&config.github.api_url, auth, clock.clone()).map_err(|error| client(&error))?;
        let registry =
            registry::Client::new(&config.registry.mirrors, &secrets.registries).map_err(|error| client(&error))?;

        let controller = controller::Client::new().map_err(AppError::Client)?;
        let changes = Changes::default();
        changes.load(store.open_changes().await?);
        let seen = Seen::default();
        seen.load(store.sightings_now().await?);
        let sources = Sources::default();
        sources.load(store.image_commits().await?);
        let people = People::new(slack.clone(), clock.clone());
        let bot = Bot::new(Parts {
            rights: Rights::new(people.clone(), github.clone(), clock.clone(), config.people.clone()),
            people,
            tables: Tables::load(&store).await?,
            view: View::new(clock.clone()),
            clients: Clients::new(config.kubeconfig.clone()),
            heads: compare::Heads::default(),
            wake: observe::Wake::default(),
            changes,
            controller,
            config,
            clock,
            store,
            seen,
            sources,
            builds: Builds::default(),
            absent: Absent::default(),
            slack,
            github,
            registry,
        });
        bot.recall_reports().await?;
        bot.recall_builds().await?;
        let router = router(&bot, &signing_secret, &secrets);
        let app = Self { bot, router, tasks: TaskTracker::new(), cancel: CancellationToken::new() };
        app.start();
        Ok(app)
    }

    /// The bot's endpoints.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// Serves `router` until `until` ends. Then the bot ends first, while everybody still answers it; `close` ends what
    /// would hold a connection for ever; and what holds one even so is not waited for.
    pub async fn serve(
        self,
        listener: TcpListener,
        router: Router,
        until: impl Future<Output = ()>,
        close: impl FnOnce(),
    ) {
        let over = CancellationToken::new();
        let server = axum::serve(listener, router).with_graceful_shutdown(over.clone().cancelled_owned());
        let server = tokio::spawn(server.into_future());
        until.await;
        let ending = async {
            self.stop().await;
            close();
            over.cancel();
            server.await
        };
        if tokio::time::timeout(END_WITHIN, ending).await.is_err() {
            tracing::warn!("something was still under way at the end, and was not waited for");
        }
    }

    /// Ends the tasks, then the store: nothing that was taken on is lost, the rest waits in the store.
    pub async fn stop(self) {
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.bot.store.close().await;
    }

    fn start(&self) {
        let (bot, cancel) = (&self.bot, &self.cancel);
        self.tasks.spawn(outbox::run(
            bot.store.clone(),
            bot.slack.clone(),
            bot.clock.clone(),
            bot.tables.clone(),
            cancel.clone(),
        ));
        self.tasks.spawn(inbox::run(bot.clone(), cancel.clone()));
        self.tasks.spawn(hear::run(bot.clone(), cancel.clone()));
        self.tasks.spawn(observe::run(bot.clone(), cancel.clone()));
        self.tasks.spawn(runner::run(bot.clone(), cancel.clone()));
        self.tasks.spawn(locks::run(bot.clone(), cancel.clone()));
        self.tasks.spawn(observe::run_sources(bot.clone(), cancel.clone()));
        self.tasks.spawn(cluster::watch::run(
            bot.clients.clone(),
            watched(&bot.config),
            bot.view.clone(),
            cancel.clone(),
        ));
    }
}

/// Each namespace with the kinds that stand in it.
fn watched(config: &Config) -> Vec<(Namespace, Vec<WorkloadKind>)> {
    let mut watched: std::collections::BTreeMap<Namespace, std::collections::BTreeSet<WorkloadKind>> =
        std::collections::BTreeMap::new();
    for place in config.catalogue.artefacts.iter().flat_map(|artefact| artefact.places.values()) {
        let kinds = watched.entry(place.namespace.clone()).or_default();
        kinds.extend(place.workloads.iter().map(|workload| workload.kind));
    }
    watched.into_iter().map(|(namespace, kinds)| (namespace, kinds.into_iter().collect())).collect()
}

fn router(bot: &Bot, signing_secret: &SecretString, secrets: &Secrets) -> Router {
    let answering = bot.clone();
    let answer: slack::receive::Answer = Arc::new(move |incoming| {
        let bot = answering.clone();
        Box::pin(async move { bot.answer(incoming).await })
    });
    let hearing = bot.clone();
    let keep: reports::receive::Keep = Arc::new(move |heard| {
        let bot = hearing.clone();
        Box::pin(async move { bot.keep_told(heard).await })
    });
    let config = bot.config.clone();
    let find: reports::receive::Find =
        Arc::new(move |name| config.catalogue.ladder.find(name).map(|environment| environment.name.clone()));
    let doors = reports::receive::Doors {
        secrets: secrets.webhooks.clone(),
        github: secrets.github_webhook_secret.clone(),
        find,
        keep,
    };
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .with_state(bot.clone())
        .merge(slack::receive::Receiver::new(signing_secret, bot.clock.clone(), answer).router())
        .merge(reports::receive::router(doors))
}

/// Ready as soon as it can be asked: the store is open by then. A dead cluster is said, not waited for.
async fn ready(State(bot): State<Bot>) -> impl IntoResponse {
    let clusters: Vec<_> = bot
        .view
        .health()
        .into_iter()
        .map(|(namespace, reading)| json!({ "namespace": namespace.to_string(), "reading": describe(&reading) }))
        .collect();
    (StatusCode::OK, Json(json!({ "ready": true, "clusters": clusters })))
}

fn describe(reading: &Reading) -> String {
    match reading {
        Reading::Readable { .. } => "readable".to_owned(),
        Reading::NotYet { .. } => "not read yet".to_owned(),
        Reading::Unreadable { why, since } => format!("unreadable since {since}: {why}"),
    }
}
