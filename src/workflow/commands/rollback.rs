//! `rollback` as people ask for it: by a command, by the button of a card, by a yes to what was shown.

use std::sync::Arc;

use crate::adapters::slack::render::{rollback, status};
use crate::adapters::store::{Shown, Transaction};
use crate::domain::change::plan::{ConflictingChange, Plan};
use crate::domain::change::{Change, ChangeId, Stage};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Version;
use crate::domain::rules::promotion::{ChangeInProgress, Refusal};

use crate::workflow::context::Bot;
use crate::workflow::planning::rollback::{BackDecision, BackTo, BackWish};
use crate::workflow::requests::dispatch::{Asked, stored};
use crate::workflow::requests::inbox::{NotNow, Work};

/// What becomes of a promotion that is being merged when a rollback is asked for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Meeting {
    /// Nobody has been asked.
    Ask,
    Cancel,
    Wait,
}

impl Bot {
    pub(crate) async fn typed_rollback(
        &self,
        asked: Asked<'_>,
        artefact: ArtefactName,
        environment: Option<EnvironmentName>,
        version: Option<Arc<str>>,
        reason: Option<Arc<str>>,
    ) -> Result<Work, NotNow> {
        let Some(environment) = environment else {
            let environments = self.can_go_back_in(&artefact);
            let said = rollback::where_(&artefact, &environments, version.as_deref(), reason.as_deref());
            return Ok(asked.privately(said));
        };
        let by = asked.from.person.clone();
        let to = version.map_or(BackTo::Previous, BackTo::Named);
        let wish = BackWish { by, artefact, environment, to, reason, of: None, automatic: false };
        self.roll_back(asked, &wish).await
    }

    /// The button on the card of a change, or beside its failure.
    pub(crate) async fn clicked_rollback(&self, asked: Asked<'_>, value: &str) -> Result<Work, NotNow> {
        let Some(id) = ChangeId::parse(value) else { return Ok(Work::default()) };
        let Some(change) = self.store.change(id).await.map_err(|error| stored(&error))? else {
            return Ok(asked.privately(status::unknown(&id.to_short_id())));
        };
        let wish = BackWish {
            by: asked.from.person.clone(),
            reason: failure(&change).map(Into::into),
            artefact: change.plan.artefact,
            environment: change.plan.environment,
            to: BackTo::Previous,
            of: Some(id),
            automatic: false,
        };
        self.roll_back(asked, &wish).await
    }

    /// The button on the card of a rollback that ended in an error.
    pub(crate) async fn retry_rollback(&self, asked: Asked<'_>, change: Change) -> Result<Work, NotNow> {
        let newest = self.store.changes_of(&change.change_lock_key(), 1).await.map_err(|error| stored(&error))?;
        let is_newest = newest.first().is_some_and(|newest| newest.id == change.id);
        if !is_newest || !matches!(change.stage, Stage::Errored { .. }) {
            // Something else has happened there since: whoever wants to go back now must see from what.
            let Plan { artefact, environment, version, .. } = change.plan;
            return Ok(asked.refused(&Refusal::NoLongerDeployed { artefact, environment, version, current: None }));
        }
        self.roll_back(asked, &wish_of(asked, &change.plan)).await
    }

    /// The versions that ran well there, to choose from.
    pub(crate) async fn clicked_another(&self, asked: Asked<'_>, value: &str) -> Result<Work, NotNow> {
        let catalogue = &self.config.catalogue;
        let mut parts = value.splitn(3, ':');
        let target = parts.next().and_then(|environment| catalogue.ladder.find(environment));
        let artefact = parts.next().and_then(|artefact| catalogue.find_artefact(artefact));
        let (Some(target), Some(artefact)) = (target, artefact) else { return Ok(Work::default()) };
        let reason = parts.next().filter(|reason| !reason.is_empty());
        match self.other_versions(artefact, target).await {
            Ok(versions) => Ok(asked.privately(rollback::versions(&artefact.name, &target.name, &versions, reason))),
            Err(error) => asked.cannot(&error),
        }
    }

    async fn roll_back(&self, asked: Asked<'_>, wish: &BackWish) -> Result<Work, NotNow> {
        let (plan, errored) = match self.decide_back(wish).await {
            Ok(BackDecision::Planned { plan, errored }) => (*plan, errored),
            Ok(BackDecision::Meets { plan, holder }) => return Ok(self.ask_what_becomes_of(asked, *plan, &holder)),
            Ok(BackDecision::Refused(no)) => return Ok(asked.refused(&no)),
            Err(error) => return asked.cannot(&error),
        };
        if self.asks_before_rollback(&plan) {
            return Ok(self.ask_before_rollback(asked, plan));
        }
        if let Some(errored) = errored {
            let again = self.retry(&errored, plan, &asked.from.person).await;
            return match again {
                Ok((change, transaction)) => Ok(asked.begun(change, transaction, None)),
                Err(error) => asked.cannot(&error),
            };
        }
        match self.confirmed(asked, plan).await {
            Ok(work) => Ok(work),
            Err(error) => asked.cannot(&error),
        }
    }

