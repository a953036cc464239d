//! A yes or a no in Slack to a change that waits: by whom, and to what they have seen.

use crate::adapters::slack::incoming::Origin;
use crate::adapters::slack::render::{approve, status};
use crate::adapters::store::LedgerKind;
use crate::domain::change::approval::{ApprovalOutcome, ApprovalPlatform, ApprovalState};
use crate::domain::change::{Change, ChangeId, Stage};
use crate::domain::model::actor::Actor;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::rules::promotion::{Refusal, RestrictedAction};
use crate::workflow::changes::begin::ledger_entry;
use crate::workflow::context::Bot;
use crate::workflow::requests::dispatch::{Asked, stored};
use crate::workflow::requests::inbox::{NotNow, Work};

/// A press that does not lead to a decision, with the answer to it.
enum Undecided {
    Answered(Work),
    NotNow(NotNow),
}

impl From<Work> for Undecided {
    fn from(work: Work) -> Self {
        Self::Answered(work)
    }
}

impl From<NotNow> for Undecided {
    fn from(not_now: NotNow) -> Self {
        Self::NotNow(not_now)
    }
}

impl Bot {
    pub(crate) async fn clicked_approve(&self, asked: Asked<'_>, value: &str) -> Result<Work, NotNow> {
        answered(self.approve(asked, value).await)
    }

    async fn approve(&self, asked: Asked<'_>, value: &str) -> Result<Work, Undecided> {
        let person = &asked.from.person;
        let (change, mut awaiting) = self.waiting_change(asked, value).await?;
        // There is nothing to say yes to, whatever the button says; a no needs nothing to look at.
        if change.commit_to_approve().is_none() {
            return Err(asked.linking(approve::changed_since(&change), change.id).into());
        }
        match awaiting.record_approval(person, ApprovalPlatform::Slack, &change.requester, self.clock.now()) {
            ApprovalOutcome::Counted => {}
            ApprovalOutcome::Duplicate => return Err(asked.privately(approve::approved_before()).into()),
            ApprovalOutcome::OwnChange => return Err(asked.privately(approve::own_change()).into()),
        }
        self.may_decide(asked, &change).await?;
        let mut work = self.decided(&change, Stage::AwaitingApproval(awaiting)).await?;
        let entry = ledger_entry(&change, LedgerKind::Approved, Actor::Person(person.clone()), self.clock.now());
        // Whoever said yes on the card sees it there.
        let noted = asked.private(approve::noted(&change)).with_link_if_elsewhere(Self::card_key(change.id));
        work.transaction = work.transaction.ledger(entry).say(noted);
        Ok(work)
    }

    /// Asks for the reason, which only a modal can: the trigger is good for three seconds.
    pub(crate) async fn clicked_reject(&self, asked: Asked<'_>, value: &str) -> Result<Work, NotNow> {
        let ask = async {
            let (change, _) = self.waiting_change(asked, value).await?;
            self.may_decide(asked, &change).await?;
            let modal = approve::reject_modal(&change, value, &asked.from.channel);
            Ok(match self.slack.open_modal(&asked.from.key, &modal).await {
                Ok(()) => Work::default(),
                Err(error) => {
                    tracing::warn!(%error, change.id = %change.id, "the modal for a rejection could not be opened");
                    asked.privately(approve::no_modal(&change))
                }
            })
        };
        answered(ask.await)
    }

    /// A modal of ours comes back.
    pub(crate) async fn submitted(
        &self,
        asked: Asked<'_>,
        modal: &str,
        about: &str,
        text: &str,
    ) -> Result<Work, NotNow> {
        let Some((channel, value)) = approve::modal_about(about).filter(|_| modal == approve::REJECT) else {
            return Ok(Work::default());
        };
        // A modal stands in no channel: the answer goes where its button was.
        let from = Origin { channel: channel.to_owned(), ..asked.from.clone() };
        let asked = Asked { from: &from, ..asked };
        answered(self.reject(asked, value, text).await)
    }

