//! Acknowledges the requests from Slack. If memory or the database has the answer, the acknowledgement contains it.
//! Every other request is stored before it is acknowledged. This file sends no requests to outside systems.

use std::time::Duration;

use crate::adapters::slack::incoming::{IncomingRequest, RequestOrigin};
use crate::adapters::slack::receive::Ack;
use crate::adapters::slack::render::page_buttons::Viewer;
use crate::adapters::slack::render::{Rendered, help, notice};
use crate::adapters::store::{InboxOrigin, Receipt, StoreError};
use crate::config::ListVisibility;
use crate::domain::command::{self, Command, Verb};
use crate::domain::model::actor::Role;
use crate::domain::view::list::ListFilter;
use crate::telemetry;
use crate::workflow::commands::list::answer_list;
use crate::workflow::commands::status::answer_from_store;
use crate::workflow::context::Context;
use crate::workflow::facts::table_support::TableSupport;

/// The limit for an answer inside the acknowledgement. Slack waits three seconds, and the rest is left for storing the
/// request.
const IMMEDIATE_ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

pub async fn acknowledge(ctx: &Context, incoming: IncomingRequest) -> Ack {
    match &incoming {
        IncomingRequest::Ignored => Ack::Empty,
        IncomingRequest::Command { from, text } => acknowledge_command(ctx, &incoming, from, text).await,
        // Only the event that Gantry itself joined a channel matters. People join often, so their events are not
        // stored.
        IncomingRequest::Joined { from }
            if ctx.slack.cached_identity().is_some_and(|identity| identity.bot != from.person) =>
        {
            Ack::Empty
        }
        IncomingRequest::Said { from, .. } | IncomingRequest::Opened { from } | IncomingRequest::Joined { from } => {
            store_and_acknowledge(ctx, InboxOrigin::SlackEvent, from, &incoming).await
        }
        IncomingRequest::Click { from, .. } | IncomingRequest::Submitted { from, .. } => {
            store_and_acknowledge(ctx, InboxOrigin::SlackInteraction, from, &incoming).await
        }
    }
}

async fn acknowledge_command(ctx: &Context, incoming: &IncomingRequest, from: &RequestOrigin, text: &str) -> Ack {
    let role = ctx.people.find_cached_role(from);
    if let Some(role) = role.filter(|role| *role != Role::Member) {
        return build_private_ack(&notice::render_role_refusal(role));
    }
    let catalogue = &ctx.config.catalogue;
    let command = match command::parse(text, catalogue) {
        Ok(Command::Help { about }) => {
            ctx.metrics.count_command(Some(Verb::Help));
            return build_private_ack(&help::render_help(about, catalogue));
        }
        Err(misunderstanding) => {
            ctx.metrics.count_command(None);
            return build_private_ack(&help::render_misunderstanding(&misunderstanding, catalogue));
        }
        Ok(command) => command,
    };
    match command {
        // Slack's support for tables is learned from an answer by `response_url`, where a refusal is visible.
        Command::List { artefact, environment }
            if role.is_some() && ctx.table_support.support() != TableSupport::Unknown =>
        {
            ctx.metrics.count_command(Some(Verb::List));
            let filter = ListFilter { artefact, environment };
            match ctx.config.slack.list_to {
                ListVisibility::Person => Ack::Body(answer_list(ctx, filter, 0, Viewer::Person).to_ack_body(false)),
                ListVisibility::Channel => {
                    Ack::Body(answer_list(ctx, filter, 0, Viewer::Channel { shared_by: None }).to_ack_body(true))
                }
            }
        }
        command => {
            if role.is_some()
                && let Some(answer) = try_immediate_answer(ctx, &command).await
            {
                ctx.metrics.count_command(Some(command.verb()));
                return build_private_ack(&answer);
            }
            match store_incoming(ctx, InboxOrigin::SlackCommand, from, incoming).await {
                Ok(()) => build_private_ack(&notice::render_acknowledgement(&command)),
                Err(_) => build_private_ack(&notice::render_not_stored()),
            }
        }
    }
}

/// The answer to `status` or `history`. Their queries use indexes and take a few milliseconds. After the timeout the
/// request is stored instead, and the answer follows.
async fn try_immediate_answer(ctx: &Context, command: &Command) -> Option<Rendered> {
    let answer = async {
        match command {
            Command::Status { .. } | Command::History { .. } => answer_from_store(ctx, command, Viewer::Person).await,
            _ => Ok(None),
        }
    };
    tokio::time::timeout(IMMEDIATE_ANSWER_TIMEOUT, answer).await.ok()?.ok()?
}

/// A fixed name of the request, so that text from people stays out of the log.
fn describe_for_log<'a>(ctx: &Context, incoming: &'a IncomingRequest) -> &'a str {
    match incoming {
        IncomingRequest::Command { text, .. } | IncomingRequest::Said { text, .. } => {
            command::parse(text, &ctx.config.catalogue).map_or("misunderstood", |command| command.verb().name())
        }
        IncomingRequest::Click { action, .. } => action,
        IncomingRequest::Submitted { modal, .. } => modal,
        IncomingRequest::Opened { .. } => "home",
        IncomingRequest::Joined { .. } => "joined",
        IncomingRequest::Ignored => "nothing",
    }
}

async fn store_and_acknowledge(
    ctx: &Context,
    source: InboxOrigin,
    from: &RequestOrigin,
    incoming: &IncomingRequest,
) -> Ack {
    match store_incoming(ctx, source, from, incoming).await {
        Ok(()) => Ack::Empty,
        Err(_) => Ack::NotStored,
    }
}

async fn store_incoming(
    ctx: &Context,
    source: InboxOrigin,
    from: &RequestOrigin,
    incoming: &IncomingRequest,
) -> Result<(), StoreError> {
    let request = telemetry::derive_request_id(source.as_str(), &from.key);
    let source_name = source.as_str();
    let body = serde_json::to_value(incoming).unwrap_or_default();
    let received = ctx.store.receive_inbox_item(source, &from.key, &body).await;
    match received {
        Ok(Receipt::New(_)) => {
            let (person, kind) = (&from.person, describe_for_log(ctx, incoming));
            tracing::info!(request.id = request, source = source_name, %person, what = kind, "request stored");
            Ok(())
        }
        // A replay is acknowledged like the first request, and has no effect.
        Ok(Receipt::Replay) => {
            tracing::debug!(request.id = request, source = source_name, "request was already stored");
            Ok(())
        }
        Err(error) => {
            tracing::error!(%error, request.id = request, source = source_name, "a request from Slack could not be stored");
            Err(error)
        }
    }
}

fn build_private_ack(answer: &Rendered) -> Ack {
    Ack::Body(answer.to_ack_body(false))
}
