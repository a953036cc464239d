//! The diagnosis of a merged change that shows no progress: the last observations, and the next step.

use super::mrkdwn::{Mrkdwn, truncate_middle};
use crate::adapters::slack::render::progress::link_commit;
use crate::domain::change::plan::{Direction, GitWrite};
use crate::domain::change::{
    BranchFinding, BuildFinding, Change, ControllerMessage, DeployState, ImageFinding, ReportedOutcome, Stage,
    StallDiagnosis,
};

const MAX_TEXT: usize = 200;
const MAX_NAMES: usize = 5;

/// The text of the card while the change is deploying, and after it stalled.
pub(super) fn describe_stall(change: &Change) -> Option<Mrkdwn> {
    let (deploying, diagnosis) =
        change.stage.deploying().and_then(|deploying| Some((deploying, deploying.stall_diagnosis.as_deref()?)))?;
    let head = match &change.stage {
        Stage::Deploying(_) => {
            let merged = match (&change.plan.write, &change.plan.direction) {
                (GitWrite::Manifest { .. }, _) => ":warning: Written ",
                (GitWrite::Branch { .. }, Direction::Rollback(_)) => ":warning: Restored ",
                (GitWrite::Branch { .. }, Direction::Promotion) => ":warning: Merged ",
            };
            Mrkdwn::new(merged).date_time(deploying.merged_at).raw(", and no sign of life since. Last seen:")
        }
        _ => Mrkdwn::new("*Last seen:*"),
    };
    let text = describe_observations(change, deploying, diagnosis)
        .iter()
        .fold(head, |text, fact| text.raw("\n\u{2022} ").append(fact));
    Some(match &change.stage {
        Stage::Deploying(_) => text.raw("\n").raw(suggest_next_step(diagnosis)).raw(" I keep looking."),
        _ => text,
    })
}

fn describe_observations(change: &Change, deploying: &DeployState, diagnosis: &StallDiagnosis) -> Vec<Mrkdwn> {
    let plan = &change.plan;
    let branch = Mrkdwn::new("branch ").code(plan.write_target().1);
    let branch = match &diagnosis.branch {
        BranchFinding::AsMerged => {
            branch.raw(" is at ").append(&link_commit(plan, &deploying.result)).raw(", as merged")
        }
        // For delivery by manifest, many artefacts share the branch.
        BranchFinding::MovedOn { to } => branch.raw(" has moved on to ").append(&link_commit(plan, to)),
        BranchFinding::Gone => branch.raw(" is gone"),
        BranchFinding::Unread { why } => branch.raw(" cannot be read: ").append(&shorten_text(why)),
    };
    // A stalled change names the running version in another line.
    let given_up = !matches!(change.stage, Stage::Deploying(_));
    let runs = diagnosis.running_instead.as_ref().filter(|runs| runs.is_commit_unknown || !given_up).map(|runs| {
        let text = Mrkdwn::new("the cluster runs ").code(&truncate_middle(&runs.version, MAX_TEXT));
        if runs.is_commit_unknown { text.raw(", and nothing tells which commit that was built from") } else { text }
    });
    [
        Some(branch),
        describe_build(&diagnosis.build),
        describe_image(&diagnosis.image),
        diagnosis.last_report.as_ref().map(describe_controller_message),
        runs,
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn describe_build(build: &BuildFinding) -> Option<Mrkdwn> {
    let list_names = |names: &[String]| {
        let all = names.iter().take(MAX_NAMES).enumerate();
        let text = all.fold(
            Mrkdwn::new("CI: "),
            |text, (index, name)| {
                if index == 0 { text.code(name) } else { text.raw(", ").code(name) }
            },
        );
        match names.len().saturating_sub(MAX_NAMES) {
            0 => text,
            left => text.plain(&format!(" and {left} more")),
        }
    };
    let choose_plural =
        |names: &[String], one: &'static str, more: &'static str| if names.len() == 1 { one } else { more };
    Some(match build {
        BuildFinding::NotNeeded => return None,
        BuildFinding::NotBegun => {
            Mrkdwn::new("CI: nothing is known of this commit, it has not begun or does not tell GitHub")
        }
        BuildFinding::Running { names } => {
            list_names(names).raw(choose_plural(names, " is still running", " are still running"))
        }
        BuildFinding::Failed { names, url } => {
            let text = list_names(names).raw(" failed");
            match url {
                Some(url) => text.raw(" (").link(url, "see").raw(")"),
                None => text,
            }
        }
        BuildFinding::Done => Mrkdwn::new("CI: all is green"),
        BuildFinding::Unread { reason: why } => Mrkdwn::new("CI: cannot be asked: ").append(&shorten_text(why)),
    })
}

fn describe_image(image: &ImageFinding) -> Option<Mrkdwn> {
    Some(match image {
        ImageFinding::Present { tag } => {
            Mrkdwn::new("image: ").code(&truncate_middle(tag, MAX_TEXT)).raw(" is in the registry")
        }
        ImageFinding::Missing { name } => {
            Mrkdwn::new("image: the registry has none for ").code(&truncate_middle(name, MAX_TEXT)).raw(" yet")
        }
        ImageFinding::Unrecognisable => return None,
        ImageFinding::Unread { reason: why } => {
            Mrkdwn::new("image: the registry cannot be asked: ").append(&shorten_text(why))
        }
    })
}

fn describe_controller_message(message: &ControllerMessage) -> Mrkdwn {
    let text = Mrkdwn::default().plain(&message.sender).raw(" said ").date_time(message.at).raw(" that ");
    let text = match &message.commit {
        Some(commit) => text.code(commit.short()),
        None => text.raw("something"),
    };
    let text = text.raw(match message.outcome {
        ReportedOutcome::Succeeded => " is applied",
        ReportedOutcome::Failed => " failed",
        ReportedOutcome::Progressing => " is under way",
    });
    if message.text.trim().is_empty() { text } else { text.raw(": ").append(&shorten_text(&message.text)) }
}

fn shorten_text(text: &str) -> Mrkdwn {
    Mrkdwn::default().plain(truncate_middle(text.trim(), MAX_TEXT).trim_end_matches('.'))
}

/// Advice for the most likely cause.
fn suggest_next_step(diagnosis: &StallDiagnosis) -> &'static str {
    match (&diagnosis.build, &diagnosis.image) {
        (_, ImageFinding::Present { .. }) => "Next: look why the controller does not pick it up.",
        (BuildFinding::Failed { .. }, _) => "Next: run the build again, or push a repair and promote it.",
        (BuildFinding::Running { .. }, _) => "Next: wait for the build, or look what holds it up.",
        (BuildFinding::NotBegun, _) => "Next: look why CI does not build this commit.",
        (BuildFinding::NotNeeded, ImageFinding::Missing { .. }) => "Next: look why the image is gone, or *Roll back*.",
        _ if diagnosis.running_instead.as_ref().is_some_and(|runs| runs.is_commit_unknown) => {
            "Next: see whether that is it; only a controller's report could tell me."
        }
        _ => "Next: look at CI and at the controller.",
    }
}

#[cfg(test)]
mod tests;
