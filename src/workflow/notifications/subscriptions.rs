//! Tells channels apart from the environment's own how a change goes: a message of its own in each, edited as it moves on,
//! that leads to the card.

use crate::adapters::slack::render::{Said, card};
use crate::adapters::store::Transaction;
use crate::domain::change::subscription::{SubscribedChannel, SubscribedState};
use crate::domain::change::{Change, Stage};
use crate::domain::model::message::{Destination, Message, MessageKey};

use crate::workflow::context::Bot;

impl Bot {
    /// What others are told of a change that was at `before` and has moved on.
    pub(crate) fn tell_others(&self, before: Option<&Stage>, change: &Change) -> Transaction {
        let (was, is) = (before.and_then(SubscribedState::from_stage), SubscribedState::from_stage(&change.stage));
        let mut transaction = Transaction::new();
        for ear in self.ears(change) {
            let key = MessageKey::new(&format!("told:{}:{}", change.id, ear.channel));
            let heard = |state: SubscribedState| ear.states.contains(&state);
            let recovers = was == Some(SubscribedState::Failed) && is == Some(SubscribedState::Deployed);
            let matters = is == Some(SubscribedState::Failed) || recovers;
            if matters && (is.is_some_and(heard) || was.is_some_and(heard)) {
                // An edit wakes nobody: where something was said before, the news is said from its thread.
                let now = self.clock.now().as_microsecond();
                let name = MessageKey::new(&format!("{key}:{now}"));
                let news = other(&ear, name, Some(key.clone()), card::news(change)).with_broadcast();
                transaction = transaction.say_upon(key.clone(), news);
            }
            let told = other(&ear, key.clone(), None, card::told(change)).with_link(Self::card_key(change.id));
            transaction = match is {
                Some(state) if heard(state) => transaction.say(told),
                // What was said there before must not stay wrong.
                _ => transaction.say_upon(key, told),
            };
        }
        transaction
    }

    /// Those who want to hear of what the change moves, each once.
    fn ears(&self, change: &Change) -> Vec<SubscribedChannel> {
        let plan = &change.plan;
        let Some(rung) = self.config.catalogue.ladder.find(plan.environment.as_str()) else { return Vec::new() };
        let moves = std::iter::once(&plan.artefact).chain(plan.also.iter().map(|also| &also.artefact));
        let moves: Vec<_> = moves.cloned().collect();
        self.config.audience.group_subscribed_channels(&moves, rung).into_iter().map(|(ear, _)| ear).collect()
    }
}

fn other(ear: &SubscribedChannel, key: MessageKey, thread: Option<MessageKey>, said: Said) -> Message {
    said.to(Destination::Post { channel: ear.channel.clone(), key, thread, asked: None })
}
