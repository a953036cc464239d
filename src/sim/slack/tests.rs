//! The simulated Slack between slack-morphism as its client and a small bot, over HTTP.

mod api;
mod arrival_batch;
mod control_api;
mod files;
mod limits;
mod where_is;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State as Shared;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use slack_morphism::prelude::*;

use super::{Channel, Person, Setup, Slack};
use crate::clock::Clock;
use crate::sim::faults::Faults;
use crate::sim::unknown_requests::UnknownRequests;

const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
const TOKEN: &str = "xoxb-gantry";

/// A request to the bot.
#[derive(Clone, Debug)]
struct ReceivedRequest {
    path: String,
    headers: HeaderMap,
    body: String,
}

impl ReceivedRequest {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    fn form(&self, name: &str) -> String {
        let uri: Uri = format!("/?{}", self.body).parse().unwrap();
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&uri).unwrap().0;
        pairs.into_iter().find(|(n, _)| n == name).map(|(_, v)| v).unwrap_or_default()
    }

    fn payload(&self) -> Value {
        serde_json::from_str(&self.form("payload")).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

enum Reply {
    Json(Value),
    Text(&'static str),
    Status(u16),
    Late,
    /// Answers by `response_url` before it acknowledges with this text.
    ResponseUrlFirst(&'static str),
}

/// A bot that records requests and answers with the queued replies, or with an empty 200.
#[derive(Clone, Default)]
struct Bot {
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
}

impl Bot {
    fn queue_reply(&self, reply: Reply) {
        self.replies.lock().unwrap().push_back(reply);
    }

    fn received_requests(&self) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().clone()
    }

    #[track_caller]
    fn last(&self) -> ReceivedRequest {
        self.received_requests().pop().expect("the bot received a request")
    }
}

async fn answer(Shared(bot): Shared<Bot>, uri: Uri, headers: HeaderMap, body: String) -> Response {
    bot.received.lock().unwrap().push(ReceivedRequest { path: uri.path().to_owned(), headers, body });
    let reply = bot.replies.lock().unwrap().pop_front();
    match reply {
        None => StatusCode::OK.into_response(),
        Some(Reply::Json(json)) => axum::Json(json).into_response(),
        Some(Reply::Text(text)) => ([(header::CONTENT_TYPE, "text/plain")], text).into_response(),
        Some(Reply::Status(status)) => StatusCode::from_u16(status).unwrap().into_response(),
        Some(Reply::ResponseUrlFirst(text)) => {
            let received = bot.last();
            tokio::spawn(async move {
                let answer = json!({ "text": "the answer" });
                reqwest::Client::new().post(received.form("response_url")).json(&answer).send().await.unwrap();
            });
            tokio::time::sleep(Duration::from_millis(200)).await;
            axum::Json(json!({ "text": text })).into_response()
        }
        Some(Reply::Late) => {
            tokio::time::sleep(Duration::from_secs(10)).await;
            StatusCode::OK.into_response()
        }
    }
}

struct World {
    slack: Slack,
    bot: Bot,
    clock: Clock,
    faults: Faults,
    unknown_requests: UnknownRequests,
    origin: String,
}

async fn world() -> World {
    world_with_clock(Clock::new_manual("2026-11-16T10:00:00Z".parse().unwrap())).await
}

async fn world_with_clock(clock: Clock) -> World {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let (faults, unknown_requests, bot) = (Faults::default(), UnknownRequests::default(), Bot::default());
    let slack = Slack::new(Setup {
        clock: clock.clone(),
        faults: faults.clone(),
        unknown_requests: unknown_requests.clone(),
        origin: origin.clone(),
        signing_secret: SECRET.to_owned(),
        bot_token: TOKEN.to_owned(),
        app_token: "xapp-gantry".to_owned(),
        manifest: None,
        team: ("T0ACME".to_owned(), "acme".to_owned()),
    });
    for (id, name, guest) in
        [("U0ALICE", "alice", false), ("U0BOB", "bob", false), ("U0CAROL", "carol", false), ("U0DAVE", "dave", true)]
    {
        slack.add_person(Person {
            id: id.to_owned(),
            name: name.to_owned(),
            real_name: name.to_uppercase(),
            email: format!("{name}@acme.test"),
            guest,
            ..Person::default()
        });
    }
    for (id, name, bot_is_member, archived) in [
        ("C0DEPLOYS", "deploys", true, false),
        ("C0RELEASES", "releases", true, false),
        ("C0SECRET", "secret", false, false),
        ("C0OLD", "old", true, true),
    ] {
        slack.add_channel(Channel { id: id.to_owned(), name: name.to_owned(), bot_is_member, archived });
    }
    slack.add_group("S0MANAGERS", "release-managers", &["bob", "carol"]);
    let app = Router::new()
        .route("/slack/{route}", axum::routing::post(answer))
        .with_state(bot.clone())
        .nest("/sim/slack", slack.router());
    tokio::spawn(async move { axum::serve(listener, app).await });
    World { slack, bot, clock, faults, unknown_requests, origin }
}

type Session<'a> = SlackClientSession<'a, SlackClientHyperConnector<HttpConnector>>;

impl World {
    fn client(&self) -> SlackClient<SlackClientHyperConnector<HttpConnector>> {
        let api = format!("{}/sim/slack/api", self.origin);
        SlackClient::new(SlackClientHyperConnector::with_connector(HttpConnector::new()).with_slack_api_url(&api))
    }

    /// A raw call with the token, as JSON.
    async fn call(&self, method: &str, args: Value) -> Value {
        let response = self.raw(method).bearer_auth(TOKEN).json(&args).send().await.unwrap();
        response.json().await.unwrap()
    }

    fn raw(&self, method: &str) -> reqwest::RequestBuilder {
        self.slack.http.post(format!("{}/sim/slack/api/{method}", self.origin))
    }

    /// The error code of a call, or `ok`.
    async fn call_result_code(&self, method: &str, args: Value) -> String {
        let answer = self.call(method, args).await;
        if answer["ok"] == true { "ok".to_owned() } else { answer["error"].as_str().unwrap().to_owned() }
    }

    async fn respond(&self, url: &str, answer: Value) -> (u16, Bytes) {
        let response = self.slack.http.post(url).json(&answer).send().await.unwrap();
        (response.status().as_u16(), response.bytes().await.unwrap())
    }

    fn texts(&self, channel: &str, viewer: Option<&str>) -> Vec<String> {
        self.slack.messages(channel, viewer).into_iter().map(|m| m.text).collect()
    }
}

fn token() -> SlackApiToken {
    SlackApiToken::new(TOKEN.into())
}

fn buttons(labels: &[&str]) -> Value {
    let elements: Vec<Value> = labels
        .iter()
        .map(|label| {
            json!({
                "type": "button", "text": { "type": "plain_text", "text": label },
                "action_id": label.to_lowercase(), "value": "opaque",
            })
        })
        .collect();
    json!([{ "type": "actions", "block_id": "b", "elements": elements }])
}
