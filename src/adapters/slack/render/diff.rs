//! The answer to `diff`: one artefact in full with the next step, or a table of all artefacts.

use jiff::Timestamp;

use super::Rendered;
use super::blocks::{Block, actions, context, section};
use super::mrkdwn::{Mrkdwn, humanize_duration, truncate_middle};
use crate::adapters::slack::render::commit_summary;
use crate::adapters::slack::render::commit_summary::{Authors, format_count};
use crate::adapters::slack::render::{command_button, promote_button, text_diff};
use crate::domain::git::commit_summary::CommitSummary;
use crate::domain::git::text_diff::LineDiff;
use crate::domain::model::catalogue::Ladder;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::MessageFile;
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::view::diff::{Diff, DiffResult, DiffSide, GitState, ManifestDiff, NextPromotion, UndeployedCommits};

mod all;

pub use all::render_all_diffs;

/// In characters: for all commits together, and for one section.
const MAX_COMMITS_TEXT: usize = 5_000;
const MAX_SECTION: usize = 2_800;
const MAX_HOTFIXES: usize = 3;
const MAX_FILES: usize = 10;
/// The minimum of characters for a text, and the number of texts.
const MIN_TEXT: usize = 200;
const MAX_TEXTS: usize = 20;
const MAX_PATH: usize = 120;
const MAX_REASON: usize = 200;

pub fn render_same_environment(environment: &EnvironmentName) -> Rendered {
    let text = Mrkdwn::default()
        .bold(environment.as_str())
        .raw(" is the same as itself. Name two environments: ")
        .code("/diff staging prod")
        .raw(".");
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text)] }
}

/// The answer for one artefact.
#[derive(Debug)]
pub struct RenderedDiff {
    pub rendered: Rendered,
    pub is_truncated: bool,
}

/// One artefact in full. `code` has the differences of the code, if they were requested.
pub fn render_artefact_diff(
    diff: &Diff,
    code: Option<&[ManifestDiff]>,
    ladder: &Ladder,
    authors: &Authors,
    now: Timestamp,
) -> RenderedDiff {
    let head = format_headline(diff, ladder);
    let text = head.as_str().to_owned();
    let is_short = match &diff.result {
        DiffResult::Same => !diff.has_undeployed() && diff.manifest_diff.is_none(),
        DiffResult::NotInEnvironment(_) => true,
        _ => false,
    };
    if is_short {
        return RenderedDiff { rendered: Rendered { text, blocks: vec![section(head)] }, is_truncated: false };
    }
    let mut blocks = vec![section(head), section(describe_sides(diff, now))];
    if let DiffResult::Different { drift, upper_is_newer, .. } = &diff.result {
        blocks.extend(render_commits(drift, authors));
        blocks.extend(render_hotfixes(diff, drift, *upper_is_newer, ladder, authors));
        blocks.extend(render_files(drift));
    }
    let (texts, is_truncated) = render_texts(diff.manifest_diff.iter().chain(code.unwrap_or_default()));
    blocks.extend(texts);
    blocks.extend(suggest_next_step(diff).map(section));
    blocks.extend(render_buttons(diff, code.is_some()));
    RenderedDiff { rendered: Rendered { text, blocks }, is_truncated }
}

/// The part of the texts that fits into a message, and whether some of it is left out.
fn render_texts<'a>(all: impl Iterator<Item = &'a ManifestDiff>) -> (Vec<Block>, bool) {
    let (mut blocks, mut remaining, mut is_truncated) = (Vec::new(), text_diff::MAX_CHARACTERS, false);
    for ManifestDiff { file, difference } in all {
        if remaining < MIN_TEXT || blocks.len() >= MAX_TEXTS {
            is_truncated = true;
            break;
        }
        let shown = text_diff::render_text_diff(difference, remaining);
        remaining = remaining.saturating_sub(count_characters(difference));
        is_truncated |= shown.is_truncated;
        let counts = format!(" +{} \u{2212}{}", difference.added, difference.removed);
        blocks.push(context(Mrkdwn::default().code(&truncate_middle(file, MAX_PATH)).plain(&counts)));
        blocks.extend(shown.blocks);
    }
    (blocks, is_truncated)
}

