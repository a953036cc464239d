//! The bot as a separate process, which can be killed at any moment. The simulated world stays in the test's process.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::str::FromStr as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use gantry::clock::Clock;
use gantry::sim::cluster::TOKEN;
use gantry::sim::pace::Pace;
use gantry::sim::slack::Message;
use gantry::sim::world::World;
use jiff::SignedDuration;
use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection, SqliteConnection};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Variables and connections of the bot's process.
#[derive(Default)]
pub(crate) struct ProcessOptions {
    /// Variables in addition to those of the world. An empty value unsets one.
    pub(crate) variables: Vec<(&'static str, String)>,
    /// A token for the cluster in place of the world's.
    pub(crate) cluster_token: Option<&'static str>,
    pub(crate) uses_socket_mode: bool,
}

/// A command of the bot with its configuration and variables.
fn build_command(folder: &std::path::Path, verb: &str, variables: &BTreeMap<String, String>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gantry"));
    command.arg(verb).arg("--config").arg(folder.join("gantry.yaml"));
    command.env_clear().env("DATABASE_URL", format!("sqlite://{}", folder.join("gantry.db").display()));
    // The lowest level for all targets: the bot must drop the lines of libraries below `info` all the same.
    command.env("RUST_LOG", "trace");
    command.env("KUBECONFIG", folder.join("kubeconfig"));
    command.envs(variables);
    command
}

/// A running `gantry serve`. Dropping it sends SIGKILL.
struct Bot {
    child: Child,
}

impl Bot {
    fn start(folder: &std::path::Path, listen: &str, variables: &BTreeMap<String, String>) -> Self {
        let mut command = build_command(folder, "serve", variables);
        command.args(["--metrics-listen", "127.0.0.1:0", "--listen", listen]);
        let log = std::fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        Self { child }
    }
}

impl Drop for Bot {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// When a request of the bot is paused: before or after its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PauseWhen {
    BeforeTheEffect,
    AfterTheEffect,
}

impl PauseWhen {
    /// To be called if the change ended before it reached `point`. That is allowed only after the first `min_requests`
    /// requests, or after a third of them if only requests with an effect count. The exact number varies, because the
    /// card may be edited more often.
    pub(crate) fn assert_is_beyond_last_request(self, point: KillPoint, min_requests: usize, paused_at: &[String]) {
        let least = match self {
            Self::BeforeTheEffect => min_requests,
            Self::AfterTheEffect => min_requests / 3,
        };
        match point {
            KillPoint::Named(name) => panic!("no request ended with {name}; paused so far: {paused_at:#?}"),
            KillPoint::Nth(nth) => assert!(nth > least, "the change made fewer than {nth} requests: {paused_at:#?}"),
        }
    }
}

/// Selects the requests to pause.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestSelector {
    Nth(usize),
    /// Every request with this end of its method and path.
    PathSuffix(&'static str),
}

/// Records the bot's requests to GitHub, Slack and the registry, and can pause some of them.
#[derive(Clone)]
pub(crate) struct RequestInterceptor(Arc<Inner>);

struct Inner {
    count: AtomicUsize,
    pause_rule: Mutex<Option<(RequestSelector, PauseWhen)>>,
    requests: Mutex<Vec<String>>,
    credentials: Mutex<BTreeSet<String>>,
    bodies: Mutex<Vec<(String, Bytes)>>,
    /// The request that is paused now.
    paused: watch::Sender<Option<String>>,
}

impl RequestInterceptor {
    fn new() -> Self {
        let (paused, _) = watch::channel(None);
        Self(Arc::new(Inner {
            count: AtomicUsize::new(0),
            pause_rule: Mutex::default(),
            requests: Mutex::default(),
            credentials: Mutex::default(),
            bodies: Mutex::default(),
            paused,
        }))
    }

    /// Pauses the `nth` request from now on until `resume`. With `AfterTheEffect` only requests with an effect count: a
    /// kill after a read is the same as a kill before the next request.
    fn pause_nth(&self, nth: usize, pause: PauseWhen) {
        *self.0.pause_rule.lock().unwrap() = Some((RequestSelector::Nth(nth), pause));
        self.0.count.store(0, Ordering::SeqCst);
    }

