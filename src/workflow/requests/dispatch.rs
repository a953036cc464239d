//! Maps each stored command, mention, click and event to the command that answers it.

use crate::adapters::slack::incoming::IncomingRequest;
use crate::adapters::slack::render::page_buttons::{PageAction, Viewer};
use crate::adapters::slack::render::{
    approve, arrival, card, command_button, help, lock, notice, plan, promote_button, rollback,
};
use crate::adapters::store::InboxItem;
use crate::config::ListVisibility;
use crate::domain::command::{self, Command};
use crate::domain::model::actor::Role;
use crate::domain::model::ids::ChangeId;
use crate::domain::view::list::ListFilter;
use crate::workflow::commands::approve::{
    handle_approve_click, handle_modal_submission, handle_reject_command, open_reject_modal,
};
use crate::workflow::commands::cancel::cancel_change;
use crate::workflow::commands::confirm::{OnConflict, handle_plan_decision};
use crate::workflow::commands::diff::{DiffRequest, answer_diff};
use crate::workflow::commands::doctor::run_doctor;
use crate::workflow::commands::home::show_home;
use crate::workflow::commands::list::answer_list;
use crate::workflow::commands::lock::{list_locks, lock_environment, take_over_lock, unlock_environment};
use crate::workflow::commands::promote::{handle_promote_command, promote_arrival, promote_shown_version};
use crate::workflow::commands::release::release_quarantine;
use crate::workflow::commands::retry::handle_retry_click;
use crate::workflow::commands::rollback::{handle_rollback_click, handle_rollback_command, show_other_versions};
use crate::workflow::commands::status::answer_from_store;
use crate::workflow::commands::turn_page::turn_page;
use crate::workflow::commands::welcome::welcome_channel;
use crate::workflow::commands::where_is::answer_where_is;
use crate::workflow::commands::why::answer_why;
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::requests::reply::{Request, Response};

pub(crate) async fn dispatch_incoming(
    ctx: &Context,
    received: &InboxItem,
    incoming: IncomingRequest,
) -> Result<Response, RetryLater> {
    let from = match &incoming {
        IncomingRequest::Ignored => return Ok(Response::default()),
        IncomingRequest::Joined { from } => return welcome_channel(ctx, from).await,
        IncomingRequest::Opened { from }
        | IncomingRequest::Command { from, .. }
        | IncomingRequest::Said { from, .. }
        | IncomingRequest::Click { from, .. }
        | IncomingRequest::Submitted { from, .. } => from,
    };
    let role_unknown =
        |error: &dyn std::fmt::Display| RetryLater::with_backoff(error.to_string(), notice::render_role_unknown());
    let role = ctx.people.resolve_requester_role(from).await.map_err(|error| role_unknown(&error))?;
    if role == Role::Bot {
        return Ok(Response::default());
    }
    let request = Request { from, received, replaces_message: false };
    match &incoming {
        IncomingRequest::Opened { .. } => show_home(ctx, &from.person, role).await,
        _ if role != Role::Member => Ok(request.reply_private(notice::render_role_refusal(role))),
        IncomingRequest::Command { text, .. } => run_command(ctx, request, text, false).await,
        IncomingRequest::Said { text, .. } => run_command(ctx, request, text, true).await,
        IncomingRequest::Click { action, value, .. } => Box::pin(handle_click(ctx, request, action, value)).await,
        IncomingRequest::Submitted { modal, about, text, .. } => {
            handle_modal_submission(ctx, request, modal, about, text).await
        }
        IncomingRequest::Joined { .. } | IncomingRequest::Ignored => Ok(Response::default()),
    }
}