fn count_characters(difference: &LineDiff) -> usize {
    difference.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.to_text().chars().count() + 1).sum()
}

/// The comment above the file with all differences.
pub fn render_file_comment(diff: &Diff) -> Rendered {
    let text = Mrkdwn::new("All that differs of ")
        .bold(diff.artefact.as_str())
        .raw(" between ")
        .bold(diff.source.environment.as_str())
        .raw(" and ")
        .bold(diff.target.environment.as_str());
    Rendered { text: text.into_string(), blocks: Vec::new() }
}

/// All differences as a file.
pub fn build_diff_file<'a>(diff: &Diff, texts: impl Iterator<Item = &'a ManifestDiff>) -> MessageFile {
    let (artefact, source, target) = (&diff.artefact, &diff.source.environment, &diff.target.environment);
    let text: String = texts
        .map(|ManifestDiff { file, difference }| match difference.omitted {
            Some(_) => format!("{file}: not shown\n"),
            None => difference.to_unified_patch(file),
        })
        .collect();
    let title = format!("{artefact} between {source} and {target}");
    MessageFile { name: format!("{artefact}-{source}-{target}.diff"), title, text }
}

fn render_buttons(diff: &Diff, code_is_shown: bool) -> Option<Block> {
    let mut buttons = Vec::new();
    if let Some(NextPromotion { environment, version: Some(version) }) = &diff.next_promotion {
        buttons.push(promote_button::build_promote_button(&diff.artefact, environment, version));
    }
    if matches!(&diff.result, DiffResult::Different { drift, .. } if drift.files.files > 0) && !code_is_shown {
        let (source, target) = (&diff.source.environment, &diff.target.environment);
        buttons.push(command_button::build_command_button(
            "Show code",
            format!("diff {source} {target} {} --code", diff.artefact),
        ));
    }
    (!buttons.is_empty()).then(|| actions(buttons))
}

/// The result in one sentence.
fn format_headline(diff: &Diff, ladder: &Ladder) -> Mrkdwn {
    let (source, target) = (diff.source.environment.as_str(), diff.target.environment.as_str());
    let name = Mrkdwn::default().bold(diff.artefact.as_str());
    match &diff.result {
        DiffResult::NotInEnvironment(environment) => name.raw(" is not in ").bold(environment.as_str()).raw("."),
        DiffResult::NotRunning(environment) => name.raw(" does not run in ").bold(environment.as_str()).raw(" yet."),
        DiffResult::CommitUnknown(environment) => name
            .raw(": nothing tells which commit runs in ")
            .bold(environment.as_str())
            .raw(", so the code cannot be compared."),
        DiffResult::Incomparable => {
            name.raw(": what runs in ").bold(source).raw(" and in ").bold(target).raw(" has no history in common.")
        }
        DiffResult::Unknown(why) => {
            name.raw(" could not be compared: ").plain(truncate_middle(why, MAX_REASON).trim_end_matches('.')).raw(".")
        }
        DiffResult::Same => name.raw(": ").bold(source).raw(" and ").bold(target).raw(" run the same code."),
        DiffResult::Different { behind: Some(behind), drift, .. } => {
            let count = format_count(drift.commits_in_all, "commit");
            let ahead = if *behind == diff.source.environment { target } else { source };
            if diff.is_source_above(ladder) {
                // The source is the upper environment, so the answer is how far it is behind.
                name.raw(": ").bold(behind.as_str()).raw(" is behind ").bold(ahead).plain(&format!(" by {count}."))
            } else {
                let verb = if drift.commits_in_all == 1 { " is in " } else { " are in " };
                name.raw(": ").plain(&count).raw(verb).bold(ahead).raw(" and not in ").bold(behind.as_str()).raw(".")
            }
        }
        DiffResult::Different { behind: None, drift, .. } => {
            let upper = if diff.is_source_above(ladder) { source } else { target };
            let lower = if diff.is_source_above(ladder) { target } else { source };
            let verb = if drift.hotfixes_in_all == 1 { " is only in " } else { " are only in " };
            name.raw(": ")
                .bold(upper)
                .raw(" has all of ")
                .bold(lower)
                .raw("; ")
                .plain(&format_count(drift.hotfixes_in_all, "commit"))
                .raw(verb)
                .bold(upper)
                .raw(".")
        }
    }
}

