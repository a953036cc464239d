//! The buttons under a refusal, which can resolve it with one click.

use super::approve::ApprovalSubject;
use super::blocks::{Button, ConfirmDialog, button};
use super::command_button::{build_command_button, escape_argument};
use super::mrkdwn::{Mrkdwn, truncate_middle};
use super::{approve, card, lock, rollback};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::rules::conflict::AskerRole;
use crate::domain::rules::conflict::ChangeInProgress;
use crate::domain::rules::quarantine::Quarantine;
use crate::domain::rules::refusal::Refusal;

pub(super) fn build_buttons(refusal: &Refusal) -> Vec<Button> {
    match refusal {
        Refusal::Locked { lock, .. } => vec![lock::build_take_over_button(lock)],
        Refusal::Quarantined { artefact, quarantine, by_rollback: false, .. } => {
            vec![build_release_button(artefact, quarantine)]
        }
        Refusal::Unhealthy { artefact, below, can_roll_back: true, .. } => vec![build_rollback_button(artefact, below)],
        Refusal::ChangeInProgress(under_way) => build_decision_buttons(under_way),
        _ => Vec::new(),
    }
}

fn build_release_button(artefact: &ArtefactName, quarantine: &Quarantine) -> Button {
    let label = quarantine.version.label();
    let text = Mrkdwn::default()
        .bold(artefact.as_str())
        .raw(" ")
        .code(&truncate_middle(label, 80))
        .raw(" may come back to ")
        .bold(quarantine.environment.as_str())
        .raw(" and above.");
    let confirm = ConfirmDialog { title: "Let it come back?", text, confirm_label: "Release", deny_label: "Back" };
    build_command_button("Release", format!("release {artefact} @{}", escape_argument(label))).with_confirm(confirm)
}

/// Rolls back the unhealthy version.
fn build_rollback_button(artefact: &ArtefactName, environment: &EnvironmentName) -> Button {
    let text = Mrkdwn::default()
        .bold(artefact.as_str())
        .raw(" goes back to what ran well in ")
        .bold(environment.as_str())
        .raw(" before.");
    let confirm = ConfirmDialog { title: "Roll this back?", text, confirm_label: "Roll back", deny_label: "Back" };
    build_command_button("Roll back", rollback::format_command(artefact, environment, None, None))
        .danger()
        .with_confirm(confirm)
}

/// The decisions about the change in progress that the asker may make.
fn build_decision_buttons(under_way: &ChangeInProgress) -> Vec<Button> {
    let approve = under_way
        .awaiting_approval
        .as_deref()
        .filter(|approval| under_way.asker_role == AskerRole::Approver && approval.missing > 0)
        .map(|approval| ApprovalSubject::from_pending(under_way, approval))
        .and_then(|change| Some(approve::build_approve_button(&change, change.encode_button_value()?)));
    let cancel = (under_way.can_cancel && under_way.asker_role != AskerRole::Other).then(|| {
        let text = Mrkdwn::default()
            .raw("What ")
            .person(&under_way.requester)
            .raw(" asked for does not happen in ")
            .bold(under_way.environment.as_str())
            .raw(".");
        let confirm =
            ConfirmDialog { title: "Cancel this change?", text, confirm_label: "Cancel it", deny_label: "Back" };
        button("Cancel", card::CANCEL, under_way.id.to_string()).with_confirm(confirm)
    });
    approve.into_iter().chain(cancel).collect()
}
