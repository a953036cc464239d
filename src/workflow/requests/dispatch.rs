//! Answers what people asked for by command, mention or button, when it is its turn in the inbox.

use crate::workflow::requests::reply::Request;

use crate::adapters::slack::incoming::IncomingRequest;
use crate::adapters::slack::render::page_buttons::{PageAction, Viewer};
use crate::adapters::slack::render::{
    approve, arrival, card, command_button as typed, help, lock, notice, plan, promote_button, rollback,
};
use crate::adapters::store::InboxItem;
use crate::config::ListVisibility;
use crate::domain::change::ChangeId;
use crate::domain::command::{self, Command};
use crate::domain::model::actor::Role;
use crate::domain::view::list::ListFilter;

use crate::workflow::commands::diff::DiffRequest;
use crate::workflow::commands::rollback::OnConflict;
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::planning::promotion::{PromotionRequest, VersionSelector};
use crate::workflow::requests::reply::Response;

impl Context {
    pub(crate) async fn dispatch_incoming(
        &self,
        received: &InboxItem,
        incoming: IncomingRequest,
    ) -> Result<Response, RetryLater> {
        let from = match &incoming {
            IncomingRequest::Ignored => return Ok(Response::default()),
            IncomingRequest::Joined { from } => return self.welcome_channel(from).await,
            IncomingRequest::Opened { from }
            | IncomingRequest::Command { from, .. }
            | IncomingRequest::Said { from, .. }
            | IncomingRequest::Click { from, .. }
            | IncomingRequest::Submitted { from, .. } => from,
        };
        let unknown =
            |error: &dyn std::fmt::Display| RetryLater::with_backoff(error.to_string(), notice::render_role_unknown());
        let role = self.people.resolve_requester_role(from).await.map_err(|error| unknown(&error))?;
        if role == Role::Bot {
            return Ok(Response::default());
        }
        let request = Request { from, received, replaces_message: false };
        match &incoming {
            IncomingRequest::Opened { .. } => self.show_home(&from.person, role).await,
            _ if role != Role::Member => Ok(request.reply_private(notice::render_role_refusal(role))),
            IncomingRequest::Command { text, .. } => self.run_command(request, text, false).await,
            IncomingRequest::Said { text, .. } => self.run_command(request, text, true).await,
            IncomingRequest::Click { action, value, .. } => Box::pin(self.handle_click(request, action, value)).await,
            IncomingRequest::Submitted { modal, about, text, .. } => {
                self.handle_modal_submission(request, modal, about, text).await
            }
            IncomingRequest::Joined { .. } | IncomingRequest::Ignored => Ok(Response::default()),
        }
    }

