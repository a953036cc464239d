//! The card of a change: its effects, its progress and the next step. Rendered from the change alone.

pub use super::approve::CANCEL;
use super::blocks::{Block, actions, button, context, section};
use super::effects::render_effects;
use super::headline::{format_headline, pick_stage_emoji};
use super::mrkdwn::{Mrkdwn, format_elapsed, truncate_middle};
use super::{Rendered, rollback};
use crate::adapters::slack::render::commit_summary::{Authors, MAX_COMMITS, format_commit_lines};
use crate::adapters::slack::render::{approve, progress, stall_diagnosis};
use crate::domain::change::approval::ApprovalState;
use crate::domain::change::{CancelledBy, Change, DeployState, MergeState, RollbackStatus, Stage};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Commit;

pub const RETRY: &str = "change_retry";

const MAX_REASON: usize = 600;
const MAX_FILES: usize = 10;

/// `next` is the next environment of the ladder.
pub fn render_card(change: &Change, next: Option<&EnvironmentName>) -> Rendered {
    let head = format_headline(change);
    let mut blocks = vec![section(Mrkdwn::new(pick_stage_emoji(&change.stage)).append(&head))];
    blocks.extend(progress::render_progress(change));
    if let Stage::AwaitingApproval(awaiting) = &change.stage {
        blocks.extend(approve::render_waiting(change, awaiting));
    }
    blocks.extend(render_effects(&change.plan, MAX_COMMITS));
    blocks.extend(render_problem(change));
    blocks.extend(stall_diagnosis::describe_stall(change).map(section));
    blocks.extend(suggest_next_step(change, next).map(context));
    blocks.extend(render_buttons(change));
    let requested_by = Mrkdwn::new("asked by ");
    let requested_by = match change.plan.rollback_details() {
        // An automatic rollback was requested by no person; the requester of the promotion is notified.
        Some(rollback) if rollback.automatic => requested_by
            .raw("the rule of ")
            .bold(change.plan.environment.as_str())
            .raw(", for ")
            .person(&change.requester),
        _ => requested_by.person(&change.requester),
    };
    blocks.push(context(
        requested_by
            .raw(" \u{b7} ")
            .date_time(change.requested_at)
            .raw(" \u{b7} change ")
            .code(&change.id.to_short_id()),
    ));
    Rendered { text: head.into_string(), blocks }
}

/// All commits for the thread, if the card shows only some of them.
pub fn render_all_commits(change: &Change) -> Option<Rendered> {
    let plan = &change.plan;
    if plan.drift.commits.len() <= MAX_COMMITS {
        return None;
    }
    let (shown, all) = (plan.drift.commits.iter().map(Commit::count_commits).sum(), plan.drift.commits_in_all);
    let description = if plan.is_rollback() { "that are lost by this rollback" } else { "of this change" };
    let text = if all > shown {
        format!("The newest {shown} of {all} commits {description}")
    } else {
        format!("All {all} commits {description}")
    };
    let mut blocks = vec![section(Mrkdwn::default().plain(&text).raw(":"))];
    blocks.extend(
        plan.drift.commits.chunks(MAX_COMMITS).map(|chunk| section(format_commit_lines(chunk, &Authors::new()))),
    );
    Some(Rendered { text, blocks })
}

/// Posted in the thread at the end. Mentions the requester, and after a failure once the authors. After a failure it
/// has a rollback button. `before` is the previous stage.
pub fn render_outcome(change: &Change, before: &Stage) -> Rendered {
    let text = Mrkdwn::default().person(&change.requester).raw(" ");
    let text = if change.stage.is_recovery(before) { text.raw("It runs after all. ") } else { text };
    let text = text.append(&format_headline(change)).raw(".").append(&mention_authors(&change.stage, before));
    let mut blocks = vec![section(text.clone())];
    if change.stage.is_watched() {
        blocks.extend(render_problem(change));
        blocks.extend(render_buttons(change));
    }
    Rendered { text: text.into_string(), blocks }
}

