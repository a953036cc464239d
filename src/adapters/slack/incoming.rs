//! Parses requests from Slack into narrow types. slack-morphism's types fail on unknown values and drop fields that
//! Gantry needs, so this file parses the bodies itself.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::render::blocks::ACTION_NUMBER_SEPARATOR;
use crate::domain::model::actor::PersonId;
use crate::domain::model::message::ResponseUrl;

/// How long a `response_url` is valid.
const RESPONSE_URL_LIFETIME: SignedDuration = SignedDuration::from_mins(30);

/// The requester, and the places for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestOrigin {
    pub team: String,
    pub person: PersonId,
    pub channel: String,
    /// The thread of the message, if it has one.
    pub thread: Option<String>,
    pub response_url: Option<String>,
    /// The identity of this request: its `trigger_id` or `event_id`.
    pub key: String,
    /// Only this person can see the message with the button.
    #[serde(default)]
    pub private: bool,
}

impl RequestOrigin {
    /// The `response_url` with its expiry, counted from the time at which Gantry received the request.
    pub fn build_response_url(&self, received_at: Timestamp) -> Option<ResponseUrl> {
        self.response_url
            .as_ref()
            .map(|url| ResponseUrl { url: url.clone(), until: received_at + RESPONSE_URL_LIFETIME })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "incoming", rename_all = "snake_case")]
pub enum IncomingRequest {
    /// A slash command such as `/promote checkout qa`. `text` begins with the verb for every slash command.
    Command { from: RequestOrigin, text: String },
    /// A mention in a channel or a direct message.
    Said { from: RequestOrigin, text: String, direct: bool },
    /// A click on a button.
    Click { from: RequestOrigin, action: String, value: String },
    /// A submitted modal of Gantry: its name, its subject, and the text of its one input.
    Submitted { from: RequestOrigin, modal: String, about: String, text: String },
    /// A person opened the App Home.
    Opened { from: RequestOrigin },
    /// A member joined a channel. The member may be Gantry itself.
    Joined { from: RequestOrigin },
    /// A request that Gantry does not handle.
    Ignored,
}

pub(super) enum EventsApiBody {
    UrlVerification { challenge: String },
    Incoming(Box<IncomingRequest>),
}

/// Parses the form of a slash command.
pub(super) fn parse_command(body: &[u8]) -> Result<IncomingRequest, String> {
    let mut form = SlashCommandForm::default();
    for pair in body.split(|byte| *byte == b'&') {
        // Only the needed fields are decoded; they are about half of the form.
        let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
        let field = match name {
            b"ssl_check" if pair == b"ssl_check=1" => return Ok(IncomingRequest::Ignored),
            b"team_id" => &mut form.team,
            b"channel_id" => &mut form.channel,
            b"user_id" => &mut form.person,
            b"command" => &mut form.command,
            b"text" => &mut form.text,
            b"trigger_id" => &mut form.trigger,
            b"response_url" => &mut form.response_url,
            _ => continue,
        };
        *field = form_urlencoded::parse(pair).next().unwrap_or_default().1;
    }
    form.into_incoming()
}

/// Parses a slash command from a socket, which sends the fields of the form as JSON.
pub(super) fn parse_command_payload(payload: &Value) -> Result<IncomingRequest, String> {
    if string_at(payload, "/ssl_check") == Some("1") {
        return Ok(IncomingRequest::Ignored);
    }
    let field = |pointer: &str| Cow::Borrowed(string_at(payload, pointer).unwrap_or_default());
    let form = SlashCommandForm {
        team: field("/team_id"),
        channel: field("/channel_id"),
        person: field("/user_id"),
        command: field("/command"),
        text: field("/text"),
        trigger: field("/trigger_id"),
        response_url: field("/response_url"),
    };
    form.into_incoming()
}

#[derive(Default)]
struct SlashCommandForm<'a> {
    team: Cow<'a, str>,
    channel: Cow<'a, str>,
    person: Cow<'a, str>,
    command: Cow<'a, str>,
    text: Cow<'a, str>,
    trigger: Cow<'a, str>,
    response_url: Cow<'a, str>,
}

impl SlashCommandForm<'_> {
    fn into_incoming(self) -> Result<IncomingRequest, String> {
        let required = [
            ("team_id", &self.team),
            ("channel_id", &self.channel),
            ("user_id", &self.person),
            ("command", &self.command),
            ("trigger_id", &self.trigger),
        ];
        if let Some((name, _)) = required.iter().find(|(_, value)| value.is_empty()) {
            return Err(format!("This is not a slash command: `{name}` is missing."));
        }
        let text = match self.command.trim_start_matches('/') {
            "gantry" => self.text,
            verb => [verb, " ", &self.text].concat().into(),
        };
        let from = RequestOrigin {
            team: self.team.into_owned(),
            person: PersonId::new(&self.person),
            channel: self.channel.into_owned(),
            thread: None,
            response_url: Some(self.response_url.into_owned()).filter(|url| !url.is_empty()),
            key: self.trigger.into_owned(),
            private: false,
        };
        Ok(IncomingRequest::Command { from, text: text.into_owned() })
    }
}