    pub(crate) fn pause_at(&self, point: KillPoint, pause: PauseWhen) {
        match point {
            KillPoint::Named(suffix) => self.pause_matching(suffix, pause),
            KillPoint::Nth(nth) => self.pause_nth(nth, pause),
        }
    }

    /// Pauses all requests with this end of their method and path until `resume`.
    pub(crate) fn pause_matching(&self, suffix: &'static str, pause: PauseWhen) {
        *self.0.pause_rule.lock().unwrap() = Some((RequestSelector::PathSuffix(suffix), pause));
    }

    /// The number of requests with this end of their method and path.
    pub(crate) fn count_requests(&self, suffix: &str) -> usize {
        self.0.requests.lock().unwrap().iter().filter(|request| request.ends_with(suffix)).count()
    }

    /// The credentials in the `Authorization` headers of the bot, without their scheme.
    pub(crate) fn credentials(&self) -> BTreeSet<String> {
        self.0.credentials.lock().unwrap().clone()
    }

    /// The paths and bodies of the bot's requests.
    pub(crate) fn bodies(&self) -> Vec<(String, Bytes)> {
        self.0.bodies.lock().unwrap().clone()
    }

    pub(crate) fn paused_request(&self) -> Option<String> {
        self.0.paused.borrow().clone()
    }

    pub(crate) fn resume(&self) {
        *self.0.pause_rule.lock().unwrap() = None;
        self.0.paused.send_replace(None);
    }

    /// Records a request and returns it; `None` if its body breaks off.
    async fn record_request(&self, request: Request) -> Option<Request> {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await.ok()?;
        let shown = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.split_once(' '));
        self.0.credentials.lock().unwrap().extend(shown.map(|(_, credential)| credential.to_owned()));
        if !body.is_empty() {
            self.0.bodies.lock().unwrap().push((parts.uri.path().to_owned(), body.clone()));
        }
        Some(Request::from_parts(parts, Body::from(body)))
    }

    async fn pause_request(&self, request: String) {
        let mut opened = self.0.paused.subscribe();
        self.0.paused.send_replace(Some(request));
        let _ = opened.wait_for(Option::is_none).await;
    }
}