/// For subscribed channels: the state of the change and a link to its card. Mentions no person.
pub fn render_subscriber_card(change: &Change) -> Rendered {
    let head = format_headline(change);
    let mut blocks = vec![section(Mrkdwn::new(pick_stage_emoji(&change.stage)).append(&head))];
    blocks.extend(render_problem(change));
    let link = Mrkdwn::new("<{link}|The card> follows it.");
    let also = &change.plan.co_deployed;
    blocks.push(context(match also.split_first() {
        None => link,
        Some((first, rest)) => {
            let text = link.raw(" Along with it moves ").bold(first.artefact.as_str());
            let text =
                rest.iter().take(MAX_COMMITS).fold(text, |text, also| text.raw(", ").bold(also.artefact.as_str()));
            match rest.len().saturating_sub(MAX_COMMITS) {
                0 => text.raw("."),
                left => text.plain(&format!(" and {left} more.")),
            }
        }
    }));
    Rendered { text: head.into_string(), blocks }
}

/// The state of the change in one sentence, for the thread in a subscribed channel.
pub fn render_subscriber_update(change: &Change) -> Rendered {
    let text = Mrkdwn::new(pick_stage_emoji(&change.stage)).append(&format_headline(change)).raw(".");
    Rendered { text: text.clone().into_string(), blocks: vec![section(text)] }
}

/// The authors, only at the first failure, so that they are not notified twice.
fn mention_authors(stage: &Stage, before: &Stage) -> Mrkdwn {
    let has_authors = |stage: &Stage| stage.deploying().is_some_and(|deploying| deploying.notified_authors.is_some());
    let authors = stage.deploying().and_then(|deploying| deploying.notified_authors.as_deref()).unwrap_or_default();
    if has_authors(before) || authors.is_empty() {
        return Mrkdwn::default();
    }
    let text = authors.iter().fold(Mrkdwn::new(" Written by"), |text, author| text.raw(" ").person(author));
    text.raw(".")
}

/// The reason for a delay or for the end of the change.
fn render_problem(change: &Change) -> Option<Block> {
    let describe_reason = |text: &str| Mrkdwn::new("*Why:* ").plain(&truncate_middle(text, MAX_REASON));
    let describe_trouble =
        |text: &str| Mrkdwn::new(":warning: ").plain(&truncate_middle(text, MAX_REASON)).raw(" I keep trying.");
    match &change.stage {
        Stage::Merging(MergeState { retry: Some(trouble), .. })
        | Stage::AwaitingApproval(ApprovalState { retry: Some(trouble), .. })
        | Stage::Deploying(DeployState { retry: Some(trouble), .. }) => {
            Some(section(describe_trouble(&trouble.reason)))
        }
        Stage::Failed { reason, deploying, .. } if change.plan.is_rollback() => {
            let text = describe_reason(reason);
            Some(section(match &deploying.running_label {
                Some(runs) => {
                    text.raw("\n*Now:* the cluster is told to run ").code(runs).raw(", and that does not run well.")
                }
                None => text.raw("\n*Now:* nothing of it runs."),
            }))
        }
        Stage::Failed { reason, .. } | Stage::Rejected { reason, .. } => Some(section(describe_reason(reason))),
        Stage::Errored { reason: error, .. } => Some(section(describe_reason(error))),
        Stage::Stalled { runs, deploying, .. } => {
            let waited = format_elapsed(deploying.merged_at, deploying.deadline);
            let text = match runs {
                Some(runs) => format!("After {waited} the cluster runs {runs}."),
                None => format!("After {waited} nothing of it runs in the cluster."),
            };
            Some(section(describe_reason(&text)))
        }
        Stage::Conflicted { files, .. } => {
            let text = Mrkdwn::new("*Why:* both sides changed ");
            let text = match files.split_first() {
                None => text.raw("the same place."),
                Some((first, rest)) => {
                    let shown = rest.iter().take(MAX_FILES - 1);
                    let all = shown.fold(text.code(first), |text, file| text.raw(", ").code(file));
                    match files.len().saturating_sub(MAX_FILES) {
                        0 => all.raw("."),
                        left => all.plain(&format!(" and {left} more.")),
                    }
                }
            };
            Some(section(text))
        }
        Stage::Expired { awaiting, .. } => {
            let text = Mrkdwn::new("*Why:* after ").plain(&format_elapsed(awaiting.since, awaiting.deadline));
            Some(section(match awaiting.count_missing() {
                0 => text.raw(" it still could not be merged."),
                missing => text.plain(&format!(" {missing} of {} approvals were still missing.", awaiting.required)),
            }))
        }
        Stage::AwaitingApproval(_)
        | Stage::Merging(_)
        | Stage::Deploying(_)
        | Stage::Deployed { .. }
        | Stage::Cancelled { .. }
        | Stage::Superseded { .. } => None,
    }
}

