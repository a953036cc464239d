//! Texts about locks: for the channel, for the requester, and for the owner of the lock.

use super::Rendered;
use super::blocks::{Block, Button, actions, button, context, section};
use super::mrkdwn::{Mrkdwn, truncate_middle};
use crate::domain::model::actor::{MemberLabel, PersonId};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::rules::lock::Lock;

pub const TAKE_OVER: &str = "lock_take_over";

/// Enough for one message; the others are counted.
const MAX_LOCKS: usize = 20;
const MAX_REASON: usize = 300;

/// Posted in the channel.
pub fn render_lock_announcement(lock: &Lock) -> Rendered {
    let text = Mrkdwn::new(":lock: ")
        .person(&lock.by)
        .raw(" locked ")
        .append(&format_lock_scope(lock))
        .append(&format_reason(lock));
    let note = Mrkdwn::new("Nobody can change it until ");
    let note = match lock.until {
        Some(until) => note.date_time(until),
        None => note.raw("somebody unlocks it"),
    };
    render_with_blocks(text, vec![context(note.raw(": ").code(&format_unlock_command(lock)))])
}

/// The answer to the person who set the lock.
pub fn render_locked(lock: &Lock) -> Rendered {
    let text = format_lock_scope(lock).raw(" is locked: from now on every change there is refused, yours as well.");
    let next = match lock.until {
        Some(until) => Mrkdwn::new("It ends by itself ").date_time(until).raw(", or by "),
        None => Mrkdwn::new("I ask you every day whether it is still needed. To end it: "),
    };
    render_with_blocks(text, vec![context(next.code(&format_unlock_command(lock)))])
}

/// The answer if the environment is already locked. For another person's lock, it has a button to take the lock over.
pub fn render_already_locked(lock: &Lock, is_own: bool) -> Rendered {
    if is_own {
        let text = Mrkdwn::new("You have locked ")
            .append(&format_lock_scope(lock))
            .append(&format_period(lock))
            .append(&format_reason(lock));
        return render_with_blocks(
            text,
            vec![context(
                Mrkdwn::new("Next: to lock it otherwise, end this first: ").code(&format_unlock_command(lock)),
            )],
        );
    }
    let text = format_lock_scope(lock)
        .raw(" is locked by ")
        .person(&lock.by)
        .append(&format_period(lock))
        .append(&format_reason(lock));
    render_with_blocks(
        text,
        vec![
            actions(vec![build_take_over_button(lock)]),
            context(Mrkdwn::new("Next: ").append(&describe_options(lock))),
        ],
    )
}

pub(super) fn build_take_over_button(lock: &Lock) -> Button {
    button("Take over", TAKE_OVER, lock.id.to_string())
}

/// The options for dealing with another person's lock.
pub(super) fn describe_options(lock: &Lock) -> Mrkdwn {
    Mrkdwn::new("ask ")
        .person(&lock.by)
        .raw(", make the lock yours with *Take over*, or end it: ")
        .code(&format_unlock_command(lock))
}

/// Posted in the channel.
pub fn render_take_over_announcement(lock: &Lock, from: &PersonId) -> Rendered {
    let text = Mrkdwn::new(":lock: ")
        .person(&lock.by)
        .raw(" took over the lock on ")
        .append(&format_lock_scope(lock))
        .raw(" from ")
        .person(from)
        .append(&format_reason(lock));
    render_with_blocks(text, Vec::new())
}

/// For the new owner.
pub fn render_taken_over(lock: &Lock) -> Rendered {
    let text =
        Mrkdwn::new("The lock on ").append(&format_lock_scope(lock)).raw(" is yours now").append(&format_reason(lock));
    render_with_blocks(text, vec![context(Mrkdwn::new("To end it: ").code(&format_unlock_command(lock)))])
}

/// For the former owner.
pub fn render_lock_lost(lock: &Lock) -> Rendered {
    let text = Mrkdwn::default()
        .person(&lock.by)
        .raw(" took over your lock on ")
        .append(&format_lock_scope(lock))
        .append(&format_reason(lock))
        .raw(" It stays locked; you need not do anything.");
    render_with_blocks(text, Vec::new())
}

/// Posted in the channel.
pub fn render_unlock_announcement(lock: &Lock, by: &PersonId) -> Rendered {
    let text = Mrkdwn::new(":unlock: ").person(by).raw(" unlocked ").append(&format_lock_scope(lock));
    let text = if *by == lock.by {
        text.raw(": changes may go there again.")
    } else {
        text.raw(", which ").person(&lock.by).raw(" had locked").append(&format_reason(lock))
    };
    render_with_blocks(text, Vec::new())
}

pub fn render_unlocked(lock: &Lock) -> Rendered {
    render_with_blocks(
        Mrkdwn::new("Unlocked: changes may go to ").append(&format_lock_scope(lock)).raw(" again."),
        Vec::new(),
    )
}

/// For the owner of a lock that another person ended.
pub fn render_lock_ended(lock: &Lock, by: &PersonId) -> Rendered {
    render_with_blocks(
        Mrkdwn::default()
            .person(by)
            .raw(" ended your lock on ")
            .append(&format_lock_scope(lock))
            .append(&format_reason(lock)),
        Vec::new(),
    )
}

