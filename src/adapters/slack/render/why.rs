//! The answer to `why`: the obstacles between an artefact and an environment, each with the next step; without
//! obstacles, the command that promotes.

use super::Rendered;
use super::blocks::{Block, Button, actions, context, section};
use super::mrkdwn::{Mrkdwn, truncate_middle};
use super::{effects, quarantine, refusal, refusal_buttons};
use crate::adapters::slack::render::{command_button, promote_button};
use crate::domain::model::environment::{EnvironmentName, PromotionMethod};
use crate::domain::rules::refusal::Refusal;
use crate::domain::view::why::{ReadyPromotion, WhyAnswer};

/// Slack allows 50 blocks; each obstacle has at most three.
const MAX_OBSTACLES: usize = 12;
/// Slack accepts somewhat more characters in one message.
const MAX_CHARACTERS: usize = 9_000;
/// The characters of an obstacle's buttons, with their confirmation dialogs.
const BUTTONS_COST: usize = 400;
const MAX_HOLDS: usize = 3;
const MAX_REASON: usize = 600;

pub fn render_why(why: &WhyAnswer) -> Rendered {
    let mut rendered = match &why.ready_promotion {
        Some(promotion) => render_unobstructed(why, promotion),
        None => render_obstacles(why),
    };
    rendered.blocks.extend(describe_chosen_environment(why).map(context));
    rendered
}

fn render_obstacles(why: &WhyAnswer) -> Rendered {
    let mut text = format_headline(why);
    let mut blocks: Vec<Block> =
        Some(&text).filter(|head| !head.as_str().is_empty()).cloned().map(section).into_iter().collect();
    let (mut remaining, mut has_recheck_button) = (MAX_CHARACTERS, false);
    for (index, obstacle) in why.obstacles.iter().enumerate() {
        let (sentence, next) = refusal::explain_refusal(obstacle);
        let size = sentence.as_str().chars().count() + next.as_str().chars().count() + BUTTONS_COST;
        if index == MAX_OBSTACLES || (index > 0 && size > remaining) {
            let left = why.obstacles.len() - index;
            blocks.push(context(Mrkdwn::default().plain(&format!("and {left} more"))));
            break;
        }
        remaining = remaining.saturating_sub(size);
        text = if text.as_str().is_empty() { text } else { text.raw("\n") }.append(&sentence);
        let mut buttons = refusal_buttons::build_buttons(obstacle);
        if buttons.is_empty() && is_temporary(obstacle) {
            buttons.push(build_recheck_button(why));
            has_recheck_button = true;
        }
        blocks.push(section(Mrkdwn::new(pick_refusal_emoji(obstacle)).append(&sentence)));
        if !buttons.is_empty() {
            blocks.push(actions(buttons));
        }
        blocks.push(context(Mrkdwn::new("Next: ").append(&next)));
    }
    if let Some(failure) = &why.lookup_failure {
        let reason = truncate_middle(failure, MAX_REASON);
        let line = Mrkdwn::new(":grey_question: There may be more: ").plain(reason.trim_end_matches('.')).raw(".");
        blocks.push(section(line));
    }
    if !has_recheck_button && (why.lookup_failure.is_some() || why.obstacles.iter().any(is_temporary)) {
        blocks.push(actions(vec![build_recheck_button(why)]));
    }
    Rendered { text: text.into_string(), blocks }
}

/// Empty if there is no target environment.
fn format_headline(why: &WhyAnswer) -> Mrkdwn {
    let Some(environment) = &why.environment else { return Mrkdwn::default() };
    let count = why.obstacles.len();
    let prefix = if why.lookup_failure.is_some() { "At least " } else { "" };
    let text = match count {
        1 => Mrkdwn::new(prefix).raw("1 thing stands between "),
        count => Mrkdwn::new(prefix).plain(&format!("{count} things stand between ")),
    };
    append_endpoints(text, why, environment).raw(":")
}

fn append_endpoints(text: Mrkdwn, why: &WhyAnswer, environment: &EnvironmentName) -> Mrkdwn {
    let text = text.bold(why.artefact.as_str());
    let text = match &why.version {
        Some(version) => text.raw(" ").code(version.label()),
        None => text,
    };
    text.raw(" and ").bold(environment.as_str())
}

