//! The simulated Slack, strict where Slack is strict: its Web API, its `response_url`s, and the people who use it.
//! It reaches the bot over signed HTTP or the bot's own sockets, and knows nothing of the bot's purpose.

mod api;
mod blocks;
mod control_api;
mod deliver;
mod escape;
mod hooks;
mod interact;
mod limits;
pub mod manifest;
mod message;
mod people;
mod scopes;
mod socket;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, StatusCode, Uri};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::sim::faults::Faults;
use crate::sim::scheduler::Scheduler;
use crate::sim::unknown_requests::UnknownRequests;

pub use self::control_api::{Ack, TypedMessage, UserActionError};
pub use self::message::{Message, MessageRevision, Reaction};
pub use self::people::{Channel, Person};
pub use self::state::{APP_ID, BOT_ID, BOT_USER, Request, VERIFICATION_TOKEN};

use self::manifest::Manifest;
use self::people::Group;
use self::state::State;

const MAX_UPLOAD_BYTES: usize = 16 << 20;

#[derive(Clone, Debug)]
pub struct Setup {
    pub clock: Clock,
    pub faults: Faults,
    pub unknown_requests: UnknownRequests,
    /// The address of this simulator (under `/sim/slack`) and the bot (under `/slack`), without a slash at the end.
    pub origin: String,
    pub signing_secret: String,
    pub bot_token: String,
    pub app_token: String,
    /// The scopes and events of the app; without a manifest it has all of them.
    pub manifest: Option<Manifest>,
    /// Id and domain: `("T0ACME", "acme")`.
    pub team: (String, String),
}

/// A workspace. Clones share it.
#[derive(Clone)]
pub struct Slack {
    setup: Arc<Setup>,
    state: Arc<Mutex<State>>,
    outbound: Arc<Mutex<Outbound>>,
    revoked_scopes: scopes::RevokedScopes,
    sockets: Arc<Mutex<socket::Sockets>>,
    http: reqwest::Client,
}

/// Whether Slack would accept these blocks in a message. The error has Slack's code and reasons.
pub fn check_blocks(blocks: &[Value]) -> Result<(), String> {
    blocks::check_message(&Value::from(blocks.to_vec()), false)
        .map(drop)
        .map_err(|invalid| format!("{}: {:?}", invalid.code, invalid.messages))
}

type Listener = Arc<dyn Fn() + Send + Sync>;

/// The listeners, and the settings for calls of the bot.
struct Outbound {
    bot_url: String,
    response_timeout: Duration,
    scheduler: Option<Scheduler>,
    listeners: Vec<Listener>,
}

impl Slack {
    /// An empty workspace with the bot (`gantry`) and Slackbot in it.
    pub fn new(setup: Setup) -> Self {
        let mut state = State::new(setup.clock.clone(), setup.team.clone());
        if let Some(manifest) = &setup.manifest {
            state.commands.clone_from(&manifest.commands);
        }
        let outbound = Outbound {
            bot_url: setup.origin.clone(),
            response_timeout: deliver::DEFAULT_RESPONSE_TIMEOUT,
            scheduler: None,
            listeners: Vec::new(),
        };
        Self {
            http: deliver::client(),
            setup: Arc::new(setup),
            state: Arc::new(Mutex::new(state)),
            outbound: Arc::new(Mutex::new(outbound)),
            revoked_scopes: scopes::RevokedScopes::default(),
            sockets: Arc::default(),
        }
    }

    /// The Web API, `response_url`s and files, to be nested under `/sim/slack`.
    pub fn router(&self) -> Router {
        let unknown_requests = self.setup.unknown_requests.clone();
        let reject_unknown = move |status: StatusCode| {
            let unknown_requests = unknown_requests.clone();
            async move |method: Method, uri: Uri| {
                unknown_requests.record("slack", method.as_str(), uri.path());
                (status, "no such page").into_response()
            }
        };
        Router::new()
            .route("/api/{method}", get(api::call).post(api::call))
            .route("/hooks/{token}", post(hooks::respond))
            .route("/link", get(socket::accept_connection))
            .route("/upload/{id}", post(api::upload).layer(DefaultBodyLimit::max(MAX_UPLOAD_BYTES)))
            .route("/files/{id}", get(api::download))
            .fallback(reject_unknown(StatusCode::NOT_FOUND))
            .method_not_allowed_fallback(reject_unknown(StatusCode::METHOD_NOT_ALLOWED))
            .with_state(self.clone())
    }

    /// Sends commands, clicks and events to another bot than the one at the origin.
    pub fn set_bot_url(&self, url: &str) {
        url.trim_end_matches('/').clone_into(&mut self.lock_outbound().bot_url);
    }

    /// Sets a longer timeout than Slack's, so that a test does not depend on the speed of the machine.
    pub fn set_response_timeout(&self, response_timeout: Duration) {
        self.lock_outbound().response_timeout = response_timeout;
    }

