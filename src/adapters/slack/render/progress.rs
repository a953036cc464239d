//! The progress of a change: its steps in one line, each with its duration, and details below.

use jiff::Timestamp;

use super::blocks::{Block, section};
use super::mrkdwn::{Mrkdwn, format_elapsed, truncate_middle};
use crate::adapters::slack::render::approve;
use crate::domain::change::approval::ApprovalState;
use crate::domain::change::plan::{Direction, GitWrite, Plan};
use crate::domain::change::{
    Change, CoDeployedState, CoDeployedStatus, DeployState, Proof, ResultTag, RolloutProgress, Stage, TriggerOutcome,
};
use crate::domain::model::environment::PromotionMethod;
use crate::domain::model::version::Sha;

const MAX_REASON: usize = 600;

const DONE: &str = ":white_check_mark: ";
const NOW: &str = ":hourglass_flowing_sand: ";
const LATER: &str = ":white_circle: ";
const FAILED: &str = ":x: ";
const UNKNOWN: &str = ":grey_question: ";

/// The names of the steps: completed, and in progress.
struct ProgressLabels {
    merged: (&'static str, &'static str),
    built: (&'static str, &'static str),
}

impl ProgressLabels {
    fn from_plan(plan: &Plan) -> Self {
        // For delivery by manifest, the image exists already, and the change waits for the controller.
        match (&plan.write, &plan.direction) {
            (GitWrite::Manifest { .. }, _) => {
                Self { merged: ("written", "writing"), built: ("picked up", "to be picked up") }
            }
            (GitWrite::Branch { .. }, Direction::Rollback(_)) => {
                Self { merged: ("restored", "restoring"), built: ("built", "building") }
            }
            (GitWrite::Branch { .. }, Direction::Promotion) => {
                Self { merged: ("merged", "merging"), built: ("built", "building") }
            }
        }
    }
}

