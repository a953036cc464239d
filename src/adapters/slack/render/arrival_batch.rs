//! The card of a batch: many artefacts that arrive in one environment at nearly the same time, and the failures in its
//! thread.

use super::Rendered;
use super::arrival::mention_authors;
use super::blocks::{Block, context, section};
use super::mrkdwn::{Mrkdwn, truncate_middle};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Commit;
use crate::domain::runtime::arrival::Author;
use crate::domain::runtime::arrival_batch::{ArrivalBatch, BatchedArrival, BatchedArrivalState};

/// More lines would hide the important ones; `list` shows them all.
pub const MAX_LINES: usize = 20;

const MAX_NAME: usize = 40;
const MAX_VERSION: usize = 40;
const MAX_SUBJECT: usize = 60;
const MAX_REASON: usize = 120;
const MAX_FULL_REASON: usize = 600;
/// A section must stay below 3000 characters.
const MAX_SECTION: usize = 2800;

pub fn render_arrival_batch(batch: &ArrivalBatch) -> Rendered {
    let count = batch.count_by_state();
    let emoji = match (count.failed, count.rolling_out) {
        (1.., _) => ":red_circle: ",
        (0, 1..) => ":large_yellow_circle: ",
        (0, 0) => ":large_green_circle: ",
    };
    let verb = match (batch.members.len(), batch.is_over()) {
        (1, true) => " artefact arrived in ",
        (1, false) => " artefact arrives in ",
        (_, true) => " artefacts arrived in ",
        (_, false) => " artefacts arrive in ",
    };
    let number = batch.members.len().to_string();
    let parts = [
        (count.running, "run"),
        (count.rolling_out, "roll out"),
        (count.failed, "failed"),
        (count.replaced, "replaced by something newer"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, label)| format!("{count} {label}"));
    let summary = parts.collect::<Vec<_>>().join(", ");
    let head = Mrkdwn::new(emoji).bold(&number).raw(verb).bold(batch.environment.as_str()).raw(": ").plain(&summary);
    let text = Mrkdwn::default().plain(&format!("{number}{verb}{}: {summary}", batch.environment)).into_string();

    let common = batch.common_commit();
    let head = match common {
        Some(commit) => head.raw("\n").append(&format_commit(commit)),
        None => head,
    };
    let mut blocks = vec![section(head)];
    blocks.extend(render_member_lines(batch, common.is_some()));
    blocks.push(context(suggest_next_step(batch)));
    Rendered { text, blocks }
}

fn format_commit(commit: &Commit) -> Mrkdwn {
    Mrkdwn::default()
        .link(&commit.url, commit.sha.short())
        .raw(" ")
        .plain(&truncate_middle(&commit.subject, MAX_SUBJECT))
        .raw(" \u{b7} ")
        .plain(&truncate_middle(&commit.author, MAX_NAME))
}

fn render_member_lines(batch: &ArrivalBatch, one_commit: bool) -> Vec<Block> {
    let members = batch.sort_by_urgency();
    let mut blocks = Vec::new();
    let mut text = Mrkdwn::default();
    for member in members.iter().take(MAX_LINES) {
        let line = format_member(member, one_commit);
        if text.as_str().len() + line.as_str().len() > MAX_SECTION && !text.as_str().is_empty() {
            blocks.push(section(std::mem::take(&mut text)));
        }
        text = if text.as_str().is_empty() { text } else { text.raw("\n") }.append(&line);
    }
    if !text.as_str().is_empty() {
        blocks.push(section(text));
    }
    let more = members.len().saturating_sub(MAX_LINES);
    if more > 0 {
        let list = format!("/list {}", batch.environment);
        blocks
            .push(section(Mrkdwn::default().plain(&format!("and {more} more: ")).code(&list).raw(" shows them all.")));
    }
    blocks
}

