//! The timeline of a change: its events in the ledger with their times, and the duration of each step.

use jiff::Timestamp;

use super::blocks::{Block, section};
use super::mrkdwn::{Mrkdwn, format_elapsed, truncate_middle};
use crate::domain::change::approval::ApprovalPlatform;
use crate::domain::change::plan::{Direction, GitWrite};
use crate::domain::change::{Change, Stage};
use crate::domain::model::actor::Actor;
use crate::domain::view::history::ChangeEvent;

/// Oldest first, at most `max_lines` lines. If there are more events, those in the middle are left out.
pub(super) fn render_timeline(change: &Change, steps: &[ChangeEvent], max_lines: usize, now: Timestamp) -> Vec<Block> {
    let steps = merge_github_reviews(change, steps);
    let left_out = steps.len().saturating_sub(max_lines);
    let mut lines = Vec::new();
    let mut previous_at: Option<Timestamp> = None;
    for (index, step) in steps.iter().enumerate() {
        if index > 0 && index <= left_out {
            if index == 1 {
                lines.push(Mrkdwn::default().plain(&format!("\u{2022} {left_out} more are left out here")));
            }
        } else {
            lines.push(format_entry(change, step, previous_at));
        }
        previous_at = Some(step.at);
    }
    if let (Some(first), Some(last)) = (steps.first(), steps.last()) {
        lines.push(if change.stage.is_active() {
            Mrkdwn::new("So far ").plain(&format_elapsed(first.at, now))
        } else {
            Mrkdwn::new("In all ").plain(&format_elapsed(first.at, last.at))
        });
    }
    lines.chunks(12).map(|chunk| section(join_lines(chunk))).collect()
}

fn join_lines(lines: &[Mrkdwn]) -> Mrkdwn {
    let lines = lines.iter().enumerate();
    lines.fold(
        Mrkdwn::default(),
        |text, (index, line)| if index == 0 { text.append(line) } else { text.raw("\n").append(line) },
    )
}

/// Adds the reviews on GitHub, which are stored with the change and not in the ledger.
fn merge_github_reviews(change: &Change, steps: &[ChangeEvent]) -> Vec<ChangeEvent> {
    let approvals = match &change.stage {
        Stage::AwaitingApproval(awaiting) | Stage::Expired { awaiting, .. } => &awaiting.approvals[..],
        stage => stage.deploying().map_or(&[][..], |deploying| &deploying.approvals),
    };
    let reviews = approvals.iter().filter(|approval| approval.platform == ApprovalPlatform::Github).map(|approval| {
        ChangeEvent { at: approval.at, kind: "approved".to_owned(), by: Some(Actor::Person(approval.by.clone())) }
    });
    // Co-deployed artefacts have no lines of their own; the description of the change names them.
    let steps = steps.iter().filter(|step| step.kind != "carried").cloned();
    let mut all: Vec<ChangeEvent> = steps.chain(reviews).collect();
    all.sort_by_key(|step| step.at);
    all
}

fn format_entry(change: &Change, step: &ChangeEvent, previous_at: Option<Timestamp>) -> Mrkdwn {
    let plan = &change.plan;
    let text = Mrkdwn::new("\u{2022} ").date_time(step.at).raw(" ");
    let text = match step.kind.as_str() {
        "begun" => text.raw("asked for"),
        "retried" => text.raw("taken up again"),
        "overridden" => text.raw("gates overridden"),
        "awaiting_approval" => text.raw("waiting for approval"),
        "approved" => text.raw("approved"),
        "voided" => text.raw("made anew: approvals before do not count"),
        "merging" => text.raw("all that it waited for holds"),
        "deploying" => match (&plan.write, &plan.direction) {
            (GitWrite::Manifest { file: manifest, .. }, _) => {
                text.raw("written to ").code(&truncate_middle(&manifest.file, 80))
            }
            (GitWrite::Branch { .. }, Direction::Rollback(_)) => {
                text.raw("restored on ").code(&truncate_middle(&plan.branch, 80))
            }
            (GitWrite::Branch { .. }, Direction::Promotion) => {
                text.raw("merged into ").code(&truncate_middle(&plan.branch, 80))
            }
        },
        "deployed" => text.raw("seen running"),
        "failed" => text.raw("failed"),
        "stalled" => text.raw("no proof that it runs"),
        "conflicted" => text.raw("Git could not merge it"),
        "errored" => text.raw("could not be done"),
        "cancel_asked" => text.raw("asked to cancel"),
        "cancelled" => text.raw("cancelled"),
        "rejected" => text.raw("rejected"),
        "expired" => text.raw("given up, nobody decided in time"),
        "superseded" => text.raw("another change took its place"),
        "quarantined" => text.raw("what it took back is quarantined"),
        "released" => text.raw("what it took back is released"),
        // An event of another version of Gantry.
        other => text.plain(&truncate_middle(other, 40).replace('_', " ")),
    };
    let text = match &step.by {
        Some(Actor::Person(person)) => text.raw(" by ").person(person),
        Some(Actor::Github(login)) if !login.is_empty() => {
            text.raw(" by ").code(&truncate_middle(login, 40)).raw(" on GitHub")
        }
        Some(Actor::Github(_)) => text.raw(" on GitHub"),
        Some(Actor::Controller) | None => text,
    };
    match previous_at {
        Some(previous_at) => text.raw(" \u{b7} after ").plain(&format_elapsed(previous_at, step.at)),
        None => text,
    }
}