/// Parses an interaction: a form with one field, `payload`, that contains JSON.
pub(super) fn parse_interaction(body: &[u8]) -> Result<IncomingRequest, String> {
    let (_, payload) = form_urlencoded::parse(body)
        .find(|(name, _)| name == "payload")
        .ok_or("This is not an interaction: `payload` is missing.")?;
    let payload: Value =
        serde_json::from_str(&payload).map_err(|error| format!("The interaction's payload is not JSON: {error}."))?;
    parse_interaction_payload(&payload)
}

/// Parses an interaction from a socket, which sends the JSON without a form.
pub(super) fn parse_interaction_payload(payload: &Value) -> Result<IncomingRequest, String> {
    // Gantry creates only buttons and modals. Other kinds, and kinds that Slack may add later, are ignored.
    let is_submission = match string_at(payload, "/type") {
        Some("block_actions") => false,
        Some("view_submission") => true,
        _ => return Ok(IncomingRequest::Ignored),
    };
    let require = |pointer: &'static str| {
        string_at(payload, pointer)
            .ok_or_else(|| format!("The interaction has no `{}`.", pointer.trim_start_matches('/')))
    };
    let channel = string_at(payload, "/channel/id").or(string_at(payload, "/container/channel_id")).unwrap_or_default();
    let ephemeral = payload.pointer("/container/is_ephemeral").and_then(Value::as_bool).unwrap_or_default();
    let from = RequestOrigin {
        team: string_at(payload, "/team/id").or(string_at(payload, "/user/team_id")).unwrap_or_default().to_owned(),
        person: PersonId::new(require("/user/id")?),
        channel: channel.to_owned(),
        thread: string_at(payload, "/message/thread_ts").map(str::to_owned),
        response_url: string_at(payload, "/response_url").map(str::to_owned),
        key: require("/trigger_id")?.to_owned(),
        // A direct conversation with Gantry is private, and so is a view, which belongs to no channel.
        private: ephemeral || channel.is_empty() || channel.starts_with('D'),
    };
    if is_submission {
        let values = payload.pointer("/view/state/values").and_then(Value::as_object);
        let inputs = values.into_iter().flat_map(|blocks| blocks.values()).filter_map(Value::as_object);
        let input_text = inputs.flat_map(|inputs| inputs.values()).find_map(|input| string_at(input, "/value"));
        return Ok(IncomingRequest::Submitted {
            from,
            modal: require("/view/callback_id")?.to_owned(),
            about: string_at(payload, "/view/private_metadata").unwrap_or_default().to_owned(),
            text: input_text.unwrap_or_default().to_owned(),
        });
    }
    let action = require("/actions/0/action_id")?;
    // Slack requires unique action ids, so buttons with the same action have a number, except the first.
    let action = action.split(ACTION_NUMBER_SEPARATOR).next().unwrap_or(action).to_owned();
    let value = string_at(payload, "/actions/0/value").unwrap_or_default().to_owned();
    Ok(IncomingRequest::Click { from, action, value })
}

/// Parses an event: the handshake, a mention, a direct message, an opened App Home, or a member that joins a channel.
pub(super) fn parse_event(body: &[u8]) -> Result<EventsApiBody, String> {
    let event: Value = serde_json::from_slice(body).map_err(|error| format!("The event is not JSON: {error}."))?;
    if string_at(&event, "/type") == Some("url_verification") {
        let challenge = string_at(&event, "/challenge").ok_or("The handshake has no `challenge`.")?.to_owned();
        return Ok(EventsApiBody::UrlVerification { challenge });
    }
    parse_event_payload(&event).map(|incoming| EventsApiBody::Incoming(Box::new(incoming)))
}

