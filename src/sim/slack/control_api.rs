//! The actions of a person in Slack: typing a command or a message, opening the app's home, inviting the bot.
//! Clicks and modals are in `interact`.

use serde::Serialize;
use serde_json::{Value, json};

use super::Slack;
use super::deliver::{BotResponse, DispatchError};
use super::escape::{Style, escape};
use super::hooks::HookContext;
use super::message::MessageRecord;
use super::people::{Person, Place};
use super::state::{APP_ID, BOT_USER, SLACKBOT, State, VERIFICATION_TOKEN};

/// The bot's immediate response.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ack {
    /// The HTTP status; 0 if there was no response, or if Slack did not send the request to the bot.
    pub status: u16,
    /// JSON if the bot declared it so, else a string.
    pub body: Value,
}

impl Ack {
    fn from_failure(code: &str) -> Self {
        Self { status: 0, body: json!(code) }
    }
}

/// The message, and the bot's response if Slack sent the bot an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TypedMessage {
    pub id: String,
    pub ack: Option<Ack>,
}

/// An action that a person cannot do, such as a click on a button that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UserActionError(pub(super) String);

impl State {
    pub(super) fn find_acting_person(&self, user: &str) -> Result<Person, UserActionError> {
        self.person(user)
            .filter(|p| !p.bot && !p.deleted)
            .cloned()
            .ok_or_else(|| UserActionError(format!("There is nobody called {user} in this workspace.")))
    }

    /// A place by the name that a person uses. `@gantry` is their direct channel with the bot.
    pub(super) fn resolve_place(&mut self, person: &Person, channel: &str) -> Result<Place, UserActionError> {
        if channel.strip_prefix('@').is_some_and(|name| name == self.name_of(BOT_USER)) {
            return Ok(self.open_direct_channel(&person.id));
        }
        match self.place(channel) {
            Some(Place::Direct { person: owner, .. }) if owner != person.id => {
                Err(UserActionError(format!("{channel} is another person's conversation.")))
            }
            Some(place) => Ok(place),
            None => Err(UserActionError(format!("There is no channel {channel}; name a channel, or @gantry."))),
        }
    }

    fn post_slackbot_notice(&mut self, channel: &str, person: &str, text: String) {
        let mut message = MessageRecord::new(self.next_ts(), channel, SLACKBOT);
        message.text = text;
        message.only_to = Some(person.to_owned());
        self.post(message);
    }
}