/// The answer if there is no such lock. `others` are the other locks of that environment.
pub fn render_not_locked(environment: &EnvironmentName, artefact: Option<&ArtefactName>, others: &[Lock]) -> Rendered {
    let text =
        Mrkdwn::new("There is nothing to unlock: ").append(&format_scope(environment, artefact)).raw(" is not locked.");
    let next = match others.first() {
        Some(other) => Mrkdwn::new("Next: ")
            .append(&format_lock_scope(other))
            .raw(" is. To end that: ")
            .code(&format_unlock_command(other)),
        None => Mrkdwn::new("Next: ").code("/gantry locks").raw(" shows what is locked."),
    };
    render_with_blocks(text, vec![context(next)])
}

pub fn render_locks(locks: &[Lock], environment: Option<&EnvironmentName>) -> Rendered {
    let Some(first) = locks.first() else {
        let text = match environment {
            Some(environment) => Mrkdwn::new("Nothing is locked in ").bold(environment.as_str()).raw("."),
            None => Mrkdwn::new("Nothing is locked."),
        };
        let next = Mrkdwn::new("To lock an environment: ").code("/gantry lock <environment> [for 2h] <reason>");
        return render_with_blocks(text, vec![context(next)]);
    };
    let count = locks.len();
    let head =
        Mrkdwn::default().plain(&format!("{count} {} in force:", if count == 1 { "lock is" } else { "locks are" }));
    let render_lock = |lock: &Lock| {
        let line = format_lock_scope(lock)
            .raw(" by ")
            .person(&lock.by)
            .append(&format_period(lock))
            .append(&format_reason(lock));
        section(line.raw(" To end it: ").code(&format_unlock_command(lock)))
    };
    let mut blocks: Vec<Block> = locks.iter().take(MAX_LOCKS).map(render_lock).collect();
    if count > MAX_LOCKS {
        let narrow = format!("/gantry locks {}", first.environment);
        let more =
            Mrkdwn::default().plain(&format!("and {} more; ", count - MAX_LOCKS)).code(&narrow).raw(" shows fewer");
        blocks.push(context(more));
    }
    render_with_blocks(head, blocks)
}

/// The answer to a click on the button of a lock that has ended.
pub fn render_lock_gone() -> Rendered {
    let text = Mrkdwn::new("This lock is not in force any more: it was ended or taken over since.");
    render_with_blocks(text, vec![context(Mrkdwn::new("Next: ").code("/gantry locks").raw(" shows what is locked."))])
}

pub fn render_already_yours(lock: &Lock) -> Rendered {
    let text = Mrkdwn::new("The lock on ").append(&format_lock_scope(lock)).raw(" is yours already.");
    render_with_blocks(text, vec![context(Mrkdwn::new("To end it: ").code(&format_unlock_command(lock)))])
}

/// The answer to a person without the right. `permitted` are the people that have it.
pub fn render_not_permitted(environment: &EnvironmentName, permitted: &[MemberLabel]) -> Rendered {
    let text =
        Mrkdwn::new("Only ").name_people(permitted).raw(" may lock and unlock ").bold(environment.as_str()).raw(".");
    render_with_blocks(text, vec![context(Mrkdwn::new("Next: ask one of them."))])
}

/// The answer if the right of the requester cannot be checked. The request is refused.
pub fn render_permission_unknown(environment: &EnvironmentName, reason: &str) -> Rendered {
    let text = Mrkdwn::default().plain(reason).raw(", so ").bold(environment.as_str()).raw(" stays as it is.");
    render_with_blocks(
        text,
        vec![context(Mrkdwn::new("Next: try again in a minute; if it stays so, ask whoever runs me."))],
    )
}

/// Asks the owner whether the lock is still needed.
pub fn render_reminder(lock: &Lock) -> Rendered {
    let text = Mrkdwn::new("You have locked ")
        .append(&format_lock_scope(lock))
        .append(&format_period(lock))
        .append(&format_reason(lock));
    let next = Mrkdwn::new("Is it still needed? To end it: ")
        .code(&format_unlock_command(lock))
        .raw(". Else I ask again tomorrow.");
    render_with_blocks(text, vec![context(next)])
}

pub(super) fn format_lock_scope(lock: &Lock) -> Mrkdwn {
    format_scope(&lock.environment, lock.artefact.as_ref())
}

fn format_scope(environment: &EnvironmentName, artefact: Option<&ArtefactName>) -> Mrkdwn {
    match artefact {
        Some(artefact) => Mrkdwn::default().bold(artefact.as_str()).raw(" in ").bold(environment.as_str()),
        None => Mrkdwn::default().bold(environment.as_str()),
    }
}

pub(super) fn format_period(lock: &Lock) -> Mrkdwn {
    let since = Mrkdwn::new(" since ").date_time(lock.since);
    match lock.until {
        Some(until) => since.raw(" until ").date_time(until),
        None => since,
    }
}

pub(super) fn format_reason(lock: &Lock) -> Mrkdwn {
    Mrkdwn::new(": ").plain(truncate_middle(&lock.reason, MAX_REASON).trim_end_matches('.')).raw(".")
}

pub(super) fn format_unlock_command(lock: &Lock) -> String {
    match &lock.artefact {
        Some(artefact) => format!("/gantry unlock {} {artefact}", lock.environment),
        None => format!("/gantry unlock {}", lock.environment),
    }
}

fn render_with_blocks(text: Mrkdwn, extra: Vec<Block>) -> Rendered {
    let mut blocks = vec![section(text.clone())];
    blocks.extend(extra);
    Rendered { text: text.into_string(), blocks }
}