/// Parses an event from a socket, which has no `url_verification` handshake.
pub(super) fn parse_event_payload(event: &Value) -> Result<IncomingRequest, String> {
    match string_at(event, "/type") {
        Some("event_callback") => {}
        Some(_) => return Ok(IncomingRequest::Ignored),
        None => return Err("The event has no `type`.".to_owned()),
    }
    let (is_message, direct) = match (string_at(event, "/event/type"), string_at(event, "/event/channel_type")) {
        (Some("app_mention"), _) => (true, false),
        (Some("message"), Some("im")) => (true, true),
        (Some("app_home_opened"), _) if string_at(event, "/event/tab") == Some("home") => (false, true),
        (Some("member_joined_channel"), _) => (false, false),
        _ => return Ok(IncomingRequest::Ignored),
    };
    // Messages of bots, Gantry's own messages and edits are ignored. Otherwise Gantry would answer itself.
    let from_a_person =
        event.pointer("/event/bot_id").is_none_or(Value::is_null) && event.pointer("/event/subtype").is_none();
    let (Some(person), true) = (string_at(event, "/event/user"), from_a_person) else {
        return Ok(IncomingRequest::Ignored);
    };
    let from = RequestOrigin {
        team: string_at(event, "/team_id").unwrap_or_default().to_owned(),
        person: PersonId::new(person),
        channel: string_at(event, "/event/channel").ok_or("The event has no `event.channel`.")?.to_owned(),
        thread: string_at(event, "/event/thread_ts").map(str::to_owned),
        response_url: None,
        key: string_at(event, "/event_id").ok_or("The event has no `event_id`.")?.to_owned(),
        private: false,
    };
    if !is_message {
        return Ok(if direct { IncomingRequest::Opened { from } } else { IncomingRequest::Joined { from } });
    }
    let message_text = strip_mention(string_at(event, "/event/text").unwrap_or_default());
    Ok(IncomingRequest::Said { from, text: message_text, direct })
}

/// Removes the mention that addresses Gantry, at any position: `<@U0GANTRY> list` becomes `list`.
fn strip_mention(text: &str) -> String {
    let mention = text.find("<@").and_then(|start| Some((start, start + text[start..].find('>')? + 1)));
    match mention {
        // A mention with a label is a typed name that Slack has resolved to a person.
        Some((start, end)) if !text[start..end].contains('|') => format!("{}{}", &text[..start], &text[end..]),
        _ => text.to_owned(),
    }
}

fn string_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_name_of_a_slash_command_becomes_the_verb() {
        let body = |command: &str| {
            format!(
                "team_id=T&channel_id=C&user_id=U&command=%2F{command}&text=checkout+qa&trigger_id=1&response_url=https%3A%2F%2Fx"
            )
        };
        for (command, expected) in [("promote", "promote checkout qa"), ("gantry", "checkout qa")] {
            let Ok(IncomingRequest::Command { from, text }) = super::parse_command(body(command).as_bytes()) else {
                panic!("a command")
            };
            assert_eq!((text.as_str(), from.response_url.as_deref()), (expected, Some("https://x")));
        }
    }

    #[test]
    fn forms_are_decoded() {
        let cases = [
            ("text=a+b%2Fc", "a b/c"),
            ("text=caf%C3%A9", "caf\u{e9}"),
            ("text=caf\u{e9}", "caf\u{e9}"),
            ("text=%FF", "\u{fffd}"),
            ("text=1=2", "1=2"),
            ("text=%3D=2", "==2"),
            ("text=", ""),
            ("text", ""),
            ("texts=1&text=2&%74ext=3", "2"),
            ("text=1&text=2", "2"),
        ];
        for (form, expected) in cases {
            let body = format!("team_id=T&channel_id=C&user_id=U&command=%2Fgantry&trigger_id=1&{form}");
            let Ok(IncomingRequest::Command { text, .. }) = super::parse_command(body.as_bytes()) else {
                panic!("{form}")
            };
            assert_eq!(text, expected, "{form}");
        }
        assert_eq!(super::parse_command(b"ssl_check=1&token=x"), Ok(IncomingRequest::Ignored));
        assert!(super::parse_command(b"").is_err());
    }

    #[test]
    fn the_mention_of_the_bot_is_removed_at_any_position() {
        let cases = [
            ("<@U0GANTRY> list", " list"),
            ("list <@U0GANTRY>", "list "),
            ("list", "list"),
            ("<@U0", "<@U0"),
            ("list <@U1|qa>", "list <@U1|qa>"),
        ];
        for (text, expected) in cases {
            assert_eq!(strip_mention(text), expected);
        }
    }

    #[test]
    fn messages_of_bots_and_edits_are_ignored() {
        let event = |extra: &str| {
            format!(
                r#"{{"type":"event_callback","event_id":"E","team_id":"T","event":{{"type":"app_mention","channel":"C","text":"list"{extra}}}}}"#
            )
        };
        let is_handled = |extra: &str| match super::parse_event(event(extra).as_bytes()) {
            Ok(EventsApiBody::Incoming(incoming)) => *incoming != IncomingRequest::Ignored,
            _ => panic!("an event"),
        };
        assert!(is_handled(r#","user":"U""#));
        assert!(!is_handled(""));
        assert!(!is_handled(r#","user":"U","bot_id":"B""#));
        assert!(!is_handled(r#","user":"U","subtype":"message_changed""#));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = super::parse_command(&body);
            let _ = super::parse_interaction(&body);
            let _ = super::parse_event(&body);
        }

        #[test]
        fn arbitrary_json_does_not_panic(text in "[\\[\\]{}\":,a-z0-9]{0,80}") {
            let _ = super::parse_interaction(format!("payload={text}").as_bytes());
            let _ = super::parse_event(text.as_bytes());
        }
    }
}