    async fn run_command(&self, request: Request<'_>, text: &str, is_mention: bool) -> Result<Response, RetryLater> {
        let catalogue = &self.config.catalogue;
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
                if in_thread || self.config.slack.list_to == ListVisibility::Channel {
                    request.reply_public(self.render_list(filter, 0, Viewer::Channel { shared_by: None }))
                } else {
                    request.reply_private(self.render_list(filter, 0, Viewer::Person))
                }
            }
            Command::Status { .. } | Command::History { .. } => {
                let whom = if in_thread { Viewer::Channel { shared_by: None } } else { Viewer::Person };
                match self
                    .answer_from_store(&command, whom)
                    .await
                    .map_err(|error| RetryLater::from_store_error(&error))?
                {
                    Some(answer) if in_thread => request.reply_public(answer),
                    Some(answer) => request.reply_private(answer),
                    None => Response::default(),
                }
            }
            Command::Promote { artefact, environment, version, dry_run, overriding } => {
                let what = version.map_or(VersionSelector::RunningBelow, VersionSelector::Named);
                let by = request.from.person.clone();
                return self
                    .promote(
                        request,
                        &PromotionRequest {
                            requester: by,
                            artefact,
                            environment,
                            selector: what,
                            override_reason: overriding,
                        },
                        dry_run,
                    )
                    .await;
            }
            Command::Cancel { change } => return self.cancel_change(request, &change).await,
            Command::Lock { environment, artefact, length, reason } => {
                return self
                    .lock_environment(request.from, environment, artefact, length, &reason)
                    .await
                    .map(|it| request.reply_with_transaction(it));
            }
            Command::Unlock { environment, artefact } => {
                return self
                    .unlock_environment(request.from, &environment, artefact.as_ref())
                    .await
                    .map(|it| request.reply_with_transaction(it));
            }
            Command::Locks { environment } => {
                return self.list_locks(environment.as_ref()).await.map(|it| request.reply_with_transaction(it));
            }
            Command::Doctor => request.reply_private(Box::pin(self.run_doctor()).await),
            Command::Reject { change, reason } => return self.handle_reject_command(request, &change, &reason).await,
            Command::Rollback { artefact, environment, version, reason } => {
                return self.handle_rollback_command(request, artefact, environment, version, reason).await;
            }
            Command::Release { artefact, version } => {
                return self.release_quarantine(request, &artefact, &version).await;
            }
            Command::Diff { source, target, artefact, code } => {
                return Box::pin(self.answer_diff(
                    request,
                    DiffRequest { source, target, artefact, includes_code: code },
                    in_thread,
                ))
                .await;
            }
            Command::Where { what, artefact } => {
                return Box::pin(self.answer_where_is(request, in_thread, &what, artefact.as_ref())).await;
            }
            Command::Why { artefact, environment } => {
                return self.answer_why(request, artefact, environment, in_thread).await;
            }
        })
    }

    async fn handle_click(&self, request: Request<'_>, action: &str, value: &str) -> Result<Response, RetryLater> {
        match action {
            plan::CONFIRM => self.handle_plan_decision(request, value, Some(OnConflict::Ask)).await,
            plan::CANCEL => self.handle_plan_decision(request, value, None).await,
            rollback::CANCEL_AND_ROLL_BACK => self.handle_plan_decision(request, value, Some(OnConflict::Cancel)).await,
            rollback::WAIT_AND_ROLL_BACK => self.handle_plan_decision(request, value, Some(OnConflict::Wait)).await,
            rollback::ROLL_BACK => self.handle_rollback_click(request, value).await,
            rollback::OTHER_VERSION => self.show_other_versions(request, value).await,
            card::CANCEL => match ChangeId::parse(value) {
                Some(id) => self.cancel_change(request, &id.to_short_id()).await,
                None => Ok(Response::default()),
            },
            card::RETRY => self.handle_retry_click(request, value).await,
            approve::APPROVE => self.handle_approve_click(request, value).await,
            approve::REJECT => self.open_reject_modal(request, value).await,
            arrival::PROMOTE => self.promote_arrival(request, value).await,
            promote_button::PROMOTE => self.promote_shown_version(request, value).await,
            typed::COMMAND => self.handle_command_click(request, value).await,
            lock::TAKE_OVER => Ok(self
                .take_over_lock(request.from, value)
                .await?
                .map(|it| request.reply_with_transaction(it))
                .unwrap_or_default()),
            _ => match PageAction::parse(action, value) {
                Some(turn) => self.turn_page(request, turn).await,
                None => Ok(Response::default()),
            },
        }
    }

    /// The button that carries a command, as if it was typed: it can do no more than that.
    async fn handle_command_click(&self, request: Request<'_>, text: &str) -> Result<Response, RetryLater> {
        // What others see as well does not give way to what is for one person.
        let instead = Request { replaces_message: request.from.private, ..request };
        match command::parse(text, &self.config.catalogue) {
            Ok(Command::Rollback { artefact, environment, version, reason }) => {
                self.handle_rollback_command(instead, artefact, environment, version, reason).await
            }
            Ok(Command::Release { artefact, version }) => self.release_quarantine(request, &artefact, &version).await,
            Ok(Command::Where { what, artefact }) => {
                Box::pin(self.answer_where_is(instead, !request.from.private, &what, artefact.as_ref())).await
            }
            Ok(Command::Diff { source, target, artefact, code }) => {
                let openly = !request.from.private;
                Box::pin(self.answer_diff(
                    instead,
                    DiffRequest { source, target, artefact, includes_code: code },
                    openly,
                ))
                .await
            }
            Ok(Command::Why { artefact, environment }) => {
                let request = Request { replaces_message: true, ..request };
                self.answer_why(request, artefact, environment, !request.from.private).await
            }
            // The quick actions of the App Home.
            Ok(Command::List { artefact, environment }) => {
                Ok(instead.reply_private(self.render_list(ListFilter { artefact, environment }, 0, Viewer::Person)))
            }
            Ok(Command::Status { .. } | Command::History { .. } | Command::Locks { .. } | Command::Help { .. }) => {
                self.run_command(instead, text, false).await
            }
            _ => Ok(Response::default()),
        }
    }
}
