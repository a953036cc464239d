//! Locks: who locked what and why, for the channel, for the one who asks, and for the owner.

use super::Said;
use super::blocks::{Block, Button, actions, button, context, section};
use super::mrkdwn::{Mrkdwn, shorten};
use crate::domain::model::actor::{MemberLabel, PersonId};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::rules::lock::Lock;

pub const TAKE_OVER: &str = "lock_take_over";

/// More than anybody reads in one message.
const MOST: usize = 20;
const REASON: usize = 300;

/// For all to see.
pub fn announced(lock: &Lock) -> Said {
    let text = Mrkdwn::new(":lock: ").person(&lock.by).raw(" locked ").and(&place(lock)).and(&reason(lock));
    let what = Mrkdwn::new("Nobody can change it until ");
    let what = match lock.until {
        Some(until) => what.moment(until),
        None => what.raw("somebody unlocks it"),
    };
    said(text, vec![context(what.raw(": ").code(&unlock(lock)))])
}

/// For the one who locked it: what that means.
pub fn locked(lock: &Lock) -> Said {
    let text = place(lock).raw(" is locked: from now on every change there is refused, yours as well.");
    let next = match lock.until {
        Some(until) => Mrkdwn::new("It ends by itself ").moment(until).raw(", or by "),
        None => Mrkdwn::new("I ask you every day whether it is still needed. To end it: "),
    };
    said(text, vec![context(next.code(&unlock(lock)))])
}

/// Somebody has locked it before; with the way to make it one's own.
pub fn held(lock: &Lock, by_whoever_asks: bool) -> Said {
    if by_whoever_asks {
        let text = Mrkdwn::new("You have locked ").and(&place(lock)).and(&times(lock)).and(&reason(lock));
        return said(
            text,
            vec![context(Mrkdwn::new("Next: to lock it otherwise, end this first: ").code(&unlock(lock)))],
        );
    }
    let text = place(lock).raw(" is locked by ").person(&lock.by).and(&times(lock)).and(&reason(lock));
    said(text, vec![actions(vec![take_over(lock)]), context(Mrkdwn::new("Next: ").and(&ways(lock)))])
}

pub(super) fn take_over(lock: &Lock) -> Button {
    button("Take over", TAKE_OVER, lock.id.to_string())
}

/// What can be done about somebody's lock.
pub(super) fn ways(lock: &Lock) -> Mrkdwn {
    Mrkdwn::new("ask ").person(&lock.by).raw(", make the lock yours with *Take over*, or end it: ").code(&unlock(lock))
}

/// For all to see.
pub fn announced_take_over(lock: &Lock, from: &PersonId) -> Said {
    let text = Mrkdwn::new(":lock: ")
        .person(&lock.by)
        .raw(" took over the lock on ")
        .and(&place(lock))
        .raw(" from ")
        .person(from)
        .and(&reason(lock));
    said(text, Vec::new())
}

/// For the new owner.
pub fn taken_over(lock: &Lock) -> Said {
    let text = Mrkdwn::new("The lock on ").and(&place(lock)).raw(" is yours now").and(&reason(lock));
    said(text, vec![context(Mrkdwn::new("To end it: ").code(&unlock(lock)))])
}

/// For the former owner.
pub fn lost(lock: &Lock) -> Said {
    let text = Mrkdwn::default()
        .person(&lock.by)
        .raw(" took over your lock on ")
        .and(&place(lock))
        .and(&reason(lock))
        .raw(" It stays locked; you need not do anything.");
    said(text, Vec::new())
}

/// For all to see.
pub fn announced_unlock(lock: &Lock, by: &PersonId) -> Said {
    let text = Mrkdwn::new(":unlock: ").person(by).raw(" unlocked ").and(&place(lock));
    let text = if *by == lock.by {
        text.raw(": changes may go there again.")
    } else {
        text.raw(", which ").person(&lock.by).raw(" had locked").and(&reason(lock))
    };
    said(text, Vec::new())
}

pub fn unlocked(lock: &Lock) -> Said {
    said(Mrkdwn::new("Unlocked: changes may go to ").and(&place(lock)).raw(" again."), Vec::new())
}

/// For the owner of a lock that somebody else ended.
pub fn ended(lock: &Lock, by: &PersonId) -> Said {
    said(Mrkdwn::default().person(by).raw(" ended your lock on ").and(&place(lock)).and(&reason(lock)), Vec::new())
}

