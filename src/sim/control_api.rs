//! The control API under `/sim/*`: HTTP calls for the actions of a person in the demo, and for the state of the world.
//! A call from another site's page is refused.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use crate::domain::command::COMMANDS;

use super::connect::ConnectDetails;
use super::faults::Fault;
use super::github::Verdict;
use super::slack::Ack;
use crate::sim::world::{ARTEFACTS, ENVIRONMENTS, UpdateTopic, World};

/// How long a caller that opens the Home waits for the bot to publish it.
const HOME_TIMEOUT: Duration = Duration::from_secs(3);
const HOME_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// All routes under `/sim/*` and the registry. Programs and the world's own page may call them, other pages may not.
pub fn guarded_router(world: &World) -> Router {
    let guard = middleware::from_fn_with_state(world.clone(), same_origin);
    world.router().merge(router(world.clone())).layer(guard)
}

fn router(world: World) -> Router {
    Router::new()
        .route("/sim/command", post(command))
        .route("/sim/say", post(post_message))
        .route("/sim/click", post(click))
        .route("/sim/submit", post(submit))
        .route("/sim/review", post(review))
        .route("/sim/push", post(push))
        .route("/sim/fault", post(fault))
        .route("/sim/messages", get(messages))
        .route("/sim/home", get(home))
        .route("/sim/connect", get(connect))
        .route("/sim/state", get(state))
        .route("/sim/page/world", get(describe))
        .route("/sim/page/graph", get(graph))
        .route("/sim/page/stream", get(stream))
        .with_state(world)
}

/// A browser sends the origin of the page; only the demo's own page may use the control API.
async fn same_origin(State(world): State<World>, headers: HeaderMap, request: Request, next: Next) -> Response {
    match headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default()) {
        Some(origin) if !is_own_origin(origin, &world.origin) => {
            error_response(StatusCode::FORBIDDEN, "The demo's control API is used from its own page only.")
        }
        _ => next.run(request).await,
    }
}

/// The demo's own address, or this machine by another name at the same port.
fn is_own_origin(origin: &str, own: &str) -> bool {
    let port = own.rsplit_once(':').map_or("", |(_, port)| port);
    let names = ["localhost", "127.0.0.1", "[::1]"];
    origin == own || names.iter().any(|name| origin.strip_prefix("http://") == Some(&format!("{name}:{port}")))
}

fn error_response(status: StatusCode, sentence: &str) -> Response {
    (status, Json(json!({ "error": sentence }))).into_response()
}

/// JSON with any content type. A body that is not valid is answered with a sentence.
struct Body<T>(T);

impl<T: serde::de::DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, Response> {
        request.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        let parsed: Result<Json<T>, JsonRejection> = Json::from_request(request, state).await;
        parsed.map(|Json(body)| Self(body)).map_err(|error| error_response(StatusCode::BAD_REQUEST, &error.body_text()))
    }
}

/// The bot's acknowledgement, and the modals that the person has open now, if any.
fn ack_response(world: &World, user: &str, ack: &Ack) -> Response {
    let mut answer = json!(ack);
    let views = world.slack.views(user);
    if !views.is_empty() {
        answer["views"] = json!(views);
    }
    Json(answer).into_response()
}

#[derive(Deserialize)]
struct TypedText {
    user: String,
    channel: String,
    #[serde(default)]
    thread: Option<String>,
    text: String,
}

async fn command(State(world): State<World>, Body(typed): Body<TypedText>) -> Response {
    match world.slack.type_command(&typed.user, &typed.channel, &typed.text).await {
        Ok(ack) => ack_response(&world, &typed.user, &ack),
        Err(error) => error_response(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()),
    }
}

async fn post_message(State(world): State<World>, Body(typed): Body<TypedText>) -> Response {
    match world.slack.type_message(&typed.user, &typed.channel, typed.thread.as_deref(), &typed.text).await {
        Ok(message) => Json(message).into_response(),
        Err(error) => error_response(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()),
    }
}

#[derive(Deserialize)]
struct Click {
    user: String,
    channel: String,
    message: String,
    button: String,
}

async fn click(State(world): State<World>, Body(click): Body<Click>) -> Response {
    let acknowledged = if click.message == "home" {
        world.slack.click_view(&click.user, "home", &click.button).await
    } else {
        world.slack.click(&click.user, &click.channel, &click.message, &click.button).await
    };
    match acknowledged {
        Ok(ack) => ack_response(&world, &click.user, &ack),
        Err(error) => error_response(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()),
    }
}