/// For each of the two environments: the running version, and the state in Git.
fn describe_sides(diff: &Diff, now: Timestamp) -> Mrkdwn {
    let mut text = Mrkdwn::default();
    for (index, side) in [&diff.source, &diff.target].into_iter().enumerate() {
        text = if index > 0 { text.raw("\n") } else { text };
        text = text.bold(side.environment.as_str()).raw(" runs ").append(&describe_running_version(side, now));
        text = text.append(&describe_git_state(side));
    }
    text
}

fn describe_running_version(side: &DiffSide, now: Timestamp) -> Mrkdwn {
    let Some(version) = &side.running else { return Mrkdwn::new("nothing") };
    let text = Mrkdwn::default().code(version.label());
    let text = match &version.commit {
        Some(commit) if !version.label().ends_with(commit.short()) => text.raw(", commit ").code(commit.short()),
        _ => text,
    };
    let text = match &side.state {
        RolloutState::Running { .. } => text,
        RolloutState::RollingOut { ready, wanted, delayed_by } => {
            let text = text.plain(&format!(", rolling out {ready}/{wanted}"));
            match delayed_by {
                Some(why) => text.raw(": ").plain(&truncate_middle(why, MAX_REASON)),
                None => text,
            }
        }
        RolloutState::Degraded { reason } => text.raw(", degraded: ").plain(&truncate_middle(reason, MAX_REASON)),
        RolloutState::Missing => text.raw(", missing"),
        RolloutState::Unreadable { reason: why, .. } => {
            text.raw(" as last seen; its cluster cannot be read: ").plain(&truncate_middle(why, MAX_REASON))
        }
    };
    match side.since {
        Some(since) if matches!(side.state, RolloutState::Running { .. }) => {
            let (count, unit) = humanize_duration(now.duration_since(since));
            text.plain(&format!(" for {count} {unit}"))
        }
        _ => text,
    }
}

fn describe_git_state(side: &DiffSide) -> Mrkdwn {
    let text = Mrkdwn::new(" \u{b7} ");
    match &side.git {
        GitState::Unknown => Mrkdwn::default(),
        GitState::NoBranch { branch } => text.raw("there is no branch ").code(branch),
        GitState::Branch { branch, head, undeployed } => {
            let text = text.raw("branch ").code(branch).raw(" is at ").code(head.short());
            match undeployed {
                UndeployedCommits::Nothing => text,
                UndeployedCommits::Commits(count) => text
                    .raw(", :hourglass_flowing_sand: ")
                    .plain(&format_count(*count, "commit"))
                    .raw(" merged, not deployed"),
                UndeployedCommits::Diverged => text.raw(", which is not what runs"),
            }
        }
        GitState::Manifest { file, specified, is_running } => {
            let text = text.code(file).raw(" says ").code(specified.label());
            if *is_running { text } else { text.raw(", :hourglass_flowing_sand: not deployed") }
        }
        GitState::Unreadable { file, reason: why } => {
            text.code(file).raw(" cannot be read: ").plain(truncate_middle(why, MAX_REASON).trim_end_matches('.'))
        }
    }
}

