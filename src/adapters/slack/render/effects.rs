//! The effects of a plan, for the requester and for the card: versions, commits, and everything that moves or is lost.

use super::blocks::{Block, section};
use super::commit_summary::{self, Authors};
use super::mrkdwn::{Mrkdwn, format_elapsed, truncate_middle};
use super::quarantine::describe_hold;
use super::{gate, lock};
use crate::domain::change::plan::{CoDeployed, Plan};
use crate::domain::model::environment::PromotionMethod;
use crate::domain::model::version::Version;
use crate::domain::rules::image_presence::ImagePresence;
use crate::domain::rules::lock::Lock;
use crate::domain::rules::rollback::{HealthyPeriod, RollbackEvidence};

const MAX_REASON: usize = 500;

/// The two versions, the commits between them, and the other artefacts that move.
pub(super) fn render_effects(plan: &Plan, max_commits: usize) -> Vec<Block> {
    if plan.is_rollback() {
        return render_rollback_effects(plan, max_commits);
    }
    let from = match &plan.from {
        Some(from) => Mrkdwn::default().code(from.label()),
        None => Mrkdwn::new("nothing yet: this is its first deployment there"),
    };
    let line = from
        .raw(" \u{2192} ")
        .code(plan.version.label())
        .raw(", ")
        .append(&match plan.pinned_commit() {
            Some(pinned) => Mrkdwn::new("commit ").code(pinned.short()),
            None => Mrkdwn::new("of a commit that nothing tells,"),
        })
        .raw(" as it runs in ")
        .plain(plan.seen_in.as_str());
    let line = match &plan.drift.url {
        Some(url) => line.raw(" \u{b7} ").link(url, "compare"),
        None => line,
    };
    let line = line.append(&describe_evidence(plan));
    // For delivery by manifest, the commits between two images may be unknown.
    let line = if plan.drift.commits_in_all > 0 && !plan.drift.commits.is_empty() {
        line.raw("\n").append(&commit_summary::format_commits(&plan.drift, max_commits, &Authors::new()))
    } else {
        line
    };
    let line = match commit_summary::format_file_count(&plan.drift.files) {
        Some(files) => line.raw("\n").append(&files),
        None => line,
    };
    let mut blocks = vec![section(line)];
    blocks.extend(plan.holds_to_lift.iter().map(|hold| section(describe_hold(hold))));
    if let Some((first, rest)) = plan.rollbacks_to_undo.split_first() {
        let text = Mrkdwn::new(":leftwards_arrow_with_hook: Undoes the rollback ").code(&first.to_short_id());
        let text = rest.iter().fold(text, |text, id| text.raw(" and ").code(&id.to_short_id()));
        blocks.push(section(text.raw(": what it took away comes back with this")));
    }
    blocks.extend(render_image_warning(plan));
    if !plan.drift.hotfixes.is_empty() {
        let count = plan.drift.hotfixes_in_all;
        let head = Mrkdwn::new(":warning: ");
        let head = match (plan.manifest_file(), count) {
            // An image replaces the other image completely.
            (Some(_), 1) => head.raw("1 commit that runs there is not in it, and is lost by it"),
            (Some(_), _) => head.plain(&format!("{count} commits that run there are not in it, and are lost by it")),
            (None, 1) => head.raw("1 hotfix is only in ").code(&plan.branch).raw(": it stays there, and is not below"),
            (None, _) => head
                .plain(&format!("{count} hotfixes are only in "))
                .code(&plan.branch)
                .raw(": they stay there, and are not below"),
        };
        blocks.push(section(commit_summary::format_hotfixes(head, &plan.drift, max_commits, &Authors::new())));
    }
    if let Some(overridden) = &plan.gate_override {
        blocks.push(section(gate::format_override_line(overridden)));
    }
    blocks.extend(render_co_deployed(plan));
    blocks
}

/// The other artefacts that move with the requested one.
pub(super) fn render_co_deployed(plan: &Plan) -> Option<Block> {
    let (first, rest) = plan.co_deployed.split_first()?;
    let format_artefact = |also: &CoDeployed| {
        let name = Mrkdwn::default().bold(also.artefact.as_str());
        if also.changes { name } else { name.raw(" (only built anew)") }
    };
    let head = Mrkdwn::new(":twisted_rightwards_arrows: Moves as well, as it is in the same repository: ");
    Some(section(
        rest.iter()
            .fold(head.append(&format_artefact(first)), |text, also| text.raw(", ").append(&format_artefact(also))),
    ))
}

/// The evidence for a version: its time without failure in the environment below, and the results of CI.
fn describe_evidence(plan: &Plan) -> Mrkdwn {
    let text = match plan.healthy_since {
        Some(since) => Mrkdwn::new("\nruns well in ").plain(plan.seen_in.as_str()).raw(" since ").date_time(since),
        None => return Mrkdwn::default(),
    };
    match plan.green_checks {
        0 => text,
        1 => text.raw(" \u{b7} 1 check is green"),
        count => text.plain(&format!(" \u{b7} {count} checks are green")),
    }
}

