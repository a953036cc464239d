//! The App Home of a person: changes that await their approval, open changes, the running versions, and quick actions.
//! Slack allows 100 blocks and no tables in a Home.

use jiff::Timestamp;

use super::Rendered;
use super::blocks::{Block, actions, button, context, section};
use super::mrkdwn::{Mrkdwn, truncate_middle};
use super::status::{StatusDetails, describe_change};
use crate::adapters::slack::render::approve::{REJECT, build_approve_button, encode_button_value};
use crate::adapters::slack::render::command_button::build_command_button;
use crate::adapters::slack::render::page_buttons::join_fitting_lines;
use crate::adapters::slack::render::promote_button::build_promote_to_button;
use crate::domain::change::Change;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Version;

/// The number of changes in each section; the others are only counted.
pub const MAX_CHANGES: usize = 10;
/// The number of promote buttons, and of diff buttons.
pub const MAX_OFFERS: usize = 5;

/// The number of blocks for the list of running versions.
const MAX_LADDER_BLOCKS: usize = 40;

/// The contents of one person's Home.
#[derive(Debug)]
pub struct HomeContent<'a> {
    /// Changes that this person may approve.
    pub waiting: Vec<&'a Change>,
    /// The reason why the right to approve could not be checked for some changes.
    pub unknown_reason: Option<String>,
    /// Changes that this person requested.
    pub mine: Vec<&'a Change>,
    /// Changes that other people requested.
    pub others: Vec<&'a Change>,
    pub details: StatusDetails,
    /// The answer to `list`.
    pub ladder: Rendered,
    /// Healthy versions that could be promoted to the next environment.
    pub promotions: Vec<(ArtefactName, EnvironmentName, Version)>,
    /// Neighbouring environments of the ladder.
    pub neighbours: Vec<(EnvironmentName, EnvironmentName)>,
    pub now: Timestamp,
}

pub fn render_home(home: &HomeContent<'_>) -> Rendered {
    let mut blocks = vec![section(Mrkdwn::new("*Waits for your approval*"))];
    push_waiting(&mut blocks, home);
    blocks.push(section(Mrkdwn::new("*Your changes*")));
    push_changes(&mut blocks, &home.mine, home, "You have asked for nothing that is still under way.");
    blocks.push(section(Mrkdwn::new("*Changes of others*")));
    push_changes(&mut blocks, &home.others, home, "Nobody else has anything under way.");
    push_ladder(&mut blocks, &home.ladder);
    push_quick_actions(&mut blocks, home);
    let made = Mrkdwn::new("Made ")
        .date_time(home.now)
        .raw(". It is renewed while changes move on, and whenever you open it.");
    blocks.push(context(made));
    let text = match home.waiting.len() {
        0 => "Nothing waits for your approval.".to_owned(),
        1 => "1 change waits for your approval.".to_owned(),
        many => format!("{many} changes wait for your approval."),
    };
    Rendered { text, blocks }
}

fn push_waiting(blocks: &mut Vec<Block>, home: &HomeContent<'_>) {
    for change in home.waiting.iter().take(MAX_CHANGES) {
        blocks.push(render_change(change, home));
        if let Some(value) = encode_button_value(change) {
            let reject = button("Reject", REJECT, value.clone()).danger();
            blocks.push(actions(vec![build_approve_button(&(*change).into(), value), reject]));
        }
    }
    if home.waiting.is_empty() && home.unknown_reason.is_none() {
        blocks.push(context(Mrkdwn::new("Nothing.")));
    }
    if let Some(why) = &home.unknown_reason {
        let text = Mrkdwn::new(":warning: Of some I cannot tell whether they wait for you: ");
        blocks.push(context(text.plain(&truncate_middle(why, 200)).raw(".")));
    }
    push_remaining(blocks, home.waiting.len());
}