async fn run_command(
    ctx: &Context,
    request: Request<'_>,
    text: &str,
    is_mention: bool,
) -> Result<Response, RetryLater> {
    let catalogue = &ctx.config.catalogue;
    let command = match command::parse(text, catalogue) {
        Ok(command) => command,
        Err(misunderstanding) => {
            return Ok(request.reply_private(help::render_misunderstanding(&misunderstanding, catalogue)));
        }
    };
    let in_thread = is_mention && request.from.thread.is_some();
    Ok(match command {
        Command::Help { about } => request.reply_private(help::render_help(about, catalogue)),
        Command::List { artefact, environment } => {
            let filter = ListFilter { artefact, environment };
            if in_thread || ctx.config.slack.list_to == ListVisibility::Channel {
                request.reply_public(answer_list(ctx, filter, 0, Viewer::Channel { shared_by: None }))
            } else {
                request.reply_private(answer_list(ctx, filter, 0, Viewer::Person))
            }
        }
        Command::Status { .. } | Command::History { .. } => {
            let viewer = if in_thread { Viewer::Channel { shared_by: None } } else { Viewer::Person };
            match answer_from_store(ctx, &command, viewer)
                .await
                .map_err(|error| RetryLater::from_store_error(&error))?
            {
                Some(answer) if in_thread => request.reply_public(answer),
                Some(answer) => request.reply_private(answer),
                None => Response::default(),
            }
        }
        Command::Promote { artefact, environment, version, dry_run, overriding } => {
            return handle_promote_command(ctx, request, artefact, environment, version, overriding, dry_run).await;
        }
        Command::Cancel { change } => return cancel_change(ctx, request, &change).await,
        Command::Lock { environment, artefact, length, reason } => {
            return lock_environment(ctx, request.from, environment, artefact, length, &reason)
                .await
                .map(|it| request.reply_with_transaction(it));
        }
        Command::Unlock { environment, artefact } => {
            return unlock_environment(ctx, request.from, &environment, artefact.as_ref())
                .await
                .map(|it| request.reply_with_transaction(it));
        }
        Command::Locks { environment } => {
            return list_locks(ctx, environment.as_ref()).await.map(|it| request.reply_with_transaction(it));
        }
        Command::Doctor => request.reply_private(Box::pin(run_doctor(ctx)).await),
        Command::Reject { change, reason } => return handle_reject_command(ctx, request, &change, &reason).await,
        Command::Rollback { artefact, environment, version, reason } => {
            return handle_rollback_command(ctx, request, artefact, environment, version, reason).await;
        }
        Command::Release { artefact, version } => {
            return release_quarantine(ctx, request, &artefact, &version).await;
        }
        Command::Diff { source, target, artefact, code } => {
            return Box::pin(answer_diff(
                ctx,
                request,
                DiffRequest { source, target, artefact, includes_code: code },
                in_thread,
            ))
            .await;
        }
        Command::Where { what, artefact } => {
            return Box::pin(answer_where_is(ctx, request, in_thread, &what, artefact.as_ref())).await;
        }
        Command::Why { artefact, environment } => {
            return answer_why(ctx, request, artefact, environment, in_thread).await;
        }
    })
}

async fn handle_click(ctx: &Context, request: Request<'_>, action: &str, value: &str) -> Result<Response, RetryLater> {
    match action {
        plan::CONFIRM => handle_plan_decision(ctx, request, value, Some(OnConflict::Ask)).await,
        plan::CANCEL => handle_plan_decision(ctx, request, value, None).await,
        rollback::CANCEL_AND_ROLL_BACK => handle_plan_decision(ctx, request, value, Some(OnConflict::Cancel)).await,
        rollback::WAIT_AND_ROLL_BACK => handle_plan_decision(ctx, request, value, Some(OnConflict::Wait)).await,
        rollback::ROLL_BACK => handle_rollback_click(ctx, request, value).await,
        rollback::OTHER_VERSION => show_other_versions(ctx, request, value).await,
        card::CANCEL => match ChangeId::parse(value) {
            Some(id) => cancel_change(ctx, request, &id.to_short_id()).await,
            None => Ok(Response::default()),
        },
        card::RETRY => handle_retry_click(ctx, request, value).await,
        approve::APPROVE => handle_approve_click(ctx, request, value).await,
        approve::REJECT => open_reject_modal(ctx, request, value).await,
        arrival::PROMOTE => promote_arrival(ctx, request, value).await,
        promote_button::PROMOTE => promote_shown_version(ctx, request, value).await,
        command_button::COMMAND => handle_command_click(ctx, request, value).await,
        lock::TAKE_OVER => Ok(take_over_lock(ctx, request.from, value)
            .await?
            .map(|it| request.reply_with_transaction(it))
            .unwrap_or_default()),
        _ => match PageAction::parse(action, value) {
            Some(turn) => turn_page(ctx, request, turn).await,
            None => Ok(Response::default()),
        },
    }
}

/// Runs the command that a button carries. A click allows no more than typing the command does.
async fn handle_command_click(ctx: &Context, request: Request<'_>, text: &str) -> Result<Response, RetryLater> {
    // A private answer must not replace a message that other people see.
    let replacing = Request { replaces_message: request.from.private, ..request };
    match command::parse(text, &ctx.config.catalogue) {
        Ok(Command::Rollback { artefact, environment, version, reason }) => {
            handle_rollback_command(ctx, replacing, artefact, environment, version, reason).await
        }
        Ok(Command::Release { artefact, version }) => release_quarantine(ctx, request, &artefact, &version).await,
        Ok(Command::Where { what, artefact }) => {
            Box::pin(answer_where_is(ctx, replacing, !request.from.private, &what, artefact.as_ref())).await
        }
        Ok(Command::Diff { source, target, artefact, code }) => {
            let is_public = !request.from.private;
            Box::pin(answer_diff(
                ctx,
                replacing,
                DiffRequest { source, target, artefact, includes_code: code },
                is_public,
            ))
            .await
        }
        Ok(Command::Why { artefact, environment }) => {
            let request = Request { replaces_message: true, ..request };
            answer_why(ctx, request, artefact, environment, !request.from.private).await
        }
        // The quick actions of the App Home.
        Ok(Command::List { artefact, environment }) => {
            Ok(replacing.reply_private(answer_list(ctx, ListFilter { artefact, environment }, 0, Viewer::Person)))
        }
        Ok(Command::Status { .. } | Command::History { .. } | Command::Locks { .. } | Command::Help { .. }) => {
            run_command(ctx, replacing, text, false).await
        }
        _ => Ok(Response::default()),
    }
}
