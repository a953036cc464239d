//! What a promotion would do, for the one who asked; and the part of it that the card repeats.

use super::blocks::{Block, actions, button, context, section};
use super::mrkdwn::Mrkdwn;
use super::{Rendered, gate, rollback};
use crate::adapters::slack::render::commit_summary;
use crate::adapters::slack::render::commit_summary::{Authors, MAX_COMMITS};
use crate::domain::change::ChangeId;
use crate::domain::change::plan::Plan;
use crate::domain::model::environment::{EnvironmentName, PromotionMethod};

pub const CONFIRM: &str = "plan_confirm";
pub const CANCEL: &str = "plan_cancel";

/// The plan of a dry run: nothing happens.
pub fn render_dry_run(plan: &Plan, others: &[EnvironmentName]) -> Rendered {
    let (artefact, environment) = (&plan.artefact, &plan.environment);
    let next = Mrkdwn::new("Nothing was done. To do it: ").code(&format!("/promote {artefact} {environment}"));
    let mut rendered = render_plan(plan, others);
    rendered.blocks.push(context(next));
    rendered
}

/// The plan of what moves more than was asked for: only a person's yes makes it a change.
pub fn render_confirmation(plan: &Plan, id: ChangeId, others: &[EnvironmentName]) -> Rendered {
    let mut rendered = render_plan(plan, others);
    rendered.blocks.push(actions(vec![
        button("Confirm", CONFIRM, id.to_string()).primary(),
        button("Cancel", CANCEL, id.to_string()),
    ]));
    rendered.blocks.push(context(Mrkdwn::new("Nothing is done before you confirm. This is good for 30 minutes.")));
    rendered
}

fn render_plan(plan: &Plan, others: &[EnvironmentName]) -> Rendered {
    let head = Mrkdwn::new("Promote ")
        .bold(plan.artefact.as_str())
        .raw(" ")
        .code(plan.version.label())
        .raw(" to ")
        .bold(plan.environment.as_str())
        .append(&describe_git_write(plan))
        .raw(" and a tag");
    let text = Mrkdwn::default()
        .plain(&format!("Promote {} {} to {}", plan.artefact, plan.version.label(), plan.environment))
        .into_string();
    let mut blocks = vec![section(head)];
    blocks.extend(render_effects(plan, MAX_COMMITS));
    blocks.extend(render_superseded_change(plan));
    blocks.extend(render_alternatives(plan, others));
    Rendered { text, blocks }
}

fn describe_git_write(plan: &Plan) -> Mrkdwn {
    match (plan.promote, &plan.manifest) {
        (PromotionMethod::Merge, None) => Mrkdwn::new(", by a merge into ").code(&plan.branch),
        (PromotionMethod::PullRequest, None) => Mrkdwn::new(", by a pull request into ").code(&plan.branch),
        (PromotionMethod::Merge, Some(at)) => Mrkdwn::new(", by a commit to ").code(&at.file),
        (PromotionMethod::PullRequest, Some(at)) => Mrkdwn::new(", by a pull request that changes ").code(&at.file),
    }
}

/// A change that waits for approval would give way.
pub(super) fn render_superseded_change(plan: &Plan) -> Option<Block> {
    let waiting = plan.supersedes.as_ref()?;
    let text = Mrkdwn::new(":warning: This takes the place of ")
        .code(waiting.version.label())
        .raw(", which ")
        .person(&waiting.requester);
    Some(section(if waiting.merged {
        text.raw(" promoted and which rolls out since ").date_time(waiting.since)
    } else {
        let by_pull = plan.promote == PromotionMethod::PullRequest;
        text.raw(" asked for and which waits for approval since ").date_time(waiting.since).raw(if by_pull {
            ": its pull request is closed"
        } else {
            ""
        })
    }))
}

/// The rungs that could be meant as well, where none was named.
fn render_alternatives(plan: &Plan, others: &[EnvironmentName]) -> Option<Block> {
    let (first, rest) = others.split_first()?;
    let command = |environment: &EnvironmentName| format!("/promote {} {environment}", plan.artefact);
    let offered = Mrkdwn::new("Also behind: ").code(&command(first));
    Some(context(rest.iter().fold(offered, |offered, environment| offered.raw(", ").code(&command(environment)))))
}

/// Chosen for somebody who named no environment.
pub fn render_chosen_environment(plan: &Plan, others: &[EnvironmentName]) -> Rendered {
    let head = Mrkdwn::default()
        .bold(plan.environment.as_str())
        .raw(" is the first environment behind the one below, so ")
        .bold(plan.artefact.as_str())
        .raw(" goes there: <{link}|follow it here>.");
    let mut rendered = Rendered { text: head.as_str().to_owned(), blocks: vec![section(head)] };
    rendered.blocks.extend(render_alternatives(plan, others));
    rendered
}

