//! The simulated Slack, strict where Slack is strict: its Web API, its `response_url`s, and the people who use it.
//! It reaches the bot over HTTP, signed, or by the bot's own sockets; it knows nothing of what the bot is for.

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

const LARGEST_UPLOAD: usize = 16 << 20;

#[derive(Clone, Debug)]
pub struct Setup {
    pub clock: Clock,
    pub faults: Faults,
    pub unknown_requests: UnknownRequests,
    /// Where this simulator (under `/sim/slack`) and the bot (under `/slack`) are reached, without a slash at the end.
    pub origin: String,
    pub signing_secret: String,
    pub bot_token: String,
    pub app_token: String,
    /// What the app may do and is told; without one everything.
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

/// Would Slack take these blocks in a message? Its code and its reasons where it would not.
pub fn check_blocks(blocks: &[Value]) -> Result<(), String> {
    blocks::check_message(&Value::from(blocks.to_vec()), false)
        .map(drop)
        .map_err(|invalid| format!("{}: {:?}", invalid.code, invalid.messages))
}

type Listener = Arc<dyn Fn() + Send + Sync>;

/// Who is told, and where the bot is.
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

    /// The Web API, `response_url`s and files; to be nested under `/sim/slack`.
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
            .route("/upload/{id}", post(api::upload).layer(DefaultBodyLimit::max(LARGEST_UPLOAD)))
            .route("/files/{id}", get(api::download))
            .fallback(reject_unknown(StatusCode::NOT_FOUND))
            .method_not_allowed_fallback(reject_unknown(StatusCode::METHOD_NOT_ALLOWED))
            .with_state(self.clone())
    }

    /// Sends commands, clicks and events to another bot than the one at the origin.
    pub fn set_bot_url(&self, url: &str) {
        url.trim_end_matches('/').clone_into(&mut self.lock_outbound().bot_url);
    }

    /// Waits longer than Slack does, so that a test does not depend on how fast the machine is.
    pub fn set_response_timeout(&self, response_timeout: Duration) {
        self.lock_outbound().response_timeout = response_timeout;
    }

    /// With an agenda, events that the bot did not take are sent again after one and after five minutes.
    pub fn enable_redelivery(&self, scheduler: Scheduler) {
        self.lock_outbound().scheduler = Some(scheduler);
    }

    /// `changed` is called after every change that somebody could see.
    pub fn on_change(&self, changed: impl Fn() + Send + Sync + 'static) {
        self.lock_outbound().listeners.push(Arc::new(changed));
    }

    /// Adds a person, or changes the one with this id.
    pub fn add_person(&self, person: Person) {
        self.write(|state| {
            state.people.retain(|p| p.id != person.id);
            state.people.push(person);
            state.changed = true;
        });
    }

    /// Adds a channel, or changes the one with this id. Everybody is in it; see [`Slack::leave`].
    pub fn add_channel(&self, channel: Channel) {
        self.write(|state| {
            state.changed = true;
            match state.channels.iter_mut().find(|c| c.id == channel.id) {
                Some(old) => *old = channel,
                None => state.channels.push(channel),
            }
        });
    }

    /// A user group, or new members for the one with this id.
    pub fn add_group(&self, id: &str, handle: &str, members: &[&str]) {
        let (id, handle) = (id.to_owned(), handle.trim_start_matches('@').to_owned());
        self.write(|state| {
            let members =
                members.iter().map(|m| state.person(m).map_or_else(|| (*m).to_owned(), |p| p.id.clone())).collect();
            state.groups.retain(|g| g.id != id);
            state.groups.push(Group { id, handle, members });
        });
    }

    /// A person leaves a channel.
    pub fn leave(&self, user: &str, channel: &str) {
        self.write(|state| {
            if let (Some(person), Some(channel)) = (state.person(user), state.channel(channel)) {
                let absent = (channel.id.clone(), person.id.clone());
                state.absent.insert(absent);
            }
        });
    }

    /// The slash commands that the app has: `/promote`, `/rollback`, `/diff`, `/list` and `/gantry`, unless told otherwise.
    pub fn set_commands(&self, commands: &[&str]) {
        self.write(|state| state.commands = commands.iter().map(|c| (*c).to_owned()).collect());
    }

    /// Whether names in the text of commands become `<@U..|name>`; so it is unless told otherwise.
    pub fn set_escaping(&self, yes: bool) {
        self.write(|state| state.should_escape = yes);
    }

    /// A workspace that does not take table blocks yet.
    pub fn refuse_tables(&self, yes: bool) {
        self.write(|state| state.refuse_tables = yes);
    }

    /// What `viewer` sees in a channel, oldest first; without a viewer everything, also what is private.
    /// `@gantry` is the viewer's direct messages with the bot, `@alice` those of alice.
    pub fn messages(&self, channel: &str, viewer: Option<&str>) -> Vec<Message> {
        self.read(|state| {
            let viewer = viewer.map(|v| state.person(v).map_or_else(|| v.to_owned(), |p| p.id.clone()));
            state.messages(channel, viewer.as_deref())
        })
    }

    pub fn channels(&self) -> Vec<Channel> {
        self.read(|state| state.channels.clone())
    }

    /// Everybody, bots included.
    pub fn people(&self) -> Vec<Person> {
        self.read(|state| state.people.clone())
    }

    /// A person's App Home; null as long as the bot has published none.
    pub fn home(&self, user: &str) -> Value {
        self.read(|state| state.person(user).and_then(|p| state.homes.get(&p.id)).cloned().unwrap_or(Value::Null))
    }

    /// The modals that stand open before a person, the topmost last; `errors` holds what the bot said against them.
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

    /// Every trigger and every end of a response URL that it has given out: each lets in whoever has it.
    pub fn issued_secrets(&self) -> Vec<String> {
        self.read(State::issued_secrets)
    }

    /// The last requests to the Web API and the `response_url`s, oldest first.
    pub fn last_requests(&self) -> Vec<Request> {
        self.read(State::requests)
    }

    /// How often each method was called; `response_url` counts as one.
    pub fn calls(&self) -> BTreeMap<String, u64> {
        self.read(State::counts)
    }

    fn read<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state, and tells the listeners after the lock is released.
    fn write<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let (result, changed) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let result = change(&mut state);
            (result, std::mem::take(&mut state.changed))
        };
        if changed {
            let listeners = self.lock_outbound().listeners.clone();
            for tell in listeners {
                tell();
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
