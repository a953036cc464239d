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

use crate::workflow::context::Context;
use crate::workflow::notifications::outbox::TableSupport;

/// Slack waits for three seconds.
const IMMEDIATE_ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

impl Context {
    pub async fn acknowledge(&self, incoming: Incoming) -> Ack {
        match &incoming {
            Incoming::Ignored => Ack::Silent,
            Incoming::Command { from, text } => self.acknowledge_command(&incoming, from, text).await,
            // Whoever else comes into a channel is none of our business, and there are many.
            Incoming::Joined { from } if self.slack.identity().is_some_and(|me| me.bot != from.person) => Ack::Silent,
            Incoming::Said { from, .. } | Incoming::Opened { from } | Incoming::Joined { from } => {
                self.store_and_acknowledge(Source::SlackEvent, from, &incoming).await
            }
            Incoming::Click { from, .. } | Incoming::Submitted { from, .. } => {
                self.store_and_acknowledge(Source::SlackInteraction, from, &incoming).await
            }
        }
    }

    async fn acknowledge_command(&self, incoming: &Incoming, from: &Origin, text: &str) -> Ack {
        let role = self.people.find_cached_role(from);
        if let Some(role) = role.filter(|role| *role != Role::Member) {
            return build_private_ack(&notice::not_for(role));
        }
        let catalogue = &self.config.catalogue;
        let command = match command::parse(text, catalogue) {
            Ok(Command::Help { about }) => {
                self.metrics.count_command(Some(Verb::Help));
                return build_private_ack(&help::help(about, catalogue));
            }
            Err(misunderstanding) => {
                self.metrics.count_command(None);
                return build_private_ack(&help::misunderstood(&misunderstanding, catalogue));
            }
            Ok(command) => command,
        };
        match command {
            // Whether tables are taken is learned from an answer by `response_url`, where a refusal can be seen.
            Command::List { artefact, environment }
                if role.is_some() && self.table_support.support() != TableSupport::Unknown =>
            {
                self.metrics.count_command(Some(Verb::List));
                let filter = ListFilter { artefact, environment };
                match self.config.slack.list_to {
                    ListTo::Person => Ack::Words(self.render_list(filter, 0, For::Person).ack(false)),
                    ListTo::Channel => {
                        Ack::Words(self.render_list(filter, 0, For::Channel { shared_by: None }).ack(true))
                    }
                }
            }
            command => {
                if role.is_some()
                    && let Some(said) = Box::pin(self.try_immediate_answer(&command)).await
                {
                    self.metrics.count_command(Some(command.verb()));
                    return build_private_ack(&said);
                }
                match self.store_incoming(Source::SlackCommand, from, incoming).await {
                    Ok(()) => build_private_ack(&notice::looking(&command)),
                    Err(_) => build_private_ack(&notice::not_stored()),
                }
            }
        }
    }

    /// What our own database answers, by index and within a few milliseconds, is no worse than memory's answer. If it
    /// takes longer for once, the answer follows.
    async fn try_immediate_answer(&self, command: &Command) -> Option<Said> {
        let told = async {
            match command {
                Command::Status { .. } | Command::History { .. } => self.answer_from_store(command, For::Person).await,
                _ => Ok(None),
            }
        };
        tokio::time::timeout(IMMEDIATE_ANSWER_TIMEOUT, told).await.ok()?.ok()?
    }

    /// In a word of ours: what people write stays out of the log.
    fn describe_for_log<'a>(&self, incoming: &'a Incoming) -> &'a str {
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

    async fn store_and_acknowledge(&self, source: Source, from: &Origin, incoming: &Incoming) -> Ack {
        match self.store_incoming(source, from, incoming).await {
            Ok(()) => Ack::Silent,
            Err(_) => Ack::NotKept,
        }
    }

    async fn store_incoming(&self, source: Source, from: &Origin, incoming: &Incoming) -> Result<(), StoreError> {
        let request = telemetry::request_id(source.as_str(), &from.key);
        let source_name = source.as_str();
        let body = serde_json::to_value(incoming).unwrap_or_default();
        // Boxed, so that an answer from memory does not have to make room for it.
        let received = Box::pin(self.store.receive(source, &from.key, &body)).await;
        match received {
            Ok(Receipt::New(_)) => {
                let (person, what) = (&from.person, self.describe_for_log(incoming));
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

fn build_private_ack(said: &Said) -> Ack {
    Ack::Words(said.ack(false))
}