/// The answer without obstacles: the command, and the approvals and confirmations that it will need.
fn render_unobstructed(why: &WhyAnswer, promotion: &ReadyPromotion) -> Rendered {
    let plan = &promotion.plan;
    let command = format!("/promote {} {}", plan.artefact, plan.environment);
    let head = append_endpoints(Mrkdwn::new(":large_green_circle: Nothing stands between "), why, &plan.environment);
    let head = head.raw(": ").code(&command).raw(" brings it there.");
    let text = head.as_str().to_owned();
    let mut blocks = vec![section(head)];
    blocks.extend(describe_required_approvals(promotion).map(section));
    blocks.extend(
        plan.holds_to_lift.iter().take(MAX_HOLDS).map(|hold| section(quarantine::describe_hold(hold).raw("."))),
    );
    if plan.holds_to_lift.len() > MAX_HOLDS {
        let left = plan.holds_to_lift.len() - MAX_HOLDS;
        blocks.push(context(Mrkdwn::default().plain(&format!("and {left} more holds, which it shows you"))));
    }
    blocks.extend(effects::render_superseded_change(plan));
    blocks.extend(effects::render_image_warning(plan));
    blocks.extend(effects::render_co_deployed(plan));
    blocks.push(actions(vec![promote_button::build_promote_button(&plan.artefact, &plan.environment, &plan.version)]));
    Rendered { text, blocks }
}

/// The approvals that the promotion will need.
fn describe_required_approvals(promotion: &ReadyPromotion) -> Option<Mrkdwn> {
    let awaiting = promotion.awaiting.as_ref()?;
    let by_pull = promotion.plan.method == PromotionMethod::PullRequest;
    let text = Mrkdwn::new(":raised_hand: It then needs ");
    let text = match awaiting.required {
        0 => return Some(text.raw("a pull request that GitHub lets be merged.")),
        1 => text.raw("1 approval of "),
        required => text.plain(&format!("{required} approvals of ")),
    };
    let text = text.name_people(&awaiting.approvers);
    Some(if by_pull { text.raw(", by a pull request.") } else { text.raw(".") })
}

/// The environment that was chosen for a requester who named none, and the other possible environments.
fn describe_chosen_environment(why: &WhyAnswer) -> Option<Mrkdwn> {
    let (environment, others) = (why.environment.as_ref()?, why.other_environments.as_ref()?);
    let text = Mrkdwn::default().bold(environment.as_str()).raw(" is the first environment behind the one below.");
    let Some((first, rest)) = others.split_first() else { return Some(text) };
    let format_command = |other: &EnvironmentName| format!("/gantry why {} {other}", why.artefact);
    let text = text.raw(" Also behind: ").code(&format_command(first));
    Some(rest.iter().fold(text, |text, other| text.raw(", ").code(&format_command(other))))
}

/// Asks the same question again; the answer replaces this message.
fn build_recheck_button(why: &WhyAnswer) -> Button {
    let environment = why.environment.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    command_button::build_command_button("Look again", format!("why {}{environment}", why.artefact))
}

/// Whether the obstacle can disappear without a change of the request or of the rights.
fn is_temporary(refusal: &Refusal) -> bool {
    !matches!(
        refusal,
        Refusal::NotInEnvironment { .. } | Refusal::FirstEnvironment { .. } | Refusal::NotPermitted { .. }
    )
}

fn pick_refusal_emoji(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::RollingOut { .. }
        | Refusal::RunningChecks { .. }
        | Refusal::Soaking { until: Some(_), .. }
        | Refusal::Frozen { .. }
        | Refusal::ChangeInProgress(_) => ":hourglass_flowing_sand: ",
        Refusal::Locked { .. } => ":lock: ",
        Refusal::NothingToPromote { .. } | Refusal::NothingNew { .. } | Refusal::NoRelevantChanges { .. } => {
            ":white_check_mark: "
        }
        _ => ":no_entry: ",
    }
}

#[cfg(test)]
mod tests;