fn format_member(member: &BatchedArrival, one_commit: bool) -> Mrkdwn {
    let (emoji, state_text) = match &member.state {
        BatchedArrivalState::RollingOut => (":large_yellow_circle: ", " rolls out"),
        BatchedArrivalState::Running => (":large_green_circle: ", " runs"),
        BatchedArrivalState::Failed { .. } => (":red_circle: ", " failed: "),
        BatchedArrivalState::Replaced => (":white_circle: ", " was replaced by something newer"),
    };
    let mut line = Mrkdwn::new(emoji)
        .bold(&truncate_middle(member.artefact.as_str(), MAX_NAME))
        .raw(" ")
        .code(&truncate_middle(member.version.label(), MAX_VERSION))
        .raw(state_text);
    if let BatchedArrivalState::Failed { reason } = &member.state {
        line = line.plain(&truncate_middle(reason, MAX_REASON));
    }
    line = match (&member.commit, &member.version.commit) {
        _ if one_commit => line,
        (Some(commit), _) => line.raw(" \u{b7} ").append(&format_commit(commit)),
        (None, Some(sha)) => line.raw(" \u{b7} commit ").code(sha.short()),
        (None, None) => line,
    };
    if member.provenance.is_not_from_git() { line.raw(" \u{b7} :warning: not from Git") } else { line }
}

/// The next step for the reader.
fn suggest_next_step(batch: &ArrivalBatch) -> Mrkdwn {
    let list = format!("/list {}", batch.environment);
    let failed = batch.members.iter().find(|member| matches!(member.state, BatchedArrivalState::Failed { .. }));
    match (failed, &batch.next_environment) {
        (Some(_), _) if batch.is_first_environment => {
            Mrkdwn::new("Next: push a repair to ").code(&batch.branch).raw("; ").code(&list).raw(" shows what runs.")
        }
        (Some(member), _) => Mrkdwn::new("Next: ")
            .code(&format!("/rollback {} {}", member.artefact, batch.environment))
            .raw("; ")
            .code(&list)
            .raw(" shows what runs."),
        (None, Some(next_environment)) if batch.is_over() => Mrkdwn::new("Next: ")
            .code(&format!("/promote <artefact> {next_environment}"))
            .raw("; ")
            .code(&list)
            .raw(" shows them all."),
        (None, _) => Mrkdwn::default().code(&list).raw(" shows them all."),
    }
}

/// Posted in the thread and in the channel: one failed artefact, with its authors.
pub fn render_failure(member: &BatchedArrival, environment: &EnvironmentName, authors: &[Author]) -> Rendered {
    let reason = match &member.state {
        BatchedArrivalState::Failed { reason } => reason.as_str(),
        _ => "",
    };
    let head = format_member_name(":red_circle: ", member).raw(" failed in ").bold(environment.as_str());
    let head = if authors.is_empty() { head } else { head.raw(" \u{b7} ").append(&mention_authors(authors)) };
    let why = Mrkdwn::new("\n*Why:* ").plain(&truncate_middle(reason, MAX_FULL_REASON));
    Rendered { text: head.clone().into_string(), blocks: vec![section(head.append(&why))] }
}

/// Posted in the thread and in the channel: the failures that have no message of their own.
pub fn render_more_failures(artefacts: &[&str], environment: &EnvironmentName, authors: &[Author]) -> Rendered {
    let shown: Vec<_> = artefacts.iter().take(MAX_LINES).map(|name| truncate_middle(name, MAX_NAME)).collect();
    let more = artefacts.len().saturating_sub(MAX_LINES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let count = format!("{} more failed in ", artefacts.len());
    let text = Mrkdwn::new(":red_circle: ")
        .plain(&count)
        .bold(environment.as_str())
        .raw(": ")
        .plain(&shown.join(", "))
        .plain(&rest);
    let text = if authors.is_empty() { text } else { text.raw(" \u{b7} ").append(&mention_authors(authors)) };
    Rendered { text: text.clone().into_string(), blocks: vec![section(text)] }
}

/// Posted in the thread and in the channel: an artefact that was announced as failed runs after all.
pub fn render_recovery(member: &BatchedArrival, environment: &EnvironmentName) -> Rendered {
    let text = format_member_name(":large_green_circle: ", member)
        .raw(" runs in ")
        .bold(environment.as_str())
        .raw(" after all.");
    Rendered { text: text.clone().into_string(), blocks: vec![section(text)] }
}

fn format_member_name(emoji: &'static str, member: &BatchedArrival) -> Mrkdwn {
    Mrkdwn::new(emoji)
        .bold(&truncate_middle(member.artefact.as_str(), MAX_NAME))
        .raw(" ")
        .code(&truncate_middle(member.version.label(), MAX_VERSION))
}