/// One line of steps.
#[derive(Default)]
struct ProgressBar(Vec<(&'static str, String)>);

impl ProgressBar {
    fn push_mark(mut self, mark: &'static str, text: impl Into<String>) -> Self {
        self.0.push((mark, text.into()));
        self
    }

    fn push_completed(self, name: &str, from: Timestamp, to: Timestamp) -> Self {
        self.push_mark(DONE, format!("{name} {}", format_elapsed(from, to)))
    }

    fn into_mrkdwn(self) -> Mrkdwn {
        let steps = self.0.iter().enumerate();
        steps.fold(Mrkdwn::default(), |text, (index, (mark, step))| {
            let text = if index == 0 { text } else { text.raw("  \u{203a}  ") };
            text.raw(mark).plain(step)
        })
    }
}

/// `None` for a change that ended before its merge.
pub(super) fn format_progress_bar(change: &Change) -> Option<Mrkdwn> {
    let names = ProgressLabels::from_plan(&change.plan);
    let bar = match &change.stage {
        Stage::AwaitingApproval(awaiting) => build_waiting_bar(change, awaiting).push_mark(LATER, names.merged.0),
        Stage::Merging(merging) => match &merging.awaiting {
            Some(awaiting) => build_approved_bar(change, awaiting).0.push_mark(NOW, names.merged.1),
            None => ProgressBar::default().push_mark(NOW, names.merged.1),
        },
        stage => return stage.deploying().map(|deploying| build_merged_bar(change, deploying, &names).into_mrkdwn()),
    };
    Some(bar.push_mark(LATER, names.built.0).push_mark(LATER, "rollout").push_mark(LATER, "running").into_mrkdwn())
}

fn build_waiting_bar(change: &Change, awaiting: &ApprovalState) -> ProgressBar {
    match awaiting.count_missing() {
        0 if awaiting.required == 0 => ProgressBar::default().push_mark(":raised_hand: ", "waiting for GitHub"),
        0 => build_approved_bar(change, awaiting).0,
        _ => ProgressBar::default().push_mark(":raised_hand: ", "waiting for approval"),
    }
}

/// The bar up to the approvals, and the time of the last approval.
fn build_approved_bar(change: &Change, awaiting: &ApprovalState) -> (ProgressBar, Timestamp) {
    build_bar_approved_at(change, awaiting.approvals.iter().map(|approval| approval.at).max())
}

fn build_bar_approved_at(change: &Change, last: Option<Timestamp>) -> (ProgressBar, Timestamp) {
    match last {
        Some(last) => (ProgressBar::default().push_completed("approved", change.began_at(), last), last),
        None => (ProgressBar::default(), change.began_at()),
    }
}

fn build_merged_bar(change: &Change, deploying: &DeployState, names: &ProgressLabels) -> ProgressBar {
    let (bar, since) = build_bar_approved_at(change, deploying.approved_at());
    let bar = bar.push_completed(names.merged.0, since, deploying.merged_at);
    let built_at = deploying.effective_built_at();
    let bar = match built_at {
        Some(built_at) => bar.push_completed(names.built.0, deploying.merged_at, built_at),
        None => bar,
    };
    let since = built_at.unwrap_or(deploying.merged_at);
    let format_rollout =
        |RolloutProgress { ready, wanted, .. }: &RolloutProgress| format!("rolling out {ready}/{wanted}");
    match &change.stage {
        Stage::Deployed { at, .. } => bar
            .push_completed("rolled out", since, *at)
            .push_mark(DONE, format!("running after {}", format_elapsed(change.began_at(), *at))),
        Stage::Failed { at, .. } => {
            let label = if deploying.seen_at.is_some() { "rollout failed" } else { "failed" };
            bar.push_mark(FAILED, format!("{label} after {}", format_elapsed(since, *at))).push_mark(LATER, "running")
        }
        Stage::Stalled { .. } => {
            let waited = format_elapsed(since, deploying.deadline);
            let bar = match (&deploying.rollout, deploying.seen_at) {
                (Some(progress), _) => bar.push_mark(UNKNOWN, format!("{} after {waited}", format_rollout(progress))),
                (None, Some(_)) => bar.push_mark(UNKNOWN, format!("not rolled out after {waited}")),
                (None, None) => bar.push_mark(UNKNOWN, format!("not seen after {waited}")),
            };
            bar.push_mark(LATER, "running")
        }
        _ => match (&deploying.rollout, deploying.seen_at) {
            (Some(progress), _) => bar.push_mark(NOW, format_rollout(progress)),
            (None, Some(_)) => bar.push_mark(NOW, "rolling out"),
            (None, None) if built_at.is_some() => bar.push_mark(NOW, "to be picked up"),
            (None, None) => bar.push_mark(NOW, names.built.1).push_mark(LATER, "rollout"),
        }
        .push_mark(LATER, "running"),
    }
}

/// The line of steps, and details about them.
pub(super) fn render_progress(change: &Change) -> Option<Block> {
    let bar = format_progress_bar(change)?;
    let Some(deploying) = change.stage.deploying() else { return Some(section(bar)) };
    let plan = &change.plan;
    let merged = match (&plan.write, &plan.direction) {
        (GitWrite::Manifest { file: manifest, .. }, _) => Mrkdwn::new("\nwritten to ").code(&manifest.file),
        (GitWrite::Branch { .. }, Direction::Rollback(_)) => Mrkdwn::new("\nrestored on ").code(&plan.branch),
        (GitWrite::Branch { .. }, Direction::Promotion) => Mrkdwn::new("\nmerged into ").code(&plan.branch),
    };
    let merged = merged.raw(" as ").append(&link_commit(plan, &deploying.result));
    let merged = match &deploying.merged_by {
        None => merged,
        Some(by) if by.is_empty() => merged.raw(" \u{b7} by hand"),
        Some(by) => merged.raw(" \u{b7} by hand, by ").code(by).raw(" on GitHub"),
    };
    let merged = match &deploying.tag {
        ResultTag::Created { name, .. } => merged.raw(" \u{b7} tagged ").code(name),
        ResultTag::Pending | ResultTag::Named { .. } | ResultTag::Failed { .. } => merged,
    };
    let merged = match &change.stage {
        Stage::Deployed { proof, .. } => merged.raw(" \u{b7} known by ").raw(match proof {
            Proof::TagPattern => "the image's tag",
            Proof::RevisionLabel => "the image's revision label",
            Proof::GitTag => "the Git tag of its name",
            Proof::Image => "its image",
            Proof::Report => "the controller's report",
        }),
        _ => merged,
    };
    let text = bar
        .append(&merged)
        .append(&warn_branch_moved(change, deploying))
        .append(&approve::list_approvals(&deploying.approvals));
    let text =
        if matches!(change.stage, Stage::Deploying(_)) { text.append(&warn_rollout_delayed(deploying)) } else { text };
    let text = text.append(&warn_tag_missing(deploying)).append(&warn_trigger_failed(deploying));
    Some(section(
        deploying.co_deployed.iter().fold(text, |text, other| text.raw("\n").append(&describe_co_deployed(other))),
    ))
}

/// GitHub guards the head of a merge, but not its base, so the branch can move at the last moment.
fn warn_branch_moved(change: &Change, deploying: &DeployState) -> Mrkdwn {
    match &deploying.unexpected_base {
        None => Mrkdwn::default(),
        Some(head) => Mrkdwn::new("\n:warning: ")
            .code(change.plan.write_target().1)
            .raw(" moved to ")
            .append(&link_commit(&change.plan, head))
            .raw(if change.plan.is_rollback() && change.plan.method == PromotionMethod::Merge {
                " at the last moment: what came with that is taken back as well"
            } else {
                " at the last moment: what came with that was not shown when this was approved"
            }),
    }
}

/// A commit of the repository that the change moved.
pub(super) fn link_commit(plan: &Plan, sha: &Sha) -> Mrkdwn {
    match plan.repository_url() {
        Some(repository) => Mrkdwn::default().link(&format!("{repository}/commit/{sha}"), sha.short()),
        None => Mrkdwn::default().code(sha.short()),
    }
}

/// An artefact that moves with the change.
fn describe_co_deployed(other: &CoDeployedStatus) -> Mrkdwn {
    let text = Mrkdwn::new(match other.state {
        CoDeployedState::Running { .. } => ":small_blue_diamond: ",
        CoDeployedState::RollingOut { .. } => NOW,
        CoDeployedState::Failed { .. } => FAILED,
        CoDeployedState::Unknown => UNKNOWN,
    });
    let text = text.bold(other.artefact.as_str());
    let text = match &other.version {
        Some(version) => text.raw(" ").code(version),
        None => text,
    };
    match &other.state {
        CoDeployedState::Running { ready } => text.plain(&format!(" runs, {ready} of {ready} ready")),
        CoDeployedState::RollingOut { ready, wanted } => text.plain(&format!(" rolls out, {ready} of {wanted} ready")),
        CoDeployedState::Failed { reason } => text.raw(" fails: ").plain(&truncate_middle(reason, MAX_REASON)),
        CoDeployedState::Unknown => text.raw(" is not seen"),
    }
}

/// A condition that the cluster may still overcome. It is shown as a warning, not as a failure.
fn warn_rollout_delayed(deploying: &DeployState) -> Mrkdwn {
    match deploying.rollout.as_ref().and_then(|progress| progress.delayed_by.as_deref()) {
        Some(reason) => Mrkdwn::new("\n:warning: the rollout is delayed: ").plain(&truncate_middle(reason, MAX_REASON)),
        None => Mrkdwn::default(),
    }
}

fn warn_tag_missing(deploying: &DeployState) -> Mrkdwn {
    match &deploying.tag {
        ResultTag::Failed { reason: why } => {
            Mrkdwn::new("\n:warning: not tagged: ").plain(&truncate_middle(why, MAX_REASON))
        }
        ResultTag::Pending | ResultTag::Named { .. } | ResultTag::Created { .. } => Mrkdwn::default(),
    }
}

fn warn_trigger_failed(deploying: &DeployState) -> Mrkdwn {
    match &deploying.trigger_outcome {
        Some(TriggerOutcome::Failed { why }) => {
            Mrkdwn::new("\n:warning: the controller could not be told, it looks by itself: ")
                .plain(&truncate_middle(why, MAX_REASON))
        }
        None | Some(TriggerOutcome::Done) => Mrkdwn::default(),
    }
}
