//! `diff` of all artefacts: a table with a row for each artefact that differs, in pages.

use jiff::Timestamp;

use super::super::Rendered;
use super::super::blocks::{Block, Button, TableRow, actions, context, section, table};
use super::super::mrkdwn::{Mrkdwn, humanize_duration, truncate_middle};
use crate::adapters::slack::render::commit_summary::format_count;
use crate::adapters::slack::render::page_buttons;
use crate::adapters::slack::render::page_buttons::{PageRequest, Viewer};
use crate::adapters::slack::render::promote_button;
use crate::domain::model::catalogue::Ladder;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::view::diff::{Diff, DiffResult, DiffSide, GitState, NextPromotion, UndeployedCommits};

/// Rows and promote buttons on a page.
const PAGE_SIZE: usize = 10;
const MAX_CELL: usize = 40;
const MAX_NAMES: usize = 20;

/// A row for each artefact that differs. `count` is the number of all artefacts; some may not be compared yet.
pub fn render_all_diffs(
    diffs: &[Diff],
    count: usize,
    (source, target): (&EnvironmentName, &EnvironmentName),
    page: usize,
    viewer: Viewer<'_>,
    ladder: &Ladder,
    now: Timestamp,
) -> Rendered {
    let (same, differ): (Vec<&Diff>, Vec<&Diff>) =
        diffs.iter().partition(|diff| diff.result.is_same() && !diff.has_undeployed());
    let pages = differ.len().div_ceil(PAGE_SIZE).max(1);
    let page = page.min(pages - 1);
    let head = format_headline(differ.len(), count, count.saturating_sub(diffs.len()), (source, target));
    let head = if pages > 1 { head.plain(&format!(" Page {} of {pages}.", page + 1)) } else { head };
    let text = head.as_str().to_owned();
    let mut blocks = vec![section(head)];
    let shown: Vec<&Diff> = differ.iter().copied().skip(page * PAGE_SIZE).take(PAGE_SIZE).collect();
    if let Some(first) = shown.first() {
        let title = |text: String| truncate_middle(&text, MAX_CELL).into_owned().into();
        let mut lines: Vec<TableRow> = vec![vec![
            "artefact".into(),
            title(format!("{source} in Git")),
            title(format!("runs in {source}")),
            title(format!("runs in {target}")),
            "between".into(),
        ]];
        lines.extend(shown.iter().map(|diff| build_row(diff, ladder, now)));
        blocks.push(table(lines));
        blocks.extend(render_same_artefacts(&same));
        blocks.extend(list_promote_commands(&shown).map(section));
        let command = format!("/diff {source} {target} {}", first.artefact);
        blocks.push(context(Mrkdwn::new("One in full: ").code(&command)));
    }
    let request = |page: usize| PageRequest::Diff { source: source.clone(), target: target.clone(), page };
    let (earlier, later) = ((page > 0).then(|| request(page - 1)), (page + 1 < pages).then(|| request(page + 1)));
    let mut buttons = build_promote_buttons(&shown);
    buttons.extend(page_buttons::build_page_buttons(viewer, earlier.as_ref(), later.as_ref()));
    if !buttons.is_empty() {
        blocks.push(actions(buttons));
    }
    Rendered { text, blocks }
}

fn format_headline(
    differs: usize,
    count: usize,
    waiting: usize,
    (source, target): (&EnvironmentName, &EnvironmentName),
) -> Mrkdwn {
    let pair = Mrkdwn::default().bold(source.as_str()).raw(" and ").bold(target.as_str());
    let artefacts = format_count(count as u64, "artefact");
    match (differs, waiting) {
        (0, 0) if count == 0 => Mrkdwn::new("Nothing is meant to be in ").append(&pair).raw("."),
        (0, 0) => pair.raw(" run the same code of ").plain(&artefacts).raw("."),
        (differs, 0) => Mrkdwn::default()
            .plain(&format!("{differs} of {artefacts}"))
            .raw(if differs == 1 { " differs between " } else { " differ between " })
            .append(&pair)
            .raw("."),
        (_, waiting) => Mrkdwn::default()
            .plain(&format!("{} of {count} compared", count - waiting))
            .raw(" between ")
            .append(&pair)
            .raw("; the others follow."),
    }
}

fn render_same_artefacts(same: &[&Diff]) -> Option<Block> {
    let (first, rest) = same.split_first()?;
    let name = |diff: &Diff| truncate_middle(diff.artefact.as_str(), MAX_CELL).into_owned();
    let names = Mrkdwn::new("The same in both: ").plain(&name(first));
    let names = rest.iter().take(MAX_NAMES).fold(names, |text, diff| text.raw(", ").plain(&name(diff)));
    let left = rest.len().saturating_sub(MAX_NAMES);
    Some(context(if left > 0 { names.plain(&format!(" and {left} more")) } else { names }))
}