    /// Redelivers failed events after one and after five minutes, on this scheduler.
    pub fn enable_redelivery(&self, scheduler: Scheduler) {
        self.lock_outbound().scheduler = Some(scheduler);
    }

    /// Calls `changed` after every visible change.
    pub fn on_change(&self, changed: impl Fn() + Send + Sync + 'static) {
        self.lock_outbound().listeners.push(Arc::new(changed));
    }

    /// Adds a person, or replaces the one with this id.
    pub fn add_person(&self, person: Person) {
        self.write(|state| {
            state.people.retain(|p| p.id != person.id);
            state.people.push(person);
            state.changed = true;
        });
    }

    /// Adds a channel, or replaces the one with this id. All people are members; see [`Slack::leave`].
    pub fn add_channel(&self, channel: Channel) {
        self.write(|state| {
            state.changed = true;
            match state.channels.iter_mut().find(|c| c.id == channel.id) {
                Some(old) => *old = channel,
                None => state.channels.push(channel),
            }
        });
    }

    /// Adds a user group, or replaces the one with this id.
    pub fn add_group(&self, id: &str, handle: &str, members: &[&str]) {
        let (id, handle) = (id.to_owned(), handle.trim_start_matches('@').to_owned());
        self.write(|state| {
            let members =
                members.iter().map(|m| state.person(m).map_or_else(|| (*m).to_owned(), |p| p.id.clone())).collect();
            state.groups.retain(|g| g.id != id);
            state.groups.push(Group { id, handle, members });
        });
    }

    /// Removes a person from a channel.
    pub fn leave(&self, user: &str, channel: &str) {
        self.write(|state| {
            if let (Some(person), Some(channel)) = (state.person(user), state.channel(channel)) {
                let absent = (channel.id.clone(), person.id.clone());
                state.absent.insert(absent);
            }
        });
    }

    /// Sets the app's slash commands. The default is `/promote`, `/rollback`, `/diff`, `/list` and `/gantry`.
    pub fn set_commands(&self, commands: &[&str]) {
        self.write(|state| state.commands = commands.iter().map(|c| (*c).to_owned()).collect());
    }

    /// Whether names in the text of commands become `<@U..|name>`. The default is yes.
    pub fn set_escaping(&self, enabled: bool) {
        self.write(|state| state.should_escape = enabled);
    }

    /// Whether the workspace refuses table blocks.
    pub fn refuse_tables(&self, enabled: bool) {
        self.write(|state| state.refuse_tables = enabled);
    }

    /// The messages that `viewer` sees in a channel, oldest first; without a viewer all messages, even private ones.
    /// `@gantry` is the viewer's direct channel with the bot, `@alice` the one of alice.
    pub fn messages(&self, channel: &str, viewer: Option<&str>) -> Vec<Message> {
        self.read(|state| {
            let viewer = viewer.map(|v| state.person(v).map_or_else(|| v.to_owned(), |p| p.id.clone()));
            state.messages(channel, viewer.as_deref())
        })
    }

    pub fn channels(&self) -> Vec<Channel> {
        self.read(|state| state.channels.clone())
    }

    /// All people, including bots.
    pub fn people(&self) -> Vec<Person> {
        self.read(|state| state.people.clone())
    }

    /// A person's App Home; null until the bot publishes one.
    pub fn home(&self, user: &str) -> Value {
        self.read(|state| state.person(user).and_then(|p| state.homes.get(&p.id)).cloned().unwrap_or(Value::Null))
    }

    /// A person's open modals, the topmost last. `errors` has the bot's validation errors.
    pub fn views(&self, user: &str) -> Vec<Value> {
        self.read(|state| {
            let Some(person) = state.person(user) else { return Vec::new() };
            let open = state.views.iter().filter(|view| view.user == person.id);
            open.map(|view| {
                let mut json = view.json.clone();
                json["errors"] = view.errors.clone();
                json
            })
            .collect()
        })
    }

    /// Every trigger id and every token of a `response_url` so far. Each grants access to its holder.
    pub fn issued_secrets(&self) -> Vec<String> {
        self.read(State::issued_secrets)
    }

    /// The last requests to the Web API and the `response_url`s, oldest first.
    pub fn last_requests(&self) -> Vec<Request> {
        self.read(State::requests)
    }

    /// The number of calls of each method. All `response_url`s count as one method.
    pub fn calls(&self) -> BTreeMap<String, u64> {
        self.read(State::counts)
    }

    fn read<R>(&self, query: impl FnOnce(&State) -> R) -> R {
        query(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state, and calls the listeners after the lock is released.
    fn write<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let (result, changed) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let result = change(&mut state);
            (result, std::mem::take(&mut state.changed))
        };
        if changed {
            let listeners = self.lock_outbound().listeners.clone();
            for listener in listeners {
                listener();
            }
        }
        result
    }

    fn lock_outbound(&self) -> MutexGuard<'_, Outbound> {
        self.outbound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn team_json(&self) -> Value {
        json!({ "id": self.setup.team.0, "domain": self.setup.team.1 })
    }
}
