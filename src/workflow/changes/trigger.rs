//! Triggers a reconciliation by the environment's controller after a merge.

use crate::domain::change::{Change, TriggerOutcome};
use crate::workflow::context::Context;

/// Triggers the controller once per change, if the environment has a trigger configured.
pub(crate) async fn trigger_reconcile(ctx: &Context, change: &Change) -> Option<TriggerOutcome> {
    let deploying = change.stage.deploying()?;
    if deploying.trigger_outcome.is_some() {
        return deploying.trigger_outcome.clone();
    }
    let plan = &change.plan;
    let trigger = ctx.config.triggers.get(&plan.environment)?;
    match ctx.controller.trigger_reconcile(trigger, plan, &deploying.result).await {
        Ok(()) => Some(TriggerOutcome::Done),
        Err(why) => Some(TriggerOutcome::Failed { why }),
    }
}