async fn intercept_request(State(interceptor): State<RequestInterceptor>, request: Request, next: Next) -> Response {
    let Some(request) = interceptor.record_request(request).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let path = request.uri().path();
    // Watches of the cluster run all the time, and webhooks of the controller are not requests of the bot.
    if path.starts_with("/sim/cluster") || path.starts_with("/webhooks/") {
        return next.run(request).await;
    }
    let name = format!("{} {path}", request.method());
    interceptor.0.requests.lock().unwrap().push(name.clone());
    let rule = *interceptor.0.pause_rule.lock().unwrap();
    let pause = rule.and_then(|(selector, pause)| {
        let is_counted = || pause == PauseWhen::BeforeTheEffect || !request.method().is_safe();
        let is_selected = match selector {
            RequestSelector::Nth(nth) => is_counted() && interceptor.0.count.fetch_add(1, Ordering::SeqCst) + 1 == nth,
            RequestSelector::PathSuffix(suffix) => name.ends_with(suffix),
        };
        is_selected.then_some(pause)
    });
    match pause {
        None => next.run(request).await,
        Some(PauseWhen::BeforeTheEffect) => {
            interceptor.pause_request(name).await;
            // The process that sent the request was killed.
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        Some(PauseWhen::AfterTheEffect) => {
            let response = next.run(request).await;
            interceptor.pause_request(name).await;
            response
        }
    }
}

/// The number of simulated worlds that share a test's kill points. They run concurrently, because each mostly waits.
const KILL_LANES: usize = 4;

/// A request at which the bot is killed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KillPoint {
    /// The request with this end of its method and path, regardless of its position.
    Named(&'static str),
    /// The `nth` request of a change.
    Nth(usize),
}

/// Runs `kill_at` concurrently in each world with its share of the kill points: first the named requests, then request
/// 1, 2, ... 99. No change makes that many.
pub(crate) async fn kill_in_lanes<Lane: Future<Output = ()>>(
    named: &[&'static str],
    kill_at: impl Fn(Vec<KillPoint>) -> Lane,
) {
    let lanes = (0..KILL_LANES).map(|lane| {
        let named = named.iter().skip(lane).step_by(KILL_LANES).map(|name| KillPoint::Named(name));
        kill_at(named.chain((lane + 1..100).step_by(KILL_LANES).map(KillPoint::Nth)).collect())
    });
    futures::future::join_all(lanes).await;
}

pub(crate) struct ProcessHarness {
    pub(crate) world: World,
    pub(crate) interceptor: RequestInterceptor,
    folder: tempfile::TempDir,
    pub(crate) address: String,
    variables: BTreeMap<String, String>,
    bot: Option<Bot>,
    tasks: Vec<JoinHandle<()>>,
}

impl ProcessHarness {
    /// A fast world with its bot, which has read the cluster and announced a first push.
    pub(crate) async fn open() -> Self {
        Self::with_config(|yaml| yaml).await
    }

    pub(crate) async fn with_config(edit: impl FnOnce(String) -> String) -> Self {
        Self::with_options(ProcessOptions::default(), |yaml, _| edit(yaml)).await
    }

    /// The same with options; `edit` gets the world's address as well.
    pub(crate) async fn with_options(options: ProcessOptions, edit: impl FnOnce(String, &str) -> String) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let quick = SignedDuration::from_millis(60);
        let pace =
            Pace { build: quick, controller_delay: quick, replica: quick, deadline: quick * 20, retry: quick * 2 };
        let world = World::new(Clock::new_system(), pace, &origin).unwrap();
        let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        world.slack.set_bot_url(&format!("http://{address}"));
        world.github.set_bot_url(&format!("http://{address}"));
        if options.uses_socket_mode {
            world.slack.use_sockets();
        }
        let mut details = world.connect_details();
        if let Some(token) = options.cluster_token {
            details.kubeconfig = details.kubeconfig.replace(&format!("token: {TOKEN}"), &format!("token: {token}"));
        }
        let mut variables = details.env.clone();
        variables.extend(options.variables.into_iter().map(|(name, value)| (name.to_owned(), value)));
        variables.retain(|_, value| !value.is_empty());
        let config = details.write_kubeconfig(folder.path()).unwrap();
        // Without this setting, the bot uses the variable `KUBECONFIG`.
        let config = edit(config.replace("kubeconfig: ", "# kubeconfig: "), &world.origin);
        std::fs::write(folder.path().join("gantry.yaml"), config).unwrap();
        let gate = RequestInterceptor::new();
        let router = world.router().layer(middleware::from_fn_with_state(gate.clone(), intercept_request));
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        let scheduler = tokio::spawn(world.scheduler.clone().run(world.closing.clone()));
        let mut harness =
            Self { world, interceptor: gate, folder, address, variables, bot: None, tasks: vec![server, scheduler] };
        harness.restart().await;
        // The first round of the observer records the running versions. Later versions are arrivals.
        harness.wait_until_cluster_read().await;
        // The announcement of this push proves that the first round is stored.
        harness.world.push("checkout", "develop", "The first push of all", BTreeMap::new(), "alice").unwrap();
        wait_until("the first push is announced", async || harness.count_messages_with("The first push of all") > 0)
            .await;
        harness
    }

    /// Kills the bot with SIGKILL, and starts it again on the same database.
    pub(crate) async fn restart(&mut self) {
        self.kill();
        self.bot = Some(Bot::start(self.folder.path(), &self.address, &self.variables));
        let readyz = format!("http://{}/readyz", self.address);
        wait_until("the bot is ready", async || reqwest::get(&readyz).await.is_ok_and(|answer| answer.status() == 200))
            .await;
    }

    pub(crate) fn kill(&mut self) {
        self.bot = None;
    }

    pub(crate) async fn wait_until_cluster_read(&self) {
        let readyz = format!("http://{}/readyz", self.address);
        wait_until("the bot has read the cluster", async || match reqwest::get(&readyz).await {
            Ok(answer) => answer.text().await.is_ok_and(|text| text.matches("\"readable\"").count() == 4),
            Err(_) => false,
        })
        .await;
    }

    /// Waits until the bot has handled its input: every inbox row is done, every message is sent, and the bot sent no
    /// request between two polls. Input that the HTTP endpoints have acknowledged is in the inbox.
    pub(crate) async fn wait_until_idle(&self) {
        let outstanding = "SELECT (SELECT COUNT(*) FROM inbox WHERE done_at IS NULL) + (SELECT COUNT(*) FROM outbox)";
        let mut store = self.read_store().await;
        let mut requests_before = None;
        wait_until("the bot is idle", async || {
            let outstanding: i64 = sqlx::query_scalar(outstanding).fetch_one(&mut store).await.unwrap();
            let requests = self.interceptor.count_requests("");
            requests_before.replace(requests) == Some(requests) && outstanding == 0
        })
        .await;
    }

    /// Waits until a row of the bot's database matches, as in `comparison WHERE head = $1`.
    pub(crate) async fn wait_until_stored(&self, row: &str, value: &str) {
        let query = format!("SELECT COUNT(*) FROM {row}");
        let mut store = self.read_store().await;
        wait_until(&format!("a row is stored: {row}, {value}"), async || {
            let rows = sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(query.clone())).bind(value);
            rows.fetch_one(&mut store).await.unwrap() > 0
        })
        .await;
    }

    async fn read_store(&self) -> SqliteConnection {
        SqliteConnectOptions::from_str(&self.database_url()).unwrap().read_only(true).connect().await.unwrap()
    }

    /// Sends SIGTERM, as a cluster does to end a pod.
    pub(crate) fn terminate(&self) {
        let id = self.bot.as_ref().expect("a running bot").child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// The exit status, or `None` while the bot runs.
    pub(crate) fn exit_status(&mut self) -> Option<ExitStatus> {
        self.bot.as_mut().expect("a running bot").child.try_wait().unwrap()
    }

    /// Runs `gantry doctor` with the same configuration.
    pub(crate) async fn doctor(&self) -> Output {
        let command = build_command(self.folder.path(), "doctor", &self.variables);
        tokio::process::Command::from(command).output().await.unwrap()
    }

    /// The address of the metrics of the newest process.
    pub(crate) fn metrics_url(&self) -> String {
        let log = self.log();
        let line = log
            .iter()
            .rfind(|line| line["message"] == "serving metrics")
            .expect("a log line with the address of the metrics");
        format!("http://{}", line["bound"].as_str().unwrap())
    }

    pub(crate) fn database_url(&self) -> String {
        format!("sqlite://{}", self.folder.path().join("gantry.db").display())
    }

    /// Locks the database against writes until the returned connection is dropped.
    pub(crate) async fn block_database_writes(&self) -> SqliteConnection {
        let mut connection = SqliteConnection::connect(&self.database_url()).await.unwrap();
        sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await.unwrap();
        connection
    }

    /// The names and contents of the database's files and of the log.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let all = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let written = all.filter(|path| name(path).starts_with("gantry.db") || name(path) == "log");
        written.map(|path| (name(&path), std::fs::read(&path).unwrap())).collect()
    }

    /// The log lines of all processes so far.
    pub(crate) fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("a log line is not JSON: {line}")))
            .collect()
    }

    /// The messages that everyone sees in #deploys.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let mut messages = self.world.slack.messages("deploys", None);
        messages.retain(|message| message.only_to.is_none());
        messages
    }

    /// The number of public messages in #deploys that contain this text.
    pub(crate) fn count_messages_with(&self, text: &str) -> usize {
        self.messages().iter().filter(|message| crate::harness::world::render_message(message).contains(text)).count()
    }
}

impl Drop for ProcessHarness {
    fn drop(&mut self) {
        self.kill();
        self.world.close();
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

pub(crate) async fn wait_until(description: &str, mut condition: impl AsyncFnMut() -> bool) {
    for _ in 0..1200 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("timed out waiting until {description}");
}