    /// `/gantry reject 0badcafe <reason>`: for what is shown now.
    pub(crate) async fn typed_reject(&self, asked: Asked<'_>, short: &str, reason: &str) -> Result<Work, NotNow> {
        let called = self.store.changes_called(short).await.map_err(|error| stored(&error))?;
        let waits = called.iter().find(|change| change.stage.awaiting().is_some());
        let Some(change) = waits.or(called.first()) else { return Ok(asked.privately(status::unknown(short))) };
        // What is not shown yet can be rejected as well.
        let value = approve::value(change).unwrap_or_else(|| format!("{}:", change.id));
        answered(self.reject(asked, &value, reason).await)
    }

    async fn reject(&self, asked: Asked<'_>, value: &str, reason: &str) -> Result<Work, Undecided> {
        let (change, _) = self.waiting_change(asked, value).await?;
        self.may_decide(asked, &change).await?;
        let reason: String = reason.trim().chars().take(approve::LONGEST_REASON).collect();
        let rejected = change.stage.clone().into_rejected(asked.from.person.clone(), reason, self.clock.now());
        match rejected {
            Ok(stage) => self.decided(&change, stage).await,
            Err(_) => Err(asked.privately(approve::moved_on(&change)).into()),
        }
    }

    /// The change that a button is about, if it still waits and still shows what whoever pressed has seen.
    async fn waiting_change(&self, asked: Asked<'_>, value: &str) -> Result<(Change, ApprovalState), Undecided> {
        let named = value.split_once(':').and_then(|(id, seen)| Some((ChangeId::parse(id)?, seen)));
        let Some((id, seen)) = named else { return Err(Work::default().into()) };
        let Some(change) = self.store.change(id).await.map_err(|error| stored(&error))? else {
            return Err(asked.privately(status::unknown(&id.to_short_id())).into());
        };
        let Stage::AwaitingApproval(awaiting) = change.stage.clone() else {
            return Err(asked.privately(approve::moved_on(&change)).into());
        };
        if change.commit_to_approve().map_or("", |shown| shown.as_str()) != seen {
            return Err(asked.linking(approve::changed_since(&change), change.id).into());
        }
        Ok((change, awaiting))
    }

    async fn may_decide(&self, asked: Asked<'_>, change: &Change) -> Result<(), Undecided> {
        let plan = &change.plan;
        match self.may_approve(&asked.from.person, &plan.environment, &plan.repository).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(asked.refused(&self.may_not_approve(RestrictedAction::Approve, &plan.environment).await).into())
            }
            Err(error) => Err(asked.cannot(&error)?.into()),
        }
    }

    pub(crate) async fn may_not_approve(&self, act: RestrictedAction, environment: &EnvironmentName) -> Refusal {
        let policy = self.config.environments.get(environment).cloned().unwrap_or_default();
        let members = policy.approvals.map_or(policy.promoters, |approvals| approvals.from);
        Refusal::NotPermitted { action: act, environment: environment.clone(), permitted: self.called(&members).await }
    }

    /// Writes a decision, if nobody moved the change meanwhile: else it is asked again, and answered as it is then.
    async fn decided(&self, before: &Change, stage: Stage) -> Result<Work, Undecided> {
        let overtaken = || NotNow::soon("somebody else was faster".to_owned(), approve::moved_on(before));
        let claims = self.store.claim(vec![before.id]).await.map_err(|error| stored(&error))?;
        let Some(claim) = claims.into_iter().next().filter(|claim| claim.change == *before) else {
            return Err(overtaken().into());
        };
        let change = Change { stage, ..claim.change.clone() };
        let transaction = self.advanced(&claim.change, claim.fence, &change, Some(self.clock.now()));
        Ok(Work { transaction, changes: vec![change], refused: None })
    }
}

fn answered(done: Result<Work, Undecided>) -> Result<Work, NotNow> {
    match done {
        Ok(work) | Err(Undecided::Answered(work)) => Ok(work),
        Err(Undecided::NotNow(not_now)) => Err(not_now),
    }
}