#[derive(Deserialize)]
struct Submit {
    user: String,
    view: String,
    #[serde(default)]
    values: Value,
}

async fn submit(State(world): State<World>, Body(submit): Body<Submit>) -> Response {
    match world.slack.submit(&submit.user, &submit.view, &submit.values).await {
        Ok(ack) => Json(ack).into_response(),
        Err(error) => error_response(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()),
    }
}

#[derive(Deserialize)]
struct Review {
    user: String,
    repository: String,
    number: u64,
    verdict: String,
    #[serde(default)]
    body: String,
}

async fn review(State(world): State<World>, Body(review): Body<Review>) -> Response {
    let Review { user, repository, number, verdict, body } = review;
    let Some(verdict) = Verdict::parse(&verdict) else {
        let sentence = format!("`{verdict}` is no verdict: use `approve`, `request_changes` or `comment`.");
        return error_response(StatusCode::UNPROCESSABLE_ENTITY, &sentence);
    };
    let exists = world.github.pulls(&repository).iter().any(|pull| pull.number == number);
    match world.github.review(&repository, number, &user, verdict, &body) {
        Ok(()) => Json(json!({ "ok": true })).into_response(),
        Err(error) => {
            let status = if exists { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::NOT_FOUND };
            error_response(status, &error.to_string())
        }
    }
}

#[derive(Deserialize)]
struct Push {
    artefact: String,
    message: String,
    #[serde(default)]
    branch: Option<String>,
    #[serde(default)]
    files: BTreeMap<String, Option<String>>,
    #[serde(default)]
    user: Option<String>,
}

async fn push(State(world): State<World>, Body(push): Body<Push>) -> Response {
    let branch = push.branch.as_deref().unwrap_or(ENVIRONMENTS[0].1);
    let author = push.user.as_deref().unwrap_or("alice");
    match world.push(&push.artefact, branch, &push.message, push.files, author) {
        Ok(commit) => Json(json!({ "commit": commit, "branch": branch })).into_response(),
        Err(error) => error_response(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()),
    }
}

#[derive(Deserialize)]
struct Arm {
    fault: Fault,
    #[serde(default = "once")]
    times: u32,
    artefact: Option<String>,
    environment: Option<String>,
}

fn once() -> u32 {
    1
}

async fn fault(State(world): State<World>, Body(arm): Body<Arm>) -> Response {
    world.faults.arm(arm.fault, arm.times, arm.artefact, arm.environment);
    world.publish_update(UpdateTopic::State);
    Json(json!({ "ok": true })).into_response()
}

#[derive(Deserialize)]
struct MessagesQuery {
    channel: String,
    user: Option<String>,
}

async fn messages(State(world): State<World>, Query(query): Query<MessagesQuery>) -> Json<Value> {
    let mut answer = json!({ "messages": world.slack.messages(&query.channel, query.user.as_deref()) });
    // A modal may open after the click was acknowledged, so this answer contains the modals too.
    if let Some(user) = &query.user {
        answer["views"] = json!(world.slack.views(user));
    }
    Json(answer)
}

#[derive(Deserialize)]
struct HomeQuery {
    user: String,
    /// The person has the Home open already, so it is not opened again.
    #[serde(default)]
    open: bool,
}

/// Reading the Home opens it, unless it is open. The bot publishes it then, and this handler waits for that.
async fn home(State(world): State<World>, Query(query): Query<HomeQuery>) -> Response {
    let slack = &world.slack;
    if !query.open {
        let before = slack.home(&query.user)["hash"].clone();
        if let Err(error) = slack.open_home(&query.user).await {
            return error_response(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string());
        }
        let published = async {
            while slack.home(&query.user)["hash"] == before {
                tokio::time::sleep(HOME_POLL_INTERVAL).await;
            }
        };
        let _ = tokio::time::timeout(HOME_TIMEOUT, published).await;
    }
    Json(slack.home(&query.user)).into_response()
}

async fn connect(State(world): State<World>) -> Json<ConnectDetails> {
    Json(world.connect_details())
}