/// Nothing to unlock. `others` are the locks of that environment that were not meant.
pub fn not_locked(environment: &EnvironmentName, artefact: Option<&ArtefactName>, others: &[Lock]) -> Said {
    let text = Mrkdwn::new("There is nothing to unlock: ").and(&at(environment, artefact)).raw(" is not locked.");
    let next = match others.first() {
        Some(other) => Mrkdwn::new("Next: ").and(&place(other)).raw(" is. To end that: ").code(&unlock(other)),
        None => Mrkdwn::new("Next: ").code("/gantry locks").raw(" shows what is locked."),
    };
    said(text, vec![context(next)])
}

pub fn locks(locks: &[Lock], environment: Option<&EnvironmentName>) -> Said {
    let Some(first) = locks.first() else {
        let text = match environment {
            Some(environment) => Mrkdwn::new("Nothing is locked in ").bold(environment.as_str()).raw("."),
            None => Mrkdwn::new("Nothing is locked."),
        };
        let next = Mrkdwn::new("To lock an environment: ").code("/gantry lock <environment> [for 2h] <reason>");
        return said(text, vec![context(next)]);
    };
    let count = locks.len();
    let head =
        Mrkdwn::default().plain(&format!("{count} {} in force:", if count == 1 { "lock is" } else { "locks are" }));
    let one = |lock: &Lock| {
        let line = place(lock).raw(" by ").person(&lock.by).and(&times(lock)).and(&reason(lock));
        section(line.raw(" To end it: ").code(&unlock(lock)))
    };
    let mut blocks: Vec<Block> = locks.iter().take(MOST).map(one).collect();
    if count > MOST {
        let narrow = format!("/gantry locks {}", first.environment);
        let more = Mrkdwn::default().plain(&format!("and {} more; ", count - MOST)).code(&narrow).raw(" shows fewer");
        blocks.push(context(more));
    }
    said(head, blocks)
}

/// A button of a lock that is no more.
pub fn gone() -> Said {
    let text = Mrkdwn::new("This lock is not in force any more: it was ended or taken over since.");
    said(text, vec![context(Mrkdwn::new("Next: ").code("/gantry locks").raw(" shows what is locked."))])
}

pub fn yours(lock: &Lock) -> Said {
    let text = Mrkdwn::new("The lock on ").and(&place(lock)).raw(" is yours already.");
    said(text, vec![context(Mrkdwn::new("To end it: ").code(&unlock(lock)))])
}

/// Somebody without the right. `who` has it.
pub fn may_not(environment: &EnvironmentName, who: &[MemberLabel]) -> Said {
    let text = Mrkdwn::new("Only ").called(who).raw(" may lock and unlock ").bold(environment.as_str()).raw(".");
    said(text, vec![context(Mrkdwn::new("Next: ask one of them."))])
}

/// Nobody can tell whether the one who asks may: then it is a no.
pub fn cannot_tell(environment: &EnvironmentName, why: &str) -> Said {
    let text = Mrkdwn::default().plain(why).raw(", so ").bold(environment.as_str()).raw(" stays as it is.");
    said(text, vec![context(Mrkdwn::new("Next: try again in a minute; if it stays so, ask whoever runs me."))])
}

/// For the owner of a lock that was forgotten, perhaps.
pub fn nudge(lock: &Lock) -> Said {
    let text = Mrkdwn::new("You have locked ").and(&place(lock)).and(&times(lock)).and(&reason(lock));
    let next = Mrkdwn::new("Is it still needed? To end it: ").code(&unlock(lock)).raw(". Else I ask again tomorrow.");
    said(text, vec![context(next)])
}

pub(super) fn place(lock: &Lock) -> Mrkdwn {
    at(&lock.environment, lock.artefact.as_ref())
}

fn at(environment: &EnvironmentName, artefact: Option<&ArtefactName>) -> Mrkdwn {
    match artefact {
        Some(artefact) => Mrkdwn::default().bold(artefact.as_str()).raw(" in ").bold(environment.as_str()),
        None => Mrkdwn::default().bold(environment.as_str()),
    }
}

pub(super) fn times(lock: &Lock) -> Mrkdwn {
    let since = Mrkdwn::new(" since ").moment(lock.since);
    match lock.until {
        Some(until) => since.raw(" until ").moment(until),
        None => since,
    }
}

pub(super) fn reason(lock: &Lock) -> Mrkdwn {
    Mrkdwn::new(": ").plain(shorten(&lock.reason, REASON).trim_end_matches('.')).raw(".")
}

pub(super) fn unlock(lock: &Lock) -> String {
    match &lock.artefact {
        Some(artefact) => format!("/gantry unlock {} {artefact}", lock.environment),
        None => format!("/gantry unlock {}", lock.environment),
    }
}

fn said(text: Mrkdwn, more: Vec<Block>) -> Said {
    let mut blocks = vec![section(text.clone())];
    blocks.extend(more);
    Said { text: text.into_string(), blocks }
}
