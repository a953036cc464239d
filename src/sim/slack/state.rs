//! The data of the simulated workspace, and the ids that it issues.
//! It knows nothing of HTTP. Time comes as an argument or from the clock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::clock::Clock;

use super::hooks::Hook;
use super::limits::Limits;
use super::message::{Message, MessageRecord};
use super::people::{Channel, Group, Person, Place};

pub const BOT_USER: &str = "U0GANTRY";
pub const BOT_ID: &str = "B0GANTRY";
pub const APP_ID: &str = "A0GANTRY";
/// Slack's token from before it signed requests. Slack still sends it.
pub const VERIFICATION_TOKEN: &str = "the-old-verification-token";
pub(super) const SLACKBOT: &str = "USLACKBOT";
const TRIGGER_LIFETIME: SignedDuration = SignedDuration::from_secs(3);
const MAX_RECORDED_REQUESTS: usize = 500;

/// A request to the Web API or a `response_url`, for tests.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    /// `chat.postMessage`, ...; `response_url` for the hooks.
    pub method: String,
    /// `GET` or `POST`.
    pub http: String,
    pub at: Timestamp,
    /// Without the token.
    pub params: Value,
    /// `ok`, or Slack's error code.
    pub answer: String,
}

#[derive(Debug)]
struct Trigger {
    user: String,
    expires: Timestamp,
    exchanged: bool,
}

/// An open modal of a person.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) user: String,
    pub(super) json: Value,
    pub(super) errors: Value,
}

#[derive(Debug)]
pub(super) struct Upload {
    pub(super) name: String,
    pub(super) length: usize,
    pub(super) content: Option<Vec<u8>>,
    pub(super) shared: bool,
}

#[derive(Debug)]
pub(super) struct State {
    clock: Clock,
    pub(super) team: (String, String),
    pub(super) people: Vec<Person>,
    pub(super) channels: Vec<Channel>,
    pub(super) absent: BTreeSet<(String, String)>,
    pub(super) groups: Vec<Group>,
    direct_channels: BTreeMap<String, String>,
    messages: Vec<MessageRecord>,
    pub(super) views: Vec<View>,
    pub(super) homes: BTreeMap<String, Value>,
    pub(super) hooks: BTreeMap<String, Hook>,
    pub(super) uploads: BTreeMap<String, Upload>,
    pub(super) limits: Limits,
    triggers: BTreeMap<String, Trigger>,
    requests: VecDeque<Request>,
    counts: BTreeMap<String, u64>,
    pub(super) commands: BTreeSet<String>,
    pub(super) refuse_tables: bool,
    pub(super) should_escape: bool,
    last_ts: i64,
    last_id: u64,
    /// Whether a visible change happened since the listeners were last called.
    pub(super) changed: bool,
}