pub(super) fn suggest_next_step(change: &Change, next: Option<&EnvironmentName>) -> Option<Mrkdwn> {
    let plan = &change.plan;
    let (artefact, environment, branch) = (&plan.artefact, &plan.environment, &plan.branch);
    if let Some(deploying) = change.stage.deploying()
        && let Some(rollback_outcome) = describe_rollback_outcome(deploying)
    {
        return Some(rollback_outcome);
    }
    if plan.is_rollback() {
        return suggest_after_rollback(change);
    }
    let command = format!("/promote {artefact} {environment}");
    Some(match &change.stage {
        Stage::Deployed { .. } => Mrkdwn::new("Next: ").code(&format!("/promote {artefact} {}", next?)),
        Stage::Failed { .. } => Mrkdwn::new(
            "Next: *Roll back*, or push a repair and promote it. It is still watched: should it come to run, this turns green.",
        ),
        Stage::Stalled { .. } => Mrkdwn::new(
            "Next: look at CI and at the controller, or *Roll back*. It is still watched: should it come to run, this turns green.",
        ),
        Stage::Conflicted { .. } => Mrkdwn::new("Next: merge ")
            .code(branch)
            .raw(" into what is to be promoted, resolve it there and push; once that runs in ")
            .plain(plan.seen_in.as_str())
            .raw(", ")
            .code(&command),
        Stage::Errored { .. } => {
            Mrkdwn::new("Next: once that is repaired, ").code(&command).raw(" goes on from there.")
        }
        Stage::Cancelled { by: CancelledBy::Person(by), .. } => {
            Mrkdwn::new("Cancelled by ").person(by).raw("; nothing was merged. Again: ").code(&command)
        }
        Stage::Cancelled { by: CancelledBy::Github { .. }, .. } => {
            Mrkdwn::new("Its pull request was closed on GitHub; nothing was merged. Again: ").code(&command)
        }
        Stage::Rejected { by, .. } => {
            Mrkdwn::new("Rejected by ").person(by).raw("; nothing was merged. Once that is settled: ").code(&command)
        }
        Stage::Expired { .. } => Mrkdwn::new("Nothing was merged. Again: ").code(&command),
        Stage::Superseded { by, deploying: Some(_), .. } => {
            Mrkdwn::new("It was merged, and is taken back by change ").code(&by.to_short_id())
        }
        Stage::Superseded { by, .. } => {
            Mrkdwn::new("Nothing was merged. It goes on as change ").code(&by.to_short_id())
        }
        Stage::AwaitingApproval(_) | Stage::Merging(_) | Stage::Deploying(_) => return None,
    })
}

/// The rollback of a promotion after its end.
fn describe_rollback_outcome(deploying: &DeployState) -> Option<Mrkdwn> {
    Some(match deploying.rolled_back.as_ref()? {
        RollbackStatus::Done { by, at } => Mrkdwn::new(":leftwards_arrow_with_hook: Rolled back ")
            .date_time(*at)
            .raw(" by change ")
            .code(&by.to_short_id()),
        RollbackStatus::Begun { by } => {
            Mrkdwn::new(":leftwards_arrow_with_hook: I roll it back, as the environment's rule says: change ")
                .code(&by.to_short_id())
        }
        RollbackStatus::Impossible { why } => {
            Mrkdwn::new(":warning: The environment's rule says to roll it back, but I cannot: ")
                .plain(truncate_middle(why, MAX_REASON).trim_end_matches('.'))
                .raw(". Next: *Roll back* yourself, choose *Another version*, or push a repair and promote it.")
        }
    })
}

