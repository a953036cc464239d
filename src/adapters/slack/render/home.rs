//! A person's App Home: what waits for them, what is under way, what runs where, and what they can do from there.
//! Slack takes a hundred blocks, and no tables.

use jiff::Timestamp;

use super::Said;
use super::blocks::{Block, actions, button, context, section};
use super::mrkdwn::{Mrkdwn, shorten};
use super::status::{Known, lines};
use crate::adapters::slack::render::approve::{REJECT, approve, value};
use crate::adapters::slack::render::command_button::runs;
use crate::adapters::slack::render::page_buttons::within;
use crate::adapters::slack::render::promote_button::promote_to;
use crate::domain::change::Change;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Version;

/// Of each kind; the rest is named by its number.
pub const MOST: usize = 10;
/// Of the promotions that are offered, and of the pairs of rungs that can be compared.
pub const OFFERS: usize = 5;

/// Blocks that the list of what runs where may have.
const LADDER: usize = 40;

/// What somebody sees there, chosen for them.
#[derive(Debug)]
pub struct Home<'a> {
    /// Their yes would count.
    pub waiting: Vec<&'a Change>,
    /// Why nobody could tell for some of them.
    pub untold: Option<String>,
    /// What they asked for.
    pub mine: Vec<&'a Change>,
    /// What others asked for.
    pub others: Vec<&'a Change>,
    pub known: Known,
    /// As `list` says it.
    pub ladder: Said,
    /// What runs well and could go one rung up.
    pub promotions: Vec<(ArtefactName, EnvironmentName, Version)>,
    /// Neighbours on the ladder.
    pub neighbours: Vec<(EnvironmentName, EnvironmentName)>,
    pub now: Timestamp,
}

pub fn home(home: &Home<'_>) -> Said {
    let mut blocks = vec![section(Mrkdwn::new("*Waits for your approval*"))];
    waiting(&mut blocks, home);
    blocks.push(section(Mrkdwn::new("*Your changes*")));
    changes(&mut blocks, &home.mine, home, "You have asked for nothing that is still under way.");
    blocks.push(section(Mrkdwn::new("*Changes of others*")));
    changes(&mut blocks, &home.others, home, "Nobody else has anything under way.");
    ladder(&mut blocks, &home.ladder);
    quick(&mut blocks, home);
    let made =
        Mrkdwn::new("Made ").moment(home.now).raw(". It is renewed while changes move on, and whenever you open it.");
    blocks.push(context(made));
    let text = match home.waiting.len() {
        0 => "Nothing waits for your approval.".to_owned(),
        1 => "1 change waits for your approval.".to_owned(),
        many => format!("{many} changes wait for your approval."),
    };
    Said { text, blocks }
}

fn waiting(blocks: &mut Vec<Block>, home: &Home<'_>) {
    for change in home.waiting.iter().take(MOST) {
        blocks.push(described(change, home));
        if let Some(value) = value(change) {
            let reject = button("Reject", REJECT, value.clone()).danger();
            blocks.push(actions(vec![approve(change, value), reject]));
        }
    }
    if home.waiting.is_empty() && home.untold.is_none() {
        blocks.push(context(Mrkdwn::new("Nothing.")));
    }
    if let Some(why) = &home.untold {
        let text = Mrkdwn::new(":warning: Of some I cannot tell whether they wait for you: ");
        blocks.push(context(text.plain(&shorten(why, 200)).raw(".")));
    }
    more(blocks, home.waiting.len());
}

fn changes(blocks: &mut Vec<Block>, changes: &[&Change], home: &Home<'_>, none: &'static str) {
    if changes.is_empty() {
        blocks.push(context(Mrkdwn::new(none)));
    }
    blocks.extend(changes.iter().take(MOST).map(|change| described(change, home)));
    more(blocks, changes.len());
}

fn more(blocks: &mut Vec<Block>, count: usize) {
    if let Some(left) = count.checked_sub(MOST).filter(|left| *left > 0) {
        blocks.push(context(Mrkdwn::default().plain(&format!("and {left} more: ")).code("/gantry status")));
    }
}

fn described(change: &Change, home: &Home<'_>) -> Block {
    let (first, rest) = lines(change, &home.known, home.now);
    section(within(first, rest))
}

/// Its buttons turn pages of a message, of which there is none here.
fn ladder(blocks: &mut Vec<Block>, ladder: &Said) {
    let shown = ladder.blocks.iter().filter(|block| !matches!(block, Block::Actions { .. }));
    let mut shown: Vec<Block> = shown.cloned().collect();
    if shown.len() > LADDER {
        shown.truncate(LADDER);
        shown.push(context(Mrkdwn::new("All of it: ").code("/list")));
    }
    blocks.extend(shown);
}

fn quick(blocks: &mut Vec<Block>, home: &Home<'_>) {
    blocks.push(section(Mrkdwn::new("*Quick actions*: I answer you directly.")));
    let mut buttons: Vec<_> = [("List", "list"), ("Status", "status"), ("History", "history"), ("Locks", "locks")]
        .map(|(label, command)| runs(label, command.to_owned()))
        .into();
    for (below, above) in home.neighbours.iter().take(OFFERS) {
        let label = format!("Diff {} {}", shorten(below.as_str(), 30), shorten(above.as_str(), 30));
        buttons.push(runs(&label, format!("diff {below} {above}")));
    }
    buttons.push(runs("Help", "help".to_owned()));
    blocks.push(actions(buttons));
    if !home.promotions.is_empty() {
        let offers = home.promotions.iter().take(OFFERS);
        let offers = offers.map(|(artefact, environment, version)| promote_to(artefact, environment, version));
        blocks.push(actions(offers.collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sample;

    fn sample_home<'a>(waiting: Vec<&'a Change>, mine: Vec<&'a Change>, others: Vec<&'a Change>) -> Home<'a> {
        let change = sample::change();
        let plan = change.plan;
        Home {
            waiting,
            untold: None,
            mine,
            others,
            known: Known::default(),
            ladder: Said {
                text: "What runs where".to_owned(),
                blocks: (0..60).map(|_| section(Mrkdwn::new("a line"))).collect(),
            },
            promotions: vec![(plan.artefact.clone(), plan.environment.clone(), plan.version.clone()); 9],
            neighbours: vec![(plan.environment.clone(), plan.environment); 9],
            now: change.asked_at,
        }
    }

    #[test]
    fn however_much_there_is_a_view_holds_it() {
        let change = sample::change();
        let many = vec![&change; 40];
        let said = home(&sample_home(many.clone(), many.clone(), many));
        assert!(said.blocks.len() <= 100, "{}", said.blocks.len());
        assert_eq!(said.text, "40 changes wait for your approval.");
        assert!(format!("{:?}", said.blocks).contains("and 30 more: "), "what is left out is counted");
    }

    #[test]
    fn where_nothing_is_it_says_so() {
        let said = home(&sample_home(Vec::new(), Vec::new(), Vec::new()));
        let text = format!("{:?}", said.blocks);
        for sentence in ["Nothing.", "You have asked for nothing", "Nobody else has anything under way"] {
            assert!(text.contains(sentence), "{sentence}: {text}");
        }
    }
}
