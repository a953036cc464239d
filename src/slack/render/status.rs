//! What is under way, and what became of the wish to cancel it.

use super::Said;
use super::blocks::{context, section};
use super::card::head;
use super::mrkdwn::Mrkdwn;
use crate::domain::change::{Change, Stage};

/// More than anybody reads in one message.
const MOST: usize = 20;

/// Newest last.
pub fn status(changes: &[&Change]) -> Said {
    if changes.is_empty() {
        let text = Mrkdwn::new("Nothing is under way.");
        let next = Mrkdwn::new("Next: ").code("/list").raw(" shows what runs where.");
        return Said { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] };
    }
    let count = changes.len();
    let text = format!("{count} {} under way", if count == 1 { "change is" } else { "changes are" });
    let mut blocks = vec![section(Mrkdwn::default().plain(&text).raw(":"))];
    for change in changes.iter().take(MOST) {
        let line = head(change)
            .raw("\n")
            .person(&change.requester)
            .raw(" since ")
            .moment(change.asked_at)
            .raw(" \u{b7} change ")
            .code(&change.id.short());
        let line = if change.stage.can_cancel() {
            line.raw(" \u{b7} to stop it: ").code(&format!("/gantry cancel {}", change.id.short()))
        } else {
            line
        };
        blocks.push(section(line));
    }
    if count > MOST {
        blocks.push(context(Mrkdwn::default().plain(&format!("and {} more", count - MOST))));
    }
    Said { text, blocks }
}

/// Somebody asked to cancel it; whether that came in time is seen on its card.
pub fn cancelling(change: &Change) -> Said {
    said(
        Mrkdwn::new("I stop it if it is not merged yet; ")
            .raw("<{link}|its card> shows what became of ")
            .code(&change.id.short())
            .raw("."),
    )
}

/// It can be stopped no more.
pub fn too_late(change: &Change) -> Said {
    let text = head(change).raw(". ");
    said(match &change.stage {
        Stage::Deploying(_) => text
            .raw("It is merged already, so it cannot be cancelled. To go back when it runs: ")
            .code(&format!("/rollback {} {}", change.plan.artefact, change.plan.environment)),
        _ => text.raw("There is nothing left to cancel."),
    })
}

pub fn unknown(change: &str) -> Said {
    said(
        Mrkdwn::new("I know no change ")
            .code(change)
            .raw(". ")
            .code("/gantry status")
            .raw(" shows those that are under way."),
    )
}

/// A button of a plan that is no more.
pub fn plan_gone() -> Said {
    said(Mrkdwn::new("This plan was used or is older than 30 minutes. Type the command again to get a new one."))
}

pub fn not_your_plan() -> Said {
    said(Mrkdwn::new("Only the one who asked can decide on this plan. Type the command yourself to get your own."))
}

pub fn plan_dropped() -> Said {
    said(Mrkdwn::new("Cancelled: nothing was done."))
}

fn said(text: Mrkdwn) -> Said {
    Said { text: text.as_str().to_owned(), blocks: vec![section(text)] }
}