    /// A promotion is being merged there. Which one it was is kept, so that the choice is for that one alone.
    fn ask_what_becomes_of(&self, asked: Asked<'_>, plan: Plan, holder: &ChangeInProgress) -> Work {
        let mut shown = self.show(plan, &asked.from.person);
        let mut work = asked.privately(rollback::meets(&shown.plan, holder, shown.id));
        shown.plan.supersedes = Some(ConflictingChange {
            id: holder.id,
            requester: holder.requester.clone(),
            version: Version::default(),
            since: holder.since,
            merged: false,
        });
        work.transaction = work.transaction.show(shown);
        work
    }

    fn ask_before_rollback(&self, asked: Asked<'_>, plan: Plan) -> Work {
        let shown = self.show(plan, &asked.from.person);
        let mut work = asked.privately(rollback::question(&shown.plan, shown.id));
        work.transaction = work.transaction.show(shown);
        work
    }

    /// A yes to what was shown: looked at again, for the version that was shown.
    pub(crate) async fn confirmed_rollback(
        &self,
        asked: Asked<'_>,
        shown: &Shown,
        meeting: Meeting,
    ) -> Result<Work, NotNow> {
        let (plan, errored) = match self.decide_back(&wish_of(asked, &shown.plan)).await {
            Ok(BackDecision::Planned { plan, errored }) => (*plan, errored),
            Ok(BackDecision::Meets { plan, holder }) if meeting == Meeting::Ask || met(shown) != Some(holder.id) => {
                return Ok(self.ask_what_becomes_of(asked, *plan, &holder));
            }
            Ok(BackDecision::Meets { plan, holder }) => {
                if meeting == Meeting::Cancel {
                    let cancel = Transaction::new().ask_to_cancel(holder.id, asked.from.person.clone());
                    self.store.commit(cancel).await.map_err(|error| stored(&error))?;
                }
                let why = format!("change {} is being merged", holder.id.to_short_id());
                return Err(NotNow::patiently(why, rollback::gave_up(&plan)));
            }
            Ok(BackDecision::Refused(no)) => return Ok(asked.refused(&no)),
            Err(error) => return asked.cannot(&error),
        };
        // What nobody was asked about is not done by the yes to something else.
        let is_news =
            if meeting == Meeting::Ask { is_news(&plan, &shown.plan) } else { is_news_after(&plan, &shown.plan) };
        if is_news {
            return Ok(self.ask_before_rollback(asked, plan));
        }
        let begun = match errored {
            Some(errored) => self
                .retry(&errored, plan, &asked.from.person)
                .await
                .map(|(change, transaction)| asked.begun(change, transaction, None)),
            None => self.confirmed(asked, plan).await,
        };
        match begun {
            Ok(work) => Ok(work),
            Err(error) => asked.cannot(&error),
        }
    }
}

/// Why a promotion is taken back that did not come to run.
pub(crate) fn failure(change: &Change) -> Option<String> {
    let version = change.plan.version.label();
    match &change.stage {
        Stage::Failed { reason, .. } => Some(format!("{version} failed: {reason}")),
        Stage::Stalled { .. } => Some(format!("{version} did not come to run in time")),
        _ => None,
    }
}

fn wish_of(asked: Asked<'_>, plan: &Plan) -> BackWish {
    let about = plan.rollback.as_ref();
    BackWish {
        by: asked.from.person.clone(),
        artefact: plan.artefact.clone(),
        environment: plan.environment.clone(),
        to: match about {
            Some(about) => BackTo::Shown { version: plan.version.clone(), found: about.found, ran: about.ran },
            None => BackTo::Previous,
        },
        reason: about.and_then(|about| about.reason.as_deref()).map(Into::into),
        of: None,
        automatic: false,
    }
}

/// The promotion that was being merged when somebody was asked what is to become of it.
fn met(shown: &Shown) -> Option<ChangeId> {
    shown.plan.supersedes.as_ref().map(|met| met.id)
}

/// Would something happen that was not shown?
fn is_news(plan: &Plan, shown: &Plan) -> bool {
    // What was pushed since would go as well.
    plan.head != shown.head
        || !is_same_from(plan, shown)
        || plan.supersedes != shown.supersedes
        || is_other_way(plan, shown)
}

/// The same after a promotion that was being merged: that one, and nothing else, may have come or gone meanwhile.
fn is_news_after(plan: &Plan, shown: &Plan) -> bool {
    let met = shown.supersedes.as_ref().map(|met| met.id);
    let brought_by_it = plan.rollback.as_ref().is_some_and(|about| about.of.is_some() && about.of == met);
    let gives_way = plan.supersedes.as_ref().map(|waiting| waiting.id);
    let same = is_same_from(plan, shown) && (plan.head == shown.head || brought_by_it);
    !(same || brought_by_it) || (gives_way.is_some() && gives_way != met) || is_other_way(plan, shown)
}

fn is_same_from(plan: &Plan, shown: &Plan) -> bool {
    match (&plan.from, &shown.from) {
        (Some(now), Some(then)) => now.is_same_as(then),
        (now, then) => now.is_none() && then.is_none(),
    }
}

fn is_other_way(plan: &Plan, shown: &Plan) -> bool {
    let locks = |plan: &Plan| plan.rollback.as_ref().map(|about| about.locks.clone());
    plan.image != shown.image || locks(plan) != locks(shown) || plan.also != shown.also
}
