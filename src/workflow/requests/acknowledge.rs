//! The acknowledgement of what Slack sends. What memory or our own database knows is the answer itself, and nothing is
//! stored; everything else is stored before it is acknowledged, and nothing here talks to anybody.

use std::time::Duration;

use crate::adapters::slack::incoming::{Incoming, Origin};
use crate::adapters::slack::receive::Ack;
use crate::adapters::slack::render::page_buttons::For;
use crate::adapters::slack::render::{Said, help, notice};
use crate::adapters::store::{Receipt, Source, StoreError};
use crate::config::ListTo;
use crate::domain::command::{self, Command, Verb};
use crate::domain::model::actor::Role;
use crate::domain::view::list::ListFilter;
use crate::telemetry;

use crate::workflow::context::Bot;
use crate::workflow::notifications::outbox::TableSupport;

/// Slack waits for three seconds.
const AT_ONCE: Duration = Duration::from_secs(1);

impl Bot {
    pub async fn answer(&self, incoming: Incoming) -> Ack {
        match &incoming {
            Incoming::Ignored => Ack::Silent,
            Incoming::Command { from, text } => self.answer_command(&incoming, from, text).await,
            // Whoever else comes into a channel is none of our business, and there are many.
            Incoming::Joined { from } if self.slack.identity().is_some_and(|me| me.bot != from.person) => Ack::Silent,
            Incoming::Said { from, .. } | Incoming::Opened { from } | Incoming::Joined { from } => {
                self.keep(Source::SlackEvent, from, &incoming).await
            }
            Incoming::Click { from, .. } | Incoming::Submitted { from, .. } => {
                self.keep(Source::SlackInteraction, from, &incoming).await
            }
        }
    }

    async fn answer_command(&self, incoming: &Incoming, from: &Origin, text: &str) -> Ack {
        let role = self.people.remembered(from);
        if let Some(role) = role.filter(|role| *role != Role::Member) {
            return private(&notice::not_for(role));
        }
        let catalogue = &self.config.catalogue;
        let command = match command::parse(text, catalogue) {
            Ok(Command::Help { about }) => {
                self.measures.answered(Some(Verb::Help));
                return private(&help::help(about, catalogue));
            }
            Err(misunderstanding) => {
                self.measures.answered(None);
                return private(&help::misunderstood(&misunderstanding, catalogue));
            }
            Ok(command) => command,
        };
        match command {
            // Whether tables are taken is learned from an answer by `response_url`, where a refusal can be seen.
            Command::List { artefact, environment }
                if role.is_some() && self.tables.support() != TableSupport::Unknown =>
            {
                self.measures.answered(Some(Verb::List));
                let filter = ListFilter { artefact, environment };
                match self.config.slack.list_to {
                    ListTo::Person => Ack::Words(self.list(filter, 0, For::Person).ack(false)),
                    ListTo::Channel => Ack::Words(self.list(filter, 0, For::Channel { shared_by: None }).ack(true)),
                }
            }
            command => {
                if role.is_some()
                    && let Some(said) = Box::pin(self.told_at_once(&command)).await
                {
                    self.measures.answered(Some(command.verb()));
                    return private(&said);
                }
                match self.store(Source::SlackCommand, from, incoming).await {
                    Ok(()) => private(&notice::looking(&command)),
                    Err(_) => private(&notice::not_stored()),
                }
            }
        }
    }

    /// What our own database answers, by index and within a few milliseconds, is no worse than memory's answer. If it
    /// takes longer for once, the answer follows.
    async fn told_at_once(&self, command: &Command) -> Option<Said> {
        let told = async {
            match command {
                Command::Status { .. } | Command::History { .. } => self.told(command, For::Person).await,
                _ => Ok(None),
            }
        };
        tokio::time::timeout(AT_ONCE, told).await.ok()?.ok()?
    }

    /// In a word of ours: what people write stays out of the log.
    fn what<'a>(&self, incoming: &'a Incoming) -> &'a str {
        match incoming {
            Incoming::Command { text, .. } | Incoming::Said { text, .. } => {
                command::parse(text, &self.config.catalogue).map_or("misunderstood", |command| command.verb().name())
            }
            Incoming::Click { action, .. } => action,
            Incoming::Submitted { modal, .. } => modal,
            Incoming::Opened { .. } => "home",
            Incoming::Joined { .. } => "joined",
            Incoming::Ignored => "nothing",
        }
    }

    async fn keep(&self, source: Source, from: &Origin, incoming: &Incoming) -> Ack {
        match self.store(source, from, incoming).await {
            Ok(()) => Ack::Silent,
            Err(_) => Ack::NotKept,
        }
    }

    async fn store(&self, source: Source, from: &Origin, incoming: &Incoming) -> Result<(), StoreError> {
        let request = telemetry::request_id(source.as_str(), &from.key);
        let source_name = source.as_str();
        let body = serde_json::to_value(incoming).unwrap_or_default();
        // Boxed, so that an answer from memory does not have to make room for it.
        let received = Box::pin(self.store.receive(source, &from.key, &body)).await;
        match received {
            Ok(Receipt::New(_)) => {
                let (person, what) = (&from.person, self.what(incoming));
                tracing::info!(request.id = request, source = source_name, %person, what, "asked");
                Ok(())
            }
            // A replay is acknowledged like the first, and has no effect.
            Ok(Receipt::Replay) => {
                tracing::debug!(request.id = request, source = source_name, "asked before");
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, request.id = request, source = source_name, "a request of Slack's could not be stored");
                Err(error)
            }
        }
    }
}

fn private(said: &Said) -> Ack {
    Ack::Words(said.ack(false))
}