impl State {
    pub(super) fn new(clock: Clock, team: (String, String)) -> Self {
        let bot = |id: &str, name: &str| Person {
            id: id.to_owned(),
            name: name.to_owned(),
            real_name: name.to_owned(),
            bot: true,
            ..Person::default()
        };
        Self {
            clock,
            team,
            people: vec![bot(BOT_USER, "gantry"), bot(SLACKBOT, "slackbot")],
            channels: Vec::new(),
            absent: BTreeSet::new(),
            groups: Vec::new(),
            direct_channels: BTreeMap::new(),
            messages: Vec::new(),
            views: Vec::new(),
            homes: BTreeMap::new(),
            hooks: BTreeMap::new(),
            uploads: BTreeMap::new(),
            limits: Limits::default(),
            triggers: BTreeMap::new(),
            requests: VecDeque::new(),
            counts: BTreeMap::new(),
            commands: ["/promote", "/rollback", "/diff", "/list", "/gantry"].map(str::to_owned).into(),
            refuse_tables: false,
            should_escape: true,
            last_ts: 0,
            last_id: 0,
            changed: false,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A unique and increasing timestamp from the clock: `1731700000.000100`.
    pub(super) fn next_ts(&mut self) -> String {
        // Slack's timestamps have about this resolution. Two of them must differ even if the clock stands still.
        let now = self.now().as_microsecond() / 100 * 100;
        self.last_ts = now.max(self.last_ts + 100);
        format!("{}.{:06}", self.last_ts / 1_000_000, self.last_ts % 1_000_000)
    }

    /// A new id: `prefix` with capital letters and digits, as in Slack.
    pub(super) fn next_id(&mut self, prefix: &str) -> String {
        self.last_id += 1;
        format!("{prefix}{:0>8}", base36(self.last_id))
    }

    pub(super) fn person(&self, name_or_id: &str) -> Option<&Person> {
        let wanted = name_or_id.trim_start_matches('@');
        self.people.iter().find(|p| p.id == wanted).or_else(|| self.people.iter().find(|p| p.name == wanted))
    }

    pub(super) fn name_of(&self, id: &str) -> String {
        self.people.iter().find(|p| p.id == id).map_or_else(|| id.to_owned(), |p| p.name.clone())
    }

    pub(super) fn channel(&self, name_or_id: &str) -> Option<&Channel> {
        let wanted = name_or_id.trim_start_matches('#');
        self.channels.iter().find(|c| c.id == wanted || c.name == wanted)
    }

    pub(super) fn members(&self, channel: &Channel) -> Vec<String> {
        let bot = channel.bot_is_member.then_some(BOT_USER);
        self.people
            .iter()
            .filter(|p| !p.bot && !p.deleted && !self.absent.contains(&(channel.id.clone(), p.id.clone())))
            .map(|p| p.id.as_str())
            .chain(bot)
            .map(str::to_owned)
            .collect()
    }

    /// A person's direct channel with the bot. It is opened at its first use.
    pub(super) fn open_direct_channel(&mut self, person: &str) -> Place {
        let id = format!("D{}", person.trim_start_matches(['U', 'W']));
        self.direct_channels.insert(id.clone(), person.to_owned());
        Place::Direct { id, person: person.to_owned() }
    }

    /// A place by its id in the API. A person's id means the direct channel with that person.
    pub(super) fn place(&mut self, name_or_id: &str) -> Option<Place> {
        if let Some(channel) = self.channel(name_or_id) {
            return Some(Place::Channel(channel.clone()));
        }
        if let Some(person) = self.direct_channels.get(name_or_id) {
            return Some(Place::Direct { id: name_or_id.to_owned(), person: person.clone() });
        }
        let person = self.people.iter().find(|p| p.id == name_or_id && !p.bot)?.id.clone();
        Some(self.open_direct_channel(&person))
    }

    /// The name that people use for a place: `deploys`, or `@gantry` for a direct channel with the bot.
    pub(super) fn place_name(&self, id: &str) -> String {
        if self.direct_channels.contains_key(id) {
            return format!("@{}", self.name_of(BOT_USER));
        }
        self.channels.iter().find(|c| c.id == id).map_or_else(|| id.to_owned(), |c| c.name.clone())
    }

    pub(super) fn post(&mut self, message: MessageRecord) -> String {
        let ts = message.ts.clone();
        self.messages.push(message);
        self.changed = true;
        ts
    }

    /// The messages of a place that the viewer sees. Without a viewer, private messages of all people are included.
    pub(super) fn messages(&self, channel: &str, viewer: Option<&str>) -> Vec<Message> {
        let bot_name = format!("@{}", self.name_of(BOT_USER));
        let is_in_place = |m: &&MessageRecord| -> bool {
            if channel == bot_name {
                return self
                    .direct_channels
                    .get(&m.channel)
                    .is_some_and(|owner| viewer.is_none_or(|viewer| viewer == owner.as_str()));
            }
            if let Some(owner) = channel.strip_prefix('@').and_then(|name| self.person(name)) {
                return self.direct_channels.get(&m.channel) == Some(&owner.id);
            }
            self.channel(channel).map_or(channel, |c| c.id.as_str()) == m.channel
        };
        self.messages
            .iter()
            .filter(is_in_place)
            .filter(|m| viewer.is_none_or(|viewer| m.is_visible_to(viewer)))
            .map(|m| m.to_message(self))
            .collect()
    }

    pub(super) fn message(&self, channel: &str, ts: &str) -> Option<&MessageRecord> {
        self.messages.iter().find(|m| m.channel == channel && m.ts == ts)
    }

    pub(super) fn message_mut(&mut self, channel: &str, ts: &str) -> Option<&mut MessageRecord> {
        self.changed = true;
        self.messages.iter_mut().find(|m| m.channel == channel && m.ts == ts)
    }

    pub(super) fn delete(&mut self, channel: &str, ts: &str) {
        self.messages.retain(|m| !(m.channel == channel && m.ts == ts));
        self.changed = true;
    }

    pub(super) fn new_trigger(&mut self, user: &str) -> String {
        self.last_id += 1;
        let id = format!("{}.{}.{:032x}", self.last_id, self.now().as_millisecond(), u128::from(self.last_id) << 32);
        let trigger = Trigger { user: user.to_owned(), expires: self.now() + TRIGGER_LIFETIME, exchanged: false };
        self.triggers.insert(id.clone(), trigger);
        id
    }

    pub(super) fn issued_secrets(&self) -> Vec<String> {
        self.triggers.keys().chain(self.hooks.keys()).cloned().collect()
    }

    /// The person who caused the trigger. A trigger works once, and for three seconds.
    pub(super) fn exchange(&mut self, trigger_id: &str) -> Result<String, &'static str> {
        let now = self.now();
        let trigger = self.triggers.get_mut(trigger_id).ok_or("invalid_trigger_id")?;
        if trigger.exchanged {
            return Err("exchanged_trigger_id");
        }
        if now > trigger.expires {
            return Err("expired_trigger_id");
        }
        trigger.exchanged = true;
        Ok(trigger.user.clone())
    }

    pub(super) fn record(&mut self, method: &str, http: &str, params: Value, answer: &str) {
        *self.counts.entry(method.to_owned()).or_default() += 1;
        if self.requests.len() == MAX_RECORDED_REQUESTS {
            self.requests.pop_front();
        }
        self.requests.push_back(Request {
            method: method.to_owned(),
            http: http.to_owned(),
            at: self.now(),
            params,
            answer: answer.to_owned(),
        });
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.iter().cloned().collect()
    }

    pub(super) fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.clone()
    }
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 {
        digits.push(char::from_digit(u32::try_from(number % 36).unwrap_or(0), 36).unwrap_or('0'));
        number /= 36;
    }
    digits.iter().rev().map(char::to_ascii_uppercase).collect()
}
