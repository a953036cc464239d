//! Notifies subscribed channels of a change: one message in each, which links to the card and is edited as the change
//! advances.

use crate::adapters::slack::render::{Rendered, card};
use crate::adapters::store::Transaction;
use crate::domain::change::subscription::{SubscribedChannel, SubscribedState};
use crate::domain::change::{Change, Stage};
use crate::domain::model::message::{Destination, Message, MessageKey};

use crate::workflow::context::Context;
use crate::workflow::message_keys;

/// The messages to subscribed channels after a change left the stage `before`.
pub(crate) fn notify_subscribers(ctx: &Context, before: Option<&Stage>, change: &Change) -> Transaction {
    let (old_state, new_state) =
        (before.and_then(SubscribedState::from_stage), SubscribedState::from_stage(&change.stage));
    let mut transaction = Transaction::new();
    for subscriber in subscribed_channels(ctx, change) {
        let key = message_keys::for_subscriber(change.id, &subscriber.channel);
        let is_subscribed = |state: SubscribedState| subscriber.states.contains(&state);
        let is_recovery = old_state == Some(SubscribedState::Failed) && new_state == Some(SubscribedState::Deployed);
        let is_important = new_state == Some(SubscribedState::Failed) || is_recovery;
        if is_important && (new_state.is_some_and(is_subscribed) || old_state.is_some_and(is_subscribed)) {
            // An edit notifies no one, so a channel with a posted message also gets a broadcast reply.
            let now = ctx.clock.now().as_microsecond();
            let reply_key = MessageKey::new(&format!("{key}:{now}"));
            let reply = build_subscriber_message(
                &subscriber,
                reply_key,
                Some(key.clone()),
                card::render_subscriber_update(change),
            )
            .with_broadcast();
            transaction = transaction.enqueue_if_posted(key.clone(), reply);
        }
        let message = build_subscriber_message(&subscriber, key.clone(), None, card::render_subscriber_card(change))
            .with_link(message_keys::for_card(change.id));
        transaction = match new_state {
            Some(state) if is_subscribed(state) => transaction.enqueue_message(message),
            // Without a subscription to the new state, only a posted message is edited, so that it does not stay
            // outdated.
            _ => transaction.enqueue_if_posted(key, message),
        };
    }
    transaction
}

/// The channels that subscribed to any artefact of the change, each once.
fn subscribed_channels(ctx: &Context, change: &Change) -> Vec<SubscribedChannel> {
    let plan = &change.plan;
    let Some(environment) = ctx.config.catalogue.ladder.find(plan.environment.as_str()) else { return Vec::new() };
    let artefacts =
        std::iter::once(&plan.artefact).chain(plan.co_deployed.iter().map(|co_deployed| &co_deployed.artefact));
    let artefacts: Vec<_> = artefacts.cloned().collect();
    ctx.config
        .audience
        .group_subscribed_channels(&artefacts, environment)
        .into_iter()
        .map(|(channel, _)| channel)
        .collect()
}

fn build_subscriber_message(
    subscriber: &SubscribedChannel,
    key: MessageKey,
    thread: Option<MessageKey>,
    rendered: Rendered,
) -> Message {
    rendered.into_message(Destination::Post { channel: subscriber.channel.clone(), key, thread, asked: None })
}