fn render_commits(drift: &CommitSummary, authors: &Authors) -> Vec<Block> {
    if drift.commits.is_empty() {
        return Vec::new();
    }
    let (mut sections, mut remaining, mut shown) = (vec![Mrkdwn::default()], MAX_COMMITS_TEXT, 0);
    for commit in &drift.commits {
        let line = commit_summary::format_commit_lines(std::slice::from_ref(commit), authors);
        let length = line.as_str().chars().count() + 1;
        if length > remaining {
            break;
        }
        (remaining, shown) = (remaining - length, shown + commit.count_commits());
        match sections.last_mut() {
            Some(last) if last.as_str().chars().count() + length < MAX_SECTION => {
                let before = std::mem::take(last);
                *last = if before.as_str().is_empty() { line } else { before.raw("\n").append(&line) };
            }
            _ => sections.push(line),
        }
    }
    let mut blocks: Vec<Block> = sections.into_iter().map(section).collect();
    let left = drift.commits_in_all.saturating_sub(shown);
    let more = if left > 0 { Mrkdwn::default().plain(&format!("and {left} more")) } else { Mrkdwn::default() };
    let more = match &drift.url {
        Some(url) if left > 0 => more.raw(" \u{b7} ").link(url, "all of them on GitHub"),
        Some(url) => more.link(url, "compare on GitHub"),
        None => more,
    };
    if !more.as_str().is_empty() {
        blocks.push(context(more));
    }
    blocks
}

/// The commits that only the upper environment has.
fn render_hotfixes(
    diff: &Diff,
    drift: &CommitSummary,
    upper_is_newer: bool,
    ladder: &Ladder,
    authors: &Authors,
) -> Option<Block> {
    if drift.hotfixes.is_empty() && !drift.hotfixes_cut {
        return None;
    }
    let is_source_above = diff.is_source_above(ladder);
    let (upper, lower) = if is_source_above { (&diff.source, &diff.target) } else { (&diff.target, &diff.source) };
    let count = drift.hotfixes_in_all;
    let text = Mrkdwn::new(":warning: ");
    let text = if upper_is_newer {
        text.plain(&format_count(count, "commit"))
            .raw(if count == 1 { " is only in " } else { " are only in " })
            .bold(upper.environment.as_str())
            .raw(": it came from below, and ")
            .bold(lower.environment.as_str())
            .raw(" went back since")
    } else {
        text.plain(&if count == 1 { "1 hotfix is".to_owned() } else { format!("{count} hotfixes are") })
            .raw(" only in ")
            .bold(upper.environment.as_str())
            .raw(", and not below")
    };
    let text = commit_summary::format_hotfixes(text, drift, MAX_HOTFIXES, authors);
    Some(section(match &drift.url {
        Some(url) if drift.hotfixes_cut => {
            text.raw("\n").link(url, "There may be more: GitHub does not name all that only it has")
        }
        _ => text,
    }))
}

fn render_files(drift: &CommitSummary) -> Option<Block> {
    let head = commit_summary::format_file_count(&drift.files)?;
    let text = if drift.files.most.is_empty() {
        head
    } else {
        head.raw("\n").append(&commit_summary::list_most_changed(&drift.files, MAX_FILES))
    };
    Some(section(text))
}

/// The command for the next promotion.
fn suggest_next_step(diff: &Diff) -> Option<Mrkdwn> {
    let NextPromotion { environment, version } = diff.next_promotion.as_ref()?;
    let command = format!("/promote {} {environment}", diff.artefact);
    if version.is_some() {
        return Some(Mrkdwn::new("To bring it there: ").code(&command));
    }
    let upper = match &diff.result {
        DiffResult::NotRunning(name) => name,
        result => result.behind_environment()?,
    };
    let text = Mrkdwn::new("Next: ").code(&command).raw(", as ").bold(environment.as_str()).raw(" comes before ");
    Some(text.bold(upper.as_str()))
}

#[cfg(test)]
mod tests;
