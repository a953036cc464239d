//! The beginning of a change, whatever it does: its row, which is the lock, its card, and what the ledger keeps; the plan that is
//! shown before, and the same change taken up again or giving way.

use crate::adapters::slack::render;
use crate::adapters::store::{LedgerDetails, LedgerEntry, LedgerKind, ShownPlan, Transaction};
use crate::domain::change::plan::{ConflictingChange, PLAN_VALIDITY, Plan};
use crate::domain::change::{Change, ChangeId, ResultBranch, Stage};
use crate::domain::model::actor::PersonId;
use crate::domain::model::environment::PromotionMethod;
use crate::workflow::message_keys;

use crate::workflow::context::Context;
use crate::workflow::error::LookupError;

impl Context {
    /// The beginning of a change: its row, which is the lock, its card, and what the ledger keeps.
    pub(crate) async fn begin_change(&self, plan: Plan, person: &PersonId, channel: &str) -> (Change, Transaction) {
        let now = self.clock.now();
        let id = ChangeId::new(now);
        let stage = if self.needs_approval_stage(&plan) {
            Stage::new_awaiting_approval(self.collect_approval_requirements(&plan, now).await)
        } else {
            Stage::new_merging()
        };
        let change = Change {
            id,
            requester: person.clone(),
            // A view stands in no channel.
            asked_in: Some(channel.to_owned()).filter(|channel| !channel.is_empty()),
            asked_at: now,
            taken_up_at: None,
            request: None,
            frozen: (plan.promote == PromotionMethod::PullRequest).then(|| ResultBranch::from_change_id(id)),
            plan,
            stage,
        };
        let mut transaction = Transaction::new()
            .begin_change(change.clone())
            .append_to_ledger(self.build_entry_by_person(&change, LedgerKind::Begun, person))
            .enqueue_message(self.render_card(&change));
        transaction = transaction.append(self.notify_subscribers(None, &change));
        if let Some(overridden) = &change.plan.overridden {
            let details = Some(LedgerDetails::Overridden(overridden.clone()));
            let entry = LedgerEntry { details, ..self.build_entry_by_person(&change, LedgerKind::Overridden, person) };
            let key = message_keys::for_card_reply("override", id);
            let told = render::gate::render_override_announcement(&change.plan, overridden)
                .into_message(self.build_post_destination(&change, key, None));
            transaction = transaction.append_to_ledger(entry).enqueue_message(told);
        }
        // So that the history of what is carried along has it as well.
        for also in &change.plan.also {
            let artefact = Some(also.artefact.clone());
            transaction = transaction.append_to_ledger(LedgerEntry {
                artefact,
                ..self.build_entry_by_person(&change, LedgerKind::Carried, person)
            });
        }
        for hold in &change.plan.holds_to_lift {
            transaction = transaction.lift_hold(hold.change);
        }
        if let Some(details) = render::card::render_all_commits(&change) {
            transaction = transaction.enqueue_message(self.build_thread_reply(&change, "details", details));
        }
        (change, transaction)
    }

    /// A change that waits gives way to a newer one.
    pub(crate) async fn supersede_change(
        &self,
        waiting: &ConflictingChange,
        by: ChangeId,
    ) -> Result<(Change, Transaction), LookupError> {
        let overtaken = || LookupError::new_transient("somebody else was faster".to_owned());
        let claim = self.store.claim_changes(vec![waiting.id]).await?.pop().ok_or_else(overtaken)?;
        let now = self.clock.now();
        let Ok(stage) = claim.change.stage.clone().into_superseded(by, now) else { return Err(overtaken()) };
        let change = Change { stage, ..claim.change.clone() };
        let transaction = self.build_advance_transaction(&claim.change, claim.fence, &change, Some(now));
        Ok((change, transaction))
    }

    /// A plan that moves more than was asked for is shown, and becomes a change by a yes.
    pub(crate) fn build_shown_plan(&self, plan: Plan, person: &PersonId) -> ShownPlan {
        let now = self.clock.now();
        ShownPlan { id: ChangeId::new(now), person: person.clone(), plan, made_at: now }
    }

    pub(crate) fn is_plan_valid(&self, shown: &ShownPlan) -> bool {
        self.clock.now().duration_since(shown.made_at) < PLAN_VALIDITY
    }
}