impl Slack {
    /// Types a slash command. Its answer appears among the messages as Slack would show it.
    pub async fn type_command(&self, user: &str, channel: &str, text: &str) -> Result<Ack, UserActionError> {
        let (command, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        if !command.starts_with('/') {
            return Err(UserActionError(format!("A command begins with a slash, as in /list; this is {command:?}.")));
        }
        let (person, place, fields) = self.write(|state| {
            let person = state.find_acting_person(user)?;
            let place = state.resolve_place(&person, channel)?;
            if !state.commands.contains(command) {
                state.post_slackbot_notice(place.id(), &person.id, format!("{command} is not a valid command. In Slack, all messages that start with the \"/\" character are interpreted as commands."));
                return Ok((person, place, None));
            }
            let text = if state.should_escape { escape(state, rest.trim(), Style::Command) } else { rest.trim().to_owned() };
            let context = HookContext { channel: place.id().to_owned(), user: person.id.clone(), source: None };
            let trigger = state.new_trigger(&person.id);
            let (hook, acknowledged) = state.new_command_hook(&self.setup.origin, context);
            Ok((person, place, Some((text, trigger, hook, acknowledged))))
        })?;
        let Some((text, trigger, hook, acknowledged)) = fields else { return Ok(Ack::from_failure("invalid_command")) };
        let delivered = self
            .send_form(
                "/slack/commands",
                &[
                    ("token", VERIFICATION_TOKEN),
                    ("team_id", &self.setup.team.0),
                    ("team_domain", &self.setup.team.1),
                    ("channel_id", place.id()),
                    ("channel_name", place.name()),
                    ("user_id", &person.id),
                    ("user_name", &person.name),
                    ("command", command),
                    ("text", &text),
                    ("api_app_id", APP_ID),
                    ("is_enterprise_install", "false"),
                    ("response_url", &hook),
                    ("trigger_id", &trigger),
                ],
            )
            .await;
        let typed = format!("{command} {rest}");
        let ack = self.write(|state| show_acknowledgement(state, &person, &place, typed.trim(), command, delivered));
        acknowledged.send_replace(true);
        Ok(ack)
    }

    /// Posts a message in a channel or a thread. The bot gets an event if it is mentioned, or in a direct channel.
    pub async fn type_message(
        &self,
        user: &str,
        channel: &str,
        thread: Option<&str>,
        text: &str,
    ) -> Result<TypedMessage, UserActionError> {
        let (id, event) = self.write(|state| {
            let person = state.find_acting_person(user)?;
            let place = state.resolve_place(&person, channel)?;
            let thread = match thread {
                None => None,
                Some(ts) => {
                    let parent = state.message(place.id(), ts).filter(|m| m.is_visible_to(&person.id));
                    let parent =
                        parent.ok_or_else(|| UserActionError(format!("There is no message {ts} in {channel}.")))?;
                    Some(parent.thread.clone().unwrap_or_else(|| ts.to_owned()))
                }
            };
            let text = escape(state, text, Style::Message);
            let mut message = MessageRecord::new(state.next_ts(), place.id(), &person.id);
            message.text.clone_from(&text);
            message.thread.clone_from(&thread);
            let id = state.post(message);
            let mut event = json!({
                "user": person.id, "text": text, "ts": id, "event_ts": id, "channel": place.id(),
                "team": state.team.0, "client_msg_id": state.next_id("msg-"),
            });
            if let Some(thread) = thread {
                event["thread_ts"] = json!(thread);
            }
            let mentioned = text.contains(&format!("<@{BOT_USER}>"));
            let is_notified = match &place {
                Place::Direct { .. } => {
                    event["type"] = json!("message");
                    event["channel_type"] = json!("im");
                    true
                }
                Place::Channel(channel) => {
                    event["type"] = json!("app_mention");
                    mentioned && channel.bot_is_member
                }
            };
            Ok::<_, UserActionError>((id, is_notified.then(|| envelope(state, &event))))
        })?;
        let ack = match event {
            Some(event) => Some(acknowledgement(self.send_event(&event).await)),
            None => None,
        };
        Ok(TypedMessage { id, ack })
    }

    /// Opens the app's home tab.
    pub async fn open_home(&self, user: &str) -> Result<Ack, UserActionError> {
        let event = self.write(|state| {
            let person = state.find_acting_person(user)?;
            let direct = state.open_direct_channel(&person.id);
            let ts = state.next_ts();
            let mut event = json!({
                "type": "app_home_opened", "user": person.id, "channel": direct.id(), "tab": "home", "event_ts": ts,
            });
            if let Some(view) = state.homes.get(&person.id) {
                event["view"] = view.clone();
            }
            Ok::<_, UserActionError>(envelope(state, &event))
        })?;
        Ok(acknowledgement(self.send_event(&event).await))
    }

    /// Invites the bot into a channel.
    pub async fn invite(&self, user: &str, channel: &str) -> Result<Ack, UserActionError> {
        let event = self.write(|state| {
            let person = state.find_acting_person(user)?;
            let Place::Channel(mut channel) = state.resolve_place(&person, channel)? else {
                return Err(UserActionError("Nobody is invited into direct messages.".to_owned()));
            };
            channel.bot_is_member = true;
            let ts = state.next_ts();
            let event = json!({
                "type": "member_joined_channel", "user": BOT_USER, "channel": channel.id, "channel_type": "C",
                "team": state.team.0, "inviter": person.id, "event_ts": ts,
            });
            if let Some(old) = state.channels.iter_mut().find(|c| c.id == channel.id) {
                *old = channel;
            }
            state.changed = true;
            Ok(envelope(state, &event))
        })?;
        Ok(acknowledgement(self.send_event(&event).await))
    }
}

pub(super) fn acknowledgement(delivered: Result<BotResponse, DispatchError>) -> Ack {
    match delivered {
        Ok(delivered) => delivered.ack,
        Err(DispatchError::Timeout) => Ack::from_failure("operation_timeout"),
        Err(DispatchError::Unreachable) => Ack::from_failure("dispatch_failed"),
        Err(DispatchError::NotSubscribed) => Ack::from_failure("not_subscribed"),
    }
}

fn show_acknowledgement(
    state: &mut State,
    person: &Person,
    place: &Place,
    typed: &str,
    command: &str,
    delivered: Result<BotResponse, DispatchError>,
) -> Ack {
    let failure = match &delivered {
        Err(DispatchError::Timeout) => Some("operation_timeout"),
        Err(DispatchError::Unreachable | DispatchError::NotSubscribed) => Some("dispatch_failed"),
        Ok(delivered) if !delivered.ack.is_success() => Some("dispatch_failed"),
        Ok(delivered) => {
            let context = HookContext { channel: place.id().to_owned(), user: person.id.clone(), source: None };
            let answer = match &delivered.ack.body {
                body if delivered.is_json && body.is_object() => body.clone(),
                Value::String(text) => json!({ "text": text }),
                other => json!({ "text": other.to_string() }),
            };
            // If the answer is public, all members also see the typed command.
            if answer["response_type"] == "in_channel" {
                let mut echo = MessageRecord::new(state.next_ts(), place.id(), &person.id);
                typed.clone_into(&mut echo.text);
                state.post(echo);
            }
            // An empty acknowledgement is valid: the answer comes later.
            state.show(&context, &answer).err().filter(|code| *code != "no_text")
        }
    };
    if let Some(code) = failure {
        state.post_slackbot_notice(place.id(), &person.id, format!("{command} failed with the error \"{code}\""));
    }
    acknowledgement(delivered)
}

/// The envelope that Slack puts around every event.
fn envelope(state: &mut State, event: &Value) -> Value {
    json!({
        "token": VERIFICATION_TOKEN,
        "team_id": state.team.0,
        "api_app_id": APP_ID,
        "event": event,
        "type": "event_callback",
        "event_id": state.next_id("Ev"),
        "event_time": state.now().as_second(),
        "authorizations": [{
            "enterprise_id": null, "team_id": state.team.0, "user_id": BOT_USER, "is_bot": true,
            "is_enterprise_install": false,
        }],
        "is_ext_shared_channel": false,
        "event_context": state.next_id("4-"),
    })
}
