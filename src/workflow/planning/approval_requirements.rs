//! The approvals that a plan needs before it is merged.

use jiff::Timestamp;

use crate::domain::change::approval::ApprovalState;
use crate::domain::change::plan::Plan;
use crate::domain::model::environment::PromotionMethod;
use crate::workflow::context::Context;

/// Whether the change waits in the approval stage: it goes by pull request, or its environment requires approvals. A
/// rollback needs no approvals.
pub(crate) fn needs_approval_stage(ctx: &Context, plan: &Plan) -> bool {
    let policy = ctx.config.catalogue.ladder.find_policy(&plan.environment);
    let requires_approvals = !plan.is_rollback() && policy.is_some_and(|policy| policy.approvals.is_some());
    plan.method == PromotionMethod::PullRequest || requires_approvals
}

/// The approval state with which a change begins: the number of approvals, the approvers and the timeout.
pub(crate) async fn collect_approval_requirements(ctx: &Context, plan: &Plan, now: Timestamp) -> ApprovalState {
    let policy = ctx.config.catalogue.ladder.find_policy(&plan.environment).cloned().unwrap_or_default();
    let (required, approvers) = match &policy.approvals {
        Some(approvals) if !plan.is_rollback() => {
            (approvals.required, ctx.permissions.label_members(&approvals.approvers).await)
        }
        _ => (0, Vec::new()),
    };
    ApprovalState::new(required, approvers, now, policy.approval_timeout)
}