/// Where the card stands, for somebody who asked elsewhere.
pub fn render_card_link(plan: &Plan) -> Rendered {
    let way = if plan.rollback.is_some() { " goes back in " } else { " is on its way to " };
    let head = Mrkdwn::default()
        .bold(plan.artefact.as_str())
        .raw(way)
        .bold(plan.environment.as_str())
        .raw(": <{link}|follow it here>.");
    Rendered { text: head.as_str().to_owned(), blocks: vec![section(head)] }
}

/// From which version to which, by which commits, and what else moves.
pub(super) fn render_effects(plan: &Plan, most: usize) -> Vec<Block> {
    if plan.rollback.is_some() {
        return rollback::render_effects(plan, most);
    }
    let from = match &plan.from {
        Some(from) => Mrkdwn::default().code(from.label()),
        None => Mrkdwn::new("nothing yet: this is its first deployment there"),
    };
    let line = from
        .raw(" \u{2192} ")
        .code(plan.version.label())
        .raw(", ")
        .append(&match &plan.pinned {
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
    // By manifest nobody may know which commits are between two images.
    let line = if plan.drift.commits_in_all > 0 && !plan.drift.commits.is_empty() {
        line.raw("\n").append(&commit_summary::format_commits(&plan.drift, most, &Authors::new()))
    } else {
        line
    };
    let line = match commit_summary::format_file_count(&plan.drift.files) {
        Some(files) => line.raw("\n").append(&files),
        None => line,
    };
    let mut blocks = vec![section(line)];
    blocks.extend(plan.holds_to_lift.iter().map(|hold| section(rollback::describe_hold(hold))));
    if let Some((first, rest)) = plan.undoes.split_first() {
        let text = Mrkdwn::new(":leftwards_arrow_with_hook: Undoes the rollback ").code(&first.to_short_id());
        let text = rest.iter().fold(text, |text, id| text.raw(" and ").code(&id.to_short_id()));
        blocks.push(section(text.raw(": what it took away comes back with this")));
    }
    blocks.extend(rollback::render_image_warning(plan));
    if !plan.drift.hotfixes.is_empty() {
        let count = plan.drift.hotfixes_in_all;
        let head = Mrkdwn::new(":warning: ");
        let head = match (&plan.manifest, count) {
            // An image takes the place of another as a whole.
            (Some(_), 1) => head.raw("1 commit that runs there is not in it, and is lost by it"),
            (Some(_), _) => head.plain(&format!("{count} commits that run there are not in it, and are lost by it")),
            (None, 1) => head.raw("1 hotfix is only in ").code(&plan.branch).raw(": it stays there, and is not below"),
            (None, _) => head
                .plain(&format!("{count} hotfixes are only in "))
                .code(&plan.branch)
                .raw(": they stay there, and are not below"),
        };
        blocks.push(section(commit_summary::format_hotfixes(head, &plan.drift, most, &Authors::new())));
    }
    if let Some(overridden) = &plan.overridden {
        blocks.push(section(gate::format_override_line(overridden)));
    }
    blocks.extend(render_co_deployed(plan));
    blocks
}

/// What moves without having been asked for.
pub(super) fn render_co_deployed(plan: &Plan) -> Option<Block> {
    let (first, rest) = plan.also.split_first()?;
    let one = |also: &crate::domain::change::plan::CoDeployed| {
        let name = Mrkdwn::default().bold(also.artefact.as_str());
        if also.changes { name } else { name.raw(" (only built anew)") }
    };
    let head = Mrkdwn::new(":twisted_rightwards_arrows: Moves as well, as it is in the same repository: ");
    Some(section(rest.iter().fold(head.append(&one(first)), |text, also| text.raw(", ").append(&one(also)))))
}

/// What speaks for it: since when it has run well below, and what CI says.
fn describe_evidence(plan: &Plan) -> Mrkdwn {
    let text = match plan.well_since {
        Some(since) => Mrkdwn::new("\nruns well in ").plain(plan.seen_in.as_str()).raw(" since ").date_time(since),
        None => return Mrkdwn::default(),
    };
    match plan.green_checks {
        0 => text,
        1 => text.raw(" \u{b7} 1 check is green"),
        count => text.plain(&format!(" \u{b7} {count} checks are green")),
    }
}