/// A button for each artefact that can be promoted to the next environment in the version that is shown.
fn build_promote_buttons(shown: &[&Diff]) -> Vec<Button> {
    let can_promote = |diff: &&&Diff| matches!(&diff.next_promotion, Some(NextPromotion { version: Some(_), .. }));
    let is_only_one = shown.iter().filter(can_promote).count() == 1;
    let button = |diff: &&Diff| match &diff.next_promotion {
        Some(NextPromotion { environment, version: Some(version) }) if is_only_one => {
            Some(promote_button::build_promote_button(&diff.artefact, environment, version))
        }
        Some(NextPromotion { environment, version: Some(version) }) => {
            Some(promote_button::build_promote_artefact_button(&diff.artefact, environment, version))
        }
        _ => None,
    };
    shown.iter().filter_map(button).collect()
}

fn list_promote_commands(steps: &[&Diff]) -> Option<Mrkdwn> {
    let mut commands = steps.iter().filter_map(|diff| {
        let next = diff.next_promotion.as_ref()?;
        Some(format!("/promote {} {}", diff.artefact, next.environment))
    });
    let text = Mrkdwn::new("To bring them up to date: ").code(&commands.next()?);
    Some(commands.fold(text, |text, command| text.raw(", ").code(&command)))
}

fn build_row(diff: &Diff, ladder: &Ladder, now: Timestamp) -> TableRow {
    let short = |text: &str| truncate_middle(text, MAX_CELL).into_owned();
    let git = match &diff.source.git {
        GitState::Unknown => "\u{2014}".to_owned(),
        GitState::NoBranch { .. } => "no branch".to_owned(),
        GitState::Branch { head, undeployed, .. } => format!("{}{}", head.short(), describe_undeployed(*undeployed)),
        GitState::Manifest { specified, is_running, .. } => {
            format!("{}{}", short(specified.label()), if *is_running { "" } else { " \u{b7} not deployed" })
        }
        GitState::Unreadable { .. } => "unreadable".to_owned(),
    };
    let cell = |side: &DiffSide| {
        let Some(version) = &side.running else { return "\u{2014}".to_owned() };
        let text = short(version.label());
        match &side.state {
            RolloutState::Running { .. } => match side.since {
                Some(since) => {
                    let (count, unit) = humanize_duration(now.duration_since(since));
                    format!("{text} \u{b7} {count} {unit}")
                }
                None => text,
            },
            RolloutState::RollingOut { ready, wanted, .. } => format!("{text} \u{b7} rolling out {ready}/{wanted}"),
            RolloutState::Degraded { .. } => format!("{text} \u{b7} degraded"),
            RolloutState::Missing => format!("{text} \u{b7} missing"),
            RolloutState::Unreadable { .. } => format!("{text} \u{b7} unreadable"),
        }
    };
    let target = match &diff.target.git {
        GitState::Branch { undeployed, .. } => format!("{}{}", cell(&diff.target), describe_undeployed(*undeployed)),
        GitState::Manifest { is_running: false, .. } => format!("{} \u{b7} not deployed", cell(&diff.target)),
        _ => cell(&diff.target),
    };
    vec![
        short(diff.artefact.as_str()).into(),
        git.into(),
        cell(&diff.source).into(),
        target.into(),
        describe_difference(diff, ladder).into(),
    ]
}

fn describe_undeployed(undeployed: UndeployedCommits) -> String {
    match undeployed {
        UndeployedCommits::Nothing => String::new(),
        UndeployedCommits::Commits(count) => format!(" \u{b7} {count} not deployed"),
        UndeployedCommits::Diverged => " \u{b7} not what runs".to_owned(),
    }
}

fn describe_difference(diff: &Diff, ladder: &Ladder) -> String {
    match &diff.result {
        DiffResult::NotInEnvironment(environment) => format!("not in {environment}"),
        DiffResult::NotRunning(environment) => format!("nothing runs in {environment}"),
        DiffResult::CommitUnknown(environment) => format!("commit in {environment} unknown"),
        DiffResult::Incomparable => "no history in common".to_owned(),
        DiffResult::Unknown(_) => "could not be compared".to_owned(),
        DiffResult::Same => "the same code".to_owned(),
        DiffResult::Different { behind, drift, .. } => {
            let mut parts = Vec::new();
            if let Some(behind) = behind {
                let count = format_count(drift.commits_in_all, "commit");
                parts.push(if diff.is_source_above(ladder) { format!("{behind} is behind by {count}") } else { count });
            }
            if drift.hotfixes_in_all > 0 {
                let upper = if diff.is_source_above(ladder) { &diff.source } else { &diff.target };
                parts.push(format!("{} only in {}", drift.hotfixes_in_all, upper.environment));
            }
            if drift.files.files > 0 {
                parts.push(format_count(drift.files.files, "file"));
            }
            if parts.is_empty() { "nothing that anybody wrote".to_owned() } else { parts.join(", ") }
        }
    }
}
