//! Answers what people asked for by command, mention or button, when it is its turn in the inbox.

use crate::workflow::requests::reply::Request;
use jiff::Timestamp;

use crate::adapters::slack::incoming::IncomingRequest;
use crate::adapters::slack::render::page_buttons::{PageAction, Viewer};
use crate::adapters::slack::render::{
    approve, arrival, card, command_button as typed, help, lock, notice, plan, promote_button, rollback, status,
};
use crate::adapters::store::{InboxItem, LedgerKind, Transaction};
use crate::config::ListVisibility;
use crate::domain::change::ChangeId;
use crate::domain::change::plan::Plan;
use crate::domain::command::{self, Command};
use crate::domain::model::actor::Role;
use crate::domain::model::artefact::{ArtefactName, Delivery};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::rules::promotion::RestrictedAction;
use crate::domain::rules::rollback::ImagePresence;
use crate::domain::view::list::ListFilter;

use crate::workflow::commands::diff::DiffRequest;
use crate::workflow::commands::rollback::OnConflict;
use crate::workflow::context::Context;
use crate::workflow::error::LookupError;
use crate::workflow::error::RetryLater;
use crate::workflow::planning::promotion::{PromotionDecision, PromotionRequest, VersionSelector};
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

    async fn promote(
        &self,
        request: Request<'_>,
        wish: &PromotionRequest,
        dry_run: bool,
    ) -> Result<Response, RetryLater> {
        let (plan, others, errored) = match Box::pin(self.decide_promotion(wish)).await {
            Ok(PromotionDecision::Planned { plan, other_environments: others, errored_change: errored }) => {
                (*plan, others, errored)
            }
            Ok(PromotionDecision::Refused(no)) => return Ok(request.reply_refusal(&no)),
            Err(error) => return request.reply_lookup_error(&error),
        };
        let others = others.as_deref();
        if dry_run {
            return Ok(request.reply_private(plan::render_dry_run(&plan, others.unwrap_or_default())));
        }
        let unsure = plan.manifest.is_some() && plan.image != ImagePresence::Yes;
        if let Some(errored) = errored.filter(|_| !unsure && plan.holds_to_lift.is_empty()) {
            let again = self.retry_change(&errored, plan, &request.from.person).await;
            let (change, transaction) = match again {
                Ok(again) => again,
                Err(error) => return request.reply_lookup_error(&error),
            };
            return Ok(request.reply_change_begun(change, transaction, others));
        }
        let asks = !plan.also.is_empty()
            || plan.overridden.is_some()
            || plan.supersedes.is_some()
            || !plan.holds_to_lift.is_empty()
            || unsure;
        if asks || self.needs_approval_stage(&plan) {
            return Ok(self.show_plan(request, plan, others.unwrap_or_default()));
        }
        let (change, transaction) = self.begin_change(plan, &request.from.person, &request.from.channel).await;
        Ok(request.reply_change_begun(change, transaction, others))
    }

    /// Shows a plan, which becomes a change only by a yes.
    fn show_plan(&self, request: Request<'_>, plan: Plan, others: &[EnvironmentName]) -> Response {
        let shown = self.build_shown_plan(plan, &request.from.person);
        let mut work = request.reply_private(plan::render_confirmation(&shown.plan, shown.id, others));
        work.transaction = work.transaction.insert_plan(shown);
        work
    }

    /// A plan that was shown is confirmed or, without a `yes`, dropped: checked again, for the commit that was shown.
    async fn handle_plan_decision(
        &self,
        request: Request<'_>,
        value: &str,
        yes: Option<OnConflict>,
    ) -> Result<Response, RetryLater> {
        let request = Request { replaces_message: true, ..request };
        let shown = match ChangeId::parse(value) {
            Some(id) => self.store.find_shown_plan(id).await.map_err(|error| RetryLater::from_store_error(&error))?,
            None => None,
        };
        let Some(shown) = shown.filter(|shown| self.is_plan_valid(shown)) else {
            return Ok(request.reply_private(status::render_plan_expired()));
        };
        if shown.person != request.from.person {
            return Ok(Request { replaces_message: false, ..request }.reply_private(status::render_not_your_plan()));
        }
        let used = Transaction::new().use_plan(shown.id);
        let Some(meeting) = yes else {
            let mut work = request.reply_private(status::render_plan_discarded());
            work.transaction = used.append(work.transaction);
            return Ok(work);
        };
        if shown.plan.rollback.is_some() {
            let mut work = self.confirm_rollback(request, &shown, meeting).await?;
            work.transaction = used.append(work.transaction);
            return Ok(work);
        }
        let wish = PromotionRequest {
            requester: request.from.person.clone(),
            artefact: shown.plan.artefact.clone(),
            environment: Some(shown.plan.environment.clone()),
            selector: VersionSelector::from_plan(&shown.plan),
            override_reason: shown.plan.overridden.as_ref().map(|overridden| overridden.reason.as_str().into()),
        };
        let mut work = match Box::pin(self.decide_promotion(&wish)).await {
            // What nobody was asked about is not done by the yes to something else.
            Ok(PromotionDecision::Planned { plan, .. })
                if plan.supersedes != shown.plan.supersedes
                    || plan.overridden != shown.plan.overridden
                    || plan.holds_to_lift != shown.plan.holds_to_lift
                    || plan.image != shown.plan.image
                    || (plan.manifest.is_some() && !plan.version.is_same_image(&shown.plan.version)) =>
            {
                self.show_plan(request, *plan, &[])
            }
            Ok(PromotionDecision::Planned { plan, .. }) => match self.begin_confirmed_plan(request, *plan).await {
                Ok(work) => work,
                Err(error) => request.reply_lookup_error(&error)?,
            },
            Ok(PromotionDecision::Refused(no)) => request.reply_refusal(&no),
            Err(error) => request.reply_lookup_error(&error)?,
        };
        work.transaction = used.append(work.transaction);
        Ok(work)
    }

    pub(crate) async fn begin_confirmed_plan(&self, request: Request<'_>, plan: Plan) -> Result<Response, LookupError> {
        let supersedes = plan.supersedes.clone();
        let (change, transaction) = self.begin_change(plan, &request.from.person, &request.from.channel).await;
        let Some(waiting) = supersedes else { return Ok(request.reply_change_begun(change, transaction, None)) };
        let (before, gives_way) = self.supersede_change(&waiting, change.id).await?;
        // It lets go of the lock before the new one takes it.
        let mut work = request.reply_change_begun(change, gives_way.append(transaction), None);
        work.changes.insert(0, before);
        Ok(work)
    }

    /// The button on the card of a change that ended in an error.
    async fn handle_retry_click(&self, request: Request<'_>, value: &str) -> Result<Response, RetryLater> {
        let Some(id) = ChangeId::parse(value) else { return Ok(Response::default()) };
        let Some(change) = self.store.find_change(id).await.map_err(|error| RetryLater::from_store_error(&error))?
        else {
            return Ok(request.reply_private(status::render_unknown_change(&id.to_short_id())));
        };
        if change.plan.rollback.is_some() {
            return self.retry_rollback(request, change).await;
        }
        let wish = PromotionRequest {
            requester: request.from.person.clone(),
            selector: VersionSelector::from_plan(&change.plan),
            artefact: change.plan.artefact,
            environment: Some(change.plan.environment),
            override_reason: None,
        };
        self.promote(request, &wish, false).await
    }

    /// The button on the message of an arrival: exactly what arrived there, to the next rung.
    async fn promote_arrival(&self, request: Request<'_>, value: &str) -> Result<Response, RetryLater> {
        let Some((artefact, environment, seen_at)) = self.parse_arrival_key(value) else {
            return Ok(Response::default());
        };
        let catalogue = &self.config.catalogue;
        let above = catalogue
            .find_artefact(artefact.as_str())
            .and_then(|it| catalogue.ladder.find_next_above(&environment, it));
        let Some(above) = above else { return Ok(Response::default()) };
        let by = request.from.person.clone();
        let wish = PromotionRequest {
            requester: by,
            artefact,
            environment: Some(above.name.clone()),
            selector: VersionSelector::Sighting(seen_at),
            override_reason: None,
        };
        self.promote(request, &wish, false).await
    }

    /// The button beside what was shown: exactly that, be it by now in the past.
    async fn promote_shown_version(&self, request: Request<'_>, value: &str) -> Result<Response, RetryLater> {
        let Some((artefact, environment, version)) = promote_button::decode_value(value) else {
            return Ok(Response::default());
        };
        let catalogue = &self.config.catalogue;
        let Some(known) = catalogue.find_artefact(artefact.as_str()) else { return Ok(Response::default()) };
        if catalogue.ladder.find(environment.as_str()).is_none() {
            return Ok(Response::default());
        }
        let what = match (&known.delivery, &version.commit) {
            (Delivery::Branch, Some(commit)) => VersionSelector::Commit(commit.clone()),
            _ => VersionSelector::Image(version),
        };
        let by = request.from.person.clone();
        let wish = PromotionRequest {
            requester: by,
            artefact: known.name.clone(),
            environment: Some(environment),
            selector: what,
            override_reason: None,
        };
        self.promote(Request { replaces_message: request.from.private, ..request }, &wish, false).await
    }

    async fn cancel_change(&self, request: Request<'_>, short: &str) -> Result<Response, RetryLater> {
        let called =
            self.store.find_changes_by_short(short).await.map_err(|error| RetryLater::from_store_error(&error))?;
        // Of two with the same digits, the one that can be cancelled is meant.
        let unmerged = called.iter().find(|change| change.stage.can_cancel());
        let Some(change) = unmerged.or(called.first()) else {
            return Ok(request.reply_private(status::render_unknown_change(short)));
        };
        if unmerged.is_none() {
            return Ok(request.reply_private(status::render_too_late(change)));
        }
        let person = &request.from.person;
        let plan = &change.plan;
        if *person != change.requester {
            match self.may_approve(person, &plan.environment, &plan.repository).await {
                Ok(true) => {}
                Ok(false) => {
                    return Ok(request.reply_refusal(
                        &self.build_approval_refusal(RestrictedAction::Cancel, &plan.environment).await,
                    ));
                }
                Err(error) => return request.reply_lookup_error(&error),
            }
        }
        let mut work = request.reply_with_card_link(status::render_cancel_requested(change), change.id);
        work.transaction = work
            .transaction
            .request_cancel(change.id, person.clone())
            .append_to_ledger(self.build_entry_by_person(change, LedgerKind::CancelAsked, person));
        Ok(work)
    }

    /// What the name of an arrival's message says that it is about.
    fn parse_arrival_key(&self, key: &str) -> Option<(ArtefactName, EnvironmentName, Timestamp)> {
        let mut parts = key.strip_prefix("arrival:")?.split(':');
        let environment = self.config.catalogue.ladder.find(parts.next()?)?.name.clone();
        let artefact = self.config.catalogue.find_artefact(parts.next()?)?.name.clone();
        let seen_at = Timestamp::from_microsecond(parts.next()?.parse().ok()?).ok()?;
        Some((artefact, environment, seen_at))
    }
}
