//! Texts about overridden gates.

use super::Rendered;
use super::blocks::section;
use super::mrkdwn::{Mrkdwn, truncate_middle};
use crate::domain::change::plan::Plan;
use crate::domain::rules::gate::{Gate, GateOverride};

const MAX_REASON: usize = 500;

/// Posted in the channel: the overridden gates, the person, and the reason.
pub fn render_override_announcement(plan: &Plan, overridden: &GateOverride) -> Rendered {
    let text = Mrkdwn::new(":rotating_light: ")
        .person(&overridden.by)
        .raw(" promotes ")
        .bold(plan.artefact.as_str())
        .raw(" ")
        .code(plan.version.label())
        .raw(" to ")
        .bold(plan.environment.as_str())
        .raw(" and ")
        .append(&describe_override(overridden))
        .raw(".");
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text)] }
}

/// The line for plans and cards.
pub(super) fn format_override_line(overridden: &GateOverride) -> Mrkdwn {
    Mrkdwn::new(":rotating_light: ").person(&overridden.by).raw(" ").append(&describe_override(overridden))
}

fn describe_override(overridden: &GateOverride) -> Mrkdwn {
    let mut text = Mrkdwn::new("overrides ");
    for (index, gate) in overridden.gates.iter().enumerate() {
        text = if index > 0 { text.raw(", ") } else { text };
        text = match gate {
            Gate::Lock { by, .. } => text.raw("the lock of ").person(by),
            Gate::Freeze => text.raw("the freeze"),
            Gate::Soak => text.raw("the soak"),
            Gate::Checks => text.raw("the checks"),
            Gate::Quarantine { .. } => text.raw("the quarantine"),
        };
    }
    text.raw(": ").plain(truncate_middle(&overridden.reason, MAX_REASON).trim_end_matches('.'))
}
