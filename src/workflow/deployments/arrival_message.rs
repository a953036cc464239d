//! The message about one arrival or a batch of them: its inputs, its content, and the channels that it goes to.

use std::collections::BTreeSet;

use crate::adapters::slack::render::{self, Rendered};
use crate::adapters::store::Transaction;
use crate::domain::change::subscription::{SubscribedChannel, SubscribedState};
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::Environment;
use crate::domain::model::message::{Destination, MessageKey};
use crate::domain::model::version::Commit;
use crate::domain::runtime::arrival::{ArrivalEvent, Author};
use crate::domain::runtime::arrival_batch::ArrivalBatch;
use crate::domain::runtime::provenance::Provenance;
use crate::domain::runtime::sighting::Sighting;
use crate::workflow::context::Context;

/// A new or updated sighting, and the event to announce, if any.
pub(crate) struct SightingUpdate<'a> {
    pub(crate) artefact: &'a Artefact,
    pub(crate) environment: &'a Environment,
    pub(crate) sighting: Sighting,
    pub(crate) event: Option<ArrivalEvent>,
}

/// The facts about an arrival that were found in time.
#[derive(Debug, Default)]
pub(crate) struct ArrivalFacts {
    pub(crate) commit: Option<Commit>,
    pub(crate) provenance: Provenance,
    /// The authors to mention in case of a failure.
    pub(crate) authors: Vec<Author>,
}

/// The states that a message announces. A channel gets the message if it subscribed to any of them.
pub(crate) type AnnouncedStates = &'static [SubscribedState];

/// A batch in which some artefacts run and some still roll out.
pub(crate) const ARRIVING: AnnouncedStates = &[SubscribedState::Started, SubscribedState::Deployed];
pub(crate) const RUNNING: AnnouncedStates = &[SubscribedState::Deployed];
pub(crate) const FAILED: AnnouncedStates = &[SubscribedState::Failed];
/// Channels that were notified of the failure are notified of the recovery too.
pub(crate) const RECOVERED: AnnouncedStates = &[SubscribedState::Deployed, SubscribedState::Failed];

/// One message about arrivals, for the environment's channel and the subscribed channels.
#[derive(Debug)]
pub(crate) struct ArrivalMessage {
    pub(crate) artefacts: Vec<ArtefactName>,
    pub(crate) states: AnnouncedStates,
    pub(crate) key: MessageKey,
    /// The thread of a reply, which is broadcast to the channel.
    pub(crate) thread: Option<MessageKey>,
    pub(crate) rendered: Rendered,
    pub(crate) subscriber_content: SubscriberContent,
}

/// The content for subscribed channels. It has no mentions, because the environment's own channel has them.
#[derive(Debug)]
pub(crate) enum SubscriberContent {
    Rendered(Rendered),
    Nothing,
    /// Each channel gets the part of the batch that it subscribed to.
    Batch(ArrivalBatch),
}

/// Enqueues a message about arrivals for every channel that wants it. A message with the same key edits the posted one.
pub(crate) fn enqueue_arrival_message(
    ctx: &Context,
    environment: &Environment,
    message: ArrivalMessage,
) -> Transaction {
    let ArrivalMessage { artefacts, states, key, thread, rendered, subscriber_content } = message;
    let audience = &ctx.config.audience;
    let subscribed: BTreeSet<SubscribedState> =
        artefacts.iter().flat_map(|artefact| audience.own_channel_states(artefact, environment)).collect();
    let is_subscribed = |subscribed: &BTreeSet<SubscribedState>, announced: AnnouncedStates| {
        announced.iter().any(|state| subscribed.contains(state))
    };
    let can_wait = matches!(subscriber_content, SubscriberContent::Batch(_));
    let build_address = |channel: &str, key, thread| PostAddress { channel: channel.to_owned(), key, thread, can_wait };
    let mut transaction = enqueue_post(
        build_address(&environment.channel, key.clone(), thread.clone()),
        rendered,
        is_subscribed(&subscribed, states),
    );
    for (subscriber, subscribed_artefacts) in audience.group_subscribed_channels(&artefacts, environment) {
        let (states, rendered) = match &subscriber_content {
            SubscriberContent::Nothing => continue,
            SubscriberContent::Rendered(rendered) => (states, rendered.clone()),
            SubscriberContent::Batch(batch) => {
                let batch = batch.filter_artefacts(&subscribed_artefacts);
                (find_batch_states(&batch), render::arrival_batch::render_arrival_batch(&batch))
            }
        };
        let (key, thread) = (
            derive_channel_key(&key, &subscriber),
            thread.as_ref().map(|thread| derive_channel_key(thread, &subscriber)),
        );
        transaction = transaction.append(enqueue_post(
            build_address(&subscriber.channel, key, thread),
            rendered,
            is_subscribed(&subscriber.states, states),
        ));
    }
    transaction
}

/// Enqueues a message for one channel. A reply is broadcast. Without a subscription to the state, a posted message is
/// still edited, but nothing new is posted.
fn enqueue_post(address: PostAddress, rendered: Rendered, is_subscribed: bool) -> Transaction {
    let PostAddress { channel, key, thread, can_wait } = address;
    let message =
        rendered.into_message(Destination::Post { channel, key: key.clone(), thread: thread.clone(), asked: None });
    let message = if can_wait { message.with_coalescing() } else { message };
    match (thread, is_subscribed) {
        (Some(thread), true) => Transaction::new().enqueue_if_posted(thread, message.with_broadcast()),
        (Some(_), false) => Transaction::new(),
        (None, true) => Transaction::new().enqueue_message(message),
        (None, false) => Transaction::new().enqueue_if_posted(key, message),
    }
}

/// The destination of a message about arrivals.
struct PostAddress {
    channel: String,
    key: MessageKey,
    thread: Option<MessageKey>,
    /// Edits may be coalesced, because many come in a row.
    can_wait: bool,
}

/// The key of the message in a subscribed channel.
fn derive_channel_key(key: &MessageKey, subscriber: &SubscribedChannel) -> MessageKey {
    MessageKey::new(&format!("{key}@{}", subscriber.channel))
}

pub(crate) fn find_batch_states(batch: &ArrivalBatch) -> AnnouncedStates {
    let count = batch.count_by_state();
    match (count.failed, count.rolling_out) {
        (1.., _) => FAILED,
        (0, 1..) => ARRIVING,
        (0, 0) => RUNNING,
    }
}
