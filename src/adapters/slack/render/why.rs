//! `why`: what stands between an artefact and an environment, each with what resolves it; or that nothing does.

use super::Said;
use super::blocks::{Block, Button, actions, context, section};
use super::mrkdwn::{Mrkdwn, shorten};
use super::{plan, refusal, rollback};
use crate::adapters::slack::render::{command_button, promote_button};
use crate::domain::model::environment::{EnvironmentName, PromotionMethod};
use crate::domain::rules::promotion::Refusal;
use crate::domain::view::why::{ReadyPromotion, WhyAnswer};

/// Slack takes 50 blocks; each blocker has three at most.
const MOST: usize = 12;
/// Slack takes some more characters in one message.
const CHARACTERS: usize = 9_000;
/// What the buttons of a blocker come to, with what they ask once more.
const BUTTONS: usize = 400;
const MOST_HOLDS: usize = 3;
const REASON: usize = 600;

pub fn why(why: &WhyAnswer) -> Said {
    let mut said = match &why.ready_promotion {
        Some(free) => nothing(why, free),
        None => blocked(why),
    };
    said.blocks.extend(chosen(why).map(context));
    said
}

fn blocked(why: &WhyAnswer) -> Said {
    let mut text = head(why);
    let mut blocks: Vec<Block> =
        Some(&text).filter(|head| !head.as_str().is_empty()).cloned().map(section).into_iter().collect();
    let (mut room, mut looks) = (CHARACTERS, false);
    for (at, blocker) in why.obstacles.iter().enumerate() {
        let (sentence, next) = refusal::words(blocker);
        let size = sentence.as_str().chars().count() + next.as_str().chars().count() + BUTTONS;
        if at == MOST || (at > 0 && size > room) {
            let left = why.obstacles.len() - at;
            blocks.push(context(Mrkdwn::default().plain(&format!("and {left} more"))));
            break;
        }
        room = room.saturating_sub(size);
        text = if text.as_str().is_empty() { text } else { text.raw("\n") }.and(&sentence);
        let mut buttons = refusal::buttons(blocker);
        if buttons.is_empty() && passes(blocker) {
            buttons.push(look_again(why));
            looks = true;
        }
        blocks.push(section(Mrkdwn::new(icon(blocker)).and(&sentence)));
        if !buttons.is_empty() {
            blocks.push(actions(buttons));
        }
        blocks.push(context(Mrkdwn::new("Next: ").and(&next)));
    }
    if let Some(unasked) = &why.lookup_failure {
        let words = shorten(unasked, REASON);
        let line = Mrkdwn::new(":grey_question: There may be more: ").plain(words.trim_end_matches('.')).raw(".");
        blocks.push(section(line));
    }
    if !looks && (why.lookup_failure.is_some() || why.obstacles.iter().any(passes)) {
        blocks.push(actions(vec![look_again(why)]));
    }
    Said { text: text.into_string(), blocks }
}

/// Nothing where there is no environment that it could stand before.
fn head(why: &WhyAnswer) -> Mrkdwn {
    let Some(environment) = &why.environment else { return Mrkdwn::default() };
    let count = why.obstacles.len();
    let least = if why.lookup_failure.is_some() { "At least " } else { "" };
    let text = match count {
        1 => Mrkdwn::new(least).raw("1 thing stands between "),
        count => Mrkdwn::new(least).plain(&format!("{count} things stand between ")),
    };
    between(text, why, environment).raw(":")
}

fn between(text: Mrkdwn, why: &WhyAnswer, environment: &EnvironmentName) -> Mrkdwn {
    let text = text.bold(why.artefact.as_str());
    let text = match &why.version {
        Some(version) => text.raw(" ").code(version.label()),
        None => text,
    };
    text.raw(" and ").bold(environment.as_str())
}

/// The way is free: how to go it, and what is asked on it.
fn nothing(why: &WhyAnswer, free: &ReadyPromotion) -> Said {
    let way = &free.plan;
    let command = format!("/promote {} {}", way.artefact, way.environment);
    let head = between(Mrkdwn::new(":large_green_circle: Nothing stands between "), why, &way.environment);
    let head = head.raw(": ").code(&command).raw(" brings it there.");
    let text = head.as_str().to_owned();
    let mut blocks = vec![section(head)];
    blocks.extend(then(free).map(section));
    blocks.extend(way.holds_to_lift.iter().take(MOST_HOLDS).map(|hold| section(rollback::held(hold).raw("."))));
    if way.holds_to_lift.len() > MOST_HOLDS {
        let left = way.holds_to_lift.len() - MOST_HOLDS;
        blocks.push(context(Mrkdwn::default().plain(&format!("and {left} more holds, which it shows you"))));
    }
    blocks.extend(plan::supersedes(way));
    blocks.extend(rollback::image(way));
    blocks.extend(plan::also(way));
    blocks.push(actions(vec![promote_button::promote(&way.artefact, &way.environment, &way.version)]));
    Said { text, blocks }
}

/// Whose yes it needs once it is asked for.
fn then(free: &ReadyPromotion) -> Option<Mrkdwn> {
    let awaiting = free.awaiting.as_ref()?;
    let by_pull = free.plan.promote == PromotionMethod::PullRequest;
    let text = Mrkdwn::new(":raised_hand: It then needs ");
    let text = match awaiting.required {
        0 => return Some(text.raw("a pull request that GitHub lets be merged.")),
        1 => text.raw("1 approval of "),
        required => text.plain(&format!("{required} approvals of ")),
    };
    let text = text.called(&awaiting.asked);
    Some(if by_pull { text.raw(", by a pull request.") } else { text.raw(".") })
}

/// Which environment was chosen for somebody who named none, and which could have been.
fn chosen(why: &WhyAnswer) -> Option<Mrkdwn> {
    let (environment, others) = (why.environment.as_ref()?, why.other_environments.as_ref()?);
    let text = Mrkdwn::default().bold(environment.as_str()).raw(" is the first environment behind the one below.");
    let Some((first, rest)) = others.split_first() else { return Some(text) };
    let ask = |other: &EnvironmentName| format!("/gantry why {} {other}", why.artefact);
    let text = text.raw(" Also behind: ").code(&ask(first));
    Some(rest.iter().fold(text, |text, other| text.raw(", ").code(&ask(other))))
}

/// The same question once more, answered in place of this.
fn look_again(why: &WhyAnswer) -> Button {
    let environment = why.environment.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    command_button::runs("Look again", format!("why {}{environment}", why.artefact))
}

/// Does it pass by itself, or by what somebody does elsewhere?
fn passes(refusal: &Refusal) -> bool {
    !matches!(
        refusal,
        Refusal::NotInEnvironment { .. } | Refusal::FirstEnvironment { .. } | Refusal::NotPermitted { .. }
    )
}

fn icon(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::RollingOut { .. }
        | Refusal::RunningChecks { .. }
        | Refusal::Soaking { until: Some(_), .. }
        | Refusal::Frozen { .. }
        | Refusal::ChangeInProgress(_) => ":hourglass_flowing_sand: ",
        Refusal::Locked { .. } => ":lock: ",
        Refusal::NothingToPromote { .. } | Refusal::NothingNew { .. } | Refusal::NothingForIt { .. } => {
            ":white_check_mark: "
        }
        _ => ":no_entry: ",
    }
}

#[cfg(test)]
mod tests;
