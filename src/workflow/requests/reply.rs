//! Requests and their responses: the person who asked, and the messages and effects of the answer.

use crate::adapters::slack::incoming::RequestOrigin;
use crate::adapters::slack::render::{Rendered, plan, refusal};
use crate::adapters::store::{InboxItem, Transaction};
use crate::domain::change::Change;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::message::{Destination, Message, MessageFile, MessageKey, MessageLocation};
use crate::domain::rules::refusal::Refusal;
use crate::workflow::error::{LookupError, RetryLater};
use crate::workflow::message_keys;

/// The private answer to a command about locks, and the effects that are stored with it.
pub(crate) struct LockReply {
    pub(crate) answer: Rendered,
    pub(crate) transaction: Transaction,
    /// The answer replaces the message with the button.
    pub(crate) replaces_message: bool,
    /// The name of the refusal, for the metrics.
    pub(crate) refusal_rule: Option<&'static str>,
}

impl From<Rendered> for LockReply {
    fn from(answer: Rendered) -> Self {
        Self { answer, transaction: Transaction::new(), replaces_message: false, refusal_rule: None }
    }
}

impl LockReply {
    /// A refusal. The metrics count it under `rule`, the code that the same refusal has for a change.
    pub(crate) fn from_refusal(rule: &'static str, answer: Rendered) -> Self {
        Self { refusal_rule: Some(rule), ..answer.into() }
    }
}

/// The effects of a request from the inbox.
#[derive(Default)]
pub(crate) struct Response {
    pub(crate) transaction: Transaction,
    /// The changes that the transaction begins, resumes or advances.
    pub(crate) changes: Vec<Change>,
    /// The name of the refusal, for the metrics.
    pub(crate) refusal_rule: Option<&'static str>,
}

impl From<Transaction> for Response {
    fn from(transaction: Transaction) -> Self {
        Self { transaction, ..Self::default() }
    }
}

/// The sender of a request, and its item in the inbox.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) from: &'a RequestOrigin,
    pub(crate) received: &'a InboxItem,
    /// The answer replaces the message with the button.
    pub(crate) replaces_message: bool,
}

impl Request<'_> {
    pub(crate) fn reply_private(self, answer: Rendered) -> Response {
        Transaction::new().enqueue_message(self.build_private_message(answer)).into()
    }

    /// Replies privately, in one transaction with the effects of the command.
    pub(crate) fn reply_with_transaction(self, reply: LockReply) -> Response {
        let LockReply { answer, transaction, replaces_message, refusal_rule } = reply;
        let mut response =
            Self { replaces_message: replaces_message && self.from.private, ..self }.reply_private(answer);
        response.transaction = transaction.append(response.transaction);
        Response { refusal_rule, ..response }
    }

    /// Replies visibly for everyone in the channel or thread.
    pub(crate) fn reply_public(self, answer: Rendered) -> Response {
        Transaction::new().enqueue_message(self.build_public_message(answer)).into()
    }

    /// Replies publicly or privately, with a link to the card of the change.
    pub(crate) fn reply_with_visibility(self, answer: Rendered, is_public: bool, change: Option<ChangeId>) -> Response {
        let message = if is_public { self.build_public_message(answer) } else { self.build_private_message(answer) };
        let message = match change {
            Some(change) => message.with_link(message_keys::for_card(change)),
            None => message,
        };
        Transaction::new().enqueue_message(message).into()
    }

    /// A message in the thread of the request, else in its channel.
    fn build_public_message(self, answer: Rendered) -> Message {
        let from = self.from;
        // After a click in a thread, an answer that replaces no message is posted into that thread.
        let may_reply = self.replaces_message || from.thread.is_none();
        if let Some(response_url) = from.build_response_url(self.received.received_at).filter(|_| may_reply) {
            return answer.into_message(Destination::Reply {
                response_url,
                in_channel: true,
                replace: self.replaces_message,
            });
        }
        let key = message_keys::for_answer(&from.key);
        answer.into_message(Destination::Post {
            channel: from.channel.clone(),
            key,
            thread: find_thread_key(from),
            asked: None,
        })
    }

    /// A file for the answer: in the thread of a public answer, or as a direct message for a private one.
    pub(crate) fn attach_file(self, answer: Rendered, file: MessageFile, is_public: bool) -> Message {
        let from = self.from;
        let key = message_keys::for_answer_file(&from.key);
        let answer_key = message_keys::for_answer(&from.key);
        let (channel, thread) = if is_public {
            (from.channel.clone(), find_thread_key(from).or(Some(answer_key)))
        } else {
            (from.person.as_str().to_owned(), None)
        };
        answer.into_message(Destination::Post { channel, key, thread, asked: None }).with_file(file)
    }

    pub(crate) fn reply_with_card_link(self, answer: Rendered, change: ChangeId) -> Response {
        Transaction::new()
            .enqueue_message(self.build_private_message(answer).with_link(message_keys::for_card(change)))
            .into()
    }

    pub(crate) fn reply_refusal(self, refusal: &Refusal) -> Response {
        let answer = refusal::render_refusal(refusal);
        let response = match refusal {
            Refusal::ChangeInProgress(change) => self.reply_with_card_link(answer, change.id),
            _ => self.reply_private(answer),
        };
        Response { refusal_rule: Some(refusal.code()), ..response }
    }

    /// Retries the request after a transient failure. After any other failure, replies with it.
    pub(crate) fn reply_lookup_error(self, error: &LookupError) -> Result<Response, RetryLater> {
        let failure_reply = refusal::render_lookup_failure(&error.to_string());
        if error.transient {
            Err(RetryLater::with_backoff(error.to_string(), failure_reply))
        } else {
            Ok(self.reply_private(failure_reply))
        }
    }

    /// The card announces the change. The requester also gets a link to the card if it is in another channel, if the
    /// answer replaces a message, or if the request named no environment.
    pub(crate) fn reply_change_begun(
        self,
        change: Change,
        transaction: Transaction,
        others: Option<&[EnvironmentName]>,
    ) -> Response {
        let key = message_keys::for_card(change.id);
        let card_link = match others {
            Some(others) => {
                self.build_private_message(plan::render_chosen_environment(&change.plan, others)).with_link(key)
            }
            None if self.replaces_message => {
                self.build_private_message(plan::render_card_link(&change.plan)).with_link(key)
            }
            None => self.build_private_message(plan::render_card_link(&change.plan)).with_link_if_elsewhere(key),
        };
        Response { transaction: transaction.enqueue_message(card_link), changes: vec![change], refusal_rule: None }
    }

    pub(crate) fn build_private_message(self, answer: Rendered) -> Message {
        let message = build_person_message(self.from, self.received, answer);
        match message.to {
            Destination::Person { person, channel, thread, response_url, .. } => Message {
                to: Destination::Person { person, channel, thread, response_url, replace: self.replaces_message },
                ..message
            },
            _ => message,
        }
    }
}

pub(crate) fn build_person_message(from: &RequestOrigin, received: &InboxItem, answer: Rendered) -> Message {
    answer.into_message(Destination::Person {
        person: from.person.clone(),
        // A modal has no channel.
        channel: Some(from.channel.clone()).filter(|channel| !channel.is_empty()),
        thread: find_thread_key(from),
        response_url: from.build_response_url(received.received_at),
        replace: false,
    })
}

/// The thread of the request, identified by its first message.
fn find_thread_key(from: &RequestOrigin) -> Option<MessageKey> {
    from.thread.clone().map(|ts| MessageKey::from_location(&MessageLocation { channel: from.channel.clone(), ts }))
}