fn suggest_after_rollback(change: &Change) -> Option<Mrkdwn> {
    let plan = &change.plan;
    let (artefact, environment) = (&plan.artefact, &plan.environment);
    let command = format!("/rollback {artefact} {environment}");
    let from = plan.from.as_ref().map_or("it", |from| from.label());
    Some(match &change.stage {
        Stage::Deployed { .. } => Mrkdwn::new("Quarantined: ")
            .code(from)
            .raw(" does not come back here or above before ")
            .code(&format!("/gantry release {artefact} {from}"))
            .raw(". The next promotion asks once more."),
        Stage::Failed { .. } => {
            let next = Mrkdwn::new("Next: choose *Another version*, or repair it by a push");
            let next = match plan.manifest_file() {
                Some(_) => next.raw(" and a promotion"),
                None => next.raw(" to ").code(&plan.branch),
            };
            next.raw(". It is still watched: should it come to run, this turns green.")
        }
        Stage::Stalled { .. } => Mrkdwn::new(
            "Next: look at CI and at the controller. It is still watched: should it come to run, this turns green.",
        ),
        Stage::Errored { .. } | Stage::Conflicted { .. } => {
            Mrkdwn::new("Next: once that is repaired, ").code(&command).raw(" goes on from there.")
        }
        Stage::Cancelled { by: CancelledBy::Person(by), .. } => {
            Mrkdwn::new("Cancelled by ").person(by).raw("; nothing was taken back. Again: ").code(&command)
        }
        Stage::Cancelled { by: CancelledBy::Github { .. }, .. } => {
            Mrkdwn::new("Its pull request was closed on GitHub; nothing was taken back. Again: ").code(&command)
        }
        Stage::Rejected { by, .. } => {
            Mrkdwn::new("Rejected by ").person(by).raw("; nothing was taken back. Again: ").code(&command)
        }
        Stage::Expired { .. } => Mrkdwn::new("Nothing was taken back. Again: ").code(&command),
        Stage::Superseded { by, .. } => Mrkdwn::new("It goes on as change ").code(&by.to_short_id()),
        Stage::AwaitingApproval(_) | Stage::Merging(_) | Stage::Deploying(_) => return None,
    })
}

fn render_buttons(change: &Change) -> Option<Block> {
    match &change.stage {
        Stage::AwaitingApproval(awaiting) => Some(approve::render_buttons(change, awaiting)),
        // Only with a problem; otherwise the merge is too fast for a click.
        Stage::Merging(MergeState { retry: Some(_), .. }) => {
            Some(actions(vec![button("Cancel", CANCEL, change.id.to_string())]))
        }
        Stage::Errored { .. } => {
            let label = if change.plan.is_rollback() { "Roll back" } else { "Promote" };
            Some(actions(vec![button(label, RETRY, change.id.to_string())]))
        }
        stage => {
            let deploying = stage.deploying()?;
            let failed = stage.is_watched();
            match (change.plan.rollback_details(), &deploying.rolled_back) {
                // A rollback has begun or is done.
                (_, Some(RollbackStatus::Done { .. } | RollbackStatus::Begun { .. })) => None,
                (Some(_), _) if failed => Some(actions(vec![rollback::build_other_version_button(&change.plan)])),
                (Some(_), _) => None,
                // A person may be able to do the rollback that the rule could not do.
                (None, Some(RollbackStatus::Impossible { .. }) | None) if failed => Some(actions(vec![
                    rollback::build_rollback_button(change),
                    rollback::build_other_version_button(&change.plan),
                ])),
                (None, _) => Some(actions(vec![rollback::build_rollback_button(change)])),
            }
        }
    }
}

#[cfg(test)]
mod tests;