fn push_changes(blocks: &mut Vec<Block>, changes: &[&Change], home: &HomeContent<'_>, empty_text: &'static str) {
    if changes.is_empty() {
        blocks.push(context(Mrkdwn::new(empty_text)));
    }
    blocks.extend(changes.iter().take(MAX_CHANGES).map(|change| render_change(change, home)));
    push_remaining(blocks, changes.len());
}

fn push_remaining(blocks: &mut Vec<Block>, count: usize) {
    if let Some(left) = count.checked_sub(MAX_CHANGES).filter(|left| *left > 0) {
        blocks.push(context(Mrkdwn::default().plain(&format!("and {left} more: ")).code("/gantry status")));
    }
}

fn render_change(change: &Change, home: &HomeContent<'_>) -> Block {
    let (first, rest) = describe_change(change, &home.details, home.now);
    section(join_fitting_lines(first, rest))
}

/// Leaves out the buttons of the list, because they turn the pages of a message and a Home is not a message.
fn push_ladder(blocks: &mut Vec<Block>, ladder: &Rendered) {
    let shown = ladder.blocks.iter().filter(|block| !matches!(block, Block::Actions { .. }));
    let mut shown: Vec<Block> = shown.cloned().collect();
    if shown.len() > MAX_LADDER_BLOCKS {
        shown.truncate(MAX_LADDER_BLOCKS);
        shown.push(context(Mrkdwn::new("All of it: ").code("/list")));
    }
    blocks.extend(shown);
}

fn push_quick_actions(blocks: &mut Vec<Block>, home: &HomeContent<'_>) {
    blocks.push(section(Mrkdwn::new("*Quick actions*: I answer you directly.")));
    let mut buttons: Vec<_> = [("List", "list"), ("Status", "status"), ("History", "history"), ("Locks", "locks")]
        .map(|(label, command)| build_command_button(label, command.to_owned()))
        .into();
    for (below, above) in home.neighbours.iter().take(MAX_OFFERS) {
        let label = format!("Diff {} {}", truncate_middle(below.as_str(), 30), truncate_middle(above.as_str(), 30));
        buttons.push(build_command_button(&label, format!("diff {below} {above}")));
    }
    buttons.push(build_command_button("Help", "help".to_owned()));
    blocks.push(actions(buttons));
    if !home.promotions.is_empty() {
        let offers = home.promotions.iter().take(MAX_OFFERS);
        let offers =
            offers.map(|(artefact, environment, version)| build_promote_to_button(artefact, environment, version));
        blocks.push(actions(offers.collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sample;

    fn sample_home<'a>(waiting: Vec<&'a Change>, mine: Vec<&'a Change>, others: Vec<&'a Change>) -> HomeContent<'a> {
        let change = sample::change();
        let plan = change.plan;
        HomeContent {
            waiting,
            unknown_reason: None,
            mine,
            others,
            details: StatusDetails::default(),
            ladder: Rendered {
                text: "What runs where".to_owned(),
                blocks: (0..60).map(|_| section(Mrkdwn::new("a line"))).collect(),
            },
            promotions: vec![(plan.artefact.clone(), plan.environment.clone(), plan.version.clone()); 9],
            neighbours: vec![(plan.environment.clone(), plan.environment); 9],
            now: change.requested_at,
        }
    }

    #[test]
    fn many_changes_stay_within_the_limit_of_a_view() {
        let change = sample::change();
        let many = vec![&change; 40];
        let rendered = render_home(&sample_home(many.clone(), many.clone(), many));
        assert!(rendered.blocks.len() <= 100, "{}", rendered.blocks.len());
        assert_eq!(rendered.text, "40 changes wait for your approval.");
        assert!(format!("{:?}", rendered.blocks).contains("and 30 more: "), "omitted changes are counted");
    }

    #[test]
    fn an_empty_home_has_sentences_for_each_section() {
        let rendered = render_home(&sample_home(Vec::new(), Vec::new(), Vec::new()));
        let text = format!("{:?}", rendered.blocks);
        for sentence in ["Nothing.", "You have asked for nothing", "Nobody else has anything under way"] {
            assert!(text.contains(sentence), "{sentence}: {text}");
        }
    }
}
