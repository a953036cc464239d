//! The keys of messages: a message with the key of an earlier one replaces it, and others can link to it.

use crate::domain::model::ids::ChangeId;
use crate::domain::model::message::MessageKey;

/// The card of a change.
pub(crate) fn for_card(change: ChangeId) -> MessageKey {
    MessageKey::new(&format!("card:{change}"))
}

/// A reply in the thread of a change's card.
pub(crate) fn for_card_reply(name: &str, change: ChangeId) -> MessageKey {
    MessageKey::new(&format!("{name}:{change}"))
}

/// The message about a change in a subscribed channel.
pub(crate) fn for_subscriber(change: ChangeId, channel: &str) -> MessageKey {
    MessageKey::new(&format!("told:{change}:{channel}"))
}

/// The answer to a request, by the key of the request.
pub(crate) fn for_answer(request: &str) -> MessageKey {
    MessageKey::new(&format!("answer:{request}"))
}

/// The file that belongs to the answer to a request.
pub(crate) fn for_answer_file(request: &str) -> MessageKey {
    MessageKey::new(&format!("file:{request}"))
}
