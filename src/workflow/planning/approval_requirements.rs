//! Who must approve a plan before it is merged.

use jiff::Timestamp;

use crate::domain::change::approval::ApprovalState;
use crate::domain::change::plan::Plan;
use crate::domain::model::environment::PromotionMethod;
use crate::workflow::context::Context;

/// Does a promotion there wait for a person's yes, or at least for GitHub's?
pub(crate) fn needs_approval_stage(ctx: &Context, plan: &Plan) -> bool {
    let policy = ctx.config.catalogue.ladder.find_policy(&plan.environment);
    let approved = !plan.is_rollback() && policy.is_some_and(|policy| policy.approvals.is_some());
    plan.promote == PromotionMethod::PullRequest || approved
}

/// What a change waits for in the beginning: those who are to approve it.
pub(crate) async fn collect_approval_requirements(ctx: &Context, plan: &Plan, now: Timestamp) -> ApprovalState {
    let policy = ctx.config.catalogue.ladder.find_policy(&plan.environment).cloned().unwrap_or_default();
    let (required, asked) = match &policy.approvals {
        Some(approvals) if !plan.is_rollback() => {
            (approvals.required, ctx.permissions.label_members(&approvals.approvers).await)
        }
        _ => (0, Vec::new()),
    };
    ApprovalState::new(required, asked, now, policy.approval_timeout)
}