async fn state(State(world): State<World>) -> Json<Value> {
    let environments: BTreeMap<_, _> = ENVIRONMENTS
        .iter()
        .map(|(environment, _)| {
            let artefacts: BTreeMap<_, _> = ARTEFACTS
                .iter()
                .map(|artefact| (artefact.name, summarize_artefact_state(&world, environment, artefact)))
                .collect();
            (*environment, artefacts)
        })
        .collect();
    let repositories: BTreeMap<_, _> = world
        .github
        .repositories()
        .into_iter()
        .map(|name| {
            let pulls: Vec<_> = world
                .github
                .pulls(&name)
                .into_iter()
                .map(|pull| {
                    json!({
                        "number": pull.number, "title": pull.title, "url": pull.url,
                        "head": pull.head, "base": pull.base, "state": pull.state,
                    })
                })
                .collect();
            let (branches, tags) = (world.github.branches(&name), world.github.tags(&name));
            (name, json!({ "branches": branches, "tags": tags, "pulls": pulls }))
        })
        .collect();
    let (builds, armed) = (world.list_builds(), world.faults.list_armed());
    Json(json!({ "environments": environments, "repositories": repositories, "builds": builds, "armed": armed }))
}

/// The state of one artefact in one environment, from the cluster. Of several workloads, the least advanced counts.
fn summarize_artefact_state(world: &World, environment: &str, artefact: &crate::sim::world::SimArtefact) -> Value {
    let severity =
        |state: &str| ["missing", "degraded", "rolling_out", "running"].iter().position(|name| *name == state);
    let states = artefact.workloads().into_iter().map(|workload| world.cluster.state(environment, &workload));
    let Some(worst) = states.min_by_key(|state| severity(state.state)) else { return Value::Null };
    let version = worst.image.as_deref().and_then(|image| image.rsplit_once(':')).map(|(_, tag)| tag.to_owned());
    let commit = version.as_deref().and_then(|tag| world.ci.commit_of(&artefact.image(), tag));
    json!({ "version": version, "commit": commit, "state": worst.state, "ready": worst.ready, "wanted": worst.wanted, "reason": worst.reason })
}

async fn describe(State(world): State<World>) -> Json<Value> {
    let slash = COMMANDS.iter().filter(|entry| entry.has_slash_command);
    let slash = slash.map(|entry| {
        let usage = entry.usage.strip_prefix(entry.names[0]).unwrap_or_default().trim_start();
        json!({ "name": format!("/{}", entry.names[0]), "usage": usage, "summary": entry.summary })
    });
    let gantry = json!({ "name": "/gantry", "usage": "help", "summary": "everything I understand" });
    let commands: Vec<Value> = slash.chain(std::iter::once(gantry)).collect();
    let people: Vec<_> = world.slack.people().into_iter().filter(|person| !person.bot).collect();
    let artefacts: Vec<_> =
        ARTEFACTS.iter().map(|artefact| json!({ "name": artefact.name, "repository": artefact.repository })).collect();
    Json(json!({
        "people": people,
        "channels": world.slack.channels(),
        "environments": ENVIRONMENTS.map(|(name, _)| name),
        "artefacts": artefacts,
        "faults": Fault::NAMES,
        "commands": commands,
    }))
}

#[derive(Deserialize)]
struct GraphQuery {
    repository: String,
}

async fn graph(State(world): State<World>, Query(query): Query<GraphQuery>) -> Json<Value> {
    const MAX_COMMITS: usize = 60;
    Json(json!({ "commits": world.github.graph(&query.repository, MAX_COMMITS) }))
}

async fn stream(State(world): State<World>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let closing = world.closing.clone();
    let changes = futures::stream::unfold(world.subscribe_updates(), |mut changes| async move {
        let topic = match changes.recv().await {
            Ok(topic) => topic,
            // The reader missed updates. It fetches the messages now, and the rest with the next update.
            Err(RecvError::Lagged(_)) => UpdateTopic::Messages,
            Err(RecvError::Closed) => return None,
        };
        let topic = match topic {
            UpdateTopic::Messages => "messages",
            UpdateTopic::State => "state",
            UpdateTopic::Git => "git",
            UpdateTopic::Builds => "builds",
        };
        Some((Ok(Event::default().event("changed").data(json!({ "what": topic }).to_string())), changes))
    });
    Sse::new(changes.take_until(closing.cancelled_owned())).keep_alive(KeepAlive::default())
}
