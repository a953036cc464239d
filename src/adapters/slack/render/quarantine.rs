//! Texts about the quarantines and holds that a rollback leaves.

use super::mrkdwn::{Mrkdwn, truncate_middle};
use crate::domain::model::actor::PersonId;
use crate::domain::rules::quarantine::{Hold, Quarantine};

const MAX_REASON: usize = 500;

/// The hold of a rollback, for the plan of the next promotion.
pub(super) fn describe_hold(hold: &Hold) -> Mrkdwn {
    let text = Mrkdwn::new(":warning: ").bold(hold.environment.as_str()).raw(" is on hold: ");
    let text = append_actor(text, hold.by.as_ref()).raw(" rolled ");
    let text = match &hold.from {
        Some(from) => text.code(from.label()).raw(" back "),
        None => text.raw("it back "),
    };
    let text = text.date_time(hold.at);
    let text = match &hold.reason {
        Some(reason) => text.raw(": ").plain(truncate_middle(reason, MAX_REASON).trim_end_matches('.')),
        None => text,
    };
    text.raw(". Your yes lifts the hold")
}

fn append_actor(text: Mrkdwn, by: Option<&PersonId>) -> Mrkdwn {
    match by {
        Some(by) => text.person(by),
        None => text.raw("I, by the rule of that environment,"),
    }
}

/// The reason why a version is quarantined.
pub(super) fn describe_quarantine(quarantine: &Quarantine) -> Mrkdwn {
    let text = append_actor(Mrkdwn::default(), quarantine.by.as_ref())
        .raw(" rolled it back in ")
        .bold(quarantine.environment.as_str())
        .raw(" ")
        .date_time(quarantine.at);
    match &quarantine.reason {
        Some(reason) => text.raw(": ").plain(truncate_middle(reason, MAX_REASON).trim_end_matches('.')),
        None => text.raw(", without a reason"),
    }
}