/// The two versions of a rollback, the source of the older one, and the other artefacts that move.
pub(super) fn render_rollback_effects(plan: &Plan, max_commits: usize) -> Vec<Block> {
    let Some(rollback) = plan.rollback_details() else { return Vec::new() };
    let from = plan.from.as_ref().map_or("unknown", Version::label);
    let line = Mrkdwn::default().code(from).raw(" \u{2192} ").code(plan.version.label());
    let line = match plan.pinned_commit() {
        Some(commit) => line.raw(", commit ").code(commit.short()),
        None => line,
    };
    let line = match &plan.drift.url {
        Some(url) => line.raw(" \u{b7} ").link(url, "compare"),
        None => line,
    };
    let mut blocks =
        vec![section(line.raw("\n").append(&describe_how_found(plan, rollback.evidence, rollback.healthy_period)))];
    if let Some(reason) = &rollback.reason {
        blocks.push(section(Mrkdwn::new("*Reason:* ").plain(&truncate_middle(reason, MAX_REASON))));
    }
    blocks.push(section(match plan.drift.commits_in_all {
        0 if plan.drift.url.is_some() => Mrkdwn::new("*Lost by it:* no commit, only merges"),
        0 => Mrkdwn::new("What is lost by it cannot be told: the commits are not known."),
        _ => Mrkdwn::new("*Lost by it:* ").append(&commit_summary::format_commits(
            &plan.drift,
            max_commits,
            &Authors::new(),
        )),
    }));
    blocks.extend(render_image_warning(plan));
    blocks.extend(rollback.locks.iter().map(|lock| section(describe_bypassed_lock(lock))));
    blocks.extend(render_co_deployed(plan));
    blocks
}

fn describe_how_found(plan: &Plan, found: RollbackEvidence, ran: Option<HealthyPeriod>) -> Mrkdwn {
    match (found, ran) {
        (RollbackEvidence::Ledger, Some(HealthyPeriod { since, until })) => {
            let text = Mrkdwn::new("I saw it run well there from ").date_time(since);
            match until {
                Some(until) => {
                    text.raw(" to ").date_time(until).plain(&format!(", for {}", format_elapsed(since, until)))
                }
                None => text.raw(", and it still does: what was merged since has not arrived"),
            }
        }
        (RollbackEvidence::Ledger, None) => Mrkdwn::new("I saw it run well there"),
        (RollbackEvidence::Git, _) if plan.manifest_file().is_some() => {
            Mrkdwn::new("The manifest named it before. I have not seen it run there myself")
        }
        (RollbackEvidence::Git, _) => Mrkdwn::new("The branch stood there before. I have not seen it run there myself"),
        (RollbackEvidence::Cluster, _) => {
            Mrkdwn::new("The cluster remembers that it ran there before. I have not seen it run well myself")
        }
        (RollbackEvidence::Registry, _) => Mrkdwn::new(
            ":warning: A guess: it is the tag before the current one in the registry. Nobody has seen it run there",
        ),
    }
}

/// A warning if the image may be missing in the registry.
pub(super) fn render_image_warning(plan: &Plan) -> Option<Block> {
    match &plan.image {
        ImagePresence::Missing => Some(section(Mrkdwn::new(
            ":warning: Its old image is not in the registry any more. That does no harm: CI builds its code anew.",
        ))),
        ImagePresence::Unknown { reason: why } if plan.manifest_file().is_some() => Some(section(
            Mrkdwn::new(":warning: I cannot tell whether its image is still there: ")
                .plain(truncate_middle(why, MAX_REASON).trim_end_matches('.'))
                .raw(". If it is not, nothing will start. Confirm only if you know that it is there."),
        )),
        // For delivery by branch, CI builds a new image anyway.
        ImagePresence::Present | ImagePresence::Unknown { .. } => None,
    }
}

fn describe_bypassed_lock(lock: &Lock) -> Mrkdwn {
    Mrkdwn::new(":lock: ")
        .bold(lock.environment.as_str())
        .raw(" is locked by ")
        .person(&lock.by)
        .append(&lock::format_period(lock))
        .append(&lock::format_reason(lock))
        .raw(" A rollback passes it, and its owner is told.")
}

/// The change that this plan supersedes.
pub(super) fn render_superseded_change(plan: &Plan) -> Option<Block> {
    let waiting = plan.supersedes.as_ref()?;
    let text = Mrkdwn::new(":warning: This takes the place of ")
        .code(waiting.version.label())
        .raw(", which ")
        .person(&waiting.requester);
    Some(section(if waiting.merged {
        text.raw(" promoted and which rolls out since ").date_time(waiting.since)
    } else {
        let by_pull = plan.method == PromotionMethod::PullRequest;
        text.raw(" asked for and which waits for approval since ").date_time(waiting.since).raw(if by_pull {
            ": its pull request is closed"
        } else {
            ""
        })
    }))
}
