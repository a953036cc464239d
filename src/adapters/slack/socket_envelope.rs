//! The messages of a socket: parses them into [`IncomingRequest`] with the same parsers as HTTP, and builds the
//! acknowledgements. Knows nothing of connections.

use serde_json::{Value, json};

use super::incoming::{self, IncomingRequest};
use super::receive::Ack;

/// One message from Slack.
#[derive(Debug, PartialEq)]
pub(super) enum Envelope {
    /// The first message of every connection.
    Hello,
    /// Slack will close the connection. Gantry must open another.
    Disconnect { reason: String },
    /// A command, a click or an event. Unknown kinds are acknowledged too.
    Request { id: String, accepts_payload: bool, incoming: Box<IncomingRequest> },
    /// A message without a request, which needs no acknowledgement.
    Other,
}

/// Returns a reason for an unreadable message. Such a message is not acknowledged; over HTTP it would be refused.
pub(super) fn parse_envelope(text: &str) -> Result<Envelope, String> {
    let envelope: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let field = |name: &str| envelope.get(name).and_then(Value::as_str);
    let payload = envelope.get("payload").unwrap_or(&Value::Null);
    let incoming = match field("type") {
        Some("hello") => return Ok(Envelope::Hello),
        Some("disconnect") => {
            return Ok(Envelope::Disconnect { reason: field("reason").unwrap_or("none given").to_owned() });
        }
        Some("slash_commands") => incoming::parse_command_payload(payload)?,
        Some("interactive") => incoming::parse_interaction_payload(payload)?,
        Some("events_api") => incoming::parse_event_payload(payload)?,
        Some(_) => IncomingRequest::Ignored,
        None => return Err("it has no `type`".to_owned()),
    };
    match field("envelope_id") {
        Some(id) => {
            let accepts_payload = envelope.get("accepts_response_payload").and_then(Value::as_bool).unwrap_or_default();
            Ok(Envelope::Request { id: id.to_owned(), accepts_payload, incoming: Box::new(incoming) })
        }
        None if incoming == IncomingRequest::Ignored => Ok(Envelope::Other),
        None => Err("it has no `envelope_id`".to_owned()),
    }
}

/// The acknowledgement for Slack; `None` if Slack must send the request again.
pub(super) fn build_acknowledgement(id: &str, accepts_payload: bool, ack: &Ack) -> Option<String> {
    let mut answer = json!({ "envelope_id": id });
    match ack {
        Ack::NotStored => return None,
        Ack::Body(body) if accepts_payload => {
            answer["payload"] = serde_json::from_slice(body).unwrap_or_default();
        }
        Ack::Body(_) | Ack::Empty => {}
    }
    Some(answer.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn command(extra: &str) -> String {
        format!(
            r#"{{"type":"slash_commands","envelope_id":"e1","accepts_response_payload":true,"payload":{{"team_id":"T",
            "channel_id":"C","user_id":"U","command":"/promote","text":"checkout qa","trigger_id":"1"{extra}}}}}"#
        )
    }

    #[test]
    fn a_command_is_the_same_as_over_http() {
        let by_form = incoming::parse_command(
            b"team_id=T&channel_id=C&user_id=U&command=%2Fpromote&text=checkout+qa&trigger_id=1&response_url=https%3A%2F%2Fx",
        );
        let envelope = parse_envelope(&command(r#","response_url":"https://x""#)).expect("an envelope");
        let Envelope::Request { id, accepts_payload, incoming } = envelope else { panic!("a request: {envelope:?}") };
        assert_eq!((id.as_str(), accepts_payload, Ok(*incoming)), ("e1", true, by_form));
    }

    #[test]
    fn other_envelopes_are_recognised() {
        let cases = [
            (r#"{"type":"hello","num_connections":1}"#, Ok(Envelope::Hello)),
            (r#"{"type":"disconnect","reason":"warning"}"#, Ok(Envelope::Disconnect { reason: "warning".to_owned() })),
            (
                r#"{"type":"workflow_steps","envelope_id":"e2"}"#,
                Ok(Envelope::Request {
                    id: "e2".to_owned(),
                    accepts_payload: false,
                    incoming: Box::new(IncomingRequest::Ignored),
                }),
            ),
            (r#"{"type":"pong"}"#, Ok(Envelope::Other)),
            ("{}", Err("it has no `type`".to_owned())),
            (
                r#"{"type":"slash_commands","envelope_id":"e3","payload":{}}"#,
                Err("This is not a slash command: `team_id` is missing.".to_owned()),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_envelope(text), expected, "{text}");
        }
    }

    #[test]
    fn an_acknowledgement_has_a_payload_only_if_slack_accepts_it() {
        let body = Ack::Body(br#"{"text":"yes"}"#.to_vec());
        let acknowledge = |accepts_payload, ack: &Ack| build_acknowledgement("e1", accepts_payload, ack);
        assert_eq!(acknowledge(true, &body).as_deref(), Some(r#"{"envelope_id":"e1","payload":{"text":"yes"}}"#));
        assert_eq!(acknowledge(false, &body).as_deref(), Some(r#"{"envelope_id":"e1"}"#));
        assert_eq!(acknowledge(true, &Ack::Empty).as_deref(), Some(r#"{"envelope_id":"e1"}"#));
        assert_eq!(acknowledge(true, &Ack::NotStored), None);
    }

    /// Arbitrary JSON for a field of an envelope.
    fn arbitrary_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z_/<@> ]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z_]{1,8}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "\\PC{0,200}") {
            let _ = parse_envelope(&text);
        }

        #[test]
        fn arbitrary_envelopes_do_not_panic(
            kind in prop_oneof![
                Just("slash_commands"), Just("interactive"), Just("events_api"), Just("hello"), Just("disconnect"), Just("x"),
            ],
            id in arbitrary_json(), payload in arbitrary_json(), event in arbitrary_json(), accepts_payload in arbitrary_json(),
        ) {
            for payload in [payload, json!({ "type": "event_callback", "event": event }), json!({ "type": "block_actions", "user": event })] {
                let text = json!({ "type": kind, "envelope_id": id, "payload": payload, "accepts_response_payload": accepts_payload });
                let _ = parse_envelope(&text.to_string());
            }
        }
    }
}
