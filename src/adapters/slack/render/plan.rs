//! The plan of a promotion, for the requester.

use super::Rendered;
use super::blocks::{Block, actions, button, context, section};
use super::commit_summary::MAX_COMMITS;
use super::effects::{render_effects, render_superseded_change};
use super::mrkdwn::Mrkdwn;
use crate::domain::change::plan::Plan;
use crate::domain::model::environment::{EnvironmentName, PromotionMethod};
use crate::domain::model::ids::ChangeId;

pub const CONFIRM: &str = "plan_confirm";
pub const CANCEL: &str = "plan_cancel";

/// The plan of a dry run, which has no effect.
pub fn render_dry_run(plan: &Plan, others: &[EnvironmentName]) -> Rendered {
    let (artefact, environment) = (&plan.artefact, &plan.environment);
    let next = Mrkdwn::new("Nothing was done. To do it: ").code(&format!("/promote {artefact} {environment}"));
    let mut rendered = render_plan(plan, others);
    rendered.blocks.push(context(next));
    rendered
}

/// A plan that needs confirmation, because it moves more than was requested.
pub fn render_confirmation(plan: &Plan, id: ChangeId, others: &[EnvironmentName]) -> Rendered {
    let mut rendered = render_plan(plan, others);
    rendered.blocks.push(actions(vec![
        button("Confirm", CONFIRM, id.to_string()).primary(),
        button("Cancel", CANCEL, id.to_string()),
    ]));
    rendered.blocks.push(context(Mrkdwn::new("Nothing is done before you confirm. This is good for 30 minutes.")));
    rendered
}

fn render_plan(plan: &Plan, others: &[EnvironmentName]) -> Rendered {
    let head = Mrkdwn::new("Promote ")
        .bold(plan.artefact.as_str())
        .raw(" ")
        .code(plan.version.label())
        .raw(" to ")
        .bold(plan.environment.as_str())
        .append(&describe_git_write(plan))
        .raw(" and a tag");
    let text = Mrkdwn::default()
        .plain(&format!("Promote {} {} to {}", plan.artefact, plan.version.label(), plan.environment))
        .into_string();
    let mut blocks = vec![section(head)];
    blocks.extend(render_effects(plan, MAX_COMMITS));
    blocks.extend(render_superseded_change(plan));
    blocks.extend(render_alternatives(plan, others));
    Rendered { text, blocks }
}

fn describe_git_write(plan: &Plan) -> Mrkdwn {
    match (plan.method, plan.manifest_file()) {
        (PromotionMethod::Merge, None) => Mrkdwn::new(", by a merge into ").code(&plan.branch),
        (PromotionMethod::PullRequest, None) => Mrkdwn::new(", by a pull request into ").code(&plan.branch),
        (PromotionMethod::Merge, Some(manifest)) => Mrkdwn::new(", by a commit to ").code(&manifest.file),
        (PromotionMethod::PullRequest, Some(manifest)) => {
            Mrkdwn::new(", by a pull request that changes ").code(&manifest.file)
        }
    }
}

/// The other environments that are behind, if the requester named none.
fn render_alternatives(plan: &Plan, others: &[EnvironmentName]) -> Option<Block> {
    let (first, rest) = others.split_first()?;
    let command = |environment: &EnvironmentName| format!("/promote {} {environment}", plan.artefact);
    let offered = Mrkdwn::new("Also behind: ").code(&command(first));
    Some(context(rest.iter().fold(offered, |offered, environment| offered.raw(", ").code(&command(environment)))))
}

/// The answer to a requester who named no environment.
pub fn render_chosen_environment(plan: &Plan, others: &[EnvironmentName]) -> Rendered {
    let head = Mrkdwn::default()
        .bold(plan.environment.as_str())
        .raw(" is the first environment behind the one below, so ")
        .bold(plan.artefact.as_str())
        .raw(" goes there: <{link}|follow it here>.");
    let mut rendered = Rendered { text: head.as_str().to_owned(), blocks: vec![section(head)] };
    rendered.blocks.extend(render_alternatives(plan, others));
    rendered
}

/// A link to the card, for a requester in another channel.
pub fn render_card_link(plan: &Plan) -> Rendered {
    let verb = if plan.is_rollback() { " goes back in " } else { " is on its way to " };
    let head = Mrkdwn::default()
        .bold(plan.artefact.as_str())
        .raw(verb)
        .bold(plan.environment.as_str())
        .raw(": <{link}|follow it here>.");
    Rendered { text: head.as_str().to_owned(), blocks: vec![section(head)] }
}
